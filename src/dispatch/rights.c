/* SPDX-License-Identifier: MIT */
/*
 * rights.c - see rights.h.
 */
#include "dispatch/rights.h"

/* What GetCurrentProcess() answers. */
#define CURRENT_PROCESS ((HANDLE)(intptr_t)-1)

NTSTATUS call_check_controller(const struct call *call, const char *argument, const char *what)
{
	const struct process_identity *who = &call->process->identity;

	if (LIKELY(who->is_controller))
		return STATUS_SUCCESS;
	return refuse(STATUS_ACCESS_DENIED, RULE_SYS_RIGHTS, argument,
		      "%s, and process %u (%s) is no controller", what, who->pid, who->name);
}

NTSTATUS call_check_own_process(const struct call *call, HANDLE process)
{
	if (!process || process == CURRENT_PROCESS)
		return STATUS_SUCCESS;
	NTSTATUS status = call_check_controller(call, "hProcess", "names another process");
	if (!NT_SUCCESS(status))
		return status;
	return refuse(STATUS_INVALID_HANDLE, RULE_API_HANDLE, "hProcess",
		      "is neither NULL nor -1, and a process names itself only");
}
