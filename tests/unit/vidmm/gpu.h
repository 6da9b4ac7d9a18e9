/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - a GPU turned by hand: a pager, a scheduler and a clock that do what the test says, when
 * it says so.
 *
 *	gpu_init(&gpu, &(struct gpu_config){ .local_mib = 8 });
 *	… vidmm_make_resident() …            jobs that may begin wait in gpu.ready
 *	gpu_run(&gpu, 1);                    one is executed, byte by byte, and is done
 *	gpu_work(&client)                    a device queues work; gpu_retire() ends the oldest
 *	gpu_tick(&gpu)                       the manager's clock strikes, if it was set
 *	gpu_finish(&gpu);                    validates, then fails on anything that is left
 *
 * What the driver would have been asked is in gpu.log, a letter for each:
 *
 *	i  copied into a segment   o  copied out   c  copied within one   f  filled with zeroes
 *	m  mapped into the aperture   u  unmapped   U  unmapped, and nobody's any more
 *	s  settled: what was before is done   e  entries of page tables   T  the TLB is flushed
 *	N  told that it is resident   n  … that it is not   d  its content is discarded
 *	t  told of a transfer of no bytes
 *
 * Segment 1 is local memory, 2 an aperture, 3 (with a GpuMmu) the kernel's system memory. Bytes are
 * real: local memory is memory of the machine, so that the CPU can be shown it.
 */
#ifndef TESTS_UNIT_VIDMM_GPU_H
#define TESTS_UNIT_VIDMM_GPU_H

#include "base/clock.h"
#include "fake/memory.h"
#include "fake/owners.h"
#include "support/rule.h"
#include "unit/vidmm/evict.h"
#include "vidmm/manager.h"
#include "vidmm/place.h"
#include "world.h"

enum { SEGMENT_LOCAL = FAKE_LOCAL, SEGMENT_APERTURE = FAKE_APERTURE, SEGMENT_SYSTEM = 3 };
enum { SET_LOCAL = 1, SET_APERTURE = 2, SET_SYSTEM = 4 };
enum { GPU_MAX_LOG = 256, GPU_WINDOW_PAGES = 4096 };

struct gpu_config {
	uint64_t local_bytes;        /* 8 MiB */
	uint64_t aperture_bytes;     /* 16 MiB */
	uint64_t commit_limit_bytes; /* of the aperture and system memory together; none */
	bool is_physical;            /* no GpuMmu */
	bool is_by_lists;
	bool is_hidden;        /* the CPU does not see local memory */
	bool is_elsewhere;     /* … or sees it, where the machine has no memory */
	bool is_coherent;      /* its caches see what the GPU writes to local memory */
	uint32_t window_pages; /* … but through so many pages of a CPU host aperture */
	bool window_is_cached;
	bool window_is_foreign; /* what it shows is no memory of the machine */
	bool uses_64k_pages;
	uint64_t slice_ns;                 /* an hour */
	const struct evict_policy *policy; /* lru */
	bool has_clock; /* the manager's own, in its thread: what it does cannot be foreseen */
	const uint64_t *bank_ends;
	uint32_t bank_count;
	const struct vidmm_mapping_ops *mappings;
	unsigned machine_mib;     /* 64 */
	uint64_t reachable_bytes; /* of system memory behind local memory; all */
};

struct gpu {
	struct world world;
	struct vidmm *manager;
	struct vidmm_process process; /* the first one */
	uint64_t local_address;
	char *local;
	struct fake_memory memory;

	bool uses_64k_pages;
	uint64_t window_address; /* of the CPU host aperture; MACHINE_NOWHERE: there is none */
	bool window_is_foreign;
	bool is_shown[GPU_WINDOW_PAGES];
	uint32_t windows_opened; /* calls */
	uint32_t windows_closed;
	uint32_t open_pages;
	uint32_t refuse_windows;            /* the n-th call from now on; 0: none */
	void *window_allocation;            /* whose was opened last */
	void (*in_window)(struct gpu *gpu); /* called while one is being opened */

	/* Page tables and their TLB, for a test that has some. NULL: there are none. */
	void (*tables)(struct gpu *gpu, const struct miniport_paging_op *op);

	struct list things; /* that have not been finished */

	struct sched sched; /* its lock guards the rest */
	struct list ready;
	struct list built; /* in this order */
	uint64_t built_count;
	bool is_running_at_once;
	NTSTATUS next_status; /* of the next job */
	uint32_t fail_op;    /* the n-th operation from now on is answered with an error; 0: none */
	bool copies_wrong;   /* within local memory, by one bit of the last byte */
	uint32_t generation; /* of the pager */

	uint64_t copied_in_bytes;
	uint64_t copied_out_bytes;
	uint64_t copied_within_bytes;
	uint64_t filled_bytes;
	uint32_t jobs;
	_Atomic uint32_t queued_by; /* thread_id() of who queued the last one */
	uint32_t discards;
	char log[GPU_MAX_LOG]; /* the legend is above */

	uint32_t trims;
	uint32_t trim_flags;
	uint64_t trim_bytes;
	struct vidmm_process *trimmed;
	uint32_t budget_changes;
	uint32_t starved;
};

extern struct gpu *the_gpu;

/* ---- clients ---- */

struct client {
	struct sched_owner owner;
	struct vidmm_device device;
};

void client_init(struct client *client, struct vidmm_process *process);
void client_finish(struct client *client);
/* Queues work; it is submitted unless the client is suspended. */
void gpu_work(struct client *client);
/* The oldest is over. */
void gpu_retire(struct client *client);

/* Its hour is over. */
void gpu_slice_over(struct client *client);

/* Every process that listens (NULL), or one, is told to trim. */
void gpu_trim(struct vidmm_process *process, uint32_t flags);

/* ---- the pager ---- */

/* Runs at most `count` jobs that may begin; returns how many. */
unsigned gpu_run(struct gpu *gpu, unsigned count);
unsigned gpu_ready(struct gpu *gpu);

/* One that may begin is built, and no more; false: there is none. It has no page tables. */
bool gpu_build(struct gpu *gpu);
/* The hardware does what was built first, and it is done; false: there is none. */
bool gpu_complete(struct gpu *gpu);
/* What was built first comes back undone, when it is completed. */
void gpu_fail_built(struct gpu *gpu, NTSTATUS status);

/* Of the manager's config. */
NTSTATUS gpu_mdl_create(const struct miniport_page_run *runs, uint32_t count,
			struct miniport_mdl **mdl_out);
void gpu_mdl_destroy(struct miniport_mdl *mdl);

/* The manager's clock strikes, whenever it was set for. False: it was not. */
bool gpu_tick(struct gpu *gpu);

/* ---- all of it ---- */

void gpu_init(struct gpu *gpu, const struct gpu_config *config);
void gpu_check(struct gpu *gpu);
void gpu_finish(struct gpu *gpu);

/* An allocation and its binding to one device. */
struct thing {
	struct list link; /* gpu.things */
	bool is_opened;   /* another one's allocation */
	struct vidmm_allocation *memory;
	struct vidmm_binding binding;
	struct vidmm_request request;
	uint32_t done; /* how often the request was */
	NTSTATUS status;
};

struct vidmm_wishes thing_wishes(struct gpu *gpu, uint64_t size_bytes, uint32_t segments);
void thing_init(struct thing *thing, struct client *client, uint64_t size_bytes, uint32_t segments);
/* … and resident. */
void thing_add(struct thing *thing, struct client *client, uint64_t size_bytes, uint32_t segments);
void thing_init_as(struct thing *thing, struct client *client, const struct vidmm_wishes *wishes);
/* The same allocation on another device. */
void thing_open(struct thing *thing, struct client *client, struct thing *other);
void thing_close(struct thing *thing);
/* Destroys; jobs that takes are run. */
void thing_finish(struct thing *thing);
/* The rest of it, when the test has had it leave. */
void thing_end(struct thing *thing);
/* Closes and destroys all there are, the newest first. */
void gpu_end_things(struct gpu *gpu);

NTSTATUS thing_make_resident(struct thing *thing);
/* The same, whatever the budget: it can trim no further. */
NTSTATUS thing_demand(struct thing *thing);
NTSTATUS thing_evict(struct thing *thing, uint32_t flags);
NTSTATUS thing_reclaim(struct thing *thing, enum vidmm_reclaim_result *result_out);
/* Made resident, and everything run that takes. */
void thing_bring_in(struct thing *thing);
/* Writes through a lock; reads it wherever the GPU sees it. */
void thing_write(struct thing *thing, char value);
bool thing_holds(struct thing *thing, char value);
/* The byte at `offset` as the GPU sees it; it is in place. */
char *thing_byte(struct thing *thing, uint64_t offset_bytes);
bool thing_is_in(struct thing *thing);
/* 0: nowhere. */
uint32_t thing_segment(struct thing *thing);
/* Fills GPU memory where it is, as work would. */
void thing_render(struct thing *thing, char value);

#endif
