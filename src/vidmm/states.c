/* SPDX-License-Identifier: MIT */
/*
 * states.c - see states.h.
 */
#include <assert.h>

#include "trace/trace.h"
#include "vidmm/states.h"

bool life_may_become(enum vidmm_life from, enum vidmm_life to)
{
	return to > from;
}

bool content_may_become(enum vidmm_content from, enum vidmm_content to)
{
	static const bool may[3][3] = {
		[VIDMM_CONTENT_NONE] = { [VIDMM_CONTENT_BACKED] = true,
					 [VIDMM_CONTENT_LOCAL] = true },
		[VIDMM_CONTENT_BACKED] = { [VIDMM_CONTENT_NONE] = true,
					   [VIDMM_CONTENT_LOCAL] = true },
		[VIDMM_CONTENT_LOCAL] = { [VIDMM_CONTENT_NONE] = true,
					  [VIDMM_CONTENT_BACKED] = true },
	};

	return may[from][to];
}

bool offer_may_become(enum vidmm_offer from, enum vidmm_offer to)
{
	static const bool may[4][4] = {
		[VIDMM_NOT_OFFERED] = { [VIDMM_OFFERED] = true },
		/* To itself: the priority changes. */
		[VIDMM_OFFERED] = { true, true, true, true },
		[VIDMM_DISCARDED] = { [VIDMM_NOT_OFFERED] = true, [VIDMM_DECOMMITTED] = true },
		[VIDMM_DECOMMITTED] = { [VIDMM_DISCARDED] = true },
	};

	return may[from][to];
}

void allocation_set_life(struct vidmm_allocation *allocation, enum vidmm_life life)
{
	assert(life_may_become((enum vidmm_life)allocation->life, life));
	allocation->life = (uint8_t)life;
	if (life == VIDMM_DYING)
		trace_allocation_dying(allocation->id);
	else
		trace_allocation_dead(allocation->id);
}

void allocation_set_content(struct vidmm_allocation *allocation, enum vidmm_content content)
{
	static const char *const names[] = { "none", "backed", "local" };

	assert(content_may_become(allocation_content(allocation), content));
	atomic_store_explicit(&allocation->content, (uint8_t)content, memory_order_relaxed);
	trace_allocation_content(allocation->id, names[content], allocation->size_bytes);
}

void allocation_set_offer(struct vidmm_allocation *allocation, enum vidmm_offer offer,
			  enum vidmm_offer_priority priority)
{
	static const char *const names[] = { "not offered", "offered", "discarded", "decommitted" };

	assert(offer_may_become((enum vidmm_offer)allocation->offer, offer));
	allocation->offer = (uint8_t)offer;
	allocation->offer_priority = (uint8_t)priority;
	trace_allocation_offer(allocation->id, names[offer], (uint32_t)priority);
}

void allocation_set_locks(struct vidmm_allocation *allocation, uint32_t lock_count)
{
	allocation->lock_count = lock_count;
	trace_allocation_locks(allocation->id, lock_count);
}
