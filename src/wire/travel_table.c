/* SPDX-License-Identifier: MIT */
/*
 * travel_table.c - calls.def compiled into one straight path per call, as in dispatch/capture.h: of each
 * loop over the fields the compiler leaves what the call has.
 */
#include "base/checked.h"
#include "wire/fields.h"
#include "wire/travel_walk.h"

SPECIALIZED uint32_t read_count(const void *arguments, const struct call_field *field)
{
	uint32_t count;

	memcpy(&count, (const char *)arguments + field->count_offset, sizeof(count));
	return count;
}

/* Room beyond the limit is not used, nor what the call leaves of it: a client may not even have it. */
static void walk_buffer(struct travel *travel, unsigned char *arguments,
			const struct call_field *field)
{
	const uint64_t buffer = lower_of(read_count(arguments, field), field->limit);
	uint32_t used = 0;

	if (travel->has_success && travel->image)
		memcpy(&used, travel_after(travel, arguments + field->count_offset), sizeof(used));
	travel_buffer(travel, arguments + field->offset, buffer * field->element_bytes,
		      (uint64_t)field->limit * field->element_bytes,
		      lower_of(used, buffer) * field->element_bytes);
}

SPECIALIZED void walk_field(struct travel *travel, unsigned char *arguments,
			    const struct call_field *field)
{
	switch ((enum call_field_kind)field->kind) {
	case FIELD_BYTES_IN:
	case FIELD_BYTES_INOUT:
		travel_list(travel, arguments + field->offset, read_count(arguments, field),
			    field->element_bytes, field->limit,
			    field->kind == FIELD_BYTES_IN ? TRAVEL_THERE : TRAVEL_AND_BACK);
		break;
	case FIELD_ARRAY_OUT:
		walk_buffer(travel, arguments, field);
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

SPECIALIZED void walk_fields(struct travel *travel, unsigned char *arguments,
			     const struct call_field *fields, unsigned count)
{
#pragma GCC unroll 16
	for (unsigned i = 0; i < count; i++)
		walk_field(travel, arguments, &fields[i]);
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

#define CALL(id, name, type, constness, ...)                                                       \
	static void walk_fields_##id(struct travel *travel, void *arguments)                       \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		walk_fields(travel, arguments, fields, ARRAY_SIZE(fields));                        \
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
	travel_walk *walk;
	uint32_t (*compare)(const void *after, const void *before, uint64_t *bytes);
} table[CALL_COUNT] = {
#define CALL(id, name, type, constness, ...) [CALL_##id] = { walk_fields_##id, compare_##id },
#define CALL_NOT_BUILT(name, type, constness)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
};

void travel_over(struct travel *travel, uint32_t id, void *arguments)
{
	table[id].walk(travel, arguments);
	if (travel_walks[id])
		travel_walks[id](travel, arguments);
}

uint32_t travel_changed(uint32_t id, const void *after, const void *before, uint64_t *bytes)
{
	return table[id].compare(after, before, bytes);
}
