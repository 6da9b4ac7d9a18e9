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

/*
 * What a walk is given. The mode is no field of the above: walks are compiled once for each of the modes that every
 * call takes, and there it is a constant (travel_table.c).
 */
struct walk {
	struct travel *travel;
	enum travel_mode mode;
};

typedef void travel_walk(struct walk walk, void *arguments);

/* travel_open.c */
travel_walk travel_open_resource, travel_open_resource2, travel_open_resource_from_nt_handle;

/*
 * The pointer at `field` leads to room that only a call that succeeds fills, with `used_bytes` of
 * `size_bytes`. What is there before is not read. Returns the room, where the server has it.
 */
void *travel_buffer(struct walk walk, void *field, uint64_t size_bytes, uint64_t limit_bytes,
		    uint64_t used_bytes);

/* The 8 bytes at `field` are a descriptor that the call makes. */
void travel_descriptor(struct walk walk, void *field);

/* `words` is a slot as above; `count` values, if it leads to any. */
void travel_slot(struct walk walk, UINT64 *words, uint64_t count);

/* The client may have objects for which a slot holds no pointer. */
void travel_note_values(void);

static inline uint64_t travel_rounded(uint64_t bytes)
{
	return (bytes + TRAVEL_ALIGN_BYTES - 1) & ~(uint64_t)(TRAVEL_ALIGN_BYTES - 1);
}

/*
 * The whole of a call that is built: the fields of calls.def, then its walk. In any mode; and, as every call does it, the
 * struct and what it leads to into the block, from there for a handler (`arguments` are in the block, a copy goes to
 * image->before), what came of it into the block, and from there to the client.
 */
void travel_over(struct walk walk, uint32_t id, void *arguments);
void travel_over_write(struct travel *travel, uint32_t id, const void *client);
void travel_over_open(struct travel *travel, uint32_t id, void *arguments);
void travel_over_answer(struct travel *travel, uint32_t id, void *before);
void travel_over_apply(struct travel *travel, uint32_t id, void *client);

/* The RESULTs of a call that are not as they were, a bit each; adds the bytes they take. */
uint32_t travel_changed(uint32_t id, const void *after, const void *before, uint64_t *bytes);

/* The field as the call has left it; `field` is one of the arguments from before. */
const void *travel_after(const struct travel *travel, const void *field);

/* Is there such a thing in this call? Describe tells of all. */
static inline bool travel_if(struct walk walk, bool condition)
{
	return condition || walk.mode == TRAVEL_DESCRIBE;
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
static inline void travel_value(struct walk walk, const void *field)
{
	if (walk.mode == TRAVEL_DESCRIBE)
		travel_tell(walk.travel, field, "plain");
}

#endif
