/* SPDX-License-Identifier: MIT */
/*
 * open_resource.c - shared resources: how much room they need, and opening them on a device.
 *
 * By global handle or by NT handle, with elements of two sizes: the four calls differ in where
 * their fields are and are the same behind struct open_args.
 */
#include <string.h>

#include "dispatch/dispatch.h"
#include "object/memory/resource_open.h"

/* ---- query ---- */

struct query_result {
	UINT *runtime_bytes;
	UINT *total_private_bytes;
	UINT *resource_private_bytes;
	UINT *allocation_count;
};

static NTSTATUS check_adapter(const struct dxg_device *device, const struct resource_body *body)
{
	if (body->adapter != device->adapter)
		return invalid(RULE_API_VALUE, "hDevice",
			       "is on another adapter than the resource");
	return STATUS_SUCCESS;
}

/* The runtime's data is not copied here, as on Windows: only its size is told. */
static NTSTATUS query(const struct dxg_device *device, struct share *share,
		      const struct query_result *result)
{
	struct resource_body *body = container_of(share, struct resource_body, share);
	struct resource_sizes sizes;
	NTSTATUS status = check_adapter(device, body);

	if (NT_SUCCESS(status))
		status = device_check_alive((struct dxg_device *)device);
	if (!NT_SUCCESS(status))
		return status;
	resource_measure(body, &sizes);
	if (sizes.total_private_bytes > UINT32_MAX)
		return refuse(STATUS_INTEGER_OVERFLOW, RULE_API_COUNT, "TotalPrivateDriverDataSize",
			      "does not fit 32 bits");
	*result->runtime_bytes = sizes.runtime_bytes;
	*result->total_private_bytes = (UINT)sizes.total_private_bytes;
	*result->resource_private_bytes = sizes.private_bytes;
	*result->allocation_count = sizes.allocation_count;
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_query_resource_info(struct call *call, D3DKMT_QUERYRESOURCEINFO *args)
{
	const struct query_result result = { &args->PrivateRuntimeDataSize,
					     &args->TotalPrivateDriverDataSize,
					     &args->ResourcePrivateDriverDataSize,
					     &args->NumAllocations };
	struct share *share;

	share_sweep(call->process->shares);
	NTSTATUS status =
		share_find_global(call->process->shares, call->process->identity.user,
				  args->hGlobalShare, SHARE_RESOURCE, "hGlobalShare", &share);
	if (!NT_SUCCESS(status))
		return status;
	status = query(call_device(call, 0), share, &result);
	share_put(share);
	return status;
}

NTSTATUS dispatch_query_resource_info_from_nt_handle(struct call *call,
						     D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE *args)
{
	const struct query_result result = { &args->PrivateRuntimeDataSize,
					     &args->TotalPrivateDriverDataSize,
					     &args->ResourcePrivateDriverDataSize,
					     &args->NumAllocations };
	struct share_set set;

	share_sweep(call->process->shares);
	NTSTATUS status = share_find_nt(call->process->shares, (uintptr_t)args->hNtHandle,
					SHARE_RESOURCE, "hNtHandle", &set);
	if (!NT_SUCCESS(status))
		return status;
	status = query(call_device(call, 0), set.shares[0], &result);
	share_set_put(&set);
	return status;
}

/* ---- open ---- */

/* A client's buffer that receives data. */
struct receiver {
	const char *name;
	void *client;
	const char *size_name;
	uint32_t size_bytes;
};

struct open_args {
	struct call *call;
	struct dxg_device *device;
	struct resource_body *body;
	bool is_read_only;
	uint32_t count;
	unsigned char *client_elements;
	size_t stride;
	struct receiver runtime;
	struct receiver resource_private;
	struct receiver total_private;

	UINT *total_private_bytes_out;
	D3DKMT_HANDLE *resource_out;
};

/* What the structs of all calls that open name alike. */
#define OPEN_FIELDS(args)                                                                          \
	.count = (args)->NumAllocations,                                                           \
	.runtime = { "pPrivateRuntimeData", (args)->pPrivateRuntimeData, "PrivateRuntimeDataSize", \
		     (args)->PrivateRuntimeDataSize },                                             \
	.resource_private = { "pResourcePrivateDriverData", (args)->pResourcePrivateDriverData,    \
			      "ResourcePrivateDriverDataSize",                                     \
			      (args)->ResourcePrivateDriverDataSize },                             \
	.total_private = { "pTotalPrivateDriverDataBuffer", (args)->pTotalPrivateDriverDataBuffer, \
			   "TotalPrivateDriverDataBufferSize",                                     \
			   (args)->TotalPrivateDriverDataBufferSize },                             \
	.total_private_bytes_out = &(args)->TotalPrivateDriverDataBufferSize,                      \
	.resource_out = &(args)->hResource

static NTSTATUS check_exact(const struct receiver *receiver, uint32_t needed)
{
	if (receiver->size_bytes != needed)
		return invalid(RULE_API_BUFFER, receiver->size_name,
			       "is %u, and the resource has %u bytes of it", receiver->size_bytes,
			       needed);
	if (needed != 0 && !receiver->client)
		return invalid(RULE_API_NULL_ARGUMENT, receiver->name, "is NULL");
	return STATUS_SUCCESS;
}

static NTSTATUS check_open(const struct open_args *open, const struct resource_sizes *sizes)
{
	if (open->count != sizes->allocation_count)
		return invalid(RULE_API_COUNT, "NumAllocations", "is %u, and the resource has %u",
			       open->count, sizes->allocation_count);
	if (!open->client_elements)
		return invalid(RULE_API_NULL_ARGUMENT,
			       open->stride == sizeof(D3DDDI_OPENALLOCATIONINFO)
				       ? "pOpenAllocationInfo"
				       : "pOpenAllocationInfo2",
			       "is NULL");
	NTSTATUS status = check_exact(&open->runtime, sizes->runtime_bytes);
	if (NT_SUCCESS(status))
		status = check_exact(&open->resource_private, sizes->private_bytes);
	if (!NT_SUCCESS(status) || sizes->total_private_bytes == 0)
		return status;
	if (!open->total_private.client)
		return invalid(RULE_API_NULL_ARGUMENT, open->total_private.name, "is NULL");
	/* The one size that gets this status on Windows. */
	if (open->total_private.size_bytes < sizes->total_private_bytes)
		return refuse(STATUS_NO_MEMORY, RULE_API_BUFFER, open->total_private.size_name,
			      "is %u, and the resource needs %llu bytes",
			      open->total_private.size_bytes,
			      (unsigned long long)sizes->total_private_bytes);
	return STATUS_SUCCESS;
}

/* Each entry points into the total buffer; what the client had there is not read. */
static void hand_back_open(const struct open_args *open, const struct resource_open_item *items)
{
	unsigned char *total = open->total_private.client;
	uint32_t used = 0;

	if (open->runtime.size_bytes)
		memcpy(open->runtime.client, open->body->runtime_data, open->runtime.size_bytes);
	if (open->resource_private.size_bytes)
		memcpy(open->resource_private.client, open->body->private_data,
		       open->resource_private.size_bytes);
	for (uint32_t i = 0; i < open->count; i++) {
		D3DDDI_OPENALLOCATIONINFO2 element = {
			.hAllocation = items[i].handle,
			.pPrivateDriverData = items[i].private_bytes ? total + used : NULL,
			.PrivateDriverDataSize = items[i].private_bytes,
		};
		if (items[i].private_bytes)
			memcpy(total + used, items[i].private_data, items[i].private_bytes);
		used += items[i].private_bytes;
		memcpy(open->client_elements + i * open->stride, &element, open->stride);
	}
	*open->total_private_bytes_out = used;
}

static NTSTATUS open_resource(struct open_args *open)
{
	struct resource_open_request request = {
		.device = open->device,
		.body = open->body,
		.is_read_only = open->is_read_only,
		.count = open->count,
	};
	struct resource_sizes sizes;
	NTSTATUS status = check_adapter(open->device, open->body);

	if (!NT_SUCCESS(status))
		return status;
	resource_measure(open->body, &sizes);
	status = check_open(open, &sizes);
	if (!NT_SUCCESS(status))
		return status;
	request.items = call_take(open->call, (uint64_t)open->count * sizeof(*request.items));
	if (!request.items)
		return STATUS_NO_MEMORY;
	status = resource_open(&request);
	if (NT_SUCCESS(status)) {
		hand_back_open(open, request.items);
		*open->resource_out = request.resource_handle;
	}
	return status;
}

static NTSTATUS open_global(struct call *call, D3DKMT_OPENRESOURCE *args, size_t stride)
{
	struct open_args open = {
		.call = call,
		.device = call_device(call, 0),
		.client_elements = (unsigned char *)args->pOpenAllocationInfo,
		.stride = stride,
		OPEN_FIELDS(args),
	};
	struct share *share;

	share_sweep(call->process->shares);
	NTSTATUS status =
		share_find_global(call->process->shares, call->process->identity.user,
				  args->hGlobalShare, SHARE_RESOURCE, "hGlobalShare", &share);
	if (!NT_SUCCESS(status))
		return status;
	open.body = container_of(share, struct resource_body, share);
	open.is_read_only = open.body->is_read_only;
	status = open_resource(&open);
	share_put(share);
	return status;
}

NTSTATUS dispatch_open_resource(struct call *call, D3DKMT_OPENRESOURCE *args)
{
	return open_global(call, args, sizeof(D3DDDI_OPENALLOCATIONINFO));
}

NTSTATUS dispatch_open_resource2(struct call *call, D3DKMT_OPENRESOURCE *args)
{
	return open_global(call, args, sizeof(D3DDDI_OPENALLOCATIONINFO2));
}

/* ---- what a resource is shared with ---- */

/* Both or none, with references. */
struct companions {
	struct dxg_keyed_mutex *mutex;
	struct dxg_sync_object *sync;
};

static void companions_finish(struct companions *companions, bool is_undone)
{
	if (companions->sync) {
		if (is_undone)
			(void)!sync_object_destroy(companions->sync);
		object_put(&companions->sync->object);
	}
	if (companions->mutex) {
		if (is_undone)
			(void)!keyed_mutex_destroy(companions->mutex);
		object_put(&companions->mutex->object);
	}
}

/* The runtime's data of the mutex, for which more room than it needs is as good as enough. */
static NTSTATUS decode_mutex_data(struct call *call, const D3DKMT_OPENRESOURCEFROMNTHANDLE *args,
				  struct share *mutex, struct keyed_mutex_data *data)
{
	uint32_t stored = keyed_mutex_data_bytes(mutex);

	data->bytes = args->KeyedMutexPrivateRuntimeDataSize;
	if (stored != 0 && data->bytes > stored)
		data->bytes = stored;
	NTSTATUS status = call_copy_bytes(
		call, "pKeyedMutexPrivateRuntimeData", args->pKeyedMutexPrivateRuntimeData,
		"KeyedMutexPrivateRuntimeDataSize", data->bytes, &data->data);
	if (NT_SUCCESS(status) && data->bytes != 0 && data->bytes < stored)
		status = invalid(RULE_API_MUTEX_DATA, "KeyedMutexPrivateRuntimeDataSize",
				 "is %u, and the mutex has %u bytes", data->bytes, stored);
	return status;
}

/*
 * The NT handle's access speaks of the resource; what goes with it is opened with all rights that
 * the one had who shared it.
 */
static NTSTATUS open_companions(struct call *call, const D3DKMT_OPENRESOURCEFROMNTHANDLE *args,
				const struct share_set *set, struct companions *companions)
{
	const struct sync_access access = {
		.may_signal = !(set->withheld[2] & SHARE_RIGHT_SIGNAL),
		.may_wait = !(set->withheld[2] & SHARE_RIGHT_WAIT),
		.jumps_when_lost = true,
		.has_gpu_access = true,
	};
	struct keyed_mutex_data data;
	NTSTATUS status = decode_mutex_data(call, args, set->shares[1], &data);

	if (NT_SUCCESS(status))
		status = keyed_mutex_open(call->process, set->shares[1], &data, &companions->mutex);
	if (NT_SUCCESS(status))
		status = sync_object_open(call->process, call_device(call, 0), set->shares[2],
					  &access, &companions->sync);
	return status;
}

static void hand_back_companions(const struct companions *companions,
				 D3DKMT_OPENRESOURCEFROMNTHANDLE *args)
{
	if (companions->mutex)
		keyed_mutex_settle(companions->mutex);
	args->hKeyedMutex = companions->mutex ? companions->mutex->object.handle : 0;
	args->hSyncObject = companions->sync ? companions->sync->object.handle : 0;
	args->KeyedMutexPrivateRuntimeDataSize =
		companions->mutex ? keyed_mutex_data_bytes(&companions->mutex->body->share) : 0;
}

NTSTATUS dispatch_open_resource_from_nt_handle(struct call *call,
					       D3DKMT_OPENRESOURCEFROMNTHANDLE *args)
{
	struct open_args open = {
		.call = call,
		.device = call_device(call, 0),
		.client_elements = (unsigned char *)args->pOpenAllocationInfo2,
		.stride = sizeof(D3DDDI_OPENALLOCATIONINFO2),
		OPEN_FIELDS(args),
	};
	struct companions companions = { 0 };
	struct share_set set;

	share_sweep(call->process->shares);
	NTSTATUS status = share_find_nt(call->process->shares, (uintptr_t)args->hNtHandle,
					SHARE_RESOURCE, "hNtHandle", &set);
	if (!NT_SUCCESS(status))
		return status;
	open.body = container_of(set.shares[0], struct resource_body, share);
	open.is_read_only = open.body->is_read_only || !(set.rights & SHARE_RIGHT_WRITE);
	if (set.count == SHARE_SET_MAX)
		status = open_companions(call, args, &set, &companions);
	if (NT_SUCCESS(status))
		status = open_resource(&open);
	if (NT_SUCCESS(status))
		hand_back_companions(&companions, args);
	companions_finish(&companions, !NT_SUCCESS(status));
	share_set_put(&set);
	return status;
}
