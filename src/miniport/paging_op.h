/* SPDX-License-Identifier: MIT */
/*
 * paging_op.h - one paging operation, from who wants it to DxgkDdiBuildPagingBuffer. Plain data.
 *
 * Who wants it says where the bytes are. How the driver reaches them the pager finds out, piece by
 * piece (paging/builder.c), and says it in the same words: in the physical model a transfer is
 * between a segment and an MDL; under a GpuMmu both sides are mapped into the kernel's own space
 * first, and it becomes a VIRTUAL_TRANSFER.
 */
#ifndef MINIPORT_PAGING_OP_H
#define MINIPORT_PAGING_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "miniport/kept_name.h"

/* One entry of a page table: DXGK_PTE in our words. */
struct miniport_pte {
	uint64_t page;   /* 4 KiB pages from the start of the segment, or of physical memory */
	uint8_t segment; /* 0: system memory */
	bool is_valid : 1;
	bool is_zero : 1; /* reads as zeroes, drops writes */
	bool is_read_only : 1;
	bool is_no_execute : 1;
	bool is_cache_coherent : 1;
	bool is_large : 1;     /* above the leaves: a page, not a table */
	bool is_table_64k : 1; /* level 1: the table below has 64 KiB pages */
};

/* ---- where bytes are ---- */

/* Neighbouring pages of a segment, or of the machine (base/machine.h). */
struct miniport_page_run {
	uint64_t first_pfn;
	uint64_t count;
};

struct miniport_mdl;

struct miniport_location {
	uint32_t segment;      /* 0: memory of the machine */
	uint32_t run_count;    /* 0: it is in one piece, which begins at offset_bytes … */
	uint64_t offset_bytes; /* … of the segment. Else of the runs, a multiple of 4 KiB. */
	const struct miniport_page_run *runs; /* they live until the job is done */
	void *pointer; /* for the CPU; NULL: it need not, or cannot, see it */

	/* Found by the pager; the base address of a segment is added below. */
	struct miniport_mdl *mdl;
	uint64_t gpu_address; /* in the paging process, … */
	uint64_t gpu_table;   /* … and its table there, with SourcePageTableVaInTransfer */
};

/* ---- operations ---- */

enum miniport_paging_kind {
#define KIND(name) MINIPORT_PAGING_##name,
#include "miniport/paging_kinds.def"
#undef KIND
};

enum miniport_table_update_mode {
	MINIPORT_TABLE_CPU_VIRTUAL,
	MINIPORT_TABLE_GPU_VIRTUAL,
	MINIPORT_TABLE_GPU_PHYSICAL
};

/* Entries of one page table that are copied to another. */
struct miniport_table_copy {
	uint32_t source_index;
	uint32_t destination_index;
	uint32_t count;
};

/* So many entries in one operation need no memory to be written down; copies are never more. */
enum { MINIPORT_FEW_ENTRIES = 64 };

/* What an operation is about, as the driver calls it. */
struct miniport_subject {
	void *driver_allocation;         /* NULL where there is none */
	struct miniport_kept_name *kept; /* a name that may be taken back; NULL */
};

struct miniport_paging_op {
	enum miniport_paging_kind kind;
	bool is_idle; /* AllocationIsIdle: the answer to STATUS_GRAPHICS_ALLOCATION_BUSY */
	struct miniport_subject subject;
	struct miniport_location target; /* what changes, or is told of; of a TLB: the root */
	struct miniport_location source; /* of a transfer, of entries; its MDL of an aperture */
	uint64_t size_bytes;             /* whole pages; of a page table all of it */
	uint64_t offset_bytes;           /* where in the allocation it begins */
	union {
		struct {
			bool is_start; /* first, last part of an allocation's move */
			bool is_end;
		} transfer;
		struct {
			uint32_t pattern;
		} fill;
		struct {
			void *driver_device;    /* NULL: nobody's */
			uint64_t dummy_address; /* unmap: physical address of the dummy page */
			bool is_cache_coherent;
		} aperture;
		struct {
			uint32_t level; /* 0 is the leaf */
			enum miniport_table_update_mode mode;
			const struct miniport_pte *entries; /* one with is_repeated or is_run */
			/* Level 1 with DualPteSupported: as many pointers to tables of 64 KiB pages.
			 * NULL: they are invalid. */
			const struct miniport_pte *wide_entries;
			uint32_t first_index;
			uint32_t count;
			bool is_repeated;
			bool is_run; /* each next entry is for the next page */
			bool is_initial;
			bool is_eviction;
			bool has_64k_pages;
			bool needs_quiet; /* no context may run from here to the end of the job */
			uint64_t driver_protection;
			void *driver_process;
			uint64_t first_address; /* FirstPteVirtualAddress */
		} update_table;
		struct {
			void *driver_process;
			uint64_t first_address;
			uint64_t end_address; /* both 0: everything */
		} flush_tlb;
		struct {
			void *private_data;
			uint32_t private_bytes;
		} update_context;
		struct {
			const struct miniport_table_copy *copies; /* at most MINIPORT_FEW_ENTRIES */
			uint32_t count;
		} copy_entries;
		struct {
			bool is_resident;
		} notify_residency;
	};
};

static inline bool miniport_paging_is_on_tables(const struct miniport_paging_op *op)
{
	return op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE ||
	       op->kind == MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES;
}

/* "DXGK_OPERATION_FILL" */
static inline const char *miniport_paging_name(const struct miniport_paging_op *op)
{
	static const char *const names[] = {
#define KIND(name) "DXGK_OPERATION_" #name,
#include "miniport/paging_kinds.def"
#undef KIND
	};

	return names[op->kind];
}

#endif
