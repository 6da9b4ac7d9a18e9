/* SPDX-License-Identifier: MIT */
/*
 * model.c - see model.h.
 */
#include "model/model.h"

#include <stddef.h>
#include <string.h>

struct model_handle *model_array(struct model *model, enum model_kind kind, int *slots_out)
{
	struct {
		struct model_handle *array;
		int slots;
	} arrays[KIND_COUNT] = {
		[KIND_ADAPTER] = { model->adapters, MAX_ADAPTERS },
		[KIND_DEVICE] = { model->devices, MAX_DEVICES },
		[KIND_CONTEXT] = { model->contexts, MAX_CONTEXTS },
		[KIND_OPENING] = { model->openings, MAX_OPENINGS },
		[KIND_ALLOCATION] = { model->allocations, MAX_ALLOCATIONS },
		[KIND_MUTEX] = { model->mutex_handles, MAX_MUTEX_HANDLES },
		[KIND_FENCE] = { model->fences, MAX_FENCES },
	};

	*slots_out = arrays[kind].slots;
	return arrays[kind].array;
}

enum model_kind model_kind_of(struct model *model, uint32_t handle)
{
	for (enum model_kind kind = 0; kind < KIND_COUNT; kind++) {
		int slots;
		const struct model_handle *array = model_array(model, kind, &slots);
		for (int i = 0; i < slots; i++) {
			if (array[i].is_live && array[i].handle == handle)
				return kind;
		}
	}
	return KIND_COUNT;
}

int model_add(struct model *model, enum model_kind kind, uint32_t handle)
{
	int slots;
	struct model_handle *array = model_array(model, kind, &slots);

	for (int i = 0; i < slots; i++) {
		if (array[i].is_live)
			continue;
		array[i] = (struct model_handle){
			.is_live = true,
			.handle = handle,
			.device = -1,
			.group = -1,
			.opening = -1,
			.memory = -1,
			.mutex = -1,
		};
		return i;
	}
	return -1;
}

int model_add_group(struct model *model, enum model_scheme scheme)
{
	for (int i = 0; i < MAX_GROUPS; i++) {
		if (!model->groups[i].is_live) {
			model->groups[i] =
				(struct model_group){ .is_live = true, .scheme = scheme };
			return i;
		}
	}
	return -1;
}

int model_add_memory(struct model *model, int group)
{
	for (int i = 0; i < MAX_MEMORIES; i++) {
		if (model->memories[i].is_live)
			continue;
		model->memories[i] = (struct model_memory){ .is_live = true, .group = group };
		if (group >= 0)
			model->groups[group].memories[model->groups[group].count++] = i;
		return i;
	}
	return -1;
}

int model_add_bundle(struct model *model, int group, int name)
{
	for (int i = 0; i < MAX_BUNDLES; i++) {
		if (!model->bundles[i].is_live) {
			model->bundles[i] = (struct model_bundle){ true, group, name };
			return i;
		}
	}
	return -1;
}

int model_add_descriptor(struct model *model, int bundle, int file)
{
	for (int i = 0; i < MAX_DESCRIPTORS; i++) {
		if (!model->descriptors[i].is_live) {
			model->descriptors[i] = (struct model_descriptor){
				.is_live = true, .bundle = bundle, .copies = 1, .files = { file }
			};
			return i;
		}
	}
	return -1;
}

int model_add_mutex(struct model *model, enum model_scheme scheme)
{
	for (int i = 0; i < MAX_MUTEXES; i++) {
		if (!model->mutexes[i].is_live) {
			model->mutexes[i] = (struct model_mutex){ .is_live = true,
								  .scheme = scheme,
								  .owner = -1 };
			return i;
		}
	}
	return -1;
}

int model_count(struct model *model, enum model_kind kind)
{
	int slots;
	int count = 0;
	const struct model_handle *array = model_array(model, kind, &slots);

	for (int i = 0; i < slots; i++)
		count += array[i].is_live;
	return count;
}

int model_group_count(const struct model *model)
{
	int count = 0;

	for (int i = 0; i < MAX_GROUPS; i++)
		count += model->groups[i].is_live;
	return count;
}

int model_memory_count(const struct model *model)
{
	int count = 0;

	for (int i = 0; i < MAX_MEMORIES; i++)
		count += model->memories[i].is_live;
	return count;
}

int model_slots(struct model *model, enum model_kind kind)
{
	int slots;

	model_array(model, kind, &slots);
	return slots - model_count(model, kind);
}

int model_group_room(const struct model *model)
{
	return MAX_GROUPS - model_group_count(model);
}

int model_memory_room(const struct model *model)
{
	return MAX_MEMORIES - model_memory_count(model);
}

static void reap(struct model *model, uint32_t handle)
{
	model->dead[model->dead_count % MAX_DEAD] = handle;
	model->dead_count++;
}

/* Those of `kind` whose field at `offset` is `index`. */
static void end_children(struct model *model, enum model_kind kind, size_t offset, int index)
{
	int slots;
	struct model_handle *array = model_array(model, kind, &slots);

	for (int i = 0; i < slots; i++) {
		int value;
		memcpy(&value, (char *)&array[i] + offset, sizeof(value));
		if (array[i].is_live && value == index)
			model_end(model, kind, i);
	}
}

void model_end(struct model *model, enum model_kind kind, int index)
{
	int slots;
	struct model_handle *array = model_array(model, kind, &slots);

	if (kind == KIND_DEVICE) {
		size_t device = offsetof(struct model_handle, device);
		end_children(model, KIND_CONTEXT, device, index);
		end_children(model, KIND_OPENING, device, index);
		end_children(model, KIND_ALLOCATION, device, index);
		end_children(model, KIND_FENCE, device, index);
	}
	if (kind == KIND_OPENING)
		end_children(model, KIND_ALLOCATION, offsetof(struct model_handle, opening), index);
	if (kind == KIND_MUTEX) {
		struct model_mutex *mutex = &model->mutexes[array[index].mutex];
		if (mutex->owner == index) {
			mutex->owner = -1;
			mutex->is_abandoned = true;
		}
	}
	array[index].is_live = false;
	reap(model, array[index].handle);
}

void model_end_process(struct model *model)
{
	for (int i = 0; i < MAX_GROUPS; i++)
		model->groups[i].is_of_before = true;
	for (enum model_kind kind = 0; kind < KIND_COUNT; kind++) {
		int slots;
		struct model_handle *array = model_array(model, kind, &slots);
		for (int i = 0; i < slots; i++) {
			if (array[i].is_live)
				model_end(model, kind, i);
		}
	}
	/* The next process counts its handles from the beginning. */
	model->dead_count = 0;
	model_settle(model);
}

/* ---- who holds what ---- */

static bool bundle_is_held(const struct model *model, int bundle)
{
	for (int i = 0; i < MAX_DESCRIPTORS; i++) {
		if (model->descriptors[i].is_live && model->descriptors[i].bundle == bundle)
			return true;
	}
	return false;
}

static bool group_is_held(const struct model *model, int group)
{
	for (int i = 0; i < MAX_OPENINGS; i++) {
		if (model->openings[i].is_live && model->openings[i].group == group)
			return true;
	}
	for (int i = 0; i < MAX_BUNDLES; i++) {
		if (model->bundles[i].is_live && model->bundles[i].group == group)
			return true;
	}
	return false;
}

static bool memory_is_held(const struct model *model, int memory)
{
	int group = model->memories[memory].group;

	if (group >= 0 && model->groups[group].is_live &&
	    model->groups[group].scheme != SCHEME_PRIVATE)
		return true;
	for (int i = 0; i < MAX_ALLOCATIONS; i++) {
		if (model->allocations[i].is_live && model->allocations[i].memory == memory)
			return true;
	}
	return false;
}

static bool mutex_is_held(const struct model *model, int mutex)
{
	for (int i = 0; i < MAX_MUTEX_HANDLES; i++) {
		if (model->mutex_handles[i].is_live && model->mutex_handles[i].mutex == mutex)
			return true;
	}
	return false;
}

/* In order of creation, without the dead. */
static void group_forget_dead(struct model *model, struct model_group *group)
{
	int count = 0;

	for (int i = 0; i < group->count; i++) {
		if (model->memories[group->memories[i]].is_live)
			group->memories[count++] = group->memories[i];
	}
	group->count = count;
}

void model_settle(struct model *model)
{
	for (int i = 0; i < MAX_DESCRIPTORS; i++)
		model->descriptors[i].is_live &= model->descriptors[i].copies > 0;
	for (int i = 0; i < MAX_BUNDLES; i++)
		model->bundles[i].is_live &= bundle_is_held(model, i);
	for (int i = 0; i < MAX_GROUPS; i++)
		model->groups[i].is_live &= group_is_held(model, i);
	for (int i = 0; i < MAX_MEMORIES; i++) {
		if (model->memories[i].is_live)
			model->memories[i].is_live = memory_is_held(model, i);
	}
	for (int i = 0; i < MAX_GROUPS; i++) {
		if (model->groups[i].is_live)
			group_forget_dead(model, &model->groups[i]);
	}
	for (int i = 0; i < MAX_MUTEXES; i++)
		model->mutexes[i].is_live &= mutex_is_held(model, i);
}

int model_list(const struct model *model, int device, int opening, int *list_out, int slots)
{
	int count = 0;

	for (int i = 0; i < MAX_ALLOCATIONS && count < slots; i++) {
		const struct model_handle *allocation = &model->allocations[i];
		if (allocation->is_live && allocation->device == device &&
		    allocation->opening == opening)
			list_out[count++] = i;
	}
	return count;
}

int model_find_name(const struct model *model, int name)
{
	for (int i = 0; i < MAX_BUNDLES; i++) {
		if (model->bundles[i].is_live && model->bundles[i].name == name)
			return i;
	}
	return -1;
}

uint64_t model_probe_offset(const struct model_memory *memory, int probe)
{
	return probe == PROBES - 1 ? memory->size_bytes - sizeof(uint64_t)
				   : memory->size_bytes / PROBES * (uint64_t)probe;
}
