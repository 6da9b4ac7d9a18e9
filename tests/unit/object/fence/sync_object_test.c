/* SPDX-License-Identifier: MIT */
/*
 * sync_object_test.c - what queues do with sync objects, and what a lost device does to them.
 */
#include "unit/object/scene.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/refusal.h"
#include "object/fence/fence_watch.h"
#include "object/memory/gpu_addresses.h"
#include "object/fence/sync_object.h"
#include "object/fence/sync_wait.h"

static const struct sync_access full_access = { true, true, true, true };

static struct dxg_sync_object *make(const struct sync_options *wanted)
{
	struct sync_options options = *wanted;
	struct dxg_sync_object *sync = NULL;

	if (options.kind != SYNC_CPU_NOTIFICATION)
		options.event = EVENT_NONE;
	EXPECT_EQ(sync_object_create(app.device, &options, &sync), STATUS_SUCCESS);
	return sync;
}

static void end(struct dxg_sync_object *sync)
{
	EXPECT(sync_object_destroy(sync));
	object_put(&sync->object);
}

/* A watch that counts. */
struct counted {
	struct sync_watch watch;
	unsigned told;
};

static void count(struct sync_watch *watch)
{
	container_of(watch, struct counted, watch)->told++;
}

/* ---- mutex and semaphore ---- */

#define PLAIN_TEST(suite, claim) TEST_BETWEEN(begin_plain(), finish_plain(), suite, claim)

PLAIN_TEST(mutex, is_taken_by_one_until_it_is_given_back)
{
	struct counted first = { .watch.try_again = count };
	struct counted second = { .watch.try_again = count };

	struct dxg_sync_object *sync =
		make(&(struct sync_options){ .kind = SYNC_MUTEX, .access = full_access });
	struct sync_body *mutex = sync->body;
	EXPECT(!sync_body_watch(mutex, 0, &first.watch));
	EXPECT(sync_body_try_wait(mutex, 0));
	EXPECT(!sync_body_try_wait(mutex, 0));
	EXPECT(sync_body_watch(mutex, 0, &first.watch));
	EXPECT(sync_body_watch(mutex, 0, &second.watch));
	EXPECT(sync_body_signal(mutex, 0, false));
	EXPECT_EQ(first.told, 1);
	EXPECT_EQ(second.told, 1);
	EXPECT(sync_body_try_wait(mutex, 0));
	EXPECT(!sync_body_try_wait(mutex, 0));
	/* Given back more often than taken, it still is taken by one. */
	EXPECT(sync_body_signal(mutex, 0, false));
	EXPECT(sync_body_signal(mutex, 0, false));
	EXPECT(sync_body_try_wait(mutex, 0));
	EXPECT(!sync_body_try_wait(mutex, 0));
	end(sync);
}

PLAIN_TEST(mutex, may_be_taken_from_the_beginning)
{
	struct dxg_sync_object *sync = make(&(struct sync_options){
		.kind = SYNC_MUTEX, .is_taken = true, .access = full_access });
	EXPECT(!sync_body_try_wait(sync->body, 0));
	EXPECT(sync_body_signal(sync->body, 0, false));
	EXPECT(sync_body_try_wait(sync->body, 0));
	end(sync);
}

PLAIN_TEST(semaphore, lets_as_many_through_as_it_counts)
{
	struct dxg_sync_object *sync = make(&(struct sync_options){ .kind = SYNC_SEMAPHORE,
								    .initial_count = 2,
								    .max_count = 3,
								    .access = full_access });
	for (unsigned i = 0; i < 2; i++)
		EXPECT(sync_body_try_wait(sync->body, 0));
	EXPECT(!sync_body_try_wait(sync->body, 0));
	for (unsigned i = 0; i < 10; i++)
		EXPECT(sync_body_signal(sync->body, 0, false));
	for (unsigned i = 0; i < 3; i++)
		EXPECT(sync_body_try_wait(sync->body, 0));
	EXPECT(!sync_body_try_wait(sync->body, 0));
	end(sync);
}

PLAIN_TEST(watch, that_is_cancelled_is_not_told)
{
	static const enum sync_kind kinds[] = { SYNC_SEMAPHORE, SYNC_FENCE, SYNC_MONITORED_FENCE };

	for (unsigned i = 0; i < 3; i++) {
		struct counted watch = { .watch.try_again = count };
		struct dxg_sync_object *sync = make(&(struct sync_options){
			.kind = kinds[i], .max_count = 1, .access = full_access });
		EXPECT(sync_body_watch(sync->body, 1, &watch.watch));
		EXPECT(sync_body_watch_cancel(sync->body, &watch.watch));
		EXPECT(!sync_body_watch_cancel(sync->body, &watch.watch));
		EXPECT(sync_body_signal(sync->body, 1, false));
		EXPECT_EQ(watch.told, 0);
		EXPECT(!sync_body_watch(sync->body, 1, &watch.watch));
		end(sync);
	}
}

/* ---- fences ---- */

PLAIN_TEST(fence, lets_through_who_waits_for_its_value_or_less)
{
	static const enum sync_kind kinds[] = { SYNC_FENCE, SYNC_MONITORED_FENCE };

	for (unsigned i = 0; i < 2; i++) {
		struct counted watch = { .watch.try_again = count };
		struct dxg_sync_object *sync = make(&(struct sync_options){
			.kind = kinds[i], .initial_value = 5, .access = full_access });
		EXPECT(sync_body_try_wait(sync->body, 5));
		EXPECT(sync_body_try_wait(sync->body, 5));
		EXPECT(!sync_body_try_wait(sync->body, 6));
		EXPECT(sync_body_watch(sync->body, 6, &watch.watch));
		EXPECT(!sync_body_signal(sync->body, 4, false));
		EXPECT(sync_body_signal(sync->body, 6, false));
		EXPECT_EQ(watch.told, 1);
		EXPECT(sync_body_try_wait(sync->body, 6));
		EXPECT(sync_body_signal(sync->body, 4, true));
		EXPECT(!sync_body_try_wait(sync->body, 6));
		EXPECT_EQ(sync_object_view(sync) != NULL, kinds[i] == SYNC_MONITORED_FENCE);
		end(sync);
	}
}

PLAIN_TEST(fence, is_held_by_a_queue_when_its_handle_is_destroyed)
{
	struct counted watch = { .watch.try_again = count };

	struct dxg_sync_object *sync =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = full_access });
	struct sync_body *body = sync->body;
	share_get(&body->share);
	EXPECT(sync_body_watch(body, 1, &watch.watch));
	end(sync);
	EXPECT(sync_body_signal(body, 1, false));
	EXPECT_EQ(watch.told, 1);
	share_put(&body->share);
}

/* ---- what a GPU writes ---- */

static unsigned watched_count(const struct dxg_device *device)
{
	const struct list *link;
	unsigned watched = 0;

	list_for_each (link, &device->process_adapter->watched)
		watched++;
	return watched;
}

/* As a GPU does it: nobody is told. */
static void write_value(struct sync_body *body, uint64_t value)
{
	atomic_store(body->fence.value, value);
}

PLAIN_TEST(written, fences_are_looked_at_while_somebody_waits_for_them)
{
	enum { FENCES = 40 };
	struct dxg_sync_object *fences[FENCES];
	struct counted waits[FENCES] = { 0 };

	for (unsigned i = 0; i < FENCES; i++) {
		fences[i] = make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE,
							 .access = full_access });
		waits[i].watch.try_again = count;
	}
	EXPECT_EQ(watched_count(app.device), 0);
	for (unsigned i = 0; i < FENCES; i += 2)
		EXPECT(sync_body_watch(fences[i]->body, 5, &waits[i].watch));
	EXPECT_EQ(watched_count(app.device), FENCES / 2);
	for (unsigned i = 0; i < FENCES; i++)
		write_value(fences[i]->body, i == 0 ? 4 : 5);
	sync_object_look_at_fences(app.device);
	for (unsigned i = 0; i < FENCES; i++)
		EXPECT_EQ(waits[i].told, i > 0 && i % 2 == 0);
	sync_object_look_at_fences(app.device);
	EXPECT_EQ(watched_count(app.device), 1);
	/* And once more. */
	EXPECT(sync_body_watch(fences[2]->body, 6, &waits[2].watch));
	EXPECT_EQ(watched_count(app.device), 2);
	write_value(fences[2]->body, 6);
	sync_object_look_at_fences(app.device);
	EXPECT_EQ(waits[2].told, 2);
	EXPECT(sync_body_watch_cancel(fences[0]->body, &waits[0].watch));
	for (unsigned i = 0; i < FENCES; i++)
		end(fences[i]);
	EXPECT_EQ(watched_count(app.device), 0);
}

/* The wait is in the fence, the list does not have it yet, and the GPU writes. */
PLAIN_TEST(written, between_the_wait_and_the_list_is_found_by_who_waits)
{
	struct counted wait = { .watch.try_again = count };

	struct dxg_sync_object *sync =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = full_access });
	EXPECT(sync_body_watch(sync->body, 5, &wait.watch));
	write_value(sync->body, 5);
	fence_watch_begin(sync->body);
	EXPECT_EQ(wait.told, 1);
	end(sync);
}

PLAIN_TEST(written, on_a_device_that_opened_it_while_another_waits)
{
	struct counted wait = { .watch.try_again = count };
	struct dxg_device *other;
	struct dxg_sync_object *opened;

	EXPECT_EQ(device_create(app.process, adapter, &(struct device_options){ 0 }, &other),
		  STATUS_SUCCESS);
	struct dxg_sync_object *sync = make(&(struct sync_options){
		.kind = SYNC_MONITORED_FENCE, .scheme = SHARE_NT, .access = full_access });
	EXPECT(sync_body_watch(sync->body, 5, &wait.watch));
	EXPECT_EQ(sync_object_open(app.process, other, &sync->body->share, &full_access, &opened),
		  STATUS_SUCCESS);
	EXPECT_EQ(watched_count(other), 2); /* through either of them */
	write_value(sync->body, 5);
	sync_object_look_at_fences(other);
	EXPECT_EQ(wait.told, 1);
	end(opened);
	end(sync);
	EXPECT(device_destroy(other));
	object_put(&other->object);
}

TEST(notification, sets_its_event_with_every_signal)
{
	struct sync_options options = { .kind = SYNC_CPU_NOTIFICATION, .access = full_access };
	int file = eventfd(0, EFD_NONBLOCK);
	uint64_t value;

	begin_plain();
	EXPECT_EQ(event_capture(NULL, (uintptr_t)file, "Event", &options.event), STATUS_SUCCESS);
	struct dxg_sync_object *sync = make(&options);
	EXPECT(sync_body_signal(sync->body, 0, false));
	EXPECT(sync_body_signal(sync->body, 0, false));
	EXPECT_EQ(read(file, &value, sizeof(value)), sizeof(value));
	EXPECT_EQ(value, 2);
	close(file);
	end(sync);
	finish_plain();
}

TEST(event, whose_number_became_another_descriptor_is_left_alone)
{
	struct event event;
	int file = eventfd(0, EFD_NONBLOCK);
	int other = eventfd(0, EFD_NONBLOCK);
	uint64_t value;

	EXPECT_EQ(event_capture(NULL, (uintptr_t)file, "Event", &event), STATUS_SUCCESS);
	EXPECT_EQ(dup2(other, event.fd), event.fd); /* a client that closes what it does not know */
	int number = event.fd;
	event_set(&event);
	event_close(&event);
	EXPECT(read(other, &value, sizeof(value)) < 0);
	EXPECT_EQ(close(number), 0); /* is still open */
	close(file);
	close(other);
}

/* ---- a lost device ---- */

static void lose(void)
{
	atomic_store(&app.device->state, DEVICE_HUNG);
	sync_object_device_lost(app.device);
}

TEST(lost_device, takes_the_fences_it_could_signal_to_their_maximum)
{
	struct sync_access no_jump = full_access, no_signal = full_access;
	struct counted watch = { .watch.try_again = count };

	no_jump.jumps_when_lost = false;
	no_signal.may_signal = false;
	begin_plain();
	struct dxg_sync_object *jumps =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = full_access });
	struct dxg_sync_object *stays =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = no_jump });
	struct dxg_sync_object *only_waits =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = no_signal });
	struct dxg_sync_object *packet =
		make(&(struct sync_options){ .kind = SYNC_FENCE, .access = full_access });
	EXPECT(sync_body_watch(jumps->body, 100, &watch.watch));
	lose();
	EXPECT_EQ(watch.told, 1);
	EXPECT_EQ(*sync_object_view(jumps), UINT64_MAX);
	EXPECT_EQ(*sync_object_view(stays), 0);
	EXPECT_EQ(*sync_object_view(only_waits), 0);
	EXPECT_EQ(fence_value(&packet->body->fence), UINT64_MAX);
	end(jumps);
	end(stays);
	end(only_waits);
	end(packet);
	finish_plain();
}

PLAIN_TEST(lost_device, makes_no_more_sync_objects)
{
	struct sync_options options = { .kind = SYNC_FENCE, .event = EVENT_NONE };
	struct dxg_sync_object *sync;

	lose();
	EXPECT_EQ(sync_object_create(app.device, &options, &sync), STATUS_DEVICE_REMOVED);
}

static NTSTATUS wait_for(struct dxg_sync_object *sync, uint64_t value)
{
	const struct sync_wait_request request = {
		.process = app.process,
		.device = app.device,
		.count = 1,
		.objects = &sync,
		.values = &value,
	};

	return sync_wait_here(&request);
}

struct blocked {
	struct dxg_sync_object *sync;
	NTSTATUS status;
};

static void blocked_run(void *argument)
{
	struct blocked *blocked = argument;

	blocked->status = wait_for(blocked->sync, 1);
}

TEST(lost_device, ends_waits_for_fences_that_do_not_jump)
{
	struct sync_access no_jump = full_access;
	struct blocked blocked = { 0 };
	struct thread *thread;

	no_jump.jumps_when_lost = false;
	begin_plain();
	blocked.sync =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = no_jump });
	EXPECT_EQ(thread_create("waiter", blocked_run, &blocked, &thread), STATUS_SUCCESS);
	lose(); /* before or after the wait began: it ends the same */
	thread_join(thread);
	EXPECT_EQ(blocked.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(wait_for(blocked.sync, 1), STATUS_DEVICE_REMOVED);
	EXPECT_EQ(wait_for(blocked.sync, 0), STATUS_SUCCESS);
	end(blocked.sync);
	finish_plain();
}

PLAIN_TEST(lost_device, ends_waits_for_fences_that_jump_with_success)
{
	struct blocked blocked = { 0 };
	struct thread *thread;

	blocked.sync =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = full_access });
	EXPECT_EQ(thread_create("waiter", blocked_run, &blocked, &thread), STATUS_SUCCESS);
	lose();
	thread_join(thread);
	/* A wait that begins between the state and the jump is refused. */
	EXPECT(blocked.status == STATUS_SUCCESS || blocked.status == STATUS_DEVICE_REMOVED);
	EXPECT_EQ(wait_for(blocked.sync, UINT64_MAX), STATUS_SUCCESS);
	end(blocked.sync);
}

/* ---- GPU addresses ---- */

static struct gpuva_view look_at(uint64_t address)
{
	struct page_tables *tables = &app.device->process_adapter->addresses->tables;
	struct gpuva_view view;

	lock_acquire(&tables->lock);
	gpuva_space_look(&tables->space, address / 4096, &view);
	lock_release(&tables->lock);
	return view;
}

PLAIN_TEST(gpu_address, of_a_fence_that_others_can_open_is_its_own_and_goes_with_it)
{
	struct sync_access no_gpu = full_access;

	no_gpu.has_gpu_access = false;
	struct dxg_sync_object *seen = make(&(struct sync_options){
		.kind = SYNC_MONITORED_FENCE, .access = full_access, .scheme = SHARE_NT });
	struct dxg_sync_object *unseen =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = no_gpu });
	struct dxg_sync_object *packet =
		make(&(struct sync_options){ .kind = SYNC_FENCE, .access = full_access });
	uint64_t address = seen->gpu_address;
	EXPECT(address >= 4096);
	EXPECT_EQ(address % 4096, seen->body->slot.physical_address % 4096);
	EXPECT_EQ(look_at(address).state.kind, GPUVA_KIND_MAPPED);
	EXPECT_EQ(look_at(address).state.protection, GPUVA_WRITE);
	EXPECT_EQ(unseen->gpu_address, 0);
	EXPECT_EQ(packet->gpu_address, 0);
	end(seen);
	EXPECT_EQ(look_at(address).state.kind, GPUVA_KIND_FREE);
	end(unseen);
	end(packet);
}

/* Which costs no paging: there is nothing to be written. */
PLAIN_TEST(gpu_address, of_a_processs_own_fences_stays_for_the_next_one)
{
	static const struct sync_options options = { .kind = SYNC_MONITORED_FENCE,
						     .access = { true, true, true, true } };

	struct dxg_sync_object *first = make(&options);
	struct dxg_sync_object *second = make(&options);
	uint64_t address = first->gpu_address;
	uint64_t changes = app.device->process_adapter->addresses->tables.space.change_count;
	EXPECT_EQ(second->gpu_address - address,
		  second->body->slot.physical_address - first->body->slot.physical_address);
	end(first);
	end(second);
	EXPECT_EQ(look_at(address).state.kind, GPUVA_KIND_MAPPED);
	first = make(&options);
	EXPECT_EQ(app.device->process_adapter->addresses->tables.space.change_count, changes);
	end(first);
}

/* Chunks of 1024: the ones in between go, one is kept. */
PLAIN_TEST(gpu_address, of_many_fences_goes_with_their_pages)
{
	enum { COUNT = 3 * 1024 };
	static struct dxg_sync_object *all[COUNT];

	for (unsigned i = 0; i < COUNT; i++)
		all[i] = make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE,
						      .access = full_access });
	uint64_t first = all[0]->gpu_address;
	uint64_t last = all[COUNT - 1]->gpu_address;
	for (unsigned i = 0; i < COUNT; i++)
		end(all[i]);
	EXPECT_EQ(look_at(first).state.kind, GPUVA_KIND_FREE);
	EXPECT_EQ(look_at(last).state.kind, GPUVA_KIND_MAPPED);
}

PLAIN_TEST(gpu_address, of_who_may_not_signal_is_for_reading)
{
	struct sync_access waits_only = full_access;

	waits_only.may_signal = false;
	struct dxg_sync_object *sync =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = waits_only });
	EXPECT_EQ(look_at(sync->gpu_address).state.kind, GPUVA_KIND_MAPPED);
	EXPECT_EQ(look_at(sync->gpu_address).state.protection, 0);
	end(sync);
}

PLAIN_TEST(gpu_address, is_no_clients_to_free_or_map_over)
{
	struct dxg_sync_object *sync =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = full_access });
	uint64_t page = sync->gpu_address & ~UINT64_C(4095);
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };
	EXPECT_EQ(
		address_space_free(app.device->process_adapter->addresses, page, 4096, false, NULL),
		STATUS_INVALID_PARAMETER);
	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, "VA-DRIVER");
	EXPECT_EQ(look_at(page).state.kind, GPUVA_KIND_MAPPED);
	end(sync);
}

PLAIN_TEST(gpu_address, goes_with_the_device)
{
	struct dxg_sync_object *sync =
		make(&(struct sync_options){ .kind = SYNC_MONITORED_FENCE, .access = full_access });
	object_put(&sync->object);
}

PLAIN_TEST(gpu_address, that_cannot_be_had_makes_no_fence)
{
	struct sync_options options = { .kind = SYNC_MONITORED_FENCE,
					.access = full_access,
					.event = EVENT_NONE };
	struct dxg_sync_object *sync = NULL;
	NTSTATUS status = STATUS_NO_MEMORY;
	unsigned failures = 0;

	for (unsigned n = 1; status == STATUS_NO_MEMORY; n++) {
		mem_fail_nth(n);
		status = sync_object_create(app.device, &options, &sync);
		(void)mem_fail_stop();
		if (status == STATUS_NO_MEMORY) {
			failures++;
			EXPECT(list_is_empty(&app.device->sync_objects));
		}
	}
	EXPECT_EQ(status, STATUS_SUCCESS);
	EXPECT(failures > 3);
	end(sync);
}

TEST_MAIN("object/sync_object")
