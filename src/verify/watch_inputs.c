/* SPDX-License-Identifier: MIT */
/*
 * watch_inputs.c - what a driver is only given to read is the same when it returns (DDI-PRIVATE-DATA-IN).
 *
 * Before a call a checksum is taken over its argument struct, where that is const, and over what the pages call [in]
 * behind its pointers; after it once more. Left out is what a page calls [in, out]: a resource's handle in
 * DxgkDdiDestroyAllocation, the subresource in DxgkDdiOpenAllocation, private data of an allocation that is made.
 */
#include <string.h>

#include "verify/verify.h"

enum { HASHED_MAX = 1 << 16 }; /* of one thing */

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

static void hash(uint64_t *sum, const void *memory, uint64_t size_bytes)
{
	const uint8_t *bytes = memory;

	if (!memory)
		return;
	if (size_bytes > HASHED_MAX)
		size_bytes = HASHED_MAX;
	for (; size_bytes >= sizeof(uint64_t); size_bytes -= sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes, sizeof(word));
		bytes += sizeof(word);
		*sum = (*sum ^ word) * HASH_FACTOR;
		*sum ^= *sum >> 29;
	}
	for (; size_bytes > 0; size_bytes--)
		*sum = (*sum ^ *bytes++) * HASH_FACTOR;
}

/* ---- those with something behind their pointers ---- */

static void hash_open(uint64_t *sum, const DXGKARG_OPENALLOCATION *args)
{
	hash(sum, args, offsetof(DXGKARG_OPENALLOCATION, SubresourceOffset));
	hash(sum, args->pPrivateDriverData, args->PrivateDriverSize);
	for (UINT i = 0; i < args->NumAllocations; i++) {
		const DXGK_OPENALLOCATIONINFO *info = &args->pOpenAllocation[i];

		hash(sum, info, offsetof(DXGK_OPENALLOCATIONINFO, hDeviceSpecificAllocation));
		if (!args->Flags.Create)
			hash(sum, info->pPrivateDriverData, info->PrivateDriverDataSize);
	}
}

static void hash_destroy(uint64_t *sum, const DXGKARG_DESTROYALLOCATION *args)
{
	hash(sum, args, offsetof(DXGKARG_DESTROYALLOCATION, hResource));
	hash(sum, &args->Flags, sizeof(args->Flags));
	hash(sum, args->pAllocationList,
	     args->NumAllocations * (uint64_t)sizeof(*args->pAllocationList));
}

static void hash_close(uint64_t *sum, const DXGKARG_CLOSEALLOCATION *args)
{
	hash(sum, args, sizeof(*args));
	hash(sum, args->pOpenHandleList,
	     args->NumAllocations * (uint64_t)sizeof(*args->pOpenHandleList));
}

static void hash_patch(uint64_t *sum, const DXGKARG_PATCH *args)
{
	hash(sum, args, sizeof(*args));
	hash(sum, args->pAllocationList,
	     args->AllocationListSize * (uint64_t)sizeof(*args->pAllocationList));
	hash(sum, args->pPatchLocationList,
	     args->PatchLocationListSize * (uint64_t)sizeof(*args->pPatchLocationList));
}

static void hash_map(uint64_t *sum, const DXGKARG_MAPCPUHOSTAPERTURE *args)
{
	hash(sum, args, sizeof(*args));
	hash(sum, args->pCpuHostAperturePages,
	     args->NumberOfPages * sizeof(*args->pCpuHostAperturePages));
	hash(sum, args->pMemorySegmentPages,
	     args->NumberOfPages * sizeof(*args->pMemorySegmentPages));
}

static void hash_unmap(uint64_t *sum, const DXGKARG_UNMAPCPUHOSTAPERTURE *args)
{
	hash(sum, args, sizeof(*args));
	hash(sum, args->pCpuHostAperturePages,
	     args->NumberOfPages * sizeof(*args->pCpuHostAperturePages));
}

static void hash_query(uint64_t *sum, const DXGKARG_QUERYADAPTERINFO *args)
{
	hash(sum, args, sizeof(*args));
	if (args->pInputData != args->pOutputData)
		hash(sum, args->pInputData, args->InputDataSize);
}

/* ---- which ---- */

/* Const, and nothing else is the driver's to read only. */
static const uint16_t plain_bytes[DDI_COUNT] = {
	[DDI_CANCEL_COMMAND] = sizeof(DXGKARG_CANCELCOMMAND),
	[DDI_COLLECT_DBG_INFO] = sizeof(DXGKARG_COLLECTDBGINFO),
	[DDI_ESCAPE] = sizeof(DXGKARG_ESCAPE),
	[DDI_PREEMPT_COMMAND] = sizeof(DXGKARG_PREEMPTCOMMAND),
	[DDI_RESUME_CONTEXT] = sizeof(DXGKARG_RESUMECONTEXT),
	[DDI_SET_ROOT_PAGE_TABLE] = sizeof(DXGKARG_SETROOTPAGETABLE),
	[DDI_SUBMIT_COMMAND] = sizeof(DXGKARG_SUBMITCOMMAND),
	[DDI_SUBMIT_COMMAND_TO_HW_QUEUE] = sizeof(DXGKARG_SUBMITCOMMANDTOHWQUEUE),
	[DDI_SUBMIT_COMMAND_VIRTUAL] = sizeof(DXGKARG_SUBMITCOMMANDVIRTUAL),
	[DDI_SUSPEND_CONTEXT] = sizeof(DXGKARG_SUSPENDCONTEXT),
	[DDI_VALIDATE_UPDATE_ALLOCATION_PROPERTY] = sizeof(DXGKARG_VALIDATEUPDATEALLOCPROPERTY),
};

/* 0: there is nothing to look at. */
static uint64_t sum_of(const struct verify_call *call)
{
	uint64_t sum = 0;

	if (!call->arguments)
		return 0;
	switch ((int)call->ddi) {
	case DDI_OPEN_ALLOCATION:
		hash_open(&sum, call->arguments);
		break;
	case DDI_DESTROY_ALLOCATION:
		hash_destroy(&sum, call->arguments);
		break;
	case DDI_CLOSE_ALLOCATION:
		hash_close(&sum, call->arguments);
		break;
	case DDI_PATCH:
		hash_patch(&sum, call->arguments);
		break;
	case DDI_MAP_CPU_HOST_APERTURE:
		hash_map(&sum, call->arguments);
		break;
	case DDI_UNMAP_CPU_HOST_APERTURE:
		hash_unmap(&sum, call->arguments);
		break;
	case DDI_QUERY_ADAPTER_INFO:
		hash_query(&sum, call->arguments);
		break;
	case DDI_CREATE_ALLOCATION: {
		const DXGKARG_CREATEALLOCATION *args = call->arguments;

		hash(&sum, args->pPrivateDriverData, args->PrivateDriverDataSize);
		break;
	}
	default:
		hash(&sum, call->arguments, plain_bytes[call->ddi]);
		break;
	}
	return sum;
}

static void before(struct verify_call *call, void *state)
{
	(void)state;
	call->kept[VERIFY_WATCH_inputs] = sum_of(call);
}

static void after(struct verify_call *call, void *state)
{
	(void)state;
	if (sum_of(call) != call->kept[VERIFY_WATCH_inputs])
		nt_report(RULE_DDI_PRIVATE_DATA_IN,
			  "%s changed what it was given to read: its arguments, or what they point "
			  "to",
			  ddi_infos[call->ddi].name);
}

const struct verify_watching verify_watch_inputs = {
	.before = before,
	.after = after,
};
