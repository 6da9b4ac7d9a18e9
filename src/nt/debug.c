/* SPDX-License-Identifier: MIT */
/*
 * debug.c - see debug.h. Text that does not end in a line feed waits, per thread, for the rest of
 * its line. The last line is kept: when the call that printed it is refused, it says why.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#include <ddk/wdm.h>

#include "base/thread.h"
#include "nt/debug.h"
#include "nt/fault.h"
#include "nt/format.h"
#include "nt/report.h"

enum { PRINT_BYTES = 512 }; /* what one DbgPrint transmits, on Windows and here */

static void (*bugcheck_hook)(const struct nt_bugcheck *bugcheck);

struct line {
	char text[PRINT_BYTES];
	size_t length;
	char last[PRINT_BYTES + 1]; /* that was complete */
};

static _Thread_local void *own_line; /* struct line */

/* Printing. */

static void line_flush(struct line *line)
{
	if (line->length > 0 && line->text[line->length - 1] == '\r')
		line->length--;
	log_topic(LOG_DRIVER, "driver: %.*s", (int)line->length, line->text);
	memcpy(line->last, line->text, line->length);
	line->last[line->length] = '\0';
	line->length = 0;
}

static void line_add(const char *text, size_t length)
{
	struct line *line = thread_keep(&own_line, sizeof(*line));

	if (!line) {
		log_topic(LOG_DRIVER, "driver: %.*s", (int)length, text);
		return;
	}
	nt_entered.has_said = true;
	for (size_t i = 0; i < length; i++) {
		if (text[i] != '\n')
			line->text[line->length++] = text[i];
		if (text[i] == '\n' || line->length == sizeof(line->text))
			line_flush(line);
	}
}

const char *nt_debug_said(void)
{
	struct line *line = own_line;

	if (!nt_entered.has_said || !line)
		return NULL;
	if (line->length > 0 && line->length < sizeof(line->text)) {
		line->text[line->length] = '\0';
		return line->text;
	}
	return line->last[0] != '\0' ? line->last : NULL;
}

ULONG vDbgPrintExWithPrefix(PCSTR Prefix, ULONG ComponentId, ULONG Level, PCSTR Format,
			    va_list Arglist)
{
	char text[PRINT_BYTES];
	size_t written;

	nt_format_narrow(text, sizeof(text), &written, Format, Arglist);
	line_add(Prefix, strlen(Prefix));
	line_add(text, written);
	return (ULONG)STATUS_SUCCESS;
}

ULONG vDbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, va_list Arglist)
{
	return vDbgPrintExWithPrefix("", ComponentId, Level, Format, Arglist);
}

ULONG DbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, ...)
{
	va_list arguments;

	va_start(arguments, Format);
	ULONG status = vDbgPrintEx(ComponentId, Level, Format, arguments);
	va_end(arguments);
	return status;
}

ULONG DbgPrint(PCSTR Format, ...)
{
	va_list arguments;

	va_start(arguments, Format);
	ULONG status = vDbgPrintEx(DPFLTR_DEFAULT_ID, DPFLTR_INFO_LEVEL, Format, arguments);
	va_end(arguments);
	return status;
}

/* Nobody is there to answer. */
ULONG DbgPrompt(PCSTR Prompt, PCHAR Response, ULONG Length)
{
	log_topic(LOG_DRIVER, "driver: asks \"%s\" and gets no answer", Prompt);
	if (Length > 0)
		Response[0] = '\0';
	return 0;
}

/* The one filter is DXGK_LOG, and it has no components. */
NTSTATUS DbgQueryDebugFilterState(ULONG ComponentId, ULONG Level)
{
	return log_is_on(LOG_DRIVER) ? (NTSTATUS)TRUE : (NTSTATUS)FALSE;
}

NTSTATUS DbgSetDebugFilterState(ULONG ComponentId, ULONG Level, BOOLEAN State)
{
	return STATUS_ACCESS_DENIED;
}

/* The debugger that is not there. */

static BOOLEAN debugger_enabled = FALSE;
static BOOLEAN debugger_not_present = TRUE;
PBOOLEAN KdDebuggerEnabled = &debugger_enabled;
PBOOLEAN KdDebuggerNotPresent = &debugger_not_present;

BOOLEAN KdRefreshDebuggerNotPresent(VOID)
{
	return TRUE;
}

NTSTATUS KdDisableDebugger(VOID)
{
	return STATUS_DEBUGGER_INACTIVE;
}

NTSTATUS KdEnableDebugger(VOID)
{
	return STATUS_DEBUGGER_INACTIVE;
}

static void breakpoint(const void *where, const char *what)
{
	char line[256];
	const char *wish = getenv("DXGK_BREAK");

	nt_report_where_called(where, line, sizeof(line));
	log_warn("driver: %s at %s", what, line);
	if (wish && strcmp(wish, "1") == 0)
		raise(SIGTRAP);
}

VOID DbgBreakPoint(VOID)
{
	breakpoint(CALLER, "break point");
}

VOID DbgBreakPointWithStatus(ULONG Status)
{
	char what[48];

	snprintf(what, sizeof(what), "break point with status 0x%08x", Status);
	breakpoint(CALLER, what);
}

VOID OpendxgkAssertionFailed(PCSTR Expression, PCSTR File, ULONG Line)
{
	nt_report(RULE_NT_ASSERT, "assertion failed: %s (%s:%u)", Expression, File, Line);
}

/* The end. */

static const struct {
	uint32_t code;
	const char *name;
} bugcheck_names[] = {
#define CODE(name)                                                                                 \
	{                                                                                          \
		name, #name                                                                        \
	}
	CODE(APC_INDEX_MISMATCH),
	CODE(IRQL_NOT_LESS_OR_EQUAL),
	CODE(BAD_POOL_HEADER),
	CODE(MEMORY_MANAGEMENT),
	CODE(KMODE_EXCEPTION_NOT_HANDLED),
	CODE(NO_MORE_IRP_STACK_LOCATIONS),
	CODE(PAGE_FAULT_IN_NONPAGED_AREA),
	CODE(SYSTEM_THREAD_EXCEPTION_NOT_HANDLED),
	CODE(VIDEO_DRIVER_INIT_FAILURE),
	CODE(BAD_POOL_CALLER),
	CODE(DRIVER_VERIFIER_DETECTED_VIOLATION),
	CODE(DRIVER_IRQL_NOT_LESS_OR_EQUAL),
	{ 0x000000d8, "DRIVER_USED_EXCESSIVE_PTES" },
	CODE(MANUALLY_INITIATED_CRASH),
	CODE(THREAD_STUCK_IN_DEVICE_DRIVER),
	CODE(VIDEO_MEMORY_MANAGEMENT_INTERNAL),
	CODE(VIDEO_DXGKRNL_FATAL_ERROR),
	CODE(VIDEO_SHADOW_DRIVER_FATAL_ERROR),
	CODE(AGP_INTERNAL),
	CODE(VIDEO_TDR_FAILURE),
	CODE(VIDEO_TDR_TIMEOUT_DETECTED),
	CODE(VIDEO_SCHEDULER_INTERNAL_ERROR),
	CODE(VIDEO_ENGINE_TIMEOUT_DETECTED),
	CODE(VIDEO_TDR_APPLICATION_BLOCKED),
	CODE(VIDEO_DWMINIT_TIMEOUT_FALLBACK_BDD),
	CODE(VIDEO_DXGKRNL_LIVEDUMP),
	CODE(VIDEO_MINIPORT_FAILED_LIVEDUMP),
	CODE(VIDEO_MINIPORT_BLACK_SCREEN_LIVEDUMP),
#undef CODE
};

const char *nt_bugcheck_name(uint32_t code)
{
	for (size_t i = 0; i < ARRAY_SIZE(bugcheck_names); i++) {
		if (bugcheck_names[i].code == code)
			return bugcheck_names[i].name;
	}
	return NULL;
}

void nt_bugcheck_hook(void (*hook)(const struct nt_bugcheck *bugcheck))
{
	bugcheck_hook = hook;
}

VOID KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR Parameter1, ULONG_PTR Parameter2,
		  ULONG_PTR Parameter3, ULONG_PTR Parameter4)
{
	struct nt_bugcheck bugcheck = {
		.code = BugCheckCode,
		.parameters = { Parameter1, Parameter2, Parameter3, Parameter4 },
	};
	const char *name = nt_bugcheck_name(BugCheckCode);

	struct line *line = own_line;
	if (line && line->length > 0)
		line_flush(line);
	nt_report(RULE_NT_BUGCHECK,
		  "KeBugCheckEx ends the driver and its host: 0x%08x %s (0x%lx, 0x%lx, 0x%lx, "
		  "0x%lx)",
		  BugCheckCode, name ? name : "", Parameter1, Parameter2, Parameter3, Parameter4);
	if (bugcheck_hook)
		bugcheck_hook(&bugcheck);
	nt_faults_expect_end();
	abort();
}

VOID KeBugCheck(ULONG BugCheckCode)
{
	KeBugCheckEx(BugCheckCode, 0, 0, 0, 0);
}
