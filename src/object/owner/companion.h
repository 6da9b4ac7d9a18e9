/* SPDX-License-Identifier: MIT */
/*
 * companion.h - the paging context beside a client's context, in which updates of GPU addresses that
 * are ordered with the client's work change page tables (gpu_update.h).
 *
 *	first update ──▶ made on the node that the driver named for the client's context ──▶ used …
 *	the client's context ends ──▶ what runs in it ends ──▶ the driver forgets it, then the other
 *
 * Not where the CPU writes tables: there is nothing to run; nor with drivers that know no contexts.
 *
 * The documents say on which node it is, when it is made and what runs in it, and no more. So the
 * driver is told what is true of it: a context of the client's device, whose process's tables it
 * changes; flagged SystemContext, because only what the kernel generates runs in it, and
 * VirtualAddressing; with the client's engine, no private data of a client, and a handle of its
 * own. What it answers about the context is judged like any other answer. It runs in the kernel's
 * own address space, whose root it is told before its first packet, and as with the kernel's own
 * context a driver keeps no context allocations for it.
 *
 * Locks: companion.making while it is made, held in the driver; the rest is guarded by the device's.
 */
#ifndef OBJECT_OWNER_COMPANION_H
#define OBJECT_OWNER_COMPANION_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/notice.h"
#include "miniport/miniport.h"
#include "paging/stream.h"

struct dxg_context;

/* Part of a context. */
struct companion {
	struct lock making;                    /* LOCK_RANK_COMPANION: one thread makes it */
	_Atomic(struct pager_stream *) stream; /* NULL: it is not made yet */
	struct miniport_context_info info;

	/* Guarded by the device's lock. */
	uint32_t uses;
	bool is_ending; /* nobody uses it anew */
	struct notice unused;
};

void companion_init(struct companion *companion);

/* Made now if it was not; `*stream_out` is NULL where there is no need of one. */
MUST_CHECK NTSTATUS companion_use(struct dxg_context *context, struct pager_stream **stream_out);
/* Any thread, no lock held; also of a use without a stream. */
void companion_release(struct dxg_context *context);

/* companion_use() is refused from now on. */
void companion_end(struct dxg_context *context);
/* Returns when nobody uses it, and the driver has forgotten it. */
void companion_finish(struct dxg_context *context);

#endif
