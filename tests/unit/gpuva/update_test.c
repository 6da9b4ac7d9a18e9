/* SPDX-License-Identifier: MIT */
/*
 * update_test.c - batches of operations on a reservation: order, copies, repetition, all or
 * nothing.
 */
#include "world.h"
#include "support/failing.h"

enum { SPACE_PAGES = 1 << 20 };

/* Two reservations of zero pages, 16 pages each, and a gap. */
static void world_with_reservations(void)
{
	world_init(&world, SPACE_PAGES);
	EXPECT_EQ(reserve_at(&world, K64, K64, true), STATUS_SUCCESS);
	EXPECT_EQ(reserve_at(&world, 3 * K64, K64, true), STATUS_SUCCESS);
}

#define RESERVED_TEST(suite, claim)                                                                \
	TEST_BETWEEN(world_with_reservations(), world_finish(&world), suite, claim)

static struct gpuva_operation map_op(uint64_t page, uint64_t count, int owner, uint64_t offset)
{
	return (struct gpuva_operation){
		.kind = GPUVA_OPERATION_MAP,
		.base = PAGES(page),
		.size_bytes = PAGES(count),
		.owner = &world.owners[owner],
		.offset_bytes = PAGES(offset),
	};
}

static struct gpuva_operation unmap_op(uint64_t page, uint64_t count, uint64_t protection)
{
	return (struct gpuva_operation){
		.kind = GPUVA_OPERATION_UNMAP,
		.base = PAGES(page),
		.size_bytes = PAGES(count),
		.protection = protection,
	};
}

static struct gpuva_operation copy_op(uint64_t source, uint64_t page, uint64_t count)
{
	return (struct gpuva_operation){
		.kind = GPUVA_OPERATION_COPY,
		.base = PAGES(page),
		.size_bytes = PAGES(count),
		.source_base = PAGES(source),
	};
}

#define UPDATE(...)                                                                                \
	update(&world, (struct gpuva_operation[]){ __VA_ARGS__ },                                  \
	       sizeof((struct gpuva_operation[]){ __VA_ARGS__ }) / sizeof(struct gpuva_operation))

RESERVED_TEST(update, operations_apply_in_order)
{
	EXPECT_EQ(UPDATE(map_op(16, 8, 0, 0), map_op(18, 3, 1, 0), unmap_op(19, 4, GPUVA_NO_ACCESS),
			 map_op(20, 1, 2, 5)),
		  STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 16, 16), "aab-c--a00000000");
	EXPECT_EQ(shown_page(&world, 20), 5);
	EXPECT_EQ(shown_page(&world, 23), 7);
	/* The net result, in ascending order. */
	EXPECT_EQ(world.step_count, 6);
	for (size_t i = 1; i < world.step_count; i++)
		EXPECT_EQ(world.steps[i].first_page,
			  world.steps[i - 1].first_page + world.steps[i - 1].page_count);
}

RESERVED_TEST(update, no_operations_are_a_plan_without_steps)
{
	EXPECT_EQ(update(&world, NULL, 0), STATUS_SUCCESS);
	EXPECT_EQ(world.step_count, 0);
}

TEST(update, map_writes_and_inherits_the_driver_protection_map_protect_says_both)
{
	struct gpuva_operation protect = map_op(17, 1, 0, 1);
	struct gpuva_view view;

	world_init(&world, SPACE_PAGES);
	EXPECT_EQ(reserve(&world, &(struct gpuva_reserve_request){ .window.base = K64,
								   .size_bytes = K64,
								   .is_zero = true,
								   .driver_protection = 0x42 }),
		  STATUS_SUCCESS);
	protect.kind = GPUVA_OPERATION_MAP_PROTECT;
	protect.protection = GPUVA_EXECUTE;
	protect.driver_protection = 0x99;
	EXPECT_EQ(UPDATE(map_op(16, 1, 0, 0), protect, unmap_op(18, 1, GPUVA_NO_ACCESS)),
		  STATUS_SUCCESS);
	gpuva_space_look(&world.space, 16, &view);
	EXPECT_EQ(view.state.protection, GPUVA_WRITE);
	EXPECT_EQ(view.state.driver_protection, 0x42);
	gpuva_space_look(&world.space, 17, &view);
	EXPECT_EQ(view.state.protection, GPUVA_EXECUTE);
	EXPECT_EQ(view.state.driver_protection, 0x99);
	/* Back to zero pages is back to the reservation. */
	EXPECT_EQ(UPDATE(unmap_op(16, 3, GPUVA_ZERO)), STATUS_SUCCESS);
	EXPECT_EQ(world.space.pieces.range_count, 0);
	EXPECT_EQ(world.steps[0].state.driver_protection, 0x42);
	world_finish(&world);
}

TEST(update, a_copy_moves_as_memmove_does)
{
	static const struct {
		uint64_t source;
		uint64_t destination;
		uint64_t count;
		const char *result;
	} rows[] = {
		{ 16, 18, 6, "abababcc00000000" },  { 18, 16, 6, "abcc000000000000" },
		{ 16, 24, 8, "ababcc00ababcc00" },  { 16, 16, 8, "ababcc0000000000" },
		{ 17, 16, 15, "babcc00000000000" }, { 16, 17, 15, "aababcc000000000" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		world_with_reservations();
		EXPECT_EQ(UPDATE(map_op(16, 1, 0, 0), map_op(17, 1, 1, 1), map_op(18, 1, 0, 2),
				 map_op(19, 1, 1, 3), map_op(20, 2, 2, 4)),
			  STATUS_SUCCESS);
		EXPECT_EQ(UPDATE(copy_op(rows[i].source, rows[i].destination, rows[i].count)),
			  STATUS_SUCCESS);
		EXPECT_STR(shows(&world, 16, 16), rows[i].result);
		world_finish(&world);
	}
}

RESERVED_TEST(update, a_copy_reads_what_came_before_it_in_the_same_call)
{
	EXPECT_EQ(UPDATE(map_op(16, 2, 0, 0), map_op(50, 2, 1, 0)), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(UPDATE(map_op(16, 2, 0, 0), copy_op(16, 18, 2), copy_op(16, 20, 4),
			 map_op(16, 1, 1, 7), copy_op(16, 24, 8)),
		  STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 16, 16), "baaaaaaabaaaaaaa");
	EXPECT_EQ(shown_page(&world, 24), 7);
	EXPECT_EQ(shown_page(&world, 31), 1);
}

RESERVED_TEST(update, a_copy_may_come_from_another_reservation_of_any_kind)
{
	EXPECT_EQ(reserve_at(&world, 5 * K64, K64, false), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(82), 2, 9, 4), STATUS_SUCCESS);
	EXPECT_EQ(UPDATE(copy_op(81, 17, 6)), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 16, 9), "0-cccc-00");
	EXPECT_EQ(shown_page(&world, 21), 12);
	EXPECT_REFUSED(&world, UPDATE(copy_op(80, 16, 1), copy_op(48, 17, 1)),
		       STATUS_INVALID_PARAMETER, "VA-ONE-RESERVATION", "Operations");
	EXPECT_EQ(world.refusal.index, 1);
}

TEST(update, memory_repeats_where_it_is_said)
{
	struct gpuva_operation tile = map_op(16, 12, 0, 10);

	world_with_reservations();
	tile.repeat_bytes = PAGES(4);
	EXPECT_EQ(UPDATE(tile), STATUS_SUCCESS);
	EXPECT_EQ(world.step_count, 1);
	EXPECT_EQ(world.space.pieces.range_count, 1);
	for (uint64_t page = 16; page < 28; page++)
		EXPECT_EQ(shown_page(&world, page), 10 + page % 4);
	/* Cut anywhere, the rest repeats as before. */
	EXPECT_EQ(UPDATE(unmap_op(21, 1, GPUVA_ZERO), copy_op(22, 29, 3)), STATUS_SUCCESS);
	EXPECT_STR(shows(&world, 16, 16), "aaaaa0aaaaaa0aaa");
	for (uint64_t page = 22; page < 28; page++)
		EXPECT_EQ(shown_page(&world, page), 10 + page % 4);
	for (uint64_t page = 29; page < 32; page++)
		EXPECT_EQ(shown_page(&world, page), 10 + (page - 7) % 4);
	world_finish(&world);
}

TEST(update, one_page_repeats_over_a_huge_reservation_as_one_range)
{
	const uint64_t size = UINT64_C(1) << 46;
	struct gpuva_operation tile = { .base = K64, .size_bytes = size, .repeat_bytes = PAGE };

	world_init(&world, UINT64_C(1) << 45);
	tile.owner = &world.owners[0];
	EXPECT_EQ(reserve_at(&world, K64, size, true), STATUS_SUCCESS);
	EXPECT_EQ(UPDATE(tile), STATUS_SUCCESS);
	EXPECT_EQ(world.space.pieces.range_count, 1);
	world_finish(&world);
}

TEST(update, wrong_operations_are_refused_with_their_number_and_change_nothing)
{
	struct gpuva_operation good;
	struct gpuva_operation bad[20];
	const char *rules[20];
	size_t count = 0;

#define BAD(operation, rule_id)                                                                    \
	do {                                                                                       \
		bad[count] = (operation);                                                          \
		rules[count++] = (rule_id);                                                        \
	} while (0)
	world_with_reservations();
	EXPECT_EQ(reserve_at(&world, 5 * K64, K64, false), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, 7 * K64, 0, 0, 16), STATUS_SUCCESS);
	EXPECT_EQ(map_at(&world, PAGES(17), 2, 3, 2), STATUS_SUCCESS);
	good = map_op(16, 1, 0, 0);

	BAD(map_op(16, 0, 0, 0), "VA-RANGE");
	BAD(map_op(16, UINT64_C(1) << 40, 0, 0), "VA-RANGE");
	BAD(map_op(31, 2, 0, 0), "VA-ONE-RANGE");
	BAD(map_op(48, 1, 0, 0), "VA-ONE-RESERVATION");
	BAD(map_op(100, 1, 0, 0), "VA-RESERVED-ONLY"); /* free */
	BAD(map_op(112, 1, 0, 0), "VA-RESERVED-ONLY"); /* from a map call */
	BAD(map_op(16, 2, 0, OWNER_PAGES - 1), "VA-ALLOCATION");
	BAD(map_op(16, 1, 0, UINT64_C(1) << 50), "VA-ALLOCATION");
	BAD(map_op(16, 1, 0, 0), "VA-ALLOCATION");
	bad[count - 1].owner = NULL;
	BAD(map_op(16, 1, 0, 0), "VA-ALIGNMENT");
	bad[count - 1].offset_bytes = 1;
	BAD(map_op(16, 1, 0, 0), "VA-ALIGNMENT");
	bad[count - 1].base++;
	BAD(map_op(16, 4, 0, 0), "VA-REPEAT");
	bad[count - 1].repeat_bytes = PAGES(3);
	BAD(map_op(16, 4, 0, 0), "VA-ALIGNMENT");
	bad[count - 1].repeat_bytes = 2;
	BAD(map_op(16, 4, 0, OWNER_PAGES - 1), "VA-ALLOCATION");
	bad[count - 1].repeat_bytes = PAGES(2);
	BAD(unmap_op(16, 1, 0), "VA-PROTECTION");
	BAD(unmap_op(16, 1, GPUVA_WRITE), "VA-PROTECTION");
	BAD(copy_op(112, 16, 1), "VA-RESERVED-ONLY");
	BAD(copy_op(31, 16, 2), "VA-ONE-RANGE");
	BAD(map_op(16, 1, 0, 0), "VA-PROTECTION");
	bad[count - 1].kind = GPUVA_OPERATION_MAP_PROTECT;
	bad[count - 1].protection = GPUVA_ZERO;
	BAD(map_op(16, 1, 0, 0), "API-VALUE");
	bad[count - 1].kind = (enum gpuva_operation_kind)4;
#undef BAD
	for (size_t i = 0; i < count; i++) {
		EXPECT_REFUSED(&world, UPDATE(good, good, bad[i]), STATUS_INVALID_PARAMETER,
			       rules[i], "Operations");
		EXPECT_EQ(world.refusal.index, 2);
		EXPECT_STR(shows(&world, 16, 4), "0cc0");
	}
	EXPECT_REFUSED(&world, UPDATE(map_op(80, 1, 0, 0)), STATUS_INVALID_PARAMETER,
		       "VA-UPDATE-ZERO", "Operations");
	world_finish(&world);
}

TEST(update, a_unique_driver_protection_changes_by_way_of_no_access_in_one_call)
{
	struct gpuva_operation first = map_op(16, 4, 0, 0);
	struct gpuva_operation second = map_op(16, 4, 0, 0);

	world_with_reservations();
	first.kind = second.kind = GPUVA_OPERATION_MAP_PROTECT;
	first.driver_protection = GPUVA_UNIQUE | 1;
	second.driver_protection = GPUVA_UNIQUE | 2;
	EXPECT_REFUSED(&world, UPDATE(first, second), STATUS_INVALID_PARAMETER, "VA-UNIQUE",
		       "Operations");
	EXPECT_EQ(world.refusal.index, 1);
	EXPECT_EQ(UPDATE(first), STATUS_SUCCESS);
	EXPECT_REFUSED(&world, UPDATE(second), STATUS_INVALID_PARAMETER, "VA-UNIQUE", "Operations");
	/* Unmapping half of it is not enough. */
	EXPECT_REFUSED(&world, UPDATE(unmap_op(16, 2, GPUVA_NO_ACCESS), second),
		       STATUS_INVALID_PARAMETER, "VA-UNIQUE", "Operations");
	EXPECT_EQ(UPDATE(unmap_op(16, 4, GPUVA_NO_ACCESS), second), STATUS_SUCCESS);
	/* A copy shows the same memory with the same value. */
	EXPECT_EQ(UPDATE(copy_op(16, 24, 4)), STATUS_SUCCESS);
	EXPECT_EQ(world.owners[0].unique_count, 2);
	world_finish(&world);
}

RESERVED_TEST(update, adjacent_pages_of_the_same_memory_become_one_range)
{
	EXPECT_EQ(UPDATE(map_op(16, 1, 0, 0), map_op(18, 1, 0, 2), map_op(17, 1, 0, 1)),
		  STATUS_SUCCESS);
	EXPECT_EQ(world.step_count, 1);
	EXPECT_EQ(UPDATE(map_op(19, 1, 0, 3)), STATUS_SUCCESS);
	EXPECT_EQ(world.space.pieces.range_count, 1);
	EXPECT_EQ(world.owners[0].range_count, 1);
}

TEST(update, a_plan_tells_whether_the_addresses_were_freed_and_taken_again)
{
	struct gpuva_operation operation = map_op(16, 2, 0, 0);
	struct gpuva_plan first;
	struct gpuva_plan again;

	world_with_reservations();
	EXPECT_EQ(gpuva_plan_update(&world.space, &operation, 1, &first), STATUS_SUCCESS);
	gpuva_plan_finish(&first);
	EXPECT_EQ(map_at(&world, PAGES(20), 1, 0, 1), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_plan_update(&world.space, &operation, 1, &again), STATUS_SUCCESS);
	EXPECT_EQ(again.source, first.source);
	gpuva_plan_finish(&again);
	EXPECT_EQ(free_range(&world, K64, K64), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_plan_update(&world.space, &operation, 1, &again), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(reserve_at(&world, K64, K64, true), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_plan_update(&world.space, &operation, 1, &again), STATUS_SUCCESS);
	EXPECT(again.source != first.source);
	gpuva_plan_finish(&again);
	world_finish(&world);
}

TEST(update, it_survives_that_there_is_no_memory)
{
	struct gpuva_operation operations[80];

	EACH_FAILURE (failing, 4) {
		struct gpuva_plan plan;
		NTSTATUS status;

		world_init(&world, SPACE_PAGES);
		EXPECT_EQ(reserve_at(&world, K64, 64 * K64, true), STATUS_SUCCESS);
		/* Every second page, and then all of it once more. */
		for (size_t i = 0; i < 79; i++)
			operations[i] = map_op(16 + 2 * i, 1, (int)(i % 3), i % OWNER_PAGES);
		operations[79] = copy_op(16, 300, 200);
		failing_start(&failing);
		status = gpuva_plan_update(&world.space, operations, 80, &plan);
		bool has_failed = failing_stop(&failing);
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT_EQ(world.space.pieces.range_count, 0);
		world_take(&world, &plan, status);
		if (has_failed)
			EXPECT_STR(world.refusal.rule, "API-NO-MEMORY");
		else
			EXPECT_EQ(world.space.pieces.range_count, 2 * 79);
		world_finish(&world);
	}
}

TEST_MAIN("gpuva/update")
