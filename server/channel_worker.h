/* SPDX-License-Identifier: MIT */
/*
 * channel_worker.h - one thread of a client as the server sees it: its channel, and the call that is under way.
 *
 *	channel_worker.c   takes requests and makes the calls
 *	channel_reply.c    what goes back
 */
#ifndef SERVER_CHANNEL_WORKER_H
#define SERVER_CHANNEL_WORKER_H

#include "base/client_call.h"
#include "base/refusal.h"
#include "server/gang.h"
#include "server/server.h"
#include "wire/request.h"
#include "wire/travel.h"

enum { CALL_DESCRIPTORS_MOST = 64, CALL_EVENTS_MOST = 8 };

/* Of what there is not enough for a call. */
enum worker_lack { LACKS_NOTHING, LACKS_MEMORY, LACKS_DESCRIPTORS, LACKS_EVENTS };

struct channel_worker {
	struct session *session;
	struct list link; /* session.workers */
	struct thread *thread;
	_Atomic bool is_finished;
	struct notice finished;
	struct channel channel;
	struct gang gang;
	enum channel_place place; /* beside its client */
	struct guest *guest;      /* whose calls they are, with a reference; NULL: none yet */
	unsigned char *block;     /* for all that fits the channel, and its head */

	struct channel_part put;  /* for the next call */
	struct channel_part rest; /* of a reply that did not fit */
	uint64_t rest_at;

	/* Of the call under way. */
	struct travel_hooks hooks;
	struct client_call call;
	int descriptors[CALL_DESCRIPTORS_MOST];
	uint32_t descriptor_count;
	struct {
		uint32_t event;
		uint32_t token;
	} events[CALL_EVENTS_MOST];
	uint32_t event_count;
	struct dxgk_refusal refusal; /* of the last one that was refused */
	enum worker_lack lacks;      /* for what came along */
	const char *lie;             /* it is no request: why; the session ends */
	bool has_left;               /* the session's list, before the session: it ends alone */
	bool is_answered;            /* the request, with what may still be done about it */
	struct travel_image *image;  /* of the call that is being made */
};

struct channel_reply {
	struct wire_reply head;
	struct dxgk_refusal *refusal;   /* where head.has_refusal */
	const struct client_call *call; /* NULL: no views */
	struct travel_image *image;     /* NULL: no call */
	uint64_t image_bytes;
};

/* Into the channel's room; the client is told by who sent it. */
void channel_reply_send(struct channel_worker *worker, struct channel_reply *reply);
void channel_reply_status(struct channel_worker *worker, NTSTATUS status);

/* The next part of one that did not fit; or the client lies. */
void channel_reply_more(struct channel_worker *worker);
void channel_reply_forget_rest(struct channel_worker *worker);

#endif
