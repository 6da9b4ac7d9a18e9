/*
 * events.h - what upper layers may ask to be told.
 *
 * Called on the driver's DPC, no lock held, in order per node. The listener never calls back into
 * the driver from here.
 */
#ifndef MINIPORT_EVENTS_H
#define MINIPORT_EVENTS_H

#include <stdint.h>

struct miniport_events {
	void (*fence_completed)(void *listener, uint32_t node, uint64_t fence);
	void (*fence_preempted)(void *listener, uint32_t node, uint64_t fence,
				uint64_t last_completed);
	void (*node_faulted)(void *listener, uint32_t node, uint64_t fence);
};

#endif
