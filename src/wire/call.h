/* SPDX-License-Identifier: MIT */
/*
 * call.h - the calls as numbers, and calls.def as tables.
 */
#ifndef WIRE_CALL_H
#define WIRE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/marker.h>
#include <opendxgk/name.h>

#include "wire/names.h"

enum {
	CALL_MAX_ADAPTERS = 34, /* what EnumAdapters2 says when asked for the room to make */
	CALL_MAX_PRIVATE_BYTES = 1 << 20, /* one driver-private buffer */
	CALL_MAX_ARGS_BYTES = 1024,
	CALL_MAX_HANDLES = 4,
	CALL_MAX_LIST = 1 << 16,   /* elements of one list */
	CALL_SCRATCH_BYTES = 1024, /* copies that fit here take no memory */
	CALL_MAX_BUFFERS = 2,
};

/* Of the calls that take no struct: what travels. */
struct wire_process_class {
	HANDLE hProcess;
	D3DKMT_SCHEDULINGPRIORITYCLASS Class;
};

enum call_id {
#define CALL(id, name, type, constness, ...)  CALL_##id,
#define CALL_NOT_BUILT(name, type, constness) CALL_##name,
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
	CALL_COUNT
};

enum call_field_kind {
	FIELD_HANDLE,
	FIELD_HANDLE_OR_0,
	FIELD_FLAGS,
	FIELD_BYTES_IN,
	FIELD_BYTES_INOUT,
	FIELD_ARRAY_OUT,
	FIELD_OPAQUE,
	FIELD_OUT,
	FIELD_SHOWN,
	FIELD_SHOWN_HEX,
};

enum call_object_kind {
	OBJECT_KIND_ADAPTER,
	OBJECT_KIND_DEVICE,
	OBJECT_KIND_CONTEXT,
	OBJECT_KIND_HW_CONTEXT,
	OBJECT_KIND_HW_QUEUE,
	OBJECT_KIND_KEYED_MUTEX,
	OBJECT_KIND_SYNC_OBJECT,
	OBJECT_KIND_ALLOCATION,
	OBJECT_KIND_PAGING_QUEUE,
	OBJECT_KIND_COUNT
};

struct call_field {
	const char *name;
	uint8_t kind;        /* enum call_field_kind */
	uint8_t object_kind; /* enum call_object_kind, for handles */
	uint16_t offset;
	uint16_t size_bytes;
	uint16_t count_offset; /* buffers and lists: the 32-bit count */
	const char *count_name;
	uint32_t element_bytes; /* buffers */
	uint32_t limit;         /* flags: the known bits; buffers: how many elements at most */
	const struct call_name *names; /* of bits or values; NULL: they have none */
};

struct call_description {
	const char *name; /* "D3DKMTCreateDevice" */
	uint16_t args_bytes;
	bool is_built;
	uint8_t field_count;
	const struct call_field *fields;
};

/* NULL for a number that is no call. */
const struct call_description *call_describe(uint32_t id);

#endif
