/* SPDX-License-Identifier: MIT */
/*
 * segment.h - a range of memory the driver reported, and who sits in it.
 *
 * How an allocation sits in a segment depends on both:
 *
 *	SCATTERED   memory segment behind page tables: page runs, wherever there are some
 *	CONTIGUOUS  memory segment otherwise
 *	MAPPED      aperture: a contiguous range of it shows pages of system memory
 *	SYSTEM      behind page tables the id of an aperture means system memory; nothing is mapped
 *
 * Pages that were taken are counted when they are taken; in MAPPED and SYSTEM they count against
 * the commit limit, too.
 *
 * Locks: the manager's.
 */
#ifndef VIDMM_SEGMENT_H
#define VIDMM_SEGMENT_H

#include "evict/evict.h"
#include "vidmm/manager.h"
#include "ranges/page_pool.h"
#include "ranges/ranges.h"

enum segment_form { FORM_SCATTERED, FORM_CONTIGUOUS, FORM_MAPPED, FORM_SYSTEM };

struct vidmm_segment {
	/* Set at start. */
	uint32_t id;
	struct vidmm_segment_config config;
	uint64_t page_count;
	uint64_t granule_pages;
	bool is_system;         /* aperture or implicit: content stays in system memory */
	bool is_visible_memory; /* the CPU sees it, and it is memory of the machine */
	/* Of its first byte, where it is memory of the machine; MACHINE_NOWHERE: it is not, or, of what the
	   CPU sees through windows only, none has shown it yet (host_aperture.c). Then it stays as it is. */
	_Atomic uint64_t memory_address;
	/* One of its windows showed something else: what is locked cannot take its pages along there. Then it
	   stays as it is. */
	_Atomic bool has_foreign_windows;

	/* Guarded by the manager's lock. */
	struct ranges ranges;        /* memory and apertures */
	struct ranges windows;       /* its CPU host aperture, in granules (host_aperture.h) */
	struct evict_set candidates; /* vidmm_place.eviction, of those that may have to go */
	struct list held;            /* vidmm_place.held_link, of those that may not */
	uint64_t committed_bytes;    /* apertures and system memory */
	uint64_t resident_bytes;     /* of places that have pages here */
	uint64_t leaving_bytes;      /* of places on their way out */
	uint64_t lent_bytes;         /* of those, others have the room already */
	struct list parting;         /* vidmm_place.handover.link: their way out is built */
	bool is_emptying;            /* nobody enters before all that leaves is out */
	uint64_t entering_bytes;     /* on their way in */
	uint64_t shifting_bytes;     /* resident twice: where they were and where they go */
	uint64_t awaited_bytes;      /* during one look at who waits: promised to those in front */

	struct vidmm_traffic traffic;
};

MUST_CHECK NTSTATUS segment_init(struct vidmm_segment *segment, uint32_t id,
				 const struct vidmm_segment_config *config,
				 const struct evict_policy *policy);
void segment_finish(struct vidmm_segment *segment);

/* What an allocation wants of one segment. */
struct segment_wish {
	enum segment_form form;
	uint64_t size_bytes;
	uint64_t alignment_bytes;
	bool is_from_end;
	uint32_t bank; /* 0: none; else 1 + index, tried first */
};

/* Bytes it takes up there: whole granules. */
uint64_t segment_bytes(const struct vidmm_segment *segment, const struct segment_wish *wish);

/* Could it be there, if nobody else were? */
bool segment_could_hold(const struct vidmm_segment *segment, const struct segment_wish *wish);

/* What is free for this form, whether in one piece or not. */
uint64_t segment_free_bytes(const struct vidmm_segment *segment, enum segment_form form);

/* Statuses of ranges_take(). `pages` stays empty for FORM_SYSTEM. */
MUST_CHECK NTSTATUS segment_take(struct vidmm_segment *segment, const struct segment_wish *wish,
				 struct page_set *pages);
void segment_give(struct vidmm_segment *segment, const struct segment_wish *wish,
		  struct page_set *pages);

/*
 * The same out of what another has there and is about to leave: the first of its pages, which are
 * in one stretch.
 */
MUST_CHECK NTSTATUS segment_take_over(struct vidmm_segment *segment,
				      const struct segment_wish *wish, struct page_set *from,
				      struct page_set *pages);

/*
 * In one stretch of the pages [first, end), for what is in the segment already and has taken
 * `pages_now`: aligned as it wished, and no worse for large pages than it is now.
 */
struct segment_stretch {
	uint64_t first;
	uint64_t end;
	bool is_from_end;
};
MUST_CHECK NTSTATUS segment_take_again(struct vidmm_segment *segment,
				       const struct segment_wish *wish,
				       const struct page_set *pages_now,
				       const struct segment_stretch *where, struct page_set *pages);
/* Where it would begin there, if all of that were free. */
uint64_t segment_first_in(const struct vidmm_segment *segment, const struct segment_wish *wish,
			  const struct page_set *pages_now, const struct segment_stretch *where);
/* The pages of the bank that it wished for and is in; all of them where there is none. */
struct segment_stretch segment_bank_of(const struct vidmm_segment *segment,
				       const struct segment_wish *wish,
				       const struct page_set *pages_now);

#endif
