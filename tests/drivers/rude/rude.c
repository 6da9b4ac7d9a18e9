/* SPDX-License-Identifier: MIT */
/*
 * rude.c - see rude.h.
 *
 *   below:   the recorder's sources, in which DxgkInitialize is rude_initialize
 *   here:    its DxgkDdiEscape, replaced by one with bad manners
 */
#undef DxgkInitialize

#include <ntddk.h>

#include <dispmprt.h>

#include "rude.h"

#define RUDE_TAG 0x65647552 /* "Rude" */

void abort(void);

NTSTATUS rude_initialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
			 PDRIVER_INITIALIZATION_DATA data);

static DRIVER_INITIALIZATION_DATA real;

static KSPIN_LOCK spin_lock;
static KLOCK_QUEUE_HANDLE queue_handle;
static EX_SPIN_LOCK shared_spin_lock;
static EX_PUSH_LOCK push_lock;
static FAST_MUTEX fast_mutex;
static ERESOURCE resource;
static KMUTEX mutex;
static KEVENT done;

static void prepare(void)
{
	static BOOLEAN is_prepared;

	if (is_prepared)
		return;
	is_prepared = TRUE;
	KeInitializeSpinLock(&spin_lock);
	ExInitializePushLock(&push_lock);
	ExInitializeFastMutex(&fast_mutex);
	ExInitializeResourceLite(&resource);
	KeInitializeMutex(&mutex, 0);
}

/* ---- locks that stay ---- */

static void hold_spin_lock(void)
{
	KIRQL old;

	KeAcquireSpinLock(&spin_lock, &old);
}

static void hold_queued_spin_lock(void)
{
	KeAcquireInStackQueuedSpinLock(&spin_lock, &queue_handle);
}

static void hold_shared_spin_lock(void)
{
	ExAcquireSpinLockShared(&shared_spin_lock);
}

static void hold_fast_mutex(void)
{
	ExAcquireFastMutex(&fast_mutex);
}

static void hold_resource(void)
{
	ExEnterCriticalRegionAndAcquireResourceExclusive(&resource);
}

static void hold_push_lock(void)
{
	ExAcquirePushLockExclusive(&push_lock);
}

static void hold_mutex(void)
{
	KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, NULL);
	KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, NULL);
}

static void stay_in_region(void)
{
	KeEnterCriticalRegion();
}

/* Not in the opposite order everywhere. */
static void take_all(void)
{
	KIRQL old;

	hold_resource();
	ExAcquireFastMutex(&fast_mutex);
	ExReleaseResourceAndLeaveCriticalRegion(&resource);
	hold_push_lock();
	ExReleaseFastMutex(&fast_mutex);
	ExReleasePushLockExclusive(&push_lock);
	hold_mutex();
	KeReleaseMutex(&mutex, FALSE);
	KeReleaseMutex(&mutex, FALSE);
	old = ExAcquireSpinLockShared(&shared_spin_lock);
	ExReleaseSpinLockShared(&shared_spin_lock, old);
	hold_queued_spin_lock();
	KeReleaseInStackQueuedSpinLock(&queue_handle);
}

/* ---- crashes ---- */

struct pair {
	UINT first;
	UINT second;
};

static UINT second_of(volatile struct pair *pair)
{
	return pair->second;
}

static void read_null(void)
{
	second_of(NULL);
}

static void (*volatile nowhere)(void);

static void call_null(void)
{
	nowhere();
	__asm__ volatile("");
}

static void use_fresh_pool(void)
{
	struct pair **holder = ExAllocatePoolUninitialized(NonPagedPoolNx, 64, RUDE_TAG);

	second_of(*holder);
}

static void use_freed_pool(void)
{
	struct pair *volatile *holder = ExAllocatePoolUninitialized(NonPagedPoolNx, 64, RUDE_TAG);

	ExFreePoolWithTag((PVOID)holder, RUDE_TAG);
	second_of(holder[4]);
}

static void divide_by_zero(void)
{
	volatile int zero = 0;

	zero = 100 / zero;
}

static void illegal_instruction(void)
{
	__builtin_trap();
}

static void call_abort(void)
{
	abort();
}

static void bug_check(void)
{
	KeBugCheckEx(0xdeaddead, 1, 2, 3, 4);
}

static VOID NTAPI crashing_dpc(PKDPC dpc, PVOID context, PVOID one, PVOID two)
{
	(void)dpc;
	(void)context;
	(void)one;
	(void)two;
	read_null();
}

static VOID NTAPI crashing_thread(PVOID context)
{
	(void)context;
	read_null();
	KeSetEvent(&done, 0, FALSE);
}

static void crash_in_dpc(void)
{
	static KDPC dpc;

	KeInitializeDpc(&dpc, crashing_dpc, NULL);
	KeInsertQueueDpc(&dpc, NULL, NULL);
	KeFlushQueuedDpcs();
}

static void crash_in_thread(void)
{
	HANDLE thread;

	KeInitializeEvent(&done, NotificationEvent, FALSE);
	PsCreateSystemThread(&thread, THREAD_ALL_ACCESS, NULL, NULL, NULL, crashing_thread, NULL);
	KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, NULL);
}

static void crash_in_try(void)
{
	__try {
		read_null();
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		DbgPrint("caught\n");
	}
}

/* ---- NULL ---- */

static void wait_for_null(void)
{
	KeWaitForSingleObject(NULL, Executive, KernelMode, FALSE, NULL);
	__asm__ volatile("");
}

static void set_null(void)
{
	KeSetEvent(NULL, 0, FALSE);
	__asm__ volatile("");
}

static void release_null(void)
{
	KeReleaseSemaphore(NULL, 0, 1, FALSE);
	__asm__ volatile("");
}

/* ---- paged pool ---- */

static void touch_paged(void)
{
	volatile UINT *paged = ExAllocatePool2(POOL_FLAG_PAGED, 300, RUDE_TAG);
	KIRQL old;

	paged[2] = 1;
	KeRaiseIrql(DISPATCH_LEVEL, &old);
	paged[3] = 7; /* the line in the report */
	KeLowerIrql(old);
	if (paged[2] != 1 || paged[3] != 7)
		KeBugCheck(1);
	ExFreePoolWithTag((PVOID)paged, RUDE_TAG);
}

static void touch_paged_low(void)
{
	volatile UINT *paged = ExAllocatePool2(POOL_FLAG_PAGED, 3 * PAGE_SIZE, RUDE_TAG);
	KIRQL old;

	for (UINT i = 0; i < 3 * PAGE_SIZE / sizeof(UINT); i += 512) {
		KeRaiseIrql(DISPATCH_LEVEL, &old);
		KeLowerIrql(old);
		paged[i] = i;
	}
	for (UINT i = 0; i < 3 * PAGE_SIZE / sizeof(UINT); i += 512) {
		if (paged[i] != i)
			KeBugCheck(1);
	}
	ExFreePoolWithTag((PVOID)paged, RUDE_TAG);
}

static void touch_locked(void)
{
	volatile UINT *paged = ExAllocatePool2(POOL_FLAG_PAGED, 2 * PAGE_SIZE, RUDE_TAG);
	PMDL mdl = IoAllocateMdl((PVOID)paged, 2 * PAGE_SIZE, FALSE, FALSE, NULL);
	KIRQL old;

	MmProbeAndLockPages(mdl, KernelMode, IoModifyAccess);
	KeRaiseIrql(DISPATCH_LEVEL, &old);
	paged[0] = 1;
	paged[PAGE_SIZE / sizeof(UINT)] = 1;
	KeLowerIrql(old);
	MmUnlockPages(mdl);
	IoFreeMdl(mdl);
	ExFreePoolWithTag((PVOID)paged, RUDE_TAG);
}

static void touch_freed_paged(void)
{
	volatile UINT *paged = ExAllocatePool2(POOL_FLAG_PAGED, 300, RUDE_TAG);

	ExFreePoolWithTag((PVOID)paged, RUDE_TAG);
	paged[3] = 7;
}

static void signal_paged_event(void)
{
	KEVENT *event = ExAllocatePool2(POOL_FLAG_PAGED, sizeof(*event), RUDE_TAG);
	KIRQL old;

	KeInitializeEvent(event, NotificationEvent, FALSE);
	KeRaiseIrql(DISPATCH_LEVEL, &old);
	KeSetEvent(event, 0, FALSE);
	KeLowerIrql(old);
	ExFreePoolWithTag(event, RUDE_TAG);
}

/* ---- leaks ---- */

/* What every driver has: one place through which all memory comes. */
static PVOID allocate(SIZE_T size)
{
	return ExAllocatePool2(POOL_FLAG_NON_PAGED, size, RUDE_TAG);
}

static void leak(void)
{
	allocate(40);
	__asm__ volatile("");
}

static void leak_pages(void)
{
	PHYSICAL_ADDRESS highest = { .QuadPart = -1 };

	MmAllocateContiguousMemory(PAGE_SIZE, highest);
	__asm__ volatile("");
}

static void nothing(void)
{
}

static void (*const deeds[])(void) = {
#define DEED(name) name,
	RUDE_DEEDS(DEED)
#undef DEED
};

static NTSTATUS APIENTRY rude_escape(IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_ESCAPE args)
{
	const struct rude_escape *escape = args->pPrivateDriverData;

	if (args->PrivateDriverDataSize != sizeof(*escape) || escape->magic != RUDE_MAGIC)
		return real.DxgkDdiEscape(adapter, args);
	prepare();
	deeds[escape->deed]();
	return STATUS_SUCCESS;
}

NTSTATUS rude_initialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
			 PDRIVER_INITIALIZATION_DATA data)
{
	DRIVER_INITIALIZATION_DATA ours = *data;

	real = *data;
	ours.DxgkDdiEscape = rude_escape;
	return DxgkInitialize(driver, path, &ours);
}
