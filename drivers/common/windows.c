/* SPDX-License-Identifier: MIT */
/*
 * windows.c - what the kernel's own addresses show.
 *
 *	UPDATE_PAGE_TABLE    address ─▶ page        of the kernel's own process: noted here
 *	VIRTUAL_TRANSFER     address, address       becomes a copy between places, as long as the pages
 *	                                            of both sides lie in a row
 *
 * The kernel moves memory through windows in an address space of its own, and tells us of each of
 * their pages before it is used. Operations take effect in the order in which they are built. So what
 * a transfer is between is known when it is built, and hardware whose copy engines walk no page
 * tables (gpu_memory.knows_windows) is told places. Leaf tables of that address space are nowhere
 * else then; no engine walks them.
 *
 * Entries are written by whoever builds, one at a time, and read by engines' threads, too: they find
 * paging buffers here, whose pages stay. PASSIVE_LEVEL. Locks: none.
 */
#include "gpu.h"

enum {
	LEAVES = 2048, /* 4 GiB of addresses, of which the kernel uses the first hundreds of MiB */
	LEAF_ENTRIES = 1 << GPU_TABLE_BITS,
	SMALL_IN_64K = 1 << (GPU_64K_BITS - GPU_PAGE_BITS),
};

struct gpu_windows {
	ULONGLONG *leaves[LEAVES];
};

NTSTATUS gpu_windows_start(struct gpu_adapter *adapter)
{
	PAGED_CODE();

	if (!adapter->memory.knows_windows || adapter->settings.model != SOFTGPU_MODEL_GPUMMU)
		return STATUS_SUCCESS;
	adapter->windows = gpu_pool_allocate(PagedPool, sizeof(*adapter->windows));
	return adapter->windows
		       ? STATUS_SUCCESS
		       : gpu_refuse(STATUS_NO_MEMORY, "there is no pool for the kernel's windows");
}

void gpu_windows_stop(struct gpu_adapter *adapter)
{
	PAGED_CODE();

	for (ULONG i = 0; adapter->windows && i < LEAVES; i++)
		gpu_pool_free(adapter->windows->leaves[i]);
	gpu_pool_free(adapter->windows);
	adapter->windows = NULL;
}

static ULONGLONG *leaf_of(const struct gpu_windows *windows, ULONGLONG page)
{
	ULONGLONG leaf = page >> GPU_TABLE_BITS;

	return leaf < LEAVES ? (ULONGLONG *)ReadPointerAcquire(
				       (PVOID const volatile *)&windows->leaves[leaf])
			     : NULL;
}

static NTSTATUS make_leaf(struct gpu_windows *windows, ULONGLONG page)
{
	ULONGLONG leaf = page >> GPU_TABLE_BITS;

	if (leaf >= LEAVES)
		return gpu_refuse(STATUS_NOT_SUPPORTED,
				  "the kernel's own address 0x%I64x is above the first 0x%I64x",
				  page << GPU_PAGE_BITS,
				  (ULONGLONG)LEAVES << (GPU_TABLE_BITS + GPU_PAGE_BITS));
	if (windows->leaves[leaf])
		return STATUS_SUCCESS;
	PVOID made = gpu_pool_allocate(PagedPool, LEAF_ENTRIES * sizeof(ULONGLONG));
	if (!made)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for the kernel's windows");
	WritePointerRelease((PVOID volatile *)&windows->leaves[leaf], made);
	return STATUS_SUCCESS;
}

/* A page of 64 KiB is sixteen here. */
static NTSTATUS note_64k(struct gpu_windows *windows, ULONGLONG page, const DXGK_PTE *ptes,
			 ULONGLONG count, BOOLEAN is_repeated)
{
	for (ULONGLONG i = 0; i < count * SMALL_IN_64K; i++, page++) {
		DXGK_PTE pte = ptes[is_repeated ? 0 : i / SMALL_IN_64K];
		NTSTATUS status = make_leaf(windows, page);

		if (!NT_SUCCESS(status))
			return status;
		pte.PageAddress += i % SMALL_IN_64K;
		gpu_pte_store(leaf_of(windows, page) + page % LEAF_ENTRIES, &pte, 1, TRUE);
	}
	return STATUS_SUCCESS;
}

NTSTATUS gpu_windows_note(struct gpu_windows *windows,
			  const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
	const DXGK_PTE *ptes = update->pPageTableEntries;
	BOOLEAN is_repeated = update->Flags.Repeat != 0;
	ULONGLONG page = update->FirstPteVirtualAddress >> GPU_PAGE_BITS;
	ULONGLONG count = update->NumPageTableEntries;

	PAGED_CODE();

	if (update->Flags.Use64KBPages)
		return note_64k(windows, page, ptes, count, is_repeated);
	for (ULONGLONG done = 0; done < count;) {
		ULONGLONG index = (page + done) % LEAF_ENTRIES;
		ULONGLONG here = LEAF_ENTRIES - index;
		NTSTATUS status = make_leaf(windows, page + done);

		if (!NT_SUCCESS(status))
			return status;
		here = here < count - done ? here : count - done;
		gpu_pte_store(leaf_of(windows, page + done) + index,
			      is_repeated ? ptes : &ptes[done], here, is_repeated);
		done += here;
	}
	return STATUS_SUCCESS;
}

static ULONGLONG entry_at(const struct gpu_windows *windows, ULONGLONG page)
{
	const ULONGLONG *leaf = leaf_of(windows, page);

	return leaf ? gpu_entry_load(&leaf[page % LEAF_ENTRIES]) : 0;
}

/* How many pages from this one on, of `wanted`, are in a row. `entry` is what shows the first. */
static ULONGLONG row_length(const struct gpu_windows *windows, ULONGLONG page, ULONGLONG entry,
			    ULONGLONG wanted)
{
	ULONGLONG count = 1;

	while (count < wanted) {
		ULONGLONG index = (page + count) % LEAF_ENTRIES;
		ULONGLONG end = LEAF_ENTRIES - index;
		const ULONGLONG *leaf = leaf_of(windows, page + count);

		if (!leaf)
			return count;
		end = end < wanted - count ? end : wanted - count;
		for (ULONGLONG i = 0; i < end; i++, count++) {
			if (gpu_entry_load(&leaf[index + i]) != entry + (count << GPU_PAGE_BITS))
				return count;
		}
	}
	return count;
}

BOOLEAN gpu_windows_find(const struct gpu_windows *windows, ULONGLONG address, ULONGLONG wanted,
			 BOOLEAN is_write, struct gpu_place *place_out, ULONGLONG *size_out)
{
	const ULONGLONG page_bytes = 1ULL << GPU_PAGE_BITS;
	ULONGLONG page = address >> GPU_PAGE_BITS;
	ULONGLONG in_page = address & (page_bytes - 1);
	ULONGLONG entry = entry_at(windows, page);

	if (!(entry & SOFTGPU_PTE_VALID) || (is_write && (entry & SOFTGPU_PTE_READ_ONLY)))
		return FALSE;
	*place_out = (struct gpu_place){
		.segment = (ULONG)((entry & SOFTGPU_PTE_SEGMENT_MASK) >> SOFTGPU_PTE_SEGMENT_SHIFT),
		.offset = (entry & SOFTGPU_PTE_ADDRESS_MASK) + in_page,
	};
	ULONGLONG pages = (in_page + wanted + page_bytes - 1) >> GPU_PAGE_BITS;
	ULONGLONG size_bytes = row_length(windows, page, entry, pages) * page_bytes - in_page;
	*size_out = size_bytes < wanted ? size_bytes : wanted;
	return TRUE;
}
