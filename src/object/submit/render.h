/* SPDX-License-Identifier: MIT */
/*
 * render.h - submission by allocation list: D3DKMTRender, the physical model.
 *
 *	client's command buffer ──DxgkDdiRender──▶ DMA buffer ──▶ queue ──▶ in place, DxgkDdiPatch,
 *	  allocation list                            patch list              DxgkDdiSubmitCommand
 *
 * The driver translates in the call, so what the client filled is free again when it returns: one
 * set of buffers per context is enough. Commands that do not fit one DMA buffer become several
 * packets, in order, and so do those whose allocations do not fit into memory together.
 *
 * What has to be in place says, before WDDM 2.0, the list of the submission; since then it is the
 * client's make-resident, and a list that names something else loses the device.
 */
#ifndef OBJECT_SUBMIT_RENDER_H
#define OBJECT_SUBMIT_RENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "object/memory/allocation.h"
#include "object/owner/context.h"
#include "object/submit/dma_buffer.h"
#include "ranges/client_arena.h"

enum {
	RENDER_LIST_ENTRY_BYTES = 8,   /* D3DDDI_ALLOCATIONLIST */
	RENDER_PATCH_ENTRY_BYTES = 24, /* D3DDDI_PATCHLOCATIONLIST */

	/* What a client can have its buffers grow to. */
	RENDER_COMMAND_BYTES_MAX = 4 << 20,
	RENDER_ENTRIES_MAX = 1 << 12,
};

/* What a client fills between two calls; its memory, though we made it. NULL where there is none.
 */
struct render_buffers {
	void *command;
	uint32_t command_bytes;
	void *list;
	uint32_t list_entries;
	void *patches;
	uint32_t patch_entries;
	struct quota_ledger *ledger; /* whose system memory they are; NULL: nobody's */

	/* Where the client has them. */
	struct render_addresses {
		void *command;
		void *list;
		void *patches;
	} client;
	struct client_mappings mappings[3]; /* of one in another process */
};

/*
 * A client in another process is told by its call what to show there; each time, before it is told the
 * addresses. Refused.
 */
MUST_CHECK NTSTATUS render_buffers_show(const struct dxg_process *process,
					struct render_buffers *buffers);

/* The physical half of a context. */
struct render_stream {
	struct dxg_context *context;
	struct dma_pool pool;

	struct render_buffers buffers; /* guarded by the device's `destroying` */

	_Atomic uint32_t queued; /* packets that are not over */
	_Atomic uint32_t alive;  /* packets that are not freed */
};

/* The driver has the context. */
MUST_CHECK NTSTATUS render_stream_create(struct dxg_context *context,
					 struct render_stream **stream_out);

/* Nothing of the context is queued, the driver knows of what was cancelled, and has the context
   still. Accepts NULL. */
void render_stream_destroy(struct render_stream *stream);

/* An entry of the client's list. */
struct render_item {
	struct dxg_allocation *allocation; /* of the context's device; NULL: nothing */
	bool is_written;
};

struct render_request {
	uint32_t first_byte; /* in the client's buffer */
	uint32_t command_bytes;
	const struct render_item *items;
	uint32_t item_count;
	uint32_t patch_count; /* entries of the client's patch list */
	bool is_null;         /* nothing is executed */

	/* What the next buffers should have; 0: as they are. */
	uint32_t wanted_command_bytes;
	uint32_t wanted_list_entries;
	uint32_t wanted_patch_entries;
};

/*
 * Between begin and end the buffers do not change, and nothing of the device is destroyed. The
 * device's lock `destroying` is held: references on its objects are given back afterwards.
 */
MUST_CHECK NTSTATUS render_begin(struct dxg_context *context);
void render_end(struct dxg_context *context);

/*
 * Queues it whole, or refuses it and nothing has happened. Offsets and counts are within the
 * buffers.
 */
MUST_CHECK NTSTATUS render_submit(struct dxg_context *context,
				  const struct render_request *request);

#endif
