/* SPDX-License-Identifier: MIT */
/*
 * request.h - what stands in the two rooms of a channel (channel.h).
 *
 *	request   what travel.h wrote, or the struct of a service; what it is, in the word beside its number
 *	reply     struct wire_reply, then the refusal if there is one, views, their runs, what travel.h wrote
 *
 * What is longer than the room goes in parts: a request is put into the server's memory first (WIRE_PUT),
 * and of a reply the client asks for the rest (WIRE_MORE).
 */
#ifndef WIRE_REQUEST_H
#define WIRE_REQUEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "wire/call.h"
#include "wire/channel.h"
#include "wire/travel.h"

/* Beside the calls of calls.def: what a client asks of the server itself. */
enum wire_service {
	WIRE_NOTHING = 0x3f00, /* and nothing happens; to measure the way */
	WIRE_PUT,              /* a part of the next call */
	WIRE_MORE,             /* the next part of the last reply */
	WIRE_CLOSE_PROCESS,    /* everything that the process made is destroyed */
	WIRE_LISTEN,           /* struct wire_listen */
	WIRE_UNLISTEN,         /* the same; only the listener's name counts */
	WIRE_CLOSE_CHANNEL,    /* this one is not needed any more */
};

enum {
	WIRE_WAS_PUT = 1 << 0,       /* all of it was put before; nothing follows */
	WIRE_FROM_CALLBACK = 1 << 1, /* made by a callback, which does not wait for itself */
	WIRE_IS_BARE = 1 << 2,       /* a call without its head (travel.h), whose flags are here: */
	WIRE_HEAD_SHIFT = 3,
	WIRE_FLAGS_MOST = WIRE_IS_BARE | TRAVEL_HEAD_FLAGS << WIRE_HEAD_SHIFT | (WIRE_IS_BARE - 1),
};

/* Sent as one word, so that most requests take a line of the cache. */
struct wire_request {
	uint32_t call;       /* enum call_id or enum wire_service */
	uint32_t flags;      /* WIRE_… above */
	uint64_t size_bytes; /* of what follows, in steps of WIRE_STEP_BYTES */
};

enum { WIRE_CALL_BITS = 14, WIRE_FLAG_BITS = 5, WIRE_STEP_BYTES = TRAVEL_ALIGN_BYTES };
_Static_assert((int)WIRE_FLAGS_MOST < 1 << WIRE_FLAG_BITS, "they fit");
_Static_assert(CHANNEL_BUFFER_BYTES / WIRE_STEP_BYTES < 1 << (32 - WIRE_CALL_BITS - WIRE_FLAG_BITS),
	       "so does the size of all that fits a channel");

static inline uint32_t wire_request_word(const struct wire_request *request)
{
	return request->call | request->flags << WIRE_CALL_BITS |
	       (uint32_t)(request->size_bytes / WIRE_STEP_BYTES)
		       << (WIRE_CALL_BITS + WIRE_FLAG_BITS);
}

static inline struct wire_request wire_request_of(uint32_t word)
{
	return (struct wire_request){
		.call = word & ((1 << WIRE_CALL_BITS) - 1),
		.flags = word >> WIRE_CALL_BITS & ((1 << WIRE_FLAG_BITS) - 1),
		.size_bytes =
			(uint64_t)(word >> (WIRE_CALL_BITS + WIRE_FLAG_BITS)) * WIRE_STEP_BYTES,
	};
}

/* Client: before it is asked. */
static inline void wire_request_say(struct channel *channel, const struct wire_request *request)
{
	atomic_store_explicit(&channel->memory->request.said, wire_request_word(request),
			      memory_order_relaxed);
}

/* Server: once; what is there later is too late. */
static inline struct wire_request wire_request_hear(struct channel *channel)
{
	return wire_request_of(
		atomic_load_explicit(&channel->memory->request.said, memory_order_relaxed));
}

/*
 * Of a call that succeeds and shows nothing only the first two words are there: with what most calls return, a line
 * of the cache.
 */
struct wire_reply {
	uint32_t event_count; /* messages about events, sent before it: see to them first */
	uint32_t size_bytes;  /* of all that follows, here or in parts; WIRE_IS_BRIEF */
	int32_t status;       /* NTSTATUS */
	uint32_t has_refusal; /* a struct dxgk_refusal follows */
	uint32_t view_count;
	uint32_t run_count;
	uint64_t word; /* of what was made: an address in a view (CreateDevice), or 0 */
};
#define WIRE_IS_BRIEF (UINT32_C(1) << 31)

enum {
	WIRE_REPLY_BUFFER_BYTES = CHANNEL_BUFFER_BYTES - (int)sizeof(struct wire_reply),
};

/* Both return how many bytes it takes in the buffer. */
static inline size_t wire_reply_write(const struct wire_reply *reply, void *buffer)
{
	const uint32_t brief[2] = { reply->event_count, reply->size_bytes | WIRE_IS_BRIEF };

	if (LIKELY(reply->status == 0 && reply->view_count == 0 && reply->word == 0 &&
		   reply->size_bytes <= WIRE_REPLY_BUFFER_BYTES)) {
		memcpy(buffer, brief, sizeof(brief));
		return sizeof(brief);
	}
	memcpy(buffer, reply, sizeof(*reply));
	return sizeof(*reply);
}

static inline size_t wire_reply_read(struct wire_reply *reply, const void *buffer)
{
	uint32_t brief[2];

	memcpy(brief, buffer, sizeof(brief));
	if (LIKELY(brief[1] & WIRE_IS_BRIEF)) {
		*reply = (struct wire_reply){ .event_count = brief[0],
					      .size_bytes = brief[1] & ~WIRE_IS_BRIEF };
		return sizeof(brief);
	}
	memcpy(reply, buffer, sizeof(*reply));
	return sizeof(*reply);
}

/* What a client has to show its program at its addresses, before the call returns. */
struct wire_view {
	uint64_t address;
	uint64_t page_count;
	uint64_t stamp;     /* the same one as before: nothing has changed */
	uint32_t run_count; /* the next ones of the list of runs */
	uint32_t kind; /* client_view_kind; nothing is shown by one without pages: its files come */
};

struct wire_run {
	uint64_t first_page;
	uint64_t page_count;
	uint32_t file; /* that came with a message */
	uint32_t reserved;
};

enum { WIRE_LISTEN_MOST = 34 }; /* adapters that a list of DXCore has at most */

struct wire_listen {
	uint64_t listener; /* the client's name for it, not 0 */
	uint32_t news;     /* enum dxgk_embed_news */
	uint32_t count;
	uint64_t luids[WIRE_LISTEN_MOST];
};

#endif
