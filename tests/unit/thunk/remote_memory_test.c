/* SPDX-License-Identifier: MIT */
/*
 * remote_memory_test.c - memory of the program that a server is to use becomes memory of a file where it is, with
 * its content; what cannot become that stays what it was, whatever the host refuses meanwhile.
 */
#include "support/test.h"

#include "thunk/remote.h"
#include "unit/base/child.h"
#include "support/host.h"

enum { PAGE = 4096, PAGES = 8, UNTOUCHED = 0x5a };

static char *take(int rights, int flags)
{
	char *memory =
		mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHILD_EXPECT(memory != MAP_FAILED);
	memset(memory, UNTOUCHED, PAGES * PAGE);
	CHILD_EXPECT(mprotect(memory, PAGES * PAGE, rights) == 0);
	return memory;
}

static char *take_own(void)
{
	return take(PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

static int share(char *memory, uint64_t size_bytes)
{
	uint64_t offset = 0;
	int file = remote_memory_share((uintptr_t)memory, &size_bytes, &offset);

	CHILD_EXPECT(file < 0 || offset == (uintptr_t)memory);
	return file;
}

/* What is written at the one place is read at the other. */
static void expect_shared(int file, char *memory, uint64_t size_bytes)
{
	for (uint64_t at = 0; at < size_bytes; at += PAGE) {
		char seen = 0;

		CHILD_EXPECT(memory[at + 1] == UNTOUCHED);
		memory[at] = (char)(at / PAGE);
		CHILD_EXPECT(pread(file, &seen, 1, (off_t)((uintptr_t)memory + at)) == 1);
		CHILD_EXPECT(seen == memory[at]);
		memory[at] = UNTOUCHED;
	}
}

static void expect_own(char *memory, uint64_t size_bytes)
{
	for (uint64_t at = 0; at < size_bytes; at++)
		CHILD_EXPECT(memory[at] == UNTOUCHED);
}

/* ---- what can ---- */

static void shares(void *argument)
{
	char *memory = take_own();
	uint64_t size_bytes = 0;
	uint64_t offset;

	(void)argument;
	int file = share(memory + PAGE, 2 * PAGE);
	CHILD_EXPECT(file >= 0);
	expect_shared(file, memory + PAGE, 2 * PAGE);
	/* More of it, less of it, and from the middle of a page: it is the same memory. */
	CHILD_EXPECT(share(memory, PAGES * PAGE) == file);
	expect_shared(file, memory, PAGES * PAGE);
	CHILD_EXPECT(share(memory + 2 * PAGE, PAGE) == file);
	expect_shared(file, memory, PAGES * PAGE);
	/* As much as there is, where only the driver knows how much it needs. */
	CHILD_EXPECT(munmap(memory + 6 * PAGE, 2 * PAGE) == 0);
	CHILD_EXPECT(remote_memory_share((uintptr_t)memory, &size_bytes, &offset) == file);
	CHILD_EXPECT(size_bytes == 6 * PAGE);
}

/* Close to the last address that a program has, as all of it is where addresses are not random. */
static void shares_the_last(void *argument)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	uintptr_t at = (uintptr_t)1 << 47;
	char *memory = MAP_FAILED;
	uint64_t size_bytes = 0;
	uint64_t offset;

	(void)argument;
	while (memory == MAP_FAILED && at > ((uintptr_t)1 << 47) - (1 << 29)) {
		at -= 2 * PAGES * PAGE;
		memory = mmap((void *)at, PAGES * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
	}
	CHILD_EXPECT(memory == (char *)at);
	memset(memory, UNTOUCHED, PAGES * PAGE);
	int file = remote_memory_share(at, &size_bytes, &offset);
	CHILD_EXPECT(file >= 0 && offset == at && size_bytes >= PAGES * PAGE);
	expect_shared(file, memory, PAGES * PAGE);
}

TEST(memory, of_the_program_becomes_the_servers_where_it_is_with_its_content)
{
	EXPECT_CHILD_OK(shares, NULL);
	EXPECT_CHILD_OK(shares_the_last, NULL);
}

/* ---- what cannot ---- */

static void is_not_shared(void *argument)
{
	char on_the_stack[2 * PAGE];
	char *own = take_own();
	char *shared = take(PROT_READ | PROT_WRITE, MAP_SHARED);
	char *read_only = take(PROT_READ, MAP_PRIVATE);

	(void)argument;
	memset(on_the_stack, UNTOUCHED, sizeof(on_the_stack));
	CHILD_EXPECT(share(shared, PAGE) < 0);
	CHILD_EXPECT(share(read_only, PAGE) < 0);
	CHILD_EXPECT(share(on_the_stack, PAGE) < 0);
	expect_own(on_the_stack, sizeof(on_the_stack));
	/* Not in part, either. */
	CHILD_EXPECT(munmap(own + 3 * PAGE, PAGE) == 0);
	CHILD_EXPECT(share(own, PAGES * PAGE) < 0);
	CHILD_EXPECT(share(own + 3 * PAGE, PAGE) < 0);
	expect_own(own, 3 * PAGE);
	/* The same file, but another place of it. */
	int file = share(own, PAGE);
	char *elsewhere =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)(uintptr_t)own);
	CHILD_EXPECT(file >= 0 && elsewhere != MAP_FAILED && share(elsewhere, PAGE) < 0);
	/* Where no program has memory. */
	CHILD_EXPECT(share((char *)(UINTPTR_MAX - PAGE + 1), PAGE) < 0);
	CHILD_EXPECT(share(own, UINT64_MAX) < 0);
}

TEST(memory, that_is_not_the_programs_own_stays_what_it_is)
{
	EXPECT_CHILD_OK(is_not_shared, NULL);
}

static void is_refused(void *argument)
{
	static const struct {
		enum host_thing thing;
		int nth;
	} refusals[] = {
		{ HOST_FILE, 1 }, { HOST_RESIZE, 1 }, { HOST_NUMBER, 1 }, { HOST_OPEN, 1 },
		{ HOST_OPEN, 2 }, { HOST_WRITE, 1 },  { HOST_MAP, 1 },
	};
	char *memory = take_own();

	(void)argument;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		host_refuse(refusals[i].thing, refusals[i].nth);
		CHILD_EXPECT(share(memory, PAGES * PAGE) < 0);
		CHILD_EXPECT(host_may());
		expect_own(memory, PAGES * PAGE);
	}
	expect_shared(share(memory, PAGES * PAGE), memory, PAGES * PAGE);
}

TEST(memory, is_left_alone_where_the_host_refuses_and_shared_when_it_does_not)
{
	EXPECT_CHILD_OK(is_refused, NULL);
}

/* What is not understood of the host's list is no memory. */
static void reads_nonsense(void *argument)
{
	static const char *const lists[] = {
		"nonsense\n",
		"10000\n",
		"10000-\n",
		"10000-40000 r\n",
		"10000-40000 rw-p 0",
		"10000-40000 rw-p 00000000 00:00",
		"20000-40000 rw-p 00000000 00:00 0 \n",
		"1000-10000 rw-p 00000000 00:00 0 \n",
	};

	(void)argument;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		host.maps = lists[i];
		CHILD_EXPECT(share((char *)0x10000, PAGE) < 0);
	}
}

TEST(memory, that_the_host_does_not_list_as_one_expects_is_none)
{
	EXPECT_CHILD_OK(reads_nonsense, NULL);
}

TEST_MAIN("thunk/remote_memory")
