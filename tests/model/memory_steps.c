/* SPDX-License-Identifier: MIT */
/*
 * memory_steps.c - what is done with allocations that are there: locked, written, read, asked
 * about, destroyed.
 */
#include "model/run.h"

/* The device whose handle goes with an allocation's; now and then a wrong one. */
static D3DKMT_HANDLE device_of(const struct run *run, int allocation)
{
	return run->model.devices[run->model.allocations[allocation].device].handle;
}

/* ---- contents ---- */

static void check_contents(struct run *run, const struct model_memory *memory)
{
	for (int i = 0; i < PROBES; i++) {
		uint64_t word;
		memcpy(&word, memory->seen + model_probe_offset(memory, i), sizeof(word));
		if (word != memory->words[i])
			run_fail(run, "at probe %d stands 0x%llx, expected 0x%llx", i,
				 (unsigned long long)word, (unsigned long long)memory->words[i]);
	}
}

static void check_pointer(struct run *run, struct model_memory *memory, void *pointer)
{
	if (memory->clients)
		RUN_EXPECT(run, pointer == memory->clients);
	if (memory->seen)
		RUN_EXPECT(run, pointer == memory->seen);
	memory->seen = pointer;
	check_contents(run, memory);
}

/* Writes through what is locked; whoever locks it next reads it. */
void step_touch(struct run *run)
{
	int allocation = pick(run, KIND_ALLOCATION);

	if (allocation < 0 || run->model.allocations[allocation].locks == 0)
		return;
	/* Who opened it for reading is shown it so by a server. */
	int opening = run->model.allocations[allocation].opening;
	if (is_served() && opening >= 0 && run->model.openings[opening].is_read_only)
		return;
	struct model_memory *memory =
		&run->model.memories[run->model.allocations[allocation].memory];
	int probe = (int)below(run, PROBES);
	run->call = "a write";
	check_contents(run, memory);
	memory->words[probe] = random_next(&run->random);
	memcpy(memory->seen + model_probe_offset(memory, probe), &memory->words[probe],
	       sizeof(memory->words[probe]));
	/* Probes of a small allocation may lie on each other. */
	for (int i = 0; i < PROBES; i++)
		memcpy(&memory->words[i], memory->seen + model_probe_offset(memory, i),
		       sizeof(memory->words[i]));
}

/* ---- lock and unlock ---- */

static void lock_older(struct run *run, int index)
{
	struct model_handle *allocation = &run->model.allocations[index];
	struct model_memory *memory = &run->model.memories[allocation->memory];
	UINT pages[2] = { below(run, (uint32_t)(memory->size_bytes / 4096)), 0 };
	D3DKMT_LOCK args = { .hDevice = device_of(run, index), .hAllocation = allocation->handle };
	bool is_foreign = memory->group >= 0 && run->model.groups[memory->group].is_of_before;
	NTSTATUS wanted =
		memory->is_cpu_visible && !is_foreign ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;

	if (one_in(run, 2)) {
		args.NumPages = 1 + below(run, 2);
		args.pPages = pages;
	}
	switch (below(run, 12)) {
	case 0:
		args.hAllocation = bad_handle(run, KIND_ALLOCATION);
		wanted = STATUS_INVALID_PARAMETER;
		break;
	case 1:
		args.Flags.ReadOnly = args.Flags.WriteOnly = 1;
		wanted = STATUS_INVALID_PARAMETER;
		break;
	case 2:
		args.NumPages = 1;
		args.pPages = pages;
		pages[0] = (UINT)(memory->size_bytes / 4096) + below(run, 3);
		wanted = STATUS_INVALID_PARAMETER;
		break;
	default:
		break;
	}
	CALL(run, wanted, D3DKMTLock, args);
	if (!NT_SUCCESS(wanted))
		return;
	allocation->locks++;
	check_pointer(run, memory,
		      (char *)args.pData - (args.NumPages ? (size_t)pages[0] * 4096 : 0));
}

static void lock_newer(struct run *run, int index)
{
	struct model_handle *allocation = &run->model.allocations[index];
	D3DKMT_LOCK2 args = { .hDevice = device_of(run, index), .hAllocation = allocation->handle };
	NTSTATUS wanted = STATUS_SUCCESS;
	bool is_short_of_memory = false;

	switch (below(run, 12)) {
	case 0:
		args.hAllocation = bad_handle(run, KIND_ALLOCATION);
		wanted = STATUS_INVALID_PARAMETER;
		break;
	case 1:
		args.hDevice = bad_handle(run, KIND_DEVICE);
		wanted = STATUS_INVALID_PARAMETER;
		break;
	case 2: {
		int other = pick(run, KIND_DEVICE);
		args.hDevice = run->model.devices[other].handle;
		if (other != allocation->device)
			wanted = STATUS_INVALID_PARAMETER;
		break;
	}
	case 3:
		args.Flags.Value = 1 + below(run, 1000);
		wanted = STATUS_INVALID_PARAMETER;
		break;
	case 4:
		is_short_of_memory = true;
		break;
	default:
		break;
	}
	D3DKMT_LOCK2 before = args;
	if (is_short_of_memory)
		dxgk_test_fail_nth_allocation(1 + below(run, 3));
	call_begin(run, "D3DKMTLock2");
	NTSTATUS status = D3DKMTLock2(&args);
	if (is_short_of_memory && dxgk_test_fail_stop() && !NT_SUCCESS(status))
		wanted = status == STATUS_GRAPHICS_NO_VIDEO_MEMORY ? status : STATUS_NO_MEMORY;
	call_end(run, status, wanted, &before, &args, sizeof(args));
	if (!NT_SUCCESS(status))
		return;
	allocation->locks++;
	check_pointer(run, &run->model.memories[allocation->memory], args.pData);
}

static void unlock_newer(struct run *run, int index)
{
	struct model_handle *allocation = &run->model.allocations[index];
	D3DKMT_UNLOCK2 args = { .hDevice = device_of(run, index),
				.hAllocation = allocation->handle };
	NTSTATUS wanted = allocation->locks > 0 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;

	if (one_in(run, 10)) {
		args.hAllocation = bad_handle(run, KIND_ALLOCATION);
		wanted = STATUS_INVALID_PARAMETER;
	}
	CALL(run, wanted, D3DKMTUnlock2, args);
	if (NT_SUCCESS(wanted))
		allocation->locks--;
}

/* Each as often as it is named, or none. */
static void unlock_older(struct run *run, int first)
{
	struct model *model = &run->model;
	int device = model->allocations[first].device;
	int chosen[4] = { first };
	D3DKMT_HANDLE handles[4];
	D3DKMT_UNLOCK args = { .hDevice = device_of(run, first),
			       .NumAllocations = below(run, 5),
			       .phAllocations = handles };
	NTSTATUS wanted = STATUS_SUCCESS;

	for (UINT i = 0; i < args.NumAllocations; i++) {
		int other = pick(run, KIND_ALLOCATION);
		if (i > 0)
			chosen[i] = model->allocations[other].device == device ? other : first;
		handles[i] = model->allocations[chosen[i]].handle;
		uint32_t named = 0;
		for (UINT j = 0; j <= i; j++)
			named += chosen[j] == chosen[i];
		if (named > model->allocations[chosen[i]].locks)
			wanted = STATUS_INVALID_PARAMETER;
	}
	if (args.NumAllocations > 0 && one_in(run, 10)) {
		handles[below(run, args.NumAllocations)] = bad_handle(run, KIND_ALLOCATION);
		wanted = STATUS_INVALID_PARAMETER;
	}
	CALL(run, wanted, D3DKMTUnlock, args);
	for (UINT i = 0; NT_SUCCESS(wanted) && i < args.NumAllocations; i++)
		model->allocations[chosen[i]].locks--;
}

void step_lock(struct run *run)
{
	int allocation = pick(run, KIND_ALLOCATION);

	if (allocation < 0)
		return;
	switch (below(run, 6)) {
	case 0:
		lock_older(run, allocation);
		break;
	case 1:
		unlock_older(run, allocation);
		break;
	case 2:
		unlock_newer(run, allocation);
		break;
	default:
		lock_newer(run, allocation);
		break;
	}
}

/* ---- lists ---- */

/* Allocations of one device that go together: of one opening, or alone. */
struct chosen {
	int device;
	int opening; /* -1: alone */
	int count;
	int allocations[MAX_IN_GROUP];
	D3DKMT_HANDLE handles[MAX_IN_GROUP];
};

/* In no order, as clients do. */
static bool choose_list(struct run *run, struct chosen *chosen)
{
	const struct model *model = &run->model;
	int first = pick(run, KIND_ALLOCATION);

	if (first < 0)
		return false;
	chosen->device = model->allocations[first].device;
	chosen->opening = model->allocations[first].opening;
	int all = model_list(model, chosen->device, chosen->opening, chosen->allocations,
			     MAX_IN_GROUP);
	for (int i = all - 1; i > 0; i--) {
		int other = (int)below(run, (uint32_t)i + 1);
		int kept = chosen->allocations[i];
		chosen->allocations[i] = chosen->allocations[other];
		chosen->allocations[other] = kept;
	}
	chosen->count = 1 + (int)below(run, (uint32_t)all);
	for (int i = 0; i < chosen->count; i++)
		chosen->handles[i] = model->allocations[chosen->allocations[i]].handle;
	return true;
}

/* ---- properties ---- */

/* The memory of an opening's oldest allocation that is left; -1 when none is. */
static int first_memory(const struct model *model, int opening)
{
	const struct model_group *group = &model->groups[model->openings[opening].group];

	for (int i = 0; i < group->count; i++) {
		for (int j = 0; j < MAX_ALLOCATIONS; j++) {
			if (model->allocations[j].is_live &&
			    model->allocations[j].opening == opening &&
			    model->allocations[j].memory == group->memories[i])
				return group->memories[i];
		}
	}
	return -1;
}

static void set_priorities(struct run *run, const struct chosen *chosen, bool is_resource)
{
	struct model *model = &run->model;
	UINT priorities[MAX_IN_GROUP];
	D3DKMT_SETALLOCATIONPRIORITY args = {
		.hDevice = model->devices[chosen->device].handle,
		.hResource = is_resource ? model->openings[chosen->opening].handle : 0,
		.phAllocationList = is_resource ? NULL : chosen->handles,
		.AllocationCount = is_resource ? 0 : (UINT)chosen->count,
		.pPriorities = priorities,
	};
	NTSTATUS wanted = STATUS_SUCCESS;

	for (int i = 0; i < MAX_IN_GROUP; i++)
		priorities[i] = (UINT)random_next(&run->random);
	if (one_in(run, 8)) {
		args.pPriorities = NULL;
		wanted = STATUS_INVALID_PARAMETER;
	} else if (is_resource && one_in(run, 8)) {
		args.AllocationCount = 1;
		wanted = STATUS_INVALID_PARAMETER;
	}
	CALL(run, wanted, D3DKMTSetAllocationPriority, args);
	if (!NT_SUCCESS(wanted))
		return;
	struct chosen all = *chosen;
	if (is_resource)
		all.count = model_list(model, chosen->device, chosen->opening, all.allocations,
				       MAX_IN_GROUP);
	for (int i = 0; i < all.count; i++)
		model->memories[model->allocations[all.allocations[i]].memory].priority =
			priorities[is_resource ? 0 : i];
}

static void get_priorities(struct run *run, const struct chosen *chosen, bool is_resource)
{
	const struct model *model = &run->model;
	UINT priorities[MAX_IN_GROUP] = { 0 };
	D3DKMT_GETALLOCATIONPRIORITY args = {
		.hDevice = model->devices[chosen->device].handle,
		.hResource = is_resource ? model->openings[chosen->opening].handle : 0,
		.phAllocationList = is_resource ? NULL : chosen->handles,
		.AllocationCount = is_resource ? 0 : (UINT)chosen->count,
		.pPriorities = priorities,
	};

	CALL(run, STATUS_SUCCESS, D3DKMTGetAllocationPriority, args);
	if (is_resource) {
		int memory = first_memory(model, chosen->opening);
		RUN_EXPECT(run, memory < 0 || priorities[0] == model->memories[memory].priority);
		return;
	}
	for (int i = 0; i < chosen->count; i++) {
		int memory = model->allocations[chosen->allocations[i]].memory;
		RUN_EXPECT(run, priorities[i] == model->memories[memory].priority);
	}
}

static void query_residency(struct run *run, const struct chosen *chosen)
{
	D3DKMT_ALLOCATIONRESIDENCYSTATUS states[MAX_IN_GROUP] = { 0 };
	D3DKMT_HANDLE handles[MAX_IN_GROUP];
	D3DKMT_QUERYALLOCATIONRESIDENCY args = {
		.hDevice = run->model.devices[chosen->device].handle,
		.phAllocationList = handles,
		.AllocationCount = (UINT)chosen->count,
		.pResidencyStatus = states,
	};
	bool is_bad = one_in(run, 6);

	memcpy(handles, chosen->handles, sizeof(handles));
	if (is_bad)
		handles[below(run, (uint32_t)chosen->count)] = bad_handle(run, KIND_ALLOCATION);
	CALL(run, is_bad ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS,
	     D3DKMTQueryAllocationResidency, args);
	for (int i = 0; i < chosen->count; i++)
		RUN_EXPECT(run,
			   states[i] ==
				   (is_bad ? 0 : D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT));
}

static void invalidate_cache(struct run *run, const struct chosen *chosen)
{
	const struct model *model = &run->model;
	uint64_t size_bytes =
		model->memories[model->allocations[chosen->allocations[0]].memory].size_bytes;
	D3DKMT_INVALIDATECACHE args = {
		.hDevice = model->devices[chosen->device].handle,
		.hAllocation = chosen->handles[0],
		.Offset = below(run, (uint32_t)size_bytes * 2),
		.Length = below(run, (uint32_t)size_bytes),
	};
	bool is_inside = args.Offset + args.Length <= size_bytes;

	CALL(run, is_inside ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER, D3DKMTInvalidateCache,
	     args);
}

void step_property(struct run *run)
{
	struct chosen chosen;

	if (!choose_list(run, &chosen))
		return;
	switch (below(run, 4)) {
	case 0:
		set_priorities(run, &chosen, chosen.opening >= 0 && one_in(run, 2));
		break;
	case 1:
		get_priorities(run, &chosen, chosen.opening >= 0 && one_in(run, 2));
		break;
	case 2:
		query_residency(run, &chosen);
		break;
	default:
		invalidate_cache(run, &chosen);
		break;
	}
}

/* ---- destroy ---- */

static void destroy(struct run *run, D3DKMT_DESTROYALLOCATION2 *args, NTSTATUS wanted)
{
	D3DKMT_DESTROYALLOCATION older = {
		.hDevice = args->hDevice,
		.hResource = args->hResource,
		.phAllocationList = args->phAllocationList,
		.AllocationCount = args->AllocationCount,
	};

	if (args->Flags.Value == 0 && one_in(run, 2))
		CALL(run, wanted, D3DKMTDestroyAllocation, older);
	else
		CALL(run, wanted, D3DKMTDestroyAllocation2, *args);
}

/* Makes one thing about the list wrong. */
static void spoil_list(struct run *run, struct chosen *chosen, D3DKMT_DESTROYALLOCATION2 *args)
{
	const struct model *model = &run->model;
	int at = (int)below(run, (uint32_t)chosen->count);
	int other = pick(run, KIND_ALLOCATION);
	bool is_other_owner = model->allocations[other].device != chosen->device ||
			      model->allocations[other].opening != chosen->opening;

	switch (below(run, 6)) {
	case 0:
		if (chosen->count > 1) {
			chosen->handles[at] = chosen->handles[(at + 1) % chosen->count];
			break;
		}
		__attribute__((fallthrough));
	case 1:
		chosen->handles[at] = bad_handle(run, KIND_ALLOCATION);
		break;
	case 2:
		if (chosen->count > 1 && is_other_owner) {
			chosen->handles[at] = model->allocations[other].handle;
			break;
		}
		__attribute__((fallthrough));
	case 3:
		args->phAllocationList = NULL;
		break;
	case 4:
		args->Flags.Value = 4u << below(run, 30);
		break;
	default:
		args->hDevice = bad_handle(run, KIND_DEVICE);
		break;
	}
}

static void destroy_list(struct run *run)
{
	struct chosen chosen;

	if (!choose_list(run, &chosen))
		return;
	D3DKMT_DESTROYALLOCATION2 args = {
		.hDevice = run->model.devices[chosen.device].handle,
		.phAllocationList = chosen.handles,
		.AllocationCount = (UINT)chosen.count,
		.Flags = { .Value = below(run, 4) },
	};
	if (one_in(run, 4)) {
		spoil_list(run, &chosen, &args);
		destroy(run, &args, STATUS_INVALID_PARAMETER);
		return;
	}
	destroy(run, &args, STATUS_SUCCESS);
	for (int i = 0; i < chosen.count; i++)
		model_end(&run->model, KIND_ALLOCATION, chosen.allocations[i]);
}

static void destroy_resource(struct run *run)
{
	struct model *model = &run->model;
	int opening = pick(run, KIND_OPENING);
	D3DKMT_HANDLE list[1];
	NTSTATUS wanted = STATUS_SUCCESS;

	if (opening < 0)
		return;
	D3DKMT_DESTROYALLOCATION2 args = {
		.hDevice = model->devices[model->openings[opening].device].handle,
		.hResource = model->openings[opening].handle,
		.AllocationCount = one_in(run, 2) ? 0 : below(run, 100),
		.Flags = { .Value = below(run, 4) },
	};
	if (one_in(run, 8)) {
		/* Of a list of none nothing is said. */
		args.phAllocationList = list;
		if (args.AllocationCount != 0)
			wanted = STATUS_INVALID_PARAMETER;
	} else if (one_in(run, 8)) {
		wanted = STATUS_INVALID_PARAMETER;
		do {
			args.hResource = bad_handle(run, KIND_OPENING);
		} while (args.hResource == 0);
	}
	destroy(run, &args, wanted);
	if (NT_SUCCESS(wanted))
		model_end(model, KIND_OPENING, opening);
}

/* Neither a list nor a resource: nothing to do, and fine. */
static void destroy_nothing(struct run *run)
{
	int device = pick(run, KIND_DEVICE);
	D3DKMT_DESTROYALLOCATION2 args = { 0 };

	if (device < 0)
		return;
	args.hDevice = run->model.devices[device].handle;
	destroy(run, &args, STATUS_SUCCESS);
}

void step_destroy(struct run *run)
{
	uint32_t choice = below(run, 20);

	if (choice == 0)
		destroy_nothing(run);
	else if (choice < 10)
		destroy_resource(run);
	else
		destroy_list(run);
}
