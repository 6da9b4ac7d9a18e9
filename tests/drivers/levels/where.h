/*
 * where.h - what the driver was told to put into video memory, for the level that promises that
 * all of it is evicted.
 *
 *	memory segments   an allocation is there after FILL, VIRTUAL_FILL or a transfer to it; not
 *	                  any more after a transfer from it, DISCARD_CONTENT, or its destruction
 *	apertures         a page is mapped, or it is not
 *
 * What a driver asked for itself (context allocations) ends without a word, and is not looked at.
 */
#ifndef TESTS_DRIVERS_LEVELS_WHERE_H
#define TESTS_DRIVERS_LEVELS_WHERE_H

#include <ntddk.h>

#include <dispmprt.h>
#include <stdbool.h>

/* A paging operation that was built to its end. */
void where_paged(const DXGKARG_BUILDPAGINGBUFFER *args);

void where_destroyed(const DXGKARG_DESTROYALLOCATION *args);

/*
 * The adapter was reset. What was in memory segments is lost, and of that a driver with GPU
 * addresses is not told; everything else it is told before it restarts, and nothing but that.
 */
void where_was_reset(void);
void where_restarts(void);

/* Something was given to the GPU. */
void where_submitted(void);

/* From now on nothing leaves any more, as far as this is concerned. */
void where_forget_nothing(void);

bool where_all_is_evicted(void);

/* How often something came into video memory. */
ULONGLONG where_entered(void);

#endif
