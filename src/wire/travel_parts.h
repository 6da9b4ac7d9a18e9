/* SPDX-License-Identifier: MIT */
/*
 * travel_parts.h - what most walks are made of, for who compiles them for one mode: of each part that mode is left. The
 * others are in travel_parts.c.
 *
 * Blocks are written in words, as they are read soon after: a processor that has to put a wider piece together from
 * some that are still on their way to memory waits for them.
 */
#ifndef WIRE_TRAVEL_PARTS_H
#define WIRE_TRAVEL_PARTS_H

#include "base/attributes.h"
#include "base/bytes.h"
#include "wire/travel_walk.h"

/* The next `size_bytes` of the block; NULL, and failed, when it has not so many. */
SPECIALIZED void *travel_next(struct travel *travel, uint64_t size_bytes)
{
	unsigned char *at = travel->at;

	if (UNLIKELY(travel->has_failed ||
		     travel_rounded(size_bytes) > (uint64_t)(travel->end - at))) {
		travel->has_failed = true;
		return NULL;
	}
	travel->at = at + travel_rounded(size_bytes);
	return at;
}

/* Into the block, filled up with zeros; NULL as above. */
void *travel_write(struct travel *travel, const void *bytes, uint64_t size_bytes);

/* `count` elements of a size that is known, and mostly it is one. */
SPECIALIZED void *travel_write_list(struct travel *travel, const void *elements, uint64_t count,
				    uint32_t element_bytes)
{
	uint64_t handle = 0;

	if (UNLIKELY(count != 1) || element_bytes < sizeof(uint32_t) ||
	    (element_bytes > sizeof(uint32_t) && element_bytes % sizeof(uint64_t) != 0))
		return travel_write(travel, elements, count * element_bytes);
	void *to = travel_next(travel, element_bytes);
	if (UNLIKELY(!to))
		return NULL;
	if (element_bytes > sizeof(uint32_t)) {
		bytes_copy_words(to, elements, element_bytes, 0);
	} else {
		memcpy(&handle, elements, sizeof(uint32_t));
		memcpy(to, &handle, sizeof(handle));
	}
	return to;
}

/* Writes the client's memory where it differs. */
SPECIALIZED void travel_put(void *client, const void *bytes, uint64_t size_bytes)
{
	if (memcmp(client, bytes, size_bytes) != 0)
		memcpy(client, bytes, size_bytes);
}

SPECIALIZED void travel_set_pointer(void *field, void *pointer)
{
	memcpy(field, &pointer, sizeof(pointer));
}

/*
 * The pointer at `field`, which may be at any address, leads to `count` elements. Returns where they
 * are now; NULL when there are none, or more than `limit`.
 */
SPECIALIZED void *travel_list(struct walk walk, void *field, uint64_t count, uint32_t element_bytes,
			      uint32_t limit, enum travel_way way)
{
	struct travel *travel = walk.travel;
	void *pointer = travel_pointer(field);
	const uint64_t bytes = count * element_bytes;
	void *there;

	if (walk.mode == TRAVEL_DESCRIBE)
		return travel_tell_list(travel, field);
	if (!pointer)
		return NULL;
	if (UNLIKELY(count == 0 || count > limit)) {
		if (walk.mode == TRAVEL_OPEN)
			travel_set_pointer(field, TRAVEL_NOWHERE);
		return NULL;
	}
	switch (walk.mode) {
	case TRAVEL_MEASURE:
		travel->bytes += travel_rounded(bytes);
		return pointer;
	case TRAVEL_WRITE:
		return travel_write_list(travel, pointer, count, element_bytes);
	case TRAVEL_OPEN:
		there = travel_next(travel, bytes);
		travel_set_pointer(field, there ? there : TRAVEL_NOWHERE);
		travel->bytes += way == TRAVEL_AND_BACK ? travel_rounded(bytes) : 0;
		return there;
	case TRAVEL_ANSWER_MEASURE:
		travel->bytes += way == TRAVEL_AND_BACK ? travel_rounded(bytes) : 0;
		return pointer;
	case TRAVEL_ANSWER:
		if (way == TRAVEL_AND_BACK)
			travel_write_list(travel, pointer, count, element_bytes);
		return pointer;
	case TRAVEL_APPLY:
		there = way == TRAVEL_AND_BACK ? travel_next(travel, bytes) : NULL;
		if (there)
			travel_put(pointer, there, bytes);
		return travel->has_failed ? NULL : pointer;
	case TRAVEL_VISIT:
		travel->visit(travel->context, pointer, bytes);
		return pointer;
	case TRAVEL_DESCRIBE:
		break;
	}
	return NULL;
}

/* Bytes that the call writes, in a list that travelled only there. */
SPECIALIZED void travel_result(struct walk walk, void *bytes, uint32_t size_bytes)
{
	const void *there;

	if (walk.mode == TRAVEL_OPEN || walk.mode == TRAVEL_ANSWER_MEASURE)
		walk.travel->bytes += travel_rounded(size_bytes);
	else if (walk.mode == TRAVEL_ANSWER)
		travel_write_list(walk.travel, bytes, 1, size_bytes);
	else if (walk.mode == TRAVEL_APPLY &&
		 (there = travel_next(walk.travel, size_bytes)) != NULL)
		travel_put(bytes, there, size_bytes);
}

/* Where there is one; travel_parts.c. */
RARE void travel_thing_there(struct walk walk, void *field, enum travel_thing thing,
			     uint64_t size_bytes);

/* The 8 bytes at `field` are no bytes. */
SPECIALIZED void travel_thing(struct walk walk, void *field, enum travel_thing thing,
			      uint64_t size_bytes)
{
	uint64_t value;

	if (walk.mode == TRAVEL_DESCRIBE) {
		travel_tell(walk.travel, field, "thing");
	} else if (walk.mode <= TRAVEL_OPEN) { /* it goes there, and does not come back */
		memcpy(&value, field, sizeof(value));
		if (UNLIKELY(value != 0))
			travel_thing_there(walk, field, thing, size_bytes);
	}
}

#endif
