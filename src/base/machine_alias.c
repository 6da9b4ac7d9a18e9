/* SPDX-License-Identifier: MIT */
/*
 * machine_alias.c - see machine_alias.h.
 *
 * One word for each page of the machine, from the first alias on.
 */
#include <stdatomic.h>

#include "base/lock.h"
#include "base/machine.h"
#include "base/machine_alias.h"
#include "base/mem.h"

static struct {
	struct lock lock;
	_Atomic uint64_t count; /* read without the lock: mostly there is none */

	/* Guarded by lock. */
	uint32_t *frames; /* by page of the machine, 0: its own; NULL: there never was one */
	uint64_t page_count;
} aliases = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_MACHINE, "aliases of physical memory"),
};

static uint64_t page_of(uint64_t address)
{
	return (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
}

static bool is_page(uint64_t address)
{
	return machine_is_memory(address, MACHINE_PAGE_BYTES);
}

static bool set_up_locked(uint64_t page_count)
{
	lock_assert_held(&aliases.lock);
	if (aliases.frames)
		return true;
	aliases.page_count = page_count;
	aliases.frames = mem_zalloc_array(aliases.page_count, sizeof(*aliases.frames));
	return aliases.frames != NULL;
}

bool machine_alias(uint64_t address, uint64_t target)
{
	uint64_t page_count = machine_usage().total_pages;
	bool is_own = target == MACHINE_NOWHERE;

	if (!is_page(address) || (!is_own && !is_page(target)))
		return false;
	lock_acquire(&aliases.lock);
	bool is_set_up = set_up_locked(page_count);
	if (is_set_up) {
		uint32_t *frame = &aliases.frames[page_of(address)];
		uint64_t count = atomic_load(&aliases.count);

		atomic_store(&aliases.count, count - (*frame != 0) + !is_own);
		*frame = is_own ? 0 : (uint32_t)(target >> MACHINE_PAGE_SHIFT);
	}
	lock_release(&aliases.lock);
	return is_set_up;
}

static uint64_t frame_locked(uint64_t pfn)
{
	uint64_t page = pfn - (MACHINE_FIRST >> MACHINE_PAGE_SHIFT);
	uint32_t frame = page < aliases.page_count ? aliases.frames[page] : 0;

	lock_assert_held(&aliases.lock);
	return frame != 0 ? frame : pfn;
}

uint64_t machine_behind(uint64_t first_pfn, uint64_t count, uint64_t *first_out)
{
	uint64_t together = 1;

	*first_out = first_pfn;
	if (atomic_load_explicit(&aliases.count, memory_order_acquire) == 0)
		return count;
	lock_acquire(&aliases.lock);
	*first_out = frame_locked(first_pfn);
	while (together < count && frame_locked(first_pfn + together) == *first_out + together)
		together++;
	lock_release(&aliases.lock);
	return together;
}

void machine_aliases_finish(void)
{
	lock_acquire(&aliases.lock);
	mem_free(aliases.frames);
	aliases.frames = NULL;
	aliases.page_count = 0;
	atomic_store(&aliases.count, 0);
	lock_release(&aliases.lock);
}
