/* SPDX-License-Identifier: MIT */
/*
 * kept_fences.h - fences that ended, kept whole for the next ones.
 *
 * A device keeps the few that ended last, as far as they are usual ones: monitored, of no other
 * process, and with an address that the GPU can write. A fence that comes and goes then takes no
 * lock but the device's, which it needs for the device's list in any case, and what is the same for
 * all of them is not made again.
 *
 * Locks: the device's.
 */
#ifndef OBJECT_FENCE_KEPT_FENCES_H
#define OBJECT_FENCE_KEPT_FENCES_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct sync_body;

enum { KEPT_FENCES = 8 };

/* The newest is behind `end`; when there is one too many, the oldest is at `end`. */
struct kept_fences {
	uint32_t count;
	uint32_t end;
	struct sync_body *bodies[KEPT_FENCES];
};

/* NULL: none is kept. */
static inline struct sync_body *kept_fences_take(struct kept_fences *kept)
{
	if (UNLIKELY(kept->count == 0))
		return NULL;
	kept->count--;
	kept->end = (kept->end - 1) % KEPT_FENCES;
	return kept->bodies[kept->end];
}

/* What is not kept in exchange, and has to end: the oldest, or NULL. */
MUST_CHECK static inline struct sync_body *kept_fences_keep(struct kept_fences *kept,
							    struct sync_body *body)
{
	struct sync_body *oldest = NULL;

	if (UNLIKELY(kept->count == KEPT_FENCES))
		oldest = kept->bodies[kept->end];
	else
		kept->count++;
	kept->bodies[kept->end] = body;
	kept->end = (kept->end + 1) % KEPT_FENCES;
	return oldest;
}

#endif
