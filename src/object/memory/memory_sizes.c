/* SPDX-License-Identifier: MIT */
#include "base/checked.h"
#include "object/memory/memory_sizes.h"

#define MIB (UINT64_C(1) << 20)

void memory_sizes_compute(const struct miniport_info *info, uint64_t ram_bytes,
			  struct memory_sizes *sizes_out)
{
	uint64_t graphics_ram = ram_bytes / 2 > 64 * MIB ? ram_bytes / 2 : 64 * MIB;
	struct memory_sizes sizes = { 0 };
	uint64_t local_apertures = 0;
	uint64_t apertures = 0; /* and system memory, where it counts by itself */

	for (uint32_t i = 0; i < info->counted_segment_count; i++) {
		const struct miniport_segment *segment = &info->segments[i];
		if (segment->is_aperture || segment->is_implicit_system) {
			apertures += segment->commit_limit_bytes;
			if (segment->is_local)
				local_apertures += segment->commit_limit_bytes;
			continue;
		}
		if (segment->is_populated_from_system_memory)
			sizes.dedicated_system_bytes += segment->size_bytes;
		else
			sizes.dedicated_video_bytes += segment->size_bytes;
		if (!segment->is_budgeted)
			sizes.non_budget_bytes += segment->size_bytes;
		else if (segment->is_local)
			sizes.local_bytes += segment->size_bytes;
		else
			sizes.non_local_bytes += segment->size_bytes;
	}
	sizes.dedicated_system_bytes = lower_of(sizes.dedicated_system_bytes, graphics_ram);
	if (info->aperture_commit_limit_bytes != 0)
		apertures = lower_of(apertures, info->aperture_commit_limit_bytes);
	sizes.shared_system_bytes =
		lower_of(apertures, graphics_ram - sizes.dedicated_system_bytes);
	local_apertures = lower_of(local_apertures, sizes.shared_system_bytes);
	sizes.local_bytes += local_apertures;
	sizes.non_local_bytes += sizes.shared_system_bytes - local_apertures;
	*sizes_out = sizes;
}
