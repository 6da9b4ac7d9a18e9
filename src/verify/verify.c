/* SPDX-License-Identifier: MIT */
/*
 * verify.c - see verify.h.
 *
 * Whose call it is stands in the crossing that the thread is in; whose callback, in its handle, which is compared with
 * those of the adapters that are verified and never looked into: a driver may hand in anything.
 */
#include <stdatomic.h>

#include "base/mem.h"
#include "nt/lock_graph.h"
#include "nt/pool.h"
#include "nt/verify.h"
#include "verify/adapters.h"
#include "verify/faults.h"
#include "verify/pool_events.h"
#include "verify/start.h"
#include "verify/verify.h"

static const struct verify_watching *const watches[VERIFY_WATCH_COUNT] = {
#define WATCH(name) [VERIFY_WATCH_##name] = &verify_watch_##name,
#include "verify/watches.def"
#undef WATCH
};

const char *const verify_callback_names[VERIFY_CALLBACK_COUNT] = {
#define VERIFY_CALLBACK(name) [VERIFY_CB_##name] = "DxgkCb" #name,
#include "verify/callbacks.def"
#undef VERIFY_CALLBACK
};

static _Thread_local struct verify_call *innermost;

struct verify_call *verify_call_innermost(void)
{
	return innermost;
}

/* ---- calls ---- */

void verify_call_begin(struct verify_call *call, enum ddi ddi, const void *handle, void *arguments)
{
	struct miniport *miniport = ddi_innermost->miniport;

	call->adapter = miniport->verified;
	call->ddi = ddi;
	call->handle = handle;
	call->arguments = arguments;
	call->routine = ddi_routine(miniport, ddi);
	call->outer = innermost;
	call->status = STATUS_PENDING;
	call->result = 0;
	innermost = call;
	for (unsigned i = 0; i < VERIFY_WATCH_COUNT; i++) {
		if (watches[i]->before)
			watches[i]->before(call, call->adapter->states[i]);
	}
}

void verify_call_end(struct verify_call *call, NTSTATUS status, uint64_t result)
{
	call->status = status;
	call->result = result;
	nt_entered.routine = call->routine;
	for (unsigned i = VERIFY_WATCH_COUNT; i-- > 0;) {
		if (watches[i]->after)
			watches[i]->after(call, call->adapter->states[i]);
	}
	innermost = call->outer;
}

/* ---- callbacks ---- */

bool verify_callback_begin(struct verify_callback *callback, enum verify_callback_id id,
			   const void *handle, void *arguments)
{
	verify_time_stop();
	callback->adapter = verify_adapter_of(handle);
	callback->id = id;
	callback->handle = handle;
	callback->arguments = arguments;
	callback->is_answered = false;
	callback->is_repeated = false;
	callback->status = STATUS_PENDING;
	callback->result = 0;
	/* Those that are about a handle of the kernel name no adapter. */
	if (!callback->adapter && innermost)
		callback->adapter = innermost->adapter;
	for (unsigned i = 0; callback->adapter && i < VERIFY_WATCH_COUNT; i++) {
		if (watches[i]->callback_before)
			watches[i]->callback_before(callback, callback->adapter->states[i]);
	}
	return !callback->is_answered;
}

void verify_callback_end(struct verify_callback *callback, NTSTATUS status, uint64_t result)
{
	callback->status = status;
	callback->result = result;
	for (unsigned i = VERIFY_WATCH_COUNT; callback->adapter && i-- > 0;) {
		if (watches[i]->callback_after)
			watches[i]->callback_after(callback, callback->adapter->states[i]);
	}
	verify_time_go_on();
}

void verify_routine_begin(struct verify_callback *callback)
{
	for (unsigned i = 0; callback->adapter && i < VERIFY_WATCH_COUNT; i++) {
		if (watches[i]->routine_before)
			watches[i]->routine_before(callback, callback->adapter->states[i]);
	}
}

void verify_routine_end(struct verify_callback *callback)
{
	for (unsigned i = VERIFY_WATCH_COUNT; callback->adapter && i-- > 0;) {
		if (watches[i]->routine_after)
			watches[i]->routine_after(callback, callback->adapter->states[i]);
	}
}

/* ---- adapters ---- */

static void adapter_destroy(struct verify_adapter *adapter)
{
	for (unsigned i = 0; i < VERIFY_WATCH_COUNT; i++)
		mem_free_aside(adapter->states[i]);
	mem_free_aside(adapter);
}

static struct verify_adapter *adapter_create(struct miniport *miniport)
{
	struct verify_adapter *adapter = mem_zalloc_aside(sizeof(*adapter));

	if (!adapter)
		return NULL;
	adapter->miniport = miniport;
	for (unsigned i = 0; i < VERIFY_WATCH_COUNT; i++) {
		if (watches[i]->state_bytes == 0)
			continue;
		adapter->states[i] = mem_zalloc_aside(watches[i]->state_bytes);
		if (!adapter->states[i]) {
			adapter_destroy(adapter);
			return NULL;
		}
	}
	return adapter;
}

static NTSTATUS adopt(struct miniport *miniport)
{
	struct verify_adapter *adapter = adapter_create(miniport);

	if (!adapter)
		return refuse_no_memory("There is no memory for the verifier");
	if (!verify_adapter_list(adapter)) {
		adapter_destroy(adapter);
		return refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_DDI_NOT_BUILT, NULL,
			      "There are %d verified adapters already", VERIFY_ADAPTERS_MAX);
	}
	for (unsigned i = 0; i < VERIFY_WATCH_COUNT; i++) {
		if (watches[i]->begin)
			watches[i]->begin(adapter, adapter->states[i]);
	}
	miniport->verified = adapter;
	verify_entries_replace(&miniport->ddi);
	return STATUS_SUCCESS;
}

static void give_interface(struct miniport *miniport)
{
	verify_callbacks_replace(&miniport->interface);
}

static void release(struct miniport *miniport)
{
	struct verify_adapter *adapter = miniport->verified;

	if (!adapter)
		return;
	for (unsigned i = VERIFY_WATCH_COUNT; i-- > 0;) {
		if (watches[i]->end)
			watches[i]->end(adapter, adapter->states[i]);
	}
	verify_adapter_unlist(adapter);
	adapter_destroy(adapter);
}

void verify_start(void)
{
	static const struct miniport_verifier verifier = {
		.adopt = adopt,
		.give_interface = give_interface,
		.wants_restart = fault_wants_restart,
		.release = release,
	};

	if (nt_verify_wants(NT_VERIFY_REFILL))
		nt_pool_fill_with(POOL_OTHER_FRESH_BYTE);
	if (!nt_verify_wants(NT_VERIFY_RULES))
		return;
	faults_start();
	miniport_verify_with(&verifier);
	pool_events_start();
	if (!NT_SUCCESS(nt_lock_graph_start()))
		log_warn("There is no memory to look at the order of locks");
}
