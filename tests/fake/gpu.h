/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - a GPU turned by hand: nothing completes until the test says so.
 *
 * What happens is written down, a word each, in the order in which it happens:
 *
 *	0:a1   packet a was submitted to node 0 with fence 1     0:a1+  as a resubmission
 *	a.     packet a was retired, done    a!  aborted    a-  cancelled    a^  a signal acted
 *	P0:1   node 0 was asked to stop, preemption 1            Q0  how far it is
 *	D141@0 debug information was collected                   E0  engine 0 was reset
 *	H0     the hardware queues of node 0 were reset          R0  and resumed
 *	begin A lost restart end     an adapter reset, as the listener sees it
 *	X3     the owner marked X was lost in state 3            X3f  by a fault of its own
 *	dead   the adapter was lost
 */
#ifndef TESTS_FAKE_GPU_H
#define TESTS_FAKE_GPU_H

#include "base/lock.h"
#include "base/notice.h"
#include "base/thread.h"
#include "sched/sched.h"

enum { FAKE_NODES = 4, FAKE_HELD_MAX = 64, FAKE_LOG_BYTES = 16384 };

struct fake_gpu;

struct fake_packet {
	struct sched_packet packet;
	struct fake_gpu *gpu;
	char name;

	/* What its functions answer. */
	NTSTATUS prepare_status;
	NTSTATUS submit_status;
	_Atomic bool is_reached; /* a wait */
	bool completes_at_once;  /* before submit() returns */

	/* What became of it. */
	_Atomic uint32_t prepared;
	_Atomic uint32_t submitted;
	_Atomic uint32_t tried;
	_Atomic bool is_retired;
	enum sched_outcome outcome;
	void (*on_prepared)(struct fake_packet *packet);
	void (*on_tried)(struct fake_packet *packet); /* after the answer was found */
	void (*on_retired)(struct fake_packet *packet);
};

struct fake_node {
	struct fake_packet *held[FAKE_HELD_MAX];
	uint32_t fences[FAKE_HELD_MAX];
	uint32_t count;
	uint32_t completed;  /* the newest it would name */
	uint32_t preemption; /* asked for and not answered, or 0 */
	uint32_t last_submitted;

	/* How it behaves. */
	bool answers_at_once;  /* a preemption, from inside the call */
	bool hides_completion; /* what is completed is told only when asked for the current fence */
	bool is_mute;          /* not even then: it only answers */
	bool is_stuck;         /* preempt() and query do nothing useful */
	NTSTATUS reset_status;
	bool names_abort; /* reset_node() names `aborted` instead of the oldest it has */
	uint32_t aborted;
	bool is_ignored;
};

struct fake_gpu {
	struct sched *sched;
	struct lock lock; /* LOCK_RANK_LEAF; guards the rest */
	struct fake_node nodes[FAKE_NODES];
	uint64_t dependents[FAKE_NODES]; /* 0: only itself */
	bool fails_reset;
	bool fails_restart;
	NTSTATUS hw_reset_status;
	NTSTATUS hw_resume_status;
	void (*on_hw_reset)(uint32_t node); /* in the middle of one: who was hit */
	void (*on_debug_info)(uint32_t reason);
	void (*on_reset)(uint32_t node); /* in the middle of an engine's */
	void (*on_ignored)(uint32_t node);
	void (*on_reset_ended)(void); /* an adapter's */
	bool is_silent;               /* the log is left alone: many threads */
	_Atomic uint32_t completions;
	_Atomic uint32_t entered; /* threads inside submit() of a node, a byte each; one at most */
	uint32_t telling;         /* events on their way */
	struct notice told;
	char log[FAKE_LOG_BYTES];
	size_t log_length;
	uint32_t reports; /* of what the driver said and cannot be; the last one: */
	enum rule report_rule;
	uint32_t report_node;
	char report[256];
};

/* As a miniport with everything would have it; change it before fake_gpu_start(). */
struct sched_config fake_gpu_config(void);

void fake_gpu_start(struct fake_gpu *gpu, const struct sched_config *config);

/* Owners are gone. */
void fake_gpu_finish(struct fake_gpu *gpu);

void fake_packet_init(struct fake_gpu *gpu, struct fake_packet *packet, char name,
		      enum sched_packet_kind kind);

/* The mark of an owner in the log. */
void fake_gpu_name_owner(struct sched_owner *owner, char name);

/* The oldest `count` of a node complete, and only the newest of them is told. */
void fake_gpu_complete(struct fake_gpu *gpu, uint32_t node, uint32_t count);

/* It complies with a preemption: `completed` more are complete, the rest is forgotten. */
void fake_gpu_preempted(struct fake_gpu *gpu, uint32_t node, uint32_t completed);

/*
 * For GPUs that turn themselves: answers what was asked, else completes one to `most` of what it
 * has. False when there was nothing to do. Safe beside resets.
 */
bool fake_gpu_turn(struct fake_gpu *gpu, uint32_t node, uint32_t most);

/* The oldest of a node faults. */
void fake_gpu_page_fault(struct fake_gpu *gpu, uint32_t node, bool needs_adapter_reset);

uint32_t fake_gpu_held(struct fake_gpu *gpu, uint32_t node);

/* What happened since the last time, without the space at the end. */
const char *fake_gpu_log(struct fake_gpu *gpu);
void fake_gpu_note(struct fake_gpu *gpu, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
