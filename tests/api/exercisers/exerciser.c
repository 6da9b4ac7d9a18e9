/* SPDX-License-Identifier: MIT */
/*
 * exerciser.c - libraries that are no exercisers, and one that knows little; KIND says which one this is.
 */
#include <stddef.h>
#include <string.h>

#include <opendxgk/exerciser.h>
#include <opendxgk/softgpu.h>

#define NO_SYMBOL   0
#define NULL_TABLE  1
#define NEW_VERSION 2
#define SHORT_TABLE 3
#define LIES        4
#define LITTLE      5

#if KIND != NO_SYMBOL

/* For soft.so: what every exerciser has, and no more. */
static uint32_t allocation_data(uint64_t size_bytes, uint32_t cpu_visible, void *data,
				uint32_t buffer)
{
	const struct softgpu_allocation allocation = {
		.version = SOFTGPU_ALLOCATION_VERSION,
		.flags = cpu_visible ? SOFTGPU_CPU_VISIBLE : 0,
		.size_bytes = size_bytes,
	};

	if (KIND == LIES)
		return buffer + 1;
	memcpy(data, &allocation, sizeof(allocation));
	return sizeof(allocation);
}

static uint32_t fill(uint64_t address, uint64_t size_bytes, uint32_t value, void *commands,
		     uint32_t buffer)
{
	const struct softgpu_fill command = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL, sizeof(command) },
		.destination.virtual_address = address,
		.size_bytes = size_bytes,
		.pattern = value,
	};

	if (buffer < sizeof(command))
		return 0;
	memcpy(commands, &command, sizeof(command));
	return sizeof(command);
}

__attribute__((visibility("default"))) const struct dxgk_exerciser *dxgk_exerciser(void)
{
	static const struct dxgk_exerciser table = {
		.version = KIND == NEW_VERSION ? 9 : DXGK_EXERCISER_VERSION,
		.size_bytes = KIND == SHORT_TABLE
				      ? 16
				      : offsetof(struct dxgk_exerciser, allocation_data_for),
		.allocation_data = allocation_data,
		.fill = fill,
		/* Behind the end: nobody may look at it. */
		.max_command_bytes = 1,
	};

	return KIND == NULL_TABLE ? NULL : &table;
}

#endif
