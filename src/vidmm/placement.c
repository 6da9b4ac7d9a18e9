/* SPDX-License-Identifier: MIT */
/*
 * placement.c - wishes and segments -> the segments to try.
 *
 *   in:   an allocation's preferences and supported set, what the segments are
 *   out:  segments in the order in which they are tried, and how it would sit in each; the budget
 *         that is charged for it
 *
 * Preferred ones first, in their order and with their direction, then the rest of the supported set
 * by id; never one outside it. Banks count in the first preferred segment only.
 */
#include "vidmm/place.h"

enum { BANK_ID_MASK = 0x7F };

static enum segment_form form_in(const struct vidmm *manager, const struct vidmm_segment *segment,
				 const struct vidmm_allocation *allocation)
{
	bool is_physical =
		!manager->config.has_gpu_mmu || allocation->traits.is_accessed_physically;

	if (segment->config.is_implicit_system)
		return FORM_SYSTEM;
	if (segment->config.is_aperture)
		return is_physical ? FORM_MAPPED : FORM_SYSTEM;
	/* A driver is told one address of memory of its own. */
	return is_physical || allocation->driver ? FORM_CONTIGUOUS : FORM_SCATTERED;
}

static bool placement_make(struct vidmm *manager, const struct vidmm_place *place, uint32_t id,
			   bool is_from_end, bool is_first, struct placement *placement)
{
	const struct vidmm_allocation *allocation = place->allocation;
	struct vidmm_segment *segment = &manager->segments[id - 1];
	uint32_t bank = is_first ? allocation->hinted_banks : 0;

	*placement = (struct placement){
		.segment = segment,
		.wish = {
			.form = form_in(manager, segment, allocation),
			.size_bytes = allocation->size_bytes,
			.alignment_bytes = UINT64_C(1) << allocation->alignment_shift,
			.is_from_end = is_from_end,
			.bank = bank & BANK_ID_MASK,
		},
	};
	return segment_could_hold(segment, &placement->wish);
}

uint32_t placement_list(struct vidmm *manager, const struct vidmm_place *place, uint32_t allowed,
			struct placement placements[VIDMM_MAX_SEGMENTS])
{
	const struct vidmm_allocation *allocation = place->allocation;
	uint32_t preferred = allocation->preferred_segments;
	bool goes_to_the_end = allocation->traits.goes_to_the_end;
	uint32_t count = 0;

	allowed &= allocation->supported_segments;
	if (manager->segment_count < VIDMM_MAX_SEGMENTS)
		allowed &= (UINT32_C(1) << manager->segment_count) - 1;
	for (int i = 0; i < PREFERENCES; i++, preferred >>= PREFERENCE_BITS) {
		uint32_t id = preferred & PREFERENCE_ID_MASK;

		if (id == 0 || !(allowed & (UINT32_C(1) << (id - 1))))
			continue;
		allowed &= ~(UINT32_C(1) << (id - 1));
		/* The direction that goes with a preference is the stronger hint. */
		if (placement_make(manager, place, id,
				   (preferred & PREFERENCE_END) != 0 || goes_to_the_end, i == 0,
				   &placements[count]))
			count++;
	}
	for (; allowed; allowed &= allowed - 1) {
		uint32_t id = (uint32_t)__builtin_ctz(allowed) + 1;

		if (placement_make(manager, place, id, goes_to_the_end, false, &placements[count]))
			count++;
	}
	return count;
}

/* ---- which group is charged ---- */

/* Segments of `group` that could hold it if they were empty. */
static bool group_could_hold(struct vidmm *manager, const struct vidmm_place *place,
			     enum vidmm_group group)
{
	struct placement placements[VIDMM_MAX_SEGMENTS];

	return placement_list(manager, place, manager->group_segments[group], placements) > 0;
}

static bool group_has_budget_locked(const struct vidmm_process *process,
				    const struct vidmm_place *place, enum vidmm_group group)
{
	lock_assert_held(&process->manager->lock);
	return process->usage_bytes[group] + place->allocation->size_bytes <=
	       budget_of_locked(process, group);
}

static enum vidmm_group preferred_group(struct vidmm *manager, const struct vidmm_place *place)
{
	struct placement placements[VIDMM_MAX_SEGMENTS];

	if (place->segment)
		return place->segment->config.group;
	return placement_list(manager, place, UINT32_MAX, placements) > 0
		       ? placements[0].segment->config.group
		       : VIDMM_LOCAL;
}

bool placement_group_locked(struct vidmm_binding *binding, enum vidmm_group *group_out)
{
	struct vidmm_process *process = binding->device->process;
	struct vidmm_place *place = binding_place(binding);
	enum vidmm_group group = preferred_group(process->manager, place);
	enum vidmm_group other = group == VIDMM_LOCAL ? VIDMM_NON_LOCAL : VIDMM_LOCAL;

	lock_assert_held(&process->manager->lock);
	if (place->list_count > 0 || place->segment) {
		*group_out = place->list_count > 0 ? place->group : group;
		return true;
	}
	if (!group_could_hold(process->manager, place, group))
		return false;
	if (group == VIDMM_LOCAL && (vidmm_process_options(process) & VIDMM_ALWAYS_DEMOTE) &&
	    group_could_hold(process->manager, place, other)) {
		*group_out = other;
		return true;
	}
	if (!(vidmm_options(process->manager) & VIDMM_NO_DEMOTION) &&
	    !group_has_budget_locked(process, place, group) &&
	    group_could_hold(process->manager, place, other) &&
	    group_has_budget_locked(process, place, other))
		group = other;
	*group_out = group;
	return true;
}
