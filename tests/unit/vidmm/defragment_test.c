/* SPDX-License-Identifier: MIT */
/*
 * defragment_test.c - a segment put in order, on a GPU that is turned by hand.
 */
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
struct row {
	struct scene scene;
	struct thing things[MOST];
	bool is_there[MOST];
	int count;
};

static char letter(int i)
{
	return (char)('a' + i);
}

static void row_add(struct row *row, const struct vidmm_wishes *wishes)
{
	int i = row->count++;

	thing_init_as(&row->things[i], &row->scene.client, wishes);
	thing_write(&row->things[i], letter(i));
	thing_bring_in(&row->things[i]);
	row->is_there[i] = true;
}

static void row_init(struct row *row, const struct gpu_config *config, const unsigned mib[],
		     int count)
{
	memset(row, 0, sizeof(*row));
	scene_init(&row->scene, config);
	for (int i = 0; i < count; i++) {
		struct vidmm_wishes wishes = thing_wishes(&row->scene.gpu, mib[i] * MIB, SET_LOCAL);

		row_add(row, &wishes);
	}
}

static void row_take_out(struct row *row, int i)
{
	thing_finish(&row->things[i]);
	row->is_there[i] = false;
}

/* What is there holds what was written. */
static void row_check(struct row *row)
{
	gpu_check(&row->scene.gpu);
	for (int i = 0; i < row->count; i++) {
		if (row->is_there[i])
			EXPECT(thing_holds(&row->things[i], letter(i)));
	}
}

static void row_finish(struct row *row)
{
	row_check(row);
	for (int i = 0; i < row->count; i++) {
		if (row->is_there[i])
			thing_finish(&row->things[i]);
	}
	scene_finish(&row->scene);
}

static uint64_t first_mib(const struct row *row, int i)
{
	return page_set_runs(&binding_place(&row->things[i].binding)->pages)[0].first_page * PAGE /
	       MIB;
}

static struct vidmm_fragmentation fragmentation(struct row *row)
{
	struct vidmm_fragmentation found;

	EXPECT(vidmm_fragmentation(row->scene.gpu.manager, SEGMENT_LOCAL, &found));
	return found;
}

/* Turned by hand, round by round. Returns how many there were. */
static unsigned put_in_order(struct row *row, const struct vidmm_defragmentation *how)
{
	enum defragment_round round;
	struct defragment order;
	unsigned rounds = 0;

	defragment_init(&order, row->scene.gpu.manager, SEGMENT_LOCAL, how);
	for (; rounds < ROUNDS_MAX; rounds++) {
		EXPECT_EQ(defragment_step(&order, &round), STATUS_SUCCESS);
		if (round == DEFRAGMENT_DONE)
			return rounds;
		gpu_check(&row->scene.gpu);
		gpu_run(&row->scene.gpu, 100);
		gpu_check(&row->scene.gpu);
	}
	EXPECT(false);
	return rounds;
}

static const struct gpu_config physical = { .is_physical = true };
static const unsigned eight[MOST] = { 1, 1, 1, 1, 1, 1, 1, 1 };

/* Every second MiB is free. */
static void row_with_holes(struct row *row, const struct gpu_config *config)
{
	row_init(row, config, eight, MOST);
	for (int i = 0; i < MOST; i += 2)
		row_take_out(row, i);
	EXPECT_EQ(fragmentation(row).free_bytes, 4 * MIB);
	EXPECT_EQ(fragmentation(row).largest_gap_bytes, MIB);
}

static void expect_nothing_left_the_segment(struct row *row)
{
	struct vidmm_segment_usage usage;

	EXPECT_EQ(row->scene.gpu.copied_out_bytes, 0);
	EXPECT(vidmm_segment_usage(row->scene.gpu.manager, SEGMENT_LOCAL, &usage));
	EXPECT_EQ(usage.evicted_bytes, 0);
	EXPECT_EQ(usage.traffic.shifted.bytes, row->scene.gpu.copied_within_bytes);
}

/* ---- what comes of it ---- */

TEST(defragment, makes_room_for_what_must_be_in_one_piece)
{
	struct row row;
	struct thing large;

	row_with_holes(&row, &physical);
	put_in_order(&row, &downward);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
	row_check(&row);
	thing_init(&large, &row.scene.client, 4 * MIB, SET_LOCAL);
	thing_bring_in(&large);
	expect_nothing_left_the_segment(&row);
	/* The two above the middle went into the holes below it: not one more. */
	EXPECT_EQ(row.scene.gpu.copied_within_bytes, 2 * MIB);
	thing_finish(&large);
	row_finish(&row);
}

TEST(defragment, behind_page_tables_is_the_same)
{
	struct row row;

	row_with_holes(&row, NULL);
	put_in_order(&row, &downward);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
	expect_nothing_left_the_segment(&row);
	row_finish(&row);
}

TEST(defragment, returns_when_it_is_done)
{
	struct row row;
	struct turner turner;

	row_with_holes(&row, &physical);
	turner_start(&turner, &row.scene.gpu);
	EXPECT_EQ(vidmm_defragment(row.scene.gpu.manager, SEGMENT_LOCAL, &downward),
		  STATUS_SUCCESS);
	turner_stop(&turner);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
	expect_nothing_left_the_segment(&row);
	row_finish(&row);
}

TEST(defragment, upward_leaves_the_lower_end_free)
{
	struct row row;

	row_with_holes(&row, &physical);
	put_in_order(&row, &upward);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
	for (int i = 1; i < MOST; i += 2)
		EXPECT(first_mib(&row, i) >= 4);
	expect_nothing_left_the_segment(&row);
	row_finish(&row);
}

TEST(defragment, moves_nothing_where_nothing_is_gained)
{
	struct row row;

	row_init(&row, &physical, eight, 3);
	EXPECT_EQ(put_in_order(&row, &downward), 0);
	row_take_out(&row, 2);
	EXPECT_EQ(put_in_order(&row, &downward), 0);
	row_take_out(&row, 0);
	put_in_order(&row, &downward);
	EXPECT_EQ(put_in_order(&row, &downward), 0);
	EXPECT_EQ(row.scene.gpu.copied_within_bytes, MIB);
	row_finish(&row);
}

/* |- - - -|x|a|x|-|: in the large gap it would stand in the way, and leave a small one. */
TEST(defragment, takes_no_gap_for_one_that_would_be_smaller)
{
	struct row row;

	row_init(&row, &physical, (const unsigned[]){ 4 }, 1);
	for (int i = 1; i < 4; i++) {
		struct vidmm_wishes wishes = thing_wishes(&row.scene.gpu, MIB, SET_LOCAL);

		wishes.traits.is_unmoveable = i != 2;
		row_add(&row, &wishes);
	}
	row_take_out(&row, 0);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
	EXPECT_EQ(put_in_order(&row, &downward), 0);
	EXPECT_EQ(first_mib(&row, 2), 5);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
	row_finish(&row);
}

/* |-|a a|-|: the gap below it and itself would be room enough, were it not in it. */
TEST(defragment, never_copies_over_itself)
{
	static const unsigned sizes[] = { 1, 2, 5 };
	struct row row;

	row_init(&row, &physical, sizes, 3);
	row_take_out(&row, 0);
	row_take_out(&row, 2);
	EXPECT_EQ(first_mib(&row, 1), 1);
	put_in_order(&row, &downward); /* gpu.c sees to it */
	EXPECT_EQ(first_mib(&row, 1), 0);
	EXPECT_EQ(row.scene.gpu.copied_within_bytes, 4 * MIB);
	expect_nothing_left_the_segment(&row);
	row_finish(&row);
}

/* |a|-|b b|-|c c|- - -|, and c fits nowhere below itself, nor does b. */
static void row_that_slides(struct row *row)
{
	static const unsigned sizes[] = { 1, 1, 2, 1, 2 };
	static const struct gpu_config config = { .is_physical = true, .local_bytes = 10 * MIB };

	row_init(row, &config, sizes, 5);
	row_take_out(row, 1);
	row_take_out(row, 3);
}

TEST(defragment, what_does_not_fit_stands_aside_and_slides)
{
	struct row row;

	row_that_slides(&row);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 3 * MIB);
	put_in_order(&row, &downward);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 5 * MIB);
	EXPECT_EQ(first_mib(&row, 0), 0);
	EXPECT_EQ(first_mib(&row, 2), 1);
	EXPECT_EQ(first_mib(&row, 4), 3);
	expect_nothing_left_the_segment(&row);
	row_finish(&row);
}

/* |a a a|-|b b b|-|: neither finds room to stand aside. */
TEST(defragment, without_room_to_stand_aside_it_goes_out_and_in)
{
	static const unsigned sizes[] = { 3, 1, 3, 1 };
	struct row row;

	row_init(&row, &physical, sizes, 4);
	row_take_out(&row, 1);
	row_take_out(&row, 3);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, MIB);
	put_in_order(&row, &downward);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 2 * MIB);
	EXPECT_EQ(row.scene.gpu.copied_out_bytes, 3 * MIB);
	EXPECT(thing_is_in(&row.things[2]));
	row_finish(&row);
}

TEST(defragment, a_scattered_one_comes_to_be_in_one_piece)
{
	static const struct gpu_config config = { .local_bytes = 16 * MIB };
	struct row row;
	struct thing scattered;

	row_init(&row, &config, eight, MOST);
	for (int i = 0; i < MOST; i += 2)
		row_take_out(&row, i);
	thing_init(&scattered, &row.scene.client, 10 * MIB, SET_LOCAL);
	thing_write(&scattered, 'S');
	thing_bring_in(&scattered);
	EXPECT(binding_place(&scattered.binding)->pages.run_count > 1);
	for (int i = 1; i < MOST; i += 2)
		row_take_out(&row, i);
	put_in_order(&row, &downward);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 6 * MIB);
	EXPECT(thing_holds(&scattered, 'S'));
	thing_finish(&scattered);
	row_finish(&row);
}

TEST(defragment, in_an_aperture_all_is_mapped_anew)
{
	struct row row;
	struct turner turner;
	struct thing things[3];
	struct vidmm_fragmentation found;

	row_init(&row, &(struct gpu_config){ .is_physical = true }, eight, 0);
	for (int i = 0; i < 3; i++) {
		thing_init(&things[i], &row.scene.client, MIB, SET_APERTURE);
		thing_write(&things[i], letter(i));
		thing_bring_in(&things[i]);
	}
	thing_finish(&things[0]);
	turner_start(&turner, &row.scene.gpu);
	EXPECT_EQ(vidmm_defragment(row.scene.gpu.manager, SEGMENT_APERTURE, &downward),
		  STATUS_SUCCESS);
	turner_stop(&turner);
	EXPECT(vidmm_fragmentation(row.scene.gpu.manager, SEGMENT_APERTURE, &found));
	EXPECT_EQ(found.largest_gap_bytes, 14 * MIB);
	EXPECT_EQ(row.scene.gpu.copied_out_bytes + row.scene.gpu.copied_in_bytes, 0);
	EXPECT(thing_holds(&things[1], letter(1)));
	EXPECT(thing_holds(&things[2], letter(2)));
	thing_finish(&things[1]);
	thing_finish(&things[2]);
	row_finish(&row);
}

/* ---- what keeps its place, or its kind of place ---- */

TEST(defragment, what_is_locked_or_unmoveable_or_pinned_stays)
{
	struct row row;
	struct vidmm_wishes wishes;
	void *pointer;

	row_init(&row, &physical, eight, 4);
	wishes = thing_wishes(&row.scene.gpu, MIB, SET_LOCAL);
	wishes.traits.is_unmoveable = true;
	row_add(&row, &wishes);
	wishes = thing_wishes(&row.scene.gpu, MIB, SET_LOCAL);
	wishes.traits.is_pinned = true;
	row_add(&row, &wishes);
	row_take_out(&row, 0);
	row_take_out(&row, 2);
	EXPECT_EQ(vidmm_lock_anywhere(row.scene.gpu.manager, row.things[1].memory, 0, &pointer),
		  STATUS_SUCCESS);
	put_in_order(&row, &downward);
	EXPECT_EQ(first_mib(&row, 1), 1);
	EXPECT_EQ(first_mib(&row, 4), 4);
	EXPECT_EQ(first_mib(&row, 5), 5);
	/* Unlocked, it may. */
	EXPECT(vidmm_unlock_anywhere(row.scene.gpu.manager, row.things[1].memory));
	EXPECT(fragmentation(&row).largest_gap_bytes >= 2 * MIB);
	row_finish(&row);
}

TEST(defragment, what_wished_for_a_bank_and_is_there_stays_in_it)
{
	static const uint64_t ends[] = { 2 * MIB, 6 * MIB };
	static const struct gpu_config config = { .is_physical = true,
						  .bank_ends = ends,
						  .bank_count = 3 };
	struct row row;

	row_init(&row, &config, eight, 0);
	for (int i = 0; i < 4; i++) {
		struct vidmm_wishes wishes = thing_wishes(&row.scene.gpu, MIB, SET_LOCAL);

		wishes.preferred_segments = SEGMENT_LOCAL;
		wishes.hinted_banks = 2;
		row_add(&row, &wishes);
	}
	row_take_out(&row, 0);
	row_take_out(&row, 2);
	EXPECT_EQ(first_mib(&row, 1), 3);
	EXPECT_EQ(first_mib(&row, 3), 5);
	put_in_order(&row, &downward);
	EXPECT(first_mib(&row, 1) >= 2 && first_mib(&row, 1) <= 3);
	EXPECT(first_mib(&row, 3) >= 2 && first_mib(&row, 3) <= 3);
	row_finish(&row);
}

TEST(defragment, alignment_is_kept)
{
	struct row row;
	struct vidmm_wishes wishes;

	row_init(&row, &physical, eight, 1);
	wishes = thing_wishes(&row.scene.gpu, 64 * KIB, SET_LOCAL);
	row_add(&row, &wishes);
	row_add(&row, &wishes);
	wishes = thing_wishes(&row.scene.gpu, MIB, SET_LOCAL);
	wishes.alignment_bytes = MIB;
	row_add(&row, &wishes);
	EXPECT_EQ(first_mib(&row, 3), 2);
	row_take_out(&row, 1);
	put_in_order(&row, &downward);
	EXPECT_EQ(page_set_runs(&binding_place(&row.things[3].binding)->pages)[0].first_page *
			  PAGE % MIB,
		  0);
	row_take_out(&row, 0);
	put_in_order(&row, &downward);
	EXPECT_EQ(first_mib(&row, 3), 0);
	row_finish(&row);
}

TEST(defragment, the_end_of_the_last_granule_is_zero)
{
	static const struct gpu_config config = { .uses_64k_pages = true };
	struct row row;
	struct vidmm_wishes wishes;
	struct vidmm_place *place;

	row_init(&row, &config, eight, 2);
	wishes = thing_wishes(&row.scene.gpu, 20 * KIB, SET_LOCAL);
	row_add(&row, &wishes);
	row_take_out(&row, 0);
	/* What nobody wrote there. */
	memset(row.scene.gpu.local, 'x', MIB);
	put_in_order(&row, &downward);
	place = binding_place(&row.things[2].binding);
	char *bytes = row.scene.gpu.local + place->pages.one.first_page * PAGE;
	EXPECT_EQ(place->pages.one.count, 64 * KIB / PAGE);
	EXPECT_EQ(place->pages.one.first_page, 0);
	EXPECT(is_all(bytes, 20 * KIB, letter(2)));
	EXPECT(is_all(bytes + 20 * KIB, 44 * KIB, 0));
	row_finish(&row);
}

TEST(defragment, the_driver_is_told_before_and_after_the_copy)
{
	struct row row;
	struct vidmm_wishes wishes;

	row_init(&row, NULL, eight, 1);
	wishes = thing_wishes(&row.scene.gpu, MIB, SET_LOCAL);
	wishes.traits.wants_residency_news = true;
	wishes.traits.is_accessed_physically = true;
	row_add(&row, &wishes);
	row_take_out(&row, 0);
	memset(row.scene.gpu.log, 0, sizeof(row.scene.gpu.log));
	put_in_order(&row, &downward);
	EXPECT_STR(row.scene.gpu.log, "ncN");
	row_finish(&row);
}

/* ---- what goes on meanwhile ---- */

static void begin(struct row *row, struct defragment *order)
{
	enum defragment_round round;

	defragment_init(order, row->scene.gpu.manager, SEGMENT_LOCAL, &downward);
	EXPECT_EQ(defragment_step(order, &round), STATUS_SUCCESS);
	EXPECT_EQ(round, DEFRAGMENT_SHIFTS);
}

TEST(meanwhile, work_that_uses_it_is_waited_for_and_new_work_waits)
{
	struct row row;
	struct defragment order;

	row_with_holes(&row, &physical);
	gpu_work(&row.scene.client);
	begin(&row, &order);
	EXPECT_EQ(gpu_ready(&row.scene.gpu), 0);
	EXPECT_EQ(row.scene.client.owner.suspensions, 1);
	gpu_retire(&row.scene.client);
	EXPECT_EQ(gpu_ready(&row.scene.gpu), 2);
	gpu_run(&row.scene.gpu, 1);
	EXPECT_EQ(row.scene.client.owner.suspensions, 1);
	gpu_run(&row.scene.gpu, 1);
	EXPECT_EQ(row.scene.client.owner.suspensions, 0);
	row_finish(&row);
}

/* Several are on their way at once. */
TEST(meanwhile, a_call_that_wants_it_is_answered_when_it_is_there)
{
	struct row row;
	struct defragment order;
	uint64_t bytes;

	row_with_holes(&row, &physical);
	begin(&row, &order);
	EXPECT_EQ(gpu_ready(&row.scene.gpu), 2);
	EXPECT(thing_is_in(&row.things[7]));
	struct vidmm_binding *list[] = { &row.things[7].binding };
	row.things[7].done = 0;
	EXPECT_EQ(vidmm_make_resident(list[0]->device, list, 1, 0, &row.things[7].request, &bytes),
		  STATUS_PENDING);
	gpu_run(&row.scene.gpu, 9);
	EXPECT_EQ(row.things[7].done, 1);
	EXPECT_EQ(row.things[7].status, STATUS_SUCCESS);
	row_finish(&row);
}

TEST(meanwhile, an_eviction_comes_behind_it)
{
	struct row row;
	struct defragment order;

	row_with_holes(&row, &physical);
	begin(&row, &order);
	EXPECT_EQ(thing_evict(&row.things[7], 0), STATUS_SUCCESS);
	gpu_run(&row.scene.gpu, 9);
	EXPECT(!thing_is_in(&row.things[7]));
	row_finish(&row);
}

TEST(meanwhile, what_is_destroyed_goes)
{
	struct row row;
	struct defragment order;

	row_with_holes(&row, &physical);
	begin(&row, &order);
	row_take_out(&row, 7);
	EXPECT_EQ(row.scene.gpu.copied_out_bytes, 0);
	row_finish(&row);
}

/* Its room is another's only when it has left it. */
TEST(meanwhile, who_needs_room_waits_for_what_it_leaves)
{
	struct row row;
	struct defragment order;
	struct thing large;

	row_with_holes(&row, &physical);
	begin(&row, &order);
	thing_init(&large, &row.scene.client, 4 * MIB, SET_LOCAL);
	EXPECT_EQ(thing_make_resident(&large), STATUS_PENDING);
	EXPECT_EQ(gpu_ready(&row.scene.gpu), 2);
	gpu_run(&row.scene.gpu, 9);
	EXPECT(thing_is_in(&large));
	EXPECT_EQ(row.scene.gpu.copied_out_bytes, 0);
	thing_finish(&large);
	row_finish(&row);
}

TEST(meanwhile, a_reset_loses_it_here_and_there)
{
	struct row row;
	struct defragment order;

	row_with_holes(&row, &physical);
	begin(&row, &order);
	vidmm_device_lose(&row.scene.client.device);
	row.scene.gpu.epoch++;
	memset(row.scene.gpu.local, 'x', row.scene.gpu.local_bytes);
	vidmm_reset(row.scene.gpu.manager);
	row.scene.gpu.next_status = STATUS_DEVICE_REMOVED;
	/* The one failed, the other was done in the last moment. */
	EXPECT_EQ(gpu_run(&row.scene.gpu, 2), 2);
	gpu_check(&row.scene.gpu);
	for (int i = 1; i < MOST; i += 2) {
		EXPECT(!thing_is_in(&row.things[i]));
		EXPECT_EQ(allocation_content(row.things[i].memory), VIDMM_CONTENT_NONE);
		row_take_out(&row, i);
	}
	EXPECT_EQ(fragmentation(&row).free_bytes, 8 * MIB);
	row_finish(&row);
}

/* ---- failures ---- */

static void expect_whole_after_failure(struct row *row, const struct vidmm_defragmentation *how)
{
	put_in_order(row, how);
	row->scene.gpu.fail_op = 0;
	EXPECT_EQ(row->scene.client.owner.suspensions, 0);
	row_check(row);
	for (int i = 1; i < MOST; i += 2)
		EXPECT(thing_is_in(&row->things[i]));
}

TEST(failure, of_any_operation_leaves_everything_intact)
{
	for (uint32_t n = 1; n <= 4; n++) {
		struct row row;

		row_with_holes(&row, &physical);
		row.scene.gpu.fail_op = n;
		expect_whole_after_failure(&row, &downward);
		/* Whatever it was, it goes another way then. */
		EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
		row_finish(&row);
	}
}

TEST(failure, of_any_operation_of_a_slide_leaves_everything_intact)
{
	for (uint32_t n = 1; n <= 6; n++) {
		struct row row;

		row_that_slides(&row);
		row.scene.gpu.fail_op = n;
		put_in_order(&row, &downward);
		row.scene.gpu.fail_op = 0;
		row_check(&row);
		EXPECT(thing_is_in(&row.things[2]) && thing_is_in(&row.things[4]));
		row_finish(&row);
	}
}

/* Of a driver that cannot copy within a segment at all. */
TEST(failure, of_the_driver_sends_them_out_and_in)
{
	struct row row;
	enum defragment_round round;
	struct defragment order;

	row_with_holes(&row, &physical);
	defragment_init(&order, row.scene.gpu.manager, SEGMENT_LOCAL, &downward);
	for (int rounds = 0; rounds < ROUNDS_MAX; rounds++) {
		EXPECT_EQ(defragment_step(&order, &round), STATUS_SUCCESS);
		if (round == DEFRAGMENT_DONE)
			break;
		while (gpu_ready(&row.scene.gpu) > 0) {
			if (round == DEFRAGMENT_SHIFTS)
				row.scene.gpu.next_status = STATUS_DRIVER_INTERNAL_ERROR;
			gpu_run(&row.scene.gpu, 1);
		}
	}
	EXPECT_EQ(round, DEFRAGMENT_DONE);
	EXPECT_EQ(row.scene.gpu.copied_within_bytes, 0);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
	row_finish(&row);
}

TEST(failure, of_memory_leaves_everything_intact)
{
	unsigned fail_at = 0;
	bool has_fired;

	do {
		enum defragment_round round = DEFRAGMENT_SHIFTS;
		NTSTATUS status = STATUS_SUCCESS;
		struct defragment order;
		struct row row;

		row_that_slides(&row);
		defragment_init(&order, row.scene.gpu.manager, SEGMENT_LOCAL, &downward);
		mem_fail_nth(++fail_at);
		while (NT_SUCCESS(status) && round != DEFRAGMENT_DONE) {
			status = defragment_step(&order, &round);
			gpu_run(&row.scene.gpu, 9);
		}
		has_fired = mem_fail_stop();
		EXPECT(status == STATUS_SUCCESS || (has_fired && status == STATUS_NO_MEMORY));
		row_finish(&row);
	} while (has_fired);
	EXPECT(fail_at > 5);
}

/* ---- verified ---- */

TEST(verify, what_is_the_same_is_moved)
{
	struct row row;
	struct turner turner;

	row_with_holes(&row, NULL);
	turner_start(&turner, &row.scene.gpu);
	EXPECT_EQ(vidmm_defragment(row.scene.gpu.manager, SEGMENT_LOCAL, &verified),
		  STATUS_SUCCESS);
	turner_stop(&turner);
	EXPECT_EQ(fragmentation(&row).largest_gap_bytes, 4 * MIB);
	EXPECT_STR(row.scene.gpu.log + strlen(row.scene.gpu.log) - 4, "cscs");
	row_finish(&row);
}

TEST(verify, what_is_not_the_same_stays_and_is_told)
{
	struct row row;
	struct turner turner;

	row_with_holes(&row, NULL);
	row.scene.gpu.copies_wrong = true;
	turner_start(&turner, &row.scene.gpu);
	EXPECT_EQ(vidmm_defragment(row.scene.gpu.manager, SEGMENT_LOCAL, &verified),
		  STATUS_UNSUCCESSFUL);
	EXPECT_RULE("MM-VERIFY-TRANSFER");
	turner_stop(&turner);
	EXPECT_EQ(row.scene.gpu.manager->wrong_transfers.offset_bytes, MIB - 1);
	for (int i = 1; i < MOST; i += 2)
		EXPECT_EQ(first_mib(&row, i), i);
	EXPECT_EQ(row.scene.gpu.copied_out_bytes, 0);
	row_finish(&row);
}

TEST(verify, where_the_cpu_sees_nothing_is_refused)
{
	struct row row;

	row_with_holes(&row, &(struct gpu_config){ .is_hidden = true });
	EXPECT_EQ(vidmm_defragment(row.scene.gpu.manager, SEGMENT_LOCAL, &verified),
		  STATUS_NOT_SUPPORTED);
	EXPECT_RULE("MM-VERIFY-TRANSFER");
	EXPECT_EQ(vidmm_defragment(row.scene.gpu.manager, SEGMENT_APERTURE, &verified),
		  STATUS_NOT_SUPPORTED);
	row_finish(&row);
}

TEST_MAIN("vidmm/defragment")
