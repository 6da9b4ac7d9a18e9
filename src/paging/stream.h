/* SPDX-License-Identifier: MIT */
/*
 * stream.h - who the driver is asked to build and submit for: the kernel's own context, or another
 * context that only runs what the kernel generates.
 *
 * The kernel's own is there from beginning to end (pager.own). Others are companions of clients'
 * contexts, and may be on other nodes. A job that names one is built and submitted for it, whole.
 *
 * Packets have one order, whoever they are for: the first for another stream is not submitted
 * before those of the stream before are over. So what was built first takes effect first, on
 * whichever node, and jobs that change the same tables need not know of each other.
 */
#ifndef PAGING_STREAM_H
#define PAGING_STREAM_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct pager;
struct pager_stream;

/*
 * For a context that the driver has made for the kernel on `node`. It is told the root of the
 * kernel's own addresses, which it runs in, now and after every reset. Enters the driver; not on
 * the pager's or the scheduler's thread.
 */
MUST_CHECK NTSTATUS pager_stream_create(struct pager *pager, uint32_t node, void *driver_context,
					struct pager_stream **stream_out);

/* No job names it any more. The driver has nothing of it when it returns. */
void pager_stream_destroy(struct pager_stream *stream);

#endif
