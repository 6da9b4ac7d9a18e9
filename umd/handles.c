/* SPDX-License-Identifier: MIT */
/*
 * handles.c - slots for the runtime's handles: taken from a stack, or new, without a lock.
 */
#include <stdlib.h>

#include "umd/runtime.h"

uint64_t umd_handle(enum umd_kind kind, unsigned owner, uint16_t generation, uint32_t index)
{
	uint64_t which = (uint64_t)__builtin_ctz((unsigned)kind);

	return UINT64_C(5) << 60 | which << 56 | (uint64_t)owner << 48 |
	       (uint64_t)generation << 32 | (uint64_t)index << 6 | UMD_MARK;
}

static struct umd_slot *slot_at(struct umd_handles *handles, uint32_t index)
{
	struct umd_slot *chunk = atomic_load(&handles->chunks[index / UMD_CHUNK]);

	return &chunk[index % UMD_CHUNK];
}

static struct umd_slot *pop_free(struct umd_handles *handles)
{
	uint64_t top = atomic_load(&handles->free);

	while ((uint32_t)top != 0) {
		struct umd_slot *slot = slot_at(handles, (uint32_t)top - 1);
		/* The count of changes in front: somebody may have taken it and put it back meanwhile. */
		uint64_t next = ((top >> 32) + 1) << 32 | atomic_load(&slot->next);

		if (atomic_compare_exchange_weak(&handles->free, &top, next))
			return slot;
	}
	return NULL;
}

static bool has_chunk(struct umd_handles *handles, uint32_t index)
{
	struct umd_slot *_Atomic *place = &handles->chunks[index / UMD_CHUNK];
	struct umd_slot *there = atomic_load(place);

	if (there)
		return true;
	struct umd_slot *chunk = calloc(UMD_CHUNK, sizeof(*chunk));
	if (!chunk)
		return false;
	for (uint32_t i = 0; i < UMD_CHUNK; i++)
		chunk[i].index = index / UMD_CHUNK * UMD_CHUNK + i;
	if (!atomic_compare_exchange_strong(place, &there, chunk))
		free(chunk); /* another thread was first */
	return true;
}

static struct umd_slot *new_slot(struct umd_handles *handles)
{
	uint32_t index = atomic_load(&handles->used);

	do {
		if (index >= UMD_CHUNK * UMD_CHUNKS || !has_chunk(handles, index))
			return NULL;
	} while (!atomic_compare_exchange_weak(&handles->used, &index, index + 1));
	return slot_at(handles, index);
}

struct umd_slot *umd_slot_reserve(struct umd_handles *handles)
{
	struct umd_slot *slot = pop_free(handles);

	if (!slot)
		slot = new_slot(handles);
	if (!slot)
		return NULL;
	slot->is_shared = false;
	atomic_fetch_add(&handles->live, 1);
	return slot;
}

HANDLE umd_slot_publish(struct umd_handles *handles, struct umd_slot *slot, unsigned owner,
			enum umd_kind kind, D3DKMT_HANDLE kernel)
{
	uint64_t number = umd_handle(kind, owner, ++slot->generation, slot->index);

	(void)handles;
	atomic_store(&slot->kernel, kernel);
	atomic_store(&slot->handle, number);
	return (HANDLE)(uintptr_t)number;
}

void umd_slot_end(struct umd_handles *handles, struct umd_slot *slot)
{
	uint64_t top = atomic_load(&handles->free);

	atomic_store(&slot->handle, 0);
	atomic_store(&slot->kernel, 0);
	atomic_fetch_sub(&handles->live, 1);
	do {
		atomic_store(&slot->next, (uint32_t)top);
	} while (!atomic_compare_exchange_weak(&handles->free, &top,
					       ((top >> 32) + 1) << 32 | (slot->index + 1)));
}

void umd_handles_clear(struct umd_handles *handles)
{
	uint32_t used = atomic_load(&handles->used);

	for (uint32_t i = 0; i < used; i++) {
		struct umd_slot *slot = slot_at(handles, i);

		if (atomic_load(&slot->handle) != 0)
			umd_slot_end(handles, slot);
	}
}
