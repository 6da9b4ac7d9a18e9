/* SPDX-License-Identifier: MIT */
/*
 * exerciser.c - the mini GPU's private language, for `dxgk verify` and `dxgk run`.
 *
 * A library like any other, no part of the driver. What is left out is a thing that this driver does not have.
 */
#include <opendxgk/exerciser.h>
#include <string.h>

#include "minigpu.h"

static uint32_t put(const void *bytes, uint32_t size_bytes, void *to, uint32_t room)
{
	if (room < size_bytes)
		return 0;
	memcpy(to, bytes, size_bytes);
	return size_bytes;
}

static uint32_t put_command(enum minigpu_opcode opcode, uint64_t to, uint64_t from, uint64_t size,
			    void *commands, uint32_t room)
{
	const struct minigpu_command command = { opcode, to, from, size };

	return put(&command, sizeof(command), commands, room);
}

static uint32_t allocation_data_for(uint64_t size_bytes, uint32_t wishes, void *data, uint32_t room)
{
	struct minigpu_allocation allocation = { .magic = MINIGPU_MAGIC, .size_bytes = size_bytes };

	if (wishes & ~(DXGK_EXERCISER_CPU_VISIBLE | DXGK_EXERCISER_LOCAL | DXGK_EXERCISER_SYSTEM))
		return 0;
	if (wishes & DXGK_EXERCISER_CPU_VISIBLE)
		allocation.flags |= MINIGPU_CPU_VISIBLE;
	if (wishes & DXGK_EXERCISER_LOCAL)
		allocation.flags |= MINIGPU_LOCAL;
	if (wishes & DXGK_EXERCISER_SYSTEM)
		allocation.flags |= MINIGPU_SYSTEM;
	if (!(allocation.flags & MINIGPU_EITHER))
		allocation.flags |= MINIGPU_EITHER;
	return put(&allocation, sizeof(allocation), data, room);
}

static uint32_t allocation_data(uint64_t size_bytes, uint32_t cpu_visible, void *data,
				uint32_t room)
{
	return allocation_data_for(size_bytes, cpu_visible ? DXGK_EXERCISER_CPU_VISIBLE : 0, data,
				   room);
}

static uint32_t fill(uint64_t address, uint64_t size_bytes, uint32_t value, void *commands,
		     uint32_t room)
{
	return put_command(MINIGPU_FILL, address, value, size_bytes, commands, room);
}

static uint32_t copy(uint64_t to, uint64_t from, uint64_t size_bytes, void *commands, uint32_t room)
{
	return put_command(MINIGPU_COPY, to, from, size_bytes, commands, room);
}

static uint32_t hang(void *commands, uint32_t room)
{
	return put_command(MINIGPU_HANG, 0, 0, 0, commands, room);
}

static uint32_t busy(uint64_t microseconds, void *commands, uint32_t room)
{
	return put_command(MINIGPU_BUSY, 0, 0, microseconds, commands, room);
}

static uint32_t nop(void *commands, uint32_t room)
{
	return put_command(MINIGPU_FILL, 0, 0, 0, commands, room);
}

const struct dxgk_exerciser *dxgk_exerciser(void)
{
	static const struct dxgk_exerciser exerciser = {
		.version = DXGK_EXERCISER_VERSION,
		.size_bytes = sizeof(exerciser),
		.allocation_data = allocation_data,
		.allocation_data_for = allocation_data_for,
		.fill = fill,
		.copy = copy,
		.hang = hang,
		.busy = busy,
		.nop = nop,
	};

	return &exerciser;
}
