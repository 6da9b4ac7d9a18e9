/* SPDX-License-Identifier: MIT */
/*
 * mappings.h - GPU addresses follow an allocation wherever the manager moves it.
 *
 *	page_tables.h ──vidmm_look()──▶ where the allocation is, as of what the pager has built
 *	manager.h ──vidmm_table_mappings──▶ entries around a move
 *
 * A place is shown from the row of its way in that says so to the row of its way out that takes it
 * back; with nothing to be built, at once. Both are decided under the manager's lock together with
 * the look at whether there are addresses, so that whoever maps at that moment either is in the row
 * or finds the place as it is then.
 */
#ifndef ADDRESS_SPACE_MAPPINGS_H
#define ADDRESS_SPACE_MAPPINGS_H

#include "vidmm/manager.h"
#include "pagetable/page_tables.h"

/* For vidmm_config.mappings; needs no context. */
extern const struct vidmm_mapping_ops vidmm_table_mappings;

/* For page_tables_config.look; mapped_memory.allocation is a vidmm_allocation, or NULL. */
void vidmm_look(void *context, const struct mapped_memory *memory, uint64_t offset_pages,
		struct resident_run *run);

/* What stands for the allocation in address spaces, made at the first need; ends with it. */
MUST_CHECK NTSTATUS vidmm_mapped_memory(struct vidmm_allocation *allocation,
					void *driver_allocation, struct mapped_memory **memory_out);

#endif
