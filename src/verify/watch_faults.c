/* SPDX-License-Identifier: MIT */
/*
 * watch_faults.c - faults that are injected where kernel and driver meet, by the plan of the run.
 *
 * The last of the watches: what it changes, the others do not see. A fault that the kernel would take for a mistake of the
 * driver's, an interrupt that is heard twice for one, is expected for the whole run (nt_report_expect()).
 *
 * Calls are counted from the moment the adapter has started, so that a number means the same whatever a driver asks for
 * in DriverEntry. Allocations are counted from the first.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "nt/memory_faults.h"
#include "verify/faults.h"
#include "verify/requests.h"
#include "verify/start.h"

struct faults_state {
	_Atomic bool is_started;
	_Atomic uint64_t calls;
	_Atomic uint64_t interrupts;
	_Atomic uint64_t callbacks;
	struct late_interrupts *late;
};

static struct plan_of_faults plan;
static _Atomic bool has_fired;
static _Atomic uint64_t allocations;
static _Atomic bool has_started; /* some adapter has */

static struct lock random_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "faults by chance");
static struct random chance; /* guarded by random_lock */

/* ---- the plan ---- */

const struct fault *fault_planned(enum fault_kind kind)
{
	for (uint32_t i = 0; i < plan.count; i++) {
		if (plan.faults[i].kind == kind)
			return &plan.faults[i];
	}
	return NULL;
}

void fault_note(void)
{
	atomic_store_explicit(&has_fired, true, memory_order_relaxed);
}

bool fault_wants_restart(void)
{
	bool wants = fault_planned(FAULT_RESTART) != NULL;

	if (wants)
		fault_note();
	return wants;
}

bool verify_fault_has_fired(void)
{
	return atomic_load_explicit(&has_fired, memory_order_relaxed);
}

/* From 0 to below `bound`, by the seed of the run. */
static uint64_t fault_random(uint64_t bound)
{
	lock_acquire(&random_lock);
	uint64_t number = random_below(&chance, bound);
	lock_release(&random_lock);
	return number;
}

/* True in so many of a hundred cases, likewise. */
static bool fault_chance(uint64_t percent)
{
	return fault_random(100) < percent;
}

/* Counts, and is true when this is the n-th. */
static bool is_nth(_Atomic uint64_t *count, const struct fault *fault)
{
	return atomic_fetch_add_explicit(count, 1, memory_order_relaxed) + 1 == fault->number;
}

UINT fault_small_buffer(UINT capacity)
{
	enum { TINY_BYTES = 64 };

	if (!fault_planned(FAULT_SMALL_TABLES) || capacity < 2)
		return capacity;
	fault_note();
	/* Half of the time not even one command fits. */
	UINT most = fault_chance(50) && capacity > TINY_BYTES ? TINY_BYTES : capacity;
	return 1 + (UINT)fault_random(most - 1);
}

/* ---- memory ---- */

static bool memory_fails(void)
{
	const struct fault *nth = fault_planned(FAULT_MEMORY_NTH);
	const struct fault *random = fault_planned(FAULT_MEMORY_RANDOM);
	bool fails = (nth && is_nth(&allocations, nth)) ||
		     (random && atomic_load(&has_started) && fault_chance(random->number));

	if (fails)
		fault_note();
	return fails;
}

/* ---- callbacks ---- */

/* What a driver has to be ready for when there is too little of something. */
static bool may_fail(enum verify_callback_id id, NTSTATUS *status_out)
{
	switch (id) {
	case VERIFY_CB_AllocateContiguousMemory:
	case VERIFY_CB_AllocatePagesForMdl:
	case VERIFY_CB_CreateContextAllocation:
	case VERIFY_CB_ReserveGpuVirtualAddressRange:
	case VERIFY_CB_UpdateContextAllocation:
		*status_out = STATUS_NO_MEMORY;
		return true;
	case VERIFY_CB_MapMemory:
		*status_out = STATUS_INSUFFICIENT_RESOURCES;
		return true;
	case VERIFY_CB_MapContextAllocation: /* answers 0 */
		*status_out = STATUS_SUCCESS;
		return true;
	case VERIFY_CB_GetDeviceInformation:
	case VERIFY_CB_ReadDeviceSpace:
	case VERIFY_CB_WriteDeviceSpace:
		*status_out = STATUS_UNSUCCESSFUL;
		return true;
	case VERIFY_CB_AcquireHandleData:
	case VERIFY_CB_DestroyContextAllocation:
	case VERIFY_CB_EnumHandleChildren:
	case VERIFY_CB_FreeContiguousMemory:
	case VERIFY_CB_FreePagesFromMdl:
	case VERIFY_CB_GetHandleData:
	case VERIFY_CB_GetHandleParent:
	case VERIFY_CB_NotifyDpc:
	case VERIFY_CB_NotifyInterrupt:
	case VERIFY_CB_QueueDpc:
	case VERIFY_CB_ReleaseHandleData:
	case VERIFY_CB_SignalEvent:
	case VERIFY_CB_SynchronizeExecution:
	case VERIFY_CB_UnmapMemory:
	case VERIFY_CALLBACK_COUNT:
		break;
	}
	return false;
}

static void callback_fail(struct verify_callback *callback, struct faults_state *faults)
{
	const struct fault *fault = fault_planned(FAULT_CALLBACK_NTH);
	NTSTATUS status;

	if (!fault || !may_fail(callback->id, &status) ||
	    (fault->name[0] && strcmp(fault->name, verify_callback_names[callback->id]) != 0) ||
	    !is_nth(&faults->callbacks, fault))
		return;
	fault_note();
	callback->is_answered = true;
	callback->status = status;
	callback->result = 0;
}

static void interrupt_change(struct verify_callback *callback, struct faults_state *faults)
{
	const struct fault *lost = fault_planned(FAULT_INTERRUPT_LOST);
	const struct fault *doubled = fault_planned(FAULT_INTERRUPT_DOUBLED);
	uint64_t number =
		atomic_fetch_add_explicit(&faults->interrupts, 1, memory_order_relaxed) + 1;

	callback->is_answered = lost && lost->number == number;
	callback->is_repeated = doubled && doubled->number == number;
	if (!callback->is_answered && faults->late)
		callback->is_answered = late_interrupts_keep(faults->late, callback->arguments);
	if (callback->is_answered || callback->is_repeated)
		fault_note();
}

static void callback_before(struct verify_callback *callback, void *state)
{
	struct faults_state *faults = state;

	if (plan.count == 0)
		return;
	if (callback->id == VERIFY_CB_NotifyInterrupt && callback->arguments)
		interrupt_change(callback, faults);
	else
		callback_fail(callback, faults);
}

/* ---- calls ---- */

static const struct {
	enum fault_kind kind;
	enum verify_request request;
} requests_at[] = {
	{ FAULT_RESET_AT, VERIFY_REQUEST_RESET },
	{ FAULT_ENGINE_RESET_AT, VERIFY_REQUEST_RESET_ENGINE },
	{ FAULT_REMOVE_AT, VERIFY_REQUEST_REMOVE },
};

static void request_if_due(const struct verify_call *call, uint64_t number)
{
	uint32_t adapter = call->adapter->miniport->adapter_id;

	for (size_t i = 0; i < ARRAY_SIZE(requests_at); i++) {
		const struct fault *fault = fault_planned(requests_at[i].kind);

		if (fault && fault->number == number) {
			fault_note();
			verify_request_post(adapter, requests_at[i].request);
		}
	}
}

/* Once for each thing that a client does: paging makes calls of its own, and would go on for ever. */
static void disturb(const struct verify_call *call)
{
	uint32_t adapter = call->adapter->miniport->adapter_id;

	const DXGKARG_SUBMITCOMMANDVIRTUAL *submission =
		call->ddi == DDI_SUBMIT_COMMAND_VIRTUAL ? call->arguments : NULL;

	if (call->ddi != DDI_CREATE_ALLOCATION && call->ddi != DDI_RENDER &&
	    call->ddi != DDI_SUBMIT_COMMAND_TO_HW_QUEUE && !submission)
		return;
	if (submission && submission->Flags.Paging)
		return;
	if (fault_planned(FAULT_EVICT_ALWAYS)) {
		fault_note();
		verify_request_post(adapter, VERIFY_REQUEST_EVICT);
	}
	if (fault_planned(FAULT_MOVE_ALWAYS)) {
		fault_note();
		verify_request_post(adapter, VERIFY_REQUEST_MOVE);
	}
}

bool verify_makes_requests(void)
{
	bool makes = fault_planned(FAULT_EVICT_ALWAYS) || fault_planned(FAULT_MOVE_ALWAYS);

	for (size_t i = 0; i < ARRAY_SIZE(requests_at); i++)
		makes = makes || fault_planned(requests_at[i].kind);
	return makes;
}

static void time_pass(const struct verify_call *call, const struct faults_state *faults)
{
	const struct fault *jump = fault_planned(FAULT_TIME_JUMP);
	const struct fault *late = fault_planned(FAULT_LATE_DPC);

	if (late && call->ddi == DDI_DPC_ROUTINE) {
		fault_note();
		clock_sleep_until(clock_deadline(fault_random(late->number) + 1));
	}
	/* Not while hardware works: what runs would be late, and rightly so. */
	if (jump && call->ddi == DDI_CREATE_ALLOCATION && atomic_load(&faults->is_started) &&
	    fault_chance(25)) {
		fault_note();
		clock_jump(jump->number);
	}
}

/* Nothing is known yet about where anything is: all of it goes to the patch list. */
static void prepatch_forget(DXGKARG_RENDER *render)
{
	for (UINT i = 0; i < render->AllocationListSize; i++) {
		render->pAllocationList[i].SegmentId = 0;
		render->pAllocationList[i].PhysicalAddress.QuadPart = 0;
	}
	fault_note();
}

/* With every allocation one page further, where it may well be for all the driver knows. */
static void patch_before(const struct verify_call *call)
{
	const DXGKARG_PATCH *real = call->arguments;
	DXGKARG_PATCH first = *real;
	DXGK_ALLOCATIONLIST *moved = mem_zalloc_array(real->AllocationListSize + 1, sizeof(*moved));

	if (!moved)
		return;
	for (UINT i = 0; i < real->AllocationListSize; i++) {
		moved[i] = real->pAllocationList[i];
		if (moved[i].SegmentId != 0)
			moved[i].PhysicalAddress.QuadPart += PAGE_SIZE;
	}
	first.pAllocationList = moved;
	fault_note();
	(void)call->adapter->miniport->driver.DxgkDdiPatch((HANDLE)call->handle, &first);
	mem_free(moved);
}

static void late_begin(struct verify_adapter *adapter, struct faults_state *faults)
{
	const struct fault *late = fault_planned(FAULT_INTERRUPT_LATE);
	bool is_reordered = fault_planned(FAULT_INTERRUPT_REORDERED) != NULL;

	if ((late || is_reordered) && !faults->late &&
	    !NT_SUCCESS(late_interrupts_create(adapter->miniport, late ? late->number : NS_PER_MS,
					       is_reordered, &faults->late)))
		log_warn("DXGK_FAULT: no memory for interrupts that come late");
}

/* What was said before it is heard before it, as from hardware. */
static bool ends_interrupts(enum ddi ddi)
{
	return ddi == DDI_STOP_DEVICE || ddi == DDI_RESET_FROM_TIMEOUT || ddi == DDI_RESET_ENGINE ||
	       ddi == DDI_RESET_HW_ENGINE;
}

static void render_before(struct verify_call *call)
{
	if (fault_planned(FAULT_NO_PREPATCH))
		prepatch_forget(call->arguments);
	if (fault_planned(FAULT_USER_MEMORY_VANISHES))
		call->lent = user_memory_lend(call->arguments, true);
	else if (fault_planned(FAULT_USER_MEMORY_CHANGES))
		call->lent = user_memory_lend(call->arguments, false);
}

static void before(struct verify_call *call, void *state)
{
	struct faults_state *faults = state;

	if (plan.count == 0)
		return;
	if (atomic_load(&faults->is_started)) {
		request_if_due(call, atomic_fetch_add(&faults->calls, 1) + 1);
		disturb(call);
	}
	time_pass(call, faults);
	if (call->ddi == DDI_START_DEVICE)
		late_begin(call->adapter, faults);
	else if (ends_interrupts(call->ddi) && faults->late)
		late_interrupts_flush(faults->late);
	else if (call->ddi == DDI_RENDER)
		render_before(call);
	else if (call->ddi == DDI_PATCH && fault_planned(FAULT_REPATCH_ALWAYS))
		patch_before(call);
}

static void after(struct verify_call *call, void *state)
{
	struct faults_state *faults = state;

	if (call->lent)
		user_memory_take_back(call->lent, call->arguments);
	if (call->ddi == DDI_START_DEVICE && NT_SUCCESS(call->status)) {
		atomic_store(&faults->is_started, true);
		atomic_store(&has_started, true);
	} else if (call->ddi == DDI_STOP_DEVICE) {
		atomic_store(&faults->is_started, false);
	}
}

static void end(struct verify_adapter *adapter, void *state)
{
	struct faults_state *faults = state;

	(void)adapter;
	late_interrupts_destroy(faults->late);
}

const struct verify_watching verify_watch_faults = {
	.state_bytes = sizeof(struct faults_state),
	.before = before,
	.after = after,
	.callback_before = callback_before,
	.end = end,
};

/* ---- the start ---- */

static const struct {
	enum fault_kind kind;
	enum rule rule;
} expected[] = {
	{ FAULT_INTERRUPT_LOST, RULE_DDI_COMPLETION_LOST },
	{ FAULT_INTERRUPT_LATE, RULE_DDI_COMPLETION_LOST },
	{ FAULT_INTERRUPT_LATE, RULE_DDI_COMPLETION_FENCE },
	{ FAULT_INTERRUPT_REORDERED, RULE_DDI_COMPLETION_LOST },
	{ FAULT_INTERRUPT_REORDERED, RULE_DDI_COMPLETION_FENCE },
	{ FAULT_INTERRUPT_DOUBLED, RULE_DDI_COMPLETION_DOUBLED },
	{ FAULT_INTERRUPT_DOUBLED, RULE_DDI_COMPLETION_FENCE },
	/* The call in which the clock goes forward is not the driver's to hurry. */
	{ FAULT_TIME_JUMP, RULE_DDI_TIME },
	{ FAULT_LATE_DPC, RULE_DDI_TIME },
};

static uint64_t seed_of_run(void)
{
	const char *seed = getenv("DXGK_SEED");

	return seed ? strtoull(seed, NULL, 10) : 0;
}

void faults_start(void)
{
	const char *text = getenv("DXGK_FAULT");
	char problem[160];

	if (!text || !*text)
		return;
	if (!fault_plan_read(text, &plan, problem, sizeof(problem))) {
		log_warn("DXGK_FAULT: %s; nothing is made to fail", problem);
		plan.count = 0;
		return;
	}
	random_init(&chance, seed_of_run() ^ UINT64_C(0x6661756c7473));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		if (fault_planned(expected[i].kind))
			nt_report_expect(expected[i].rule);
	}
	nt_memory_fail_by(memory_fails);
}
