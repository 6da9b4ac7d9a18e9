/* SPDX-License-Identifier: MIT */
/*
 * render_packet.h - a piece of a DMA buffer on its way to the hardware, with all it refers to.
 */
#ifndef OBJECT_SUBMIT_RENDER_PACKET_H
#define OBJECT_SUBMIT_RENDER_PACKET_H

#include "object/submit/render.h"

/* What a call listed, for all packets it became; the numbers of the client's list. */
struct render_list {
	struct refcount refs;
	uint32_t count;
	uint32_t entry_count;
	struct vidmm_allocation_list_entry
		*entries; /* each allocation once, in the order of the list; and
					     room for one more */
	struct render_list_item {
		struct dxg_allocation *allocation; /* NULL: nothing */
		uint32_t entry;                    /* of `entries` */
		bool is_written;
	} items[];
};

/* With one reference; allocations are in use until it is gone. Refused for want of memory. */
MUST_CHECK NTSTATUS render_list_create(const struct render_request *request,
				       struct render_list **list_out);
void render_list_put(struct render_list *list);

/* Part of a DMA buffer that is submitted at once. */
struct render_piece {
	uint32_t start_bytes;
	uint32_t end_bytes;
	uint32_t first_patch;
	uint32_t patch_count;
	const uint32_t *entries; /* of the list, that it needs; NULL: all of them */
	uint32_t entry_count;
};

struct render_packet {
	struct sched_packet packet;
	struct refcount refs; /* the queue's, and that of a request which is under way */
	struct render_stream *stream;
	struct dma_buffer *buffer;
	struct render_list *list;
	struct render_piece piece;
	uint64_t size_bytes; /* of this, with its arrays */
	bool is_null;
	_Atomic bool has_request; /* awaited.request.done() comes */

	/*
	 * What it needs of the list, then its buffer where that has a place. Before WDDM 2.0 it
	 * waits until all of it is in place; since then only for the buffer, and the rest has to be
	 * there.
	 */
	struct vidmm_allocation_list_entry *entries;
	uint32_t entry_count;                  /* without the buffer */
	struct vidmm_allocation_list awaited;  /* of those, what it waits for */
	struct vidmm_allocation_list presumed; /* … and what is in place already */
	uint32_t *entry_of;                    /* list entry -> `entries` + 1; 0: none */
	struct miniport_list_entry *list_copy; /* as the driver sees it */
	void *list_storage;

	struct cancelled cancelled;
	struct list call_link; /* the call's, before it is queued */
};

/* Takes references of its own. Refused for want of memory. */
MUST_CHECK NTSTATUS render_packet_create(struct render_stream *stream, struct dma_buffer *buffer,
					 struct render_list *list, const struct render_piece *piece,
					 bool is_null, struct render_packet **packet_out);

/* It was never queued, or it is over. */
void render_packet_abandon(struct render_packet *packet);

/* Tells a trace what its list has; it is about to be queued there. */
void render_packet_trace_list(const struct render_packet *packet, uint32_t adapter_id,
			      const struct sched_queue *queue);

/* What it lists; NULL when it is no packet of this kind. For kernel_validate(). */
struct render_list *render_packet_list(struct sched_packet *packet);

#endif
