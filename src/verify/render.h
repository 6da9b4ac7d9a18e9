/* SPDX-License-Identifier: MIT */
/*
 * render.h - what watch_render.c, render_patches.c and render_again.c share.
 */
#ifndef VERIFY_RENDER_H
#define VERIFY_RENDER_H

#include "verify/map.h"
#include "verify/verify.h"

/* ---- render_again.c: the driver is asked once more, about memory of ours; only where a plan of faults asks for it ---- */

/* A copy of what is rendered, taken before the call; NULL: nobody asks, or there is no memory. */
struct render_copy;
struct render_copy *render_copy_take(const struct verify_call *call);
void render_copy_free(struct render_copy *copy);

/* The call has succeeded. `args` are as the driver left them. */
void render_check_again(struct verify_call *call, const struct render_copy *copy);

/* The same of DxgkDdiPatch: `before` is the whole buffer as it was. */
void render_check_patch_again(struct verify_call *call, const unsigned char *before);

/* ---- render_patches.c: the same place, patched with the same address, is the same ---- */

struct render_patches {
	struct lock lock;   /* LOCK_RANK_LEAF */
	struct map buffers; /* DMA buffer -> struct patched */
};

void render_patches_init(struct render_patches *patches);
void render_patches_finish(struct render_patches *patches);
/* It holds other commands now. */
void render_patches_forget(struct render_patches *patches, const void *dma_buffer);
/* `before` is the whole buffer as it was. */
void render_patches_compare(struct render_patches *patches, const DXGKARG_PATCH *args,
			    const unsigned char *before);

#endif
