/* SPDX-License-Identifier: MIT */
/*
 * room_limit.c - how much all apertures and system memory together may hold. See room.c.
 *
 *	in:   a search that found room in such a segment, but may not have it
 *	out:  places that leave, in whichever of them they are
 *
 * Nobody goes before it is known that it is enough. The order of victims is that of each segment;
 * the one that is wanted comes first.
 */
#include "vidmm/room_parts.h"

static bool is_limited(const struct vidmm *manager, const struct vidmm_segment *segment)
{
	return manager->config.aperture_commit_limit_bytes != 0 && segment->is_system;
}

bool limit_has_room(const struct vidmm *manager, const struct placement *where)
{
	return !is_limited(manager, where->segment) ||
	       where->wish.size_bytes <= manager->config.aperture_commit_limit_bytes -
						 manager->aperture_committed_bytes;
}

uint32_t limit_segments(const struct vidmm *manager, uint32_t segments)
{
	uint32_t limited =
		manager->config.aperture_commit_limit_bytes != 0 ? ~manager->memory_segments : 0;

	return segments & limited ? segments | limited : segments;
}

bool limit_is_busy(const struct vidmm *manager)
{
	for (uint32_t i = 0; i < manager->segment_count; i++) {
		if (is_limited(manager, &manager->segments[i]) &&
		    segment_is_busy(&manager->segments[i], false))
			return true;
	}
	return false;
}

static uint64_t soon_free_bytes(const struct vidmm *manager)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < manager->segment_count; i++) {
		if (is_limited(manager, &manager->segments[i]))
			bytes += segment_soon_free_bytes(&manager->segments[i]);
	}
	return bytes;
}

/* How many bytes of a segment could go, up to so many; with `is_meant` they leave. */
static uint64_t segment_gives_locked(const struct room_search *search,
				     struct vidmm_segment *segment, uint64_t most_bytes,
				     bool is_meant, struct retry_hint *hint)
{
	struct evict_walk walk;
	struct vidmm_place *place;
	uint64_t given = 0;

	lock_assert_held(&search->manager->lock);
	evict_walk_begin(&walk, search->manager->use_clock);
	while (given < most_bytes && (place = room_victim(search, segment, &walk, hint))) {
		given += place->wish.size_bytes;
		if (is_meant)
			room_evict_locked(search, place);
	}
	return given;
}

static uint64_t segments_give_locked(const struct room_search *search, struct vidmm_segment *first,
				     uint64_t most_bytes, bool is_meant, struct retry_hint *hint)
{
	struct vidmm *manager = search->manager;
	uint64_t given = segment_gives_locked(search, first, most_bytes, is_meant, hint);

	lock_assert_held(&search->manager->lock);
	for (uint32_t i = 0; given < most_bytes && i < manager->segment_count; i++) {
		struct vidmm_segment *segment = &manager->segments[i];

		if (segment != first && is_limited(manager, segment))
			given += segment_gives_locked(search, segment, most_bytes - given, is_meant,
						      hint);
	}
	return given;
}

bool limit_make_room_locked(const struct room_search *search, const struct placement *where,
			    struct retry_hint *hint)
{
	const struct vidmm *manager = search->manager;
	uint64_t limit_bytes = manager->config.aperture_commit_limit_bytes;
	uint64_t soon_bytes = soon_free_bytes(manager);

	lock_assert_held(&search->manager->lock);
	if (where->wish.size_bytes > limit_bytes)
		return false;
	uint64_t need_bytes =
		where->wish.size_bytes + manager->aperture_committed_bytes - limit_bytes;
	if (soon_bytes >= need_bytes)
		return true;
	need_bytes -= soon_bytes;
	if (segments_give_locked(search, where->segment, need_bytes, false, hint) < need_bytes)
		return false;
	(void)segments_give_locked(search, where->segment, need_bytes, true, hint);
	return true;
}
