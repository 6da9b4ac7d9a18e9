/* SPDX-License-Identifier: MIT */
/*
 * room_parts.h - what room.c, room_limit.c, room_own.c and room_for_tables.c have in common. For them alone.
 */
#ifndef VIDMM_ROOM_PARTS_H
#define VIDMM_ROOM_PARTS_H

#include "base/clock.h"
#include "vidmm/place.h"

enum room {
	ROOM_FOUND,
	ROOM_SOON,
	ROOM_NEVER,
	ROOM_SKIPPED,
	ROOM_NO_MEMORY, /* to write down who has it: that is tried again later, and nobody goes for it */
};

/* How long work of a device that was idle may wait when nobody says that there is some. */
#define IDLE_LOOK_NS (100 * NS_PER_MS)

/* Who looks for room. */
struct room_search {
	struct vidmm *manager;
	struct vidmm_device *device;   /* NULL: a list of a submission */
	struct vidmm_device *own;      /* its device, or that of the submission */
	struct vidmm_process *process; /* whose device that is, or who makes page tables */
	bool is_first;
	bool spares_budgets;     /* what a process within its budget lists is no victim */
	bool is_asking;          /* a call that can still be refused */
	uint32_t taken_segments; /* somebody in front waits for room there */
	uint64_t now_ns;
	uint64_t allocation_id; /* that room is looked for, for traces; 0: page tables */
	uint32_t found;         /* how many have it */
};

/*
 * Enough for one look: the pager begins with them while more is decided (decide.c). Nobody behind who is
 * being looked at has his turn before that.
 */
static inline bool room_search_is_cut(const struct room_search *search)
{
	enum { FOUND_AT_ONCE = 8 };

	return search->found >= FOUND_AT_ONCE;
}

/* device_is_stuck() is found out when somebody asks: a device may have lost very much. */
struct stuck_device {
	const struct vidmm_device *device;
	bool is_asked_for; /* where it changes nothing it is not */
	bool is_known;
	bool is_stuck;
};

/* What keeps those who do not go now. */
struct retry_hint {
	uint64_t until_ns; /* somebody's time is over then; CLOCK_FOREVER: nobody's will be */
	bool is_work;      /* in front of what was evicted or offered */
};

static inline void retry_hint_until(struct retry_hint *hint, uint64_t at_ns)
{
	if (at_ns < hint->until_ns)
		hint->until_ns = at_ns;
}

/* ---- room.c ---- */

/* Who can go for one of them goes; NEVER: nobody can, and nobody will. */
/* It goes for who looks. */
void room_evict_locked(const struct room_search *search, struct vidmm_place *victim);

enum room room_make_locked(struct room_search *search, const struct placement placements[],
			   uint32_t count);

/*
 * Between what leaves one by one there would be the same holes again: whoever enters waits until
 * all are out.
 */
bool segments_are_emptying(const struct placement placements[], uint32_t count);

/* The next to go of a segment; NULL when nobody is left. */
struct vidmm_place *room_victim(const struct room_search *search, struct vidmm_segment *segment,
				struct evict_walk *walk, struct retry_hint *hint);

/* What leaves, and what stands in two places while it shifts. */
static inline uint64_t segment_soon_free_bytes(const struct vidmm_segment *segment)
{
	return segment->leaving_bytes - segment->lent_bytes + segment->shifting_bytes;
}

/*
 * Somebody who holds memory there will let go of it by himself, or can be asked to soon. What the
 * CPU has locked besides is no reason to accept anything (`is_asking`).
 */
bool segment_is_busy(const struct vidmm_segment *segment, bool is_asking);

/* It cannot have what it needs: its end. */
void device_starve_locked(struct vidmm_device *device);

/* ---- room_limit.c ---- */

/* May it have so much of system memory, beside what all others have there? */
bool limit_has_room(const struct vidmm *manager, const struct placement *where);
/* Makes enough leave; true when what leaves is worth waiting for. */
bool limit_make_room_locked(const struct room_search *search, const struct placement *where,
			    struct retry_hint *hint);
bool limit_is_busy(const struct vidmm *manager);
/* Who waits for room in one of them may wait for room in any of these. */
uint32_t limit_segments(const struct vidmm *manager, uint32_t segments);

/* ---- room_own.c ---- */

/* Of what it keeps itself in one of those segments something goes when work in front of that is over. */
bool room_own_goes_soon_locked(const struct room_search *search, uint32_t segments);

/* ---- room_for_tables.c ---- */

/* How many bytes page tables of others could give; with `is_meant` so many of them leave. */
uint64_t tables_give_locked(const struct room_search *search, const struct vidmm_segment *segment,
			    uint64_t most_bytes, bool is_meant, struct retry_hint *hint);

bool tables_are_on_their_way(const struct vidmm_process *process);

/* They come first: nothing of what it lists is of use without. True: soon. */
bool device_look_for_tables_locked(struct room_search *search, struct vidmm_device *device,
				   bool is_first);

/* A call that makes page tables: those there are have to be in, and room for the others. */
bool request_look_locked(struct room_search *search, struct table_request *request);

#endif
