/* SPDX-License-Identifier: MIT */
/*
 * states.h - the states of an allocation, and the one way to change each.
 *
 * A step that is not in its table (state_tables.c) is a mistake of ours and stops. Each step is one
 * trace event. The caller holds the allocation's lock, or is alone with it.
 */
#ifndef VIDMM_STATES_H
#define VIDMM_STATES_H

#include "vidmm/vidmm.h"

void allocation_set_life(struct vidmm_allocation *allocation, enum vidmm_life life);
void allocation_set_content(struct vidmm_allocation *allocation, enum vidmm_content content);
/* `priority` counts while it is offered. */
void allocation_set_offer(struct vidmm_allocation *allocation, enum vidmm_offer offer,
			  enum vidmm_offer_priority priority);
void allocation_set_locks(struct vidmm_allocation *allocation, uint32_t lock_count);

static inline enum vidmm_content allocation_content(const struct vidmm_allocation *allocation)
{
	return (enum vidmm_content)atomic_load_explicit(&allocation->content, memory_order_relaxed);
}

#endif
