/* SPDX-License-Identifier: MIT */
/*
 * machine_test.c - pages are found, handed out zeroed, and have one identity.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "base/probe.h"
#include "base/random.h"
#include "base/thread.h"
#include "support/test.h"

#define ANYWHERE (UINT64_MAX - 1)
#define MIB      (UINT64_C(1) << 20)

static uint64_t contiguous(uint64_t size, uint64_t align, uint64_t lowest, uint64_t highest,
			   uint64_t boundary)
{
	uint64_t address = 0;
	NTSTATUS status =
		machine_alloc_contiguous(size, align, lowest, highest, boundary, &address);

	EXPECT(NT_SUCCESS(status) || address == 0);
	return address;
}

/* What the host has given for the whole of it. */
static uint64_t host_bytes(void)
{
	uint64_t pages = machine_usage().total_pages;
	unsigned char *is_there = malloc(pages);
	uint64_t count = 0;

	EXPECT_EQ(mincore(machine_to_pointer(MACHINE_FIRST), pages * MACHINE_PAGE_BYTES, is_there),
		  0);
	for (uint64_t i = 0; i < pages; i++)
		count += is_there[i] & 1;
	free(is_there);
	return count * MACHINE_PAGE_BYTES;
}

TEST(machine, memory_lies_below_4_gib_and_costs_nothing_untouched)
{
	uint64_t address = contiguous(1024 * MIB, 0, 0, ANYWHERE, 0);

	EXPECT(address >= MACHINE_FIRST);
	EXPECT_EQ(MACHINE_FIRST + machine_usage().total_pages * MACHINE_PAGE_BYTES, UINT64_C(1)
											    << 32);
	EXPECT_EQ(host_bytes(), 0);
	EXPECT(machine_free_contiguous(address));
	machine_finish();
	EXPECT(!machine_to_pointer(address));
}

TEST(machine, a_page_has_three_names)
{
	uint64_t address = contiguous(64 * 1024, 0, 0, ANYWHERE, 0);
	char *pointer = machine_to_pointer(address + 5);
	uint64_t back;
	char byte;

	EXPECT(machine_from_pointer(pointer, &back));
	EXPECT_EQ(back, address + 5);
	*pointer = 'x';
	char *view = machine_show(NULL, address, 64 * 1024);
	EXPECT(view != NULL);
	EXPECT_EQ(view[5], 'x');
	EXPECT_EQ(munmap(view, 64 * 1024), 0);
	EXPECT(!machine_to_pointer(0));
	EXPECT(!machine_to_pointer(MACHINE_FIRST - 1));
	EXPECT(!machine_to_pointer(UINT64_C(1) << 32));
	EXPECT(!machine_from_pointer(&byte, &back));
	EXPECT(machine_to_pointer(machine_foreign(&byte)) == &byte);
	EXPECT(machine_free_contiguous(address));
	machine_finish();
}

TEST(machine, a_run_keeps_its_alignment_range_and_boundary)
{
	uint64_t one = contiguous(1, 0, 0, ANYWHERE, 0);
	uint64_t aligned = contiguous(MACHINE_PAGE_BYTES, 16 * MIB, 0, ANYWHERE, 0);
	uint64_t low = contiguous(MIB, 0, 0, 4 * MIB - 1, 0);
	uint64_t high = contiguous(MIB, 0, 3072 * MIB, ANYWHERE, 0);
	uint64_t inside = contiguous(3 * MIB, 0, 30 * MIB, ANYWHERE, 4 * MIB);

	EXPECT_EQ(machine_run_bytes(one), MACHINE_PAGE_BYTES);
	EXPECT_EQ(aligned % (16 * MIB), 0);
	EXPECT(low != 0 && low + MIB <= 4 * MIB);
	EXPECT_EQ(high, 3072 * MIB);
	EXPECT_EQ(inside / (4 * MIB), (inside + 3 * MIB - 1) / (4 * MIB));
	EXPECT(inside >= 30 * MIB);
	EXPECT_EQ(contiguous(4 * MIB, 0, 0, 4 * MIB - 1, 0), 0); /* more than fits below */
	EXPECT_EQ(contiguous(2 * MIB, 0, 0, ANYWHERE, MIB), 0);  /* crosses wherever it is */
	EXPECT_EQ(contiguous(MIB, 0, UINT64_C(1) << 32, ANYWHERE, 0), 0);
	machine_finish();
}

TEST(machine, nonsense_is_refused)
{
	uint64_t address;

	EXPECT_EQ(machine_alloc_contiguous(0, 0, 0, ANYWHERE, 0, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(machine_alloc_contiguous(1, 3, 0, ANYWHERE, 0, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(machine_alloc_contiguous(1, 12288, 0, ANYWHERE, 0, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(machine_alloc_contiguous(1, 0, 0, ANYWHERE, 3 * MIB, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(machine_alloc_contiguous(1, 0, 2 * MIB, MIB, 0, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(machine_alloc_contiguous(UINT64_MAX, 0, 0, UINT64_MAX, 0, &address),
		  STATUS_NO_MEMORY);
	EXPECT_EQ(machine_alloc_contiguous(1, UINT64_C(1) << 63, 0, UINT64_MAX, 0, &address),
		  STATUS_NO_MEMORY);
	EXPECT(!machine_free_contiguous(0));
	EXPECT(!machine_free_contiguous(UINT64_MAX & ~UINT64_C(4095)));
	EXPECT(!machine_is_memory(UINT64_MAX, 2));
	EXPECT(!machine_is_taken(MACHINE_FIRST, 0));
	machine_finish();
}

TEST(machine, only_the_start_of_a_run_frees_it_and_only_once)
{
	uint64_t address = contiguous(4 * MACHINE_PAGE_BYTES, 0, 0, ANYWHERE, 0);

	EXPECT(!machine_free_contiguous(address + MACHINE_PAGE_BYTES));
	EXPECT(!machine_free_contiguous(address + 1));
	EXPECT(machine_is_taken(address, 4 * MACHINE_PAGE_BYTES));
	EXPECT(!machine_is_taken(address, 5 * MACHINE_PAGE_BYTES));
	EXPECT(machine_free_contiguous(address));
	EXPECT(!machine_free_contiguous(address));
	EXPECT_EQ(machine_usage().taken_pages, 0);
	machine_finish();
}

TEST(machine, freed_memory_comes_back_zeroed_and_large_ranges_return_to_the_host)
{
	uint64_t pfn;

	uint64_t large = contiguous(4 * MIB, 0, 0, ANYWHERE, 0);
	memset(machine_to_pointer(large), 0x5a, 4 * MIB);
	uint64_t before = host_bytes();
	EXPECT(machine_free_contiguous(large));
	EXPECT(host_bytes() < before / 2);
	EXPECT_EQ(contiguous(4 * MIB, 0, 0, ANYWHERE, 0), large);
	char *bytes = machine_to_pointer(large);
	for (uint64_t i = 0; i < 4 * MIB; i++)
		EXPECT(bytes[i] == 0);

	/* A single page stays with us; it is cleared when it is handed out again. */
	EXPECT(machine_free_contiguous(large));
	uint64_t page = contiguous(1, 0, 0, ANYWHERE, 0);
	memset(machine_to_pointer(page), 0x5a, MACHINE_PAGE_BYTES);
	EXPECT(machine_free_contiguous(page));
	EXPECT_EQ(machine_alloc_some_pages(1, page, page + MACHINE_PAGE_BYTES - 1, &pfn), 1);
	EXPECT_EQ(pfn, page >> MACHINE_PAGE_SHIFT);
	EXPECT_EQ(*(char *)machine_to_pointer(page), 0);
	machine_free_pages(1, &pfn);
	machine_finish();
}

TEST(machine, what_is_wanted_again_soon_stays_and_is_handed_out_as_it_is)
{
	uint64_t first;
	uint64_t second;

	EXPECT_EQ(machine_bank_to_fill(NULL, 4 * MIB / MACHINE_PAGE_BYTES, ANYWHERE, &first),
		  4 * MIB / MACHINE_PAGE_BYTES);
	memset(machine_to_pointer(first), 0x5a, 4 * MIB);
	EXPECT(machine_free_filled(first));
	EXPECT(!machine_free_filled(first));
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT(host_bytes() >= 4 * MIB);
	EXPECT_EQ(machine_bank_to_fill(NULL, MIB / MACHINE_PAGE_BYTES, ANYWHERE, &second),
		  MIB / MACHINE_PAGE_BYTES);
	EXPECT_EQ(second, first);
	EXPECT_EQ(*(char *)machine_to_pointer(second), 0x5a);
	EXPECT(machine_free_contiguous(second));
	machine_finish();
}

TEST(machine, kept_pages_are_zeroes_for_who_asks_for_zeroes)
{
	uint64_t kept;

	EXPECT_EQ(machine_bank_to_fill(NULL, MIB / MACHINE_PAGE_BYTES, ANYWHERE, &kept),
		  MIB / MACHINE_PAGE_BYTES);
	memset(machine_to_pointer(kept), 0x5a, MIB);
	EXPECT(machine_free_filled(kept));
	EXPECT_EQ(contiguous(MIB, 0, kept, kept + MIB - 1, 0), kept);
	char *bytes = machine_to_pointer(kept);
	for (uint64_t i = 0; i < MIB; i++)
		EXPECT(bytes[i] == 0);
	/* They are not kept any more: somebody has them. */
	uint64_t other;
	EXPECT(machine_bank_to_fill(NULL, 1, ANYWHERE, &other) == 1);
	EXPECT(other < kept || other >= kept + MIB);
	EXPECT(machine_free_contiguous(other));
	EXPECT(machine_free_contiguous(kept));
	machine_finish();
}

TEST(machine, kept_pages_are_a_bounded_number)
{
	enum { BLOCKS = 40 };
	uint64_t blocks[BLOCKS];
	uint64_t block_pages = 8 * MIB / MACHINE_PAGE_BYTES;

	for (int i = 0; i < BLOCKS; i++) {
		EXPECT_EQ(machine_bank_to_fill(NULL, block_pages, ANYWHERE, &blocks[i]),
			  block_pages);
		memset(machine_to_pointer(blocks[i]), 1, 8 * MIB);
	}
	EXPECT(host_bytes() >= BLOCKS * 8 * MIB);
	for (int i = 0; i < BLOCKS; i++)
		EXPECT(machine_free_filled(blocks[i]));
	EXPECT(host_bytes() >= 64 * MIB);
	EXPECT(host_bytes() <= 128 * MIB);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	machine_finish();
}

/* Are there so many? */
static bool take_pages(uint64_t count, uint64_t pfns[])
{
	return machine_alloc_some_pages(count, 0, ANYWHERE, pfns) == count;
}

TEST(machine, pages_are_as_many_as_there_are)
{
	enum { COUNT = 4096 };
	static uint64_t pfns[COUNT];

	setenv("DXGK_PHYSICAL_MIB", "16", 1);
	EXPECT(take_pages(COUNT - 1, pfns));
	for (int i = 1; i < COUNT - 1; i++)
		EXPECT(pfns[i] != pfns[i - 1]);
	uint64_t more[2];
	EXPECT_EQ(machine_alloc_some_pages(2, 0, ANYWHERE, more), 1);
	EXPECT_EQ(machine_usage().taken_pages, COUNT);
	EXPECT_EQ(machine_alloc_some_pages(2, 0, ANYWHERE, &more[1]), 0);
	machine_free_pages(1, more);
	machine_free_pages(COUNT - 1, pfns);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT_EQ(machine_alloc_some_pages(0, 0, ANYWHERE, more), 0);
	uint64_t all = contiguous(16 * MIB, 0, 0, ANYWHERE, 0);
	EXPECT_EQ(all, MACHINE_FIRST);
	EXPECT(machine_free_contiguous(all));
	unsetenv("DXGK_PHYSICAL_MIB");
	machine_finish();
}

static char last_line[256];

static void keep_line(void *context, const char *line)
{
	(void)context;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

TEST(machine, a_wrong_size_is_said_and_the_default_used)
{
	static const char *const wrong[] = {
		"", "abc", "12x", "0", "15", "1048577", "99999999999999999999"
	};

	log_redirect(keep_line, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		setenv("DXGK_PHYSICAL_MIB", wrong[i], 1);
		last_line[0] = '\0';
		EXPECT(machine_set_up());
		EXPECT_CONTAINS(last_line, "DXGK_PHYSICAL_MIB");
		EXPECT_EQ(machine_usage().total_pages, 4095 * 256);
		machine_finish();
	}
	unsetenv("DXGK_PHYSICAL_MIB");
	log_redirect(NULL, NULL);
}

TEST(machine, a_stretch_goes_on_where_the_last_one_ended)
{
	uint64_t first;
	uint64_t second;
	uint64_t third;

	EXPECT_EQ(machine_bank_stretch(NULL, 10, ANYWHERE, &first), 10);
	EXPECT_EQ(machine_bank_stretch(NULL, 20, ANYWHERE, &second), 20);
	EXPECT_EQ(second, first + 10 * MACHINE_PAGE_BYTES);
	EXPECT_EQ(machine_run_bytes(second), 20 * MACHINE_PAGE_BYTES);
	memset(machine_to_pointer(first), 0x5a, 10 * MACHINE_PAGE_BYTES);
	EXPECT(machine_free_contiguous(first));
	machine_finish();

	/* Short stretches when that is what there is, none beyond the limit, none of nothing. */
	EXPECT_EQ(machine_bank_stretch(NULL, 1, MACHINE_FIRST + 4 * MACHINE_PAGE_BYTES - 1, &first),
		  1);
	EXPECT_EQ(
		machine_bank_stretch(NULL, 9, MACHINE_FIRST + 4 * MACHINE_PAGE_BYTES - 1, &second),
		3);
	EXPECT_EQ(machine_bank_stretch(NULL, 1, MACHINE_FIRST + 4 * MACHINE_PAGE_BYTES - 1, &third),
		  0);
	EXPECT_EQ(machine_bank_stretch(NULL, 1, MACHINE_FIRST - 1, &third), 0);
	EXPECT_EQ(machine_bank_stretch(NULL, 0, ANYWHERE, &third), 0);
	memset(machine_to_pointer(second), 0x5a, 3 * MACHINE_PAGE_BYTES);
	EXPECT(machine_free_contiguous(second));
	EXPECT_EQ(
		machine_bank_stretch(NULL, 2, MACHINE_FIRST + 4 * MACHINE_PAGE_BYTES - 1, &second),
		2);
	char *bytes = machine_to_pointer(second);
	for (uint64_t i = 0; i < 2 * MACHINE_PAGE_BYTES; i++)
		EXPECT_EQ(bytes[i], 0);
	machine_finish();
}

TEST(machine, random_use_agrees_with_a_plain_map)
{
	enum { PAGES = 4096, RUNS = 64 };
	static bool taken[PAGES];
	struct {
		uint64_t address;
		uint64_t pages;
	} runs[RUNS] = { { 0 } };
	struct random random;
	uint64_t total = 0;

	setenv("DXGK_PHYSICAL_MIB", "16", 1);
	random_init(&random, 7);
	for (int step = 0; step < 20000; step++) {
		unsigned slot = (unsigned)random_below(&random, RUNS);

		if (runs[slot].address != 0) {
			uint64_t page = (runs[slot].address - MACHINE_FIRST) / MACHINE_PAGE_BYTES;
			EXPECT_EQ(machine_run_bytes(runs[slot].address),
				  runs[slot].pages * MACHINE_PAGE_BYTES);
			EXPECT(machine_free_contiguous(runs[slot].address));
			for (uint64_t i = 0; i < runs[slot].pages; i++)
				taken[page + i] = false;
			total -= runs[slot].pages;
			runs[slot].address = 0;
			continue;
		}
		uint64_t pages = 1 + random_below(&random, random_below(&random, 8) ? 40 : 1500);
		uint64_t align = MACHINE_PAGE_BYTES << random_below(&random, 6);
		uint64_t boundary = random_below(&random, 3) ? 0 : UINT64_C(1) << 21;
		uint64_t address =
			contiguous(pages * MACHINE_PAGE_BYTES, align, 0, ANYWHERE, boundary);

		/* The lowest place where it fits, found the slow way. */
		uint64_t expected = 0;
		for (uint64_t page = 0; page + pages <= PAGES && expected == 0; page++) {
			uint64_t at = MACHINE_FIRST + page * MACHINE_PAGE_BYTES;
			bool fits =
				at % align == 0 &&
				(boundary == 0 ||
				 at / boundary == (at + pages * MACHINE_PAGE_BYTES - 1) / boundary);
			for (uint64_t i = 0; fits && i < pages; i++)
				fits = !taken[page + i];
			if (fits)
				expected = at;
		}
		EXPECT_EQ(address, expected);
		if (address == 0)
			continue;
		runs[slot].address = address;
		runs[slot].pages = pages;
		total += pages;
		for (uint64_t i = 0; i < pages; i++)
			taken[(address - MACHINE_FIRST) / MACHINE_PAGE_BYTES + i] = true;
		EXPECT_EQ(machine_usage().taken_pages, total);
	}
	unsetenv("DXGK_PHYSICAL_MIB");
	machine_finish();
}

TEST(machine, scattered_pages_are_seen_in_a_row)
{
	uint64_t pfns[6];
	uint64_t picked[4];
	uint64_t address;

	EXPECT(take_pages(6, pfns));
	for (int i = 0; i < 6; i++)
		memset(machine_to_pointer(pfns[i] << MACHINE_PAGE_SHIFT), 'a' + i,
		       MACHINE_PAGE_BYTES);
	/* 5 2 3 0: one run of two inside. */
	picked[0] = pfns[5];
	picked[1] = pfns[2];
	picked[2] = pfns[3];
	picked[3] = pfns[0];
	char *view = machine_map(picked, 4);
	EXPECT(view);
	EXPECT_EQ(view[0], 'f');
	EXPECT_EQ(view[MACHINE_PAGE_BYTES], 'c');
	EXPECT_EQ(view[2 * MACHINE_PAGE_BYTES], 'd');
	EXPECT_EQ(view[4 * MACHINE_PAGE_BYTES - 1], 'a');
	view[3 * MACHINE_PAGE_BYTES + 7] = 'Z';
	EXPECT_EQ(((char *)machine_to_pointer(pfns[0] << MACHINE_PAGE_SHIFT))[7], 'Z');
	EXPECT(machine_from_pointer(view + MACHINE_PAGE_BYTES + 3, &address));
	EXPECT_EQ(address, (pfns[2] << MACHINE_PAGE_SHIFT) + 3);
	EXPECT_EQ(machine_usage().mapped_views, 1);
	machine_unmap(view, 4);
	EXPECT_EQ(machine_usage().mapped_views, 0);
	EXPECT(!probe_is_readable(view, 1));

	/* Neighbours need no mapping: it is the window itself. */
	EXPECT(machine_map(pfns + 2, 2) == machine_to_pointer(pfns[2] << MACHINE_PAGE_SHIFT));
	EXPECT_EQ(machine_usage().mapped_views, 0);
	machine_unmap(machine_to_pointer(pfns[2] << MACHINE_PAGE_SHIFT), 2);

	picked[1] = 1; /* below the memory */
	EXPECT(!machine_map(picked, 4));
	picked[1] = machine_foreign(pfns) >> MACHINE_PAGE_SHIFT;
	EXPECT(!machine_map(picked, 4));
	EXPECT(!machine_map(picked, 0));
	machine_free_pages(6, pfns);
	machine_finish();
}

TEST(machine, probing_tells_without_a_fault_and_without_a_change)
{
	char *two = mmap(NULL, 2 * MACHINE_PAGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	two[MACHINE_PAGE_BYTES - 1] = 'q';
	EXPECT(probe_is_writable(two + MACHINE_PAGE_BYTES - 1, 2));
	EXPECT_EQ(two[MACHINE_PAGE_BYTES - 1], 'q');
	mprotect(two + MACHINE_PAGE_BYTES, MACHINE_PAGE_BYTES, PROT_READ);
	EXPECT(probe_is_readable(two, 2 * MACHINE_PAGE_BYTES));
	EXPECT(!probe_is_writable(two, 2 * MACHINE_PAGE_BYTES));
	mprotect(two + MACHINE_PAGE_BYTES, MACHINE_PAGE_BYTES, PROT_NONE);
	EXPECT(!probe_is_readable(two, 2 * MACHINE_PAGE_BYTES));
	EXPECT(probe_is_readable(two, MACHINE_PAGE_BYTES));
	munmap(two, 2 * MACHINE_PAGE_BYTES);
	EXPECT(!probe_is_readable(two, 1));
	EXPECT(!probe_is_readable(NULL, 1));
	EXPECT(!probe_is_readable(two, 0));
	EXPECT(!probe_is_readable((void *)UINTPTR_MAX, 2));
	EXPECT(!probe_is_writable((void *)(UINTPTR_MAX - 4096), 4096));
}

static void churn_pages(void *context)
{
	unsigned seed = *(unsigned *)context;

	for (unsigned i = 0; i < 200; i++) {
		uint64_t pfns[33];
		uint64_t count = 1 + (seed + i) % 33;
		uint64_t address;

		EXPECT(take_pages(count, pfns));
		EXPECT_EQ(machine_alloc_contiguous(count * MACHINE_PAGE_BYTES, 0, 0, ANYWHERE, 0,
						   &address),
			  STATUS_SUCCESS);
		unsigned *words = machine_to_pointer(address);
		EXPECT_EQ(words[0], 0);
		words[0] = seed;
		*(unsigned *)machine_to_pointer(pfns[0] << MACHINE_PAGE_SHIFT) = seed;
		EXPECT_EQ(words[0], seed);
		EXPECT(machine_free_contiguous(address));
		machine_free_pages(count, pfns);
	}
}

TEST(machine, threads_never_share_a_page)
{
	unsigned seeds[4] = { 1, 2, 3, 4 };
	struct thread *threads[4];

	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(thread_create("churn", churn_pages, &seeds[i], &threads[i]),
			  STATUS_SUCCESS);
	}
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	machine_finish();
}

TEST(machine, no_host_memory_is_a_status)
{
	uint64_t address;
	uint64_t pfn;

	mem_fail_nth(1);
	EXPECT_EQ(machine_alloc_contiguous(1, 0, 0, ANYWHERE, 0, &address), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	mem_fail_nth(1);
	EXPECT(!take_pages(1, &pfn));
	EXPECT(mem_fail_stop());
	mem_fail_nth(1);
	EXPECT(!machine_set_up());
	EXPECT(mem_fail_stop());
	EXPECT(machine_set_up());
	machine_finish();
}

TEST_MAIN("base/machine")
