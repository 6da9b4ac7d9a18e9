/* SPDX-License-Identifier: MIT */
/*
 * render_split.h - which parts of a DMA buffer are submitted one by one, because what all of it
 * refers to does not fit into memory.
 *
 * A driver says with every patch from where on its commands need the allocation (SplitOffset), and
 * that they need the one before it in the same slot no more. So a buffer can be cut where a group
 * of patches begins, and is, where nothing is needed on both sides: what stays bound across a cut
 * would have to stay where it is meanwhile.
 */
#ifndef OBJECT_SUBMIT_RENDER_SPLIT_H
#define OBJECT_SUBMIT_RENDER_SPLIT_H

#include "object/submit/render_packet.h"

/* How many of the first entries could be in memory together. */
typedef uint32_t render_fits(void *context, const uint32_t entries[], uint32_t count);

struct render_split {
	/* Set by render_split_begin(). */
	const struct miniport_patch_entry *patches;
	uint32_t patch_count;
	uint32_t used_bytes;
	const struct render_list *list;
	render_fits *fits;
	void *fits_context;

	/* Set behind that: pieces are as small as can be, also where larger ones fit. */
	bool takes_all_cuts;

	uint32_t next_patch;
	uint32_t next_byte;
	uint32_t *entries;   /* of the piece */
	uint32_t *positions; /* list entry -> place in `entries` + 1; 0: not there */
	bool *is_cut;        /* per patch: the buffer can be cut in front of it */
};

/* STATUS_NO_MEMORY: refused, there is none to think with. */
MUST_CHECK NTSTATUS render_split_begin(struct render_split *split, const struct dma_buffer *buffer,
				       const struct render_list *list, render_fits *fits,
				       void *fits_context);
void render_split_end(struct render_split *split);

/*
 * The next piece; its entries are good until the one after it. False at the end. A piece without
 * end_bytes cannot be: something in it never fits.
 */
MUST_CHECK bool render_split_next(struct render_split *split, struct render_piece *piece_out);

#endif
