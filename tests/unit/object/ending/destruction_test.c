/* SPDX-License-Identifier: MIT */
/*
 * destruction_test.c - what has to be over before memory goes, with a GPU that is turned by hand.
 *
 * The fake work source remembers who waits for what; nothing is over until the test says so. What
 * the driver was asked is read from the recorder driver's notes.
 */
#include "unit/object/scene.h"

#include "base/client_call.h"
#include "base/probe.h"
#include "base/thread.h"
#include "object/ending/destruction.h"
#include "object/ending/ending.h"
#include "object/memory/gpu_addresses.h"

/* ---- the fake ---- */

enum { WAITS_MAX = 16 };

struct waits {
	_Atomic unsigned count; /* after the wait is in its place */
	struct sched_wait *list[WAITS_MAX];
};

struct fake {
	struct work_source source;
	bool is_idle; /* neither work nor paging */
	struct waits device;
	struct waits paging;
};

static void waits_add(struct waits *waits, struct sched_wait *wait)
{
	EXPECT(waits->count < WAITS_MAX);
	waits->list[waits->count] = wait;
	waits->count++;
}

static bool fake_is_idle(struct work_source *source, struct dxg_device *device)
{
	(void)device;
	return container_of(source, struct fake, source)->is_idle;
}

static bool fake_is_paged(struct work_source *source, const struct dxg_allocation *allocation)
{
	(void)allocation;
	return !container_of(source, struct fake, source)->is_idle;
}

static void fake_after_device(struct work_source *source, struct dxg_device *device,
			      struct sched_wait *wait)
{
	(void)device;
	waits_add(&container_of(source, struct fake, source)->device, wait);
}

static void fake_after_paging(struct work_source *source, struct dxg_adapter *whose,
			      struct sched_wait *wait)
{
	(void)whose;
	waits_add(&container_of(source, struct fake, source)->paging, wait);
}

static void over(struct sched_wait **wait)
{
	struct sched_wait *waiting = *wait;

	EXPECT(waiting);
	*wait = NULL;
	waiting->over(waiting);
}

/* ---- the world ---- */

struct world {
	struct fake fake;
	struct dxg_device *device;
};

static void world_open(struct world *world, uint64_t most_allocations)
{
	*world = (struct world){ 0 };
	world->fake.source.is_idle = fake_is_idle;
	world->fake.source.is_paged = fake_is_paged;
	world->fake.source.after_device = fake_after_device;
	world->fake.source.after_paging = fake_after_paging;
	scene_begin_with(NULL, 0);
	adapter->work_source = &world->fake.source;
	kernel.quotas.process.most[QUOTA_ALLOCATIONS] = most_allocations;
	client_begin(&app, 1);
	world->device = app.device;
}

static void world_init(struct world *world)
{
	world_open(world, 0);
}

/* Its client has quotas. */
static void world_init_limited(struct world *world)
{
	world_open(world, 1000);
}

/* Nothing is left that was deferred, and no memory either. */
static void world_finish(struct world *world)
{
	(void)world;
	client_end(&app);
	scene_end();
	EXPECT_EQ(notes_of("CreateAllocation"), notes_of("DestroyAllocation"));
}

static void make(struct world *world, uint32_t count, bool is_resource,
		 struct dxg_allocation **allocations, struct dxg_resource **resource_out)
{
	struct allocation_item items[4] = { 0 };
	struct allocation_request request = { .device = world->device,
					      .is_new_resource = is_resource,
					      .count = count,
					      .items = items };
	const struct object_class *found;
	struct object *object = NULL;

	EXPECT_EQ(allocation_create(&request), STATUS_SUCCESS);
	for (uint32_t i = 0; i < count; i++) {
		EXPECT(handle_find(&app.process->handles, items[i].handle, &allocation_class,
				   &object, &found) == HANDLE_FOUND);
		allocations[i] = container_of(object, struct dxg_allocation, object);
	}
	if (!is_resource)
		return;
	EXPECT(handle_find(&app.process->handles, request.resource_handle, &resource_class, &object,
			   &found) == HANDLE_FOUND);
	*resource_out = container_of(object, struct dxg_resource, object);
}

static void put_all(struct dxg_allocation **allocations, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		object_put(&allocations[i]->object);
}

static const struct destruction_options defaults;
static const struct destruction_options not_in_use = { .is_not_in_use = true };

static NTSTATUS destroy_one(struct world *world, struct dxg_allocation *allocation,
			    const struct destruction_options *options)
{
	object_get(&allocation->object); /* as the call that found it */
	NTSTATUS status = destruction_of_list(world->device, 1, &allocation, options);
	if (!NT_SUCCESS(status))
		object_put(&allocation->object);
	return status;
}

/* By the short way, with the reference that make() left; false: it has to go the other way. */
static bool destroy_unreachable(struct world *world, struct dxg_allocation *allocation)
{
	object_get(&world->device->object); /* as the call that found it */
	bool is_done = destruction_of_unreachable(world->device, thread_seat(), allocation);
	if (!is_done)
		object_put(&world->device->object);
	return is_done;
}

/* By whichever way is open, as a call goes that is about one allocation. */
static NTSTATUS destroy_single_as(struct world *world, struct dxg_allocation *allocation,
				  const struct destruction_options *options)
{
	if (!options->is_synchronous && destroy_unreachable(world, allocation))
		return STATUS_SUCCESS;
	return destruction_of_list(world->device, 1, &allocation, options);
}

static NTSTATUS destroy_single(struct world *world, struct dxg_allocation *allocation)
{
	return destroy_single_as(world, allocation, &defaults);
}

static uint64_t references_to(const struct object *object)
{
	return atomic_load(&object->slot->state) & SLOT_REFS;
}

#define WORLD_TEST(suite, claim)                                                                   \
	TEST_ON(world, world_init(&world), world_finish(&world), suite, claim)

/* ---- who destroys what ---- */

WORLD_TEST(destruction, returns_at_once_and_tells_the_driver_when_the_queued_work_is_over)
{
	struct dxg_allocation *allocation;

	make(world, 1, false, &allocation, NULL);
	EXPECT_EQ(destroy_one(world, allocation, &defaults), STATUS_SUCCESS);
	EXPECT_EQ(world->fake.device.count, 1);
	EXPECT_EQ(world->fake.paging.count, 1);
	/* The handle is gone already; the driver knows nothing of it yet. */
	EXPECT(!object_retire(&allocation->object));
	object_put(&allocation->object);
	EXPECT_EQ(notes_of("CloseAllocation"), 0);

	over(&world->fake.device.list[0]);
	EXPECT_EQ(notes_of("CloseAllocation"), 0); /* paging is still to come */
	over(&world->fake.paging.list[0]);
	endings_wait(world->device);
	EXPECT_EQ(notes_of("CloseAllocation"), 1);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
}

WORLD_TEST(destruction, assumed_not_in_use_waits_for_paging_only)
{
	struct dxg_allocation *allocation;

	make(world, 1, false, &allocation, NULL);
	EXPECT_EQ(destroy_one(world, allocation, &not_in_use), STATUS_SUCCESS);
	object_put(&allocation->object);
	EXPECT_EQ(world->fake.device.count, 0);
	EXPECT_EQ(world->fake.paging.count, 1);
	EXPECT_EQ(notes_of("DestroyAllocation"), 0);
	over(&world->fake.paging.list[0]);
	endings_wait(world->device);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
}

struct turner {
	struct world *world;
	unsigned seen_before;
};

/* Turns the crank from another thread, after a look at what the driver knows. */
static void turn(void *context)
{
	struct turner *turner = context;
	struct fake *fake = &turner->world->fake;

	while (fake->paging.count == 0)
		thread_point();
	turner->seen_before = notes_of("DestroyAllocation");
	over(&fake->device.list[0]);
	over(&fake->paging.list[0]);
}

WORLD_TEST(destruction, synchronous_returns_after_the_memory_is_free)
{
	const struct destruction_options synchronous = { .is_synchronous = true };
	struct dxg_allocation *allocation;
	struct thread *thread;

	make(world, 1, false, &allocation, NULL);
	struct turner turner = { .world = world };
	EXPECT_EQ(thread_create("turner", turn, &turner, &thread), STATUS_SUCCESS);
	EXPECT_EQ(destroy_one(world, allocation, &synchronous), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
	EXPECT_EQ(turner.seen_before, 0);
	thread_join(thread);
	object_put(&allocation->object);
}

WORLD_TEST(destruction, of_a_resource_comes_after_what_was_destroyed_of_it_before)
{
	struct dxg_allocation *allocations[3];
	struct dxg_resource *resource;

	make(world, 3, true, allocations, &resource);
	EXPECT_EQ(destroy_one(world, allocations[1], &defaults), STATUS_SUCCESS);
	EXPECT_EQ(destruction_of_resource(resource, &not_in_use), STATUS_SUCCESS);
	EXPECT_EQ(destruction_of_resource(resource, &not_in_use), STATUS_INVALID_PARAMETER);
	put_all(allocations, 3);
	object_put(&resource->object);
	/* All the resource waits for is over; the allocation's work is not. */
	over(&world->fake.paging.list[1]);
	EXPECT_EQ(notes_of("DestroyAllocation"), 0);
	over(&world->fake.paging.list[0]);
	over(&world->fake.device.list[0]);
	endings_wait(world->device);
	EXPECT(strstr(notes, "DestroyAllocation irql=0 count=1 flags=0\nCloseAllocation irql=0 "
			     "count=2\nDestroyAllocation irql=0 count=2 flags=1\n"));
	EXPECT_EQ(notes_of("CreateAllocation") + 1, notes_of("DestroyAllocation"));
	recorder_note("CreateAllocation, for the balance of world_finish()");
}

WORLD_TEST(destruction, at_once_does_not_wait_for_another_that_is_alone_and_waits)
{
	struct dxg_allocation *waiting;
	struct dxg_allocation *idle;

	make(world, 1, false, &waiting, NULL);
	make(world, 1, false, &idle, NULL);
	EXPECT_EQ(destroy_one(world, waiting, &not_in_use), STATUS_SUCCESS);
	world->fake.is_idle = true;
	EXPECT_EQ(destroy_one(world, idle, &defaults), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
	over(&world->fake.paging.list[0]);
	object_put(&waiting->object);
	object_put(&idle->object);
}

WORLD_TEST(destruction, without_memory_to_remember_it_changes_nothing)
{
	struct dxg_allocation *allocation;

	make(world, 1, false, &allocation, NULL);
	mem_fail_nth(1);
	EXPECT_EQ(destroy_one(world, allocation, &defaults), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT_EQ(world->fake.paging.count, 0);
	object_put(&allocation->object);
	/* It is still the device's, and goes with it. */
	EXPECT_EQ(notes_of("DestroyAllocation"), 0);
}

WORLD_TEST(destruction, of_one_twice_in_a_list_asks_nobody_to_wait)
{
	struct dxg_allocation *allocation;

	make(world, 1, false, &allocation, NULL);
	struct dxg_allocation *twice[2] = { allocation, allocation };
	EXPECT_EQ(destruction_of_list(world->device, 2, twice, &defaults),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(world->fake.paging.count, 0);
	object_put(&allocation->object);
}

/* ---- one that may be known to nobody else ---- */

WORLD_TEST(single, that_nobody_else_knows_is_gone_at_once)
{
	struct dxg_allocation *allocation;

	world->fake.is_idle = true;
	uint64_t references = references_to(&world->device->object);
	make(world, 1, false, &allocation, NULL);
	EXPECT_EQ(references_to(&world->device->object), references + 1);
	EXPECT(destroy_unreachable(world, allocation));
	EXPECT_EQ(notes_of("CloseAllocation"), 1);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
	EXPECT_EQ(references_to(&world->device->object), references);
}

WORLD_TEST(single, that_somebody_looks_at_goes_from_the_driver_and_stays_for_the_looker)
{
	struct dxg_allocation *allocation;

	world->fake.is_idle = true;
	uint64_t references = references_to(&world->device->object);
	make(world, 1, false, &allocation, NULL);
	object_get(&allocation->object); /* another call */
	EXPECT(!destroy_unreachable(world, allocation));
	EXPECT_EQ(notes_of("CloseAllocation"), 0);
	EXPECT_EQ(destroy_single(world, allocation), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
	EXPECT(allocation->device == world->device);
	EXPECT(!object_retire(&allocation->object));
	EXPECT_EQ(references_to(&world->device->object), references + 1);
	object_put(&allocation->object);
	EXPECT_EQ(references_to(&world->device->object), references);
}

WORLD_TEST(single, that_queued_work_may_use_takes_the_way_on_which_that_is_waited_for)
{
	struct dxg_allocation *allocation;

	make(world, 1, false, &allocation, NULL);
	atomic_fetch_add(&world->device->work.pending, 1);
	EXPECT(!destroy_unreachable(world, allocation));
	atomic_fetch_sub(&world->device->work.pending, 1);
	atomic_fetch_add(&world->device->ordered_endings, 1);
	EXPECT(!destroy_unreachable(world, allocation));
	atomic_fetch_sub(&world->device->ordered_endings, 1);
	EXPECT_EQ(notes_of("CloseAllocation"), 0);
	EXPECT(!allocation->is_being_destroyed);
	EXPECT(destroy_unreachable(world, allocation));
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
}

WORLD_TEST(single, that_the_cpu_sees_is_hidden_from_it)
{
	struct dxg_allocation *allocation;
	void *pointer;

	world->fake.is_idle = true;
	make(world, 1, false, &allocation, NULL);
	EXPECT_EQ(allocation_lock(allocation, 0, &pointer), STATUS_SUCCESS);
	EXPECT(probe_is_readable(pointer, 1));
	EXPECT_EQ(destroy_single(world, allocation), STATUS_SUCCESS);
	EXPECT(!probe_is_readable(pointer, 1));
}

/* A client in another process, and what it finds when it goes on. */
struct elsewhere {
	struct client_call call;
	unsigned settled;
	unsigned destroyed;
	uint64_t handles;
	uint64_t allocations;
};

static void go_on(struct client_call *call)
{
	struct elsewhere *elsewhere = container_of(call, struct elsewhere, call);

	elsewhere->settled++;
	elsewhere->destroyed = (unsigned)notes_of("DestroyAllocation");
	elsewhere->handles = quota_used(app.process->ledger, QUOTA_HANDLES);
	elsewhere->allocations = quota_used(app.process->ledger, QUOTA_ALLOCATIONS);
}

static struct elsewhere destroy_from_elsewhere(struct world *world,
					       struct dxg_allocation *allocation,
					       const struct destruction_options *options)
{
	struct elsewhere elsewhere = { .call.settle = go_on };

	client_call_begin(&elsewhere.call);
	EXPECT_EQ(destroy_single_as(world, allocation, options), STATUS_SUCCESS);
	client_call_end();
	client_call_finish(&elsewhere.call);
	return elsewhere;
}

TEST(single, that_was_never_used_lets_a_client_elsewhere_go_on_when_it_counts_no_more)
{
	static const struct destruction_options synchronous = { .is_synchronous = true };
	struct world world;
	struct dxg_allocation *allocation;
	struct elsewhere elsewhere;
	void *pointer;

	world_init_limited(&world);
	world.fake.is_idle = true;
	uint64_t handles = quota_used(app.process->ledger, QUOTA_HANDLES);
	make(&world, 1, false, &allocation, NULL);
	elsewhere = destroy_from_elsewhere(&world, allocation, &defaults);
	EXPECT_EQ(elsewhere.settled, 1);
	EXPECT_EQ(elsewhere.destroyed, 0);
	EXPECT_EQ(elsewhere.handles, handles);
	EXPECT_EQ(elsewhere.allocations, 0);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
	/* Asked to wait for the end of it, it does; and for memory that was there. */
	make(&world, 1, false, &allocation, NULL);
	EXPECT_EQ(destroy_from_elsewhere(&world, allocation, &synchronous).settled, 0);
	make(&world, 1, false, &allocation, NULL);
	EXPECT_EQ(allocation_lock(allocation, 0, &pointer), STATUS_SUCCESS);
	EXPECT_EQ(destroy_from_elsewhere(&world, allocation, &defaults).settled, 0);
	EXPECT_EQ(quota_used(app.process->ledger, QUOTA_HANDLES), handles);
	EXPECT_EQ(quota_used(app.process->ledger, QUOTA_ALLOCATIONS), 0);
	world_finish(&world);
}

/* Its last look at it was before: another thread has mapped it since. */
WORLD_TEST(single, that_has_addresses_by_now_loses_them_before_the_driver_forgets_it)
{
	struct dxg_allocation *allocation;
	struct space_memory *memory;

	world->fake.is_idle = true;
	make(world, 1, false, &allocation, NULL);
	EXPECT_EQ(allocation_addresses(allocation, &memory), STATUS_SUCCESS);
	EXPECT(!memory->is_gone);
	EXPECT_EQ(destroy_single(world, allocation), STATUS_SUCCESS);
	EXPECT(memory->is_gone);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
	space_memory_put(memory);
}

WORLD_TEST(single, of_a_resource_leaves_the_resource)
{
	struct dxg_allocation *allocations[2];
	struct dxg_resource *resource;

	world->fake.is_idle = true;
	make(world, 2, true, allocations, &resource);
	EXPECT(!destroy_unreachable(world, allocations[0]));
	EXPECT_EQ(destroy_single(world, allocations[0]), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("DestroyAllocation"), 1);
	EXPECT_EQ(resource->allocation_count, 1);
	object_put(&allocations[1]->object);
	EXPECT_EQ(destruction_of_resource(resource, &defaults), STATUS_SUCCESS);
	object_put(&resource->object);
	recorder_note("CreateAllocation, for the balance of world_finish()");
}

WORLD_TEST(single, that_is_being_destroyed_already_is_refused_and_only_the_device_is_let_go)
{
	struct dxg_allocation *allocation;

	world->fake.is_idle = true;
	make(world, 1, false, &allocation, NULL);
	uint64_t references = references_to(&world->device->object);
	allocation->is_being_destroyed = true;
	EXPECT_EQ(destroy_single(world, allocation), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(notes_of("CloseAllocation"), 0);
	EXPECT_EQ(references_to(&world->device->object), references);
	allocation->is_being_destroyed = false;
	EXPECT_EQ(destroy_single(world, allocation), STATUS_SUCCESS);
}

/* ---- with its device, and with its process ---- */

struct ender {
	struct world *world;
	struct dxg_allocation *allocation;
	NTSTATUS status;
};

static void destroy_it(void *context)
{
	struct ender *ender = context;

	ender->status = destroy_one(ender->world, ender->allocation, &defaults);
}

static void destroy_device(void *context)
{
	struct ender *ender = context;

	(void)!device_destroy(ender->world->device);
}

/* Who comes second to one that its device has, or to one that a call has, leaves it to the other. */
TEST(device, and_a_call_that_destroy_the_same_allocation_destroy_it_once)
{
	for (unsigned round = 0; round < 8; round++) {
		struct thread *call;
		struct thread *end;
		struct world world;
		struct ender ender = { .world = &world };

		world_init(&world);
		world.fake.is_idle = true;
		make(&world, 1, false, &ender.allocation, NULL);
		uint64_t references = references_to(&ender.allocation->object);
		lock_acquire(&world.device->destroying); /* both stand in front of it */
		EXPECT_EQ(thread_create("call", destroy_it, &ender, &call), STATUS_SUCCESS);
		while (references_to(&ender.allocation->object) < references + 1)
			thread_point();
		EXPECT_EQ(thread_create("end", destroy_device, &ender, &end), STATUS_SUCCESS);
		while (references_to(&ender.allocation->object) < references + 2)
			thread_point();
		lock_release(&world.device->destroying);
		thread_join(call);
		thread_join(end);
		EXPECT(ender.status == STATUS_SUCCESS || ender.status == STATUS_INVALID_PARAMETER);
		EXPECT_EQ(notes_of("CloseAllocation"), 1);
		EXPECT_EQ(notes_of("DestroyAllocation"), 1);
		object_put(&ender.allocation->object);
		world_finish(&world);
	}
}

static _Atomic bool is_process_gone;

static void destroy_process(void *context)
{
	(void)context;
	process_destroy(app.process);
	is_process_gone = true;
}

static bool is_dying(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	bool is_dying = device->is_dying;
	lock_release(&device->lock);
	return is_dying;
}

TEST(process, ends_when_the_driver_has_forgotten_its_devices)
{
	struct thread *thread;

	scene_begin_with(NULL, 0);
	client_begin(&app, 1);
	is_process_gone = false;
	/* Somebody still has the device. */
	EXPECT_EQ(thread_create("end", destroy_process, NULL, &thread), STATUS_SUCCESS);
	while (!is_dying(app.device))
		thread_point();
	for (unsigned i = 0; i < 1000; i++)
		thread_point();
	EXPECT(!is_process_gone);
	EXPECT_EQ(notes_of("DestroyProcess"), 0);
	object_put(&app.device->object);
	thread_join(thread);
	EXPECT(is_process_gone);
	scene_end();
	EXPECT_EQ(notes_of("DestroyProcess"), notes_of("CreateProcess"));
}

TEST_MAIN("object/destruction")
