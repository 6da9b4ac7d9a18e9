/* SPDX-License-Identifier: MIT */
/*
 * reset_news_test.c - what a driver hears of memory that an adapter reset took.
 *
 * Whatever it was told to put into a segment or to show in an aperture, and not yet to take away
 * again, it is told between ResetFromTimeout and RestartFromTimeout: afterwards nothing is mapped
 * and nothing is in place. Also when the pager ended the move before anybody came to tell.
 */
#include "scene.h"
#include "vidmm/allocation.h"
#include "vidmm/work_set.h"

static void begin_reset(void)
{
	vidmm_device_lose(&scene.client.device);
	scene.gpu.generation++;
}

static void fail_job(void)
{
	scene.gpu.next_status = STATUS_DEVICE_REMOVED;
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
}

static struct vidmm_place *place_of(struct thing *thing)
{
	return atomic_load(&thing->memory->place);
}

static void init(uint32_t segments)
{
	scene_init_with(&(struct gpu_config){ .is_physical = true }, MIB, segments);
}

static void init_with_news(uint32_t segments)
{
	scene_init(&(struct gpu_config){ .is_physical = true });
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, segments);
	wishes.traits.wants_residency_news = true;
	scene_add_thing_as(&wishes);
}

static void start_entering(void)
{
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
}

static void start_leaving(void)
{
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	memset(scene.gpu.log, 0, sizeof(scene.gpu.log));
}

static void expect_nothing_is_mapped(void)
{
	uint64_t dummy = scene.gpu.manager->config.dummy_page_address;

	for (unsigned i = 0; i < FAKE_APERTURE_PAGES; i++)
		EXPECT(scene.gpu.memory.aperture[i] == 0 || scene.gpu.memory.aperture[i] == dummy);
}

/* The reset takes memory, the next one too; what is told is told by the first of them. */
static void expect_told(const char *log)
{
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, log);
	expect_nothing_is_mapped();
	gpu_run(&scene.gpu, 0);
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, log);
	gpu_check(&scene.gpu);
}

/* What the reset finds under way. */
struct way {
	void (*init)(uint32_t segments);
	uint32_t segments;
	void (*start)(void);
	bool is_built; /* in the last moment; otherwise the job fails */
};

static void expect_told_of(const struct way *way, const char *log)
{
	way->init(way->segments);
	way->start();
	begin_reset();
	if (way->is_built)
		EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	else
		fail_job();
	EXPECT(!thing_is_in(&scene.thing));
	expect_told(log);
	scene_finish();
}

/* ---- on the way in ---- */

TEST(entering, a_mapping_that_was_just_built_is_told)
{
	expect_told_of(&(struct way){ init, SET_APERTURE, start_entering, true }, "mu");
}

TEST(entering, content_that_was_just_built_is_told)
{
	expect_told_of(&(struct way){ init, SET_LOCAL, start_entering, true }, "ft");
}

TEST(entering, what_was_not_begun_is_nothing_to_tell)
{
	expect_told_of(&(struct way){ init, SET_APERTURE, start_entering, false }, "");
}

#define NEWS_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, scene_finish(), suite, claim)

/* The job is there when memory is seen to be lost: how far it came is not known, so it is told. */
NEWS_TEST(entering, that_ends_afterwards_was_told_before, init(SET_APERTURE))
{
	start_entering();
	begin_reset();
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, "u");
	fail_job();
	expect_told("u");
}

/* Built when the adapter works again. */
SHARED_THING_TEST(entering, that_begins_during_the_reset_is_nothing_to_tell, init(SET_APERTURE))
{
	struct thing *opened = &shared_thing->opened;

	begin_reset();
	EXPECT_EQ(thing_make_resident(opened), STATUS_PENDING);
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, "");
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 1);
	EXPECT(thing_is_in(opened));
	EXPECT_STR(scene.gpu.log, "m");
}

/* Decided before, queued during the first reset, built after it, and met by the second. */
SHARED_THING_TEST(entering, that_two_resets_meet_is_told_by_the_second, init(SET_APERTURE))
{
	struct thing *opened = &shared_thing->opened;

	EXPECT_EQ(thing_make_resident(opened), STATUS_PENDING);
	begin_reset();
	place_of(opened)->move.job.generation = scene.gpu.generation;
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, "u");
	vidmm_device_lose(&shared_thing->other.device);
	scene.gpu.generation++;
	EXPECT_EQ(gpu_run(&scene.gpu, 1), 1);
	expect_told("umu");
}

/* ---- on the way out ---- */

TEST(leaving, that_was_not_built_is_told)
{
	expect_told_of(&(struct way){ init, SET_APERTURE, start_leaving, false }, "u");
}

TEST(leaving, that_was_built_is_told_once)
{
	expect_told_of(&(struct way){ init, SET_APERTURE, start_leaving, true }, "u");
}

TEST(leaving, content_that_was_not_carried_out_is_told)
{
	expect_told_of(&(struct way){ init, SET_LOCAL, start_leaving, false }, "t");
}

static void on_departed(struct vidmm_departure *departure)
{
	departure->done = NULL;
}

/* Destroyed while it leaves; its job fails before anybody is told. */
static void destroy_leaving(struct vidmm_departure *departure)
{
	start_leaving();
	vidmm_binding_finish(&scene.thing.binding);
	vidmm_allocation_retire(scene.thing.memory);
	EXPECT(!vidmm_allocation_depart(scene.thing.memory, departure));
	begin_reset();
	fail_job();
}

static void finish_destroyed(void)
{
	thing_end(&scene.thing);
	scene_finish();
}

static void expect_told_before_the_end(uint32_t segments, const char *log)
{
	struct vidmm_departure departure = { .done = on_departed };

	init(segments);
	destroy_leaving(&departure);
	EXPECT(departure.done);
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, log);
	EXPECT(!departure.done);
	expect_nothing_is_mapped();
	finish_destroyed();
}

/* Until then its handle means something to the driver. */
TEST(leaving, of_what_is_destroyed_ends_when_it_was_told)
{
	expect_told_before_the_end(SET_APERTURE, "u");
	expect_told_before_the_end(SET_LOCAL, "t");
}

static void expect_ends_with_the_adapter(void (*init_as)(uint32_t segments))
{
	struct vidmm_departure departure = { .done = on_departed };

	init_as(SET_APERTURE);
	destroy_leaving(&departure);
	vidmm_give_up(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, "");
	EXPECT(!departure.done);
	finish_destroyed();
}

TEST(leaving, of_what_is_destroyed_ends_with_the_adapter)
{
	expect_ends_with_the_adapter(init);
}

static void unload_at_once(struct driver_memory *memory, struct sched_wait *over)
{
	(void)memory;
	over->over(over);
}

static struct driver_memory own = { .unload = unload_at_once, .is_initialized = true };

static void init_own(uint32_t segments)
{
	scene_init(&(struct gpu_config){ .is_physical = true });
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, segments);
	wishes.driver = &own;
	scene_add_thing_as(&wishes);
}

static void expect_own_ends_at_once(uint32_t segments, const char *log)
{
	struct vidmm_departure departure = { .done = on_departed };

	init_own(segments);
	destroy_leaving(&departure);
	EXPECT(!departure.done);
	EXPECT_STR(scene.gpu.log, "");
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, log);
	expect_nothing_is_mapped();
	finish_destroyed();
}

/* The driver waits for it, and the reset for the driver: nobody's range is what is told later. */
TEST(leaving, of_a_drivers_own_ends_at_once)
{
	expect_own_ends_at_once(SET_APERTURE, "U");
}

TEST(leaving, content_of_a_drivers_own_is_nothing_to_tell)
{
	expect_own_ends_at_once(SET_LOCAL, "");
}

TEST(leaving, of_a_drivers_own_is_forgotten_with_the_adapter)
{
	expect_ends_with_the_adapter(init_own);
}

/* ---- in place ---- */

/* It stays where the CPU sees it; for the driver it has left like everything else. */
NEWS_TEST(in_place, what_is_locked_in_gpu_memory_is_told_as_well, init(SET_LOCAL))
{
	void *pointer;

	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_SUCCESS);
	begin_reset();
	vidmm_reset(scene.gpu.manager);
	EXPECT_STR(scene.gpu.log, "ft");
	EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, scene.thing.memory));
}

/* Who was told of every commitment hears of every end, once each. */
TEST(residency_news, say_that_it_is_gone)
{
	init_with_news(SET_APERTURE);
	thing_bring_in(&scene.thing);
	begin_reset();
	expect_told("mNnu");
	scene_finish();
}

TEST(residency_news, say_it_of_what_just_came_in)
{
	expect_told_of(&(struct way){ init_with_news, SET_LOCAL, start_entering, true }, "fNnt");
}

TEST(residency_news, are_not_repeated_for_what_has_left)
{
	expect_told_of(&(struct way){ init_with_news, SET_APERTURE, start_leaving, true }, "nu");
}

TEST_MAIN("vidmm/reset_news")
