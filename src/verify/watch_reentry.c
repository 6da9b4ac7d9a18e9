/* SPDX-License-Identifier: MIT */
/*
 * watch_reentry.c - entry points of level 0 stand several processes at once: what a driver makes of the same request
 * does not depend on who else is in it (DDI-LEVEL0-REENTRANT).
 *
 * What a driver answers to a request (an allocation of this private data, a context like this) is kept, by a checksum of
 * each, when the thread was alone at level 0. An answer that is another while others were in the driver is a suspicion;
 * it is reported when the old answer comes again to a thread that is alone. If it does not, the driver has simply
 * changed its mind, and nothing is said of that request any more.
 */
#include <stdatomic.h>
#include <string.h>

#include "verify/verify.h"

enum { REQUESTS = 512, SURE = 2 };

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct request {
	uint64_t key; /* 0: free */
	uint64_t answer;
	uint64_t suspicious; /* an answer in company that was another; 0: none */
	uint32_t times;      /* that the answer came to a thread alone */
	bool is_fickle;
};

struct reentry {
	_Atomic uint64_t entered; /* calls of level 0, ever */
	_Atomic int inside;
	struct lock lock;                  /* LOCK_RANK_LEAF */
	struct request requests[REQUESTS]; /* guarded by lock */
};

/* Of the call of level 0 that the thread is in. */
static _Thread_local struct {
	uint64_t entered;
	bool is_alone;
} now;

static void begin(struct verify_adapter *adapter, void *state)
{
	struct reentry *reentry = state;

	(void)adapter;
	lock_init(&reentry->lock, LOCK_RANK_LEAF, "verified requests");
}

static void end(struct verify_adapter *adapter, void *state)
{
	struct reentry *reentry = state;

	(void)adapter;
	lock_finish(&reentry->lock);
}

/* ---- checksums ---- */

static void hash_number(uint64_t *sum, uint64_t number)
{
	*sum = (*sum ^ number) * HASH_FACTOR;
	*sum ^= *sum >> 29;
}

static void hash_bytes(uint64_t *sum, const void *memory, uint32_t size_bytes)
{
	const uint8_t *bytes = memory;

	hash_number(sum, size_bytes);
	for (uint32_t i = 0; bytes && i < size_bytes; i++)
		*sum = (*sum ^ bytes[i]) * HASH_FACTOR;
}

/* 0: it is none that is looked at. */
static uint64_t key_of(const struct verify_call *call)
{
	uint64_t sum = (uint64_t)call->ddi + 1;

	if (call->ddi == DDI_CREATE_ALLOCATION) {
		const DXGKARG_CREATEALLOCATION *args = call->arguments;

		if (args->NumAllocations != 1)
			return 0;
		hash_number(&sum, args->Flags.Value);
		hash_bytes(&sum, args->pPrivateDriverData, args->PrivateDriverDataSize);
		hash_bytes(&sum, args->pAllocationInfo[0].pPrivateDriverData,
			   args->pAllocationInfo[0].PrivateDriverDataSize);
		return sum | 1;
	}
	if (call->ddi == DDI_CREATE_CONTEXT) {
		const DXGKARG_CREATECONTEXT *args = call->arguments;

		hash_number(&sum, args->NodeOrdinal);
		hash_number(&sum, args->Flags.Value);
		hash_bytes(&sum, args->pPrivateDriverData, args->PrivateDriverDataSize);
		return sum | 1;
	}
	return 0;
}

static uint64_t answer_of(const struct verify_call *call)
{
	uint64_t sum = 0;

	if (call->ddi == DDI_CREATE_ALLOCATION) {
		const DXGK_ALLOCATIONINFO *info =
			&((const DXGKARG_CREATEALLOCATION *)call->arguments)->pAllocationInfo[0];

		hash_number(&sum, info->Size);
		hash_number(&sum, info->Alignment);
		hash_number(&sum, info->PitchAlignedSize);
		hash_number(&sum, info->PreferredSegment.Value);
		hash_number(&sum, info->SupportedWriteSegmentSet);
		hash_number(&sum, info->EvictionSegmentSet);
		hash_number(&sum, info->Flags.Value);
	} else {
		const DXGK_CONTEXTINFO *info =
			&((const DXGKARG_CREATECONTEXT *)call->arguments)->ContextInfo;

		hash_number(&sum, info->DmaBufferSize);
		hash_number(&sum, info->DmaBufferSegmentSet);
		hash_number(&sum, info->DmaBufferPrivateDataSize);
		hash_number(&sum, info->AllocationListSize);
		hash_number(&sum, info->PatchLocationListSize);
	}
	return sum | 1;
}

/* ---- judging ---- */

/* True: it is to be reported. */
static bool answer_judge(struct request *request, uint64_t answer, bool was_alone)
{
	if (request->is_fickle)
		return false;
	if (!was_alone) {
		if (request->times >= SURE && answer != request->answer)
			request->suspicious = answer;
		return false;
	}
	if (request->times == 0) {
		request->answer = answer;
	} else if (answer != request->answer) {
		request->is_fickle = true;
		return false;
	}
	request->times++;
	bool is_proven = request->suspicious != 0;
	request->suspicious = 0;
	return is_proven;
}

static bool judge(struct reentry *reentry, uint64_t key, uint64_t answer, bool was_alone)
{
	struct request *request = &reentry->requests[key / 2 % REQUESTS];

	lock_acquire(&reentry->lock);
	if (request->key != key)
		*request = (struct request){ .key = key };
	bool is_broken = answer_judge(request, answer, was_alone);
	lock_release(&reentry->lock);
	return is_broken;
}

static bool is_of_level_0(const struct verify_call *call)
{
	return !call->outer && ddi_infos[call->ddi].level == DDI_LEVEL_0;
}

static void before(struct verify_call *call, void *state)
{
	struct reentry *reentry = state;

	if (!is_of_level_0(call))
		return;
	now.is_alone = atomic_fetch_add(&reentry->inside, 1) == 0;
	now.entered = atomic_fetch_add(&reentry->entered, 1) + 1;
	call->kept[VERIFY_WATCH_reentry] = key_of(call);
}

static void after(struct verify_call *call, void *state)
{
	struct reentry *reentry = state;
	uint64_t key = call->kept[VERIFY_WATCH_reentry];

	if (!is_of_level_0(call))
		return;
	atomic_fetch_sub(&reentry->inside, 1);
	if (key == 0 || !NT_SUCCESS(call->status))
		return;
	bool was_alone = now.is_alone && atomic_load(&reentry->entered) == now.entered;
	if (judge(reentry, key, answer_of(call), was_alone))
		nt_report(RULE_DDI_LEVEL0_REENTRANT,
			  "%s answered the same request in another way while another thread was in "
			  "the "
			  "driver",
			  ddi_infos[call->ddi].name);
}

const struct verify_watching verify_watch_reentry = {
	.state_bytes = sizeof(struct reentry),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
};
