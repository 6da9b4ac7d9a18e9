/* SPDX-License-Identifier: MIT */
/*
 * pieces.c - system memory that the GPU was told of.
 *
 *	physical   | piece 0 | piece 1 | piece 2 | …        16 MiB each
 *	table      |    0    | pointer |    0    | …        in video memory, for kernels
 *
 * A piece is registered with CUDA when a packet first needs it, and stays so. The kernel takes it
 * away when other pages come to its addresses (OpendxgkPin): not while an engine is at work, so
 * engines hold the pieces meanwhile, and begin nothing new while somebody waits for them.
 *
 * Locks: pieces_lock, at PASSIVE_LEVEL; not held while the kernel is called, but in its calls to us.
 */
#include "cuda.h"

enum { FIRST_ADDRESS = 1 << 20, TRIES = 400 };
static const ULONGLONG WANTED_100NS = 100000; /* 10 ms after it was last asked for */
static const LONGLONG PAUSE_100NS = -10000;   /* 1 ms */

static void lock(struct cuda_device *device)
{
	KeWaitForMutexObject(&device->pieces_lock, Executive, KernelMode, FALSE, NULL);
}

static void unlock(struct cuda_device *device)
{
	KeReleaseMutex(&device->pieces_lock, FALSE);
}

static void pause(void)
{
	LARGE_INTEGER time = { .QuadPart = PAUSE_100NS };

	KeDelayExecutionThread(KernelMode, FALSE, &time);
}

void cuda_change_begin(struct cuda_device *device)
{
	InterlockedIncrement64(&device->changes_begun);
}

void cuda_change_end(struct cuda_device *device)
{
	InterlockedIncrement64(&device->changes);
}

/* Kernels see it from the next one on. */
static BOOLEAN set_pointer_locked(struct cuda_device *device, ULONGLONG piece, ULONGLONG pointer)
{
	ULONGLONG *word = &device->pieces[piece];

	cuda_change_begin(device);
	__atomic_store_n(word, pointer, __ATOMIC_RELEASE);
	BOOLEAN is_done =
		cuda_did(device,
			 device->api.copy_to_device(device->piece_table + piece * sizeof(*word),
						    word, sizeof(*word), device->control),
			 "cuMemcpyHtoDAsync") &&
		cuda_did(device, device->api.stream_wait(device->control), "cuStreamSynchronize");
	cuda_change_end(device);
	return is_done;
}

/* From the kernel's table of pages: `pointer` is where the piece, or what there is of it, begins. */
static BOOLEAN tell_locked(struct cuda_device *device, BOOLEAN is_pinned, ULONGLONG address,
			   PVOID pointer, SIZE_T size_bytes)
{
	ULONGLONG piece = address >> CUDA_PIECE_BITS;
	ULONGLONG in_piece = address & ((1ULL << CUDA_PIECE_BITS) - 1);

	if (!is_pinned) {
		if (device->pieces[piece] == 0)
			return TRUE; /* it went with its context */
		/* Whoever comes to hold them from here on waits for the lock. */
		InterlockedExchange(&device->is_wanted, TRUE);
		device->wanted_until = KeQueryInterruptTime() + WANTED_100NS;
		if (InterlockedCompareExchange(&device->busy_engines, 0, 0) > 0)
			return FALSE;
		(void)set_pointer_locked(device, piece, 0);
		(void)cuda_did(device, device->api.host_unregister(pointer), "cuMemHostUnregister");
		InterlockedExchange(&device->is_wanted, FALSE);
		return TRUE;
	}
	if (device->pieces[piece] != 0)
		return FALSE; /* another engine was here first */
	device->register_status = device->api.host_register(
		pointer, size_bytes, CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP);
	/* The host may have no memory to keep for us; nothing is lost by that. */
	if (device->register_status != CUDA_OK) {
		DbgPrint(GPU_DRIVER ": cuMemHostRegister of 0x%I64x bytes: %s\n",
			 (ULONGLONG)size_bytes,
			 cuda_error_name(&device->api, device->register_status));
		return FALSE;
	}
	return set_pointer_locked(device, piece, (ULONGLONG)(ULONG_PTR)pointer - in_piece);
}

static BOOLEAN NTAPI tell(PVOID context, BOOLEAN is_pinned, PHYSICAL_ADDRESS address, PVOID pointer,
			  SIZE_T size_bytes)
{
	struct cuda_device *device = (struct cuda_device *)context;

	lock(device);
	cuda_context had = cuda_visit(device);
	BOOLEAN is_done =
		cuda_enter(device) &&
		tell_locked(device, is_pinned, (ULONGLONG)address.QuadPart, pointer, size_bytes);
	/* What is lost holds nothing. */
	if (!is_pinned && device->is_lost)
		is_done = TRUE;
	cuda_visit_end(device, had);
	unlock(device);
	return is_done;
}

NTSTATUS cuda_pieces_start(struct cuda_device *device)
{
	device->pieces =
		gpu_pool_allocate(NonPagedPoolNx, device->piece_count * sizeof(*device->pieces));
	device->pins = device->pieces ? OpendxgkCreatePins(tell, device) : NULL;
	if (!device->pins)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no memory for a table of pieces");
	return STATUS_SUCCESS;
}

void cuda_pieces_stop(struct cuda_device *device)
{
	OpendxgkDeletePins(device->pins);
	gpu_pool_free(device->pieces);
	device->pins = NULL;
	device->pieces = NULL;
}

void cuda_pieces_forget(struct cuda_device *device)
{
	lock(device);
	if (cuda_enter(device)) {
		for (ULONGLONG piece = 0; piece < device->piece_count; piece++) {
			ULONGLONG first = piece == 0 ? FIRST_ADDRESS : 0;

			if (device->pieces[piece])
				(void)device->api.host_unregister(
					(void *)(ULONG_PTR)(device->pieces[piece] + first));
		}
	}
	RtlZeroMemory(device->pieces, device->piece_count * sizeof(*device->pieces));
	unlock(device);
	OpendxgkDeletePins(device->pins);
	device->pins = OpendxgkCreatePins(tell, device);
}

/* It says so first, and then looks whether somebody wants them; who wants them does it the other way round. */
static BOOLEAN try_to_hold(struct cuda_device *device)
{
	InterlockedIncrement(&device->busy_engines);
	if (InterlockedCompareExchange(&device->is_wanted, FALSE, FALSE) == FALSE)
		return TRUE;
	InterlockedDecrement(&device->busy_engines);
	return FALSE;
}

void cuda_pieces_hold(struct cuda_device *device)
{
	if (try_to_hold(device))
		return;
	lock(device);
	while (device->is_wanted && KeQueryInterruptTime() < device->wanted_until) {
		unlock(device);
		pause();
		lock(device);
	}
	InterlockedExchange(&device->is_wanted, FALSE);
	InterlockedIncrement(&device->busy_engines);
	unlock(device);
}

BOOLEAN cuda_pieces_are_wanted(const struct cuda_device *device)
{
	return ReadAcquire(&device->is_wanted) != 0;
}

void cuda_pieces_let_go(struct cuda_device *device)
{
	InterlockedDecrement(&device->busy_engines);
}

ULONGLONG cuda_piece_pointer(struct cuda_device *device, ULONGLONG physical)
{
	ULONGLONG piece = physical >> CUDA_PIECE_BITS;

	if (piece >= device->piece_count)
		return 0;
	ULONGLONG pointer = __atomic_load_n(&device->pieces[piece], __ATOMIC_ACQUIRE);
	return pointer ? pointer + (physical & ((1ULL << CUDA_PIECE_BITS) - 1)) : 0;
}

static void forget_failure(struct cuda_device *device)
{
	lock(device);
	device->register_status = CUDA_OK;
	unlock(device);
}

/* … the last attempt of anybody. */
static BOOLEAN has_failed(struct cuda_device *device)
{
	lock(device);
	BOOLEAN is_failure = device->register_status != CUDA_OK;
	unlock(device);
	return is_failure;
}

BOOLEAN cuda_piece_make(struct cuda_device *device, ULONGLONG physical)
{
	const ULONGLONG end = OpendxgkMemoryBytes() + FIRST_ADDRESS;
	ULONGLONG first = physical & ~((1ULL << CUDA_PIECE_BITS) - 1);
	ULONGLONG behind = first + (1ULL << CUDA_PIECE_BITS);

	if (physical < FIRST_ADDRESS || physical >= end || !device->pins)
		return FALSE;
	PHYSICAL_ADDRESS where = { .QuadPart = first < FIRST_ADDRESS ? FIRST_ADDRESS
								     : (LONGLONG)first };
	behind = behind < end ? behind : end;
	forget_failure(device);
	for (ULONG i = 0; i < TRIES && !device->is_lost; i++) {
		if (cuda_piece_pointer(device, physical) != 0 ||
		    OpendxgkPin(device->pins, where, behind - (ULONGLONG)where.QuadPart))
			return TRUE;
		if (has_failed(device))
			return FALSE;
		pause();
	}
	return FALSE;
}
