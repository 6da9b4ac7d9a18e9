/* SPDX-License-Identifier: MIT */
/*
 * cpu_access_test.c - locking what is in GPU memory, and what a lock keeps from moving.
 */
#include "base/machine_bank.h"
#include "base/thread.h"
#include "scene.h"

static char *lock(void)
{
	void *pointer = NULL;

	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_SUCCESS);
	return pointer;
}

static void unlock(void)
{
	EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, scene.thing.memory));
}

SCENE_TEST(lock, of_visible_gpu_memory_shows_it_in_place, scene_init_with(NULL, 4 * MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	thing_render(&scene.thing, 'g');
	char *bytes = lock();
	EXPECT(is_all(bytes, 4 * MIB, 'g'));
	memset(bytes, 'c', 4 * MIB);
	EXPECT(thing_holds(&scene.thing, 'c'));
	EXPECT(thing_is_in(&scene.thing));
	unlock();
}

TEST(lock, of_scattered_memory_shows_it_in_one_piece)
{
	struct thing others[8];

	scene_init(NULL);
	scene_make_holes(others);
	scene_add_thing(4 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	char *bytes = lock();
	for (uint64_t at = 0; at < 4 * MIB; at += PAGE) {
		*thing_byte(&scene.thing, at) = (char)(at / PAGE);
		EXPECT_EQ(bytes[at], (char)(at / PAGE));
	}
	unlock();
	scene_finish();
}

SCENE_TEST(lock, the_pointer_is_the_same_wherever_it_is, scene_init_with(NULL, 4 * MIB, SET_LOCAL))
{
	char *bytes = lock();
	memset(bytes, 's', 4 * MIB);
	unlock();
	thing_bring_in(&scene.thing);
	EXPECT(lock() == bytes);
	EXPECT(is_all(bytes, 4 * MIB, 's'));
	memset(bytes, 't', 4 * MIB);
	unlock();
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	gpu_run(&scene.gpu, 9);
	EXPECT(lock() == bytes);
	EXPECT(is_all(bytes, 4 * MIB, 't'));
	unlock();
}

/* When the work is over it can go, locked or not. */
SCENE_TEST(lock, of_what_work_uses_holds_up_nobody_longer_than_the_work,
	   scene_init_with(NULL, 6 * MIB, SET_LOCAL))
{
	scene_add_second();
	struct thing *wanted = thing_new(&scene.other, 4 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	(void)lock();
	EXPECT_EQ(thing_make_resident(wanted), STATUS_PENDING);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(wanted->done, 1);
	EXPECT(thing_is_in(wanted));
	thing_finish(wanted);
	unlock();
}

static void expect_no_lock(const struct gpu_config *config)
{
	void *pointer;

	scene_init_with(config, 4 * MIB, SET_LOCAL);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_INVALID_PARAMETER);
	EXPECT_RULE("MM-LOCK-PLACE");
	EXPECT(thing_is_in(&scene.thing));
	gpu_check(&scene.gpu);
	scene_finish();
}

TEST(lock, of_hidden_gpu_memory_without_an_aperture_is_refused)
{
	expect_no_lock(&(struct gpu_config){ .is_hidden = true });
}

/* A device's own memory: it has an address, and no page that could be shown. */
TEST(lock, of_memory_that_is_none_of_the_machines_is_refused_for_that_reason)
{
	expect_no_lock(&(struct gpu_config){ .is_elsewhere = true });
}

struct locker {
	char *pointer;
	NTSTATUS status;
	_Atomic bool is_over;
};

static void run_lock(void *argument)
{
	struct locker *locker = argument;
	void *pointer = NULL;

	locker->status = vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer);
	locker->pointer = pointer;
	atomic_store(&locker->is_over, true);
}

static void run_until_locked(struct locker *locker)
{
	struct thread *thread;

	*locker = (struct locker){ 0 };
	EXPECT_EQ(thread_create("locker", run_lock, locker, &thread), STATUS_SUCCESS);
	while (!atomic_load(&locker->is_over)) {
		if (gpu_run(&scene.gpu, 1) == 0)
			clock_sleep_until(clock_deadline(NS_PER_MS));
	}
	thread_join(thread);
}

TEST(lock, of_hidden_gpu_memory_moves_it_to_system_memory_first)
{
	struct locker locker;

	scene_init_with(&(struct gpu_config){ .is_hidden = true }, 4 * MIB, SET_LOCAL | SET_SYSTEM);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	thing_render(&scene.thing, 'h');
	run_until_locked(&locker);
	EXPECT_EQ(locker.status, STATUS_SUCCESS);
	EXPECT(is_all(locker.pointer, 4 * MIB, 'h'));
	/* Still on the list, and usable there. */
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	EXPECT_EQ(scene.client.owner.suspensions, 0);
	EXPECT_EQ(vidmm_process_memory_info(&scene.gpu.process, VIDMM_NON_LOCAL).usage_bytes,
		  4 * MIB);
	gpu_check(&scene.gpu);
	unlock();
	scene_finish();
}

/* With memory that the processor caches, resident. */
static void scene_init_cached(const struct gpu_config *config, uint64_t size_bytes,
			      uint32_t segments)
{
	scene_init(config);
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, size_bytes, segments);
	wishes.traits.is_cached = true;
	scene_add_thing_as(&wishes);
	thing_bring_in(&scene.thing);
}

TEST(lock, of_cached_memory_in_a_segment_moves_it_too)
{
	struct locker locker;

	scene_init_cached(NULL, 4 * MIB, SET_LOCAL | SET_SYSTEM);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	run_until_locked(&locker);
	EXPECT_EQ(locker.status, STATUS_SUCCESS);
	EXPECT(thing_segment(&scene.thing) != SEGMENT_LOCAL);
	unlock();
	scene_finish();
}

TEST(lock, of_cached_memory_in_a_coherent_segment_shows_it_in_place)
{
	static const uint32_t supported[] = { SET_LOCAL, SET_LOCAL | SET_SYSTEM };

	for (unsigned i = 0; i < ARRAY_SIZE(supported); i++) {
		scene_init_cached(&(struct gpu_config){ .is_coherent = true }, 4 * MIB,
				  supported[i]);
		thing_render(&scene.thing, 'g');
		char *bytes = lock();
		EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
		EXPECT(is_all(bytes, 4 * MIB, 'g'));
		memset(bytes, 'c', 4 * MIB);
		EXPECT(thing_holds(&scene.thing, 'c'));
		unlock();
		scene_finish();
	}
}

TEST(lock, of_cached_memory_in_a_coherent_segment_that_the_cpu_does_not_see_moves_it)
{
	struct locker locker;

	scene_init_cached(&(struct gpu_config){ .is_coherent = true, .is_hidden = true }, MIB,
			  SET_LOCAL | SET_SYSTEM);
	run_until_locked(&locker);
	EXPECT_EQ(locker.status, STATUS_SUCCESS);
	EXPECT(thing_segment(&scene.thing) != SEGMENT_LOCAL);
	unlock();
	scene_finish();
}

/*
 * Lock2 gives an address and synchronises with nothing: work that is held up, for a fence that
 * perhaps this very thread signals later, is not waited for. It finds the memory elsewhere.
 */
TEST(lock, of_cached_memory_whose_eviction_is_pending_does_not_wait_for_held_up_work)
{
	struct locker locker;

	scene_init_cached(NULL, 4 * MIB, SET_LOCAL | SET_SYSTEM);
	thing_render(&scene.thing, 'c');
	sched_owner_suspend(&scene.client.owner);
	gpu_work(&scene.client);
	EXPECT_EQ(thing_evict(&scene.thing, 0), STATUS_SUCCESS);
	EXPECT_EQ(gpu_run(&scene.gpu, 9), 0);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	run_until_locked(&locker);
	EXPECT_EQ(locker.status, STATUS_SUCCESS);
	EXPECT(is_all(locker.pointer, 4 * MIB, 'c'));
	/* The work finds it in system memory when it goes on. */
	gpu_run(&scene.gpu, 9);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_SYSTEM);
	EXPECT_EQ(scene.client.owner.suspensions, 1);
	gpu_check(&scene.gpu);
	sched_owner_resume(&scene.client.owner);
	gpu_retire(&scene.client);
	gpu_run(&scene.gpu, 9);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(is_all(locker.pointer, 4 * MIB, 'c'));
	unlock();
	scene_finish();
}

TEST(lock, waits_for_what_is_on_its_way)
{
	struct locker locker;

	scene_init_with(NULL, 4 * MIB, SET_LOCAL);
	thing_write(&scene.thing, 'w');
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	run_until_locked(&locker);
	EXPECT_EQ(locker.status, STATUS_SUCCESS);
	EXPECT(thing_is_in(&scene.thing));
	EXPECT(is_all(locker.pointer, 4 * MIB, 'w'));
	unlock();
	scene_finish();
}

/* A submission that is over gives nothing back, but who waited for it may go on. */
TEST(lock, of_what_a_submission_keeps_in_place_goes_on_when_that_is_over)
{
	struct locker locker = { 0 };
	struct vidmm_allocation_list_entry entry;
	struct vidmm_allocation_list list = { .entries = &entry, .count = 1 };
	struct thread *thread;
	uint32_t fits;

	scene_init_cached(&(struct gpu_config){ .is_physical = true, .is_by_lists = true }, MIB,
			  SET_LOCAL | SET_APERTURE);
	EXPECT_EQ(thing_evict(&scene.thing, VIDMM_EVICT_ONLY_IF_NECESSARY), STATUS_SUCCESS);
	entry.binding = &scene.thing.binding;
	list.device = &scene.client.device;
	EXPECT_EQ(vidmm_allocation_list_prepare(&list, &fits), STATUS_SUCCESS);
	EXPECT_EQ(thing_segment(&scene.thing), SEGMENT_LOCAL);
	EXPECT_EQ(thread_create("locker", run_lock, &locker, &thread), STATUS_SUCCESS);
	clock_sleep_until(clock_deadline(20 * NS_PER_MS)); /* it waits by then */
	EXPECT(!atomic_load(&locker.is_over));
	EXPECT(!vidmm_allocation_list_release(&list));
	uint64_t deadline_ns = clock_deadline(20 * NS_PER_S);
	while (!atomic_load(&locker.is_over) && clock_now_ns() < deadline_ns) {
		if (gpu_run(&scene.gpu, 1) == 0)
			clock_sleep_until(clock_deadline(NS_PER_MS));
	}
	EXPECT(atomic_load(&locker.is_over));
	thread_join(thread);
	EXPECT_EQ(locker.status, STATUS_SUCCESS);
	unlock();
	scene_finish();
}

SCENE_TEST(lock, of_what_is_pinned_out_of_sight_is_refused,
	   scene_init(&(struct gpu_config){ .is_hidden = true }))
{
	void *pointer;

	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, 4 * MIB, SET_LOCAL | SET_SYSTEM);
	wishes.traits.is_pinned = true;
	scene_add_thing_as(&wishes);
	thing_bring_in(&scene.thing);
	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION);
	EXPECT_RULE("MM-LOCK-PINNED");
}

SCENE_TEST(lock, ends_with_the_allocation, scene_init_with(NULL, 4 * MIB, SET_LOCAL))
{
	thing_bring_in(&scene.thing);
	lock();
}

/* ---- what the GPU reaches ---- */

static void expect_reachable(void)
{
	const struct vidmm_backing *backing = &scene.thing.memory->backing;
	const struct backing_run *runs = backing_runs(backing);

	EXPECT(backing->run_count > 0);
	for (uint32_t i = 0; i < backing->run_count; i++)
		EXPECT(((uint64_t)runs[i].first_pfn + runs[i].count) * PAGE - 1 <=
		       scene.gpu.world.adapter.highest_address);
}

/* Pages that are next in the row of the machine's are behind what the GPU reaches. */
static void init_with_pages_out_of_reach(void)
{
	uint64_t address;

	scene_init_with(&(struct gpu_config){ .reachable_bytes = 4 * MIB }, MIB, SET_SYSTEM);
	EXPECT_EQ(machine_bank_stretch(NULL, 4 * MIB / PAGE, UINT64_MAX, &address), 4 * MIB / PAGE);
	EXPECT(machine_free_contiguous(address));
}

TEST(reach, of_the_gpu_is_kept_when_the_cpu_is_the_first_to_use_it)
{
	init_with_pages_out_of_reach();
	thing_write(&scene.thing, 'r');
	thing_bring_in(&scene.thing);
	expect_reachable();
	EXPECT(thing_holds(&scene.thing, 'r'));
	scene_finish();
}

TEST(reach, of_the_gpu_is_kept_when_decommitted_memory_comes_back)
{
	enum vidmm_reclaim_result result;

	init_with_pages_out_of_reach();
	thing_write(&scene.thing, 'r');
	EXPECT_EQ(vidmm_binding_offer(&scene.thing.binding, VIDMM_OFFER_LOW, true, false),
		  STATUS_SUCCESS);
	EXPECT_EQ(vidmm_process_decommit(&scene.gpu.process, MIB, 0), MIB);
	uint64_t address;
	EXPECT_EQ(machine_bank_stretch(NULL, 4 * MIB / PAGE, UINT64_MAX, &address), 4 * MIB / PAGE);
	EXPECT(machine_free_contiguous(address));
	EXPECT_EQ(thing_reclaim(&scene.thing, &result), STATUS_SUCCESS);
	expect_reachable();
	scene_finish();
}

/* What is not reached is no memory for this GPU, however much there is of it. */
SCENE_TEST(reach, of_the_gpu_is_all_there_is_to_lock,
	   scene_init_with(&(struct gpu_config){ .reachable_bytes = MIB }, 2 * MIB, SET_SYSTEM))
{
	void *pointer;

	EXPECT_EQ(vidmm_lock_anywhere(scene.gpu.manager, scene.thing.memory, 0, &pointer),
		  STATUS_NO_MEMORY);
	EXPECT_RULE("MM-NO-PAGES");
}

TEST_MAIN("vidmm/cpu_access")
