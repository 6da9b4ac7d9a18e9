/* SPDX-License-Identifier: MIT */
/*
 * reach.c - from what a command calls a place to memory that a thread can touch.
 *
 * Every address goes through the page tables of the context (virtual) or the map of segments
 * (physical) each time it is used: nothing is remembered from one piece to the next, so there is no
 * translation that could be stale. Pages that lie in a row are had in one piece.
 *
 * No locks; any thread of the adapter's, at PASSIVE_LEVEL.
 */
#include "soft.h"

static BOOLEAN fail(struct gpu_fault *fault_out, ULONGLONG address, BOOLEAN is_write)
{
	*fault_out = (struct gpu_fault){
		.status = STATUS_ACCESS_VIOLATION,
		.address = address,
		.is_write = is_write,
	};
	return FALSE;
}

static BOOLEAN fail_page(struct gpu_fault *fault_out, ULONGLONG address, BOOLEAN is_write,
			 ULONG level)
{
	fail(fault_out, address, is_write);
	fault_out->is_page_fault = TRUE;
	fault_out->level = level;
	return FALSE;
}

/* How many bytes follow in a row, as the entries behind the one that was found say. */
static ULONGLONG bytes_in_a_row(const struct gpu_memory *memory,
				const struct gpu_translation *found, ULONGLONG wanted)
{
	ULONGLONG size_bytes = found->size_bytes;
	struct soft_window table;

	if (size_bytes >= wanted || found->entries_behind == 0 || found->is_zero)
		return size_bytes;
	if (!soft_window_open(memory, found->entry_segment,
			      found->entry_offset + sizeof(found->entry),
			      found->entries_behind * sizeof(found->entry), FALSE, &table))
		return size_bytes;
	const ULONGLONG *entries = (const ULONGLONG *)table.bytes;
	ULONGLONG most = (wanted - size_bytes + PAGE_SIZE - 1) / PAGE_SIZE;
	ULONGLONG expected = found->entry + PAGE_SIZE;
	ULONGLONG count = 0;

	if (most > table.size_bytes / sizeof(found->entry))
		most = table.size_bytes / sizeof(found->entry);
	for (; count < most && gpu_entry_load(&entries[count]) == expected; count++)
		expected += PAGE_SIZE;
	soft_window_close(&table);
	return size_bytes + count * PAGE_SIZE;
}

static BOOLEAN open_virtual(const struct soft_reach *reach, ULONGLONG address, ULONGLONG wanted,
			    BOOLEAN is_write, struct soft_window *window_out,
			    struct gpu_fault *fault_out)
{
	const struct gpu_memory *memory = &reach->adapter->memory;
	struct gpu_translation found;
	struct gpu_walk_fault walk;

	if (!gpu_walk(&reach->adapter->settings, &reach->root, address, is_write,
		      soft_memory_read_entry, (void *)memory, &found, &walk))
		return fail_page(fault_out, address, is_write, walk.level);
	ULONGLONG size_bytes = bytes_in_a_row(memory, &found, wanted);
	if (wanted > size_bytes)
		wanted = size_bytes;
	if (found.is_zero) {
		*window_out = (struct soft_window){ .size_bytes = wanted };
		return TRUE;
	}
	if (soft_window_open(memory, found.segment, found.offset, wanted, is_write, window_out))
		return TRUE;
	/* Mapped to where no memory is: the tables are wrong. */
	return fail_page(fault_out, address, is_write, 0);
}

BOOLEAN soft_reach_open(const struct soft_reach *reach, const struct gpu_place *place,
			ULONGLONG offset, ULONGLONG wanted, BOOLEAN is_write,
			struct soft_window *window_out, struct gpu_fault *fault_out)
{
	offset += place->offset;
	if (place->segment == GPU_PLACE_VIRTUAL)
		return open_virtual(reach, offset, wanted, is_write, window_out, fault_out);
	if (place->segment == GPU_PLACE_POINTER) {
		*window_out = (struct soft_window){ .bytes = (PUCHAR)(ULONG_PTR)offset,
						    .size_bytes = wanted };
		return TRUE;
	}
	if (soft_window_open(&reach->adapter->memory, place->segment, offset, wanted, is_write,
			     window_out))
		return TRUE;
	return fail(fault_out, offset, is_write);
}
