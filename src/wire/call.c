/*
 * call.c - calls.def turned into tables. offsetof and sizeof do the work, so the tables cannot
 * disagree with the structs.
 */
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
		FIELD_COMMON(field), .kind = FIELD_FLAGS, .limit = (known)                         \
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
#define RESULT(field)                                                                              \
	{                                                                                          \
		FIELD_COMMON(field), .kind = FIELD_OUT                                             \
	}

static struct call_description describe_built(const char *name, size_t args_bytes,
					      const struct call_field *fields, size_t count)
{
	struct call_description description = { .name = name,
						.args_bytes = (uint16_t)args_bytes,
						.is_built = true,
						.field_count = (uint8_t)count,
						.fields = fields };

	for (size_t i = 0; i < count; i++)
		description.hands_back |= fields[i].kind == FIELD_OUT ||
					  fields[i].kind == FIELD_BYTES_INOUT ||
					  fields[i].kind == FIELD_ARRAY_OUT;
	return description;
}

/* The fields of a call; a function, because only there can T mean its struct. */
#define CALL(id, call_name, type, constness, ...)                                                  \
	_Static_assert(sizeof(type) <= CALL_MAX_ARGS_BYTES, #type);                                \
	static void describe_##id(struct call_description *description)                            \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct call_field fields[] = { __VA_ARGS__ };                         \
		*description = describe_built(#call_name, sizeof(T), fields, ARRAY_SIZE(fields));  \
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
