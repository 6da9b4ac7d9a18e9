/* SPDX-License-Identifier: MIT */
/*
 * defragment_test.c - a segment put in order, on a GPU that is turned by hand.
 */
#include "base/machine_exchange.h"
#include "support/failing.h"
#include "scene.h"
#include "turner.h"
#include "vidmm/allocation.h"
#include "vidmm/control.h"
#include "vidmm/states.h"

enum { MOST = 8, ROUNDS_MAX = 100 };

static const struct vidmm_defragmentation downward;
static const struct vidmm_defragmentation upward = { .is_upward = true };
static const struct vidmm_defragmentation verified = { .must_verify = true };

/* Things in a row from the lower end, each with its letter. */
static struct {
	struct thing things[MOST];
	bool is_there[MOST];
	int count;
} row;

static char letter(int i)
{
	return (char)('a' + i);
}

static void row_add(const struct vidmm_wishes *wishes)
{
	int i = row.count++;

	thing_init_as(&row.things[i], &scene.client, wishes);
	thing_write(&row.things[i], letter(i));
	thing_bring_in(&row.things[i]);
	row.is_there[i] = true;
}

static void row_init(const struct gpu_config *config, const unsigned mib[], int count)
{
	memset(&row, 0, sizeof(row));
	scene_init(config);
	for (int i = 0; i < count; i++) {
		struct vidmm_wishes wishes = thing_wishes(&scene.gpu, mib[i] * MIB, SET_LOCAL);

		row_add(&wishes);
	}
}

static void row_take_out(int i)
{
	thing_finish(&row.things[i]);
	row.is_there[i] = false;
}

/* What is there holds what was written. */
static void row_check(void)
{
	gpu_check(&scene.gpu);
	for (int i = 0; i < row.count; i++) {
		if (row.is_there[i])
			EXPECT(thing_holds(&row.things[i], letter(i)));
	}
}

static void row_finish(void)
{
	row_check();
	scene_finish();
}

static uint64_t first_mib(int i)
{
	return page_set_runs(&binding_place(&row.things[i].binding)->pages)[0].first_page * PAGE /
	       MIB;
}

static struct vidmm_fragmentation fragmentation(void)
{
	struct vidmm_fragmentation found;

	EXPECT(vidmm_fragmentation(scene.gpu.manager, SEGMENT_LOCAL, &found));
	return found;
}

/* Turned by hand, round by round. Returns how many there were. */
static unsigned put_in_order(const struct vidmm_defragmentation *how)
{
	enum defragment_round round;
	struct defragment order;
	unsigned rounds = 0;

	defragment_init(&order, scene.gpu.manager, SEGMENT_LOCAL, how);
	for (; rounds < ROUNDS_MAX; rounds++) {
		EXPECT_EQ(defragment_step(&order, &round), STATUS_SUCCESS);
		if (round == DEFRAGMENT_DONE)
			return rounds;
		gpu_check(&scene.gpu);
		gpu_run(&scene.gpu, 100);
		gpu_check(&scene.gpu);
	}
	EXPECT(false);
	return rounds;
}

static const struct gpu_config physical = { .is_physical = true };
static const unsigned eight[MOST] = { 1, 1, 1, 1, 1, 1, 1, 1 };

/* Every second MiB is free. */
static void row_with_holes(const struct gpu_config *config)
{
	row_init(config, eight, MOST);
	for (int i = 0; i < MOST; i += 2)
		row_take_out(i);
	EXPECT_EQ(fragmentation().free_bytes, 4 * MIB);
	EXPECT_EQ(fragmentation().largest_gap_bytes, MIB);
}

static void expect_nothing_left_the_segment(void)
{
	struct vidmm_segment_usage usage;

	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	EXPECT(vidmm_segment_usage(scene.gpu.manager, SEGMENT_LOCAL, &usage));
	EXPECT_EQ(usage.traffic.evicted.bytes, 0);
	EXPECT_EQ(usage.traffic.shifted.bytes, scene.gpu.copied_within_bytes);
}

/* ---- what comes of it ---- */

#define ROW_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, row_finish(), suite, claim)

ROW_TEST(defragment, makes_room_for_what_must_be_in_one_piece, row_with_holes(&physical))
{
	struct thing large;

	put_in_order(&downward);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
	row_check();
	thing_add(&large, &scene.client, 4 * MIB, SET_LOCAL);
	expect_nothing_left_the_segment();
	/* The two above the middle went into the holes below it: not one more. */
	EXPECT_EQ(scene.gpu.copied_within_bytes, 2 * MIB);
	thing_finish(&large);
}

ROW_TEST(defragment, behind_page_tables_is_the_same, row_with_holes(NULL))
{
	put_in_order(&downward);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
	expect_nothing_left_the_segment();
}

ROW_TEST(defragment, returns_when_it_is_done, row_with_holes(&physical))
{
	struct turner turner;

	turner_start(&turner, &scene.gpu);
	EXPECT_EQ(vidmm_defragment(scene.gpu.manager, SEGMENT_LOCAL, &downward), STATUS_SUCCESS);
	turner_stop(&turner);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
	expect_nothing_left_the_segment();
}

ROW_TEST(defragment, upward_leaves_the_lower_end_free, row_with_holes(&physical))
{
	put_in_order(&upward);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
	for (int i = 1; i < MOST; i += 2)
		EXPECT(first_mib(i) >= 4);
	expect_nothing_left_the_segment();
}

TEST(defragment, moves_nothing_where_nothing_is_gained)
{
	row_init(&physical, eight, 3);
	EXPECT_EQ(put_in_order(&downward), 0);
	row_take_out(2);
	EXPECT_EQ(put_in_order(&downward), 0);
	row_take_out(0);
	put_in_order(&downward);
	EXPECT_EQ(put_in_order(&downward), 0);
	EXPECT_EQ(scene.gpu.copied_within_bytes, MIB);
	row_finish();
}

/* |- - - -|x|a|x|-|: in the large gap it would stand in the way, and leave a small one. */
TEST(defragment, takes_no_gap_for_one_that_would_be_smaller)
{
	row_init(&physical, (const unsigned[]){ 4 }, 1);
	for (int i = 1; i < 4; i++) {
		struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);

		wishes.traits.is_unmoveable = i != 2;
		row_add(&wishes);
	}
	row_take_out(0);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
	EXPECT_EQ(put_in_order(&downward), 0);
	EXPECT_EQ(first_mib(2), 5);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
	row_finish();
}

/* |-|a a|-|: the gap below it and itself would be room enough, were it not in it. */
TEST(defragment, never_copies_over_itself)
{
	static const unsigned sizes[] = { 1, 2, 5 };

	row_init(&physical, sizes, 3);
	row_take_out(0);
	row_take_out(2);
	EXPECT_EQ(first_mib(1), 1);
	put_in_order(&downward); /* gpu.c sees to it */
	EXPECT_EQ(first_mib(1), 0);
	EXPECT_EQ(scene.gpu.copied_within_bytes, 4 * MIB);
	expect_nothing_left_the_segment();
	row_finish();
}

/* |a|-|b b|-|c c|- - -|, and c fits nowhere below itself, nor does b. */
static void row_that_slides(void)
{
	static const unsigned sizes[] = { 1, 1, 2, 1, 2 };
	static const struct gpu_config config = { .is_physical = true, .local_bytes = 10 * MIB };

	row_init(&config, sizes, 5);
	row_take_out(1);
	row_take_out(3);
}

TEST(defragment, what_does_not_fit_stands_aside_and_slides)
{
	row_that_slides();
	EXPECT_EQ(fragmentation().largest_gap_bytes, 3 * MIB);
	put_in_order(&downward);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 5 * MIB);
	EXPECT_EQ(first_mib(0), 0);
	EXPECT_EQ(first_mib(2), 1);
	EXPECT_EQ(first_mib(4), 3);
	expect_nothing_left_the_segment();
	row_finish();
}

/* |a a a|-|b b b|-|: neither finds room to stand aside. */
TEST(defragment, without_room_to_stand_aside_it_goes_out_and_in)
{
	static const unsigned sizes[] = { 3, 1, 3, 1 };

	row_init(&physical, sizes, 4);
	row_take_out(1);
	row_take_out(3);
	EXPECT_EQ(fragmentation().largest_gap_bytes, MIB);
	put_in_order(&downward);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 2 * MIB);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 3 * MIB);
	EXPECT(thing_is_in(&row.things[2]));
	row_finish();
}

TEST(defragment, a_scattered_one_comes_to_be_in_one_piece)
{
	static const struct gpu_config config = { .local_bytes = 16 * MIB };
	struct thing scattered;

	row_init(&config, eight, MOST);
	for (int i = 0; i < MOST; i += 2)
		row_take_out(i);
	thing_init(&scattered, &scene.client, 10 * MIB, SET_LOCAL);
	thing_write(&scattered, 'S');
	thing_bring_in(&scattered);
	EXPECT(binding_place(&scattered.binding)->pages.run_count > 1);
	for (int i = 1; i < MOST; i += 2)
		row_take_out(i);
	put_in_order(&downward);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 6 * MIB);
	EXPECT(thing_holds(&scattered, 'S'));
	thing_finish(&scattered);
	row_finish();
}

TEST(defragment, in_an_aperture_all_is_mapped_anew)
{
	struct turner turner;
	struct thing things[3];
	struct vidmm_fragmentation found;

	row_init(&(struct gpu_config){ .is_physical = true }, eight, 0);
	for (int i = 0; i < 3; i++) {
		thing_init(&things[i], &scene.client, MIB, SET_APERTURE);
		thing_write(&things[i], letter(i));
		thing_bring_in(&things[i]);
	}
	thing_finish(&things[0]);
	turner_start(&turner, &scene.gpu);
	EXPECT_EQ(vidmm_defragment(scene.gpu.manager, SEGMENT_APERTURE, &downward), STATUS_SUCCESS);
	turner_stop(&turner);
	EXPECT(vidmm_fragmentation(scene.gpu.manager, SEGMENT_APERTURE, &found));
	EXPECT_EQ(found.largest_gap_bytes, 14 * MIB);
	EXPECT_EQ(scene.gpu.copied_out_bytes + scene.gpu.copied_in_bytes, 0);
	EXPECT(thing_holds(&things[1], letter(1)));
	EXPECT(thing_holds(&things[2], letter(2)));
	thing_finish(&things[1]);
	thing_finish(&things[2]);
	row_finish();
}

/* ---- what keeps its place, or its kind of place ---- */

TEST(defragment, what_is_unmoveable_or_pinned_stays)
{
	struct vidmm_wishes wishes;

	row_init(&physical, eight, 4);
	wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);
	wishes.traits.is_unmoveable = true;
	row_add(&wishes);
	wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);
	wishes.traits.is_pinned = true;
	row_add(&wishes);
	row_take_out(0);
	row_take_out(2);
	put_in_order(&downward);
	EXPECT_EQ(first_mib(4), 4);
	EXPECT_EQ(first_mib(5), 5);
	EXPECT(fragmentation().largest_gap_bytes >= 2 * MIB);
	row_finish();
}

TEST(defragment, what_wished_for_a_bank_and_is_there_stays_in_it)
{
	static const uint64_t ends[] = { 2 * MIB, 6 * MIB };
	static const struct gpu_config config = { .is_physical = true,
						  .bank_ends = ends,
						  .bank_count = 3 };

	row_init(&config, eight, 0);
	for (int i = 0; i < 4; i++) {
		struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);

		wishes.preferred_segments = SEGMENT_LOCAL;
		wishes.hinted_banks = 2;
		row_add(&wishes);
	}
	row_take_out(0);
	row_take_out(2);
	EXPECT_EQ(first_mib(1), 3);
	EXPECT_EQ(first_mib(3), 5);
	put_in_order(&downward);
	EXPECT(first_mib(1) >= 2 && first_mib(1) <= 3);
	EXPECT(first_mib(3) >= 2 && first_mib(3) <= 3);
	row_finish();
}

TEST(defragment, alignment_is_kept)
{
	struct vidmm_wishes wishes;

	row_init(&physical, eight, 1);
	wishes = thing_wishes(&scene.gpu, 64 * KIB, SET_LOCAL);
	row_add(&wishes);
	row_add(&wishes);
	wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);
	wishes.alignment_bytes = MIB;
	row_add(&wishes);
	EXPECT_EQ(first_mib(3), 2);
	row_take_out(1);
	put_in_order(&downward);
	EXPECT_EQ(page_set_runs(&binding_place(&row.things[3].binding)->pages)[0].first_page *
			  PAGE % MIB,
		  0);
	row_take_out(0);
	put_in_order(&downward);
	EXPECT_EQ(first_mib(3), 0);
	row_finish();
}

TEST(defragment, the_end_of_the_last_granule_is_zero)
{
	static const struct gpu_config config = { .uses_64k_pages = true };
	struct vidmm_wishes wishes;
	struct vidmm_place *place;

	row_init(&config, eight, 2);
	wishes = thing_wishes(&scene.gpu, 20 * KIB, SET_LOCAL);
	row_add(&wishes);
	row_take_out(0);
	/* What nobody wrote there. */
	memset(scene.gpu.local, 'x', MIB);
	put_in_order(&downward);
	place = binding_place(&row.things[2].binding);
	char *bytes = scene.gpu.local + place->pages.one.first_page * PAGE;
	EXPECT_EQ(place->pages.one.count, 64 * KIB / PAGE);
	EXPECT_EQ(place->pages.one.first_page, 0);
	EXPECT(is_all(bytes, 20 * KIB, letter(2)));
	EXPECT(is_all(bytes + 20 * KIB, 44 * KIB, 0));
	row_finish();
}

TEST(defragment, the_driver_is_told_before_and_after_the_copy)
{
	struct vidmm_wishes wishes;

	row_init(NULL, eight, 1);
	wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);
	wishes.traits.wants_residency_news = true;
	wishes.traits.is_accessed_physically = true;
	row_add(&wishes);
	row_take_out(0);
	memset(scene.gpu.log, 0, sizeof(scene.gpu.log));
	put_in_order(&downward);
	EXPECT_STR(scene.gpu.log, "ncN");
	row_finish();
}

/* ---- what goes on meanwhile ---- */

static void begin(struct defragment *order)
{
	enum defragment_round round;

	defragment_init(order, scene.gpu.manager, SEGMENT_LOCAL, &downward);
	EXPECT_EQ(defragment_step(order, &round), STATUS_SUCCESS);
	EXPECT_EQ(round, DEFRAGMENT_SHIFTS);
}

ROW_TEST(meanwhile, work_that_uses_it_is_waited_for_and_new_work_waits, row_with_holes(&physical))
{
	struct defragment order;

	gpu_work(&scene.client);
	begin(&order);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	gpu_retire(&scene.client);
	EXPECT_EQ(gpu_ready(&scene.gpu), 2);
	gpu_run(&scene.gpu, 1);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	gpu_run(&scene.gpu, 1);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
}

/* Several are on their way at once. */
ROW_TEST(meanwhile, a_call_that_wants_it_is_answered_when_it_is_there, row_with_holes(&physical))
{
	struct defragment order;
	uint64_t bytes;

	begin(&order);
	EXPECT_EQ(gpu_ready(&scene.gpu), 2);
	EXPECT(thing_is_in(&row.things[7]));
	struct vidmm_binding *list[] = { &row.things[7].binding };
	row.things[7].done = 0;
	EXPECT_EQ(vidmm_make_resident(list[0]->device, list, 1, 0, &row.things[7].request, &bytes),
		  STATUS_PENDING);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(row.things[7].done, 1);
	EXPECT_EQ(row.things[7].status, STATUS_SUCCESS);
}

ROW_TEST(meanwhile, an_eviction_comes_behind_it, row_with_holes(&physical))
{
	struct defragment order;

	begin(&order);
	EXPECT_EQ(thing_evict(&row.things[7], 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&row.things[7]));
}

ROW_TEST(meanwhile, what_is_destroyed_goes, row_with_holes(&physical))
{
	struct defragment order;

	begin(&order);
	row_take_out(7);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
}

/* Its room is another's only when it has left it. */
ROW_TEST(meanwhile, who_needs_room_waits_for_what_it_leaves, row_with_holes(&physical))
{
	struct defragment order;
	struct thing large;

	begin(&order);
	thing_init(&large, &scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&large), STATUS_PENDING);
	EXPECT_EQ(gpu_ready(&scene.gpu), 2);
	gpu_run(&scene.gpu, 9);
	EXPECT(thing_is_in(&large));
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
	thing_finish(&large);
}

ROW_TEST(meanwhile, a_reset_loses_it_here_and_there, row_with_holes(&physical))
{
	struct defragment order;

	begin(&order);
	vidmm_device_lose(&scene.client.device);
	scene.gpu.generation++;
	memset(scene.gpu.local, 'x', scene.gpu.memory.local_bytes);
	vidmm_reset(scene.gpu.manager);
	scene.gpu.next_status = STATUS_DEVICE_REMOVED;
	/* The one failed, the other was done in the last moment. */
	EXPECT_EQ(gpu_run(&scene.gpu, 2), 2);
	gpu_check(&scene.gpu);
	for (int i = 1; i < MOST; i += 2) {
		EXPECT(!thing_is_in(&row.things[i]));
		EXPECT_EQ(allocation_content(row.things[i].memory), VIDMM_CONTENT_NONE);
		row_take_out(i);
	}
	EXPECT_EQ(fragmentation().free_bytes, 8 * MIB);
}

/* ---- failures ---- */

static void expect_whole_after_failure(const struct vidmm_defragmentation *how)
{
	put_in_order(how);
	scene.gpu.fail_op = 0;
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	row_check();
	for (int i = 1; i < MOST; i += 2)
		EXPECT(thing_is_in(&row.things[i]));
}

TEST(failure, of_any_operation_leaves_everything_intact)
{
	for (uint32_t n = 1; n <= 4; n++) {
		row_with_holes(&physical);
		scene.gpu.fail_op = n;
		expect_whole_after_failure(&downward);
		/* Whatever it was, it goes another way then. */
		EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
		row_finish();
	}
}

TEST(failure, of_any_operation_of_a_slide_leaves_everything_intact)
{
	for (uint32_t n = 1; n <= 6; n++) {
		row_that_slides();
		scene.gpu.fail_op = n;
		put_in_order(&downward);
		scene.gpu.fail_op = 0;
		row_check();
		EXPECT(thing_is_in(&row.things[2]) && thing_is_in(&row.things[4]));
		row_finish();
	}
}

/* Of a driver that cannot copy within a segment at all. */
ROW_TEST(failure, of_the_driver_sends_them_out_and_in, row_with_holes(&physical))
{
	enum defragment_round round;
	struct defragment order;

	defragment_init(&order, scene.gpu.manager, SEGMENT_LOCAL, &downward);
	for (int rounds = 0; rounds < ROUNDS_MAX; rounds++) {
		EXPECT_EQ(defragment_step(&order, &round), STATUS_SUCCESS);
		if (round == DEFRAGMENT_DONE)
			break;
		while (gpu_ready(&scene.gpu) > 0) {
			if (round == DEFRAGMENT_SHIFTS)
				scene.gpu.next_status = STATUS_DRIVER_INTERNAL_ERROR;
			gpu_run(&scene.gpu, 1);
		}
	}
	EXPECT_EQ(round, DEFRAGMENT_DONE);
	EXPECT_EQ(scene.gpu.copied_within_bytes, 0);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
}

TEST(failure, of_memory_leaves_everything_intact)
{
	EACH_FAILURE (failing, 5) {
		enum defragment_round round = DEFRAGMENT_SHIFTS;
		NTSTATUS status = STATUS_SUCCESS;
		struct defragment order;

		row_that_slides();
		defragment_init(&order, scene.gpu.manager, SEGMENT_LOCAL, &downward);
		failing_start(&failing);
		while (NT_SUCCESS(status) && round != DEFRAGMENT_DONE) {
			status = defragment_step(&order, &round);
			gpu_run(&scene.gpu, 9);
		}
		bool has_fired = failing_stop(&failing);
		EXPECT(status == STATUS_SUCCESS || (has_fired && status == STATUS_NO_MEMORY));
		row_finish();
	}
}

/* ---- verified ---- */

ROW_TEST(verify, what_is_the_same_is_moved, row_with_holes(NULL))
{
	struct turner turner;

	turner_start(&turner, &scene.gpu);
	EXPECT_EQ(vidmm_defragment(scene.gpu.manager, SEGMENT_LOCAL, &verified), STATUS_SUCCESS);
	turner_stop(&turner);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
	EXPECT_STR(scene.gpu.log + strlen(scene.gpu.log) - 4, "cscs");
}

ROW_TEST(verify, what_is_not_the_same_stays_and_is_told, row_with_holes(NULL))
{
	struct turner turner;

	scene.gpu.copies_wrong = true;
	turner_start(&turner, &scene.gpu);
	EXPECT_EQ(vidmm_defragment(scene.gpu.manager, SEGMENT_LOCAL, &verified),
		  STATUS_UNSUCCESSFUL);
	EXPECT_RULE("MM-VERIFY-TRANSFER");
	turner_stop(&turner);
	EXPECT_EQ(scene.gpu.manager->wrong_transfers.offset_bytes, MIB - 1);
	for (int i = 1; i < MOST; i += 2)
		EXPECT_EQ(first_mib(i), i);
	EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
}

ROW_TEST(verify, where_the_cpu_sees_nothing_is_refused,
	 row_with_holes(&(struct gpu_config){ .is_hidden = true }))
{
	EXPECT_EQ(vidmm_defragment(scene.gpu.manager, SEGMENT_LOCAL, &verified),
		  STATUS_NOT_SUPPORTED);
	EXPECT_RULE("MM-VERIFY-TRANSFER");
	EXPECT_EQ(vidmm_defragment(scene.gpu.manager, SEGMENT_APERTURE, &verified),
		  STATUS_NOT_SUPPORTED);
}

/* ---- what the CPU has locked ---- */

/* Everything that is there is locked; what is read and written at those addresses is in the row. */
static void row_lock(char *bytes[MOST])
{
	void *pointer;

	for (int i = 0; i < row.count; i++) {
		if (!row.is_there[i])
			continue;
		EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, row.things[i].memory, 0, &pointer),
			  STATUS_SUCCESS);
		bytes[i] = pointer;
	}
}

static void row_unlock(char *bytes[MOST])
{
	for (int i = 0; i < row.count; i++) {
		if (!row.is_there[i])
			continue;
		EXPECT(is_all(bytes[i], MIB, letter(i)));
		memset(bytes[i], '!', MIB);
		EXPECT(thing_holds(&row.things[i], '!'));
		memset(bytes[i], letter(i), MIB);
		EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, row.things[i].memory));
	}
}

TEST(locked, moves_without_a_copy_and_keeps_its_address)
{
	const struct gpu_config *configs[] = { &physical, NULL };

	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		char *bytes[MOST];

		row_with_holes(configs[i]);
		row_lock(bytes);
		put_in_order(&downward);
		EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
		EXPECT_EQ(scene.gpu.copied_within_bytes, 0);
		EXPECT_EQ(scene.gpu.copied_out_bytes, 0);
		row_unlock(bytes);
		EXPECT_EQ(machine_exchange_usage().reserved_mappings, 0);
		row_finish();
	}
}

ROW_TEST(locked, nothing_of_it_is_compared_because_nothing_is_copied, row_with_holes(NULL))
{
	char *bytes[MOST];

	row_lock(bytes);
	put_in_order(&verified);
	EXPECT_EQ(fragmentation().largest_gap_bytes, 4 * MIB);
	EXPECT_EQ(scene.gpu.manager->wrong_transfers.count, 0);
	row_unlock(bytes);
}

ROW_TEST(locked, stays_where_no_mapping_is_left_for_it, row_with_holes(&physical))
{
	char *bytes[MOST];

	row_lock(bytes);
	EXPECT(machine_reserve_mappings(0));
	struct machine_exchange_usage usage = machine_exchange_usage();
	uint64_t left = usage.max_mappings - usage.mappings - usage.reserved_mappings;
	EXPECT(machine_reserve_mappings(left));
	put_in_order(&downward);
	for (int i = 1; i < MOST; i += 2)
		EXPECT_EQ(first_mib(i), (uint64_t)i);
	machine_release_mappings(left);
	row_unlock(bytes);
}

TEST(locked, survives_a_reset_on_its_way)
{
	for (int is_late = 0; is_late < 2; is_late++) {
		struct defragment order;
		char *bytes[MOST];

		row_with_holes(&physical);
		row_lock(bytes);
		begin(&order);
		if (is_late)
			gpu_run(&scene.gpu, 1);
		vidmm_device_lose(&scene.client.device);
		scene.gpu.generation++;
		vidmm_reset(scene.gpu.manager);
		scene.gpu.next_status = STATUS_DEVICE_REMOVED;
		gpu_run(&scene.gpu, 9);
		gpu_check(&scene.gpu);
		for (int i = 1; i < MOST; i += 2)
			EXPECT(thing_is_in(&row.things[i]));
		row_unlock(bytes);
		row_finish();
	}
}

TEST(locked, failure_of_any_operation_leaves_everything_intact)
{
	for (uint32_t n = 1; n <= 4; n++) {
		char *bytes[MOST];

		row_with_holes(NULL);
		row_lock(bytes);
		scene.gpu.fail_op = n;
		expect_whole_after_failure(&downward);
		row_unlock(bytes);
		row_finish();
	}
}

TEST_MAIN("vidmm/defragment")
