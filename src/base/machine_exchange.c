/* SPDX-License-Identifier: MIT */
/*
 * machine_exchange.c - see machine_exchange.h.
 *
 *   in:   addresses whose pages are to change places
 *   out:  which page of the memfd is at which address, in our window and for whoever asks
 *
 * Two words for each page of the machine, which cost nothing before they are used.
 *
 * Locks: one, LOCK_RANK_MACHINE, never together with another of that rank. It is held while the host
 * changes the window, so that what is written down is what can be seen.
 */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/machine_exchange.h"
#include "base/machine_parts.h"
#include "base/machine_pin.h"

enum { DEFAULT_MAX_MAP_COUNT = 65530, OUR_PART = 4 };

static struct {
	struct lock lock;
	_Atomic uint64_t displaced_pages; /* read without the lock: mostly there are none */

	/* Guarded by lock. Addresses and pages are counted from MACHINE_FIRST. */
	uint32_t *shown;     /* by address: the page that is there, plus 1; 0: its own */
	uint32_t *addresses; /* by page: the address where it is, plus 1; 0: its own */
	uint64_t page_count;
	uint64_t mappings; /* ends of stretches within the window */
	uint64_t reserved_mappings;
	uint64_t max_mappings;
} exchange = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_MACHINE, "exchanged pages"),
};

/* ---- how many ---- */

static uint64_t host_mappings(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	uint64_t count = 0;
	char text[32];

	if (file && fgets(text, sizeof(text), file))
		count = strtoull(text, NULL, 10);
	if (file)
		fclose(file);
	return count > 0 ? count : DEFAULT_MAX_MAP_COUNT;
}

static uint64_t wanted_mappings(void)
{
	const char *text = getenv("DXGK_EXCHANGE_MAPPINGS");
	uint64_t most = host_mappings() / OUR_PART;
	unsigned long long count;
	char *end;

	if (!text)
		return most;
	errno = 0;
	count = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || count > most) {
		log_warn("DXGK_EXCHANGE_MAPPINGS: \"%s\" is not a number up to %llu, which is used",
			 text, (unsigned long long)most);
		return most;
	}
	return count;
}

void machine_exchanges_start(uint32_t *words, uint64_t page_count)
{
	exchange.shown = words;
	exchange.addresses = words + page_count;
	exchange.page_count = page_count;
}

bool machine_reserve_mappings(uint64_t count)
{
	lock_acquire(&exchange.lock);
	if (exchange.max_mappings == 0)
		exchange.max_mappings = wanted_mappings();
	bool is_left =
		exchange.mappings + exchange.reserved_mappings <= exchange.max_mappings &&
		count <= exchange.max_mappings - exchange.mappings - exchange.reserved_mappings;
	if (is_left)
		exchange.reserved_mappings += count;
	lock_release(&exchange.lock);
	return is_left;
}

void machine_release_mappings(uint64_t count)
{
	lock_acquire(&exchange.lock);
	assert(count <= exchange.reserved_mappings);
	exchange.reserved_mappings -= count;
	lock_release(&exchange.lock);
}

bool machine_has_spare_mappings(void)
{
	lock_acquire(&exchange.lock);
	bool has_many = exchange.max_mappings == 0 ||
			exchange.mappings + exchange.reserved_mappings < exchange.max_mappings / 2;
	lock_release(&exchange.lock);
	return has_many;
}

/* ---- what is where ---- */

static uint64_t page_at_locked(uint64_t at)
{
	uint32_t shown = exchange.shown[at];

	lock_assert_held(&exchange.lock);
	return shown != 0 ? shown - 1 : at;
}

static void put_locked(uint64_t at, uint64_t page)
{
	lock_assert_held(&exchange.lock);
	exchange.shown[at] = page == at ? 0 : (uint32_t)(page + 1);
	exchange.addresses[page] = page == at ? 0 : (uint32_t)(at + 1);
}

static uint64_t address_of_locked(uint64_t page)
{
	uint32_t address_at = exchange.addresses[page];

	lock_assert_held(&exchange.lock);
	return address_at != 0 ? address_at - 1 : page;
}

/* Pages that follow each other from there on, at most `count`. */
static uint64_t row_locked(uint64_t at, uint64_t count)
{
	uint64_t first = page_at_locked(at);
	uint64_t row = 1;

	lock_assert_held(&exchange.lock);
	while (row < count && page_at_locked(at + row) == first + row)
		row++;
	return machine_pages_of_bank(first, row);
}

static bool is_end_locked(uint64_t at)
{
	lock_assert_held(&exchange.lock);
	return at > 0 && at < exchange.page_count &&
	       page_at_locked(at) != page_at_locked(at - 1) + 1;
}

static uint64_t ends_locked(uint64_t at, uint64_t count)
{
	uint64_t ends = 0;

	lock_assert_held(&exchange.lock);
	for (uint64_t i = at; i < at + count; i++)
		ends += is_end_locked(i);
	return ends;
}

/* Around two stretches; where one begins behind the other, that is one end. */
static uint64_t ends_around_locked(uint64_t at, uint64_t other, uint64_t count)
{
	lock_assert_held(&exchange.lock);
	return ends_locked(at, count) + ends_locked(other, count) +
	       (at + count != other && is_end_locked(at + count)) +
	       (other + count != at && is_end_locked(other + count));
}

static uint64_t displaced_locked(uint64_t at, uint64_t count)
{
	uint64_t displaced = 0;

	lock_assert_held(&exchange.lock);
	for (uint64_t i = at; i < at + count; i++)
		displaced += exchange.shown[i] != 0;
	return displaced;
}

static void swap_locked(uint64_t at, uint64_t other, uint64_t count)
{
	lock_assert_held(&exchange.lock);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t page = page_at_locked(at + i);

		put_locked(at + i, page_at_locked(other + i));
		put_locked(other + i, page);
	}
}

/* The window as it is written down. */
static bool show_locked(uint64_t at, uint64_t count)
{
	char *window = machine_to_pointer(MACHINE_FIRST);
	bool is_shown = true;

	lock_assert_held(&exchange.lock);
	for (uint64_t done = 0, row; is_shown && done < count; done += row) {
		row = row_locked(at + done, count - done);
		is_shown = machine_show_pages(window + (at + done) * MACHINE_PAGE_BYTES,
					      page_at_locked(at + done), row) != NULL;
	}
	return is_shown;
}

static bool exchange_locked(uint64_t at, uint64_t other, uint64_t count)
{
	uint64_t ends = ends_around_locked(at, other, count);
	uint64_t displaced = displaced_locked(at, count) + displaced_locked(other, count);

	lock_assert_held(&exchange.lock);
	swap_locked(at, other, count);
	if (!show_locked(at, count) || !show_locked(other, count)) {
		int saved_errno = errno;

		swap_locked(at, other, count);
		if (!show_locked(at, count) || !show_locked(other, count))
			log_error("memory of the machine is lost: the host shows it no more");
		log_warn("pages could not change places: %s", strerror(saved_errno));
		return false;
	}
	exchange.mappings += ends_around_locked(at, other, count) - ends;
	atomic_fetch_add(&exchange.displaced_pages,
			 displaced_locked(at, count) + displaced_locked(other, count) - displaced);
	return true;
}

/* Without pins on them. */
static bool exchange_unpinned(uint64_t at, uint64_t other, uint64_t count)
{
	if (!machine_change_begin(at, count))
		return false;
	bool is_done = machine_change_begin(other, count);
	if (is_done) {
		lock_acquire(&exchange.lock);
		assert(exchange.shown);
		is_done = exchange_locked(at, other, count);
		lock_release(&exchange.lock);
		machine_change_end();
	}
	machine_change_end();
	return is_done;
}

bool machine_exchange(uint64_t address, uint64_t other_address, uint64_t page_count)
{
	uint64_t at = (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
	uint64_t other = (other_address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;

	assert(machine_is_taken(address, page_count * MACHINE_PAGE_BYTES));
	assert(machine_is_taken(other_address, page_count * MACHINE_PAGE_BYTES));
	assert(at + page_count <= other || other + page_count <= at);
	return exchange_unpinned(at, other, page_count);
}

/* ---- back to their own addresses ---- */

/* A stretch of addresses and another: exchanged, the pages of one of them are at home. */
struct way_home {
	uint64_t at;
	uint64_t other;
	uint64_t count;
};

/* The pages that are there, at their own addresses. */
static struct way_home way_of_pages_locked(uint64_t at, uint64_t end)
{
	lock_assert_held(&exchange.lock);
	return (struct way_home){ at, page_at_locked(at), row_locked(at, end - at) };
}

/* The addresses' own pages, wherever they are. */
static struct way_home way_to_addresses_locked(uint64_t at, uint64_t end)
{
	struct way_home way = { at, address_of_locked(at), 1 };

	lock_assert_held(&exchange.lock);
	while (at + way.count < end && address_of_locked(at + way.count) == way.other + way.count)
		way.count++;
	return way;
}

static bool go_home(struct way_home way)
{
	return exchange_unpinned(way.at, way.other, way.count);
}

/* Whoever has both may exchange them, and only what does not overlap. False: others have it. */
static bool try_to_go_home(struct way_home way, uint64_t first, uint64_t end)
{
	uint64_t apart = way.other > way.at ? way.other - way.at : way.at - way.other;

	way.count = lower_of(way.count, apart);
	if (way.other >= first && way.other < end) {
		way.count = lower_of(way.count, end - way.other);
		return go_home(way);
	}
	way.count = machine_borrow(way.other, way.count);
	if (way.count == 0)
		return false;
	bool is_done = go_home(way);
	machine_return(way.other, way.count);
	return is_done;
}

/* Is there a way at all? Before its length is counted: of a long stretch nothing may be free. */
static bool is_in_reach(uint64_t other, uint64_t first, uint64_t end)
{
	if (other >= first && other < end)
		return true;
	bool is_free = machine_borrow(other, 1) > 0;
	if (is_free)
		machine_return(other, 1);
	return is_free;
}

/* From the first address on that is not at home: where its page and its own one are. */
static bool find_displaced(uint64_t *at, uint64_t end, uint64_t others[2])
{
	lock_acquire(&exchange.lock);
	while (*at < end && exchange.shown[*at] == 0)
		(*at)++;
	bool is_found = *at < end;
	if (is_found) {
		others[0] = page_at_locked(*at);
		others[1] = address_of_locked(*at);
	}
	lock_release(&exchange.lock);
	return is_found;
}

/*
 * The pages that are there first: one after the other goes home then, and another comes, until it is
 * the address's own.
 */
static bool settle_at(uint64_t at, const uint64_t others[2], uint64_t first, uint64_t end)
{
	for (int i = 0; i < 2; i++) {
		if (!is_in_reach(others[i], first, end))
			continue;
		lock_acquire(&exchange.lock);
		struct way_home way =
			i == 0 ? way_of_pages_locked(at, end) : way_to_addresses_locked(at, end);
		lock_release(&exchange.lock);
		if (try_to_go_home(way, first, end))
			return true;
	}
	return false;
}

void machine_settle(uint64_t address, uint64_t page_count)
{
	uint64_t at = (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
	uint64_t first = at;
	uint64_t end = at + page_count;
	uint64_t others[2];

	if (atomic_load_explicit(&exchange.displaced_pages, memory_order_acquire) == 0)
		return;
	while (find_displaced(&at, end, others)) {
		if (!settle_at(at, others, first, end))
			at++;
	}
}

/* ---- looking ---- */

/* How many pages from there on are in a row, and which is the first. */
uint64_t machine_row_at(uint64_t at, uint64_t count, uint64_t *first_out)
{
	uint64_t row;

	*first_out = at;
	if (atomic_load_explicit(&exchange.displaced_pages, memory_order_acquire) == 0)
		return machine_pages_of_bank(at, count);
	lock_acquire(&exchange.lock);
	*first_out = page_at_locked(at);
	row = row_locked(at, count);
	lock_release(&exchange.lock);
	return row;
}

bool machine_are_at_home(uint64_t first, uint64_t count)
{
	if (atomic_load_explicit(&exchange.displaced_pages, memory_order_acquire) == 0)
		return true;
	lock_acquire(&exchange.lock);
	bool are_at_home = displaced_locked(first, count) == 0;
	lock_release(&exchange.lock);
	return are_at_home;
}

static bool show_rows(char *start, uint64_t at, uint64_t count)
{
	uint64_t first;
	bool is_shown = true;

	for (uint64_t done = 0, row; is_shown && done < count; done += row) {
		row = machine_row_at(at + done, count - done, &first);
		is_shown =
			machine_show_pages(start + done * MACHINE_PAGE_BYTES, first, row) != NULL;
	}
	return is_shown;
}

void *machine_show(void *at, uint64_t address, uint64_t size_bytes)
{
	uint64_t page = (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
	uint64_t count = (size_bytes + MACHINE_PAGE_BYTES - 1) >> MACHINE_PAGE_SHIFT;
	uint64_t first;
	void *start = at;

	/* Behind the window lies something else of the process. */
	if (!machine_is_memory(address, size_bytes))
		return NULL;
	if (machine_row_at(page, count, &first) == count)
		return machine_show_pages(at, first, count);
	if (!start)
		start = mmap(NULL, count * MACHINE_PAGE_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	if (show_rows(start, page, count))
		return start;
	if (!at)
		munmap(start, count * MACHINE_PAGE_BYTES);
	return NULL;
}

struct machine_exchange_usage machine_exchange_usage(void)
{
	lock_acquire(&exchange.lock);
	struct machine_exchange_usage usage = {
		.displaced_pages = exchange.displaced_pages,
		.mappings = exchange.mappings,
		.reserved_mappings = exchange.reserved_mappings,
		.max_mappings = exchange.max_mappings,
	};
	lock_release(&exchange.lock);
	return usage;
}

void machine_exchanges_finish(void)
{
	lock_acquire(&exchange.lock);
	assert(exchange.reserved_mappings == 0);
	exchange.shown = NULL;
	exchange.page_count = 0;
	exchange.mappings = 0;
	exchange.max_mappings = 0;
	atomic_store(&exchange.displaced_pages, 0);
	lock_release(&exchange.lock);
}
