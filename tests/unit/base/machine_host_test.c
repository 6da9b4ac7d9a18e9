/* SPDX-License-Identifier: MIT */
/*
 * machine_host_test.c - the machine's memory on a host that refuses a file, a mapping or a descriptor, each time in
 * turn: what is asked for is there and right, or is not there; nothing is left behind, and the next time it works.
 */
#include "support/test.h"

#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/machine_exchange.h"
#include "base/mem.h"
#include "base/client_file.h"
#include "support/host.h"

#define ANYWHERE (UINT64_MAX - 1)

enum { PAGES = 8, TURNS_MOST = 200 };

/* Whose memory it is. */
enum { OF_THE_MACHINE, OF_A_PROCESS, WRITTEN_ELSEWHERE, READ_ELSEWHERE, BANKS };

static char *byte_at(uint64_t address, uint64_t page)
{
	return machine_to_pointer(address + page * MACHINE_PAGE_BYTES);
}

static void mark(uint64_t address, char first)
{
	for (unsigned i = 0; i < PAGES; i++)
		*byte_at(address, i) = (char)(first + (int)i);
}

static void expect_marks(uint64_t address, char first)
{
	for (unsigned i = 0; i < PAGES; i++)
		EXPECT_EQ(*byte_at(address, i), (char)(first + (int)i));
}

/* ---- what is tried ---- */

/* Each of these is true when it was given. */

static bool try_bank(unsigned which, struct machine_bank **bank_out)
{
	*bank_out = NULL;
	if (which == OF_THE_MACHINE)
		return true;
	if (which == OF_A_PROCESS)
		return (*bank_out = machine_bank_create()) != NULL;
	return NT_SUCCESS(machine_bank_create_for_clients(
		which == READ_ELSEWHERE ? MACHINE_BANK_READ : MACHINE_BANK_WRITTEN, bank_out));
}

/* Pages that are no neighbours, seen in a row. */
static bool try_map(uint64_t address)
{
	uint64_t pfns[PAGES];

	for (unsigned i = 0; i < PAGES; i++)
		pfns[i] = (address >> MACHINE_PAGE_SHIFT) + PAGES - 1 - i;
	char *view = machine_map(pfns, PAGES);
	if (!view)
		return false;
	for (unsigned i = 0; i < PAGES; i++) {
		uint64_t found = 0;

		EXPECT_EQ(view[i * MACHINE_PAGE_BYTES], *byte_at(address, PAGES - 1 - i));
		EXPECT(machine_from_pointer(view + i * MACHINE_PAGE_BYTES, &found));
		EXPECT_EQ(found >> MACHINE_PAGE_SHIFT, pfns[i]);
	}
	machine_unmap(view, PAGES);
	return true;
}

/* Two stretches change their pages, one is looked at as a whole, and they change back. */
static bool try_exchange(uint64_t one, uint64_t other)
{
	bool is_done = machine_exchange(one, other, PAGES);

	expect_marks(one, is_done ? 'A' : 'a');
	expect_marks(other, is_done ? 'a' : 'A');
	if (!is_done)
		return false;
	bool is_half = machine_exchange(one, other, PAGES / 2);
	char *shown = machine_show(NULL, one, PAGES * MACHINE_PAGE_BYTES);
	if (shown) {
		EXPECT_EQ(shown[0], is_half ? 'a' : 'A');
		EXPECT_EQ(shown[(PAGES - 1) * MACHINE_PAGE_BYTES], 'A' + PAGES - 1);
		munmap(shown, PAGES * MACHINE_PAGE_BYTES);
	}
	return is_half && shown;
}

static bool live_in(unsigned which)
{
	struct machine_bank *bank;
	uint64_t one = 0;
	uint64_t other = 0;

	if (!try_bank(which, &bank))
		return false;
	bool is_there = machine_bank_stretch(bank, PAGES, ANYWHERE, &one) == PAGES &&
			machine_bank_stretch(bank, PAGES, ANYWHERE, &other) == PAGES;
	if (is_there) {
		mark(one, 'a');
		mark(other, 'A');
		is_there = try_map(one);
		expect_marks(one, 'a');
	}
	if (is_there && machine_reserve_mappings(4 * MACHINE_MAPPINGS_PER_EXCHANGE)) {
		is_there = try_exchange(one, other);
		machine_release_mappings(4 * MACHINE_MAPPINGS_PER_EXCHANGE);
	}
	if (one)
		EXPECT(machine_free_contiguous(one));
	if (other)
		EXPECT(machine_free_contiguous(other));
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT_EQ(machine_exchange_usage().displaced_pages, 0);
	machine_bank_destroy(bank);
	return is_there;
}

/* ---- what is left ---- */

static unsigned count_descriptors(void)
{
	unsigned count = 0;

	for (int i = 0; i < 2048; i++)
		count += fcntl(i, F_GETFD) >= 0;
	return count;
}

static uint64_t mapped_bytes(void)
{
	uint64_t bytes = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	EXPECT(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long long first;
		unsigned long long end;

		if (strstr(line, "memfd:dxgk") && sscanf(line, "%llx-%llx", &first, &end) == 2)
			bytes += end - first;
	}
	fclose(maps);
	return bytes;
}

static bool live_once(unsigned which)
{
	struct mem_usage before = mem_usage();
	unsigned descriptors = count_descriptors();

	setenv("DXGK_PHYSICAL_MIB", "16", 1);
	bool is_there = live_in(which);
	machine_finish();
	EXPECT_EQ(mem_usage().blocks, before.blocks);
	EXPECT_EQ(count_descriptors(), descriptors);
	EXPECT_EQ(mapped_bytes(), 0);
	return is_there;
}

TEST(machine, survives_each_refusal_of_the_host)
{
	static const enum host_thing things[] = { HOST_MAP,  HOST_SHOW,   HOST_FILE,  HOST_RESIZE,
						  HOST_SEAL, HOST_ADVISE, HOST_NUMBER };
	unsigned refused = 0;

	for (unsigned which = 0; which < BANKS; which++) {
		EXPECT(live_once(which));
		for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
			int nth = 0;

			do {
				host_refuse(things[i], ++nth);
				refused += !live_once(which);
			} while (host_may() && nth < TURNS_MOST);
			EXPECT(nth < TURNS_MOST);
			EXPECT(live_once(which));
		}
	}
	EXPECT(refused > BANKS * 4);
}

/* Valgrind is one. What is sealed against writing can be written to by nobody there, not even us. */
TEST(machine, lives_on_a_host_that_shows_no_page_twice)
{
	for (unsigned which = 0; which < BANKS; which++) {
		host_refuse_all(HOST_SHOW);
		EXPECT_EQ(live_once(which), which != READ_ELSEWHERE);
		EXPECT(host_may());
	}
}

TEST(machine, survives_each_lack_of_memory)
{
	for (unsigned which = 0; which < BANKS; which++) {
		uint64_t nth = 0;

		do {
			mem_fail_nth(++nth);
			(void)live_once(which);
		} while (mem_fail_stop());
		EXPECT(nth > 1);
		EXPECT(live_once(which));
	}
}

TEST(machine, uses_as_many_mappings_as_the_host_has_where_more_are_wanted)
{
	static const char *const wishes[] = { "18446744073709551615", "99999999999999999999", "x",
					      "7x", "" };
	uint64_t usual;

	EXPECT(live_once(OF_THE_MACHINE));
	EXPECT(machine_set_up() && machine_reserve_mappings(1));
	usual = machine_exchange_usage().max_mappings;
	machine_release_mappings(1);
	machine_finish();
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		setenv("DXGK_EXCHANGE_MAPPINGS", wishes[i], 1);
		EXPECT(machine_set_up() && machine_reserve_mappings(1));
		EXPECT_EQ(machine_exchange_usage().max_mappings, usual);
		machine_release_mappings(1);
		machine_finish();
	}
	unsetenv("DXGK_EXCHANGE_MAPPINGS");
}

/* What a program forgot to unmap ends with the machine. */
TEST(machine, takes_its_views_along_at_its_end)
{
	struct mem_usage before = mem_usage();
	uint64_t address = 0;
	uint64_t pfns[2];

	setenv("DXGK_PHYSICAL_MIB", "16", 1);
	EXPECT_EQ(machine_bank_stretch(NULL, PAGES, ANYWHERE, &address), PAGES);
	pfns[0] = (address >> MACHINE_PAGE_SHIFT) + 1;
	pfns[1] = address >> MACHINE_PAGE_SHIFT;
	EXPECT(machine_map(pfns, 2) != NULL);
	EXPECT(machine_free_contiguous(address));
	machine_finish();
	EXPECT_EQ(mem_usage().blocks, before.blocks);
	EXPECT_EQ(mapped_bytes(), 0);
}

TEST_MAIN("base/machine_host")
