/* SPDX-License-Identifier: MIT */
/*
 * mem_test.c - counted memory.
 */
#include "base/clock.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/thread.h"
#include "support/test.h"
#include "child.h"

static int64_t blocks_since(struct mem_usage before)
{
	return mem_usage().blocks - before.blocks;
}

TEST(mem, every_block_is_counted_until_it_is_freed)
{
	struct mem_usage before = mem_usage();
	void *a = mem_alloc(100);
	char *b = mem_zalloc(1000);
	char *c = mem_strdup("text");
	char *d = mem_printf("%s %d", "number", 5);

	EXPECT_EQ(blocks_since(before), 4);
	EXPECT(mem_usage().bytes - before.bytes >= 100 + 1000 + 5 + 9);
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(b[i], 0);
	EXPECT_STR(c, "text");
	EXPECT_STR(d, "number 5");
	mem_free(a);
	mem_free(b);
	mem_free(c);
	mem_free(d);
	mem_free(NULL);
	EXPECT_EQ(blocks_since(before), 0);
	EXPECT_EQ(mem_usage().bytes, before.bytes);
}

TEST(mem, nothing_is_something_too)
{
	void *memory = mem_alloc(0);
	void *zeroed = mem_zalloc(0);

	EXPECT(memory);
	EXPECT(zeroed && zeroed != memory);
	mem_free(memory);
	mem_free(zeroed);
}

TEST(mem, an_array_that_is_too_large_is_refused)
{
	struct mem_usage before = mem_usage();

	EXPECT(mem_zalloc_array(SIZE_MAX / 2, 3) == NULL);
	EXPECT(mem_zalloc_array(UINT64_C(1) << 32, UINT64_C(1) << 32) == NULL);
	EXPECT_EQ(blocks_since(before), 0);
	uint32_t *array = mem_zalloc_array(100, sizeof(*array));
	EXPECT(array);
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(array[i], 0);
	mem_free(array);
	EXPECT_EQ(blocks_since(before), 0);
}

TEST(mem, growing_keeps_the_contents_and_the_count)
{
	struct mem_usage before = mem_usage();
	char *memory = mem_realloc(NULL, 10);

	memcpy(memory, "123456789", 10);
	memory = mem_realloc(memory, 100000);
	EXPECT_STR(memory, "123456789");
	EXPECT_EQ(blocks_since(before), 1);
	EXPECT(mem_usage().bytes - before.bytes >= 100000);
	memory = mem_realloc(memory, 10);
	EXPECT_STR(memory, "123456789");
	mem_free(memory);
	EXPECT_EQ(blocks_since(before), 0);
	EXPECT_EQ(mem_usage().bytes, before.bytes);
}

TEST(mem, growing_that_fails_leaves_the_block_as_it_was)
{
	struct mem_usage before = mem_usage();
	char *memory = mem_strdup("here");

	mem_fail_nth(1);
	EXPECT(mem_realloc(memory, 1000) == NULL);
	EXPECT(mem_fail_stop());
	EXPECT_STR(memory, "here");
	EXPECT_EQ(blocks_since(before), 1);
	mem_free(memory);
	EXPECT_EQ(blocks_since(before), 0);
	EXPECT_EQ(mem_usage().bytes, before.bytes);
}

TEST(mem, exactly_the_nth_allocation_fails)
{
	for (uint64_t n = 1; n <= 6; n++) {
		void *blocks[6];
		mem_fail_nth(n);
		blocks[0] = mem_alloc(1);
		blocks[1] = mem_zalloc(1);
		blocks[2] = mem_zalloc_array(1, 1);
		blocks[3] = mem_strdup("x");
		blocks[4] = mem_printf("x");
		blocks[5] = mem_realloc(NULL, 1);
		EXPECT(mem_fail_stop());
		for (uint64_t i = 0; i < 6; i++) {
			EXPECT_EQ(blocks[i] == NULL, i + 1 == n);
			mem_free(blocks[i]);
		}
	}
}

TEST(mem, a_failure_that_was_not_reached_is_told_and_forgotten)
{
	mem_fail_nth(2);
	void *memory = mem_alloc(1);
	EXPECT(memory);
	EXPECT(!mem_fail_stop());
	mem_free(memory);
	memory = mem_alloc(1);
	EXPECT(memory);
	mem_free(memory);
	EXPECT(!mem_fail_stop());
}

enum { THREADS = 4, ROUNDS = 5000 };
static _Atomic uint32_t failures;
static _Atomic uint32_t may_start;

static void allocate(void *argument)
{
	(void)argument;
	while (!may_start)
		thread_wait(&may_start, 0, CLOCK_FOREVER);
	for (size_t i = 0; i < ROUNDS; i++) {
		void *memory = mem_alloc(i % 200);
		if (!memory)
			failures++;
		void *moved = mem_realloc(memory, i % 300);
		if (!moved)
			failures++;
		mem_free(moved ? moved : memory);
	}
}

TEST(mem, counts_are_right_after_many_threads)
{
	struct mem_usage before = mem_usage();
	struct thread *threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		EXPECT(NT_SUCCESS(thread_create("mem", allocate, NULL, &threads[i])));
	mem_fail_nth(1000);
	may_start = 1;
	thread_wake_all(&may_start);
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	EXPECT(mem_fail_stop());
	EXPECT_EQ(failures, 1);
	EXPECT_EQ(blocks_since(before), 0);
	EXPECT_EQ(mem_usage().bytes, before.bytes);
}

/* ---- small blocks at hand ---- */

enum { LARGER = MEM_KNOWN_MAX_BYTES + 1 };

TEST(mem_take, is_counted_like_all_memory)
{
	struct mem_usage before = mem_usage();
	void *small = mem_take(100);
	void *large = mem_take(LARGER);
	void *nothing = mem_take(0);

	EXPECT(small && large && nothing);
	memset(small, 1, 100);
	memset(large, 1, LARGER);
	EXPECT_EQ(blocks_since(before), 3);
	EXPECT(mem_usage().bytes - before.bytes >= 100 + LARGER);
	mem_give(small, 100);
	mem_give(large, LARGER);
	mem_give(nothing, 0);
	EXPECT_EQ(blocks_since(before), 0);
	EXPECT_EQ(mem_usage().bytes, before.bytes);
}

TEST(mem_take, fails_on_demand_with_blocks_at_hand_too)
{
	void *memory = mem_take(64);

	mem_give(memory, 64);
	for (int is_known = 0; is_known < 2; is_known++) {
		mem_fail_nth(2);
		void *first = is_known ? mem_take_known(64) : mem_take(64);
		void *second = is_known ? mem_take_known(64) : mem_take(64);
		EXPECT(first);
		EXPECT(!second);
		EXPECT(mem_fail_stop());
		if (is_known)
			mem_give_known(first, 64);
		else
			mem_give(first, 64);
	}
}

TEST(mem_take, no_two_blocks_overlap)
{
	enum { BLOCKS = 300 };
	struct mem_usage before = mem_usage();
	uint8_t *blocks[BLOCKS];

	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = mem_take(1 + i * 2);
		EXPECT(blocks[i]);
		EXPECT_EQ((uintptr_t)blocks[i] % 16, 0);
		memset(blocks[i], (int)(i % 251), 1 + i * 2);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		for (size_t at = 0; at < 1 + i * 2; at++)
			EXPECT_EQ(blocks[i][at], i % 251);
		mem_give(blocks[i], 1 + i * 2);
	}
	EXPECT_EQ(blocks_since(before), 0);
	EXPECT_EQ(mem_usage().bytes, before.bytes);
}

/* Blocks go from the threads that take them to those that give them back. */
enum { PLACES = 64 };
static void *_Atomic places[PLACES];

static void take_and_give_others(void *argument)
{
	uint32_t chance = (uint32_t)(uintptr_t)argument + 1;

	for (int i = 0; i < ROUNDS; i++) {
		chance = chance * 1664525 + 1013904223;
		uint32_t place = chance >> 26;
		size_t size_bytes = 16 + place * 8;
		uint64_t *mine = mem_take(size_bytes);
		if (!mine)
			abort();
		*mine = place;
		uint64_t *other = atomic_exchange(&places[place], mine);
		if (other && *other != place)
			abort();
		if (other)
			mem_give(other, size_bytes);
	}
}

static void hand_blocks_round(void)
{
	struct mem_usage before = mem_usage();
	struct thread *threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++) {
		if (!NT_SUCCESS(
			    thread_create("take", take_and_give_others, (void *)i, &threads[i])))
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	for (uint32_t i = 0; i < PLACES; i++) {
		void *left = atomic_exchange(&places[i], NULL);
		if (left)
			mem_give(left, 16 + i * 8);
	}
	if (mem_usage().blocks != before.blocks || mem_usage().bytes != before.bytes)
		abort();
}

TEST(mem_take, any_thread_may_give_back_what_another_took)
{
	hand_blocks_round();
	hand_blocks_round(); /* with the stocks of threads that ended */
}

TEST(mem_take, works_in_seeded_runs)
{
	for (uint64_t seed = 0; seed < 3; seed++)
		EXPECT_SEEDED_OK(seed, hand_blocks_round);
}

static void take_in_child(void *argument)
{
	void *blocks[100];

	for (int i = 0; i < 100; i++) {
		blocks[i] = mem_take(48);
		CHILD_EXPECT(blocks[i]);
	}
	for (int i = 0; i < 100; i++)
		mem_give(blocks[i], 48);
	mem_give(argument, 48);
}

static _Atomic bool is_over;

static void take_until_over(void *argument)
{
	void *blocks[40];

	(void)argument;
	while (!is_over) {
		for (int i = 0; i < 40; i++)
			blocks[i] = mem_take(48);
		for (int i = 0; i < 40; i++)
			mem_give(blocks[i], 48);
	}
}

TEST(mem_take, a_child_of_fork_goes_on_whatever_other_threads_were_doing)
{
	struct child_result result;
	struct thread *thread;
	void *inherited = mem_take(48);

	is_over = false;
	EXPECT(NT_SUCCESS(thread_create("take", take_until_over, NULL, &thread)));
	for (int i = 0; i < 50; i++) {
		child_run(&result, take_in_child, inherited);
		EXPECT_EQ(result.exit_status, 0);
	}
	is_over = true;
	thread_join(thread);
	mem_give(inherited, 48);
}

TEST(mem_take_known, a_block_is_known_by_its_first_address_alone)
{
	char *memory = mem_take_known(100);
	int local;

	EXPECT(mem_is_known(memory));
	EXPECT(!mem_is_known(memory + 1));
	EXPECT(!mem_is_known(memory + 16));
	EXPECT(!mem_is_known(&local));
	EXPECT(!mem_is_known(NULL));
	EXPECT(!mem_is_known((void *)(uintptr_t)8));
	mem_give_known(memory, 100);
	EXPECT(mem_is_known(memory));
}

#if MEM_KEEPS
TEST(mem_take_known, a_plain_block_is_not_known)
{
	void *plain = mem_take(100);

	EXPECT(!mem_is_known(plain));
	mem_give(plain, 100);
}
#endif

TEST(mem_take_known, what_was_given_back_stays_readable_but_for_its_first_word)
{
	uint64_t *memory = mem_take_known(64);

	memory[0] = 1;
	memory[1] = 2;
	memory[7] = 3;
	mem_give_known(memory, 64);
	EXPECT_EQ(memory[1], 2);
	EXPECT_EQ(memory[7], 3);
}

struct visit {
	const void *wanted;
	unsigned found;
	unsigned blocks;
};

static void look_at(void *context, void *memory)
{
	struct visit *visit = context;

	visit->blocks++;
	if (memory == visit->wanted)
		visit->found++;
}

TEST(mem_take_known, all_blocks_are_visited_once)
{
	struct visit visit = { .wanted = mem_take_known(MEM_KNOWN_MAX_BYTES) };

	mem_visit_known(look_at, &visit);
	EXPECT_EQ(visit.found, 1);
	EXPECT(visit.blocks > 1);
	mem_give_known((void *)(uintptr_t)visit.wanted, MEM_KNOWN_MAX_BYTES);
}

/* ---- where nothing may be wanting ---- */

static void take_plain(void)
{
	mem_free(mem_alloc(1));
}

static void take_small(void)
{
	mem_give(mem_take(64), 64);
}

#ifndef NDEBUG

static void take_zeroed(void)
{
	mem_free(mem_zalloc(5000));
}

static void take_more(void)
{
	static char *text;

	text = mem_realloc(text, 10);
}

static void take_known(void)
{
	mem_give_known(mem_take_known(64), 64);
}

static void take_pages(void)
{
	uint64_t address;

	if (NT_SUCCESS(machine_alloc_contiguous(MACHINE_PAGE_BYTES, 0, 0, UINT64_MAX, 0, &address)))
		(void)!machine_free_contiguous(address);
}

static void take_where_it_is_forbidden(void *argument)
{
	void (*const *take)(void) = argument;

	(*take)(); /* from now on there is one at hand, too */
	mem_forbid();
	mem_forbid();
	mem_permit();
	(*take)();
}

TEST(mem_forbid, stops_who_takes_memory)
{
	static void (*const ways[])(void) = { take_plain, take_zeroed, take_more,
					      take_small, take_known,  take_pages };

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct child_result result;

		child_run(&result, take_where_it_is_forbidden, (void *)&ways[i]);
		EXPECT_EQ(result.signal, SIGABRT);
		EXPECT_CONTAINS(result.err, "where nothing may be wanting");
	}
}

#endif

TEST(mem_forbid, lets_who_gives_back_and_is_over_with_the_last_permission)
{
	void *memory = mem_alloc(1);
	void *small = mem_take(64);

	mem_forbid();
	mem_forbid();
	mem_free(memory);
	mem_permit();
	mem_give(small, 64);
	mem_permit();
	take_plain();
	take_small();
}

TEST_MAIN("base/mem")
