/* SPDX-License-Identifier: MIT */
/*
 * message.h - what goes over the socket between a client and the server, beside the channels.
 *
 * Sequenced packets, each one struct wire_message and at most one descriptor. Both ends are programs of
 * one build on one machine, which the first two messages make sure of; numbers are as the machine has
 * them.
 *
 *	client                                            server
 *	HELLO      who I am, what I was built from  ──▶
 *	           ◀──  WELCOME, or why not
 *	OPEN_CHANNEL                                ──▶    a thread's first call
 *	           ◀──  CHANNEL + file
 *	DESCRIPTOR + descriptor                     ──▶    one that a call names, ahead of the call
 *	           ◀──  DESCRIPTOR + descriptor            one that a call made, ahead of the reply
 *	           ◀──  FILE + file, FILE_GONE             what views of replies are of
 *	           ◀──  EVENT, EVENT_CLOSED                an event of the client's is to be set
 *	           ◀──  TELL                               a callback is to be made; one at a time
 *	TOLD                                        ──▶    … and it is over
 *	           ◀──  GOODBYE                            the server ends
 */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

enum {
	WIRE_MAGIC = 0x4b475844, /* "DXGK" */
	WIRE_VERSION = 5,
	WIRE_TEXT_BYTES = 256,
	WIRE_RULE_BYTES = 32,
};

enum wire_kind {
	WIRE_HELLO = 1,
	WIRE_OPEN_CHANNEL,
	WIRE_DESCRIPTOR,
	WIRE_TOLD,
	WIRE_WELCOME,
	WIRE_CHANNEL,
	WIRE_FILE,
	WIRE_FILE_GONE,
	WIRE_EVENT,
	WIRE_EVENT_CLOSED,
	WIRE_TELL,
	WIRE_GOODBYE,
};

/* Who connects, and what for. */
enum wire_purpose { WIRE_CLIENT = 1, WIRE_CONTROL = 2 };

struct wire_message {
	uint32_t kind;   /* enum wire_kind */
	uint32_t number; /* of a channel, a file, an event, a callback, or a descriptor's token */
	union {
		struct {
			uint32_t magic;
			uint32_t version;
			uint32_t call_count;
			uint32_t purpose; /* enum wire_purpose */
			uint64_t hash;    /* travel_hash() */
			uint64_t arena_address;
			uint64_t arena_bytes;
			uint32_t
				replaces; /* a session of this process that has lost its socket; 0: none */
			uint32_t reserved;
			char name[32];
		} hello;
		struct {
			int32_t status;             /* NTSTATUS */
			uint32_t session;           /* its number, of a welcome */
			char rule[WIRE_RULE_BYTES]; /* empty after a success */
			char reason[WIRE_TEXT_BYTES];
		} welcome;
		uint64_t size_bytes; /* FILE */
		struct {
			uint64_t offset; /* DESCRIPTOR of memory: where in the file it is */
			uint64_t size_bytes;
		} memory;
		uint64_t count; /* EVENT: how often it is to be set */
		struct {
			uint32_t news;  /* enum wire_news */
			uint32_t flags; /* of a trim */
			uint64_t callback;
			uint64_t context;
			uint64_t bytes; /* to trim; or the budget */
		} tell;
	};
};

/* What a callback is told. */
enum wire_news { WIRE_NEWS_TRIM = 1, WIRE_NEWS_BUDGET, WIRE_NEWS_ADAPTER };

enum wire_result {
	WIRE_DONE,
	WIRE_CROWDED, /* all but its descriptor: this process has as many as it may */
	WIRE_WOULD_WAIT,
	WIRE_BROKEN,
};

/*
 * Sends a message, and a descriptor unless that is -1. Whole or not at all. Does not wait, unless
 * `waits`: then until the other side takes it or is gone.
 */
MUST_CHECK enum wire_result wire_send(int socket, const struct wire_message *message,
				      int descriptor, bool waits);

/*
 * Takes the next one, with its descriptor or -1. What does not look like one of ours is broken, and
 * descriptors that came with it are closed.
 */
MUST_CHECK enum wire_result wire_receive(int socket, struct wire_message *message,
					 int *descriptor_out, bool waits);

/*
 * The same without waiting, and the message stays, with a descriptor of its own: for whom it was too
 * crowded looks again. Who has seen it takes it away.
 */
MUST_CHECK enum wire_result wire_peek(int socket, struct wire_message *message,
				      int *descriptor_out);
void wire_skip(int socket);

#endif
