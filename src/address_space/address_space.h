/* SPDX-License-Identifier: MIT */
/*
 * address_space.h - one process's GPU addresses on one adapter: requests, and the paging jobs that
 * carry them out.
 *
 *	call ──plan──▶ tables made, ranges changed ──▶ answer
 *	                        └──▶ job: the tables of these ranges show what is true ──▶ done()
 *
 * Addresses are taken, changed and freed when the call is made; only the tables come later. So what
 * is freed can be handed out again at once, and whoever wrote last is what the tables come to show.
 * An update is the exception: it is planned when it is made, to say what is wrong with it, and
 * again when its turn comes, to change something (space_update).
 *
 * Memory that goes (address_space_drop) is given back after done(): until then the GPU may see it.
 *
 * Locks: page_tables.lock for every request. Nothing is called with it held.
 */
#ifndef ADDRESS_SPACE_ADDRESS_SPACE_H
#define ADDRESS_SPACE_ADDRESS_SPACE_H

#include "base/notice.h"
#include "gpuva/plan.h"
#include "pagetable/page_tables.h"
#include "pagetable/root_change.h"

/* Writes a root (root.c). */
struct space_root_job {
	struct paging_job job;
	struct root_change change;
	bool is_last; /* the old root's last entries */
	_Atomic bool is_done;
	NTSTATUS status;
};

/* Who is told when the tables show it; once, on the pager's thread. */
struct space_listener {
	void (*done)(void *context, NTSTATUS status);
	void *context;
};

/*
 * Who tells all contexts of the process where the root is now, and then address_space_root_told().
 * Called on the pager's thread, where no driver may be told: it may answer with a request to the
 * pager, and wait for that (DxgkCbUpdateContextAllocation).
 */
struct space_root_listener {
	void (*moved)(void *context);
	void *context;
};

/* How far tables have come on their way out or in (eviction.c). The pager's thread's. */
struct space_way {
	bool has_begun;
	struct page_tables *parts[2]; /* those of tile pools, if there are any, and the space's */
	uint32_t count;
	uint32_t written; /* of them */
	uint32_t flushed; /* out: of them */
	bool has_sync;    /* of the next one to be written */
	struct table_sync sync;
};

struct address_space {
	struct page_tables tables;
	struct pager *pager;
	struct page_tables_config *config;
	struct list config_link;  /* page_tables_config.spaces, guarded by its lock */
	_Atomic bool has_started; /* the GPU may have seen it */

	struct list memories;               /* space_memory.space_link; tables.lock */
	struct notice changed;              /* fewer jobs */
	_Atomic uint32_t pending;           /* jobs and updates that are not over */
	_Atomic uint32_t queued_operations; /* of updates */

	/* Writing everything anew (rewrite.c). The pager's thread's. */
	struct paging_job rewrite_job;
	struct table_sync rewrite_sync;
	struct list rewrite_link;
	bool is_rewriting;
	bool must_rewrite; /* from the beginning, when it gets to it */

	/* A job of it failed: nobody knows what a GPU finds, until everything is written anew. */
	_Atomic bool is_broken;
	struct space_listener watcher;

	struct lock root_lock; /* LOCK_RANK_VA_ROOT */
	struct list contexts;  /* space_context.link */
	struct space_root_job root;

	/* Tables that leave and come back (eviction.c). The job's, one at a time. */
	struct space_root_listener root_listener;
	struct paging_job tables_job;
	struct space_way way;
	bool has_leave_failed; /* the way in is to where they were */

	/* Where its tile pools are kept mapped (pools.c). No context begins there. */
	struct address_space *pools; /* tables.lock; NULL until an update needs them */
	struct address_space *user;  /* of pools: whose they are. Set when they are made. */
};

/* Whoever begins at the root. */
struct space_context {
	struct list link;
	void *driver_context;
};

/*
 * An allocation in this space. References: one of its own until it is dropped, one per update, one
 * for each call that has to do with it.
 */
struct space_memory {
	struct memory_view view;
	struct address_space *space;
	struct list space_link;
	uint32_t openings;   /* names of one memory here; tables.lock, and so are … */
	uint32_t references; /* … these, and … */
	bool is_gone;        /* nothing of it is mapped any more */

	/* Its end. */
	struct paging_job job;
	struct table_sync sync;
	bool has_range;
	void (*dropped)(void *context);
	void *dropped_context;
};

/*
 * Empty. Requests may be made, but none that has to be written. `process` is whose room the tables
 * have; NULL: they stay where they are. May wait for room, as all requests that make tables.
 */
MUST_CHECK NTSTATUS address_space_create(struct page_tables_config *config, struct pager *pager,
					 struct vidmm_process *process,
					 struct address_space **space_out);

/*
 * Its driver's process is known. Returns when the root can be used; from then on the tables may
 * leave while the process does nothing, and `root` is told when they are back.
 * A reset that comes in between is waited for; STATUS_DEVICE_REMOVED: the adapter is lost. Refuses
 * nothing itself. Not on the pager's thread.
 */
MUST_CHECK NTSTATUS address_space_start(struct address_space *space, void *driver_process,
					const struct space_root_listener *root);

/* All contexts know the root; any thread, no lock held. What waited for that goes on. */
void address_space_root_told(struct address_space *space);

/* No context uses it, nobody makes a request any more. Waits for its jobs. Accepts NULL. */
void address_space_destroy(struct address_space *space);

/*
 * The context is told of the root, now and when it is another one, until it is removed. The driver
 * is entered. A context that was never added can be removed when its link was initialised.
 */
void address_space_add_context(struct address_space *space, struct space_context *context,
			       void *driver_context);
void address_space_remove_context(struct address_space *space, struct space_context *context);

/* All of them are told again: the tables were elsewhere. The driver is entered. */
void address_space_tell_contexts(struct address_space *space);

/*
 * `memory` in this space, made at the first need. Stays until address_space_drop() or the end of
 * the space.
 */
MUST_CHECK NTSTATUS address_space_memory(struct address_space *space, struct mapped_memory *memory,
					 struct space_memory **memory_out);

/*
 * The same for memory with several names, each of which is one opening: with a reference for the
 * caller. What is mapped by it goes with the last opening; when that was closed, and true returned,
 * nothing more is mapped of it, and address_space_drop_opened() follows.
 */
MUST_CHECK NTSTATUS address_space_open(struct address_space *space, struct mapped_memory *memory,
				       struct space_memory **memory_out);
MUST_CHECK bool space_memory_close(struct space_memory *memory);
void space_memory_put(struct space_memory *memory);

/*
 * STATUS_SUCCESS: nothing had to be written, nobody is told. STATUS_PENDING: done() comes, perhaps
 * before it returns. What is refused changed nothing: statuses of gpuva/plan.h, and
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY when nothing more can be evicted for tables.
 */
MUST_CHECK NTSTATUS address_space_reserve(struct address_space *space,
					  const struct gpuva_reserve_request *request,
					  const struct space_listener *listener,
					  uint64_t *address_out);
MUST_CHECK NTSTATUS address_space_map(struct address_space *space,
				      const struct gpuva_map_request *request,
				      const struct space_listener *listener, uint64_t *address_out);

/*
 * The same on a thread that is inside the driver, where the root cannot grow, and nobody waits
 * for others to make room: what it does not reach, or has no room, is refused.
 */
MUST_CHECK NTSTATUS address_space_map_from_driver(struct address_space *space,
						  const struct gpuva_map_request *request,
						  const struct space_listener *listener,
						  uint64_t *address_out);

/* Where the kernel chooses: from where on large pages are possible. 0: it does not matter. */
uint64_t address_space_best_alignment(const struct address_space *space, uint64_t page_count);

/* The range is free when it returns; the tables follow. Without a listener nothing is PENDING. */
MUST_CHECK NTSTATUS address_space_free(struct address_space *space, uint64_t base,
				       uint64_t size_bytes, bool is_from_driver,
				       const struct space_listener *listener);

/*
 * All addresses of `memory` in one space and its pools (NULL: in all) go. Needs no memory. True: they are gone;
 * else done() comes.
 */
struct memory_drop {
	void (*done)(struct memory_drop *drop); /* on the pager's thread */
	_Atomic uint32_t pending;
};
MUST_CHECK bool address_space_drop(struct address_space *only, struct mapped_memory *memory,
				   struct memory_drop *drop);
/* The same after space_memory_close(): whoever opened it anew keeps what he maps. */
MUST_CHECK bool address_space_drop_opened(struct space_memory *memory, struct memory_drop *drop);

/*
 * Local memory was lost: no table of any space counts as written, and all are written anew. On the
 * pager's thread, for pager_config.forget. Rows that were under way go again by themselves.
 */
void address_spaces_forget(struct page_tables_config *config);

/*
 * Who is told, with the status of the job, when a job of this space has failed: on the pager's
 * thread, before anybody else hears of that job. Nothing may run in the space after that until it
 * is no longer broken.
 */
void address_space_watch(struct address_space *space, const struct space_listener *watcher);

static inline bool address_space_is_broken(const struct address_space *space)
{
	return atomic_load(&space->is_broken);
}

/* Why a call that waited for a job of the space fails with the status of that job. */
NTSTATUS address_space_refuse(NTSTATUS status);

/* For page_tables_config.failed. */
void address_space_tables_failed(struct page_tables *tables, NTSTATUS status);

/*
 * page_tables_validate() for what a GPU finds, and for what is copied from. Nobody ends the space
 * meanwhile.
 */
const char *address_space_validate(struct address_space *space, uint64_t *page_out);

/* ---- updates that wait for their turn ---- */

/* More operations than this are not queued: the caller waits. */
enum { SPACE_QUEUED_OPERATIONS = 128 };

struct space_update;

/*
 * Checks it as things are now, and takes all memory that can be taken before. The owners in
 * `operations` are space_memory of this space. Waits while too many are queued; not on the pager's
 * thread.
 */
MUST_CHECK NTSTATUS address_space_update(struct address_space *space,
					 const struct gpuva_operation *operations, uint32_t count,
					 const struct space_listener *listener,
					 struct space_update **update_out);

/* Its turn has come. Any thread, no lock held. done() says STATUS_SUCCESS for what was dropped. */
void space_update_run(struct space_update *update);
/* The same in another paging context than the kernel's own; NULL: in that. */
void space_update_run_in(struct space_update *update, struct pager_stream *stream);

/* It never comes. */
void space_update_cancel(struct space_update *update);

#endif
