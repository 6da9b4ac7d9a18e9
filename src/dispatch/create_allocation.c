/* SPDX-License-Identifier: MIT */
/*
 * create_allocation.c - D3DKMTCreateAllocation and …2: from nested client structs to a request.
 *
 * The two differ in the elements of their array only (v1 is a prefix of v2), so v1 elements are
 * widened when they are copied, and everything after that is the same.
 */
#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "dispatch/dispatch.h"

#define PAGE UINT64_C(4096)

_Static_assert(offsetof(D3DDDI_ALLOCATIONINFO2, Flags) == offsetof(D3DDDI_ALLOCATIONINFO, Flags),
	       "v1 elements are a prefix of v2 elements");

/* The client's array and what we made of it. */
struct create_args {
	struct call *call;
	D3DKMT_CREATEALLOCATION *args;
	unsigned char *client_elements;
	size_t stride;
	D3DDDI_ALLOCATIONINFO2 *elements; /* copies */
	struct allocation_request request;
};

static bool is_version_1(const struct create_args *create)
{
	return create->stride == sizeof(D3DDDI_ALLOCATIONINFO);
}

static NTSTATUS bad(const char *argument, const char *why)
{
	return invalid(RULE_API_VALUE, argument, "%s", why);
}

/* ---- flags ---- */

static NTSTATUS check_flags(D3DKMT_CREATEALLOCATIONFLAGS flags)
{
	if (flags.Reserved)
		return call_refuse_bits("Flags", NULL, (uint32_t)flags.Reserved << 22);
	if (flags.CreateProtected || flags.CreateWriteCombined || flags.CreateCached ||
	    flags.OpenCrossAdapter)
		return invalid(RULE_API_RESERVED, "Flags",
			       "has %s, which only kernel-mode creators may set",
			       flags.CreateProtected       ? "CreateProtected"
			       : flags.CreateWriteCombined ? "CreateWriteCombined"
			       : flags.CreateCached        ? "CreateCached"
							   : "OpenCrossAdapter");
	if (flags.CreateShared && !flags.CreateResource)
		return bad("Flags", "has CreateShared without CreateResource");
	if (flags.NtSecuritySharing && !flags.CreateShared)
		return bad("Flags", "has NtSecuritySharing without CreateShared");
	/* Promises that would not be kept. */
	if (flags.RestrictSharedAccess || flags.WriteWatch || flags.PhysicallyContiguous ||
	    flags.NoKmdAccess)
		return refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "Flags",
			      "has %s, which is not built",
			      flags.RestrictSharedAccess ? "RestrictSharedAccess"
			      : flags.WriteWatch         ? "WriteWatch"
			      : flags.NoKmdAccess        ? "NoKmdAccess"
							 : "PhysicallyContiguous");
	if (flags.ExistingSection && flags.ExistingSysMem)
		return bad("Flags", "has both ExistingSection and ExistingSysMem");
	if (flags.StandardAllocation != (flags.ExistingSysMem || flags.ExistingSection))
		return bad("Flags", flags.StandardAllocation
					    ? "has StandardAllocation without ExistingSysMem or "
					      "ExistingSection"
					    : "has an existing heap without StandardAllocation");
	return STATUS_SUCCESS;
}

/* ---- a heap the client has ---- */

static NTSTATUS decode_standard(struct create_args *create)
{
	D3DKMT_CREATEALLOCATION *args = create->args;
	D3DKMT_CREATESTANDARDALLOCATION standard;

	if (!args->pStandardAllocation)
		return invalid(RULE_API_NULL_ARGUMENT, "pStandardAllocation", "is NULL");
	memcpy(&standard, args->pStandardAllocation, sizeof(standard));
	if (standard.Type != D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP)
		return invalid(RULE_API_VALUE, "pStandardAllocation",
			       "has type %u; only EXISTINGHEAP (1) is known",
			       (unsigned)standard.Type);
	if (standard.Flags.Value != 0)
		return invalid(RULE_API_RESERVED, "pStandardAllocation", "has reserved flags 0x%x",
			       standard.Flags.Value);
	if (args->PrivateDriverDataSize != 0)
		return bad("PrivateDriverDataSize", "is not 0 for a standard allocation");
	if (args->NumAllocations != 1)
		return bad("NumAllocations", "is not 1 for a standard allocation");
	if (create->request.resource)
		return bad("hResource",
			   "is given: a standard allocation is not added to a resource");
	if (standard.ExistingHeapData.Size == 0 ||
	    !is_aligned(standard.ExistingHeapData.Size, PAGE))
		return bad("ExistingHeapData.Size", "is not a positive multiple of the page size");
	if (!args->Flags.ExistingSection && !create->elements[0].pSystemMem)
		return invalid_item(RULE_API_NULL_ARGUMENT, "pAllocationInfo", 0,
				    "has no pSystemMem");
	create->request.is_standard = true;
	create->request.existing_heap_bytes = standard.ExistingHeapData.Size;
	return STATUS_SUCCESS;
}

/* ---- elements ---- */

static NTSTATUS copy_elements(struct create_args *create)
{
	uint32_t count = create->args->NumAllocations;
	void *copy;

	if (count == 0)
		return invalid(RULE_API_COUNT, "NumAllocations", "is 0");
	NTSTATUS status = call_copy_list(create->call, "pAllocationInfo", create->client_elements,
					 "NumAllocations", count, (uint32_t)create->stride, &copy);
	if (!NT_SUCCESS(status))
		return status;
	if (!is_version_1(create)) {
		create->elements = copy;
		return STATUS_SUCCESS;
	}
	create->elements = call_take(create->call, (uint64_t)count * sizeof(*create->elements));
	if (!create->elements)
		return STATUS_NO_MEMORY;
	assert(copy); /* the count is not 0 */
	for (uint32_t i = 0; i < count; i++)
		memcpy(&create->elements[i], (char *)copy + i * create->stride, create->stride);
	return STATUS_SUCCESS;
}

static NTSTATUS refuse_private_data(bool is_missing, uint32_t size_bytes, uint32_t index)
{
	if (is_missing)
		return invalid_item(RULE_API_NULL_ARGUMENT, "pAllocationInfo", index,
				    "has no pPrivateDriverData, and PrivateDriverDataSize is %u",
				    size_bytes);
	return invalid_item(RULE_API_COUNT, "pAllocationInfo", index,
			    "has a PrivateDriverDataSize of %u, and at most %u are taken",
			    size_bytes, (uint32_t)CALL_MAX_PRIVATE_BYTES);
}

static NTSTATUS check_element(const D3DDDI_ALLOCATIONINFO2 *element, uint32_t index, bool is_old,
			      bool has_section)
{
	/* Priorities came with version 2. */
	if (element->Flags.Reserved || (element->Flags.OverridePriority && is_old))
		return invalid_item(RULE_API_RESERVED, "pAllocationInfo", index,
				    "has reserved flags 0x%x", element->Flags.Value);
	if (element->Flags.Primary || element->Flags.Stereo)
		return invalid_item(RULE_API_VALUE, "pAllocationInfo", index,
				    "is a primary, and the adapter has no display");
	/* Clients that show nothing leave it uninitialised, by its name. */
	if (UNLIKELY(element->VidPnSourceId != 0 &&
		     element->VidPnSourceId != D3DDDI_ID_UNINITIALIZED))
		return invalid_item(RULE_API_VALUE, "pAllocationInfo", index,
				    "has VidPnSourceId %u and is no primary",
				    element->VidPnSourceId);
	if (!has_section && !is_aligned((uintptr_t)element->pSystemMem, PAGE))
		return invalid_item(RULE_API_VALUE, "pAllocationInfo", index,
				    "has a pSystemMem that is not page aligned");
	if (UNLIKELY(element->PrivateDriverDataSize != 0 &&
		     (!element->pPrivateDriverData ||
		      element->PrivateDriverDataSize > CALL_MAX_PRIVATE_BYTES)))
		return refused(refuse_private_data(!element->pPrivateDriverData,
						   element->PrivateDriverDataSize, index));
	return STATUS_SUCCESS;
}

static NTSTATUS decode_element(struct create_args *create, uint32_t index)
{
	const D3DDDI_ALLOCATIONINFO2 *element = &create->elements[index];
	struct allocation_item *item = &create->request.items[index];
	NTSTATUS status = check_element(element, index, is_version_1(create),
					create->args->Flags.ExistingSection);

	if (!NT_SUCCESS(status))
		return status;
	status = call_copy_bytes(create->call, "pPrivateDriverData", element->pPrivateDriverData,
				 "PrivateDriverDataSize", element->PrivateDriverDataSize,
				 &item->private_data);
	item->private_bytes = element->PrivateDriverDataSize;
	item->has_section = create->args->Flags.ExistingSection;
	item->section = item->has_section ? (uintptr_t)element->hSection : 0;
	item->existing_memory = item->has_section ? NULL : (void *)element->pSystemMem;
	item->has_priority = element->Flags.OverridePriority;
	item->priority = element->Priority;
	return status;
}

static NTSTATUS decode_elements(struct create_args *create)
{
	uint32_t count = create->args->NumAllocations;
	NTSTATUS status = STATUS_SUCCESS;

	create->request.count = count;
	create->request.items =
		call_take(create->call, (uint64_t)count * sizeof(*create->request.items));
	if (!create->request.items)
		return STATUS_NO_MEMORY;
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		status = decode_element(create, i);
	return status;
}

/* ---- the group ---- */

static NTSTATUS decode_resource(struct create_args *create)
{
	D3DKMT_CREATEALLOCATION *args = create->args;

	create->request.is_new_resource = args->Flags.CreateResource;
	create->request.is_shared = args->Flags.CreateShared;
	create->request.is_nt_shared = args->Flags.NtSecuritySharing;
	create->request.is_read_only = args->Flags.ReadOnly;
	if (args->hResource == 0)
		return STATUS_SUCCESS;

	NTSTATUS status = call_find_resource(create->call, create->request.device, "hResource", -1,
					     args->hResource, STATUS_INVALID_HANDLE,
					     &create->request.resource);
	if (!NT_SUCCESS(status))
		return status;
	if (args->Flags.CreateResource)
		return bad("hResource", "is given together with CreateResource");
	if (create->request.resource->body->is_shared)
		return bad("hResource", "is shared, and nothing is added to a shared resource");
	return STATUS_SUCCESS;
}

static NTSTATUS decode_private_data(struct create_args *create)
{
	D3DKMT_CREATEALLOCATION *args = create->args;
	void *runtime_data;
	void *private_data = NULL;
	NTSTATUS status = call_copy_bytes(create->call, "pPrivateRuntimeData",
					  args->pPrivateRuntimeData, "PrivateRuntimeDataSize",
					  args->PrivateRuntimeDataSize, &runtime_data);

	/* The same slot holds the standard allocation, which was read already. */
	if (NT_SUCCESS(status) && !args->Flags.StandardAllocation)
		status = call_copy_bytes(create->call, "pPrivateDriverData",
					 args->pPrivateDriverData, "PrivateDriverDataSize",
					 args->PrivateDriverDataSize, &private_data);
	if (!NT_SUCCESS(status))
		return status;
	create->request.runtime_data = runtime_data;
	create->request.runtime_bytes = args->PrivateRuntimeDataSize;
	create->request.private_data = private_data;
	create->request.private_bytes = private_data ? args->PrivateDriverDataSize : 0;
	return STATUS_SUCCESS;
}

static NTSTATUS decode_create(struct create_args *create)
{
	NTSTATUS status = check_flags(create->args->Flags);

	if (NT_SUCCESS(status))
		status = decode_resource(create);
	if (NT_SUCCESS(status))
		status = copy_elements(create);
	if (NT_SUCCESS(status) && create->args->Flags.StandardAllocation)
		status = decode_standard(create);
	if (NT_SUCCESS(status))
		status = decode_elements(create);
	if (NT_SUCCESS(status))
		status = decode_private_data(create);
	return status;
}

/* Into the client's own array; nothing can fail any more. */
static void hand_back_elements(const struct create_args *create)
{
	for (uint32_t i = 0; i < create->request.count; i++) {
		const struct allocation_item *item = &create->request.items[i];
		unsigned char *client = create->client_elements + i * create->stride;
		const D3DDDI_ALLOCATIONINFO2 *element = &create->elements[i];

		memcpy(client + offsetof(D3DDDI_ALLOCATIONINFO2, hAllocation), &item->handle,
		       sizeof(item->handle));
		if (!is_version_1(create))
			memset(client + offsetof(D3DDDI_ALLOCATIONINFO2, GpuVirtualAddress), 0,
			       sizeof(element->GpuVirtualAddress));
		/* A standard allocation's private data is the driver's, not the client's. */
		if (!create->request.is_standard && item->private_bytes)
			memcpy(element->pPrivateDriverData, item->private_data,
			       item->private_bytes);
	}
}

/* What the client brought is as it was. */
static bool is_zeroed(const struct create_args *create)
{
	for (uint32_t i = 0; i < create->request.count; i++) {
		if (create->request.items[i].existing_memory ||
		    create->request.items[i].has_section)
			return false;
	}
	return true;
}

static NTSTATUS create_group(struct call *call, D3DKMT_CREATEALLOCATION *args, size_t stride)
{
	struct create_args create = {
		.call = call,
		.args = args,
		.client_elements = (unsigned char *)args->pAllocationInfo,
		.stride = stride,
		.request = { .device = call_device(call, 0) },
	};
	NTSTATUS status = decode_create(&create);

	if (NT_SUCCESS(status))
		status = allocation_create(&create.request);
	if (NT_SUCCESS(status)) {
		hand_back_elements(&create);
		if (!create.request.resource)
			args->hResource = create.request.resource_handle;
		args->hGlobalShare = create.request.global_handle;
		args->Flags.Zeroed = is_zeroed(&create);
	}
	if (create.request.resource)
		object_put(&create.request.resource->object);
	return status;
}

/* What nearly all calls ask for comes here only when there is more to it (quick.h). */
NTSTATUS dispatch_create_allocation(struct call *call, D3DKMT_CREATEALLOCATION *args)
{
	return create_group(call, args, sizeof(D3DDDI_ALLOCATIONINFO));
}

NTSTATUS dispatch_create_allocation2(struct call *call, D3DKMT_CREATEALLOCATION *args)
{
	return create_group(call, args, sizeof(D3DDDI_ALLOCATIONINFO2));
}
