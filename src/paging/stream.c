/* SPDX-License-Identifier: MIT */
/*
 * stream.c - see stream.h.
 *
 * Locks: pager.lock around the list of streams and the numbers in them; never held while calling
 * the driver or the scheduler. Whoever does that for a stream counts itself in first.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "paging/internal.h"

static void begin_queue(struct pager_stream *stream)
{
	sched_queue_init(&stream->queue, stream->pager->owner, stream->node);
	sched_queue_name(&stream->queue, 0, 0, "paging");
}

void pager_stream_begin(struct pager *pager, struct pager_stream *stream, uint32_t node,
			void *driver_context)
{
	*stream = (struct pager_stream){
		.pager = pager,
		.node = node,
		.driver_context = driver_context,
	};
	begin_queue(stream);
	lock_acquire(&pager->lock);
	list_push_back(&pager->streams, &stream->link);
	lock_release(&pager->lock);
}

/* Drops and retakes pager->lock: streams may have come and gone. */
static void wait_relock(struct pager *pager)
{
	lock_assert_held(&pager->lock);
	notice_wait_relock(&pager->told, &pager->lock);
}

void pager_stream_end(struct pager_stream *stream)
{
	struct pager *pager = stream->pager;

	lock_acquire(&pager->lock);
	stream->is_ending = true; /* nobody takes it in hand from now on */
	while (stream->kicks > 0 || stream->hands > 0)
		wait_relock(pager);
	list_remove(&stream->link);
	if (pager->sent_stream == stream)
		pager->sent_stream = NULL;
	lock_release(&pager->lock);
	sched_queue_finish(&stream->queue, SCHED_RUN_OUT);
}

/* ---- companions ---- */

NTSTATUS pager_stream_create(struct pager *pager, uint32_t node, void *driver_context,
			     struct pager_stream **stream_out)
{
	struct pager_stream *stream = mem_alloc(sizeof(*stream));

	assert(pager->has_space && !pager_is_current_thread(pager));
	if (!stream)
		return refuse_no_memory("no memory for a context's paging");
	pager_stream_begin(pager, stream, node, driver_context);
	pager_space_set_root(pager, stream);
	*stream_out = stream;
	return STATUS_SUCCESS;
}

void pager_stream_destroy(struct pager_stream *stream)
{
	pager_stream_end(stream);
	mem_free(stream);
}

/* ---- all of them ---- */

/* Nobody ends it before `visit` returns; one that is ending has nothing any more. */
static void for_each(struct pager *pager, void (*visit)(struct pager_stream *stream))
{
	lock_acquire(&pager->lock);
	list_each (struct pager_stream, stream, &pager->streams, link) {
		if (stream->is_ending)
			continue;
		stream->hands++;
		lock_release(&pager->lock);
		visit(stream);
		lock_acquire(&pager->lock);
		stream->hands--;
		notice_give(&pager->told);
	}
	lock_release(&pager->lock);
}

static void set_root(struct pager_stream *stream)
{
	pager_space_set_root(stream->pager, stream);
}

void pager_streams_set_root(struct pager *pager)
{
	for_each(pager, set_root);
}

/* Cancels the stream's packets; when it returns, no thread is about to kick its queue for one of them. */
static void cancel(struct pager_stream *stream)
{
	struct pager *pager = stream->pager;

	sched_queue_finish(&stream->queue, SCHED_CANCEL_ALL);
	lock_acquire(&pager->lock);
	while (stream->kicks > 0)
		wait_relock(pager);
	lock_release(&pager->lock);
	begin_queue(stream);
}

void pager_streams_cancel(struct pager *pager)
{
	for_each(pager, cancel);
}

/* ---- the order of packets ---- */

void pager_stream_order_locked(struct pager *pager, struct pager_buffer *buffer)
{
	lock_assert_held(&pager->lock);
	if (pager->sent_stream != buffer->stream) {
		pager->sent_stream = buffer->stream;
		pager->switch_sequence = pager->submitted_sequence;
	}
	buffer->after_sequence = pager->switch_sequence;
	buffer->sequence = ++pager->submitted_sequence;
	buffer->is_back = false;
	list_push_back(&pager->sent, &buffer->link);
}

bool pager_stream_is_turn(struct pager *pager, const struct pager_buffer *buffer)
{
	if (buffer->after_sequence == 0)
		return true;
	lock_acquire(&pager->lock);
	bool is_turn = buffer->after_sequence <= pager->retired_sequence;
	lock_release(&pager->lock);
	return is_turn;
}

/*
 * One queue comes back in order. Several do when they go one after the other; cancelled, they come
 * as they like.
 */
static bool take_back_locked(struct pager *pager)
{
	lock_assert_held(&pager->lock);
	if (list_is_empty(&pager->sent))
		return false;
	struct pager_buffer *first = container_of(pager->sent.next, struct pager_buffer, link);
	if (!first->is_back)
		return false;
	assert(first->sequence == pager->retired_sequence + 1);
	pager->retired_sequence = first->sequence;
	list_remove(&first->link);
	list_push_back(&pager->retired_buffers, &first->link);
	return true;
}

struct pager_stream *pager_stream_retire_locked(struct pager *pager, struct pager_buffer *buffer)
{
	lock_assert_held(&pager->lock);
	buffer->is_back = true;
	while (take_back_locked(pager))
		continue;
	if (list_is_empty(&pager->sent))
		return NULL;
	const struct pager_buffer *next = container_of(pager->sent.next, struct pager_buffer, link);

	/* It may have waited for this one. What a reset has made stale has nothing to wait for. */
	if (next->stream == buffer->stream || next->generation != atomic_load(&pager->generation))
		return NULL;
	next->stream->kicks++;
	return next->stream;
}

void pager_stream_kick(struct pager_stream *stream)
{
	struct pager *pager = stream->pager;

	sched_queue_kick(&stream->queue);
	lock_acquire(&pager->lock);
	if (--stream->kicks == 0) {
		notice_give(&pager->told);
		notice_give(&pager->changed);
	}
	lock_release(&pager->lock);
}
