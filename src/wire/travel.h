/* SPDX-License-Identifier: MIT */
/*
 * travel.h - a call as one block of bytes that needs nothing of the memory it came from.
 *
 *	client   travel_request_bytes, travel_request_write     struct and what it leads to ──▶ block
 *	server   travel_request_open                            block ──▶ a struct that leads into the block
 *	         … the call is made on image.arguments, as on a client's own struct …
 *	server   travel_reply_bytes, travel_reply_write         what came of it ──▶ block
 *	client   travel_reply_apply                             block ──▶ the caller's struct and buffers
 *
 * One walk over a call's arguments (calls.def, and travel_calls.h where that does not say all) serves
 * all four. Both ends are of one build on one machine: travel_hash() says whether they are.
 *
 * The server believes nothing. `block` is its own copy, that nobody else can write; every length comes
 * from there and is held against its size. What is more than a call takes does not travel: the handler
 * finds the count and a pointer to nowhere, and refuses by the rule it has.
 *
 * Nothing here keeps anything between calls, takes a lock, or blocks.
 */
#ifndef WIRE_TRAVEL_H
#define WIRE_TRAVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "wire/call.h"

enum {
	TRAVEL_VERSION = 1,
	TRAVEL_MAX_BYTES = 64 << 20, /* of a request, or of a reply */
	TRAVEL_ALIGN_BYTES = 8,      /* of a block, and of everything in it */
	TRAVEL_BUFFER_BYTES = 1024,  /* results of a server that take no memory */
};

/* What is no bytes: it goes another way, and a number, the token, stands for it in the block. */
enum travel_thing {
	TRAVEL_NT_HANDLE,
	TRAVEL_SECTION,
	TRAVEL_EVENT,
	TRAVEL_MEMORY, /* pages of the client that are used after the call; size 0: the driver says */
};

/*
 * How things travel. Values are what a client has in the field: descriptors, and an address. Those
 * that are 0 do not travel.
 */
struct travel_hooks {
	/* Client, on the way there. 0: nothing goes along, and the server refuses by the rule it has. */
	uint64_t (*send)(struct travel_hooks *hooks, enum travel_thing thing, uintptr_t value,
			 uint64_t size_bytes);
	/* Server, on arrival: what the handler finds in the field instead of the client's value. */
	uintptr_t (*arrive)(struct travel_hooks *hooks, enum travel_thing thing, uint64_t token,
			    uintptr_t value, uint64_t size_bytes);
	/* Server, on the way back: a descriptor that the call made goes to the client, and is closed
	 * here. */
	uint64_t (*send_back)(struct travel_hooks *hooks, int descriptor);
	/* Client: its number for it, or -1. */
	int (*arrive_back)(struct travel_hooks *hooks, uint64_t token);
};

/* What the block of a request begins with. Who knows both sends them another way, and not these 8 bytes. */
struct travel_head {
	uint32_t id;
	uint32_t flags; /* at most TRAVEL_HEAD_FLAGS */
};
enum { TRAVEL_HEAD_FLAGS = 3 };

/* ---- the client's side ---- */

/* 0: it is more than can travel. `arguments` may be NULL, as a client may say it. */
uint64_t travel_request_bytes(uint32_t id, const void *arguments);

/* False: another thread of the client has changed what was measured. */
MUST_CHECK bool travel_request_write(uint32_t id, const void *arguments, void *block,
				     uint64_t size_bytes, struct travel_hooks *hooks);

/*
 * Both at once, for a block that is large enough for most: how many bytes were written, 0 when there is
 * not room for all. What was sent by then, hooks->send() has seen.
 */
MUST_CHECK uint64_t travel_request_put(uint32_t id, const void *arguments, void *block,
				       uint64_t capacity_bytes, struct travel_hooks *hooks);

/*
 * Writes what the call has changed, and only that. `arguments` are as they were at the request. False:
 * this is no reply to it, or a descriptor did not arrive.
 */
MUST_CHECK bool travel_reply_apply(uint32_t id, void *arguments, const void *block,
				   uint64_t size_bytes, struct travel_hooks *hooks);

/* Every piece of the client's memory that the call reads, its struct first. */
typedef void travel_visitor(void *context, const void *memory, uint64_t size_bytes);
void travel_visit(uint32_t id, const void *arguments, travel_visitor *visit, void *context);

/* ---- the server's side ---- */

/* A request that was opened, on the stack of who serves it. */
struct travel_image {
	void *arguments; /* for dispatch_call(); NULL where the client gave none */

	/* For travel.c. */
	uint32_t id;
	uint32_t kept_bytes; /* of `kept`: 0 where nothing was replaced */
	void *kept_at;       /* a field that comes back as it was, not as it arrived */
	uint64_t kept;
	struct travel_memory *taken; /* room for results that does not fit `room` */
	bool is_measured;        /* returned_bytes are known without a look at what came of it */
	uint32_t changed;        /* results of the struct, once the reply is measured */
	uint64_t returned_bytes; /* what comes back besides those */
	uint64_t reply_bytes;
	union {
		uint64_t alignment;
		unsigned char bytes[CALL_MAX_ARGS_BYTES];
	} before; /* the arguments, before the call was made */
	uint32_t buffer_used;
	union {
		uint64_t alignment;
		unsigned char bytes[TRAVEL_BUFFER_BYTES];
	} buffer;
};

/*
 * `block` is aligned, private and writable, and stays until the image is closed. False: this is no such
 * request, and *why_out says what is wrong with it; there is no image then. Where there is no memory
 * for results, *why_out is NULL and STATUS_NO_MEMORY was refused.
 */
MUST_CHECK bool travel_request_open(struct travel_image *image, uint32_t id, void *block,
				    uint64_t size_bytes, struct travel_hooks *hooks,
				    const char **why_out);

/*
 * After the call, once each. Descriptors that it made go to the client or are closed by writing the
 * reply only: a client that is gone does not spare it.
 */
uint64_t travel_reply_bytes(struct travel_image *image, NTSTATUS status);
void travel_reply_write(struct travel_image *image, NTSTATUS status, void *block,
			struct travel_hooks *hooks);

void travel_image_close(struct travel_image *image);

/* ---- both ---- */

/* Of all that both ends have to agree about: calls, structs, fields, limits. */
uint64_t travel_hash(void);

/*
 * Calls of some kinds have one slot for a value or a pointer to values, and only who finds the objects
 * knows which. The slot travels as it is; beside it, in the reserved words of the same union, the
 * server has what it leads to.
 */
#define TRAVEL_SLOT_MARK UINT64_C(0x7c1b5e0f93d2a684)
enum { TRAVEL_SLOT_MARK_AT = 6, TRAVEL_SLOT_POINTER_AT = 7 };

/*
 * Where the values are that the slot leads to, if they are values: for who reads them. A client in
 * the same process that writes the mark leads itself astray, nobody else.
 */
static inline const void *travel_slot_values(const UINT64 *words)
{
	return (const void *)(uintptr_t)(words[TRAVEL_SLOT_MARK_AT] == TRAVEL_SLOT_MARK
						 ? words[TRAVEL_SLOT_POINTER_AT]
						 : words[0]);
}

#endif
