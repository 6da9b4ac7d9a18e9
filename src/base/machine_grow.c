/* SPDX-License-Identifier: MIT */
/*
 * machine_grow.c - addresses go from the machine's own memory to a bank, and back. See machine_bank.h.
 *
 *   in:   banks that have no page left, or whose process has gone; the machine that has none left
 *   out:  whose each granule is, and which memfd the window shows there
 *
 * While a granule changes hands it is taken on both sides, so that nobody comes upon it, and no lock
 * is held in the host. What is given away is punched out of its memfd: it is zero when it comes back.
 */
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/machine_exchange.h"
#include "base/machine_parts.h"
#include "base/machine_pin.h"
#include "base/mem.h"
#include "base/page_bits.h"

/* No fewer at a time, where there are as many in a row; of words to read a few are enough. */
enum { GROW_PAGES = 512, GROW_PAGES_READ = BANK_GRANULE_PAGES };

/* ---- one that changes hands ---- */

/* False: pages of others are there, or the host does not let us; nothing has changed. */
static bool range_show_unpinned(struct page_range range, struct machine_bank *from,
				struct machine_bank *to)
{
	char *at = machine.window + range.first * MACHINE_PAGE_BYTES;

	machine_settle(MACHINE_FIRST + range.first * MACHINE_PAGE_BYTES, range.count);
	if (!machine_are_at_home(range.first, range.count) ||
	    !bank_punch(from, range.first, range.count))
		return false;
	if (bank_show(to, at, range.first, range.count))
		return true;
	(void)!bank_show(from, at, range.first, range.count);
	return false;
}

static void range_own_locked(struct page_range range, struct machine_bank *from,
			     struct machine_bank *to)
{
	uint64_t size_bytes = range.count * MACHINE_PAGE_BYTES;

	lock_assert_held(&machine.lock);
	quota_force(to->ledger, QUOTA_BANK_BYTES, size_bytes);
	quota_give(from->ledger, QUOTA_BANK_BYTES, size_bytes);
	bank_lose(from, range.first, range.count);
	for (uint64_t page = range.first; page < range.first + range.count; page++) {
		bit_clear(machine.dirty, page);
		machine.owners[page / BANK_GRANULE_PAGES] = (uint16_t)to->id;
	}
	bank_gain(to, range.first, range.count);
}

static bool range_show(struct page_range range, struct machine_bank *from, struct machine_bank *to)
{
	if (!machine_change_begin(range.first, range.count))
		return false;
	bool is_shown = range_show_unpinned(range, from, to);
	machine_change_end();
	return is_shown;
}

/* Whole granules that are free, and taken for this. */
static bool range_change_hands(struct page_range range, struct machine_bank *from,
			       struct machine_bank *to)
{
	bool is_shown = range_show(range, from, to);

	lock_acquire(&machine.lock);
	machine_range_release(range.first, range.count);
	if (is_shown)
		range_own_locked(range, from, to);
	lock_release(&machine.lock);
	return is_shown;
}

static void range_reserve_locked(struct machine_bank *bank, struct page_range range)
{
	lock_assert_held(&machine.lock);
	kept_ranges_cut(&bank->kept, range);
	machine_range_take(range.first, range.count);
}

/* ---- growing ---- */

static bool id_find_locked(struct machine_bank *bank)
{
	uint32_t id = 1;

	lock_assert_held(&machine.lock);
	errno = ENFILE;
	while (id < BANKS_MAX && machine.banks[id])
		id++;
	if (id == BANKS_MAX || !bank_open(bank, "dxgk-bank", machine.pages))
		return false;
	bank->id = id;
	machine.banks[id] = bank;
	return true;
}

bool machine_bank_is_set_up_locked(struct machine_bank *bank)
{
	lock_assert_held(&machine.lock);
	return machine_is_set_up_locked() && (bank->source || id_find_locked(bank));
}

/* The first row of granules from `at` on in which nobody is, at most `count` pages. */
static bool free_granules_locked(uint64_t at, uint64_t end, uint64_t count,
				 struct page_range *range_out)
{
	const struct machine_bank *own = &machine.own;

	lock_assert_held(&machine.lock);
	while ((at = bank_find_free(own, at, end)) < end) {
		uint64_t first = align_down(at + BANK_GRANULE_PAGES - 1, BANK_GRANULE_PAGES);
		uint64_t last = first < end
					? bank_find_taken(own, first, lower_of(first + count, end))
					: end;

		*range_out = (struct page_range){
			first, first < last ? align_down(last - first, BANK_GRANULE_PAGES) : 0
		};
		if (range_out->count > 0)
			return true;
		at = last + 1;
	}
	return false;
}

/* No more than is needed where that would not be left of its quota. */
static uint64_t least_growth(const struct machine_bank *bank, uint64_t count)
{
	if (bank->kind == BANK_READ_ELSEWHERE)
		return GROW_PAGES_READ;
	return quota_has_left(bank->ledger, QUOTA_BANK_BYTES, GROW_PAGES * MACHINE_PAGE_BYTES)
		       ? GROW_PAGES
		       : BANK_GRANULE_PAGES;
}

bool machine_bank_grow(struct machine_bank *bank, uint64_t count, uint64_t highest)
{
	struct page_range range;
	uint64_t first;
	uint64_t end;

	if (bank == &machine.own)
		return false;
	count = higher_of(count, least_growth(bank, count));
	count = align_down(count + BANK_GRANULE_PAGES - 1, BANK_GRANULE_PAGES);
	lock_acquire(&machine.lock);
	bool is_found = machine_bank_is_set_up_locked(bank) &&
			machine_range_of_pages_locked(0, highest, &first, &end) &&
			(free_granules_locked(bank->cursor, end, count, &range) ||
			 free_granules_locked(first, end, count, &range));
	if (is_found)
		range_reserve_locked(&machine.own, range);
	lock_release(&machine.lock);
	return is_found && range_change_hands(range, &machine.own, bank);
}

/* ---- shrinking ---- */

static bool granule_is_idle_locked(uint64_t page, const struct machine_bank *bank)
{
	lock_assert_held(&machine.lock);
	return machine_bank_at(page) == bank &&
	       bank_find_taken(bank, page, page + BANK_GRANULE_PAGES) == page + BANK_GRANULE_PAGES;
}

/* The next row of a bank's granules in which nobody is, from `*page` on; taken. */
static struct machine_bank *reserve_idle(const struct machine_bank *only, uint64_t *page,
					 struct page_range *range_out)
{
	struct machine_bank *bank = NULL;

	lock_acquire(&machine.lock);
	while (*page < machine.pages && !bank) {
		struct machine_bank *owner = machine_bank_at(*page);

		if (owner != &machine.own && (!only || owner == only) &&
		    granule_is_idle_locked(*page, owner))
			bank = owner;
		else
			*page += BANK_GRANULE_PAGES;
	}
	*range_out = (struct page_range){ *page, 0 };
	for (; bank && *page < machine.pages && granule_is_idle_locked(*page, bank);
	     *page += BANK_GRANULE_PAGES)
		range_out->count += BANK_GRANULE_PAGES;
	if (bank)
		range_reserve_locked(bank, *range_out);
	lock_release(&machine.lock);
	return bank;
}

static void bank_free_locked(struct machine_bank *bank)
{
	lock_assert_held(&machine.lock);
	machine.banks[bank->id] = NULL;
	bank_close(bank);
	mem_free(bank);
}

/* Banks of processes that are gone, and of which nothing is left. */
static void ended_free(void)
{
	lock_acquire(&machine.lock);
	for (uint32_t id = 1; id < BANKS_MAX; id++) {
		struct machine_bank *bank = machine.banks[id];

		if (bank && bank->is_ended && bank->owned_pages == 0)
			bank_free_locked(bank);
	}
	lock_release(&machine.lock);
}

bool machine_banks_shrink(const struct machine_bank *only)
{
	struct machine_bank *bank;
	struct page_range range;
	uint64_t page = 0;
	bool is_any = false;

	if (machine_usage().total_pages == 0)
		return false;
	while ((bank = reserve_idle(only, &page, &range)))
		is_any |= range_change_hands(range, bank, &machine.own);
	ended_free();
	return is_any;
}

/* ---- from outside ---- */

struct machine_bank *machine_bank_create(void)
{
	struct machine_bank *bank = mem_zalloc(sizeof(*bank));

	if (!bank)
		return NULL;
	/* Now, where there is a machine to have a bank of: else at its first page. */
	lock_acquire(&machine.lock);
	if (machine.pages > 0)
		(void)id_find_locked(bank);
	lock_release(&machine.lock);
	return bank;
}

uint32_t machine_banks_max(void)
{
	return BANKS_MAX - 1;
}

NTSTATUS machine_bank_create_for_clients(enum machine_bank_viewers viewers,
					 struct machine_bank **bank_out)
{
	static const enum bank_kind kinds[] = {
		[MACHINE_BANK_WRITTEN] = BANK_WRITTEN_ELSEWHERE,
		[MACHINE_BANK_READ] = BANK_READ_ELSEWHERE,
		[MACHINE_BANK_SHARED] = BANK_SHARED_ELSEWHERE,
	};
	struct machine_bank *bank = mem_zalloc(sizeof(*bank));

	if (!bank)
		return STATUS_NO_MEMORY;
	bank->kind = kinds[viewers];
	lock_acquire(&machine.lock);
	NTSTATUS status = STATUS_SUCCESS;
	if (!machine_is_set_up_locked())
		status = STATUS_NO_MEMORY;
	else if (!id_find_locked(bank))
		status = errno == ENOMEM ? STATUS_NO_MEMORY : STATUS_INSUFFICIENT_RESOURCES;
	lock_release(&machine.lock);
	if (NT_SUCCESS(status))
		*bank_out = bank;
	else
		mem_free(bank);
	return status;
}

NTSTATUS machine_bank_charge(struct machine_bank *bank, struct quota_ledger *ledger)
{
	NTSTATUS status = quota_take(ledger, QUOTA_MAPPINGS, 1);

	if (!NT_SUCCESS(status) || !ledger)
		return status;
	lock_acquire(&machine.lock);
	assert(!bank->ledger && bank->owned_pages == 0);
	bank->ledger = quota_get(ledger);
	lock_release(&machine.lock);
	return STATUS_SUCCESS;
}

NTSTATUS machine_bank_check_quota(const struct machine_bank *bank, uint64_t page_count)
{
	if (!bank || !bank->ledger)
		return STATUS_SUCCESS;
	lock_acquire(&machine.lock);
	uint64_t spare = bank->owned_pages - bank->taken_pages;
	lock_release(&machine.lock);
	if (page_count <= spare)
		return STATUS_SUCCESS;
	uint64_t size_bytes;
	if (!checked_mul(page_count - spare, MACHINE_PAGE_BYTES, &size_bytes))
		size_bytes = UINT64_MAX;
	return quota_check(bank->ledger, QUOTA_BANK_BYTES, size_bytes);
}

struct client_file *machine_bank_file(const struct machine_bank *bank)
{
	return bank ? bank->shown : NULL;
}

void machine_bank_destroy(struct machine_bank *bank)
{
	if (!bank)
		return;
	lock_acquire(&machine.lock);
	bool is_set_up = bank->source != NULL;
	struct quota_ledger *ledger = bank->ledger;
	uint64_t size_bytes = bank->owned_pages * MACHINE_PAGE_BYTES;
	bank->is_ended = true;
	bank->ledger = NULL; /* what others still have of it is nobody's any more */
	lock_release(&machine.lock);
	quota_give(ledger, QUOTA_BANK_BYTES, size_bytes);
	quota_give(ledger, QUOTA_MAPPINGS, 1);
	quota_put(ledger);
	if (is_set_up)
		(void)machine_banks_shrink(bank);
	else
		mem_free(bank);
}

void machine_banks_finish_locked(void)
{
	lock_assert_held(&machine.lock);
	for (uint32_t id = 1; id < BANKS_MAX; id++) {
		struct machine_bank *bank = machine.banks[id];

		if (bank && bank->is_ended)
			bank_free_locked(bank);
		else if (bank)
			bank_close(bank);
		machine.banks[id] = NULL;
	}
}

uint64_t machine_bank_page(uint64_t address)
{
	return (address - MACHINE_FIRST) >> MACHINE_PAGE_SHIFT;
}

uint64_t machine_pages_of_bank(uint64_t first, uint64_t count)
{
	uint64_t pages = BANK_GRANULE_PAGES - first % BANK_GRANULE_PAGES;

	while (pages < count && machine_bank_at(first + pages) == machine_bank_at(first))
		pages += BANK_GRANULE_PAGES;
	return lower_of(pages, count);
}

/* Of its file that the host has in memory. */
static uint64_t host_pages_locked(const struct machine_bank *bank)
{
	struct stat facts;

	lock_assert_held(&machine.lock);
	if (!bank->shown || fstat(client_file_descriptor(client_file_id(bank->shown)), &facts) != 0)
		return 0;
	return (uint64_t)facts.st_blocks * 512 / MACHINE_PAGE_BYTES;
}

/* With the lock, although it is the host's work: nothing comes to the bank meanwhile. */
static void scrub_locked(const struct machine_bank *bank)
{
	uint64_t first = 0;

	lock_assert_held(&machine.lock);
	for (uint64_t page = 0; page <= machine.pages; page += BANK_GRANULE_PAGES) {
		if (page < machine.pages && machine_bank_at(page) != bank)
			continue;
		/* What cannot be punched stays as it is. */
		if (first < page)
			(void)madvise(bank->source + first * MACHINE_PAGE_BYTES,
				      (page - first) * MACHINE_PAGE_BYTES, MADV_REMOVE);
		first = page + BANK_GRANULE_PAGES;
	}
}

void machine_banks_scrub(uint64_t slack_pages)
{
	for (uint32_t id = 1; id < BANKS_MAX; id++) {
		lock_acquire(&machine.lock);
		const struct machine_bank *bank = machine.banks[id];
		if (bank && bank->kind == BANK_SHARED_ELSEWHERE &&
		    host_pages_locked(bank) > bank->owned_pages + slack_pages)
			scrub_locked(bank);
		lock_release(&machine.lock);
	}
}

struct machine_bank_usage machine_bank_usage(const struct machine_bank *bank)
{
	lock_acquire(&machine.lock);
	struct machine_bank_usage usage = {
		.pages = bank->owned_pages,
		.taken_pages = bank->taken_pages,
	};
	usage.host_pages = host_pages_locked(bank);
	lock_release(&machine.lock);
	return usage;
}
