/* SPDX-License-Identifier: MIT */
/*
 * room_for_tables.c - page tables in the row of those who need memory: whose go for others, and who
 * waits for some. See room.c.
 *
 *	in:   a search that found no room, or whose process's tables are out
 *	out:  tables that leave, tables that enter, calls that are answered
 *
 * All of a process's go together: first those of processes that do nothing, then of those that had
 * their time. Their devices are suspended, and have their turn to get them back: two processes whose
 * tables do not fit in together run by turns.
 */
#include "base/machine.h"
#include "vidmm/room_parts.h"
#include "vidmm/table_states.h"

/* ---- page tables that go ---- */

/* Nothing of it runs, or what does has had its time since it got everything back. */
static bool process_gives_locked(const struct room_search *search,
				 const struct vidmm_process *process, struct retry_hint *hint)
{
	lock_assert_held(&search->manager->lock);
	list_each (const struct vidmm_device, device, &process->devices, link) {
		if (device_is_idle_locked(device) || search->now_ns >= device->slice_end_ns)
			continue;
		retry_hint_until(hint, device->slice_end_ns);
		return false;
	}
	return true;
}

static bool tables_go_locked(const struct room_search *search, const struct vidmm_tables *tables,
			     struct vidmm_process *process, const struct vidmm_segment *segment,
			     struct retry_hint *hint)
{
	lock_assert_held(&search->manager->lock);
	if (!search->is_first || process == search->process || !tables->ops ||
	    !vidmm_tables_are_in(process) ||
	    tables->given_up_at == search->manager->retry_generation ||
	    table_blocks_bytes(&tables->blocks, segment) == 0)
		return false;
	/* The flag first: who lets go looks at it afterwards. */
	atomic_store(&search->manager->awaits_tables, true);
	if (vidmm_tables_are_held(process)) {
		hint->is_work = true;
		return false;
	}
	return process_gives_locked(search, process, hint);
}

/* The same of processes that do nothing, or of those that do something. */
static uint64_t tables_give_of_locked(const struct room_search *search,
				      const struct vidmm_segment *segment, bool are_idle,
				      uint64_t most_bytes, bool is_meant, struct retry_hint *hint)
{
	uint64_t given = 0;

	lock_assert_held(&search->manager->lock);
	list_each (struct vidmm_process, process, &search->manager->processes, link) {
		struct vidmm_tables *tables = &process->tables;

		if (given >= most_bytes)
			break;
		if (process_is_idle_locked(process) != are_idle ||
		    !tables_go_locked(search, tables, process, segment, hint))
			continue;
		if (!is_meant || tables_leave_locked(tables))
			given += table_blocks_bytes(&tables->blocks, segment);
	}
	return given;
}

uint64_t tables_give_locked(const struct room_search *search, const struct vidmm_segment *segment,
			    uint64_t most_bytes, bool is_meant, struct retry_hint *hint)
{
	uint64_t given = tables_give_of_locked(search, segment, true, most_bytes, is_meant, hint);

	lock_assert_held(&search->manager->lock);
	if (given < most_bytes)
		given += tables_give_of_locked(search, segment, false, most_bytes - given, is_meant,
					       hint);
	return given;
}

/* ---- page tables that are needed ---- */

static bool segments_of_set_are_emptying(const struct room_search *search, uint32_t segments)
{
	struct placement placements[VIDMM_MAX_SEGMENTS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < search->manager->segment_count; i++) {
		if (segments & UINT32_C(1) << i)
			placements[count++].segment = &search->manager->segments[i];
	}
	return segments_are_emptying(placements, count);
}

/* Everything of a list of blocks, or nobody's room is taken for it. */
static enum room blocks_find_locked(struct room_search *search, struct list *blocks)
{
	uint32_t segments = table_blocks_segments(blocks);
	enum room room = ROOM_SOON;

	lock_assert_held(&search->manager->lock);
	if (segments & search->taken_segments || segments_of_set_are_emptying(search, segments))
		return ROOM_SOON;
	NTSTATUS status = table_blocks_place_locked(search->manager, blocks);
	if (status != STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		return NT_SUCCESS(status) ? ROOM_FOUND : ROOM_NO_MEMORY;
	for (uint32_t i = 0; room == ROOM_SOON && i < search->manager->segment_count; i++) {
		struct vidmm_segment *segment = &search->manager->segments[i];
		struct placement all = { .segment = segment,
					 .wish = { .form = FORM_CONTIGUOUS,
						   .size_bytes =
							   table_blocks_bytes(blocks, segment),
						   .alignment_bytes = MACHINE_PAGE_BYTES } };

		if (all.wish.size_bytes > 0)
			room = room_make_locked(search, &all, 1);
	}
	if (room == ROOM_SOON)
		search->taken_segments |= segments;
	return room;
}

/* The page tables of a process, which its devices wait for. FOUND: they are in, or come. */
static enum room tables_find_locked(struct room_search *search, struct vidmm_process *process)
{
	struct vidmm_tables *tables = &process->tables;

	lock_assert_held(&search->manager->lock);
	if (tables_state(tables) != VIDMM_TABLES_OUT)
		return ROOM_FOUND;
	if (tables->given_up_at == search->manager->retry_generation || search->manager->is_gone ||
	    !tables->ops)
		return ROOM_SKIPPED;
	enum room room = blocks_find_locked(search, &tables->blocks);
	if (room == ROOM_FOUND)
		tables_enter_locked(tables);
	if (room == ROOM_NEVER || room == ROOM_NO_MEMORY)
		tables->given_up_at = search->manager->retry_generation;
	if (room == ROOM_NO_MEMORY)
		room_look_again(search->manager, clock_deadline(RETRY_NS));
	return room;
}

bool tables_are_on_their_way(const struct vidmm_process *process)
{
	enum vidmm_tables_state state = tables_state(&process->tables);

	return state == VIDMM_TABLES_LEAVING || state == VIDMM_TABLES_ENTERING;
}

bool device_look_for_tables_locked(struct room_search *search, struct vidmm_device *device,
				   bool is_first)
{
	uint32_t taken_segments = search->taken_segments;
	bool was_first = search->is_first;

	lock_assert_held(&search->manager->lock);
	search->is_first = is_first;
	enum room room = tables_find_locked(search, device->process);
	search->is_first = was_first;
	/* Without work it is nobody's end. */
	if (room == ROOM_NEVER && !sched_owner_is_idle(device->owner))
		device_starve_locked(device);
	if (room == ROOM_SOON && is_first != was_first)
		search->taken_segments = taken_segments;
	return room == ROOM_SOON && is_first == was_first;
}

bool request_look_locked(struct room_search *search, struct table_request *request)
{
	lock_assert_held(&search->manager->lock);
	search->device = NULL;
	search->own = NULL;
	search->process = request->process;
	enum room room = search->manager->is_gone ? ROOM_NEVER
						  : tables_find_locked(search, request->process);
	if (room == ROOM_FOUND && !vidmm_tables_are_in(request->process))
		return true; /* on a way */
	if (room == ROOM_FOUND)
		room = blocks_find_locked(search, &request->blocks);
	if (room == ROOM_SOON)
		return true;
	table_request_answer_locked(request, room == ROOM_FOUND ? STATUS_SUCCESS
					     : room == ROOM_NO_MEMORY
						     ? STATUS_NO_MEMORY
						     : STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	return false;
}
