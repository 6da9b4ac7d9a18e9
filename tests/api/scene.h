/* SPDX-License-Identifier: MIT */
/*
 * scene.h - one client's use of memory, from its first call to its last, in which anything may fail
 * once.
 *
 *	scene_begin(&scene);    a new process: device, queues, two allocations with known contents
 *	scene_play(&scene);     resident, evicted, locked, offered, reclaimed, mapped, rendered …
 *	scene_end(&scene);      everything destroyed, process gone
 *
 * A call that fails is made again, and then it works: only one fault is planned. Or the device is
 * lost: it says so, and nothing is asked of it any more but to go. Where neither is true the test
 * has failed. What was written is there, as long as the device is.
 */
#ifndef TESTS_API_SCENE_H
#define TESTS_API_SCENE_H

#include "api/control.h"

enum { SCENE_BYTES = 256 * KIB, SCENE_COMMANDS = 64 * KIB, SCENE_ADDRESSES = 4 * MIB };
enum { A, B, THINGS };

struct scene {
	struct client client;
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence;
	UINT64 value;
	bool is_lost;

	D3DKMT_HANDLE things[THINGS];
	unsigned counts[THINGS]; /* how often they are resident */

	/* Virtual addresses. */
	D3DKMT_HANDLE commands;
	unsigned char *bytes;
	UINT64 command_address;
	UINT64 addresses[THINGS];
	UINT64 reserved;

	/* Allocation lists. */
	D3DKMT_CREATECONTEXT physical;
};

/* ---- what may become of a call ---- */

/*
 * The test's: may this status come from the fault that is planned? It may once, unless what is to
 * fail fails whenever it is tried.
 */
static bool fault_excuses(NTSTATUS status);
static bool fault_is_for_ever(void);

static inline bool scene_look_lost(struct scene *scene)
{
	if (scene->is_lost || scene->client.device == 0)
		return scene->is_lost;
	scene->is_lost = execution_state(scene->client.device) != D3DKMT_DEVICEEXECUTION_ACTIVE;
	return scene->is_lost;
}

static inline bool scene_did(struct scene *scene, const char *file, int line, const char *what,
			     bool is_again, NTSTATUS status)
{
	if (status == STATUS_SUCCESS)
		return true;
	struct dxgk_refusal why = last_refusal();
	if (getenv("TEST_VERBOSE"))
		print_message("# line %d: %s gave 0x%08x, %s (%s)\n", line, what, (unsigned)status,
			      why.reason, why.rule);
	if (scene_look_lost(scene) && status == STATUS_DEVICE_REMOVED)
		return true; /* as good as done: nothing else is asked of it */
	if (!is_again && fault_excuses(status))
		return false;
	if (is_again && fault_is_for_ever()) {
		scene->is_lost = true; /* there is no way past it */
		return true;
	}
	print_error("%s:%d: %s%s gave 0x%08x: %s: %s (%s)\n", file, line, what,
		    is_again ? ", again," : "", (unsigned)status, why.call, why.reason, why.rule);
	_fail(file, line);
	return false;
}

/* Once more when it failed. */
#define DO(scene, call)                                                                            \
	do {                                                                                       \
		if (!(scene)->is_lost &&                                                           \
		    !scene_did(scene, __FILE__, __LINE__, #call, false, (call)))                   \
			scene_did(scene, __FILE__, __LINE__, #call, true, (call));                 \
	} while (0)

/* ---- waits; a lost device's are over ---- */

static inline NTSTATUS scene_wait(struct scene *scene, D3DKMT_HANDLE fence, UINT64 value)
{
	return wait_value(scene->client.device, fence, value);
}

static inline NTSTATUS scene_wait_paging(struct scene *scene, NTSTATUS status, UINT64 value)
{
	if (status != STATUS_PENDING)
		return status;
	DO(scene, scene_wait(scene, scene->client.fence, value));
	return STATUS_SUCCESS;
}

/* ---- life ---- */

static inline NTSTATUS scene_open_device(struct scene *scene)
{
	return try_create_device(scene->client.adapter, &scene->client.device);
}

static inline NTSTATUS scene_open_queue(struct scene *scene)
{
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = scene->client.device };
	NTSTATUS status = D3DKMTCreatePagingQueue(&queue);

	scene->client.queue = queue.hPagingQueue;
	scene->client.fence = queue.hSyncObject;
	scene->client.value = queue.FenceValueCPUVirtualAddress;
	return status;
}

static inline NTSTATUS scene_open_fence(struct scene *scene)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = scene->client.device };

	args.Info.Type = D3DDDI_MONITORED_FENCE;
	NTSTATUS status = D3DKMTCreateSynchronizationObject2(&args);
	scene->fence = args.hSyncObject;
	return status;
}

static inline NTSTATUS scene_open_context(struct scene *scene)
{
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = scene->client.device };
	NTSTATUS status;

	if (is_physical()) {
		scene->physical = (D3DKMT_CREATECONTEXT){ .hDevice = scene->client.device };
		status = D3DKMTCreateContext(&scene->physical);
		scene->context = scene->physical.hContext;
		return status;
	}
	status = D3DKMTCreateContextVirtual(&context);
	scene->context = context.hContext;
	return status;
}

static inline NTSTATUS scene_create(struct scene *scene, uint64_t size_bytes, unsigned flags,
				    D3DKMT_HANDLE *handle_out)
{
	return try_create_sized(&scene->client, size_bytes, SOFTGPU_CPU_VISIBLE | flags,
				handle_out);
}

static inline NTSTATUS scene_destroy(struct scene *scene, D3DKMT_HANDLE *handle, unsigned flags)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = scene->client.device,
					   .phAllocationList = handle,
					   .AllocationCount = 1 };

	args.Flags.Value = flags;
	NTSTATUS status = D3DKMTDestroyAllocation2(&args);
	if (status == STATUS_SUCCESS)
		*handle = 0;
	return status;
}

static inline NTSTATUS scene_close_device(struct scene *scene)
{
	NTSTATUS status = destroy_device(scene->client.device);

	if (status == STATUS_SUCCESS)
		scene->client.device = 0;
	return status;
}

/* ---- contents: 64-bit words that tell who wrote them ---- */

static inline NTSTATUS scene_lock(struct scene *scene, D3DKMT_HANDLE handle, void **pointer_out)
{
	NTSTATUS status = lock2(scene->client.device, handle, pointer_out);

	if (status != STATUS_SUCCESS)
		*pointer_out = NULL;
	return status;
}

static inline void scene_write(struct scene *scene, D3DKMT_HANDLE handle, uint64_t seed)
{
	void *pointer = NULL;

	DO(scene, scene_lock(scene, handle, &pointer));
	for (uint64_t i = 0; pointer && i < SCENE_BYTES / 8; i++)
		((uint64_t *)pointer)[i] = pattern(seed, i);
	if (pointer)
		DO(scene, unlock2(scene->client.device, handle));
}

#define scene_expect(scene, handle, seed) scene_expect_at(scene, handle, seed, __LINE__)

static inline void scene_expect_at(struct scene *scene, D3DKMT_HANDLE handle, uint64_t seed,
				   int line)
{
	void *pointer = NULL;
	uint64_t at = 0;

	DO(scene, scene_lock(scene, handle, &pointer));
	if (!pointer)
		return;
	while (at < SCENE_BYTES / 8 && ((const uint64_t *)pointer)[at] == pattern(seed, at))
		at++;
	DO(scene, unlock2(scene->client.device, handle));
	/* With its device, it may be lost. */
	if (scene_look_lost(scene) || at == SCENE_BYTES / 8)
		return;
	print_error("line %d: word %llu is not what was written\n", line, (unsigned long long)at);
	EXPECT_EQ(at * 8, SCENE_BYTES);
}

/* ---- residency ---- */

static inline NTSTATUS scene_bring_in(struct scene *scene, const D3DKMT_HANDLE *handles,
				      unsigned count)
{
	D3DDDI_MAKERESIDENT args = residency_of(&scene->client, handles, count, 0);
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (status == STATUS_NO_MEMORY) /* all or nothing, and it says so */
		EXPECT_EQ(args.NumAllocations, 0);
	return scene_wait_paging(scene, status, args.PagingFenceValue);
}

static inline NTSTATUS scene_flush(struct scene *scene)
{
	return D3DKMTFlushHeapTransitions(&(D3DKMT_FLUSHHEAPTRANSITIONS){ scene->client.adapter });
}

static inline NTSTATUS scene_reclaim(struct scene *scene, D3DKMT_HANDLE handle,
				     D3DDDI_RECLAIM_RESULT *result)
{
	D3DKMT_RECLAIMALLOCATIONS2 args = { .hPagingQueue = scene->client.queue,
					    .NumAllocations = 1,
					    .HandleList = &handle,
					    .pResults = result };
	NTSTATUS status = D3DKMTReclaimAllocations2(&args);

	return scene_wait_paging(scene, status, args.PagingFenceValue);
}

/* What is offered in GPU memory is dropped from there. */
static inline NTSTATUS scene_evict_everything(struct scene *scene)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	return vidmm(&scene->client, &args);
}

/* ---- GPU addresses ---- */

static inline NTSTATUS scene_map(struct scene *scene, D3DKMT_HANDLE handle, uint64_t size_bytes,
				 UINT64 *address_out)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = scene->client.queue,
					     .hAllocation = handle,
					     .SizeInPages = size_bytes / PAGE,
					     .Protection.Write = 1 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);

	*address_out = args.VirtualAddress;
	return scene_wait_paging(scene, status, args.PagingFenceValue);
}

static inline NTSTATUS scene_reserve(struct scene *scene)
{
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = {
		.hPagingQueue = scene->client.queue,
		.Size = SCENE_ADDRESSES,
		.ReservationType = D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO,
	};
	NTSTATUS status = D3DKMTReserveGpuVirtualAddress(&args);

	scene->reserved = args.VirtualAddress;
	return scene_wait_paging(scene, status, args.PagingFenceValue);
}

static inline NTSTATUS scene_free(struct scene *scene, UINT64 address, UINT64 size_bytes)
{
	return D3DKMTFreeGpuVirtualAddress(
		&(D3DKMT_FREEGPUVIRTUALADDRESS){ scene->client.adapter, address, size_bytes });
}

/* A is shown in the middle of what is reserved. */
static inline NTSTATUS scene_update(struct scene *scene)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = scene->reserved + MIB,
			 .SizeInBytes = SCENE_BYTES,
			 .hAllocation = scene->things[A],
			 .AllocationSizeInBytes = SCENE_BYTES },
	};
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = scene->client.device,
						.hContext = scene->context,
						.hFenceObject = scene->fence,
						.NumOperations = 1,
						.Operations = &operation,
						.FenceValue = scene->value,
						.Flags.DoNotWait = 1 };
	NTSTATUS status = D3DKMTUpdateGpuVirtualAddress(&args);

	if (status == STATUS_SUCCESS) {
		scene->value++;
		DO(scene, scene_wait(scene, scene->fence, scene->value));
	}
	return status;
}

/* ---- work ---- */

static inline struct softgpu_copy scene_copy_command(void)
{
	return (struct softgpu_copy){
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_COPY, sizeof(struct softgpu_copy) },
		.size_bytes = SCENE_BYTES,
	};
}

static inline NTSTATUS scene_submit_virtual(struct scene *scene, UINT64 to, UINT64 from)
{
	struct softgpu_copy copy = scene_copy_command();
	D3DKMT_SUBMITCOMMAND args = { .Commands = scene->command_address,
				      .CommandLength = sizeof(copy),
				      .BroadcastContextCount = 1,
				      .BroadcastContext = { scene->context } };

	copy.destination.virtual_address = to;
	copy.source.virtual_address = from;
	memcpy(scene->bytes, &copy, sizeof(copy));
	return D3DKMTSubmitCommand(&args);
}

static inline NTSTATUS scene_render(struct scene *scene, D3DKMT_HANDLE to, D3DKMT_HANDLE from)
{
	struct softgpu_copy copy = scene_copy_command();
	D3DKMT_RENDER args = { .hContext = scene->context,
			       .CommandLength = sizeof(copy),
			       .AllocationCount = 2 };

	copy.destination.reference.allocation_index = 0;
	copy.source.reference.allocation_index = 1;
	memcpy(scene->physical.pCommandBuffer, &copy, sizeof(copy));
	scene->physical.pAllocationList[0] = (D3DDDI_ALLOCATIONLIST){ .hAllocation = to };
	scene->physical.pAllocationList[0].WriteOperation = 1;
	scene->physical.pAllocationList[1] = (D3DDDI_ALLOCATIONLIST){ .hAllocation = from };
	NTSTATUS status = D3DKMTRender(&args);
	if (status == STATUS_SUCCESS) {
		scene->physical.pCommandBuffer = args.pNewCommandBuffer;
		scene->physical.pAllocationList = args.pNewAllocationList;
	}
	return status;
}

static inline NTSTATUS scene_signal(struct scene *scene)
{
	UINT64 value = scene->value + 1;
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU args = { .hContext = scene->context,
							   .ObjectCount = 1,
							   .ObjectHandleArray = &scene->fence,
							   .MonitoredFenceValueArray = &value };
	NTSTATUS status = D3DKMTSignalSynchronizationObjectFromGpu(&args);

	if (status == STATUS_SUCCESS)
		scene->value = value;
	return status;
}

/* Everything that was submitted is over. */
static inline void scene_finish_work(struct scene *scene)
{
	DO(scene, scene_signal(scene));
	DO(scene, scene_wait(scene, scene->fence, scene->value));
}

/* The GPU copies one into the other; where the first is seen may be said. */
static inline void scene_copy(struct scene *scene, unsigned to, unsigned from, UINT64 seen_at)
{
	if (is_physical())
		DO(scene, scene_render(scene, scene->things[to], scene->things[from]));
	else
		DO(scene, scene_submit_virtual(scene, scene->addresses[to],
					       seen_at ? seen_at : scene->addresses[from]));
	scene_finish_work(scene);
}

/* ---- the play ---- */

static inline void scene_begin_virtual(struct scene *scene)
{
	void *pointer = NULL;

	DO(scene, scene_create(scene, SCENE_COMMANDS, SOFTGPU_SYSTEM_ONLY, &scene->commands));
	DO(scene, scene_bring_in(scene, &scene->commands, 1));
	DO(scene, scene_map(scene, scene->commands, SCENE_COMMANDS, &scene->command_address));
	DO(scene, scene_lock(scene, scene->commands, &pointer));
	scene->bytes = pointer;
	for (unsigned i = 0; i < THINGS; i++)
		DO(scene, scene_map(scene, scene->things[i], SCENE_BYTES, &scene->addresses[i]));
}

static inline void scene_begin(struct scene *scene)
{
	*scene = (struct scene){ 0 };
	D3DKMTCloseDxCoreDevice();
	scene->client.adapter = open_first_adapter();
}

static inline void scene_set_up(struct scene *scene)
{
	DO(scene, scene_open_device(scene));
	DO(scene, scene_open_queue(scene));
	DO(scene, scene_open_fence(scene));
	DO(scene, scene_open_context(scene));
	DO(scene, scene_create(scene, SCENE_BYTES, SOFTGPU_LOCAL_ONLY, &scene->things[A]));
	DO(scene, scene_create(scene, SCENE_BYTES, 0, &scene->things[B]));
	scene_write(scene, scene->things[A], 1);
	scene_write(scene, scene->things[B], 2);
	DO(scene, scene_bring_in(scene, scene->things, THINGS));
	if (!is_physical())
		scene_begin_virtual(scene);
}

static inline void scene_move(struct scene *scene)
{
	scene_copy(scene, B, A, 0);
	scene_expect(scene, scene->things[B], 1);
	DO(scene, evict(&scene->client, &scene->things[A], 1, 0));
	DO(scene, scene_flush(scene));
	scene_expect(scene, scene->things[A], 1);
	scene_write(scene, scene->things[A], 3);
	DO(scene, scene_bring_in(scene, &scene->things[A], 1));
	scene_copy(scene, B, A, 0);
	scene_expect(scene, scene->things[B], 3);
}

/* Nobody else wants memory, so what is offered is still there, or says that it is not. */
static inline void scene_offer(struct scene *scene)
{
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)GARBAGE;

	DO(scene, offer(&scene->client, &scene->things[B], 1, 2, 0));
	DO(scene, scene_reclaim(scene, scene->things[B], &result));
	if (scene_look_lost(scene))
		return;
	if (result == D3DDDI_RECLAIM_RESULT_OK)
		scene_expect(scene, scene->things[B], 3);
	else
		EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
	DO(scene, evict(&scene->client, &scene->things[B], 1, 0));
	DO(scene, scene_flush(scene));
	DO(scene, offer(&scene->client, &scene->things[B], 1, 1, ALLOW_DECOMMIT));
	DO(scene, scene_reclaim(scene, scene->things[B], &result));
	scene_write(scene, scene->things[B], 4);
	DO(scene, scene_bring_in(scene, &scene->things[B], 1));
	scene_copy(scene, B, A, 0);
	scene_expect(scene, scene->things[B], 3);
}

/* The same with the call that waits. */
static inline void scene_offer_and_wait(struct scene *scene)
{
	BOOL discarded = GARBAGE;

	DO(scene, offer(&scene->client, &scene->things[B], 1, 2, 0));
	DO(scene, scene_evict_everything(scene));
	DO(scene, reclaim_now(&scene->client, &scene->things[B], 1, &discarded));
	if (scene_look_lost(scene))
		return;
	EXPECT(discarded == TRUE || discarded == FALSE);
	if (!discarded)
		scene_expect(scene, scene->things[B], 3);
	/* It is on the list, and here: nobody has to wait. */
	scene_copy(scene, B, A, 0);
	scene_expect(scene, scene->things[B], 3);
}

static inline void scene_map_anew(struct scene *scene)
{
	DO(scene, scene_free(scene, scene->addresses[B], SCENE_BYTES));
	DO(scene, scene_map(scene, scene->things[B], SCENE_BYTES, &scene->addresses[B]));
	DO(scene, scene_reserve(scene));
	DO(scene, scene_update(scene));
	scene_write(scene, scene->things[A], 5);
	scene_copy(scene, B, A, scene->reserved + MIB);
	scene_expect(scene, scene->things[B], 5);
	/* What is shown twice moves, and is shown twice afterwards. */
	DO(scene, evict(&scene->client, &scene->things[A], 1, 0));
	DO(scene, scene_flush(scene));
	DO(scene, scene_bring_in(scene, &scene->things[A], 1));
	scene_write(scene, scene->things[A], 6);
	scene_copy(scene, B, A, scene->reserved + MIB);
	scene_expect(scene, scene->things[B], 6);
	DO(scene, scene_free(scene, scene->reserved, SCENE_ADDRESSES));
}

static inline void scene_play(struct scene *scene)
{
	scene_set_up(scene);
	scene_move(scene);
	scene_offer(scene);
	scene_offer_and_wait(scene);
	if (!is_physical())
		scene_map_anew(scene);
}

/* Whatever happened, everything can be destroyed. */
static inline void scene_end(struct scene *scene)
{
	bool was_lost = scene_look_lost(scene);

	scene->is_lost = false;
	for (unsigned i = 0; i < THINGS; i++) {
		if (scene->things[i])
			DO(scene, scene_destroy(scene, &scene->things[i], i == A ? 0 : 2));
	}
	scene->is_lost = false;
	if (scene->client.device)
		DO(scene, scene_close_device(scene));
	EXPECT_EQ(scene->client.device, 0);
	scene->is_lost = was_lost;
	D3DKMTCloseDxCoreDevice();
}

#endif
