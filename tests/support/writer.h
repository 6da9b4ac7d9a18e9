/* SPDX-License-Identifier: MIT */
/*
 * writer.h - a thread that has a counter in each page and never stands still, for tests of pages that move meanwhile.
 */
#ifndef TESTS_SUPPORT_WRITER_H
#define TESTS_SUPPORT_WRITER_H

#include <stdatomic.h>

#include "base/machine.h"
#include "base/thread.h"
#include "support/test.h"

struct writer {
	volatile uint64_t *words;
	uint64_t page_count;
	_Atomic bool must_stop;
	uint64_t count; /* what each of them is in the end */
	struct thread *thread;
};

static inline void writer_run(void *argument)
{
	struct writer *writer = argument;

	while (!atomic_load(&writer->must_stop)) {
		writer->count++;
		for (uint64_t i = 0; i < writer->page_count; i++)
			writer->words[i * MACHINE_PAGE_BYTES / sizeof(uint64_t)]++;
		thread_point(); /* others have their turn */
	}
}

static inline void writer_start(struct writer *writer, void *words)
{
	writer->words = words;
	atomic_store(&writer->must_stop, false);
	EXPECT_EQ(thread_create("writer", writer_run, writer, &writer->thread), STATUS_SUCCESS);
}

/* No store of its was lost. */
static inline void writer_stop(struct writer *writer)
{
	atomic_store(&writer->must_stop, true);
	thread_join(writer->thread);
	for (uint64_t i = 0; i < writer->page_count; i++)
		EXPECT_EQ(writer->words[i * MACHINE_PAGE_BYTES / sizeof(uint64_t)], writer->count);
}

#endif
