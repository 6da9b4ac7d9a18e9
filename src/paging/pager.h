/* SPDX-License-Identifier: MIT */
/*
 * pager.h - moving bytes and writing page tables, through the driver and in order.
 *
 * A job is a row of operations (miniport/paging_op.h) with a beginning and an end:
 *
 *	create ▶ [others must be over first] ▶ queue ▶ built into buffers ▶ submitted ▶ done()
 *
 * One thread per adapter builds (DxgkDdiBuildPagingBuffer is long, and one at a time); buffers of
 * several jobs are with the hardware at once, and jobs that are ready are built in the order in
 * which they became so, but for those that move much: one in and one out have turns, a window of
 * each. What a job needs to come first it says (paging_job_after_wait); nothing else is
 * promised between jobs, except that what is built first takes effect first (stream.h).
 *
 * Within a job operations take effect in order. Some drivers act at once when they are asked to map
 * an aperture, and all do when the CPU writes a page table: such an operation waits until what the
 * job has with the hardware is over. Other jobs are built meanwhile.
 *
 * Paging buffers: as many as it takes to build one while others run, of the size the driver
 * reported, 4 KiB aligned, private data zeroed. One carries one submission, so that each begins
 * as the driver expects it, and is used again after its fence. Many operations of many jobs share a
 * buffer; one operation may take many.
 */
#ifndef PAGING_PAGER_H
#define PAGING_PAGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/status.h"
#include "miniport/work.h"
#include "paging/stream.h"
#include "sched/sched.h"

struct pager;
struct paging_job;

/* One operation has so many entries of a page table at most, unless it is the same all over. */
enum { PAGING_TABLE_ENTRIES = 512 };

/* The hardware side, so that tests can be it. `pager_miniport_ops` is a miniport's (driver.c). */
struct pager_driver_ops {
	NTSTATUS(*build)
	(void *driver, const struct miniport_paging_op *op, struct miniport_paging_buffer *buffer,
	 uint32_t *multipass);
	NTSTATUS(*submit)
	(void *driver, const struct sched_submission *how,
	 const struct miniport_paging_buffer *buffer, uint32_t start_bytes, uint32_t end_bytes,
	 uint32_t private_start_bytes, uint32_t private_end_bytes);
	NTSTATUS(*create_mdl)
	(void *driver, const struct miniport_page_run *runs, uint32_t run_count,
	 struct miniport_mdl **mdl_out);
	void (*destroy_mdl)(void *driver, struct miniport_mdl *mdl);

	/* GpuMmu only: of a context, NULL is the kernel's own; bytes of a root of two levels. */
	void (*set_root)(void *driver, void *driver_context, uint32_t segment,
			 uint64_t offset_bytes, uint32_t entry_count);
	uint64_t (*root_bytes)(void *driver, uint32_t *entry_count);
};

/* `driver` is a struct miniport. */
extern const struct pager_driver_ops pager_miniport_ops;

/* Where one of the kernel's own page tables is. Pinned until it is given back. */
struct pager_table {
	uint32_t segment;      /* 0: system memory, and then offset_bytes is the physical address */
	uint64_t offset_bytes; /* in the segment */
	void *pointer;         /* for the CPU (host aperture included); NULL: it cannot see it */
	void *block;           /* whoever gave it: its own */
};

/* The same, as an operation names it. */
static inline struct miniport_location pager_table_location(const struct pager_table *table)
{
	return (struct miniport_location){ .segment = table->segment,
					   .offset_bytes = table->offset_bytes,
					   .pointer = table->pointer };
}

struct pager_config {
	uint32_t buffer_bytes;       /* as the driver reported */
	uint32_t buffer_guard_bytes; /* behind each: whole pages that nobody uses */
	uint32_t buffer_private_bytes;
	uint32_t buffer_count; /* 0: a sensible number */
	uint32_t node;

	const struct miniport_gpu_mmu *gpu_mmu; /* NULL: physical model. The rest is for this: */
	uint32_t implicit_system_segment; /* another name of system memory; 0: there is none */
	void *driver_process;             /* the kernel's own, for entries and TLBs */

	/*
	 * Contiguous room in a segment that is neither 0 nor the implicit one; tables in system
	 * memory the pager takes from the machine itself. Called by pager_create() and
	 * pager_destroy().
	 */
	NTSTATUS(*take_table)
	(void *memory, uint32_t segment, uint64_t size_bytes, uint64_t align_bytes,
	 struct pager_table *table_out);
	void (*give_table)(void *memory, const struct pager_table *table, uint64_t size_bytes);
	void *memory;

	/*
	 * How many pages, and how large, the processor may see of such tables at once, where it
	 * sees them through a CPU host aperture. UINT64_MAX: it needs none there. NULL: nowhere.
	 */
	uint64_t (*table_windows)(void *memory, uint32_t segment, uint64_t *page_bytes_out);

	/*
	 * Local memory was lost, with all tables in it. On the pager's thread, no lock held:
	 * nothing of before is asked for any more, nothing of after was yet. May queue jobs. May be
	 * NULL.
	 */
	void (*forget)(void *context);
	void *forget_context;
};

/*
 * `system_owner` is the kernel's own on this adapter. Under a GpuMmu the kernel's own address space
 * is built too: all its tables written, its root set. Enters the driver; not on the scheduler's
 * thread.
 */
MUST_CHECK NTSTATUS pager_create(const struct pager_config *config,
				 const struct pager_driver_ops *ops, void *driver,
				 struct sched_owner *system_owner, struct pager **pager_out);

/*
 * Runs what is queued, then ends its thread; what a suspended pager has, fails. Resets may still be
 * told of, to no effect: whoever resets is to end before the pager is destroyed. Accepts NULL.
 */
void pager_stop(struct pager *pager);

/* Stops first where nobody did. Accepts NULL. */
void pager_destroy(struct pager *pager);

/* How long jobs took, from when they were queued until they were done. */
const struct tally_spread *pager_times(const struct pager *pager);

/* To a trace that begins now: jobs that are not done, and packets of theirs that the scheduler has. */
void pager_trace_jobs(struct pager *pager);

/* ---- jobs ---- */

/* What a job does next. */
enum paging_step {
	PAGING_NONE,      /* nothing: that was all of it */
	PAGING_OPERATION, /* one more of the driver's */
	PAGING_SETTLE,    /* waits until it has nothing with the hardware */
	PAGING_FOLLOW,    /* waits until changes of tables that were queued before are built */
};

/* For rows that are operations only. */
static inline enum paging_step paging_step_of(bool has_op)
{
	return has_op ? PAGING_OPERATION : PAGING_NONE;
}

/* Those that move much one way have turns with those that do the other way: a bus has both at once. */
enum paging_way { PAGING_SOME_WAY, PAGING_WAY_IN, PAGING_WAY_OUT };

struct paging_job {
	/*
	 * On the pager's thread, no lock held, once; the job is the caller's again. A failure:
	 * nothing of it counts as done. STATUS_DEVICE_REMOVED: the adapter was reset meanwhile.
	 * STATUS_DRIVER_INTERNAL_ERROR: the driver's answer was illegal; other jobs go on.
	 */
	void (*done)(struct paging_job *job, NTSTATUS status);

	/*
	 * Says what comes next, and makes the operation, in zeroes: long rows need no memory. On
	 * the pager's thread, no lock held. NULL: nothing does, the job is an ordering point. What
	 * an operation points at lives until done().
	 */
	enum paging_step (*next)(struct paging_job *job, struct miniport_paging_op *op_out);

	/*
	 * All of it was built: what is queued from now on is built behind it, and the hardware does
	 * it behind it. Unless the adapter is reset it is done with success. On the pager's thread,
	 * no lock held, before done(). May be NULL.
	 */
	void (*built)(struct paging_job *job);

	/*
	 * A transfer or discard was answered with STATUS_GRAPHICS_ALLOCATION_BUSY: returns when no
	 * queued work refers to the allocation. May wait for the scheduler, not for a job. NULL:
	 * nothing refers to it.
	 */
	void (*idle)(struct paging_job *job);

	/* What others find in tables changes, and did when it was queued: see PAGING_FOLLOW. */
	bool changes_tables;

	/*
	 * Operations on tables are made of what all such jobs have in common, and count as done
	 * once they are made: it is asked for none while one of another job is not built.
	 */
	bool shares_tables;

	/*
	 * Whose tables it changes; NULL: those of several, or none. Jobs that change the same are
	 * built one after the other, as they became ready; between the operations of a long one
	 * others are built.
	 */
	const void *tables;

	/* Does PAGING_FOLLOW of this one wait for changes of these? NULL: for all. No lock taken but
	 * leaves. */
	bool (*follows)(const struct paging_job *job, const void *tables);

	struct pager_stream *stream; /* for which it is built; NULL: the kernel's own */

	enum paging_way way;

	/* The pager's own, guarded by its lock. */
	struct pager *pager;
	struct list link;         /* pager.ready, stalled or built */
	struct list queued_link;  /* pager.queued: by ticket, until done */
	_Atomic uint32_t pending; /* things that have to be over first, one more until queued */
	struct list change_link;  /* pager.changes: by ticket, until built */
	struct list yield_link;   /* pager.yielded: others came between, until built */
	uint64_t ticket;
	uint64_t queued_ns;
	uint64_t followed_ticket; /* changes so far have to be built first; 0: none */
	uint64_t first_sequence;  /* packets that carry something of it; 0: none does yet */
	uint64_t last_sequence;   /* or of one that it is behind */
	uint32_t generation;      /* of the pager when it was queued */
	bool needs_quiet;         /* the clients' contexts stand still until it is done */
	_Atomic uint8_t state;
	NTSTATUS status;

	/* The pager's thread only: what was asked for and is not built yet. */
	enum paging_step step;
	uint64_t done_bytes; /* of the operation */
	struct miniport_paging_op op;
};

/* Zeroed; the functions above are set after it. */
void paging_job_init(struct paging_job *job, struct pager *pager);

/*
 * `job` begins after what `owner` has with the hardware is over. Before paging_job_queue() of `job`.
 * The dependency's storage lives until `job` begins.
 */
struct paging_dependency {
	struct paging_job *job;
	struct sched_wait wait;
};
void paging_job_after_submitted(struct paging_job *job, struct sched_owner *owner,
				struct paging_dependency *dependency);

/* … after its over() was called. */
struct sched_wait *paging_job_after_wait(struct paging_job *job,
					 struct paging_dependency *dependency);

/*
 * `job` has to do with what another has left, all of which was built: whatever becomes of it, it is
 * done behind that one's packets, and what acts at once waits for them. Before paging_job_queue().
 */
uint64_t paging_job_last_packet(struct paging_job *built);
void paging_job_behind(struct paging_job *job, uint64_t packet);

/* Cannot fail. `done` may run before it returns, on another thread. */
void paging_job_queue(struct paging_job *job);
/* All on the list, by paging_job.link, at once: the pager's thread waits for no turn between them. */
void paging_jobs_queue(struct pager *pager, struct list *jobs);

/* In done(): the next job that is over has the same one, which is called at once. */
bool paging_job_is_followed(const struct paging_job *job);

/* In done(): a reset began after it was queued. What it brought into local memory is lost. */
bool paging_job_is_stale(const struct paging_job *job);

/* ---- being told ---- */

/* When every job queued so far is done; at once when there is none (one look). */
void pager_after_all(struct pager *pager, struct sched_wait *wait);

/* A look: no job is queued or under way. */
bool pager_is_idle(const struct pager *pager);

/* Returns when every job queued so far is done. Not on the pager's thread. */
void pager_flush(struct pager *pager);

/* True on the thread that builds: nobody may wait for a job there. */
bool pager_is_current_thread(const struct pager *pager);

/*
 * Nothing of any client is with the hardware when it returns, or gets there until
 * pager_release_clients(). Not on the pager's thread; jobs that do not wait for clients' work go
 * on.
 */
void pager_hold_clients(struct pager *pager);
void pager_release_clients(struct pager *pager);

/* ---- recovery and recounting ---- */

/*
 * An adapter reset begins: nothing is built or submitted any more. Jobs queued until now fail with
 * STATUS_DEVICE_REMOVED, unless the hardware had finished them: what they would move or map is not
 * there any more, and whoever queued them has to look anew. When it returns the pager queues no
 * packet of before any more, and none that is queued is submitted. On the scheduler's thread, while
 * nobody else submits.
 */
void pager_suspend(struct pager *pager);

/*
 * Between the two: an operation that is only to be told to the driver (a transfer of 0 bytes, an
 * aperture that is unmapped after a reset). Built, never submitted. On the caller's thread, one at
 * a time.
 */
MUST_CHECK NTSTATUS pager_tell(struct pager *pager, const struct miniport_paging_op *op);

/*
 * After an adapter reset: what was built is forgotten, the root is set, and the kernel's own tables
 * are written anew before anything else. Jobs queued since pager_suspend() run then. Suspends first
 * where nobody did. Does not wait: if the tables cannot be written, all jobs fail with the status
 * that this met.
 */
void pager_restart(struct pager *pager);

/* The adapter is lost for good: every job, now and later, fails with STATUS_DEVICE_REMOVED. */
void pager_give_up(struct pager *pager);

/* Grows with every reset: a job has the one in which it was queued, and so has what it brought. */
uint32_t pager_generation(const struct pager *pager);

/* For validate: a job of it needs clients to stand still. */
bool pager_holds_clients(struct pager *pager);

/* Recounts. NULL, or what does not add up. */
const char *pager_validate(struct pager *pager);

#endif
