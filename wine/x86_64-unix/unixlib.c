/* SPDX-License-Identifier: MIT */
/*
 * unixlib.c - dxgkwine.so: the table that Wine finds, and how the pair begins and ends.
 */
#include <dlfcn.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "wine/x86_64-unix/pair_unix.h"

enum { END_PATIENCE_MS = 10000 };

/* ---- the end of a thread ---- */

void pair_hold_end_off(sigset_t *before)
{
	sigset_t end;

	sigemptyset(&end);
	sigaddset(&end, SIGQUIT);
	(void)sigprocmask(SIG_BLOCK, &end, before);
}

void pair_allow_end(const sigset_t *before)
{
	(void)sigprocmask(SIG_SETMASK, before, NULL);
}

/* A call that may wait for long, and needs no conversion. */
#define WAITING(id, name)                                                                          \
	static NTSTATUS waiting_##id(void *args)                                                   \
	{                                                                                          \
		sigset_t before;                                                                   \
		pair_hold_end_off(&before);                                                        \
		NTSTATUS status = name(args);                                                      \
		pair_allow_end(&before);                                                           \
		return status;                                                                     \
	}

WAITING(acquire_keyed_mutex, D3DKMTAcquireKeyedMutex)
WAITING(acquire_keyed_mutex2, D3DKMTAcquireKeyedMutex2)
WAITING(destroy_allocation, D3DKMTDestroyAllocation)
WAITING(destroy_context, D3DKMTDestroyContext)
WAITING(destroy_device, D3DKMTDestroyDevice)
WAITING(destroy_paging_queue, D3DKMTDestroyPagingQueue)
WAITING(lock, D3DKMTLock)

/* ---- refusals of our own ---- */

/* The kernel's last one on this thread when ours was told: if it has another by now, that is newer. */
static _Thread_local unsigned long long kernel_refusals_before;
static _Thread_local bool has_refused;

static unsigned long long kernel_refusals(void)
{
	struct dxgk_refusal last = { .size_bytes = sizeof(last) };

	return DxgkLastRefusal(&last) ? last.sequence : 0;
}

void pair_refusal_begin(struct refusal_scope *scope, const char *call)
{
	refusal_begin(scope, call);
}

NTSTATUS pair_refusal_end(struct refusal_scope *scope, NTSTATUS status)
{
	if (refusal_end_call(scope, status)) {
		kernel_refusals_before = kernel_refusals();
		has_refused = true;
	}
	return status;
}

static NTSTATUS pair_last_refusal(void *refusal)
{
	if (has_refused && kernel_refusals() == kernel_refusals_before)
		return refusal_last(refusal);
	return DxgkLastRefusal(refusal);
}

static NTSTATUS pair_refuse(void *which)
{
	static const struct {
		const char *name;
		const char *reason;
	} refused[] = {
#define REFUSED(name, reason)       { #name, reason },
#define REFUSED_FALSE(name, reason) { #name, reason },
#include "refused.inc"
#undef REFUSED
#undef REFUSED_FALSE
	};
	struct refusal_scope scope;

	pair_refusal_begin(&scope, refused[*(uint32_t *)which].name);
	return pair_refusal_end(&scope, refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, NULL,
					       "it %s", refused[*(uint32_t *)which].reason));
}

/* ---- begin and end ---- */

static NTSTATUS pair_attach(void *args)
{
	const struct pair_attach *attach = args;

	if (attach->pair_count != PAIR_COUNT || attach->refused_count != REFUSED_COUNT ||
	    strcmp(attach->version, DXGK_VERSION) != 0) {
		log_error("dxgkwine.dll and dxgkwine.so are not of the same build");
		return STATUS_REVISION_MISMATCH;
	}
	if (!ntdll_find()) {
		log_error("dxgkwine.so: this Wine has no functions to share handles with");
		return STATUS_PROCEDURE_NOT_FOUND;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS pair_close(void *args)
{
	sigset_t before;

	pair_hold_end_off(&before);
	D3DKMTCloseDxCoreDevice();
	callbacks_forget();
	events_forget();
	pair_allow_end(&before);
	return STATUS_SUCCESS;
}

/* The embedded kernel, if there is one: drivers stop, and a trace is written to its end. */
static void end_kernel(void *done)
{
	void *kernel = dlopen("libdxgk.so.0", RTLD_NOW | RTLD_NOLOAD);
	void (*end)(void) = NULL;

	D3DKMTCloseDxCoreDevice();
	if (kernel)
		*(void **)&end = dlsym(kernel, "dxgk_end");
	if (end)
		end();
	(void)eventfd_write(*(int *)done, 1);
}

/*
 * The other threads have been ended by now. One that was in the kernel just then is waited for in vain, so this is done on
 * another thread and not for ever.
 */
static NTSTATUS pair_detach(void *args)
{
	static int done;
	struct pollfd ready = { .events = POLLIN };
	struct thread *thread;

	done = eventfd(0, EFD_CLOEXEC);
	ready.fd = done;
	if (done < 0 || !NT_SUCCESS(thread_create("end", end_kernel, &done, &thread)))
		return STATUS_NO_MEMORY;
	thread_detach(thread);
	if (poll(&ready, 1, END_PATIENCE_MS) == 0)
		log_warn("the program ended inside a call: its kernel did not end in order");
	return STATUS_SUCCESS;
}

static NTSTATUS pair_park(void *callback)
{
	return callbacks_park(callback);
}

static NTSTATUS pair_parked(void *args)
{
	events_set_parked();
	return STATUS_SUCCESS;
}

static NTSTATUS pair_empty(void *args)
{
	return STATUS_SUCCESS;
}

/* ---- the table ---- */

static NTSTATUS set_process_class(void *args)
{
	const struct wire_process_class *class = args;

	return D3DKMTSetProcessSchedulingPriorityClass(class->hProcess, class->Class);
}

static NTSTATUS get_process_class(void *args)
{
	struct wire_process_class *class = args;

	return D3DKMTGetProcessSchedulingPriorityClass(class ? class->hProcess : NULL,
						       class ? &class->Class : NULL);
}

#define CONVERTED(id) [CALL_##id] = pair_##id
#define WAITS(id)     [CALL_##id] = waiting_##id

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"

/* What is done, by number. */
static pair_function *const targets[] = {
#define CALL(id, name, type, constness, ...)  [CALL_##id] = FUNCTION(name),
#define CALL_NOT_BUILT(name, type, constness) [CALL_##name] = FUNCTION(name),
#define CALL_OWN_THUNK(id, name, type, constness, ...)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
	[CALL_set_process_scheduling_priority_class] = set_process_class,
	[CALL_get_process_scheduling_priority_class] = get_process_class,
	WAITS(acquire_keyed_mutex),
	WAITS(acquire_keyed_mutex2),
	WAITS(destroy_allocation),
	WAITS(destroy_context),
	WAITS(destroy_device),
	WAITS(destroy_paging_queue),
	WAITS(lock),
	CONVERTED(query_adapter_info),
	CONVERTED(share_objects),
	CONVERTED(open_nt_handle_from_name),
	CONVERTED(open_sync_object_nt_handle_from_name),
	CONVERTED(query_resource_info_from_nt_handle),
	CONVERTED(open_resource_from_nt_handle),
	CONVERTED(open_keyed_mutex_from_nt_handle),
	CONVERTED(open_sync_object_from_nt_handle2),
	CONVERTED(get_shared_resource_adapter_luid),
	CONVERTED(escape),
	CONVERTED(create_sync_file),
	CONVERTED(create_allocation),
	CONVERTED(create_allocation2),
	CONVERTED(wait_for_synchronization_object_from_cpu),
	CONVERTED(create_synchronization_object2),
	CONVERTED(destroy_synchronization_object),
	CONVERTED(signal_synchronization_object2),
	CONVERTED(signal_synchronization_object_from_gpu2),
	CONVERTED(register_trim_notification),
	CONVERTED(unregister_trim_notification),
	CONVERTED(register_budget_change_notification),
	CONVERTED(unregister_budget_change_notification),
	[PAIR_ATTACH] = pair_attach,
	[PAIR_DETACH] = pair_detach,
	[PAIR_CLOSE] = pair_close,
	[PAIR_REFUSE] = pair_refuse,
	[PAIR_LAST_REFUSAL] = pair_last_refusal,
	[PAIR_PARK] = pair_park,
	[PAIR_PARKED] = pair_parked,
	[PAIR_EMPTY] = pair_empty,
};
#pragma GCC diagnostic pop

/*
 * How it is entered. Call stacks, which the kernel takes of drivers, end here: what is above is of Wine's, on another stack, and cannot be
 * followed. So the call is not the last thing that is done.
 */
#define ENTER(number)                                                                              \
	static NTSTATUS enter_##number(void *args)                                                 \
	{                                                                                          \
		__asm__ volatile(".cfi_undefined rip");                                            \
		NTSTATUS status = targets[number](args);                                           \
		__asm__ volatile("" ::: "memory");                                                 \
		return status;                                                                     \
	}
#define CALL(id, name, type, constness, ...)  ENTER(CALL_##id)
#define CALL_NOT_BUILT(name, type, constness) ENTER(CALL_##name)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
ENTER(PAIR_ATTACH)
ENTER(PAIR_DETACH)
ENTER(PAIR_CLOSE)
ENTER(PAIR_REFUSE)
ENTER(PAIR_LAST_REFUSAL)
ENTER(PAIR_PARK)
ENTER(PAIR_PARKED)
ENTER(PAIR_EMPTY)

/* Wine looks for it by this name, and calls by number. */
EXPORTED pair_function *const __wine_unix_call_funcs[];
EXPORTED pair_function *const __wine_unix_call_funcs[] = {
#define CALL(id, name, type, constness, ...)  [CALL_##id] = enter_CALL_##id,
#define CALL_NOT_BUILT(name, type, constness) [CALL_##name] = enter_CALL_##name,
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
	[PAIR_ATTACH] = enter_PAIR_ATTACH,
	[PAIR_DETACH] = enter_PAIR_DETACH,
	[PAIR_CLOSE] = enter_PAIR_CLOSE,
	[PAIR_REFUSE] = enter_PAIR_REFUSE,
	[PAIR_LAST_REFUSAL] = enter_PAIR_LAST_REFUSAL,
	[PAIR_PARK] = enter_PAIR_PARK,
	[PAIR_PARKED] = enter_PAIR_PARKED,
	[PAIR_EMPTY] = enter_PAIR_EMPTY,
};

_Static_assert(ARRAY_SIZE(targets) == PAIR_COUNT, "every number has a function");
