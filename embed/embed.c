/* SPDX-License-Identifier: MIT */
/*
 * embed.c - the kernel inside the client's own process.
 *
 *	not started ──first call──▶ running ──exit──▶ ended
 *
 * One client, so one process object. It ends with D3DKMTCloseDxCoreDevice (and a new one begins
 * with the next call) or with the program; adapters start with the first call and stop at exit,
 * after everything the client left was destroyed. Calls pass a gate that both kinds of end close.
 *
 * A forked child has our memory but none of our threads, and the parent's drivers are not its own:
 * it is refused, and its exit destroys nothing.
 *
 * Ways in hold cancellation off, so that a thread comes out again (base/cancel.h). The kernel starts on a
 * thread of its own: loading drivers needs more stack than the threads of some clients have.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/cancel.h"
#include "base/gate.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/refusal_carry.h"
#include "base/sim.h"
#include "base/thread.h"
#include "embed/config.h"
#include "embed/control.h"
#include "embed/embed.h"
#include "dispatch/control_request.h"
#include "dispatch/dispatch.h"
#include "dispatch/path.h"
#include "object/submit/adapter_work.h"
#include "object/owner/kernel.h"
#include "object/owner/notification.h"
#include "object/check/validate.h"
#include "trace/trace.h"
#include "wire/call.h"
#include "wire/embed.h"

enum embed_state { EMBED_NOT_STARTED, EMBED_RUNNING, EMBED_ENDED, EMBED_FORKED };

static struct {
	struct gate gate; /* LOCK_RANK_KERNEL; closed to start and to end */

	/* Changed with the gate closed, or in a forked child that is still alone. */
	_Atomic enum embed_state state;
	struct dxg_kernel kernel;
	struct dxg_process *process;
	uint32_t last_process_id;
	uint64_t handles_drawn; /* by the processes before this one: theirs stay stale */

	_Atomic uint32_t slow_calls; /* under way; one of them starts the kernel */
} embed = { .gate = GATE_INITIALIZER(LOCK_RANK_KERNEL, "embedded kernel") };

/* The gate is shut. */
static void embed_end_process(void)
{
	if (embed.process)
		process_cancel_waits(embed.process);
	gate_drain(&embed.gate);
	if (embed.process)
		embed.handles_drawn = handle_table_drawn(&embed.process->handles);
	process_destroy(embed.process);
	embed.process = NULL;
}

static void embed_end(void)
{
	if (atomic_load(&embed.state) == EMBED_FORKED)
		return;
	int before = cancel_hold_off();
	thread_enter_kernel();
	gate_shut(&embed.gate);
	if (atomic_load(&embed.state) == EMBED_RUNNING) {
		embed_end_process();
		kernel_end(&embed.kernel);
	}
	atomic_store(&embed.state, EMBED_ENDED);
	gate_open(&embed.gate);
	control_stop();
	trace_finish();
	thread_leave_kernel();
	cancel_give_back(before);
}

/* Before the first call there is nothing that is the parent's, and the child starts its own. */
static void embed_forked(void)
{
	if (atomic_load(&embed.state) != EMBED_NOT_STARTED || atomic_load(&embed.slow_calls) != 0)
		atomic_store(&embed.state, EMBED_FORKED);
}

__attribute__((constructor)) static void embed_follow_fork(void)
{
	thread_on_fork(embed_forked);
}

/* Waits at the gate like every call, and finds the kernel ended when it opens for the last time. */
static void embed_control(const struct control_request *request, void *body,
			  struct control_reply *reply)
{
	thread_enter_kernel();
	gate_enter(&embed.gate);
	bool is_running = atomic_load(&embed.state) == EMBED_RUNNING;
	control_request_run(&embed.kernel, is_running ? embed.process : NULL, request, body, reply);
	gate_leave(&embed.gate);
	thread_leave_kernel();
}

/* Said also when nobody asked for refusals, and once: every call tries to start anew. */
static void embed_say_why_not(void)
{
	static char said[sizeof(((struct dxgk_refusal *)0)->reason)];
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	if (log_is_on(LOG_REFUSALS) || !refusal_last(&why) || strcmp(said, why.reason) == 0)
		return;
	memcpy(said, why.reason, sizeof(said));
	log_error("%s", why.reason);
}

/* The first call of all: load the profile's drivers. The gate is closed. */
static NTSTATUS embed_start_kernel(void)
{
	static bool has_checked_topics;
	const char *profile = getenv("DXGK_PROFILE");
	struct config config;

	if (!has_checked_topics)
		log_check_topics();
	has_checked_topics = true;
	NTSTATUS status = config_read(profile && *profile ? profile : NULL, &config);
	if (!NT_SUCCESS(status)) {
		embed_say_why_not();
		return status;
	}
	status = kernel_start(&embed.kernel, config.adapters, config.adapter_count);
	config_finish(&config);
	if (!NT_SUCCESS(status))
		return status;
	atexit(embed_end);
	atomic_store(&embed.state, EMBED_RUNNING);
	control_start(getenv("DXGK_CONTROL"), embed_control);
	return STATUS_SUCCESS;
}

static NTSTATUS embed_begin(void)
{
	NTSTATUS status = STATUS_SUCCESS;

	gate_shut(&embed.gate);
	/* Another thread was faster, and its call may wait for something this thread will do. */
	if (embed.process) {
		gate_open(&embed.gate);
		return STATUS_SUCCESS;
	}
	gate_drain(&embed.gate);
	switch (atomic_load(&embed.state)) {
	case EMBED_NOT_STARTED:
		status = embed_start_kernel();
		break;
	case EMBED_ENDED:
		status = refuse(STATUS_DEVICE_REMOVED, RULE_SYS_ENDED, NULL,
				"the kernel has ended with the program");
		break;
	case EMBED_RUNNING:
	case EMBED_FORKED:
		break;
	}
	if (NT_SUCCESS(status))
		status = process_create(++embed.last_process_id, &embed.kernel.shares,
					&embed.process);
	if (NT_SUCCESS(status))
		handle_table_continue(&embed.process->handles, embed.handles_drawn);
	gate_open(&embed.gate);
	return status;
}

/* A beginning on another thread. */
struct beginning {
	const char *call;
	NTSTATUS status;
	bool has_refused;
	struct dxgk_refusal refusal;
};

static void embed_begin_for(void *context)
{
	struct beginning *beginning = context;
	struct refusal_scope scope;

	refusal_begin(&scope, beginning->call);
	beginning->status = embed_begin();
	refusal_end(&scope);
	beginning->refusal.size_bytes = sizeof(beginning->refusal);
	beginning->has_refused = refusal_last(&beginning->refusal);
}

static NTSTATUS embed_begin_apart(const char *call)
{
	struct beginning *beginning = mem_zalloc(sizeof(*beginning));
	struct thread *thread;

	if (!beginning)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory to start the kernel");
	beginning->call = call;
	NTSTATUS status = thread_create("start", embed_begin_for, beginning, &thread);
	if (NT_SUCCESS(status)) {
		thread_join(thread);
		status = beginning->status;
		if (beginning->has_refused)
			refusal_carry(&beginning->refusal);
	} else {
		status = refuse(status, RULE_API_NO_MEMORY, NULL,
				"no memory for a thread that starts the kernel");
	}
	mem_free(beginning);
	return status;
}

/* Does the kernel run, with the gate passed? It has a process as long as it does. */
static bool embed_is_running(void)
{
	return LIKELY(embed.process != NULL);
}

/* Takes no lock: whoever held one in the parent is not here to release it. */
static NTSTATUS embed_refuse_child(uint32_t id)
{
	struct refusal_scope scope;

	refusal_begin(&scope, call_describe(id)->name);
	NTSTATUS status = refuse(STATUS_NOT_SUPPORTED, RULE_SYS_FORK, NULL,
				 "the parent's kernel does not live in a forked child; exec first");
	refusal_end_call(&scope, status);
	return status;
}

/* The first call, one after the end, one in a forked child, one of a seeded run. */
RARE static NTSTATUS embed_call_slowly(uint32_t id, void *arguments)
{
	NTSTATUS status = STATUS_SUCCESS;
	bool is_done = false;
	int before;

	if (atomic_load_explicit(&embed.state, memory_order_relaxed) == EMBED_FORKED)
		return embed_refuse_child(id);
	before = cancel_hold_off();
	atomic_fetch_add(&embed.slow_calls, 1);
	thread_enter_kernel();
	while (NT_SUCCESS(status) && !is_done) {
		gate_enter(&embed.gate);
		is_done = embed_is_running();
		if (is_done)
			status = dispatch_call(&embed.kernel, embed.process, id, arguments);
		gate_leave(&embed.gate);
		if (is_done)
			break;

		struct refusal_scope scope;
		refusal_begin(&scope, call_describe(id)->name);
		status = atomic_load(&embed.state) == EMBED_NOT_STARTED
				 ? embed_begin_apart(scope.call)
				 : embed_begin();
		refusal_end_call(&scope, status);
	}
	thread_leave_kernel();
	atomic_fetch_sub(&embed.slow_calls, 1);
	cancel_give_back(before);
	return status;
}

/* Made all the time, and they come to no cancellation point that does not hold off by itself. */
static const bool is_quick[CALL_COUNT] = {
	[CALL_create_allocation2] = true,
	[CALL_destroy_allocation2] = true,
	[CALL_make_resident] = true,
	[CALL_evict] = true,
	[CALL_offer_allocations] = true,
	[CALL_reclaim_allocations2] = true,
	[CALL_lock2] = true,
	[CALL_unlock2] = true,
	[CALL_submit_command] = true,
	[CALL_submit_command_to_hw_queue] = true,
};

static NTSTATUS embed_call_here(uint32_t id, void *arguments)
{
	if (UNLIKELY(sim_is_on() ||
		     atomic_load_explicit(&embed.state, memory_order_relaxed) != EMBED_RUNNING))
		return embed_call_slowly(id, arguments);
	gate_enter(&embed.gate);
	if (UNLIKELY(!embed_is_running())) {
		gate_leave(&embed.gate);
		return embed_call_slowly(id, arguments);
	}
	NTSTATUS status = dispatch_call_here(&embed.kernel, embed.process, id, arguments);
	gate_leave(&embed.gate);
	return status;
}

static NTSTATUS embed_call(uint32_t id, void *arguments)
{
	if (LIKELY(id < CALL_COUNT && is_quick[id]))
		return embed_call_here(id, arguments);
	int before = cancel_hold_off();
	NTSTATUS status = embed_call_here(id, arguments);

	cancel_give_back(before);
	return status;
}

static void embed_close_process(void)
{
	if (atomic_load(&embed.state) != EMBED_RUNNING)
		return;
	int before = cancel_hold_off();
	thread_enter_kernel();
	gate_shut(&embed.gate);
	embed_end_process();
	gate_open(&embed.gate);
	thread_leave_kernel();
	cancel_give_back(before);
}

bool embed_validate(char *wrong, size_t wrong_size)
{
	bool is_valid = true;

	thread_enter_kernel();
	gate_close(&embed.gate);
	if (atomic_load(&embed.state) == EMBED_RUNNING)
		is_valid = kernel_validate(&embed.kernel, embed.process, wrong, wrong_size);
	gate_open(&embed.gate);
	thread_leave_kernel();
	return is_valid;
}

void embed_look_inside(void **kernel_out, void **process_out)
{
	bool is_running = atomic_load(&embed.state) == EMBED_RUNNING;

	*kernel_out = is_running ? &embed.kernel : NULL;
	*process_out = is_running ? embed.process : NULL;
}

bool embed_remove_adapter(uint64_t luid, bool is_surprise)
{
	struct dxg_adapter *adapter = NULL;

	thread_enter_kernel();
	gate_enter(&embed.gate);
	if (atomic_load(&embed.state) == EMBED_RUNNING)
		adapter = kernel_find_adapter(&embed.kernel, luid);
	if (adapter)
		adapter_remove(adapter, is_surprise);
	gate_leave(&embed.gate);
	thread_leave_kernel();
	return adapter != NULL;
}

/* ---- listeners ---- */

static void deliver_news(void (*callback)(void), const struct notification_message *message)
{
	((void (*)(struct dxgk_embed_listener *))callback)(message->context);
}

static void release_listener(void *context)
{
	struct dxgk_embed_listener *listener = context;

	listener->release(listener);
}

static NTSTATUS join_adapters(const uint64_t *luids, uint32_t count,
			      struct process_adapter **process_adapters)
{
	NTSTATUS status = STATUS_SUCCESS;

	if (count > KERNEL_MAX_ADAPTERS)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_COUNT, NULL,
			      "%u adapters are more than there can be", count);
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++) {
		struct dxg_adapter *adapter = kernel_find_adapter(&embed.kernel, luids[i]);

		status =
			adapter ? process_join_adapter(embed.process, adapter, &process_adapters[i])
				: refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, NULL,
					 "there is no adapter %llx", (unsigned long long)luids[i]);
	}
	return status;
}

static NTSTATUS listen_here(struct dxgk_embed_listener *listener, const uint64_t *luids,
			    uint32_t count)
{
	static const enum notification_kind kinds[] = {
		[DXGK_EMBED_BUDGET] = NOTIFICATION_ANY_BUDGET,
		[DXGK_EMBED_LOSS] = NOTIFICATION_LOSS,
		[DXGK_EMBED_AT_FIRST] = NOTIFICATION_AT_FIRST,
	};
	const struct notification_target target = {
		.kind = kinds[listener->news],
		.deliver = deliver_news,
		.callback = (void (*)(void))listener->tell,
		.context = listener,
		.release = release_listener,
	};
	struct process_adapter *process_adapters[KERNEL_MAX_ADAPTERS];
	NTSTATUS status;

	if (!embed_is_running())
		return refuse(STATUS_DEVICE_REMOVED, RULE_SYS_ENDED, NULL,
			      "the process has no kernel to listen to");
	status = join_adapters(luids, count, process_adapters);
	if (NT_SUCCESS(status))
		status = notification_watch(embed.process, process_adapters, count, &target);
	return status;
}

/* Passes the gate as a call does; false in a forked child, whose parent has the kernel. */
static bool embed_enter(int *cancel_state)
{
	if (atomic_load(&embed.state) != EMBED_RUNNING)
		return false;
	*cancel_state = cancel_hold_off();
	thread_enter_kernel();
	gate_enter(&embed.gate);
	return true;
}

static void embed_leave(int cancel_state)
{
	gate_leave(&embed.gate);
	thread_leave_kernel();
	cancel_give_back(cancel_state);
}

static NTSTATUS embed_listen(struct dxgk_embed_listener *listener, const uint64_t *luids,
			     uint32_t count)
{
	NTSTATUS status = STATUS_DEVICE_REMOVED;
	struct refusal_scope scope;
	int before;

	if (!embed_enter(&before))
		return status;
	refusal_begin(&scope, "RegisterEventNotification");
	status = listen_here(listener, luids, count);
	refusal_end_call(&scope, status);
	embed_leave(before);
	return status;
}

static void embed_unlisten(struct dxgk_embed_listener *listener)
{
	NTSTATUS status = STATUS_SUCCESS;
	struct refusal_scope scope;
	int before;

	if (!embed_enter(&before))
		return;
	refusal_begin(&scope, "UnregisterEventNotification");
	if (embed_is_running())
		status = notification_unwatch(embed.process, listener);
	refusal_end_call(&scope, status);
	embed_leave(before);
}

EXPORTED const struct dxgk_embed *dxgk_embed(void)
{
	static const struct dxgk_embed table = {
		.version = DXGK_EMBED_VERSION,
		.call_count = CALL_COUNT,
		.call = embed_call,
		.last_refusal = refusal_last,
		.close_process = embed_close_process,
		.listen = embed_listen,
		.unlisten = embed_unlisten,
	};

	return &table;
}
