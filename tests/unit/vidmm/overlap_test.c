/* SPDX-License-Identifier: MIT */
/*
 * overlap_test.c - moves that are under way at once, on a GPU that is turned by hand: what was
 * built is with the hardware, and done in this order when the test says so.
 */
#include "scene.h"
#include "support/failing.h"
#include "vidmm/allocation.h"
#include "address_space/mappings.h"
#include "vidmm/states.h"
#include "vidmm/table_block.h"
#include "vidmm/work_set.h"

static const struct gpu_config small = { .local_bytes = 2 * MIB, .is_physical = true };

/* Local memory full of one allocation that nobody lists any more; another wants to come. */
struct change {
	struct thing leaver;
	struct thing comer;
};

static void change_begin(struct change *change, uint64_t leaver_bytes, uint64_t comer_bytes)
{
	thing_init(&change->leaver, &scene.client, leaver_bytes, SET_LOCAL);
	thing_init(&change->comer, &scene.client, comer_bytes, SET_LOCAL);
	thing_write(&change->leaver, 'l');
	thing_write(&change->comer, 'c');
	thing_bring_in(&change->leaver);
	EXPECT_EQ(thing_evict(&change->leaver, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	change->comer.done = 0;
	EXPECT_EQ(thing_make_resident(&change->comer), STATUS_PENDING);
	EXPECT_EQ(gpu_ready(&scene.gpu), 1);
	memset(scene.gpu.log, 0, sizeof(scene.gpu.log));
}

static void change_init(struct change *change, const struct gpu_config *config,
			uint64_t leaver_bytes, uint64_t comer_bytes)
{
	scene_init(config);
	change_begin(change, leaver_bytes, comer_bytes);
}

static void change_end(struct change *change)
{
	gpu_run(&scene.gpu, 100);
	EXPECT(thing_holds(&change->leaver, 'l'));
	gpu_run(&scene.gpu, 100); /* when a lock ends, who gave up tries again */
	EXPECT(thing_holds(&change->comer, 'c'));
	thing_finish(&change->leaver);
	thing_finish(&change->comer);
}

static void change_finish(struct change *change)
{
	change_end(change);
	scene_finish();
}

static enum place_state state_of(struct thing *thing)
{
	return binding_place(&thing->binding)->state;
}

/* ---- other rooms ---- */

TEST(overlap, ways_out_and_in_of_different_rooms_are_under_way_together)
{
	struct thing leaver;
	struct thing comers[2];

	scene_init(NULL);
	thing_init(&leaver, &scene.client, 2 * MIB, SET_LOCAL);
	thing_write(&leaver, 'l');
	thing_bring_in(&leaver);
	EXPECT_EQ(thing_evict(&leaver, 0), STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		thing_init(&comers[i], &scene.client, MIB, SET_LOCAL);
		thing_write(&comers[i], (char)('0' + i));
		EXPECT_EQ(thing_make_resident(&comers[i]), STATUS_PENDING);
	}
	EXPECT_EQ(gpu_ready(&scene.gpu), 3);
	while (gpu_build(&scene.gpu))
		;
	EXPECT_EQ(state_of(&leaver), PLACE_LEAVING);
	EXPECT_EQ(state_of(&comers[0]), PLACE_ENTERING);
	EXPECT_EQ(state_of(&comers[1]), PLACE_ENTERING);
	gpu_check(&scene.gpu);
	while (gpu_complete(&scene.gpu))
		;
	EXPECT(thing_holds(&leaver, 'l'));
	for (int i = 0; i < 2; i++) {
		EXPECT(thing_holds(&comers[i], (char)('0' + i)));
		thing_finish(&comers[i]);
	}
	scene_finish();
}

#define CHANGE_TEST(suite, claim, ...)                                                             \
	TEST_ON(change, __VA_ARGS__, change_finish(&change), suite, claim)

/* ---- the same room ---- */

CHANGE_TEST(overlap, a_way_in_is_queued_right_behind_the_way_out_that_makes_its_room,
	    change_init(&change, &small, 2 * MIB, 2 * MIB))
{
	struct gpu *gpu = &scene.gpu;
	EXPECT(gpu_build(gpu));
	/* With the hardware, and not done: the other may come all the same. */
	EXPECT_EQ(gpu_ready(gpu), 1);
	EXPECT(gpu_build(gpu));
	gpu_check(gpu);
	EXPECT_EQ(gpu->copied_out_bytes, 0);
	EXPECT_EQ(state_of(&change->leaver), PLACE_LEAVING);
	EXPECT_EQ(state_of(&change->comer), PLACE_ENTERING);
	EXPECT(vidmm_where(change->leaver.binding.device->process->manager,
			   change->leaver.memory) == VIDMM_RESIDENT_IN_GPU_MEMORY);
	/* The hardware does one after the other. */
	EXPECT(gpu_complete(gpu));
	EXPECT_STR(gpu->log, "o");
	EXPECT_EQ(state_of(&change->leaver), PLACE_OUT);
	EXPECT_EQ(change->comer.done, 0);
	EXPECT(gpu_complete(gpu));
	EXPECT_STR(gpu->log, "oi");
	EXPECT_EQ(change->comer.done, 1);
}

TEST(overlap, behind_page_tables_is_the_same)
{
	static const struct gpu_config config = { .local_bytes = 2 * MIB };
	struct change change;

	change_init(&change, &config, 2 * MIB, MIB);
	EXPECT(gpu_build(&scene.gpu));
	EXPECT_EQ(gpu_ready(&scene.gpu), 1);
	EXPECT(gpu_build(&scene.gpu));
	gpu_check(&scene.gpu);
	change_finish(&change);
}

CHANGE_TEST(overlap, what_it_leaves_of_the_room_is_free_when_the_other_is_out,
	    change_init(&change, &small, 2 * MIB, MIB))
{
	struct vidmm_segment *segment;

	segment = &scene.gpu.manager->segments[SEGMENT_LOCAL - 1];
	EXPECT(gpu_build(&scene.gpu));
	EXPECT(gpu_build(&scene.gpu));
	EXPECT_EQ(ranges_free_units(&segment->ranges), 0);
	EXPECT_EQ(segment->lent_bytes, MIB);
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(ranges_free_units(&segment->ranges), MIB / PAGE);
	EXPECT_EQ(segment->lent_bytes, 0);
}

/* The CPU writes page tables, whatever the hardware has still to do. */
CHANGE_TEST(overlap, page_tables_have_nothing_of_a_room_that_is_not_left,
	    change_init(&change, &small, 2 * MIB, MIB))
{
	struct pager_table table;

	EXPECT(gpu_build(&scene.gpu));
	EXPECT_EQ(vidmm_take_table(scene.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &table),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(vidmm_take_table(scene.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &table),
		  STATUS_SUCCESS);
	vidmm_give_table(scene.gpu.manager, &table, PAGE);
}

TEST(overlap, what_needs_more_than_one_room_waits_until_they_are_left)
{
	struct thing leavers[2];
	struct thing comer;

	scene_init(&small);
	for (int i = 0; i < 2; i++) {
		thing_init(&leavers[i], &scene.client, MIB, SET_LOCAL);
		thing_write(&leavers[i], (char)('0' + i));
		thing_bring_in(&leavers[i]);
		EXPECT_EQ(thing_evict(&leavers[i], VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	}
	thing_init(&comer, &scene.client, 2 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&comer), STATUS_PENDING);
	while (gpu_build(&scene.gpu))
		;
	EXPECT_EQ(state_of(&comer), PLACE_OUT);
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(gpu_ready(&scene.gpu), 1);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&comer));
	for (int i = 0; i < 2; i++) {
		EXPECT(thing_holds(&leavers[i], (char)('0' + i)));
		thing_finish(&leavers[i]);
	}
	scene_finish();
}

static void unload(struct driver_memory *memory, struct sched_wait *wait)
{
	(void)memory;
	wait->over(wait);
}

/* What a driver gives its first content it may write with the CPU, at once. */
TEST(overlap, what_the_driver_initializes_waits_until_the_room_is_left)
{
	struct driver_memory memory = { .is_initialized = true, .unload = unload };
	struct change change;

	scene_init(&small);
	thing_init(&change.leaver, &scene.client, 2 * MIB, SET_LOCAL);
	thing_write(&change.leaver, 'l');
	thing_bring_in(&change.leaver);
	EXPECT_EQ(thing_evict(&change.leaver, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	thing_init(&change.comer, &scene.client, MIB, SET_LOCAL);
	thing_write(&change.comer, 'c');
	change.comer.memory->driver = &memory;
	EXPECT_EQ(thing_make_resident(&change.comer), STATUS_PENDING);
	EXPECT(gpu_build(&scene.gpu));
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(gpu_ready(&scene.gpu), 1);
	change_finish(&change);
}

CHANGE_TEST(overlap, two_may_share_the_room_of_one, change_init(&change, &small, 2 * MIB, MIB))
{
	struct thing second;

	thing_init(&second, &scene.client, MIB, SET_LOCAL);
	thing_write(&second, 's');
	EXPECT_EQ(thing_make_resident(&second), STATUS_PENDING);
	EXPECT(gpu_build(&scene.gpu));
	EXPECT_EQ(gpu_ready(&scene.gpu), 2);
	while (gpu_build(&scene.gpu))
		;
	gpu_check(&scene.gpu);
	EXPECT(gpu_complete(&scene.gpu));
	gpu_check(&scene.gpu);
	while (gpu_complete(&scene.gpu))
		;
	EXPECT(thing_holds(&second, 's'));
	thing_finish(&second);
}

/* Round and round: each in the room of the one before, all of them with the hardware. */
TEST(overlap, a_chain_of_them_keeps_every_byte)
{
	enum { CHAIN = 6 };
	struct thing things[CHAIN];

	scene_init(&small);
	for (int i = 0; i < CHAIN; i++) {
		thing_init(&things[i], &scene.client, 2 * MIB, SET_LOCAL);
		thing_write(&things[i], (char)('0' + i));
	}
	thing_bring_in(&things[0]);
	for (int round = 1; round < 3 * CHAIN; round++) {
		struct thing *before = &things[(round - 1) % CHAIN];
		struct thing *now = &things[round % CHAIN];

		EXPECT_EQ(thing_evict(before, 0), STATUS_SUCCESS);
		EXPECT_EQ(thing_make_resident(now), STATUS_PENDING);
		while (gpu_build(&scene.gpu))
			;
		EXPECT_EQ(state_of(before), PLACE_LEAVING);
		EXPECT_EQ(state_of(now), PLACE_ENTERING);
		gpu_check(&scene.gpu);
		while (gpu_complete(&scene.gpu))
			;
	}
	for (int i = 0; i < CHAIN; i++) {
		EXPECT(thing_holds(&things[i], (char)('0' + i)));
		thing_finish(&things[i]);
	}
	scene_finish();
}

/* ---- what goes wrong ---- */

CHANGE_TEST(failure, of_the_way_out_leaves_its_room_to_nobody,
	    change_init(&change, &small, 2 * MIB, 2 * MIB))
{
	scene.gpu.next_status = STATUS_DRIVER_INTERNAL_ERROR;
	EXPECT(gpu_build(&scene.gpu));
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT_EQ(state_of(&change->comer), PLACE_OUT);
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(state_of(&change->leaver), PLACE_IN);
	gpu_check(&scene.gpu);
}

CHANGE_TEST(failure, of_the_way_in_gives_the_room_back_when_the_other_has_left_it,
	    change_init(&change, &small, 2 * MIB, 2 * MIB))
{
	EXPECT(gpu_build(&scene.gpu));
	scene.gpu.next_status = STATUS_DRIVER_INTERNAL_ERROR;
	EXPECT(gpu_build(&scene.gpu));
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(state_of(&change->comer), PLACE_ENTERING);
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(state_of(&change->comer), PLACE_OUT);
	EXPECT_EQ(change->comer.status, STATUS_DEVICE_REMOVED);
	gpu_check(&scene.gpu);
}

/* No block of memory that it takes to change rooms may be there. */
TEST(failure, of_memory_leaves_everything_intact)
{
	EACH_FAILURE (failing, 1) {
		struct change change;

		change_init(&change, &small, 2 * MIB, MIB);
		failing_start(&failing);
		EXPECT(gpu_build(&scene.gpu));
		(void)failing_stop(&failing);
		gpu_check(&scene.gpu);
		while (gpu_build(&scene.gpu))
			;
		gpu_check(&scene.gpu);
		while (gpu_complete(&scene.gpu))
			;
		gpu_check(&scene.gpu);
		change_finish(&change);
	}
}

/* The machine has nothing but single pages left. */
static unsigned take_every_second_page(uint64_t *pfns, unsigned most)
{
	unsigned count = (unsigned)machine_alloc_some_pages(most, 0, UINT64_MAX, pfns);
	unsigned kept = 0;

	EXPECT(count < most);
	for (unsigned i = 0; i < count; i++) {
		if (pfns[i] % 2 == 0)
			machine_free_pages(1, &pfns[i]);
		else
			pfns[kept++] = pfns[i];
	}
	return kept;
}

/* It could not begin, and yet the room is nobody's before it is left. */
TEST(failure, to_begin_waits_for_who_leaves)
{
	enum { MOST = 8192 };
	static const struct gpu_config config = { .local_bytes = 2 * MIB,
						  .is_physical = true,
						  .machine_mib = 32 };
	static uint64_t pfns[MOST];
	unsigned fail_at = 0;
	unsigned turned_back = 0;
	bool has_fired;

	do {
		struct change change;
		struct pager_table table;

		scene_init(&config);
		unsigned kept = take_every_second_page(pfns, MOST);
		change_begin(&change, 2 * MIB, MIB);
		mem_fail_nth(++fail_at);
		EXPECT(gpu_build(&scene.gpu));
		has_fired = mem_fail_stop();
		while (gpu_build(&scene.gpu))
			;
		turned_back += !NT_SUCCESS(binding_place(&change.comer.binding)->move.turned_back);
		EXPECT_EQ(vidmm_take_table(scene.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &table),
			  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
		gpu_check(&scene.gpu);
		while (gpu_complete(&scene.gpu))
			;
		gpu_check(&scene.gpu);
		EXPECT_EQ(scene.gpu.starved, 0);
		change_end(&change);
		machine_free_pages(kept, pfns);
		scene_finish();
	} while (has_fired);
	EXPECT(turned_back > 0);
}

static void reset(struct change *change)
{
	vidmm_device_lose(&scene.client.device);
	scene.gpu.generation++;
	memset(scene.gpu.local, 'x', scene.gpu.memory.local_bytes);
	memset(scene.gpu.log, 0, sizeof(scene.gpu.log));
	vidmm_reset(scene.gpu.manager);
}

TEST(failure, in_a_reset_what_was_leaving_is_lost_and_what_was_coming_is_not)
{
	struct change change;

	change_init(&change, &small, 2 * MIB, MIB);
	EXPECT(gpu_build(&scene.gpu));
	reset(&change);
	/* The driver hears of both, each with its place. */
	EXPECT_STR(scene.gpu.log, "tt");
	/* It was never done. */
	gpu_fail_built(&scene.gpu, STATUS_DEVICE_REMOVED);
	scene.gpu.next_status = STATUS_DEVICE_REMOVED;
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(allocation_content(change.leaver.memory), VIDMM_CONTENT_NONE);
	EXPECT_EQ(state_of(&change.leaver), PLACE_OUT);
	EXPECT_EQ(state_of(&change.comer), PLACE_OUT);
	EXPECT(thing_holds(&change.comer, 'c'));
	gpu_check(&scene.gpu);
	scene_finish();
}

/* Nobody has its room: it is where it was, and may leave another time. */
SCENE_TEST(failure, of_the_hardware_lets_it_stay_when_nobody_took_its_room,
	   scene_init_with(&small, MIB, SET_LOCAL))
{
	thing_write(&scene.thing, 't');
	thing_bring_in(&scene.thing);
	for (int i = 0; i < 2; i++) {
		evict_segment(scene.gpu.manager, SEGMENT_LOCAL);
		EXPECT(gpu_build(&scene.gpu));
		gpu_fail_built(&scene.gpu, STATUS_DEVICE_REMOVED);
		EXPECT(gpu_complete(&scene.gpu));
		EXPECT_EQ(state_of(&scene.thing), PLACE_IN);
		EXPECT(list_is_empty(&scene.gpu.manager->segments[SEGMENT_LOCAL - 1].parting));
		gpu_check(&scene.gpu);
	}
	EXPECT(thing_holds(&scene.thing, 't'));
}

TEST(failure, of_the_hardware_cannot_bring_back_what_has_lent_its_room)
{
	struct change change;

	change_init(&change, &small, 2 * MIB, MIB);
	EXPECT(gpu_build(&scene.gpu));
	EXPECT(gpu_build(&scene.gpu));
	/* Its packet came back undone: the reset is about to follow. */
	gpu_fail_built(&scene.gpu, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(state_of(&change.leaver), PLACE_LEAVING);
	EXPECT(gpu_complete(&scene.gpu));
	EXPECT_EQ(state_of(&change.leaver), PLACE_OUT);
	EXPECT_EQ(allocation_content(change.leaver.memory), VIDMM_CONTENT_NONE);
	gpu_check(&scene.gpu);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_holds(&change.comer, 'c'));
	scene_finish();
}

TEST_MAIN("vidmm/overlap")
