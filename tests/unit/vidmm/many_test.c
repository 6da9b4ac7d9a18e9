/* SPDX-License-Identifier: MIT */
/*
 * many_test.c - victims among very many that may not go: how many are looked at, and tried.
 */
#include "scene.h"

enum { OLD = 100, OTHERS = 56, NEW = 100, WANTED = 20, STEPS_MOST = 48, TRIED_MOST = 16 };

static struct thing old[OLD];
static struct thing others[OTHERS];
static struct thing new[NEW];
static struct thing wanted[WANTED];

static const struct evict_policy *judge;
static struct evict_policy counted;
static unsigned steps;

static struct evict_entry *count_walk_next(void *state, struct evict_walk *walk)
{
	steps++;
	return judge->walk_next(state, walk);
}

static void demand_many(struct thing things[], unsigned count, struct client *client)
{
	for (unsigned i = 0; i < count; i++) {
		thing_init(&things[i], client, PAGE, SET_LOCAL);
		NTSTATUS status = thing_demand(&things[i]);
		EXPECT(NT_SUCCESS(status));
		gpu_run(&scene.gpu, 9);
		EXPECT(thing_is_in(&things[i]));
	}
}

static unsigned count_in(struct thing things[], unsigned count)
{
	unsigned in = 0;

	for (unsigned i = 0; i < count; i++)
		in += thing_is_in(&things[i]);
	return in;
}

/* The client has the oldest and the newest of all, and another one what is between. */
static void fill_up(const struct evict_policy *policy)
{
	judge = policy;
	counted = *policy;
	counted.walk_next = count_walk_next;
	scene_init_two(&(struct gpu_config){ .local_bytes = (OLD + OTHERS + NEW) * PAGE,
					     .policy = &counted });
	demand_many(old, OLD, &scene.client);
	demand_many(others, OTHERS, &scene.other);
	demand_many(new, NEW, &scene.client);
	steps = 0;
}

/* It keeps what it has, and wants more. */
static void want_more_than_is_there(const struct evict_policy *policy)
{
	fill_up(policy);
	demand_many(wanted, WANTED, &scene.client);
	EXPECT(steps <= STEPS_MOST * WANTED);
	EXPECT_EQ(count_in(old, OLD), OLD);
	EXPECT_EQ(count_in(new, NEW), NEW);
	EXPECT_EQ(count_in(others, OTHERS), OTHERS - WANTED);
	gpu_check(&scene.gpu);
	scene_finish();
}

TEST(victims, who_has_very_much_is_not_asked_about_all_of_it)
{
	want_more_than_is_there(&evict_lru);
	want_more_than_is_there(&evict_adaptive);
}

/* So do those that have just got back what they had lost. */
SCENE_TEST(victims, nor_is_who_keeps_it_for_a_slice, fill_up(&evict_adaptive))
{
	struct client third;

	client_init(&third, &scene.second);
	lock_acquire(&scene.gpu.manager->lock);
	scene.client.device.slice_end_ns = CLOCK_FOREVER;
	lock_release(&scene.gpu.manager->lock);
	gpu_work(&scene.client);
	demand_many(wanted, WANTED, &third);
	EXPECT(steps <= STEPS_MOST * WANTED);
	EXPECT_EQ(count_in(others, OTHERS), OTHERS - WANTED);
	gpu_retire(&scene.client);
	gpu_end_things(&scene.gpu);
	client_finish(&third);
}

/* What it gave up itself is waited for, though nobody looked at it. */
SCENE_TEST(victims, what_who_asks_has_evicted_behind_work_is_waited_for, fill_up(&evict_lru))
{
	gpu_work(&scene.client);
	gpu_work(&scene.other);
	scene.other.device.slice_end_ns = 0;
	EXPECT_EQ(thing_evict(&old[OLD / 2], 0), STATUS_SUCCESS);
	EXPECT(thing_is_in(&old[OLD / 2]));
	for (unsigned i = 0; i < OTHERS; i++)
		binding_place(&others[i].binding)->given_up_at =
			scene.gpu.manager->retry_generation;
	thing_init(&wanted[0], &scene.client, PAGE, SET_LOCAL);
	EXPECT_EQ(thing_demand(&wanted[0]), STATUS_PENDING);
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&wanted[0]));
	EXPECT(!thing_is_in(&old[OLD / 2]));
	gpu_retire(&scene.other);
}

static unsigned leave_for_room(void)
{
	return (unsigned)(scene.gpu.manager->leave_counts[VIDMM_LEAVES_FOR_ROOM] +
			  scene.gpu.manager->leave_counts[VIDMM_LEAVES_FOR_BUDGET]);
}

/* The machine has no page left that they could be copied to. */
SCENE_TEST(victims, that_find_no_system_memory_are_not_tried_one_after_the_other,
	   scene_init_two(&(struct gpu_config){ .local_bytes = OLD * PAGE, .machine_mib = 16 }))
{
	uint64_t taken[64];
	unsigned count = 0;
	uint64_t bytes = 16 * MIB;

	demand_many(old, OLD, &scene.other);
	thing_init(&wanted[0], &scene.client, PAGE, SET_LOCAL);
	while (bytes >= PAGE && count < ARRAY_SIZE(taken)) {
		if (NT_SUCCESS(machine_alloc_contiguous(bytes, 0, 0, UINT64_MAX, 0, &taken[count])))
			count++;
		else
			bytes /= 2;
	}
	EXPECT(bytes < PAGE);
	EXPECT_EQ(thing_demand(&wanted[0]), STATUS_NO_MEMORY);
	EXPECT(leave_for_room() > 0);
	EXPECT(leave_for_room() <= TRIED_MOST);
	EXPECT_EQ(count_in(old, OLD), OLD);

	/* A little later there is some. */
	while (count > 0)
		EXPECT(machine_free_contiguous(taken[--count]));
	clock_sleep_until(clock_deadline(RETRY_NS));
	EXPECT_EQ(thing_demand(&wanted[0]), STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&wanted[0]));
	EXPECT_EQ(count_in(old, OLD), OLD - 1);
	gpu_end_things(&scene.gpu);
}

TEST_MAIN("vidmm/many")
