/* SPDX-License-Identifier: MIT */
/*
 * mistake.c - what a driver said of its work that cannot be.
 *
 *	doubled   of a packet that it said was over before
 *	wrong     of one that the hardware does not have
 *	lost      nothing, of one that is over
 *
 * Each is put right where it is noticed, and told when the lock is let go: by then nobody waits for
 * the teller. What an engine had when it was reset, and what was over without a word of the driver,
 * it may still name, as it did not know better.
 */
#include <stdarg.h>
#include <stdio.h>

#include "sched/internal.h"
#include "sched/serial.h"

/* Far more ids than a node ever has: what is further behind is not of before, but nonsense. */
enum { RECENT_IDS = 4096 };

static bool is_recent(uint32_t fence, uint32_t newest)
{
	return fence != 0 && newest != 0 && newest - fence < RECENT_IDS;
}

void mistake_locked(struct sched_node *node, enum rule rule, const char *format, ...)
{
	struct sched_mistake *mistake = &node->sched->mistake;
	va_list arguments;

	lock_assert_held(&node->sched->lock);
	/* The first is told; whatever comes before that is its consequence more often than not. */
	if (mistake->is_there || node->sched->dead || node->sched->is_leaving)
		return;
	mistake->is_there = true;
	mistake->rule = rule;
	mistake->node = node->number;
	va_start(arguments, format);
	vsnprintf(mistake->sentence, sizeof(mistake->sentence), format, arguments);
	va_end(arguments);
}

void mistake_tell_relock(struct sched *sched)
{
	struct sched_mistake mistake = sched->mistake;

	lock_assert_held(&sched->lock);
	sched->mistake.is_there = false;
	lock_release(&sched->lock);
	if (sched->ops->report)
		sched->ops->report(sched->gpu, mistake.rule, mistake.node, mistake.sentence);
	lock_acquire(&sched->lock);
}

static const char *expected_text_locked(const struct sched_node *node, char *text,
					size_t size_bytes)
{
	const struct sched_packet *running = node_running_locked(node);

	lock_assert_held(&node->sched->lock);
	if (running)
		snprintf(text, size_bytes, "fence %u was expected", running->fence);
	else
		snprintf(text, size_bytes, "nothing was expected, for the hardware has nothing");
	return text;
}

bool mistake_judge_fence_locked(struct sched_node *node, const char *what, uint32_t fence)
{
	char expected[64];

	lock_assert_held(&node->sched->lock);
	list_each (struct sched_packet, each, &node->submitted, node_link) {
		if (each->fence == fence)
			return true;
	}
	if (is_recent(fence, node->excused_fence))
		return false;
	expected_text_locked(node, expected, sizeof(expected));
	if (is_recent(fence, node->completed_fence))
		mistake_locked(node, RULE_DDI_COMPLETION_DOUBLED,
			       "%s named fence %u of node %u, which was over before; %s", what,
			       fence, node->number, expected);
	else
		mistake_locked(node, RULE_DDI_COMPLETION_FENCE,
			       "%s named fence %u of node %u, which the hardware does not have; %s",
			       what, fence, node->number, expected);
	return false;
}

void mistake_excuse_locked(struct sched_node *node, uint32_t fence)
{
	lock_assert_held(&node->sched->lock);
	if (fence != 0 && (node->excused_fence == 0 || serial_is_after(fence, node->excused_fence)))
		node->excused_fence = fence;
}
