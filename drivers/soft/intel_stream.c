/* SPDX-License-Identifier: MIT */
/*
 * intel_stream.c - what an engine does with commands of Intel's command streamer.
 *
 *   in:   a packet: where its first buffer is
 *   out:  as gpu_hw_execute()
 *
 * What the streamer itself does is done: stores, waits, going from buffer to buffer, registers. What
 * it would hand to the pipelines behind it is state, which is skipped, because there are none; or
 * work, which is refused: the packet faults with STATUS_ILLEGAL_INSTRUCTION at the address of the
 * command, and standard error says which it was. docs/softgpu.md has the table.
 *
 * Numbers are those of the Programmer's Reference Manuals that Intel publishes, from Broadwell on:
 * bits 31:29 of a command say who it is for, the next ones which it is, and 7:0 of most how many
 * dwords follow the first two.
 */
#include "soft.h"

enum {
	CLIENT_MI = 0, /* the streamer itself */
	CLIENT_PIPELINE = 3,
	MI_FIRST_LONG = 0x10, /* the ones before it have one dword */
	MAX_DWORDS = 8,       /* as many of a command as anybody here looks at */
	SEMAPHORE_LOOK_US = 50,
	/* Registers that run by themselves: the time, in 100 ns units. */
	TIMESTAMP_LOW = 0x2358,
	TIMESTAMP_HIGH = 0x235c,
	CONTEXT_TIME = 0x23a8,
};

enum mi_opcode {
	MI_NOOP = 0x00,
	MI_USER_INTERRUPT = 0x02,
	MI_ARB_CHECK = 0x05,
	MI_RS_CONTROL = 0x06,
	MI_REPORT_HEAD = 0x07,
	MI_ARB_ON_OFF = 0x08,
	MI_BATCH_BUFFER_END = 0x0a,
	MI_SET_APPID = 0x0e,
	MI_SEMAPHORE_WAIT = 0x1c,
	MI_STORE_DATA_IMM = 0x20,
	MI_LOAD_REGISTER_IMM = 0x22,
	MI_STORE_REGISTER_MEM = 0x24,
	MI_FLUSH_DW = 0x26,
	MI_LOAD_REGISTER_MEM = 0x29,
	MI_LOAD_REGISTER_REG = 0x2a,
	MI_BATCH_BUFFER_START = 0x31,
};

/* The upper half of a pipeline's command. */
enum pipeline_opcode {
	STATE_BASE_ADDRESS = 0x6101,
	STATE_SIP = 0x6102,
	CSR_BASE_ADDRESS = 0x6104,
	STATE_COMPUTE_MODE = 0x6105,
	PIPELINE_SELECT = 0x6904, /* one dword */
	MEDIA_VFE_STATE = 0x7000,
	MEDIA_CURBE_LOAD = 0x7001,
	MEDIA_INTERFACE_DESCRIPTOR_LOAD = 0x7002,
	MEDIA_STATE_FLUSH = 0x7004,
	CFE_STATE = 0x7200,
	BINDING_TABLE_POOL_ALLOC = 0x7919,
	PIPE_CONTROL = 0x7a00,
	/* Work. */
	GPGPU_WALKER = 0x7105,
	COMPUTE_WALKER = 0x7202,
};

/* The operation behind a flush, bits 15:14 of what asks for it. */
enum post_sync { POST_SYNC_NONE, POST_SYNC_IMMEDIATE, POST_SYNC_DEPTH_COUNT, POST_SYNC_TIMESTAMP };

struct stream {
	struct gpu_engine *engine;
	struct gpu_packet *packet;
	const struct soft_reach *reach;
	struct gpu_fault *fault;
	ULONGLONG address;        /* of the command */
	ULONGLONG return_address; /* behind the call of this buffer; 0: nobody called it */
	BOOLEAN is_over;
	ULONGLONG bytes_written;
};

/* ---- memory ---- */

/* Addresses come with their highest bit repeated. */
static ULONGLONG plain_address(const struct soft_reach *reach, ULONGLONG address)
{
	return address & ((1ULL << reach->adapter->settings.address_bits) - 1);
}

static BOOLEAN load(struct stream *stream, ULONGLONG address, ULONG *dwords, ULONG count)
{
	const struct gpu_place place = { .segment = GPU_PLACE_VIRTUAL,
					 .offset = plain_address(stream->reach, address) };
	ULONGLONG wanted = (ULONGLONG)count * sizeof(*dwords);

	for (ULONGLONG done = 0; done < wanted;) {
		struct soft_window window;

		if (!soft_reach_open(stream->reach, &place, done, wanted - done, FALSE, &window,
				     stream->fault))
			return FALSE;
		if (window.bytes)
			RtlCopyMemory((UCHAR *)dwords + done, window.bytes, window.size_bytes);
		else
			RtlZeroMemory((UCHAR *)dwords + done, window.size_bytes);
		done += window.size_bytes;
		soft_window_close(&window);
	}
	return TRUE;
}

BOOLEAN soft_intel_store(const struct soft_reach *reach, ULONGLONG address, ULONGLONG value,
			 ULONG size_bytes, struct gpu_fault *fault_out)
{
	const struct gpu_place place = { .segment = GPU_PLACE_VIRTUAL,
					 .offset = plain_address(reach, address) };
	struct soft_window window;

	if (address % size_bytes != 0) {
		*fault_out = (struct gpu_fault){ .status = STATUS_DATATYPE_MISALIGNMENT,
						 .address = address,
						 .is_write = TRUE };
		return FALSE;
	}
	if (!soft_reach_open(reach, &place, 0, size_bytes, TRUE, &window, fault_out))
		return FALSE;
	if (window.bytes && size_bytes == sizeof(ULONGLONG))
		InterlockedExchange64((volatile LONG64 *)window.bytes, (LONG64)value);
	else if (window.bytes)
		InterlockedExchange((volatile LONG *)window.bytes, (LONG)value);
	soft_window_close(&window);
	return TRUE;
}

static enum gpu_outcome store(struct stream *stream, ULONGLONG address, ULONGLONG value,
			      ULONG size_bytes)
{
	if (!soft_intel_store(stream->reach, address, value, size_bytes, stream->fault))
		return GPU_FAULTED;
	stream->bytes_written += size_bytes;
	return GPU_DONE;
}

static ULONGLONG address_in(const ULONG *dwords)
{
	return ((ULONGLONG)dwords[1] << 32 | dwords[0]) & ~3ULL;
}

static enum gpu_outcome refuse(struct stream *stream, ULONG header, PCSTR why)
{
	DbgPrint(GPU_DRIVER ": command 0x%08x at 0x%I64x: %s\n", header, stream->address, why);
	*stream->fault = (struct gpu_fault){ .status = STATUS_ILLEGAL_INSTRUCTION,
					     .address = stream->address };
	return GPU_FAULTED;
}

/* ---- registers ---- */

static ULONG register_read(const struct stream *stream, ULONG offset)
{
	const struct gpu_registers *registers = &stream->packet->context->registers;
	ULONGLONG now = KeQueryInterruptTimePrecise(NULL);

	if (offset == TIMESTAMP_LOW || offset == CONTEXT_TIME)
		return (ULONG)now;
	if (offset == TIMESTAMP_HIGH)
		return (ULONG)(now >> 32);
	for (ULONG i = 0; i < registers->count; i++) {
		if (registers->loaded[i].offset == offset)
			return registers->loaded[i].value;
	}
	return 0;
}

/* FALSE: there are more than we remember. */
static BOOLEAN register_write(struct stream *stream, ULONG offset, ULONG value)
{
	struct gpu_registers *registers = &stream->packet->context->registers;
	ULONG i = 0;

	while (i < registers->count && registers->loaded[i].offset != offset)
		i++;
	if (i == GPU_MAX_REGISTERS)
		return FALSE;
	registers->loaded[i] = (struct gpu_register){ offset, value };
	if (i == registers->count)
		registers->count++;
	return TRUE;
}

static enum gpu_outcome load_registers(struct stream *stream, ULONG header, ULONG dword_count)
{
	ULONG pair[2];

	for (ULONG i = 1; i + 1 < dword_count; i += 2) {
		if (!load(stream, stream->address + i * sizeof(ULONG), pair, 2))
			return GPU_FAULTED;
		if (!register_write(stream, pair[0], pair[1]))
			return refuse(stream, header, "a context loads more than 32 registers");
	}
	return GPU_DONE;
}

/* ---- the streamer's own commands ---- */

static enum gpu_outcome post_sync(struct stream *stream, const ULONG *dwords, ULONG control,
				  ULONGLONG address, ULONGLONG value)
{
	switch ((enum post_sync)(control >> 14 & 3)) {
	case POST_SYNC_NONE:
		return GPU_DONE;
	case POST_SYNC_IMMEDIATE:
		return store(stream, address & ~7ULL, value, sizeof(value));
	case POST_SYNC_TIMESTAMP:
		return store(stream, address & ~7ULL, KeQueryInterruptTimePrecise(NULL),
			     sizeof(value));
	case POST_SYNC_DEPTH_COUNT:
	default:
		return refuse(stream, dwords[0], "there is no depth count to write");
	}
}

static BOOLEAN is_passed(ULONG operation, ULONG in_memory, ULONG inlined)
{
	switch (operation) {
	case 0:
		return in_memory > inlined;
	case 1:
		return in_memory >= inlined;
	case 2:
		return in_memory < inlined;
	case 3:
		return in_memory <= inlined;
	case 4:
		return in_memory == inlined;
	default:
		return in_memory != inlined;
	}
}

/* One word that somebody else may be writing. */
static BOOLEAN load_word(struct stream *stream, ULONGLONG address, ULONG *value_out)
{
	const struct gpu_place place = { .segment = GPU_PLACE_VIRTUAL,
					 .offset = plain_address(stream->reach, address) };
	struct soft_window window;

	if (!soft_reach_open(stream->reach, &place, 0, sizeof(*value_out), FALSE, &window,
			     stream->fault))
		return FALSE;
	*value_out = window.bytes ? (ULONG)ReadAcquire((volatile LONG *)window.bytes) : 0;
	soft_window_close(&window);
	return TRUE;
}

/* Looked at again and again; preempted or reset meanwhile it begins anew. */
static enum gpu_outcome semaphore_wait(struct stream *stream, const ULONG *dwords)
{
	ULONG operation = dwords[0] >> 12 & 7;

	if (operation > 5)
		return refuse(stream, dwords[0], "compares as there is no comparison");
	for (;;) {
		LARGE_INTEGER timeout = { .QuadPart = -10LL * SEMAPHORE_LOOK_US };
		ULONG value;

		if (!load_word(stream, address_in(&dwords[2]), &value))
			return GPU_FAULTED;
		if (is_passed(operation, value, dwords[1]))
			return GPU_DONE;
		enum gpu_outcome outcome = gpu_check_attention(stream->engine, stream->packet);
		if (outcome != GPU_DONE)
			return outcome;
		KeWaitForSingleObject(&stream->engine->control, Executive, KernelMode, FALSE,
				      &timeout);
	}
}

/* Either the stream goes on elsewhere for good, or until the end of what it calls. */
static enum gpu_outcome start_buffer(struct stream *stream, const ULONG *dwords, ULONG dword_count)
{
	const ULONG is_second_level = 1u << 22;
	const ULONG is_predicated = 1u << 15;

	if (dwords[0] & is_predicated)
		return refuse(stream, dwords[0], "is predicated, and there is no predicate");
	if (dwords[0] & is_second_level) {
		if (stream->return_address != 0)
			return refuse(stream, dwords[0], "calls a third level");
		stream->return_address = stream->address + dword_count * sizeof(ULONG);
	}
	stream->address = address_in(&dwords[1]) - dword_count * sizeof(ULONG);
	return GPU_DONE;
}

static void end_buffer(struct stream *stream)
{
	if (stream->return_address == 0) {
		stream->is_over = TRUE;
		return;
	}
	stream->address = stream->return_address - sizeof(ULONG);
	stream->return_address = 0;
}

/* How many dwords of each are looked at; nothing for those that are unknown or of any length. */
static ULONG least_dwords(ULONG opcode)
{
	switch (opcode) {
	case MI_SEMAPHORE_WAIT:
	case MI_STORE_DATA_IMM:
	case MI_STORE_REGISTER_MEM:
	case MI_LOAD_REGISTER_MEM:
		return 4;
	case MI_FLUSH_DW:
	case MI_BATCH_BUFFER_START:
	case MI_LOAD_REGISTER_REG:
		return 3;
	default:
		return 1;
	}
}

static enum gpu_outcome execute_mi(struct stream *stream, const ULONG *dwords, ULONG dword_count)
{
	const ULONG is_qword = 1u << 21;
	ULONG opcode = dwords[0] >> 23 & 0x3f;
	ULONG value;

	if (dword_count < least_dwords(opcode))
		return refuse(stream, dwords[0], "is shorter than it has to be");
	switch (opcode) {
	case MI_NOOP:
	case MI_USER_INTERRUPT:
	case MI_ARB_CHECK:
	case MI_RS_CONTROL:
	case MI_REPORT_HEAD:
	case MI_ARB_ON_OFF:
	case MI_SET_APPID:
		return GPU_DONE;
	case MI_BATCH_BUFFER_END:
		end_buffer(stream);
		return GPU_DONE;
	case MI_BATCH_BUFFER_START:
		return start_buffer(stream, dwords, dword_count);
	case MI_SEMAPHORE_WAIT:
		return semaphore_wait(stream, dwords);
	case MI_STORE_DATA_IMM:
		if (!(dwords[0] & is_qword))
			return store(stream, address_in(&dwords[1]), dwords[3], sizeof(ULONG));
		if (dword_count < 5)
			return refuse(stream, dwords[0], "stores eight bytes and has four");
		return store(stream, address_in(&dwords[1]), (ULONGLONG)dwords[4] << 32 | dwords[3],
			     sizeof(ULONGLONG));
	case MI_FLUSH_DW:
		return post_sync(stream, dwords, dwords[0], address_in(&dwords[1]),
				 (ULONGLONG)dwords[4] << 32 | dwords[3]);
	case MI_LOAD_REGISTER_IMM:
		return load_registers(stream, dwords[0], dword_count);
	case MI_LOAD_REGISTER_MEM:
		if (!load(stream, address_in(&dwords[2]), &value, 1))
			return GPU_FAULTED;
		break;
	case MI_LOAD_REGISTER_REG:
		value = register_read(stream, dwords[1]);
		break;
	case MI_STORE_REGISTER_MEM:
		return store(stream, address_in(&dwords[2]), register_read(stream, dwords[1]),
			     sizeof(ULONG));
	default:
		return refuse(stream, dwords[0], "is no command of the streamer that is built");
	}
	if (!register_write(stream, dwords[opcode == MI_LOAD_REGISTER_REG ? 2 : 1], value))
		return refuse(stream, dwords[0], "a context loads more than 32 registers");
	return GPU_DONE;
}

/* ---- commands for the pipelines ---- */

static enum gpu_outcome execute_pipeline(struct stream *stream, const ULONG *dwords,
					 ULONG dword_count)
{
	switch (dwords[0] >> 16) {
	case STATE_BASE_ADDRESS:
	case STATE_SIP:
	case CSR_BASE_ADDRESS:
	case STATE_COMPUTE_MODE:
	case PIPELINE_SELECT:
	case MEDIA_VFE_STATE:
	case MEDIA_CURBE_LOAD:
	case MEDIA_INTERFACE_DESCRIPTOR_LOAD:
	case MEDIA_STATE_FLUSH:
	case CFE_STATE:
	case BINDING_TABLE_POOL_ALLOC:
		return GPU_DONE;
	case PIPE_CONTROL:
		if (dword_count < 6)
			return refuse(stream, dwords[0], "is shorter than it has to be");
		return post_sync(stream, dwords, dwords[1], address_in(&dwords[2]),
				 (ULONGLONG)dwords[5] << 32 | dwords[4]);
	case GPGPU_WALKER:
	case COMPUTE_WALKER:
		return refuse(stream, dwords[0],
			      "runs a kernel, and this GPU has no execution units");
	default:
		return refuse(stream, dwords[0], "is no command of a pipeline that is known");
	}
}

/* How long the command is; 0: for nobody who is here. */
static ULONG length_of(ULONG header)
{
	switch (header >> 29) {
	case CLIENT_MI:
		return (header >> 23 & 0x3f) < MI_FIRST_LONG ? 1 : (header & 0xff) + 2;
	case CLIENT_PIPELINE:
		return header >> 16 == PIPELINE_SELECT ? 1 : (header & 0xff) + 2;
	default:
		return 0;
	}
}

static enum gpu_outcome execute_next(struct stream *stream)
{
	ULONG dwords[MAX_DWORDS] = { 0 };

	if (!load(stream, stream->address, dwords, 1))
		return GPU_FAULTED;
	ULONG count = length_of(dwords[0]);
	ULONG looked_at = count < MAX_DWORDS ? count : MAX_DWORDS;
	if (count == 0)
		return refuse(stream, dwords[0], "is for the blitter, which is not there");
	if (count > 1 && !load(stream, stream->address, dwords, looked_at))
		return GPU_FAULTED;
	enum gpu_outcome outcome = dwords[0] >> 29 == CLIENT_MI
					   ? execute_mi(stream, dwords, count)
					   : execute_pipeline(stream, dwords, count);
	if (outcome == GPU_DONE)
		stream->address += count * sizeof(ULONG);
	return outcome;
}

enum gpu_outcome soft_intel_execute(struct gpu_engine *engine, struct gpu_packet *packet,
				    const struct soft_reach *reach, ULONGLONG *bytes_written,
				    struct gpu_fault *fault_out)
{
	struct gpu_context *context = packet->context;
	struct stream stream = {
		.engine = engine,
		.packet = packet,
		.reach = reach,
		.fault = fault_out,
		.address = packet->buffer.offset,
	};
	enum gpu_outcome outcome = GPU_DONE;

	if (packet->is_resubmission && context->resume.is_valid) {
		stream.address = context->resume.address;
		stream.return_address = context->resume.return_address;
	}
	context->resume.is_valid = FALSE;
	while (!stream.is_over && outcome == GPU_DONE) {
		outcome = gpu_check_attention(engine, packet);
		if (outcome == GPU_DONE)
			outcome = execute_next(&stream);
	}
	if (outcome == GPU_PREEMPTED)
		context->resume = (struct gpu_resume){ .is_valid = TRUE,
						       .address = stream.address,
						       .return_address = stream.return_address };
	*bytes_written += stream.bytes_written;
	return outcome;
}
