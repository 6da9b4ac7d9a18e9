/* SPDX-License-Identifier: MIT */
/*
 * helper.c - libwsl_compute_helper.so: between Intel's compute runtime and the software GPU.
 *
 * On Linux the runtime does not know how the kernel driver lays out private data. It writes what it
 * has to say as tokens, and has a library from the driver store turn them into bytes for the kernel
 * driver, and back. Here those bytes are what softgpu.h says:
 *
 *	adapter     softgpu_device_info            <- becomes tokens
 *	allocation  softgpu_allocation, tokens     <- and becomes the same tokens again, all of them
 *	context     softgpu_context
 *	submission  softgpu_fenced_submission
 *	partition   device_partition               <-> kept by the driver as it stands
 *
 * So the driver reads none of the tokens, and who opens an allocation gets all that its maker said.
 * The six names and their arguments are the runtime's; it ends the process when one is missing.
 * It is entered by any thread at any time, also while the program ends, and keeps nothing.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	VERSION = 1,                /* from 1 on partitions are translated as well */
	MOST_RESOURCE_BYTES = 8192, /* the runtime has 6692 */
	MOST_ADAPTER_DWORDS = 2048, /* of tokens; checked by a test */
	MOST_PARTITION_DWORDS = 128,
};

/* What is known of memory, in front of the driver's view of it. */
struct resource {
	struct softgpu_allocation allocation;
	uint32_t token_bytes;
	uint32_t reserved;
	uint32_t tokens[(MOST_RESOURCE_BYTES - 32) / 4];
};
SOFTGPU_ASSERT_SIZE(struct resource, MOST_RESOURCE_BYTES);

size_t getSizeRequiredForStruct(uint32_t id);
size_t getSizeRequiredForTokens(uint32_t id);
bool tokensToStruct(uint32_t id, void *destination, size_t size_bytes, const uint32_t *begin,
		    const uint32_t *end);
bool structToTokens(uint32_t id, uint32_t *destination, size_t size_bytes, const void *source,
		    size_t source_bytes);
void destroyStructRepresentation(uint32_t id, void *source, size_t size_bytes);
uint64_t getVersion(void);

EXPORT uint64_t getVersion(void)
{
	return VERSION;
}

EXPORT size_t getSizeRequiredForStruct(uint32_t id)
{
	switch (id) {
	case TOKEN_ADAPTER_INFO:
		return sizeof(struct softgpu_device_info);
	case TOKEN_RESOURCE_INFO:
		return sizeof(struct resource);
	case TOKEN_CONTEXT_DATA:
		return sizeof(struct softgpu_context);
	case TOKEN_COMMAND_HEADER:
		return sizeof(struct softgpu_fenced_submission);
	case TOKEN_PARTITION:
		return sizeof(struct device_partition);
	default:
		return 0;
	}
}

EXPORT size_t getSizeRequiredForTokens(uint32_t id)
{
	switch (id) {
	case TOKEN_ADAPTER_INFO:
		return MOST_ADAPTER_DWORDS * sizeof(uint32_t);
	case TOKEN_RESOURCE_INFO:
		return sizeof(((struct resource *)0)->tokens);
	case TOKEN_PARTITION:
		return MOST_PARTITION_DWORDS * sizeof(uint32_t);
	default:
		return 0;
	}
}

/* ---- from the runtime to the driver ---- */

/* All of it, or what is in the group that it is wrapped in. */
static struct tokens unwrap(struct tokens tokens, enum token_struct id)
{
	struct tokens inside = tokens_group(tokens, (enum token_id)id, 0);

	return inside.begin ? inside : tokens;
}

static uint64_t surface_bytes(struct tokens common, enum token_id id)
{
	uint64_t size_bytes = 0;

	(void)tokens_number(tokens_group(common, id, 0), TOKEN_SURFACE_SIZE, &size_bytes);
	return size_bytes;
}

static bool has_flag(struct tokens info, enum token_id id)
{
	uint64_t value = 0;

	return tokens_number(info, id, &value) && value != 0;
}

/* Memory that was there before, and what is to be in no local memory, is for the aperture. */
static bool read_resource(struct tokens tokens, struct resource *resource)
{
	size_t token_bytes = (size_t)(tokens.end - tokens.begin) * sizeof(*tokens.begin);
	struct tokens common =
		tokens_group(unwrap(tokens, TOKEN_RESOURCE_INFO), TOKEN_RESOURCE_COMMON, 0);
	struct tokens surface = tokens_group(common, TOKEN_RESOURCE_SURFACE, 0);
	struct tokens info =
		tokens_group(tokens_group(surface, TOKEN_SURFACE_FLAGS, 0), TOKEN_FLAGS_INFO, 0);
	uint64_t size_bytes = surface_bytes(common, TOKEN_RESOURCE_SURFACE) +
			      surface_bytes(common, TOKEN_RESOURCE_AUXILIARY) +
			      surface_bytes(common, TOKEN_RESOURCE_SECOND_AUXILIARY);

	if (token_bytes > sizeof(resource->tokens) || size_bytes == 0)
		return false;
	resource->allocation = (struct softgpu_allocation){
		.version = SOFTGPU_DESCRIBED_VERSION,
		.flags = SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED,
		.size_bytes = size_bytes,
	};
	if (has_flag(info, TOKEN_SURFACE_EXISTING_MEMORY) ||
	    has_flag(info, TOKEN_SURFACE_NON_LOCAL_ONLY))
		resource->allocation.flags |= SOFTGPU_SYSTEM_ONLY;
	else if (has_flag(info, TOKEN_SURFACE_LOCAL_ONLY))
		resource->allocation.flags |= SOFTGPU_LOCAL_ONLY;
	resource->token_bytes = (uint32_t)token_bytes;
	resource->reserved = 0;
	memcpy(resource->tokens, tokens.begin, token_bytes);
	memset((char *)resource->tokens + token_bytes, 0, sizeof(resource->tokens) - token_bytes);
	return true;
}

static bool read_submission(struct tokens tokens, struct softgpu_fenced_submission *submission)
{
	struct tokens header = unwrap(tokens, TOKEN_COMMAND_HEADER);

	*submission = (struct softgpu_fenced_submission){
		.submission.version = SOFTGPU_FENCED_SUBMISSION_VERSION,
	};
	return tokens_number(header, TOKEN_COMMAND_FENCE_ADDRESS, &submission->fence_address) &&
	       tokens_number(header, TOKEN_COMMAND_FENCE_VALUE, &submission->fence_value);
}

EXPORT bool tokensToStruct(uint32_t id, void *destination, size_t size_bytes, const uint32_t *begin,
			   const uint32_t *end)
{
	struct tokens tokens = { begin, end };
	size_t needed = getSizeRequiredForStruct(id);

	if (!destination || !begin || end < begin || needed == 0 || size_bytes < needed)
		return false;
	switch (id) {
	case TOKEN_RESOURCE_INFO:
		return read_resource(tokens, destination);
	case TOKEN_CONTEXT_DATA:
		*(struct softgpu_context *)destination =
			(struct softgpu_context){ .version = SOFTGPU_CONTEXT_VERSION };
		return true;
	case TOKEN_COMMAND_HEADER:
		return read_submission(tokens, destination);
	case TOKEN_PARTITION:
		partition_read(unwrap(tokens, TOKEN_PARTITION), destination);
		return true;
	default:
		return false;
	}
}

/* ---- and back ---- */

/* What is left over of the room reads as tokens that nobody knows. */
static bool finish(struct token_writer *writer)
{
	if (writer->count > writer->capacity)
		return false;
	memset(&writer->dwords[writer->count], 0,
	       (writer->capacity - writer->count) * sizeof(*writer->dwords));
	return true;
}

static bool write_resource(const struct resource *resource, struct token_writer *writer)
{
	if (resource->allocation.version != SOFTGPU_DESCRIBED_VERSION ||
	    resource->token_bytes > sizeof(resource->tokens) ||
	    resource->token_bytes > writer->capacity * sizeof(*writer->dwords))
		return false;
	memcpy(writer->dwords, resource->tokens, resource->token_bytes);
	writer->count = resource->token_bytes / sizeof(*writer->dwords);
	return finish(writer);
}

/* The runtime goes on without what it asked for, and crashes. */
static bool describe(const struct softgpu_device_info *info, struct token_writer *writer)
{
	if (device_describe(info, writer))
		return true;
	fprintf(stderr,
		"dxgk: Intel's runtime cannot be told what this adapter is: vendor 0x%04x, device "
		"0x%04x, "
		"%s, %u bits of addresses; the profiles intel and intel-gen12 have what it knows\n",
		info->vendor_id, info->device_id,
		info->commands == SOFTGPU_COMMANDS_INTEL ? "commands of Intel's"
							 : "no \"Commands\": \"intel\"",
		info->adapter.virtual_address_bits);
	return false;
}

EXPORT bool structToTokens(uint32_t id, uint32_t *destination, size_t size_bytes,
			   const void *source, size_t source_bytes)
{
	struct token_writer writer = { destination, size_bytes / sizeof(*destination), 0 };
	size_t needed = getSizeRequiredForStruct(id);

	if (!destination || !source || needed == 0 || source_bytes < needed)
		return false;
	switch (id) {
	case TOKEN_ADAPTER_INFO:
		return describe(source, &writer) && finish(&writer);
	case TOKEN_RESOURCE_INFO:
		return write_resource(source, &writer);
	case TOKEN_PARTITION:
		partition_write(source, TOKEN_PARTITION, &writer);
		return finish(&writer);
	default:
		return false;
	}
}

/* Nothing in it points anywhere. */
EXPORT void destroyStructRepresentation(uint32_t id, void *source, size_t size_bytes)
{
	(void)id;
	(void)source;
	(void)size_bytes;
}
