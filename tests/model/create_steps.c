/* SPDX-License-Identifier: MIT */
/*
 * create_steps.c - creating allocations: alone, in new resources, added to one, in the client's own
 * memory. A call is made right first; then, now and then, one thing about it is made wrong.
 */
#include "model/run.h"

enum { MANY = 9 }; /* more than anybody keeps on the stack */

/* A call and what it would make. */
struct creation {
	bool is_v2;
	int device;
	int opening; /* add to this one; -1 */
	enum model_scheme scheme;
	bool is_resource;
	uint32_t count;
	struct model_data runtime;
	struct model_data private_data;

	D3DKMT_CREATEALLOCATION args;
	D3DDDI_ALLOCATIONINFO elements[MANY];
	D3DDDI_ALLOCATIONINFO2 elements2[MANY];
	struct softgpu_allocation described[MANY];
	D3DKMT_CREATESTANDARDALLOCATION standard;
};

static bool slot_is_free(const struct run *run, const struct creation *creation,
			 const unsigned char *slot)
{
	for (int i = 0; i < MAX_MEMORIES; i++) {
		if (run->model.memories[i].is_live && run->model.memories[i].clients == slot)
			return false;
	}
	for (uint32_t i = 0; i < creation->count; i++) {
		if (creation->elements2[i].pSystemMem == slot)
			return false;
	}
	return true;
}

static unsigned char *find_slot(struct run *run, const struct creation *creation)
{
	for (int i = 0; i < CLIENT_SLOTS; i++) {
		unsigned char *slot = run->client_memory + (size_t)i * CLIENT_BYTES;
		if (slot_is_free(run, creation, slot))
			return slot;
	}
	return NULL;
}

/* ---- a call that is right ---- */

static void choose_element(struct run *run, struct creation *creation, uint32_t index)
{
	static const uint32_t flags[] = {
		0,
		SOFTGPU_CPU_VISIBLE,
		SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED,
		SOFTGPU_LOCAL_ONLY,
		SOFTGPU_SYSTEM_ONLY | SOFTGPU_CPU_VISIBLE,
		SOFTGPU_SYSTEM_ONLY | SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED,
	};
	D3DDDI_ALLOCATIONINFO2 *element = &creation->elements2[index];
	struct softgpu_allocation *described = &creation->described[index];

	*described = (struct softgpu_allocation){
		.version = SOFTGPU_ALLOCATION_VERSION,
		.flags = flags[below(run, sizeof(flags) / sizeof(flags[0]))],
		.size_bytes = 1 + below(run, one_in(run, 10) ? 1 << 20 : 16384),
		.alignment = one_in(run, 2) ? 0 : UINT64_C(1) << below(run, 20),
	};
	element->pPrivateDriverData = described;
	element->PrivateDriverDataSize = sizeof(*described);
	if (one_in(run, 12)) {
		element->pSystemMem = find_slot(run, creation);
		if (element->pSystemMem)
			described->size_bytes = 1 + below(run, CLIENT_BYTES);
	}
	if (creation->is_v2 && one_in(run, 4)) {
		element->Flags.OverridePriority = 1;
		element->Priority = (UINT)random_next(&run->random);
	}
}

static void choose_group(struct run *run, struct creation *creation)
{
	D3DKMT_CREATEALLOCATION *args = &creation->args;

	creation->opening = -1;
	if (!creation->is_resource)
		return;
	creation->scheme = (enum model_scheme)below(run, 3);
	args->Flags.CreateResource = 1;
	args->Flags.CreateShared = creation->scheme != SCHEME_PRIVATE;
	args->Flags.NtSecuritySharing = creation->scheme == SCHEME_NT;
}

static void choose_data(struct run *run, struct creation *creation, bool has_private)
{
	D3DKMT_CREATEALLOCATION *args = &creation->args;

	random_data(run, &creation->runtime);
	args->pPrivateRuntimeData = creation->runtime.bytes ? creation->runtime.data : NULL;
	args->PrivateRuntimeDataSize = creation->runtime.bytes;
	if (!has_private)
		return;
	random_data(run, &creation->private_data);
	args->pPrivateDriverData =
		creation->private_data.bytes ? creation->private_data.data : NULL;
	args->PrivateDriverDataSize = creation->private_data.bytes;
}

static void point_to_array(struct creation *creation)
{
	creation->args.NumAllocations = creation->count;
	if (creation->is_v2)
		creation->args.pAllocationInfo2 = creation->elements2;
	else
		creation->args.pAllocationInfo = creation->elements;
}

/* Elements are chosen in the shape of the second version, of which the first is the beginning. */
static void shorten_elements(struct creation *creation)
{
	for (uint32_t i = 0; i < creation->count; i++)
		memcpy(&creation->elements[i], &creation->elements2[i],
		       sizeof(creation->elements[i]));
}

/* ---- one thing wrong ---- */

static NTSTATUS spoil_element(struct run *run, struct creation *creation)
{
	uint32_t index = below(run, creation->count);
	D3DDDI_ALLOCATIONINFO2 *element = &creation->elements2[index];

	switch (below(run, 8)) {
	case 0:
		creation->described[index].version = 7;
		return STATUS_GRAPHICS_DRIVER_MISMATCH;
	case 1:
		creation->described[index].size_bytes = 0;
		break;
	case 2:
		creation->described[index].flags = SOFTGPU_LOCAL_ONLY | SOFTGPU_SYSTEM_ONLY;
		break;
	case 3:
		element->PrivateDriverDataSize = 0;
		break;
	case 4:
		element->pPrivateDriverData = NULL;
		break;
	case 5:
		element->pSystemMem = run->client_memory + 1 + below(run, 4095);
		break;
	case 6:
		element->Flags.Value |= one_in(run, 2) ? 1u : 8u << below(run, 29);
		break;
	default:
		element->VidPnSourceId = 1 + below(run, 9);
		break;
	}
	return STATUS_INVALID_PARAMETER;
}

static NTSTATUS spoil_flags(struct run *run, struct creation *creation)
{
	D3DKMT_CREATEALLOCATIONFLAGS *flags = &creation->args.Flags;

	switch (below(run, 5)) {
	case 0:
		flags->Reserved = 1u << below(run, 10);
		break;
	case 1:
		flags->CreateProtected = 1;
		break;
	case 2:
		*flags = (D3DKMT_CREATEALLOCATIONFLAGS){ .CreateShared = 1 };
		break;
	case 3:
		*flags = (D3DKMT_CREATEALLOCATIONFLAGS){ .CreateResource = 1,
							 .NtSecuritySharing = 1 };
		break;
	default:
		flags->StandardAllocation = one_in(run, 2);
		flags->ExistingSysMem = !flags->StandardAllocation;
		break;
	}
	return STATUS_INVALID_PARAMETER;
}

static NTSTATUS spoil_resource(struct run *run, struct creation *creation)
{
	const struct model *model = &run->model;
	D3DKMT_CREATEALLOCATION *args = &creation->args;
	int opening = pick(run, KIND_OPENING);

	if (opening < 0 || one_in(run, 2)) {
		do {
			args->hResource = bad_handle(run, KIND_OPENING);
		} while (args->hResource == 0);
		return STATUS_INVALID_HANDLE;
	}
	args->hResource = model->openings[opening].handle;
	if (model->openings[opening].device != creation->device)
		return STATUS_INVALID_HANDLE;
	/* Together with CreateResource, or something is added to what is shared. */
	if (model->groups[model->openings[opening].group].scheme == SCHEME_PRIVATE)
		args->Flags.CreateResource = 1;
	return STATUS_INVALID_PARAMETER;
}

/* Makes one thing wrong; returns the status it deserves. */
static NTSTATUS spoil(struct run *run, struct creation *creation)
{
	switch (below(run, 8)) {
	case 0:
		creation->args.hDevice = bad_handle(run, KIND_DEVICE);
		return STATUS_INVALID_PARAMETER;
	case 1:
		return spoil_flags(run, creation);
	case 2:
		return spoil_resource(run, creation);
	case 3:
		creation->args.NumAllocations = 0;
		return STATUS_INVALID_PARAMETER;
	case 4:
		creation->args.pAllocationInfo = NULL;
		return STATUS_INVALID_PARAMETER;
	default:
		return spoil_element(run, creation);
	}
}

/* ---- the call ---- */

static NTSTATUS make(struct run *run, struct creation *creation)
{
	call_begin(run, creation->is_v2 ? "D3DKMTCreateAllocation2" : "D3DKMTCreateAllocation");
	return creation->is_v2 ? D3DKMTCreateAllocation2(&creation->args)
			       : D3DKMTCreateAllocation(&creation->args);
}

static uint32_t made_handle(const struct creation *creation, uint32_t index)
{
	return creation->is_v2 ? creation->elements2[index].hAllocation
			       : creation->elements[index].hAllocation;
}

static void note_memory(struct run *run, const struct creation *creation, int memory_index,
			uint32_t index)
{
	struct model_memory *memory = &run->model.memories[memory_index];
	const D3DDDI_ALLOCATIONINFO2 *element = &creation->elements2[index];
	const struct softgpu_allocation *described = &creation->described[index];

	memory->size_bytes = (described->size_bytes + 4095) & ~UINT64_C(4095);
	memory->is_cpu_visible = described->flags & SOFTGPU_CPU_VISIBLE;
	memory->priority = element->Flags.OverridePriority ? element->Priority : 0x78000000;
	memory->private_data.bytes = sizeof(*described);
	memcpy(memory->private_data.data, described, sizeof(*described));
	memory->clients = (unsigned char *)element->pSystemMem;
	for (int i = 0; i < PROBES && memory->clients; i++)
		memcpy(&memory->words[i], memory->clients + model_probe_offset(memory, i),
		       sizeof(memory->words[i]));
}

static void note_resource(struct run *run, struct creation *creation)
{
	struct model *model = &run->model;
	const D3DKMT_CREATEALLOCATION *args = &creation->args;

	check_new_handle(run, args->hResource);
	creation->opening = model_add(model, KIND_OPENING, args->hResource);
	int group = model_add_group(model, creation->scheme);
	model->groups[group].runtime = creation->runtime;
	model->groups[group].private_data = creation->private_data;
	model->groups[group].global_handle = args->hGlobalShare;
	model->openings[creation->opening].device = creation->device;
	model->openings[creation->opening].group = group;
	if (creation->scheme == SCHEME_GLOBAL)
		RUN_EXPECT(run, (args->hGlobalShare & 0xc0000000) != 0 &&
					(args->hGlobalShare & 0x3f) == 2);
	else
		RUN_EXPECT(run, args->hGlobalShare == 0);
}

static void note(struct run *run, struct creation *creation)
{
	struct model *model = &run->model;

	if (creation->is_resource)
		note_resource(run, creation);
	else if (creation->opening < 0)
		RUN_EXPECT(run, creation->args.hResource == 0);
	int group = creation->opening < 0 ? -1 : model->openings[creation->opening].group;
	for (uint32_t i = 0; i < creation->count; i++) {
		uint32_t handle = made_handle(creation, i);
		check_new_handle(run, handle);
		int allocation = model_add(model, KIND_ALLOCATION, handle);
		int memory = model_add_memory(model, group);
		model->allocations[allocation].device = creation->device;
		model->allocations[allocation].opening = creation->opening;
		model->allocations[allocation].memory = memory;
		note_memory(run, creation, memory, i);
	}
}

/* Also the array stays as it was when the call fails. */
static void make_and_note(struct run *run, struct creation *creation, NTSTATUS wanted,
			  bool is_short_of_memory)
{
	struct creation before = *creation;

	if (is_short_of_memory)
		dxgk_test_fail_nth_allocation(1 + below(run, 12));
	NTSTATUS status = make(run, creation);
	if (is_short_of_memory && dxgk_test_fail_stop() && !NT_SUCCESS(status))
		wanted = STATUS_NO_MEMORY;
	call_end(run, status, wanted, &before, creation, sizeof(before));
	if (NT_SUCCESS(status))
		note(run, creation);
}

static bool has_slots(struct run *run, const struct creation *creation)
{
	struct model *model = &run->model;

	return model_slots(model, KIND_ALLOCATION) >= (int)creation->count &&
	       model_memory_room(model) >= (int)creation->count &&
	       (!creation->is_resource ||
		(model_slots(model, KIND_OPENING) > 0 && model_group_room(model) > 0));
}

/* Adds to a private resource when one is at hand. */
static void choose_target(struct run *run, struct creation *creation)
{
	const struct model *model = &run->model;
	int opening = pick(run, KIND_OPENING);

	if (creation->is_resource || opening < 0 || !one_in(run, 3))
		return;
	const struct model_group *group = &model->groups[model->openings[opening].group];
	if (group->scheme != SCHEME_PRIVATE || group->count + (int)creation->count > MAX_IN_GROUP)
		return;
	creation->opening = opening;
	creation->device = model->openings[opening].device;
	creation->args.hDevice = model->devices[creation->device].handle;
	creation->args.hResource = model->openings[opening].handle;
}

/* Of whatever kind, on any device; false: there is none. */
static bool begin_creation(struct run *run, struct creation *creation)
{
	int device = pick(run, KIND_DEVICE);

	memset(creation, 0, sizeof(*creation));
	if (device < 0)
		return false;
	creation->is_v2 = one_in(run, 2);
	creation->is_resource = one_in(run, 2);
	creation->device = device;
	creation->args.hDevice = run->model.devices[device].handle;
	return true;
}

void step_create(struct run *run)
{
	static struct creation creation;
	NTSTATUS wanted = STATUS_SUCCESS;

	if (!begin_creation(run, &creation))
		return;
	choose_group(run, &creation);
	creation.count = one_in(run, 8) ? MANY : 1 + below(run, 4);
	for (uint32_t i = 0; i < creation.count; i++)
		choose_element(run, &creation, i);
	choose_target(run, &creation);
	choose_data(run, &creation, true);
	if (!has_slots(run, &creation))
		return;
	point_to_array(&creation);
	if (one_in(run, 4) && creation.opening < 0)
		wanted = spoil(run, &creation);
	shorten_elements(&creation);
	make_and_note(run, &creation, wanted, wanted == STATUS_SUCCESS && one_in(run, 12));
}

/* ---- memory the client has ---- */

static NTSTATUS spoil_standard(struct run *run, struct creation *creation)
{
	switch (below(run, 6)) {
	case 0:
		creation->standard.Type = (D3DKMT_STANDARDALLOCATIONTYPE)0;
		break;
	case 1:
		creation->standard.ExistingHeapData.Size += 1 + below(run, 4095);
		break;
	case 2:
		creation->standard.ExistingHeapData.Size = 0;
		break;
	case 3:
		creation->elements2[0].pSystemMem = NULL;
		break;
	case 4:
		creation->args.PrivateDriverDataSize = 1 + below(run, 100);
		break;
	default:
		creation->args.pStandardAllocation = NULL;
		break;
	}
	return STATUS_INVALID_PARAMETER;
}

/* What the driver made of it: a surface of one row, as long as the heap. */
static void note_standard(struct run *run, const struct creation *creation)
{
	uint32_t heap_bytes = (uint32_t)creation->standard.ExistingHeapData.Size;
	const struct softgpu_surface surface = {
		.allocation = { .version = SOFTGPU_SURFACE_VERSION,
				.flags = SOFTGPU_SYSTEM_ONLY | SOFTGPU_CPU_VISIBLE,
				.size_bytes = heap_bytes,
				.alignment = 4096 },
		.width = heap_bytes,
		.height = 1,
		.pitch_bytes = heap_bytes,
	};

	for (int i = 0; i < MAX_ALLOCATIONS; i++) {
		const struct model_handle *allocation = &run->model.allocations[i];
		if (!allocation->is_live || allocation->handle != made_handle(creation, 0))
			continue;
		struct model_memory *memory = &run->model.memories[allocation->memory];
		memory->is_cpu_visible = true;
		memory->private_data.bytes = sizeof(surface);
		memcpy(memory->private_data.data, &surface, sizeof(surface));
	}
}

void step_standard(struct run *run)
{
	static struct creation creation;
	NTSTATUS wanted = STATUS_SUCCESS;

	if (!begin_creation(run, &creation))
		return;
	creation.count = 1;
	creation.elements2[0].pSystemMem = find_slot(run, &creation);
	if (!has_slots(run, &creation) || !creation.elements2[0].pSystemMem)
		return;
	choose_group(run, &creation);
	choose_data(run, &creation, false);
	creation.args.Flags.StandardAllocation = 1;
	creation.args.Flags.ExistingSysMem = 1;
	creation.standard = (D3DKMT_CREATESTANDARDALLOCATION){
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP,
		.ExistingHeapData = { .Size = 4096 * (1 + below(run, CLIENT_BYTES / 4096)) },
	};
	creation.args.pStandardAllocation = &creation.standard;
	creation.described[0].size_bytes = creation.standard.ExistingHeapData.Size;
	point_to_array(&creation);
	if (one_in(run, 3))
		wanted = spoil_standard(run, &creation);
	shorten_elements(&creation);
	make_and_note(run, &creation, wanted, wanted == STATUS_SUCCESS && one_in(run, 12));
	if (made_handle(&creation, 0) != 0)
		note_standard(run, &creation);
}
