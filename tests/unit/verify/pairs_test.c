/* SPDX-License-Identifier: MIT */
/*
 * pairs_test.c - handles that a driver gives, and what it is given to read (watch_pairs.c, watch_inputs.c).
 */
#include "stage.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "miniport/handle_services.h"

#define BEND(name, ...)                                                                            \
	static void name(DRIVER_INITIALIZATION_DATA *driver)                                       \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

/* What a bent driver gives: nothing, or the same again and again. */
static HANDLE given;

static NTSTATUS APIENTRY forget(IN_CONST_HANDLE handle)
{
	(void)handle;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY forget_of_adapter(IN_CONST_HANDLE adapter, IN_CONST_HANDLE handle)
{
	(void)adapter;
	(void)handle;
	return STATUS_SUCCESS;
}

/* ---- processes, devices, contexts ---- */

static NTSTATUS APIENTRY give_process(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_CREATEPROCESS args)
{
	(void)adapter;
	if (args->Flags.SystemProcess)
		return real.DxgkDdiCreateProcess(adapter, args);
	args->hKmdProcess = given;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY forget_process(IN_CONST_HANDLE adapter, IN_CONST_HANDLE process)
{
	return process == given ? STATUS_SUCCESS : real.DxgkDdiDestroyProcess(adapter, process);
}

BEND(bend_process, driver->DxgkDdiCreateProcess = give_process;
     driver->DxgkDdiDestroyProcess = forget_process)

static void two_processes(struct stage *stage)
{
	struct host *host = &stage->host;
	void *processes[2];

	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		EXPECT_EQ(miniport_create_process(host->miniport, host->client, &processes[i],
						  "one", &processes[i]),
			  STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++)
		miniport_destroy_process(host->miniport, host->client, processes[i]);
}

static NTSTATUS APIENTRY give_device(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
	if (args->Flags.SystemDevice)
		return real.DxgkDdiCreateDevice(adapter, args);
	args->hDevice = given;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY forget_device(IN_CONST_HANDLE device)
{
	return device == given ? STATUS_SUCCESS : real.DxgkDdiDestroyDevice(device);
}

BEND(bend_device, driver->DxgkDdiCreateDevice = give_device;
     driver->DxgkDdiDestroyDevice = forget_device)

static void two_devices(struct stage *stage)
{
	struct host *host = &stage->host;
	void *devices[2];

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		EXPECT_EQ(miniport_create_device(host->miniport, host->client, &devices[i], NULL,
						 &devices[i]),
			  STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		miniport_destroy_device(host->miniport, host->client, devices[i]);
}

static NTSTATUS APIENTRY give_context(IN_CONST_HANDLE device, INOUT_PDXGKARG_CREATECONTEXT args)
{
	if (args->Flags.SystemContext)
		return real.DxgkDdiCreateContext(device, args);
	args->ContextInfo = (DXGK_CONTEXTINFO){ .Caps.NoPatchingRequired = 1 };
	args->hContext = given;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY forget_context(IN_CONST_HANDLE context)
{
	return context == given ? STATUS_SUCCESS : real.DxgkDdiDestroyContext(context);
}

BEND(bend_context, driver->DxgkDdiCreateContext = give_context;
     driver->DxgkDdiDestroyContext = forget_context)

static void two_contexts(struct stage *stage)
{
	struct host_context contexts[2];

	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++)
		host_context_create(&stage->host, &contexts[i], 0, true);
	for (size_t i = 0; i < ARRAY_SIZE(contexts); i++)
		host_context_destroy(&stage->host, &contexts[i]);
}

TEST(handles, of_processes_devices_and_contexts_are_there_and_differ)
{
	static int something;
	static const struct {
		enum rule rule;
		stage_bend *bend;
		stage_act *act;
	} kinds[] = {
		{ RULE_DDI_PAIR_PROCESS, bend_process, two_processes },
		{ RULE_DDI_PAIR_DEVICE, bend_device, two_devices },
		{ RULE_DDI_PAIR_CONTEXT, bend_context, two_contexts },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		given = NULL;
		EXPECT_RULE(kinds[i].rule, kinds[i].bend, kinds[i].act, PLAIN);
		EXPECT_EQ(stage_reports(kinds[i].rule), 2);
		given = &something;
		EXPECT_RULE(kinds[i].rule, kinds[i].bend, kinds[i].act, PLAIN);
		EXPECT_EQ(stage_reports(kinds[i].rule), 1);
	}
}

/* ---- hardware contexts and queues ---- */

static NTSTATUS APIENTRY give_hw_queue(IN_CONST_HANDLE context, INOUT_PDXGKARG_CREATEHWQUEUE args)
{
	(void)context;
	args->hHwQueue = given;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY give_hw_context(IN_CONST_HANDLE device,
					 INOUT_PDXGKARG_CREATEHWCONTEXT args)
{
	(void)device;
	args->hHwContext = given;
	return STATUS_SUCCESS;
}

BEND(bend_hw_queue, driver->DxgkDdiCreateHwQueue = give_hw_queue;
     driver->DxgkDdiDestroyHwQueue = forget)
BEND(bend_hw_context, driver->DxgkDdiCreateHwContext = give_hw_context;
     driver->DxgkDdiDestroyHwContext = forget; bend_hw_queue(driver))

static void two_hw_queues(struct stage *stage)
{
	struct host *host = &stage->host;
	uint64_t fences[2] = { 0 };
	void *queues[2];
	void *device;
	void *context;

	EXPECT_EQ(miniport_create_device(host->miniport, host->client, stage, NULL, &device),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_hw_context(host->miniport, host->client,
					     &(struct miniport_context_desc){
						     .kernel_handle = &context,
						     .driver_device = device,
						     .engine_mask = 1,
					     },
					     &context),
		  STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(queues); i++)
		EXPECT_EQ(miniport_create_hw_queue(host->miniport, host->client,
						   &(struct miniport_hw_queue_desc){
							   .kernel_handle = &queues[i],
							   .driver_context = context,
							   .fence_pointer = &fences[i],
							   .is_hw_context = true,
						   },
						   &queues[i]),
			  STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(queues); i++)
		miniport_destroy_hw_queue(host->miniport, host->client, queues[i]);
	miniport_destroy_hw_context(host->miniport, host->client, context);
	miniport_destroy_device(host->miniport, host->client, device);
}

TEST(handles, of_hardware_contexts_and_queues_are_there_and_differ)
{
	static int something;

	given = &something;
	EXPECT_RULE(RULE_DDI_PAIR_CONTEXT, bend_hw_queue, two_hw_queues, NUMBER("HwQueues", 1));
	given = NULL;
	EXPECT_RULE(RULE_DDI_PAIR_CONTEXT, bend_hw_context, two_hw_queues, NUMBER("HwQueues", 1));
	EXPECT_EQ(stage_reports(RULE_DDI_PAIR_CONTEXT), 3);
}

/* The kernel's own duty: a device goes after its contexts. */
static void device_before_context(struct stage *stage)
{
	struct host_context context;

	host_context_create(&stage->host, &context, 0, true);
	if (stage->is_bent)
		miniport_destroy_device(stage->host.miniport, stage->host.client, context.device);
	miniport_destroy_context(stage->host.miniport, stage->host.client,
				 context.info.driver_context);
	if (!stage->is_bent)
		miniport_destroy_device(stage->host.miniport, stage->host.client, context.device);
}

BEND(bend_forgetful, driver->DxgkDdiDestroyDevice = forget; driver->DxgkDdiDestroyContext = forget;
     driver->DxgkDdiDestroyProcess = forget_of_adapter)

TEST(handles, of_devices_end_after_those_of_their_contexts)
{
	EXPECT_RULE(RULE_DDI_PAIR_DEVICE, bend_forgetful, device_before_context, PLAIN);
}

/* ---- allocations ---- */

static struct recorder_allocation data;
static struct recorder_allocation group; /* of a resource */
static HANDLE given_resource;
static HANDLE given_opening;

static NTSTATUS APIENTRY give_allocation(IN_CONST_HANDLE adapter,
					 INOUT_PDXGKARG_CREATEALLOCATION args)
{
	NTSTATUS status = real.DxgkDdiCreateAllocation(adapter, args);

	for (UINT i = 0; i < args->NumAllocations; i++)
		args->pAllocationInfo[i].hAllocation = given;
	if (args->Flags.Resource)
		args->hResource = given_resource;
	return status;
}

static NTSTATUS APIENTRY forget_allocation(IN_CONST_HANDLE adapter,
					   IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
	(void)adapter;
	(void)args;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY give_opening(IN_CONST_HANDLE device, IN_CONST_PDXGKARG_OPENALLOCATION args)
{
	(void)device;
	for (UINT i = 0; i < args->NumAllocations; i++)
		args->pOpenAllocation[i].hDeviceSpecificAllocation = given_opening;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY forget_opening(IN_CONST_HANDLE device,
					IN_CONST_PDXGKARG_CLOSEALLOCATION args)
{
	(void)device;
	(void)args;
	return STATUS_SUCCESS;
}

BEND(bend_allocation, driver->DxgkDdiCreateAllocation = give_allocation;
     driver->DxgkDdiDestroyAllocation = forget_allocation)
BEND(bend_opening, driver->DxgkDdiOpenAllocation = give_opening;
     driver->DxgkDdiCloseAllocation = forget_opening)

struct world {
	void *device;
	void *resource;
	void *allocations[2];
	void *bindings[2];
};

static void create(struct stage *stage, struct world *world, bool is_resource)
{
	struct host *host = &stage->host;

	*world = (struct world){ 0 };
	EXPECT_EQ(miniport_create_device(host->miniport, host->client, world, NULL, &world->device),
		  STATUS_SUCCESS);
	for (size_t i = 0; i < 2; i++) {
		struct miniport_allocation allocation = { .private_data = &data,
							  .private_bytes = sizeof(data) };
		struct miniport_creation creation = {
			.driver_resource = is_resource ? &world->resource : NULL,
			.is_new_resource = i == 0,
			.count = 1,
			.allocations = &allocation,
		};

		EXPECT_EQ(miniport_create_allocations(host->miniport, host->client, &creation),
			  STATUS_SUCCESS);
		world->allocations[i] = allocation.driver_allocation;
	}
}

static void destroy(struct stage *stage, struct world *world, bool is_resource)
{
	struct host *host = &stage->host;

	for (size_t i = 0; i < 2; i++)
		miniport_destroy_allocations(
			host->miniport, host->client, 1, &world->allocations[i],
			is_resource ? &world->resource : NULL, is_resource && i == 1);
	if (world->device)
		miniport_destroy_device(host->miniport, host->client, world->device);
}

static NTSTATUS open_on(struct stage *stage, void *device, uint32_t handle, bool is_create,
			void **binding_out)
{
	struct miniport_binding binding = { .handle = handle,
					    .private_data = &data,
					    .private_bytes = sizeof(data) };
	void *buffer;
	struct miniport_opening opening = { .driver_device = device,
					    .private_data = &group,
					    .private_bytes = sizeof(group),
					    .is_create = is_create,
					    .count = 1,
					    .bindings = &binding,
					    .storage = &buffer };
	NTSTATUS status =
		miniport_open_allocations(stage->host.miniport, stage->host.client, &opening);

	*binding_out = binding.driver_binding;
	return status;
}

static void two_allocations(struct stage *stage)
{
	struct world world;

	create(stage, &world, false);
	destroy(stage, &world, false);
}

/* The recorder asks about what it opens, and so does the watch. */
static struct world *shown;

static void *get_data(const struct miniport_handle_query *query)
{
	if (query->is_resource || query->is_device_specific || !shown)
		return NULL;
	return shown->allocations[query->handle & 1];
}

static uint32_t get_parent(void *owner, uint32_t allocation)
{
	(void)owner;
	return allocation | 0x100;
}

static void serve(struct stage *stage, struct world *world)
{
	static const struct miniport_handle_services services = { .get = get_data,
								  .parent = get_parent };

	shown = world;
	miniport_serve_handles(&services);
	miniport_client_set_owner(stage->host.client, stage);
}

static void open_two(struct stage *stage)
{
	struct world world;

	create(stage, &world, false);
	serve(stage, &world);
	for (uint32_t i = 0; i < 2; i++)
		EXPECT_EQ(open_on(stage, world.device, 0x40 + i, true, &world.bindings[i]),
			  STATUS_SUCCESS);
	for (size_t i = 0; i < 2; i++)
		miniport_close_allocations(stage->host.miniport, stage->host.client, world.device,
					   1, &world.bindings[i]);
	destroy(stage, &world, false);
	shown = NULL;
}

TEST(handles, of_allocations_and_openings_are_there_and_differ)
{
	static int something;

	given = &something;
	EXPECT_RULE(RULE_DDI_PAIR_ALLOCATION, bend_allocation, two_allocations, PLAIN);
	given = NULL;
	EXPECT_RULE(RULE_DDI_PAIR_ALLOCATION, bend_allocation, two_allocations, PLAIN);
	EXPECT_EQ(stage_reports(RULE_DDI_PAIR_ALLOCATION), 2);
	given_opening = &something;
	EXPECT_RULE(RULE_DDI_PAIR_ALLOCATION, bend_opening, open_two, PLAIN);
}

/* ---- resources ---- */

static void a_resource(struct stage *stage)
{
	struct world world;

	create(stage, &world, true);
	destroy(stage, &world, true);
}

static NTSTATUS APIENTRY free_resource_early(IN_CONST_HANDLE adapter,
					     IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
	(void)adapter;
	if (!args->Flags.DestroyResource)
		ExFreePool(args->hResource);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY free_resource_in_time(IN_CONST_HANDLE adapter,
					       IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
	(void)adapter;
	if (args->Flags.DestroyResource)
		ExFreePool(args->hResource);
	return STATUS_SUCCESS;
}

/* Handles of its own for what it makes, so that the recorder has nothing to do with them. */
static unsigned made;

static NTSTATUS APIENTRY make_anything(IN_CONST_HANDLE adapter,
				       INOUT_PDXGKARG_CREATEALLOCATION args)
{
	static int handles[64];

	(void)adapter;
	for (UINT i = 0; i < args->NumAllocations; i++) {
		args->pAllocationInfo[i].Size = 4096;
		args->pAllocationInfo[i].SupportedWriteSegmentSet = 1;
		args->pAllocationInfo[i].SupportedReadSegmentSet = 1;
		args->pAllocationInfo[i].AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL;
		args->pAllocationInfo[i].hAllocation = &handles[made++ % ARRAY_SIZE(handles)];
	}
	if (args->Flags.Resource)
		args->hResource = given_resource;
	return STATUS_SUCCESS;
}

BEND(bend_in_time, given_resource = stage_pool(64); driver->DxgkDdiCreateAllocation = make_anything;
     driver->DxgkDdiDestroyAllocation = free_resource_in_time)
BEND(bend_early, bend_in_time(driver); driver->DxgkDdiDestroyAllocation = free_resource_early)
BEND(bend_never, bend_in_time(driver); driver->DxgkDdiDestroyAllocation = forget_allocation)

TEST(resource, keeps_its_memory_exactly_until_it_is_destroyed)
{
	stage_play(bend_in_time, a_resource, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_RESOURCE_HANDLE), 0);
	EXPECT_RULE(RULE_DDI_RESOURCE_HANDLE, bend_early, a_resource, PLAIN);
	EXPECT_RULE(RULE_DDI_RESOURCE_HANDLE, bend_never, a_resource, PLAIN);
	ExFreePool(given_resource);
}

static void two_resources(struct stage *stage)
{
	struct world worlds[2];

	for (size_t i = 0; i < ARRAY_SIZE(worlds); i++)
		create(stage, &worlds[i], true);
	for (size_t i = 0; i < ARRAY_SIZE(worlds); i++)
		destroy(stage, &worlds[i], true);
}

BEND(bend_same_resource, static int something; given_resource = &something;
     driver->DxgkDdiCreateAllocation = make_anything;
     driver->DxgkDdiDestroyAllocation = forget_allocation)

TEST(resource, has_a_handle_that_no_other_has)
{
	EXPECT_RULE(RULE_DDI_RESOURCE_HANDLE, bend_same_resource, two_resources, PLAIN);
}

/* ---- memory behind handles ---- */

static NTSTATUS APIENTRY create_in_pool(IN_CONST_HANDLE device, INOUT_PDXGKARG_CREATECONTEXT args)
{
	if (!args->Flags.SystemContext)
		given = stage_pool(48);
	return give_context(device, args);
}

static NTSTATUS APIENTRY free_what_is_given(IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_ESCAPE args)
{
	(void)adapter;
	(void)args;
	ExFreePool(given);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY destroy_in_pool(IN_CONST_HANDLE context)
{
	if (context != given)
		return real.DxgkDdiDestroyContext(context);
	if (nt_pool_is_live(given))
		ExFreePool(given);
	return STATUS_SUCCESS;
}

static void escape_with_context(struct stage *stage)
{
	struct host_context context;

	host_context_create(&stage->host, &context, 0, true);
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_NOTHING });
	host_context_destroy(&stage->host, &context);
}

BEND(bend_in_pool, given = NULL; driver->DxgkDdiCreateContext = create_in_pool;
     driver->DxgkDdiDestroyContext = destroy_in_pool)
BEND(bend_freed_early, bend_in_pool(driver); driver->DxgkDdiEscape = free_what_is_given)

TEST(memory, of_a_handle_stays_until_the_kernel_gives_the_handle_back)
{
	stage_play(bend_in_pool, escape_with_context, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_HANDLE_LIFE), 0);
	EXPECT_RULE(RULE_DDI_HANDLE_LIFE, bend_freed_early, escape_with_context, PLAIN);
}

static NTSTATUS APIENTRY create_in_pool_for_device(IN_CONST_HANDLE adapter,
						   INOUT_PDXGKARG_CREATEALLOCATION args)
{
	NTSTATUS status = make_anything(adapter, args);

	given = stage_pool(48);
	args->pAllocationInfo[0].hAllocation = given;
	return status;
}

static NTSTATUS APIENTRY destroy_with_allocations(IN_CONST_HANDLE device)
{
	if (given && nt_pool_is_live(given))
		ExFreePool(given);
	return real.DxgkDdiDestroyDevice(device);
}

static NTSTATUS APIENTRY destroy_one(IN_CONST_HANDLE adapter,
				     IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
	(void)adapter;
	if (nt_pool_is_live(args->pAllocationList[0]))
		ExFreePool(args->pAllocationList[0]);
	return STATUS_SUCCESS;
}

BEND(bend_of_adapter, given = NULL; driver->DxgkDdiCreateAllocation = create_in_pool_for_device;
     driver->DxgkDdiDestroyAllocation = destroy_one)
BEND(bend_of_device, bend_of_adapter(driver);
     driver->DxgkDdiDestroyDevice = destroy_with_allocations)

static void outlive_device(struct stage *stage)
{
	struct world world;

	create(stage, &world, false);
	miniport_destroy_device(stage->host.miniport, stage->host.client, world.device);
	world.device = NULL;
	destroy(stage, &world, false);
}

TEST(allocation, outlives_the_device_that_made_it)
{
	stage_play(bend_of_adapter, outlive_device, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_ALLOCATION_ADAPTER), 0);
	EXPECT_RULE(RULE_DDI_ALLOCATION_ADAPTER, bend_of_device, outlive_device, PLAIN);
}

static bool is_creator_gone;

static NTSTATUS APIENTRY open_only_with_creator(IN_CONST_HANDLE device,
						IN_CONST_PDXGKARG_OPENALLOCATION args)
{
	return is_creator_gone ? STATUS_INVALID_PARAMETER
			       : real.DxgkDdiOpenAllocation(device, args);
}

BEND(bend_orphans, driver->DxgkDdiOpenAllocation = open_only_with_creator)

static void open_orphan(struct stage *stage)
{
	struct world world;
	void *other;
	void *binding;

	is_creator_gone = false;
	create(stage, &world, false);
	serve(stage, &world);
	EXPECT_EQ(open_on(stage, world.device, 0x40, true, &world.bindings[0]), STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_device(stage->host.miniport, stage->host.client, &other, NULL,
					 &other),
		  STATUS_SUCCESS);
	miniport_close_allocations(stage->host.miniport, stage->host.client, world.device, 1,
				   &world.bindings[0]);
	miniport_destroy_device(stage->host.miniport, stage->host.client, world.device);
	world.device = other;
	is_creator_gone = true;
	if (NT_SUCCESS(open_on(stage, other, 0x40, false, &binding)))
		miniport_close_allocations(stage->host.miniport, stage->host.client, other, 1,
					   &binding);
	destroy(stage, &world, false);
	shown = NULL;
}

TEST(allocation, can_be_opened_when_the_device_that_made_it_is_gone)
{
	EXPECT_RULE(RULE_DDI_ALLOCATION_ADAPTER, bend_orphans, open_orphan, PLAIN);
}

/* ---- what is only to be read ---- */

static NTSTATUS APIENTRY write_resource_data(IN_CONST_HANDLE device,
					     IN_CONST_PDXGKARG_OPENALLOCATION args)
{
	NTSTATUS status = real.DxgkDdiOpenAllocation(device, args);

	((struct recorder_allocation *)args->pPrivateDriverData)->size_bytes ^= 1;
	return status;
}

static NTSTATUS APIENTRY write_arguments(IN_CONST_HANDLE device,
					 IN_CONST_PDXGKARG_CLOSEALLOCATION args)
{
	NTSTATUS status = real.DxgkDdiCloseAllocation(device, args);

	((DXGKARG_CLOSEALLOCATION *)args)->NumAllocations = 0;
	return status;
}

static NTSTATUS APIENTRY write_list(IN_CONST_HANDLE adapter,
				    IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
	NTSTATUS status = real.DxgkDdiDestroyAllocation(adapter, args);

	((HANDLE *)args->pAllocationList)[0] = NULL;
	return status;
}

BEND(bend_resource_data, driver->DxgkDdiOpenAllocation = write_resource_data)
BEND(bend_arguments, driver->DxgkDdiCloseAllocation = write_arguments)
BEND(bend_list, driver->DxgkDdiDestroyAllocation = write_list)

TEST(input, is_not_written)
{
	static stage_bend *const bends[] = { bend_resource_data, bend_arguments, bend_list };

	for (size_t i = 0; i < ARRAY_SIZE(bends); i++)
		EXPECT_RULE(RULE_DDI_PRIVATE_DATA_IN, bends[i], open_two, PLAIN);
}

/* ---- handles of the kernel's ---- */

static DXGKARGCB_GETHANDLEDATA question;

static NTSTATUS APIENTRY ask_about_it(IN_CONST_HANDLE device, IN_CONST_PDXGKARG_OPENALLOCATION args)
{
	if (question.hObject == 0)
		question.hObject = stage_interface()->DxgkCbGetHandleParent(
			args->pOpenAllocation[0].hAllocation);
	else
		question.hObject = args->pOpenAllocation[0].hAllocation;
	(void)stage_interface()->DxgkCbGetHandleData(&question);
	return real.DxgkDdiOpenAllocation(device, args);
}

BEND(bend_as_resource, driver->DxgkDdiOpenAllocation = ask_about_it;
     question = (DXGKARGCB_GETHANDLEDATA){ .hObject = 1, .Type = DXGK_HANDLE_RESOURCE })
BEND(bend_as_allocation, driver->DxgkDdiOpenAllocation = ask_about_it;
     question = (DXGKARGCB_GETHANDLEDATA){ .Type = DXGK_HANDLE_ALLOCATION })
BEND(bend_rightly, driver->DxgkDdiOpenAllocation = ask_about_it;
     question = (DXGKARGCB_GETHANDLEDATA){ .hObject = 1, .Type = DXGK_HANDLE_ALLOCATION })
BEND(bend_specific, bend_as_allocation(driver); question.Type = DXGK_HANDLE_RESOURCE;
     question.Flags.DeviceSpecific = 1)

TEST(question, about_a_handle_is_for_what_it_is)
{
	stage_play(bend_rightly, open_two, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_HANDLEDATA_IRQL), 0);
	EXPECT_RULE(RULE_DDI_HANDLEDATA_IRQL, bend_as_resource, open_two, PLAIN);
	EXPECT_RULE(RULE_DDI_HANDLEDATA_IRQL, bend_as_allocation, open_two, PLAIN);
	EXPECT_RULE(RULE_DDI_HANDLEDATA_IRQL, bend_specific, open_two, PLAIN);
}

TEST_MAIN("verify/pairs")
