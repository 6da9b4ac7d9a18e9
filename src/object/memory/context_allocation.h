/* SPDX-License-Identifier: MIT */
/*
 * context_allocation.h - memory that a driver keeps for a context, or for all contexts of a device
 * (miniport/context_services.h).
 *
 *	create ▶ listed while work of its owner is queued (vidmm/work_set.h) ▶ destroy
 *
 * A driver may destroy one any moment, from inside any entry point, also with work queued: endings.h.
 * Who stands where that cannot be waited for (a paging or scheduler entry point, an owner that was
 * lost) returns at once, and the adapter's reaper goes on.
 *
 * What a driver knows a device or a context by is the kernel's pointer, and what it knows an
 * allocation by a number: neither is followed before it was found in the adapter's books.
 */
#ifndef OBJECT_MEMORY_CONTEXT_ALLOCATION_H
#define OBJECT_MEMORY_CONTEXT_ALLOCATION_H

#include "base/rbtree.h"
#include "miniport/context_services.h"
#include "object/owner/adapter.h"
#include "vidmm/work_set.h"

struct dxg_context;
struct dxg_device;

/* Part of a device, and of a context: what the driver keeps for it. */
struct context_memory {
	/* Set at the beginning. */
	struct dxg_device *device;
	struct sched_queue *queue; /* NULL: any of the device's is used with it */
	bool is_context;           /* else for all contexts of the device */
	struct vidmm_work_set set;

	/* Guarded by the lock of the adapter's books. */
	struct rb_node known; /* by the pointer that the driver has; value: the pointer */
	struct list allocations;
	uint32_t creating; /* calls under way */
};

void context_books_init(struct context_books *books);
void context_books_finish(struct context_books *books);

/* NULL, or what is wrong with them. */
const char *context_books_validate(struct context_books *books);

/*
 * Before the driver learns of `kernel_handle`, which is the device or one of its contexts. Its
 * device can hold memory.
 */
void context_memory_begin(struct context_memory *memory, struct dxg_device *device,
			  struct sched_queue *queue, void *kernel_handle);

/* The driver has forgotten it. What is left was leaked: it is reported, and goes. Blocks. */
void context_memory_end(struct context_memory *memory);

/* For kernel_validate(): what is charged to a client, too. */
void context_memory_for_each(struct context_memory *memory,
			     void (*visit)(void *context, struct vidmm_allocation *allocation),
			     void *context);

/* `listener` is a dxg_adapter. */
extern const struct miniport_context_services context_allocation_services;

#endif
