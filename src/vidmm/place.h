/* SPDX-License-Identifier: MIT */
/*
 * place.h - where an allocation is for the GPU, and everything that wants it there or not.
 *
 *	OUT ──room found──▶ ENTERING ──job done──▶ IN ──decided──▶ LEAVING ──job done──▶ OUT
 *
 * Pages of a segment are taken on the way to ENTERING and given back at OUT, so what is being left
 * is nobody else's before its job is done. A place has one job at a time; what is decided
 * meanwhile counts when it is over.
 *
 * Except: when the way out is built, another may have the room (place_take_over_locked()). Its way in
 * is built behind that, and the hardware does both in this order. The memory is lent only to what
 * comes by the hardware: for who writes with the CPU it is free when the job is done.
 *
 *	IN ──other pages of the segment were taken──▶ SHIFTING ──job done──▶ IN
 *
 * While it shifts it has both; when the job is done, those it is in.
 *
 * Who waits for a place to be IN:
 *	absent bindings    devices that list it: their turn comes in vidmm.waiters (room.c)
 *	wants              requests of calls that answered STATUS_PENDING
 *
 * What is decided under the lock is a plan (plan.h), which is carried out without it (decide.c).
 *
 * Locks: the manager's guards all of it; offer, lock and the step to DYING are written with
 * the allocation's held as well. A job's own fields belong to the pager's thread while it runs.
 */
#ifndef VIDMM_PLACE_H
#define VIDMM_PLACE_H

#include "base/notice.h"
#include "base/thread.h"
#include "vidmm/control.h"
#include "vidmm/manager.h"
#include "vidmm/map.h"
#include "vidmm/plan.h"
#include "vidmm/roles.h"
#include "vidmm/segment.h"
#include "vidmm/host_aperture.h"

/* Rows of a job, in the order in which they are made; which are skipped depends (move.c). */
enum move_step {
	MOVE_MAPPINGS_OUT,
	MOVE_NOTIFY_OUT,
	MOVE_UNMAP,
	MOVE_ROLES, /* pages of what is locked change theirs (roles.h) */
	MOVE_DISCARD,
	MOVE_CONTENT,
	MOVE_CONTENT_ZEROES, /* the end of a granule behind the content */
	MOVE_VERIFY,         /* a look of the CPU at both copies, for testers */
	MOVE_MAP,
	MOVE_DRIVER_INIT, /* the driver gives memory of its own the first content */
	MOVE_NOTIFY_IN,
	MOVE_MAPPINGS_IN,
	MOVE_STEPS
};

/* Where a job leads: as vidmm_place.state, which is read under the lock only. */
enum move_way { MOVE_OUT, MOVE_IN, MOVE_SHIFT /* from page to page of the segment */ };

/* What it moves. */
enum move_content {
	MOVE_NOTHING,
	MOVE_FILL,
	MOVE_COPY,
	MOVE_EXCHANGE,         /* pages change their role (roles.h) */
	MOVE_EXCHANGE_DROPPED, /* … and what leaves with them goes without a copy, too */
	MOVE_DROP,             /* out: the content goes */
	MOVE_KEEP_COPY,        /* out: what is in system memory is the content */
};

struct place_move {
	struct paging_job job;
	struct vidmm_mapping_cursor cursor;
	enum move_step step;  /* the next row */
	enum move_step built; /* rows before it are in the driver's hands completely */
	enum move_content content;
	enum move_way way;
	uint8_t check; /* enum move_check */
	/* Facts that its end asks for: neither follows from the row it has come to. */
	bool has_taken_pages;    /* to be copied to: nothing is in them yet */
	bool lacks_pages;        /* … and there were none                   */
	bool has_changed_roles;  /* EXCHANGE: the pages are where it goes to */
	uint64_t wrong_at_bytes; /* REFUSED, of a copy */
	uint64_t mappings;       /* EXCHANGE: reserved for it */
	uint32_t local_count;
	uint32_t system_count;
	struct miniport_page_run *local; /* of the segment; `one` or memory of its own */
	struct miniport_page_run *system;
	struct miniport_page_run local_one;
	struct miniport_page_run system_one;
	struct miniport_page_run target; /* shift: of the segment */
	NTSTATUS turned_back;            /* in: why it could not begin */
	struct miniport_mdl *mdl;
};

/*
 * What a driver was told to put somewhere and not to take away again: due when the adapter was
 * reset (reset.c).
 */
struct place_debt {
	struct vidmm_segment *segment; /* NULL: nothing is */
	uint64_t first_page;
	uint64_t page_count;
	/* Three things that it may have been told, each by itself. */
	bool is_mapping; /* in an aperture */
	bool is_content; /* of a memory segment, in the physical model */
	bool is_news;    /* that it is resident */
};

/* Of what resets of the adapter do, and leave to be done (reset.c). Epochs are the pager's. */
struct place_reset {
	uint64_t number;           /* vidmm.resets: seen to by that one */
	uint32_t in_generation;    /* when it came in: a later one took the content */
	uint32_t moved_generation; /* when its way in or out was decided */
	uint32_t told_generation;  /* of the reset that told the driver of its end; 0: none did */
	struct place_debt debt;
};

/* From pages of its segment to others, and what came of putting it in order (defragment.c). */
struct place_shift {
	struct page_set pages; /* SHIFTING: where it goes; has_switched: where it was */
	bool has_switched;  /* vidmm_place.pages are those it goes to: in the middle of its job */
	bool must_verify;   /* asked for: the CPU compares before addresses lead there */
	uint64_t slide_to;  /* page + 1 that it goes on to, from where it stands aside; 0: none */
	uint64_t failed_at; /* vidmm.defragments: that one does not try again … */
	uint64_t sent_away_at; /* … and sends it away once */
};

/* Room that changes hands before it is left. */
struct place_handover {
	struct list link;       /* segment->parting: LEAVING, and all of that is built */
	uint64_t lent_bytes;    /* of its room that others have already */
	uint64_t first_page;    /* where it begins, or began */
	uint64_t behind_packet; /* ENTERING such a room: what was there has left then */
};

struct vidmm_place {
	/* Set at creation. */
	struct vidmm *manager;
	struct vidmm_allocation *allocation;
	struct miniport_subject subject;
	void *driver_device;

	/* Guarded by the manager's lock. Where it is. */
	enum place_state state;
	struct vidmm_segment *segment; /* NULL: OUT */
	struct segment_wish wish;      /* how it sits there */
	struct page_set pages;
	uint64_t lead_version;       /* counts the times addresses came to lead there */
	struct evict_entry eviction; /* segment->candidates, or … */
	struct list held_link;       /* segment->held; one of both while IN */
	struct cpu_window window;

	/* Who wants it there. */
	struct list listings;   /* vidmm_binding.place_link */
	struct list dependents; /* vidmm_binding.leave_link: whose work the way out waits for */
	struct list wants;      /* vidmm_want.link */
	uint32_t list_count;    /* devices that have it on their residency list */
	uint32_t pins;          /* lists of submissions */
	uint32_t waiter_pins;   /* of those, of the list whose turn it is */
	uint32_t waits;         /* bindings with a wait under way */
	uint32_t retired;       /* bindings that were destroyed and have not ended yet */
	uint32_t reclaims;      /* that cannot do without its memory: it is not decommitted */
	enum vidmm_group group; /* where its listings are charged */
	uint64_t given_up_at;   /* vidmm.retry_generation: it could not enter, or leave, then */

	/* What may become of it. */
	uint8_t copy;  /* enum place_copy */
	uint8_t offer; /* enum place_offer */
	uint8_t offer_priority;
	uint8_t lock; /* enum place_lock */
	uint8_t stay; /* enum place_stay */
	uint8_t end;  /* enum place_end */

	/* Facts beside them, each true or not in any of these states. */
	bool leads_there;       /* GPU addresses lead there, as of what was built (mappings.h) */
	bool awaits_unpin;      /* threads that lock it want to know when `pins` is 0 */
	bool has_changed_group; /* this search found no room in the group it belongs to */
	bool is_recommitted;    /* the first of `reclaims` found it decommitted */
	bool is_room_wanted;    /* the trace has been told that it waits for room */

	struct place_shift shift;
	struct place_handover handover;
	struct place_reset reset;
	struct vidmm_departure *departure;

	struct list all_link;      /* vidmm.places; with a debt only, vidmm.ghosts */
	struct list plan_link;     /* plan: about to enter or leave */
	struct list decommit_link; /* vidmm_process.decommittable */
	struct vidmm_process *decommit_process;

	struct place_move move;
};

struct vidmm_want {
	struct list link; /* vidmm_place.wants */
	struct vidmm_place *place;
	struct vidmm_request *request;
};

struct vidmm {
	/* Set at creation. */
	struct vidmm_config config;
	uint32_t segment_count;
	uint32_t memory_segments; /* sets, bit n-1 is segment n */
	uint32_t group_segments[VIDMM_GROUPS];
	uint64_t group_bytes[VIDMM_GROUPS]; /* what applications can have */

	struct lock lock; /* LOCK_RANK_SEGMENT */

	/* Guarded by lock. */
	struct vidmm_segment segments[VIDMM_MAX_SEGMENTS];
	struct list places;    /* vidmm_place.all_link */
	struct list ghosts;    /* likewise: nobody's any more, but the driver does not know it */
	struct list processes; /* vidmm_process.link */
	struct list blocks;    /* vidmm_table_block.link: what page tables have, or had */
	struct list waiters;   /* vidmm_waiter.link: whose turn it is, first in front */
	struct list
		ready_lists; /* vidmm_allocation_list.ready_link: in place until their packets are over */
	uint64_t use_clock;
	uint64_t defragments; /* how often something was put in order; above 0 then */
	struct vidmm_wrong_transfers wrong_transfers;
	uint64_t retry_generation; /* counts what makes those try again who gave up; above 0 */
	uint64_t aperture_committed_bytes;
	uint32_t process_count;
	uint64_t claimed_bytes[VIDMM_GROUPS]; /* budget.c */
	bool has_budget_changes;
	uint64_t reserved_bytes[VIDMM_GROUPS];
	uint64_t budget_limit_bytes[VIDMM_GROUPS]; /* see control.h */
	uint32_t listening_count;                  /* processes that have listeners */
	struct vidmm_trim_intervals trim_intervals;

	_Atomic uint32_t options; /* see control.h */

	uint64_t leave_counts[VIDMM_LEAVE_REASONS]; /* see map.h */
	uint64_t resets;
	_Atomic bool
		is_gone; /* there is no GPU any more, and no job is run; read without the lock */

	struct notice changed; /* something left or came */

	_Atomic bool awaits_tables; /* somebody found page tables held that he would like gone */

	struct plan plan;   /* decided, and nobody has taken it yet */
	uint32_t followers; /* threads that carry one out, and look again then */
	uint32_t passed_by; /* moves that were over, since the pager's thread last looked */

	/* The clock of slices, which also decides what a driver's completions posted. */
	struct thread *ticker;
	struct notice tick;
	_Atomic uint64_t tick_at_ns; /* CLOCK_FOREVER: not before it is told */
	_Atomic uint64_t trim_at_ns; /* the same, for trim.c */
	_Atomic bool must_decide;    /* … which they have */
	_Atomic bool is_ending;
};

/* ---- placement.c: where it may go. Pure. ---- */

/* vidmm_wishes.preferred_segments: an id and a direction each, the first wish lowest. */
enum { PREFERENCES = 5, PREFERENCE_BITS = 6, PREFERENCE_ID_MASK = 0x1F, PREFERENCE_END = 0x20 };

struct placement {
	struct vidmm_segment *segment;
	struct segment_wish wish;
};

/* Best first; only segments of `allowed`, and only where it could ever be. Returns how many. */
uint32_t placement_list(struct vidmm *manager, const struct vidmm_place *place, uint32_t allowed,
			struct placement placements[VIDMM_MAX_SEGMENTS]);

/*
 * Where it is charged: where it is, or where it should be, or where there is budget for it. False:
 * no segment could ever hold it.
 */
MUST_CHECK bool placement_group_locked(struct vidmm_binding *binding, enum vidmm_group *group_out);

/* ---- place.c: changes of state, under the lock ---- */

/* Tells a trace where it is, and what is in a segment. */
void place_trace_locked(const struct vidmm_place *place);
void segment_trace_locked(const struct vidmm *manager, const struct vidmm_segment *segment);
/* Something leaves, and why: map.c counts. */
extern const char *const leave_reasons[VIDMM_LEAVE_REASONS]; /* as in trace/events.def */

/* Where `binding`'s allocation has none yet. Takes the allocation's lock. */
MUST_CHECK NTSTATUS place_ensure(struct vidmm_binding *binding);

/* Room was found: ENTERING. */
void place_enter_locked(struct vidmm_place *place, const struct placement *where,
			const struct page_set *pages);
/* IN; who waits is told. */
void place_arrive_locked(struct vidmm_place *place);
/* OUT again: there was no memory to begin with. Not again before something changed, or a little
   later. */
void place_turn_back_locked(struct vidmm_place *place);
/* LEAVING; devices that list it are suspended. */
void place_leave_locked(struct vidmm_place *place, enum vidmm_leave_reason why);
/* For another allocation (0: page tables) of a process; NULL: for nobody. */
void place_leave_for_locked(struct vidmm_place *place, enum vidmm_leave_reason why,
			    uint64_t for_allocation_id, const struct vidmm_process *for_process);
/* Others like it found no page to be copied to, and nothing has changed since. */
bool place_lacks_copy_locked(const struct vidmm_place *place, uint64_t now_ns);
/* The way out failed: IN as before. */
void place_stay_locked(struct vidmm_place *place);
/* Other pages of its segment were taken for it: SHIFTING; as above for devices. */
void place_shift_locked(struct vidmm_place *place, const struct page_set *pages);
/* IN; `has_moved`: there, else where it was. The other pages are given back. */
void place_shift_over_locked(struct vidmm_place *place, bool has_moved);
/* LEAVING, and all of that is built: its room may be another's. */
void place_part_from_room_locked(struct vidmm_place *place);
/* `wish` of the room of somebody who parts from it; false: there is none. */
MUST_CHECK bool place_take_over_locked(struct vidmm_place *place, const struct placement *where,
				       struct page_set *pages);
/* Not all who had it since it came in say that they did not write to it. */
void place_written_locked(struct vidmm_place *place);
/* Somebody may write to it again. */
void place_copy_open_locked(struct vidmm_place *place);
/* GPU addresses lead there from now on, or no more. For what shifts: to where it goes. */
void place_lead_there_locked(struct vidmm_place *place, bool leads_there);
/* The same for the move that is under way, which shifts nothing, with the allocation's lock: who looks has both. */
void place_set_leads_there(struct vidmm_place *place, bool leads_there);
/* OUT, from anywhere; pages are given back. */
void place_out_locked(struct vidmm_place *place);
/* The same from IN, without a way out: new work waits until it is back. */
void place_vanish_locked(struct vidmm_place *place);
/* Something it depends on has changed: its order, whether it goes at once, who may go on. */
void place_settle_locked(struct vidmm_place *place);
/* One pin less. */
void place_unpin_locked(struct vidmm_place *place);
/* Somebody needs it now. */
void place_use_locked(struct vidmm_place *place);
/* Those who wait for it are told `status`. */
void place_answer_locked(struct vidmm_place *place, NTSTATUS status);
/* Has to be brought in, for somebody. */
bool place_is_wanted(const struct vidmm_place *place);
/* The process made it, or lists it. */
bool place_is_of(const struct vidmm_place *place, const struct vidmm_process *process);
/* … for somebody who can still use it. */
bool place_is_needed(const struct vidmm_place *place);
/* Its content may go with its space. */
bool place_is_dropped(const struct vidmm_place *place);
void place_free(struct vidmm_place *place);

/* It begins nothing new before it has what it needs. */
void device_suspend_locked(struct vidmm_device *device);
/* It has everything and goes on, or waits for its turn. */
void device_settle_locked(struct vidmm_device *device);
/*
 * Is it in the usage? What is offered is on the list and not there, because its memory may be gone; nor
 * is what a device lists that is being destroyed.
 */
bool binding_is_paid_for(const struct vidmm_binding *binding);
/* That may have changed. */
void binding_charge_locked(struct vidmm_binding *binding);
/* … for all it lists. */
void device_charge_locked(struct vidmm_device *device);
/* Asked for or reclaimed: work that is queued already does not need it. */
void binding_promise_locked(struct vidmm_binding *binding, bool is_promised);
/* From a list of its device to the other, as its place is. */
void binding_sort_locked(struct vidmm_binding *binding);
/* The same for all who list it. */
void bindings_sort_locked(struct vidmm_place *place);
/* One more, one fewer. */
void binding_list_locked(struct vidmm_binding *binding, enum vidmm_group group);
void binding_unlist_locked(struct vidmm_binding *binding);
/* Tells the place when work queued so far is over; call binding_wait_start() after the lock. */
MUST_CHECK bool binding_wait_locked(struct vidmm_binding *binding);
void binding_wait_start(struct vidmm_binding *binding);
/* One keep less (keep.h): what only that kept on the list leaves it. */
void binding_release_kept_locked(struct vidmm_binding *binding);

static inline struct vidmm_place *binding_place(const struct vidmm_binding *binding)
{
	return atomic_load_explicit(&binding->allocation->place, memory_order_acquire);
}

static inline bool place_has_cpu_lock(const struct vidmm_place *place)
{
	return place->lock == PLACE_LOCKED;
}

static inline void place_set_lock_locked(struct vidmm_place *place, enum place_lock lock)
{
	lock_assert_held(&place->manager->lock);
	place->lock = state_step(STATES_PLACE_LOCK, place->lock, lock);
}

static inline void place_set_stay_locked(struct vidmm_place *place, enum place_stay stay)
{
	lock_assert_held(&place->manager->lock);
	place->stay = state_step(STATES_PLACE_STAY, place->stay, stay);
}

/* It is wanted there: an eviction before that counts no longer. */
static inline void place_set_wanted_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place->stay == PLACE_LEAVES_SOON)
		place_set_stay_locked(place, PLACE_STAYS);
}

/* Nobody lists it any more. */
static inline void place_set_evicted_locked(struct vidmm_place *place, bool leaves_soon)
{
	lock_assert_held(&place->manager->lock);
	if (place->stay != PLACE_MISPLACED)
		place_set_stay_locked(place, leaves_soon ? PLACE_LEAVES_SOON : PLACE_STAYS);
	else if (leaves_soon)
		place->given_up_at = 0; /* it is tried again */
}

/* It is where it may be, or will be. */
static inline void place_set_placed_locked(struct vidmm_place *place)
{
	lock_assert_held(&place->manager->lock);
	if (place->stay == PLACE_MISPLACED)
		place_set_stay_locked(place, PLACE_STAYS);
}

static inline bool move_exchanges(const struct place_move *move)
{
	return move->content == MOVE_EXCHANGE || move->content == MOVE_EXCHANGE_DROPPED;
}

/* Nothing is moved: it goes, or is where it goes to already. */
static inline bool move_leaves_nothing(const struct place_move *move)
{
	return move->content == MOVE_DROP || move->content == MOVE_KEEP_COPY;
}

static inline bool place_is_offered(const struct vidmm_place *place)
{
	return place->offer >= PLACE_OFFERED;
}

/* … and the work in front of the offer is over: nobody needs it. */
static inline bool place_offer_is_due(const struct vidmm_place *place)
{
	return place->offer >= PLACE_OFFER_DUE;
}

static inline void bindings_assert_locked(struct vidmm_binding *const bindings[], uint32_t count)
{
	if (count > 0)
		lock_assert_held(&bindings[0]->device->process->manager->lock);
}

static inline bool binding_is_kept(const struct vidmm_binding *binding)
{
	return binding->keep != BINDING_NOT_KEPT;
}

static inline void binding_set_keep_locked(struct vidmm_binding *binding, enum binding_keep keep)
{
	lock_assert_held(&binding->device->process->manager->lock);
	binding->keep = state_step(STATES_BINDING_KEEP, binding->keep, keep);
}

/* How often its client has it on the list. */
static inline uint32_t binding_asked(const struct vidmm_binding *binding)
{
	return binding->count - binding_is_kept(binding);
}

/* ---- residency.c, request.c: calls that may have to wait ---- */

/* The refusal for what place_ensure() and request_prepare() answer. */
MUST_CHECK NTSTATUS request_refuse(NTSTATUS status);
/* Is there a segment for it at all? It has a place. */
bool binding_could_be_resident_locked(struct vidmm_binding *binding);
/* Listed once more, over budget or not; its device does nothing before it is in place. */
void binding_need_locked(struct vidmm_binding *binding);

/* Memory for everything that could be needed, before anything changes. */
MUST_CHECK NTSTATUS request_prepare(struct vidmm_binding *const bindings[], uint32_t count,
				    struct vidmm_request *request);
/* It waits for this one of them, if that has to come in; at most once for each. */
void request_want_locked(struct vidmm_binding *binding, struct vidmm_request *request);
/*
 * STATUS_SUCCESS: everything is in place. STATUS_PENDING: request->done() comes. Otherwise it is
 * known already that it cannot be. Releases the lock.
 */
MUST_CHECK NTSTATUS request_start_unlock(struct vidmm *manager, struct vidmm_request *request);

/* ---- offer.c ---- */

void offer_forget_locked(struct vidmm_place *place);
/* One of place->waits is over; behind the last one, an offer counts. */
void place_wait_over_locked(struct vidmm_place *place);

/* ---- decide.c ---- */

/* It has to be resumed, or told something. */
void device_act_locked(struct vidmm_device *device);

/*
 * Something has happened: what follows is decided, and begun. Releases the lock, and goes round until
 * nothing is left to do.
 */
void decide_unlock(struct vidmm *manager);
/* The same without the lock. */
void decide(struct vidmm *manager);
/* The same for a driver's completions, which decide nothing: the manager's own thread does. */
void decide_later_unlock(struct vidmm *manager);
/* What follows from everything that has happened, into vidmm.plan. Does nothing about it. */
void decide_locked(struct vidmm *manager);
/* As decide_unlock(), by whoever comes by here soon: another thread, or the next move that is over. */
void decide_soon_unlock(struct vidmm *manager, bool is_followed);

/* ---- room.c ---- */

/* Looks at those who wait, in their order: room that is there, or room to be made. */
void room_look_locked(struct vidmm *manager);
/* It cannot be brought in: whoever needs it has no more use for anything. */
void place_fail_waiters_locked(struct vidmm_place *place);
/* When to look again for memory of the kernel's own, of which there was none. */
#define RETRY_NS (100 * NS_PER_MS)

/* Let the ticker look, not later than that. */
void room_look_again(struct vidmm *manager, uint64_t at_ns);

/* ---- move_rows.c ---- */

/* For paging_job.next. */
enum paging_step move_next(struct paging_job *job, struct miniport_paging_op *op_out);
/* Is there anything for the pager in it? Under the lock. */
bool move_has_rows(const struct vidmm_place *place);

/* ---- move.c ---- */

/*
 * Takes all that its way needs: pages, runs, an MDL. READY: move_start() can be called. DONE: there
 * is nothing to move. FAILED: there is no memory. No lock is held.
 */
enum move_result { MOVE_READY, MOVE_DONE, MOVE_FAILED };
MUST_CHECK enum move_result move_prepare(struct vidmm_place *place);
/* On the way out: its content goes, and there is no copy. Under the allocation's lock. */
bool move_drops_locked(const struct vidmm_place *place);
/* Its job, to be queued by the caller, which cannot fail; its end comes by itself. */
void move_start(struct vidmm_place *place, struct list *jobs);

/* ---- reset.c ---- */

/* Its job met a reset: what the driver has of it is due. It is not out yet. */
void place_owe_locked(struct vidmm_place *place, bool is_built);

/* ---- budget.c ---- */

/* What applications can have there grew by so much, or shrank: page tables are no application's. */
void budget_resize_locked(struct vidmm *manager, const struct vidmm_segment *segment,
			  int64_t bytes);
/* What processes claim has changed for another reason than their usage. */
void budget_recount_locked(struct vidmm *manager);
void budget_join_locked(struct vidmm_process *process);
void budget_leave_locked(struct vidmm_process *process);
void budget_charge_locked(struct vidmm_process *process, enum vidmm_group group, int64_t bytes);
/* What it claims of what there is (budget.c); manager->claimed_bytes is the sum. */
uint64_t budget_claim_locked(const struct vidmm_process *process, enum vidmm_group group);
uint64_t budget_of_locked(const struct vidmm_process *process, enum vidmm_group group);
/* Tells a trace what that is, and what is used of it. */
void budget_trace_locked(const struct vidmm_process *process, enum vidmm_group group);
/* The same, whatever the limits that were set (control.h). */
uint64_t budget_share_locked(const struct vidmm_process *process, enum vidmm_group group);
/* Bytes above: of the budgets of this moment, or of the maximum. */
/* A list that is so much above what its process may have; says who has the memory. */
MUST_CHECK NTSTATUS budget_refuse(struct vidmm *manager, uint64_t excess_bytes);
uint64_t budget_excess_locked(const struct vidmm_process *process, bool is_maximum);
/* Who has to be told, now that usage changed. */
void budget_news_locked(struct vidmm *manager);
void budget_tell(struct vidmm *manager, struct list *news);
/* Every process is told that the adapter is lost. No lock held. */
void budget_tell_loss(struct vidmm *manager);
/* It is told what there is to tell. */
void budget_news_add_locked(struct vidmm_process *process);

/* ---- trim.c ---- */

/* Who is to trim by now; and when to look again. */
void trim_look_locked(struct vidmm *manager);
/*
 * It is told, if it listens: PERIODIC or RESTART_PERIODIC, and TO_BUDGET where it is over. The clock
 * begins anew.
 */
void trim_now_locked(struct vidmm_process *process, uint32_t flags);
/* It leaves, and listens no more. */
void trim_forget_locked(struct vidmm_process *process);

/* ---- defragment.c ---- */

/* One try to put a segment in order, in rounds; a round is over when nothing shifts there. */
struct defragment {
	struct vidmm *manager;
	struct vidmm_segment *segment;
	struct vidmm_defragmentation how;
	uint64_t number; /* vidmm.defragments */
	uint64_t rounds_left;

	/* During a look. */
	struct resident *residents; /* by their first page */
	size_t count;
};
enum defragment_round { DEFRAGMENT_DONE, DEFRAGMENT_SHIFTS, DEFRAGMENT_SENDS_AWAY };
void defragment_init(struct defragment *order, struct vidmm *manager, uint32_t segment_id,
		     const struct vidmm_defragmentation *how);
/* Begins the next one. */
MUST_CHECK NTSTATUS defragment_step(struct defragment *order, enum defragment_round *round_out);

/* ---- control.c ---- */

/* What is chosen begins to leave. */
void control_evict(struct vidmm *manager, const struct vidmm_selection *selection);
/* Returns when nothing is on its way out any more, or in; or after a long while. */
void manager_settle(struct vidmm *manager, bool with_entering);

/* ---- page tables: table_block.c, table_states.c, table_request.c ---- */

/* Memory of a segment that no allocation has. */
struct vidmm_table_block {
	struct list link;            /* vidmm.blocks */
	struct list tables_link;     /* vidmm_tables.blocks, or table_request.blocks */
	struct vidmm_tables *tables; /* NULL: the kernel's own */
	struct vidmm_segment *segment;
	struct segment_wish wish;
	struct page_set pages;
	bool is_placed;
	struct range *window; /* host_aperture.h, for the kernel's own; NULL: none */
	void *pointer;        /* what is seen through it */
	uint64_t opened_at;   /* as cpu_window.opened_at */
};

/* A call that waits for its turn; on its stack. */
struct table_request {
	struct vidmm_waiter waiter;
	struct vidmm_process *process;
	struct list blocks; /* vidmm_table_block.tables_link: to be placed all at once */
	NTSTATUS status;
	_Atomic bool is_answered;
};

/* vidmm_tables.word */
enum { TABLES_STATE_MASK = 3, TABLES_ONE_HOLD = 4 };

static inline enum vidmm_tables_state tables_state(const struct vidmm_tables *tables)
{
	return (enum vidmm_tables_state)(atomic_load(&tables->word) & TABLES_STATE_MASK);
}

/* Tells a trace what state they have or come to have. */
void tables_trace_locked(const struct vidmm_process *process, enum vidmm_tables_state state);

static inline struct vidmm_process *tables_process(struct vidmm_tables *tables)
{
	return container_of(tables, struct vidmm_process, tables);
}

static inline struct vidmm_table_block *table_block_of(const struct list *tables_link)
{
	return container_of(tables_link, struct vidmm_table_block, tables_link);
}

static inline uint64_t table_block_bytes(const struct vidmm_table_block *block)
{
	return segment_bytes(block->segment, &block->wish);
}

/* NULL, refused: there is no memory for it. Not placed. */
struct vidmm_table_block *table_block_create(struct vidmm *manager, struct vidmm_process *process,
					     uint32_t segment_id, uint64_t size_bytes,
					     uint64_t align_bytes);
/* Where it is. It is placed, and stays so meanwhile. */
struct pager_table table_block_where(struct vidmm_table_block *block);
void table_block_displace_locked(struct vidmm *manager, struct vidmm_table_block *block);

/* Nothing of it runs: it has no work queued, or only such as waits for its device's turn. */
bool device_is_idle_locked(const struct vidmm_device *device);
bool process_is_idle_locked(const struct vidmm_process *process);
/* All of them, or none: STATUS_GRAPHICS_NO_VIDEO_MEMORY, or STATUS_NO_MEMORY to write it down. */
MUST_CHECK NTSTATUS table_blocks_place_locked(struct vidmm *manager, struct list *blocks);
/* What they take up, or would, in one segment. */
uint64_t table_blocks_bytes(const struct list *blocks, const struct vidmm_segment *segment);
uint32_t table_blocks_segments(const struct list *blocks);
/* LEAVING, with the process's devices suspended. False: somebody holds them. */
bool tables_leave_locked(struct vidmm_tables *tables);
/* Their blocks were placed: ENTERING. */
void tables_enter_locked(struct vidmm_tables *tables);
/* They have one block fewer. */
void tables_lost_block_locked(struct vidmm_tables *tables);
/* After the lock: what was decided is begun. */
void tables_move(struct list *moving);
void table_request_answer_locked(struct table_request *request, NTSTATUS status);

/* Adds what page tables have, by segment. NULL, or what does not add up. */
const char *table_blocks_recount(const struct vidmm *manager, uint64_t resident_bytes[],
				 uint64_t page_count[], uint64_t range_count[],
				 uint64_t leaving_bytes[], uint64_t entering_bytes[]);
uint64_t table_blocks_count_bytes(const struct vidmm *manager, const struct vidmm_segment *segment);

/* ---- allocation_list.c ---- */

/* Could all that the device pays for be in place together, were there nobody else? */
bool device_list_fits_locked(const struct vidmm_device *device);

/* True when all of it is in place, and kept there from now on. */
bool list_look_locked(struct vidmm_allocation_list *list, bool is_head);
void list_fail_locked(struct vidmm_allocation_list *list);
/* Unpins what it holds so far: it is put together anew. */
void list_loosen_locked(struct vidmm_allocation_list *list);

#endif
