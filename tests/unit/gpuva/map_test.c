/* SPDX-License-Identifier: MIT */
/*
 * map_test.c - mapping memory and nothing, in place and anew; unique protections; owners.
 */
#include "world.h"

enum { SPACE_PAGES = 1 << 20 };
#define TOP PAGES(SPACE_PAGES)

WORLD_TEST(map, a_chosen_address_has_room_and_is_64k_aligned_if_that_pays, SPACE_PAGES)
{
	EXPECT_EQ(map_at(&world, 0, 0, 0, 3), STATUS_SUCCESS);
	EXPECT_EQ(world.address, PAGE);
	EXPECT_EQ(map_at(&world, 0, 0, 0, 16), STATUS_SUCCESS);
	EXPECT_EQ(world.address, K64);
	EXPECT_EQ(map_at(&world, 0, 1, 8, 12), STATUS_SUCCESS);
	EXPECT_EQ(world.address, PAGES(4));
	EXPECT_EQ(map_at(&world, 0, 1, 0, 20), STATUS_SUCCESS);
	EXPECT_EQ(world.address, 2 * K64);
}

WORLD_TEST(map, alignment_is_given_up_before_the_request_is, 40)
{
	EXPECT_EQ(map_at(&world, PAGES(20), 0, 0, 1), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, 0, 0, 0, 19), STATUS_SUCCESS);
	EXPECT_EQ(world.address, PAGES(1));
	EXPECT_REFUSED(&world, map_at(&world, 0, 0, 0, 20), STATUS_NO_MEMORY, "VA-FULL", "");
}

TEST(map, a_wished_alignment_is_kept_where_there_is_room)
{
	struct gpuva_map_request request = { .owner = &world.owners[0],
					     .page_count = 2,
					     .alignment_pages = 512 };

	world_init(&world, SPACE_PAGES);
	EXPECT_EQ(map(&world, &request), STATUS_SUCCESS);
	EXPECT_EQ(world.address, PAGES(512));
	world_finish(&world);
}

TEST(map, minimum_and_inclusive_maximum_hold)
{
	static const struct {
		uint64_t minimum;
		uint64_t maximum;
		uint64_t page_count;
		uint64_t expected;
	} rows[] = {
		{ PAGES(100), PAGES(104), 4, PAGES(100) },
		{ PAGES(100), PAGES(104) - 1, 4, PAGES(100) },
		{ PAGES(100), PAGES(103), 4, 0 },
		{ PAGES(100), PAGES(103) - 1, 4, 0 },
		{ TOP - PAGE, TOP - 1, 1, TOP - PAGE },
		{ TOP - PAGE, 0, 1, TOP - PAGE },
		{ TOP - PAGE, UINT64_MAX, 2, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gpuva_map_request request = {
			.window = { .minimum = rows[i].minimum, .maximum = rows[i].maximum },
			.owner = &world.owners[0],
			.page_count = rows[i].page_count,
		};

		world_init(&world, SPACE_PAGES);
		EXPECT_EQ(map(&world, &request),
			  rows[i].expected ? STATUS_SUCCESS : STATUS_NO_MEMORY);
		if (rows[i].expected != 0)
			EXPECT_EQ(world.address, rows[i].expected);
		world_finish(&world);
	}
}

TEST(map, wrong_numbers_are_refused_with_their_name)
{
	struct gpuva_owner *owner = &world.owners[0];
	const struct {
		struct gpuva_map_request request;
		const char *rule;
		const char *argument;
	} rows[] = {
		{ { .owner = owner }, "VA-RANGE", "SizeInPages" },
		{ { .owner = owner, .page_count = UINT64_MAX }, "VA-RANGE", "SizeInPages" },
		{ { .owner = owner, .page_count = OWNER_PAGES + 1 },
		  "VA-ALLOCATION",
		  "OffsetInPages" },
		{ { .owner = owner, .page_count = 2, .offset_pages = OWNER_PAGES - 1 },
		  "VA-ALLOCATION",
		  "OffsetInPages" },
		{ { .owner = owner, .page_count = 2, .offset_pages = UINT64_MAX },
		  "VA-ALLOCATION",
		  "OffsetInPages" },
		{ { .page_count = 1 }, "VA-ALLOCATION", "hAllocation" },
		{ { .owner = owner, .page_count = 1, .protection = GPUVA_ZERO },
		  "VA-ALLOCATION",
		  "hAllocation" },
		{ { .owner = owner, .page_count = 1, .protection = GPUVA_NO_ACCESS },
		  "VA-ALLOCATION",
		  "hAllocation" },
		{ { .owner = owner, .page_count = 1, .protection = 0x10 },
		  "VA-PROTECTION",
		  "Protection" },
		{ { .owner = owner, .page_count = 1, .protection = UINT64_C(1) << 40 },
		  "VA-PROTECTION",
		  "Protection" },
		{ { .page_count = 1, .protection = GPUVA_ZERO | GPUVA_NO_ACCESS },
		  "VA-PROTECTION",
		  "Protection" },
		{ { .page_count = 1, .protection = GPUVA_ZERO },
		  "VA-RESERVED-ONLY",
		  "BaseAddress" },
		{ { .page_count = 1, .protection = GPUVA_ZERO, .window.base = PAGE },
		  "VA-RESERVED-ONLY",
		  "BaseAddress" },
		{ { .owner = owner, .page_count = 1, .window.base = 17 },
		  "VA-ALIGNMENT",
		  "BaseAddress" },
		{ { .owner = owner, .page_count = 1, .window.base = TOP },
		  "VA-RANGE",
		  "BaseAddress" },
		{ { .owner = owner, .page_count = 2, .window.base = TOP - PAGE },
		  "VA-RANGE",
		  "BaseAddress" },
		{ { .owner = owner, .page_count = 1, .window.minimum = 1 },
		  "VA-ALIGNMENT",
		  "MinimumAddress" },
		{ { .owner = owner, .page_count = 1, .window.maximum = PAGE + 1 },
		  "VA-ALIGNMENT",
		  "MaximumAddress" },
		{ { .owner = owner, .page_count = 1, .window.maximum = PAGE },
		  "VA-LIMITS",
		  "MinimumAddress" },
	};

	world_init(&world, SPACE_PAGES);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		EXPECT_REFUSED(&world, map(&world, &rows[i].request), STATUS_INVALID_PARAMETER,
			       rows[i].rule, rows[i].argument);
		EXPECT_EQ(world.space.areas.range_count, 0);
	}
	world_finish(&world);
}

WORLD_TEST(map, in_place_is_legal_within_what_one_map_call_returned, SPACE_PAGES)
{
	EXPECT_EQ(map_at(&world, K64, 0, 0, 8), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(18), 1, 5, 3), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 15, 10), ".AABBBAAA.");
	EXPECT_EQ(shown_page(&world, 19), 6);
	EXPECT_EQ(shown_page(&world, 21), 5);
	/* Over the seams of what has become three. */
	EXPECT_EQ(map_at(&world, PAGES(17), 2, 0, 5), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 15, 10), ".ACCCCCAA.");
	/* Back as it was: one range again. */
	EXPECT_EQ(map_at(&world, PAGES(17), 0, 1, 5), STATUS_SUCCESS);
	EXPECT_EQ(world.space.areas.range_count, 1);
	EXPECT_EQ(world.owners[0].range_count, 1);
	EXPECT_EQ(free_range(&world, K64, PAGES(8)), STATUS_SUCCESS);
}

WORLD_TEST(map, what_is_partly_free_or_two_calls_is_refused, SPACE_PAGES)
{
	EXPECT_EQ(map_at(&world, K64, 0, 0, 8), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(24), 0, 8, 8), STATUS_SUCCESS);
	EXPECT_EQ(world.space.areas.range_count, 2); /* two calls stay two ranges */
	for (uint64_t first = 14; first <= 30; first++) {
		bool is_legal = first == 16 || (first >= 24 && first <= 24);

		EXPECT_EQ(map_at(&world, PAGES(first), 1, 0, 8),
			  is_legal ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER);
	}
	EXPECT_REFUSED(&world, map_at(&world, PAGES(15), 1, 0, 2), STATUS_INVALID_PARAMETER,
		       "VA-ONE-RANGE", "BaseAddress");
	EXPECT_REFUSED(&world, map_at(&world, PAGES(31), 1, 0, 2), STATUS_INVALID_PARAMETER,
		       "VA-ONE-RANGE", "BaseAddress");
	EXPECT_EQ(reserve_at(&world, 2 * K64, K64, false), STATUS_SUCCESS);
	EXPECT_REFUSED(&world, map_at(&world, PAGES(31), 1, 0, 2), STATUS_INVALID_PARAMETER,
		       "VA-ONE-RANGE", "BaseAddress");
	EXPECT_REFUSED(&world, map_at(&world, PAGES(47), 1, 0, 2), STATUS_INVALID_PARAMETER,
		       "VA-ONE-RANGE", "BaseAddress");
}

WORLD_TEST(map, zero_and_no_access_are_for_reservations_only, SPACE_PAGES)
{
	EXPECT_EQ(map_at(&world, K64, 0, 0, 16), STATUS_SUCCESS);
	EXPECT_REFUSED(&world, map_bare(&world, K64, 1, GPUVA_NO_ACCESS), STATUS_INVALID_PARAMETER,
		       "VA-RESERVED-ONLY", "BaseAddress");
	EXPECT_EQ(reserve_at(&world, 2 * K64, K64, true), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(34), 1, 0, 6), STATUS_SUCCESS);
	EXPECT_EQ(map_bare(&world, PAGES(35), 2, GPUVA_NO_ACCESS), STATUS_SUCCESS);
	EXPECT_EQ(map_bare(&world, PAGES(38), 1, GPUVA_ZERO), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 32, 10), "00b--b0b00");
	/* What shows the reservation itself is not written down. */
	EXPECT_EQ(map_bare(&world, PAGES(32), 16, GPUVA_ZERO), STATUS_SUCCESS);
	EXPECT_EQ(world.space.pieces.range_count, 0);
}

TEST(map, a_drivers_range_is_mapped_only_when_it_said_so)
{
	const uint64_t table = PAGES(512);
	struct gpuva_reserve_request request = { .size_bytes = table, .is_from_driver = true };

	world_init(&world, SPACE_PAGES);
	EXPECT_EQ(reserve(&world, &request), STATUS_SUCCESS);
	EXPECT_REFUSED(&world, map_at(&world, table, 0, 0, 1), STATUS_INVALID_PARAMETER,
		       "VA-DRIVER", "BaseAddress");
	request.may_client_map = true;
	EXPECT_EQ(reserve(&world, &request), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, 2 * table, 0, 0, 1), STATUS_SUCCESS);
	world_finish(&world);
}

WORLD_TEST(map, pieces_of_two_reservations_never_become_one, SPACE_PAGES)
{
	EXPECT_EQ(reserve_at(&world, K64, K64, true), STATUS_SUCCESS);
	EXPECT_EQ(reserve_at(&world, 2 * K64, K64, true), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(28), 0, 0, 4), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(32), 0, 4, 4), STATUS_SUCCESS);
	EXPECT_EQ(world.space.pieces.range_count, 2);
	EXPECT_EQ(map_at(&world, PAGES(36), 0, 8, 4), STATUS_SUCCESS);
	EXPECT_EQ(world.space.pieces.range_count, 2);
	EXPECT_EQ(free_range(&world, 2 * K64, K64), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 28, 5), "aaaa.");
}

/* Unique driver protection. */

static NTSTATUS map_protected(uint64_t base, uint64_t offset, uint64_t count, uint64_t protection)
{
	return map(&world, &(struct gpuva_map_request){
				   .window.base = base,
				   .owner = &world.owners[0],
				   .offset_pages = offset,
				   .page_count = count,
				   .driver_protection = protection,
			   });
}

WORLD_TEST(unique, any_mix_is_fine_without_bit_63, SPACE_PAGES)
{
	EXPECT_EQ(map_protected(0, 0, 8, 1), STATUS_SUCCESS);
	EXPECT_EQ(map_protected(0, 0, 8, 2), STATUS_SUCCESS);
	EXPECT_EQ(map_protected(0, 4, 8, 0), STATUS_SUCCESS);
}

WORLD_TEST(unique, all_mappings_of_the_same_pages_have_the_same_value, SPACE_PAGES)
{
	EXPECT_EQ(map_protected(0, 4, 8, GPUVA_UNIQUE | 5), STATUS_SUCCESS);
	EXPECT_EQ(map_protected(0, 8, 8, GPUVA_UNIQUE | 5), STATUS_SUCCESS);
	EXPECT_REFUSED(&world, map_protected(0, 15, 2, GPUVA_UNIQUE | 6), STATUS_INVALID_PARAMETER,
		       "VA-UNIQUE", "DriverProtection");
	EXPECT_REFUSED(&world, map_protected(0, 0, 5, 0), STATUS_INVALID_PARAMETER, "VA-UNIQUE",
		       "DriverProtection");
	EXPECT_EQ(map_protected(0, 0, 4, 0), STATUS_SUCCESS);
	EXPECT_EQ(map_protected(0, 16, 4, GPUVA_UNIQUE | 6), STATUS_SUCCESS);
	/* A plain one is there first. */
	EXPECT_REFUSED(&world, map_protected(0, 3, 1, GPUVA_UNIQUE | 5), STATUS_INVALID_PARAMETER,
		       "VA-UNIQUE", "DriverProtection");
}

WORLD_TEST(unique, it_changes_by_way_of_no_access, SPACE_PAGES)
{
	EXPECT_EQ(reserve_at(&world, K64, K64, false), STATUS_SUCCESS);
	EXPECT_EQ(map_protected(K64, 0, 8, GPUVA_UNIQUE | 5), STATUS_SUCCESS);
	EXPECT_REFUSED(&world, map_protected(K64, 0, 8, GPUVA_UNIQUE | 6), STATUS_INVALID_PARAMETER,
		       "VA-UNIQUE", "DriverProtection");
	EXPECT_EQ(map_bare(&world, K64, 8, GPUVA_NO_ACCESS), STATUS_SUCCESS);
	EXPECT_EQ(map_protected(K64, 0, 8, GPUVA_UNIQUE | 6), STATUS_SUCCESS);
}

TEST(unique, runs_share_memory_where_their_pages_do_also_around_a_repetition)
{
	static const struct {
		struct gpuva_state a; /* offset, period, phase */
		uint64_t a_pages;
		struct gpuva_state b;
		uint64_t b_pages;
		bool shares;
	} rows[] = {
		{ { .offset_pages = 4 }, 4, { .offset_pages = 8 }, 4, false },
		{ { .offset_pages = 4 }, 5, { .offset_pages = 8 }, 4, true },
		{ { .offset_pages = 12 }, 1, { .offset_pages = 8 }, 4, false },
		/* Pages 10 to 13 again and again. */
		{ { .offset_pages = 10, .period_pages = 4 }, 8, { .offset_pages = 13 }, 1, true },
		{ { .offset_pages = 10, .period_pages = 4 }, 8, { .offset_pages = 14 }, 1, false },
		{ { .offset_pages = 10, .period_pages = 4 }, 2, { .offset_pages = 12 }, 2, false },
		/* From its third page on: 12, 13, 10. */
		{ { .offset_pages = 10, .period_pages = 4, .phase_pages = 2 },
		  3,
		  { .offset_pages = 10 },
		  1,
		  true },
		{ { .offset_pages = 10, .period_pages = 4, .phase_pages = 2 },
		  3,
		  { .offset_pages = 11 },
		  1,
		  false },
		{ { .offset_pages = 10, .period_pages = 4, .phase_pages = 2 },
		  2,
		  { .offset_pages = 10 },
		  2,
		  false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gpuva_state a = rows[i].a;
		struct gpuva_state b = rows[i].b;

		a.kind = b.kind = GPUVA_KIND_MAPPED;
		a.owner = b.owner = &world.owners[0];
		EXPECT_EQ(gpuva_state_shares_memory(&a, rows[i].a_pages, &b, rows[i].b_pages),
			  rows[i].shares);
		EXPECT_EQ(gpuva_state_shares_memory(&b, rows[i].b_pages, &a, rows[i].a_pages),
			  rows[i].shares);
		b.owner = &world.owners[1];
		EXPECT(!gpuva_state_shares_memory(&a, rows[i].a_pages, &b, rows[i].b_pages));
	}
}

/* Owners. */

WORLD_TEST(owner, what_a_map_call_took_is_free_when_its_memory_goes, SPACE_PAGES)
{
	EXPECT_EQ(map_at(&world, K64, 0, 0, 8), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(18), 1, 0, 2), STATUS_SUCCESS);
	EXPECT_EQ(reserve_at(&world, 2 * K64, K64, true), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(34), 0, 0, 4), STATUS_SUCCESS);
	EXPECT_EQ(map_bare(&world, PAGES(38), 1, GPUVA_NO_ACCESS), STATUS_SUCCESS);
	EXPECT_EQ(world.owners[0].range_count, 3);
	drop_owner(&world, &world.owners[0]);
	EXPECT_STR(shows(&world, 16, 8), "..BB....");
	EXPECT_STR(shows(&world, 32, 8), "000000-0");
	EXPECT_EQ(world.steps[0].state.kind, GPUVA_KIND_ZERO);
	EXPECT_EQ(world.owners[0].range_count, 0);
	/* A later free of the same range is an error. */
	EXPECT_REFUSED(&world, free_range(&world, K64, PAGES(8)), STATUS_INVALID_PARAMETER,
		       "VA-NOT-THERE", "BaseAddress");
}

WORLD_TEST(owner, its_list_has_its_ranges_and_no_others, SPACE_PAGES)
{
	struct list *link;
	uint64_t pages = 0;

	for (uint64_t i = 0; i < 10; i++) {
		EXPECT_EQ(map_at(&world, 0, 0, i, 2), STATUS_SUCCESS);
		EXPECT_EQ(map_at(&world, 0, 1, i, 2), STATUS_SUCCESS);
	}
	list_for_each (link, &world.owners[1].ranges) {
		EXPECT(range_of_owner_link(link)->state.owner == &world.owners[1]);
		pages += range_of_owner_link(link)->page_count;
	}
	EXPECT_EQ(pages, 20);
}

enum { CHUNK_RANGES = 62, REQUESTS = 5 };

/* One of five requests that need storage, some of them for two ranges. */
static NTSTATUS plan_request(int which, struct gpuva_plan *plan)
{
	struct gpuva_map_request maps[] = {
		{ .owner = &world.owners[0], .page_count = 16 },
		{ .owner = &world.owners[1], .page_count = 4, .window.base = PAGES(6 * 16 + 4) },
		{ .page_count = 2, .window.base = PAGES(5 * 16), .protection = GPUVA_NO_ACCESS },
	};

	switch (which) {
	case 0:
		return gpuva_plan_reserve(
			&world.space, &(struct gpuva_reserve_request){ .size_bytes = K64 }, plan);
	case 1:
		return gpuva_plan_free(&world.space, 5 * K64 + PAGE, PAGE, false, plan);
	default:
		return gpuva_plan_map(&world.space, &maps[which - 2], plan);
	}
}

/* ---- what no client asked for ---- */

static NTSTATUS map_for_kernel(uint64_t base, uint64_t pages)
{
	return map(&world, &(struct gpuva_map_request){ .window.base = base,
							.owner = &world.owners[0],
							.page_count = pages,
							.protection = GPUVA_WRITE,
							.is_from_kernel = true });
}

WORLD_TEST(kernel, maps_near_the_top_where_there_is_room_and_anywhere_else, SPACE_PAGES)
{
	EXPECT_EQ(map_for_kernel(0, 1), STATUS_SUCCESS);
	EXPECT_EQ(world.address, PAGES(SPACE_PAGES - SPACE_PAGES / 8));
	while (world.address >= PAGES(SPACE_PAGES - SPACE_PAGES / 8))
		EXPECT_EQ(map_for_kernel(0, OWNER_PAGES), STATUS_SUCCESS);
	EXPECT(world.address < PAGES(SPACE_PAGES - SPACE_PAGES / 8));
}

WORLD_TEST(kernel, maps_at_a_base_that_is_free_and_at_no_other, SPACE_PAGES)
{
	EXPECT_EQ(map_at(&world, 6 * K64, 0, 0, 16), STATUS_SUCCESS);
	EXPECT_EQ(reserve_at(&world, 8 * K64, K64, true), STATUS_SUCCESS);
	EXPECT_EQ(map_for_kernel(6 * K64, 1), STATUS_INVALID_PARAMETER);
	EXPECT_STR(world.refusal.rule, "VA-IN-USE");
	EXPECT_EQ(map_for_kernel(8 * K64, 1), STATUS_INVALID_PARAMETER);
	EXPECT_STR(world.refusal.rule, "VA-IN-USE");
	EXPECT_EQ(map_for_kernel(7 * K64 + PAGE, 16), STATUS_INVALID_PARAMETER);
	EXPECT_STR(world.refusal.rule, "VA-IN-USE");
	EXPECT_EQ(map_for_kernel(7 * K64, 16), STATUS_SUCCESS);
	EXPECT_EQ(world.address, 7 * K64);
}

WORLD_TEST(kernel, what_it_mapped_no_client_frees_or_maps_over, SPACE_PAGES)
{
	EXPECT_EQ(map_for_kernel(7 * K64, 16), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, 7 * K64, 1, 0, 1), STATUS_INVALID_PARAMETER);
	EXPECT_STR(world.refusal.rule, "VA-DRIVER");
	EXPECT_EQ(free_range(&world, 7 * K64, K64), STATUS_INVALID_PARAMETER);
	EXPECT_STR(world.refusal.rule, "VA-DRIVER");
	EXPECT_EQ(reserve_at(&world, 7 * K64, K64, true), STATUS_INVALID_PARAMETER);
	drop_owner(&world, &world.owners[0]);
	EXPECT_EQ(reserve_at(&world, 7 * K64, K64, true), STATUS_SUCCESS);
}

/* Whether it fails because there is no new chunk, and `left` ranges in those that are there. */
static bool fails_without_memory(int which, uint64_t left)
{
	struct gpuva_plan plan;
	NTSTATUS status;
	uint64_t areas;
	bool has_failed;

	world_init(&world, SPACE_PAGES);
	EXPECT_EQ(reserve_at(&world, 5 * K64, K64, true), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, 6 * K64, 0, 0, 16), STATUS_SUCCESS);
	while ((world.space.pool.taken_count + left) % CHUNK_RANGES != 0)
		EXPECT_EQ(map_at(&world, 0, 2, 0, 1), STATUS_SUCCESS);
	areas = world.space.areas.range_count;
	mem_fail_nth(1);
	status = plan_request(which, &plan);
	has_failed = mem_fail_stop();
	EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
	EXPECT_EQ(world.space.areas.range_count, areas);
	world_take(&world, &plan, status);
	if (has_failed)
		EXPECT_STR(world.refusal.rule, "API-NO-MEMORY");
	world_finish(&world);
	return has_failed;
}

TEST(memory, every_request_survives_that_there_is_none)
{
	for (int which = 0; which < REQUESTS; which++) {
		bool takes_two = which == 1 || which >= 3;

		EXPECT(fails_without_memory(which, 0));
		EXPECT_EQ(fails_without_memory(which, 1), takes_two);
		EXPECT(!fails_without_memory(which, 2));
	}
}

TEST_MAIN("gpuva/map")
