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
#include "base/own_fd.h"
#include "base/machine.h"
#include "base/machine_alias.h"
#include "base/machine_exchange.h"
#include "base/machine_view.h"
#include "base/page_bits.h"

#define FIRST_PFN (MACHINE_FIRST >> MACHINE_PAGE_SHIFT)

enum {
	DEFAULT_MIB = 4095, /* with the empty first MiB: ends at 4 GiB */
	MIN_MIB = 16,
	MAX_MIB = 1 << 20,
	PUNCH_PAGES = 16, /* shorter ranges are zeroed at the next hand-out instead */
	NOT_FOUND = -1,
};

static struct {
	struct lock lock;

	/* Set once, `pages` last; constant until machine_finish(), so read without the lock. */
	char *window;
	char *source;    /* the pages in their order: what is shown elsewhere is shown from here */
	bool needs_file; /* … or from this, because the host cannot */
	struct own_fd file;
	_Atomic uint64_t pages; /* 0: not set up */

	/* Guarded by lock. Indices are pages of the memfd. */
	uint64_t *taken;
	uint64_t *full; /* one bit per word of `taken` */
	uint64_t *first;
	uint64_t *last;
	uint64_t *dirty;
	uint64_t taken_pages;
	uint64_t cursor; /* where the search for single pages goes on */
	struct kept_ranges kept;
} memory = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_MACHINE, "physical memory"),
	.file = OWN_FD_NONE,
};

/* Which are taken. */

static void range_take(uint64_t first, uint64_t count)
{
	memory.taken_pages += count;
	while (count > 0) {
		uint64_t bit = first % 64;
		uint64_t width = 64 - bit < count ? 64 - bit : count;

		memory.taken[first / 64] |= word_mask(bit, width);
		if (memory.taken[first / 64] == UINT64_MAX)
			bit_set(memory.full, first / 64);
		first += width;
		count -= width;
	}
}

static void range_release(uint64_t first, uint64_t count)
{
	memory.taken_pages -= count;
	while (count > 0) {
		uint64_t bit = first % 64;
		uint64_t width = 64 - bit < count ? 64 - bit : count;

		memory.taken[first / 64] &= ~word_mask(bit, width);
		bit_clear(memory.full, first / 64);
		first += width;
		count -= width;
	}
}

/* First free page in [from, end), or `end`. */
static uint64_t find_free(uint64_t from, uint64_t end)
{
	while (from < end) {
		uint64_t free_bits = ~memory.taken[from / 64] >> (from % 64);
		uint64_t word;
		uint64_t open_words;

		if (free_bits != 0) {
			from += (uint64_t)__builtin_ctzll(free_bits);
			break;
		}
		/* The next word that is not full, by the summary. */
		word = from / 64 + 1;
		while (word * 64 < end) {
			open_words = ~memory.full[word / 64] >> (word % 64);
			if (open_words != 0) {
				word += (uint64_t)__builtin_ctzll(open_words);
				break;
			}
			word = (word | 63) + 1;
		}
		from = word * 64;
	}
	return from < end ? from : end;
}

/* First taken page in [from, end), or `end`. */
static uint64_t find_taken(uint64_t from, uint64_t end)
{
	while (from < end) {
		uint64_t taken_bits = memory.taken[from / 64] >> (from % 64);

		if (taken_bits != 0) {
			from += (uint64_t)__builtin_ctzll(taken_bits);
			break;
		}
		from = (from | 63) + 1;
	}
	return from < end ? from : end;
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

/*
 * A descriptor is a number that a client may close and open for itself; a mapping is not. The host
 * shows pages of a shared mapping a second time (mremap of nothing), so that mappings are all we
 * keep. Valgrind does not know that; there the file stays.
 */
static bool source_open(uint64_t size_bytes)
{
	void *source = mremap(memory.window, 0, size_bytes, MREMAP_MAYMOVE);

	memory.source = source == MAP_FAILED ? NULL : source;
	return memory.source != NULL;
}

/* False with errno. */
static bool file_map(int file, uint64_t size_bytes)
{
	char *window;

	if (ftruncate(file, (off_t)size_bytes) != 0)
		return false;
	/* Whoever comes upon it can neither cut pages off under us nor add any. */
	if (fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return false;
	window =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
	if (window == MAP_FAILED)
		return false;
	memory.window = window;
	return true;
}

/* False with errno; nothing is open or mapped then. */
static bool window_open(uint64_t size_bytes)
{
	int file = memfd_create("dxgk-physical", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (file < 0)
		return false;
	if (!file_map(file, size_bytes)) {
		int saved_errno = errno;
		close(file);
		errno = saved_errno;
		return false;
	}
	memory.needs_file = !source_open(size_bytes);
	if (!memory.needs_file) {
		close(file);
		return true;
	}
	if (own_fd_keep(file, &memory.file))
		return true;
	munmap(memory.window, size_bytes);
	memory.window = NULL;
	return false;
}

static bool memory_is_set_up_locked(void)
{
	uint64_t size_bytes;
	uint64_t pages;
	uint64_t words;
	uint64_t *maps;

	lock_assert_held(&memory.lock);
	if (memory.pages != 0)
		return true;

	size_bytes = wanted_mib() << 20;
	pages = size_bytes >> MACHINE_PAGE_SHIFT;
	words = (pages + 63) / 64;
	maps = mem_zalloc_array(words * 4 + (words + 63) / 64, sizeof(*maps));
	if (!maps)
		return false;
	if (!window_open(size_bytes)) {
		log_error("no physical memory: %s", strerror(errno));
		mem_free(maps);
		return false;
	}
	memory.taken = maps;
	memory.first = maps + words;
	memory.last = maps + 2 * words;
	memory.dirty = maps + 3 * words;
	memory.full = maps + 4 * words;
	memory.taken_pages = 0;
	memory.cursor = pages / 4;
	memory.kept = (struct kept_ranges){ 0 };
	atomic_store_explicit(&memory.pages, pages, memory_order_release);
	return true;
}

bool machine_set_up(void)
{
	lock_acquire(&memory.lock);
	bool is_set_up = memory_is_set_up_locked();
	lock_release(&memory.lock);
	return is_set_up;
}

void machine_finish(void)
{
	machine_views_finish();
	machine_aliases_finish();
	machine_exchanges_finish();
	lock_acquire(&memory.lock);
	if (memory.pages != 0) {
		munmap(memory.window, memory.pages * MACHINE_PAGE_BYTES);
		if (memory.source)
			munmap(memory.source, memory.pages * MACHINE_PAGE_BYTES);
		own_fd_close(&memory.file);
		mem_free(memory.taken);
	}
	memory.window = NULL;
	memory.pages = 0;
	memory.taken_pages = 0;
	memory.taken = NULL;
	lock_release(&memory.lock);
}

/* Handing out. */

/* Turns an address range into pages of the memfd; false when it holds none. */
static bool range_of_pages_locked(uint64_t lowest, uint64_t highest, uint64_t *first_out,
				  uint64_t *end_out)
{
	uint64_t memory_end = MACHINE_FIRST + memory.pages * MACHINE_PAGE_BYTES;
	uint64_t end =
		highest >= memory_end ? memory_end : align_down(highest + 1, MACHINE_PAGE_BYTES);

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

		lock_acquire(&memory.lock);
		was_dirty = memory.dirty[first / 64] & word_mask(bit, width);
		memory.dirty[first / 64] |= word_mask(bit, width);
		lock_release(&memory.lock);

		for (; was_dirty != 0; was_dirty &= was_dirty - 1) {
			uint64_t page = first - bit + (uint64_t)__builtin_ctzll(was_dirty);
			memset(memory.window + page * MACHINE_PAGE_BYTES, 0, MACHINE_PAGE_BYTES);
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

static int64_t find_run_locked(uint64_t first, uint64_t end, uint64_t count, uint64_t align_bytes,
			       uint64_t boundary_bytes)
{
	for (;;) {
		uint64_t start;
		uint64_t run_end;

		first = find_free(first, end);
		start = run_place(first, count, align_bytes, boundary_bytes);
		if (start >= end || count > end - start)
			return NOT_FOUND;
		run_end = find_taken(start, start + count);
		if (run_end == start + count)
			return (int64_t)start;
		first = run_end + 1;
	}
}

static void run_take_locked(uint64_t first, uint64_t count)
{
	lock_assert_held(&memory.lock);
	if (UNLIKELY(memory.kept.count > 0))
		kept_ranges_cut(&memory.kept, (struct page_range){ first, count });
	range_take(first, count);
	bit_set(memory.first, first);
	bit_set(memory.last, first + count - 1);
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

	lock_acquire(&memory.lock);
	if (memory_is_set_up_locked() && range_of_pages_locked(lowest, highest, &first, &end))
		found = find_run_locked(first, end, count, align_bytes, boundary_bytes);
	if (found != NOT_FOUND)
		run_take_locked((uint64_t)found, count);
	lock_release(&memory.lock);

	if (found == NOT_FOUND)
		return STATUS_NO_MEMORY;
	run_prepare((uint64_t)found, count);
	*address_out = MACHINE_FIRST + (uint64_t)found * MACHINE_PAGE_BYTES;
	return STATUS_SUCCESS;
}

/* The next free page from the cursor on, round once; `end` when there is none in [first, end). */
static uint64_t find_page_locked(uint64_t first, uint64_t end)
{
	uint64_t from = memory.cursor >= first && memory.cursor < end ? memory.cursor : first;
	uint64_t page = find_free(from, end);

	if (page == end && find_free(first, from) < from)
		page = find_free(first, from);
	return page;
}

uint64_t machine_alloc_stretch(uint64_t count, uint64_t highest, uint64_t *address_out)
{
	uint64_t first;
	uint64_t end;
	uint64_t page = 0;
	uint64_t got = 0;

	lock_acquire(&memory.lock);
	if (count > 0 && memory_is_set_up_locked() &&
	    range_of_pages_locked(0, highest, &first, &end)) {
		page = find_page_locked(first, end);
		got = find_taken(page, count < end - page ? page + count : end) - page;
	}
	if (got > 0) {
		run_take_locked(page, got);
		memory.cursor = page + got < memory.pages ? page + got : 0;
	}
	lock_release(&memory.lock);

	if (got > 0) {
		run_prepare(page, got);
		*address_out = MACHINE_FIRST + page * MACHINE_PAGE_BYTES;
	}
	return got;
}

static void run_mark_dirty(uint64_t first, uint64_t count)
{
	lock_acquire(&memory.lock);
	while (count > 0) {
		uint64_t bit = first % 64;
		uint64_t width = 64 - bit < count ? 64 - bit : count;

		memory.dirty[first / 64] |= word_mask(bit, width);
		first += width;
		count -= width;
	}
	lock_release(&memory.lock);
}

static uint64_t take_kept(uint64_t count, uint64_t highest, uint64_t *page_out)
{
	struct page_range range = { 0, 0 };
	uint64_t first;
	uint64_t end;

	lock_acquire(&memory.lock);
	if (memory.kept.count > 0 && range_of_pages_locked(0, highest, &first, &end) &&
	    kept_ranges_find(&memory.kept, count, end, &range))
		run_take_locked(range.first, range.count);
	lock_release(&memory.lock);
	*page_out = range.first;
	return range.count;
}

uint64_t machine_alloc_to_fill(uint64_t count, uint64_t highest, uint64_t *address_out)
{
	uint64_t page;
	uint64_t got = count > 0 ? take_kept(count, highest, &page) : 0;

	if (got == 0)
		return machine_alloc_stretch(count, highest, address_out);
	run_mark_dirty(page, got);
	*address_out = MACHINE_FIRST + page * MACHINE_PAGE_BYTES;
	return got;
}

uint64_t machine_alloc_some_pages(uint64_t count, uint64_t lowest, uint64_t highest,
				  uint64_t pfns[])
{
	uint64_t first;
	uint64_t end;
	uint64_t got = 0;

	lock_acquire(&memory.lock);
	if (memory_is_set_up_locked() && range_of_pages_locked(lowest, highest, &first, &end)) {
		for (; got < count; got++) {
			uint64_t page = find_page_locked(first, end);

			if (page == end)
				break;
			run_take_locked(page, 1);
			pfns[got] = FIRST_PFN + page;
			memory.cursor = page + 1 < memory.pages ? page + 1 : 0;
		}
	}
	lock_release(&memory.lock);

	for (uint64_t i = 0, run; i < got; i += run) {
		run = machine_neighbours(pfns + i, got - i);
		run_prepare(pfns[i] - FIRST_PFN, run);
	}
	return got;
}

NTSTATUS machine_alloc_pages(uint64_t count, uint64_t pfns[])
{
	uint64_t got = machine_alloc_some_pages(count, 0, UINT64_MAX - 1, pfns);

	if (got == count)
		return STATUS_SUCCESS;
	machine_free_pages(got, pfns);
	return STATUS_NO_MEMORY;
}

/* Taking back. */

/* Gives the bytes of a long run to the host; they read as zero from then on. */
static bool run_punch(uint64_t first, uint64_t count)
{
	return count >= PUNCH_PAGES && madvise(memory.window + first * MACHINE_PAGE_BYTES,
					       count * MACHINE_PAGE_BYTES, MADV_REMOVE) == 0;
}

static void run_release(uint64_t first, uint64_t count)
{
	machine_settle(MACHINE_FIRST + first * MACHINE_PAGE_BYTES, count);
	bool is_clean = run_punch(first, count);

	lock_acquire(&memory.lock);
	for (uint64_t page = first; is_clean && page < first + count; page++)
		bit_clear(memory.dirty, page);
	range_release(first, count);
	lock_release(&memory.lock);
}

uint64_t machine_borrow(uint64_t first, uint64_t count)
{
	lock_acquire(&memory.lock);
	uint64_t got = find_taken(first, first + count) - first;
	if (got > 0) {
		kept_ranges_cut(&memory.kept, (struct page_range){ first, got });
		range_take(first, got);
	}
	lock_release(&memory.lock);
	return got;
}

void machine_return(uint64_t first, uint64_t count)
{
	run_mark_dirty(first, count);
	lock_acquire(&memory.lock);
	range_release(first, count);
	lock_release(&memory.lock);
}

/* Taken while the host is given them, so that nobody else comes upon them in between. */
static bool take_overflow(uint64_t count, struct page_range *range_out)
{
	lock_acquire(&memory.lock);
	bool has_any = kept_ranges_overflow(&memory.kept, count, range_out);
	if (has_any)
		range_take(range_out->first, range_out->count);
	lock_release(&memory.lock);
	return has_any;
}

static void run_keep(uint64_t first, uint64_t count)
{
	struct page_range old;

	machine_settle(MACHINE_FIRST + first * MACHINE_PAGE_BYTES, count);
	while (take_overflow(count, &old))
		run_release(old.first, old.count);
	lock_acquire(&memory.lock);
	bool is_kept = count >= PUNCH_PAGES &&
		       kept_ranges_add(&memory.kept,
				       (struct page_range){ .first = first, .count = count });
	if (is_kept)
		range_release(first, count);
	lock_release(&memory.lock);
	if (!is_kept)
		run_release(first, count);
}

/* Pages of the run that starts at `page`, 0 when none does. */
static uint64_t run_length_locked(uint64_t page)
{
	uint64_t end = page;

	lock_assert_held(&memory.lock);
	if (page >= memory.pages || !bit_get(memory.taken, page) || !bit_get(memory.first, page))
		return 0;
	while (!bit_get(memory.last, end))
		end++;
	return end + 1 - page;
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

	lock_acquire(&memory.lock);
	if (page_of_address(address, &page))
		count = run_length_locked(page);
	lock_release(&memory.lock);
	return count * MACHINE_PAGE_BYTES;
}

/* From here on nobody else can free it. Its pages, 0 when no run starts there. */
static uint64_t run_end(uint64_t address, uint64_t *page_out)
{
	uint64_t page = 0;
	uint64_t count = 0;

	lock_acquire(&memory.lock);
	if (page_of_address(address, &page))
		count = run_length_locked(page);
	if (count > 0) {
		bit_clear(memory.first, page);
		bit_clear(memory.last, page + count - 1);
	}
	lock_release(&memory.lock);
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

	lock_acquire(&memory.lock);
	if (page_of_address(address, &page))
		count = run_length_locked(page);
	for (uint64_t i = 0; i < count; i++) {
		bit_set(memory.first, page + i);
		bit_set(memory.last, page + i);
	}
	lock_release(&memory.lock);
}

void machine_free_pages(uint64_t count, const uint64_t pfns[])
{
	for (uint64_t i = 0, run; i < count; i += run) {
		uint64_t first = pfns[i] - FIRST_PFN;

		run = machine_neighbours(pfns + i, count - i);
		lock_acquire(&memory.lock);
		for (uint64_t page = first; page < first + run; page++) {
			assert(run_length_locked(page) == 1);
			bit_clear(memory.first, page);
			bit_clear(memory.last, page);
		}
		lock_release(&memory.lock);
		run_release(first, run);
	}
}

/* Names of a page. */

static uint64_t memory_pages(void)
{
	return atomic_load_explicit(&memory.pages, memory_order_acquire);
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
	bool is_taken;

	if (size_bytes == 0 || !machine_is_memory(address, size_bytes))
		return false;
	first = (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
	end = ((address + size_bytes - 1 - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT) + 1;
	lock_acquire(&memory.lock);
	is_taken = find_free(first, end) == end;
	lock_release(&memory.lock);
	return is_taken;
}

void *machine_to_pointer(uint64_t address)
{
	if (machine_is_foreign(address))
		return (void *)(uintptr_t)(address - MACHINE_FOREIGN);
	if (!machine_is_memory(address, 1))
		return NULL;
	return memory.window + (address - MACHINE_FIRST);
}

bool machine_from_pointer(const void *pointer, uint64_t *address_out)
{
	uint64_t size_bytes = memory_pages() * MACHINE_PAGE_BYTES;
	const char *byte = pointer;

	if (size_bytes == 0 || byte < memory.window || byte >= memory.window + size_bytes)
		return machine_view_find(pointer, address_out);
	*address_out = MACHINE_FIRST + (uint64_t)(byte - memory.window);
	return true;
}

/* By the file, where there is one. MAP_FAILED when it is gone, too. */
static void *show_file(void *at, uint64_t offset, uint64_t size_bytes)
{
	int file = own_fd_use(&memory.file, "no more memory can be shown to the processor");

	if (file < 0)
		return MAP_FAILED;
	return mmap(at, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), file,
		    (off_t)offset);
}

void *machine_show_pages(void *at, uint64_t first, uint64_t count)
{
	uint64_t offset = first * MACHINE_PAGE_BYTES;
	uint64_t size_bytes = count * MACHINE_PAGE_BYTES;
	void *view;

	if (memory.needs_file)
		view = show_file(at, offset, size_bytes);
	else if (at)
		view = mremap(memory.source + offset, 0, size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			      at);
	else
		view = mremap(memory.source + offset, 0, size_bytes, MREMAP_MAYMOVE);
	return view == MAP_FAILED ? NULL : view;
}

uint64_t machine_size_bytes(void)
{
	lock_acquire(&memory.lock);
	uint64_t size_bytes = memory_is_set_up_locked() ? memory.pages << MACHINE_PAGE_SHIFT : 0;
	lock_release(&memory.lock);
	return size_bytes;
}

struct machine_usage machine_usage(void)
{
	uint64_t mapped_views = machine_view_count();

	lock_acquire(&memory.lock);
	struct machine_usage usage = {
		.total_pages = memory.pages,
		.taken_pages = memory.taken_pages,
		.mapped_views = mapped_views,
	};
	lock_release(&memory.lock);
	return usage;
}
