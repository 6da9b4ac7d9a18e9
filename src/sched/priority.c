/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "sched/priority.h"
#include "sched/sched.h"

uint32_t priority_level_of(const struct sched_queue *queue)
{
	if (queue->owner->is_system)
		return PRIORITY_SYSTEM;
	assert(queue->priority >= PRIORITY_LOWEST && queue->priority <= PRIORITY_HIGHEST);
	return (uint32_t)((queue->owner->process_class - PRIORITY_CLASS_LOWEST) * PRIORITY_STEPS +
			  queue->priority - PRIORITY_LOWEST);
}

void ready_set_init(struct ready_set *set)
{
	*set = (struct ready_set){ 0 };
	for (uint32_t level = 0; level < PRIORITY_LEVELS; level++)
		list_init(&set->levels[level]);
}

void ready_set_add(struct ready_set *set, struct sched_queue *queue)
{
	uint32_t level = priority_level_of(queue);

	queue->ready_level = level;
	list_push_back(&set->levels[level], &queue->ready_link);
	set->used[level / 64] |= UINT64_C(1) << level % 64;
}

void ready_set_remove(struct ready_set *set, struct sched_queue *queue)
{
	uint32_t level = queue->ready_level;

	list_remove(&queue->ready_link);
	if (list_is_empty(&set->levels[level]))
		set->used[level / 64] &= ~(UINT64_C(1) << level % 64);
}

static const struct list *highest_level(const struct ready_set *set)
{
	for (uint32_t word = ARRAY_SIZE(set->used); word-- > 0;) {
		if (set->used[word])
			return &set->levels[word * 64 + 63 -
					    (uint32_t)__builtin_clzll(set->used[word])];
	}
	return NULL;
}

bool ready_set_has_equal(const struct ready_set *set, const struct sched_queue *queue)
{
	uint32_t level = priority_level_of(queue);
	const struct list *highest = highest_level(set);

	if (!highest || highest < &set->levels[level])
		return false;
	return highest > &set->levels[level] || highest->next != &queue->ready_link ||
	       highest->prev != &queue->ready_link;
}

struct sched_queue *ready_set_best(const struct ready_set *set)
{
	const struct list *level = highest_level(set);

	if (!level)
		return NULL;
	struct sched_queue *first = container_of(level->next, struct sched_queue, ready_link);
	if (!first->owner->process)
		return first;
	list_each (struct sched_queue, queue, level, ready_link) {
		if (queue->in_process_priority > 0 &&
		    queue->owner->process == first->owner->process)
			return queue;
	}
	return first;
}
