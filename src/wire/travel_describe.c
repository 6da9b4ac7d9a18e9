/* SPDX-License-Identifier: MIT */
/*
 * travel_describe.c - which fields the walks know, told one by one, and as one number.
 */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "base/attributes.h"
#include "wire/travel_walk.h"

/* ---- what stays a value ---- */

/* Pointers and handles that are values, followed by nobody behind this line: call and offset. */
struct travel_plain {
	uint16_t id;
	uint16_t offset;
};

#define PLAIN(call, type, field)                                                                   \
	{                                                                                          \
		CALL_##call, offsetof(type, field)                                                 \
	}

static const struct travel_plain plain[] = {
	/* Processes are named by NULL or -1. */
	PLAIN(query_statistics, D3DKMT_QUERYSTATISTICS, hProcess),
	PLAIN(query_video_memory_info, D3DKMT_QUERYVIDEOMEMORYINFO, hProcess),
	PLAIN(change_video_memory_reservation, D3DKMT_CHANGEVIDEOMEMORYRESERVATION, hProcess),
	PLAIN(query_process_offer_info, D3DKMT_QUERYPROCESSOFFERINFO, hProcess),
	PLAIN(trim_process_commitment, D3DKMT_TRIMPROCESSCOMMITMENT, hProcess),
	/* Functions of the client, and what they are called with: for who tells the client. */
	PLAIN(register_trim_notification, D3DKMT_REGISTERTRIMNOTIFICATION, Callback),
	PLAIN(register_trim_notification, D3DKMT_REGISTERTRIMNOTIFICATION, Context),
	PLAIN(unregister_trim_notification, D3DKMT_UNREGISTERTRIMNOTIFICATION, Callback),
	PLAIN(register_budget_change_notification, D3DKMT_REGISTERBUDGETCHANGENOTIFICATION,
	      Callback),
	PLAIN(register_budget_change_notification, D3DKMT_REGISTERBUDGETCHANGENOTIFICATION,
	      Context),
	/* Never looked at. */
	PLAIN(create_allocation, D3DKMT_CREATEALLOCATION, hPrivateRuntimeResourceHandle),
	PLAIN(create_allocation2, D3DKMT_CREATEALLOCATION, hPrivateRuntimeResourceHandle),
	PLAIN(create_device, D3DKMT_CREATEDEVICE, pAdapter),
	PLAIN(create_synchronization_object2, D3DKMT_CREATESYNCHRONIZATIONOBJECT2,
	      Info.PeriodicMonitoredFence.FenceValueCPUVirtualAddress),
};

/* ---- describe ---- */

enum { DESCRIBE_DEPTH = 8, DESCRIBE_BYTES = 1024 };

/* Zeros in place of what pointers lead to, so that a field is known by where it is. */
struct travel_description {
	travel_teller *tell;
	void *context;
	uint32_t count;
	struct {
		char parent[24]; /* as travel_teller has it */
	} structs[DESCRIBE_DEPTH];
};

/* What a walk that only tells looks at: nobody writes there, so all walks have the same, and none of the stack. */
static const uint64_t zeros[DESCRIBE_DEPTH][DESCRIBE_BYTES / sizeof(uint64_t)];

/* Where a field is; false: in none of the structs of zeros. */
static bool find_field(const struct travel_description *description, const void *field,
		       uint32_t *struct_out, uint32_t *offset_out)
{
	for (uint32_t i = 0; i < description->count; i++) {
		uintptr_t offset = (uintptr_t)field - (uintptr_t)zeros[i];

		if (offset < DESCRIBE_BYTES) {
			*struct_out = i;
			*offset_out = (uint32_t)offset;
			return true;
		}
	}
	return false;
}

void travel_tell(const struct travel *travel, const void *field, const char *how)
{
	struct travel_description *description = travel->description;
	uint32_t parent, offset;

	if (find_field(description, field, &parent, &offset))
		description->tell(description->context, description->structs[parent].parent, offset,
				  sizeof(void *), how);
}

void *travel_tell_list(const struct travel *travel, const void *field)
{
	struct travel_description *description = travel->description;
	uint32_t parent = 0, offset = 0;

	travel_tell(travel, field, "list");
	assert(description->count < DESCRIBE_DEPTH);
	if (!find_field(description, field, &parent, &offset))
		return NULL;
	uint32_t next = description->count++;
	char above[sizeof(description->structs[0].parent)];
	memcpy(above, description->structs[parent].parent, sizeof(above));
	snprintf(description->structs[next].parent, sizeof(description->structs[next].parent),
		 "%.12s%s%u", above, *above ? "/" : "", offset);
	return (void *)zeros[next];
}

/* ---- agreement ---- */

void travel_describe(uint32_t id, travel_teller *tell, void *context)
{
	const struct call_description *call = call_describe(id);
	struct travel_description description = { .tell = tell, .context = context, .count = 1 };
	struct travel travel = { .description = &description };

	if (!call || !call->is_built)
		return;
	travel_over((struct walk){ &travel, TRAVEL_DESCRIBE }, id, (void *)zeros[0]);
	for (uint32_t i = 0; i < call->field_count; i++) {
		if (call->fields[i].kind == FIELD_OUT || call->fields[i].kind == FIELD_OPAQUE)
			tell(context, "", call->fields[i].offset, call->fields[i].size_bytes,
			     "result");
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (plain[i].id == id)
			tell(context, "", plain[i].offset, sizeof(void *), "plain");
	}
}

/* FNV-1a. */
static void hash_bytes(uint64_t *hash, const void *bytes, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i++)
		*hash = (*hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void hash_number(uint64_t *hash, uint64_t number)
{
	hash_bytes(hash, &number, sizeof(number));
}

static void hash_told(void *context, const char *parent, uint32_t offset, uint32_t size_bytes,
		      const char *how)
{
	hash_bytes(context, parent, strlen(parent) + 1);
	hash_number(context, offset);
	hash_number(context, size_bytes);
	hash_bytes(context, how, strlen(how) + 1);
}

static void hash_call(uint64_t *hash, uint32_t id, const struct call_description *call)
{
	hash_bytes(hash, call->name, strlen(call->name) + 1);
	hash_number(hash, call->args_bytes);
	hash_number(hash, call->is_built);
	for (uint32_t i = 0; i < call->field_count; i++) {
		const struct call_field *field = &call->fields[i];
		hash_bytes(hash, field->name, strlen(field->name) + 1);
		hash_number(hash, field->kind);
		hash_number(hash, field->offset);
		hash_number(hash, field->size_bytes);
		hash_number(hash, field->count_offset);
		hash_number(hash, field->element_bytes);
		hash_number(hash, field->limit);
	}
	travel_describe(id, hash_told, hash);
}

uint64_t travel_hash(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	hash_number(&hash, TRAVEL_VERSION);
	hash_number(&hash, CALL_COUNT);
	for (uint32_t id = 0; id < CALL_COUNT; id++)
		hash_call(&hash, id, call_describe(id));
	return hash;
}
