/* SPDX-License-Identifier: MIT */
/*
 * tables.h - page tables, as the driver was told of them.
 *
 *	its initial update   it is a table: it may be written, led to, and begun at
 *	its eviction         it is none, until it is written from its beginning again
 *	a reset              none that was in a memory segment is one
 *
 *	an update            of a table; and what its entries lead to are tables
 *	a root               is a table, when a context is told of it
 *	a submission         its context was told of a root, which is still a table
 *	a paging buffer      is for a context of the kernel's; with copies of entries, for one that is
 *	                     beside a client's
 *
 * A table is known by where it is. Pointers are followed to that, and so are addresses in the space
 * of the paging process, whose own entries are remembered for it. What was built counts as done:
 * paging buffers run in the order in which they are built. Of tables that are given back a driver
 * hears nothing, so they are tables still.
 */
#ifndef TESTS_DRIVERS_LEVELS_TABLES_H
#define TESTS_DRIVERS_LEVELS_TABLES_H

#include <ntddk.h>

#include <dispmprt.h>

/* What the driver answered: whether it has page tables, and where its segments are. */
void tables_answered(const DXGKARG_QUERYADAPTERINFO *args);

void tables_process_made(const DXGKARG_CREATEPROCESS *args);
void tables_queue_made(HANDLE context, HANDLE queue);
void tables_context_made(const DXGKARG_CREATECONTEXT *args);
/* A context or a hardware queue. */
void tables_user_ended(HANDLE user);

/* A paging operation that was built to its end. */
void tables_paged(const DXGKARG_BUILDPAGINGBUFFER *args);

void tables_root_set(const DXGKARG_SETROOTPAGETABLE *args);

/* By GPU addresses, to a context or a hardware queue. */
void tables_submitted(HANDLE user);

void tables_were_reset(void);
void tables_are_gone(void);

struct levels_seen;
void tables_report(struct levels_seen *seen);

/* From now on no context is told of a root, as far as this is concerned. */
void tables_believe_no_root(void);

#endif
