/* SPDX-License-Identifier: MIT */
/*
 * read.c - the events of a trace, one after the other, into the tables of the model (builder.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "base/mem.h"
#include "base/status.h"
#include "cli/view/builder.h"
#include "trace/trace_file.h"

/* ---- calls ---- */

static void begin_call(struct builder *builder, enum view_call kind, uint32_t process)
{
	uint32_t thread = builder_thread(builder);

	if (thread == UINT32_MAX)
		return;

	struct doing *open = &builder->doing[thread];
	uint32_t row = builder_new_row(builder, VIEW_calls);

	if (row == UINT32_MAX)
		return;
	if (open->depth < CALLS_OPEN_MAX)
		open->rows[open->depth] = row;
	open->depth++;
	if (process == 0 && open->depth > 1 && open->depth <= CALLS_OPEN_MAX)
		process = (uint32_t)VIEW_AT(builder->model, calls, process,
					    open->rows[open->depth - 2]);
	SET(builder, calls, thread, row, thread);
	SET(builder, calls, name, row, builder_text(builder, 0));
	SET(builder, calls, kind, row, kind);
	SET(builder, calls, begin, row, builder->now);
	SET(builder, calls, length, row, -1);
	SET(builder, calls, process, row, process);
	if (kind == VIEW_CALL_API && process != 0)
		SET(builder, threads, process, thread, process);
}

/* Row + 1 of the innermost call of this thread. */
uint32_t builder_open_call(struct builder *builder)
{
	uint32_t thread = builder_thread(builder);

	if (thread == UINT32_MAX || builder->doing[thread].depth == 0 ||
	    builder->doing[thread].depth > CALLS_OPEN_MAX)
		return 0;
	return builder->doing[thread].rows[builder->doing[thread].depth - 1] + 1;
}

static void end_call(struct builder *builder)
{
	uint32_t row = builder_open_call(builder);
	uint32_t thread = builder_thread(builder);

	if (thread == UINT32_MAX || builder->doing[thread].depth == 0)
		return;
	builder->doing[thread].depth--;
	if (row == 0)
		return;
	SET(builder, calls, length, row - 1,
	    builder->now - VIEW_AT(builder->model, calls, begin, row - 1));
	SET(builder, calls, status, row - 1,
	    builder_text_of(builder, status_name((NTSTATUS)(uint32_t)builder_number(builder, 0))));
}

static void on_api_call_begin(struct builder *builder)
{
	begin_call(builder, VIEW_CALL_API, builder_process(builder, builder_number(builder, 1)));
}

static void on_ddi_call_begin(struct builder *builder)
{
	begin_call(builder, VIEW_CALL_DDI, 0);
}

static void on_callback_begin(struct builder *builder)
{
	begin_call(builder, VIEW_CALL_CALLBACK, 0);
}

static void on_call_arguments(struct builder *builder)
{
	uint32_t call = builder_open_call(builder);

	if (call != 0)
		SET(builder, calls, arguments, call - 1, builder_text(builder, 0));
}

/* ---- marks ---- */

static void add_mark(struct builder *builder, const char *kind, uint32_t process, const char *what)
{
	uint32_t row = builder_new_row(builder, VIEW_marks);

	if (row == UINT32_MAX)
		return;
	SET(builder, marks, time, row, builder->now);
	SET(builder, marks, kind, row, builder_text_of(builder, kind));
	SET(builder, marks, text, row, builder_text_of(builder, what));
	SET(builder, marks, process, row, process);
}

static void on_refusal(struct builder *builder)
{
	const struct trace_entry *entry = builder->entry;
	uint32_t call = builder_open_call(builder);
	char what[1024];

	snprintf(what, sizeof(what), "%s %s: %s", entry->fields[1].text, entry->fields[0].text,
		 entry->fields[2].text);
	add_mark(builder, "refusal",
		 call ? (uint32_t)VIEW_AT(builder->model, calls, process, call - 1) : 0, what);
}

static void on_marker(struct builder *builder)
{
	const struct trace_entry *entry = builder->entry;
	char what[512];

	snprintf(what, sizeof(what), "%s (device 0x%llx, call %llu)", entry->fields[0].text,
		 (unsigned long long)builder_number(builder, 2),
		 (unsigned long long)builder_number(builder, 3));
	add_mark(builder, "marker", builder_process(builder, builder_number(builder, 1)), what);
}

static void on_device_lost(struct builder *builder)
{
	const struct trace_entry *entry = builder->entry;
	char what[512];

	snprintf(what, sizeof(what), "device 0x%llx: %s %s",
		 (unsigned long long)builder_number(builder, 1), entry->fields[2].text,
		 entry->fields[3].text);
	add_mark(builder, "device lost", builder_process(builder, builder_number(builder, 0)),
		 what);
}

static void on_gpu_fault(struct builder *builder)
{
	char what[512];

	snprintf(what, sizeof(what), "node %llu, packet %llu, address 0x%llx: %s",
		 (unsigned long long)builder_number(builder, 1),
		 (unsigned long long)builder_number(builder, 2),
		 (unsigned long long)builder_number(builder, 3), builder->entry->fields[4].text);
	add_mark(builder, "GPU fault", 0, what);
}

static void on_reset_step(struct builder *builder)
{
	char what[256];

	snprintf(what, sizeof(what), "node %llu: %s",
		 (unsigned long long)builder_number(builder, 1), builder->entry->fields[2].text);
	add_mark(builder, "reset", 0, what);
}

/* ---- all of them ---- */

static void (*const handlers[TRACE_EVENT_COUNT])(struct builder *builder) = {
	[TRACE_thread] = builder_on_thread,
	[TRACE_device_create] = builder_on_device_create,
	[TRACE_context_create] = builder_on_context_create,
	[TRACE_hw_context_create] = builder_on_context_create,
	[TRACE_hw_queue_create] = builder_on_hw_queue_create,
	[TRACE_process_is] = builder_on_process_is,
	[TRACE_api_call_begin] = on_api_call_begin,
	[TRACE_api_call_end] = end_call,
	[TRACE_api_call_arguments] = on_call_arguments,
	[TRACE_ddi_call_arguments] = on_call_arguments,
	[TRACE_segment_is] = builder_on_segment_is,
	[TRACE_node_is] = builder_on_node_is,
	[TRACE_queue_is] = builder_on_queue_is,
	[TRACE_queue_wait_for] = builder_on_queue_wait_for,
	[TRACE_queue_signal_of] = builder_on_queue_signal_of,
	[TRACE_paging_queue_create] = builder_on_paging_queue_create,
	[TRACE_paging_queue_added] = builder_on_paging_queue_added,
	[TRACE_paging_queue_reached] = builder_on_paging_queue_reached,
	[TRACE_packet_lists] = builder_on_packet_lists,
	[TRACE_queue_waits] = builder_on_queue_waits,
	[TRACE_queue_goes_on] = builder_on_queue_goes_on,
	[TRACE_allocation_name] = builder_on_allocation_name,
	[TRACE_allocation_range] = builder_on_allocation_range,
	[TRACE_allocation_leaves] = builder_on_allocation_leaves,
	[TRACE_allocation_lends] = builder_on_allocation_lends,
	[TRACE_room_wanted] = builder_on_room_wanted,
	[TRACE_room_given] = builder_on_room_given,
	[TRACE_budget] = builder_on_budget,
	[TRACE_ddi_call_begin] = on_ddi_call_begin,
	[TRACE_ddi_call_end] = end_call,
	[TRACE_callback_begin] = on_callback_begin,
	[TRACE_callback_end] = end_call,
	[TRACE_refusal] = on_refusal,
	[TRACE_marker] = on_marker,
	[TRACE_device_lost] = on_device_lost,
	[TRACE_gpu_fault] = on_gpu_fault,
	[TRACE_reset_step] = on_reset_step,
	[TRACE_packet_queued] = builder_on_packet_queued,
	[TRACE_packet_submitted] = builder_on_packet_submitted,
	[TRACE_packet_left] = builder_on_packet_left,
	[TRACE_packet_retired] = builder_on_packet_retired,
	[TRACE_hw_packet_submitted] = builder_on_hw_packet_submitted,
	[TRACE_hw_packet_left] = builder_on_hw_packet_left,
	[TRACE_fence_signal_cpu] = builder_on_fence_signal_cpu,
	[TRACE_allocation_live] = builder_on_allocation_live,
	[TRACE_allocation_dead] = builder_on_allocation_dead,
	[TRACE_allocation_opened] = builder_on_allocation_opened,
	[TRACE_allocation_closed] = builder_on_allocation_closed,
	[TRACE_allocation_offer] = builder_on_allocation_offer,
	[TRACE_allocation_locks] = builder_on_allocation_locks,
	[TRACE_allocation_place] = builder_on_allocation_place,
};

static void finish_builder(struct builder *builder)
{
	struct view_map *const maps[] = {
		&builder->processes,  &builder->threads,      &builder->nodes,   &builder->segments,
		&builder->queues,     &builder->allocations,  &builder->packets, &builder->runs,
		&builder->waits,      &builder->rooms,        &builder->series,  &builder->ranges,
		&builder->pagings,    &builder->paging_syncs, &builder->devices, &builder->contexts,
		&builder->node_names, &builder->openings
	};

	for (unsigned i = 0; i < ARRAY_SIZE(maps); i++)
		view_map_finish(maps[i]);
	mem_free(builder->doing);
}

static bool read_events(struct trace_reader *reader, struct view_model *model)
{
	struct builder builder = { .model = model };
	struct trace_entry entry;
	uint64_t first_ns = 0;

	bool is_first = true;

	while (!builder.has_no_memory && trace_reader_next(reader, &entry)) {
		if (is_first)
			first_ns = entry.time_ns;
		is_first = false;
		model->events += entry.event != TRACE_thread; /* as a summary counts them */
		builder.entry = &entry;
		builder.now = entry.time_ns > first_ns ? (int64_t)(entry.time_ns - first_ns) : 0;
		if (builder.now > model->length_ns)
			model->length_ns = builder.now;
		if (handlers[entry.event])
			handlers[entry.event](&builder);
	}
	finish_builder(&builder);
	return !builder.has_no_memory;
}

/* Whose content it is about. */
static void name_file(const char *path, char *problem, size_t problem_bytes)
{
	char said[256];

	snprintf(said, sizeof(said), "%s", problem);
	if (said[0])
		snprintf(problem, problem_bytes, "%s: %s", path, said);
}

bool view_model_read(const char *path, struct view_model *model, char *problem,
		     size_t problem_bytes)
{
	struct trace_file file;
	struct trace_reader *reader;
	bool is_read = false;

	*model = (struct view_model){ 0 };
	if (!trace_file_open(path, &file)) {
		snprintf(problem, problem_bytes, "%s: %s", path, strerror(errno));
		return false;
	}
	reader = trace_reader_open(file.bytes, file.size_bytes, problem, problem_bytes);
	if (reader) {
		const struct trace_facts *facts = trace_reader_facts(reader);

		model->program = mem_strdup(facts->program);
		model->is_complete = facts->is_complete;
		is_read = model->program && view_add_text(model, "") == 0 &&
			  read_events(reader, model);
		if (!is_read)
			snprintf(problem, problem_bytes, "no memory");
		else if (!trace_reader_complain(reader, problem, problem_bytes))
			problem[0] = '\0';
	}
	name_file(path, problem, problem_bytes);
	trace_reader_close(reader);
	trace_file_close(&file);
	if (!is_read)
		view_model_finish(model);
	return is_read;
}
