/* SPDX-License-Identifier: MIT */
/*
 * intel_escape.c - what Intel's user-mode drivers ask beside their command streams.
 *
 *	partitions (code 2, actions 28 and 29)   which parts of the address space a process uses for
 *	                                         what: the first to say it decides for all of it
 *	clocks (code 12, function 25)            the GPU's and the CPU's time at one moment
 *
 * Each begins with the header below, in the place where softgpu_escape has version and code; a size
 * is never SOFTGPU_ESCAPE_VERSION, so that what else this GPU is asked goes on to escape.c.
 * PASSIVE_LEVEL; the request is the kernel's copy, and answered in place.
 */
#include "soft.h"

enum {
	ESCAPE_MEMORY = 2,
	ESCAPE_INSTRUMENTATION = 12,
	MEMORY_GET_PARTITION = 28,
	MEMORY_SET_PARTITION = 29,
	CLOCKS = 25,
	PARTITION_TAIL_BYTES = 8, /* behind the partition, unused */
	TICKS_PER_SECOND = 10000000,
};

struct intel_escape {
	ULONG size_bytes; /* of what follows */
	ULONG checksum;
	ULONG code;
	ULONG reserved;
};

struct partition_request {
	struct intel_escape header;
	ULONG action;
	ULONG reserved;
	/* The partition, as its user-mode side wrote it. */
};

struct clocks_request {
	struct intel_escape header;
	ULONG function; /* out: 0, it worked */
	ULONG reserved;
	ULONGLONG gpu_ticks;
	ULONGLONG cpu_ticks;
	ULONGLONG gpu_frequency;
	ULONGLONG cpu_frequency;
};
C_ASSERT(sizeof(struct partition_request) == 24);
C_ASSERT(sizeof(struct clocks_request) == 56);

static NTSTATUS partition(struct gpu_process *process, struct partition_request *request,
			  UINT size_bytes)
{
	UINT bytes = size_bytes - sizeof(*request) - PARTITION_TAIL_BYTES;
	PVOID data = request + 1;

	if (bytes > sizeof(process->partition))
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "a partition of %u bytes, and at most %u are kept", bytes,
				  (UINT)sizeof(process->partition));
	KeWaitForMutexObject(&process->adapter->devices_lock, Executive, KernelMode, FALSE, NULL);
	if (request->action == MEMORY_SET_PARTITION && !process->has_partition) {
		RtlCopyMemory(process->partition, data, bytes);
		process->has_partition = TRUE;
	}
	/* Nothing yet is all zeroes. */
	RtlCopyMemory(data, process->partition, bytes);
	KeReleaseMutex(&process->adapter->devices_lock, FALSE);
	return STATUS_SUCCESS;
}

static NTSTATUS escape_memory(const DXGKARG_ESCAPE *args)
{
	struct gpu_device *device = gpu_device_from(args->hDevice);
	struct partition_request *request = args->pPrivateDriverData;

	if (args->PrivateDriverDataSize < sizeof(*request) + PARTITION_TAIL_BYTES)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "an escape about partitions has %u bytes, and needs %u",
				  args->PrivateDriverDataSize,
				  (UINT)sizeof(*request) + PARTITION_TAIL_BYTES);
	if (request->action != MEMORY_GET_PARTITION && request->action != MEMORY_SET_PARTITION)
		return gpu_refuse(STATUS_NOT_SUPPORTED,
				  "an escape about memory has action %u, and only 28 and 29 are "
				  "built",
				  request->action);
	if (!device || !device->process)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "an escape about partitions comes without a device");
	return partition(device->process, request, args->PrivateDriverDataSize);
}

static NTSTATUS escape_instrumentation(const DXGKARG_ESCAPE *args)
{
	struct clocks_request *request = args->pPrivateDriverData;
	LARGE_INTEGER frequency;

	if (args->PrivateDriverDataSize < sizeof(*request) || request->function != CLOCKS)
		return gpu_refuse(STATUS_NOT_SUPPORTED,
				  "an escape about instrumentation has %u bytes and is not the one "
				  "that reads clocks",
				  args->PrivateDriverDataSize);
	LARGE_INTEGER now = KeQueryPerformanceCounter(&frequency);
	request->function = 0;
	request->gpu_ticks = KeQueryInterruptTimePrecise(NULL);
	request->gpu_frequency = TICKS_PER_SECOND;
	request->cpu_ticks = (ULONGLONG)now.QuadPart;
	request->cpu_frequency = (ULONGLONG)frequency.QuadPart;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY soft_intel_escape(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_ESCAPE pEscape)
{
	PAGED_CODE();

	if (!gpu_adapter_from(hAdapter) || !pEscape)
		return gpu_refuse(STATUS_INVALID_PARAMETER,
				  "an escape for adapter %p with arguments %p: one is missing",
				  hAdapter, pEscape);
	const struct intel_escape *header = pEscape->pPrivateDriverData;
	if (header && pEscape->PrivateDriverDataSize >= sizeof(*header) + sizeof(ULONG) &&
	    header->size_bytes != SOFTGPU_ESCAPE_VERSION) {
		if (header->code == ESCAPE_MEMORY)
			return escape_memory(pEscape);
		if (header->code == ESCAPE_INSTRUMENTATION)
			return escape_instrumentation(pEscape);
		return gpu_refuse(STATUS_NOT_SUPPORTED,
				  "an escape has code %u of Intel's, which is not built",
				  header->code);
	}
	return gpu_escape(hAdapter, pEscape);
}
