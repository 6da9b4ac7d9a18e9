/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "verify/fences.h"

enum { RECENT_IDS = 4096 };

/* FENCE_PACKETS: it is not there. */
static uint32_t find(const struct fence_node *node, uint32_t fence)
{
	for (uint32_t i = 0; i < node->count; i++) {
		if (node->packets[i].fence == fence)
			return i;
	}
	return FENCE_PACKETS;
}

/* The first `count`, and what is silent behind them. */
static void drop(struct fence_node *node, uint32_t count)
{
	while (count < node->count && node->packets[count].is_silent)
		count++;
	node->count -= count;
	node->preemption.before -=
		count < node->preemption.before ? count : node->preemption.before;
	memmove(node->packets, node->packets + count, node->count * sizeof(node->packets[0]));
}

void fence_node_submit(struct fence_node *node, const struct fence_packet *packet)
{
	/* The kernel's own come again with the ids they had. */
	if (node->submitted == 0 || fence_is_after(packet->fence, node->submitted))
		node->submitted = packet->fence;
	for (uint32_t i = 0; i < FENCE_PREEMPTED_KEPT; i++) {
		if (node->preempted[i] == packet->fence)
			node->preempted[i] = 0;
	}
	if (node->count == FENCE_PACKETS)
		node->is_overrun = true;
	else
		node->packets[node->count++] = *packet;
}

void fence_node_refused(struct fence_node *node, uint32_t fence, bool keeps_turn)
{
	uint32_t index = find(node, fence);

	if (index == FENCE_PACKETS)
		return;
	if (keeps_turn) {
		node->packets[index].is_silent = true;
	} else {
		node->count--;
		memmove(node->packets + index, node->packets + index + 1,
			(node->count - index) * sizeof(node->packets[0]));
	}
	if (node->count > 0 && node->packets[0].is_silent)
		drop(node, 0);
}

static enum fence_verdict verdict_of_stranger(const struct fence_node *node, uint32_t fence)
{
	if (node->is_overrun)
		return FENCE_NOT_JUDGED;
	for (uint32_t i = 0; i < FENCE_PREEMPTED_KEPT; i++) {
		if (fence != 0 && node->preempted[i] == fence)
			return FENCE_PREEMPTED;
	}
	if (fence != 0 && node->reported != 0 && node->reported - fence < RECENT_IDS)
		return FENCE_OVER;
	return FENCE_UNKNOWN;
}

enum fence_verdict fence_node_complete(struct fence_node *node, uint32_t fence)
{
	uint32_t index = find(node, fence);

	if (index == FENCE_PACKETS)
		return verdict_of_stranger(node, fence);
	node->reported = fence;
	drop(node, index + 1);
	return FENCE_GOOD;
}

/* What was before it is complete. It is over, and not that. */
enum fence_verdict fence_node_fault(struct fence_node *node, uint32_t fence, bool *is_kernels_out)
{
	uint32_t index = find(node, fence);

	*is_kernels_out = index < FENCE_PACKETS && node->packets[index].is_kernels;
	if (index == FENCE_PACKETS)
		return verdict_of_stranger(node, fence);
	if (index > 0)
		node->reported = node->packets[index - 1].fence;
	drop(node, index + 1);
	return FENCE_GOOD;
}

void fence_node_ask(struct fence_node *node, uint32_t preemption_fence, uint64_t now_ns)
{
	node->preemption.is_pending = true;
	node->preemption.fence = preemption_fence;
	node->preemption.before = node->count;
	node->preemption.ran = node->count > 0 ? node->packets[0].fence : 0;
	node->preemption.since_ns = now_ns;
}

bool fence_node_preempt(struct fence_node *node, uint32_t last_completed)
{
	bool is_known = last_completed == 0 || node->is_overrun || node->reported == 0 ||
			!fence_is_after(last_completed, node->reported) ||
			(node->taken != 0 && !fence_is_after(last_completed, node->taken));
	uint32_t index = find(node, last_completed);

	if (index < FENCE_PACKETS) {
		is_known = true;
		node->reported = last_completed;
		drop(node, index + 1);
	}
	for (uint32_t i = 0; i < node->preemption.before; i++) {
		node->preempted[node->preempted_next] = node->packets[i].fence;
		node->preempted_next = (node->preempted_next + 1) % FENCE_PREEMPTED_KEPT;
	}
	drop(node, node->preemption.before);
	node->preemption.is_pending = false;
	node->preemption.before = 0;
	return is_known;
}

void fence_node_reset(struct fence_node *node)
{
	node->taken = node->submitted;
	node->is_swallowed = false;
	node->count = 0;
	node->is_overrun = false;
	node->preemption.is_pending = false;
	node->preemption.before = 0;
	memset(node->preempted, 0, sizeof(node->preempted));
}

bool fence_node_is_busy(const struct fence_node *node)
{
	return node->count > 0;
}
