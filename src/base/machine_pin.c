/* SPDX-License-Identifier: MIT */
/*
 * machine_pin.c - see machine_pin.h.
 *
 * Who pins counts itself in `pinning`, who changes something in `changing`, and each then looks at the
 * other count: at least one of them sees the other, and gives up or waits.
 */
#include <stdatomic.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/machine.h"
#include "base/machine_pin.h"
#include "base/mem.h"

struct pin {
	struct list link;
	const struct machine_pinner *pinner;
	uint64_t address;
	uint64_t size_bytes;
	bool is_leaving; /* somebody is telling the device */
};

enum { TRIES = 200 };
static const uint64_t PAUSE_NS = 1000000;

static struct {
	struct lock lock;
	_Atomic uint32_t pinning;
	_Atomic uint32_t changing;
	_Atomic uint32_t count; /* of pins; read without the lock: mostly there is none */

	/* Guarded by lock. */
	struct list pins;
} state = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "pins of physical memory"),
	.pins = { &state.pins, &state.pins },
};

static struct pin *find_locked(uint64_t address, uint64_t size_bytes,
			       const struct machine_pinner *only)
{
	lock_assert_held(&state.lock);
	list_each (struct pin, pin, &state.pins, link) {
		if ((!only || pin->pinner == only) && pin->address < address + size_bytes &&
		    address < pin->address + pin->size_bytes)
			return pin;
	}
	return NULL;
}

bool machine_pin(const struct machine_pinner *pinner, uint64_t address, uint64_t size_bytes)
{
	struct pin *pin = mem_zalloc(sizeof(*pin));
	bool is_pinned = false;

	if (!pin || !machine_is_memory(address, size_bytes)) {
		mem_free(pin);
		return false;
	}
	*pin = (struct pin){ .pinner = pinner, .address = address, .size_bytes = size_bytes };
	atomic_fetch_add(&state.pinning, 1);
	if (atomic_load(&state.changing) == 0)
		is_pinned = pinner->tell(pinner->context, true, address,
					 machine_to_pointer(address), size_bytes);
	if (is_pinned) {
		lock_acquire(&state.lock);
		list_push_back(&state.pins, &pin->link);
		atomic_fetch_add(&state.count, 1);
		lock_release(&state.lock);
	} else {
		mem_free(pin);
	}
	atomic_fetch_sub(&state.pinning, 1);
	return is_pinned;
}

enum step { STEP_CLEAR, STEP_AGAIN, STEP_STUCK };

/* One pin in the way goes, if there is one and its device lets it. */
static enum step release_one(uint64_t address, uint64_t size_bytes,
			     const struct machine_pinner *only)
{
	lock_acquire(&state.lock);
	struct pin *pin = find_locked(address, size_bytes, only);
	bool is_mine = pin && !pin->is_leaving;
	if (is_mine)
		pin->is_leaving = true;
	lock_release(&state.lock);
	if (!pin)
		return STEP_CLEAR;
	if (!is_mine)
		return STEP_STUCK;

	bool is_gone = pin->pinner->tell(pin->pinner->context, false, pin->address,
					 machine_to_pointer(pin->address), pin->size_bytes);
	lock_acquire(&state.lock);
	pin->is_leaving = false;
	if (is_gone) {
		list_remove(&pin->link);
		atomic_fetch_sub(&state.count, 1);
	}
	lock_release(&state.lock);
	if (is_gone)
		mem_free(pin);
	return is_gone ? STEP_AGAIN : STEP_STUCK;
}

void machine_unpin_all(const struct machine_pinner *pinner)
{
	enum step step;

	while ((step = release_one(0, UINT64_MAX, pinner)) != STEP_CLEAR) {
		if (step == STEP_STUCK)
			clock_sleep_until(clock_deadline(PAUSE_NS));
	}
}

bool machine_change_begin(uint64_t first, uint64_t count)
{
	uint64_t address = MACHINE_FIRST + first * MACHINE_PAGE_BYTES;
	uint64_t size_bytes = count * MACHINE_PAGE_BYTES;

	atomic_fetch_add(&state.changing, 1);
	if (atomic_load(&state.pinning) == 0 && atomic_load(&state.count) == 0)
		return true;
	for (uint32_t i = 0; i < TRIES; i++) {
		enum step step = STEP_STUCK;

		if (atomic_load(&state.pinning) == 0)
			step = release_one(address, size_bytes, NULL);
		if (step == STEP_CLEAR)
			return true;
		if (step == STEP_STUCK)
			clock_sleep_until(clock_deadline(PAUSE_NS));
	}
	machine_change_end();
	return false;
}

bool machine_change_begin_unpinned(uint64_t first, uint64_t count)
{
	bool is_pinned = true;

	atomic_fetch_add(&state.changing, 1);
	if (atomic_load(&state.pinning) == 0 && atomic_load(&state.count) == 0)
		return true;
	if (atomic_load(&state.pinning) == 0) {
		lock_acquire(&state.lock);
		is_pinned = find_locked(MACHINE_FIRST + first * MACHINE_PAGE_BYTES,
					count * MACHINE_PAGE_BYTES, NULL) != NULL;
		lock_release(&state.lock);
	}
	if (is_pinned)
		machine_change_end();
	return !is_pinned;
}

void machine_change_end(void)
{
	atomic_fetch_sub(&state.changing, 1);
}
