/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/view/builder.h"

/* ---- packets ---- */

/* UINT32_MAX: never queued, as far as the trace tells. */
static uint32_t packet_row(const struct builder *builder, uint32_t queue, uint64_t ticket)
{
	const uint32_t *found =
		view_map_find(&builder->packets, (struct view_key){ queue, ticket, 0 });

	return found ? *found : UINT32_MAX;
}

static uint32_t add_packet(struct builder *builder, uint32_t queue, uint64_t ticket, int64_t kind)
{
	uint32_t row = queue == UINT32_MAX ? UINT32_MAX : builder_new_row(builder, VIEW_packets);

	if (row == UINT32_MAX)
		return row;
	SET(builder, packets, queue, row, queue);
	SET(builder, packets, ticket, row, ticket);
	SET(builder, packets, kind, row, kind);
	SET(builder, packets, queued, row, builder->now);
	SET(builder, packets, left, row, -1);
	SET(builder, packets, call, row, builder_open_call(builder));
	builder_name_row(builder, &builder->packets, (struct view_key){ queue, ticket, 0 }, row);
	return row;
}

/* Said by the thread that queues the wait or the signal, just before. */
static void add_sync(struct builder *builder, bool is_signal)
{
	uint32_t thread = builder_thread(builder);
	uint32_t row = thread == UINT32_MAX ? UINT32_MAX : builder_new_row(builder, VIEW_syncs);

	if (row == UINT32_MAX)
		return;

	struct doing *doing = &builder->doing[thread];

	SET(builder, syncs, process, row, builder_process(builder, builder_number(builder, 1)));
	SET(builder, syncs, sync, row, builder_number(builder, 2));
	SET(builder, syncs, value, row, builder_number(builder, 3));
	SET(builder, syncs, is_signal, row, is_signal);
	if (doing->sync_count < SYNCS_MAX)
		doing->syncs[doing->sync_count++] = row;
}

void builder_on_queue_wait_for(struct builder *builder)
{
	add_sync(builder, false);
}

void builder_on_queue_signal_of(struct builder *builder)
{
	add_sync(builder, true);
}

/* What its thread said before is of this packet. */
static void take_syncs(struct builder *builder, uint32_t packet, struct doing *doing)
{
	for (uint32_t i = 0; i < doing->sync_count; i++) {
		uint32_t row = doing->syncs[i];

		SET(builder, syncs, packet, row, (int64_t)packet + 1);
		if (VIEW_AT(builder->model, syncs, is_signal, row))
			continue;
		SET(builder, packets, sync, packet, VIEW_AT(builder->model, syncs, sync, row));
		SET(builder, packets, value, packet, VIEW_AT(builder->model, syncs, value, row));
	}
	doing->sync_count = 0;
	for (int64_t row = doing->last_entry; row != 0;
	     row = VIEW_AT(builder->model, lists, before, row - 1))
		SET(builder, lists, packet, row - 1, (int64_t)packet + 1);
	doing->last_entry = 0;
}

/* They were told with the packet already; these rows are of none. */
static void forget_syncs(struct doing *doing)
{
	doing->sync_count = 0;
	doing->last_entry = 0;
}

/* ---- paging queues ---- */

void builder_on_paging_queue_create(struct builder *builder)
{
	builder_name_row(
		builder, &builder->paging_syncs,
		(struct view_key){ builder_number(builder, 0), builder_number(builder, 1), 0 },
		(uint32_t)builder_number(builder, 3));
	builder_remember_device(builder, builder_device(builder, builder_number(builder, 0),
							builder_number(builder, 2)));
}

void builder_on_paging_queue_added(struct builder *builder)
{
	struct view_key key = { builder_number(builder, 0), builder_number(builder, 1), 0 };
	uint32_t row = builder_new_row(builder, VIEW_pagings);
	const uint32_t *last = view_map_find(&builder->pagings, key);
	const uint32_t *sync = view_map_find(&builder->paging_syncs, key);
	const uint32_t *device = view_map_find(&builder->contexts, key);

	if (row == UINT32_MAX)
		return;
	SET(builder, pagings, sync, row, sync ? *sync : 0);
	SET(builder, pagings, device, row, device ? (int64_t)*device + 1 : 0);
	SET(builder, pagings, process, row, builder_process(builder, key.a));
	SET(builder, pagings, queue, row, key.b);
	SET(builder, pagings, value, row, builder_number(builder, 2));
	SET(builder, pagings, begin, row, builder->now);
	SET(builder, pagings, end, row, -1);
	SET(builder, pagings, before, row, last ? (int64_t)*last + 1 : 0);
	SET(builder, pagings, call, row, builder_open_call(builder));
	builder_name_row(builder, &builder->pagings, key, row);
}

void builder_on_paging_queue_reached(struct builder *builder)
{
	struct view_key key = { builder_number(builder, 0), builder_number(builder, 1), 0 };
	const uint32_t *last = view_map_find(&builder->pagings, key);

	for (int64_t row = last ? (int64_t)*last : -1; row >= 0;
	     row = VIEW_AT(builder->model, pagings, before, row) - 1) {
		if (VIEW_AT(builder->model, pagings, end, row) >= 0)
			return;
		if ((uint64_t)VIEW_AT(builder->model, pagings, value, row) <=
		    builder_number(builder, 2))
			SET(builder, pagings, end, row, builder->now);
	}
}

/* ---- queues ---- */

static void describe_queue(struct builder *builder, bool is_hardware, int64_t kind)
{
	uint32_t row = builder_queue(builder, builder_number(builder, 0),
				     builder_number(builder, 1), is_hardware);
	const uint32_t *device = view_map_find(
		&builder->contexts,
		(struct view_key){ builder_number(builder, 2), builder_number(builder, 3), 0 });

	if (row == UINT32_MAX)
		return;
	SET(builder, queues, process, row, builder_process(builder, builder_number(builder, 2)));
	SET(builder, queues, handle, row, builder_number(builder, 3));
	SET(builder, queues, kind, row, kind);
	SET(builder, queues, device, row, device ? (int64_t)*device + 1 : 0);
}

/* What waits to be given to a hardware queue stands in one of the scheduler's own. */
void builder_on_queue_is(struct builder *builder)
{
	bool is_hardware = strcmp(builder->entry->fields[4].text, "hardware queue") == 0;

	describe_queue(builder, is_hardware, builder_text(builder, 4));
	if (is_hardware)
		describe_queue(builder, false, builder_text_of(builder, "software queue"));
}

/* For when it has something to do: a node that has not is none in the picture. */
void builder_on_node_is(struct builder *builder)
{
	char name[512];

	snprintf(name, sizeof(name), "%.400s (%.100s)", builder->entry->fields[3].text,
		 builder->entry->fields[2].text);
	builder_name_row(
		builder, &builder->node_names,
		(struct view_key){ builder_number(builder, 0), builder_number(builder, 1), 0 },
		(uint32_t)builder_text_of(builder, name));
}

static void end_wait(struct builder *builder, uint32_t queue)
{
	const uint32_t *open = view_map_find(&builder->waits, (struct view_key){ queue, 0, 0 });

	if (open && VIEW_AT(builder->model, waits, end, *open) < 0)
		SET(builder, waits, end, *open, builder->now);
}

void builder_on_queue_waits(struct builder *builder)
{
	uint32_t queue = builder_queue(builder, builder_number(builder, 0),
				       builder_number(builder, 1), false);
	uint32_t packet = packet_row(builder, queue, builder_number(builder, 2));

	end_wait(builder, queue);

	uint32_t row = builder_new_row(builder, VIEW_waits);

	if (row == UINT32_MAX)
		return;
	SET(builder, waits, packet, row, packet == UINT32_MAX ? 0 : (int64_t)packet + 1);
	SET(builder, waits, queue, row, queue);
	SET(builder, waits, kind, row, builder_text(builder, 3));
	SET(builder, waits, begin, row, builder->now);
	SET(builder, waits, end, row, -1);
	if (packet != UINT32_MAX) {
		SET(builder, waits, sync, row, VIEW_AT(builder->model, packets, sync, packet));
		SET(builder, waits, value, row, VIEW_AT(builder->model, packets, value, packet));
	}
	builder_name_row(builder, &builder->waits, (struct view_key){ queue, 0, 0 }, row);
}

void builder_on_queue_goes_on(struct builder *builder)
{
	end_wait(builder, builder_queue(builder, builder_number(builder, 0),
					builder_number(builder, 1), false));
}

/* A trace that begins late may be told twice. */
void builder_on_packet_queued(struct builder *builder)
{
	uint32_t queue = builder_queue(builder, builder_number(builder, 0),
				       builder_number(builder, 1), false);
	uint64_t ticket = builder_number(builder, 2);
	uint32_t known = packet_row(builder, queue, ticket);

	bool is_known = known != UINT32_MAX && VIEW_AT(builder->model, packets, left, known) < 0;
	uint32_t row =
		is_known ? known : add_packet(builder, queue, ticket, builder_text(builder, 3));
	uint32_t thread = builder_thread(builder);

	if (row == UINT32_MAX || thread == UINT32_MAX)
		return;
	if (is_known)
		forget_syncs(&builder->doing[thread]);
	else
		take_syncs(builder, row, &builder->doing[thread]);
}

void builder_on_packet_retired(struct builder *builder)
{
	uint32_t queue = builder_queue(builder, builder_number(builder, 0),
				       builder_number(builder, 1), false);
	uint32_t row = packet_row(builder, queue, builder_number(builder, 2));

	if (row == UINT32_MAX)
		return;
	SET(builder, packets, left, row, builder->now);
	SET(builder, packets, outcome, row, builder_text(builder, 3));
}

static void add_run(struct builder *builder, uint32_t node, uint64_t fence, uint32_t packet,
		    struct view_key key)
{
	uint32_t row = node == UINT32_MAX ? UINT32_MAX : builder_new_row(builder, VIEW_runs);

	if (row == UINT32_MAX)
		return;
	SET(builder, runs, packet, row, packet == UINT32_MAX ? 0 : (int64_t)packet + 1);
	SET(builder, runs, node, row, node);
	SET(builder, runs, fence, row, fence);
	SET(builder, runs, begin, row, builder->now);
	SET(builder, runs, end, row, -1);
	builder_name_row(builder, &builder->runs, key, row);
}

static bool is_running(const struct builder *builder, struct view_key key)
{
	const uint32_t *row = view_map_find(&builder->runs, key);

	return row && VIEW_AT(builder->model, runs, end, *row) < 0;
}

static uint32_t end_run(struct builder *builder, struct view_key key, int64_t outcome)
{
	const uint32_t *row = view_map_find(&builder->runs, key);

	if (!is_running(builder, key))
		return UINT32_MAX;
	SET(builder, runs, end, *row, builder->now);
	SET(builder, runs, outcome, *row, outcome);
	return *row;
}

void builder_on_packet_submitted(struct builder *builder)
{
	uint64_t adapter = builder_number(builder, 0);
	uint32_t node = builder_node(builder, adapter, builder_number(builder, 1));
	uint32_t queue = builder_queue(builder, adapter, builder_number(builder, 3), false);
	uint64_t fence = builder_number(builder, 2);

	if (!is_running(builder, (struct view_key){ node, fence, 0 }))
		add_run(builder, node, fence,
			packet_row(builder, queue, builder_number(builder, 5)),
			(struct view_key){ node, fence, 0 });
}

void builder_on_packet_left(struct builder *builder)
{
	uint32_t node =
		builder_node(builder, builder_number(builder, 0), builder_number(builder, 1));

	end_run(builder, (struct view_key){ node, builder_number(builder, 2), 0 },
		builder_text(builder, 3));
}

/* What is in a hardware queue is with the hardware: queued and run at once. */
void builder_on_hw_packet_submitted(struct builder *builder)
{
	uint64_t adapter = builder_number(builder, 0);
	uint64_t progress = builder_number(builder, 2);
	uint32_t queue = builder_queue(builder, adapter, builder_number(builder, 1), true);

	if (is_running(builder, (struct view_key){ queue, progress, 1 }))
		return;

	uint32_t packet =
		add_packet(builder, queue, progress, builder_text_of(builder, "hardware queue"));

	add_run(builder, builder_node(builder, adapter, builder_number(builder, 3)), progress,
		packet, (struct view_key){ queue, progress, 1 });
}

void builder_on_hw_packet_left(struct builder *builder)
{
	uint32_t queue = builder_queue(builder, builder_number(builder, 0),
				       builder_number(builder, 1), true);
	uint32_t packet = packet_row(builder, queue, builder_number(builder, 2));
	int64_t how = builder_text(builder, 3);

	end_run(builder, (struct view_key){ queue, builder_number(builder, 2), 1 }, how);
	if (packet == UINT32_MAX)
		return;
	SET(builder, packets, left, packet, builder->now);
	SET(builder, packets, outcome, packet, how);
}

void builder_on_fence_signal_cpu(struct builder *builder)
{
	uint32_t row = builder_new_row(builder, VIEW_signals);

	if (row == UINT32_MAX)
		return;
	SET(builder, signals, time, row, builder->now);
	SET(builder, signals, process, row, builder_process(builder, builder_number(builder, 0)));
	SET(builder, signals, sync, row, builder_number(builder, 1));
	SET(builder, signals, value, row, builder_number(builder, 2));
	SET(builder, signals, how, row, builder_text_of(builder, "CPU"));
}
