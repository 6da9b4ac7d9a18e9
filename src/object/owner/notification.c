/* SPDX-License-Identifier: MIT */
/*
 * notification.c - see notification.h.
 *
 * A registration is on its process's list, and on the row of those that are due while it has
 * something to tell. Whoever takes it off the list frees it; if its callback runs and nobody waits
 * for that, its thread does.
 *
 * Locks: the notifier's, outside the memory manager's. The client is called without any.
 */
#include <stdatomic.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/notice.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "object/owner/client_port.h"
#include "object/owner/device.h"
#include "object/owner/notification.h"
#include "trace/trace.h"
#include "vidmm/control.h"

struct registration {
	/* Set at creation. */
	uint64_t token;
	struct notification_target target;
	struct vidmm_process *memory; /* the process's, on the device's adapter */

	const struct dxg_device *device; /* a name; NULL: it is the adapter's */
	struct quota_ledger *ledger;     /* the process's, with a reference, or NULL */

	/* Guarded by the notifier's lock. */
	struct list link;     /* notifier.registrations */
	struct list due_link; /* notifier.due */
	uint32_t trim_flags;
	bool is_over;   /* its device has ended, or what is told once was told */
	bool is_orphan; /* off the list, and its callback runs: the thread frees it */
};

struct notifier {
	uint32_t process_id;
	struct client_port *port; /* NULL: callbacks are in this process */
	struct thread *thread;
	struct notice changed; /* something is due, a callback is over, or the end has come */

	struct lock lock;          /* LOCK_RANK_NOTIFICATIONS */
	struct list registrations; /* registration.link */
	struct list due;           /* registration.due_link, the oldest news first */
	uint32_t count;
	struct registration *running; /* its callback is */
	bool is_stopped;
	bool is_orphan; /* the process is gone: the thread frees it */
};

_Thread_local bool client_port_is_in_callback;

/* Tokens of all processes: what one kept from another is nobody's. */
static _Atomic uint64_t last_token;

/* It was never found: not released. */
static void registration_discard(struct registration *registration)
{
	quota_give(registration->ledger, QUOTA_REGISTRATIONS, 1);
	quota_put(registration->ledger);
	mem_free(registration);
}

/* Its callback does not run, and nobody finds it any more. */
static void registration_free(struct registration *registration)
{
	if (registration->target.release)
		registration->target.release(registration->target.context);
	registration_discard(registration);
}

/* ---- the thread ---- */

/* What there is to tell it now, if anything still is. */
static bool take_message_locked(const struct notifier *notifier, struct registration *registration,
				struct notification_message *message)
{
	lock_assert_held(&notifier->lock);
	*message = (struct notification_message){ .context = registration->target.context,
						  .port = notifier->port };
	switch (registration->target.kind) {
	case NOTIFICATION_BUDGET:
		message->budget_bytes =
			vidmm_process_memory_info(registration->memory, VIDMM_LOCAL).budget_bytes;
		return true;
	case NOTIFICATION_ANY_BUDGET:
		return true;
	case NOTIFICATION_LOSS:
	case NOTIFICATION_AT_FIRST:
		registration->is_over = true;
		return true;
	case NOTIFICATION_TRIM:
		break;
	}
	message->trim_flags = registration->trim_flags;
	registration->trim_flags = 0;
	if (message->trim_flags & VIDMM_TRIM_TO_BUDGET)
		message->bytes_to_trim = vidmm_process_bytes_to_trim(registration->memory);
	if (message->bytes_to_trim == 0)
		message->trim_flags &= ~(uint32_t)VIDMM_TRIM_TO_BUDGET;
	return message->trim_flags != 0;
}

static const char *const kind_names[] = { "trim", "budget", "adapter budget", "adapter loss",
					  "adapter" };

/*
 * Drops and retakes notifier->lock: registrations may have come and gone meanwhile, this one, too.
 */
static void call_client_relock(struct notifier *notifier, struct registration *registration)
{
	struct notification_message message;

	lock_assert_held(&notifier->lock);
	if (!take_message_locked(notifier, registration, &message))
		return;
	notifier->running = registration;
	lock_release(&notifier->lock);
	lock_assert_none_held("a client's callback");
	trace_notification_begin(kind_names[registration->target.kind], notifier->process_id,
				 message.trim_flags, message.bytes_to_trim, message.budget_bytes);
	registration->target.deliver(registration->target.callback, &message);
	trace_notification_end(notifier->process_id);
	lock_acquire(&notifier->lock);
	notifier->running = NULL;
	if (registration->is_orphan)
		registration_free(registration);
	notice_give(&notifier->changed);
}

static void notifier_free(struct notifier *notifier)
{
	if (notifier->port)
		notifier->port->services->put(notifier->port);
	lock_finish(&notifier->lock);
	mem_free(notifier);
}

static void notifier_run(void *argument)
{
	struct notifier *notifier = argument;

	lock_acquire(&notifier->lock);
	while (!notifier->is_stopped) {
		struct list *link = list_pop_front(&notifier->due);

		if (link) {
			call_client_relock(notifier,
					   container_of(link, struct registration, due_link));
			continue;
		}
		notice_wait_relock(&notifier->changed, &notifier->lock);
	}
	bool is_orphan = notifier->is_orphan;
	lock_release(&notifier->lock);
	if (is_orphan)
		notifier_free(notifier);
}

static struct notifier *notifier_create(const struct dxg_process *process)
{
	struct notifier *notifier = mem_zalloc(sizeof(*notifier));

	if (!notifier)
		return NULL;
	notifier->process_id = process->id;
	notifier->port = process->identity.port;
	if (notifier->port)
		notifier->port->services->get(notifier->port);
	lock_init(&notifier->lock, LOCK_RANK_NOTIFICATIONS, "notifications of a process");
	list_init(&notifier->registrations);
	list_init(&notifier->due);
	if (NT_SUCCESS(thread_create("notifier", notifier_run, notifier, &notifier->thread)))
		return notifier;
	notifier_free(notifier);
	return NULL;
}

/* ---- its end ---- */

void notifier_stop(struct dxg_process *process)
{
	struct notifier *notifier = atomic_load(&process->notifier);

	if (!notifier)
		return;
	lock_acquire(&notifier->lock);
	notifier->is_stopped = true;
	lock_release(&notifier->lock);
	notice_give(&notifier->changed);
}

static void registrations_free_locked(struct notifier *notifier)
{
	lock_assert_held(&notifier->lock);
	list_drain (struct registration, registration, &notifier->registrations, link) {
		if (registration == notifier->running)
			registration->is_orphan = true;
		else
			registration_free(registration);
	}
}

void notifier_finish(struct dxg_process *process)
{
	struct notifier *notifier = atomic_load(&process->notifier);

	if (!notifier)
		return;
	notifier_stop(process);
	lock_acquire(&notifier->lock);
	registrations_free_locked(notifier);
	struct thread *thread = notifier->thread;
	bool is_running = notifier->running != NULL;
	notifier->is_orphan = is_running;
	lock_release(&notifier->lock);
	if (is_running) {
		thread_detach(thread);
		return;
	}
	thread_join(thread);
	notifier_free(notifier);
}

/* ---- registering ---- */

/* The process's, made with its first registration. */
static struct notifier *notifier_of(struct dxg_process *process)
{
	struct notifier *found = atomic_load(&process->notifier);

	if (found)
		return found;
	lock_acquire(&process->lock);
	found = atomic_load(&process->notifier);
	if (!found) {
		found = notifier_create(process);
		atomic_store(&process->notifier, found);
	}
	lock_release(&process->lock);
	return found;
}

static void listen(struct vidmm_process *memory, enum notification_kind kind, int32_t change)
{
	bool is_budget = kind == NOTIFICATION_BUDGET || kind == NOTIFICATION_ANY_BUDGET;

	vidmm_process_listen(memory, kind == NOTIFICATION_TRIM ? change : 0,
			     is_budget ? change : 0);
}

static NTSTATUS refuse_registration(NTSTATUS status)
{
	return refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a registration");
}

static NTSTATUS refuse_too_many(void)
{
	return refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_API_COUNT, "Callback",
		      "would be one more than the %d that a process can have registered",
		      NOTIFICATION_MOST);
}

static NTSTATUS registration_create(const struct notification_target *target,
				    struct process_adapter *process_adapter,
				    struct registration **registration_out)
{
	struct quota_ledger *ledger = process_adapter->process->ledger;
	NTSTATUS status = quota_take(ledger, QUOTA_REGISTRATIONS, 1);

	if (!NT_SUCCESS(status))
		return status;
	struct registration *registration = mem_zalloc(sizeof(*registration));
	if (!registration) {
		quota_give(ledger, QUOTA_REGISTRATIONS, 1);
		return refuse_registration(STATUS_NO_MEMORY);
	}
	registration->ledger = quota_get(ledger);
	registration->token = atomic_fetch_add(&last_token, 1) + 1;
	registration->target = *target;
	registration->memory = &process_adapter->memory;
	list_init(&registration->link);
	list_init(&registration->due_link);
	*registration_out = registration;
	return STATUS_SUCCESS;
}

static NTSTATUS registration_add_locked(struct dxg_device *device, struct notifier *notifier,
					struct registration *registration)
{
	lock_assert_held(&device->lock);
	if (device->is_dying)
		return device_refuse_dying(device);
	lock_acquire(&notifier->lock);
	bool fits = notifier->count < NOTIFICATION_MOST;
	if (fits) {
		notifier->count++;
		list_push_back(&notifier->registrations, &registration->link);
	}
	lock_release(&notifier->lock);
	return fits ? STATUS_SUCCESS : refuse_too_many();
}

NTSTATUS notification_register(struct dxg_device *device, const struct notification_target *target,
			       uint64_t *token_out)
{
	struct notifier *notifier = notifier_of(device->process);
	struct registration *registration = NULL;

	if (!notifier)
		return refuse_registration(STATUS_NO_MEMORY);
	NTSTATUS status = registration_create(target, device->process_adapter, &registration);
	if (!NT_SUCCESS(status))
		return status;
	registration->device = device;
	/* Before it can be found, and be gone. */
	uint64_t token = registration->token;
	lock_acquire(&device->lock);
	status = registration_add_locked(device, notifier, registration);
	lock_release(&device->lock);
	if (!NT_SUCCESS(status)) {
		registration_discard(registration);
		return status;
	}
	*token_out = token;
	/* Last: it may be told something at once. */
	listen(&device->process_adapter->memory, target->kind, 1);
	return STATUS_SUCCESS;
}

/* ---- of adapters ---- */

/* Of those that were never added: not released. */
static void registrations_discard(struct list *registrations)
{
	list_drain (struct registration, each, registrations, link)
		registration_discard(each);
}

static bool is_due_at_first(const struct registration *registration)
{
	const struct process_adapter *process_adapter =
		container_of(registration->memory, struct process_adapter, memory);

	return registration->target.kind != NOTIFICATION_LOSS ||
	       atomic_load(&process_adapter->adapter->is_lost);
}

static void make_due_locked(struct notifier *notifier, struct registration *registration)
{
	lock_assert_held(&notifier->lock);
	if (!registration->is_over && !list_is_linked(&registration->due_link))
		list_push_back(&notifier->due, &registration->due_link);
}

/* Who is on the list is told of a loss that comes now; of one that was, here. */
static bool registrations_add(struct notifier *notifier, struct list *registrations, uint32_t count)
{
	struct list *link;

	lock_acquire(&notifier->lock);
	bool fits = notifier->count + count <= NOTIFICATION_MOST;
	if (fits)
		notifier->count += count;
	while (fits && (link = list_pop_front(registrations)) != NULL) {
		struct registration *registration = container_of(link, struct registration, link);

		list_push_back(&notifier->registrations, &registration->link);
		if (is_due_at_first(registration))
			make_due_locked(notifier, registration);
	}
	lock_release(&notifier->lock);
	if (fits)
		notice_give(&notifier->changed);
	return fits;
}

NTSTATUS notification_watch(struct dxg_process *process,
			    struct process_adapter *const *process_adapters, uint32_t count,
			    const struct notification_target *target)
{
	struct notifier *notifier = notifier_of(process);
	struct list registrations;

	if (!notifier)
		return refuse_registration(STATUS_NO_MEMORY);
	list_init(&registrations);
	for (uint32_t i = 0; i < count; i++) {
		struct registration *registration;
		NTSTATUS status = registration_create(target, process_adapters[i], &registration);

		if (!NT_SUCCESS(status)) {
			registrations_discard(&registrations);
			return status;
		}
		list_push_back(&registrations, &registration->link);
	}
	/* Before they can be found, and be gone: unregistering counts down again. */
	for (uint32_t i = 0; i < count; i++)
		listen(&process_adapters[i]->memory, target->kind, 1);
	if (registrations_add(notifier, &registrations, count))
		return STATUS_SUCCESS;
	for (uint32_t i = 0; i < count; i++)
		listen(&process_adapters[i]->memory, target->kind, -1);
	registrations_discard(&registrations);
	return refuse_too_many();
}

/* ---- unregistering ---- */

/* Which registrations: those of adapters by context, others by token, or by callback. */
struct selection {
	enum notification_kind kind;
	uint64_t token;
	void (*callback)(void);
	const void *watch_context;
};

static bool is_selected(const struct registration *registration, const struct selection *selection)
{
	if (selection->watch_context || !registration->device)
		return !registration->device &&
		       registration->target.context == selection->watch_context;
	if (registration->target.kind != selection->kind)
		return false;
	return selection->token != 0 ? registration->token == selection->token
				     : registration->target.callback == selection->callback;
}

static struct registration *take_selected_locked(struct notifier *notifier,
						 const struct selection *selection)
{
	lock_assert_held(&notifier->lock);
	list_each (struct registration, registration, &notifier->registrations, link) {
		if (!is_selected(registration, selection))
			continue;
		list_remove(&registration->link);
		list_remove(&registration->due_link);
		notifier->count--;
		return registration;
	}
	return NULL;
}

/*
 * Drops and retakes notifier->lock until its callback is over, or this is the callback; else the process
 * ends, and it is refused. Others may have been registered meanwhile.
 */
static NTSTATUS wait_for_callback_relock(struct notifier *notifier,
					 const struct registration *registration)
{
	lock_assert_held(&notifier->lock);
	while (notifier->running == registration && thread_self() != notifier->thread &&
	       !client_port_is_in_callback) {
		if (notifier->is_stopped)
			return refuse(STATUS_PROCESS_IS_TERMINATING, RULE_API_PROCESS_ENDING, NULL,
				      "the process ends while the callback runs");
		notice_wait_relock(&notifier->changed, &notifier->lock);
	}
	return STATUS_SUCCESS;
}

static NTSTATUS unregister_selected(struct dxg_process *process, const struct selection *selection,
				    uint32_t *count_out)
{
	struct notifier *notifier = atomic_load(&process->notifier);
	struct registration *registration;
	NTSTATUS status = STATUS_SUCCESS;

	*count_out = 0;
	if (!notifier)
		return STATUS_SUCCESS;
	lock_acquire(&notifier->lock);
	while ((registration = take_selected_locked(notifier, selection)) != NULL) {
		(*count_out)++;
		lock_release(&notifier->lock);
		listen(registration->memory, registration->target.kind, -1);
		lock_acquire(&notifier->lock);
		NTSTATUS waited = wait_for_callback_relock(notifier, registration);
		if (!NT_SUCCESS(waited))
			status = waited;
		registration->is_orphan = notifier->running == registration;
		if (!registration->is_orphan)
			registration_free(registration);
	}
	lock_release(&notifier->lock);
	return status;
}

NTSTATUS notification_unregister(struct dxg_process *process, enum notification_kind kind,
				 uint64_t token)
{
	const struct selection selection = { .kind = kind, .token = token };
	uint32_t count;
	NTSTATUS status = unregister_selected(process, &selection, &count);

	if (count == 0)
		return invalid(RULE_API_HANDLE, "Handle", "is of no callback that is registered");
	return status;
}

NTSTATUS notification_unregister_callback(struct dxg_process *process, enum notification_kind kind,
					  void (*callback)(void))
{
	const struct selection selection = { .kind = kind, .callback = callback };
	uint32_t count;

	return unregister_selected(process, &selection, &count);
}

NTSTATUS notification_unwatch(struct dxg_process *process, const void *context)
{
	const struct selection selection = { .watch_context = context };
	uint32_t count;

	return unregister_selected(process, &selection, &count);
}

void notification_device_ends(struct dxg_device *device)
{
	struct notifier *notifier = atomic_load(&device->process->notifier);

	if (!notifier)
		return;
	lock_acquire(&notifier->lock);
	list_each (struct registration, registration, &notifier->registrations, link) {
		if (registration->device != device)
			continue;
		registration->is_over = true;
		list_remove(&registration->due_link);
	}
	lock_release(&notifier->lock);
}

/* ---- news ---- */

static void post(struct vidmm_process *memory, enum notification_kind kind, uint32_t trim_flags)
{
	struct dxg_process *process = container_of(memory, struct process_adapter, memory)->process;
	struct notifier *notifier = atomic_load(&process->notifier);

	if (!notifier)
		return;
	lock_acquire(&notifier->lock);
	list_each (struct registration, registration, &notifier->registrations, link) {
		if (registration->memory != memory || registration->target.kind != kind)
			continue;
		registration->trim_flags = vidmm_trim_merge(registration->trim_flags, trim_flags);
		make_due_locked(notifier, registration);
	}
	lock_release(&notifier->lock);
	notice_give(&notifier->changed);
}

void notification_post_trim(struct vidmm_process *memory, uint32_t flags)
{
	post(memory, NOTIFICATION_TRIM, flags);
}

void notification_post_budget(struct vidmm_process *memory, enum vidmm_group group)
{
	if (group == VIDMM_LOCAL)
		post(memory, NOTIFICATION_BUDGET, 0);
	post(memory, NOTIFICATION_ANY_BUDGET, 0);
}

void notification_post_loss(struct vidmm_process *memory)
{
	post(memory, NOTIFICATION_LOSS, 0);
}

/* ---- recounting ---- */

const char *notifier_validate(struct dxg_process *process)
{
	struct notifier *notifier = atomic_load(&process->notifier);
	const char *wrong = NULL;

	if (!notifier)
		return NULL;
	lock_acquire(&notifier->lock);
	if (list_length(&notifier->registrations) != notifier->count)
		wrong = "registrations are miscounted";
	if (list_length(&notifier->due) > notifier->count)
		wrong = "more is due than was registered";
	lock_release(&notifier->lock);
	return wrong;
}
