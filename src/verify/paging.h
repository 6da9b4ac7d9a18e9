/* SPDX-License-Identifier: MIT */
/*
 * paging.h - what watch_paging.c and paging_content.c share.
 */
#ifndef VERIFY_PAGING_H
#define VERIFY_PAGING_H

#include "nt/trap.h"
#include "verify/shadow.h"

struct paging {
	/* Of the call that is under way: one at a time. */
	struct nt_trap traps[2];
	uint32_t trap_count;
	DXGK_BUILDPAGINGBUFFER_OPERATION watched;
	uint32_t empty_passes;
	bool has_looked_at_budget;

	struct lock lock;      /* LOCK_RANK_LEAF: the rest */
	struct map journeys;   /* content that went where nobody sees it: what is to come back */
	struct map contents;   /* page of a segment with a host aperture -> what is in it */
	uint64_t contents_at;  /* shadow.client_submissions then; they hold for as long */
	uint64_t window_moves; /* of a host aperture, that were mapped and unmapped */
	struct map windows;   /* page of a host aperture -> what was behind it when it was mapped */
	struct map apertures; /* pages of them that are mapped by commands */
	uint64_t dummy_address; /* 0: none yet */
	uint64_t dummy_sum;
};

struct paging *paging_of(const struct shadow *shadow);

/* Does it move or fill? */
static inline bool paging_is_content(DXGK_BUILDPAGINGBUFFER_OPERATION kind)
{
	return kind == DXGK_OPERATION_TRANSFER || kind == DXGK_OPERATION_VIRTUAL_TRANSFER ||
	       kind == DXGK_OPERATION_FILL || kind == DXGK_OPERATION_VIRTUAL_FILL;
}

static inline bool paging_is_fill(DXGK_BUILDPAGINGBUFFER_OPERATION kind)
{
	return kind == DXGK_OPERATION_FILL || kind == DXGK_OPERATION_VIRTUAL_FILL;
}

void paging_content_init(struct paging *paging);
void paging_content_finish(struct paging *paging);
void paging_content_forget(struct paging *paging);

/* The page that an unmapped aperture shows. */
void paging_look_at_dummy(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args);
/* A client that has memory locked reads and writes it through such a window. */
void paging_windows_moved(struct shadow *shadow);
void paging_window_mapped(struct shadow *shadow, const DXGKARG_MAPCPUHOSTAPERTURE *args);
void paging_window_unmapped(struct shadow *shadow, const DXGKARG_UNMAPCPUHOSTAPERTURE *args);

#endif
