/*
 * seh_host.c - the host's half of ddk/excpt.h, as small as it can be.
 *
 * Frames live in a per-thread list, innermost first; `after` is the frame whose part behind the
 *body is about to run. A frame is jumped to with the C library's siglongjmp; the signal handler
 *runs with SA_NODEFER, so no signal mask has to be restored.
 *
 * Leaving the body of a __finally early (return, break, goto) has to run the block and then go on
 * leaving. The block belongs to the function that is being left, so it runs on that function's
 * stack, over the frames of OpendxgkSehPop and whatever called it; they are put aside first and put
 * back when the block has ended:
 *
 *	high addresses	| function that says __try |	<- stack_top: its stack pointer
 *			| guard's destructor, Pop  |	<- put aside while the block runs
 *	low addresses	|                          |	<- stack_low
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define OPENDXGK_BUILD_KERNEL
#include "ntddk.h"

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

struct _OPENDXGK_SEH_FRAME {
	sigjmp_buf registers;
	void *resume[5];                   /* __builtin_setjmp */
	struct _OPENDXGK_SEH_FRAME *outer; /* in active, or in unfinished */
	unsigned depth;                    /* active frames when the part behind the body began */
	enum frame_kind kind;
	enum frame_reason reason;
	EXCEPTION_RECORD record;
	char *stack_top;
	char *stack_low;
	char *put_aside; /* copy of [stack_low, stack_top) */
};

static _Thread_local POPENDXGK_SEH_FRAME active;
static _Thread_local unsigned active_count;
static _Thread_local POPENDXGK_SEH_FRAME after;
static _Thread_local POPENDXGK_SEH_FRAME unfinished; /* filters and __finally blocks running */
static _Thread_local EXCEPTION_RECORD current;
static _Thread_local EXCEPTION_POINTERS current_pointers;

static void frame_free(POPENDXGK_SEH_FRAME frame)
{
	free(frame->put_aside);
	free(frame);
}

DECLSPEC_NORETURN VOID NTAPI KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR Parameter1,
					  ULONG_PTR Parameter2, ULONG_PTR Parameter3,
					  ULONG_PTR Parameter4)
{
	fprintf(stderr, "bug check %x (%lx, %lx, %lx, %lx)\n", BugCheckCode, Parameter1, Parameter2,
		Parameter3, Parameter4);
	abort();
}

static DECLSPEC_NORETURN void fatal(const char *what)
{
	fprintf(stderr, "seh: %s\n", what);
	abort();
}

static void take_off(POPENDXGK_SEH_FRAME frame)
{
	if (active != frame)
		fatal("a frame that is not the innermost");
	active = frame->outer;
	active_count--;
	/* Filters and blocks that were inside its body and were left without ending. */
	while (unfinished && unfinished->depth > active_count) {
		POPENDXGK_SEH_FRAME lost = unfinished;

		unfinished = lost->outer;
		frame_free(lost);
	}
}

static void begin_part_behind(POPENDXGK_SEH_FRAME frame)
{
	frame->depth = active_count;
	frame->outer = unfinished;
	unfinished = frame;
}

static POPENDXGK_SEH_FRAME take_after(void)
{
	POPENDXGK_SEH_FRAME frame = after;

	after = NULL;
	return frame;
}

static DECLSPEC_NORETURN void jump_behind_body(POPENDXGK_SEH_FRAME frame, enum frame_reason reason)
{
	frame->reason = reason;
	after = frame;
	siglongjmp(frame->registers, OPENDXGK_SEH_AFTER);
}

static DECLSPEC_NORETURN void raise_record(const EXCEPTION_RECORD *record)
{
	POPENDXGK_SEH_FRAME frame = active;

	if (!frame)
		fatal("an exception that nobody catches");
	frame->record = *record;
	take_off(frame);
	jump_behind_body(frame, REASON_CAUGHT);
}

PVOID NTAPI OpendxgkSehPush(PVOID StackPointer)
{
	POPENDXGK_SEH_FRAME frame = calloc(1, sizeof(*frame));

	if (!frame)
		fatal("no memory");
	frame->stack_top = StackPointer;
	frame->outer = active;
	active = frame;
	active_count++;
	after = frame; /* reason is REASON_VISIT */
	return frame->registers;
}

POPENDXGK_SEH_FRAME NTAPI OpendxgkSehBody(VOID)
{
	return active;
}

UNCHECKED static void copy_stack(char *to, const char *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((volatile char *)to)[i] = ((const volatile char *)from)[i];
}

/* Returns when the __finally block has run. */
UNCHECKED static void run_finally_block(POPENDXGK_SEH_FRAME frame)
{
	if (__builtin_setjmp(frame->resume) == 0) {
		frame->stack_low = (char *)__builtin_frame_address(0) - 4096;
		frame->put_aside = malloc((size_t)(frame->stack_top - frame->stack_low));
		if (!frame->put_aside)
			fatal("no memory");
		copy_stack(frame->put_aside, frame->stack_low,
			   (size_t)(frame->stack_top - frame->stack_low));
		jump_behind_body(frame, REASON_EARLY);
	}
}

/* Runs below the frames it puts back: `room` is what moved the stack pointer there. */
UNCHECKED static DECLSPEC_NORETURN void put_back(POPENDXGK_SEH_FRAME frame, volatile char *room)
{
	room[0] = 0;
	copy_stack(frame->stack_low, frame->put_aside,
		   (size_t)(frame->stack_top - frame->stack_low));
	__builtin_longjmp(frame->resume, 1);
}

UNCHECKED VOID NTAPI OpendxgkSehPop(POPENDXGK_SEH_FRAME Frame, BOOLEAN Completed)
{
	take_off(Frame);
	after = NULL;
	if (!Completed && Frame->kind == FRAME_FINALLY)
		run_finally_block(Frame);
	frame_free(Frame);
}

DECLSPEC_NORETURN VOID NTAPI OpendxgkSehLeave(POPENDXGK_SEH_FRAME Frame)
{
	take_off(Frame);
	jump_behind_body(Frame, REASON_LEAVE);
}

BOOLEAN NTAPI OpendxgkSehCaught(VOID)
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
	current = frame->record;
	begin_part_behind(frame);
	return TRUE;
}

BOOLEAN NTAPI OpendxgkSehAccept(LONG Disposition)
{
	POPENDXGK_SEH_FRAME frame = unfinished;

	unfinished = frame->outer;
	current = frame->record; /* the filter may have caught something of its own */
	frame_free(frame);
	if (Disposition < 0)
		fatal("EXCEPTION_CONTINUE_EXECUTION");
	if (Disposition == EXCEPTION_CONTINUE_SEARCH)
		raise_record(&current);
	return TRUE;
}

POPENDXGK_SEH_FRAME NTAPI OpendxgkSehFinallyBegin(VOID)
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
	begin_part_behind(frame);
	return frame;
}

UNCHECKED VOID NTAPI OpendxgkSehFinallyEnd(POPENDXGK_SEH_FRAME Frame)
{
	if (!Frame)
		return;
	if (unfinished != Frame)
		fatal("a __finally block that is not the innermost");
	unfinished = Frame->outer;
	if (Frame->reason == REASON_EARLY) {
		char *here = __builtin_frame_address(0);
		size_t gap = here > Frame->stack_low ? (size_t)(here - Frame->stack_low) : 0;

		put_back(Frame, __builtin_alloca(gap + 4096));
	}
	EXCEPTION_RECORD record = Frame->record;
	frame_free(Frame);
	raise_record(&record);
}

NTSTATUS NTAPI OpendxgkSehCode(VOID)
{
	return current.ExceptionCode;
}

PEXCEPTION_POINTERS NTAPI OpendxgkSehInformation(VOID)
{
	current_pointers.ExceptionRecord = &current;
	return &current_pointers;
}

DECLSPEC_NORETURN VOID NTAPI ExRaiseStatus(NTSTATUS Status)
{
	EXCEPTION_RECORD record = {
		.ExceptionCode = Status,
		.ExceptionFlags = EXCEPTION_NONCONTINUABLE,
		.ExceptionAddress = __builtin_return_address(0),
	};

	raise_record(&record);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	EXCEPTION_RECORD record = {
		.ExceptionCode = signal_number == SIGFPE ? STATUS_INTEGER_DIVIDE_BY_ZERO
							 : STATUS_ACCESS_VIOLATION,
		.NumberParameters = 2,
		.ExceptionInformation = { 0, (ULONG_PTR)info->si_addr },
	};

	/* The handler never returns: put back the mask itself (a sanitizer may have filled it). */
	pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
	raise_record(&record);
}

__attribute__((constructor)) static void start(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
}
