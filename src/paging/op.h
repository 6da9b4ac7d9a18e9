/* SPDX-License-Identifier: MIT */
/*
 * op.h - one thing the pager is asked to do, in places rather than addresses. Plain data.
 *
 * How it reaches the driver depends on the adapter: in the physical model a copy is a TRANSFER
 * between a segment and an MDL; under a GpuMmu both sides are mapped into the kernel's own space
 * first (pager_space.c), and the copy is a VIRTUAL_TRANSFER.
 */
#ifndef PAGING_OP_H
#define PAGING_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "miniport/work.h"

/* Pages in one segment, or of the machine when segment is 0. The runs live until the job is done.
 */
struct paging_place {
	uint32_t segment;
	uint32_t run_count;
	const struct miniport_page_run *runs; /* first_pfn: page of the segment */
	uint64_t first_byte;                  /* where in them it begins, a multiple of 4 KiB */
};

enum paging_op_kind {
	PAGING_COPY,
	PAGING_FILL,
	PAGING_UPDATE_TABLE, /* by whichever way the driver wants its tables written */
	PAGING_COPY_ENTRIES, /* from one page table to another, by the GPU */
	PAGING_INIT_CONTEXT, /* first content of a context allocation */
	PAGING_UPDATE_CONTEXT,
	PAGING_MAP_APERTURE, /* pages of the machine show up in an aperture */
	PAGING_SETTLE,       /* waits until the job has nothing with the hardware */
	PAGING_FOLLOW,       /* waits until changes of tables that were queued before are built */
	PAGING_AS_IT_IS,     /* everything that needs no address of ours: unmapping, TLB, notices */
};

struct paging_op {
	enum paging_op_kind kind;
	struct miniport_subject subject;
	union {
		struct {
			struct paging_place source;
			struct paging_place destination;
			uint64_t size_bytes;   /* whole pages */
			uint64_t offset_bytes; /* of this part in the allocation */
			bool is_start;         /* first, last part of an allocation's move */
			bool is_end;
		} copy;
		struct {
			struct paging_place destination;
			uint64_t size_bytes;
			uint64_t offset_bytes;
			uint32_t pattern;
		} fill;
		struct {
			struct paging_place table; /* one table, contiguous */
			void *pointer; /* CPU_VIRTUAL: for the CPU; NULL: it is in system memory */
			uint32_t level;
			const struct miniport_pte *entries; /* one with is_repeated or is_run */
			/* The same, of pointers to tables of 64 KiB pages, where entries have two.
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
			uint64_t offset_in_allocation_bytes;
			void *driver_process;
			uint64_t first_address;
		} update_table;
		struct {
			struct paging_place source; /* two tables, each contiguous */
			struct paging_place destination;
			/* Where in them; their addresses are found later. At most
			 * MINIPORT_FEW_ENTRIES. */
			const struct miniport_table_copy *copies;
			uint32_t count;
		} copy_entries;
		struct {
			struct paging_place place; /* contiguous in a segment */
			uint64_t size_bytes;
			void *pointer;      /* init: for the CPU, or NULL */
			void *private_data; /* update */
			uint32_t private_bytes;
		} context;
		struct {
			struct paging_place source; /* of the machine */
			uint64_t size_bytes;
			void *driver_device; /* NULL: nobody's */
			uint32_t segment;
			uint64_t first_page; /* of the segment */
			bool is_cache_coherent;
		} map_aperture;
		struct miniport_paging_op as_it_is;
	};
};

#endif
