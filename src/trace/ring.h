/* SPDX-License-Identifier: MIT */
/*
 * ring.h - where the records of one thread wait to be spooled. For trace.c only.
 *
 * The owner appends; when the ring is full the owner itself writes it to the spool and starts over
 * at its beginning. Nobody takes a lock, and nothing here is a step of a seeded run.
 *
 * When a trace ends, trace_finish() takes what is still in the rings. By then the session has
 * changed, and an owner whose ring is full finds that out and drops its record.
 */
#ifndef TRACE_RING_H
#define TRACE_RING_H

#include <stdint.h>

#include "trace/record.h"

struct ring;

/*
 * The ring of the calling thread, good for `session`; NULL without memory, or when the session is
 * over. `is_new_out` tells that this thread has written nothing to this trace.
 */
struct ring *ring_get(uint32_t session, bool *is_new_out);

/* So many threads get theirs without mapping anything, where there is memory. */
void ring_prepare(uint32_t count);
/* The calling thread is to have one, whether it says anything or not. */
void ring_take_own(uint32_t session);

/* Room for one record and the text slots after it; NULL when the session is over. */
struct trace_record *ring_reserve(struct ring *ring, uint32_t slots);

/* What was reserved is filled in: whoever collects may read it. */
void ring_commit(struct ring *ring, uint32_t slots);

/* After the session ended: spools what its rings still hold. */
void ring_collect(uint32_t session);

/* In a child of fork(): the rings are those of threads that do not exist here. */
void ring_forget_all(void);

#endif
