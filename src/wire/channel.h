/* SPDX-License-Identifier: MIT */
/*
 * channel.h - the memory over which one thread of a client makes its calls to the server.
 *
 *	client   writes a request, and its number behind it: request.number ──────────▶
 *	         ◀────────── the reply, and the same number: reply.number              server
 *
 * A thread has one call under way at a time, so a ring of one is enough. Each side looks at the other's
 * number for a little while before it sleeps on it, and says so before: who finds the other one awake
 * makes no system call. Looking takes two processors at once. So the server, which knows of all clients,
 * says with each answer whether there are two for this one, and goes to another processor than the one
 * its client says it is on, behind the answer: woken from its own processor a client stays there, and has
 * it as soon as we leave; woken from another one it may be put there, behind us. Who has woken the other
 * one looks for as long as that may take, so two that slept come awake again; who looks in vain does so
 * less and less often.
 *
 * What is short stands in the cache line of its number: who sees that has the rest.
 *
 * The memory is a file that the server makes and seals; both have it for writing. Nothing in it is
 * trusted by the server: it copies a request out once, keeps its own number, and never reads what it
 * wrote. There is no lock in it, so a client that dies leaves none taken.
 */
#ifndef WIRE_CHANNEL_H
#define WIRE_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/bytes.h"

enum {
	CHANNEL_BYTES = 1 << 16,
	CHANNEL_LINE_BYTES = 64, /* of the cache */
	CHANNEL_USUAL_LINES = 4,
	CHANNEL_WAY_BYTES = CHANNEL_BYTES / 2,
	CHANNEL_BUFFER_BYTES = CHANNEL_WAY_BYTES - 8 - CHANNEL_LINE_BYTES,
};

/* What a client is told to do until its next answer comes. */
enum channel_advice {
	CHANNEL_SLEEP,
	CHANNEL_LOOK,       /* there is a processor for each of the two */
	CHANNEL_LOOK_AGAIN, /* there was none, and now there is */
};

/* On which processors a client and its worker are. */
enum channel_place {
	CHANNEL_APART,
	CHANNEL_PARTING,  /* on one, and the worker goes to another when it has answered */
	CHANNEL_TOGETHER, /* on one, and both stay there */
};

/* One way: what one side writes and the other reads. */
struct channel_way {
	_Atomic uint32_t number;
	_Atomic uint32_t said; /* of a request: what it is (request.h); of a reply: the advice */
	unsigned char buffer[CHANNEL_BUFFER_BYTES];

	/* In a line of their own: the reader writes it, when it sleeps, and the writer when it has slept. */
	_Alignas(CHANNEL_LINE_BYTES) _Atomic uint32_t reader_sleeps;
	_Atomic uint32_t processor; /* of a request: the client's */
};

struct channel_memory {
	struct channel_way request;
	struct channel_way reply;
};
_Static_assert(sizeof(struct channel_memory) == CHANNEL_BYTES, "two ways");

/* One side's own view of it. */
struct channel {
	struct channel_memory *memory;
	uint32_t number;     /* of the last request that this side made, or answered */
	bool can_look;       /* there is another processor */
	bool may_look;       /* there is one for us: the server says so to its clients */
	bool has_slept;      /* client: when the last answer came */
	bool has_woken;      /* the other side, with the last that was written */
	uint32_t misses;     /* how often in a row looking did not help */
	uint32_t sleep_next; /* so many times it is not tried */
};

/* A sealed file. -1 with errno. */
MUST_CHECK int channel_file_create(uint64_t size_bytes);

/* Maps it, and leaves the file to the caller. False with errno. */
MUST_CHECK bool channel_open(struct channel *channel, int file);
void channel_close(struct channel *channel);

/*
 * Who is about to write has the lines that most requests and replies take, but for the first one, which
 * the other side looks at all the time, fetched from the other processor all at once.
 */
static inline void channel_way_prepare(struct channel_way *way)
{
	for (unsigned i = 1; i < CHANNEL_USUAL_LINES; i++)
		bytes_prepare((const char *)way + (size_t)i * CHANNEL_LINE_BYTES);
}

/*
 * Into the room of a way, from where it was put together: at once, because the other side takes the first line away
 * each time it looks. Word by word, as it was written just before (base/bytes.h), a multiple of 8.
 */
static inline void channel_way_write(struct channel_way *way, const void *bytes, size_t size_bytes)
{
	for (size_t at = 0; at < size_bytes; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, (const char *)bytes + at, sizeof(word));
		__asm__("" : "+r"(word)); /* or the compiler makes wider pieces of them */
		memcpy(way->buffer + at, &word, sizeof(word));
	}
}

/* Client: what is in the request's room is asked now. */
void channel_ask(struct channel *channel);

/*
 * Client: false when `is_over` became true first; whoever sets it calls channel_wake_client() afterwards.
 * What was to be answered then never is.
 */
MUST_CHECK bool channel_await_answer(struct channel *channel, const _Atomic bool *is_over);
void channel_wake_client(struct channel *channel);

/*
 * Server: the same from the other side, in two steps: looking, which takes a processor, and sleeping, until
 * the deadline at most. A client can undo what wakes us: who ends a worker calls channel_wake_server() until
 * it has.
 */
MUST_CHECK bool channel_look_for_request(struct channel *channel);
MUST_CHECK bool channel_await_request(struct channel *channel, const _Atomic bool *is_over,
				      uint64_t deadline_ns);
void channel_wake_server(struct channel *channel);

/* Server: the answer will take a while, and the client need not look for it. */
void channel_hold_off(struct channel *channel);
void channel_answer(struct channel *channel, enum channel_advice advice);
/* Server, with a request, after one of the two has slept. `is_turn`: they have two processors only now, and not for long. */
MUST_CHECK enum channel_place channel_look_where(struct channel *channel, bool is_turn);
/* Server: to another processor than this, if there is one for it. */
MUST_CHECK enum channel_place channel_part(void);

#endif
