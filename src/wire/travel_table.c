/* SPDX-License-Identifier: MIT */
/*
 * travel_table.c - calls.def, and the walks behind it, compiled into one straight path per call and way, as in
 * dispatch/capture.h: of each loop over the fields the compiler leaves what the call has, and of each part
 * of a walk what its mode does. What is not a way of every call goes through one that asks for its mode.
 */
#include "base/checked.h"
#include "wire/fields.h"
#include "wire/travel_calls.h"

SPECIALIZED uint32_t read_count(const void *arguments, const struct call_field *field)
{
	uint32_t count;

	memcpy(&count, (const char *)arguments + field->count_offset, sizeof(count));
	return count;
}

/* Room beyond the limit is not used, nor what the call leaves of it: a client may not even have it. */
static void walk_buffer(struct walk walk, unsigned char *arguments, const struct call_field *field)
{
	const uint64_t buffer = lower_of(read_count(arguments, field), field->limit);
	uint32_t used = 0;

	if (walk.travel->has_success && walk.travel->image)
		memcpy(&used, travel_after(walk.travel, arguments + field->count_offset),
		       sizeof(used));
	travel_buffer(walk, arguments + field->offset, buffer * field->element_bytes,
		      (uint64_t)field->limit * field->element_bytes,
		      lower_of(used, buffer) * field->element_bytes);
}

SPECIALIZED void walk_field(struct walk walk, unsigned char *arguments,
			    const struct call_field *field)
{
	switch ((enum call_field_kind)field->kind) {
	case FIELD_BYTES_IN:
	case FIELD_BYTES_INOUT:
		travel_list(walk, arguments + field->offset, read_count(arguments, field),
			    field->element_bytes, field->limit,
			    field->kind == FIELD_BYTES_IN ? TRAVEL_THERE : TRAVEL_AND_BACK);
		break;
	case FIELD_ARRAY_OUT:
		walk_buffer(walk, arguments, field);
		break;
	case FIELD_HANDLE:
	case FIELD_HANDLE_OR_0:
	case FIELD_FLAGS:
	case FIELD_OPAQUE:
	case FIELD_OUT:
	case FIELD_SHOWN:
	case FIELD_SHOWN_HEX:
		break;
	}
}

SPECIALIZED void walk_call(struct walk walk, unsigned char *arguments,
			   const struct call_field *fields, unsigned count, travel_walk *behind)
{
#pragma GCC unroll 16
	for (unsigned i = 0; i < count; i++)
		walk_field(walk, arguments, &fields[i]);
	if (behind)
		behind(walk, arguments);
}

/* ---- the ways of every call ---- */

SPECIALIZED void write_call(struct travel *travel, const void *client, size_t args_bytes,
			    const struct call_field *fields, unsigned count, travel_walk *behind)
{
	unsigned char *copy = travel_next(travel, args_bytes);

	if (UNLIKELY(!copy))
		return;
	if (args_bytes != travel_rounded(args_bytes))
		memset(copy + args_bytes, 0, travel_rounded(args_bytes) - args_bytes);
	bytes_copy_words(copy, client, args_bytes, fields_halved_words(fields, count));
	walk_call((struct walk){ travel, TRAVEL_WRITE }, copy, fields, count, behind);
}

SPECIALIZED void open_call(struct travel *travel, void *arguments, size_t args_bytes,
			   const struct call_field *fields, unsigned count, travel_walk *behind)
{
	walk_call((struct walk){ travel, TRAVEL_OPEN }, arguments, fields, count, behind);
	bytes_copy_words(travel->image->before.bytes, arguments, args_bytes, 0);
}

/* The results that are not as they were: a bit each. */
SPECIALIZED uint32_t compare_fields(const unsigned char *after, const unsigned char *before,
				    const struct call_field *fields, unsigned count,
				    uint64_t *bytes)
{
	uint32_t changed = 0;
	uint32_t bit = 1;

#pragma GCC unroll 16
	for (unsigned i = 0; i < count; i++) {
		if (fields[i].kind != FIELD_OUT)
			continue;
		if (memcmp(after + fields[i].offset, before + fields[i].offset,
			   fields[i].size_bytes) != 0) {
			changed |= bit;
			*bytes += travel_rounded(fields[i].size_bytes);
		}
		bit <<= 1;
	}
	return changed;
}

/* ---- the table ---- */

#define CALL(id, name, type, constness, ...)                                                       \
	static void write_##id(struct travel *travel, const void *client)                          \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		write_call(travel, client, sizeof(T), fields, ARRAY_SIZE(fields),                  \
			   travel_walks[CALL_##id]);                                               \
	}                                                                                          \
	static void open_##id(struct travel *travel, void *arguments)                              \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		open_call(travel, arguments, sizeof(T), fields, ARRAY_SIZE(fields),                \
			  travel_walks[CALL_##id]);                                                \
	}                                                                                          \
	static void answer_##id(struct travel *travel, void *before)                               \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		walk_call((struct walk){ travel, TRAVEL_ANSWER }, before, fields,                  \
			  ARRAY_SIZE(fields), travel_walks[CALL_##id]);                            \
	}                                                                                          \
	static void apply_##id(struct travel *travel, void *client)                                \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		walk_call((struct walk){ travel, TRAVEL_APPLY }, client, fields,                   \
			  ARRAY_SIZE(fields), travel_walks[CALL_##id]);                            \
	}                                                                                          \
	RARE static void walk_any_##id(struct walk walk, void *arguments)                          \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		walk_call(walk, arguments, fields, ARRAY_SIZE(fields), travel_walks[CALL_##id]);   \
	}                                                                                          \
	static uint32_t compare_##id(const void *after, const void *before, uint64_t *bytes)       \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		return compare_fields(after, before, fields, ARRAY_SIZE(fields), bytes);           \
	}
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

static const struct {
	void (*write)(struct travel *travel, const void *client);
	void (*open)(struct travel *travel, void *arguments);
	void (*answer)(struct travel *travel, void *before);
	void (*apply)(struct travel *travel, void *client);
	travel_walk *walk;
	uint32_t (*compare)(const void *after, const void *before, uint64_t *bytes);
} table[CALL_COUNT] = {
#define CALL(id, name, type, constness, ...)                                                       \
	[CALL_##id] = {                                                                            \
		write_##id, open_##id, answer_##id, apply_##id, walk_any_##id, compare_##id        \
	},
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
};

void travel_over(struct walk walk, uint32_t id, void *arguments)
{
	table[id].walk(walk, arguments);
}

void travel_over_write(struct travel *travel, uint32_t id, const void *client)
{
	table[id].write(travel, client);
}

void travel_over_open(struct travel *travel, uint32_t id, void *arguments)
{
	table[id].open(travel, arguments);
}

void travel_over_answer(struct travel *travel, uint32_t id, void *before)
{
	table[id].answer(travel, before);
}

void travel_over_apply(struct travel *travel, uint32_t id, void *client)
{
	table[id].apply(travel, client);
}

uint32_t travel_changed(uint32_t id, const void *after, const void *before, uint64_t *bytes)
{
	return table[id].compare(after, before, bytes);
}
