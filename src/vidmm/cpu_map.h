/* SPDX-License-Identifier: MIT */
/*
 * cpu_map.h - where a client sees an allocation.
 *
 * Views live in one range of addresses that is reserved once and mostly empty. A view keeps its
 * place in it for as long as the allocation lives, so the pointer a client was given stays good
 * while the pages behind it change:
 *
 *	arena   |  view A  |···· nothing ····|  view B  |·················
 *	            │ │                           └──────────┐
 *	memfd   ····▼·▼·······················▼··············▼···········
 *
 * What is not shown is inaccessible: a pointer that outlived its allocation faults.
 *
 * Locks: a view is guarded by its allocation's lock; LOCK_RANK_CPU_MAP guards which addresses are
 * taken and is never held in a system call, but for the first.
 */
#ifndef VIDMM_CPU_MAP_H
#define VIDMM_CPU_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "vidmm/backing.h"

struct range;

/* Zeroed: no place and nothing to see. */
struct cpu_view {
	struct range *range; /* addresses, in pages of the arena; NULL: none */
	bool is_mapped;
};

/* A place of `page_count` pages. STATUS_GRAPHICS_NO_VIDEO_MEMORY when no addresses are left. */
MUST_CHECK NTSTATUS cpu_view_reserve(struct cpu_view *view, uint64_t page_count);

/* Lets `backing`, which is as long as the view, be seen there, instead of what was. */
MUST_CHECK NTSTATUS cpu_view_show(struct cpu_view *view, const struct vidmm_backing *backing);

/* From now on it faults. False when the host could not do it: everything is as before. */
MUST_CHECK bool cpu_view_hide(struct cpu_view *view);

/*
 * Hides it and gives its place away. False when it could not be hidden: then the place is kept for
 * ever, and the pages that can be seen there must be, too (cpu_map_usage().abandoned_pages).
 */
MUST_CHECK bool cpu_view_finish(struct cpu_view *view);

void *cpu_view_pointer(const struct cpu_view *view);
uint64_t cpu_view_page_count(const struct cpu_view *view);

struct cpu_map_usage {
	uint64_t total_pages; /* 0: not set up */
	uint64_t taken_pages;
	uint64_t taken_ranges;
	uint64_t abandoned_pages; /* of those, what could not be hidden */
};

struct cpu_map_usage cpu_map_usage(void);

/* Recounts the arena. NULL when it adds up, else what does not. */
const char *cpu_map_validate(void);

#endif
