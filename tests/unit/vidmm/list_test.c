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

static void on_ready(struct vidmm_request *request, NTSTATUS status)
{
	struct work *work = container_of(request, struct work, list.request);

	(void)status;
	work->done++;
}

/* Lasts as long as the scene. */
static struct work *work_on(uint32_t first, uint32_t count)
{
	static struct work pool[4];
	static unsigned next;
	struct work *work = &pool[next++ % 4];

	memset(work, 0, sizeof(*work));
	work->list.device = &scene.client.device;
	work->list.entries = work->entries;
	work->list.count = count;
	work->list.request.done = on_ready;
	for (uint32_t i = 0; i < count; i++)
		work->entries[i].binding = &things[first + i].binding;
	return work;
}

/* True: it still waited. */
static bool release(struct work *work)
{
	return vidmm_allocation_list_release(&work->list);
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
	struct work *work = work_on(first, count);

	bring_in(work);
	EXPECT_EQ(prepare(work), STATUS_SUCCESS);
	release(work);
}

SCENE_TEST(list, everything_on_it_is_in_place_when_it_is_ready, begin(2 * MIB, SET_LOCAL))
{
	thing_write(&things[1], 'x');
	struct work *work = work_on(0, 3);
	EXPECT_EQ(prepare(work), STATUS_PENDING);
	EXPECT_EQ(prepare(work), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 3);
	EXPECT_EQ(work->done, 1);
	EXPECT_EQ(prepare(work), STATUS_SUCCESS);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(work->entries[i].segment, SEGMENT_LOCAL);
		EXPECT(scene.gpu.local + work->entries[i].offset_bytes ==
		       thing_byte(&things[i], 0));
	}
	EXPECT(thing_holds(&things[1], 'x'));
	release(work);
}

SCENE_TEST(list, what_is_in_place_is_ready_at_once, begin(2 * MIB, SET_LOCAL))
{
	struct work *first = work_on(0, 2);
	struct work *second = work_on(0, 2);
	bring_in(first);
	EXPECT_EQ(prepare(second), STATUS_SUCCESS);
	release(first);
	release(second);
}

SCENE_TEST(list, pins_until_it_is_released, begin(3 * MIB, SET_LOCAL))
{
	struct work *first = work_on(0, 2);
	struct work *second = work_on(2, 2);
	bring_in(first);
	thing_render(&things[0], '0');
	EXPECT_EQ(prepare(second), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	evict_segment(scene.gpu.manager, 0);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT_EQ(second->done, 0);
	release(first);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(second->done, 1);
	EXPECT_EQ(prepare(second), STATUS_SUCCESS);
	release(second);
	EXPECT(thing_holds(&things[0], '0'));
}

SCENE_TEST(list, says_how_much_of_it_fits, begin(3 * MIB, SET_LOCAL))
{
	uint32_t fits = 0;

	struct work *work = work_on(0, 4);
	EXPECT_EQ(vidmm_allocation_list_prepare(&work->list, &fits), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-LIST-FITS");
	EXPECT_EQ(fits, 2);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	use(0, fits);
}

SCENE_TEST(list, what_does_not_fit_locally_goes_to_the_aperture_where_it_may,
	   begin(3 * MIB, SET_LOCAL | SET_APERTURE))
{
	uint32_t in_aperture = 0;

	struct work *work = work_on(0, 4);
	EXPECT_EQ(prepare(work), STATUS_PENDING);
	gpu_run(&scene.gpu, 20);
	EXPECT_EQ(prepare(work), STATUS_SUCCESS);
	for (int i = 0; i < 4; i++)
		in_aperture += work->entries[i].segment == SEGMENT_APERTURE;
	EXPECT_EQ(in_aperture, 2);
	release(work);
}

SCENE_TEST(list, offered_memory_is_refused, begin(MIB, SET_LOCAL))
{
	EXPECT_EQ(vidmm_binding_offer(&things[1].binding, VIDMM_OFFER_LOW, false, false),
		  STATUS_SUCCESS);
	struct work *work = work_on(0, 2);
	EXPECT_EQ(prepare(work), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-USE-OFFERED");
}

SCENE_TEST(list, one_that_waits_can_be_given_up, begin(4 * MIB, SET_LOCAL))
{
	struct work *first = work_on(0, 2);
	struct work *second = work_on(2, 2);
	bring_in(first);
	EXPECT_EQ(prepare(second), STATUS_PENDING);
	release(second);
	EXPECT_EQ(second->done, 0);
	release(first);
	gpu_check(&scene.gpu);
}

SCENE_TEST(list, the_longest_unused_goes_first, begin(2 * MIB, SET_LOCAL))
{
	for (uint32_t i = 0; i < 4; i++)
		use(i, 1);
	struct work *work = work_on(0, 1);
	EXPECT_EQ(prepare(work), STATUS_SUCCESS);
	release(work);
	struct thing *last = thing_new(&scene.client, 2 * MIB, SET_LOCAL);
	work = work_on(0, 1);
	work->entries[0].binding = &last->binding;
	bring_in(work);
	EXPECT_EQ(prepare(work), STATUS_SUCCESS);
	release(work);
	EXPECT(thing_is_in(&things[0]));
	EXPECT(!thing_is_in(&things[1]));
}

/* Between what it holds already there is room enough, but not in one piece. */
SCENE_TEST(list, what_stands_in_its_own_way_is_put_together_anew,
	   begin(2 * MIB, SET_LOCAL)) /* of 8 MiB */
{
	struct thing *large = thing_new(&scene.client, 4 * MIB, SET_LOCAL);
	for (uint32_t i = 0; i < 4; i++)
		use(i, 1);
	thing_render(&things[1], '1');
	thing_render(&things[3], '3');
	/* The second and the fourth quarter, and a half. */
	struct work *work = work_on(0, 3);
	work->entries[0].binding = &things[1].binding;
	work->entries[1].binding = &things[3].binding;
	work->entries[2].binding = &large->binding;
	bring_in(work);
	EXPECT_EQ(work->done, 1);
	EXPECT_EQ(prepare(work), STATUS_SUCCESS);
	EXPECT(thing_is_in(large));
	EXPECT(thing_holds(&things[1], '1'));
	EXPECT(thing_holds(&things[3], '3'));
	release(work);
	gpu_check(&scene.gpu);
}

SCENE_TEST(list, a_look_says_how_much_of_it_fits_and_starts_nothing, begin(3 * MIB, SET_LOCAL))
{
	uint32_t fits = 0;

	struct work *work = work_on(0, 4);
	EXPECT_EQ(vidmm_allocation_list_check(&work->list, &fits), STATUS_SUCCESS);
	EXPECT_EQ(fits, 2);
	EXPECT_EQ(vidmm_allocation_list_fits(&work->list), 2);
	EXPECT_EQ(gpu_ready(&scene.gpu), 0);
	EXPECT_EQ(vidmm_binding_offer(&things[3].binding, VIDMM_OFFER_LOW, false, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_allocation_list_check(&work->list, &fits), STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-USE-OFFERED");
}

SCENE_TEST(list, is_located_where_it_is_and_only_there, begin(2 * MIB, SET_LOCAL))
{
	struct work *first = work_on(0, 1);
	struct work *both = work_on(0, 2);
	EXPECT(!vidmm_allocation_list_locate(&first->list));
	bring_in(first);
	EXPECT(!vidmm_allocation_list_locate(&both->list));
	both->list.count = 1;
	EXPECT(vidmm_allocation_list_locate(&both->list));
	EXPECT_EQ(prepare(first), STATUS_SUCCESS);
	EXPECT_EQ(both->entries[0].segment, SEGMENT_LOCAL);
	EXPECT_EQ(both->entries[0].offset_bytes, first->entries[0].offset_bytes);
	release(first);
}

SCENE_TEST(list, a_release_says_whether_it_still_waited, begin(2 * MIB, SET_LOCAL))
{
	struct work *work = work_on(0, 1);
	EXPECT_EQ(prepare(work), STATUS_PENDING);
	EXPECT(release(work));
	EXPECT_EQ(work->done, 0);
	gpu_run(&scene.gpu, 9);
	work = work_on(1, 1);
	bring_in(work);
	EXPECT_EQ(work->done, 1);
	EXPECT(!release(work));
}

SCENE_TEST(list, of_a_suspended_process_waits_until_it_goes_on, begin(2 * MIB, SET_LOCAL))
{
	EXPECT_EQ(vidmm_process_suspend(&scene.gpu.process, false), STATUS_SUCCESS);
	struct work *work = work_on(0, 3);
	EXPECT_EQ(prepare(work), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT_EQ(work->done, 0);
	gpu_check(&scene.gpu);
	EXPECT_EQ(vidmm_process_resume(&scene.gpu.process), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 3);
	EXPECT_EQ(work->done, 1);
	EXPECT_EQ(prepare(work), STATUS_SUCCESS);
	release(work);
}

SCENE_TEST(list, does_not_fit_beyond_what_all_apertures_may_hold,
	   scene_init(&(struct gpu_config){
		   .is_physical = true, .is_by_lists = true, .commit_limit_bytes = 5 * MIB }))
{
	uint32_t fits;

	for (int i = 0; i < THINGS; i++)
		thing_init(&things[i], &scene.client, 2 * MIB, SET_APERTURE);
	struct work *work = work_on(0, 4);
	EXPECT_EQ(vidmm_allocation_list_check(&work->list, &fits), STATUS_SUCCESS);
	EXPECT_EQ(fits, 2);
	EXPECT_EQ(prepare(work), STATUS_NO_MEMORY);
	EXPECT_RULE("MM-LIST-FITS");
	use(0, 2);
	/* What was used before makes room. */
	use(2, 2);
}

TEST_MAIN("vidmm/list")
