/* SPDX-License-Identifier: MIT */
/*
 * paging.c - paging packets: the CPU reads their commands, and puts work into lanes (lanes.h).
 *
 *	paging buffer ─▶ command ─▶ rows of pages ─▶ lanes: several packets are under way at once
 *	                    └─▶ what no lane can do (the aperture as a place) ─▶ cuda_run(), alone
 *
 * What packets have put into lanes is launched, and marked, when the engine has no other packet to read: one
 * launch and one mark are for all that came meanwhile.
 *
 * The kernel's own addresses were resolved when the buffer was built (drivers/common/windows.c). An
 * address that is left showed nothing, and is a page fault.
 *
 * Pieces of system memory (pieces.c) are held as long as a packet is under way. Who needs one that is
 * not there, or finds that somebody else wants them, lets all work end first.
 *
 * Runs on the engine's thread at PASSIVE_LEVEL.
 */
#include "cuda.h"

enum {
	LOOKS = 20000,   /* without sleeping */
	PAUSE_PART = 64, /* then pauses are so much of the time that has passed */
	SHORTEST_PAUSE = 500,
	LONGEST_PAUSE = 10000, /* 100 ns units: 1 ms */
};

/* A packet that is being read. */
struct reading {
	struct gpu_engine *engine;
	struct cuda_engine *cuda;
	struct cuda_device *device;
	struct gpu_packet *packet;
	struct gpu_fault *fault;
	ULONGLONG buffer; /* physical address of its first byte */
	ULONGLONG offset; /* of the command */
	ULONG size_bytes; /* … and its size */
	ULONGLONG bytes_written;
	ULONGLONG entries_written;
};

static enum gpu_outcome fail(struct reading *reading, NTSTATUS status, ULONGLONG address,
			     BOOLEAN is_write)
{
	*reading->fault = (struct gpu_fault){
		.status = status,
		.address = address,
		.is_write = is_write,
	};
	return GPU_FAULTED;
}

static enum gpu_outcome page_fault(struct reading *reading, ULONGLONG address, BOOLEAN is_write)
{
	fail(reading, STATUS_ACCESS_VIOLATION, address, is_write);
	reading->fault->is_page_fault = TRUE;
	return GPU_FAULTED;
}

/* GPU_DONE, or what it is when the context is lost. */
static enum gpu_outcome is_done(BOOLEAN is_put_in)
{
	return is_put_in ? GPU_DONE : GPU_ABORTED;
}

/* All that was put in has happened. */
static BOOLEAN settle(struct reading *reading)
{
	struct cuda_marks marks;

	return cuda_lanes_mark(reading->device, &marks) && cuda_lanes_wait(reading->device, &marks);
}

/* ---- places ---- */

/* Where system memory is, for the GPU and for us. Registers it first where nobody did. */
static enum gpu_outcome find_piece(struct reading *reading, ULONGLONG physical,
				   ULONGLONG *pointer_out)
{
	struct cuda_device *device = reading->device;

	for (;;) {
		*pointer_out = cuda_piece_pointer(device, physical);
		if (*pointer_out != 0)
			return GPU_DONE;
		if (!settle(reading))
			return GPU_ABORTED;
		cuda_pieces_let_go(device);
		BOOLEAN is_made = cuda_piece_make(device, physical);
		cuda_pieces_hold(device);
		if (device->is_lost)
			return GPU_ABORTED;
		if (!is_made)
			return fail(reading, STATUS_INSUFFICIENT_RESOURCES, physical, FALSE);
	}
}

static BOOLEAN is_system(const struct gpu_place *place)
{
	return place->segment == SOFTGPU_SEGMENT_SYSTEM ||
	       place->segment == CUDA_SEGMENT_SYSTEM_TOO;
}

static BOOLEAN is_local(const struct reading *reading, const struct gpu_place *place,
			ULONGLONG size_bytes)
{
	ULONGLONG local_bytes = reading->device->local_bytes;

	return place->segment == SOFTGPU_SEGMENT_LOCAL && place->offset <= local_bytes &&
	       size_bytes <= local_bytes - place->offset;
}

/* ---- bytes ---- */

/* One row of both, in parts that are in one piece of system memory each. */
static enum gpu_outcome copy_row(struct reading *reading, ULONGLONG local_offset,
				 ULONGLONG physical, ULONGLONG size_bytes, BOOLEAN is_out)
{
	const ULONGLONG piece_bytes = 1ULL << CUDA_PIECE_BITS;

	for (ULONGLONG done = 0; done < size_bytes;) {
		ULONGLONG at = physical + done;
		ULONGLONG here = piece_bytes - (at & (piece_bytes - 1));
		ULONGLONG pointer;

		here = here < size_bytes - done ? here : size_bytes - done;
		enum gpu_outcome outcome = find_piece(reading, at, &pointer);
		if (outcome != GPU_DONE)
			return outcome;
		if (!(is_out ? cuda_lanes_copy_out(reading->device, pointer, at,
						   local_offset + done, here)
			     : cuda_lanes_copy_in(reading->device, local_offset + done, pointer, at,
						  here)))
			return GPU_ABORTED;
		done += here;
	}
	return GPU_DONE;
}

/* Alone, by whoever executes commands of clients. */
static enum gpu_outcome run_command(struct reading *reading)
{
	const struct gpu_context *context = reading->packet->context;
	struct cuda_mail mail = {
		.flags = CUDA_IS_PAGING | CUDA_KEEPS_ON |
			 (context && context->is_virtual ? CUDA_IS_VIRTUAL : 0),
		.buffer_segment = SOFTGPU_SEGMENT_SYSTEM,
		.buffer_offset = reading->buffer,
		.size_bytes = (ULONG)reading->offset + reading->size_bytes,
		.offset = (ULONG)reading->offset,
	};

	if (!settle(reading))
		return GPU_ABORTED;
	return cuda_execute(reading->engine, reading->packet, &mail, reading->fault);
}

static enum gpu_outcome copy(struct reading *reading, const struct gpu_paging_copy *command)
{
	const struct gpu_place *to = &command->destination;
	const struct gpu_place *from = &command->source;
	ULONGLONG size_bytes = command->size_bytes;
	BOOLEAN is_to_local = is_local(reading, to, size_bytes);
	BOOLEAN is_from_local = is_local(reading, from, size_bytes);

	if (from->segment == GPU_PLACE_VIRTUAL)
		return page_fault(reading, from->offset, FALSE);
	if (to->segment == GPU_PLACE_VIRTUAL)
		return page_fault(reading, to->offset, TRUE);
	if (size_bytes == 0)
		return GPU_DONE;
	if (is_to_local && is_from_local) {
		reading->bytes_written += size_bytes;
		return is_done(cuda_lanes_copy_local(reading->device, to->offset, from->offset,
						     size_bytes));
	}
	if (!(is_to_local && is_system(from)) && !(is_system(to) && is_from_local))
		return run_command(reading);
	reading->bytes_written += size_bytes;
	return is_to_local ? copy_row(reading, to->offset, from->offset, size_bytes, FALSE)
			   : copy_row(reading, from->offset, to->offset, size_bytes, TRUE);
}

/* Whole pages between local memory and pages: what the kernel's memory manager moves. */
static enum gpu_outcome copy_mdl(struct reading *reading, const struct gpu_paging_mdl_copy *command)
{
	PMDL mdl = (PMDL)(ULONG_PTR)command->mdl;
	const struct gpu_place *local = &command->segment_side;

	if (!mdl || !is_local(reading, local, command->size_bytes) ||
	    (command->size_bytes | command->mdl_offset_bytes | local->offset) % PAGE_SIZE != 0 ||
	    MmGetMdlByteOffset(mdl) != 0)
		return fail(reading, STATUS_NOT_SUPPORTED, local->offset, !command->is_to_mdl);
	const PFN_NUMBER *pfns = MmGetMdlPfnArray(mdl) + (command->mdl_offset_bytes >> PAGE_SHIFT);
	ULONGLONG count = command->size_bytes >> PAGE_SHIFT;
	for (ULONGLONG done = 0; done < count;) {
		ULONGLONG row = 1;

		while (done + row < count && pfns[done + row] == pfns[done] + row)
			row++;
		enum gpu_outcome outcome = copy_row(reading, local->offset + (done << PAGE_SHIFT),
						    (ULONGLONG)pfns[done] << PAGE_SHIFT,
						    row << PAGE_SHIFT, command->is_to_mdl != 0);
		if (outcome != GPU_DONE)
			return outcome;
		done += row;
	}
	reading->bytes_written += command->size_bytes;
	return GPU_DONE;
}

static enum gpu_outcome fill(struct reading *reading, const struct gpu_paging_fill *command)
{
	const struct gpu_place *to = &command->destination;

	if (to->segment == GPU_PLACE_VIRTUAL)
		return page_fault(reading, to->offset, TRUE);
	if (command->size_bytes == 0)
		return GPU_DONE;
	if (!is_local(reading, to, command->size_bytes))
		return run_command(reading);
	reading->bytes_written += command->size_bytes;
	return is_done(cuda_lanes_fill(reading->device, to->offset, command->size_bytes,
				       command->pattern));
}

/* ---- entries ---- */

static enum gpu_outcome write_entries(struct reading *reading,
				      const struct gpu_paging_entries *command)
{
	struct cuda_device *device = reading->device;
	const struct gpu_place *table = &command->table;
	ULONGLONG size_bytes = command->count * sizeof(ULONGLONG);

	if (table->segment == GPU_PLACE_VIRTUAL)
		return page_fault(reading, table->offset, TRUE);
	if (command->count == 0)
		return GPU_DONE;
	reading->entries_written += command->count;
	if (table->segment == GPU_PLACE_APERTURE_TABLE) {
		if (table->offset > device->aperture_pages ||
		    command->count > device->aperture_pages - table->offset)
			return fail(reading, STATUS_ACCESS_VIOLATION, table->offset, TRUE);
		return is_done(cuda_lanes_aperture(device, table->offset, command->count,
						   command->value, command->stride));
	}
	if (command->count <= device->local_bytes && is_local(reading, table, size_bytes))
		return is_done(cuda_lanes_entries(device, table->offset, command->count,
						  command->value, command->stride));
	if (is_system(table) && command->count == 1) {
		ULONGLONG pointer;
		enum gpu_outcome outcome = find_piece(reading, table->offset, &pointer);

		return outcome == GPU_DONE
			       ? is_done(cuda_lanes_store(device, pointer, table->offset,
							  command->value))
			       : outcome;
	}
	return run_command(reading);
}

/* ---- packets ---- */

static enum gpu_outcome execute(struct reading *reading, ULONG opcode, const void *bytes)
{
	switch (opcode) {
	case SOFTGPU_NOP:
		return GPU_DONE;
	case GPU_PAGING_FILL:
		return fill(reading, (const struct gpu_paging_fill *)bytes);
	case GPU_PAGING_COPY:
		return copy(reading, (const struct gpu_paging_copy *)bytes);
	case GPU_PAGING_MDL_COPY:
		return copy_mdl(reading, (const struct gpu_paging_mdl_copy *)bytes);
	case GPU_PAGING_ENTRIES:
		return write_entries(reading, (const struct gpu_paging_entries *)bytes);
	default:
		return run_command(reading);
	}
}

/* The start of the next command, which may be in two pieces of system memory. */
static enum gpu_outcome fetch(struct reading *reading, ULONGLONG *words)
{
	const ULONGLONG piece_bytes = 1ULL << CUDA_PIECE_BITS;
	ULONGLONG left = reading->packet->size_bytes - reading->offset;
	ULONGLONG wanted = left < CUDA_COMMAND_BYTES ? left : CUDA_COMMAND_BYTES;

	RtlZeroMemory(words, CUDA_COMMAND_BYTES);
	for (ULONGLONG done = 0; done < wanted;) {
		ULONGLONG at = reading->buffer + reading->offset + done;
		ULONGLONG here = piece_bytes - (at & (piece_bytes - 1));
		ULONGLONG pointer;
		enum gpu_outcome outcome = find_piece(reading, at, &pointer);

		if (outcome != GPU_DONE)
			return outcome;
		here = here < wanted - done ? here : wanted - done;
		RtlCopyMemory((UCHAR *)words + done, (const void *)(ULONG_PTR)pointer, here);
		done += here;
	}
	return GPU_DONE;
}

static enum gpu_outcome read_commands(struct reading *reading)
{
	const struct gpu_packet *packet = reading->packet;
	ULONGLONG words[CUDA_COMMAND_BYTES / sizeof(ULONGLONG)];

	for (reading->offset = 0; reading->offset < packet->size_bytes;
	     reading->offset += reading->size_bytes) {
		struct gpu_command command;
		enum gpu_outcome outcome = fetch(reading, words);

		if (outcome != GPU_DONE)
			return outcome;
		NTSTATUS status = gpu_command_decode(words, packet->size_bytes - reading->offset,
						     TRUE, &command);
		if (!NT_SUCCESS(status))
			return fail(reading, status, packet->buffer.offset + reading->offset,
				    FALSE);
		reading->size_bytes = command.size_bytes;
		outcome = execute(reading, command.opcode, words);
		if (outcome != GPU_DONE)
			return outcome;
	}
	return GPU_DONE;
}

/* Paging buffers are system memory in a row. */
static enum gpu_outcome find_buffer(struct reading *reading)
{
	const struct gpu_windows *windows = reading->engine->adapter->windows;
	const struct gpu_packet *packet = reading->packet;
	struct gpu_place place = packet->buffer;
	ULONGLONG size_bytes = packet->size_bytes;

	if (place.segment == GPU_PLACE_VIRTUAL &&
	    (!windows || !gpu_windows_find(windows, packet->buffer.offset, packet->size_bytes,
					   FALSE, &place, &size_bytes)))
		return page_fault(reading, packet->buffer.offset, FALSE);
	if (!is_system(&place) || size_bytes < packet->size_bytes)
		return fail(reading, STATUS_NOT_SUPPORTED, packet->buffer.offset, FALSE);
	reading->buffer = place.offset;
	return GPU_DONE;
}

static void begin_flight(struct cuda_engine *cuda)
{
	if (cuda->flights == cuda->landed)
		cuda_pieces_hold(cuda->device);
}

/* The last one to land lets go. */
static void end_flight(struct cuda_engine *cuda)
{
	if (cuda->flights == cuda->landed)
		cuda_pieces_let_go(cuda->device);
}

/* Those that were read are the GPU's from now on. FALSE: the context is lost. */
static BOOLEAN mark_flights(struct cuda_engine *cuda)
{
	struct cuda_device *device = cuda->device;
	struct cuda_marks marks;

	if (cuda->marked == cuda->flights)
		return TRUE;
	KeWaitForMutexObject(&device->lanes_lock, Executive, KernelMode, FALSE, NULL);
	BOOLEAN is_marked = cuda_lanes_mark(device, &marks);
	KeReleaseMutex(&device->lanes_lock, FALSE);
	if (!is_marked)
		return FALSE;
	for (; cuda->marked != cuda->flights; cuda->marked++)
		cuda->marks[cuda->marked % CUDA_FLIGHTS] = marks;
	return TRUE;
}

enum gpu_outcome cuda_paging_begin(struct gpu_engine *engine, struct gpu_packet *packet,
				   struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct cuda_device *device = cuda->device;
	struct reading reading = {
		.engine = engine,
		.cuda = cuda,
		.device = device,
		.packet = packet,
		.fault = fault_out,
	};

	if (cuda_is_flying(cuda) &&
	    (cuda->flights - cuda->landed == CUDA_FLIGHTS || cuda_pieces_are_wanted(device)))
		return GPU_BUSY;
	begin_flight(cuda);
	cuda_change_begin(device);
	KeWaitForMutexObject(&device->lanes_lock, Executive, KernelMode, FALSE, NULL);
	enum gpu_outcome outcome = find_buffer(&reading);
	if (outcome == GPU_DONE)
		outcome = read_commands(&reading);
	if (outcome == GPU_FAULTED)
		(void)settle(&reading);
	KeReleaseMutex(&device->lanes_lock, FALSE);
	InterlockedExchangeAdd64(&engine->bytes_written, (LONG64)reading.bytes_written);
	InterlockedExchangeAdd64(&engine->entries_written, (LONG64)reading.entries_written);
	if (outcome == GPU_DONE) {
		cuda->flights++;
		/* A long one is not told with others: room of it is waited for. An error is found later. */
		if (reading.bytes_written >= CUDA_ROW_BYTES)
			(void)mark_flights(cuda);
		return GPU_UNDER_WAY;
	}
	cuda_change_end(device);
	end_flight(cuda);
	return device->is_lost ? cuda_stand_still(engine) : outcome;
}

/* FALSE: the engine has something else to do, or the context is lost. */
static BOOLEAN wait_until_told(struct gpu_engine *engine, const struct cuda_marks *marks)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	PVOID events[] = { &engine->control, &engine->work };

	for (ULONG i = 0; i < LOOKS; i++) {
		if (cuda_lanes_have_told(cuda->device, marks))
			return TRUE;
		if (gpu_engine_has_news(engine))
			return FALSE;
		YieldProcessor();
	}
	const ULONGLONG start = KeQueryInterruptTimePrecise(NULL);
	while (!cuda_lanes_have_told(cuda->device, marks)) {
		ULONGLONG pause = (KeQueryInterruptTimePrecise(NULL) - start) / PAUSE_PART;
		LARGE_INTEGER timeout;

		if (gpu_engine_has_news(engine) || !cuda_lanes_are_alive(cuda->device))
			return FALSE;
		pause = pause < SHORTEST_PAUSE ? SHORTEST_PAUSE : pause;
		pause = pause > LONGEST_PAUSE ? LONGEST_PAUSE : pause;
		timeout.QuadPart = -(LONGLONG)pause;
		KeWaitForMultipleObjects(RTL_NUMBER_OF(events), events, WaitAny, Executive,
					 KernelMode, FALSE, &timeout, NULL);
	}
	return TRUE;
}

static const struct cuda_marks *oldest_marks(const struct cuda_engine *cuda)
{
	return &cuda->marks[cuda->landed % CUDA_FLIGHTS];
}

enum gpu_outcome cuda_paging_reap(struct gpu_engine *engine)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	BOOLEAN is_told = mark_flights(cuda) && wait_until_told(engine, oldest_marks(cuda));

	if (!is_told && !cuda->device->is_lost)
		return GPU_UNDER_WAY;
	cuda->landed++;
	if (cuda->marked < cuda->landed)
		cuda->marked = cuda->landed; /* it is lost */
	engine->is_next_over = is_told && cuda->landed != cuda->marked &&
			       cuda_lanes_have_told(cuda->device, oldest_marks(cuda));
	cuda_change_end(cuda->device);
	end_flight(cuda);
	return is_told ? GPU_DONE : cuda_stand_still(engine);
}
