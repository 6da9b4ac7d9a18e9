/* SPDX-License-Identifier: MIT */
/*
 * machine.h - the machine's physical memory: one sparse memfd, and a window onto all of it.
 *
 *   physical address      0          1 MiB                     1 MiB + size         2^51
 *                         | nothing  | pages of the memfd …    | nothing …          | foreign pages
 * …
 *
 * A page of the memfd has a physical address (first address + file offset), a frame number (that
 * address / 4096) and a pointer (window + file offset): three names for one page. Two pages may
 * exchange their names (machine_exchange.h), all three of them at once; and some addresses are of
 * memfds of processes (machine_bank.h), at the same offset. By default the
 * memory ends at 4 GiB, because drivers exist that keep physical addresses in 32 bits;
 * DXGK_PHYSICAL_MIB asks for another size. Pages cost host memory from their first touch and are
 * zero when handed out; large ranges go back to the host when freed.
 *
 * Everything else in the process (pool, stacks, a client's buffers) is not in the memfd. When a
 * driver describes such memory with an MDL it still needs frame numbers, so a foreign page has the
 * physical address 2^51 + its pointer: both directions are arithmetic, the same page always has the
 * same number, and no device can mistake it for a page of the machine. It is good for as long as
 * the memory itself is there, which is what locking pages means here.
 *
 * Set up at first use. LOCK_RANK_MACHINE guards which pages are taken.
 */
#ifndef BASE_MACHINE_H
#define BASE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

#define MACHINE_PAGE_BYTES UINT64_C(4096)
#define MACHINE_PAGE_SHIFT 12

#define MACHINE_FIRST   UINT64_C(0x100000)  /* address of the memfd's first byte */
#define MACHINE_FOREIGN (UINT64_C(1) << 51) /* address of the page at pointer 0  */
#define MACHINE_NOWHERE UINT64_C(0)         /* never the address of anything     */

/*
 * A run of consecutive pages within [lowest, highest] (addresses of the first and the last byte
 * allowed), starting at a multiple of `align_bytes` (power of two, 0 means a page), and crossing no
 * multiple of `boundary_bytes` (power of two, 0 means none). Lowest fit. STATUS_NO_MEMORY when
 * there is no such run.
 */
MUST_CHECK NTSTATUS machine_alloc_contiguous(uint64_t size_bytes, uint64_t align_bytes,
					     uint64_t lowest, uint64_t highest,
					     uint64_t boundary_bytes, uint64_t *address_out);

/* As many pages as there are within [lowest, highest], at most `count`, neighbours where possible;
 * returns how many. */
MUST_CHECK uint64_t machine_alloc_some_pages(uint64_t count, uint64_t lowest, uint64_t highest,
					     uint64_t pfns[]);

/* The whole run that starts at `address`. False, and nothing happens, when no run starts there. */
MUST_CHECK bool machine_free_contiguous(uint64_t address);
void machine_free_pages(uint64_t count, const uint64_t pfns[]);

/* The same, for pages that will soon be wanted again: a bounded number stays with us. */
MUST_CHECK bool machine_free_filled(uint64_t address);

/* Makes single pages of the run that starts at `address`, to be freed as such. */
void machine_split(uint64_t address);

/* Bytes of the run that starts at `address`; 0 when none does. */
uint64_t machine_run_bytes(uint64_t address);

/* NULL for an address that no page has. Foreign addresses are turned back without a look. */
void *machine_to_pointer(uint64_t address);

/* False when `pointer` is not in the window (system mappings of mdl.c excepted: those are found).
 */
MUST_CHECK bool machine_from_pointer(const void *pointer, uint64_t *address_out);

/* The page of a foreign pointer. */
static inline uint64_t machine_foreign(const void *pointer)
{
	return MACHINE_FOREIGN + (uint64_t)(uintptr_t)pointer;
}

static inline bool machine_is_foreign(uint64_t address)
{
	return address >= MACHINE_FOREIGN;
}

/* True when [address, address + size) is memory of the machine. */
bool machine_is_memory(uint64_t address, uint64_t size_bytes);

/* The same, and all of it is in somebody's hands. */
bool machine_is_taken(uint64_t address, uint64_t size_bytes);

/* Sets the memory up, when it is not yet. False when there is none to be had. */
MUST_CHECK bool machine_set_up(void);

/*
 * Shows pages of the machine at another pointer, too, for reading and writing: at `at`, in the
 * place of what is mapped there, or anywhere when it is NULL. Returns where, or NULL; then what was
 * at `at` may be gone. The caller unmaps it.
 */
MUST_CHECK void *machine_show(void *at, uint64_t address, uint64_t size_bytes);

/*
 * One contiguous view of scattered pages. Pages that already are neighbours in the window (or are
 * foreign neighbours) need no new mapping. NULL when the host has no room, or when foreign pages
 * are not neighbours: ordinary memory cannot be seen in two places.
 */
MUST_CHECK void *machine_map(const uint64_t pfns[], uint64_t count);
void machine_unmap(void *view, uint64_t count);

/* All of it, taken or not; 0 when there is no memory. Sets it up. */
uint64_t machine_size_bytes(void);

struct machine_usage {
	uint64_t total_pages;
	uint64_t taken_pages;
	uint64_t mapped_views;
};

/* All zero until the memory is used for the first time; asking does not set it up. */
struct machine_usage machine_usage(void);

/* Gives everything back; every pointer and address is void then. For the end, and for tests. */
void machine_finish(void);

#endif
