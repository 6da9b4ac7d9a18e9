/* SPDX-License-Identifier: MIT */
/*
 * internal.h - what the files of the scheduler know of each other.
 *
 *	sched.c      making, ending, the scheduler's thread, stopping and quiescing
 *	queue.c      the packets of a context, in order: in, what is next, out
 *	node.c       submission and completion; who has the baton submits
 *	hw_queue.c   the same for queues that the hardware orders itself
 *	mistake.c    what a driver says of its work that cannot be
 *	preempt.c    asking a node to stop, and what becomes of what it had
 *	turns.c      the clock of those who wait for what runs
 *	owner.c      what is lost, suspended and waited for together
 *	tdr.c        the clock: what is late, what faulted, and what follows
 *	reset.c      resetting an engine, or the adapter
 *
 * One lock, sched->lock. …_locked: it is held, and stays so. …_relock: dropped and retaken, because a
 * packet, the hardware or the listener is called, or something is waited for. Meanwhile anything it
 * guards may have changed: packets were queued, submitted and retired, queues and owners have ended
 * or were lost, nodes were reset. The scheduler and its nodes are still there, and who had a node's
 * baton still has it; of everything else only what the caller itself keeps.
 */
#ifndef SCHED_INTERNAL_H
#define SCHED_INTERNAL_H

#include "base/lock.h"
#include "base/notice.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "sched/priority.h"
#include "sched/sched.h"

/* D3DKMT_DEVICEEXECUTION_STATE, as GetDeviceState says it. */
enum sched_device_state {
	SCHED_STATE_RESET = 2,
	SCHED_STATE_HUNG = 3,
	SCHED_STATE_STOPPED = 4,
	SCHED_STATE_OUT_OF_MEMORY = 5,
	SCHED_STATE_DMA_FAULT = 6,
	SCHED_STATE_PAGE_FAULT = 7,
};

/* sched_packet.state */
enum packet_state {
	PACKET_QUEUED,    /* at or behind sched_queue.next, or in hand */
	PACKET_PASSED,    /* a signal that acts when it is the first */
	PACKET_SUBMITTED, /* the hardware has it: sched_node.submitted */
	PACKET_RETURNED,  /* it gave it back, and gets it with the same id: sched_node.returned */
	PACKET_OVER,      /* to be retired */
};

/* What came of the reset of an engine. */
enum engine_result {
	ENGINE_RECOVERED,
	ENGINE_FAILED,     /* the adapter has to be reset, and what runs is to blame */
	ENGINE_NOT_ENOUGH, /* likewise, and nobody is */
	ENGINE_INSANE      /* the driver does not know what it aborted */
};

struct sched_preemption {
	uint32_t last_fence; /* of the last request */
	uint32_t answered_fence;
	uint32_t ran_fence; /* of the packet that ran then */
	uint64_t since_ns;  /* when it was made */
	bool is_wanted;     /* a request should be made: the running packet had its turn */
	bool is_unanswered;
	bool is_awaited; /* nothing is submitted before the answer */
};

struct sched_node {
	struct sched *sched;
	uint32_t number;

	/* Guarded by sched->lock. */
	struct ready_set ready;
	struct list steps;     /* sched_queue.ready_link: a wait or an early signal is next */
	struct list submitted; /* sched_packet.node_link, by fence id; the first one runs */
	struct list returned;  /* sched_packet.node_link: go first, with the ids they have */
	uint32_t outstanding;  /* length of `submitted` */
	uint32_t last_fence;
	uint32_t completed_fence;
	uint32_t excused_fence; /* up to here a driver may still name what is over; 0: nothing */
	struct sched_owner *completed_owner; /* of that packet; NULL when it is gone */
	struct sched_owner *loaded_owner;    /* whose packet was submitted last; NULL: gone */
	uint32_t loaded_queue;               /* the id of its queue, which may be gone; 0: none */
	bool is_busy;                        /* somebody has the baton */
	bool is_deaf;   /* being reset: what the hardware says does not count */
	uint32_t holds; /* nothing is submitted */
	struct sched_preemption preemption;

	struct sched_node_statistics statistics;
	uint64_t busy_since_ns;    /* while it has something */
	uint64_t charged_until_ns; /* … and processes were told of it (sched_process.busy_ns) */

	uint64_t running_since_ns; /* the first of `submitted` */
	bool is_contended;         /* the thread looks within a quantum whether somebody waits */
	uint64_t contended_until_ns;
	uint32_t futile_resets; /* that blamed nobody, in a row */
	bool has_fault;
	bool has_timed_out; /* the hardware says so */
	struct miniport_fault fault;

	/* Hardware queues; see hw_queue.c. */
	struct list hw_queues;                 /* sched_queue.hw_link */
	struct list hw_ready;                  /* sched_queue.ready_link: work is next */
	uint32_t hw_outstanding;               /* packets the hardware has */
	uint32_t hw_never_late;                /* of those, packets that stop the clock */
	bool was_hw_last;                      /* what was submitted */
	bool is_hw_resetting;                  /* faults of hardware queues do not count */
	bool was_hw_hit;                       /* somebody, by the reset under way */
	const struct miniport_fault *hw_fault; /* of whoever that reset is to blame on; or NULL */
};

/* What a driver did wrong; reported when sched->lock is dropped. */
struct sched_mistake {
	bool is_there;
	enum rule rule;
	uint32_t node;
	char sentence[240];
};

struct sched {
	/* Set at creation. */
	struct sched_config config;
	const struct sched_gpu_ops *ops;
	struct miniport *gpu;
	struct sched_listener listener;
	void *listener_context;
	struct thread *thread;
	bool counts_hw_queues;    /* among config.outstanding_max */
	uint64_t *reset_times_ns; /* a ring of config.tdr_limit_count; the thread's own */
	uint32_t reset_count;

	struct lock lock; /* LOCK_RANK_NODE */
	struct list owners;
	struct list retirable;    /* sched_queue.retire_link */
	struct list over;         /* sched_wait.link: to be told */
	struct list lost;         /* sched_owner.lost_link: the listener is to be told */
	struct list forced;       /* struct forced */
	struct sched_owner *told; /* the listener is being told of */
	uint32_t last_queue_id;
	uint32_t holds;        /* of all nodes */
	uint32_t client_holds; /* nothing new of any owner but the kernel's */
	struct list holding;   /* sched_wait.link: until the hardware has nothing of theirs */
	const char *broken;    /* an adapter reset is due, and why; nothing begins before it */
	const char *dead;      /* the hardware is gone, and why */
	bool is_leaving;       /* … is being taken away: what is said, or not, is no mistake */
	bool is_stopped;       /* by sched_stop() */
	bool is_ending;
	uint32_t recovery_count;
	uint64_t resets[SCHED_RESETS];
	bool has_written; /* an owner's is set */
	struct sched_mistake mistake;
	bool is_watching; /* the thread wakes up in time for the next late packet */
	uint64_t watched_until_ns;

	/* The thread, and those who wait for anything else; given when the lock is let go. */
	struct notice wake;
	struct notice changed;
	uint32_t waiters; /* for `changed` */
	bool is_asleep;
	bool is_wake_due;
	bool is_changed;

	struct sched_node nodes[];
};

/* ---- sched.c ---- */

void sched_lock(struct sched *sched);
void sched_unlock(struct sched *sched);
void sched_wake_thread_locked(struct sched *sched);
void sched_changed_locked(struct sched *sched);
/*
 * Drops and retakes sched->lock, when something changed or at the deadline: queues and owners may have
 * gone, but those that the caller keeps. False at the deadline.
 */
bool sched_wait_relock(struct sched *sched, uint64_t deadline_ns);
/*
 * Drops and retakes sched->lock: tells the listener of owners that were lost. Others may be lost
 * meanwhile, and are told, too.
 */
void sched_tell_lost_relock(struct sched *sched);
/* Every owner is lost but the kernel's. */
void sched_lose_owners_locked(struct sched *sched, struct sched_owner *guilty,
			      uint32_t guilty_state, uint32_t state);
/* The kernel's queued work comes back undone. */
void sched_cancel_kernels_locked(struct sched *sched);
/* Loses every owner and cancels the kernel's work, as the two above. */
void sched_lose_all_locked(struct sched *sched, struct sched_owner *guilty, uint32_t guilty_state,
			   uint32_t state);

static inline bool owner_is_suspended_locked(const struct sched_owner *owner)
{
	lock_assert_held(&owner->sched->lock);
	return owner->suspensions > 0 || (!owner->is_system && owner->sched->client_holds > 0);
}

static inline struct sched_node *sched_node_of(const struct sched_queue *queue)
{
	return &queue->sched->nodes[queue->node];
}

/* ---- queue.c ---- */

/* Finds out what is next, and puts the queue where its node looks for that. */
void queue_update_ready_locked(struct sched_queue *queue);
void queue_unready_locked(struct sched_queue *queue);
bool queue_is_cancelled_locked(const struct sched_queue *queue);
/* Everything the hardware has not. */
void queue_cancel_locked(struct sched_queue *queue);
/* What is not submitted: a signal whose time has not come is, when all in front of it is. */
void queue_cancel_rest_locked(struct sched_queue *queue);
void packet_over_locked(struct sched_packet *packet, enum sched_outcome outcome);
/* It never comes (back) to the hardware. */
void packet_cancel_locked(struct sched_packet *packet);
/*
 * Drops and retakes sched->lock: retires what can be retired, and tells who waited. After
 * everything that ends packets. These, and queues that were waited for, may be gone then.
 */
void sched_retire_relock(struct sched *sched);

/* ---- node.c ---- */

enum { NODE_STEPS = 64 };

/*
 * Drops and retakes sched->lock: takes the baton, if it is free, and does what can be done; at most
 * so many steps. Work may have been submitted, and completed, on every node meanwhile.
 */
void node_run_relock(struct sched_node *node, uint32_t steps);
bool node_has_work_locked(const struct sched_node *node);
struct sched_packet *node_running_locked(const struct sched_node *node);
/* How long it has run what it runs, when that is of the process and not charged yet. */
uint64_t node_running_ns_locked(const struct sched_node *node, const struct sched_process *process,
				uint64_t now_ns);
/* An id from the last that completed to the newest the hardware has: others say nothing. */
bool node_knows_locked(const struct sched_node *node, uint32_t fence);
/* What the hardware finished; `fence` is the newest of them. */
void node_complete_locked(struct sched_node *node, uint32_t fence);
/*
 * The hardware has nothing any more: it comes again, or was lost. `ran` had its turn, and goes
 * behind the others; NULL: all line up as they were.
 */
void node_give_back_locked(struct sched_node *node, struct sched_queue *ran);
/* What the hardware had is lost: all of it, or one packet. */
void node_abort_locked(struct sched_node *node);
/* Among which it counts. */
struct sched_packet_counts *node_counts_locked(struct sched_node *node,
					       const struct sched_packet *packet);
void node_abort_packet_locked(struct sched_node *node, struct sched_packet *packet);
struct sched_packet *packet_of_node_link(struct list *link);
/* Tells a trace what the hardware has. */
void node_trace_packets_locked(const struct sched_node *node);
/* … that the packet's queue stands still at it. */
void queue_trace_waits_locked(const struct sched_packet *packet);

/* Nobody holds it, and there is hardware. */
bool node_is_free_locked(const struct sched_node *node);
/* What counts against config.outstanding_max. */
uint32_t node_counted_locked(const struct sched_node *node);
/* There may be something to do that there was not before. */
void node_invite_locked(struct sched_node *node);

/* ---- hw_queue.c ---- */

static inline bool queue_is_hw(const struct sched_queue *queue)
{
	return queue->hw.progress != NULL;
}

/* Before a packet is given to the hardware. */
void hw_enter_locked(struct sched_node *node, struct sched_packet *packet);
/* Tells a trace what the hardware has in them. */
void hw_trace_packets_locked(const struct sched_node *node);
/* The driver has refused that packet: it is not with the hardware after all. */
void hw_refused_locked(struct sched_node *node, struct sched_packet *packet);
/* One packet less that stops the clocks of the node. */
void hw_may_be_late_locked(struct sched_node *node);
/* What the fences say is done, is over. */
void hw_look_locked(struct sched_node *node);
/* One of the fences says that something is over, and nobody was told. */
bool hw_is_unseen_locked(const struct sched_node *node);
/* The same, and no interrupt is going to come: it is over now. */
void hw_complete_lost_locked(struct sched_node *node);
/* The hardware has forgotten all of it. */
void hw_abort_locked(struct sched_node *node);
void hw_fault_locked(struct sched_node *node, const struct miniport_fault *fault);
/* Whose queue or context the fault names; or NULL. */
const struct sched_owner *hw_faulted_owner_locked(const struct sched_node *node,
						  const struct miniport_fault *fault);
/* When the first of the node's hardware queues is late. */
uint64_t hw_deadline_locked(const struct sched_node *node);
/* As node_running_ns_locked(), of the hardware queues. */
uint64_t hw_running_ns_locked(const struct sched_node *node, const struct sched_process *process,
			      uint64_t now_ns);
/* The only owner of those that are late, or, when none is, of those that have something; or NULL.
 */
struct sched_owner *hw_guilty_locked(const struct sched_node *node);
/*
 * Drops and retakes sched->lock, with the baton: resets the node's hardware queues. Other nodes go on
 * meanwhile.
 */
enum engine_result hw_reset_relock(struct sched_node *node, const struct miniport_fault *fault);

/* ---- mistake.c ---- */

void mistake_locked(struct sched_node *node, enum rule rule, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Drops and retakes sched->lock: reports what was noted, and there may be more by then. */
void mistake_tell_relock(struct sched *sched);
/* True when the hardware has a packet of this id. Else it is a mistake, unless it is excused. */
bool mistake_judge_fence_locked(struct sched_node *node, const char *what, uint32_t fence);
/* Ids up to this one are over without the driver having said so. */
void mistake_excuse_locked(struct sched_node *node, uint32_t fence);

/* ---- preempt.c ---- */

bool preempt_is_due_locked(const struct sched_node *node, const struct sched_queue *next);
/* What runs may do so for ever, and somebody waits until the hardware does not have it. */
bool preempt_is_needed_locked(const struct sched_node *node);
/* A request would be of use: there is something to stop, and the driver was not asked yet. */
bool preempt_is_possible_locked(const struct sched_node *node);
/* Somebody waits until the hardware has nothing of the owner of what runs, or nothing at all. */
bool preempt_is_awaited_locked(const struct sched_node *node);
/* Drops and retakes sched->lock, with the baton. What was to be stopped may have ended meanwhile. */
void preempt_request_relock(struct sched_node *node);
void preempt_forget_locked(struct sched_node *node);

/* ---- turns.c ---- */

/* Somebody may wait for what runs: the thread looks after a quantum. */
void turns_watch_locked(struct sched_node *node);
uint64_t turns_deadline_locked(struct sched *sched);
void turns_run_locked(struct sched *sched);

/* ---- owner.c ---- */

/* True for the first who loses it; the listener will be told. */
bool owner_lose_and_tell_locked(struct sched_owner *owner, uint32_t state,
				const struct miniport_fault *fault);
void owner_submits_locked(struct sched_owner *owner, struct sched_packet *packet);
void owner_submitted_ends_locked(struct sched_owner *owner, struct sched_packet *packet);
/* `ticket` stood for a packet that was retired. */
void owner_retired_locked(struct sched_owner *owner, struct sched_ticket *ticket);

/* ---- tdr.c ---- */

void tdr_running_locked(struct sched_node *node);
/* Something came to the hardware that can be late. */
void tdr_watch_locked(struct sched *sched);
uint64_t tdr_deadline_locked(struct sched *sched);
/*
 * Drops and retakes sched->lock: faults, what is late, what was asked for. Nodes may have been reset
 * meanwhile, owners lost, and the adapter given up.
 */
void tdr_run_relock(struct sched *sched);

uint32_t tdr_state_of(const struct miniport_fault *fault); /* NULL: a hang */

/* ---- reset.c ---- */

/* Which of a node's work. */
enum reset_scope { RESET_PACKETS = 1, RESET_HW_QUEUES = 2, RESET_BOTH = 3 };

struct reset_cause {
	const char *why;
	enum reset_scope scope;
	bool is_nobodys; /* what runs is not to blame */
	bool needs_adapter_reset;
	const struct miniport_fault *fault; /* of whoever is to blame; NULL: it hangs */
};

/*
 * Drop and retake sched->lock: the node's batons, or all, are taken, the driver resets, and what the
 * hardware had is given back or lost. The last one gives the adapter up: every owner is lost. Batons are
 * free again then, and others may have them.
 */
void reset_engine_relock(struct sched_node *node, const struct reset_cause *cause);
void reset_adapter_relock(struct sched *sched, uint32_t node, const struct reset_cause *cause);
void reset_give_up_relock(struct sched *sched, struct sched_owner *guilty, const char *why);

#endif
