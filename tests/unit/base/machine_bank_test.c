/* SPDX-License-Identifier: MIT */
/*
 * machine_bank_test.c - pages of a process are in a memfd of its own, wherever their addresses are.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/machine.h"
#include "base/machine_exchange.h"
#include "base/mem.h"
#include "base/client_file.h"
#include "base/thread.h"
#include "support/bank.h"
#include "support/test.h"

#define ANYWHERE (UINT64_MAX - 1)

enum { PAGES = 40, MACHINE_MIB = 16, MACHINE_PAGES = MACHINE_MIB * 256 };

static struct mem_usage usage;

static void begin(void)
{
	usage = mem_usage();
	setenv("DXGK_PHYSICAL_MIB", "16", 1);
}

static void finish(void)
{
	EXPECT_EQ(machine_usage().taken_pages, 0);
	machine_finish();
	unsetenv("DXGK_PHYSICAL_MIB");
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

static struct machine_bank *bank_new(void)
{
	struct machine_bank *bank = machine_bank_create();

	EXPECT(bank);
	return bank;
}

static uint64_t take(struct machine_bank *bank, uint64_t count)
{
	uint64_t address = 0;

	EXPECT_EQ(machine_bank_stretch(bank, count, ANYWHERE, &address), count);
	return address;
}

static struct machine_bank *owner(uint64_t address)
{
	uint64_t offset;

	return bank_of(address, &offset);
}

/* Each address has its own page of this bank. */
static bool is_home(const struct machine_bank *bank, uint64_t address, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t offset;

		if (bank_of(address + i * MACHINE_PAGE_BYTES, &offset) != bank ||
		    offset >> MACHINE_PAGE_SHIFT != machine_bank_page(address) + i)
			return false;
	}
	return true;
}

static bool is_zero(uint64_t address, uint64_t count)
{
	const char *bytes = machine_to_pointer(address);

	return bytes[0] == 0 && memcmp(bytes, bytes + 1, count * MACHINE_PAGE_BYTES - 1) == 0;
}

#define BANK_TEST(suite, claim) TEST_BETWEEN(begin(), finish(), suite, claim)

BANK_TEST(bank, pages_are_in_the_memfd_of_their_bank)
{
	struct machine_bank *one = bank_new();
	struct machine_bank *two = bank_new();
	uint64_t a = take(one, PAGES);
	uint64_t b = take(two, PAGES);
	uint64_t c = take(NULL, PAGES);
	uint64_t offset;

	for (uint64_t i = 0; i < PAGES; i++) {
		EXPECT(owner(a + i * MACHINE_PAGE_BYTES) == one);
		EXPECT(owner(b + i * MACHINE_PAGE_BYTES) == two);
		EXPECT(owner(c + i * MACHINE_PAGE_BYTES) == NULL);
	}
	EXPECT(bank_of(a + 5, &offset) == one);
	EXPECT_EQ(offset, a + 5 - MACHINE_FIRST);
	EXPECT_EQ(machine_bank_usage(one).taken_pages, PAGES);
	EXPECT(machine_free_contiguous(a));
	EXPECT(machine_free_contiguous(b));
	EXPECT(machine_free_contiguous(c));
	machine_bank_destroy(one);
	machine_bank_destroy(two);
}

/* As many as there are, in stretches. */
struct pages {
	uint64_t addresses[64];
	uint64_t counts[64];
	unsigned stretches;
	uint64_t count;
};

static void pages_take(struct pages *pages, struct machine_bank *bank, uint64_t count)
{
	*pages = (struct pages){ 0 };
	while (pages->count < count) {
		uint64_t *address = &pages->addresses[pages->stretches];
		uint64_t got = machine_bank_stretch(bank, count - pages->count, ANYWHERE, address);

		EXPECT(got > 0 && pages->stretches < 64);
		EXPECT(is_zero(*address, got));
		EXPECT(owner(*address) == bank);
		memset(machine_to_pointer(*address), 'p', got * MACHINE_PAGE_BYTES);
		pages->counts[pages->stretches++] = got;
		pages->count += got;
	}
}

static void pages_free(const struct pages *pages)
{
	for (unsigned i = 0; i < pages->stretches; i++)
		EXPECT(machine_free_contiguous(pages->addresses[i]));
}

/* Zero each time, whoever had them before; and never another's while they are kept at hand. */
BANK_TEST(bank, freed_pages_are_zero_for_the_next_one)
{
	struct machine_bank *one = bank_new();
	struct machine_bank *two = bank_new();

	for (int i = 0; i < 50; i++) {
		struct pages pages[3];

		pages_take(&pages[0], one, PAGES);
		pages_take(&pages[1], two, PAGES);
		pages_take(&pages[2], NULL, PAGES);
		for (int k = 0; k < 3; k++)
			pages_free(&pages[k]);
	}
	machine_bank_destroy(one);
	machine_bank_destroy(two);
}

/* A mapping that a client kept too long: what it shows is nobody's any more. */
BANK_TEST(bank, whoever_kept_a_view_sees_zeroes_when_the_addresses_are_anothers)
{
	struct machine_bank *one = bank_new();
	uint64_t a = take(one, PAGES);
	char *view = machine_show(NULL, a, PAGES * MACHINE_PAGE_BYTES);
	struct pages all;

	EXPECT(view);
	memset(view, 'v', PAGES * MACHINE_PAGE_BYTES);
	EXPECT(machine_free_contiguous(a));
	machine_bank_destroy(one);
	pages_take(&all, NULL, MACHINE_PAGES);
	for (uint64_t i = 0; i < PAGES; i++)
		EXPECT_EQ(view[i * MACHINE_PAGE_BYTES], 0);
	munmap(view, PAGES * MACHINE_PAGE_BYTES);
	pages_free(&all);
}

BANK_TEST(bank, what_it_does_not_use_is_there_for_others)
{
	struct machine_bank *one = bank_new();
	struct machine_bank *two = bank_new();
	struct pages all;
	uint64_t address;

	for (int i = 0; i < 5; i++) {
		pages_take(&all, one, MACHINE_PAGES);
		EXPECT_EQ(machine_bank_stretch(two, 1, ANYWHERE, &address), 0);
		EXPECT_EQ(machine_bank_stretch(NULL, 1, ANYWHERE, &address), 0);
		pages_free(&all);
		pages_take(&all, two, MACHINE_PAGES);
		pages_free(&all);
		EXPECT_EQ(machine_alloc_contiguous(MACHINE_PAGES * MACHINE_PAGE_BYTES, 0, 0,
						   UINT64_MAX, 0, &address),
			  STATUS_SUCCESS);
		EXPECT(is_zero(address, MACHINE_PAGES));
		EXPECT(owner(address) == NULL);
		EXPECT(machine_free_contiguous(address));
	}
	machine_bank_destroy(one);
	machine_bank_destroy(two);
}

BANK_TEST(bank, pages_change_their_address_and_stay_their_banks)
{
	struct machine_bank *one = bank_new();
	uint64_t a = take(one, PAGES);
	uint64_t segment = take(NULL, PAGES);
	char *view = machine_show(NULL, a, PAGES * MACHINE_PAGE_BYTES);

	EXPECT(view);
	memset(view, 'c', PAGES * MACHINE_PAGE_BYTES);
	EXPECT(machine_reserve_mappings(64));
	EXPECT(machine_exchange(segment, a, PAGES));
	EXPECT(owner(segment) == one);
	EXPECT(owner(a) == NULL);
	EXPECT_EQ(*(char *)machine_to_pointer(segment), 'c');
	view[0] = 'd';
	EXPECT_EQ(*(char *)machine_to_pointer(segment), 'd');
	EXPECT(machine_exchange(segment, a, PAGES));
	EXPECT(owner(a) == one);
	EXPECT_EQ(*(char *)machine_to_pointer(a), 'd');
	machine_release_mappings(64);
	munmap(view, PAGES * MACHINE_PAGE_BYTES);
	EXPECT(machine_free_contiguous(a));
	EXPECT(machine_free_contiguous(segment));
	machine_bank_destroy(one);
}

/* Its pages are at a segment's addresses: it goes when they have come back. */
BANK_TEST(bank, that_ends_with_pages_elsewhere_goes_later)
{
	struct machine_bank *one = bank_new();
	uint64_t a = take(one, PAGES);
	uint64_t segment = take(NULL, PAGES);

	EXPECT(machine_reserve_mappings(64));
	EXPECT(machine_exchange(segment, a, PAGES));
	machine_release_mappings(64);
	EXPECT(machine_free_contiguous(a));
	memset(machine_to_pointer(segment), 's', PAGES * MACHINE_PAGE_BYTES);
	machine_bank_destroy(one);
	EXPECT_EQ(*(char *)machine_to_pointer(segment), 's');
	machine_settle(segment, PAGES);
	EXPECT_EQ(machine_exchange_usage().displaced_pages, 0);
	EXPECT(owner(segment) == NULL);
	EXPECT(machine_free_contiguous(segment));
	struct pages all;
	pages_take(&all, NULL, MACHINE_PAGES);
	pages_free(&all);
}

TEST(bank, survives_every_allocation_failure)
{
	bool has_failed;
	uint64_t nth = 0;

	do {
		uint64_t address;

		begin();
		mem_fail_nth(++nth);
		struct machine_bank *bank = machine_bank_create();
		uint64_t got = bank ? machine_bank_stretch(bank, 3, ANYWHERE, &address) : 0;
		has_failed = mem_fail_stop();
		EXPECT(got == 3 || (got == 0 && has_failed));
		if (got > 0)
			EXPECT(machine_free_contiguous(address));
		machine_bank_destroy(bank);
		finish();
	} while (has_failed);
}

/* ---- threads ---- */

static void run_client(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument;

	for (int turn = 0; turn < 30; turn++) {
		struct machine_bank *bank = bank_new();
		uint64_t addresses[8];

		for (uint64_t i = 0; i < 8; i++) {
			addresses[i] = 0;
			uint64_t got = machine_bank_stretch(bank, 1 + (i * seed) % 60, ANYWHERE,
							    &addresses[i]);
			EXPECT(got > 0);
			EXPECT(is_zero(addresses[i], got));
			EXPECT(owner(addresses[i]) == bank);
			memset(machine_to_pointer(addresses[i]), (int)seed,
			       got * MACHINE_PAGE_BYTES);
		}
		for (uint64_t i = 0; i < 8; i++)
			EXPECT(machine_free_contiguous(addresses[i]));
		machine_bank_destroy(bank);
	}
}

BANK_TEST(threads, have_banks_come_and_go)
{
	struct thread *threads[3];

	for (uintptr_t i = 0; i < 3; i++)
		EXPECT_EQ(thread_create("client", run_client, (void *)(i + 3), &threads[i]),
			  STATUS_SUCCESS);
	for (int i = 0; i < 3; i++)
		thread_join(threads[i]);
}

/* ---- for other processes ---- */

static struct machine_bank *shown_new(enum machine_bank_viewers viewers)
{
	struct machine_bank *bank = NULL;

	EXPECT_EQ(machine_bank_create_for_clients(viewers, &bank), STATUS_SUCCESS);
	return bank;
}

static int descriptor_of(const struct machine_bank *bank)
{
	return client_file_descriptor(client_file_id(machine_bank_file(bank)));
}

static void *map_elsewhere(const struct machine_bank *bank, uint64_t address, int protection)
{
	return mmap(NULL, MACHINE_PAGE_BYTES, protection, MAP_SHARED, descriptor_of(bank),
		    (off_t)(machine_bank_page(address) << MACHINE_PAGE_SHIFT));
}

BANK_TEST(shown, pages_are_the_same_elsewhere_and_zero_when_they_are_another_s)
{
	struct machine_bank *bank = shown_new(MACHINE_BANK_WRITTEN);
	uint64_t address = take(bank, PAGES);
	unsigned char *elsewhere = map_elsewhere(bank, address, PROT_READ | PROT_WRITE);
	EXPECT(elsewhere != MAP_FAILED);
	EXPECT(is_home(bank, address, PAGES));
	*elsewhere = 7;
	EXPECT_EQ(*(unsigned char *)machine_to_pointer(address), 7);
	EXPECT_EQ(machine_bank_usage(bank).host_pages, 1);
	EXPECT(machine_free_contiguous(address));
	machine_bank_destroy(bank);
	EXPECT_EQ(*elsewhere, 0);
	/* The address is another's now; the page is nobody's. */
	EXPECT_EQ(machine_alloc_contiguous(MACHINE_PAGES * MACHINE_PAGE_BYTES, 0, 0, UINT64_MAX, 0,
					   &address),
		  STATUS_SUCCESS);
	memset(machine_to_pointer(address), 9, MACHINE_PAGES * MACHINE_PAGE_BYTES);
	EXPECT_EQ(*elsewhere, 0);
	EXPECT(machine_free_contiguous(address));
	munmap(elsewhere, MACHINE_PAGE_BYTES);
	EXPECT_EQ(client_file_count(), 0);
}

BANK_TEST(shown, for_reading_only_nobody_else_can_write)
{
	struct machine_bank *bank = shown_new(MACHINE_BANK_READ);
	uint64_t address = take(bank, 16);
	unsigned char *ours = machine_to_pointer(address);
	unsigned char *elsewhere = map_elsewhere(bank, address, PROT_READ);
	char path[64];

	EXPECT(elsewhere != MAP_FAILED);
	EXPECT(map_elsewhere(bank, address, PROT_READ | PROT_WRITE) == MAP_FAILED);
	EXPECT(mprotect(elsewhere, MACHINE_PAGE_BYTES, PROT_READ | PROT_WRITE) != 0);
	EXPECT(pwrite(descriptor_of(bank), "x", 1, 0) < 0);
	EXPECT(fallocate(descriptor_of(bank), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) <
	       0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor_of(bank));
	int again = open(path, O_RDWR | O_CLOEXEC);
	EXPECT(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) == MAP_FAILED);
	if (again >= 0)
		close(again);
	*ours = 5;
	EXPECT_EQ(*elsewhere, 5);
	/* Zero again for whoever has it next, who is the same. */
	EXPECT(machine_free_contiguous(address));
	address = take(bank, 16);
	EXPECT(is_zero(address, 16));
	EXPECT(machine_free_contiguous(address));
	machine_bank_destroy(bank);
	EXPECT_EQ(*elsewhere, 0);
	munmap(elsewhere, MACHINE_PAGE_BYTES);
}

BANK_TEST(shown, to_several_who_were_let_write_do_and_nobody_else_can_once_one_only_reads)
{
	struct machine_bank *bank = shown_new(MACHINE_BANK_SHARED);
	struct client_file *file = machine_bank_file(bank);
	uint64_t address = take(bank, 16);
	unsigned char *writer;
	unsigned char *reader;

	EXPECT_EQ(client_file_let_write(file, 1), STATUS_SUCCESS);
	EXPECT_EQ(client_file_let_write(file, 1), STATUS_SUCCESS);
	EXPECT(client_file_let_read(file, 1)); /* who has it has it: nothing is sealed for him */
	EXPECT_EQ(client_file_let_write(file, 2), STATUS_SUCCESS);
	writer = map_elsewhere(bank, address, PROT_READ | PROT_WRITE);
	EXPECT(writer != MAP_FAILED);
	EXPECT(client_file_let_read(file, 3));
	EXPECT(client_file_let_read(file, 4));
	EXPECT_EQ(client_file_let_write(file, 3), STATUS_ACCESS_DENIED);
	EXPECT_EQ(client_file_let_write(file, 5), STATUS_ACCESS_DENIED);
	EXPECT_EQ(client_file_let_write(file, 2), STATUS_SUCCESS);
	EXPECT(map_elsewhere(bank, address, PROT_READ | PROT_WRITE) == MAP_FAILED);
	reader = map_elsewhere(bank, address, PROT_READ);
	EXPECT(reader != MAP_FAILED && mprotect(reader, 4096, PROT_READ | PROT_WRITE) != 0);
	*writer = 7;
	EXPECT_EQ(*reader, 7);
	EXPECT_EQ(*(unsigned char *)machine_to_pointer(address), 7);
	/* Nothing can be punched any more, and nothing of it is seen in what comes next. */
	EXPECT(machine_free_contiguous(address));
	address = take(bank, 16);
	EXPECT(is_zero(address, 16));
	*(unsigned char *)machine_to_pointer(address) = 8;
	EXPECT(machine_free_contiguous(address));
	machine_bank_destroy(bank);
	EXPECT_EQ(*reader, 0);
	EXPECT_EQ(machine_alloc_contiguous(16 * MACHINE_PAGE_BYTES, 0, 0, ANYWHERE, 0, &address),
		  STATUS_SUCCESS);
	EXPECT(is_zero(address, 16));
	EXPECT(machine_free_contiguous(address));
	munmap(writer, MACHINE_PAGE_BYTES);
	munmap(reader, MACHINE_PAGE_BYTES);
}

BANK_TEST(shown, to_several_has_nothing_where_it_has_no_address)
{
	struct machine_bank *bank = shown_new(MACHINE_BANK_SHARED);
	uint64_t address = take(bank, 16);
	uint64_t own = machine_bank_usage(bank).pages;
	unsigned char *all = mmap(NULL, MACHINE_PAGES * MACHINE_PAGE_BYTES, PROT_READ | PROT_WRITE,
				  MAP_SHARED, descriptor_of(bank), 0);

	EXPECT(all != MAP_FAILED);
	memset(all, 5, MACHINE_PAGES * MACHINE_PAGE_BYTES);
	machine_banks_scrub(MACHINE_PAGES); /* not worth it */
	EXPECT_EQ(machine_bank_usage(bank).host_pages, MACHINE_PAGES);
	machine_banks_scrub(0);
	EXPECT(machine_bank_usage(bank).host_pages <= own);
	EXPECT_EQ(*(unsigned char *)machine_to_pointer(address), 5);
	EXPECT(machine_free_contiguous(address));
	munmap(all, MACHINE_PAGES * MACHINE_PAGE_BYTES);
	machine_bank_destroy(bank);
}

TEST(shown, of_a_client_is_not_sealed_by_us)
{
	int descriptor = memfd_create("section", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct client_file *file = client_file_create(dup(descriptor), CLIENT_FILE_OF_A_CLIENT);

	EXPECT_EQ(client_file_let_write(file, 1), STATUS_SUCCESS);
	EXPECT(!client_file_let_read(file, 2));
	EXPECT_EQ(client_file_let_write(file, 3), STATUS_SUCCESS);
	EXPECT_EQ(fcntl(descriptor, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	EXPECT(client_file_let_read(file, 2));
	client_file_put(file);
	close(descriptor);
}

BANK_TEST(shown, runs_are_in_a_row_or_are_not)
{
	struct machine_bank *bank = shown_new(MACHINE_BANK_WRITTEN);
	uint64_t address = 0;
	uint64_t single = take(bank, 1);
	EXPECT_EQ(machine_bank_run(bank, 1000, ANYWHERE, &address), STATUS_SUCCESS);
	EXPECT_EQ(machine_run_bytes(address), 1000 * MACHINE_PAGE_BYTES);
	EXPECT(is_home(bank, address, 1000));
	EXPECT(machine_free_contiguous(address));
	EXPECT_EQ(machine_bank_run(bank, MACHINE_PAGES, ANYWHERE, &address), STATUS_NO_MEMORY);
	EXPECT(machine_free_contiguous(single));
	machine_bank_destroy(bank);
}

TEST_MAIN("base/machine_bank")
