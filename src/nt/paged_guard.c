/* SPDX-License-Identifier: MIT */
/*
 * paged_guard.c - see paged_guard.h.
 *
 * Addresses are taken in order and never again. Each page knows its block, which is NULL before and
 * after its life.
 *
 * Locks: `guard.is_busy`, held for a few instructions and one system call. A thread takes it in a
 * signal handler, where it may hold any other lock, and under it nobody faults and nobody waits.
 */
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include <ddk/wdm.h>

#include "base/attributes.h"
#include "base/log.h"
#include "base/thread.h"
#include "nt/fault.h"
#include "nt/irql.h"
#include "nt/paged_guard.h"
#include "nt/pool_block.h"
#include "nt/report.h"
#include "nt/verify.h"

#define GUARD_BYTES (UINT64_C(16) << 30)
#define GUARD_PAGES (GUARD_BYTES / PAGE_SIZE)

/* One page. */
struct guarded_page {
	const struct pool_apart *_Atomic block;
	_Atomic uint32_t locks;
};

static struct {
	_Atomic bool is_busy;
	_Atomic bool is_set_up;
	char *base; /* NULL: not wanted, or there were no addresses */
	struct guarded_page *pages;
	_Atomic size_t used_bytes;
	bool has_open; /* since the last time all were closed */
} guard;

static void guard_acquire(void)
{
	while (atomic_exchange_explicit(&guard.is_busy, true, memory_order_acquire))
		thread_relax();
}

/* Somebody has it. */
static void guard_assert_held(void)
{
	assert(atomic_load_explicit(&guard.is_busy, memory_order_relaxed));
}

static void guard_release(void)
{
	atomic_store_explicit(&guard.is_busy, false, memory_order_release);
}

static void *reserve(uint64_t size_bytes, int protection)
{
	void *memory = mmap(NULL, size_bytes, protection,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void set_up(void)
{
	char *base = NULL;

	guard_acquire();
	if (!atomic_load_explicit(&guard.is_set_up, memory_order_relaxed)) {
		if (nt_verify_wants(NT_VERIFY_IRQL)) {
			base = reserve(GUARD_BYTES, PROT_NONE);
			guard.pages =
				reserve(GUARD_PAGES * sizeof(*guard.pages), PROT_READ | PROT_WRITE);
			if (base && guard.pages)
				guard.base = base;
			else
				log_warn("DXGK_VERIFY: no addresses for paged pool");
		}
		nt_irql_is_watched = guard.base != NULL;
		atomic_store_explicit(&guard.is_set_up, true, memory_order_release);
	}
	guard_release();
}

bool nt_paged_guard_is_on(void)
{
	if (UNLIKELY(!atomic_load_explicit(&guard.is_set_up, memory_order_acquire)))
		set_up();
	return guard.base != NULL;
}

/* ---- pages ---- */

static uint64_t page_of(const void *address)
{
	return (uint64_t)((const char *)address - guard.base) / PAGE_SIZE;
}

static bool is_inside(const void *address)
{
	return guard.base && (uintptr_t)address >= (uintptr_t)guard.base &&
	       (uintptr_t)address - (uintptr_t)guard.base <
		       atomic_load_explicit(&guard.used_bytes, memory_order_acquire);
}

static size_t whole_pages(size_t size_bytes)
{
	return (size_bytes + PAGE_SIZE - 1) & ~(size_t)(PAGE_SIZE - 1);
}

static void open_locked(void *begin, size_t size_bytes)
{
	guard_assert_held();
	mprotect(begin, whole_pages(size_bytes), PROT_READ | PROT_WRITE);
	guard.has_open = true;
}

static void set_block(const void *begin, size_t size_bytes, const struct pool_apart *block)
{
	uint64_t first = page_of(begin);

	for (uint64_t i = 0; i < whole_pages(size_bytes) / PAGE_SIZE; i++)
		atomic_store_explicit(&guard.pages[first + i].block, block, memory_order_release);
}

void *nt_paged_guard_take(const struct pool_apart *block, size_t size_bytes)
{
	size_t taken_bytes = whole_pages(size_bytes);
	char *pages = NULL;

	nt_faults_install();
	guard_acquire();
	size_t used_bytes = atomic_load_explicit(&guard.used_bytes, memory_order_relaxed);
	if (taken_bytes >= size_bytes && taken_bytes <= GUARD_BYTES - used_bytes) {
		pages = guard.base + used_bytes;
		set_block(pages, size_bytes, block);
		open_locked(pages, size_bytes);
		atomic_store_explicit(&guard.used_bytes, used_bytes + taken_bytes,
				      memory_order_release);
	}
	guard_release();
	return pages;
}

void nt_paged_guard_give(void *pages, size_t size_bytes)
{
	guard_acquire();
	set_block(pages, size_bytes, NULL);
	mprotect(pages, whole_pages(size_bytes), PROT_NONE);
	madvise(pages, whole_pages(size_bytes), MADV_DONTNEED);
	guard_release();
}

void nt_paged_guard_open(void *pages, size_t size_bytes)
{
	guard_acquire();
	open_locked(pages, size_bytes);
	guard_release();
}

static void add_locks(const void *begin, size_t size_bytes, uint32_t count)
{
	if (!is_inside(begin) || size_bytes == 0)
		return;
	for (uint64_t page = page_of(begin);
	     page <= page_of((const char *)begin + size_bytes - 1) && page < GUARD_PAGES; page++)
		atomic_fetch_add_explicit(&guard.pages[page].locks, count, memory_order_relaxed);
}

void nt_paged_guard_lock(const void *begin, size_t size_bytes)
{
	add_locks(begin, size_bytes, 1);
	if (is_inside(begin) && size_bytes != 0)
		nt_paged_guard_open(guard.base + page_of(begin) * PAGE_SIZE,
				    size_bytes + (uintptr_t)begin % PAGE_SIZE);
}

void nt_paged_guard_unlock(const void *begin, size_t size_bytes)
{
	add_locks(begin, size_bytes, 0 - UINT32_C(1));
}

/* ---- levels and faults ---- */

void nt_irql_watched_move(uint8_t from, uint8_t to)
{
	if (from >= DISPATCH_LEVEL || to < DISPATCH_LEVEL)
		return;
	guard_acquire();
	if (guard.has_open)
		mprotect(guard.base, atomic_load_explicit(&guard.used_bytes, memory_order_relaxed),
			 PROT_NONE);
	guard.has_open = false;
	guard_release();
}

RARE static void report_touched(const struct pool_apart *block, const void *address,
				const struct nt_fault *fault)
{
	const char *where = nt_fault_where();
	struct nt_stack stack;
	char text[5];

	nt_stack_take_fault(&stack, fault);
	nt_report_from(RULE_NT_IRQL_PAGED, 0, &stack,
		       "%s touched paged pool at %s: address %p, %td bytes into a block of %zu, "
		       "tag '%s'",
		       where ? where : "A thread", nt_irql_name(nt_irql_current()), address,
		       (const char *)address - block->payload, block->size_bytes,
		       pool_tag_text(block->block.tag, text));
}

bool nt_paged_guard_fault(const void *address, const struct nt_fault *fault)
{
	if (!is_inside(address))
		return false;
	struct guarded_page *page = &guard.pages[page_of(address)];
	const struct pool_apart *block = atomic_load_explicit(&page->block, memory_order_acquire);
	if (!block)
		return false;
	guard_acquire();
	open_locked(guard.base + page_of(address) * PAGE_SIZE, PAGE_SIZE);
	guard_release();
	if (nt_irql_current() >= DISPATCH_LEVEL &&
	    atomic_load_explicit(&page->locks, memory_order_relaxed) == 0)
		report_touched(block, address, fault);
	return true;
}

bool nt_paged_guard_is_freed(const void *address)
{
	return is_inside(address) &&
	       !atomic_load_explicit(&guard.pages[page_of(address)].block, memory_order_acquire);
}
