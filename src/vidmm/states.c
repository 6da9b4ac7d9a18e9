/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"
#include "vidmm/states.h"

void allocation_set_life(struct vidmm_allocation *allocation, enum vidmm_life life)
{
	allocation->life = state_step(STATES_LIFE, allocation->life, life);
	if (life == VIDMM_DYING)
		trace_allocation_dying(allocation->id);
	else
		trace_allocation_dead(allocation->id);
}

void allocation_set_content(struct vidmm_allocation *allocation, enum vidmm_content content)
{
	atomic_store_explicit(&allocation->content,
			      state_step(STATES_CONTENT, allocation_content(allocation), content),
			      memory_order_relaxed);
	trace_allocation_content(allocation->id, state_tables[STATES_CONTENT].states[content],
				 allocation->size_bytes);
}

void allocation_set_offer(struct vidmm_allocation *allocation, enum vidmm_offer offer,
			  enum vidmm_offer_priority priority)
{
	allocation->offer = state_step(STATES_OFFER, allocation->offer, offer);
	allocation->offer_priority = (uint8_t)priority;
	trace_allocation_offer(allocation->id, state_tables[STATES_OFFER].states[offer],
			       (uint32_t)priority);
}

void allocation_set_locks(struct vidmm_allocation *allocation, uint32_t lock_count)
{
	allocation->lock_count = lock_count;
	trace_allocation_locks(allocation->id, lock_count);
}
