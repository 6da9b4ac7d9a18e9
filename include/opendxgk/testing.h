/* SPDX-License-Identifier: MIT */
/*
 * testing.h - hooks of libdxgk.so for tests of clients and drivers. Not for programs.
 */
#ifndef OPENDXGK_TESTING_H
#define OPENDXGK_TESTING_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the kernel has allocated now; the same before and after, when nothing leaked. */
struct dxgk_test_memory {
	long long blocks;
	long long bytes;
};
struct dxgk_test_memory dxgk_test_memory(void);

/* The n-th allocation of the kernel from now on fails; stop tells whether it came to that. */
void dxgk_test_fail_nth_allocation(unsigned long long n);
int dxgk_test_fail_stop(void);

/* How often a driver was reported for breaking this rule ("NT-IRQL-WAIT"). */
unsigned long long dxgk_test_report_count(const char *rule);

/*
 * What a driver is reported for, as it happens: on the reporting thread, or for a crash in a copy of the process, which
 * ends when the listener returns. Texts are the listener's for that long. `frames` are the driver's, innermost first, or the
 * routine whose answer broke the rule; a report that was made before at the same place (`is_repeated`) has none. `calls`
 * are the last ones across the driver line, oldest first; they need DXGK_VERIFY=rules. NULL: nobody listens.
 */
struct dxgk_test_source_line {
	char function[128];
	char file[192];
	char image[64];
	unsigned line; /* 0: not known */
};
struct dxgk_test_report {
	const char *rule;
	const char *sentence;
	const char *entry; /* the entry point the thread is in; NULL: none */
	unsigned long long site;
	int is_repeated;
	int is_crash;
	const struct dxgk_test_source_line *frames;
	unsigned frame_count;
	const char *const *calls;
	unsigned call_count;
};
void dxgk_test_listen_reports(void (*listener)(void *context,
					       const struct dxgk_test_report *report),
			      void *context);

/* 1 when something of DXGK_FAULT has happened in this run (docs/verify.md). */
int dxgk_test_fault_fired(void);

/*
 * The driver is reported: memory of this allocation does not hold what was last written to it, as the sentence tells. DDI-CONTENT, or
 * the rule of the only way by which the GPU has reached it.
 */
void dxgk_test_report_content(unsigned allocation, const char *sentence);

/*
 * When a driver reports the end of the packet with the commands at this GPU address, each 32 bits at `place` have to hold
 * `value` at that very moment; else it is reported (DDI-FENCE-NO-EARLY, or DDI-PREEMPT-RESUBMIT when the packet was
 * preempted before). `queue` is the handle of a context with virtual addressing, or of a hardware queue, of the process
 * that this thread's calls are of. Once; before the submission; `place` stays until then, or until nothing is expected in
 * these bytes any more.
 * Needs DXGK_VERIFY=rules. 0: there is no such queue, or too much is expected.
 */
struct dxgk_test_expectation {
	unsigned queue;
	unsigned value;
	unsigned long long commands;
	const volatile void *place;
	unsigned long long size_bytes;
};
int dxgk_test_expect(const struct dxgk_test_expectation *expectation);
void dxgk_test_expect_nothing(const volatile void *from, unsigned long long size_bytes);

/*
 * Walks everything the kernel holds and recounts it; other threads' calls wait meanwhile. 1 when it
 * all fits together, else 0 and what does not, in `problem`. No call of another thread is waiting
 * for something (a keyed mutex): it would be waited for.
 */
int dxgk_test_validate(char *problem, size_t size_bytes);

/*
 * Where the kernel has its adapters and its only process (object/owner/kernel.h; NULL: it does not run). For
 * tests that are built with it and make one of its numbers wrong, to see that the recount finds it.
 */
struct dxgk_test_inside {
	void *kernel;
	void *process;
};
struct dxgk_test_inside dxgk_test_inside(void);

/*
 * The adapter with this LUID goes, with everything on it: stopped when its work is over or, as a
 * surprise, at once. 0 when there is none. Nothing brings it back.
 */
int dxgk_test_remove_adapter(unsigned luid_low, int luid_high, int is_surprise);

/*
 * What happens to an adapter as a whole. Each returns an NTSTATUS, refused as a call would be.
 *
 * power: DxgkDdiSetPowerState. For D3 (3) everything that may leaves GPU memory, and the hardware finishes what it has; what is
 * queued meanwhile waits, until D0 (0). What is on a list of residency may be back before the power goes.
 * reset_device: DxgkDdiResetDevice, as at a bug check: any IRQL, whatever is under way. collect_debug_info:
 * DxgkDdiCollectDbgInfo, as before a reset.
 */
int dxgk_test_power(unsigned luid_low, int luid_high, unsigned state);
int dxgk_test_reset_device(unsigned luid_low, int luid_high);
int dxgk_test_collect_debug_info(unsigned luid_low, int luid_high);

/*
 * Another client of the kernel, as another program would be: a process of its own, with its own
 * handles, memory and budget. The kernel runs already (a call was made). NULL when there is no memory.
 */
struct dxgk_test_process;
struct dxgk_test_process *dxgk_test_process_create(unsigned pid, unsigned user, const char *name);

/*
 * The same for one that is treated as if it were in another process: nothing is mapped for it but what
 * its calls are told to show, within these addresses, which the caller has reserved.
 */
struct dxgk_test_process *dxgk_test_process_create_remote(unsigned pid, unsigned user,
							  const char *name, void *arena,
							  unsigned long long size_bytes);

/* Memory in a file that comes along with this thread's next call of such a one. 0: no memory. */
int dxgk_test_bring(void *memory, unsigned long long size_bytes, int descriptor,
		    unsigned long long offset);

/* Told of each stretch that such a one maps: pages of a file. NULL: nobody is. */
void dxgk_test_watch_views(void (*watch)(void *address, unsigned long long page_count,
					 int descriptor, unsigned long long first_page));

/* What there is of memory that other processes can map. */
struct dxgk_test_banks {
	unsigned long long files;
	unsigned long long taken_pages; /* of the machine, whoever has them */
	unsigned long long displaced_pages;
	unsigned long long mappings;
};
struct dxgk_test_banks dxgk_test_banks(void);

/*
 * The same, and whether it is a controller (docs/control.md), which the other is not, and what it may
 * have of each kind (docs/profile.md, limits; in single bytes here). NULL as well for a limit of no kind.
 */
struct dxgk_test_limit {
	const char *name;
	unsigned long long most;
};
struct dxgk_test_identity {
	unsigned pid;
	unsigned user;
	const char *name;
	int is_controller;
	const struct dxgk_test_limit *limits;
	unsigned limit_count;
};
struct dxgk_test_process *dxgk_test_process_create_as(const struct dxgk_test_identity *identity);

/*
 * Calls of this thread are that one's from now on; NULL: the program's own. Returns whose they were,
 * with nothing held: keep what you made yourself.
 */
struct dxgk_test_process *dxgk_test_process_enter(struct dxgk_test_process *process);

/*
 * It has died: its calls that wait are refused, and what it had is destroyed when this returns. Calls of
 * threads that are still in it are refused afterwards.
 */
void dxgk_test_process_end(struct dxgk_test_process *process);
/* The same, and threads may still enter it, and be refused; until it is ended, too. */
void dxgk_test_process_kill(struct dxgk_test_process *process);

/*
 * A thread that takes part in a seeded run (DXGK_SEED). Join waits for it and frees it. Returns NULL
 * when there is no memory.
 */
struct dxgk_test_thread;
struct dxgk_test_thread *dxgk_test_thread_create(void (*run)(void *argument), void *argument);
struct dxgk_test_thread *dxgk_test_thread_create_named(const char *name,
						       void (*run)(void *argument), void *argument);
void dxgk_test_thread_join(struct dxgk_test_thread *thread);

/* Lets so much time go by; in a seeded run that is virtual, and costs nothing. */
void dxgk_test_sleep(unsigned long long nanoseconds);

/*
 * What may happen between two steps of one thread of a seeded run: the thread whose name begins so
 * (one that was made above, or one of the kernel's, as debuggers show it) stops at its n-th point
 * from now on, where it takes or gives back a lock, waits or wakes. The others go on until each of them
 * waits or has ended, then it goes on as well. The way to the n-th point is the same for each n.
 */
void dxgk_test_park(const char *thread_name, unsigned long long point);
/* Returns when it is parked, or dxgk_test_park_end() was called. */
void dxgk_test_park_await(void);
/* Nobody is parked any more. 0: there was no such point. */
int dxgk_test_park_end(void);

#ifdef __cplusplus
}
#endif

#endif
