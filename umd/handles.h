/* SPDX-License-Identifier: MIT */
/*
 * handles.h - handles of the runtime, and what is behind them.
 *
 * A handle is a number that is neither an address nor one of the kernel's, so that a driver that mixes the worlds up is
 * noticed:
 *
 *	 63    56 55    48 47        32 31              6 5     0
 *	| owner  | 5 kind | generation | index           | 0x2b |
 *
 * Handles of the kernel have 0 or 2 in the lowest six bits: the lower half of one of these, in a place for a handle of the
 * kernel, cannot be taken for one. Nothing here takes a lock.
 */
#ifndef UMD_HANDLES_H
#define UMD_HANDLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dxg/d3dumddi.h>

#include "base/attributes.h"

/* The first four have slots, in this order. */
enum umd_kind {
	UMD_RESOURCE = 0x1,
	UMD_HWQUEUE = 0x2,
	UMD_CONTEXT = 0x4,
	UMD_HWCONTEXT = 0x8,
	UMD_DEVICE = 0x10,
	UMD_ADAPTER = 0x20,
	UMD_ANY_CONTEXT = UMD_CONTEXT | UMD_HWCONTEXT, /* a hardware queue is made on either */
};

enum {
	UMD_MARK = 0x2b,
	UMD_MARK_MASK = 0x3f,
	UMD_SLOTS = 1 << 18, /* of each kind in a device; the first is nobody's */
	UMD_SLOT_KINDS = 4,
	UMD_KERNEL_BUSY = 1, /* in place of a handle of the kernel: being made, or being ended */
};

/*
 * All slots that a device can have, kind after kind, in one piece of memory that is taken up as far as it is used. So a lookup
 * is one comparison: a number is found nowhere but in its place among those of its kind, or of two kinds that are neighbours.
 * A slot that is not in use has the number that it is to have next, complemented, which belongs in the place of another; the
 * first of a kind is so from the beginning, because of NULL.
 */
struct umd_slot {
	_Atomic uint64_t handle; /* 0: never used */
	_Atomic uint32_t kernel; /* 0: a resource that nothing is allocated for */
	/* Free: bytes from the first of its kind to the next free one, 0 behind the last. In use: a resource is shared. */
	_Atomic uint32_t next;
};
_Static_assert(sizeof(struct umd_slot) == 16, "found by a shift");

struct umd_handles {
	struct umd_slot *slots[UMD_SLOT_KINDS]; /* the first of each kind */
	unsigned owner;
	struct {
		_Atomic uint32_t used;
		_Atomic uint64_t free; /* 63..32 as `next`; 31..0 how often it was changed */
	} stacks[UMD_SLOT_KINDS];
};

/* False: there is no memory. */
bool umd_handles_init(struct umd_handles *handles, unsigned owner);
/* All that are in use end; how many it were. */
unsigned umd_handles_clear(struct umd_handles *handles);

uint64_t umd_handle(enum umd_kind kind, unsigned owner, uint16_t generation, uint32_t index);

static inline enum umd_kind umd_handle_kind(uint64_t number)
{
	return (enum umd_kind)((number >> 52 & 0xf) == 5 ? 1u << (number >> 48 & 0xf) : 0);
}

static inline unsigned umd_handle_owner(uint64_t number)
{
	return (unsigned)(number >> 56);
}

/* ---- those that are there ---- */

/* Where a handle of one of these kinds is, if there is one. */
SPECIALIZED struct umd_slot *umd_slot_at(const struct umd_handles *handles, HANDLE handle,
					 unsigned kinds)
{
	uint64_t slots = (uint64_t)UMD_SLOTS * (unsigned)__builtin_popcount(kinds);

	return &handles->slots[__builtin_ctz(kinds)][(uintptr_t)handle >> 6 & (slots - 1)];
}

SPECIALIZED bool umd_slot_is(const struct umd_slot *slot, HANDLE handle)
{
	return LIKELY(atomic_load_explicit(&slot->handle, memory_order_acquire) ==
		      (uintptr_t)handle);
}

static inline struct umd_slot *umd_slot_find(const struct umd_handles *handles, HANDLE handle,
					     unsigned kinds)
{
	struct umd_slot *slot = umd_slot_at(handles, handle, kinds);

	return umd_slot_is(slot, handle) ? slot : NULL;
}

/* ---- those that come ---- */

/* It answers to no handle before it is published. NULL: there is no more room. */
struct umd_slot *umd_slot_reserve_slow(struct umd_handles *handles, enum umd_kind kind) RARE;

/* One attempt to take the uppermost of the free ones. Somebody may have had it meanwhile: hence the count of changes. */
SPECIALIZED struct umd_slot *umd_slot_take(struct umd_handles *handles, enum umd_kind kind)
{
	_Atomic uint64_t *free = &handles->stacks[__builtin_ctz(kind)].free;
	uint64_t top = atomic_load_explicit(free, memory_order_acquire);

	if (UNLIKELY(top >> 32 == 0))
		return NULL;
	struct umd_slot *slot = (void *)((char *)handles->slots[__builtin_ctz(kind)] + (top >> 32));
	uint64_t next = atomic_load_explicit(&slot->next, memory_order_relaxed);
	return LIKELY(atomic_compare_exchange_strong(free, &top, next << 32 | (uint32_t)(top + 1)))
		       ? slot
		       : NULL;
}

SPECIALIZED struct umd_slot *umd_slot_reserve(struct umd_handles *handles, enum umd_kind kind)
{
	struct umd_slot *slot = umd_slot_take(handles, kind);

	return LIKELY(slot) ? slot : umd_slot_reserve_slow(handles, kind);
}

SPECIALIZED HANDLE umd_slot_publish(struct umd_slot *slot, D3DKMT_HANDLE kernel)
{
	uint64_t number = ~atomic_load_explicit(&slot->handle, memory_order_relaxed);

	atomic_store_explicit(&slot->kernel, kernel, memory_order_relaxed);
	atomic_store_explicit(&slot->handle, number, memory_order_release);
	return (HANDLE)(uintptr_t)number;
}

/* ---- those that go ---- */

/* Of one in its place: answers to its handle no more. False: it did not, or another thread was first. Then it ends, or is put back. */
SPECIALIZED bool umd_slot_claim(struct umd_slot *slot, HANDLE handle)
{
	uint64_t number = (uintptr_t)handle;

	return LIKELY(atomic_compare_exchange_strong(&slot->handle, &number, ~number));
}

static inline void umd_slot_put_back(struct umd_slot *slot)
{
	atomic_store(&slot->handle, ~atomic_load(&slot->handle));
}

/* Of a reserved or a claimed one. */
SPECIALIZED void umd_slot_end(struct umd_handles *handles, struct umd_slot *slot,
			      enum umd_kind kind)
{
	const uint64_t generation = UINT64_C(0xffff) << 32;
	_Atomic uint64_t *free = &handles->stacks[__builtin_ctz(kind)].free;
	uint64_t at = (uint64_t)((char *)slot - (char *)handles->slots[__builtin_ctz(kind)]);
	uint64_t last = atomic_load_explicit(&slot->handle, memory_order_relaxed);
	uint64_t top = atomic_load_explicit(free, memory_order_relaxed);

	/* The next number: of a complemented one the next is one less. */
	atomic_store_explicit(&slot->handle,
			      (last & ~generation) | ((last - (UINT64_C(1) << 32)) & generation),
			      memory_order_relaxed);
	do {
		atomic_store_explicit(&slot->next, (uint32_t)(top >> 32), memory_order_relaxed);
	} while (UNLIKELY(
		!atomic_compare_exchange_weak(free, &top, at << 32 | (uint32_t)(top + 1))));
}

#endif
