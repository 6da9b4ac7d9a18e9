/* SPDX-License-Identifier: MIT */
/*
 * run.h - one run of random calls: where it is, what it chooses, and how it complains.
 */
#ifndef TESTS_MODEL_RUN_H
#define TESTS_MODEL_RUN_H

#include "api/support.h"
#include "base/random.h"
#include "model/model.h"

enum { CLIENT_SLOTS = 12, CLIENT_BYTES = 65536 };

struct run {
	unsigned long long seed;
	unsigned step;
	const char *call;
	unsigned long long refusals; /* before the call */
	struct random random;
	struct model model;

	LUID luid;
	struct softgpu_escape_info idle; /* what the driver holds when no client has anything */
	unsigned char *client_memory;    /* CLIENT_SLOTS times CLIENT_BYTES */
	int plain_file;                  /* a descriptor that is no NT handle */
	int event;                       /* what waits for fences set */

	unsigned accepted;
	unsigned refused;
};

/* ---- choices ---- */

static inline uint32_t below(struct run *run, uint32_t bound)
{
	return (uint32_t)random_below(&run->random, bound);
}

/* True once in `times`. */
static inline bool one_in(struct run *run, uint32_t times)
{
	return below(run, times) == 0;
}

/* One of the living; -1 when there is none. */
int pick(struct run *run, enum model_kind kind);

/* A handle that names nothing of this kind. */
uint32_t bad_handle(struct run *run, enum model_kind kind);

void random_data(struct run *run, struct model_data *data);

/* ---- complaints ---- */

void run_fail(struct run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

#define RUN_EXPECT(run, condition)                                                                 \
	do {                                                                                       \
		if (!(condition))                                                                  \
			run_fail((run), "%s:%d: expected: %s", __FILE__, __LINE__, #condition);    \
	} while (0)

/* ---- calls ---- */

void call_begin(struct run *run, const char *name);
void call_end(struct run *run, NTSTATUS status, NTSTATUS wanted, const void *before,
	      const void *after, size_t size_bytes);

/* The call gives `wanted`; when that is a failure it says why and leaves the struct as it was. */
#define CALL(run, wanted, function, args)                                                          \
	do {                                                                                       \
		unsigned char call_before[sizeof(args)];                                           \
		memcpy(call_before, &(args), sizeof(args));                                        \
		call_begin((run), #function);                                                      \
		NTSTATUS call_status = function(&(args));                                          \
		call_end((run), call_status, (wanted), call_before, &(args), sizeof(args));        \
	} while (0)

/* A new local handle, which names nothing else. */
void check_new_handle(struct run *run, uint32_t handle);

/* ---- steps: each makes one call or a few ---- */

void step_device(struct run *run);
void step_context(struct run *run);
void step_adapter(struct run *run);
void step_create(struct run *run);
void step_standard(struct run *run);
void step_open(struct run *run);
void step_lock(struct run *run);
void step_touch(struct run *run);
void step_property(struct run *run);
void step_destroy(struct run *run);
void step_share(struct run *run);
void step_name(struct run *run);
void step_close_file(struct run *run);
void step_mutex(struct run *run);
void step_fence(struct run *run);
void step_end_process(struct run *run);

/* The handle of the adapter that is always open. */
D3DKMT_HANDLE run_adapter(const struct run *run);

/* The driver holds what the model says. */
void check_driver(struct run *run);

#endif
