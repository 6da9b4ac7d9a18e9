/* SPDX-License-Identifier: MIT */
/*
 * cpu_map.c - see cpu_map.h.
 *
 * The host counts mappings, and allows a process some 65,000 of them. Two views that are neighbours
 * and show neighbouring pages are one mapping to it, which is why small views stand shoulder to
 * shoulder: pages are handed out in a row, too. From 64 KiB on views are aligned as Windows does
 * it.
 */
#include <assert.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/machine_alias.h"
#include "vidmm/cpu_map.h"
#include "vidmm/vidmm.h"
#include "ranges/ranges.h"

#define GRANULE_BYTES UINT64_C(0x10000)
#define GRANULE_PAGES (GRANULE_BYTES / MACHINE_PAGE_BYTES)

/* As much as the host gives us; sanitizers and limits leave less. */
#define ARENA_MAX_BYTES (UINT64_C(1) << 40)
#define ARENA_MIN_BYTES (UINT64_C(1) << 30)

static struct {
	struct lock lock;

	/* Set once, under the lock; constant until vidmm_stop(). */
	_Atomic(char *) base; /* NULL: not set up */
	char *reserved;       /* `base` before it was aligned */
	uint64_t reserved_bytes;

	/* Guarded by lock. */
	struct ranges ranges;
	uint64_t abandoned_pages;
} arena = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_CPU_MAP, "CPU views"),
};

static NTSTATUS arena_set_up_locked(void)
{
	uint64_t size_bytes = ARENA_MAX_BYTES;
	char *reserved;
	char *base;

	lock_assert_held(&arena.lock);
	if (arena.base)
		return STATUS_SUCCESS;
	for (;;) {
		reserved = mmap(NULL, size_bytes, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (reserved != MAP_FAILED)
			break;
		size_bytes /= 2;
		if (size_bytes < ARENA_MIN_BYTES)
			return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	}
	base = (char *)align_down((uintptr_t)reserved + GRANULE_BYTES - 1, GRANULE_BYTES);
	NTSTATUS status =
		ranges_init(&arena.ranges, size_bytes / MACHINE_PAGE_BYTES - GRANULE_PAGES);
	if (!NT_SUCCESS(status)) {
		munmap(reserved, size_bytes);
		return status;
	}
	arena.reserved = reserved;
	arena.reserved_bytes = size_bytes;
	atomic_store(&arena.base, base);
	return STATUS_SUCCESS;
}

void vidmm_stop(void)
{
	lock_acquire(&arena.lock);
	if (arena.base) {
		munmap(arena.reserved, arena.reserved_bytes);
		ranges_finish(&arena.ranges);
	}
	atomic_store(&arena.base, NULL);
	arena.abandoned_pages = 0;
	lock_release(&arena.lock);
}

NTSTATUS cpu_view_reserve(struct cpu_view *view, uint64_t page_count)
{
	assert(!view->range);
	lock_acquire(&arena.lock);
	NTSTATUS status = arena_set_up_locked();
	if (NT_SUCCESS(status))
		status = ranges_take(&arena.ranges, page_count,
				     page_count >= GRANULE_PAGES ? GRANULE_PAGES : 1, &view->range);
	lock_release(&arena.lock);
	return status;
}

void *cpu_view_pointer(const struct cpu_view *view)
{
	return atomic_load_explicit(&arena.base, memory_order_relaxed) +
	       view->range->first * MACHINE_PAGE_BYTES;
}

uint64_t cpu_view_page_count(const struct cpu_view *view)
{
	return view->range ? view->range->count : 0;
}

static bool stretch_show(char *at, uint64_t first_pfn, uint64_t count)
{
	return machine_show(at, first_pfn << MACHINE_PAGE_SHIFT, count * MACHINE_PAGE_BYTES) !=
	       NULL;
}

static bool run_show(char *at, struct backing_run run)
{
	uint64_t done = 0;

	while (done < run.count) {
		uint64_t first;
		uint64_t count = machine_behind(run.first_pfn + done, run.count - done, &first);

		if (!stretch_show(at + done * MACHINE_PAGE_BYTES, first, count))
			return false;
		done += count;
	}
	return true;
}

NTSTATUS cpu_view_show(struct cpu_view *view, const struct vidmm_backing *backing)
{
	const struct backing_run *runs = backing_runs(backing);
	char *at = cpu_view_pointer(view);

	assert(backing_page_count(backing) == view->range->count);
	for (uint32_t i = 0; i < backing->run_count; i++) {
		view->is_mapped = true; /* also when it is only a part */
		if (!run_show(at, runs[i]))
			return STATUS_NO_MEMORY;
		at += runs[i].count * MACHINE_PAGE_BYTES;
	}
	return STATUS_SUCCESS;
}

bool cpu_view_hide(struct cpu_view *view)
{
	if (view->is_mapped &&
	    mmap(cpu_view_pointer(view), view->range->count * MACHINE_PAGE_BYTES, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	view->is_mapped = false;
	return true;
}

bool cpu_view_finish(struct cpu_view *view)
{
	bool is_hidden = cpu_view_hide(view);
	uint64_t page_count = cpu_view_page_count(view);

	if (page_count > 0) {
		lock_acquire(&arena.lock);
		if (is_hidden)
			ranges_give(&arena.ranges, view->range);
		else
			arena.abandoned_pages += page_count;
		lock_release(&arena.lock);
	}
	if (!is_hidden)
		log_warn("%llu KiB are lost until the end: the host has no mapping left to take a "
			 "view away",
			 (unsigned long long)(page_count * MACHINE_PAGE_BYTES / 1024));
	*view = (struct cpu_view){ 0 };
	return is_hidden;
}

bool vidmm_is_view(const void *pointer, uint64_t size_bytes)
{
	uintptr_t base = (uintptr_t)atomic_load_explicit(&arena.base, memory_order_acquire);
	uintptr_t first = (uintptr_t)pointer;
	uint64_t end;

	if (base == 0)
		return false;
	if (!checked_add(first, size_bytes, &end))
		end = UINT64_MAX;
	return first < base + arena.ranges.unit_count * MACHINE_PAGE_BYTES && end > base;
}

struct cpu_map_usage cpu_map_usage(void)
{
	lock_acquire(&arena.lock);
	struct cpu_map_usage usage = {
		.total_pages = arena.ranges.unit_count,
		.taken_pages = arena.ranges.taken_units,
		.taken_ranges = arena.ranges.taken_ranges,
		.abandoned_pages = arena.abandoned_pages,
	};
	lock_release(&arena.lock);
	return usage;
}

const char *cpu_map_validate(void)
{
	lock_acquire(&arena.lock);
	const char *wrong = arena.base ? ranges_validate(&arena.ranges) : NULL;
	lock_release(&arena.lock);
	return wrong;
}
