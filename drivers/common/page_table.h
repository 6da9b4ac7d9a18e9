/* SPDX-License-Identifier: MIT */
/*
 * page_table.h - the format of page tables, and how an engine walks them.
 *
 * Pure: tables are read through a function that the caller brings.
 */
#ifndef GPU_PAGE_TABLE_H
#define GPU_PAGE_TABLE_H

#include "ntdef.h"
#include "d3dukmdt.h"
#include "opendxgk/softgpu.h"
#include "settings.h"

/* Where a walk starts: what DxgkDdiSetRootPageTable said. No entries: no address space yet. */
struct gpu_root {
	ULONG segment;
	ULONG entry_count;
	ULONGLONG offset;
};

struct gpu_translation {
	ULONG segment;
	BOOLEAN is_zero; /* reads as zeroes, drops writes; segment and offset mean nothing */
	ULONGLONG offset;
	ULONGLONG size_bytes; /* from here to the end of the page */

	/* The entry that says so, for who wants to look at those behind it in the same table. */
	ULONGLONG entry;
	ULONG entry_segment;
	ULONG entries_behind; /* 0 for all but pages of 4 KiB */
	ULONGLONG entry_offset;
};

/* Why a walk ended without one. */
struct gpu_walk_fault {
	ULONG level;                /* the level whose entry stopped it */
	BOOLEAN is_write_protected; /* it was there, and read only */
};

/* Reads one entry. FALSE when there is no memory at that place. */
typedef BOOLEAN gpu_entry_reader(void *reader_context, ULONG segment, ULONGLONG offset,
				 ULONGLONG *entry_out);

ULONGLONG gpu_pte_encode(const DXGK_PTE *pte);

BOOLEAN gpu_walk(const struct gpu_settings *settings, const struct gpu_root *root,
		 ULONGLONG address, BOOLEAN is_write, gpu_entry_reader *read_entry,
		 void *reader_context, struct gpu_translation *translation_out,
		 struct gpu_walk_fault *fault_out);

/*
 * Writes entries into a table that the processor sees; ptes[0] stands for all with `is_repeated`.
 * Each is stored as a whole.
 */
void gpu_pte_store(ULONGLONG *table, const DXGK_PTE *ptes, ULONGLONG count, BOOLEAN is_repeated);

/* How many entries from pte[0] on can be written as value, value + stride, …; at least one. */
ULONGLONG gpu_pte_run(const DXGK_PTE *ptes, ULONGLONG count, ULONGLONG *value_out,
		      ULONGLONG *stride_out);

#endif
