/* SPDX-License-Identifier: MIT */
/*
 * embed.c - the kernel inside the client's own process.
 *
 *	not started ──first call──▶ running ──exit──▶ ended
 *
 * One client, so one process object, unless a test makes more (guest.h). It ends with
 * D3DKMTCloseDxCoreDevice (and a new one begins with the next call) or with the program; adapters
 * start with the first call and stop at exit, after everything the client left was destroyed. Calls
 * pass a gate that both kinds of end close.
 *
 * A forked child has our memory but none of our threads, and the parent's drivers are not its own:
 * it is refused, and its exit destroys nothing.
 *
 * Ways in hold cancellation off, so that a thread comes out again (base/cancel.h). The kernel starts on a
 * thread of its own: loading drivers needs more stack than the threads of some clients have.
 */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/gate.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own_fd.h"
#include "base/refusal.h"
#include "base/sim.h"
#include "base/thread.h"
#include "embed/adapter_watch.h"
#include "embed/config.h"
#include "embed/control.h"
#include "embed/embed.h"
#include "embed/fault_requests.h"
#include "embed/guest.h"
#include "dispatch/control_request.h"
#include "dispatch/dispatch.h"
#include "dispatch/path.h"
#include "object/submit/adapter_work.h"
#include "object/owner/kernel.h"
#include "object/owner/notification.h"
#include "object/check/validate.h"
#include "nt/fault.h"
#include "trace/trace.h"
#include "wire/call.h"
#include "wire/embed.h"
#include "verify/start.h"

enum embed_state {
	EMBED_NOT_STARTED,
	EMBED_RUNNING,
	EMBED_RUNNING_SLOWLY, /* a call may be of another than the program, or a step of a seeded run */
	EMBED_ENDED,
	EMBED_FORKED,
};

enum { SIMULATED_PID = 1 };

/* For calls to end. */
#define CHECK_PATIENCE_NS (20 * NS_PER_MS)

static struct {
	struct gate gate; /* LOCK_RANK_KERNEL; closed to start and to end */

	/* Changed with the gate closed, or in a forked child that is still alone. */
	_Atomic enum embed_state state;
	struct dxg_kernel kernel;
	struct call_door door;
	struct dxgk_ways ways;
	uint64_t handles_drawn; /* by the processes before this one: theirs stay stale */

	_Atomic uint32_t slow_calls; /* under way; one of them starts the kernel */
} embed = { .gate = GATE_INITIALIZER(LOCK_RANK_KERNEL, "embedded kernel") };

/* Calls come in by the door while it runs, and nothing more has to be known of them. */
static void embed_set_state(enum embed_state state)
{
	atomic_store(&embed.state, state);
	atomic_store(&embed.door.is_open, state == EMBED_RUNNING);
}

static bool kernel_runs(void)
{
	enum embed_state state = atomic_load(&embed.state);

	return state == EMBED_RUNNING || state == EMBED_RUNNING_SLOWLY;
}

/* The gate is shut. */
static void embed_end_process(void)
{
	if (embed.door.process)
		process_cancel_waits(embed.door.process);
	gate_drain(&embed.gate);
	if (embed.door.process)
		embed.handles_drawn = handle_table_drawn(&embed.door.process->handles);
	process_destroy(embed.door.process);
	embed.door.process = NULL;
}

static void embed_end(void)
{
	nt_faults_exit();
	if (atomic_load(&embed.state) == EMBED_FORKED || atomic_load(&embed.state) == EMBED_ENDED)
		return;
	int before = cancel_hold_off();
	thread_enter_kernel();
	guests_end();
	gate_shut(&embed.gate);
	if (kernel_runs()) {
		embed_end_process();
		kernel_end(&embed.kernel);
	}
	embed_set_state(EMBED_ENDED);
	gate_open(&embed.gate);
	control_stop();
	verify_requests_stop();
	trace_finish();
	thread_leave_kernel();
	cancel_give_back(before);
}

/* Before the first call there is nothing that is the parent's, and the child starts its own. */
static void embed_forked(void)
{
	if (atomic_load(&embed.state) != EMBED_NOT_STARTED || atomic_load(&embed.slow_calls) != 0)
		embed_set_state(EMBED_FORKED);
}

__attribute__((constructor)) static void embed_follow_fork(void)
{
	thread_on_fork(embed_forked);
}

/* Everybody who is in a call rests, and nobody comes: for a recount. False: somebody goes on in one. */
static bool embed_close(void)
{
	uint64_t deadline_ns = clock_deadline(CHECK_PATIENCE_NS);

	if (!gate_close_to_look_until(&embed.gate, deadline_ns))
		return false;
	if (guests_close_until(deadline_ns))
		return true;
	gate_open(&embed.gate);
	return false;
}

static void embed_open(void)
{
	guests_open();
	gate_open(&embed.gate);
}

static void embed_go_in(void)
{
	gate_enter(&embed.gate);
}

static void embed_come_out(void)
{
	gate_leave(&embed.gate);
}

static void embed_name_busy(char *names, size_t size_bytes)
{
	guests_name_busy(names, size_bytes);
	if (!names[0])
		snprintf(names, size_bytes, "%s", program_invocation_short_name);
}

/* Waits at the gate like every call, and finds the kernel ended when it opens for the last time. */
static void embed_control(const struct control_request *request, void *body,
			  struct control_reply *reply)
{
	thread_enter_kernel();
	if (request->kind == CONTROL_CHECK) {
		static const struct control_doors doors = {
			.close = embed_close,
			.open = embed_open,
			.go_in = embed_go_in,
			.come_out = embed_come_out,
			.name_busy = embed_name_busy,
		};
		control_check(&embed.kernel, &doors, request, body, reply);
		thread_leave_kernel();
		return;
	}
	gate_enter(&embed.gate);
	control_request_run(&embed.kernel, kernel_runs() ? embed.door.process : NULL, request, body,
			    reply);
	gate_leave(&embed.gate);
	thread_leave_kernel();
}

/* What a plan of faults has happen to an adapter; at the gate, as a call is. */
static void embed_do_to_adapter(uint32_t adapter_id, enum verify_request request)
{
	gate_enter(&embed.gate);
	if (kernel_runs())
		fault_request_carry_out(&embed.kernel, adapter_id, request);
	gate_leave(&embed.gate);
}

/* The first call of all: load the profile's drivers. The gate is closed. */
static NTSTATUS embed_start_kernel(void)
{
	NTSTATUS status = config_start(&embed.kernel, getenv("DXGK_PROFILE"), false);

	if (!NT_SUCCESS(status))
		return status;
	atexit(embed_end);
	embed_set_state(sim_is_on() ? EMBED_RUNNING_SLOWLY : EMBED_RUNNING);
	control_start(getenv("DXGK_CONTROL"), embed_control);
	if (verify_makes_requests())
		verify_requests_serve(embed_do_to_adapter);
	return STATUS_SUCCESS;
}

/* In a seeded run nothing of the host is to be seen: two runs are the same. */
static NTSTATUS embed_create_process(void)
{
	struct process_identity identity = {
		.pid = sim_is_on() ? SIMULATED_PID : (uint32_t)getpid(),
		.user = sim_is_on() ? 0 : getuid(),
		.is_controller = true, /* of a kernel that is its own */
		.calls = { &embed.gate },
	};

	snprintf(identity.name, sizeof(identity.name), "%s", program_invocation_short_name);
	return process_create(&embed.kernel, &identity, NULL, &embed.door.process);
}

static NTSTATUS embed_begin(void)
{
	NTSTATUS status = STATUS_SUCCESS;

	gate_shut(&embed.gate);
	/* Another thread was faster, and its call may wait for something this thread will do. */
	if (embed.door.process) {
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
	case EMBED_RUNNING_SLOWLY:
	case EMBED_FORKED:
		break;
	}
	if (NT_SUCCESS(status))
		status = embed_create_process();
	if (NT_SUCCESS(status))
		handle_table_continue(&embed.door.process->handles, embed.handles_drawn);
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
		return refuse_no_memory("no memory to start the kernel");
	beginning->call = call;
	/* Before the first of our threads. */
	own_fd_prepare();
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
	return LIKELY(embed.door.process != NULL);
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

static NTSTATUS refuse_ended(const char *call)
{
	struct refusal_scope scope;

	refusal_begin(&scope, call);
	NTSTATUS status = refuse(STATUS_DEVICE_REMOVED, RULE_SYS_ENDED, NULL,
				 "the process that calls has ended");
	refusal_end_call(&scope, status);
	return status;
}

static NTSTATUS embed_call_for(struct guest *guest, uint32_t id, void *arguments)
{
	int before = cancel_hold_off();

	thread_enter_kernel();
	struct dxg_process *process = guest_go_in(guest);
	const char *speaker = log_speak_for(guest_name(guest));
	NTSTATUS status = process ? dispatch_call(&embed.kernel, process, id, arguments)
				  : refuse_ended(call_describe(id)->name);
	(void)log_speak_for(speaker);
	guest_come_out(guest);
	thread_leave_kernel();
	cancel_give_back(before);
	return status;
}

/* The first call, one after the end, one in a forked child, one of a seeded run, one of a guest. */
RARE static NTSTATUS embed_call_slowly(uint32_t id, void *arguments)
{
	NTSTATUS status = STATUS_SUCCESS;
	bool is_done = false;
	int before;

	if (atomic_load_explicit(&embed.state, memory_order_relaxed) == EMBED_FORKED)
		return embed_refuse_child(id);
	if (guest_current())
		return embed_call_for(guest_current(), id, arguments);
	before = cancel_hold_off();
	atomic_fetch_add(&embed.slow_calls, 1);
	thread_enter_kernel();
	while (NT_SUCCESS(status) && !is_done) {
		gate_enter(&embed.gate);
		is_done = embed_is_running();
		if (is_done)
			status = dispatch_call(&embed.kernel, embed.door.process, id, arguments);
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
	[CALL_create_synchronization_object2] = true,
	[CALL_destroy_synchronization_object] = true,
	[CALL_signal_synchronization_object_from_cpu] = true,
	[CALL_wait_for_synchronization_object_from_cpu] = true,
};

static NTSTATUS embed_call_held_off(void *door, void *arguments, uint32_t id)
{
	int before = cancel_hold_off();
	NTSTATUS status = dispatch_paths[id](door, arguments, id);

	cancel_give_back(before);
	return status;
}

static NTSTATUS embed_call(uint32_t id, void *arguments)
{
	assert(id < CALL_COUNT);
	return embed.ways.calls[id](&embed.door, arguments, id);
}

__attribute__((constructor)) static void embed_make_ways(void)
{
	embed.door.elsewhere = embed_call_slowly;
	embed.door.gate = &embed.gate;
	embed.door.kernel = &embed.kernel;
	embed.ways.door = &embed.door;
	for (uint32_t id = 0; id < CALL_COUNT; id++)
		embed.ways.calls[id] = is_quick[id] ? dispatch_paths[id] : embed_call_held_off;
}

static void embed_close_process(void)
{
	if (!kernel_runs())
		return;
	int before = cancel_hold_off();
	thread_enter_kernel();
	if (guest_current()) {
		guest_close(guest_current());
	} else {
		gate_shut(&embed.gate);
		embed_end_process();
		gate_open(&embed.gate);
	}
	thread_leave_kernel();
	cancel_give_back(before);
}

bool embed_validate(char *wrong, size_t wrong_size)
{
	bool is_valid = true;

	thread_enter_kernel();
	gate_close_to_look(&embed.gate);
	guests_close();
	if (kernel_runs())
		is_valid = kernel_validate(&embed.kernel, wrong, wrong_size);
	guests_open();
	gate_open(&embed.gate);
	thread_leave_kernel();
	return is_valid;
}

void embed_look_inside(void **kernel_out, void **process_out)
{
	*kernel_out = kernel_runs() ? &embed.kernel : NULL;
	*process_out = kernel_runs() ? embed.door.process : NULL;
}

bool embed_remove_adapter(uint64_t luid, bool is_surprise)
{
	struct dxg_adapter *adapter = NULL;

	thread_enter_kernel();
	gate_enter(&embed.gate);
	if (kernel_runs())
		adapter = kernel_find_adapter(&embed.kernel, luid);
	if (adapter)
		adapter_remove(adapter, is_surprise);
	gate_leave(&embed.gate);
	thread_leave_kernel();
	return adapter != NULL;
}

NTSTATUS embed_control_adapter(uint64_t luid, const char *name,
			       NTSTATUS (*control)(struct dxg_adapter *adapter))
{
	NTSTATUS status = STATUS_NO_SUCH_DEVICE;
	struct dxg_adapter *adapter = NULL;
	struct refusal_scope scope;

	thread_enter_kernel();
	gate_enter(&embed.gate);
	refusal_begin(&scope, name);
	if (kernel_runs())
		adapter = kernel_find_adapter(&embed.kernel, luid);
	if (adapter)
		status = control(adapter);
	refusal_end_call(&scope, status);
	gate_leave(&embed.gate);
	thread_leave_kernel();
	return status;
}

struct guest *embed_create_guest(const struct process_identity *identity,
				 const struct process_arena *arena)
{
	struct guest *guest = NULL;
	struct refusal_scope scope;

	thread_enter_kernel();
	gate_enter(&embed.gate);
	refusal_begin(&scope, "dxgk_test_process_create");
	NTSTATUS status = STATUS_DEVICE_REMOVED;
	if (kernel_runs())
		status = guest_create(&embed.kernel, identity, arena, &guest);
	if (NT_SUCCESS(status) && arena)
		guest_show_here(guest);
	if (NT_SUCCESS(status))
		embed_set_state(EMBED_RUNNING_SLOWLY); /* it runs, and no end comes meanwhile */
	refusal_end_call(&scope, status);
	gate_leave(&embed.gate);
	thread_leave_kernel();
	return guest;
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

static NTSTATUS listen_here(struct dxg_process *process, struct dxgk_embed_listener *listener,
			    const uint64_t *luids, uint32_t count)
{
	const struct notification_target target = {
		.deliver = deliver_news,
		.callback = (void (*)(void))listener->tell,
		.context = listener,
		.release = release_listener,
	};

	if (!process)
		return refuse(STATUS_DEVICE_REMOVED, RULE_SYS_ENDED, NULL,
			      "the process has no kernel to listen to");
	return adapter_watch(&embed.kernel, process, listener->news, luids, count, &target);
}

/*
 * Passes the gate as a call does; false in a forked child, whose parent has the kernel. The process may
 * have ended: NULL.
 */
static bool embed_enter(int *cancel_state, struct dxg_process **process_out)
{
	if (!kernel_runs())
		return false;
	*cancel_state = cancel_hold_off();
	thread_enter_kernel();
	if (guest_current()) {
		*process_out = guest_go_in(guest_current());
		return true;
	}
	gate_enter(&embed.gate);
	*process_out = embed.door.process;
	return true;
}

static void embed_leave(int cancel_state)
{
	if (guest_current())
		guest_come_out(guest_current());
	else
		gate_leave(&embed.gate);
	thread_leave_kernel();
	cancel_give_back(cancel_state);
}

static NTSTATUS embed_listen(struct dxgk_embed_listener *listener, const uint64_t *luids,
			     uint32_t count)
{
	NTSTATUS status = STATUS_DEVICE_REMOVED;
	struct dxg_process *process;
	struct refusal_scope scope;
	int before;

	if (!embed_enter(&before, &process))
		return status;
	refusal_begin(&scope, "RegisterEventNotification");
	status = listen_here(process, listener, luids, count);
	refusal_end_call(&scope, status);
	embed_leave(before);
	return status;
}

static void embed_unlisten(struct dxgk_embed_listener *listener)
{
	NTSTATUS status = STATUS_SUCCESS;
	struct dxg_process *process;
	struct refusal_scope scope;
	int before;

	if (!embed_enter(&before, &process))
		return;
	refusal_begin(&scope, "UnregisterEventNotification");
	if (process)
		status = notification_unwatch(process, listener);
	refusal_end_call(&scope, status);
	embed_leave(before);
}

EXPORTED void dxgk_end(void)
{
	embed_end();
}

EXPORTED const struct dxgk_embed *dxgk_embed(void)
{
	static const struct dxgk_embed table = {
		.version = DXGK_EMBED_VERSION,
		.call_count = CALL_COUNT,
		.call = embed_call,
		.ways = &embed.ways,
		.last_refusal = refusal_last,
		.close_process = embed_close_process,
		.listen = embed_listen,
		.unlisten = embed_unlisten,
	};

	return &table;
}
