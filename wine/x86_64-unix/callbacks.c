/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c - trim and budget callbacks of a Windows program. The kernel's threads are none that Wine knows, and
 * may not run code of the program: what they have to tell is queued for the parked thread, which calls it.
 *
 * So the kernel does not wait for a callback, and one may unregister itself. Who unregisters another returns when it is not
 * running any more, as everywhere.
 *
 * Lock: `lock` guards the lists; `running` is the registration that is being called, 0 for none.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "wine/x86_64-unix/pair_unix.h"

enum callback_kind { CALLBACK_TRIM, CALLBACK_BUDGET };

struct registration {
	struct list link;
	uint32_t id; /* from 1; the kernel knows it as the context */
	enum callback_kind kind;
	uint64_t function;
	void *context;
	void *handle; /* the kernel's; NULL while it is being made */
};

struct message {
	struct list link;
	uint32_t registration;
	struct pair_callback callback;
};

static struct {
	struct lock lock;
	struct list registrations;
	struct list messages;
	uint32_t last_id;
	_Atomic uint32_t running;
	uint32_t parked_thread; /* thread_id() */
} callbacks = { .lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "callbacks of Wine"),
		.registrations = { &callbacks.registrations, &callbacks.registrations },
		.messages = { &callbacks.messages, &callbacks.messages } };

_Static_assert(sizeof(D3DKMT_TRIMNOTIFICATION) == sizeof(((struct pair_callback *)0)->words),
	       "the words of a callback");
_Static_assert(sizeof(D3DKMT_BUDGETCHANGENOTIFICATION) <=
		       sizeof(((struct pair_callback *)0)->words),
	       "the words of a callback");

/* ---- from the kernel ---- */

static struct registration *find_locked(uint32_t id)
{
	lock_assert_held(&callbacks.lock);
	list_each (struct registration, registration, &callbacks.registrations, link)
		if (registration->id == id)
			return registration;
	return NULL;
}

/* On a thread of the kernel. Without memory nobody is told, as of everything that is only news. */
static void queue(void *id, const void *notification, size_t bytes)
{
	struct message *message = mem_zalloc(sizeof(*message));
	struct registration *registration;

	if (!message)
		return;
	message->registration = (uint32_t)(uintptr_t)id;
	memcpy(message->callback.words, notification, bytes);
	lock_acquire(&callbacks.lock);
	registration = find_locked(message->registration);
	if (registration) {
		message->callback.function = registration->function;
		message->callback.words[0] = (uintptr_t)registration->context;
		list_push_back(&callbacks.messages, &message->link);
	}
	lock_release(&callbacks.lock);
	if (registration)
		events_wake();
	else
		mem_free(message);
}

static void on_trim(D3DKMT_TRIMNOTIFICATION *notification)
{
	_Static_assert(offsetof(D3DKMT_TRIMNOTIFICATION, Context) == 0, "the first word");
	queue(notification->Context, notification, sizeof(*notification));
}

static void on_budget(D3DKMT_BUDGETCHANGENOTIFICATION *notification)
{
	_Static_assert(offsetof(D3DKMT_BUDGETCHANGENOTIFICATION, Context) == 0, "the first word");
	queue(notification->Context, notification, sizeof(*notification));
}

/* ---- to the program ---- */

static struct message *next_message(void)
{
	struct message *message;

	lock_acquire(&callbacks.lock);
	message = list_pop(struct message, &callbacks.messages, link);
	atomic_store(&callbacks.running, message ? message->registration : 0);
	lock_release(&callbacks.lock);
	if (!message)
		thread_wake_all(&callbacks.running);
	return message;
}

NTSTATUS callbacks_park(struct pair_callback *callback)
{
	struct message *message;
	sigset_t before;

	pair_hold_end_off(&before);
	callbacks.parked_thread = thread_id();
	while ((message = next_message()) == NULL)
		events_wait(&before);
	/* Another one than before may be running now. */
	thread_wake_all(&callbacks.running);
	*callback = message->callback;
	mem_free(message);
	pair_allow_end(&before);
	return STATUS_SUCCESS;
}

/* ---- registering ---- */

static NTSTATUS registration_create(enum callback_kind kind, uint64_t function, void *context,
				    uint32_t *id_out)
{
	struct registration *registration;

	if (!events_are_parked())
		return PAIR_NEEDS_PARKED;
	registration = mem_zalloc(sizeof(*registration));
	if (!registration)
		return refuse_no_memory("no memory to register a callback");
	registration->kind = kind;
	registration->function = function;
	registration->context = context;
	lock_acquire(&callbacks.lock);
	registration->id = *id_out = ++callbacks.last_id;
	list_push_back(&callbacks.registrations, &registration->link);
	lock_release(&callbacks.lock);
	return STATUS_SUCCESS;
}

static void registration_set_handle(uint32_t id, void *handle)
{
	struct registration *registration;

	lock_acquire(&callbacks.lock);
	registration = find_locked(id);
	if (registration)
		registration->handle = handle;
	lock_release(&callbacks.lock);
}

/* Nobody is told by it any more when this returns, but who asks from inside it. */
static void registration_end(uint32_t id)
{
	struct registration *registration;
	struct list gone;
	uint32_t running;

	list_init(&gone);
	lock_acquire(&callbacks.lock);
	registration = find_locked(id);
	if (registration)
		list_remove(&registration->link);
	list_each_safe (struct message, message, &callbacks.messages, link) {
		if (message->registration != id)
			continue;
		list_remove(&message->link);
		list_push_back(&gone, &message->link);
	}
	lock_release(&callbacks.lock);
	mem_free(registration);
	list_drain (struct message, message, &gone, link)
		mem_free(message);
	if (thread_id() == callbacks.parked_thread)
		return;
	while ((running = atomic_load(&callbacks.running)) == id)
		(void)thread_wait(&callbacks.running, running, CLOCK_FOREVER);
}

static NTSTATUS register_trim(D3DKMT_REGISTERTRIMNOTIFICATION *args)
{
	D3DKMT_REGISTERTRIMNOTIFICATION own = *args;
	uint32_t id = 0;

	NTSTATUS status =
		registration_create(CALLBACK_TRIM, (uintptr_t)args->Callback, args->Context, &id);
	if (status != STATUS_SUCCESS)
		return status;
	own.Callback = args->Callback ? on_trim : NULL;
	own.Context = (void *)(uintptr_t)id;
	status = D3DKMTRegisterTrimNotification(&own);
	if (NT_SUCCESS(status)) {
		registration_set_handle(id, own.Handle);
		args->Handle = own.Handle;
	} else {
		registration_end(id);
	}
	return status;
}

static NTSTATUS register_budget(D3DKMT_REGISTERBUDGETCHANGENOTIFICATION *args)
{
	D3DKMT_REGISTERBUDGETCHANGENOTIFICATION own = *args;
	uint32_t id = 0;

	NTSTATUS status =
		registration_create(CALLBACK_BUDGET, (uintptr_t)args->Callback, args->Context, &id);
	if (status != STATUS_SUCCESS)
		return status;
	own.Callback = args->Callback ? on_budget : NULL;
	own.Context = (void *)(uintptr_t)id;
	status = D3DKMTRegisterBudgetChangeNotification(&own);
	if (NT_SUCCESS(status)) {
		registration_set_handle(id, own.Handle);
		args->Handle = own.Handle;
	} else {
		registration_end(id);
	}
	return status;
}

/* ---- unregistering ---- */

/* One that has this handle, or this function where there is no handle; 0: none. */
static uint32_t find_registration(enum callback_kind kind, const void *handle, uint64_t function,
				  void **handle_out)
{
	uint32_t id = 0;

	lock_acquire(&callbacks.lock);
	list_each (struct registration, registration, &callbacks.registrations, link) {
		if (registration->kind != kind || !registration->handle)
			continue;
		if (handle ? registration->handle == handle : registration->function == function) {
			id = registration->id;
			*handle_out = registration->handle;
			break;
		}
	}
	lock_release(&callbacks.lock);
	return id;
}

static NTSTATUS unregister_trim(D3DKMT_UNREGISTERTRIMNOTIFICATION *args)
{
	D3DKMT_UNREGISTERTRIMNOTIFICATION own = { 0 };
	uint64_t function = (uintptr_t)args->Callback;
	uint32_t id = find_registration(CALLBACK_TRIM, args->Handle, function, &own.Handle);

	/* One of nobody is the kernel's to refuse: it knows the function as little as we do. */
	if (id == 0)
		return D3DKMTUnregisterTrimNotification(args);
	NTSTATUS status = D3DKMTUnregisterTrimNotification(&own);
	registration_end(id);
	/* A function stands for all that were registered with it. */
	while (NT_SUCCESS(status) && !args->Handle &&
	       (id = find_registration(CALLBACK_TRIM, NULL, function, &own.Handle)) != 0) {
		status = D3DKMTUnregisterTrimNotification(&own);
		registration_end(id);
	}
	return status;
}

static NTSTATUS unregister_budget(D3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION *args)
{
	void *handle;
	uint32_t id =
		args->Handle ? find_registration(CALLBACK_BUDGET, args->Handle, 0, &handle) : 0;

	NTSTATUS status = D3DKMTUnregisterBudgetChangeNotification(args);
	if (NT_SUCCESS(status) && id != 0)
		registration_end(id);
	return status;
}

static uint32_t any_registration(void)
{
	uint32_t id = 0;

	lock_acquire(&callbacks.lock);
	if (!list_is_empty(&callbacks.registrations))
		id = container_of(callbacks.registrations.next, struct registration, link)->id;
	lock_release(&callbacks.lock);
	return id;
}

void callbacks_forget(void)
{
	uint32_t id;

	while ((id = any_registration()) != 0)
		registration_end(id);
}

/* ---- the calls ---- */

#define CALLBACK_CALL(id, call_name, convert)                                                      \
	NTSTATUS pair_##id(void *arguments)                                                        \
	{                                                                                          \
		struct refusal_scope scope;                                                        \
		sigset_t before;                                                                   \
		if (!arguments)                                                                    \
			return call_name(NULL);                                                    \
		pair_hold_end_off(&before);                                                        \
		pair_refusal_begin(&scope, #call_name);                                            \
		NTSTATUS status = pair_refusal_end(&scope, convert(arguments));                    \
		pair_allow_end(&before);                                                           \
		return status;                                                                     \
	}

CALLBACK_CALL(register_trim_notification, D3DKMTRegisterTrimNotification, register_trim)
CALLBACK_CALL(unregister_trim_notification, D3DKMTUnregisterTrimNotification, unregister_trim)
CALLBACK_CALL(register_budget_change_notification, D3DKMTRegisterBudgetChangeNotification,
	      register_budget)
CALLBACK_CALL(unregister_budget_change_notification, D3DKMTUnregisterBudgetChangeNotification,
	      unregister_budget)
