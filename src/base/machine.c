/* SPDX-License-Identifier: MIT */
/*
 * machine.c - see machine.h.
 *
 *   in:   sizes, alignments, ranges
 *   out:  frame numbers
 *
 * Four bits per page, in four bitmaps: taken, first of a run, last of a run, and dirty (has been
 * handed out since its contents were last known to be zero). A summary bitmap says which words of
 * `taken` are full, so looking for a free page skips 4096 pages at a time.
 *
 * Runs are placed at the lowest fit; single pages are taken from a cursor that starts further up,
 * so that small pages do not cut up the low part where runs live.
 *
 * Locks: one, LOCK_RANK_MACHINE, for what is taken; turning one name of a page into another needs
 * none. Zeroing and giving back to the host happen outside it, while the pages are the caller's.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/kept_ranges.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/machine.h"
#include "base/machine_alias.h"
#include "base/machine_bank.h"
#include "base/machine_exchange.h"
#include "base/machine_parts.h"
#include "base/machine_pin.h"
#include "base/page_bits.h"

#define FIRST_PFN (MACHINE_FIRST >> MACHINE_PAGE_SHIFT)

enum {
	DEFAULT_MIB = 4095, /* with the empty first MiB: ends at 4 GiB */
	MIN_MIB = 16,
	MAX_MIB = 1 << 20,
	PUNCH_PAGES = 16, /* shorter ranges are zeroed at the next hand-out instead */
	NOT_FOUND = -1,
};

struct machine_memory machine = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_MACHINE, "physical memory"),
};

/* All of one bank. */
void machine_range_take(uint64_t first, uint64_t count)
{
	machine.taken_pages += count;
	bank_take(machine_bank_at(first), first, count);
}

void machine_range_release(uint64_t first, uint64_t count)
{
	machine.taken_pages -= count;
	bank_release(machine_bank_at(first), first, count);
}

/* Set-up. */

static uint64_t wanted_mib(void)
{
	const char *text = getenv("DXGK_PHYSICAL_MIB");
	char *end;
	unsigned long long mib;

	if (!text)
		return DEFAULT_MIB;
	errno = 0;
	mib = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || mib < MIN_MIB || mib > MAX_MIB) {
		log_warn("DXGK_PHYSICAL_MIB: \"%s\" is not a number from %d to %d; %d is used",
			 text, MIN_MIB, MAX_MIB, DEFAULT_MIB);
		return DEFAULT_MIB;
	}
	return mib;
}

/* False with errno; nothing is open or mapped then. */
static bool window_open(uint64_t pages)
{
	if (!bank_open(&machine.own, "dxgk-physical", pages))
		return false;
	machine.window = bank_show(&machine.own, NULL, 0, pages);
	if (machine.window)
		return true;
	int saved_errno = errno;
	bank_close(&machine.own);
	errno = saved_errno;
	return false;
}

bool machine_is_set_up_locked(void)
{
	uint64_t pages;
	uint64_t words;
	uint64_t *maps;

	lock_assert_held(&machine.lock);
	if (machine.pages != 0)
		return true;

	pages = (wanted_mib() << 20) >> MACHINE_PAGE_SHIFT;
	words = (pages + 63) / 64;
	maps = mem_zalloc_array(words * 3 + pages + pages / BANK_GRANULE_PAGES, sizeof(*maps));
	if (!maps)
		return false;
	if (!window_open(pages)) {
		log_error("no physical memory: %s", strerror(errno));
		mem_free(maps);
		return false;
	}
	machine.first = maps;
	machine.last = maps + words;
	machine.dirty = maps + 2 * words;
	machine_exchanges_start((uint32_t *)(maps + 3 * words), pages);
	machine.owners = (_Atomic uint16_t *)(maps + 3 * words + pages);
	machine.banks[0] = &machine.own;
	bank_gain(&machine.own, 0, pages);
	machine.taken_pages = 0;
	atomic_store_explicit(&machine.pages, pages, memory_order_release);
	return true;
}

bool machine_set_up(void)
{
	lock_acquire(&machine.lock);
	bool is_set_up = machine_is_set_up_locked();
	lock_release(&machine.lock);
	return is_set_up;
}

void machine_finish(void)
{
	machine_views_finish();
	machine_aliases_finish();
	machine_exchanges_finish();
	lock_acquire(&machine.lock);
	machine_banks_finish_locked();
	if (machine.pages != 0) {
		munmap(machine.window, machine.pages * MACHINE_PAGE_BYTES);
		bank_close(&machine.own);
		mem_free(machine.first);
	}
	machine.window = NULL;
	machine.pages = 0;
	machine.taken_pages = 0;
	lock_release(&machine.lock);
}

/* Handing out. */

/* Turns an address range into pages of the memfd; false when it holds none. */
bool machine_range_of_pages_locked(uint64_t lowest, uint64_t highest, uint64_t *first_out,
				   uint64_t *end_out)
{
	uint64_t memory_end = MACHINE_FIRST + machine.pages * MACHINE_PAGE_BYTES;
	uint64_t end =
		highest >= memory_end ? memory_end : align_down(highest + 1, MACHINE_PAGE_BYTES);

	lock_assert_held(&machine.lock);
	if (lowest < MACHINE_FIRST)
		lowest = MACHINE_FIRST;
	if (!checked_align_up(lowest, MACHINE_PAGE_BYTES, &lowest) || lowest >= end)
		return false;
	*first_out = (lowest - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
	*end_out = (end - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
	return true;
}

/* Zeroes what was used before. The pages are the caller's, so nobody else asks for their bits. */
static void run_prepare(uint64_t first, uint64_t count)
{
	while (count > 0) {
		uint64_t bit = first % 64;
		uint64_t width = 64 - bit < count ? 64 - bit : count;
		uint64_t was_dirty;

		lock_acquire(&machine.lock);
		was_dirty = machine.dirty[first / 64] & word_mask(bit, width);
		machine.dirty[first / 64] |= word_mask(bit, width);
		lock_release(&machine.lock);

		for (; was_dirty != 0; was_dirty &= was_dirty - 1) {
			uint64_t page = first - bit + (uint64_t)__builtin_ctzll(was_dirty);
			memset(machine.window + page * MACHINE_PAGE_BYTES, 0, MACHINE_PAGE_BYTES);
		}
		first += width;
		count -= width;
	}
}

/* Moves `page` up to the next place where a run of `count` may start. */
static uint64_t run_place(uint64_t page, uint64_t count, uint64_t align_bytes,
			  uint64_t boundary_bytes)
{
	uint64_t address = MACHINE_FIRST + page * MACHINE_PAGE_BYTES;

	address = align_down(address + align_bytes - 1, align_bytes);
	if (boundary_bytes != 0 &&
	    align_down(address, boundary_bytes) !=
		    align_down(address + count * MACHINE_PAGE_BYTES - 1, boundary_bytes)) {
		address = align_down(address, boundary_bytes) + boundary_bytes;
		address = align_down(address + align_bytes - 1, align_bytes);
	}
	return (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
}

static int64_t find_run_locked(const struct machine_bank *bank, uint64_t first, uint64_t end,
			       uint64_t count, uint64_t align_bytes, uint64_t boundary_bytes)
{
	lock_assert_held(&machine.lock);
	for (;;) {
		uint64_t start;
		uint64_t run_end;

		first = bank_find_free(bank, first, end);
		start = run_place(first, count, align_bytes, boundary_bytes);
		if (start >= end || count > end - start)
			return NOT_FOUND;
		run_end = bank_find_taken(bank, start, start + count);
		if (run_end == start + count)
			return (int64_t)start;
		first = run_end + 1;
	}
}

static void run_take_locked(uint64_t first, uint64_t count)
{
	lock_assert_held(&machine.lock);
	struct kept_ranges *kept = &machine_bank_at(first)->kept;
	if (UNLIKELY(kept->count > 0))
		kept_ranges_cut(kept, (struct page_range){ first, count });
	machine_range_take(first, count);
	bit_set(machine.first, first);
	bit_set(machine.last, first + count - 1);
}

NTSTATUS machine_alloc_contiguous(uint64_t size_bytes, uint64_t align_bytes, uint64_t lowest,
				  uint64_t highest, uint64_t boundary_bytes, uint64_t *address_out)
{
	uint64_t rounded;
	uint64_t count;
	uint64_t first;
	uint64_t end;
	int64_t found = NOT_FOUND;

	if (align_bytes < MACHINE_PAGE_BYTES)
		align_bytes =
			align_bytes == 0 || is_power_of_two(align_bytes) ? MACHINE_PAGE_BYTES : 0;
	if (size_bytes == 0 || lowest > highest || !is_power_of_two(align_bytes) ||
	    (boundary_bytes != 0 && !is_power_of_two(boundary_bytes)))
		return STATUS_INVALID_PARAMETER;
	if (!checked_align_up(size_bytes, MACHINE_PAGE_BYTES, &rounded) ||
	    rounded > UINT64_MAX / 4 || align_bytes > UINT64_C(1) << 52)
		return STATUS_NO_MEMORY;
	/* What is larger than the boundary crosses it wherever it stands. */
	if (boundary_bytes != 0 && rounded > boundary_bytes)
		return STATUS_NO_MEMORY;
	count = rounded >> MACHINE_PAGE_SHIFT;

	do {
		lock_acquire(&machine.lock);
		if (machine_is_set_up_locked() &&
		    machine_range_of_pages_locked(lowest, highest, &first, &end))
			found = find_run_locked(&machine.own, first, end, count, align_bytes,
						boundary_bytes);
		if (found != NOT_FOUND)
			run_take_locked((uint64_t)found, count);
		lock_release(&machine.lock);
	} while (found == NOT_FOUND && machine_banks_shrink(NULL));

	if (found == NOT_FOUND)
		return STATUS_NO_MEMORY;
	run_prepare((uint64_t)found, count);
	*address_out = MACHINE_FIRST + (uint64_t)found * MACHINE_PAGE_BYTES;
	return STATUS_SUCCESS;
}

/* The next free page from the cursor on, round once; `end` when there is none in [first, end). */
static uint64_t find_page_locked(const struct machine_bank *bank, uint64_t first, uint64_t end)
{
	uint64_t from = bank->cursor >= first && bank->cursor < end ? bank->cursor : first;
	uint64_t page = bank_find_free(bank, from, end);

	lock_assert_held(&machine.lock);
	if (page == end && bank_find_free(bank, first, from) < from)
		page = bank_find_free(bank, first, from);
	return page;
}

/* From here on the search goes on behind these. */
static void pages_take_locked(struct machine_bank *bank, uint64_t page, uint64_t count)
{
	lock_assert_held(&machine.lock);
	run_take_locked(page, count);
	bank->cursor = page + count < machine.pages ? page + count : 0;
}

static uint64_t take_stretch(struct machine_bank *bank, uint64_t count, uint64_t highest,
			     uint64_t *page_out)
{
	uint64_t first;
	uint64_t end;
	uint64_t page;
	uint64_t got = 0;

	lock_acquire(&machine.lock);
	if (machine_bank_is_set_up_locked(bank) &&
	    machine_range_of_pages_locked(0, highest, &first, &end)) {
		page = find_page_locked(bank, first, end);
		got = bank_find_taken(bank, page, count < end - page ? page + count : end) - page;
		if (got > 0)
			pages_take_locked(bank, page, got);
		*page_out = page;
	}
	lock_release(&machine.lock);
	return got;
}

static struct machine_bank *bank_or_own(struct machine_bank *bank)
{
	return bank ? bank : &machine.own;
}

/* What is in them is anything. */
static uint64_t find_stretch(struct machine_bank *bank, uint64_t count, uint64_t highest,
			     uint64_t *page_out)
{
	uint64_t got = 0;

	while (count > 0 && got == 0) {
		got = take_stretch(bank, count, highest, page_out);
		if (got == 0 && !machine_bank_grow(bank, count, highest) &&
		    !machine_banks_shrink(NULL))
			break;
	}
	return got;
}

uint64_t machine_bank_stretch(struct machine_bank *bank, uint64_t count, uint64_t highest,
			      uint64_t *address_out)
{
	uint64_t page = 0;
	uint64_t got = find_stretch(bank_or_own(bank), count, highest, &page);

	if (got > 0) {
		run_prepare(page, got);
		*address_out = MACHINE_FIRST + page * MACHINE_PAGE_BYTES;
	}
	return got;
}

static int64_t bank_run_take(struct machine_bank *bank, uint64_t count, uint64_t highest)
{
	uint64_t first;
	uint64_t end;
	int64_t found = NOT_FOUND;

	lock_acquire(&machine.lock);
	if (machine_bank_is_set_up_locked(bank) &&
	    machine_range_of_pages_locked(0, highest, &first, &end))
		found = find_run_locked(bank, first, end, count, MACHINE_PAGE_BYTES, 0);
	if (found != NOT_FOUND)
		run_take_locked((uint64_t)found, count);
	lock_release(&machine.lock);
	return found;
}

NTSTATUS machine_bank_run(struct machine_bank *bank, uint64_t count, uint64_t highest,
			  uint64_t *address_out)
{
	int64_t found = NOT_FOUND;
	bool is_shrunk = false; /* once: what it gives back is its own, too */

	while (found == NOT_FOUND) {
		found = bank_run_take(bank, count, highest);
		if (found != NOT_FOUND || machine_bank_grow(bank, count, highest))
			continue;
		if (is_shrunk || !machine_banks_shrink(NULL))
			return STATUS_NO_MEMORY;
		is_shrunk = true;
	}
	run_prepare((uint64_t)found, count);
	*address_out = MACHINE_FIRST + (uint64_t)found * MACHINE_PAGE_BYTES;
	return STATUS_SUCCESS;
}

static void run_mark_dirty(uint64_t first, uint64_t count)
{
	lock_acquire(&machine.lock);
	while (count > 0) {
		uint64_t bit = first % 64;
		uint64_t width = 64 - bit < count ? 64 - bit : count;

		machine.dirty[first / 64] |= word_mask(bit, width);
		first += width;
		count -= width;
	}
	lock_release(&machine.lock);
}

static uint64_t take_kept(struct machine_bank *bank, uint64_t count, uint64_t highest,
			  uint64_t *page_out)
{
	struct page_range range = { 0, 0 };
	uint64_t first;
	uint64_t end;

	lock_acquire(&machine.lock);
	if (bank->kept.count > 0 && machine_range_of_pages_locked(0, highest, &first, &end) &&
	    kept_ranges_find(&bank->kept, count, end, &range))
		run_take_locked(range.first, range.count);
	lock_release(&machine.lock);
	*page_out = range.first;
	return range.count;
}

uint64_t machine_bank_to_fill(struct machine_bank *bank, uint64_t count, uint64_t highest,
			      uint64_t *address_out)
{
	uint64_t page = 0;
	uint64_t got = count > 0 ? take_kept(bank_or_own(bank), count, highest, &page) : 0;

	if (got == 0)
		got = find_stretch(bank_or_own(bank), count, highest, &page);
	if (got > 0) {
		run_mark_dirty(page, got);
		*address_out = MACHINE_FIRST + page * MACHINE_PAGE_BYTES;
	}
	return got;
}

static uint64_t take_pages_locked(uint64_t count, uint64_t first, uint64_t end, uint64_t pfns[])
{
	uint64_t got = 0;

	lock_assert_held(&machine.lock);
	for (; got < count; got++) {
		uint64_t page = find_page_locked(&machine.own, first, end);

		if (page == end)
			break;
		pages_take_locked(&machine.own, page, 1);
		pfns[got] = FIRST_PFN + page;
	}
	return got;
}

uint64_t machine_alloc_some_pages(uint64_t count, uint64_t lowest, uint64_t highest,
				  uint64_t pfns[])
{
	uint64_t first;
	uint64_t end;
	uint64_t got = 0;

	do {
		lock_acquire(&machine.lock);
		if (machine_is_set_up_locked() &&
		    machine_range_of_pages_locked(lowest, highest, &first, &end))
			got += take_pages_locked(count - got, first, end, pfns + got);
		lock_release(&machine.lock);
	} while (got < count && machine_banks_shrink(NULL));

	for (uint64_t i = 0, run; i < got; i += run) {
		run = machine_neighbours(pfns + i, got - i);
		run_prepare(pfns[i] - FIRST_PFN, run);
	}
	return got;
}

/* Taking back. */

/* Gives the bytes of a long run to the host; they read as zero from then on. */
static bool run_punch(uint64_t first, uint64_t count)
{
	if (count < PUNCH_PAGES || !machine_change_begin_unpinned(first, count))
		return false;
	bool is_done = madvise(machine.window + first * MACHINE_PAGE_BYTES,
			       count * MACHINE_PAGE_BYTES, MADV_REMOVE) == 0;
	machine_change_end();
	return is_done;
}

static void run_release(uint64_t first, uint64_t count)
{
	machine_settle(MACHINE_FIRST + first * MACHINE_PAGE_BYTES, count);
	bool is_clean = run_punch(first, count);

	lock_acquire(&machine.lock);
	for (uint64_t page = first; is_clean && page < first + count; page++)
		bit_clear(machine.dirty, page);
	machine_range_release(first, count);
	lock_release(&machine.lock);
}

uint64_t machine_borrow(uint64_t first, uint64_t count)
{
	lock_acquire(&machine.lock);
	uint64_t end = first + machine_pages_of_bank(first, count);
	uint64_t got = bank_find_taken(machine_bank_at(first), first, end) - first;
	if (got > 0) {
		kept_ranges_cut(&machine_bank_at(first)->kept, (struct page_range){ first, got });
		machine_range_take(first, got);
	}
	lock_release(&machine.lock);
	return got;
}

void machine_return(uint64_t first, uint64_t count)
{
	run_mark_dirty(first, count);
	lock_acquire(&machine.lock);
	machine_range_release(first, count);
	lock_release(&machine.lock);
}

/* Taken while the host is given them, so that nobody else comes upon them in between. */
static bool take_overflow(struct machine_bank *bank, uint64_t count, struct page_range *range_out)
{
	lock_acquire(&machine.lock);
	bool has_any = kept_ranges_overflow(&bank->kept, count, range_out);
	if (has_any)
		machine_range_take(range_out->first, range_out->count);
	lock_release(&machine.lock);
	return has_any;
}

static void run_keep(uint64_t first, uint64_t count)
{
	struct machine_bank *bank = machine_bank_at(first);
	struct page_range old;

	machine_settle(MACHINE_FIRST + first * MACHINE_PAGE_BYTES, count);
	while (take_overflow(bank, count, &old))
		run_release(old.first, old.count);
	lock_acquire(&machine.lock);
	bool is_kept =
		count >= PUNCH_PAGES &&
		kept_ranges_add(&bank->kept, (struct page_range){ .first = first, .count = count });
	if (is_kept)
		machine_range_release(first, count);
	lock_release(&machine.lock);
	if (!is_kept)
		run_release(first, count);
}

/* Pages of the run that starts at `page`, 0 when none does. */
static uint64_t run_length_locked(uint64_t page)
{
	lock_assert_held(&machine.lock);
	if (page >= machine.pages || !bit_get(machine.first, page))
		return 0;
	return bit_find(machine.last, page) + 1 - page;
}

static bool page_of_address(uint64_t address, uint64_t *page_out)
{
	if (address < MACHINE_FIRST || !is_aligned(address, MACHINE_PAGE_BYTES))
		return false;
	*page_out = (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
	return true;
}

uint64_t machine_run_bytes(uint64_t address)
{
	uint64_t page;
	uint64_t count = 0;

	lock_acquire(&machine.lock);
	if (page_of_address(address, &page))
		count = run_length_locked(page);
	lock_release(&machine.lock);
	return count * MACHINE_PAGE_BYTES;
}

/* From here on nobody else can free it. Its pages, 0 when no run starts there. */
static uint64_t run_end(uint64_t address, uint64_t *page_out)
{
	uint64_t page = 0;
	uint64_t count = 0;

	lock_acquire(&machine.lock);
	if (page_of_address(address, &page))
		count = run_length_locked(page);
	if (count > 0) {
		bit_clear(machine.first, page);
		bit_clear(machine.last, page + count - 1);
	}
	lock_release(&machine.lock);
	*page_out = page;
	return count;
}

bool machine_free_contiguous(uint64_t address)
{
	uint64_t page;
	uint64_t count = run_end(address, &page);

	if (count > 0)
		run_release(page, count);
	return count > 0;
}

bool machine_free_filled(uint64_t address)
{
	uint64_t page;
	uint64_t count = run_end(address, &page);

	if (count > 0)
		run_keep(page, count);
	return count > 0;
}

void machine_split(uint64_t address)
{
	uint64_t page = 0;
	uint64_t count = 0;

	lock_acquire(&machine.lock);
	if (page_of_address(address, &page))
		count = run_length_locked(page);
	for (uint64_t i = 0; i < count; i++) {
		bit_set(machine.first, page + i);
		bit_set(machine.last, page + i);
	}
	lock_release(&machine.lock);
}

void machine_free_pages(uint64_t count, const uint64_t pfns[])
{
	for (uint64_t i = 0, run; i < count; i += run) {
		uint64_t first = pfns[i] - FIRST_PFN;

		run = machine_neighbours(pfns + i, count - i);
		lock_acquire(&machine.lock);
		for (uint64_t page = first; page < first + run; page++) {
			assert(run_length_locked(page) == 1);
			bit_clear(machine.first, page);
			bit_clear(machine.last, page);
		}
		lock_release(&machine.lock);
		run_release(first, run);
	}
}

/* Names of a page. */

static uint64_t memory_pages(void)
{
	return atomic_load_explicit(&machine.pages, memory_order_acquire);
}

bool machine_is_memory(uint64_t address, uint64_t size_bytes)
{
	uint64_t end;

	return checked_add(address, size_bytes, &end) && address >= MACHINE_FIRST &&
	       end <= MACHINE_FIRST + memory_pages() * MACHINE_PAGE_BYTES;
}

bool machine_is_taken(uint64_t address, uint64_t size_bytes)
{
	uint64_t first;
	uint64_t end;
	bool is_taken = true;

	if (size_bytes == 0 || !machine_is_memory(address, size_bytes))
		return false;
	first = (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
	end = ((address + size_bytes - 1 - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT) + 1;
	lock_acquire(&machine.lock);
	for (uint64_t count; is_taken && first < end; first += count) {
		count = machine_pages_of_bank(first, end - first);
		is_taken = bank_find_free(machine_bank_at(first), first, first + count) ==
			   first + count;
	}
	lock_release(&machine.lock);
	return is_taken;
}

void *machine_to_pointer(uint64_t address)
{
	if (machine_is_foreign(address))
		return (void *)(uintptr_t)(address - MACHINE_FOREIGN);
	if (!machine_is_memory(address, 1))
		return NULL;
	return machine.window + (address - MACHINE_FIRST);
}

bool machine_from_pointer(const void *pointer, uint64_t *address_out)
{
	uint64_t size_bytes = memory_pages() * MACHINE_PAGE_BYTES;
	const char *byte = pointer;

	if (size_bytes == 0 || byte < machine.window || byte >= machine.window + size_bytes)
		return machine_view_find(pointer, address_out);
	*address_out = MACHINE_FIRST + (uint64_t)(byte - machine.window);
	return true;
}

void *machine_show_pages(void *at, uint64_t first, uint64_t count)
{
	return bank_show(machine_bank_at(first), at, first, count);
}

uint64_t machine_size_bytes(void)
{
	lock_acquire(&machine.lock);
	uint64_t size_bytes = machine_is_set_up_locked() ? machine.pages << MACHINE_PAGE_SHIFT : 0;
	lock_release(&machine.lock);
	return size_bytes;
}

struct machine_usage machine_usage(void)
{
	uint64_t mapped_views = machine_view_count();

	lock_acquire(&machine.lock);
	struct machine_usage usage = {
		.total_pages = machine.pages,
		.taken_pages = machine.taken_pages,
		.mapped_views = mapped_views,
	};
	lock_release(&machine.lock);
	return usage;
}
