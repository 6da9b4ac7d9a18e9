/* SPDX-License-Identifier: MIT */
/*
 * locked_moves_test.c - what the CPU has locked moves: its address stays, its pages stay, and what
 * they are for the GPU changes.
 */
#include "base/machine_exchange.h"
#include "base/sim.h"
#include "base/thread.h"
#include "support/writer.h"
#include "window.h"

static void send_away(struct thing *thing)
{
	EXPECT_EQ(thing_evict(thing, 0), STATUS_SUCCESS);
	gpu_run(the_gpu, 9);
	EXPECT(!thing_is_in(thing));
	gpu_check(the_gpu);
}

static void expect_nothing_copied(const struct gpu *gpu)
{
	EXPECT_EQ(gpu->copied_in_bytes, 0);
	EXPECT_EQ(gpu->copied_out_bytes, 0);
}

static void finish(void)
{
	EXPECT_EQ(machine_exchange_usage().reserved_mappings, 0);
	scene_finish();
}

/* ---- in and out ---- */

#define MOVES_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, finish(), suite, claim)

MOVES_TEST(locked, outside_enters_gpu_memory_at_its_address,
	   scene_init_with(NULL, 4 * MIB, SET_LOCAL))
{
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'l', 4 * MIB);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT(thing_holds(&scene.thing, 'l'));
	memset(bytes, 'm', 4 * MIB);
	EXPECT(thing_holds(&scene.thing, 'm'));
	thing_render(&scene.thing, 'g');
	EXPECT(is_all(bytes, 4 * MIB, 'g'));
	EXPECT(lock_thing(&scene.thing) == bytes);
	unlock_thing(&scene.thing);
	expect_nothing_copied(&scene.gpu);
	unlock_thing(&scene.thing);
}

MOVES_TEST(locked, inside_leaves_gpu_memory_at_its_address,
	   scene_init_with(NULL, 4 * MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'g');
	char *bytes = lock_thing(&scene.thing);
	send_away(&scene.thing);
	EXPECT(is_all(bytes, 4 * MIB, 'g'));
	memset(bytes, 'w', 4 * MIB);
	struct thing *wanted = thing_new_in(&scene.client, 8 * MIB, SET_LOCAL);
	thing_render(wanted, 'x');
	EXPECT(is_all(bytes, 4 * MIB, 'w'));
	thing_finish(wanted);
	thing_bring_in(&scene.thing);
	EXPECT(thing_holds(&scene.thing, 'w'));
	expect_nothing_copied(&scene.gpu);
	unlock_thing(&scene.thing);
}

MOVES_TEST(locked, comes_and_goes_and_is_moved_by_copies_after_the_unlock,
	   scene_init_with(NULL, 4 * MIB, SET_LOCAL))
{
	char *bytes = lock_thing(&scene.thing);
	for (int i = 0; i < 5; i++) {
		memset(bytes, 'a' + 2 * i, 4 * MIB);
		thing_bring_in(&scene.thing);
		EXPECT(thing_holds(&scene.thing, (char)('a' + 2 * i)));
		memset(bytes, 'b' + 2 * i, 4 * MIB);
		send_away(&scene.thing);
		EXPECT(is_all(bytes, 4 * MIB, (char)('b' + 2 * i)));
	}
	thing_bring_in(&scene.thing);
	expect_nothing_copied(&scene.gpu);
	unlock_thing(&scene.thing);
	send_away(&scene.thing);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 4 * MIB);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(scene.gpu.copied_in_bytes, 4 * MIB);
	EXPECT(thing_holds(&scene.thing, 'j'));
	EXPECT(lock_thing(&scene.thing) == bytes);
	EXPECT(is_all(bytes, 4 * MIB, 'j'));
	unlock_thing(&scene.thing);
}

MOVES_TEST(locked, scattered_memory_moves_too, scene_init(NULL))
{
	static struct thing others[8];

	scene_make_holes(others);
	scene_add_thing(4 * MIB - PAGE, SET_LOCAL);
	char *bytes = lock_thing(&scene.thing);
	thing_bring_in(&scene.thing);
	for (int turn = 0; turn < 3; turn++) {
		for (uint64_t at = 0; at < 4 * MIB - PAGE; at += PAGE) {
			bytes[at] = (char)(at / PAGE + (uint64_t)turn);
			EXPECT_EQ(*thing_byte(&scene.thing, at), bytes[at]);
		}
		send_away(&scene.thing);
		for (uint64_t at = 0; at < 4 * MIB - PAGE; at += PAGE)
			EXPECT_EQ(bytes[at], (char)(at / PAGE + (uint64_t)turn));
		thing_bring_in(&scene.thing);
	}
	for (int i = 1; i < 8; i += 2) {
		EXPECT(thing_holds(&others[i], 0));
		thing_finish(&others[i]);
	}
	unlock_thing(&scene.thing);
}

/* The end of the last granule belongs to nobody, and nobody may find anything in it. */
MOVES_TEST(locked, what_lies_behind_it_in_its_granule_is_zero,
	   scene_init(&(struct gpu_config){ .uses_64k_pages = true }))
{
	struct thing *before = thing_new_in(&scene.client, 8 * MIB, SET_LOCAL);
	thing_render(before, 's');
	thing_finish(before);
	scene_add_thing(5 * PAGE, SET_LOCAL);
	memset(lock_thing(&scene.thing), 'l', 5 * PAGE);
	thing_bring_in(&scene.thing);
	EXPECT(thing_holds(&scene.thing, 'l'));
	EXPECT(is_all(thing_byte(&scene.thing, 0) + 5 * PAGE, 11 * PAGE, 0));
	unlock_thing(&scene.thing);
}

/* ---- what the driver sees ---- */

static void expect_told(const struct gpu_config *config, const char *in, const char *out)
{
	scene_init(config);
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);
	wishes.traits.wants_residency_news = true;
	scene_add_thing_as(&wishes);
	(void)lock_thing(&scene.thing);
	thing_bring_in(&scene.thing);
	EXPECT_STR(scene.gpu.log, in);
	memset(scene.gpu.log, 0, sizeof(scene.gpu.log));
	send_away(&scene.thing);
	EXPECT_STR(scene.gpu.log, out);
	unlock_thing(&scene.thing);
	finish();
}

TEST(driver, hears_of_residency_and_is_asked_for_no_transfer)
{
	expect_told(NULL, "sN", "ns");
}

/* Without page tables a discard is all that tells it that a range is nobody's any more. */
TEST(driver, of_physical_memory_is_told_to_discard_what_was_there)
{
	expect_told(&(struct gpu_config){ .is_physical = true }, "sN", "nsd");
}

/* ---- pressure ---- */

/* Six of half the size of GPU memory: each of them enters, by turns. */
MOVES_TEST(pressure, locked_memory_takes_turns_like_any_other, scene_init(NULL))
{
	static struct thing things[6];
	char *bytes[6];

	for (int i = 0; i < 6; i++) {
		thing_init(&things[i], &scene.client, 4 * MIB, SET_LOCAL);
		bytes[i] = lock_thing(&things[i]);
		memset(bytes[i], 'A' + i, 4 * MIB);
	}
	for (int turn = 0; turn < 12; turn++) {
		int i = turn % 6;

		thing_bring_in(&things[i]);
		EXPECT(thing_holds(&things[i], (char)('A' + i)));
		EXPECT_EQ(thing_evict(&things[i], VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
		for (int k = 0; k < 6; k++)
			EXPECT(is_all(bytes[k], 4 * MIB, (char)('A' + k)));
	}
	expect_nothing_copied(&scene.gpu);
	/* Two are on the list, which is all there is room for: the third has a true reason. */
	thing_bring_in(&things[0]);
	thing_bring_in(&things[1]);
	EXPECT_EQ(thing_make_resident(&things[2]), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-BUDGET");
	for (int i = 0; i < 6; i++)
		thing_finish(&things[i]);
}

MOVES_TEST(pressure, another_devices_locked_memory_makes_room,
	   scene_init_with(NULL, 6 * MIB, SET_LOCAL))
{
	scene_add_second();
	thing_bring_in(&scene.thing);
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'v', 6 * MIB);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	struct thing *wanted = thing_new_in(&scene.other, 6 * MIB, SET_LOCAL);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(is_all(bytes, 6 * MIB, 'v'));
	thing_finish(wanted);
	unlock_thing(&scene.thing);
}

/* ---- what cannot change its role ---- */

MOVES_TEST(hidden, memory_is_refused_to_what_is_locked_and_supports_nothing_else,
	   scene_init_with(&(struct gpu_config){ .is_hidden = true }, 4 * MIB, SET_LOCAL))
{
	char *bytes = lock_thing(&scene.thing);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-LOCK-PLACE");
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_LOCAL).usage_bytes, 0);
	memset(bytes, 'h', 4 * MIB);
	unlock_thing(&scene.thing);
	thing_bring_in(&scene.thing);
	EXPECT(thing_holds(&scene.thing, 'h'));
}

MOVES_TEST(hidden, memory_of_a_device_is_as_good_as_hidden,
	   scene_init_with(&(struct gpu_config){ .is_elsewhere = true }, 4 * MIB,
			   SET_LOCAL | SET_SYSTEM))
{
	(void)lock_thing(&scene.thing);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	unlock_thing(&scene.thing);
}

/* It waits for room there: no call would ever end if it were locked now. */
MOVES_TEST(hidden, memory_that_is_waited_for_cannot_be_locked_outside_meanwhile,
	   scene_init(&(struct gpu_config){ .is_hidden = true }))
{
	void *pointer;

	scene_add_second();
	struct thing *other = thing_new_in(&scene.other, 8 * MIB, SET_LOCAL);
	gpu_work(&scene.other);
	scene_add_thing(4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-LOCK-PLACE");
	gpu_retire(&scene.other);
	gpu_slice_over(&scene.other);
	EXPECT(gpu_tick(&scene.gpu));
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(scene.thing.done, 1);
	EXPECT_EQ(scene.thing.status, STATUS_SUCCESS);
	thing_finish(other);
}

MOVES_TEST(hidden, memory_is_replaced_by_the_aperture,
	   scene_init_with(&(struct gpu_config){ .is_hidden = true }, 4 * MIB,
			   SET_LOCAL | SET_SYSTEM))
{
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'a', 4 * MIB);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	*thing_byte(&scene.thing, 0) = 'g';
	EXPECT_EQ(bytes[0], 'g');
	unlock_thing(&scene.thing);
}

/* Caches of the CPU would not see what the GPU writes. */
MOVES_TEST(cached, memory_that_is_locked_stays_outside, scene_init(NULL))
{
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL | SET_SYSTEM);
	wishes.traits.is_cached = true;
	scene_add_thing_as(&wishes);
	(void)lock_thing(&scene.thing);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	unlock_thing(&scene.thing);
}

/* However often locked memory moved: what enters later finds everything where it was at first. */
MOVES_TEST(mappings, do_not_become_more_for_ever, scene_init(NULL))
{
	static struct thing things[7];

	for (int i = 0; i < 7; i++) {
		thing_init(&things[i], &scene.client, (uint64_t)(i + 1) * 16 * PAGE, SET_LOCAL);
		if (i % 2)
			thing_bring_in(&things[i]);
		(void)lock_thing(&things[i]);
	}
	for (int turn = 0; turn < 50; turn++) {
		for (int i = 0; i < 7; i++) {
			if (thing_is_in(&things[(i * turn) % 7]))
				send_away(&things[(i * turn) % 7]);
			else
				thing_bring_in(&things[(i * turn) % 7]);
		}
	}
	EXPECT(machine_exchange_usage().mappings < 100);
	for (int i = 0; i < 7; i++)
		thing_finish(&things[i]);
	struct thing *whole = thing_new_in(&scene.client, 8 * MIB, SET_LOCAL);
	EXPECT_EQ(machine_exchange_usage().displaced_pages, 0);
	EXPECT_EQ(machine_exchange_usage().mappings, 0);
	thing_finish(whole);
}

TEST(mappings, are_reserved_and_without_them_it_stays_where_it_is)
{
	setenv("DXGK_EXCHANGE_MAPPINGS", "5", 1);
	scene_init_with(NULL, MIB, SET_LOCAL);
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'l', MIB);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-NO-MAPPINGS");
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(is_all(bytes, MIB, 'l'));
	unlock_thing(&scene.thing);
	/* Locked inside, it stays inside. */
	thing_bring_in(&scene.thing);
	EXPECT(lock_thing(&scene.thing) == bytes);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(is_all(bytes, MIB, 'l'));
	unlock_thing(&scene.thing);
	finish();
	unsetenv("DXGK_EXCHANGE_MAPPINGS");
}

/* ---- kept copies ---- */

MOVES_TEST(kept, copies_are_no_copies_of_what_is_written_through_a_lock, scene_init(NULL))
{
	scene_add_kept(MIB);
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'k', MIB);
	thing_bring_in(&scene.thing);
	memset(bytes, 'n', MIB);
	unlock_thing(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_NOT_WRITTEN_TO), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 'n'));
}

/* ---- what happens on the way ---- */

MOVES_TEST(way, of_locked_memory_holds_up_neither_lock_nor_unlock,
	   scene_init_with(NULL, MIB, SET_LOCAL))
{
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, '1', MIB);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	EXPECT(lock_thing(&scene.thing) == bytes);
	unlock_thing(&scene.thing);
	unlock_thing(&scene.thing);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, '1'));
	EXPECT(lock_thing(&scene.thing) == bytes);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_ready(&scene.gpu), 1);
	EXPECT(lock_thing(&scene.thing) == bytes);
	unlock_thing(&scene.thing);
	unlock_thing(&scene.thing);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, '1'));
}

TEST(way, in_that_fails_leaves_everything_as_it_was)
{
	init_and_fail_way_in(NULL, 'f');
	/* It is tried again then. */
	unlock_thing(&scene.thing);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 'f'));
	finish();
}

MOVES_TEST(way, out_that_fails_leaves_it_inside,
	   scene_init(&(struct gpu_config){ .is_physical = true }))
{
	scene_add_thing(MIB, SET_LOCAL);
	char *bytes = lock_thing(&scene.thing);
	thing_bring_in(&scene.thing);
	memset(bytes, 'f', MIB);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	scene.gpu.fail_op = 2; /* the discard, behind the exchange */
	gpu_run(&scene.gpu, 1);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(thing_holds(&scene.thing, 'f'));
	memset(bytes, 'g', MIB);
	EXPECT(thing_holds(&scene.thing, 'g'));
	unlock_thing(&scene.thing);
}

/* What is locked is at its address after a reset, and the content is the machine's. */
static void expect_survives_reset(bool is_leaving, bool is_built)
{
	scene_init(&(struct gpu_config){ .is_physical = true });
	scene_add_thing(MIB, SET_LOCAL);
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, 'r', MIB);
	if (is_leaving)
		thing_bring_in(&scene.thing);
	if (is_leaving)
		EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	else
		EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	if (is_built)
		EXPECT(gpu_build(&scene.gpu));
	else
		scene.gpu.next_status = STATUS_DEVICE_REMOVED;
	reset();
	EXPECT_EQ(gpu_run(&scene.gpu, 1) > 0, !is_built || !is_leaving);
	gpu_run(&scene.gpu, 9);
	EXPECT(is_all(bytes, MIB, 'r'));
	memset(bytes, 's', MIB);
	if (!is_leaving)
		thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_is_in(&scene.thing), !is_leaving);
	EXPECT(thing_holds(&scene.thing, 's'));
	gpu_check(&scene.gpu);
	unlock_thing(&scene.thing);
	finish();
}

TEST(way, in_that_meets_a_reset_is_gone_again)
{
	expect_survives_reset(false, false);
	expect_survives_reset(false, true);
}

TEST(way, out_that_meets_a_reset_ends_all_the_same)
{
	expect_survives_reset(true, false);
	expect_survives_reset(true, true);
}

MOVES_TEST(way, of_what_is_destroyed_while_locked_ends_and_frees_everything, scene_init(NULL))
{
	static struct thing things[2];

	for (int i = 0; i < 2; i++) {
		thing_init(&things[i], &scene.client, 2 * MIB, SET_LOCAL);
		memset(lock_thing(&things[i]), 'd', 2 * MIB);
	}
	thing_bring_in(&things[1]);
	EXPECT_EQ(thing_make_resident(&things[0]), STATUS_PENDING);
	EXPECT_EQ(thing_evict(&things[1], 0), STATUS_SUCCESS);
	for (int i = 0; i < 2; i++)
		vidmm_allocation_retire(things[i].memory);
	for (int i = 0; i < 2; i++)
		thing_finish(&things[i]);
}

/* ---- while somebody writes ---- */

/* Through the GPU's address. */
static void expect_count(const struct writer *writer)
{
	for (uint64_t i = 0; i < writer->page_count; i++)
		EXPECT_EQ(*(uint64_t *)(void *)thing_byte(&scene.thing, i * PAGE), writer->count);
}

static void expect_stores_while_it_comes_and_goes(const struct gpu_config *config)
{
	struct writer writer = { .page_count = 2 * MIB / PAGE };

	scene_init_with(config, 2 * MIB, SET_LOCAL);
	writer_start(&writer, lock_thing(&scene.thing));
	for (unsigned i = 0; i < some_of(80, 400); i++) {
		thing_bring_in(&scene.thing);
		send_away(&scene.thing);
	}
	thing_bring_in(&scene.thing);
	writer_stop(&writer);
	expect_count(&writer);
	unlock_thing(&scene.thing);
	finish();
}

TEST(stores, are_never_lost_while_it_comes_and_goes)
{
	expect_stores_while_it_comes_and_goes(NULL);
}

TEST(stores, are_never_lost_while_it_comes_and_goes_behind_a_window)
{
	expect_stores_while_it_comes_and_goes(
		&(struct gpu_config){ .is_hidden = true, .window_pages = 2048 });
}

static uint64_t first_page_of(struct thing *thing)
{
	return page_set_runs(&binding_place(&thing->binding)->pages)->first_page;
}

static void defragment(bool is_upward)
{
	const struct vidmm_defragmentation how = { .is_upward = is_upward };
	enum defragment_round round = DEFRAGMENT_SHIFTS;
	struct defragment order;

	defragment_init(&order, scene.gpu.manager, SEGMENT_LOCAL, &how);
	while (round != DEFRAGMENT_DONE) {
		EXPECT_EQ(defragment_step(&order, &round), STATUS_SUCCESS);
		gpu_run(&scene.gpu, 9);
	}
}

MOVES_TEST(stores, are_never_lost_while_it_is_put_in_order,
	   scene_init_with(&(struct gpu_config){ .is_physical = true }, 2 * MIB, SET_LOCAL))
{
	struct writer writer = { .page_count = 2 * MIB / PAGE };
	unsigned moves = 0;

	char *bytes = lock_thing(&scene.thing);
	thing_bring_in(&scene.thing);
	writer_start(&writer, bytes);
	for (int i = 0; i < 100; i++) {
		uint64_t before = first_page_of(&scene.thing);
		struct thing gap;
		struct thing wall;

		/* Between both of them and behind it is room. */
		thing_add(&gap, &scene.client, 2 * MIB, SET_LOCAL);
		thing_add(&wall, &scene.client, MIB, SET_LOCAL);
		thing_finish(&gap);
		defragment(i % 2 == 0);
		thing_finish(&wall);
		moves += first_page_of(&scene.thing) != before;
	}
	writer_stop(&writer);
	EXPECT(moves > 50);
	expect_count(&writer);
	unlock_thing(&scene.thing);
}

/* It leaves from behind a window for system memory, and comes back by a copy when nobody has it locked. */
MOVES_TEST(stores, are_never_lost_while_it_leaves_from_behind_a_window,
	   scene_init_two(&(struct gpu_config){
		   .is_hidden = true, .window_pages = 2048, .local_bytes = 3 * MIB }))
{
	struct writer writer = { .page_count = 2 * MIB / PAGE };

	scene_add_thing(2 * MIB, SET_LOCAL | SET_SYSTEM);
	for (int i = 0; i < 20; i++) {
		struct thing comer;

		thing_bring_in(&scene.thing);
		EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
		writer_start(&writer, lock_thing(&scene.thing));
		thing_init(&comer, &scene.other, 2 * MIB, SET_LOCAL);
		EXPECT_EQ(thing_demand(&comer), STATUS_PENDING);
		gpu_run(&scene.gpu, 20);
		EXPECT(thing_is_in(&comer));
		writer_stop(&writer);
		unlock_thing(&scene.thing);
		thing_finish(&comer);
		EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
		gpu_run(&scene.gpu, 20);
	}
	EXPECT(machine_exchange_usage().mappings < 64);
}

TEST_MAIN("vidmm/locked_moves")
