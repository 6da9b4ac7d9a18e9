/* SPDX-License-Identifier: MIT */
/*
 * priority_test.c - who is next.
 */
#include "sched/priority.h"
#include "sched/sched.h"
#include "support/test.h"

static struct ready_set set;
static struct sched_owner owners[3];
static struct sched_queue queues[4];
static struct sched_process processes[3];

static void prepare(void)
{
	ready_set_init(&set);
	for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
		owners[i] = (struct sched_owner){ .process = &processes[i] };
	for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
		queues[i] = (struct sched_queue){ .owner = &owners[i % ARRAY_SIZE(owners)] };
		list_init(&queues[i].ready_link);
	}
}

static struct sched_queue *take_turn(void)
{
	struct sched_queue *queue = ready_set_best(&set);

	ready_set_remove(&set, queue);
	ready_set_add(&set, queue);
	return queue;
}

TEST(priority, nobody_is_next_when_nobody_could_go)
{
	prepare();
	EXPECT(ready_set_best(&set) == NULL);
	ready_set_add(&set, &queues[0]);
	EXPECT(ready_set_best(&set) == &queues[0]);
	ready_set_remove(&set, &queues[0]);
	EXPECT(ready_set_best(&set) == NULL);
}

static uint32_t level_at(struct sched_queue *queue, int32_t priority)
{
	queue->priority = priority;
	return priority_level_of(queue);
}

TEST(priority, each_priority_of_a_context_is_a_level_above_the_one_below_it)
{
	prepare();
	for (int32_t priority = -7; priority < 7; priority++)
		EXPECT(level_at(&queues[0], priority + 1) > level_at(&queues[0], priority));
}

TEST(priority, the_kernels_own_work_is_before_everybody)
{
	prepare();
	owners[1].is_system = true;
	EXPECT(level_at(&queues[1], -7) > level_at(&queues[0], 7));
	EXPECT(level_at(&queues[1], 7) < PRIORITY_LEVELS);
}

TEST(priority, a_higher_level_goes_first_whenever_it_came)
{
	prepare();
	ready_set_add(&set, &queues[0]);
	queues[1].priority = 1;
	ready_set_add(&set, &queues[1]);
	EXPECT(ready_set_best(&set) == &queues[1]);
	queues[2].priority = 7;
	ready_set_add(&set, &queues[2]);
	EXPECT(ready_set_best(&set) == &queues[2]);
	ready_set_remove(&set, &queues[2]);
	EXPECT(ready_set_best(&set) == &queues[1]);
}

TEST(priority, equals_take_turns)
{
	prepare();
	for (int i = 0; i < 3; i++)
		ready_set_add(&set, &queues[i]);
	for (int turn = 0; turn < 9; turn++)
		EXPECT(take_turn() == &queues[turn % 3]);
}

/* Queues 0 and 3 are of one process. */
TEST(priority, in_process_priority_takes_the_turn_of_its_own_process_only)
{
	prepare();
	queues[3].in_process_priority = 1;
	for (int i = 0; i < 4; i++)
		ready_set_add(&set, &queues[i]);
	EXPECT(take_turn() == &queues[3]);
	EXPECT(take_turn() == &queues[3]); /* queue 0 is still the first of its process */
	ready_set_remove(&set, &queues[0]);
	EXPECT(take_turn() == &queues[1]);
	EXPECT(take_turn() == &queues[2]);
	EXPECT(take_turn() == &queues[3]);
}

TEST_MAIN("sched/priority")
