/* SPDX-License-Identifier: MIT */
/*
 * space_test.c - reserving and freeing: alignment, limits, splitting, room.
 */
#include "world.h"

enum { SPACE_PAGES = 1 << 20 }; /* 32 bits of address */
#define TOP PAGES(SPACE_PAGES)

WORLD_TEST(reserve, a_chosen_address_is_64k_aligned_and_not_zero, SPACE_PAGES)
{
	for (uint64_t i = 1; i <= 5; i++) {
		EXPECT_EQ(reserve_at(&world, 0, K64, false), STATUS_SUCCESS);
		EXPECT_EQ(world.address, i * K64);
	}
}

WORLD_TEST(reserve, a_base_is_honoured_exactly_or_refused, SPACE_PAGES)
{
	EXPECT_EQ(reserve_at(&world, 7 * K64, 2 * K64, false), STATUS_SUCCESS);
	EXPECT_EQ(world.address, 7 * K64);
	for (uint64_t base = 6; base <= 8; base++) {
		EXPECT_REFUSED(&world, reserve_at(&world, base * K64, 2 * K64, false),
			       STATUS_INVALID_PARAMETER, "VA-IN-USE", "BaseAddress");
	}
	EXPECT_EQ(reserve_at(&world, 5 * K64, 2 * K64, false), STATUS_SUCCESS);
	EXPECT_EQ(reserve_at(&world, 9 * K64, 2 * K64, false), STATUS_SUCCESS);
}

TEST(reserve, wrong_numbers_are_refused_with_their_name)
{
	static const struct {
		struct gpuva_reserve_request request;
		const char *rule;
		const char *argument;
	} rows[] = {
		{ { .size_bytes = 0 }, "VA-RANGE", "Size" },
		{ { .size_bytes = PAGE }, "VA-ALIGNMENT", "Size" },
		{ { .size_bytes = K64 + 1 }, "VA-ALIGNMENT", "Size" },
		{ { .size_bytes = TOP + K64 }, "VA-RANGE", "Size" },
		{ { .size_bytes = UINT64_MAX - K64 + 1 }, "VA-RANGE", "Size" },
		{ { .size_bytes = K64, .window.base = PAGE }, "VA-ALIGNMENT", "BaseAddress" },
		{ { .size_bytes = K64, .window.base = 3 * K64 + 1 },
		  "VA-ALIGNMENT",
		  "BaseAddress" },
		{ { .size_bytes = K64, .window.base = TOP }, "VA-RANGE", "BaseAddress" },
		{ { .size_bytes = 2 * K64, .window.base = TOP - K64 }, "VA-RANGE", "BaseAddress" },
		{ { .size_bytes = K64, .window.base = UINT64_MAX - K64 + 1 },
		  "VA-RANGE",
		  "BaseAddress" },
		{ { .size_bytes = K64, .window.minimum = PAGE }, "VA-ALIGNMENT", "MinimumAddress" },
		{ { .size_bytes = K64, .window.maximum = 8 * K64 + PAGE },
		  "VA-ALIGNMENT",
		  "MaximumAddress" },
		{ { .size_bytes = K64, .window.maximum = 8 * K64 - 2 },
		  "VA-ALIGNMENT",
		  "MaximumAddress" },
		{ { .size_bytes = K64, .window = { .minimum = 8 * K64, .maximum = 8 * K64 } },
		  "VA-LIMITS",
		  "MinimumAddress" },
		{ { .size_bytes = K64, .window = { .minimum = 9 * K64, .maximum = 8 * K64 - 1 } },
		  "VA-LIMITS",
		  "MinimumAddress" },
		{ { .size_bytes = K64, .window.minimum = TOP }, "VA-LIMITS", "MinimumAddress" },
	};

	world_init(&world, SPACE_PAGES);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		EXPECT_REFUSED(&world, reserve(&world, &rows[i].request), STATUS_INVALID_PARAMETER,
			       rows[i].rule, rows[i].argument);
		EXPECT_EQ(world.space.areas.range_count, 0);
	}
	world_finish(&world);
}

TEST(reserve, minimum_and_maximum_hold_a_last_byte_counts_as_one)
{
	static const struct {
		uint64_t minimum;
		uint64_t maximum;
		uint64_t size_bytes;
		uint64_t expected; /* 0: no room */
	} rows[] = {
		{ 4 * K64, 0, K64, 4 * K64 },
		{ 4 * K64, 5 * K64, K64, 4 * K64 },
		{ 4 * K64, 5 * K64 - 1, K64, 4 * K64 },
		{ 4 * K64, 5 * K64, 2 * K64, 0 },
		{ 4 * K64, 6 * K64 - 1, 2 * K64, 4 * K64 },
		{ 4 * K64, 6 * K64 - PAGE - 1, 2 * K64, 0 },
		{ TOP - K64, 0, K64, TOP - K64 },
		{ TOP - K64, TOP - 1, K64, TOP - K64 },
		{ TOP - K64, TOP, K64, TOP - K64 },
		{ TOP - K64, UINT64_MAX, K64, TOP - K64 },
		{ 0, 0, TOP, 0 }, /* page 0 is never handed out */
		{ 0, 0, TOP - K64, K64 },
		{ 0, K64, K64, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gpuva_reserve_request request = {
			.window = { .minimum = rows[i].minimum, .maximum = rows[i].maximum },
			.size_bytes = rows[i].size_bytes,
		};

		world_init(&world, SPACE_PAGES);
		if (rows[i].expected != 0) {
			EXPECT_EQ(reserve(&world, &request), STATUS_SUCCESS);
			EXPECT_EQ(world.address, rows[i].expected);
		} else {
			EXPECT_REFUSED(&world, reserve(&world, &request), STATUS_NO_MEMORY,
				       "VA-FULL", "");
		}
		world_finish(&world);
	}
}

TEST(reserve, minimum_and_maximum_do_not_count_with_a_base)
{
	struct gpuva_reserve_request request = {
		.window = { .base = 2 * K64, .minimum = 4 * K64 + 1, .maximum = 17 },
		.size_bytes = K64,
	};

	world_init(&world, SPACE_PAGES);
	EXPECT_EQ(reserve(&world, &request), STATUS_SUCCESS);
	EXPECT_EQ(world.address, 2 * K64);
	world_finish(&world);
}

TEST(reserve, the_plan_says_what_the_pages_will_show)
{
	struct gpuva_reserve_request request = {
		.size_bytes = 3 * K64,
		.is_zero = true,
		.driver_protection = 0x77,
	};

	world_init(&world, SPACE_PAGES);
	EXPECT_EQ(reserve(&world, &request), STATUS_SUCCESS);
	EXPECT_EQ(world.step_count, 1);
	EXPECT_EQ(world.steps[0].first_page, 16);
	EXPECT_EQ(world.steps[0].page_count, 48);
	EXPECT_EQ(world.steps[0].state.kind, GPUVA_KIND_ZERO);
	EXPECT_EQ(world.steps[0].state.driver_protection, 0x77);
	EXPECT_STR(shows(&world, 14, 4), "..00");
	world_finish(&world);
}

TEST(reserve, very_large_ranges_are_one_range)
{
	world_init(&world, UINT64_C(1) << 45); /* 57 bits of address */
	EXPECT_EQ(reserve_at(&world, 0x200000, (UINT64_C(1) << 46), false), STATUS_SUCCESS);
	EXPECT_EQ(world.space.areas.range_count, 1);
	EXPECT_EQ(world.space.pool.chunk_count, 1);
	/* A client that was refused asks for any 64 KiB inside, and wants that refused as well. */
	EXPECT_EQ(reserve(&world,
			  &(struct gpuva_reserve_request){
				  .window = { .minimum = 0x200000, .maximum = UINT64_C(1) << 46 },
				  .size_bytes = K64 }),
		  STATUS_NO_MEMORY);
	EXPECT_EQ(free_range(&world, 0x200000, (UINT64_C(1) << 46)), STATUS_SUCCESS);
	world_finish(&world);
}

TEST(reserve, a_space_of_64_bits_works_to_its_end)
{
	world_init(&world, UINT64_C(1) << 52);
	EXPECT_EQ(reserve_at(&world, UINT64_MAX - K64 + 1, K64, false), STATUS_SUCCESS);
	EXPECT_EQ(reserve(&world,
			  &(struct gpuva_reserve_request){ .window.minimum = UINT64_MAX - K64 + 1,
							   .size_bytes = K64 }),
		  STATUS_NO_MEMORY);
	EXPECT_EQ(free_range(&world, UINT64_MAX - PAGE + 1, PAGE), STATUS_SUCCESS);
	world_finish(&world);
}

TEST(reserve, a_driver_reserves_whole_tables_but_the_first)
{
	const uint64_t table = PAGES(512);
	struct gpuva_reserve_request request = { .size_bytes = table, .is_from_driver = true };
	struct gpuva_plan plan;

	world_init(&world, SPACE_PAGES);
	EXPECT_EQ(reserve(&world, &request), STATUS_SUCCESS);
	EXPECT_EQ(world.address, table);
	request.driver_alignment_bytes = 8 * table;
	EXPECT_EQ(reserve(&world, &request), STATUS_SUCCESS);
	EXPECT_EQ(world.address, 8 * table);
	request.driver_alignment_bytes = 3 * table;
	EXPECT_REFUSED(&world, reserve(&world, &request), STATUS_INVALID_PARAMETER, "VA-ALIGNMENT",
		       "Alignment");
	request.driver_alignment_bytes = 0;
	request.size_bytes = K64;
	EXPECT_REFUSED(&world, reserve(&world, &request), STATUS_INVALID_PARAMETER, "VA-ALIGNMENT",
		       "Size");
	request.size_bytes = table;
	request.window.base = 3 * table + K64;
	EXPECT_REFUSED(&world, reserve(&world, &request), STATUS_INVALID_PARAMETER, "VA-ALIGNMENT",
		       "BaseAddress");

	/* Neither frees what the other reserved. */
	EXPECT_REFUSED(&world, free_range(&world, table, table), STATUS_INVALID_PARAMETER,
		       "VA-DRIVER", "BaseAddress");
	EXPECT_EQ(reserve_at(&world, 2 * table, table, false), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_plan_free(&world.space, 2 * table, table, true, &plan),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(
		world_take(&world, &plan, gpuva_plan_free(&world.space, table, table, true, &plan)),
		STATUS_SUCCESS);
	world_finish(&world);
}

WORLD_TEST(free, all_of_a_reservation_can_be_had_again, SPACE_PAGES)
{
	EXPECT_EQ(reserve_at(&world, K64, 4 * K64, true), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, 2 * K64, 0, 0, 8), STATUS_SUCCESS);
	EXPECT_EQ(free_range(&world, K64, 4 * K64), STATUS_SUCCESS);
	EXPECT_EQ(world.step_count, 1);
	EXPECT_EQ(world.steps[0].page_count, 64);
	EXPECT_EQ(world.steps[0].state.kind, GPUVA_KIND_FREE);
	EXPECT_EQ(world.space.areas.range_count, 0);
	EXPECT_EQ(world.space.pieces.range_count, 0);
	EXPECT_EQ(reserve_at(&world, K64, 4 * K64, false), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 32, 2), "--");
}

WORLD_TEST(free, a_part_of_a_reservation_splits_it, SPACE_PAGES)
{
	EXPECT_EQ(reserve_at(&world, K64, 3 * K64, false), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(28), 1, 0, 8), STATUS_SUCCESS);
	EXPECT_EQ(free_range(&world, PAGES(30), PAGES(2)), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 27, 11), "-bb..bbbb--");
	EXPECT_EQ(shown_page(&world, 32), 4);
	EXPECT_EQ(world.space.areas.range_count, 2);
	EXPECT_EQ(world.owners[1].range_count, 2);
	/* The rest of both halves is still good for something. */
	EXPECT_EQ(map_bare(&world, PAGES(32), 2, GPUVA_ZERO), STATUS_SUCCESS);
	EXPECT_EQ(free_range(&world, K64, PAGES(14)), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 27, 11), ".....00bb--");
}

TEST(free, a_part_of_a_mapping_splits_it)
{
	static const struct {
		uint64_t first;
		uint64_t count;
		const char *left;
	} rows[] = {
		{ 16, 8, "........" },
		{ 16, 3, "...AAAAA" },
		{ 21, 3, "AAAAA..." },
		{ 18, 3, "AA...AAA" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_init(&world, SPACE_PAGES);
		EXPECT_EQ(map_at(&world, K64, 0, 10, 8), STATUS_SUCCESS);
		EXPECT_EQ(free_range(&world, PAGES(rows[i].first), PAGES(rows[i].count)),
			  STATUS_SUCCESS);
		EXPECT_STR(shows(&world, 16, 8), rows[i].left);
		for (uint64_t page = 16; page < 24; page++) {
			if (rows[i].left[page - 16] == 'A')
				EXPECT_EQ(shown_page(&world, page), page - 6);
		}
		world_finish(&world);
	}
}

WORLD_TEST(free, what_is_not_there_is_refused, SPACE_PAGES)
{
	EXPECT_EQ(reserve_at(&world, 4 * K64, 2 * K64, false), STATUS_SUCCESS);
	EXPECT_EQ(reserve_at(&world, 6 * K64, 2 * K64, false), STATUS_SUCCESS);
	EXPECT_REFUSED(&world, free_range(&world, K64, K64), STATUS_INVALID_PARAMETER,
		       "VA-NOT-THERE", "BaseAddress");
	EXPECT_REFUSED(&world, free_range(&world, 3 * K64, 2 * K64), STATUS_INVALID_PARAMETER,
		       "VA-NOT-THERE", "BaseAddress");
	EXPECT_REFUSED(&world, free_range(&world, 7 * K64, 2 * K64), STATUS_INVALID_PARAMETER,
		       "VA-ONE-RANGE", "BaseAddress");
	EXPECT_REFUSED(&world, free_range(&world, 5 * K64, 2 * K64), STATUS_INVALID_PARAMETER,
		       "VA-ONE-RANGE", "BaseAddress");
	EXPECT_REFUSED(&world, free_range(&world, 5 * K64, 0), STATUS_INVALID_PARAMETER, "VA-RANGE",
		       "Size");
	EXPECT_REFUSED(&world, free_range(&world, 5 * K64 + 1, PAGE), STATUS_INVALID_PARAMETER,
		       "VA-ALIGNMENT", "BaseAddress");
	EXPECT_REFUSED(&world, free_range(&world, 5 * K64, 1), STATUS_INVALID_PARAMETER,
		       "VA-ALIGNMENT", "Size");
	EXPECT_REFUSED(&world, free_range(&world, 0, PAGE), STATUS_INVALID_PARAMETER, "VA-RANGE",
		       "BaseAddress");
	EXPECT_EQ(free_range(&world, 4 * K64, 2 * K64), STATUS_SUCCESS);
	EXPECT_REFUSED(&world, free_range(&world, 4 * K64, 2 * K64), STATUS_INVALID_PARAMETER,
		       "VA-NOT-THERE", "BaseAddress");
}

WORLD_TEST(plan, one_that_is_not_applied_changes_nothing, SPACE_PAGES)
{
	struct gpuva_plan plan;

	EXPECT_EQ(map_at(&world, K64, 0, 0, 8), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_plan_free(&world.space, PAGES(18), PAGES(2), false, &plan), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 16, 8), "AAAAAAAA");
	gpuva_plan_finish(&plan);
	EXPECT_STR(shows(&world, 16, 8), "AAAAAAAA");
}

WORLD_TEST(gaps, many_that_are_not_aligned_do_not_hide_one_that_is, SPACE_PAGES)
{
	/* 16 pages free at 8 modulo 16, again and again; then an aligned hole. */
	for (uint64_t i = 1; i <= 40; i++)
		EXPECT_EQ(map_at(&world, PAGES(32 * i - 8), 0, 0, 16), STATUS_SUCCESS);
	EXPECT_EQ(reserve(&world, &(struct gpuva_reserve_request){ .window.maximum = PAGES(40 * 32),
								   .size_bytes = K64 }),
		  STATUS_NO_MEMORY);
	EXPECT_EQ(free_range(&world, PAGES(32 * 30 - 8), PAGES(16)), STATUS_SUCCESS);
	EXPECT_EQ(reserve(&world, &(struct gpuva_reserve_request){ .window.maximum = PAGES(40 * 32),
								   .size_bytes = K64 }),
		  STATUS_SUCCESS);
	EXPECT_EQ(world.address, PAGES(32 * 30 - 16));
}

WORLD_TEST(pool, chunks_come_and_go_with_what_is_in_them, SPACE_PAGES)
{
	enum { COUNT = 1000 };

	for (uint64_t i = 1; i <= COUNT; i++)
		EXPECT_EQ(map_at(&world, 2 * i * PAGE, 0, 0, 1), STATUS_SUCCESS);
	EXPECT(world.space.pool.chunk_count >= COUNT / 100);
	for (uint64_t i = 1; i <= COUNT; i++)
		EXPECT_EQ(free_range(&world, 2 * i * PAGE, PAGE), STATUS_SUCCESS);
	EXPECT_EQ(world.space.pool.chunk_count, 1);
}

TEST_MAIN("gpuva/space")
