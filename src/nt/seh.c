/* SPDX-License-Identifier: MIT */
/*
 * seh.c - __try, __except and __finally for drivers: the host's half of <ddk/excpt.h>.
 *
 *   in:   frames that bodies push and pop, statuses that are raised, faults of the processor
 *   out:  jumps to the part of the driver's function behind the body
 *
 * Frames are in a list per thread, innermost first. An exception takes the first one off and jumps
 * to it with siglongjmp; `after` tells the part behind the body which frame that was. While a
 * filter or a __finally block runs, its frame is in `unfinished`.
 *
 * Leaving the body of a __finally early (return, break, goto) has to run the block and then go on
 * leaving. The block belongs to the function that is being left, so it runs on that function's
 * stack, over the frames of OpendxgkSehPop() and of what called it. They are put aside first, and
 * put back when the block has ended:
 *
 *	high addresses	| function that says __try |	<- stack_top: its stack pointer
 *			| guard's destructor, Pop  |	<- put aside while the block runs
 *	low addresses	|                          |	<- stack_low
 *
 * Faults arrive as signals, whose handlers are in fault.c.
 *
 * Locks: none, everything belongs to one thread.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <ddk/wdm.h>

#include "base/log.h"
#include "nt/fault.h"
#include "nt/report.h"
#include "nt/seh.h"

/*
 * For functions whose stack frames are put aside or looked at: no sanitizer may check the accesses
 * or count the calls, because they are entered and left in an order of their own.
 */
#ifdef __clang__
#define UNCHECKED __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define UNCHECKED __attribute__((noinline, no_sanitize("address", "thread", "undefined")))
#endif

enum frame_kind { FRAME_UNKNOWN, FRAME_EXCEPT, FRAME_FINALLY };
enum frame_reason { REASON_VISIT, REASON_CAUGHT, REASON_LEAVE, REASON_EARLY };

enum { STACK_MARGIN = 4096 }; /* what the functions that copy the stack use of it themselves */

struct _OPENDXGK_SEH_FRAME {
	sigjmp_buf registers;
	void *resume[5];                   /* of __builtin_setjmp */
	struct _OPENDXGK_SEH_FRAME *outer; /* in active, or in unfinished */
	uint32_t depth;                    /* active frames when the part behind the body began */
	enum frame_kind kind;
	enum frame_reason reason;
	EXCEPTION_RECORD record;
	char *stack_top;
	char *stack_low;
	char *put_aside; /* copy of [stack_low, stack_top) */
};

static _Thread_local struct {
	POPENDXGK_SEH_FRAME active;
	uint32_t active_count;
	POPENDXGK_SEH_FRAME after;
	POPENDXGK_SEH_FRAME unfinished;
	EXCEPTION_RECORD current;
	EXCEPTION_POINTERS pointers;
	uint64_t faults_caught;
} self;

/* ---- frames ---- */

NORETURN static void no_memory(void)
{
	log_error("no memory for a __try; there is no way to tell the driver");
	abort();
}

static void frame_free(POPENDXGK_SEH_FRAME frame)
{
	free(frame->put_aside);
	free(frame);
}

static uint32_t unfinished_free(uint32_t depth)
{
	uint32_t count = 0;

	while (self.unfinished && self.unfinished->depth > depth) {
		POPENDXGK_SEH_FRAME lost = self.unfinished;
		self.unfinished = lost->outer;
		frame_free(lost);
		count++;
	}
	return count;
}

static void frame_take_off(POPENDXGK_SEH_FRAME frame)
{
	/* Frames inside it belong to functions that were left without a word. */
	while (self.active != frame) {
		POPENDXGK_SEH_FRAME lost = self.active;
		self.active = lost->outer;
		self.active_count--;
		frame_free(lost);
	}
	self.active = frame->outer;
	self.active_count--;
	/* Filters and blocks that were inside its body and did not come to their end. */
	unfinished_free(self.active_count);
}

static void part_behind_begin(POPENDXGK_SEH_FRAME frame)
{
	frame->depth = self.active_count;
	frame->outer = self.unfinished;
	self.unfinished = frame;
}

static POPENDXGK_SEH_FRAME take_after(void)
{
	POPENDXGK_SEH_FRAME frame = self.after;

	self.after = NULL;
	return frame;
}

NORETURN static void jump_behind_body(POPENDXGK_SEH_FRAME frame, enum frame_reason reason)
{
	frame->reason = reason;
	self.after = frame;
	siglongjmp(frame->registers, OPENDXGK_SEH_AFTER);
}

NORETURN static void raise_record(const EXCEPTION_RECORD *record)
{
	POPENDXGK_SEH_FRAME frame = self.active;

	if (!frame) {
		nt_report(RULE_NT_SEH_UNHANDLED, "%s was raised and no __try is there to catch it",
			  status_name(record->ExceptionCode));
		KeBugCheckEx(KMODE_EXCEPTION_NOT_HANDLED, (ULONG_PTR)(ULONG)record->ExceptionCode,
			     (ULONG_PTR)record->ExceptionAddress, record->ExceptionInformation[0],
			     record->ExceptionInformation[1]);
	}
	frame->record = *record;
	frame_take_off(frame);
	jump_behind_body(frame, REASON_CAUGHT);
}

/* ---- faults ---- */

static NTSTATUS fault_status(int number, const siginfo_t *info)
{
	switch (number) {
	case SIGBUS:
		return info->si_code == BUS_ADRALN ? STATUS_DATATYPE_MISALIGNMENT
						   : STATUS_IN_PAGE_ERROR;
	case SIGFPE:
		switch (info->si_code) {
		case FPE_INTOVF:
			return STATUS_INTEGER_OVERFLOW;
		case FPE_FLTDIV:
			return STATUS_FLOAT_DIVIDE_BY_ZERO;
		case FPE_FLTOVF:
			return STATUS_FLOAT_OVERFLOW;
		case FPE_FLTUND:
			return STATUS_FLOAT_UNDERFLOW;
		case FPE_FLTRES:
			return STATUS_FLOAT_INEXACT_RESULT;
		case FPE_FLTINV:
			return STATUS_FLOAT_INVALID_OPERATION;
		default:
			return STATUS_INTEGER_DIVIDE_BY_ZERO;
		}
	case SIGILL:
		return STATUS_ILLEGAL_INSTRUCTION;
	default:
		return STATUS_ACCESS_VIOLATION;
	}
}

static void fault_describe(EXCEPTION_RECORD *record, int number, const siginfo_t *info,
			   const ucontext_t *context)
{
	*record = (EXCEPTION_RECORD){ .ExceptionCode = fault_status(number, info) };
#if defined(__x86_64__)
	record->ExceptionAddress = (PVOID)context->uc_mcontext.gregs[REG_RIP];
	bool is_write = (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
	record->ExceptionAddress = (PVOID)context->uc_mcontext.pc;
	bool is_write = false;
#endif
	if (number == SIGSEGV || number == SIGBUS) {
		record->NumberParameters = 2;
		record->ExceptionInformation[0] = is_write;
		record->ExceptionInformation[1] = (ULONG_PTR)info->si_addr;
	}
}

void nt_seh_take_fault(int number, const siginfo_t *info, const ucontext_t *context)
{
	EXCEPTION_RECORD record;

	if (!self.active)
		return;
	fault_describe(&record, number, info, context);
	self.faults_caught++;
	/* The handler does not return, so the mask is put back by hand. */
	sigprocmask(SIG_SETMASK, &context->uc_sigmask, NULL);
	raise_record(&record);
}

uint64_t nt_seh_faults_caught(void)
{
	return self.faults_caught;
}

/* ---- what the macros of excpt.h call ---- */

PVOID OpendxgkSehPush(PVOID StackPointer)
{
	/* Not counted by base/mem.h and never made to fail: a __try cannot. */
	POPENDXGK_SEH_FRAME frame = calloc(1, sizeof(*frame));

	if (!frame)
		no_memory();
	nt_faults_install();
	frame->stack_top = StackPointer;
	frame->outer = self.active;
	self.active = frame;
	self.active_count++;
	self.after = frame; /* the reason is REASON_VISIT */
	return frame->registers;
}

POPENDXGK_SEH_FRAME OpendxgkSehBody(VOID)
{
	return self.active;
}

UNCHECKED static void copy_stack(char *to, const char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((volatile char *)to)[i] = ((const volatile char *)from)[i];
}

/* Returns when the __finally block has run. */
UNCHECKED static void run_finally_block(POPENDXGK_SEH_FRAME frame)
{
	if (__builtin_setjmp(frame->resume) != 0)
		return;
	frame->stack_low = (char *)__builtin_frame_address(0) - STACK_MARGIN;
	frame->put_aside = malloc((size_t)(frame->stack_top - frame->stack_low));
	if (!frame->put_aside)
		no_memory();
	copy_stack(frame->put_aside, frame->stack_low,
		   (size_t)(frame->stack_top - frame->stack_low));
	jump_behind_body(frame, REASON_EARLY);
}

/* Runs below the frames it puts back: `scratch` is what moved the stack pointer there. */
UNCHECKED NORETURN static void put_back(POPENDXGK_SEH_FRAME frame, volatile char *scratch)
{
	scratch[0] = 0;
	copy_stack(frame->stack_low, frame->put_aside,
		   (size_t)(frame->stack_top - frame->stack_low));
	__builtin_longjmp(frame->resume, 1);
}

UNCHECKED VOID OpendxgkSehPop(POPENDXGK_SEH_FRAME Frame, BOOLEAN Completed)
{
	frame_take_off(Frame);
	self.after = NULL;
	if (!Completed && Frame->kind == FRAME_FINALLY)
		run_finally_block(Frame);
	frame_free(Frame);
}

VOID OpendxgkSehLeave(POPENDXGK_SEH_FRAME Frame)
{
	frame_take_off(Frame);
	jump_behind_body(Frame, REASON_LEAVE);
}

BOOLEAN OpendxgkSehCaught(VOID)
{
	POPENDXGK_SEH_FRAME frame = take_after();

	if (frame->reason == REASON_VISIT) {
		frame->kind = FRAME_EXCEPT;
		siglongjmp(frame->registers, OPENDXGK_SEH_RUN);
	}
	if (frame->reason == REASON_LEAVE) {
		frame_free(frame);
		return FALSE;
	}
	self.current = frame->record;
	part_behind_begin(frame);
	return TRUE;
}

BOOLEAN OpendxgkSehAccept(LONG Disposition)
{
	POPENDXGK_SEH_FRAME frame = self.unfinished;

	self.unfinished = frame->outer;
	self.current = frame->record; /* the filter may have caught something of its own */
	frame_free(frame);
	if (Disposition < 0) {
		nt_report(RULE_NT_SEH_CONTINUE,
			  "A filter answered EXCEPTION_CONTINUE_EXECUTION to %s",
			  status_name(self.current.ExceptionCode));
		KeBugCheckEx(KMODE_EXCEPTION_NOT_HANDLED,
			     (ULONG_PTR)(ULONG)self.current.ExceptionCode,
			     (ULONG_PTR)self.current.ExceptionAddress, 0, 0);
	}
	if (Disposition == EXCEPTION_CONTINUE_SEARCH)
		raise_record(&self.current);
	return TRUE;
}

POPENDXGK_SEH_FRAME OpendxgkSehFinallyBegin(VOID)
{
	POPENDXGK_SEH_FRAME frame = take_after();

	if (!frame)
		return NULL;
	if (frame->reason == REASON_VISIT) {
		frame->kind = FRAME_FINALLY;
		siglongjmp(frame->registers, OPENDXGK_SEH_RUN);
	}
	if (frame->reason == REASON_LEAVE) {
		frame_free(frame);
		return NULL;
	}
	part_behind_begin(frame);
	return frame;
}

VOID OpendxgkSehFinallyEnd(POPENDXGK_SEH_FRAME Frame)
{
	if (!Frame)
		return;
	self.unfinished = Frame->outer;
	if (Frame->reason == REASON_EARLY) {
		char *here = __builtin_frame_address(0);
		size_t gap = here > Frame->stack_low ? (size_t)(here - Frame->stack_low) : 0;
		put_back(Frame, __builtin_alloca(gap + STACK_MARGIN));
	}
	EXCEPTION_RECORD record = Frame->record;
	frame_free(Frame);
	raise_record(&record);
}

NTSTATUS OpendxgkSehCode(VOID)
{
	return self.current.ExceptionCode;
}

PEXCEPTION_POINTERS OpendxgkSehInformation(VOID)
{
	self.pointers.ExceptionRecord = &self.current;
	return &self.pointers;
}

/* ---- raising ---- */

NORETURN static void raise_status(NTSTATUS status, void *address)
{
	EXCEPTION_RECORD record = { .ExceptionCode = status,
				    .ExceptionFlags = EXCEPTION_NONCONTINUABLE,
				    .ExceptionAddress = address };

	raise_record(&record);
}

VOID ExRaiseStatus(NTSTATUS Status)
{
	raise_status(Status, CALLER);
}

VOID ExRaiseAccessViolation(VOID)
{
	raise_status(STATUS_ACCESS_VIOLATION, CALLER);
}

VOID ExRaiseDatatypeMisalignment(VOID)
{
	raise_status(STATUS_DATATYPE_MISALIGNMENT, CALLER);
}

void nt_seh_raise_if_guarded(NTSTATUS status)
{
	if (self.active)
		raise_status(status, CALLER);
}

uint32_t nt_seh_forget_frames(void)
{
	uint32_t count = 0;

	while (self.active) {
		POPENDXGK_SEH_FRAME frame = self.active;
		frame_take_off(frame);
		frame_free(frame);
		count++;
	}
	return count + unfinished_free(0);
}

/* There is no border between user and kernel here; what can be checked is the shape of the range.
 */
static void probe(uintptr_t address, size_t length, ULONG alignment)
{
	uintptr_t end;

	if (alignment > 1 && (address & (alignment - 1)) != 0)
		ExRaiseDatatypeMisalignment();
	if (__builtin_add_overflow(address, length, &end))
		ExRaiseAccessViolation();
}

VOID ProbeForRead(const volatile VOID *Address, SIZE_T Length, ULONG Alignment)
{
	if (Length != 0)
		probe((uintptr_t)Address, Length, Alignment);
}

/* Writes what is there to every page, so that a page that cannot be written faults here. */
VOID ProbeForWrite(volatile VOID *Address, SIZE_T Length, ULONG Alignment)
{
	if (Length == 0)
		return;
	probe((uintptr_t)Address, Length, Alignment);
	uintptr_t last = (uintptr_t)Address + Length - 1;
	for (uintptr_t at = (uintptr_t)Address; at <= last; at = (at | (PAGE_SIZE - 1)) + 1) {
		volatile char *byte = (volatile char *)at;
		char seen = *byte;
		/* Exchanged, so that a write of somebody else is not undone. */
		__atomic_compare_exchange_n(byte, &seen, seen, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	}
}
