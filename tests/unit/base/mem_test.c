/*
 * mem_test.c - counted memory.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "support/test.h"

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

TEST_MAIN("base/mem")
