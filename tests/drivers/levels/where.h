/* SPDX-License-Identifier: MIT */
/*
 * where.h - what the driver was told to put into video memory, for the level that promises that
 * all of it is evicted.
 *
 *	memory segments   an allocation is there after FILL, VIRTUAL_FILL or a transfer to it; not
 *	                  any more after a transfer from it, DISCARD_CONTENT, or its destruction
 *	apertures         a page is mapped, or it is not
 *
 * What a driver asked for itself (context allocations) is known to the kernel by names that are made
 * here, and has left when the driver's call to destroy it returns. Page tables end without a word,
 * and are not looked at here (tables.h).
 */
#ifndef TESTS_DRIVERS_LEVELS_WHERE_H
#define TESTS_DRIVERS_LEVELS_WHERE_H

#include <ntddk.h>

#include <dispmprt.h>
#include <stdbool.h>

/* A paging operation that was built to its end. */
void where_paged(const DXGKARG_BUILDPAGINGBUFFER *args);

HANDLE where_own_begins(HANDLE cookie, HANDLE owner);
void where_own_made(HANDLE name, HANDLE kernel); /* NULL: it was not */
void where_own_ended(HANDLE kernel);
HANDLE where_own_cookie(HANDLE name);
/* Devices and contexts; with one goes what the driver leaked of it. */
void where_owner_made(HANDLE kernel, HANDLE driver);
void where_owner_ended(HANDLE driver);
/* What the driver below calls it; and back. */
HANDLE where_own_translate(DXGKARG_BUILDPAGINGBUFFER *args);
void where_own_restore(DXGKARG_BUILDPAGINGBUFFER *args, HANDLE name);

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
