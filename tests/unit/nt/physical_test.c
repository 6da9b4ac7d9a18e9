/*
 * physical_test.c - pages are found, handed out zeroed, and have one identity.
 */
#include "nt_harness.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/random.h"

#define ANYWHERE (UINT64_MAX - 1)
#define MIB      (UINT64_C(1) << 20)

static uint64_t contiguous(uint64_t size, uint64_t align, uint64_t lowest, uint64_t highest,
			   uint64_t boundary)
{
	uint64_t address = 0;
	NTSTATUS status =
		nt_physical_alloc_contiguous(size, align, lowest, highest, boundary, &address);

	EXPECT(NT_SUCCESS(status) || address == 0);
	return address;
}

TEST(physical, memory_lies_below_4_gib_and_costs_nothing_untouched)
{
	struct stat status;
	uint64_t address = contiguous(1024 * MIB, 0, 0, ANYWHERE, 0);

	EXPECT(address >= NT_PHYSICAL_FIRST);
	EXPECT_EQ(NT_PHYSICAL_FIRST + nt_physical_usage().total_pages * NT_PAGE_BYTES,
		  UINT64_C(1) << 32);
	EXPECT_EQ(fstat(nt_physical_fd(), &status), 0);
	EXPECT_EQ(status.st_blocks, 0);
	EXPECT(nt_physical_free_contiguous(address));
	nt_physical_finish();
	EXPECT_EQ(nt_physical_usage().total_pages, 0);
}

TEST(physical, a_page_has_three_names)
{
	uint64_t address = contiguous(64 * 1024, 0, 0, ANYWHERE, 0);
	char *pointer = nt_physical_to_pointer(address + 5);
	uint64_t back;
	char byte;

	EXPECT(nt_physical_from_pointer(pointer, &back));
	EXPECT_EQ(back, address + 5);
	*pointer = 'x';
	EXPECT_EQ(pread(nt_physical_fd(), &byte, 1, (off_t)nt_physical_file_offset(back)), 1);
	EXPECT_EQ(byte, 'x');
	EXPECT(!nt_physical_to_pointer(0));
	EXPECT(!nt_physical_to_pointer(NT_PHYSICAL_FIRST - 1));
	EXPECT(!nt_physical_to_pointer(UINT64_C(1) << 32));
	EXPECT(!nt_physical_from_pointer(&byte, &back));
	EXPECT(nt_physical_to_pointer(nt_physical_foreign(&byte)) == &byte);
	EXPECT(nt_physical_free_contiguous(address));
	nt_physical_finish();
}

TEST(physical, a_run_keeps_its_alignment_range_and_boundary)
{
	uint64_t one = contiguous(1, 0, 0, ANYWHERE, 0);
	uint64_t aligned = contiguous(NT_PAGE_BYTES, 16 * MIB, 0, ANYWHERE, 0);
	uint64_t low = contiguous(MIB, 0, 0, 4 * MIB - 1, 0);
	uint64_t high = contiguous(MIB, 0, 3072 * MIB, ANYWHERE, 0);
	uint64_t inside = contiguous(3 * MIB, 0, 30 * MIB, ANYWHERE, 4 * MIB);

	EXPECT_EQ(nt_physical_run_bytes(one), NT_PAGE_BYTES);
	EXPECT_EQ(aligned % (16 * MIB), 0);
	EXPECT(low != 0 && low + MIB <= 4 * MIB);
	EXPECT_EQ(high, 3072 * MIB);
	EXPECT_EQ(inside / (4 * MIB), (inside + 3 * MIB - 1) / (4 * MIB));
	EXPECT(inside >= 30 * MIB);
	EXPECT_EQ(contiguous(4 * MIB, 0, 0, 4 * MIB - 1, 0), 0); /* more than fits below */
	EXPECT_EQ(contiguous(2 * MIB, 0, 0, ANYWHERE, MIB), 0);  /* crosses wherever it is */
	EXPECT_EQ(contiguous(MIB, 0, UINT64_C(1) << 32, ANYWHERE, 0), 0);
	nt_physical_finish();
}

TEST(physical, nonsense_is_refused)
{
	uint64_t address;

	EXPECT_EQ(nt_physical_alloc_contiguous(0, 0, 0, ANYWHERE, 0, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_physical_alloc_contiguous(1, 3, 0, ANYWHERE, 0, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_physical_alloc_contiguous(1, 12288, 0, ANYWHERE, 0, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_physical_alloc_contiguous(1, 0, 0, ANYWHERE, 3 * MIB, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_physical_alloc_contiguous(1, 0, 2 * MIB, MIB, 0, &address),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_physical_alloc_contiguous(UINT64_MAX, 0, 0, UINT64_MAX, 0, &address),
		  STATUS_NO_MEMORY);
	EXPECT_EQ(nt_physical_alloc_contiguous(1, UINT64_C(1) << 63, 0, UINT64_MAX, 0, &address),
		  STATUS_NO_MEMORY);
	EXPECT(!nt_physical_free_contiguous(0));
	EXPECT(!nt_physical_free_contiguous(UINT64_MAX & ~UINT64_C(4095)));
	EXPECT(!nt_physical_is_memory(UINT64_MAX, 2));
	EXPECT(!nt_physical_is_taken(NT_PHYSICAL_FIRST, 0));
	nt_physical_finish();
}

TEST(physical, only_the_start_of_a_run_frees_it_and_only_once)
{
	uint64_t address = contiguous(4 * NT_PAGE_BYTES, 0, 0, ANYWHERE, 0);

	EXPECT(!nt_physical_free_contiguous(address + NT_PAGE_BYTES));
	EXPECT(!nt_physical_free_contiguous(address + 1));
	EXPECT(nt_physical_is_taken(address, 4 * NT_PAGE_BYTES));
	EXPECT(!nt_physical_is_taken(address, 5 * NT_PAGE_BYTES));
	EXPECT(nt_physical_free_contiguous(address));
	EXPECT(!nt_physical_free_contiguous(address));
	EXPECT_EQ(nt_physical_usage().taken_pages, 0);
	nt_physical_finish();
}

TEST(physical, freed_memory_comes_back_zeroed_and_large_ranges_return_to_the_host)
{
	struct stat before;
	struct stat after;
	uint64_t pfn;

	uint64_t large = contiguous(4 * MIB, 0, 0, ANYWHERE, 0);
	memset(nt_physical_to_pointer(large), 0x5a, 4 * MIB);
	fstat(nt_physical_fd(), &before);
	EXPECT(nt_physical_free_contiguous(large));
	fstat(nt_physical_fd(), &after);
	EXPECT(after.st_blocks < before.st_blocks / 2);
	EXPECT_EQ(contiguous(4 * MIB, 0, 0, ANYWHERE, 0), large);
	char *bytes = nt_physical_to_pointer(large);
	for (uint64_t i = 0; i < 4 * MIB; i++)
		EXPECT(bytes[i] == 0);

	/* A single page stays with us; it is cleared when it is handed out again. */
	EXPECT(nt_physical_free_contiguous(large));
	uint64_t page = contiguous(1, 0, 0, ANYWHERE, 0);
	memset(nt_physical_to_pointer(page), 0x5a, NT_PAGE_BYTES);
	EXPECT(nt_physical_free_contiguous(page));
	EXPECT_EQ(nt_physical_alloc_some_pages(1, page, page + NT_PAGE_BYTES - 1, &pfn), 1);
	EXPECT_EQ(pfn, page >> NT_PAGE_SHIFT);
	EXPECT_EQ(*(char *)nt_physical_to_pointer(page), 0);
	nt_physical_free_pages(1, &pfn);
	nt_physical_finish();
}

TEST(physical, pages_are_all_or_none)
{
	enum { COUNT = 4096 };
	static uint64_t pfns[COUNT];

	setenv("DXGK_PHYSICAL_MIB", "16", 1);
	EXPECT_EQ(nt_physical_alloc_pages(COUNT - 1, pfns), STATUS_SUCCESS);
	for (int i = 1; i < COUNT - 1; i++)
		EXPECT(pfns[i] != pfns[i - 1]);
	uint64_t more[2];
	EXPECT_EQ(nt_physical_alloc_pages(2, more), STATUS_NO_MEMORY);
	EXPECT_EQ(nt_physical_usage().taken_pages, COUNT - 1);
	EXPECT_EQ(nt_physical_alloc_some_pages(2, 0, ANYWHERE, more), 1);
	nt_physical_free_pages(1, more);
	nt_physical_free_pages(COUNT - 1, pfns);
	EXPECT_EQ(nt_physical_usage().taken_pages, 0);
	EXPECT_EQ(nt_physical_alloc_pages(0, NULL), STATUS_SUCCESS);
	uint64_t all = contiguous(16 * MIB, 0, 0, ANYWHERE, 0);
	EXPECT_EQ(all, NT_PHYSICAL_FIRST);
	EXPECT(nt_physical_free_contiguous(all));
	unsetenv("DXGK_PHYSICAL_MIB");
	nt_physical_finish();
}

TEST(physical, a_wrong_size_is_said_and_the_default_used)
{
	static const char *const wrong[] = {
		"", "abc", "12x", "0", "15", "1048577", "99999999999999999999"
	};

	nt_test_begin();
	for (size_t i = 0; i < ARRAYSIZE(wrong); i++) {
		setenv("DXGK_PHYSICAL_MIB", wrong[i], 1);
		nt_test_log_length = 0;
		EXPECT(nt_physical_fd() >= 0);
		EXPECT_CONTAINS(nt_test_log, "DXGK_PHYSICAL_MIB");
		EXPECT_EQ(nt_physical_usage().total_pages, 4095 * 256);
		nt_physical_finish();
	}
	unsetenv("DXGK_PHYSICAL_MIB");
	nt_test_finish();
}

TEST(physical, random_use_agrees_with_a_plain_map)
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
			uint64_t page = (runs[slot].address - NT_PHYSICAL_FIRST) / NT_PAGE_BYTES;
			EXPECT_EQ(nt_physical_run_bytes(runs[slot].address),
				  runs[slot].pages * NT_PAGE_BYTES);
			EXPECT(nt_physical_free_contiguous(runs[slot].address));
			for (uint64_t i = 0; i < runs[slot].pages; i++)
				taken[page + i] = false;
			total -= runs[slot].pages;
			runs[slot].address = 0;
			continue;
		}
		uint64_t pages = 1 + random_below(&random, random_below(&random, 8) ? 40 : 1500);
		uint64_t align = NT_PAGE_BYTES << random_below(&random, 6);
		uint64_t boundary = random_below(&random, 3) ? 0 : UINT64_C(1) << 21;
		uint64_t address = contiguous(pages * NT_PAGE_BYTES, align, 0, ANYWHERE, boundary);

		/* The lowest place where it fits, found the slow way. */
		uint64_t expected = 0;
		for (uint64_t page = 0; page + pages <= PAGES && expected == 0; page++) {
			uint64_t at = NT_PHYSICAL_FIRST + page * NT_PAGE_BYTES;
			bool fits = at % align == 0 &&
				    (boundary == 0 ||
				     at / boundary == (at + pages * NT_PAGE_BYTES - 1) / boundary);
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
			taken[(address - NT_PHYSICAL_FIRST) / NT_PAGE_BYTES + i] = true;
		EXPECT_EQ(nt_physical_usage().taken_pages, total);
	}
	unsetenv("DXGK_PHYSICAL_MIB");
	nt_physical_finish();
}

TEST(physical, scattered_pages_are_seen_in_a_row)
{
	uint64_t pfns[6];
	uint64_t picked[4];
	uint64_t address;

	EXPECT_EQ(nt_physical_alloc_pages(6, pfns), STATUS_SUCCESS);
	for (int i = 0; i < 6; i++)
		memset(nt_physical_to_pointer(pfns[i] << NT_PAGE_SHIFT), 'a' + i, NT_PAGE_BYTES);
	/* 5 2 3 0: one run of two inside. */
	picked[0] = pfns[5];
	picked[1] = pfns[2];
	picked[2] = pfns[3];
	picked[3] = pfns[0];
	char *view = nt_physical_map(picked, 4);
	EXPECT(view);
	EXPECT_EQ(view[0], 'f');
	EXPECT_EQ(view[NT_PAGE_BYTES], 'c');
	EXPECT_EQ(view[2 * NT_PAGE_BYTES], 'd');
	EXPECT_EQ(view[4 * NT_PAGE_BYTES - 1], 'a');
	view[3 * NT_PAGE_BYTES + 7] = 'Z';
	EXPECT_EQ(((char *)nt_physical_to_pointer(pfns[0] << NT_PAGE_SHIFT))[7], 'Z');
	EXPECT(nt_physical_from_pointer(view + NT_PAGE_BYTES + 3, &address));
	EXPECT_EQ(address, (pfns[2] << NT_PAGE_SHIFT) + 3);
	EXPECT_EQ(nt_physical_usage().mapped_views, 1);
	nt_physical_unmap(view, 4);
	EXPECT_EQ(nt_physical_usage().mapped_views, 0);
	EXPECT(!nt_memory_is_readable(view, 1));

	/* Neighbours need no mapping: it is the window itself. */
	EXPECT(nt_physical_map(pfns + 2, 2) == nt_physical_to_pointer(pfns[2] << NT_PAGE_SHIFT));
	EXPECT_EQ(nt_physical_usage().mapped_views, 0);
	nt_physical_unmap(nt_physical_to_pointer(pfns[2] << NT_PAGE_SHIFT), 2);

	picked[1] = 1; /* below the memory */
	EXPECT(!nt_physical_map(picked, 4));
	picked[1] = nt_physical_foreign(pfns) >> NT_PAGE_SHIFT;
	EXPECT(!nt_physical_map(picked, 4));
	EXPECT(!nt_physical_map(picked, 0));
	nt_physical_free_pages(6, pfns);
	nt_physical_finish();
}

TEST(physical, probing_tells_without_a_fault_and_without_a_change)
{
	char *two = mmap(NULL, 2 * NT_PAGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	two[NT_PAGE_BYTES - 1] = 'q';
	EXPECT(nt_memory_is_writable(two + NT_PAGE_BYTES - 1, 2));
	EXPECT_EQ(two[NT_PAGE_BYTES - 1], 'q');
	mprotect(two + NT_PAGE_BYTES, NT_PAGE_BYTES, PROT_READ);
	EXPECT(nt_memory_is_readable(two, 2 * NT_PAGE_BYTES));
	EXPECT(!nt_memory_is_writable(two, 2 * NT_PAGE_BYTES));
	mprotect(two + NT_PAGE_BYTES, NT_PAGE_BYTES, PROT_NONE);
	EXPECT(!nt_memory_is_readable(two, 2 * NT_PAGE_BYTES));
	EXPECT(nt_memory_is_readable(two, NT_PAGE_BYTES));
	munmap(two, 2 * NT_PAGE_BYTES);
	EXPECT(!nt_memory_is_readable(two, 1));
	EXPECT(!nt_memory_is_readable(NULL, 1));
	EXPECT(!nt_memory_is_readable(two, 0));
	EXPECT(!nt_memory_is_readable((void *)UINTPTR_MAX, 2));
	EXPECT(!nt_memory_is_writable((void *)(UINTPTR_MAX - 4096), 4096));
}

static VOID NTAPI churn_pages(PVOID context)
{
	unsigned seed = *(unsigned *)context;

	for (unsigned i = 0; i < 200; i++) {
		uint64_t pfns[33];
		uint64_t count = 1 + (seed + i) % 33;
		uint64_t address;

		EXPECT_EQ(nt_physical_alloc_pages(count, pfns), STATUS_SUCCESS);
		EXPECT_EQ(nt_physical_alloc_contiguous(count * NT_PAGE_BYTES, 0, 0, ANYWHERE, 0,
						       &address),
			  STATUS_SUCCESS);
		unsigned *words = nt_physical_to_pointer(address);
		EXPECT_EQ(words[0], 0);
		words[0] = seed;
		*(unsigned *)nt_physical_to_pointer(pfns[0] << NT_PAGE_SHIFT) = seed;
		EXPECT_EQ(words[0], seed);
		EXPECT(nt_physical_free_contiguous(address));
		nt_physical_free_pages(count, pfns);
	}
}

TEST(physical, threads_never_share_a_page)
{
	unsigned seeds[4] = { 1, 2, 3, 4 };
	PKTHREAD threads[4];

	nt_test_begin();
	for (int i = 0; i < 4; i++)
		threads[i] = nt_test_start(churn_pages, &seeds[i]);
	for (int i = 0; i < 4; i++)
		nt_test_join(threads[i]);
	EXPECT_EQ(nt_physical_usage().taken_pages, 0);
	nt_test_finish();
}

TEST(physical, no_host_memory_is_a_status)
{
	uint64_t address;
	uint64_t pfn;

	mem_fail_nth(1);
	EXPECT_EQ(nt_physical_alloc_contiguous(1, 0, 0, ANYWHERE, 0, &address), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	mem_fail_nth(1);
	EXPECT_EQ(nt_physical_alloc_pages(1, &pfn), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	mem_fail_nth(1);
	EXPECT_EQ(nt_physical_fd(), -1);
	EXPECT(mem_fail_stop());
	EXPECT(nt_physical_fd() >= 0);
	nt_physical_finish();
}

TEST_MAIN("nt/physical")
