/* SPDX-License-Identifier: MIT */
/*
 * builder.h - the model while it is read. For read.c and its parts:
 *
 *	builder.c      rows by what events call them; who there is
 *	read.c         calls, marks, and which function takes which event
 *	read_work.c    queues, packets, fences
 *	read_memory.c  allocations, where they are and why; curves
 *
 * What happens to a thing finds its row by what the events call it: an allocation by its id, a packet by adapter, queue and
 * ticket. A trace that began late, or lost its beginning, tells of things it never introduced: they get a row then.
 */
#ifndef CLI_VIEW_BUILDER_H
#define CLI_VIEW_BUILDER_H

#include "cli/view/model.h"
#include "trace/reader.h"

/* D3DDDI_MAX_OBJECT_WAITED_ON is 32; of more than that the rest has no packet. */
enum { CALLS_OPEN_MAX = 64, SYNCS_MAX = 32 };

/* What a thread is in the middle of. */
struct doing {
	uint32_t depth; /* of calls; may be more than there is room for: those have no row */
	uint32_t rows[CALLS_OPEN_MAX];
	uint32_t syncs
		[SYNCS_MAX]; /* rows: what the packet that it queues next waits for or signals */
	uint32_t sync_count;
	uint32_t last_entry; /* row + 1: the last entry of its allocation list */
};

/* Why an allocation is about to leave; told just before it does. */
struct leave {
	int64_t reason, for_allocation, for_process, rank;
};

struct builder {
	struct view_model *model;
	const struct trace_entry *entry;
	int64_t now;

	/* Rows, by what events say. */
	struct view_map processes;   /* id */
	struct view_map threads;     /* id */
	struct view_map devices;     /* process, handle */
	struct view_map contexts;    /* process, handle (of queues, too): row of its device */
	struct view_map nodes;       /* adapter, node */
	struct view_map node_names;  /* adapter, node: text */
	struct view_map segments;    /* adapter, segment */
	struct view_map queues;      /* adapter, queue, is a hardware queue */
	struct view_map allocations; /* id: the one that is alive, or was last */
	struct view_map packets;     /* row of the queue, ticket */
	struct view_map runs;  /* row of the node, fence; or of the hardware queue, progress, 1 */
	struct view_map waits; /* row of the queue: the last one */
	struct view_map paging_syncs; /* process, queue: handle of its fence */
	struct view_map pagings;      /* process, queue: the last one */
	struct view_map rooms;        /* row of the allocation */
	struct view_map ranges;       /* row of the allocation: its last one */
	struct view_map openings;     /* process, handle */
	struct view_map series;       /* kind, process, group and adapter */

	struct doing *doing; /* by row of the thread */
	uint32_t doing_capacity;
	struct leave leave;
	uint32_t leaving; /* the allocation's row + 1 of `leave` */
	bool has_no_memory;
};

#define SET(builder, table, column, row, value)                                                    \
	(VIEW_AT((builder)->model, table, column, row) = (int64_t)(value))

uint64_t builder_number(const struct builder *builder, unsigned field);
int64_t builder_text_of(struct builder *builder, const char *text);
int64_t builder_text(struct builder *builder, unsigned field);
/* Without memory UINT32_MAX; reading stops then. */
uint32_t builder_new_row(struct builder *builder, enum view_table table);
void builder_name_row(struct builder *builder, struct view_map *map, struct view_key key,
		      uint32_t row);
/* Row + 1; 0 is the kernel itself. */
uint32_t builder_process(struct builder *builder, uint64_t id);
uint32_t builder_thread(struct builder *builder);
uint32_t builder_node(struct builder *builder, uint64_t adapter, uint64_t node);
uint32_t builder_segment(struct builder *builder, uint64_t adapter, uint64_t segment);
uint32_t builder_queue(struct builder *builder, uint64_t adapter, uint64_t queue, bool is_hardware);
/* Row + 1; 0: none of that name is alive. */
uint32_t builder_device(const struct builder *builder, uint64_t process, uint64_t handle);
/* Of an event with process, handle, and of which it is a part: a context or paging queue of a device, a hardware queue of a
 * context. */
void builder_remember_device(struct builder *builder, uint32_t device);
/* Row + 1 of the innermost call of this thread. */
uint32_t builder_open_call(struct builder *builder);

/* One for each event. */
void builder_on_process_is(struct builder *builder);
void builder_on_thread(struct builder *builder);
void builder_on_device_create(struct builder *builder);
void builder_on_context_create(struct builder *builder);
void builder_on_hw_queue_create(struct builder *builder);
void builder_on_queue_wait_for(struct builder *builder);
void builder_on_queue_signal_of(struct builder *builder);
void builder_on_paging_queue_create(struct builder *builder);
void builder_on_paging_queue_added(struct builder *builder);
void builder_on_paging_queue_reached(struct builder *builder);
void builder_on_node_is(struct builder *builder);
void builder_on_queue_is(struct builder *builder);
void builder_on_queue_waits(struct builder *builder);
void builder_on_queue_goes_on(struct builder *builder);
void builder_on_packet_queued(struct builder *builder);
void builder_on_packet_retired(struct builder *builder);
void builder_on_packet_submitted(struct builder *builder);
void builder_on_packet_left(struct builder *builder);
void builder_on_hw_packet_submitted(struct builder *builder);
void builder_on_hw_packet_left(struct builder *builder);
void builder_on_fence_signal_cpu(struct builder *builder);
void builder_on_allocation_live(struct builder *builder);
void builder_on_allocation_opened(struct builder *builder);
void builder_on_allocation_closed(struct builder *builder);
void builder_on_packet_lists(struct builder *builder);
void builder_on_allocation_name(struct builder *builder);
void builder_on_segment_is(struct builder *builder);
void builder_on_allocation_dead(struct builder *builder);
void builder_on_allocation_offer(struct builder *builder);
void builder_on_allocation_locks(struct builder *builder);
void builder_on_allocation_place(struct builder *builder);
void builder_on_allocation_range(struct builder *builder);
void builder_on_allocation_lends(struct builder *builder);
void builder_on_allocation_leaves(struct builder *builder);
void builder_on_room_wanted(struct builder *builder);
void builder_on_room_given(struct builder *builder);
void builder_on_budget(struct builder *builder);

#endif
