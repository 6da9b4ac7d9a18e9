/* SPDX-License-Identifier: MIT */
/*
 * list_test.c - the physical model: what a submission refers to is in place while it runs.
 */
#include "scene.h"
#include "vidmm/control.h"

enum { THINGS = 4 };

static struct thing things[THINGS];

struct work {
	struct vidmm_allocation_list list;
	struct vidmm_allocation_list_entry entries[4];
	uint32_t done;
};

static void begin(uint64_t size_bytes, uint32_t segments)
{
	scene_init(&(struct gpu_config){ .is_physical = true, .is_by_lists = true });
	for (int i = 0; i < THINGS; i++)
		thing_init(&things[i], &scene.client, size_bytes, segments);
}

static void end(void)
{
	scene_finish();
}

static void on_ready(struct vidmm_request *request, NTSTATUS status)
{
	struct work *work = container_of(request, struct work, list.request);

	(void)status;
	work->done++;
}

static void work_init(struct work *work, uint32_t first, uint32_t count)
{
	memset(work, 0, sizeof(*work));
	work->list.device = &scene.client.device;
	work->list.entries = work->entries;
	work->list.count = count;
	work->list.request.done = on_ready;
	for (uint32_t i = 0; i < count; i++)
		work->entries[i].binding = &things[first + i].binding;
}

static NTSTATUS prepare(struct work *work)
{
	uint32_t fits;

	return vidmm_allocation_list_prepare(&work->list, &fits);
}

static void bring_in(struct work *work)
{
	EXPECT_EQ(prepare(work), STATUS_PENDING);
	gpu_run(&scene.gpu, 99);
}

/* Brought in, ready, done. */
static void use(uint32_t first, uint32_t count)
{
	struct work work;

	work_init(&work, first, count);
	bring_in(&work);
	EXPECT_EQ(prepare(&work), STATUS_SUCCESS);
	vidmm_allocation_list_release(&work.list);
}

TEST(list, everything_on_it_is_in_place_when_it_is_ready)
{
	struct work work;

	begin(2 * MIB, SET_LOCAL);
	thing_write(&things[1], 'x');
	work_init(&work, 0, 3);
	EXPECT_EQ(prepare(&work), STATUS_PENDING);
	EXPECT_EQ(prepare(&work), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 3);
	EXPECT_EQ(work.done, 1);
	EXPECT_EQ(prepare(&work), STATUS_SUCCESS);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(work.entries[i].segment, SEGMENT_LOCAL);
		EXPECT(scene.gpu.local + work.entries[i].offset_bytes == thing_byte(&things[i], 0));
	}
	EXPECT(thing_holds(&things[1], 'x'));
	vidmm_allocation_list_release(&work.list);
	end();
}

TEST(list, what_is_in_place_is_ready_at_once)
{
	struct work first;
	struct work second;

	begin(2 * MIB, SET_LOCAL);
	work_init(&first, 0, 2);
	work_init(&second, 0, 2);
	bring_in(&first);
	EXPECT_EQ(prepare(&second), STATUS_SUCCESS);
	vidmm_allocation_list_release(&first.list);
	vidmm_allocation_list_release(&second.list);
	end();
}

TEST(list, pins_until_it_is_released)
{
	struct work first;
	struct work second;

	begin(3 * MIB, SET_LOCAL);
	work_init(&first, 0, 2);
	work_init(&second, 2, 2);
	bring_in(&first);
	thing_render(&things[0], '0');
	EXPECT_EQ(prepare(&second), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	evict_segment(scene.gpu.manager, 0);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT_EQ(second.done, 0);
	vidmm_allocation_list_release(&first.list);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(second.done, 1);
	EXPECT_EQ(prepare(&second), STATUS_SUCCESS);
	vidmm_allocation_list_release(&second.list);
	EXPECT(thing_holds(&things[0], '0'));
	end();
}

TEST(list, says_how_much_of_it_fits)
{
	struct work work;
	uint32_t fits = 0;

	begin(3 * MIB, SET_LOCAL);
	work_init(&work, 0, 4);
	EXPECT_EQ(vidmm_allocation_list_prepare(&work.list, &fits), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-LIST-FITS");
	EXPECT_EQ(fits, 2);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	use(0, fits);
	end();
}

TEST(list, what_does_not_fit_locally_goes_to_the_aperture_where_it_may)
{
	struct work work;
	uint32_t in_aperture = 0;

	begin(3 * MIB, SET_LOCAL | SET_APERTURE);
	work_init(&work, 0, 4);
	EXPECT_EQ(prepare(&work), STATUS_PENDING);
	gpu_run(&scene.gpu, 20);
	EXPECT_EQ(prepare(&work), STATUS_SUCCESS);
	for (int i = 0; i < 4; i++)
		in_aperture += work.entries[i].segment == SEGMENT_APERTURE;
	EXPECT_EQ(in_aperture, 2);
	vidmm_allocation_list_release(&work.list);
	end();
}

TEST(list, offered_memory_is_refused)
{
	struct work work;

	begin(MIB, SET_LOCAL);
	EXPECT_EQ(vidmm_binding_offer(&things[1].binding, VIDMM_OFFER_LOW, false, false),
		  STATUS_SUCCESS);
	work_init(&work, 0, 2);
	EXPECT_EQ(prepare(&work), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-USE-OFFERED");
	end();
}

TEST(list, one_that_waits_can_be_given_up)
{
	struct work first;
	struct work second;

	begin(4 * MIB, SET_LOCAL);
	work_init(&first, 0, 2);
	work_init(&second, 2, 2);
	bring_in(&first);
	EXPECT_EQ(prepare(&second), STATUS_PENDING);
	vidmm_allocation_list_release(&second.list);
	EXPECT_EQ(second.done, 0);
	vidmm_allocation_list_release(&first.list);
	gpu_check(&scene.gpu);
	end();
}

TEST(list, the_longest_unused_goes_first)
{
	struct work work;

	begin(2 * MIB, SET_LOCAL);
	struct thing last;
	for (uint32_t i = 0; i < 4; i++)
		use(i, 1);
	work_init(&work, 0, 1);
	EXPECT_EQ(prepare(&work), STATUS_SUCCESS);
	vidmm_allocation_list_release(&work.list);
	thing_init(&last, &scene.client, 2 * MIB, SET_LOCAL);
	work_init(&work, 0, 1);
	work.entries[0].binding = &last.binding;
	bring_in(&work);
	EXPECT_EQ(prepare(&work), STATUS_SUCCESS);
	vidmm_allocation_list_release(&work.list);
	EXPECT(thing_is_in(&things[0]));
	EXPECT(!thing_is_in(&things[1]));
	thing_finish(&last);
	end();
}

/* Between what it holds already there is room enough, but not in one piece. */
TEST(list, what_stands_in_its_own_way_is_put_together_anew)
{
	struct work work;
	struct thing large;

	begin(2 * MIB, SET_LOCAL); /* of 8 MiB */
	thing_init(&large, &scene.client, 4 * MIB, SET_LOCAL);
	for (uint32_t i = 0; i < 4; i++)
		use(i, 1);
	thing_render(&things[1], '1');
	thing_render(&things[3], '3');
	/* The second and the fourth quarter, and a half. */
	work_init(&work, 0, 3);
	work.entries[0].binding = &things[1].binding;
	work.entries[1].binding = &things[3].binding;
	work.entries[2].binding = &large.binding;
	bring_in(&work);
	EXPECT_EQ(work.done, 1);
	EXPECT_EQ(prepare(&work), STATUS_SUCCESS);
	EXPECT(thing_is_in(&large));
	EXPECT(thing_holds(&things[1], '1'));
	EXPECT(thing_holds(&things[3], '3'));
	vidmm_allocation_list_release(&work.list);
	gpu_check(&scene.gpu);
	thing_finish(&large);
	end();
}

TEST(list, a_look_says_how_much_of_it_fits_and_starts_nothing)
{
	struct work work;
	uint32_t fits = 0;

	begin(3 * MIB, SET_LOCAL);
	work_init(&work, 0, 4);
	EXPECT_EQ(vidmm_allocation_list_check(&work.list, &fits), STATUS_SUCCESS);
	EXPECT_EQ(fits, 2);
	EXPECT_EQ(vidmm_allocation_list_fits(&work.list), 2);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT_EQ(vidmm_binding_offer(&things[3].binding, VIDMM_OFFER_LOW, false, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_allocation_list_check(&work.list, &fits), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-USE-OFFERED");
	end();
}

TEST(list, is_located_where_it_is_and_only_there)
{
	struct work first;
	struct work both;

	begin(2 * MIB, SET_LOCAL);
	work_init(&first, 0, 1);
	work_init(&both, 0, 2);
	EXPECT(!vidmm_allocation_list_locate(&first.list));
	bring_in(&first);
	EXPECT(!vidmm_allocation_list_locate(&both.list));
	both.list.count = 1;
	EXPECT(vidmm_allocation_list_locate(&both.list));
	EXPECT_EQ(prepare(&first), STATUS_SUCCESS);
	EXPECT_EQ(both.entries[0].segment, SEGMENT_LOCAL);
	EXPECT_EQ(both.entries[0].offset_bytes, first.entries[0].offset_bytes);
	vidmm_allocation_list_release(&first.list);
	end();
}

TEST(list, a_release_says_whether_it_still_waited)
{
	struct work work;

	begin(2 * MIB, SET_LOCAL);
	work_init(&work, 0, 1);
	EXPECT_EQ(prepare(&work), STATUS_PENDING);
	EXPECT(vidmm_allocation_list_release(&work.list));
	EXPECT_EQ(work.done, 0);
	gpu_run(&scene.gpu, 9);
	work_init(&work, 1, 1);
	bring_in(&work);
	EXPECT_EQ(work.done, 1);
	EXPECT(!vidmm_allocation_list_release(&work.list));
	end();
}

TEST(list, of_a_suspended_process_waits_until_it_goes_on)
{
	struct work work;

	begin(2 * MIB, SET_LOCAL);
	EXPECT_EQ(vidmm_process_suspend(&scene.gpu.process, false), STATUS_SUCCESS);
	work_init(&work, 0, 3);
	EXPECT_EQ(prepare(&work), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT_EQ(work.done, 0);
	gpu_check(&scene.gpu);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 3);
	EXPECT_EQ(work.done, 1);
	EXPECT_EQ(prepare(&work), STATUS_SUCCESS);
	vidmm_allocation_list_release(&work.list);
	end();
}

TEST(list, does_not_fit_beyond_what_all_apertures_may_hold)
{
	struct work work;
	uint32_t fits;

	scene_init(&(struct gpu_config){
		.is_physical = true, .is_by_lists = true, .commit_limit_bytes = 5 * MIB });
	for (int i = 0; i < THINGS; i++)
		thing_init(&things[i], &scene.client, 2 * MIB, SET_APERTURE);
	work_init(&work, 0, 4);
	EXPECT_EQ(vidmm_allocation_list_check(&work.list, &fits), STATUS_SUCCESS);
	EXPECT_EQ(fits, 2);
	EXPECT_EQ(prepare(&work), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-LIST-FITS");
	use(0, 2);
	/* What was used before makes room. */
	use(2, 2);
	end();
}

TEST_MAIN("vidmm/list")
