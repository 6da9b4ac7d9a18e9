/* SPDX-License-Identifier: MIT */
/*
 * memory.h - what a GPU sees: local memory (segment 1), an aperture (segment 2) and the machine's
 * pages (segment 0). Bytes are real, and paging operations move them.
 */
#ifndef TESTS_FAKE_MEMORY_H
#define TESTS_FAKE_MEMORY_H

#include "base/machine.h"
#include "miniport/paging_op.h"

enum { FAKE_LOCAL = 1, FAKE_APERTURE = 2, FAKE_APERTURE_PAGES = 4096 };

struct fake_memory {
	uint8_t *local; /* the owner's */
	uint64_t local_bytes;
	uint64_t aperture[FAKE_APERTURE_PAGES]; /* physical addresses shown there; 0: nothing */
	_Atomic int32_t live_mdls;
	_Atomic bool has_no_mdls; /* there is no memory for one */
};

/* What the GPU sees there. */
uint8_t *fake_pointer(struct fake_memory *memory, uint32_t segment, uint64_t offset_bytes);
/* The same for a place: with an MDL, in runs, or in one piece. */
uint8_t *fake_byte(struct fake_memory *memory, const struct miniport_location *place,
		   uint64_t offset_bytes);

void fake_transfer(struct fake_memory *memory, const struct miniport_paging_op *op);
void fake_fill_page(uint8_t *page, uint32_t pattern);
void fake_fill(struct fake_memory *memory, const struct miniport_paging_op *op);
/* Maps and unmaps. */
void fake_map_aperture(struct fake_memory *memory, const struct miniport_paging_op *op);

NTSTATUS fake_mdl_create(struct fake_memory *memory, const struct miniport_page_run *runs,
			 uint32_t run_count, struct miniport_mdl **mdl_out);
void fake_mdl_destroy(struct fake_memory *memory, struct miniport_mdl *mdl);

#endif
