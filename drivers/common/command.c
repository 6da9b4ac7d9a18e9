/* SPDX-License-Identifier: MIT */
/*
 * command.c - see command.h.
 *
 *   in:   bytes that a client wrote
 *   out:  a struct gpu_command whose sizes and operands can be relied on, or why not
 *
 * The bytes may change while this runs when they are client memory: callers hand in a copy.
 * Locks: none.
 */
#include "command.h"

static NTSTATUS decode_fill(const struct softgpu_fill *fill, struct gpu_command *command)
{
	if (fill->header.size_bytes != sizeof(*fill) || fill->reserved != 0 ||
	    fill->size_bytes == 0 || fill->size_bytes % sizeof(uint32_t) != 0)
		return STATUS_ILLEGAL_INSTRUCTION;
	command->operand_count = 1;
	command->operands[0] = (struct gpu_operand){
		.field_offset = __builtin_offsetof(struct softgpu_fill, destination),
		.is_write = TRUE,
		.alignment = sizeof(uint32_t),
		.size_bytes = fill->size_bytes,
	};
	return STATUS_SUCCESS;
}

static NTSTATUS decode_copy(const struct softgpu_copy *copy, struct gpu_command *command)
{
	if (copy->header.size_bytes != sizeof(*copy) || copy->size_bytes == 0)
		return STATUS_ILLEGAL_INSTRUCTION;
	command->operand_count = 2;
	command->operands[0] = (struct gpu_operand){
		.field_offset = __builtin_offsetof(struct softgpu_copy, destination),
		.is_write = TRUE,
		.alignment = 1,
		.size_bytes = copy->size_bytes,
	};
	command->operands[1] = (struct gpu_operand){
		.field_offset = __builtin_offsetof(struct softgpu_copy, source),
		.is_write = FALSE,
		.alignment = 1,
		.size_bytes = copy->size_bytes,
	};
	return STATUS_SUCCESS;
}

static NTSTATUS decode_write64(const struct softgpu_write64 *write, struct gpu_command *command)
{
	if (write->header.size_bytes != sizeof(*write))
		return STATUS_ILLEGAL_INSTRUCTION;
	command->operand_count = 1;
	command->operands[0] = (struct gpu_operand){
		.field_offset = __builtin_offsetof(struct softgpu_write64, destination),
		.is_write = TRUE,
		.alignment = sizeof(uint64_t),
		.size_bytes = sizeof(uint64_t),
	};
	return STATUS_SUCCESS;
}

static NTSTATUS decode_busy(const struct softgpu_busy *busy)
{
	if (busy->header.size_bytes != sizeof(*busy) ||
	    busy->microseconds > SOFTGPU_MAX_BUSY_MICROSECONDS)
		return STATUS_ILLEGAL_INSTRUCTION;
	return STATUS_SUCCESS;
}

static NTSTATUS decode_fault(const struct softgpu_fault *fault)
{
	if (fault->header.size_bytes != sizeof(*fault) || fault->is_write > 1 ||
	    fault->reserved != 0)
		return STATUS_ILLEGAL_INSTRUCTION;
	return STATUS_SUCCESS;
}

static NTSTATUS decode_dispatch(const struct softgpu_dispatch *dispatch)
{
	ULONGLONG threads = 1;

	if (dispatch->header.size_bytes != sizeof(*dispatch) ||
	    dispatch->arguments % sizeof(uint64_t) != 0 ||
	    dispatch->range_count > SOFTGPU_MAX_RANGES ||
	    dispatch->parameter_bytes > SOFTGPU_MAX_PARAMETER_BYTES ||
	    dispatch->parameter_bytes % sizeof(uint32_t) != 0)
		return STATUS_ILLEGAL_INSTRUCTION;
	for (ULONG i = 0; i < 3; i++) {
		if (dispatch->groups[i] == 0 || dispatch->threads[i] == 0 ||
		    dispatch->threads[i] > GPU_MAX_GROUP_THREADS)
			return STATUS_ILLEGAL_INSTRUCTION;
		threads *= dispatch->threads[i];
	}
	return threads <= GPU_MAX_GROUP_THREADS ? STATUS_SUCCESS : STATUS_ILLEGAL_INSTRUCTION;
}

/* Our own commands: only their length can be wrong, when a paging buffer was overwritten. */
static NTSTATUS decode_privileged(const struct softgpu_command *header, BOOLEAN is_privileged)
{
	uint32_t size_bytes = 0;

	switch (header->opcode) {
	case GPU_PAGING_FILL:
		size_bytes = sizeof(struct gpu_paging_fill);
		break;
	case GPU_PAGING_COPY:
		size_bytes = sizeof(struct gpu_paging_copy);
		break;
	case GPU_PAGING_MDL_COPY:
		size_bytes = sizeof(struct gpu_paging_mdl_copy);
		break;
	case GPU_PAGING_ENTRIES:
		size_bytes = sizeof(struct gpu_paging_entries);
		break;
	default:
		return STATUS_ILLEGAL_INSTRUCTION;
	}
	if (header->size_bytes != size_bytes)
		return STATUS_ILLEGAL_INSTRUCTION;
	return is_privileged ? STATUS_SUCCESS : STATUS_PRIVILEGED_INSTRUCTION;
}

NTSTATUS gpu_command_decode(const void *bytes, ULONGLONG available, BOOLEAN is_privileged,
			    struct gpu_command *command_out)
{
	const struct softgpu_command *header = (const struct softgpu_command *)bytes;

	if (available < sizeof(*header) || header->magic != SOFTGPU_COMMAND_MAGIC ||
	    header->size_bytes < sizeof(*header) ||
	    header->size_bytes > SOFTGPU_MAX_COMMAND_BYTES || header->size_bytes > available ||
	    header->size_bytes % sizeof(uint64_t) != 0)
		return STATUS_ILLEGAL_INSTRUCTION;

	*command_out = (struct gpu_command){
		.opcode = header->opcode,
		.size_bytes = header->size_bytes,
	};
	switch (header->opcode) {
	case SOFTGPU_NOP:
		return STATUS_SUCCESS;
	case SOFTGPU_FILL:
		return decode_fill((const struct softgpu_fill *)bytes, command_out);
	case SOFTGPU_COPY:
		return decode_copy((const struct softgpu_copy *)bytes, command_out);
	case SOFTGPU_WRITE64:
		return decode_write64((const struct softgpu_write64 *)bytes, command_out);
	case SOFTGPU_BUSY:
		return decode_busy((const struct softgpu_busy *)bytes);
	case SOFTGPU_HANG:
	case SOFTGPU_LOOP:
		return header->size_bytes == sizeof(*header) ? STATUS_SUCCESS
							     : STATUS_ILLEGAL_INSTRUCTION;
	case SOFTGPU_FAULT:
		return decode_fault((const struct softgpu_fault *)bytes);
	case SOFTGPU_DISPATCH:
		return decode_dispatch((const struct softgpu_dispatch *)bytes);
	default:
		return decode_privileged(header, is_privileged);
	}
}

BOOLEAN gpu_command_is_aligned(const struct gpu_command *command, const void *bytes)
{
	for (ULONG i = 0; i < command->operand_count; i++) {
		const union softgpu_address *address =
			(const union softgpu_address *)((const UCHAR *)bytes +
							command->operands[i].field_offset);

		if (address->virtual_address % command->operands[i].alignment != 0)
			return FALSE;
	}
	return TRUE;
}
