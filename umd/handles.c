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

/* What there is by then stays with the device. */
bool umd_handles_init(struct umd_handles *handles)
{
	for (unsigned kind = 0; kind < UMD_SLOT_KINDS; kind++) {
		if (handles->slots[kind])
			continue;
		handles->slots[kind] = calloc(UMD_SLOTS, sizeof(struct umd_slot));
		if (!handles->slots[kind])
			return false;
		atomic_store(&handles->slots[kind][0].handle, ~UINT64_C(0));
		atomic_store(&handles->stacks[kind].used, 1);
	}
	return true;
}

static struct umd_slot *pop_free(struct umd_handles *handles, unsigned kind)
{
	uint64_t top = atomic_load(&handles->stacks[kind].free);

	while ((uint32_t)top != 0) {
		struct umd_slot *slot = &handles->slots[kind][(uint32_t)top];
		/* The count of changes in front: somebody may have taken it and put it back meanwhile. */
		uint64_t next = ((top >> 32) + 1) << 32 | atomic_load(&slot->next);

		if (atomic_compare_exchange_weak(&handles->stacks[kind].free, &top, next))
			return slot;
	}
	return NULL;
}

static struct umd_slot *new_slot(struct umd_handles *handles, unsigned kind)
{
	uint32_t index = atomic_load(&handles->stacks[kind].used);

	do {
		if (index >= UMD_SLOTS)
			return NULL;
	} while (!atomic_compare_exchange_weak(&handles->stacks[kind].used, &index, index + 1));
	return &handles->slots[kind][index];
}

struct umd_slot *umd_slot_reserve(struct umd_handles *handles, enum umd_kind kind)
{
	unsigned which = (unsigned)__builtin_ctz((unsigned)kind);
	struct umd_slot *slot = pop_free(handles, which);

	if (!slot)
		slot = new_slot(handles, which);
	if (!slot)
		return NULL;
	atomic_store(&slot->next, 0);
	atomic_fetch_add(&handles->live, 1);
	return slot;
}

HANDLE umd_slot_publish(struct umd_handles *handles, struct umd_slot *slot, unsigned owner,
			enum umd_kind kind, D3DKMT_HANDLE kernel)
{
	uint32_t index = (uint32_t)(slot - handles->slots[__builtin_ctz((unsigned)kind)]);
	uint16_t generation = (uint16_t)(~atomic_load(&slot->handle) >> 32);
	uint64_t number = umd_handle(kind, owner, (uint16_t)(generation + 1), index);

	atomic_store(&slot->kernel, kernel);
	atomic_store(&slot->handle, number);
	return (HANDLE)(uintptr_t)number;
}

struct umd_slot *umd_slot_claim(struct umd_handles *handles, HANDLE handle, enum umd_kind kind)
{
	struct umd_slot *slot = umd_slot_find(handles, handle, (unsigned)kind);
	uint64_t number = (uintptr_t)handle;

	return slot && atomic_compare_exchange_strong(&slot->handle, &number, ~number) ? slot
										       : NULL;
}

void umd_slot_put_back(struct umd_slot *slot, HANDLE handle)
{
	atomic_store(&slot->handle, (uintptr_t)handle);
}

void umd_slot_end(struct umd_handles *handles, struct umd_slot *slot, enum umd_kind kind)
{
	unsigned which = (unsigned)__builtin_ctz((unsigned)kind);
	uint32_t index = (uint32_t)(slot - handles->slots[which]);
	uint64_t top = atomic_load(&handles->stacks[which].free);

	atomic_store(&slot->kernel, 0);
	atomic_fetch_sub(&handles->live, 1);
	do {
		atomic_store(&slot->next, (uint32_t)top);
	} while (!atomic_compare_exchange_weak(&handles->stacks[which].free, &top,
					       ((top >> 32) + 1) << 32 | index));
}

void umd_handles_clear(struct umd_handles *handles)
{
	for (unsigned kind = 0; kind < UMD_SLOT_KINDS; kind++)
		for (uint32_t i = 1; i < atomic_load(&handles->stacks[kind].used); i++) {
			struct umd_slot *slot = &handles->slots[kind][i];
			uint64_t number = atomic_load(&slot->handle);

			if (umd_handle_kind(number) &&
			    umd_slot_claim(handles, (HANDLE)(uintptr_t)number,
					   (enum umd_kind)(1u << kind)))
				umd_slot_end(handles, slot, (enum umd_kind)(1u << kind));
		}
}
