/* SPDX-License-Identifier: MIT */
/*
 * host.h - just enough of a graphics kernel to drive the software GPU by hand.
 *
 * The driver is linked in, the NT routines are the real ones, and the test is Dxgkrnl: it calls the
 * entry points at their IRQL and hears of interrupts through the callbacks.
 */
#ifndef TESTS_SOFT_HOST_H
#define TESTS_SOFT_HOST_H

#include "support/test.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>
#include <opendxgk/softgpu.h>

enum { HOST_NODES = SOFTGPU_MAX_NODES, HOST_HANDLES = 64, HOST_NODE_3D = 0, HOST_NODE_PAGING = 3 };

struct host {
	DRIVER_INITIALIZATION_DATA ddi;
	PVOID adapter;
	DXGK_SEGMENTDESCRIPTOR4 segments[2];
	UINT paging_node;
	UINT paging_buffer_bytes;
	PUCHAR local; /* segment 1, as the CPU sees it */

	HANDLE process;
	HANDLE device;
	HANDLE system_device;
	HANDLE system_context;

	/* D3DKMT handle h names handles[h]: what DxgkCbGetHandleData answers. */
	PVOID handles[HOST_HANDLES];

	/* What interrupts said. Guarded by interrupt_lock. */
	KSPIN_LOCK interrupt_lock;
	BOOLEAN is_dpc_queued;
	KEVENT news;
	UINT completed[HOST_NODES]; /* last fence */
	UINT completions[HOST_NODES];
	UINT preempted[HOST_NODES]; /* last preemption fence */
	UINT preempted_after[HOST_NODES];
	UINT faults;
	DXGKARGCB_NOTIFY_INTERRUPT_DATA fault; /* the last one */

	UINT next_fence;

	void (*before_start)(void); /* called when the driver is loaded; outlives host_stop() */
};

extern struct host host;

/* What the registry says; ends with a NULL name. A text, or a number. */
struct host_setting {
	const char *name;
	const char *text;
	ULONG number;
};

/* DriverEntry alone. */
NTSTATUS host_load(const struct host_setting *settings);
/* Up to a device for the client and the kernel's own context on the paging node. */
void host_start(const struct host_setting *settings);
/* The same; what failed is undone before it returns. host_stop() undoes a success. */
NTSTATUS host_try_start(const struct host_setting *settings);
/* All of it backwards; fails when the driver leaves memory behind. */
void host_stop(void);

HANDLE host_create_context(UINT node, BOOLEAN is_virtual);
void host_destroy_context(HANDLE context);

/* DISPATCH_LEVEL, with a new fence id. The buffer is contiguous memory. */
UINT host_submit(HANDLE context, const void *buffer, UINT size_bytes);
UINT host_submit_flags(HANDLE context, UINT node, const void *buffer, UINT size_bytes, UINT flags);
UINT host_submit_virtual(HANDLE context, ULONGLONG address, UINT size_bytes, UINT flags);
void host_preempt(UINT node, UINT preemption_fence);

/* Waits for what the engines say; fails when they do not. */
void host_wait_completed(UINT node, UINT fence);
void host_wait_preempted(UINT node, UINT preemption_fence);
void host_wait_faults(UINT count);
/* Lets engines run for a while. Costs no real time in a seeded run. */
void host_pass_time(ULONGLONG microseconds);

/* A paging buffer of the size the driver asked for, and one operation built into it. */
PUCHAR host_contiguous(SIZE_T size_bytes);
NTSTATUS host_build(DXGKARG_BUILDPAGINGBUFFER *args, PUCHAR buffer, UINT storage, UINT *used_out);
/* Build, submit and wait, in as many passes as it takes. */
void host_page(DXGKARG_BUILDPAGINGBUFFER *args);

ULONGLONG host_local_address(ULONGLONG offset);

#define SOFT_TEST(suite, claim, settings)                                                          \
	TEST_BETWEEN(host_start(settings), host_stop(), suite, claim)

#endif
