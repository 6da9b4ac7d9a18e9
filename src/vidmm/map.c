/* SPDX-License-Identifier: MIT */
/*
 * map.c - see map.h. Locks: the manager's, for a walk along all places.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/map.h"
#include "vidmm/place.h"

/* ---- addresses ---- */

/* Counts; with room, writes as well. */
struct survey {
	struct vidmm_map_entry *entries;
	uint32_t room;
	uint32_t count;
};

static void add_runs(struct survey *survey, const struct page_set *pages,
		     const struct vidmm_map_entry *whose)
{
	const struct page_run *runs = page_set_runs(pages);

	for (uint32_t i = 0; i < pages->run_count; i++) {
		if (survey->count < survey->room) {
			struct vidmm_map_entry *entry = &survey->entries[survey->count];

			*entry = *whose;
			entry->offset_bytes = (uint64_t)runs[i].first_page * MACHINE_PAGE_BYTES;
			entry->size_bytes = (uint64_t)runs[i].count * MACHINE_PAGE_BYTES;
		}
		survey->count++;
	}
}

/* Whose it is stands in what traces call it by; what a driver keeps for itself is the kernel's. */
static uint32_t process_of(const struct vidmm_place *place)
{
	return place->allocation->driver ? 0 : (uint32_t)(place->allocation->id >> 32) + 1;
}

static void survey_locked(const struct vidmm *manager, const struct vidmm_segment *segment,
			  struct survey *survey)
{
	lock_assert_held(&manager->lock);
	survey->count = 0;
	list_each (const struct vidmm_place, place, &manager->places, all_link) {
		const struct vidmm_map_entry whose = {
			.allocation_id = place->allocation->id,
			.process_id = process_of(place),
			.state = state_tables[STATES_PLACE].states[place->state],
		};

		if (place->segment != segment)
			continue;
		add_runs(survey, &place->pages, &whose);
		add_runs(survey, &place->shift.pages, &whose);
	}
	list_each (const struct vidmm_table_block, block, &manager->blocks, link) {
		const struct vidmm_map_entry whose = {
			.process_id = block->tables ? tables_process(block->tables)->id : 0,
			.state = "in",
		};

		if (block->segment == segment && block->is_placed)
			add_runs(survey, &block->pages, &whose);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct vidmm_map_entry *one = a;
	const struct vidmm_map_entry *other = b;

	return (one->offset_bytes > other->offset_bytes) -
	       (one->offset_bytes < other->offset_bytes);
}

NTSTATUS vidmm_map_take(struct vidmm *manager, uint32_t segment_id, struct vidmm_map *map_out)
{
	struct survey survey = { 0 };
	bool is_complete = false;

	/* System memory behind page tables is nobody's segment: neither statistics nor traces have it. */
	if (segment_id == 0 || segment_id > manager->segment_count ||
	    manager->segments[segment_id - 1].page_count == 0 ||
	    manager->segments[segment_id - 1].config.is_implicit_system)
		return invalid(RULE_API_VALUE, "segment",
			       "%u is none that has addresses; they count from 1", segment_id);
	const struct vidmm_segment *segment = &manager->segments[segment_id - 1];

	/* Others come meanwhile: there has to be room for all of them at one moment. */
	while (!is_complete) {
		lock_acquire(&manager->lock);
		survey_locked(manager, segment, &survey);
		is_complete = survey.count <= survey.room;
		*map_out = (struct vidmm_map){
			.size_bytes = segment->page_count * MACHINE_PAGE_BYTES,
			.resident_bytes = segment->resident_bytes,
			.largest_gap_bytes =
				ranges_largest_free(&segment->ranges) * MACHINE_PAGE_BYTES,
			.is_aperture = segment->is_system,
		};
		lock_release(&manager->lock);
		if (is_complete)
			break;
		mem_free(survey.entries);
		survey.room = survey.count + survey.count / 8 + 16;
		survey.entries = mem_zalloc_array(survey.room, sizeof(*survey.entries));
		if (!survey.entries)
			return refuse_no_memory("no memory for a map of the segment");
	}
	map_out->count = survey.count;
	map_out->entries = survey.entries;
	if (survey.count > 1)
		qsort(survey.entries, survey.count, sizeof(*survey.entries), by_address);
	return STATUS_SUCCESS;
}

void vidmm_map_finish(struct vidmm_map *map)
{
	mem_free(map->entries);
	*map = (struct vidmm_map){ 0 };
}

/* ---- processes ---- */

uint32_t vidmm_largest_of(struct vidmm *manager, uint32_t process_id, uint32_t most,
			  struct vidmm_large_one *largest)
{
	uint32_t count = 0;

	lock_acquire(&manager->lock);
	list_each (const struct vidmm_place, place, &manager->places, all_link) {
		uint32_t at = count;

		if (process_of(place) != process_id)
			continue;
		while (at > 0 && largest[at - 1].size_bytes < place->allocation->size_bytes)
			at--;
		if (at == most)
			continue;
		count += count < most;
		memmove(&largest[at + 1], &largest[at], (count - at - 1) * sizeof(*largest));
		largest[at] = (struct vidmm_large_one){
			.allocation_id = place->allocation->id,
			.size_bytes = place->allocation->size_bytes,
			.segment = place->segment ? place->segment->id : 0,
			.state = state_tables[STATES_PLACE].states[place->state],
		};
	}
	lock_release(&manager->lock);
	return count;
}

struct vidmm_process_facts vidmm_process_facts(struct vidmm_process *process)
{
	struct vidmm *manager = process->manager;
	struct vidmm_process_facts facts = {
		.moved_in_bytes =
			atomic_load_explicit(&process->account.brought_bytes, memory_order_relaxed),
		.moved_out_bytes =
			atomic_load_explicit(&process->account.evicted_bytes, memory_order_relaxed),
	};

	lock_acquire(&manager->lock);
	facts.is_suspended = process->is_suspended;
	list_each (const struct vidmm_place, place, &manager->places, all_link) {
		if (process_of(place) != process->id || place->state != PLACE_IN)
			continue;
		facts.resident_count++;
		if (place->offer != PLACE_NOT_OFFERED)
			facts.offered_bytes += place->allocation->size_bytes;
	}
	lock_release(&manager->lock);
	return facts;
}

/* ---- reasons ---- */

const char *const leave_reasons[VIDMM_LEAVE_REASONS] = {
	[VIDMM_LEAVES_FOR_ROOM] = "room-for",    [VIDMM_LEAVES_FOR_BUDGET] = "budget",
	[VIDMM_LEAVES_TO_COMPACT] = "compact",   [VIDMM_LEAVES_BY_EVICT_CALL] = "evict-call",
	[VIDMM_LEAVES_OFFERED] = "offer",        [VIDMM_LEAVES_DESTROYED] = "destroy",
	[VIDMM_LEAVES_MISPLACED] = "wishes",     [VIDMM_LEAVES_FOR_LOCK] = "lock",
	[VIDMM_LEAVES_SUSPENDED] = "suspend",    [VIDMM_LEAVES_BY_CONTROL] = "control",
	[VIDMM_LEAVES_TO_DEFRAGMENT] = "defrag", [VIDMM_LEAVES_DECOMMITTED] = "decommit",
	[VIDMM_LEAVES_BY_RESET] = "reset",
};

void vidmm_leave_counts(struct vidmm *manager, struct vidmm_leave_count counts[VIDMM_LEAVE_REASONS])
{
	lock_acquire(&manager->lock);
	for (uint32_t i = 0; i < VIDMM_LEAVE_REASONS; i++)
		counts[i] =
			(struct vidmm_leave_count){ leave_reasons[i], manager->leave_counts[i] };
	lock_release(&manager->lock);
}
