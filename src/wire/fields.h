/* SPDX-License-Identifier: MIT */
/*
 * fields.h - the words of calls.def as initialisers of struct call_field. T is the call's struct,
 * which whoever includes calls.def makes a type of, once per call.
 */
#ifndef WIRE_FIELDS_H
#define WIRE_FIELDS_H

#include <stddef.h>

#include "base/attributes.h"
#include "wire/call.h"

#define SIZE_OF(field) sizeof(((T *)0)->field)

#define FIELD_COMMON(field)                                                                        \
	.name = #field, .offset = offsetof(T, field), .size_bytes = SIZE_OF(field)

#define HANDLE(field, what)                                                                        \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_HANDLE, .object_kind = OBJECT_KIND_##what       \
	}
#define HANDLE_OR_0(field, what)                                                                   \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_HANDLE_OR_0, .object_kind = OBJECT_KIND_##what  \
	}
#define FLAGS(field, known)                                                                        \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_FLAGS, .limit = (known),                        \
				     .names = NAMES_OF_FLAGS(((T *)0)->field)                      \
	}
#define BUFFER(field_kind, pointer, count, element, max)                                           \
	{                                                                                          \
		FIELD_COMMON(pointer), .kind = (field_kind), .count_offset = offsetof(T, count),   \
				       .count_name = #count, .element_bytes = (element),           \
				       .limit = (max)                                              \
	}
#define BYTES_IN(pointer, count, max) BUFFER(FIELD_BYTES_IN, pointer, count, 1, max)
#define ARRAY_IN(pointer, count, max)                                                              \
	BUFFER(FIELD_BYTES_IN, pointer, count, sizeof(*((T *)0)->pointer), max)
#define BYTES_INOUT(pointer, count, max) BUFFER(FIELD_BYTES_INOUT, pointer, count, 1, max)
#define ARRAY_OUT(pointer, count, max)                                                             \
	BUFFER(FIELD_ARRAY_OUT, pointer, count, sizeof(*((T *)0)->pointer), max)
#define OPAQUE(field)                                                                              \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_OPAQUE                                          \
	}
#define SHOWN(field)                                                                               \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_SHOWN                                           \
	}
#define SHOWN_HEX(field)                                                                           \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_SHOWN_HEX                                       \
	}
#define SHOWN_AS(field, list)                                                                      \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_SHOWN, .names = names_of_##list                 \
	}
#define RESULT(field)                                                                              \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_OUT                                             \
	}

/* Words of the struct that a client writes in two, one of them a field of the table: a bit each. */
SPECIALIZED uint64_t fields_halved_words(const struct call_field *fields, unsigned count)
{
	uint64_t halved = 0;

#pragma GCC unroll 16
	for (unsigned i = 0; i < count; i++) {
		bool is_half = fields[i].kind == FIELD_HANDLE ||
			       fields[i].kind == FIELD_HANDLE_OR_0 || fields[i].kind == FIELD_FLAGS;
		if (is_half && fields[i].offset < 64 * sizeof(uint64_t))
			halved |= UINT64_C(1) << fields[i].offset / sizeof(uint64_t);
	}
	return halved;
}

#endif
