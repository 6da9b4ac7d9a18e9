/* SPDX-License-Identifier: MIT */
/*
 * travel.c - see travel.h. The walks of single calls are in travel_calls.h.
 *
 * A request:   header, struct, then what the walk finds, in its order
 * A reply:     header, what the walk finds that comes back, then the fields of the struct that changed
 *
 * Everything begins at a multiple of 8 bytes, filled up with zeros. No sizes are written but those
 * that only the other end knows: both ends compute them from the struct.
 */
#include <assert.h>

#include "base/refusal.h"
#include "wire/travel_parts.h"

enum {
	REQUEST_HAS_STRUCT = 1 << 0,
	REQUEST_HAS_VALUES = 1 << 1, /* the slot leads to some */
};
_Static_assert((REQUEST_HAS_STRUCT | REQUEST_HAS_VALUES) == (int)TRAVEL_HEAD_FLAGS,
	       "all there are");

struct reply_header {
	uint32_t status;
	uint32_t changed; /* bit n: the n-th RESULT of the call is at the end */
};

/* … and this one: there is something behind the header that the walk finds. */
#define REPLY_HAS_MORE (UINT32_C(1) << 31)

_Static_assert(sizeof(struct travel_head) == TRAVEL_ALIGN_BYTES &&
		       sizeof(struct reply_header) == TRAVEL_ALIGN_BYTES,
	       "the struct stands behind the header");

/*
 * A client's struct may stand at any address, and walks read it as what it is: a copy, where need be.
 * Pointers lead to the same from there.
 */
struct client_struct {
	void *arguments; /* for a walk */
	union {
		uint64_t alignment;
		unsigned char bytes[CALL_MAX_ARGS_BYTES];
	} copy;
};

static void client_struct_init(struct client_struct *client, const struct call_description *call,
			       const void *arguments)
{
	client->arguments = (void *)arguments;
	if (LIKELY((uintptr_t)arguments % TRAVEL_ALIGN_BYTES == 0))
		return;
	memcpy(client->copy.bytes, arguments, call->args_bytes);
	client->arguments = client->copy.bytes;
}

/* Of what is not built nothing is read. */
static bool has_struct(const struct call_description *call, const void *arguments)
{
	return arguments && call->is_built;
}

/* ---- requests ---- */

uint64_t travel_request_bytes(uint32_t id, const void *arguments)
{
	const struct call_description *call = call_describe(id);
	struct travel travel = { .bytes = sizeof(struct travel_head) };
	struct client_struct client;

	assert(call);
	if (!has_struct(call, arguments))
		return travel.bytes;
	travel.bytes += travel_rounded(call->args_bytes);
	client_struct_init(&client, call, arguments);
	travel_over((struct walk){ &travel, TRAVEL_MEASURE }, id, client.arguments);
	return travel.bytes <= TRAVEL_MAX_BYTES ? travel.bytes : 0;
}

uint64_t travel_request_put(uint32_t id, const void *arguments, void *block,
			    uint64_t capacity_bytes, struct travel_hooks *hooks)
{
	const struct call_description *call = call_describe(id);
	struct travel_head *header = block;
	struct travel travel = { .at = (unsigned char *)block + sizeof(*header),
				 .end = (unsigned char *)block + capacity_bytes,
				 .hooks = hooks };

	assert(call && capacity_bytes >= sizeof(*header));
	*header = (struct travel_head){ .id = id };
	if (has_struct(call, arguments)) {
		travel_over_write(&travel, id, arguments);
		header->flags = REQUEST_HAS_STRUCT | (travel.has_values ? REQUEST_HAS_VALUES : 0);
	}
	return travel.has_failed ? 0 : (uint64_t)(travel.at - (unsigned char *)block);
}

bool travel_request_write(uint32_t id, const void *arguments, void *block, uint64_t size_bytes,
			  struct travel_hooks *hooks)
{
	return travel_request_put(id, arguments, block, size_bytes, hooks) == size_bytes;
}

/* NULL, or what is wrong. */
static const char *check_header(const struct call_description *call, uint32_t id, const void *block,
				uint64_t size_bytes)
{
	const struct travel_head *header = block;

	if (!call)
		return "there is no call of this number";
	if ((uintptr_t)block % TRAVEL_ALIGN_BYTES != 0 || size_bytes % TRAVEL_ALIGN_BYTES != 0)
		return "the block is not aligned";
	if (size_bytes < sizeof(*header) || size_bytes > TRAVEL_MAX_BYTES)
		return "the block is shorter than its header, or too long";
	if (header->id != id)
		return "the block is of another call";
	if ((header->flags & ~(uint32_t)TRAVEL_HEAD_FLAGS) ||
	    ((header->flags & REQUEST_HAS_STRUCT) && !call->is_built))
		return "the block has flags that its call has not";
	return NULL;
}

static const char *open_struct(struct travel *travel, const struct call_description *call)
{
	struct travel_image *image = travel->image;

	image->arguments = travel_next(travel, call->args_bytes);
	if (!image->arguments)
		return "the block is shorter than the struct";
	travel->why = "the block is shorter than what its struct leads to";
	travel_over_open(travel, image->id, image->arguments);
	if (travel->has_failed)
		return travel->why;
	image->returned_bytes = travel->bytes;
	return NULL;
}

bool travel_request_open(struct travel_image *image, uint32_t id, void *block, uint64_t size_bytes,
			 struct travel_hooks *hooks, const char **why_out)
{
	const struct call_description *call = call_describe(id);
	const struct travel_head *header = block;
	struct travel travel = { .at = (unsigned char *)block + sizeof(*header),
				 .end = (unsigned char *)block + size_bytes,
				 .hooks = hooks,
				 .image = image };

	image->arguments = NULL;
	image->id = id;
	image->kept_bytes = 0;
	image->is_measured = true;
	image->buffer_used = 0;
	image->returned_bytes = 0;
	image->taken = NULL;
	*why_out = check_header(call, id, block, size_bytes);
	if (*why_out)
		return false;
	travel.has_values = header->flags & REQUEST_HAS_VALUES;
	if (header->flags & REQUEST_HAS_STRUCT)
		*why_out = open_struct(&travel, call);
	if (!travel.has_failed && (travel.at != travel.end || travel.has_values)) {
		*why_out = "the block is longer than what its struct leads to";
		travel.has_failed = true;
	}
	if (travel.has_failed)
		travel_image_close(image);
	return !travel.has_failed;
}

/* ---- replies ---- */

/* Only a call that leaves results in room of ours has to be asked again. */
static uint64_t returned_bytes(struct travel_image *image, NTSTATUS status)
{
	if (LIKELY(image->is_measured))
		return image->returned_bytes;
	struct travel travel = { .has_success = NT_SUCCESS(status), .image = image };
	travel_over((struct walk){ &travel, TRAVEL_ANSWER_MEASURE }, image->id,
		    image->before.bytes);
	return travel.bytes;
}

uint64_t travel_reply_bytes(struct travel_image *image, NTSTATUS status)
{
	image->reply_bytes = sizeof(struct reply_header);
	image->changed = 0;
	if (image->arguments) {
		image->returned_bytes = returned_bytes(image, status);
		image->reply_bytes += image->returned_bytes;
		image->changed = travel_changed(image->id, image->arguments, image->before.bytes,
						&image->reply_bytes);
	}
	return image->reply_bytes;
}

static void write_results(struct travel *travel, const struct call_description *call,
			  uint32_t changed)
{
	for (uint32_t i = 0; i < call->field_count && changed != 0; i++) {
		const struct call_field *field = &call->fields[i];
		if (field->kind != FIELD_OUT)
			continue;
		if (changed & 1)
			travel_write(travel, (char *)travel->image->arguments + field->offset,
				     field->size_bytes);
		changed >>= 1;
	}
}

void travel_reply_write(struct travel_image *image, NTSTATUS status, void *block,
			struct travel_hooks *hooks)
{
	const struct call_description *call = call_describe(image->id);
	struct reply_header *header = block;
	struct travel travel = { .has_success = NT_SUCCESS(status),
				 .at = (unsigned char *)block + sizeof(*header),
				 .end = (unsigned char *)block + image->reply_bytes,
				 .hooks = hooks,
				 .image = image };

	*header = (struct reply_header){
		.status = (uint32_t)status,
		.changed = image->changed | (image->returned_bytes ? REPLY_HAS_MORE : 0),
	};
	if (image->returned_bytes != 0) {
		if (image->kept_bytes != 0)
			memcpy(image->kept_at, &image->kept, image->kept_bytes);
		travel_over_answer(&travel, image->id, image->before.bytes);
	}
	write_results(&travel, call, image->changed);
	assert(!travel.has_failed && travel.at == travel.end);
}

static void apply_results(struct travel *travel, const struct call_description *call,
			  unsigned char *arguments, uint32_t changed)
{
	for (uint32_t i = 0; i < call->field_count && changed != 0; i++) {
		const struct call_field *field = &call->fields[i];
		if (field->kind != FIELD_OUT)
			continue;
		const void *there = changed & 1 ? travel_next(travel, field->size_bytes) : NULL;
		if (there)
			travel_put(arguments + field->offset, there, field->size_bytes);
		changed >>= 1;
	}
}

bool travel_reply_apply(uint32_t id, void *arguments, const void *block, uint64_t size_bytes,
			struct travel_hooks *hooks)
{
	const struct call_description *call = call_describe(id);
	const struct reply_header *header = block;
	struct travel travel = { .at = (unsigned char *)block + sizeof(*header),
				 .end = (unsigned char *)block + size_bytes,
				 .hooks = hooks };
	struct client_struct client;

	if (!call || size_bytes < sizeof(*header))
		return false;
	travel.has_success = NT_SUCCESS((NTSTATUS)header->status);
	if (!has_struct(call, arguments))
		return size_bytes == sizeof(*header);
	client_struct_init(&client, call, arguments);
	if (header->changed & REPLY_HAS_MORE)
		travel_over_apply(&travel, id, client.arguments);
	if (!travel.has_failed)
		apply_results(&travel, call, arguments, header->changed & ~REPLY_HAS_MORE);
	if (!travel.has_failed && travel.descriptor_at) {
		const int64_t descriptor = travel.descriptor;
		const uintptr_t offset =
			(uintptr_t)travel.descriptor_at - (uintptr_t)client.arguments;
		/* In the struct itself, or in what that leads to. */
		travel_put(offset < call->args_bytes ? (char *)arguments + offset
						     : travel.descriptor_at,
			   &descriptor, sizeof(descriptor));
	}
	return !travel.has_failed && travel.at == travel.end;
}

/* ---- the client's memory ---- */

void travel_visit(uint32_t id, const void *arguments, travel_visitor *visit, void *context)
{
	const struct call_description *call = call_describe(id);
	struct travel travel = { .visit = visit, .context = context };
	struct client_struct client;

	if (!call || !has_struct(call, arguments))
		return;
	visit(context, arguments, call->args_bytes);
	client_struct_init(&client, call, arguments);
	travel_over((struct walk){ &travel, TRAVEL_VISIT }, id, client.arguments);
}
