/* SPDX-License-Identifier: MIT */
/*
 * fences.h - what a node was given and has not said the end of: a model of the hardware's queue, as far as a driver has
 * told. Pure: the caller has the lock, and reports.
 *
 * Fence ids grow, by one or more, and wrap at 32 bits; one means all that were submitted before it. What is preempted
 * goes back to the kernel, and comes again: its own packets with their old ids, others with new ones.
 */
#ifndef VERIFY_FENCES_H
#define VERIFY_FENCES_H

#include <stdbool.h>
#include <stdint.h>

enum { FENCE_PACKETS = 128, FENCE_PREEMPTED_KEPT = 32 };

struct fence_packet {
	uint32_t fence;
	bool is_kernels; /* of its own context, or paging */
	bool is_silent;  /* refused at its submission: over when all before it are */
};

struct fence_node {
	struct fence_packet packets[FENCE_PACKETS]; /* in the order of submission */
	uint32_t count;
	bool is_overrun; /* there were more than fit: nothing is judged until a reset or the start */
	uint32_t submitted; /* the last; 0: none */
	uint32_t reported;  /* the last that was said to be over; 0: none */
	uint32_t taken;     /* the last that a reset took, which is over as well; 0: none */

	struct {
		bool is_pending;
		uint32_t fence;    /* the last that was asked for; 0: none */
		uint32_t before;   /* how many of `packets` are meant */
		uint32_t ran;      /* the first of them */
		uint64_t since_ns; /* when it was asked */
	} preemption;
	uint32_t preempted[FENCE_PREEMPTED_KEPT]; /* a ring; 0: none */
	uint32_t preempted_next;

	/* A completion that was kept from the kernel. */
	bool is_swallowed;
	uint32_t swallowed;
};

/* Ids wrap; the distance is far less than half of them. */
static inline bool fence_is_after(uint32_t fence, uint32_t other)
{
	return (int32_t)(fence - other) > 0;
}

enum fence_verdict {
	FENCE_GOOD,
	FENCE_UNKNOWN,   /* never submitted */
	FENCE_OVER,      /* said before, or meant by one that was */
	FENCE_PREEMPTED, /* given back, and not submitted again */
	FENCE_NOT_JUDGED
};

void fence_node_submit(struct fence_node *node, const struct fence_packet *packet);
void fence_node_refused(struct fence_node *node, uint32_t fence, bool keeps_turn);

enum fence_verdict fence_node_complete(struct fence_node *node, uint32_t fence);
enum fence_verdict fence_node_fault(struct fence_node *node, uint32_t fence, bool *is_kernels_out);

void fence_node_ask(struct fence_node *node, uint32_t preemption_fence, uint64_t now_ns);
/* Answered. False: `last_completed` is none that the node has, or had. */
bool fence_node_preempt(struct fence_node *node, uint32_t last_completed);

/* Everything it had is gone. */
void fence_node_reset(struct fence_node *node);

/* It has something that is not over. */
bool fence_node_is_busy(const struct fence_node *node);

#endif
