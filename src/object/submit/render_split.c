/* SPDX-License-Identifier: MIT */
/*
 * render_split.c - see render_split.h. Pure.
 */
#include <string.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "object/submit/render_split.h"

/* ---- where it can be cut ---- */

struct slot {
	bool is_bound;
	uint32_t seen_in; /* group + 1 */
};

static uint32_t group_end(const struct render_split *split, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < split->patch_count &&
	       split->patches[end].split_offset == split->patches[first].split_offset)
		end++;
	return end;
}

static bool binds(const struct render_split *split, uint32_t patch)
{
	return split->list->items[split->patches[patch].allocation_index].allocation != NULL;
}

/* Everything that is bound before the group is replaced by it. Updates the slots. */
static bool group_replaces_all(const struct render_split *split, struct slot *slots,
			       uint32_t *bound_count, uint32_t first, uint32_t end)
{
	uint32_t before = *bound_count;
	uint32_t replaced = 0;

	for (uint32_t i = first; i < end; i++) {
		struct slot *slot = &slots[split->patches[i].slot];

		replaced += slot->is_bound && slot->seen_in != first + 1;
		*bound_count += (uint32_t)binds(split, i) - (uint32_t)slot->is_bound;
		slot->is_bound = binds(split, i);
		slot->seen_in = first + 1;
	}
	return replaced == before;
}

static NTSTATUS find_cuts(struct render_split *split)
{
	uint32_t slot_count = 0;
	uint32_t bound_count = 0;

	for (uint32_t i = 0; i < split->patch_count; i++) {
		if (split->patches[i].slot >= slot_count)
			slot_count = split->patches[i].slot + 1;
	}
	struct slot *slots = mem_zalloc_array(slot_count, sizeof(*slots));
	if (!slots)
		return STATUS_NO_MEMORY;
	for (uint32_t first = 0; first < split->patch_count;) {
		uint32_t end = group_end(split, first);

		split->is_cut[first] = group_replaces_all(split, slots, &bound_count, first, end);
		first = end;
	}
	mem_free(slots);
	return STATUS_SUCCESS;
}

/* ---- begin, end ---- */

NTSTATUS render_split_begin(struct render_split *split, const struct dma_buffer *buffer,
			    const struct render_list *list, render_fits *fits, void *fits_context)
{
	*split = (struct render_split){
		.patches = buffer->patches,
		.patch_count = buffer->patch_count,
		.used_bytes = buffer->used_bytes,
		.list = list,
		.fits = fits,
		.fits_context = fits_context,
		.entries = mem_zalloc_array(list->entry_count + 1, sizeof(uint32_t)),
		.positions = mem_zalloc_array(list->entry_count + 1, sizeof(uint32_t)),
		.is_cut = mem_zalloc_array(buffer->patch_count + 1, sizeof(bool)),
	};
	if (split->entries && split->positions && split->is_cut &&
	    (split->patch_count == 0 || NT_SUCCESS(find_cuts(split))))
		return STATUS_SUCCESS;
	render_split_end(split);
	return refuse_no_memory("no memory to split %u patches", buffer->patch_count);
}

void render_split_end(struct render_split *split)
{
	mem_free(split->entries);
	mem_free(split->positions);
	mem_free(split->is_cut);
}

/* ---- pieces ---- */

/* What the rest refers to, in the order in which it is needed. Returns how many. */
static uint32_t collect_rest(struct render_split *split)
{
	uint32_t count = 0;

	memset(split->positions, 0, sizeof(*split->positions) * split->list->entry_count);
	for (uint32_t i = split->next_patch; i < split->patch_count; i++) {
		uint32_t entry = split->list->items[split->patches[i].allocation_index].entry;

		if (!binds(split, i) || split->positions[entry] != 0)
			continue;
		split->entries[count++] = entry;
		split->positions[entry] = count;
	}
	return count;
}

bool render_split_next(struct render_split *split, struct render_piece *piece_out)
{
	if (split->next_patch == split->patch_count)
		return false;
	uint32_t fits = split->fits(split->fits_context, split->entries, collect_rest(split));
	uint32_t last = split->next_patch; /* where the piece ends, as far as is known */
	uint32_t last_needs = 0;
	uint32_t needs = 0;

	for (uint32_t i = split->next_patch; i <= split->patch_count; i++) {
		if (i == split->patch_count || (i > split->next_patch && split->is_cut[i])) {
			last = i;
			last_needs = needs;
			if (i == split->patch_count || split->takes_all_cuts)
				break;
		}
		uint32_t entry = split->list->items[split->patches[i].allocation_index].entry;
		if (binds(split, i) && split->positions[entry] > needs)
			needs = split->positions[entry];
		if (needs > fits)
			break;
	}
	*piece_out = (struct render_piece){
		.start_bytes = split->next_byte,
		.first_patch = split->next_patch,
		.patch_count = last - split->next_patch,
		.entries = split->entries,
		.entry_count = last_needs,
	};
	if (last == split->next_patch) /* no end_bytes: it cannot be */
		return true;
	piece_out->end_bytes =
		last < split->patch_count ? split->patches[last].split_offset : split->used_bytes;
	split->next_patch = last;
	split->next_byte = piece_out->end_bytes;
	return true;
}
