/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "cli/view/builder.h"

uint64_t builder_number(const struct builder *builder, unsigned field)
{
	return builder->entry->fields[field].number;
}

int64_t builder_text_of(struct builder *builder, const char *text)
{
	int64_t found = view_add_text(builder->model, text);

	if (found < 0)
		builder->has_no_memory = true;
	return found < 0 ? 0 : found;
}

int64_t builder_text(struct builder *builder, unsigned field)
{
	return builder_text_of(builder, builder->entry->fields[field].text);
}

/* Without memory the last row there is, or none; reading stops then. */
uint32_t builder_new_row(struct builder *builder, enum view_table table)
{
	uint32_t row = view_add_row(builder->model, table);

	if (row == UINT32_MAX)
		builder->has_no_memory = true;
	return row;
}

void builder_name_row(struct builder *builder, struct view_map *map, struct view_key key,
		      uint32_t row)
{
	if (!view_map_put(map, key, row))
		builder->has_no_memory = true;
}

/* ---- who there is ---- */

/* Row + 1; 0 is the kernel itself. */
uint32_t builder_process(struct builder *builder, uint64_t id)
{
	if (id == 0)
		return 0;

	const uint32_t *found = view_map_find(&builder->processes, (struct view_key){ id, 0, 0 });

	if (found)
		return *found + 1;

	uint32_t row = builder_new_row(builder, VIEW_processes);

	if (row == UINT32_MAX)
		return 0;
	SET(builder, processes, id, row, id);
	builder_name_row(builder, &builder->processes, (struct view_key){ id, 0, 0 }, row);
	return row + 1;
}

void builder_on_process_is(struct builder *builder)
{
	uint32_t row = builder_process(builder, builder_number(builder, 0));

	if (row == 0)
		return;
	SET(builder, processes, pid, row - 1, builder_number(builder, 1));
	SET(builder, processes, user, row - 1, builder_number(builder, 2));
	SET(builder, processes, name, row - 1, builder_text(builder, 3));
}

static bool has_doing(struct builder *builder, uint32_t thread)
{
	if (thread < builder->doing_capacity)
		return true;

	uint32_t capacity = thread + 16;
	struct doing *larger = mem_realloc(builder->doing, capacity * sizeof(*larger));

	if (!larger)
		return false;
	memset(larger + builder->doing_capacity, 0,
	       (capacity - builder->doing_capacity) * sizeof(*larger));
	builder->doing = larger;
	builder->doing_capacity = capacity;
	return true;
}

uint32_t builder_thread(struct builder *builder)
{
	struct view_key key = { builder->entry->thread, 0, 0 };
	const uint32_t *found = view_map_find(&builder->threads, key);

	if (found)
		return *found;

	uint32_t row = builder_new_row(builder, VIEW_threads);

	if (row == UINT32_MAX)
		return row;
	if (!has_doing(builder, row)) {
		builder->has_no_memory = true;
		return UINT32_MAX;
	}
	SET(builder, threads, id, row, builder->entry->thread);
	builder_name_row(builder, &builder->threads, key, row);
	return row;
}

void builder_on_thread(struct builder *builder)
{
	uint32_t row = builder_thread(builder);

	if (row != UINT32_MAX)
		SET(builder, threads, name, row, builder_text(builder, 0));
}

/* ---- devices, and what belongs to one ---- */

void builder_on_device_create(struct builder *builder)
{
	uint32_t row = builder_new_row(builder, VIEW_devices);
	uint32_t thread = builder_thread(builder);

	if (row == UINT32_MAX)
		return;
	SET(builder, devices, process, row, builder_process(builder, builder_number(builder, 0)));
	SET(builder, devices, handle, row, builder_number(builder, 1));
	SET(builder, devices, adapter, row, builder_number(builder, 2));
	SET(builder, devices, thread, row, thread == UINT32_MAX ? 0 : (int64_t)thread + 1);
	builder_name_row(
		builder, &builder->devices,
		(struct view_key){ builder_number(builder, 0), builder_number(builder, 1), 0 },
		row);
}

uint32_t builder_device(const struct builder *builder, uint64_t process, uint64_t handle)
{
	const uint32_t *found =
		view_map_find(&builder->devices, (struct view_key){ process, handle, 0 });

	return found ? *found + 1 : 0;
}

void builder_remember_device(struct builder *builder, uint32_t device)
{
	if (device != 0)
		builder_name_row(builder, &builder->contexts,
				 (struct view_key){ builder_number(builder, 0),
						    builder_number(builder, 1), 0 },
				 device - 1);
}

void builder_on_context_create(struct builder *builder)
{
	builder_remember_device(builder, builder_device(builder, builder_number(builder, 0),
							builder_number(builder, 2)));
}

void builder_on_hw_queue_create(struct builder *builder)
{
	const uint32_t *device = view_map_find(
		&builder->contexts,
		(struct view_key){ builder_number(builder, 0), builder_number(builder, 2), 0 });

	builder_remember_device(builder, device ? *device + 1 : 0);
}

static uint32_t named_row(struct builder *builder, struct view_map *map, enum view_table table,
			  struct view_key key, enum view_column first, enum view_column second)
{
	const uint32_t *found = view_map_find(map, key);

	if (found)
		return *found;

	uint32_t row = builder_new_row(builder, table);

	if (row == UINT32_MAX)
		return row;
	builder->model->columns[first][row] = (int64_t)key.a;
	builder->model->columns[second][row] = (int64_t)key.b;
	builder_name_row(builder, map, key, row);
	return row;
}

uint32_t builder_node(struct builder *builder, uint64_t adapter, uint64_t node)
{
	struct view_key key = { adapter, node, 0 };
	uint32_t row = named_row(builder, &builder->nodes, VIEW_nodes, key, VIEW_nodes_adapter,
				 VIEW_nodes_number);
	const uint32_t *name = view_map_find(&builder->node_names, key);

	if (name && row != UINT32_MAX)
		SET(builder, nodes, name, row, *name);
	return row;
}

uint32_t builder_segment(struct builder *builder, uint64_t adapter, uint64_t segment)
{
	return named_row(builder, &builder->segments, VIEW_segments,
			 (struct view_key){ adapter, segment, 0 }, VIEW_segments_adapter,
			 VIEW_segments_number);
}

uint32_t builder_queue(struct builder *builder, uint64_t adapter, uint64_t queue, bool is_hardware)
{
	return named_row(builder, &builder->queues, VIEW_queues,
			 (struct view_key){ adapter, queue, is_hardware }, VIEW_queues_adapter,
			 VIEW_queues_number);
}
