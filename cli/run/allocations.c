/* SPDX-License-Identifier: MIT */
/*
 * allocations.c - memory that clients have: of the driver's own kinds, standard, shared, opened.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/world.h"

enum { PAGE_BYTES = 4096 };

uint32_t allocation_wishes(uint32_t options)
{
	static const struct {
		uint32_t option;
		uint32_t wish;
	} wishes[] = {
		{ OPTION_LOCAL, DXGK_EXERCISER_LOCAL },
		{ OPTION_SYSTEM, DXGK_EXERCISER_SYSTEM },
		{ OPTION_CACHED, DXGK_EXERCISER_CACHED },
		{ OPTION_CONTIGUOUS, DXGK_EXERCISER_PHYSICAL },
	};
	uint32_t sum = options & OPTION_HIDDEN ? 0 : DXGK_EXERCISER_CPU_VISIBLE;

	for (size_t i = 0; i < ARRAY_SIZE(wishes); i++) {
		if (options & wishes[i].option)
			sum |= wishes[i].wish;
	}
	return sum;
}

static void keep(struct thing *allocation, D3DKMT_HANDLE handle, D3DKMT_HANDLE resource)
{
	allocation->address = 0;
	allocation->is_unknown = allocation->is_out_of_reach = false;
	allocation->writers = 0;
	allocation->handle = handle;
	allocation->resource = resource;
	memset(allocation->twins, 0, sizeof(allocation->twins));
	allocation->is_there = true;
}

void allocation_forget(struct thing *allocation)
{
	allocation->address = 0;
	allocation->resource = 0;
	free(allocation->heap);
	allocation->heap = NULL;
}

/* ---- made ---- */

static NTSTATUS destroy_resource(struct world *world, const struct thing *client,
				 D3DKMT_HANDLE resource)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = client->handle, .hResource = resource };

	return CALL(world, D3DKMTDestroyAllocation2(&args));
}

static NTSTATUS create_shared(struct world *world, const struct script_statement *statement)
{
	struct thing *client = world_thing(world, statement->by);
	unsigned char data[EXERCISER_DATA_MAX];
	D3DDDI_ALLOCATIONINFO2 element = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->handle,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element };

	args.Flags.CreateResource = 1;
	args.Flags.CreateShared = 1;
	args.Flags.NtSecuritySharing = 1;
	element.PrivateDriverDataSize =
		exerciser_allocation(&world->exerciser, statement->size_bytes,
				     allocation_wishes(statement->options), data);
	element.pPrivateDriverData = element.PrivateDriverDataSize > 0 ? data : NULL;
	NTSTATUS status = CALL(world, D3DKMTCreateAllocation2(&args));
	if (!NT_SUCCESS(status))
		return status;
	if (world->is_shared)
		status = share_name(world, statement->name, args.hResource);
	if (NT_SUCCESS(status))
		keep(world_thing(world, statement->name), element.hAllocation, args.hResource);
	else
		(void)destroy_resource(world, client, args.hResource);
	return status;
}

enum { SEVERAL = 3 };

/* Alike; the script knows the first. */
static NTSTATUS create_several(struct world *world, const struct script_statement *statement)
{
	struct thing *allocation = world_thing(world, statement->name);
	unsigned char data[EXERCISER_DATA_MAX];
	D3DDDI_ALLOCATIONINFO2 elements[SEVERAL] = { 0 };
	D3DKMT_CREATEALLOCATION args = {
		.hDevice = world_thing(world, statement->by)->handle,
		.NumAllocations = statement->options & OPTION_TRIPLE ? SEVERAL : 1,
		.pAllocationInfo2 = elements,
	};

	args.Flags.CreateResource = (statement->options & OPTION_RESOURCE) != 0;
	for (uint32_t i = 0; i < args.NumAllocations; i++) {
		elements[i].PrivateDriverDataSize =
			exerciser_allocation(&world->exerciser, statement->size_bytes,
					     allocation_wishes(statement->options), data);
		elements[i].pPrivateDriverData =
			elements[i].PrivateDriverDataSize > 0 ? data : NULL;
	}
	NTSTATUS status = CALL(world, D3DKMTCreateAllocation2(&args));
	if (!NT_SUCCESS(status))
		return status;
	keep(allocation, elements[0].hAllocation, args.hResource);
	for (uint32_t i = 1; i < args.NumAllocations; i++)
		allocation->twins[i - 1] = elements[i].hAllocation;
	return status;
}

NTSTATUS allocation_create(struct world *world, const struct script_statement *statement)
{
	D3DKMT_HANDLE handle;

	if (statement->options & OPTION_SHARED)
		return create_shared(world, statement);
	if (statement->options & (OPTION_TRIPLE | OPTION_RESOURCE))
		return create_several(world, statement);
	NTSTATUS status =
		memory_create(world, world_thing(world, statement->by), statement->size_bytes,
			      allocation_wishes(statement->options), &handle);
	if (NT_SUCCESS(status))
		keep(world_thing(world, statement->name), handle, 0);
	return status;
}

/* The client's memory, and nothing that it says about it: the driver describes it. */
NTSTATUS allocation_create_standard(struct world *world, const struct script_statement *statement)
{
	struct thing *allocation = world_thing(world, statement->name);
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP
	};
	D3DDDI_ALLOCATIONINFO2 element = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = world_thing(world, statement->by)->handle,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element,
					 .pStandardAllocation = &standard };
	uint64_t size_bytes = (statement->size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	void *heap = aligned_alloc(PAGE_BYTES, size_bytes);

	if (!heap)
		return STATUS_NO_MEMORY;
	memset(heap, 0, size_bytes);
	standard.ExistingHeapData.Size = size_bytes;
	element.pSystemMem = heap;
	args.Flags.StandardAllocation = 1;
	args.Flags.ExistingSysMem = 1;
	NTSTATUS status = CALL(world, D3DKMTCreateAllocation2(&args));
	if (!NT_SUCCESS(status)) {
		free(heap);
		return status;
	}
	keep(allocation, element.hAllocation, 0);
	allocation->heap = heap;
	return status;
}

/* ---- opened ---- */

struct opening {
	D3DDDI_OPENALLOCATIONINFO2 element;
	unsigned char runtime[64];
	unsigned char resource[EXERCISER_DATA_MAX];
	unsigned char total[EXERCISER_DATA_MAX];
};

static NTSTATUS open_resource(struct world *world, const struct thing *client, HANDLE handle,
			      struct opening *opening, D3DKMT_HANDLE *resource_out)
{
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE sizes = { .hDevice = client->handle,
						       .hNtHandle = handle };
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = { .hDevice = client->handle,
						 .hNtHandle = handle,
						 .NumAllocations = 1,
						 .pOpenAllocationInfo2 = &opening->element,
						 .pPrivateRuntimeData = opening->runtime,
						 .pTotalPrivateDriverDataBuffer = opening->total };
	NTSTATUS status = CALL(world, D3DKMTQueryResourceInfoFromNtHandle(&sizes));

	if (!NT_SUCCESS(status))
		return status;
	if (sizes.TotalPrivateDriverDataSize > sizeof(opening->total) ||
	    sizes.ResourcePrivateDriverDataSize > sizeof(opening->resource) ||
	    sizes.PrivateRuntimeDataSize > sizeof(opening->runtime))
		return STATUS_BUFFER_TOO_SMALL;
	args.PrivateRuntimeDataSize = sizes.PrivateRuntimeDataSize;
	args.ResourcePrivateDriverDataSize = sizes.ResourcePrivateDriverDataSize;
	args.pResourcePrivateDriverData =
		sizes.ResourcePrivateDriverDataSize > 0 ? opening->resource : NULL;
	args.TotalPrivateDriverDataBufferSize = sizes.TotalPrivateDriverDataSize;
	status = CALL(world, D3DKMTOpenResourceFromNtHandle(&args));
	*resource_out = args.hResource;
	return status;
}

NTSTATUS allocation_open(struct world *world, const struct script_statement *statement)
{
	struct opening opening = { 0 };
	D3DKMT_HANDLE resource;
	HANDLE handle;
	NTSTATUS status = share_find(world, statement->address.name, &handle);

	if (!NT_SUCCESS(status))
		return status;
	status = open_resource(world, world_thing(world, statement->by), handle, &opening,
			       &resource);
	close((int)(intptr_t)handle);
	if (NT_SUCCESS(status))
		keep(world_thing(world, statement->name), opening.element.hAllocation, resource);
	return status;
}

/* ---- ended ---- */

/* The GPU may still write to the client's memory, which goes back when this returns. */
static NTSTATUS destroy_heap(struct world *world, const struct thing *client, D3DKMT_HANDLE handle)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = client->handle,
					   .phAllocationList = &handle,
					   .AllocationCount = 1 };

	args.Flags.SynchronousDestroy = 1;
	return CALL(world, D3DKMTDestroyAllocation2(&args));
}

static NTSTATUS destroy_list(struct world *world, const struct thing *client,
			     const D3DKMT_HANDLE *handles, uint32_t count)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = client->handle,
					   .phAllocationList = handles,
					   .AllocationCount = count };

	return CALL(world, D3DKMTDestroyAllocation2(&args));
}

/* A resource outlives those of its allocations that end before it. */
static NTSTATUS destroy_several(struct world *world, const struct thing *client,
				struct thing *allocation)
{
	const D3DKMT_HANDLE all[SEVERAL] = { allocation->handle, allocation->twins[0],
					     allocation->twins[1] };

	if (!allocation->resource)
		return destroy_list(world, client, all, SEVERAL);
	NTSTATUS status = destroy_list(world, client, allocation->twins, SEVERAL - 1);
	if (!NT_SUCCESS(status))
		return status;
	memset(allocation->twins, 0, sizeof(allocation->twins));
	return destroy_resource(world, client, allocation->resource);
}

NTSTATUS allocation_destroy(struct world *world, uint32_t name)
{
	struct thing *allocation = world_thing(world, name);
	struct thing *client = world_client_of(world, name);
	NTSTATUS status;

	if (allocation->twins[0])
		status = destroy_several(world, client, allocation);
	else if (allocation->resource)
		status = destroy_resource(world, client, allocation->resource);
	else if (allocation->heap)
		status = destroy_heap(world, client, allocation->handle);
	else
		status = memory_destroy(world, client, allocation->handle);

	if (!NT_SUCCESS(status))
		return status;
	allocation->is_there = false;
	share_forget_name(world, name);
	allocation_forget(allocation);
	return status;
}
