/* SPDX-License-Identifier: MIT */
/*
 * manager.h - the memory of one adapter, as object/ sees it: who may be resident, who has to go.
 *
 *	process   budget and usage of a client on this adapter
 *	  device  the list of what must be resident while its work runs
 *	    binding   one allocation on one device: how often it was made resident there
 *
 * An allocation of which a device wants more than CPU access has a place (place.h), made when it is
 * first needed. Content moves by paging jobs only; whoever asks is told at once when nothing has to
 * move, and through a request when something has:
 *
 *	vidmm_make_resident() ── STATUS_SUCCESS: usable now
 *	                      ── STATUS_PENDING: request->done() comes, perhaps before it returns
 *	                      ── STATUS_NO_MEMORY: nothing changed, this many bytes over budget
 *
 * Locks: LOCK_RANK_SEGMENT, one per adapter, for every decision; taken inside an allocation's lock
 * where both are needed. Only sched_owner_suspend() may be called with it held.
 */
#ifndef VIDMM_MANAGER_H
#define VIDMM_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/status.h"
#include "paging/pager.h"
#include "sched/sched.h"
#include "vidmm/vidmm.h"

struct vidmm;
struct evict_policy;
struct client_arena;
struct vidmm_place;
struct vidmm_want;

enum { VIDMM_MAX_SEGMENTS = 32 }; /* 31 of the driver's and the one the kernel adds */

/* Sizes of large pages; one for each level of page tables above the leaves. */
enum { VIDMM_LARGE_PAGES = 8 };

enum vidmm_group { VIDMM_LOCAL, VIDMM_NON_LOCAL, VIDMM_GROUPS };

/* ---- an adapter's memory ---- */

/* As the driver reported it; the id is the index + 1. */
struct vidmm_segment_config {
	uint64_t size_bytes;
	uint64_t commit_limit_bytes; /* apertures and system memory */
	uint64_t cpu_address;        /* physical, of the first byte; with is_cpu_visible */
	uint64_t window_address;     /* physical, of the CPU host aperture … */
	uint64_t window_pages;       /* … of the segment's pages; 0: it has none */
	bool window_is_cached;       /* the CPU may use its caches there */
	bool is_aperture;
	bool is_implicit_system; /* the last one: system memory behind page tables */
	bool is_cpu_visible;
	bool is_cache_coherent;
	bool uses_64k_pages;
	/* That memory should be placed for: powers of two, ascending, 0 behind the last. */
	uint64_t large_pages[VIDMM_LARGE_PAGES];
	enum vidmm_group group;
	bool is_budgeted; /* counts for what applications can have */
	uint32_t bank_count;
	const uint64_t *bank_ends; /* offsets; lives as long as the manager */
};

/*
 * Pages of a segment are seen at pages of its CPU host aperture, counted alike. No lock of the manager's
 * is held. `is_call`: by a call that is not inside of the adapter yet; all others are, or hold something
 * that keeps it.
 */
struct vidmm_window_ops {
	NTSTATUS(*open)
	(void *context, bool is_call, void *driver_allocation, uint32_t segment, uint64_t count,
	 const uint32_t aperture_pages[], const uint64_t segment_pages[]);
	void (*close)(void *context, uint32_t segment, uint64_t count,
		      const uint32_t aperture_pages[]);
};

/* Which way GPU addresses of an allocation change around a move. */
enum vidmm_mapping_change { VIDMM_MAPPINGS_OUT, VIDMM_MAPPINGS_IN };

/* Where a row of operations is; zeroed at its start. */
struct vidmm_mapping_cursor {
	uint64_t words[4];
};

/* Supplied by the code of GPU addresses. On the pager's thread, no lock held. */
struct vidmm_mapping_ops {
	/* A look: is there any GPU address of it? Under the manager's lock: must call nobody. */
	bool (*is_mapped)(void *context, struct vidmm_allocation *allocation);

	/* Do these tables (paging_job.tables) show it, or did? Leaf locks only. NULL: they may. */
	bool (*concerns)(void *context, struct vidmm_allocation *allocation, const void *tables);

	/*
	 * The next step that makes its addresses invalid (with the flush), or lets them show where
	 * it is now.
	 */
	enum paging_step (*next)(void *context, struct vidmm_allocation *allocation,
				 enum vidmm_mapping_change change,
				 struct vidmm_mapping_cursor *cursor,
				 struct miniport_paging_op *op_out);
	/*
	 * The job with such a row failed, in it or behind it: its addresses show anything. May be
	 * NULL.
	 */
	void (*failed)(void *context, struct vidmm_allocation *allocation, NTSTATUS status);
};

struct vidmm_mdl_ops {
	NTSTATUS(*create)
	(const struct miniport_page_run *runs, uint32_t run_count, struct miniport_mdl **mdl_out);
	void (*destroy)(struct miniport_mdl *mdl);
};

struct vidmm_process;
struct vidmm_device;

/* What a client is to be told. As the bits of D3DDDI_TRIMRESIDENCYSET_FLAGS. */
enum {
	VIDMM_TRIM_PERIODIC = 1,
	VIDMM_TRIM_RESTART_PERIODIC = 2,
	VIDMM_TRIM_TO_BUDGET = 4,
};

/* No lock held, any thread. Each may be NULL. The first two only for processes with listeners. */
struct vidmm_listener {
	void (*trim)(void *listener, struct vidmm_process *process, uint32_t flags,
		     uint64_t bytes_to_trim);
	void (*budget_changed)(void *listener, struct vidmm_process *process,
			       enum vidmm_group group, uint64_t budget_bytes);
	/* Its list cannot be brought in whatever is evicted: the device is in error. */
	void (*device_starved)(void *listener, struct vidmm_device *device);
	/* vidmm_give_up(): to every process that is there, once. */
	void (*adapter_lost)(void *listener, struct vidmm_process *process);
};

struct vidmm_config {
	uint32_t adapter_id; /* for traces */
	uint32_t segment_count;
	const struct vidmm_segment_config *segments;
	bool has_gpu_mmu;           /* false: everything is contiguous */
	bool is_residency_by_lists; /* WDDM 1.x: vidmm_allocation_list_prepare() instead of make-resident */
	/* What applications can have of each group, less what page tables take of it. */
	uint64_t group_bytes[VIDMM_GROUPS];
	uint64_t aperture_commit_limit_bytes; /* of all apertures together; 0: none */
	uint64_t dummy_page_address;          /* what an unmapped page of an aperture shows */
	uint64_t slice_ns;      /* how long a busy device keeps what it got back; 0: 20 ms */
	bool is_ticked_by_hand; /* its clock has no thread: vidmm_tick() */
	const struct evict_policy *policy; /* NULL: adaptive */
	struct pager *pager;
	struct vidmm_mdl_ops mdls;
	const struct vidmm_window_ops *windows; /* where a segment has window_pages */
	void *windows_context;
	const struct vidmm_mapping_ops *mappings; /* NULL: there are no GPU addresses */
	void *mappings_context;
	struct vidmm_listener listener;
	void *listener_context;
};

/* Everything is copied but bank_ends and *mappings. */
MUST_CHECK NTSTATUS vidmm_create(const struct vidmm_config *config, struct vidmm **manager_out);

/*
 * The pager, when it could not be there before: it takes room for its own tables from here. Before
 * the first process.
 */
void vidmm_set_pager(struct vidmm *manager, struct pager *pager);

/* The clock strikes now, whenever it was set for. False: it was not set, and nothing is done. */
bool vidmm_tick(struct vidmm *manager);

/* No process, device or place is left. Accepts NULL. */
void vidmm_destroy(struct vidmm *manager);

/*
 * After an adapter reset, with the pager suspended: what was in memory segments is lost, and
 * nothing is in place any more; the driver is told so. Jobs may be under way, and find it out when
 * they are done. Devices that are not lost get everything back.
 */
void vidmm_reset(struct vidmm *manager);

/* When the driver has restarted: it has to map what the CPU sees through windows once more. */
void vidmm_windows_reopen(struct vidmm *manager);

/* The same for good, after pager_give_up(): nothing comes in any more, and what is left goes. */
void vidmm_give_up(struct vidmm *manager);

struct vidmm_counter {
	uint64_t count; /* allocations */
	uint64_t bytes;
};

static inline void vidmm_count(struct vidmm_counter *counter, uint64_t bytes)
{
	counter->count++;
	counter->bytes += bytes;
}

/* What went in and out of a segment since the start. */
struct vidmm_traffic {
	struct vidmm_counter entered;   /* whatever that took */
	struct vidmm_counter filled;    /* for the first time: with zeroes */
	struct vidmm_counter copied_in; /* from system memory */
	struct vidmm_counter left;
	struct vidmm_counter evicted;   /* copied to system memory */
	struct vidmm_counter discarded; /* dropped */
	struct vidmm_counter closed;    /* left because they were destroyed */
	struct vidmm_counter shifted;   /* to other pages of the segment, whatever that took */
	uint64_t mapped_bytes;          /* into an aperture */
	uint64_t unmapped_bytes;
	uint64_t evicted_by_band[5];      /* bytes copied out, by enum evict_band */
	struct vidmm_counter tables_left; /* page tables, apart from all of the above */
	struct vidmm_counter tables_back;
};

struct vidmm_segment_usage {
	uint64_t size_bytes;
	uint64_t commit_limit_bytes;
	uint64_t resident_bytes; /* placed, entering and leaving ones included */
	uint64_t offered_bytes;
	uint64_t needed_bytes;
	uint64_t offered_by_priority[3]; /* low, normal, high */
	uint32_t resident_count;         /* allocations that have pages there */
	uint32_t needed_count;           /* of those, on somebody's list */
	uint64_t table_bytes;            /* of resident_bytes, page tables */
	uint64_t largest_gap_bytes;      /* 0 of one without addresses */
	struct vidmm_traffic traffic;    /* since the start */
	enum vidmm_group group;
};

/* `id` counts from 1. False: there is no such segment. */
MUST_CHECK bool vidmm_segment_usage(struct vidmm *manager, uint32_t id,
				    struct vidmm_segment_usage *usage_out);

/* What a process made or lists, in one segment. */
struct vidmm_process_usage {
	struct vidmm_counter resident;
	struct vidmm_counter by_preference[5]; /* those whose n-th wish it was */
	struct vidmm_counter not_preferred;
};

/* `id` as above. */
MUST_CHECK bool vidmm_process_segment_usage(const struct vidmm_process *process, uint32_t id,
					    struct vidmm_process_usage *usage_out);

/* ---- processes ---- */

/* What the clock of trims knows of a process. */
struct vidmm_trim_state {
	uint64_t told_at_ns; /* the last periodic trim, or the start */
	uint64_t told_work;  /* how much work had been queued by then */
	bool has_told_idle;  /* it had none since the one before, either */
};

/* Whose page tables they are. No lock held; each ends as table_states.h says. */
struct vidmm_tables_ops {
	void (*leave)(void *context);
	void (*enter)(void *context);
};

/* Where the page tables of a process are: see table_states.h. */
struct vidmm_tables {
	_Atomic uint32_t word; /* enum vidmm_tables_state, and above it how often they are held */

	/* Guarded by the manager's lock. */
	const struct vidmm_tables_ops *ops; /* NULL: they stay */
	void *context;
	struct list blocks;     /* vidmm_table_block.tables_link */
	struct list dependents; /* vidmm_device.leave_link: whose work the way out waits for */
	struct list plan_link;  /* plan: about to enter or leave */
	uint64_t given_up_at;   /* vidmm.retry_generation: they could not enter, or leave */
};

struct vidmm_process {
	/* Set at init. */
	struct vidmm *manager;
	struct vidmm_account account; /* for vidmm_wishes.account */
	/* For traces and messages; set by the caller afterwards. */
	uint32_t id;
	uint32_t pid;
	const char *name;

	/* Guarded by the manager's lock. */
	struct list link;
	struct list devices;
	uint64_t usage_bytes[VIDMM_GROUPS]; /* what its devices list */
	uint64_t reservation_bytes[VIDMM_GROUPS];
	uint64_t told_budget_bytes[VIDMM_GROUPS];
	bool was_over[VIDMM_GROUPS];
	struct list
		decommittable[3]; /* vidmm_place.decommit_link, by offer priority, oldest first */
	uint64_t decommit_uniqueness;
	struct list news_link; /* in what is to be told */
	uint32_t plan_count;
	uint32_t trim_listeners;   /* who of it wants to be told to trim … */
	uint32_t budget_listeners; /* … and what its budget is */
	uint8_t budget_news;       /* groups whose budget changed */
	bool has_loss_news;        /* the adapter is lost */
	uint32_t trim_flags;
	struct vidmm_trim_state trim_state;        /* trim.c */
	uint64_t budget_limit_bytes[VIDMM_GROUPS]; /* see control.h */
	bool is_suspended;                         /* see control.h */
	bool wakes_on_work;                        /* … and goes on when it has something to do */
	struct vidmm_tables tables;

	_Atomic uint32_t options; /* see control.h */
};

void vidmm_process_init(struct vidmm_process *process, struct vidmm *manager,
			struct vidmm_account *adapter_account);

/* Its devices are gone. */
void vidmm_process_finish(struct vidmm_process *process);

struct vidmm_memory_info {
	uint64_t budget_bytes;
	uint64_t usage_bytes;
	uint64_t reservation_bytes;
	uint64_t available_for_reservation_bytes;
};

struct vidmm_memory_info vidmm_process_memory_info(struct vidmm_process *process,
						   enum vidmm_group group);

/* Absolute; STATUS_INVALID_PARAMETER above what is available. */
MUST_CHECK NTSTATUS vidmm_process_reserve(struct vidmm_process *process, enum vidmm_group group,
					  uint64_t reservation_bytes);

/*
 * So many more listeners of the process, or fewer. Whoever begins to listen and is over its budget
 * is told so. With a trim listener the process is told to trim by the clock, too.
 */
void vidmm_process_listen(struct vidmm_process *process, int32_t trim_listeners,
			  int32_t budget_listeners);

/* Both together are a restart: what was used before it is not to go. */
uint32_t vidmm_trim_merge(uint32_t flags, uint32_t more);

/*
 * How long between two periodic trims of a process: one that had no work since the last is told
 * after `idle_ns`, and then left alone until it has; another after `shortest_ns` when it uses more
 * than three quarters of a budget, else after `longest_ns`. CLOCK_FOREVER: never.
 */
struct vidmm_trim_intervals {
	uint64_t shortest_ns;
	uint64_t longest_ns;
	uint64_t idle_ns;
};

struct vidmm_trim_intervals vidmm_trim_intervals(struct vidmm *manager);
/* None is 0, and the first is not longer than the second. */
void vidmm_set_trim_intervals(struct vidmm *manager, const struct vidmm_trim_intervals *intervals);

/* The clock of trims looks now, whoever turns it. */
void vidmm_trim_tick(struct vidmm *manager);

struct vidmm_offer_info {
	uint64_t decommittable_bytes;
	uint64_t uniqueness;
};

struct vidmm_offer_info vidmm_process_offer_info(struct vidmm_process *process);

/* As the bits of D3DKMT_TRIMPROCESSCOMMITMENT_FLAGS. */
enum {
	VIDMM_DECOMMIT_LAZILY = 1,     /* what the GPU still sees is not waited for */
	VIDMM_DECOMMIT_REPURPOSED = 2, /* only where the content is lost anyway */
};

/*
 * Gives memory of offered allocations away, lowest priority and oldest offer first, until
 * `wanted_bytes` are free.
 */
uint64_t vidmm_process_decommit(struct vidmm_process *process, uint64_t wanted_bytes,
				uint32_t flags);

/* ---- devices ---- */

/* Whoever has to have everything at once waits for its turn in a row (room.c). */
enum vidmm_waiter_kind {
	VIDMM_WAITER_DEVICE,
	VIDMM_WAITER_LIST,   /* a vidmm_allocation_list */
	VIDMM_WAITER_TABLES, /* table_request: a call that makes page tables */
};
struct vidmm_waiter {
	struct list link; /* vidmm.waiters */
	enum vidmm_waiter_kind kind;
};

struct vidmm_device {
	/* Set at init. */
	struct vidmm_process *process;
	struct sched_owner *owner;
	void *driver_device;

	/* Guarded by the manager's lock. */
	struct list link;
	struct list resident; /* vidmm_binding.device_link: counts above 0, in place or offered */
	struct list absent;   /* the same: has to be brought in */
	struct list moving;   /* the same: on its way, or on the way out first */
	struct vidmm_waiter waiter;
	struct list plan_link;
	uint32_t needed_count;   /* absent or moving, and queued work may use it */
	uint32_t promised_count; /* BINDING_PROMISED, also where it is lost and gets nothing */
	uint32_t awaited_count;  /* absent, and a call waits for it */
	uint32_t plan_count;     /* plans that have it in hand */
	uint32_t resumes;        /* to be done */
	uint64_t slice_end_ns;
	_Atomic bool is_suspended; /* read without it, for a look */
	_Atomic bool may_wake;     /* likewise: held until it has something to do */
	uint8_t stage;             /* enum device_stage */
	uint8_t supply;            /* enum device_supply */
	bool is_lost;              /* its client was told so, for whatever reason; for good */
	bool was_compacted;        /* one try since it was whole, or had another list */
	struct list leave_link;    /* vidmm_tables.dependents */
	struct list keeps;         /* vidmm_keep.link */

	/* Of its lists, see allocation_list_turns.c. */
	uint32_t ready_list_count; /* in vidmm.ready_lists */
	uint64_t lists_end_ns;     /* when they are to let go; 0: nobody waits for their room */
	uint8_t lists;             /* enum device_lists; it is suspended while it yields */
	struct sched_wait yield;

	/* Of the job that takes its process's page tables away. */
	struct paging_dependency dependency;
};

/* The owner need not be there yet; nobody looks at it before the device begins. */
void vidmm_device_init(struct vidmm_device *device, struct vidmm_process *process,
		       struct sched_owner *owner, void *driver_device);

/* Its owner is there, and can have work. The process's page tables are in, and held so long. */
void vidmm_device_begin(struct vidmm_device *device);

/* It is about to go: its process's suspension counts for it no more, nor does what it lists. */
void vidmm_device_end(struct vidmm_device *device);

/* Work is about to be queued: a suspended process that was to go on then does. Costs one look. */
void vidmm_device_wake_slowly(struct vidmm_device *device);
static inline void vidmm_device_wake(struct vidmm_device *device)
{
	if (UNLIKELY(atomic_load_explicit(&device->may_wake, memory_order_relaxed)))
		vidmm_device_wake_slowly(device);
}

/* Its bindings are gone. */
void vidmm_device_finish(struct vidmm_device *device);

/*
 * Work was queued: what was taken away from an idle device is brought back when it has some. Costs
 * one look when nothing was.
 */
void vidmm_device_has_work(struct vidmm_device *device);

/* Nothing is brought in for it any more, nobody waits for it; its counts stay. */
void vidmm_device_lose(struct vidmm_device *device);

/* ---- bindings ---- */

struct vidmm_binding {
	/* Set at init. */
	struct vidmm_device *device;
	struct vidmm_allocation *allocation;
	void *driver_allocation;

	/* Guarded by the manager's lock. */
	uint32_t count;
	uint32_t keeps;    /* of keep.h */
	uint8_t group;     /* enum vidmm_group, where it is charged; with count > 0 */
	uint8_t keep;      /* enum binding_keep */
	bool leaves_clean; /* one of several evictions has said that it was not written to */
	bool is_charged; /* in the usage: what binding_is_paid_for() said when that last changed */
	bool is_absent;  /* in vidmm_device.absent */
	bool is_returning; /* a call that reclaims it pays for it before it is taken back */
	uint8_t waiting;   /* enum binding_wait, of `wait` */
	uint8_t need;      /* enum binding_need */
	uint8_t end;       /* enum binding_end */
	_Atomic uint64_t wait_ticket; /* the last work that counts; read without the lock */
	uint64_t wait_end_ns; /* while it waits: who needs its room waits as well, until then */
	struct list device_link;
	struct list place_link; /* vidmm_place.listings; with count > 0 */
	struct list leave_link; /* vidmm_place.dependents */
	struct sched_wait wait;

	/* Of the job that takes the allocation away. */
	struct paging_dependency dependency;
};

void vidmm_binding_init(struct vidmm_binding *binding, struct vidmm_device *device,
			struct vidmm_allocation *allocation, void *driver_allocation);

/*
 * The client has destroyed it: from now on it is on no list of the client's and in no usage, however
 * long its end takes. Work that `is_in_use` says may use it still finds it. With `is_last` nobody else
 * has the allocation, and when that work is over its content is worth nothing. Its end comes with
 * vidmm_binding_finish().
 */
void vidmm_binding_retire(struct vidmm_binding *binding, bool is_in_use, bool is_last);

/*
 * Off its device's list. Returns when no wait of it is under way: for work that its caller waited
 * for, too, or whose owner is lost.
 */
void vidmm_binding_finish(struct vidmm_binding *binding);

/* An eviction or an offer of it waits for the device's work; its end would do so, too. */
bool vidmm_binding_waits(struct vidmm_binding *binding);

/* How often it is on the list. */
uint32_t vidmm_binding_count(struct vidmm_binding *binding);

/* ---- residency ---- */

/* One call's worth of waiting. The storage is the caller's again in `done`. */
struct vidmm_request {
	/* Once, after STATUS_PENDING only; any thread, no lock held. */
	void (*done)(struct vidmm_request *request, NTSTATUS status);

	/* The manager's own. */
	struct list link;
	struct vidmm_want *wants;
	uint32_t want_count;
	uint32_t pending;
	bool can_be_refused; /* its call has not answered yet, and may say STATUS_NO_MEMORY */
	NTSTATUS status;
	NTSTATUS obstacle; /* what a move could not begin for; success: it found no room */
};

enum {
	VIDMM_CANT_TRIM_FURTHER = 1,   /* the maximum counts, not the budget of this moment */
	VIDMM_WHATEVER_THE_BUDGET = 2, /* neither does */
};

/*
 * Adds one to the count of each binding; all are of `device`. What is offered is listed and comes
 * in with its reclaim. `*bytes_to_trim_out` counts for STATUS_NO_MEMORY.
 *
 * vidmm_count_resident() is for what is in place and counted already, at the price of one lock;
 * false: nothing was changed, and it takes the other.
 */
MUST_CHECK bool vidmm_count_resident(struct vidmm_device *device,
				     struct vidmm_binding *const bindings[], uint32_t count);
MUST_CHECK NTSTATUS vidmm_make_resident(struct vidmm_device *device,
					struct vidmm_binding *const bindings[], uint32_t count,
					uint32_t flags, struct vidmm_request *request,
					uint64_t *bytes_to_trim_out);

enum {
	VIDMM_EVICT_ONLY_IF_NECESSARY = 1,
	VIDMM_EVICT_NOT_WRITTEN_TO = 2,
};

/*
 * Takes one off each count. STATUS_INVALID_PARAMETER, and nothing changed, when one would go below
 * zero. Tells how many bytes the process is over its budgets then.
 */
MUST_CHECK NTSTATUS vidmm_evict(struct vidmm_device *device, struct vidmm_binding *const bindings[],
				uint32_t count, uint32_t flags, uint64_t *bytes_to_trim_out);

/* As vidmm_set_priority(), and it counts for what is in place already. */
void vidmm_set_priority_anywhere(struct vidmm *manager, struct vidmm_allocation *allocation,
				 uint32_t priority);

/*
 * What is set changes, and what is where it may not be any more goes where it may: STATUS_PENDING
 * when it is on a list. Refused, and nothing changed, when there is no such place, and while it is
 * locked or pinned where it is.
 */
MUST_CHECK NTSTATUS vidmm_update_anywhere(struct vidmm_binding *binding,
					  const struct vidmm_update *update,
					  struct vidmm_request *request);

/* Where the GPU finds it now. */
enum vidmm_residency vidmm_where(struct vidmm *manager, struct vidmm_allocation *allocation);

/* ---- residency by lists: the physical model ---- */

struct vidmm_allocation_list_entry {
	struct vidmm_binding *binding;
	uint32_t segment;      /* filled in when it is ready */
	uint64_t offset_bytes; /* in the segment */
};

enum vidmm_allocation_list_state {
	VIDMM_LIST_NEW,
	VIDMM_LIST_WAITING,
	VIDMM_LIST_READY,
	VIDMM_LIST_FAILED
};

/* What one submission refers to. Zeroed, then device, entries and count set. */
struct vidmm_allocation_list {
	struct vidmm_device *device;
	struct vidmm_allocation_list_entry *entries;
	uint32_t count;
	struct vidmm_request request; /* `done`: prepare again */

	/* The manager's own. */
	struct vidmm_waiter waiter;
	struct list ready_link; /* vidmm.ready_lists */
	enum vidmm_allocation_list_state state;
	bool is_pinned;
	uint64_t compacted_at; /* vidmm.retry_generation */
};

/*
 * Everything on it in place and kept there until the release, or until the hardware has given it
 * back and others wait for its room: what is submitted again is prepared again. STATUS_PENDING:
 * request.done() comes, then ask again, and not before. STATUS_NO_MEMORY: it can never be in place
 * together; the first `*fits_out` entries can. Offered memory is refused.
 */
MUST_CHECK NTSTATUS vidmm_allocation_list_prepare(struct vidmm_allocation_list *list,
						  uint32_t *fits_out);

/*
 * The submission is over, or will never be. True when it still waited: request.done() does not come
 * then. Must not block.
 */
bool vidmm_allocation_list_release(struct vidmm_allocation_list *list);

/*
 * A look, before it is queued: refused when something on it is offered. `*fits_out` is how many of
 * the first could be in place together, were there nobody else. Afterwards nothing about the list
 * takes memory.
 */
MUST_CHECK NTSTATUS vidmm_allocation_list_check(struct vidmm_allocation_list *list,
						uint32_t *fits_out);
/* The same number, for entries that were checked. */
uint32_t vidmm_allocation_list_fits(struct vidmm_allocation_list *list);

/*
 * For devices that say by make-resident what has to be in place: fills in where it is now. False
 * when something is not there. Inside a packet's submit(), so that nothing moves before its end.
 */
MUST_CHECK bool vidmm_allocation_list_locate(struct vidmm_allocation_list *list);

/* ---- offers ---- */

/*
 * The content may be thrown away: what is in GPU memory once the work that the device has queued is
 * over; with `is_immediate`, from now on. With `may_decommit` the memory may go, too.
 */
MUST_CHECK NTSTATUS vidmm_binding_offer(struct vidmm_binding *binding,
					enum vidmm_offer_priority priority, bool may_decommit,
					bool is_immediate);

/*
 * One of a list that is offered whole or not at all: nothing of it goes before
 * vidmm_offer_let_go(), so that it can still be taken back as it was.
 */
struct vidmm_offer_note {
	bool was_offered; /* before */
	bool is_held;
};
MUST_CHECK NTSTATUS vidmm_binding_offer_of_list(struct vidmm_binding *binding,
						enum vidmm_offer_priority priority,
						bool may_decommit, bool is_immediate,
						struct vidmm_offer_note *note);
void vidmm_offer_let_go(struct vidmm_binding *const bindings[],
			const struct vidmm_offer_note notes[], uint32_t count, bool is_immediate);

/* Takes an offer of a moment ago back, without memory and without waiting for what comes in. */
void vidmm_unoffer(struct vidmm_binding *binding);

/* A look: what keeps it from being offered, in a word, or NULL. */
const char *vidmm_offer_obstacle(struct vidmm_binding *binding);

/* Afterwards nothing about the offer takes memory. */
MUST_CHECK NTSTATUS vidmm_offer_prepare(struct vidmm_binding *binding, bool may_decommit,
					bool is_immediate);

/*
 * vidmm_reclaim_bindings() for what was never wanted in GPU memory, at the price of a lock for
 * each. False: nothing was changed, and it takes the other.
 */
MUST_CHECK bool vidmm_reclaim_untouched(struct vidmm_binding *const bindings[], uint32_t count,
					enum vidmm_reclaim_result results[]);

/*
 * Takes offers back, for a list. What is on the residency list comes back in, over budget or not:
 * STATUS_PENDING. It may be locked at once. STATUS_NO_MEMORY: nothing changed.
 */
MUST_CHECK NTSTATUS vidmm_reclaim_bindings(struct vidmm_device *device,
					   struct vidmm_binding *const bindings[], uint32_t count,
					   enum vidmm_reclaim_result results[],
					   struct vidmm_request *request);

/*
 * The same for who waits, and has to have the memory: when it returns, all have theirs, and what is
 * on the residency list is in place. STATUS_NO_MEMORY: nothing changed. STATUS_DEVICE_REMOVED:
 * reclaimed, but what the device lists cannot be in place, or the device is lost.
 */
MUST_CHECK NTSTATUS vidmm_reclaim_now(struct vidmm_device *device,
				      struct vidmm_binding *const bindings[], uint32_t count,
				      enum vidmm_reclaim_result results[]);

/* ---- CPU access, pinning, the end of an allocation ---- */

/*
 * As vidmm_lock(), wherever it is: what is in GPU memory that the CPU can see is shown there; what is
 * in other GPU memory is moved to system memory first, if it may be there, and stays outside of such
 * memory while the lock lasts. It keeps its address, and comes and goes with its pages (roles.h), so
 * no byte that the CPU writes is lost. May wait for a move that began before.
 */
enum {
	VIDMM_LOCK_NEEDS_VISIBLE = 1, /* as `needs_cpu_visible` there */
	VIDMM_LOCK_IN_PLACE = 2,      /* refused rather than moved */
	VIDMM_LOCK_READ_ONLY = 4,     /* a client elsewhere has no right to write */
};
MUST_CHECK NTSTATUS vidmm_lock_anywhere(struct vidmm *manager, struct vidmm_allocation *allocation,
					uint32_t flags, void **pointer_out);
/* The same for a client in another process: the address is the client's (elsewhere.h). */
MUST_CHECK NTSTATUS vidmm_lock_elsewhere(struct vidmm *manager, struct vidmm_allocation *allocation,
					 uint32_t flags, struct client_arena *arena,
					 void **pointer_out);
MUST_CHECK bool vidmm_unlock_anywhere(struct vidmm *manager, struct vidmm_allocation *allocation);

/*
 * The allocation is off every list and no work uses it: its place goes, with what is in it. True
 * when that is done; else `done` comes, on the pager's thread. Before vidmm_allocation_finish().
 */
struct vidmm_departure {
	void (*done)(struct vidmm_departure *departure);
	struct list link;
};
MUST_CHECK bool vidmm_allocation_depart(struct vidmm_allocation *allocation,
					struct vidmm_departure *departure);

/* The same, and returns when it is done. Not on the pager's thread. */
void vidmm_allocation_leave(struct vidmm_allocation *allocation);

/* Recounts segments, lists, budgets and every place; of one at work without what an allocation's
   lock guards … */
MUST_CHECK bool vidmm_manager_validate(struct vidmm *manager, bool is_at_work, char *wrong,
				       size_t wrong_size);
/* … which this looks at: NULL, or what is wrong with where it is. */
const char *vidmm_place_validate(struct vidmm *manager, struct vidmm_allocation *allocation);
/* How often its owner is suspended on the manager's account. */
uint32_t vidmm_device_suspensions(struct vidmm_device *device);

#endif
