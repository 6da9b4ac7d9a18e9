/* SPDX-License-Identifier: MIT */
/*
 * window_test.c - GPU memory that the CPU sees through the CPU host aperture of its segment.
 *
 * The GPU turned by hand shows in the aperture what it is asked to, so a byte that is read there is
 * the byte in GPU memory.
 */
#include "base/machine_exchange.h"
#include "base/thread.h"
#include "window.h"
#include "vidmm/table_block.h"

SCENE_TEST(window, shows_hidden_memory_where_it_is, scene_init_with(&windowed, 4 * MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'g');
	char *bytes = lock_thing(&scene.thing);
	EXPECT(is_all(bytes, 4 * MIB, 'g'));
	memset(bytes, 'c', 4 * MIB);
	EXPECT(thing_holds(&scene.thing, 'c'));
	EXPECT(thing_is_in(&scene.thing));
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT_EQ(scene.gpu.open_pages, 1024);
	EXPECT(scene.gpu.window_allocation == scene.thing.binding.driver_allocation);
	gpu_check(&scene.gpu);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.open_pages, 0);
}

/* The GPU has not written to it, but the CPU has, through the window. */
SCENE_TEST(window, what_is_written_there_is_copied_out_though_the_gpu_has_not_written,
	   scene_init(&windowed))
{
	scene_add_kept(MIB);
	memset(lock_thing(&scene.thing), 'k', MIB);
	unlock_thing(&scene.thing);
	thing_bring_in(&scene.thing);
	memset(lock_thing(&scene.thing), 'c', MIB);
	unlock_thing(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_NOT_WRITTEN_TO), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(is_all(lock_thing(&scene.thing), MIB, 'c'));
	unlock_thing(&scene.thing);
}

SCENE_TEST(window, is_counted_in_pages_of_the_segment,
	   scene_init_with(&(struct gpu_config){ .is_hidden = true,
						 .window_pages = 64,
						 .uses_64k_pages = true },
			   33 * PAGE, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'g');
	char *bytes = lock_thing(&scene.thing);
	EXPECT(is_all(bytes, 33 * PAGE, 'g'));
	EXPECT_EQ(scene.gpu.open_pages, 3);
	unlock_thing(&scene.thing);
}

TEST(window, of_scattered_memory_shows_it_in_one_piece)
{
	struct thing others[8];

	scene_init(&windowed);
	scene_make_holes(others);
	scene_add_thing(4 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	char *bytes = lock_thing(&scene.thing);
	for (uint64_t at = 0; at < 4 * MIB; at += PAGE) {
		*thing_byte(&scene.thing, at) = (char)(at / PAGE);
		EXPECT_EQ(bytes[at], (char)(at / PAGE));
	}
	unlock_thing(&scene.thing);
	scene_finish();
}

SCENE_TEST(window, nests_and_closes_with_the_last_unlock,
	   scene_init_with(&windowed, MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	char *bytes = lock_thing(&scene.thing);
	EXPECT(lock_thing(&scene.thing) == bytes);
	EXPECT_EQ(scene.gpu.windows_opened, 1);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.windows_closed, 0);
	bytes[5] = 'n';
	EXPECT_EQ(*thing_byte(&scene.thing, 5), 'n');
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.windows_closed, 1);
	EXPECT(lock_thing(&scene.thing) == bytes);
	EXPECT_EQ(bytes[5], 'n');
	unlock_thing(&scene.thing);
}

/* A device's own memory is copied, and a copy could miss a store. */
SCENE_TEST(window, of_a_devices_own_memory_keeps_that_in_place_until_it_is_closed,
	   scene_init_with(&foreign, 4 * MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	char *bytes = lock_thing(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	evict_segment(scene.gpu.manager, 0);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT(bytes != NULL);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.open_pages, 0);
	evict_segment(scene.gpu.manager, 0);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
}

/* ---- that is needed by others ---- */

static const struct gpu_config full = { .is_hidden = true,
					.window_pages = 2048,
					.local_bytes = 4 * MIB };

/* Another device's memory enters, for which this one has to leave. */
static void crowd_out(struct thing *comer)
{
	thing_init(comer, &scene.other, 3 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_demand(comer), STATUS_PENDING);
	gpu_run(&scene.gpu, 20);
	EXPECT(thing_is_in(comer));
}

TEST(window, what_is_seen_through_one_leaves_at_its_address_for_who_needs_the_room)
{
	struct thing comer;

	scene_init_two(&full);
	scene_add_thing(3 * MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'g');
	char *bytes = lock_thing(&scene.thing);
	crowd_out(&comer);
	EXPECT_EQ(scene.gpu.open_pages, 0);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	EXPECT(is_all(bytes, 3 * MIB, 'g'));
	EXPECT(!thing_is_in(&scene.thing));
	memset(bytes, 'c', 3 * MIB);
	EXPECT(thing_holds(&scene.thing, 'c'));
	gpu_check(&scene.gpu);
	/* It has its turn like any other. */
	gpu_work(&scene.client);
	gpu_slice_over(&scene.other);
	gpu_tick(&scene.gpu);
	gpu_run(&scene.gpu, 20);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT_EQ(scene.gpu.open_pages, 768);
	EXPECT(thing_holds(&scene.thing, 'c'));
	gpu_retire(&scene.client);
	/* Another lock is the same memory, and the last unlock closes nothing. */
	EXPECT(lock_thing(&scene.thing) == bytes);
	unlock_thing(&scene.thing);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.windows_closed, scene.gpu.windows_opened);
	EXPECT(thing_holds(&scene.thing, 'c'));
	EXPECT_EQ(machine_exchange_usage().reserved_mappings, 0);
	scene_finish();
}

/* It keeps its stretch of the aperture: nobody has to unlock anything before it is back. */
TEST(window, what_the_gpu_reaches_nowhere_else_leaves_and_is_sure_to_come_back)
{
	static const struct gpu_config small = { .is_hidden = true,
						 .window_pages = 1000,
						 .local_bytes = 4 * MIB };
	struct thing comer;
	struct thing other;

	scene_init_two(&small);
	scene_add_thing(3 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'b', 3 * MIB);
	crowd_out(&comer);
	EXPECT_EQ(scene.gpu.open_pages, 0);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(is_all(bytes, 3 * MIB, 'b'));
	/* Of the aperture there is not enough left for another. */
	thing_init(&other, &scene.other, MIB, SET_LOCAL);
	lock_thing(&other);
	EXPECT_EQ(thing_make_resident(&other), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-LOCK-PLACE");
	/* … and it can be locked once more, and is. */
	EXPECT(lock_thing(&scene.thing) == bytes);
	memset(bytes, 'c', 3 * MIB);
	thing_finish(&comer);
	gpu_work(&scene.client);
	gpu_tick(&scene.gpu);
	gpu_run(&scene.gpu, 20);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT_EQ(scene.gpu.open_pages, 768);
	EXPECT(thing_holds(&scene.thing, 'c'));
	unlock_thing(&scene.thing);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.open_pages, 0);
	gpu_retire(&scene.client);
	scene_finish();
}

/* It is on a list, and was evicted by another: who locks it now has to leave it a way back. */
TEST(window, what_is_locked_while_it_waits_for_its_turn_gets_a_stretch_or_is_refused)
{
	for (int has_room = 0; has_room < 2; has_room++) {
		struct gpu_config config = full;
		struct thing comer;
		char *bytes;

		config.window_pages = has_room ? 1000 : 500;
		scene_init_two(&config);
		scene_add_thing(3 * MIB, SET_LOCAL);
		thing_bring_in(&scene.thing);
		crowd_out(&comer);
		EXPECT(!thing_is_in(&scene.thing));
		EXPECT_EQ(try_lock(&scene.thing, &bytes),
			  has_room ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
		if (has_room)
			memset(bytes, 'w', 3 * MIB);
		else
			EXPECT_RULE("MM-LOCK-PLACE");
		thing_finish(&comer);
		gpu_tick(&scene.gpu);
		gpu_run(&scene.gpu, 20);
		EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
		EXPECT(thing_holds(&scene.thing, has_room ? 'w' : 0));
		EXPECT_EQ(scene.gpu.open_pages, has_room ? 768 : 0);
		scene_finish();
	}
}

TEST(window, without_a_mapping_for_its_pages_it_stays_and_is_seen)
{
	struct thing comer;

	setenv("DXGK_EXCHANGE_MAPPINGS", "5", 1);
	scene_init_two(&full);
	scene_add_thing(3 * MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(&scene.thing);
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'c', 3 * MIB);
	thing_init(&comer, &scene.other, 3 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_demand(&comer), STATUS_NO_MEMORY);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT(thing_holds(&scene.thing, 'c'));
	memset(bytes, 'd', 3 * MIB);
	EXPECT(thing_holds(&scene.thing, 'd'));
	unlock_thing(&scene.thing);
	scene_finish();
	unsetenv("DXGK_EXCHANGE_MAPPINGS");
}

/* The unlock comes between the decision and the way out. */
SCENE_TEST(window, that_closes_while_it_leaves_is_waited_for, scene_init_two(&full))
{
	scene_add_thing(3 * MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(&scene.thing);
	memset(lock_thing(&scene.thing), 'u', 3 * MIB);
	struct thing *comer = thing_new(&scene.other, 3 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_demand(comer), STATUS_PENDING);
	unlock_thing(&scene.thing); /* it is on its way */
	gpu_run(&scene.gpu, 20);
	EXPECT(thing_is_in(comer));
	EXPECT(thing_holds(&scene.thing, 'u'));
	EXPECT_EQ(scene.gpu.open_pages, 0);
}

/* ---- where there is none ---- */

static struct locker {
	struct thing *thing;
	char *pointer;
	NTSTATUS status;
	_Atomic bool is_over;
} locker;

static void run_lock(void *argument)
{
	(void)argument;
	locker.status = try_lock(locker.thing, &locker.pointer);
	atomic_store(&locker.is_over, true);
}

static void run_until_locked(struct thing *thing)
{
	struct thread *thread;

	locker = (struct locker){ .thing = thing };
	EXPECT_EQ(thread_create("locker", run_lock, NULL, &thread), STATUS_SUCCESS);
	while (!atomic_load(&locker.is_over)) {
		if (gpu_run(&scene.gpu, 1) == 0)
			clock_sleep_until(clock_deadline(NS_PER_MS));
	}
	thread_join(thread);
}

SCENE_TEST(window, without_room_in_the_aperture_memory_is_moved_to_be_seen,
	   scene_init_with(&(struct gpu_config){ .is_hidden = true, .window_pages = 300 }, MIB,
			   SET_LOCAL))
{
	struct thing *second = thing_new(&scene.client, MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(&scene.thing);
	thing_bring_in(second);
	thing_render(second, 's');
	lock_thing(&scene.thing);
	run_until_locked(second);
	EXPECT_EQ(locker.status, STATUS_SUCCESS);
	EXPECT(is_all(locker.pointer, MIB, 's'));
	EXPECT_EQ(thing_segment(second), SEGMENT_SYSTEM);
	EXPECT_EQ(scene.gpu.windows_opened, 1);
	unlock_thing(second);
	unlock_thing(&scene.thing);
}

SCENE_TEST(window, without_room_or_another_place_the_lock_is_refused,
	   scene_init_with(&(struct gpu_config){ .is_hidden = true, .window_pages = 300 }, MIB,
			   SET_LOCAL))
{
	char *pointer;

	struct thing *second = thing_new(&scene.client, MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	thing_bring_in(second);
	lock_thing(&scene.thing);
	EXPECT_EQ(try_lock(second, &pointer), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-LOCK-PLACE");
	unlock_thing(&scene.thing);
	EXPECT_EQ(try_lock(second, &pointer), STATUS_SUCCESS);
	unlock_thing(second);
}

TEST(window, what_the_driver_refuses_is_undone)
{
	/* Of four calls for 1,024 pages. */
	for (uint32_t fails = 1; fails <= 4; fails++) {
		char *pointer;

		scene_init_with(&windowed, 4 * MIB, SET_LOCAL);
		thing_bring_in(&scene.thing);
		scene.gpu.refuse_windows = fails;
		EXPECT_EQ(try_lock(&scene.thing, &pointer), STATUS_INVALID_PARAMETER);
		EXPECT_EQ(scene.gpu.open_pages, 0);
		gpu_check(&scene.gpu);
		EXPECT_EQ(try_lock(&scene.thing, &pointer), STATUS_SUCCESS);
		unlock_thing(&scene.thing);
		scene_finish();
	}
}

TEST(window, of_cached_memory_needs_one_that_caches_see)
{
	for (int is_cached = 0; is_cached < 2; is_cached++) {
		char *pointer;

		scene_init(&(struct gpu_config){
			.is_hidden = true, .window_pages = 300, .window_is_cached = is_cached });
		struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);
		wishes.traits.is_cached = true;
		scene_add_thing_as(&wishes);
		thing_bring_in(&scene.thing);
		EXPECT_EQ(try_lock(&scene.thing, &pointer),
			  is_cached ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
		EXPECT_EQ(scene.gpu.open_pages, is_cached ? 256 : 0);
		if (is_cached)
			unlock_thing(&scene.thing);
		scene_finish();
	}
}

/* ---- the end, and resets ---- */

TEST(window, closes_with_an_allocation_that_is_destroyed_while_locked)
{
	scene_init_with(&windowed, MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	lock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.open_pages, 256);
	scene_finish(); /* which destroys it, and finds no page open */
}

static struct thing *destroyed;

static void destroy_it(struct gpu *gpu)
{
	(void)gpu;
	vidmm_allocation_retire(destroyed->memory);
}

SCENE_TEST(window, opens_for_nobody_when_the_allocation_is_destroyed_meanwhile,
	   scene_init_with(&windowed, MIB, SET_LOCAL))
{
	char *pointer;

	thing_bring_in(&scene.thing);
	destroyed = &scene.thing;
	scene.gpu.in_window = destroy_it;
	EXPECT_EQ(try_lock(&scene.thing, &pointer), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("API-HANDLE");
	EXPECT_EQ(scene.gpu.windows_opened, 1);
	EXPECT_EQ(scene.gpu.open_pages, 0);
}

static struct thing *wanted_meanwhile;
static NTSTATUS wanted_status;

static void want_it(struct gpu *gpu)
{
	gpu->in_window = NULL;
	wanted_status = thing_make_resident(wanted_meanwhile);
}

/* It stays in the way: who was told to wait could only be lost then. */
TEST(window, that_is_being_opened_promises_no_room)
{
	struct client other;
	struct thing wanted;

	scene_init_with(&windowed, 6 * MIB, SET_LOCAL);
	client_init(&other, &scene.gpu.process);
	thing_init(&wanted, &other, 4 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	wanted_meanwhile = &wanted;
	scene.gpu.in_window = want_it;
	lock_thing(&scene.thing);
	EXPECT_EQ(wanted_status, STATUS_NO_MEMORY);
	EXPECT_RULE("MM-NO-ROOM");
	unlock_thing(&scene.thing);
	thing_bring_in(&wanted);
	thing_finish(&wanted);
	client_finish(&other);
	scene_finish();
}

SCENE_TEST(window, is_opened_again_after_a_reset, scene_init_with(&windowed, MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	char *bytes = lock_thing(&scene.thing);
	reset();
	EXPECT_EQ(scene.gpu.open_pages, 256);
	memset(bytes, 'r', MIB);
	EXPECT_EQ(*thing_byte(&scene.thing, 7), 'r');
	reset();
	EXPECT_EQ(scene.gpu.open_pages, 256);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.open_pages, 0);
	gpu_run(&scene.gpu, 9);
}

TEST(window, of_a_page_table_of_the_kernels_own_is_opened_again_too)
{
	struct pager_table table;
	struct pager_table unseen;

	scene_init(&(struct gpu_config){ .is_hidden = true, .window_pages = 2 });
	EXPECT_EQ(vidmm_take_table(scene.gpu.manager, SEGMENT_LOCAL, 2 * PAGE, PAGE, &table),
		  STATUS_SUCCESS);
	EXPECT_EQ(scene.gpu.open_pages, 2);
	EXPECT(!scene.gpu.window_allocation);
	EXPECT(table.pointer == scene.gpu.local + table.offset_bytes);
	/* Without room in the aperture the CPU does not see it, and nothing is left of it. */
	EXPECT_EQ(vidmm_take_table(scene.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &unseen),
		  STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_RULE("MM-PAGING-TABLES");
	gpu_check(&scene.gpu);
	reset();
	EXPECT_EQ(scene.gpu.open_pages, 2);
	EXPECT_EQ(scene.gpu.windows_opened, 2);
	vidmm_give_table(scene.gpu.manager, &table, 2 * PAGE);
	EXPECT_EQ(scene.gpu.open_pages, 0);
	/* And the driver's no is what becomes of it. */
	scene.gpu.refuse_windows = 1;
	EXPECT_EQ(vidmm_take_table(scene.gpu.manager, SEGMENT_LOCAL, PAGE, PAGE, &unseen),
		  STATUS_NO_MEMORY);
	EXPECT_RULE("MM-PAGING-TABLES");
	EXPECT_EQ(scene.gpu.open_pages, 0);
	gpu_check(&scene.gpu);
	scene_finish();
}

SCENE_TEST(window, is_not_closed_where_there_is_no_gpu_any_more,
	   scene_init_with(&windowed, MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	lock_thing(&scene.thing);
	scene.gpu.generation++;
	vidmm_device_lose(&scene.client.device);
	vidmm_give_up(scene.gpu.manager);
	unlock_thing(&scene.thing);
	EXPECT_EQ(scene.gpu.windows_closed, 0);
	forget_windows(&scene.gpu);
}

TEST_MAIN("vidmm/window")
