/* SPDX-License-Identifier: MIT */
/*
 * spool.h - where blocks are written as they come: the trace file itself, or an unlinked temporary one of which the
 * trace file is made at the end. For trace/ only.
 *
 * It needs no memory. One per process.
 */
#ifndef TRACE_SPOOL_H
#define TRACE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/own_fd.h"
#include "trace/format.h"

/* Into this one, which stays its owner's. */
void spool_begin(struct own_fd *file);
/* Into a temporary one; false, with errno, when there is none to be had. */
MUST_CHECK bool spool_begin_temporary(void);
/* The temporary one is gone then. */
void spool_close(void);

/* The first bytes, before there is any block. */
void spool_write_file_header(void);

/*
 * A block: the header with kind, time, sequence and thread, `size_bytes` behind it in memory. Fills in the rest of
 * the header. Any number of threads at once; changes no errno. What cannot be written is lost, and spool_error() says so.
 */
void spool_append(struct trace_block_header *block, uint32_t size_bytes);

/* The errno of the first write that failed, or 0. */
int spool_error(void);

/*
 * Shows all that is in the temporary one, when nobody appends any more. False with errno when it cannot be read, or as
 * `show` says.
 */
MUST_CHECK bool spool_show(bool (*show)(void *context, const void *bytes, size_t size_bytes),
			   void *context);

#endif
