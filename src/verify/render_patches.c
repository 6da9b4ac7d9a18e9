/* SPDX-License-Identifier: MIT */
/*
 * render_patches.c - what DxgkDdiPatch leaves at a location depends on the address that goes there and on nothing that was
 * there before: patched again with the same address it is the same, and with another one it is another (render.h).
 *
 * How an address is written is the driver's secret; four bytes at each location are kept. Locations that the driver was not seen to
 * change say nothing: it may have written the address when it rendered.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "verify/render.h"

enum { LOCATIONS_MAX = 64, BUFFERS_MAX = 512, SEEN_BYTES = 4 };

struct patch_location {
	uint32_t patch_offset;
	uint32_t allocation_offset;
	const void *allocation;
	uint32_t segment;
	uint64_t address;
	bool was_changed; /* by that patch */
	unsigned char bytes[SEEN_BYTES];
};

struct patched {
	uint32_t start; /* of the submission */
	uint32_t end;
	uint32_t count;
	struct patch_location locations[LOCATIONS_MAX];
};

void render_patches_init(struct render_patches *patches)
{
	lock_init(&patches->lock, LOCK_RANK_LEAF, "verified patches");
}

static void free_value(void *context, uint64_t key, uint64_t value)
{
	(void)context;
	(void)key;
	free((void *)(uintptr_t)value);
}

void render_patches_finish(struct render_patches *patches)
{
	map_each(&patches->buffers, free_value, NULL);
	map_clear(&patches->buffers);
}

void render_patches_forget(struct render_patches *patches, const void *dma_buffer)
{
	lock_acquire(&patches->lock);
	free(map_take_pointer(&patches->buffers, dma_buffer));
	lock_release(&patches->lock);
}

/* The entries of this submission whose location and address are known. */
static void collect(const DXGKARG_PATCH *args, const unsigned char *before, struct patched *out)
{
	const unsigned char *buffer = args->pDmaBuffer;
	uint64_t end = (uint64_t)args->PatchLocationListSubmissionStart +
		       args->PatchLocationListSubmissionLength;

	out->start = args->DmaBufferSubmissionStartOffset;
	out->end = args->DmaBufferSubmissionEndOffset;
	for (uint64_t i = args->PatchLocationListSubmissionStart;
	     i < end && i < args->PatchLocationListSize && out->count < LOCATIONS_MAX; i++) {
		const D3DDDI_PATCHLOCATIONLIST *entry = &args->pPatchLocationList[i];

		if (entry->AllocationIndex >= args->AllocationListSize ||
		    (uint64_t)entry->PatchOffset + SEEN_BYTES > args->DmaBufferSize)
			continue;
		const DXGK_ALLOCATIONLIST *listed = &args->pAllocationList[entry->AllocationIndex];
		if (!listed->hDeviceSpecificAllocation || listed->SegmentId == 0)
			continue;
		struct patch_location *location = &out->locations[out->count++];
		*location = (struct patch_location){
			.patch_offset = entry->PatchOffset,
			.allocation_offset = entry->AllocationOffset,
			.allocation = listed->hDeviceSpecificAllocation,
			.segment = listed->SegmentId,
			.address = (uint64_t)listed->PhysicalAddress.QuadPart,
			.was_changed = memcmp(before + entry->PatchOffset,
					      buffer + entry->PatchOffset, SEEN_BYTES) != 0,
		};
		memcpy(location->bytes, buffer + entry->PatchOffset, SEEN_BYTES);
	}
}

static const struct patch_location *same_location(const struct patched *patched,
						  const struct patch_location *location)
{
	for (uint32_t i = 0; i < patched->count; i++) {
		const struct patch_location *at = &patched->locations[i];

		if (at->patch_offset == location->patch_offset &&
		    at->allocation_offset == location->allocation_offset &&
		    at->allocation == location->allocation)
			return at;
	}
	return NULL;
}

static bool is_at_same_address(const struct patch_location *a, const struct patch_location *b)
{
	return a->segment == b->segment && a->address == b->address;
}

/* Of an allocation that has moved, none of the locations shows it, and one was seen to be written before. */
static bool stays_behind(const struct patched *before, const struct patched *now,
			 const void *allocation)
{
	bool was_written = false;

	for (uint32_t i = 0; i < now->count; i++) {
		const struct patch_location *location = &now->locations[i];
		const struct patch_location *old = same_location(before, location);

		if (location->allocation != allocation)
			continue;
		if (!old || is_at_same_address(old, location) ||
		    memcmp(old->bytes, location->bytes, SEEN_BYTES) != 0)
			return false;
		was_written |= old->was_changed;
	}
	return was_written;
}

static void compare(const struct patched *before, const struct patched *now)
{
	for (uint32_t i = 0; i < now->count; i++) {
		const struct patch_location *location = &now->locations[i];
		const struct patch_location *old = same_location(before, location);

		if (!old)
			continue;
		if (is_at_same_address(old, location) &&
		    memcmp(old->bytes, location->bytes, SEEN_BYTES) != 0) {
			nt_report(RULE_DDI_PATCH_IDEMPOTENT,
				  "DxgkDdiPatch was given the same address for byte %u of a DMA "
				  "buffer "
				  "as before, and left something else there",
				  location->patch_offset);
			return;
		}
		if (stays_behind(before, now, location->allocation)) {
			nt_report(RULE_DDI_PATCH_IDEMPOTENT,
				  "DxgkDdiPatch was given another address for byte %u of a DMA "
				  "buffer "
				  "than before, and left the old one there",
				  location->patch_offset);
			return;
		}
	}
}

void render_patches_compare(struct render_patches *patches, const DXGKARG_PATCH *args,
			    const unsigned char *before)
{
	struct patched *now = calloc(1, sizeof(*now));
	struct patched *old = NULL;

	if (!now)
		return;
	collect(args, before, now);
	lock_acquire(&patches->lock);
	old = map_take_pointer(&patches->buffers, args->pDmaBuffer);
	lock_release(&patches->lock);
	if (old && old->start == now->start && old->end == now->end)
		compare(old, now);
	free(old);
	/* Who was written stays who was written. */
	lock_acquire(&patches->lock);
	if (now->count > 0 && patches->buffers.used < BUFFERS_MAX) {
		map_set_pointer(&patches->buffers, args->pDmaBuffer, now);
		now = NULL;
	}
	lock_release(&patches->lock);
	free(now);
}
