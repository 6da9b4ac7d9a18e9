/* SPDX-License-Identifier: MIT */
/*
 * decide_test.c - deciding about memory: a plan is data, and a driver's completion decides nothing.
 */
#include <stdio.h>

#include "scene.h"
#include "support/failing.h"

/* ---- the plan ---- */

/* As far as MakeResident goes before anything is decided. Takes the lock and keeps it. */
static void ask_for_all(struct thing *things, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct vidmm_binding *bindings[1] = { &things[i].binding };

		EXPECT_EQ(request_prepare(bindings, 1, &things[i].request), STATUS_SUCCESS);
	}
	lock_acquire(&things[0].binding.device->process->manager->lock);
	for (unsigned i = 0; i < count; i++) {
		binding_list_locked(&things[i].binding, VIDMM_LOCAL);
		request_want_locked(&things[i].binding, &things[i].request);
	}
}

static void ask_for(struct thing *thing)
{
	ask_for_all(thing, 1);
}

/* … and the rest of it. */
static void go_on(struct thing *thing)
{
	struct vidmm *manager = thing->binding.device->process->manager;

	EXPECT_EQ(request_start_unlock(manager, &thing->request), STATUS_PENDING);
	EXPECT(plan_is_empty(&manager->plan));
}

/* A plan, as text. */
struct printed {
	unsigned lines;
	size_t used;
	char text[4096];
};

static void add_line(void *context, const char *line)
{
	struct printed *printed = context;

	printed->lines++;
	printed->used += (size_t)snprintf(printed->text + printed->used,
					  sizeof(printed->text) - printed->used, "%s\n", line);
	EXPECT(printed->used < sizeof(printed->text));
}

static struct printed print_plan(const struct vidmm *manager)
{
	struct printed printed = { 0 };

	plan_print(&manager->plan, add_line, &printed);
	return printed;
}

/* One move of 5 MiB, and what else. */
static void expect_plan(struct vidmm *manager, const char *what, const struct thing *thing,
			const char *besides)
{
	char expected[256];

	snprintf(expected, sizeof(expected), "%s 0x%llx, segment 1, 5242880 bytes\n%s", what,
		 (unsigned long long)thing->memory->id, besides);
	EXPECT_STR(print_plan(manager).text, expected);
}

SCENE_TEST(plan, is_made_of_what_happened_and_nothing_is_done_yet, scene_init_two(NULL))
{
	scene_add_thing(5 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	struct thing *wanted = thing_new(&scene.other, 5 * MIB, SET_LOCAL);
	uint32_t jobs = scene.gpu.jobs;

	ask_for(wanted);
	EXPECT(plan_is_empty(&scene.gpu.manager->plan));
	decide_locked(scene.gpu.manager);
	expect_plan(scene.gpu.manager, "leave", &scene.thing, "tell a process\n");
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT_EQ(scene.gpu.jobs, jobs);
	/* Looking again changes nothing: it is on its way. */
	decide_locked(scene.gpu.manager);
	expect_plan(scene.gpu.manager, "leave", &scene.thing, "tell a process\n");

	go_on(wanted);
	EXPECT_EQ(gpu_ready(&scene.gpu), 1);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(wanted));
	EXPECT_EQ(thing_segment(&scene.thing), 0);
}

SCENE_TEST(plan, takes_free_room_without_a_victim, scene_init_with(NULL, MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	struct thing *wanted = thing_new(&scene.client, 5 * MIB, SET_LOCAL);
	ask_for(wanted);
	decide_locked(scene.gpu.manager);
	expect_plan(scene.gpu.manager, "enter", wanted, "");
	go_on(wanted);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(wanted));
}

/* What a log says of it is all that is done, however much that is. */
SCENE_TEST(plan, is_printed_to_its_last_line, scene_init(NULL))
{
	enum { MANY = 60 };
	struct thing things[MANY];

	for (int i = 0; i < MANY; i++)
		thing_init(&things[i], &scene.client, PAGE, SET_LOCAL);
	ask_for_all(things, MANY);
	decide_locked(scene.gpu.manager);
	/* A look ends with some of them, for the pager to begin with. */
	EXPECT(print_plan(scene.gpu.manager).lines < MANY);
	for (int i = 0; i < MANY; i++)
		decide_locked(scene.gpu.manager);
	EXPECT_EQ(print_plan(scene.gpu.manager).lines, MANY);
	for (int i = 0; i < MANY; i++) {
		if (i > 0)
			lock_acquire(&scene.gpu.manager->lock);
		go_on(&things[i]);
	}
	gpu_run(&scene.gpu, MANY);
	for (int i = 0; i < MANY; i++)
		thing_finish(&things[i]);
}

/* ---- without memory to decide with ---- */

static const struct gpu_config contiguous = { .is_physical = true };

/* Room is there, and no memory to write down who has it: nobody loses his device, nobody leaves. */
TEST(no_memory, to_decide_with_is_waited_for)
{
	static const struct gpu_config *const configs[] = { NULL, &contiguous };

	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		struct thing bystander;

		scene_init_two(configs[i]);
		thing_add(&bystander, &scene.other, MIB, SET_LOCAL);
		scene_add_thing(5 * MIB, SET_LOCAL);
		thing_bring_in(&scene.thing);
		gpu_work(&scene.client);
		gpu_retire(&scene.client);
		lock_acquire(&scene.gpu.manager->lock);
		place_leave_locked(binding_place(&scene.thing.binding), VIDMM_LEAVES_BY_CONTROL);
		decide_unlock(scene.gpu.manager);
		gpu_work(&scene.client); /* which needs it back */
		mem_fail_nth(1);
		EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
		EXPECT(mem_fail_stop());
		EXPECT_EQ(thing_segment(&scene.thing), 0);
		EXPECT_EQ(scene.gpu.starved, 0);
		EXPECT_EQ(gpu_ready(&scene.gpu), 0);
		EXPECT_EQ(thing_segment(&bystander), SEGMENT_LOCAL);
		EXPECT(gpu_tick(&scene.gpu)); /* it was set for that */
		gpu_run(&scene.gpu, 9);
		EXPECT(thing_is_in(&scene.thing));
		EXPECT(thing_is_in(&bystander));
		gpu_retire(&scene.client);
		scene_finish();
	}
}

/* The same of a call, which can be refused. */
TEST(no_memory, refuses_a_call_and_evicts_nobody)
{
	EACH_FAILURE (failing, 2) {
		struct thing wanted;

		scene_init_two(&contiguous);
		scene_add_thing(MIB, SET_LOCAL);
		thing_bring_in(&scene.thing);
		thing_init(&wanted, &scene.other, 5 * MIB, SET_LOCAL);
		failing_start(&failing);
		NTSTATUS status = thing_make_resident(&wanted);
		bool has_fired = failing_stop(&failing);
		EXPECT_EQ(status, has_fired ? STATUS_NO_MEMORY : STATUS_PENDING);
		EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
		EXPECT_EQ(gpu_ready(&scene.gpu), !has_fired);
		gpu_run(&scene.gpu, 9);
		scene_finish();
	}
}

/* ---- completions ---- */

static void wait_until_queued(struct gpu *gpu)
{
	while (gpu_ready(gpu) == 0)
		clock_sleep_until(clock_deadline(NS_PER_MS));
}

/* Work that used what was evicted is over: its way out is the manager's own thread's to begin. */
SCENE_TEST(completion, decides_nothing,
	   scene_init_with(&(struct gpu_config){ .has_clock = true }, MIB, SET_LOCAL))
{
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	EXPECT_EQ(atomic_load(&scene.gpu.queued_by), thread_id());
	gpu_run(&scene.gpu, 9);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	mem_forbid(); /* as a driver's DPC is delivered */
	gpu_retire(&scene.client);
	mem_permit();
	wait_until_queued(&scene.gpu);
	EXPECT(atomic_load(&scene.gpu.queued_by) != thread_id());
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_segment(&scene.thing), 0);
}

TEST_MAIN("vidmm/decide")
