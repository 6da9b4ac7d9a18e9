/* SPDX-License-Identifier: MIT */
/*
 * travel_walk.h - what a walk over a call's arguments is made of.
 *
 * A walk names each pointer of its struct, and each thing, in an order of its own, with counts that
 * say under which conditions something is read: a count of 0 where a handler would not look. It is
 * called with the client's struct (measure, apply), its copy in the block (write, open) or the copy
 * from before the call (answer), so it reads counts from there and nothing else.
 */
#ifndef WIRE_TRAVEL_WALK_H
#define WIRE_TRAVEL_WALK_H

#include <string.h>

#include "wire/travel.h"

enum travel_mode {
	TRAVEL_MEASURE,
	TRAVEL_WRITE,
	TRAVEL_OPEN,
	TRAVEL_ANSWER_MEASURE,
	TRAVEL_ANSWER,
	TRAVEL_APPLY,
	TRAVEL_VISIT,
	TRAVEL_DESCRIBE, /* nothing is read or written: which fields are there? */
};

enum travel_way { TRAVEL_THERE, TRAVEL_AND_BACK };

/* A pointer to nowhere: not NULL, and no memory can be there. */
#define TRAVEL_NOWHERE ((void *)UINT64_C(0x7ff0000000000000))

struct travel {
	enum travel_mode mode;
	bool has_failed;    /* the block is not as the walk has it */
	bool has_success;   /* answer, apply: of the call */
	bool has_values;    /* write, open: the slot leads to values, which go along */
	unsigned char *at;  /* next byte of the block */
	unsigned char *end; /* of the block */
	uint64_t bytes;     /* measure; open: of what comes back */
	struct travel_hooks *hooks;
	struct travel_image *image; /* server */

	/* One is made for every walk, two or three in a call: it is small. */
	union {
		const char *why; /* open: what is wrong */
		struct
		{ /* apply: a descriptor that goes into a field when everything else is there */
			void *descriptor_at;
			int descriptor;
		};
		struct {
			travel_visitor *visit;
			void *context;
		};
		struct travel_description *description;
	};
};
_Static_assert(sizeof(struct travel) <= 64, "a few stores");

typedef void travel_walk(struct travel *travel, void *arguments);

/* Behind the fields of calls.def; NULL: they say all. */
extern travel_walk *const travel_walks[CALL_COUNT];

/* travel_open.c */
travel_walk travel_open_resource, travel_open_resource2, travel_open_resource_from_nt_handle;

/* Pointers and handles that are values, followed by nobody behind this line: call and offset. */
struct travel_plain {
	uint16_t id;
	uint16_t offset;
};
extern const struct travel_plain travel_plain[];
extern const uint32_t travel_plain_count;

/*
 * The pointer at `field`, which may be at any address, leads to `count` elements. Returns where they
 * are now; NULL when there are none, or more than `limit`.
 */
void *travel_list(struct travel *travel, void *field, uint64_t count, uint32_t element_bytes,
		  uint32_t limit, enum travel_way way);

/* Bytes that the call writes, in a list that travelled only there. */
void travel_result(struct travel *travel, void *bytes, uint32_t size_bytes);

/*
 * The pointer at `field` leads to room that only a call that succeeds fills, with `used_bytes` of
 * `size_bytes`. What is there before is not read. Returns the room, where the server has it.
 */
void *travel_buffer(struct travel *travel, void *field, uint64_t size_bytes, uint64_t limit_bytes,
		    uint64_t used_bytes);

/* The 8 bytes at `field` are no bytes. */
void travel_thing(struct travel *travel, void *field, enum travel_thing thing, uint64_t size_bytes);

/* The 8 bytes at `field` are a descriptor that the call makes. */
void travel_descriptor(struct travel *travel, void *field);

/* `words` is a slot as above; `count` values, if it leads to any. */
void travel_slot(struct travel *travel, UINT64 *words, uint64_t count);

/* The client may have objects for which a slot holds no pointer. */
void travel_note_values(void);

static inline uint64_t travel_rounded(uint64_t bytes)
{
	return (bytes + TRAVEL_ALIGN_BYTES - 1) & ~(uint64_t)(TRAVEL_ALIGN_BYTES - 1);
}

/* The whole of a call that is built: the fields of calls.def, then its walk. */
void travel_over(struct travel *travel, uint32_t id, void *arguments);

/* The RESULTs of a call that are not as they were, a bit each; adds the bytes they take. */
uint32_t travel_changed(uint32_t id, const void *after, const void *before, uint64_t *bytes);

/* Into the block, filled up with zeros; NULL as below. */
void *travel_write(struct travel *travel, const void *bytes, uint64_t size_bytes);

/* The next `size_bytes` of the block; NULL, and failed, when it has not so many. */
void *travel_next(struct travel *travel, uint64_t size_bytes);

/* The field as the call has left it; `field` is one of the arguments from before. */
const void *travel_after(const struct travel *travel, const void *field);

/* Writes the client's memory where it differs. */
void travel_put(void *client, const void *bytes, uint64_t size_bytes);

/* Is there such a thing in this call? Describe tells of all. */
static inline bool travel_if(const struct travel *travel, bool condition)
{
	return condition || travel->mode == TRAVEL_DESCRIBE;
}

static inline void *travel_pointer(const void *field)
{
	void *pointer;

	memcpy(&pointer, field, sizeof(pointer));
	return pointer;
}

/*
 * Every field of a call that a walk knows, for tools/check_wire.py: `parent` is "" for the struct of
 * the call; "16" for what the pointer at 16 leads to, "16/8" for what the one at 8 in that leads to.
 */
typedef void travel_teller(void *context, const char *parent, uint32_t offset, uint32_t size_bytes,
			   const char *how);
void travel_describe(uint32_t id, travel_teller *tell, void *context);

/* Describe: of a field, and of one that leads to a struct of zeros, which is returned. */
void travel_tell(const struct travel *travel, const void *field, const char *how);
void *travel_tell_list(const struct travel *travel, const void *field);

/* It is an address, or a handle, and stays a value: nobody follows it. Tells only. */
static inline void travel_value(const struct travel *travel, const void *field)
{
	if (travel->mode == TRAVEL_DESCRIBE)
		travel_tell(travel, field, "plain");
}

#endif
