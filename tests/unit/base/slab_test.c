/* SPDX-License-Identifier: MIT */
/*
 * slab_test.c - blocks that are known by their address.
 */
#include "base/slab.h"
#include "base/thread.h"
#include "support/test.h"

enum { SHELF = 5, OTHER_SHELF = SLAB_SIZES + 5, BLOCKS = 3000 };

TEST(slab, a_new_block_is_zeroed_and_aligned)
{
	for (unsigned shelf = 1; shelf < SLAB_SIZES; shelf++) {
		uint8_t *block = slab_carve(shelf);

		EXPECT(block);
		EXPECT_EQ((uintptr_t)block % SLAB_STEP, 0);
		for (size_t i = 0; i < slab_block_bytes(shelf); i++)
			EXPECT_EQ(block[i], 0);
		slab_return(shelf, block);
	}
}

TEST(slab, every_block_of_every_size_is_found_at_its_first_byte_only)
{
	for (unsigned shelf = 1; shelf < SLAB_SHELVES; shelf++) {
		size_t block_bytes = slab_block_bytes(shelf);
		if (block_bytes == 0)
			continue;
		for (int i = 0; i < 10; i++) {
			char *block = slab_carve(shelf);
			EXPECT_EQ(slab_shelf_at(block), shelf);
			for (size_t at = 1; at < block_bytes; at++)
				EXPECT_EQ(slab_shelf_at(block + at), SLAB_NO_SHELF);
		}
	}
}

static void count_block(void *context, void *block)
{
	unsigned *found = context;

	if (slab_shelf_at(block) != SHELF)
		abort();
	(*found)++;
}

TEST(slab, many_blocks_are_apart_from_each_other_and_all_are_visited)
{
	static uint64_t *blocks[BLOCKS];
	unsigned found = 0;

	for (uint64_t i = 0; i < BLOCKS; i++) {
		blocks[i] = slab_carve(SHELF);
		EXPECT(blocks[i]);
		for (size_t word = 0; word < slab_block_bytes(SHELF) / sizeof(uint64_t); word++)
			blocks[i][word] = i;
	}
	for (uint64_t i = 0; i < BLOCKS; i++) {
		for (size_t word = 0; word < slab_block_bytes(SHELF) / sizeof(uint64_t); word++)
			EXPECT_EQ(blocks[i][word], i);
	}
	slab_visit(SHELF, count_block, &found);
	EXPECT(found >= BLOCKS);
	for (int i = 0; i < BLOCKS; i++)
		slab_return(SHELF, blocks[i]);
}

TEST(slab, what_was_returned_is_carved_again_on_its_own_shelf)
{
	void *block = slab_carve(SHELF);

	slab_return(SHELF, block);
	void *other = slab_carve(OTHER_SHELF);
	EXPECT(other != block);
	EXPECT(slab_carve(SHELF) == block);
	slab_return(SHELF, block);
	slab_return(OTHER_SHELF, other);
}

TEST(slab, what_lies_outside_belongs_to_no_shelf)
{
	static char ours;
	char *block = slab_carve(SHELF);

	EXPECT_EQ(slab_shelf_at(NULL), SLAB_NO_SHELF);
	EXPECT_EQ(slab_shelf_at(&ours), SLAB_NO_SHELF);
	EXPECT_EQ(slab_shelf_at((void *)UINTPTR_MAX), SLAB_NO_SHELF);
	EXPECT_EQ(slab_shelf_at((void *)(slab_range.begin - 1)), SLAB_NO_SHELF);
	EXPECT_EQ(slab_shelf_at((void *)(slab_range.begin + slab_range.used_bytes)), SLAB_NO_SHELF);
	slab_return(SHELF, block);
}

enum { THREADS = 4, HELD = 100, ROUNDS = 50 };

static void carve_and_return(void *argument)
{
	uint64_t *blocks[HELD];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < HELD; i++) {
			blocks[i] = slab_carve(SHELF);
			blocks[i][1] = (uint64_t)(uintptr_t)argument;
		}
		for (int i = 0; i < HELD; i++) {
			if (blocks[i][1] != (uint64_t)(uintptr_t)argument)
				abort();
			slab_return(SHELF, blocks[i]);
		}
	}
}

TEST(slab, threads_never_get_the_same_block)
{
	struct thread *threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		EXPECT(NT_SUCCESS(
			thread_create("carve", carve_and_return, (void *)(i + 1), &threads[i])));
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
}

TEST_MAIN("base/slab")
