/* SPDX-License-Identifier: MIT */
/*
 * sched.h - what runs next on every node of an adapter.
 *
 *	owner (a device)          what is lost together
 *	  queue (a context)       packets in order                       node (an engine)
 *	    packet ─ packet ─ …   ──────head is ready──────▶  priority ──▶ submitted … completed
 *
 * The scheduler knows order, fence ids, priorities, preemption and lateness. What a packet *is* it
 * does not know: whoever queues one brings functions for its moments. Three kinds:
 *
 *	work     prepare ▶ submit, with a fence id of its node ▶ the driver says completed ▶ retired
 *	wait     try, when what is in front was submitted, until it says yes; what is behind it
 *	         is not submitted before ▶ retired
 *	signal   everything in front of it is retired ▶ act ▶ retired; nobody waits for it
 *
 * Work may be queued by any thread that holds no lock of rank LOCK_RANK_NODE or inner; when its
 * node has room it is submitted by that thread, at once. What becomes ready later (a completion, a
 * wait that ends) is submitted by the scheduler's own thread: those who bring such news may be in a
 * DPC, where nobody enters a driver. On one node packets are submitted one after the other, in
 * the order of their fence ids.
 *
 * Fence ids have 32 bits and grow by one with every submission on a node; 0 is left out: a driver
 * that has completed nothing says 0. Preemptions are numbered apart.
 *
 * Nothing here takes memory after sched_create(), so nothing fails for want of it.
 *
 * Locks: LOCK_RANK_NODE, one per adapter's scheduler; no function of a packet, owner, listener or
 * of the hardware is called under it.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/refusal.h"
#include "base/status.h"
#include "miniport/events.h"

struct miniport;
struct sched;
struct sched_owner;
struct sched_packet;
struct sched_queue;

/* ---- the hardware, as the scheduler sees it ---- */

/* Filled in for a miniport by sched/gpu.c, and by tests for a GPU turned by hand, which stands in its
 * place. No lock held. */
struct sched_gpu_ops {
	void (*preempt)(struct miniport *gpu, uint32_t node, uint32_t preemption_fence);
	bool (*query_current_fence)(struct miniport *gpu, uint32_t node, uint32_t *fence_out);
	uint64_t (*dependent_nodes)(struct miniport *gpu, uint32_t node);
	bool (*is_responsive)(struct miniport *gpu, uint32_t node);
	NTSTATUS (*reset_node)(struct miniport *gpu, uint32_t node, uint32_t *last_aborted_out);
	/*
	 * The same for hardware queues: meanwhile sched_on_hw_context_hit() is called for every
	 * context that lost what it had. What was not hit goes on when it is resumed.
	 */
	NTSTATUS (*reset_hw_node)(struct miniport *gpu, uint32_t node);
	NTSTATUS (*resume_hw_node)(struct miniport *gpu, uint32_t node);
	void (*collect_debug_info)(struct miniport *gpu, uint32_t reason, uint32_t node);
	bool (*reset_adapter)(struct miniport *gpu);   /* DxgkDdiResetFromTimeout */
	bool (*restart_adapter)(struct miniport *gpu); /* DxgkDdiRestartFromTimeout */
	/* What the hardware says of this node from now on is dropped, or no longer dropped. */
	void (*ignore_events)(struct miniport *gpu, uint32_t node, bool is_ignored);
	void (*flush_events)(
		struct miniport *gpu); /* no event of before is delivered after it returns */
	/* What the driver said of this node cannot be; any thread, DPC included. May be NULL. */
	void (*report)(struct miniport *gpu, enum rule rule, uint32_t node, const char *sentence);
};

extern const struct sched_gpu_ops sched_gpu_miniport;

enum { SCHED_NODES_MAX = 64 };

struct sched_config {
	uint32_t adapter_id; /* for traces and messages */
	uint32_t node_count; /* 1 … SCHED_NODES_MAX */
	uint32_t paging_node;
	bool is_preemption_aware;
	bool has_engine_reset;
	bool has_hw_engine_reset; /* of hardware queues */
	/*
	 * What one node has that is not completed, of hardware queues, too. 0: nobody says, so 16,
	 * and what hardware queues have does not count.
	 */
	uint32_t outstanding_max;
	/* A packet that ran so long is asked to stop when an equal waits. 0: never for that. */
	uint64_t quantum_ns;
	/* Each packet is asked to stop as soon as the hardware has it, once. For who verifies a driver. */
	bool preempts_always;
	uint32_t first_fence; /* of every node; 0: 1. For tests: the end of 32 bits is far */

	/* The names and defaults of the documented settings. */
	uint32_t tdr_level;    /* TdrLevel: 0 off, 1 gives the adapter up, 3 recover (default) */
	uint64_t tdr_delay_ns; /* TdrDelay, 2 s: from a preemption that is not answered */
	uint64_t tdr_ddi_delay_ns;  /* TdrDdiDelay, 5 s */
	uint64_t tdr_limit_time_ns; /* TdrLimitTime, 60 s */
	uint32_t tdr_limit_count;   /* TdrLimitCount, 5 */
};

/*
 * What the layers above are told. On the scheduler's thread, which must not be made to wait for
 * work; no lock held. Each may be NULL.
 */
struct sched_listener {
	/* `fault` is NULL for a hang. The owner was made lost before. */
	void (*owner_lost)(void *listener, struct sched_owner *owner, uint32_t device_state,
			   const struct miniport_fault *fault);
	/*
	 * An adapter reset. Every owner is lost, and was told, when it begins; after that the
	 * kernel's own queued packets are cancelled. What is queued from then on is submitted when
	 * it ended. In the middle the hardware stands still, local memory is lost and the driver is
	 * told what was in it.
	 */
	void (*adapter_reset_begins)(void *listener);
	void (*adapter_was_reset)(void *listener);
	void (*adapter_reset_ended)(void *listener);
	/* Nothing can be done any more (TdrLevel 1, the limit, a reset that failed). */
	void (*adapter_lost)(void *listener, const char *why);
	/*
	 * A work packet of this owner completed, and will be retired, or the hardware said that it
	 * wrote a fence: fences the GPU wrote may have been reached. Any thread, DPC included; must
	 * not block.
	 */
	void (*work_completed)(void *listener, struct sched_owner *owner);
};

MUST_CHECK NTSTATUS sched_create(const struct sched_config *config, const struct sched_gpu_ops *ops,
				 struct miniport *gpu, const struct sched_listener *listener,
				 void *listener_context, struct sched **sched_out);

/* Every owner is gone. Accepts NULL. */
void sched_destroy(struct sched *sched);

/* News from the hardware; may be called in a DPC, and from inside any call into the driver. */
void sched_on_completed(struct sched *sched, uint32_t node, uint32_t fence);
void sched_on_preempted(struct sched *sched, uint32_t node, uint32_t preemption_fence,
			uint32_t last_completed);
void sched_on_faulted(struct sched *sched, const struct miniport_fault *fault);
void sched_on_timed_out(struct sched *sched, uint32_t node);
/*
 * The hardware wrote a fence, maybe that of a hardware queue: what these have finished is over, and
 * every owner's work_completed() is called, by the thread.
 */
void sched_on_fence_written(struct sched *sched);
/*
 * A reset took what this hardware context of the owner had: it is lost, as the one who is to blame,
 * or one that was beside it.
 */
void sched_on_hw_context_hit(struct sched_owner *owner, const void *context, bool is_collateral);

/* ---- packets ---- */

enum sched_outcome {
	SCHED_DONE,
	SCHED_ABORTED,  /* it was with the hardware when that was reset, or its submission was
			   refused */
	SCHED_CANCELLED /* it never got there: its owner was lost, or its queue ended */
};

struct sched_submission {
	uint32_t node;
	uint32_t fence;
	bool is_resubmission;
};

struct sched_packet_ops {
	/*
	 * Work: everything it needs is brought in place. STATUS_SUCCESS: go. STATUS_PENDING: not
	 * yet, sched_queue_kick() will come. Anything else loses the owner (device_state 5 for
	 * STATUS_NO_MEMORY, else 6). Called again before a resubmission, and when something came
	 * in between. Must not wait for work: nothing else is submitted on the node meanwhile. May
	 * be NULL.
	 */
	NTSTATUS (*prepare)(struct sched_packet *packet);

	/* Work: into the driver. A failure loses the owner; the fence counts as completed. */
	NTSTATUS (*submit)(struct sched_packet *packet, const struct sched_submission *submission);

	/* Wait: true when it is over. Else sched_queue_kick() will come. Must not block. */
	bool (*try_wait)(struct sched_packet *packet);

	/* Signal. Any thread, DPC included: must not block and not enter the driver. */
	void (*signal)(struct sched_packet *packet);

	/*
	 * Once, in the order of the queue, whatever became of it; the storage is the caller's
	 * again. Any thread, DPC included: must not block and not enter the driver, and not finish
	 * the queue. Queueing more is fine.
	 */
	void (*retired)(struct sched_packet *packet, enum sched_outcome outcome);

	/*
	 * To a trace that begins now: what else is told of it right before it is queued. With the scheduler's
	 * lock held: takes none. May be NULL.
	 */
	void (*trace)(const struct sched_packet *packet);
};

enum sched_packet_kind { SCHED_WORK, SCHED_WAIT, SCHED_SIGNAL };

/* For traces. */
static inline const char *sched_packet_kind_name(enum sched_packet_kind kind)
{
	return kind == SCHED_WORK ? "work" : kind == SCHED_WAIT ? "wait" : "signal";
}

/* What stands in a row of an owner, by number. */
struct sched_ticket {
	struct list link;
	uint64_t number;
};

/* First member of what is queued. Set kind, ops and the flags; the rest is the scheduler's. */
struct sched_packet {
	enum sched_packet_kind kind;
	const struct sched_packet_ops *ops;
	bool keeps_fence;   /* paging: a resubmission has the same id and comes first */
	bool is_never_late; /* DisableGpuTimeout; until its queue is cancelled */
	bool signals_early; /* signal: when what is in front was submitted (SignalAtSubmission) */
	uint64_t progress;  /* work of a hardware queue: what its fence says when it is done */

	struct sched_queue *queue;
	struct list link;                    /* in its queue */
	struct list node_link;               /* submitted, by fence id (hardware queues: progress);
					      or waiting to be again */
	struct sched_ticket ticket;          /* sched_owner.packets */
	struct sched_ticket hardware_ticket; /* sched_owner.submitted */
	uint32_t fence;
	uint8_t state;
	uint8_t outcome;
	bool is_in_hand; /* one of its functions is being called */
	bool was_submitted;
	bool is_refused; /* by the driver; it counts as completed after those before it */
	bool is_faulted;
};

/* ---- owners ---- */

/* A process on this adapter: who has owners of work, which come and go. */
struct sched_process {
	uint32_t id;      /* for logs and traces */
	uint64_t busy_ns; /* of packets that left the hardware; guarded by the scheduler's lock */
};

/* Part of a device. */
struct sched_owner {
	/* Set at init; `process` by the caller, before it has queues. */
	struct sched *sched;
	bool is_system;                /* the kernel's own: never lost, comes first */
	struct sched_process *process; /* NULL: nobody's; in-process priority counts within it */

	/* Guarded by the scheduler's lock; what is atomic is read freely. */
	int32_t process_class;       /* PRIORITY_CLASS_LOWEST to …_HIGHEST */
	struct list link;            /* all owners */
	struct list queues;          /* sched_queue.owner_link */
	struct list packets;         /* sched_ticket.link: not retired, oldest first */
	struct list submitted;       /* sched_ticket.link: the hardware has it, oldest first */
	struct list waits;           /* sched_wait.link, by ticket */
	struct list submitted_waits; /* likewise */
	_Atomic uint64_t last_ticket;
	uint64_t last_submitted_ticket;
	_Atomic uint32_t pending; /* packets; a look without the lock: 0 means idle */
	uint32_t suspensions;
	_Atomic bool is_lost;
	_Atomic uint64_t *shown; /* the same for who reads it elsewhere; NULL: nobody */

	bool has_written; /* the listener is to be told that a fence may have been reached */

	/* Until the listener was told. */
	struct list lost_link;
	uint32_t lost_state;
	bool has_fault;
	struct miniport_fault fault;
};

/* Lost from the start when the scheduler was stopped or its adapter is. */
void sched_owner_init(struct sched_owner *owner, struct sched *sched, bool is_system);

/* A look: nothing of it is queued or with the hardware. */
static inline bool sched_owner_is_idle(const struct sched_owner *owner)
{
	return atomic_load_explicit(&owner->pending, memory_order_acquire) == 0;
}

/* A look: how many packets it has queued since its beginning, which is the number of the last. */
uint64_t sched_owner_tickets(const struct sched_owner *owner);

/* Its work goes before that of lower classes, whatever their priorities. */
void sched_owner_set_class(struct sched_owner *owner, int32_t process_class);

/*
 * *word is SCHED_OWNER_ACTIVE until it is lost, and 0 from then on, before anybody learns of it who asks.
 * Good until sched_owner_finish().
 */
#define SCHED_OWNER_ACTIVE UINT64_C(1)
void sched_owner_show(struct sched_owner *owner, _Atomic uint64_t *word);

/* Its queues are gone. */
void sched_owner_finish(struct sched_owner *owner);

/*
 * Everything queued is cancelled, nothing new is accepted, nobody waits any longer than the
 * hardware has something of it; with the hardware gone, not even that. True for the first. The
 * listener is not told: the caller knows.
 */
bool sched_owner_lose(struct sched_owner *owner);

struct sched_loss {
	uint32_t device_state;
	bool has_fault;
	struct miniport_fault fault;
};

/* What D3DKMT_DEVICEEXECUTION_STATE calls a state, in words: "out of memory". */
const char *sched_state_words(uint32_t device_state);

/* The scheduler has lost it, of which the listener was told or is going to be. */
MUST_CHECK bool sched_owner_loss(struct sched_owner *owner, struct sched_loss *loss_out);

/* Returns when nothing of it is queued or with the hardware; its queues end. */
void sched_owner_drain(struct sched_owner *owner);

/* While suspended nothing new of it is submitted. Nests. */
void sched_owner_suspend(struct sched_owner *owner);
void sched_owner_resume(struct sched_owner *owner);

/*
 * The same for every owner but the kernel's; those that come later are held, too. over() is called
 * when the hardware has nothing of theirs, maybe at once on this thread; each hold ends with a
 * release, after over() was called.
 */
struct sched_wait;
void sched_hold_clients(struct sched *sched, struct sched_wait *wait);
void sched_release_clients(struct sched *sched);

/* ---- being told when work is over ---- */

struct sched_wait {
	void (*over)(struct sched_wait *wait); /* once, any thread, no lock held; must not block */
	struct list link;
	uint64_t ticket;
};

/*
 * When everything queued so far is retired; at once, on this thread, when there is nothing (that
 * costs one look). What is queued later does not count.
 */
void sched_after_owner(struct sched_owner *owner, struct sched_wait *wait);

/* The same for what was queued up to `ticket`, one of sched_owner_tickets(). */
void sched_after_ticket(struct sched_owner *owner, uint64_t ticket, struct sched_wait *wait);

/*
 * The same for what the hardware has and may still touch, when the rest does not matter: used for
 * eviction of what a suspended owner no longer needs. Work that was preempted is not with the
 * hardware.
 */
void sched_after_submitted(struct sched_owner *owner, struct sched_wait *wait);

/*
 * One thread that waits for something that is told by a sched_wait, on behalf of an owner. Who must
 * not stand in the way of a reset, being in the driver, gives up when the owner is lost; the wait
 * is still under way then, and can be taken up by another thread.
 */
struct sched_thread_wait {
	struct sched_wait wait; /* to be told when it is over */
	struct sched_owner *owner;
	bool is_over; /* guarded by the scheduler's lock */
};

void sched_thread_wait_begin(struct sched_thread_wait *waiter, struct sched_owner *owner);
/* True when it is over; false, with `gives_up`, when the owner is lost. */
MUST_CHECK bool sched_thread_wait_until_over(struct sched_thread_wait *waiter, bool gives_up);

/* ---- queues ---- */

/*
 * A hardware queue: what it is given goes to the hardware as long as that has room, which orders
 * it among the other hardware queues of the node, knows nothing of fence ids, and is done with a packet when the
 * queue's fence has reached the packet's progress. It cannot be preempted.
 */
struct sched_hw_identity {
	const _Atomic uint64_t *progress; /* where the fence is; NULL: an ordinary queue */
	/* What the driver may call it: the kernel's pointer, or its own. Compared, not followed. */
	const void *queue_names[2];
	const void *context_names[2];
};

/* Part of a context. */
struct sched_queue {
	/* Set at init. */
	struct sched *sched;
	struct sched_owner *owner;
	uint32_t node;
	uint32_t id; /* for traces */
	struct sched_hw_identity hw;

	/* Whose it is, for traces: see sched_queue_name(). */
	uint32_t process_id;
	uint32_t handle;
	_Atomic(const char *) kind; /* written last; NULL: nobody has said */

	/*
	 * May be set by the caller before the first packet: the last one was retired. Any thread,
	 * DPC included; must not block. More may have been queued meanwhile.
	 */
	void (*emptied)(struct sched_queue *queue);

	/* Guarded by the scheduler's lock. */
	int32_t priority;            /* -7 … 7 */
	int32_t in_process_priority; /* 0 or 1 */
	struct list owner_link;
	struct list packets;     /* sched_packet.link */
	struct list *next;       /* the first of them that was not submitted, or the end */
	struct list ready_link;  /* in its node, while something can be done for `next` */
	uint32_t ready_level;    /* … at this level */
	struct list retire_link; /* its first packet is over */
	uint32_t length;
	uint32_t suspensions;
	bool is_blocked; /* `next` said no; until it is kicked */
	bool was_kicked; /* while `next` was asked */
	bool is_retiring;
	bool is_ending;
	bool ends_at_waits; /* a wait that is not over cancels what is left */
	bool is_cancelling;

	/* Hardware queues. */
	struct list hw_link;       /* in its node */
	struct list hw_submitted;  /* sched_packet.node_link, by progress */
	uint64_t last_progress;    /* that was queued */
	uint64_t hw_given;         /* the newest progress that the hardware was given */
	uint64_t hw_seen;          /* that its fence said */
	uint64_t hw_moved_ns;      /* when the first of them came to be the first */
	uint64_t hw_charged_ns;    /* its process was told of them until then (busy_ns) */
	uint32_t hw_futile_resets; /* that left it as it was, in a row */
	bool was_hw_late;          /* when the reset under way began */
	bool is_hit;               /* by a reset: the hardware has nothing of it any more */
};

void sched_queue_init(struct sched_queue *queue, struct sched_owner *owner, uint32_t node);

/* A hardware queue, which the driver knows already. */
void sched_hw_queue_init(struct sched_queue *queue, struct sched_owner *owner, uint32_t node,
			 const struct sched_hw_identity *identity);

/*
 * Says once whose it is: a process (0: the kernel itself), what that calls it by (0: nothing), and what kind of queue
 * it is, in a string that is never freed.
 */
void sched_queue_name(struct sched_queue *queue, uint32_t process_id, uint32_t handle,
		      const char *kind);

/* Tells a trace that begins whose queues there are, what is in them, and what of that the hardware has. */
void sched_trace_queues(struct sched *sched);

/* What becomes of what the hardware does not have when a queue ends. */
enum sched_ending {
	SCHED_RUN_OUT,   /* it runs, whatever it has to wait for */
	SCHED_RUN_READY, /* it runs, up to the first wait that is not over; the rest is cancelled */
	SCHED_CANCEL_ALL, /* it is cancelled */
};

/* Nothing new is accepted: who waits for a slot is refused. Does not wait, and can come again. */
void sched_queue_end(struct sched_queue *queue, enum sched_ending ending);

/*
 * The same, and waits for what runs and what the hardware has, as long as there is hardware that
 * could answer: work that hangs is late, and late work is aborted. Blocks.
 */
void sched_queue_finish(struct sched_queue *queue, enum sched_ending ending);

/*
 * Queues it behind what is there. STATUS_DEVICE_REMOVED when the owner is lost, and
 * STATUS_INVALID_PARAMETER when the queue ends, or is a hardware queue whose newest packet has no
 * less progress than this one; the packet stays the caller's. With `may_block`, waits while the
 * queue holds SCHED_QUEUE_FULL packets or more.
 */
enum { SCHED_QUEUE_FULL = 256 };
MUST_CHECK NTSTATUS sched_queue_submit(struct sched_queue *queue, struct sched_packet *packet,
				       bool may_block);

/*
 * One packet to each of several queues, all or none: where one is refused none is queued. Waits
 * until there is room in all of them.
 */
MUST_CHECK NTSTATUS sched_queues_submit(struct sched_queue *const queues[],
					struct sched_packet *const packets[], uint32_t count);

/* The same, but the scheduler's own thread submits it: for those who may not enter the driver. */
MUST_CHECK NTSTATUS sched_queue_post(struct sched_queue *queue, struct sched_packet *packet);

/*
 * The parts of sched_queue_submit(), for those who queue several under a lock of their own: waits
 * for room, queues and enters nobody, has this thread submit what can go.
 */
MUST_CHECK NTSTATUS sched_queue_await_slot(struct sched_queue *queue);
MUST_CHECK NTSTATUS sched_queue_add(struct sched_queue *queue, struct sched_packet *packet);
void sched_queue_run(struct sched_queue *queue);

/* The head should be tried again: what it waited for may have come. Any thread, DPC included. */
void sched_queue_kick(struct sched_queue *queue);

void sched_queue_set_priority(struct sched_queue *queue, int32_t priority);
int32_t sched_queue_priority(struct sched_queue *queue);
int32_t sched_queue_in_process_priority(struct sched_queue *queue);
void sched_queue_set_in_process_priority(struct sched_queue *queue, int32_t priority);
void sched_queue_suspend(struct sched_queue *queue);
void sched_queue_resume(struct sched_queue *queue);
uint32_t sched_queue_length(struct sched_queue *queue);

/*
 * The context that ran last on a node is still loaded there. True when that is this one, also after
 * the queue's end: to let go of its memory, a context switch packet has to go first. The other one
 * tells on which nodes it is one of the owner's: bit n is node n.
 */
bool sched_queue_is_loaded(struct sched_queue *queue);
uint64_t sched_owner_loaded_nodes(struct sched_owner *owner);

/* ---- recovery by hand (D3DKMT_ESCAPE_TDRDBGCTRL, adapter stop) ---- */

enum sched_forced {
	SCHED_FORCE_ENGINE_RESET,
	SCHED_FORCE_ADAPTER_RESET,
	SCHED_FORCE_LOSS, /* the hardware is gone: what it had is over, every owner is lost */
};
/* Returns when it is over. An engine that has nothing to do is not reset. Not from a listener. */
void sched_force_recovery(struct sched *sched, enum sched_forced what, uint32_t node);

/*
 * Stops: every owner is lost (device_state 4), the kernel's own work is cancelled, nothing is with
 * the hardware and everybody was told when it returns. Not from a listener.
 */
void sched_stop(struct sched *sched);

/*
 * The hardware is being taken away. Its driver may have heard of it already and tell of nothing any more: that is no
 * mistake of it from now on.
 */
void sched_hardware_leaves(struct sched *sched);

/*
 * Every owner is lost (device_state 4), and nothing is with the hardware when it returns; nor will
 * be any more. Not from a listener.
 */
void sched_retreat(struct sched *sched);

/*
 * Nothing is with the hardware until sched_unquiesce(): for level two and three of the driver.
 * Nests. Not from a listener.
 */
void sched_quiesce(struct sched *sched);
void sched_unquiesce(struct sched *sched);

/* Returns when the scheduler's own thread has nothing to do but to look at the clock. For tests. */
void sched_settle(struct sched *sched);

/* ---- what was done since the start ---- */

struct sched_packet_counts {
	uint64_t submitted; /* again, too: after a preemption */
	uint64_t completed;
	uint64_t preempted; /* given back unfinished */
	uint64_t aborted;   /* reset, faulted or refused */
	uint64_t switches;  /* it was another queue's than the one before */
};

/* Those of hardware queues are among the clients'; which of them runs the hardware does not tell, so they switch nothing. */
struct sched_node_statistics {
	struct sched_packet_counts clients;
	struct sched_packet_counts system; /* the kernel's own: paging */
	uint64_t preemption_requests;
	uint64_t busy_ns; /* the hardware had something to do */
};

/* `node` is one of the nodes. */
struct sched_node_statistics sched_node_statistics(struct sched *sched, uint32_t node);

/* Of one queue that was named, under the scheduler's lock. */
struct sched_queue_facts {
	uint32_t process_id;
	uint32_t handle;
	const char *kind;
	bool is_hw;
	uint32_t node;
	uint32_t length; /* packets that are not retired */
};
void sched_for_each_queue(struct sched *sched,
			  void (*look)(void *context, const struct sched_queue_facts *facts),
			  void *context);

/*
 * How long the hardware had something to do for a process, of devices that have ended, too. Each node counts for itself, and
 * so does each hardware queue: which of them the hardware runs it does not tell.
 */
uint64_t sched_process_busy_ns(struct sched *sched, const struct sched_process *process);

/* How often the hardware did not answer in time, or somebody had it reset. */
uint32_t sched_recovery_count(struct sched *sched);

/* What the driver was asked to reset: one recovery may take several, or none when the adapter is given up. */
enum sched_reset { SCHED_RESET_ENGINE, SCHED_RESET_HW_QUEUES, SCHED_RESET_ADAPTER, SCHED_RESETS };
uint64_t sched_reset_count(struct sched *sched, enum sched_reset what);

/* Every packet that is not retired, in no order; under the scheduler's lock. For validate. */
void sched_owner_for_each_packet(struct sched_owner *owner,
				 void (*look)(void *context, struct sched_packet *packet),
				 void *context);

/* For validate: how often an owner is suspended … */
uint32_t sched_owner_suspensions(struct sched_owner *owner);

/* … and how often nodes and clients are held; those of hardware that is gone for good do not count. */
struct sched_holds {
	uint32_t nodes;
	uint32_t clients;
};
struct sched_holds sched_holds(struct sched *sched);

/* Recounts everything. NULL, or what does not add up. Nothing is under way (sched_settle()). */
const char *sched_validate(struct sched *sched);

#endif
