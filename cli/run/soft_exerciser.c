/* SPDX-License-Identifier: MIT */
/*
 * soft_exerciser.c - the private language of the software GPU (softgpu.h), as an exerciser.
 *
 * `dxgk` has it built in for soft.so; as soft_exerciser.so it is an example of one: a table of functions that write
 * what a client of this driver would write, and keep nothing.
 */
#include <stddef.h>
#include <string.h>

#include <opendxgk/exerciser.h>
#include <opendxgk/softgpu.h>

/* All of it, or nothing. */
static uint32_t put(const void *bytes, uint32_t size_bytes, void *to, uint32_t room)
{
	if (size_bytes > room)
		return 0;
	memcpy(to, bytes, size_bytes);
	return size_bytes;
}

/* ---- private data ---- */

static uint32_t allocation_data_for(uint64_t size_bytes, uint32_t wishes, void *data, uint32_t room)
{
	static const struct {
		uint32_t wish;
		uint32_t flag;
	} flags[] = {
		{ DXGK_EXERCISER_CPU_VISIBLE, SOFTGPU_CPU_VISIBLE },
		{ DXGK_EXERCISER_LOCAL, SOFTGPU_LOCAL_ONLY },
		{ DXGK_EXERCISER_SYSTEM, SOFTGPU_SYSTEM_ONLY },
		{ DXGK_EXERCISER_PHYSICAL, SOFTGPU_CONTIGUOUS },
		{ DXGK_EXERCISER_CACHED, SOFTGPU_CACHED },
	};
	struct softgpu_allocation allocation = { .version = SOFTGPU_ALLOCATION_VERSION,
						 .size_bytes = size_bytes };

	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (wishes & flags[i].wish)
			allocation.flags |= flags[i].flag;
	}
	return put(&allocation, sizeof(allocation), data, room);
}

static uint32_t allocation_data(uint64_t size_bytes, uint32_t cpu_visible, void *data,
				uint32_t room)
{
	return allocation_data_for(size_bytes, cpu_visible ? DXGK_EXERCISER_CPU_VISIBLE : 0, data,
				   room);
}

static uint32_t context_data_for(uint32_t node, uint32_t wishes, void *data, uint32_t room)
{
	const struct softgpu_context context = {
		.version = SOFTGPU_CONTEXT_VERSION,
		.flags = wishes & DXGK_EXERCISER_STUBBORN ? SOFTGPU_CONTEXT_IGNORES_PREEMPTION : 0,
	};

	(void)node;
	return put(&context, sizeof(context), data, room);
}

static uint32_t context_data(uint32_t node, void *data, uint32_t room)
{
	return context_data_for(node, 0, data, room);
}

static uint32_t submission_data(uint64_t commands, uint32_t length, void *data, uint32_t room)
{
	const struct softgpu_submission submission = { .version = SOFTGPU_SUBMISSION_VERSION,
						       .tag = commands };

	(void)length;
	return put(&submission, sizeof(submission), data, room);
}

static uint32_t escape_data(void *data, uint32_t room)
{
	const struct softgpu_escape_echo echo = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_ECHO, sizeof(echo), 0 },
		.value = 0x6f68636521,
	};

	return put(&echo, sizeof(echo), data, room);
}

/* ---- commands ---- */

static struct softgpu_command header_of(enum softgpu_opcode opcode, uint32_t size_bytes)
{
	return (struct softgpu_command){ SOFTGPU_COMMAND_MAGIC, (uint16_t)opcode, size_bytes };
}

static uint32_t plain(enum softgpu_opcode opcode, void *commands, uint32_t room)
{
	const struct softgpu_command command = header_of(opcode, sizeof(command));

	return put(&command, sizeof(command), commands, room);
}

static uint32_t nop(void *commands, uint32_t room)
{
	return plain(SOFTGPU_NOP, commands, room);
}

static uint32_t hang(void *commands, uint32_t room)
{
	return plain(SOFTGPU_HANG, commands, room);
}

static uint32_t busy(uint64_t microseconds, void *commands, uint32_t room)
{
	const struct softgpu_busy command = { header_of(SOFTGPU_BUSY, sizeof(command)),
					      microseconds };

	return put(&command, sizeof(command), commands, room);
}

static uint32_t fill_at(union softgpu_address to, uint64_t size_bytes, uint32_t value,
			void *commands, uint32_t room)
{
	const struct softgpu_fill command = {
		.header = header_of(SOFTGPU_FILL, sizeof(command)),
		.destination = to,
		.size_bytes = size_bytes,
		.pattern = value,
	};

	return put(&command, sizeof(command), commands, room);
}

static uint32_t copy_at(union softgpu_address to, union softgpu_address from, uint64_t size_bytes,
			void *commands, uint32_t room)
{
	const struct softgpu_copy command = {
		.header = header_of(SOFTGPU_COPY, sizeof(command)),
		.destination = to,
		.source = from,
		.size_bytes = size_bytes,
	};

	return put(&command, sizeof(command), commands, room);
}

static uint32_t fill(uint64_t address, uint64_t size_bytes, uint32_t value, void *commands,
		     uint32_t room)
{
	return fill_at((union softgpu_address){ .virtual_address = address }, size_bytes, value,
		       commands, room);
}

static uint32_t copy(uint64_t to, uint64_t from, uint64_t size_bytes, void *commands, uint32_t room)
{
	return copy_at((union softgpu_address){ .virtual_address = to },
		       (union softgpu_address){ .virtual_address = from }, size_bytes, commands,
		       room);
}

static uint32_t store(uint64_t address, uint64_t value, void *commands, uint32_t room)
{
	const struct softgpu_write64 command = {
		.header = header_of(SOFTGPU_WRITE64, sizeof(command)),
		.destination.virtual_address = address,
		.value = value,
	};

	return put(&command, sizeof(command), commands, room);
}

static uint32_t fault(uint64_t address, uint32_t is_write, void *commands, uint32_t room)
{
	const struct softgpu_fault command = {
		.header = header_of(SOFTGPU_FAULT, sizeof(command)),
		.address = address,
		.is_write = is_write,
	};

	return put(&command, sizeof(command), commands, room);
}

/* ---- commands of contexts with allocation lists ---- */

static union softgpu_address refer(const struct dxgk_exerciser_reference *to)
{
	return (union softgpu_address){ .reference = { to->allocation_index,
						       (uint32_t)to->offset_bytes } };
}

/* One entry for each address, in the order in which they stand; SlotId and DriverId are not looked at. */
static uint32_t patch(const struct dxgk_exerciser_reference *to, uint32_t field,
		      struct dxgk_exerciser_patches *patches)
{
	if (patches->count == patches->room || to->offset_bytes > UINT32_MAX)
		return 0;
	patches->patches[patches->count++] = (struct dxgk_exerciser_patch){
		.allocation_index = to->allocation_index,
		.allocation_offset = (uint32_t)to->offset_bytes,
		.patch_offset = field,
	};
	return 1;
}

static uint32_t fill_list(const struct dxgk_exerciser_reference *to, uint64_t size_bytes,
			  uint32_t value, void *commands, uint32_t room, uint32_t at_offset,
			  struct dxgk_exerciser_patches *patches)
{
	const uint32_t field = (uint32_t)offsetof(struct softgpu_fill, destination);

	return patch(to, at_offset + field, patches)
		       ? fill_at(refer(to), size_bytes, value, commands, room)
		       : 0;
}

static uint32_t copy_list(const struct dxgk_exerciser_reference *to,
			  const struct dxgk_exerciser_reference *from, uint64_t size_bytes,
			  void *commands, uint32_t room, uint32_t at_offset,
			  struct dxgk_exerciser_patches *patches)
{
	const uint32_t destination = (uint32_t)offsetof(struct softgpu_copy, destination);
	const uint32_t source = (uint32_t)offsetof(struct softgpu_copy, source);

	return patch(to, at_offset + destination, patches) &&
			       patch(from, at_offset + source, patches)
		       ? copy_at(refer(to), refer(from), size_bytes, commands, room)
		       : 0;
}

__attribute__((visibility("default"))) const struct dxgk_exerciser *dxgk_exerciser(void)
{
	static const struct dxgk_exerciser soft = {
		.version = DXGK_EXERCISER_VERSION,
		.size_bytes = sizeof(soft),
		.allocation_data = allocation_data,
		.context_data = context_data,
		.fill = fill,
		.copy = copy,
		.hang = hang,
		.submission_data = submission_data,
		.allocation_data_for = allocation_data_for,
		.fill_list = fill_list,
		.copy_list = copy_list,
		.busy = busy,
		.nop = nop,
		.hw_submission_data = submission_data,
		.escape_data = escape_data,
		.nodes = UINT64_MAX,
		.max_command_bytes = SOFTGPU_MAX_COMMAND_BYTES,
		.context_data_for = context_data_for,
		.store = store,
		.fault = fault,
	};

	return &soft;
}
