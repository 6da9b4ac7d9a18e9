/* SPDX-License-Identifier: MIT */
/*
 * share_steps.c - what is shared: NT handles and their names, and opening on another device.
 */
#include "model/run.h"

#include <wchar.h>

enum { ROOM = 1024, FILLER = 0xa5 };

/* ---- open ---- */

/* Which shared group, by which handle. */
struct target {
	int group;
	bool is_nt;
	bool is_read_only;
	D3DKMT_HANDLE global;
	HANDLE nt;
};

static bool choose_target(struct run *run, struct target *target)
{
	const struct model *model = &run->model;
	int group = (int)below(run, MAX_GROUPS);
	int descriptor = (int)below(run, MAX_DESCRIPTORS);

	if (one_in(run, 2)) {
		if (!model->descriptors[descriptor].is_live)
			return false;
		const struct model_descriptor *found = &model->descriptors[descriptor];
		int file = found->files[below(run, (uint32_t)found->copies)];
		*target = (struct target){ .group = model->bundles[found->bundle].group,
					   .is_nt = true,
					   .is_read_only = found->is_read_only,
					   .nt = (HANDLE)(intptr_t)file };
		return true;
	}
	if (!model->groups[group].is_live || model->groups[group].scheme != SCHEME_GLOBAL)
		return false;
	*target = (struct target){ .group = group, .global = model->groups[group].global_handle };
	return true;
}

static uint32_t total_private_bytes(const struct model *model, const struct model_group *group)
{
	uint32_t total = 0;

	for (int i = 0; i < group->count; i++)
		total += model->memories[group->memories[i]].private_data.bytes;
	return total;
}

static void query(struct run *run, const struct target *target, int device)
{
	const struct model *model = &run->model;
	const struct model_group *group = &model->groups[target->group];
	D3DKMT_QUERYRESOURCEINFO args = { .hDevice = model->devices[device].handle,
					  .hGlobalShare = target->global };
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE nt = { .hDevice = args.hDevice,
						    .hNtHandle = target->nt };

	if (target->is_nt) {
		CALL(run, STATUS_SUCCESS, D3DKMTQueryResourceInfoFromNtHandle, nt);
		args.PrivateRuntimeDataSize = nt.PrivateRuntimeDataSize;
		args.TotalPrivateDriverDataSize = nt.TotalPrivateDriverDataSize;
		args.ResourcePrivateDriverDataSize = nt.ResourcePrivateDriverDataSize;
		args.NumAllocations = nt.NumAllocations;
	} else {
		CALL(run, STATUS_SUCCESS, D3DKMTQueryResourceInfo, args);
	}
	RUN_EXPECT(run, args.PrivateRuntimeDataSize == group->runtime.bytes);
	RUN_EXPECT(run, args.ResourcePrivateDriverDataSize == group->private_data.bytes);
	RUN_EXPECT(run, args.TotalPrivateDriverDataSize == total_private_bytes(model, group));
	RUN_EXPECT(run, args.NumAllocations == (UINT)group->count);
}

/* All three calls, and what they hand out. */
struct opening_call {
	bool is_v1;
	D3DKMT_OPENRESOURCE global;
	D3DKMT_OPENRESOURCEFROMNTHANDLE nt;
	D3DDDI_OPENALLOCATIONINFO elements[MAX_IN_GROUP];
	D3DDDI_OPENALLOCATIONINFO2 elements2[MAX_IN_GROUP];
	unsigned char runtime[MAX_DATA];
	unsigned char private_data[MAX_DATA];
	unsigned char total[ROOM];
};

static void prepare(struct run *run, const struct target *target, int device,
		    struct opening_call *call)
{
	const struct model *model = &run->model;
	const struct model_group *group = &model->groups[target->group];
	uint32_t spare = below(run, 50);

	memset(call, FILLER, sizeof(*call));
	call->is_v1 = !target->is_nt && one_in(run, 2);
	call->global = (D3DKMT_OPENRESOURCE){
		.hDevice = model->devices[device].handle,
		.hGlobalShare = target->global,
		.NumAllocations = (UINT)group->count,
		.pPrivateRuntimeData = call->runtime,
		.PrivateRuntimeDataSize = group->runtime.bytes,
		.pResourcePrivateDriverData = call->private_data,
		.ResourcePrivateDriverDataSize = group->private_data.bytes,
		.pTotalPrivateDriverDataBuffer = call->total,
		.TotalPrivateDriverDataBufferSize = total_private_bytes(model, group) + spare,
	};
	if (call->is_v1)
		call->global.pOpenAllocationInfo = call->elements;
	else
		call->global.pOpenAllocationInfo2 = call->elements2;
}

/* Makes one thing wrong; returns the status it deserves. */
static NTSTATUS spoil(struct run *run, const struct target *target, struct opening_call *call,
		      struct target *spoilt)
{
	D3DKMT_OPENRESOURCE *args = &call->global;

	*spoilt = *target;
	switch (below(run, 7)) {
	case 0:
		args->hDevice = bad_handle(run, KIND_DEVICE);
		break;
	case 1:
		args->NumAllocations += one_in(run, 2) ? 1 : -1u;
		break;
	case 2:
		args->pOpenAllocationInfo = NULL;
		break;
	case 3:
		args->PrivateRuntimeDataSize++;
		break;
	case 4:
		args->ResourcePrivateDriverDataSize++;
		break;
	case 5:
		args->TotalPrivateDriverDataBufferSize =
			total_private_bytes(&run->model, &run->model.groups[target->group]) - 1;
		return STATUS_NO_MEMORY;
	default:
		spoilt->nt = (HANDLE)(intptr_t)run->plain_file;
		spoilt->global = one_in(run, 2) ? 0 : bad_handle(run, KIND_DEVICE) | 1;
		return target->is_nt ? STATUS_INVALID_HANDLE : STATUS_INVALID_PARAMETER;
	}
	return STATUS_INVALID_PARAMETER;
}

static void make_nt_call(struct run *run, const struct target *target, struct opening_call *call,
			 NTSTATUS wanted)
{
	const D3DKMT_OPENRESOURCE *same = &call->global;

	call->nt = (D3DKMT_OPENRESOURCEFROMNTHANDLE){
		.hDevice = same->hDevice,
		.hNtHandle = target->nt,
		.NumAllocations = same->NumAllocations,
		.pOpenAllocationInfo2 = same->pOpenAllocationInfo2,
		.PrivateRuntimeDataSize = same->PrivateRuntimeDataSize,
		.pPrivateRuntimeData = same->pPrivateRuntimeData,
		.ResourcePrivateDriverDataSize = same->ResourcePrivateDriverDataSize,
		.pResourcePrivateDriverData = same->pResourcePrivateDriverData,
		.TotalPrivateDriverDataBufferSize = same->TotalPrivateDriverDataBufferSize,
		.pTotalPrivateDriverDataBuffer = same->pTotalPrivateDriverDataBuffer,
		.hKeyedMutex = 99,
		.hSyncObject = 99,
	};
	CALL(run, wanted, D3DKMTOpenResourceFromNtHandle, call->nt);
	call->global.hResource = call->nt.hResource;
	call->global.TotalPrivateDriverDataBufferSize = call->nt.TotalPrivateDriverDataBufferSize;
	if (NT_SUCCESS(wanted))
		RUN_EXPECT(run, call->nt.hKeyedMutex == 0 && call->nt.hSyncObject == 0);
}

static void make_call(struct run *run, const struct target *target, struct opening_call *call,
		      NTSTATUS wanted)
{
	call->global.hGlobalShare = target->global;
	if (target->is_nt)
		make_nt_call(run, target, call, wanted);
	else if (call->is_v1)
		CALL(run, wanted, D3DKMTOpenResource, call->global);
	else
		CALL(run, wanted, D3DKMTOpenResource2, call->global);
}

/* Every entry points into the total buffer, one after the other. */
static void check_entry(struct run *run, const struct opening_call *call,
			const struct model_memory *memory, int index, uint32_t *used)
{
	const void *data = call->is_v1 ? call->elements[index].pPrivateDriverData
				       : call->elements2[index].pPrivateDriverData;
	uint32_t bytes = call->is_v1 ? call->elements[index].PrivateDriverDataSize
				     : call->elements2[index].PrivateDriverDataSize;

	RUN_EXPECT(run, bytes == memory->private_data.bytes);
	RUN_EXPECT(run, data == call->total + *used);
	RUN_EXPECT(run, memcmp(data, memory->private_data.data, bytes) == 0);
	*used += bytes;
}

static void note_opening(struct run *run, const struct target *target, int device,
			 const struct opening_call *call)
{
	struct model *model = &run->model;
	const struct model_group *group = &model->groups[target->group];
	uint32_t used = 0;

	check_new_handle(run, call->global.hResource);
	RUN_EXPECT(run, memcmp(call->runtime, group->runtime.data, group->runtime.bytes) == 0);
	RUN_EXPECT(run, memcmp(call->private_data, group->private_data.data,
			       group->private_data.bytes) == 0);
	int opening = model_add(model, KIND_OPENING, call->global.hResource);
	model->openings[opening].device = device;
	model->openings[opening].group = target->group;
	model->openings[opening].is_read_only = target->is_read_only;
	for (int i = 0; i < group->count; i++) {
		uint32_t handle = call->is_v1 ? call->elements[i].hAllocation
					      : call->elements2[i].hAllocation;
		check_entry(run, call, &model->memories[group->memories[i]], i, &used);
		check_new_handle(run, handle);
		int allocation = model_add(model, KIND_ALLOCATION, handle);
		model->allocations[allocation].device = device;
		model->allocations[allocation].opening = opening;
		model->allocations[allocation].memory = group->memories[i];
	}
	RUN_EXPECT(run, call->global.TotalPrivateDriverDataBufferSize == used);
	RUN_EXPECT(run, call->total[used] == FILLER);
}

void step_open(struct run *run)
{
	static struct opening_call call;
	struct model *model = &run->model;
	int device = pick(run, KIND_DEVICE);
	NTSTATUS wanted = STATUS_SUCCESS;
	struct target target;
	struct target used;

	if (device < 0 || !choose_target(run, &target))
		return;
	const struct model_group *group = &model->groups[target.group];
	if (one_in(run, 3)) {
		query(run, &target, device);
		return;
	}
	if (model_slots(model, KIND_OPENING) == 0 ||
	    model_slots(model, KIND_ALLOCATION) < group->count)
		return;
	prepare(run, &target, device, &call);
	used = target;
	if (one_in(run, 4))
		wanted = spoil(run, &target, &call, &used);
	make_call(run, &used, &call, wanted);
	if (NT_SUCCESS(wanted))
		note_opening(run, &target, device, &call);
}

/* ---- NT handles ---- */

/* "Model0" and so on, in capitals or not. */
static void name_text(struct run *run, int name, wchar_t text[8], UNICODE_STRING *string,
		      OBJECT_ATTRIBUTES *attributes)
{
	wcscpy(text, one_in(run, 2) ? L"Model0" : L"mODEL0");
	text[5] = (wchar_t)(L'0' + name);
	*string = (UNICODE_STRING){ .Length = 6 * sizeof(wchar_t), .Buffer = text };
	*attributes = (OBJECT_ATTRIBUTES){ .Length = sizeof(*attributes), .ObjectName = string };
}

static void note_file(struct run *run, int bundle, HANDLE handle, bool is_read_only)
{
	RUN_EXPECT(run, (intptr_t)handle > 2 && (uintptr_t)handle < 0x40000000);
	int descriptor = model_add_descriptor(&run->model, bundle, (int)(intptr_t)handle);
	RUN_EXPECT(run, descriptor >= 0);
	run->model.descriptors[descriptor].is_read_only = is_read_only;
}

static bool has_descriptor_room(const struct model *model)
{
	int bundles = 0;
	int descriptors = 0;

	for (int i = 0; i < MAX_BUNDLES; i++)
		bundles += model->bundles[i].is_live;
	for (int i = 0; i < MAX_DESCRIPTORS; i++)
		descriptors += model->descriptors[i].is_live;
	return bundles < MAX_BUNDLES && descriptors < MAX_DESCRIPTORS;
}

/* What may not be shared, by handle. */
static NTSTATUS spoil_objects(struct run *run, D3DKMT_HANDLE handles[2], UINT *count)
{
	int allocation = pick(run, KIND_ALLOCATION);
	int mutex = pick(run, KIND_MUTEX);

	switch (below(run, 4)) {
	case 0:
		*count = 0;
		break;
	case 1:
		*count = 2;
		handles[1] = handles[0];
		break;
	case 2:
		handles[0] = allocation < 0 ? 0 : run->model.allocations[allocation].handle;
		break;
	default:
		handles[0] = mutex < 0 ? bad_handle(run, KIND_OPENING)
				       : run->model.mutex_handles[mutex].handle;
		break;
	}
	return STATUS_INVALID_PARAMETER;
}

void step_share(struct run *run)
{
	struct model *model = &run->model;
	int opening = pick(run, KIND_OPENING);
	D3DKMT_HANDLE handles[2];
	wchar_t text[8];
	UNICODE_STRING string;
	OBJECT_ATTRIBUTES attributes;
	HANDLE made = NULL;
	UINT count = 1;

	if (opening < 0 || !has_descriptor_room(model))
		return;
	int group = model->openings[opening].group;
	int name = one_in(run, 2) ? (int)below(run, NAME_COUNT) : -1;
	bool is_writing = one_in(run, 2);
	NTSTATUS wanted = STATUS_SUCCESS;
	handles[0] = model->openings[opening].handle;
	if (model->groups[group].scheme != SCHEME_NT)
		wanted = STATUS_INVALID_PARAMETER;
	else if (is_writing && model->openings[opening].is_read_only)
		wanted = STATUS_ACCESS_DENIED;
	else if (name >= 0 && model_find_name(model, name) >= 0)
		wanted = STATUS_OBJECT_NAME_COLLISION;
	if (one_in(run, 5))
		wanted = spoil_objects(run, handles, &count);
	if (name >= 0)
		name_text(run, name, text, &string, &attributes);
	call_begin(run, "D3DKMTShareObjects");
	NTSTATUS status = D3DKMTShareObjects(count, handles, name >= 0 ? &attributes : NULL,
					     is_writing ? SHARED_ALLOCATION_WRITE : 0, &made);
	HANDLE none = NULL;
	call_end(run, status, wanted, &none, &made, sizeof(made));
	if (NT_SUCCESS(status)) {
		int bundle = model_add_bundle(model, group, name);
		model->bundles[bundle].is_read_only = model->openings[opening].is_read_only;
		note_file(run, bundle, made, !is_writing);
	}
}

void step_name(struct run *run)
{
	struct model *model = &run->model;
	int name = (int)below(run, NAME_COUNT);
	int bundle = model_find_name(model, name);
	wchar_t text[8];
	UNICODE_STRING string;
	OBJECT_ATTRIBUTES attributes;
	D3DKMT_OPENNTHANDLEFROMNAME args = { .dwDesiredAccess = one_in(run, 5) ? 0 : 1,
					     .pObjAttrib = &attributes };
	NTSTATUS wanted = STATUS_SUCCESS;

	if (!has_descriptor_room(model))
		return;
	name_text(run, name, text, &string, &attributes);
	if (bundle < 0)
		wanted = STATUS_OBJECT_NAME_NOT_FOUND;
	else if (args.dwDesiredAccess == 0 || model->bundles[bundle].is_read_only)
		wanted = STATUS_ACCESS_DENIED;
	if (one_in(run, 10)) {
		args.pObjAttrib = NULL;
		wanted = STATUS_INVALID_PARAMETER;
	}
	CALL(run, wanted, D3DKMTOpenNtHandleFromName, args);
	if (NT_SUCCESS(wanted))
		note_file(run, bundle, args.hNtHandle, false);
}

/* Copies a descriptor, or closes one of its copies. */
void step_close_file(struct run *run)
{
	struct model_descriptor *descriptor = &run->model.descriptors[below(run, MAX_DESCRIPTORS)];

	if (!descriptor->is_live)
		return;
	run->call = "close";
	if (descriptor->copies < MAX_COPIES && one_in(run, 3)) {
		int copy = fcntl(descriptor->files[0], F_DUPFD_CLOEXEC, 3);
		RUN_EXPECT(run, copy >= 0);
		descriptor->files[descriptor->copies++] = copy;
		return;
	}
	int index = (int)below(run, (uint32_t)descriptor->copies);
	close(descriptor->files[index]);
	descriptor->files[index] = descriptor->files[--descriptor->copies];
}
