/* SPDX-License-Identifier: MIT */
/*
 * handles.c - slots for the runtime's handles: memory for them, and those that are used for the first time.
 */
#include <stdlib.h>

#include "umd/handles.h"

uint64_t umd_handle(enum umd_kind kind, unsigned owner, uint16_t generation, uint32_t index)
{
	uint64_t which = (uint64_t)__builtin_ctz((unsigned)kind);

	return (uint64_t)owner << 56 | UINT64_C(5) << 52 | which << 48 |
	       (uint64_t)generation << 32 | (uint64_t)index << 6 | UMD_MARK;
}

/* What there is by then stays with the device. */
bool umd_handles_init(struct umd_handles *handles, unsigned owner)
{
	if (handles->slots[0])
		return true;
	struct umd_slot *all = calloc((size_t)UMD_SLOT_KINDS * UMD_SLOTS, sizeof(struct umd_slot));
	if (!all)
		return false;
	handles->owner = owner;
	for (unsigned which = 0; which < UMD_SLOT_KINDS; which++) {
		handles->slots[which] = &all[which * UMD_SLOTS];
		atomic_store(&handles->slots[which]->handle, ~UINT64_C(0));
		atomic_store(&handles->stacks[which].used, 1);
	}
	return true;
}

/* One that was never used. */
static struct umd_slot *new_slot(struct umd_handles *handles, enum umd_kind kind)
{
	uint32_t which = (uint32_t)__builtin_ctz((unsigned)kind);
	uint32_t used = atomic_load(&handles->stacks[which].used);

	do {
		if (used >= UMD_SLOTS)
			return NULL;
	} while (!atomic_compare_exchange_weak(&handles->stacks[which].used, &used, used + 1));
	struct umd_slot *slot = &handles->slots[which][used];
	/* Counted through all kinds, because neighbours are searched as one. */
	atomic_store(&slot->handle, ~umd_handle(kind, handles->owner, 0, which * UMD_SLOTS + used));
	return slot;
}

struct umd_slot *umd_slot_reserve_slow(struct umd_handles *handles, enum umd_kind kind)
{
	while (atomic_load(&handles->stacks[__builtin_ctz((unsigned)kind)].free) >> 32 != 0) {
		struct umd_slot *slot = umd_slot_take(handles, kind);

		if (slot)
			return slot;
	}
	return new_slot(handles, kind);
}

unsigned umd_handles_clear(struct umd_handles *handles)
{
	unsigned count = 0;

	for (unsigned which = 0; which < UMD_SLOT_KINDS; which++)
		for (uint32_t i = 1; i < atomic_load(&handles->stacks[which].used); i++) {
			struct umd_slot *slot = &handles->slots[which][i];
			uint64_t number = atomic_load(&slot->handle);
			enum umd_kind kind = (enum umd_kind)(1u << which);

			if (umd_handle_kind(number) &&
			    umd_slot_claim(slot, (HANDLE)(uintptr_t)number)) {
				umd_slot_end(handles, slot, kind);
				count++;
			}
		}
	return count;
}
