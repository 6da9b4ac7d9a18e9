/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/checked.h"
#include "base/refusal.h"
#include "gpuva/table_shape.h"

enum {
	OFFSET_BITS = 12,
	TABLE_UNIT_BYTES = 4096,
	PAGES_PER_64K = 16,
	MAX_INDEX_BITS = 32,
};

static NTSTATUS check_level(const struct gpuva_shape_answer *answer, uint32_t level)
{
	const struct gpuva_level *desc = &answer->levels[level];
	bool may_be_empty = answer->level_count == 2 && level == 1;

	if (desc->index_bits > MAX_INDEX_BITS || (desc->index_bits == 0 && !may_be_empty))
		return invalid_item(RULE_DDI_MMU_BITS, "levels", level, "has %u index bits",
				    desc->index_bits);
	if (!is_aligned(desc->table_bytes, TABLE_UNIT_BYTES) ||
	    (desc->table_bytes == 0 && !may_be_empty))
		return invalid_item(RULE_DDI_MMU_TABLE, "levels", level,
				    "has tables of %u bytes, which is no number of pages",
				    desc->table_bytes);
	return STATUS_SUCCESS;
}

static NTSTATUS check_levels(const struct gpuva_shape_answer *answer, uint32_t *bits_out)
{
	NTSTATUS status = STATUS_SUCCESS;
	uint32_t bits = OFFSET_BITS;

	if (answer->level_count < GPUVA_MIN_LEVELS || answer->level_count > GPUVA_MAX_LEVELS)
		return invalid(RULE_DDI_MMU_LEVELS, "level_count",
			       "is %u, page tables have %d to %d levels", answer->level_count,
			       GPUVA_MIN_LEVELS, GPUVA_MAX_LEVELS);
	if (!is_aligned(answer->leaf_table_64k_bytes, TABLE_UNIT_BYTES))
		return invalid(RULE_DDI_MMU_TABLE, "leaf_table_64k_bytes",
			       "is %u, which is no number of pages", answer->leaf_table_64k_bytes);
	for (uint32_t level = 0; level < answer->level_count && NT_SUCCESS(status); level++) {
		status = check_level(answer, level);
		bits += answer->levels[level].index_bits;
	}
	*bits_out = bits;
	return status;
}

NTSTATUS gpuva_shape_init(struct gpuva_shape *shape, const struct gpuva_shape_answer *answer)
{
	uint32_t root = answer->level_count - 1;
	uint32_t shift = 0;
	uint32_t bits = 0;
	NTSTATUS status = check_levels(answer, &bits);

	if (!NT_SUCCESS(status))
		return status;
	bool has_growing_root = answer->level_count == 2;
	if (answer->address_bits <= OFFSET_BITS || answer->address_bits > 64 ||
	    (answer->levels[root].index_bits == 0 && bits >= answer->address_bits) ||
	    (has_growing_root ? bits > answer->address_bits : bits != answer->address_bits))
		return invalid(RULE_DDI_MMU_BITS, "address_bits",
			       "is %u, and offset and levels make %u", answer->address_bits, bits);
	/* A 64 KiB page is sixteen entries of one leaf table. */
	if (answer->leaf_table_64k_bytes != 0 && answer->levels[0].index_bits < 4)
		return invalid(RULE_DDI_MMU_BITS, "leaf_table_64k_bytes",
			       "is given, and a leaf table covers less than 64 KiB");

	*shape = (struct gpuva_shape){
		.answer = *answer,
		.page_count = UINT64_C(1) << (answer->address_bits - OFFSET_BITS),
		.has_growing_root = has_growing_root,
	};
	for (uint32_t level = 0; level < answer->level_count; level++) {
		shape->entry_shift[level] = (uint8_t)shift;
		shift += answer->levels[level].index_bits;
	}
	/* What a growing root is described with is where it begins. */
	shape->entry_shift[answer->level_count] = (uint8_t)(answer->address_bits - OFFSET_BITS);
	return STATUS_SUCCESS;
}

uint64_t gpuva_shape_entry_pages(const struct gpuva_shape *shape, uint32_t level)
{
	assert(level < shape->answer.level_count);
	return UINT64_C(1) << shape->entry_shift[level];
}

uint64_t gpuva_shape_table_pages(const struct gpuva_shape *shape, uint32_t level)
{
	assert(level < shape->answer.level_count);
	return UINT64_C(1) << shape->entry_shift[level + 1];
}

uint64_t gpuva_shape_entry_count(const struct gpuva_shape *shape, uint32_t level)
{
	return gpuva_shape_table_pages(shape, level) >> shape->entry_shift[level];
}

struct gpuva_entry gpuva_shape_entry(const struct gpuva_shape *shape, uint32_t level, uint64_t page)
{
	uint64_t in_table = page & (gpuva_shape_table_pages(shape, level) - 1);

	assert(page < shape->page_count);
	return (struct gpuva_entry){
		.table = page >> shape->entry_shift[level + 1],
		.entry = in_table >> shape->entry_shift[level],
	};
}

uint64_t gpuva_shape_root_entries(const struct gpuva_shape *shape, uint64_t end_page)
{
	if (end_page == 0)
		return 0;
	return gpuva_shape_entry(shape, gpuva_shape_root(shape), end_page - 1).entry + 1;
}

bool gpuva_shape_fits_64k(const struct gpuva_shape *shape, const struct gpuva_run *run)
{
	return shape->answer.leaf_table_64k_bytes != 0 && run->page_count != 0 &&
	       is_aligned(run->page | run->page_count | run->memory_page, PAGES_PER_64K);
}

uint32_t gpuva_shape_large_level(const struct gpuva_shape *shape, const struct gpuva_run *run)
{
	uint32_t found = 0;

	if (!shape->answer.has_large_pages)
		return 0;
	for (uint32_t level = 1; level < shape->answer.level_count; level++) {
		uint64_t pages = gpuva_shape_entry_pages(shape, level);

		if (!is_aligned(run->page, pages) || run->page_count < pages)
			break;
		if (is_aligned(run->memory_page, pages) || shape->answer.has_unaligned_large_pages)
			found = level;
	}
	return found;
}

uint64_t gpuva_shape_best_alignment(const struct gpuva_shape *shape, uint64_t page_count)
{
	uint64_t best = 0;

	if (shape->answer.leaf_table_64k_bytes != 0 && page_count >= GPUVA_WIDE_PAGES)
		best = GPUVA_WIDE_PAGES;
	for (uint32_t level = 1; level < shape->answer.level_count; level++) {
		uint64_t pages = gpuva_shape_entry_pages(shape, level);

		if (shape->answer.has_large_pages && pages <= page_count)
			best = pages;
	}
	return best;
}
