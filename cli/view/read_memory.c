/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/attributes.h"
#include "cli/view/builder.h"

/* ---- memory ---- */

static uint32_t add_allocation(struct builder *builder, uint64_t id)
{
	uint32_t row = builder_new_row(builder, VIEW_allocations);

	if (row == UINT32_MAX)
		return row;
	SET(builder, allocations, id, row, id);
	SET(builder, allocations, born, row, builder->now);
	SET(builder, allocations, died, row, -1);
	builder_name_row(builder, &builder->allocations, (struct view_key){ id, 0, 0 }, row);
	return row;
}

static uint32_t allocation_row(struct builder *builder, uint64_t id)
{
	const uint32_t *found = view_map_find(&builder->allocations, (struct view_key){ id, 0, 0 });

	return found ? *found : add_allocation(builder, id);
}

/* A new row about the allocation that the event names first. UINT32_MAX: no memory. */
static uint32_t row_about(struct builder *builder, enum view_table table, uint32_t *allocation)
{
	*allocation = allocation_row(builder, builder_number(builder, 0));
	return *allocation == UINT32_MAX ? UINT32_MAX : builder_new_row(builder, table);
}

void builder_on_allocation_live(struct builder *builder)
{
	uint32_t row = add_allocation(builder, builder_number(builder, 0));

	if (row == UINT32_MAX)
		return;
	SET(builder, allocations, size, row, builder_number(builder, 1));
	SET(builder, allocations, process, row,
	    builder_process(builder, builder_number(builder, 3)));
	SET(builder, allocations, device, row, builder_number(builder, 4));
	SET(builder, allocations, device_row, row,
	    builder_device(builder, builder_number(builder, 3), builder_number(builder, 4)));
	SET(builder, allocations, resource, row, builder_number(builder, 5));
	SET(builder, allocations, adapter, row, builder_number(builder, 6));
}

static struct view_key opening_key(const struct builder *builder)
{
	return (struct view_key){ builder_number(builder, 0), builder_number(builder, 1), 0 };
}

/* A trace that begins late may be told twice. */
void builder_on_allocation_opened(struct builder *builder)
{
	struct view_key key = opening_key(builder);
	const uint32_t *known = view_map_find(&builder->openings, key);
	uint32_t allocation = allocation_row(builder, builder_number(builder, 2));

	if (allocation == UINT32_MAX ||
	    (known && VIEW_AT(builder->model, openings, end, *known) < 0 &&
	     VIEW_AT(builder->model, openings, allocation, *known) == allocation))
		return;

	uint32_t row = builder_new_row(builder, VIEW_openings);

	if (row == UINT32_MAX)
		return;
	SET(builder, openings, allocation, row, allocation);
	SET(builder, openings, process, row, builder_process(builder, key.a));
	SET(builder, openings, handle, row, key.b);
	SET(builder, openings, device, row, builder_number(builder, 3));
	SET(builder, openings, begin, row, builder->now);
	SET(builder, openings, end, row, -1);
	builder_name_row(builder, &builder->openings, key, row);
}

void builder_on_allocation_closed(struct builder *builder)
{
	const uint32_t *row = view_map_find(&builder->openings, opening_key(builder));

	if (row && VIEW_AT(builder->model, openings, end, *row) < 0)
		SET(builder, openings, end, *row, builder->now);
}

/* Of the packet that the same thread queues next. */
void builder_on_packet_lists(struct builder *builder)
{
	uint32_t thread = builder_thread(builder);
	uint32_t allocation = allocation_row(builder, builder_number(builder, 2));
	uint32_t row = allocation == UINT32_MAX || thread == UINT32_MAX
			       ? UINT32_MAX
			       : builder_new_row(builder, VIEW_lists);

	if (row == UINT32_MAX)
		return;
	SET(builder, lists, allocation, row, allocation);
	SET(builder, lists, is_written, row, builder_number(builder, 3));
	SET(builder, lists, before, row, builder->doing[thread].last_entry);
	builder->doing[thread].last_entry = row + 1;
}

void builder_on_allocation_name(struct builder *builder)
{
	uint32_t row = allocation_row(builder, builder_number(builder, 0));

	if (row != UINT32_MAX)
		SET(builder, allocations, name, row, builder_text(builder, 1));
}

void builder_on_segment_is(struct builder *builder)
{
	uint32_t row =
		builder_segment(builder, builder_number(builder, 0), builder_number(builder, 1));

	if (row == UINT32_MAX)
		return;
	SET(builder, segments, size, row, builder_number(builder, 2));
	SET(builder, segments, kind, row, builder_text(builder, 3));
}

/* Its addresses are another's from now on, or it has others. */
static void end_ranges(struct builder *builder, uint32_t allocation)
{
	const uint32_t *last =
		view_map_find(&builder->ranges, (struct view_key){ allocation, 0, 0 });

	for (int64_t row = last ? (int64_t)*last : -1; row >= 0;
	     row = VIEW_AT(builder->model, ranges, before, row) - 1) {
		if (VIEW_AT(builder->model, ranges, end, row) >= 0)
			return;
		SET(builder, ranges, end, row, builder->now);
	}
}

void builder_on_allocation_dead(struct builder *builder)
{
	uint32_t row = allocation_row(builder, builder_number(builder, 0));

	if (row == UINT32_MAX)
		return;
	SET(builder, allocations, died, row, builder->now);
	end_ranges(builder, row);
}

static int64_t state_of(const char *name)
{
	static const char *const names[] = { [VIEW_OUT] = "out",
					     [VIEW_ENTERING] = "entering",
					     [VIEW_IN] = "in",
					     [VIEW_LEAVING] = "leaving",
					     [VIEW_SHIFTING] = "shifting" };

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return VIEW_OUT;
}

static int64_t offer_of(const char *name)
{
	static const char *const names[] = { [VIEW_OFFERED] = "offered",
					     [VIEW_DISCARDED] = "discarded",
					     [VIEW_DECOMMITTED] = "decommitted" };

	for (unsigned i = VIEW_OFFERED; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return VIEW_OFFER_NONE;
}

void builder_on_allocation_offer(struct builder *builder)
{
	uint32_t allocation;
	uint32_t row = row_about(builder, VIEW_offers, &allocation);

	if (row == UINT32_MAX)
		return;
	SET(builder, offers, allocation, row, allocation);
	SET(builder, offers, time, row, builder->now);
	SET(builder, offers, state, row, offer_of(builder->entry->fields[1].text));
	SET(builder, offers, priority, row, builder_number(builder, 2));
}

void builder_on_allocation_locks(struct builder *builder)
{
	uint32_t allocation;
	uint32_t row = row_about(builder, VIEW_locks, &allocation);

	if (row == UINT32_MAX)
		return;
	SET(builder, locks, allocation, row, allocation);
	SET(builder, locks, time, row, builder->now);
	SET(builder, locks, count, row, builder_number(builder, 1));
}

void builder_on_allocation_range(struct builder *builder)
{
	uint32_t allocation;
	uint32_t row = row_about(builder, VIEW_ranges, &allocation);

	if (row == UINT32_MAX)
		return;

	const uint32_t *last =
		view_map_find(&builder->ranges, (struct view_key){ allocation, 0, 0 });
	uint64_t adapter = (uint64_t)VIEW_AT(builder->model, allocations, adapter, allocation);

	SET(builder, ranges, allocation, row, allocation);
	SET(builder, ranges, segment, row,
	    (int64_t)builder_segment(builder, adapter, builder_number(builder, 1)) + 1);
	SET(builder, ranges, offset, row, builder_number(builder, 2));
	SET(builder, ranges, bytes, row, builder_number(builder, 3));
	SET(builder, ranges, begin, row, builder->now);
	SET(builder, ranges, end, row, -1);
	SET(builder, ranges, before, row, last ? (int64_t)*last + 1 : 0);
	builder_name_row(builder, &builder->ranges, (struct view_key){ allocation, 0, 0 }, row);
}

void builder_on_allocation_place(struct builder *builder)
{
	uint32_t allocation;
	uint32_t row = row_about(builder, VIEW_states, &allocation);
	int64_t state = state_of(builder->entry->fields[1].text);
	uint64_t segment = builder_number(builder, 2);

	if (row == UINT32_MAX)
		return;
	SET(builder, states, allocation, row, allocation);
	SET(builder, states, time, row, builder->now);
	SET(builder, states, state, row, state);
	if (state == VIEW_OUT || state == VIEW_IN)
		end_ranges(builder, allocation);
	if (segment != 0)
		SET(builder, states, segment, row,
		    (int64_t)builder_segment(
			    builder,
			    (uint64_t)VIEW_AT(builder->model, allocations, adapter, allocation),
			    segment) +
			    1);
	if (state == VIEW_LEAVING && builder->leaving == allocation + 1) {
		SET(builder, states, reason, row, builder->leave.reason);
		SET(builder, states, for, row, builder->leave.for_allocation);
		SET(builder, states, for_process, row, builder->leave.for_process);
		SET(builder, states, rank, row, builder->leave.rank);
		builder->leaving = 0;
	}
	if (VIEW_AT(builder->model, allocations, size, allocation) == 0)
		SET(builder, allocations, size, allocation, builder_number(builder, 3));
}

/* Told just before the allocation is leaving. */
void builder_on_allocation_leaves(struct builder *builder)
{
	uint64_t winner = builder_number(builder, 2);
	uint32_t allocation = allocation_row(builder, builder_number(builder, 0));

	builder->leaving = allocation == UINT32_MAX ? 0 : allocation + 1;
	builder->leave =
		(struct leave){ .reason = builder_text(builder, 1),
				.for_process = builder_process(builder, builder_number(builder, 3)),
				.rank = builder_text(builder, 4) };
	if (winner != 0)
		builder->leave.for_allocation = (int64_t)allocation_row(builder, winner) + 1;
}

void builder_on_allocation_lends(struct builder *builder)
{
	uint32_t allocation;
	uint32_t row = row_about(builder, VIEW_loans, &allocation);

	if (row == UINT32_MAX)
		return;
	SET(builder, loans, allocation, row, allocation);
	SET(builder, loans, time, row, builder->now);
	SET(builder, loans, bytes, row, builder_number(builder, 2));
}

void builder_on_room_wanted(struct builder *builder)
{
	uint32_t allocation;
	uint32_t row = row_about(builder, VIEW_rooms, &allocation);

	if (row == UINT32_MAX)
		return;
	SET(builder, rooms, allocation, row, allocation + 1);
	SET(builder, rooms, process, row, builder_process(builder, builder_number(builder, 1)));
	SET(builder, rooms, bytes, row, builder_number(builder, 2));
	SET(builder, rooms, begin, row, builder->now);
	SET(builder, rooms, end, row, -1);
	builder_name_row(builder, &builder->rooms, (struct view_key){ allocation, 0, 0 }, row);
}

void builder_on_room_given(struct builder *builder)
{
	uint32_t allocation = allocation_row(builder, builder_number(builder, 0));
	const uint32_t *row = view_map_find(&builder->rooms, (struct view_key){ allocation, 0, 0 });

	if (allocation == UINT32_MAX || !row || VIEW_AT(builder->model, rooms, end, *row) >= 0)
		return;

	uint32_t open = *row;
	uint64_t adapter = (uint64_t)VIEW_AT(builder->model, allocations, adapter, allocation);

	SET(builder, rooms, end, open, builder->now);
	SET(builder, rooms, segment, open,
	    (int64_t)builder_segment(builder, adapter, builder_number(builder, 1)) + 1);
}

/* ---- curves ---- */

static void add_point(struct builder *builder, enum view_series kind, uint64_t value)
{
	uint64_t adapter = builder_number(builder, 0);
	uint64_t group = builder_number(builder, 2);
	struct view_key key = { adapter << 1 | kind, builder_number(builder, 1), group };
	const uint32_t *known = view_map_find(&builder->series, key);
	uint32_t series = known ? *known : builder_new_row(builder, VIEW_series);
	uint32_t row = series == UINT32_MAX ? UINT32_MAX : builder_new_row(builder, VIEW_counters);

	if (row == UINT32_MAX)
		return;
	if (!known) {
		SET(builder, series, kind, series, kind);
		SET(builder, series, process, series,
		    builder_process(builder, builder_number(builder, 1)));
		SET(builder, series, group, series,
		    builder_text_of(builder, group == 0 ? "local" : "non-local"));
		SET(builder, series, adapter, series, adapter);
		builder_name_row(builder, &builder->series, key, series);
	}
	SET(builder, counters, series, row, series);
	SET(builder, counters, time, row, builder->now);
	SET(builder, counters, value, row, value);
}

void builder_on_budget(struct builder *builder)
{
	add_point(builder, VIEW_BUDGET, builder_number(builder, 3));
	add_point(builder, VIEW_USAGE, builder_number(builder, 4));
}
