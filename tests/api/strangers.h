/* SPDX-License-Identifier: MIT */
/*
 * strangers.h - other processes in the same kernel, each with a worker, for tests of what they do to
 * each other.
 */
#ifndef TESTS_API_STRANGERS_H
#define TESTS_API_STRANGERS_H

#include "api/open_shared.h"
#include "api/soft_work.h"

/* Another process, with a worker of its own. */
struct stranger {
	struct dxgk_test_process *process;
	struct worker worker;
};

/* The program's own, and the kernel runs. */
static struct client ours;

static inline void be(struct dxgk_test_process *process)
{
	dxgk_test_process_enter(process);
}

enum { STRANGERS_USER = 1000, OTHER_USER = 1001 };

/* One who is not as the others are; its pid comes here. */
static inline struct dxgk_test_process *stranger_process_as(struct dxgk_test_identity identity)
{
	static unsigned pid = 4000;

	identity.pid = ++pid;
	struct dxgk_test_process *process = dxgk_test_process_create_as(&identity);
	EXPECT(process != NULL);
	return process;
}

static inline struct dxgk_test_process *stranger_process(const char *name)
{
	return stranger_process_as(
		(struct dxgk_test_identity){ .user = STRANGERS_USER, .name = name });
}

static inline void stranger_open_as(struct stranger *stranger, struct dxgk_test_identity identity)
{
	stranger->process = stranger_process_as(identity);
	be(stranger->process);
	worker_open(&stranger->worker, open_first_adapter());
	be(NULL);
}

static inline void stranger_open(struct stranger *stranger, const char *name)
{
	stranger_open_as(stranger,
			 (struct dxgk_test_identity){ .user = STRANGERS_USER, .name = name });
}

static inline void stranger_end(struct stranger *stranger)
{
	dxgk_test_process_end(stranger->process);
	expect_valid();
}

static inline void stranger_work(struct stranger *stranger, uint64_t value)
{
	struct worker *worker = &stranger->worker;
	struct row row = { 0 };

	be(stranger->process);
	add_write(&row, worker->data + 8, value);
	worker_run(worker, &row);
	worker_wait(worker);
	EXPECT_EQ(worker_read(worker, 8), value);
	be(NULL);
}

#endif
