/* SPDX-License-Identifier: MIT */
/*
 * call.c - calls.def turned into tables. offsetof and sizeof do the work, so the tables cannot
 * disagree with the structs.
 */
#include <stddef.h>

#include "base/attributes.h"
#include "wire/call.h"
#include "wire/fields.h"

/* The fields of a call; a function, because only there can T mean its struct. */
#define CALL(id, call_name, type, constness, ...)                                                  \
	_Static_assert(sizeof(type) <= CALL_MAX_ARGS_BYTES, #type);                                \
	static void describe_##id(struct call_description *description)                            \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		*description = (struct call_description){ .name = #call_name,                      \
							  .args_bytes = sizeof(T),                 \
							  .is_built = true,                        \
							  .field_count = ARRAY_SIZE(fields),       \
							  .fields = fields };                      \
	}
#define CALL_NOT_BUILT(call_name, type, constness)                                                 \
	static void describe_##call_name(struct call_description *description)                     \
	{                                                                                          \
		*description = (struct call_description){ .name = #call_name,                      \
							  .args_bytes = sizeof(type) };            \
	}
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

static struct call_description descriptions[CALL_COUNT];

__attribute__((constructor)) static void call_describe_all(void)
{
#define CALL(id, name, type, constness, ...)  describe_##id(&descriptions[CALL_##id]);
#define CALL_NOT_BUILT(name, type, constness) describe_##name(&descriptions[CALL_##name]);
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
}

const struct call_description *call_describe(uint32_t id)
{
	return id < CALL_COUNT ? &descriptions[id] : NULL;
}
