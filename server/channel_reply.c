/* SPDX-License-Identifier: MIT */
/*
 * channel_reply.c - what goes back over a channel: a status, and behind it why, views, runs of pages and results.
 *
 * It is written there and never read. What is longer than the channel goes in parts.
 */
#include <string.h>

#include "server/channel_worker.h"

enum { DRAFT_BYTES = 256 };

static unsigned char *append(unsigned char *at, const void *bytes, size_t size_bytes)
{
	memcpy(at, bytes, size_bytes);
	return at + size_bytes;
}

static void reply_compose(struct channel_worker *worker, const struct channel_reply *reply,
			  unsigned char *at)
{
	if (reply->head.has_refusal)
		at = append(at, reply->refusal, sizeof(*reply->refusal));
	for (uint32_t i = 0; i < reply->head.view_count; i++) {
		const struct client_view *view = &reply->call->views[i];

		at = append(at,
			    &(struct wire_view){ view->address, view->page_count, view->stamp,
						 view->run_count, view->kind },
			    sizeof(struct wire_view));
	}
	for (uint32_t i = 0; i < reply->head.run_count; i++) {
		const struct client_view_run *run = &reply->call->runs[i];

		at = append(at,
			    &(struct wire_run){ run->first_page, run->page_count, run->file, 0 },
			    sizeof(struct wire_run));
	}
	if (reply->image)
		travel_reply_write(reply->image, reply->head.status, at, &worker->hooks);
}

/* Files first: a client that has the reply waits for those that it does not know. */
static bool send_files(struct channel_worker *worker, const struct channel_reply *reply)
{
	for (uint32_t i = 0; i < reply->head.run_count; i++) {
		if (!session_send_file(worker->session, reply->call->runs[i].file))
			return false;
	}
	return true;
}

/* Where nothing fits and there is no memory either: the call is over, and its results are lost. */
static void reply_poorly(struct channel_worker *worker)
{
	const struct wire_reply head = { .status = STATUS_NO_MEMORY };

	memcpy(worker->channel.memory->reply.buffer, &head, sizeof(head));
}

/* What is short is put together elsewhere: the client looks at the room all the time. */
static void reply_draft(struct channel_worker *worker, const struct channel_reply *reply,
			uint64_t size_bytes)
{
	_Alignas(TRAVEL_ALIGN_BYTES) unsigned char draft[sizeof(reply->head) + DRAFT_BYTES];
	size_t head_bytes = wire_reply_write(&reply->head, draft);

	reply_compose(worker, reply, draft + head_bytes);
	channel_way_write(&worker->channel.memory->reply, draft, head_bytes + size_bytes);
}

void channel_reply_send(struct channel_worker *worker, struct channel_reply *reply)
{
	unsigned char *buffer = worker->channel.memory->reply.buffer;
	uint64_t size_bytes;
	bool is_short;

	if (!NT_SUCCESS(reply->head.status)) {
		reply->refusal = &worker->refusal;
		reply->refusal->size_bytes = sizeof(*reply->refusal);
		reply->head.has_refusal = refusal_last(reply->refusal);
	}
	if (reply->call && NT_SUCCESS(reply->head.status)) {
		reply->head.view_count = reply->call->view_count;
		reply->head.run_count = reply->call->view_count ? reply->call->run_count : 0;
		reply->head.word = reply->call->word;
	}
	size_bytes = (reply->head.has_refusal ? sizeof(*reply->refusal) : 0) +
		     reply->head.view_count * sizeof(struct wire_view) +
		     reply->head.run_count * sizeof(struct wire_run) + reply->image_bytes;
	reply->head.size_bytes = (uint32_t)size_bytes;
	reply->head.event_count = atomic_load(&worker->session->events_said);
	is_short = size_bytes <= WIRE_REPLY_BUFFER_BYTES;
	bool fits = is_short || (size_bytes < WIRE_IS_BRIEF &&
				 channel_part_make(worker->session, &worker->rest, size_bytes));
	if (!send_files(worker, reply) || !fits) {
		reply_poorly(worker);
		return;
	}
	if (LIKELY(size_bytes <= DRAFT_BYTES)) {
		reply_draft(worker, reply, size_bytes);
		return;
	}
	if (is_short) {
		reply_compose(worker, reply, buffer + wire_reply_write(&reply->head, buffer));
		return;
	}
	memcpy(buffer, &reply->head, sizeof(reply->head));
	reply_compose(worker, reply, worker->rest.bytes);
	memcpy(buffer + sizeof(reply->head), worker->rest.bytes, WIRE_REPLY_BUFFER_BYTES);
	worker->rest_at = WIRE_REPLY_BUFFER_BYTES;
}

void channel_reply_status(struct channel_worker *worker, NTSTATUS status)
{
	struct channel_reply reply = { .head.status = status };

	channel_reply_send(worker, &reply);
}

void channel_reply_forget_rest(struct channel_worker *worker)
{
	channel_part_forget(worker->session, &worker->rest);
	worker->rest_at = 0;
}

void channel_reply_more(struct channel_worker *worker)
{
	uint64_t left = worker->rest.size_bytes - worker->rest_at;
	uint64_t part = left < CHANNEL_BUFFER_BYTES ? left : CHANNEL_BUFFER_BYTES;

	if (part == 0) {
		worker->lie = "it wants more of a reply than there was";
		return;
	}
	memcpy(worker->channel.memory->reply.buffer, worker->rest.bytes + worker->rest_at, part);
	worker->rest_at += part;
	if (worker->rest_at == worker->rest.size_bytes)
		channel_reply_forget_rest(worker);
}
