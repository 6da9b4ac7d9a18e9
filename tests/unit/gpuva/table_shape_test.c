/* SPDX-License-Identifier: MIT */
/*
 * table_shape_test.c - addresses, levels and entries in every shape from two levels to six.
 */
#include "base/refusal.h"
#include "gpuva/table_shape.h"
#include "support/test.h"

static const struct gpuva_shape_answer two_levels = {
	.address_bits = 32,
	.level_count = 2,
	.levels = { { 10, 16384 }, { 10, 16384 } },
};

static const struct gpuva_shape_answer shapes[] = {
	{ .address_bits = 32, .level_count = 2, .levels = { { 10, 16384 }, { 10, 16384 } } },
	{ .address_bits = 40, .level_count = 2, .levels = { { 9, 4096 }, { 0, 0 } } },
	{ .address_bits = 40, .level_count = 2, .levels = { { 9, 4096 }, { 9, 4096 } } },
	{ .address_bits = 39,
	  .level_count = 3,
	  .levels = { { 9, 4096 }, { 9, 4096 }, { 9, 4096 } } },
	{ .address_bits = 48,
	  .level_count = 4,
	  .levels = { { 9, 4096 }, { 9, 4096 }, { 9, 4096 }, { 9, 4096 } } },
	{ .address_bits = 47,
	  .level_count = 4,
	  .levels = { { 11, 4096 }, { 8, 4096 }, { 13, 65536 }, { 3, 4096 } } },
	{ .address_bits = 57,
	  .level_count = 5,
	  .levels = { { 9, 4096 }, { 9, 4096 }, { 9, 4096 }, { 9, 4096 }, { 9, 4096 } } },
	{ .address_bits = 64,
	  .level_count = 6,
	  .levels = { { 9, 4096 },
		      { 9, 4096 },
		      { 9, 4096 },
		      { 9, 4096 },
		      { 8, 4096 },
		      { 8, 4096 } } },
};

TEST(shape, all_that_miniports_describe_are_taken)
{
	struct gpuva_shape shape;

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		EXPECT_EQ(gpuva_shape_init(&shape, &shapes[i]), STATUS_SUCCESS);
		EXPECT_EQ(shape.page_count, UINT64_C(1) << (shapes[i].address_bits - 12));
		EXPECT_EQ(gpuva_shape_entry_pages(&shape, 0), 1);
		EXPECT_EQ(gpuva_shape_table_pages(&shape, gpuva_shape_root(&shape)),
			  shape.page_count);
		EXPECT_EQ(shape.has_growing_root, shapes[i].level_count == 2);
		for (uint32_t level = 1; level < shapes[i].level_count; level++)
			EXPECT_EQ(gpuva_shape_entry_pages(&shape, level),
				  gpuva_shape_table_pages(&shape, level - 1));
	}
}

TEST(shape, what_cannot_be_is_refused_with_a_reason)
{
	static const struct {
		uint32_t address_bits;
		uint32_t level_count;
		struct gpuva_level leaf;
		struct gpuva_level root;
		uint32_t leaf_table_64k_bytes;
		const char *rule;
	} rows[] = {
		{ 32, 1, { 10, 4096 }, { 10, 4096 }, 0, "DDI-MMU-LEVELS" },
		{ 32, 7, { 10, 4096 }, { 10, 4096 }, 0, "DDI-MMU-LEVELS" },
		{ 31, 2, { 10, 4096 }, { 10, 4096 }, 0, "DDI-MMU-BITS" },
		{ 22, 2, { 10, 4096 }, { 0, 0 }, 0, "DDI-MMU-BITS" },
		{ 32, 2, { 0, 4096 }, { 20, 4096 }, 0, "DDI-MMU-BITS" },
		{ 65, 2, { 33, 4096 }, { 20, 4096 }, 0, "DDI-MMU-BITS" },
		{ 32, 2, { 10, 4000 }, { 10, 4096 }, 0, "DDI-MMU-TABLE" },
		{ 32, 2, { 10, 0 }, { 10, 4096 }, 0, "DDI-MMU-TABLE" },
		{ 32, 2, { 10, 4096 }, { 10, 4096 }, 100, "DDI-MMU-TABLE" },
		{ 25, 2, { 3, 4096 }, { 10, 4096 }, 4096, "DDI-MMU-BITS" },
	};
	struct gpuva_shape shape;
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };
	struct gpuva_shape_answer answer;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		answer = two_levels;
		answer.address_bits = rows[i].address_bits;
		answer.level_count = rows[i].level_count;
		answer.levels[0] = rows[i].leaf;
		answer.levels[1] = rows[i].root;
		answer.leaf_table_64k_bytes = rows[i].leaf_table_64k_bytes;
		EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_INVALID_PARAMETER);
		EXPECT(refusal_last(&refusal));
		EXPECT_STR(refusal.rule, rows[i].rule);
	}
}

TEST(shape, a_page_is_the_sum_of_its_indices)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct gpuva_shape shape;

		EXPECT_EQ(gpuva_shape_init(&shape, &shapes[i]), STATUS_SUCCESS);
		for (uint64_t k = 0; k < 1000; k++) {
			uint64_t page =
				k == 999 ? shape.page_count - 1
					 : k * UINT64_C(0x9E3779B97F4A7C15) % shape.page_count;
			uint64_t sum = 0;

			for (uint32_t level = 0; level < shapes[i].level_count; level++) {
				struct gpuva_entry place = gpuva_shape_entry(&shape, level, page);

				EXPECT(place.entry < gpuva_shape_entry_count(&shape, level));
				EXPECT_EQ(place.table,
					  page / gpuva_shape_table_pages(&shape, level));
				sum += place.entry * gpuva_shape_entry_pages(&shape, level);
				/* A table hangs in the entry of that number. */
				if (level > 0)
					EXPECT_EQ(gpuva_shape_entry(&shape, level - 1, page).table,
						  place.table * gpuva_shape_entry_count(&shape,
											level) +
							  place.entry);
			}
			EXPECT_EQ(sum, page);
		}
	}
}

TEST(shape, four_levels_of_nine_bits_split_an_address_as_everybody_knows)
{
	struct gpuva_shape shape;
	uint64_t page = ((UINT64_C(5) << 27) | (7 << 18) | (300 << 9) | 511);

	EXPECT_EQ(gpuva_shape_init(&shape, &shapes[4]), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_shape_entry(&shape, 3, page).entry, 5);
	EXPECT_EQ(gpuva_shape_entry(&shape, 2, page).entry, 7);
	EXPECT_EQ(gpuva_shape_entry(&shape, 1, page).entry, 300);
	EXPECT_EQ(gpuva_shape_entry(&shape, 0, page).entry, 511);
	EXPECT_EQ(gpuva_shape_entry(&shape, 3, page).table, 0);
}

TEST(shape, a_growing_root_has_entries_for_what_is_used)
{
	struct gpuva_shape shape;

	EXPECT_EQ(gpuva_shape_init(&shape, &shapes[1]), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_shape_root_entries(&shape, 0), 0);
	EXPECT_EQ(gpuva_shape_root_entries(&shape, 1), 1);
	EXPECT_EQ(gpuva_shape_root_entries(&shape, 512), 1);
	EXPECT_EQ(gpuva_shape_root_entries(&shape, 513), 2);
	EXPECT_EQ(gpuva_shape_root_entries(&shape, shape.page_count),
		  gpuva_shape_entry_count(&shape, 1));
}

TEST(shape, both_sides_of_a_64k_page_are_aligned)
{
	struct gpuva_shape_answer answer = two_levels;
	struct gpuva_shape shape;

	EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_SUCCESS);
	EXPECT(!gpuva_shape_fits_64k(&shape, &(struct gpuva_run){ 16, 16, 16 }));
	answer.leaf_table_64k_bytes = 4096;
	EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_SUCCESS);
	EXPECT(gpuva_shape_fits_64k(&shape, &(struct gpuva_run){ 16, 16, 16 }));
	EXPECT(gpuva_shape_fits_64k(&shape, &(struct gpuva_run){ 32, 64, 0 }));
	EXPECT(!gpuva_shape_fits_64k(&shape, &(struct gpuva_run){ 17, 16, 17 }));
	EXPECT(!gpuva_shape_fits_64k(&shape, &(struct gpuva_run){ 16, 17, 16 }));
	EXPECT(!gpuva_shape_fits_64k(&shape, &(struct gpuva_run){ 16, 16, 8 }));
	EXPECT(!gpuva_shape_fits_64k(&shape, &(struct gpuva_run){ 16, 0, 16 }));
}

TEST(shape, a_large_page_is_an_entry_above_the_leaf)
{
	struct gpuva_shape_answer answer = shapes[4];
	struct gpuva_shape shape;
	const uint64_t gib = UINT64_C(1) << 18;

	EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ 512, 512, 512 }), 0);
	answer.has_large_pages = true;
	EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ 512, 512, 512 }), 1);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ 512, 511, 512 }), 0);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ 511, 512, 512 }), 0);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ 512, 512, 513 }), 0);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ gib, gib, 2 * gib }), 2);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ gib, gib, 512 }), 1);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ gib, gib - 1, gib }), 1);
	answer.has_unaligned_large_pages = true;
	EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ 512, 512, 513 }), 1);
	EXPECT_EQ(gpuva_shape_large_level(&shape, &(struct gpuva_run){ 511, 512, 512 }), 0);
}

TEST(large, what_fills_a_large_page_is_best_where_the_largest_of_those_begins)
{
	struct gpuva_shape_answer answer = shapes[4];
	struct gpuva_shape shape;

	EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_shape_best_alignment(&shape, UINT64_C(1) << 20), 0);
	answer.has_large_pages = true;
	EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_shape_best_alignment(&shape, 511), 0);
	EXPECT_EQ(gpuva_shape_best_alignment(&shape, 512), 512);
	EXPECT_EQ(gpuva_shape_best_alignment(&shape, (1 << 18) - 1), 512);
	EXPECT_EQ(gpuva_shape_best_alignment(&shape, 1 << 18), 1 << 18);

	/* Smaller ones can be pages of 64 KiB. */
	answer.leaf_table_64k_bytes = 4096;
	EXPECT_EQ(gpuva_shape_init(&shape, &answer), STATUS_SUCCESS);
	EXPECT_EQ(gpuva_shape_best_alignment(&shape, 15), 0);
	EXPECT_EQ(gpuva_shape_best_alignment(&shape, 16), 16);
	EXPECT_EQ(gpuva_shape_best_alignment(&shape, 512), 512);
	EXPECT_EQ(gpuva_shape_wide_count(&shape), 32);
}

TEST_MAIN("gpuva/table_shape")
