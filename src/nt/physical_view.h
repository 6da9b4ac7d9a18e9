/*
 * physical_view.h - what physical.c and physical_view.c know of each other.
 */
#ifndef NT_PHYSICAL_VIEW_H
#define NT_PHYSICAL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* How many of the first pages follow each other; `count` is not zero. */
uint64_t physical_neighbours(const uint64_t pfns[], uint64_t count);

bool physical_view_find(const void *pointer, uint64_t *address_out);
uint64_t physical_view_count(void);
void physical_views_finish(void);

#endif
