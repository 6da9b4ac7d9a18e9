/* SPDX-License-Identifier: MIT */
/*
 * work.h - what the GPU should have done: queues of contexts, values of fences and bytes of memory,
 * as plain arrays.
 *
 *	context ── queue of operations: wait ─ fill ─ copy ─ … ─ signal its progress
 *	memory  ── the bytes as they will be when what is not held up is over
 *
 * The model runs ahead: an operation is done in it as soon as nothing in front of it in its queue
 * waits for a value that has not come. The kernel may lag behind and is never in front, so a
 * fence's value is at most the model's, and is the model's when everything has settled. Two
 * contexts that touch the same memory are ordered by a wait for the progress of the earlier one;
 * the order of the rest does not matter.
 */
#ifndef TESTS_MODEL_WORK_H
#define TESTS_MODEL_WORK_H

#include "api/soft_work.h"
#include "base/random.h"

enum {
	WORK_DEVICES = 3,
	WORK_CONTEXTS = 4,
	WORK_FENCES = 24,
	WORK_MEMORIES = 8,
	WORK_QUEUED = 40,
	WORK_NODES = 3,
	LARGEST_BYTES = 32 * KIB,
	COMMAND_BYTES = 32 * KIB,
	MARKER_AT = COMMAND_BYTES - 8, /* what a command writes before it hangs */
	NOBODY = -1,
};

enum operation_kind { DO_WAIT, DO_SIGNAL, DO_FILL, DO_COPY, DO_WRITE };

struct operation {
	enum operation_kind kind;
	int fence;
	uint64_t value; /* of the fence, or what is written */
	int to;
	int from;
	uint32_t to_at;
	uint32_t from_at;
	uint32_t size_bytes;
};

struct work_fence {
	bool is_open; /* it has a handle */
	D3DKMT_HANDLE handle;
	const volatile UINT64 *view;
	UINT64 value;
	unsigned queued; /* operations that name it */
};

struct work_context {
	bool is_live;
	D3DKMT_HANDLE handle;
	unsigned node;
	int progress; /* the fence that tells how far it is */
	uint64_t last_progress;
	bool may_wait; /* in the kernel, for something that has come in the model */
	unsigned count;
	struct operation queue[WORK_QUEUED];
};

struct work_memory {
	bool is_live;  /* it has a handle */
	bool is_moved; /* by a lock, to system memory, when no work is queued that might use it */
	D3DKMT_HANDLE handle;
	uint32_t size_bytes;
	uint64_t address;
	unsigned resident;
	bool is_offered;
	bool is_known; /* what the bytes are */
	unsigned queued;
	int user;      /* the context that used it last; NOBODY */
	uint64_t used; /* … when its progress has come to this */
	unsigned char bytes[LARGEST_BYTES];
};

struct work_device {
	bool is_live;
	bool is_lost;
	struct client client;
	D3DKMT_HANDLE commands; /* locked and resident for ever */
	unsigned char *pointer;
	uint64_t command_address;
	uint32_t command_used;
	UINT64 last_paging; /* what a context may wait for */
	struct work_context contexts[WORK_CONTEXTS];
	struct work_fence fences[WORK_FENCES];
	struct work_memory memories[WORK_MEMORIES];
};

struct work_run {
	unsigned long long seed;
	unsigned step;
	struct random random;
	D3DKMT_HANDLE adapter;
	struct softgpu_escape_info idle;
	unsigned resets;
	long long idle_blocks; /* of the kernel's memory, without devices */
	struct work_device devices[WORK_DEVICES];

	unsigned submitted;
	unsigned held_up;   /* submissions that had to wait for a fence */
	unsigned checked;   /* memory whose bytes were compared */
	unsigned discarded; /* offered memory that was */
	unsigned losses;
	unsigned cancelled; /* operations that ended with their context or device */
};

/* ---- work_model.c ---- */

/* Done at once, or queued behind what waits. */
void work_queue(struct work_device *device, int context, const struct operation *operation);

/* The fence comes to this value; what waited for it goes on. */
void work_signal(struct work_device *device, int fence, uint64_t value);

/* What is left of the queue never happens. Returns how much that was. */
unsigned work_cancel(struct work_device *device, int context);

/* Everything queued never happens, the fences jump. */
void work_lose(struct work_run *run, struct work_device *device);

/* Something of the device waits. */
bool work_is_held_up(const struct work_device *device);

/* A free place, or NOBODY. */
int work_free_fence(const struct work_device *device);
int work_free_context(const struct work_device *device);
int work_free_memory(const struct work_device *device);

/* ---- work_steps.c, work_recovery.c: each makes one call or a few ---- */

void step_submit(struct work_run *run, struct work_device *device);
void step_wait(struct work_run *run, struct work_device *device);
void step_signal(struct work_run *run, struct work_device *device);
void step_signal_cpu(struct work_run *run, struct work_device *device);
void step_context(struct work_run *run, struct work_device *device);
void step_fence(struct work_run *run, struct work_device *device);
void step_memory(struct work_run *run, struct work_device *device);
void step_destroy(struct work_run *run, struct work_device *device);
void step_residency(struct work_run *run, struct work_device *device);
void step_offer(struct work_run *run, struct work_device *device);
void step_evict_everything(struct work_run *run, struct work_device *device);
void step_touch(struct work_run *run, struct work_device *device);
void step_hang(struct work_run *run, struct work_device *device);
void step_fault(struct work_run *run, struct work_device *device);
void step_error(struct work_run *run, struct work_device *device);
void step_reset(struct work_run *run);
void step_device(struct work_run *run);

/* ---- work_calls.c: calls with what the model says of them ---- */

void run_fail(struct work_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

void run_gives(struct work_run *run, const char *what, NTSTATUS status, NTSTATUS wanted);
#define GIVES(run, wanted, call) run_gives((run), #call, (call), (wanted))

#define RUN_EXPECT(run, condition)                                                                 \
	do {                                                                                       \
		if (!(condition))                                                                  \
			run_fail((run), "%s:%d: expected: %s", __FILE__, __LINE__, #condition);    \
	} while (0)

/* What a call on this device gives that needs the GPU or memory. */
static inline NTSTATUS work_status(const struct work_device *device)
{
	return device->is_lost ? STATUS_DEVICE_REMOVED : STATUS_SUCCESS;
}

NTSTATUS call_submit(struct work_device *device, int context, const struct row *row);
NTSTATUS call_wait(struct work_device *device, D3DKMT_HANDLE context, D3DKMT_HANDLE fence,
		   UINT64 value);
NTSTATUS call_signal(struct work_device *device, D3DKMT_HANDLE context, D3DKMT_HANDLE fence,
		     UINT64 value);
NTSTATUS call_signal_cpu(struct work_device *device, int fence, UINT64 value);

/* The fence tells the progress of a context that lives. */
bool run_is_progress(const struct work_device *device, int fence);

/* Signals the context's progress behind what it has. */
void run_progress(struct work_run *run, struct work_device *device, int context);

/* Returns when the kernel has done all that the model has; its values are then the model's. */
void run_settle(struct work_run *run, struct work_device *device);

/* Nothing waits any longer: fences are signalled, contexts that nobody can signal are destroyed. */
void run_release(struct work_run *run, struct work_device *device);

void run_open_device(struct work_run *run, struct work_device *device);
void run_close_device(struct work_run *run, struct work_device *device);
void run_destroy_context(struct work_run *run, struct work_device *device, int context);

/* In a seeded run every call is a turn of the others. */
void run_let_others(struct work_run *run);

/* The same for who waits for something and has done so often: on a busy machine that takes time. */
void run_wait(struct work_run *run, unsigned turns);

void run_check_fences(struct work_run *run);
void run_check_driver(struct work_run *run);
void run_check_kernel(struct work_run *run);

/* ---- choices ---- */

static inline uint32_t below(struct work_run *run, uint32_t bound)
{
	return (uint32_t)random_below(&run->random, bound);
}

static inline bool one_in(struct work_run *run, uint32_t times)
{
	return below(run, times) == 0;
}

/* One of those for which `is_good` holds, by index; NOBODY when there is none. */
#define PICK(run, array, is_good)                                                                  \
	({                                                                                         \
		const int pick_range = (int)(sizeof(array) / sizeof((array)[0]));                  \
		const int pick_first = (int)below((run), (uint32_t)pick_range);                    \
		int picked = NOBODY;                                                               \
		for (int pick_i = 0; pick_i < pick_range && picked == NOBODY; pick_i++) {          \
			const __typeof__(&(array)[0]) it =                                         \
				&(array)[(pick_first + pick_i) % pick_range];                      \
			if (is_good)                                                               \
				picked = (pick_first + pick_i) % pick_range;                       \
		}                                                                                  \
		picked;                                                                            \
	})

#endif
