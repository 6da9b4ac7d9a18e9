/* SPDX-License-Identifier: MIT */
/*
 * fence_mapping_test.c - fences that come and go: which places are used again, and that an end that
 * meets somebody else is no shorter than it has to be.
 */
#include "unit/object/scene.h"

#include "base/random.h"
#include "base/thread.h"
#include "object/fence/sync_object.h"
#include "object/fence/sync_wait.h"

static const struct sync_options usual = { .kind = SYNC_MONITORED_FENCE,
					   .access = { true, true, true, true },
					   .initial_value = 7,
					   .event = EVENT_NONE };

static struct sync_names make(const struct sync_options *options)
{
	struct sync_names names = { 0 };

	EXPECT_EQ(sync_object_create_named(app.device, options, &names), STATUS_SUCCESS);
	return names;
}

/* With a reference; NULL when the handle is no sync object's. */
static struct dxg_sync_object *find(uint32_t handle)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;

	if (handle_find(&app.process->handles, handle, &sync_object_class, &object, &found) !=
	    HANDLE_FOUND)
		return NULL;
	return container_of(object, struct dxg_sync_object, object);
}

static void end(uint32_t handle)
{
	struct dxg_sync_object *sync = find(handle);

	EXPECT(sync);
	EXPECT(sync_object_destroy_and_put(sync, thread_seat()));
	EXPECT(!find(handle));
}

static uint32_t kept_count(void)
{
	return app.device->kept_fences.count;
}

/* ---- names ---- */

#define PLAIN_TEST(suite, claim) TEST_BETWEEN(begin_plain(), finish_plain(), suite, claim)

PLAIN_TEST(names, are_those_of_the_object_that_the_handle_finds)
{
	struct sync_names names = make(&usual);
	struct dxg_sync_object *sync = find(names.handle);
	EXPECT(sync);
	EXPECT_EQ(names.global_handle, 0);
	EXPECT(names.view == sync_object_view(sync));
	EXPECT_EQ(*names.view, 7);
	EXPECT(names.gpu_address != 0);
	EXPECT_EQ(names.gpu_address, sync->gpu_address);
	EXPECT(sync_object_destroy_and_put(sync, thread_seat()));
}

/* ---- places ---- */

PLAIN_TEST(place, of_a_fence_that_ended_is_the_next_ones_with_the_value_that_one_begins_with)
{
	struct sync_options options = usual;

	struct sync_names first = make(&options);
	struct dxg_sync_object *sync = find(first.handle);
	EXPECT(sync_body_signal(sync->body, 100, false));
	EXPECT(sync_object_destroy_and_put(sync, thread_seat()));
	options.initial_value = 3;
	struct sync_names second = make(&options);
	EXPECT(second.view == first.view);
	EXPECT_EQ(second.gpu_address, first.gpu_address);
	EXPECT(second.handle != first.handle);
	EXPECT_EQ(*second.view, 3);
	end(second.handle);
}

TEST(place, of_a_fence_that_ended_comes_with_nothing_else_of_it)
{
	struct sync_options blind = usual;

	blind.access.may_wait = false;
	blind.access.jumps_when_lost = !usual.access.jumps_when_lost;
	blind.is_cross_adapter = true;
	begin_plain();
	struct sync_names first = make(&blind);
	end(first.handle);
	EXPECT(!find(first.handle));
	struct sync_names second = make(&usual);
	struct dxg_sync_object *sync = find(second.handle);
	EXPECT(sync && second.view == first.view);
	EXPECT(sync->access.may_wait);
	EXPECT_EQ(sync->access.jumps_when_lost, usual.access.jumps_when_lost);
	EXPECT(!sync->body->is_cross_adapter);
	EXPECT(sync_object_destroy_and_put(sync, thread_seat()));
	finish_plain();
}

PLAIN_TEST(place, of_two_living_fences_is_never_the_same)
{
	enum { COUNT = 3 * KEPT_FENCES };
	struct sync_names all[COUNT];

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < COUNT; i++) {
			all[i] = make(&usual);
			for (unsigned k = 0; k < i; k++)
				EXPECT(all[k].view != all[i].view &&
				       all[k].gpu_address != all[i].gpu_address);
		}
		for (unsigned i = 0; i < COUNT; i++)
			end(all[(i * 5 + round) % COUNT].handle);
	}
}

PLAIN_TEST(place, is_kept_of_so_many_the_last_ones_and_goes_with_the_device)
{
	enum { COUNT = 3 * KEPT_FENCES };
	struct sync_names all[COUNT];

	for (unsigned i = 0; i < COUNT; i++)
		all[i] = make(&usual);
	for (unsigned i = 0; i < COUNT; i++)
		end(all[i].handle);
	EXPECT_EQ(kept_count(), KEPT_FENCES);
	for (unsigned i = 0; i < KEPT_FENCES; i++)
		EXPECT(make(&usual).view == all[COUNT - 1 - i].view);
	EXPECT_EQ(kept_count(), 0);
	EXPECT(device_destroy(app.device));
}

/* Who may only wait has an address to read from, who is shared a page of its own. */
TEST(place, of_another_kind_is_not_kept_and_no_kept_one_is_used_for_it)
{
	struct sync_options reader = usual;
	struct sync_options unseen = usual;
	struct sync_options shared = usual;

	reader.access.may_signal = false;
	unseen.access.has_gpu_access = false;
	shared.scheme = SHARE_NT;
	begin_plain();
	struct sync_names kept = make(&usual);
	end(kept.handle);
	EXPECT_EQ(kept_count(), 1);
	struct sync_names names[] = { make(&reader), make(&unseen), make(&shared) };
	EXPECT_EQ(kept_count(), 1);
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		EXPECT(names[i].view != kept.view);
		end(names[i].handle);
	}
	EXPECT_EQ(names[1].gpu_address, 0);
	EXPECT_EQ(kept_count(), 1);
	EXPECT(make(&usual).view == kept.view);
	finish_plain();
}

PLAIN_TEST(place, that_cannot_be_had_makes_no_fence)
{
	struct sync_names names = { 0 };
	NTSTATUS status = STATUS_NO_MEMORY;
	unsigned failures = 0;

	for (unsigned n = 1; status == STATUS_NO_MEMORY; n++) {
		mem_fail_nth(n);
		status = sync_object_create_named(app.device, &usual, &names);
		(void)mem_fail_stop();
		if (status == STATUS_NO_MEMORY) {
			failures++;
			EXPECT_EQ(app.device->sync_object_count, 0);
			EXPECT_EQ(kept_count(), 0);
		}
	}
	EXPECT_EQ(status, STATUS_SUCCESS);
	EXPECT(failures > 3);
	end(names.handle);
}

/* ---- ends that meet somebody ---- */

PLAIN_TEST(end, of_an_opening_that_another_call_has_leaves_it_to_that_call)
{
	struct sync_names names = make(&usual);
	struct dxg_sync_object *other = find(names.handle);
	end(names.handle);
	EXPECT_EQ(app.device->sync_object_count, 1);
	EXPECT(*names.view == 7 && make(&usual).view != names.view);
	object_put(&other->object);
	EXPECT_EQ(app.device->sync_object_count, 1);
}

PLAIN_TEST(end, that_comes_second_is_told_so_and_keeps_its_reference)
{
	struct sync_names names = make(&usual);
	struct dxg_sync_object *late = find(names.handle);
	end(names.handle);
	EXPECT(!sync_object_destroy_and_put(late, thread_seat()));
	EXPECT_EQ(late->object.handle, names.handle);
	object_put(&late->object);
	EXPECT_EQ(app.device->sync_object_count, 0);
}

/* As a queue does that has a signal in it. */
PLAIN_TEST(end, of_a_fence_that_is_still_to_be_signalled_keeps_the_value_where_it_is)
{
	struct sync_names names = make(&usual);
	struct dxg_sync_object *sync = find(names.handle);
	struct sync_body *body = sync->body;
	share_get(&body->share);
	EXPECT(sync_object_destroy_and_put(sync, thread_seat()));
	EXPECT(make(&usual).view != names.view);
	EXPECT(sync_body_signal(body, 8, false));
	EXPECT_EQ(*names.view, 8);
	share_put(&body->share);
}

static void told(struct sync_watch *watch)
{
	(void)watch;
}

PLAIN_TEST(end, of_a_fence_that_was_waited_for_takes_it_off_the_list)
{
	struct sync_watch watch = { .try_again = told };

	struct sync_names names = make(&usual);
	struct dxg_sync_object *sync = find(names.handle);
	EXPECT(sync_body_watch(sync->body, 8, &watch));
	EXPECT(!list_is_empty(&app.device->process_adapter->watched));
	EXPECT(sync_body_signal(sync->body, 8, false));
	EXPECT(sync_object_destroy_and_put(sync, thread_seat()));
	EXPECT(list_is_empty(&app.device->process_adapter->watched));
	sync_object_look_at_fences(app.device);
}

/* Their references are one, which the last gives back. */
PLAIN_TEST(end, of_the_last_sync_object_lets_go_of_its_device)
{
	struct sync_names names = make(&usual);
	struct dxg_sync_object *last = find(names.handle);
	uint32_t handle = app.device->object.handle;
	EXPECT(device_destroy(app.device));
	object_put(&app.device->object);
	EXPECT_EQ(atomic_load(&app.process->driver_devices), 1);
	object_put(&last->object);
	EXPECT_EQ(atomic_load(&app.process->driver_devices), 0);
	EXPECT_EQ(device_create(app.process, adapter, &(struct device_options){ 0 }, &app.device),
		  STATUS_SUCCESS);
	EXPECT(app.device->object.handle != handle);
}

/* ---- several threads ---- */

enum { THREADS = 3, SHARED = 4, ROUNDS = 300 };

static _Atomic uint32_t shared[SHARED];

static void use(struct dxg_sync_object *sync, uint32_t how)
{
	if (how == 0) {
		object_put(&sync->object);
	} else if (how == 1) {
		struct sync_body *body = sync->body;

		share_get(&body->share);
		if (!sync_object_destroy_and_put(sync, thread_seat()))
			object_put(&sync->object);
		(void)sync_body_signal(body, 1000, false);
		share_put(&body->share);
	} else if (!sync_object_destroy_and_put(sync, thread_seat())) {
		object_put(&sync->object);
	}
}

static void racer_run(void *argument)
{
	struct random random;

	random_init(&random, *(unsigned *)argument);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct sync_names names = { 0 };
		_Atomic uint32_t *place = &shared[random_below(&random, SHARED)];
		struct dxg_sync_object *sync = find(atomic_load(place));

		if (sync)
			use(sync, (uint32_t)random_below(&random, 4));
		sync_object_look_at_fences(app.device);
		if (!NT_SUCCESS(sync_object_create_named(app.device, &usual, &names)))
			abort();
		sync = find(atomic_exchange(place, names.handle));
		if (sync)
			use(sync, 2);
	}
}

PLAIN_TEST(end, of_the_same_fences_by_several_threads_happens_once)
{
	unsigned seeds[THREADS] = { 1, 2, 3 };
	struct thread *threads[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		EXPECT_EQ(thread_create("racer", racer_run, &seeds[i], &threads[i]),
			  STATUS_SUCCESS);
	for (unsigned i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	for (unsigned i = 0; i < SHARED; i++) {
		struct dxg_sync_object *sync = find(atomic_exchange(&shared[i], 0));
		if (sync)
			use(sync, 2);
	}
	EXPECT_EQ(app.device->sync_object_count, 0);
	EXPECT(kept_count() <= KEPT_FENCES);
}

TEST_MAIN("object/fence_mapping")
