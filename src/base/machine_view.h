/* SPDX-License-Identifier: MIT */
/*
 * machine_view.h - what machine.c, machine_view.c and machine_exchange.c know of each other.
 */
#ifndef BASE_MACHINE_VIEW_H
#define BASE_MACHINE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* How many of the first pages follow each other; `count` is not zero. */
uint64_t machine_neighbours(const uint64_t pfns[], uint64_t count);

/* As machine_show(), by page of the memfd, whatever its address is. */
void *machine_show_pages(void *at, uint64_t first, uint64_t count);

/* How many pages from `first` on were free and are the caller's for a moment; their content changes. */
uint64_t machine_borrow(uint64_t first, uint64_t count);
void machine_return(uint64_t first, uint64_t count);

bool machine_view_find(const void *pointer, uint64_t *address_out);
uint64_t machine_view_count(void);
void machine_views_finish(void);

#endif
