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
 *	work      prepare ▶ submit, with a fence id of its node ▶ the driver says completed ▶
 *retired wait      try, until it says yes; what is behind it waits ▶ retired signal    everything
 *in front of it is retired ▶ act ▶ retired
 *
 * Work may be queued by any thread that holds no lock of rank LOCK_RANK_NODE or inner; when its
 * node has room it is submitted by that thread, at once. What becomes ready later (a completion, a
 * wait that ends) is submitted by the scheduler's own thread: those who bring such news may be in a
 * DPC, where nobody enters a driver. On one node packets are submitted one after the other, in
 * the order of their fence ids.
 *
 * Locks: LOCK_RANK_NODE, one per adapter's scheduler unless measured otherwise; no function of a
 * packet, owner or listener is called under it.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/status.h"

struct sched;
struct sched_owner;
struct sched_packet;
struct sched_queue;

/* ---- the hardware, as the scheduler sees it ---- */

struct sched_fault {
	uint32_t node;
	uint32_t fence;
	bool is_fence_valid;
	bool is_page_fault;
	bool is_write;
	bool needs_adapter_reset;
	uint64_t address;
	uint32_t level;
	uint32_t error_code;
	int32_t status;
};

/* Filled in for a miniport by sched/gpu.c, and by tests for a GPU turned by hand. No lock held. */
struct sched_gpu_ops {
	void (*preempt)(void *gpu, uint32_t node, uint32_t preemption_fence);
	bool (*query_current_fence)(void *gpu, uint32_t node, uint32_t *fence_out);
	uint64_t (*dependent_nodes)(void *gpu, uint32_t node);
	bool (*is_responsive)(void *gpu, uint32_t node);
	NTSTATUS (*reset_node)(void *gpu, uint32_t node, uint32_t *last_aborted_out);
	void (*collect_debug_info)(void *gpu, uint32_t reason, uint32_t node);
	bool (*reset_adapter)(void *gpu);   /* DxgkDdiResetFromTimeout */
	bool (*restart_adapter)(void *gpu); /* DxgkDdiRestartFromTimeout */
	void (*flush_events)(void *gpu);    /* no event of before is delivered after it returns */
};

struct sched_config {
	uint32_t node_count;
	uint32_t paging_node;
	bool is_preemption_aware;
	bool has_engine_reset;
	uint32_t
		outstanding_max; /* submissions of one node that are not completed; 16 by default */

	/* The names and defaults of the documented settings. */
	uint32_t tdr_level;         /* TdrLevel: 0 off, 1 stop the program, 3 recover (default) */
	uint64_t tdr_delay_ns;      /* TdrDelay, 2 s: from a preemption that is not answered */
	uint64_t tdr_ddi_delay_ns;  /* TdrDdiDelay, 5 s */
	uint64_t tdr_limit_time_ns; /* TdrLimitTime, 60 s */
	uint32_t tdr_limit_count;   /* TdrLimitCount, 5 */
};

/* What the layers above are told. On the scheduler's thread, no lock held. */
struct sched_listener {
	/* `fault` is NULL for a hang. The owner was made lost before. */
	void (*owner_lost)(void *listener, struct sched_owner *owner, uint32_t device_state,
			   const struct sched_fault *fault);
	/* Around an adapter reset: local memory is lost in between. Every owner is lost by then. */
	void (*adapter_reset_begins)(void *listener);
	void (*adapter_reset_ended)(void *listener);
	/* Nothing can be done any more (TdrLevel 1, the limit, a reset that failed). */
	void (*adapter_lost)(void *listener, const char *why);
	/* A work packet of this owner completed: fences the GPU wrote may have been reached. */
	void (*work_completed)(void *listener, struct sched_owner *owner);
};

MUST_CHECK NTSTATUS sched_create(const struct sched_config *config, const struct sched_gpu_ops *ops,
				 void *gpu, const struct sched_listener *listener,
				 void *listener_context, struct sched **sched_out);

/* Every owner is gone. Accepts NULL. */
void sched_destroy(struct sched *sched);

/* News from the hardware; may be called in a DPC. */
void sched_on_completed(struct sched *sched, uint32_t node, uint32_t fence);
void sched_on_preempted(struct sched *sched, uint32_t node, uint32_t preemption_fence,
			uint32_t last_completed);
void sched_on_faulted(struct sched *sched, const struct sched_fault *fault);
void sched_on_timed_out(struct sched *sched, uint32_t node);

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
	 * STATUS_NO_MEMORY). Called again before a resubmission. May be NULL.
	 */
	NTSTATUS (*prepare)(struct sched_packet *packet);

	/* Work: into the driver. A failure loses the owner; the fence counts as completed. */
	NTSTATUS (*submit)(struct sched_packet *packet, const struct sched_submission *submission);

	/* Wait: true when it is over. Else sched_queue_kick() will come. Must not block. */
	bool (*try_wait)(struct sched_packet *packet);

	/* Signal. */
	void (*signal)(struct sched_packet *packet);

	/*
	 * Once, in the order of the queue, whatever became of it; the storage is the caller's
	 * again. After an owner was lost packets may be retired from any thread, DPC included: it
	 * must not block and not enter the driver.
	 */
	void (*retired)(struct sched_packet *packet, enum sched_outcome outcome);
};

enum sched_packet_kind { SCHED_WORK, SCHED_WAIT, SCHED_SIGNAL };

/* First member of what is queued. Set kind, ops and the two flags; the rest is the scheduler's. */
struct sched_packet {
	enum sched_packet_kind kind;
	const struct sched_packet_ops *ops;
	bool keeps_fence;   /* paging: a resubmission has the same id and comes first */
	bool is_never_late; /* DisableGpuTimeout */
	bool signals_early; /* signal: when what is in front was submitted (SignalAtSubmission) */

	struct sched_queue *queue;
	struct list link;       /* in its queue */
	struct list owner_link; /* sched_owner.packets, oldest first */
	struct list node_link;  /* submitted, by fence id */
	uint64_t ticket;        /* of its owner */
	uint32_t fence;
	uint8_t state;
	bool was_submitted;
};

/* ---- owners ---- */

/* Part of a device. */
struct sched_owner {
	struct sched *sched;
	struct list link; /* all owners */
	struct list queues;
	struct list packets; /* sched_packet.owner_link: queued and not retired, oldest first */
	struct list waits;   /* sched_wait.link, by ticket */
	uint64_t last_ticket;
	_Atomic uint32_t pending; /* packets; a look without the lock: 0 means idle */
	uint32_t suspensions;
	_Atomic bool is_lost;
	bool is_system; /* the kernel's own: never lost, never late alone */
};

void sched_owner_init(struct sched_owner *owner, struct sched *sched, bool is_system);

/* Its queues are gone. */
void sched_owner_finish(struct sched_owner *owner);

/*
 * Everything queued is cancelled, nothing new is accepted, nobody waits any longer than the
 * hardware has something of it; with the hardware gone, not even that. True for the first.
 */
bool sched_owner_lose(struct sched_owner *owner);

/* While suspended nothing new of it is submitted. Nests. */
void sched_owner_suspend(struct sched_owner *owner);
void sched_owner_resume(struct sched_owner *owner);

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

/* The same for what the hardware has and may still touch, when the rest does not matter: used for
   eviction of what a suspended owner no longer needs. */
void sched_after_submitted(struct sched_owner *owner, struct sched_wait *wait);

/* ---- queues ---- */

/* Part of a context. */
struct sched_queue {
	struct sched *sched;
	struct sched_owner *owner;
	struct list owner_link;
	struct list ready_link; /* in its node, while its head could be submitted */
	struct list packets;    /* sched_packet.link */
	uint32_t node;
	int32_t priority;            /* -7 … 7 */
	int32_t in_process_priority; /* 0 or 1 */
	uint32_t process_class;      /* 0 … 5 */
	uint32_t suspensions;
	bool is_ending;
};

void sched_queue_init(struct sched_queue *queue, struct sched_owner *owner, uint32_t node);

/*
 * Nothing new is accepted. What the hardware has is waited for, unless the owner is lost; what it
 * has not, is waited for too (`is_cancelling` false) or cancelled. Blocks.
 */
void sched_queue_finish(struct sched_queue *queue, bool is_cancelling);

/*
 * Queues it behind what is there. STATUS_DEVICE_REMOVED when the owner is lost, and the packet
 * stays the caller's. With `may_block`, waits while the queue holds more than it should.
 */
MUST_CHECK NTSTATUS sched_queue_submit(struct sched_queue *queue, struct sched_packet *packet,
				       bool may_block);

/* The head should be tried again: what it waited for may have come. Any thread, DPC included. */
void sched_queue_kick(struct sched_queue *queue);

void sched_queue_set_priority(struct sched_queue *queue, int32_t priority);
void sched_queue_suspend(struct sched_queue *queue);
void sched_queue_resume(struct sched_queue *queue);
uint32_t sched_queue_length(struct sched_queue *queue);

/*
 * The context that ran last on a node is still loaded there. True when that is this one: to let go
 * of its memory, a context switch packet has to go first.
 */
bool sched_queue_is_loaded(struct sched_queue *queue);

/* ---- recovery by hand (D3DKMT_ESCAPE_TDRDBGCTRL, adapter stop) ---- */

enum sched_forced { SCHED_FORCE_ENGINE_RESET, SCHED_FORCE_ADAPTER_RESET };
void sched_force_recovery(struct sched *sched, enum sched_forced what, uint32_t node);

/* Stops: every owner is lost with DEVICE_STOPPED, nothing is with the hardware when it returns. */
void sched_stop(struct sched *sched);

/* Nothing is with the hardware until sched_unquiesce(): for level two and three of the driver. */
void sched_quiesce(struct sched *sched);
void sched_unquiesce(struct sched *sched);

/* Recounts everything. NULL, or what does not add up. Nothing is under way. */
const char *sched_validate(struct sched *sched);

#endif
