/* SPDX-License-Identifier: MIT */
/*
 * resource_open_test.c - a shared resource is opened while its adapter goes: all or nothing.
 */
#include "unit/object/scene.h"

#include "object/memory/allocation.h"
#include "object/memory/resource_open.h"

enum { COUNT = 2 };

static struct dxg_resource *share(void)
{
	struct allocation_item items[COUNT] = { 0 };
	struct allocation_request request = { .device = app.device,
					      .is_new_resource = true,
					      .is_shared = true,
					      .count = COUNT,
					      .items = items };
	const struct object_class *found;
	struct object *object = NULL;

	EXPECT_EQ(allocation_create(&request), STATUS_SUCCESS);
	EXPECT(handle_find(&app.process->handles, request.resource_handle, &resource_class, &object,
			   &found) == HANDLE_FOUND);
	return container_of(object, struct dxg_resource, object);
}

static NTSTATUS open_on(struct dxg_device *device, struct dxg_resource *resource)
{
	struct resource_open_item items[COUNT];
	return resource_open(&(struct resource_open_request){
		.device = device, .body = resource->body, .count = COUNT, .items = items });
}

static NTSTATUS open_again(struct dxg_resource *resource)
{
	return open_on(app.device, resource);
}

/* The device was still alive when the call looked. */
TEST(open, on_an_adapter_that_goes_meanwhile_leaves_nothing)
{
	scene_begin_with(NULL, 0);
	client_begin(&app, 1);
	struct dxg_resource *resource = share();
	struct mem_usage usage = mem_usage();
	notes_forget();
	atomic_store(&adapter->is_lost, true);
	EXPECT_EQ(open_again(resource), STATUS_DEVICE_REMOVED);
	atomic_store(&adapter->is_lost, false);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
	EXPECT_EQ(notes_of("OpenAllocation"), 0);
	EXPECT_EQ(open_again(resource), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("OpenAllocation"), 1);
	object_put(&resource->object);
	client_end(&app);
	scene_end();
}

/*
 * What was shared before there was anybody elsewhere is in no file that he could map, and outside of a call of his
 * nobody maps one for him: he has it all the same.
 */
TEST(open, by_a_client_elsewhere_shows_it_nothing_where_there_is_nothing_to_show_it)
{
	const struct process_identity identity = { .pid = 2, .name = "elsewhere" };
	const struct process_arena arena = { UINT64_C(1) << 40, UINT64_C(1) << 36 };
	struct client far;

	begin_plain();
	struct dxg_resource *first = share();
	EXPECT_EQ(process_create(&kernel, &identity, &arena, &far.process), STATUS_SUCCESS);
	device_begin(far.process, &far.device);
	struct dxg_resource *second = share();
	EXPECT(!first->body->bank && second->body->bank);
	EXPECT_EQ(open_on(far.device, first), STATUS_SUCCESS);
	EXPECT_EQ(open_on(far.device, second), STATUS_SUCCESS);
	object_put(&first->object);
	object_put(&second->object);
	client_end(&far);
	finish_plain();
}

TEST_MAIN("object/resource_open")
