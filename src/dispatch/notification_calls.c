/* SPDX-License-Identifier: MIT */
/*
 * notification_calls.c - callbacks of a client: trims, and changes of its budget.
 */
#include "dispatch/dispatch.h"
#include "object/owner/client_port.h"
#include "object/owner/notification.h"
#include "wire/message.h"

/* ---- what a client is told ---- */

/* True when the client is in another process, where it will be told. */
static bool tell_there(enum wire_news kind, void (*callback)(void),
		       const struct notification_message *message)
{
	const struct client_news news = {
		.kind = kind,
		.flags = message->trim_flags,
		.callback = (uintptr_t)callback,
		.context = (uintptr_t)message->context,
		.bytes = kind == WIRE_NEWS_TRIM ? message->bytes_to_trim : message->budget_bytes,
	};

	if (message->port)
		message->port->services->tell(message->port, &news);
	return message->port != NULL;
}

static void deliver_trim(void (*callback)(void), const struct notification_message *message)
{
	D3DKMT_TRIMNOTIFICATION told = {
		.Context = message->context,
		.Flags = { .Value = message->trim_flags },
		.NumBytesToTrim = message->bytes_to_trim,
	};

	if (!tell_there(WIRE_NEWS_TRIM, callback, message))
		((PFND3DKMT_TRIMNOTIFICATIONCALLBACK)callback)(&told);
}

static void deliver_budget(void (*callback)(void), const struct notification_message *message)
{
	D3DKMT_BUDGETCHANGENOTIFICATION told = {
		.Context = message->context,
		.Budget = message->budget_bytes,
	};

	if (!tell_there(WIRE_NEWS_BUDGET, callback, message))
		((PFND3DKMT_BUDGETCHANGENOTIFICATIONCALLBACK)callback)(&told);
}

/* ---- registering ---- */

static NTSTATUS check_callback(void (*callback)(void))
{
	if (!callback)
		return invalid(RULE_API_NULL_ARGUMENT, "Callback", "is NULL");
	return STATUS_SUCCESS;
}

static NTSTATUS add(const struct call *call, const struct notification_target *target,
		    VOID **handle_out)
{
	uint64_t token = 0;
	NTSTATUS status = check_callback(target->callback);

	if (NT_SUCCESS(status))
		status = notification_register(call_device(call, 0), target, &token);
	*handle_out = (VOID *)(uintptr_t)token;
	return status;
}

NTSTATUS dispatch_register_trim_notification(struct call *call,
					     D3DKMT_REGISTERTRIMNOTIFICATION *args)
{
	const struct notification_target target = {
		.kind = NOTIFICATION_TRIM,
		.deliver = deliver_trim,
		.callback = (void (*)(void))args->Callback,
		.context = args->Context,
	};
	uint64_t luid =
		(uint64_t)(uint32_t)args->AdapterLuid.HighPart << 32 | args->AdapterLuid.LowPart;

	if (luid != call_device(call, 0)->adapter->luid)
		return invalid(RULE_API_VALUE, "AdapterLuid",
			       "is not that of the device's adapter");
	return add(call, &target, &args->Handle);
}

NTSTATUS dispatch_register_budget_change_notification(struct call *call,
						      D3DKMT_REGISTERBUDGETCHANGENOTIFICATION *args)
{
	const struct notification_target target = {
		.kind = NOTIFICATION_BUDGET,
		.deliver = deliver_budget,
		.callback = (void (*)(void))args->Callback,
		.context = args->Context,
	};

	return add(call, &target, &args->Handle);
}

/* ---- unregistering ---- */

NTSTATUS dispatch_unregister_trim_notification(struct call *call,
					       D3DKMT_UNREGISTERTRIMNOTIFICATION *args)
{
	void (*callback)(void) = (void (*)(void))args->Callback;

	/* The callback counts where there is no handle. */
	if (args->Handle)
		return notification_unregister(call->process, NOTIFICATION_TRIM,
					       (uintptr_t)args->Handle);
	NTSTATUS status = check_callback(callback);
	if (!NT_SUCCESS(status))
		return status;
	return notification_unregister_callback(call->process, NOTIFICATION_TRIM, callback);
}

NTSTATUS
dispatch_unregister_budget_change_notification(struct call *call,
					       D3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION *args)
{
	if (!args->Handle)
		return invalid(RULE_API_NULL_ARGUMENT, "Handle", "is NULL");
	return notification_unregister(call->process, NOTIFICATION_BUDGET, (uintptr_t)args->Handle);
}
