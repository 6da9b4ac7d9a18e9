/* SPDX-License-Identifier: MIT */
/*
 * statistics.c - what there is in a segment, for whoever asks.
 *
 * Bytes and traffic are counted as they change; how many allocations there are, and whose, is
 * counted when somebody asks. Locks: the manager's.
 */
#include "vidmm/place.h"

static void count_places_locked(struct vidmm *manager, const struct vidmm_segment *segment,
				struct vidmm_segment_usage *usage)
{
	lock_assert_held(&manager->lock);
	list_each (const struct vidmm_place, place, &manager->places, all_link) {
		if (place->segment != segment)
			continue;
		usage->resident_count++;
		usage->needed_count += place->list_count > 0;
	}
}

bool vidmm_segment_usage(struct vidmm *manager, uint32_t id, struct vidmm_segment_usage *usage_out)
{
	if (id == 0 || id > manager->segment_count)
		return false;
	const struct vidmm_segment *segment = &manager->segments[id - 1];
	const uint64_t *class_bytes = segment->candidates.class_bytes;
	lock_acquire(&manager->lock);
	*usage_out = (struct vidmm_segment_usage){
		.size_bytes = segment->config.size_bytes,
		.commit_limit_bytes = segment->config.commit_limit_bytes,
		.resident_bytes = segment->resident_bytes,
		.table_bytes = table_blocks_count_bytes(manager, segment),
		.largest_gap_bytes =
			segment->page_count == 0
				? 0
				: ranges_largest_free(&segment->ranges) * MACHINE_PAGE_BYTES,
		.needed_bytes = class_bytes[EVICT_NEEDED],
		.traffic = segment->traffic,
		.group = segment->config.group,
	};
	for (int i = 0; i < 3; i++) {
		usage_out->offered_by_priority[i] = class_bytes[EVICT_OFFERED_LOW + i];
		usage_out->offered_bytes += class_bytes[EVICT_OFFERED_LOW + i];
	}
	count_places_locked(manager, segment, usage_out);
	lock_release(&manager->lock);
	return true;
}

/* Which of its wishes the segment is; PREFERENCES: none. */
static int preference_of(const struct vidmm_place *place)
{
	uint32_t preferred = place->allocation->preferred_segments;
	int i = 0;

	while (i < PREFERENCES && (preferred & PREFERENCE_ID_MASK) != place->segment->id) {
		preferred >>= PREFERENCE_BITS;
		i++;
	}
	return i;
}

bool vidmm_process_segment_usage(const struct vidmm_process *process, uint32_t id,
				 struct vidmm_process_usage *usage_out)
{
	struct vidmm *manager = process->manager;

	if (id == 0 || id > manager->segment_count)
		return false;
	*usage_out = (struct vidmm_process_usage){ 0 };
	lock_acquire(&manager->lock);
	list_each (const struct vidmm_place, place, &manager->places, all_link) {
		uint64_t bytes;
		int preference;

		if (place->segment != &manager->segments[id - 1] || !place_is_of(place, process))
			continue;
		bytes = segment_bytes(place->segment, &place->wish) - place->handover.lent_bytes;
		preference = preference_of(place);
		vidmm_count(&usage_out->resident, bytes);
		vidmm_count(preference < PREFERENCES ? &usage_out->by_preference[preference]
						     : &usage_out->not_preferred,
			    bytes);
	}
	lock_release(&manager->lock);
	return true;
}
