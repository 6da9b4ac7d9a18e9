/* SPDX-License-Identifier: MIT */
/*
 * pages.c - between video memory and pages of system memory that an MDL names.
 *
 *	pages  | 7 8 9 10 … 90 | 3 | 55 | 21 | 200 201 … |
 *	         copy engine     cuda_pages     copy engine
 *
 * A long row of pages is for a copy engine; single ones are moved by a kernel, as fast. Everything
 * goes into the engine's stream, in order. PASSIVE_LEVEL.
 */
#include "cuda.h"

/* One copy. */
struct work {
	struct gpu_engine *engine;
	struct cuda_engine *cuda;
	struct cuda_device *device;
	const PFN_NUMBER *pfns;
	ULONGLONG count;    /* pages */
	cuda_pointer local; /* of the first byte */
	BOOLEAN is_to_system;
};

static enum gpu_outcome fail(struct gpu_fault *fault_out, NTSTATUS status, ULONGLONG address)
{
	*fault_out = (struct gpu_fault){ .status = status, .address = address };
	return GPU_FAULTED;
}

/* All of them are registered at the end; holding the pieces, and not in between. */
static BOOLEAN make_pieces(const struct work *work, ULONGLONG *address_out)
{
	BOOLEAN is_made = TRUE;

	for (ULONGLONG i = 0; is_made && i < work->count; i++) {
		ULONGLONG physical = (ULONGLONG)work->pfns[i] << PAGE_SHIFT;

		if (i > 0 && physical >> CUDA_PIECE_BITS ==
				     (ULONGLONG)work->pfns[i - 1] << PAGE_SHIFT >> CUDA_PIECE_BITS)
			continue;
		if (cuda_piece_pointer(work->device, physical) != 0)
			continue;
		*address_out = physical;
		cuda_pieces_let_go(work->device);
		is_made = cuda_piece_make(work->device, physical);
		cuda_pieces_hold(work->device);
		/* Others may have gone while nobody held them. */
		if (is_made)
			i = (ULONGLONG)-1;
	}
	return is_made;
}

/* Pages from `first` on that lie in a row, in one piece. */
static ULONGLONG row_of(const struct work *work, ULONGLONG first)
{
	const ULONGLONG piece_pages = 1ULL << (CUDA_PIECE_BITS - PAGE_SHIFT);
	ULONGLONG end = first + 1;

	while (end < work->count && work->pfns[end] == work->pfns[end - 1] + 1 &&
	       work->pfns[end] % piece_pages != 0)
		end++;
	return end - first;
}

static BOOLEAN copy_row(const struct work *work, ULONGLONG first, ULONGLONG count)
{
	const struct cuda_api *api = &work->device->api;
	cuda_pointer local = work->local + (first << PAGE_SHIFT);
	void *system = (void *)(ULONG_PTR)cuda_piece_pointer(
		work->device, (ULONGLONG)work->pfns[first] << PAGE_SHIFT);
	size_t size_bytes = count << PAGE_SHIFT;

	if (work->is_to_system)
		return cuda_did(work->device,
				api->copy_to_host(system, local, size_bytes, work->cuda->stream),
				"cuMemcpyDtoHAsync");
	return cuda_did(work->device,
			api->copy_to_device(local, system, size_bytes, work->cuda->stream),
			"cuMemcpyHtoDAsync");
}

/* The list of pages is the GPU's until the kernel has read it. */
static BOOLEAN copy_single(const struct work *work, ULONGLONG first, ULONGLONG count)
{
	struct cuda_engine *cuda = work->cuda;
	ULONGLONG world = work->device->world;
	ULONGLONG list = (ULONGLONG)(ULONG_PTR)cuda->pfns;
	ULONGLONG local = work->local + (first << PAGE_SHIFT);
	ULONGLONG is_to_system = work->is_to_system;
	void *parameters[] = { &world, &list, &count, &local, &is_to_system };

	for (ULONGLONG i = 0; i < count; i++)
		cuda->pfns[i] = work->pfns[first + i];
	return cuda_launch(cuda, work->device->pages, CUDA_PAGES_BLOCKS, CUDA_PAGES_THREADS,
			   parameters, "cuLaunchKernel of cuda_pages") &&
	       cuda_drain(cuda);
}

static BOOLEAN copy_all(const struct work *work)
{
	ULONGLONG done = 0;

	while (done < work->count) {
		ULONGLONG single = 0;
		ULONGLONG row = 0;

		while (done + single < work->count && single < CUDA_PFN_COUNT) {
			row = row_of(work, done + single);
			if (row >= CUDA_RUN_PAGES)
				break;
			single += row < CUDA_PFN_COUNT - single ? row : CUDA_PFN_COUNT - single;
			row = 0;
		}
		if (single > 0 && !copy_single(work, done, single))
			return FALSE;
		done += single;
		if (row > 0 && !copy_row(work, done, row))
			return FALSE;
		done += row;
	}
	return TRUE;
}

BOOLEAN cuda_make_list(struct cuda_engine *cuda)
{
	void *list = cuda->pfns;

	if (!list &&
	    cuda_did(cuda->device,
		     cuda->device->api.host_allocate(&list, CUDA_PFN_COUNT * sizeof(*cuda->pfns),
						     CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP),
		     "cuMemHostAlloc"))
		cuda->pfns = (ULONGLONG *)list;
	return cuda->pfns != NULL;
}

enum gpu_outcome cuda_copy_mdl(struct gpu_engine *engine, const struct gpu_paging_mdl_copy *command,
			       struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	struct cuda_device *device = cuda->device;
	PMDL mdl = (PMDL)(ULONG_PTR)command->mdl;
	ULONGLONG offset = command->segment_side.offset;
	ULONGLONG address = 0;

	/* Whole pages between local memory and pages: what the kernel's memory manager moves. */
	if (!mdl || command->segment_side.segment != SOFTGPU_SEGMENT_LOCAL ||
	    (command->size_bytes | command->mdl_offset_bytes | offset) % PAGE_SIZE != 0 ||
	    offset > device->local_bytes || command->size_bytes > device->local_bytes - offset ||
	    MmGetMdlByteOffset(mdl) != 0)
		return fail(fault_out, STATUS_NOT_SUPPORTED, offset);
	if (!cuda_make_list(cuda))
		return GPU_ABORTED; /* lost: execute.c sees that */
	struct work work = {
		.engine = engine,
		.cuda = cuda,
		.device = device,
		.pfns = MmGetMdlPfnArray(mdl) + (command->mdl_offset_bytes >> PAGE_SHIFT),
		.count = command->size_bytes >> PAGE_SHIFT,
		.local = device->local + offset,
		.is_to_system = command->is_to_mdl != 0,
	};
	if (!make_pieces(&work, &address))
		return fail(fault_out, STATUS_INSUFFICIENT_RESOURCES, address);
	return copy_all(&work) ? GPU_DONE : GPU_ABORTED;
}
