/* SPDX-License-Identifier: MIT */
/*
 * recorder.h - what a test and the recorder driver say to each other.
 *
 * The driver says every call it gets, one line each, to recorder_note(), which the program that
 * loads it exports:
 *
 *	CreateContext irql=0 node=2 flags=1
 *
 * The legend:
 *
 *	CreateContext    DxgkDdiCreateContext; names of callbacks are those of DxgkCb…
 *	irql=0           the level it was called at: 0 PASSIVE, 1 APC, 2 DISPATCH, above that the
 *	                 device's own
 *	node=2 flags=1   what of the arguments tells one call from another, under the members' names;
 *	                 handles are only said to be there (device=1)
 *	status=…         what a callback answered, as a number without a sign
 *	operation=…      of BuildPagingBuffer, as DXGK_OPERATION_…: 0 transfer, 1 fill, 2 discard,
 *	                 5 map and 6 unmap an aperture, 8 transfer and 9 fill by address,
 *	                 10 init a context's allocation, 11 write page tables, 12 flush the TLB,
 *	                 13 update a context's allocation, 14 copy entries of page tables,
 *	                 15 notify residency, 16 signal a fence
 *	left=0           of StopDevice: what the driver has that nobody closed
 *	WRONG: …         the driver complains: it was called in a way that the contract rules out
 *
 * What it answers comes from its registry; see recorder.c. What it does besides answering it is
 * told by DxgkDdiEscape with one of these.
 *
 * Work (crank.c): what is submitted completes at once, by interrupt and DPC, unless the registry
 * has HandCranked. Then it is queued in the driver and nothing happens to it until the test says
 * so: RECORDER_COMPLETE completes the oldest of a node (or all up to a fence), RECORDER_FAULT
 * makes it fault, RECORDER_PENDING tells what is there. PreemptCommand drops what is queued on the
 * node and says so at once, or, with HoldPreemption in the registry, when RECORDER_PREEMPT comes.
 * ResetEngine and ResetFromTimeout drop what is queued; nothing is reported for it.
 *
 *	struct recorder_escape escape = { .command = RECORDER_COMPLETE, .node = 0 };
 *
 *	D3DKMTEscape(…);  escape.result is the fence that completed, 0 when there was none
 *
 * RECORDER_FETCH gives the argument struct of the last call of an entry point, byte for byte as it
 * came, and what its lists pointed to.
 */
#ifndef TESTS_DRIVERS_RECORDER_H
#define TESTS_DRIVERS_RECORDER_H

void recorder_note(const char *line);

enum recorder_command {
	RECORDER_NOTHING,
	RECORDER_INTERRUPT, /* report `type`, node, fence and last at device level, queue a DPC */
	RECORDER_INTERRUPT_NO_DPC,  /* the same without the DPC  */
	RECORDER_FLUSH_DPCS,        /* KeFlushQueuedDpcs: no DPC of before says anything after it */
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
	RECORDER_RELEASE,    /* DxgkCbReleaseHandleData of what was kept; `flags`: before that */
	RECORDER_RELEASE_LATER, /* the same from a thread, a millisecond later */
	RECORDER_COUNT,         /* how many allocations, openings, resources the driver has */

	/* Work. `node` says whose. */
	RECORDER_PENDING,     /* result: how many are queued; fence, last: the oldest, the newest;
				 values: how many bytes of commands each has */
	RECORDER_COMPLETE,    /* the oldest, or all up to `fence`; result: the last that completed;
				 values[0]: its bytes */
	RECORDER_FAULT,       /* the oldest, as RECORDER_INTERRUPT with `type`; result: its fence */
	RECORDER_PREEMPT,     /* answer the preemption; result: its id, 0 when none was asked for */
	RECORDER_HOLD_PAGING, /* `flags` 1: what pages is queued, too; 0: as with PagingAtOnce */
	RECORDER_FETCH,       /* struct recorder_fetch: the last call of `type` */

	/* Hardware queues. `handle` says which, of those that are there, as they were made. */
	RECORDER_HW_PENDING,  /* result: how many are queued; wide_fence: the progress of the
				 oldest; values: how many bytes of commands each has */
	RECORDER_HW_COMPLETE, /* the oldest, or all up to `wide_fence`; with RECORDER_HW_SILENT in
				 `flags` without an interrupt; result: how many; values[0]: bytes
				 of the last */
	RECORDER_HW_FAULT,    /* the oldest: DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED with `flags`, and
				 the queue's handle, unless `object` is another, or its context's;
				 result: 1 when there was one */

	/* Context allocations; result: the status of the callback, called at `irql`. */
	RECORDER_CONTEXT_CREATE,  /* values: device, context (1: those of the escape), cookie, size,
				     alignment, supported, eviction, flags; `flags`;
				     values[0]: the handle */
	RECORDER_CONTEXT_MAP,     /* values: handle, base, lowest, end, offset, pages, protection,
				     driver protection; values[0]: the address */
	RECORDER_CONTEXT_UPDATE,  /* values: handle; four bytes of private data: `fence` */
	RECORDER_CONTEXT_DESTROY, /* values: handle */
	RECORDER_RESERVE,         /* values: process, size, alignment, base; `flags` */
	RECORDER_INVALIDATE,      /* values: hardware context; `flags` */
	RECORDER_SIGNAL,          /* values: process, event; `flags` */

	/* struct recorder_device: the device; `status` is that of what was called. */
	RECORDER_READ_SPACE,  /* DxgkCbReadDeviceSpace(type, offset, length) into data */
	RECORDER_WRITE_SPACE, /* DxgkCbWriteDeviceSpace; both leave in length what they did */
	RECORDER_RESOURCE,    /* the `index`th: type, flags, level (how shared), start (or vector),
				 length (or IRQL), interface_type, bus; result: how many there are */
	RECORDER_TOUCH,     /* the `index`th, at offset: fence is written, last was there before */
	RECORDER_PROPERTY,  /* IoGetDeviceProperty(type): data, and text with a line for each */
	RECORDER_VALUE,     /* of the driver's key, or `key` below it, named by text: type, data */
	RECORDER_MESSAGE,   /* DxgkCbSynchronizeExecution with this `index` as message */
	RECORDER_PRESENT,   /* DxgkCbIsDevicePresent with data as its parameters, which `flags`
			       RECORDER_NO_BUFFER leaves out; result: the answer */
	RECORDER_INTERFACE, /* DXGKRNL_INTERFACE: result: Version, length: Size, start: whether
				 there is a member of WDDM 2.5 */
};

/* `flags` of the two about configuration space. */
enum { RECORDER_NO_BUFFER = 1, RECORDER_NO_COUNT = 2 };

enum { RECORDER_HW_SILENT = 1 };

/* Entry points whose last call can be fetched. */
enum recorder_entry {
	RECORDER_BUILD_PAGING_BUFFER, /* list: page table entries, or ranges to copy */
	RECORDER_SUBMIT_COMMAND,
	RECORDER_SUBMIT_COMMAND_VIRTUAL,
	RECORDER_PATCH, /* list: allocations */
	RECORDER_PATCH_PAGING,
	RECORDER_RENDER, /* list: allocations */
	RECORDER_CANCEL_COMMAND,
	RECORDER_VALIDATE_SUBMIT_COMMAND,
	RECORDER_PREEMPT_COMMAND,
	RECORDER_QUERY_CURRENT_FENCE,
	RECORDER_QUERY_DEPENDENT_ENGINE_GROUP,
	RECORDER_QUERY_ENGINE_STATUS,
	RECORDER_RESET_ENGINE,
	RECORDER_COLLECT_DBG_INFO,
	RECORDER_SET_ROOT_PAGE_TABLE,
	RECORDER_GET_ROOT_PAGE_TABLE_SIZE,
	RECORDER_MAP_CPU_HOST_APERTURE, /* list: pages of the segment */
	RECORDER_UNMAP_CPU_HOST_APERTURE,
	RECORDER_CREATE_HW_CONTEXT,
	RECORDER_CREATE_HW_QUEUE,
	RECORDER_SUBMIT_COMMAND_TO_HW_QUEUE,
	RECORDER_ENTRIES
};

enum { RECORDER_ARGUMENT_BYTES = 640, RECORDER_LIST_BYTES = 2048 };

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

	/* Faults: `flags` are DXGK_PAGE_FAULT_FLAGS. */
	unsigned engine;
	unsigned level;
	unsigned error_code;
	int status;
	unsigned long long address;
	unsigned long long object; /* process, hardware queue or hardware context */
	unsigned long long wide_fence;

	unsigned long long values[8];
};

struct recorder_device {
	struct recorder_escape escape;
	unsigned index;
	unsigned offset;
	unsigned length;
	unsigned interface_type;
	unsigned bus;
	unsigned long long start;
	unsigned char data[512];
	char text[1024];
	char key[64];
};

struct recorder_fetch {
	struct recorder_escape escape;
	unsigned calls;
	unsigned argument_bytes;
	unsigned list_bytes;
	unsigned char argument[RECORDER_ARGUMENT_BYTES];
	unsigned char list[RECORDER_LIST_BYTES];
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
