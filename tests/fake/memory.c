/* SPDX-License-Identifier: MIT */
/*
 * memory.c - see memory.h.
 */
#include <string.h>

#include "base/mem.h"
#include "fake/check.h"
#include "fake/memory.h"

enum { MDL_ALIVE = 0x4D444C21, PAGE = MACHINE_PAGE_BYTES };

struct miniport_mdl {
	uint32_t magic;
	uint64_t page_count;
	uint64_t pfns[];
};

/* ---- where ---- */

uint8_t *fake_pointer(struct fake_memory *memory, uint32_t segment, uint64_t offset_bytes)
{
	uint64_t page = offset_bytes / PAGE;

	if (segment == 0) {
		CHECK(machine_is_taken(offset_bytes, 1));
		return machine_to_pointer(offset_bytes);
	}
	if (segment == FAKE_LOCAL) {
		CHECK(offset_bytes < memory->local_bytes);
		return memory->local + offset_bytes;
	}
	CHECK(segment == FAKE_APERTURE && page < FAKE_APERTURE_PAGES);
	CHECK(memory->aperture[page] != 0);
	return fake_pointer(memory, 0, memory->aperture[page] + offset_bytes % PAGE);
}

static uint64_t mdl_address(const struct miniport_mdl *mdl, uint64_t offset_bytes)
{
	CHECK(mdl->magic == MDL_ALIVE && offset_bytes / PAGE < mdl->page_count);
	return mdl->pfns[offset_bytes / PAGE] * PAGE + offset_bytes % PAGE;
}

uint8_t *fake_byte(struct fake_memory *memory, const struct miniport_location *place,
		   uint64_t offset_bytes)
{
	uint64_t at = place->offset_bytes + offset_bytes;

	if (place->segment == 0 && place->mdl)
		return fake_pointer(memory, 0, mdl_address(place->mdl, offset_bytes));
	for (uint32_t i = 0; i < place->run_count; i++) {
		const struct miniport_page_run *run = &place->runs[i];

		if (at < run->count * PAGE)
			return fake_pointer(memory, place->segment, run->first_pfn * PAGE + at);
		at -= run->count * PAGE;
	}
	CHECK(place->run_count == 0);
	return fake_pointer(memory, place->segment, at);
}

/* ---- what is done to it ---- */

void fake_transfer(struct fake_memory *memory, const struct miniport_paging_op *op)
{
	for (uint64_t at = 0; at < op->size_bytes; at += PAGE)
		memcpy(fake_byte(memory, &op->target, at), fake_byte(memory, &op->source, at),
		       PAGE);
}

void fake_fill_page(uint8_t *page, uint32_t pattern)
{
	for (uint32_t i = 0; i < PAGE; i += 4)
		memcpy(page + i, &pattern, 4);
}

void fake_fill(struct fake_memory *memory, const struct miniport_paging_op *op)
{
	for (uint64_t at = 0; at < op->size_bytes; at += PAGE)
		fake_fill_page(fake_byte(memory, &op->target, at), op->fill.pattern);
}

void fake_map_aperture(struct fake_memory *memory, const struct miniport_paging_op *op)
{
	uint64_t first = op->target.offset_bytes / PAGE;
	uint64_t count = op->size_bytes / PAGE;
	bool is_map = op->kind == MINIPORT_PAGING_MAP_APERTURE_SEGMENT;

	CHECK(op->target.segment == FAKE_APERTURE && first + count <= FAKE_APERTURE_PAGES);
	CHECK(!is_map || op->source.mdl->page_count == count);
	for (uint64_t i = 0; i < count; i++)
		memory->aperture[first + i] =
			is_map ? mdl_address(op->source.mdl, i * PAGE) : op->aperture.dummy_address;
}

/* ---- MDLs ---- */

NTSTATUS fake_mdl_create(struct fake_memory *memory, const struct miniport_page_run *runs,
			 uint32_t run_count, struct miniport_mdl **mdl_out)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < run_count; i++)
		count += runs[i].count;
	struct miniport_mdl *mdl = mem_zalloc(sizeof(*mdl) + count * sizeof(uint64_t));
	if (!mdl || atomic_load(&memory->has_no_mdls)) {
		mem_free(mdl);
		return STATUS_NO_MEMORY;
	}
	mdl->magic = MDL_ALIVE;
	for (uint32_t i = 0; i < run_count; i++) {
		for (uint64_t j = 0; j < runs[i].count; j++)
			mdl->pfns[mdl->page_count++] = runs[i].first_pfn + j;
	}
	atomic_fetch_add(&memory->live_mdls, 1);
	*mdl_out = mdl;
	return STATUS_SUCCESS;
}

void fake_mdl_destroy(struct fake_memory *memory, struct miniport_mdl *mdl)
{
	CHECK(mdl->magic == MDL_ALIVE);
	mdl->magic = 0;
	atomic_fetch_sub(&memory->live_mdls, 1);
	mem_free(mdl);
}
