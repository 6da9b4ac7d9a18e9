/*
 * recorder.h - what a test and the recorder driver say to each other.
 *
 * The driver says every call it gets, one line each, to recorder_note(), which the program that
 * loads it exports:
 *
 *	CreateContext irql=0 node=2 flags=1
 *
 * What it answers comes from its registry; see recorder.c. What it does besides answering it is
 *told by DxgkDdiEscape with one of these.
 */
#ifndef TESTS_DRIVERS_RECORDER_H
#define TESTS_DRIVERS_RECORDER_H

void recorder_note(const char *line);

enum recorder_command {
	RECORDER_NOTHING,
	RECORDER_INTERRUPT, /* report `type`, node, fence and last at device level, queue a DPC */
	RECORDER_INTERRUPT_NO_DPC,  /* the same without the DPC  */
	RECORDER_NOTIFY_AT_PASSIVE, /* DxgkCbNotifyInterrupt where it may not be called */
	RECORDER_NULL_HANDLE, /* DxgkCbGetDeviceInformation(NULL, …)                              */
	RECORDER_WRONG_HANDLE,      /* … with an address that is no handle      */
	RECORDER_CONTEXT_AS_HANDLE, /* … with the MiniportDeviceContext */
	RECORDER_UNBUILT, /* DxgkCbQueryServices                                              */
	RECORDER_RETURN_RAISED,  /* come back at DISPATCH_LEVEL  */
	RECORDER_MAP_AND_FORGET, /* DxgkCbMapMemory, and no unmap */
	RECORDER_MAP_AND_UNMAP,
	RECORDER_CONTIGUOUS, /* allocate and free contiguous memory and pages                    */
	RECORDER_ACPI,       /* DxgkCbEvalAcpiMethod; result: its Length                         */
	RECORDER_RETURN_PENDING, /* an entry point that answers STATUS_PENDING */
	RECORDER_INFORMATION, /* DxgkCbGetDeviceInformation; result: 1 when all of it is right    */
	RECORDER_SYNCHRONIZE_TWICE, /* DxgkCbSynchronizeExecution inside itself; result: inner
				       status   */
	RECORDER_SLOW, /* be in the driver until another thread was let in, or not:        */
	/* result: the most threads that were seen at once                  */
	RECORDER_GET_DATA,   /* DxgkCbGetHandleData(handle, type, flags); result: RECORDER_IS_… */
	RECORDER_GET_PARENT, /* DxgkCbGetHandleParent(handle); result: a handle */
	RECORDER_GET_CHILD,  /* DxgkCbEnumHandleChildren(handle, flags); result: a handle */
	RECORDER_ACQUIRE,    /* DxgkCbAcquireHandleData, as GET_DATA, and keep the reference */
	RECORDER_RELEASE,    /* DxgkCbReleaseHandleData of what was kept */
	RECORDER_RELEASE_LATER, /* the same from a thread, a millisecond later */
	RECORDER_COUNT,         /* how many allocations, openings, resources the driver has */
};

struct recorder_escape {
	unsigned command; /* enum recorder_command */
	unsigned type;    /* DXGK_INTERRUPT_TYPE */
	unsigned node;
	unsigned fence;
	unsigned last;
	unsigned result;
	unsigned handle;
	unsigned irql; /* where the callback about the handle is called */
	unsigned flags;
	unsigned allocations;
	unsigned openings;
	unsigned resources;
};

/* What a handle turned out to be. */
enum {
	RECORDER_IS_ALLOCATION = 'A',
	RECORDER_IS_OPENING = 'O',
	RECORDER_IS_RESOURCE = 'R',
};

/* Private data of an allocation; it needs none. */
struct recorder_allocation {
	unsigned size_bytes; /* 64 KiB when 0 */
	unsigned flags;      /* DXGK_ALLOCATIONINFOFLAGS; CPU visible when 0 */
	unsigned created;    /* the driver counts up in CreateAllocation … */
	unsigned opened;     /* … and in OpenAllocation with Create */
};

#endif
