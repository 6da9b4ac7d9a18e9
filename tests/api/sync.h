/* SPDX-License-Identifier: MIT */
/*
 * sync.h - the calls of synchronization objects in short, for their tests.
 */
#ifndef TESTS_API_SYNC_H
#define TESTS_API_SYNC_H

#include "api/support.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { GARBAGE = 0x1eadbeed };

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;

static inline bool is_global_handle(D3DKMT_HANDLE handle)
{
	return (handle & 0xc0000000) != 0 && (handle & 0x3f) == 2;
}

/* A new process with one device. */
static inline void begin(void)
{
	D3DKMTCloseDxCoreDevice();
	adapter = open_first_adapter();
	device = create_device(adapter);
}

/* ---- flags by name ---- */

enum {
	SHARED = 1,
	NT_SHARING = 2,
	CROSS_ADAPTER = 4,
	TOP_OF_PIPELINE = 8,
	NO_SIGNAL = 0x10,
	NO_WAIT = 0x20,
	NO_JUMP = 0x40,
	NO_GPU = 0x80,
	BY_KMD = 0x100,
	SHARED_NT = SHARED | NT_SHARING,
};

/* ---- create, open, destroy ---- */

static inline D3DKMT_CREATESYNCHRONIZATIONOBJECT2 creation(unsigned type, unsigned flags)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = device };

	args.Info.Type = (D3DDDI_SYNCHRONIZATIONOBJECT_TYPE)type;
	args.Info.Flags.Value = flags;
	return args;
}

static inline D3DKMT_CREATESYNCHRONIZATIONOBJECT2 monitored(uint64_t value, unsigned flags)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(D3DDDI_MONITORED_FENCE, flags);

	args.Info.MonitoredFence.InitialFenceValue = value;
	return args;
}

static inline D3DKMT_HANDLE create_kind(unsigned type, unsigned flags)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = creation(type, flags);

	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	return args.hSyncObject;
}

static inline D3DKMT_HANDLE create_fence(uint64_t value, unsigned flags,
					 const volatile UINT64 **view_out)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = monitored(value, flags);

	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	if (view_out)
		*view_out = args.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	return args.hSyncObject;
}

static inline NTSTATUS destroy_sync(D3DKMT_HANDLE sync)
{
	return D3DKMTDestroySynchronizationObject(&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){ sync });
}

static inline NTSTATUS open_global_sync(D3DKMT_HANDLE global, D3DKMT_HANDLE *sync_out)
{
	D3DKMT_OPENSYNCHRONIZATIONOBJECT args = { .hSharedHandle = global, .hSyncObject = GARBAGE };
	NTSTATUS status = D3DKMTOpenSynchronizationObject(&args);

	EXPECT(status == STATUS_SUCCESS || args.hSyncObject == GARBAGE);
	*sync_out = args.hSyncObject;
	return status;
}

static inline NTSTATUS share_sync(D3DKMT_HANDLE sync, DWORD access, HANDLE *handle_out)
{
	return D3DKMTShareObjects(1, &sync, NULL, access, handle_out);
}

static inline NTSTATUS open_nt_sync(HANDLE handle, unsigned flags, D3DKMT_HANDLE *sync_out,
				    const volatile UINT64 **view_out)
{
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 args = {
		.hNtHandle = handle, .hDevice = device, .Flags.Value = flags, .hSyncObject = GARBAGE
	};
	NTSTATUS status = D3DKMTOpenSyncObjectFromNtHandle2(&args);

	*sync_out = args.hSyncObject;
	if (view_out)
		*view_out = args.MonitoredFence.FenceValueCPUVirtualAddress;
	return status;
}

static inline void close_nt(HANDLE handle)
{
	EXPECT_EQ(close((int)(intptr_t)handle), 0);
}

/* … and one more opening of it. */
static inline D3DKMT_HANDLE create_opened_fence(D3DKMT_HANDLE *opened_out)
{
	D3DKMT_HANDLE fence = create_fence(0, SHARED_NT, NULL);
	HANDLE handle;

	EXPECT_OK(share_sync(fence, 3, &handle));
	EXPECT_OK(open_nt_sync(handle, 0, opened_out, NULL));
	close_nt(handle);
	return fence;
}

/* ---- signal, wait ---- */

static inline NTSTATUS signal_flags(D3DKMT_HANDLE fence, UINT64 value, UINT flags)
{
	return D3DKMTSignalSynchronizationObjectFromCpu(
		&(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){ .hDevice = device,
							      .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .FenceValueArray = &value,
							      .Flags.Value = flags });
}

static inline NTSTATUS signal_fence(D3DKMT_HANDLE fence, UINT64 value)
{
	return signal_flags(fence, value, 0);
}

static inline NTSTATUS wait_many(const D3DKMT_HANDLE *fences, const UINT64 *values, UINT count,
				 int event, bool is_any)
{
	return D3DKMTWaitForSynchronizationObjectFromCpu(
		&(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){
			.hDevice = device,
			.ObjectCount = count,
			.ObjectHandleArray = fences,
			.FenceValueArray = values,
			.hAsyncEvent = (HANDLE)(intptr_t)event,
			.Flags.WaitAny = is_any,
		});
}

/* An event of 0 blocks. */
static inline NTSTATUS wait_fence(D3DKMT_HANDLE fence, UINT64 value, int event)
{
	return wait_many(&fence, &value, 1, event, false);
}

static inline int new_event(void)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	EXPECT(event > 0);
	return event;
}

/* Was it set since it was last asked? */
static inline uint64_t event_count(int event)
{
	uint64_t count = 0;

	return read(event, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static inline bool polls_readable(int file)
{
	struct pollfd poll_one = { .fd = file, .events = POLLIN };

	return poll(&poll_one, 1, 0) == 1 && (poll_one.revents & POLLIN) != 0;
}

#define EXPECT_BAD_HANDLE(call, argument)                                                          \
	EXPECT_REFUSED(call, STATUS_INVALID_PARAMETER, "API-HANDLE", argument)
#define EXPECT_BAD(call, rule, argument)                                                           \
	EXPECT_REFUSED(call, STATUS_INVALID_PARAMETER, rule, argument)

/* A reset by hand, D3DKMT_TDRDBGCTRLTYPE. */
static inline NTSTATUS force(unsigned control, unsigned node)
{
	D3DKMT_TDRDBGCTRL_ESCAPE tdr = { (D3DKMT_TDRDBGCTRLTYPE)control, node };
	return D3DKMTEscape(&(D3DKMT_ESCAPE){ .hAdapter = adapter,
					      .Type = D3DKMT_ESCAPE_TDRDBGCTRL,
					      .pPrivateDriverData = &tdr,
					      .PrivateDriverDataSize = sizeof(tdr) });
}

#endif
