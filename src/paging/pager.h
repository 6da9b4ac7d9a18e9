/*
 * pager.h - moving bytes and writing page tables, through the driver and in order.
 *
 * A job is a row of operations (op.h) with a beginning and an end:
 *
 *	create ▶ [others must be over first] ▶ queue ▶ built into paging buffers ▶ submitted ▶
 *done()
 *
 * One thread per adapter builds (DxgkDdiBuildPagingBuffer is long, and one at a time); buffers of
 * several jobs are with the hardware at once, and jobs that are ready are built in the order in
 * which they became so. What a job needs to come first it says (paging_job_after); nothing else is
 * promised between jobs, except that the paging node runs what it is given in order.
 *
 * Paging buffers: as many as it takes to build one while others run, of the size the driver
 * reported, 4 KiB aligned, private data zeroed. One is used again after its last fence. Many
 * operations of many jobs share a buffer; one operation may take many.
 */
#ifndef PAGING_PAGER_H
#define PAGING_PAGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/status.h"
#include "paging/op.h"
#include "sched/sched.h"

struct pager;
struct paging_job;

/* The hardware side, so that tests can be it. */
struct pager_driver_ops {
	NTSTATUS(*build)
	(void *driver, const struct miniport_paging_op *op, struct miniport_paging_buffer *buffer,
	 uint32_t *multipass);
	NTSTATUS(*submit)
	(void *driver, const struct sched_submission *how,
	 const struct miniport_paging_buffer *buffer, uint32_t start_bytes, uint32_t end_bytes,
	 uint32_t private_start_bytes, uint32_t private_end_bytes);
};

struct pager_config {
	uint32_t buffer_bytes; /* as the driver reported */
	uint32_t buffer_private_bytes;
	uint32_t buffer_count; /* 0: a sensible number */
	uint32_t node;
	const struct miniport_gpu_mmu *gpu_mmu; /* NULL: physical model */
};

/* `system_owner` is the kernel's own on this adapter. */
MUST_CHECK NTSTATUS pager_create(const struct pager_config *config,
				 const struct pager_driver_ops *ops, void *driver,
				 struct sched_owner *system_owner, struct pager **pager_out);

/* Runs what is queued, then ends. Accepts NULL. */
void pager_destroy(struct pager *pager);

/* ---- jobs ---- */

struct paging_job {
	/* On the pager's thread, no lock held, once. A failure: nothing of it counts as done. */
	void (*done)(struct paging_job *job, NTSTATUS status);

	/*
	 * Makes the next operation, or says that there is none: long rows need no memory. NULL:
	 * there are none, the job is an ordering point.
	 */
	bool (*next)(struct paging_job *job, struct paging_op *op_out);

	/* A transfer or discard was answered with STATUS_GRAPHICS_ALLOCATION_BUSY: returns when no
	   queued work refers to the allocation. */
	void (*idle)(struct paging_job *job);

	/* The pager's own. */
	struct pager *pager;
	struct list link;
	_Atomic uint32_t pending; /* things that have to be over first, one more until queued */
	struct list followers;    /* paging_dependency.link */
	uint64_t ticket;
	uint32_t in_flight;
	uint8_t state;
	NTSTATUS status;
};

void paging_job_init(struct paging_job *job, struct pager *pager);

/*
 * `job` begins after `first` is done; after what `first_owner` has queued, or has with the
 * hardware, is over. Before paging_job_queue() of `job`. The dependency's storage lives until `job`
 * begins.
 */
struct paging_dependency {
	struct list link;
	struct paging_job *job;
	struct sched_wait wait;
};
void paging_job_after(struct paging_job *job, struct paging_job *first,
		      struct paging_dependency *dependency);
void paging_job_after_owner(struct paging_job *job, struct sched_owner *owner,
			    struct paging_dependency *dependency);
void paging_job_after_submitted(struct paging_job *job, struct sched_owner *owner,
				struct paging_dependency *dependency);

/* Cannot fail. `done` may run before it returns, on another thread. */
void paging_job_queue(struct paging_job *job);

/* True when `done` was called. */
bool paging_job_is_done(const struct paging_job *job);

/* ---- being told ---- */

/* When every job queued so far is done; at once when there is none (one look). */
void pager_after_all(struct pager *pager, struct sched_wait *wait);

/* Returns when every job queued so far is done. Not on the pager's thread. */
void pager_flush(struct pager *pager);

/* True on the thread that builds: nobody may wait for a job there. */
bool pager_is_current_thread(const struct pager *pager);

/* ---- recovery and recounting ---- */

/* After an adapter reset: what was built is forgotten, the kernel's own tables are written anew. */
MUST_CHECK NTSTATUS pager_restart(struct pager *pager);

/* Recounts. NULL, or what does not add up. */
const char *pager_validate(struct pager *pager);

#endif
