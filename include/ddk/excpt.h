/* SPDX-License-Identifier: MIT */
/*
 * excpt.h - __try, __except, __finally and __leave on a platform without SEH.
 *
 *	__try {					if (enter() == RUN) { guard; {
 *		body					body
 *	} __except (filter) {			} completed } else if (caught() && accept(filter)) {
 *		handler					handler
 *	}					}
 *
 * The host keeps a list of frames per thread. A fault or ExRaiseStatus() takes the innermost frame
 * off the list and jumps to it. There is no loop in the expansion, so return, break, continue and
 * goto out of a body or a handler mean what they say, and leave no frame behind; frames nest. A
 * __finally block also runs when its body is left by return, break, continue or goto; to know which
 * kind of block follows, enter() first visits it once before the body runs.
 *
 * Where this differs from the Microsoft compiler:
 *  - The filter runs after the body was abandoned, not before: EXCEPTION_CONTINUE_SEARCH passes the
 *    exception on to the next frame outside, EXCEPTION_CONTINUE_EXECUTION cannot be honoured and
 *    stops the machine (KMODE_EXCEPTION_NOT_HANDLED).
 *  - As with setjmp, a local variable that the body changes and the handler, or a __finally block
 *    reached by an exception or an early exit, reads has to be volatile when the driver is built
 *    with optimisation.
 *  - Objects with destructors between the fault and the handler are not destroyed (the Microsoft
 *    compiler refuses such functions).
 *  - goto or switch into a body does not work, and a return or goto out of a __finally block drops
 *    the exception that was on its way. In C, break and continue in a __finally block end the
 * block.
 *  - GetExceptionCode() in a handler names the last exception this thread caught, which after a
 *    nested __try/__except inside the handler is the nested one.
 *  - Include libstdc++ headers before this one; they have macros called __try and __catch too.
 */
#ifndef OPENDXGK_DDK_EXCPT_H
#define OPENDXGK_DDK_EXCPT_H

#include "ntdef.h"

OPENDXGK_EXTERN_C_BEGIN

#define EXCEPTION_EXECUTE_HANDLER    1
#define EXCEPTION_CONTINUE_SEARCH    0
#define EXCEPTION_CONTINUE_EXECUTION (-1)

#define EXCEPTION_NONCONTINUABLE     0x1
#define EXCEPTION_MAXIMUM_PARAMETERS 15
#define EXCEPTION_ACCESS_VIOLATION   STATUS_ACCESS_VIOLATION
#define EXCEPTION_IN_PAGE_ERROR      STATUS_IN_PAGE_ERROR

typedef struct _EXCEPTION_RECORD {
	NTSTATUS ExceptionCode;
	ULONG ExceptionFlags;
	struct _EXCEPTION_RECORD *ExceptionRecord;
	PVOID ExceptionAddress;
	ULONG NumberParameters;
	ULONG_PTR ExceptionInformation[EXCEPTION_MAXIMUM_PARAMETERS];
} EXCEPTION_RECORD, *PEXCEPTION_RECORD;

struct _CONTEXT;
typedef struct _EXCEPTION_POINTERS {
	PEXCEPTION_RECORD ExceptionRecord;
	struct _CONTEXT *ContextRecord; /* NULL: there are no registers to look at or change */
} EXCEPTION_POINTERS, *PEXCEPTION_POINTERS;

/*
 * What a save returns. The first return, 0, is the visit: the part after the body tells the host
 * whether it is a filter or a __finally block, and the host jumps back to run the body.
 */
#define OPENDXGK_SEH_VISIT 0
#define OPENDXGK_SEH_RUN   1
#define OPENDXGK_SEH_AFTER 2

/* One __try that was entered. Belongs to the host, registers included. */
typedef struct _OPENDXGK_SEH_FRAME *POPENDXGK_SEH_FRAME;

/*
 * The save is the C library's, called by its name so that no libc header is needed; it returns
 * twice, so no function of ours can stand in between.
 */
int OpendxgkSehSave(PVOID Registers, int SaveMask) __asm__("__sigsetjmp")
	__attribute__((returns_twice));

/* A new frame on top of the thread's list; the result is what to save the registers in. */
NTKERNELAPI PVOID NTAPI OpendxgkSehPush(PVOID StackPointer);
/* The body begins: the frame it belongs to, which is on top of the list. */
NTKERNELAPI POPENDXGK_SEH_FRAME NTAPI OpendxgkSehBody(VOID);
/* The body was left: at its end (Completed), or by return, break, continue or goto. */
NTKERNELAPI VOID NTAPI OpendxgkSehPop(POPENDXGK_SEH_FRAME Frame, BOOLEAN Completed);
/* __leave: takes Frame off the list and jumps behind its body. */
NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI OpendxgkSehLeave(POPENDXGK_SEH_FRAME Frame);
/* Before a filter: TRUE when an exception arrived. */
NTKERNELAPI BOOLEAN NTAPI OpendxgkSehCaught(VOID);
/* After a filter: TRUE to run the handler; does not return when the exception is passed on. */
NTKERNELAPI BOOLEAN NTAPI OpendxgkSehAccept(LONG Disposition);
/* Around a __finally block. Begin returns NULL when the body ended normally or with __leave. */
NTKERNELAPI POPENDXGK_SEH_FRAME NTAPI OpendxgkSehFinallyBegin(VOID);
NTKERNELAPI VOID NTAPI OpendxgkSehFinallyEnd(POPENDXGK_SEH_FRAME Frame);

NTKERNELAPI NTSTATUS NTAPI OpendxgkSehCode(VOID);
NTKERNELAPI PEXCEPTION_POINTERS NTAPI OpendxgkSehInformation(VOID);

/* Inlined always: an early exit lends its stack to the __finally block, so the less the better. */
typedef struct _OPENDXGK_SEH_GUARD {
	POPENDXGK_SEH_FRAME Frame;
	BOOLEAN Completed;
#ifdef __cplusplus
	__attribute__((always_inline)) _OPENDXGK_SEH_GUARD()
	    : Frame(OpendxgkSehBody()), Completed(FALSE)
	{
	}
	__attribute__((always_inline)) ~_OPENDXGK_SEH_GUARD()
	{
		OpendxgkSehPop(Frame, Completed);
	}
#endif
} OPENDXGK_SEH_GUARD;

typedef struct _OPENDXGK_SEH_FINALLY {
	POPENDXGK_SEH_FRAME Frame;
	BOOLEAN Ran;
} OPENDXGK_SEH_FINALLY;

OPENDXGK_EXTERN_C_END

#undef __try
#undef __except
#undef __finally
#undef __leave

#if defined(__x86_64__)
#define OPENDXGK_STACK_POINTER()                                                                   \
	(__extension__({                                                                           \
		PVOID opendxgk_sp;                                                                 \
		__asm__ volatile("mov %%rsp, %0" : "=r"(opendxgk_sp));                             \
		opendxgk_sp;                                                                       \
	}))
#elif defined(__aarch64__)
#define OPENDXGK_STACK_POINTER()                                                                   \
	(__extension__({                                                                           \
		PVOID opendxgk_sp;                                                                 \
		__asm__ volatile("mov %0, sp" : "=r"(opendxgk_sp));                                \
		opendxgk_sp;                                                                       \
	}))
#endif

#define OPENDXGK_SEH_ENTER() OpendxgkSehSave(OpendxgkSehPush(OPENDXGK_STACK_POINTER()), 0)

#ifdef __cplusplus
#define OPENDXGK_SEH_GUARD_INIT
#else
OPENDXGK_INLINE __attribute__((always_inline)) VOID OpendxgkSehGuardEnd(OPENDXGK_SEH_GUARD *Guard)
{
	OpendxgkSehPop(Guard->Frame, Guard->Completed);
}
#define OPENDXGK_SEH_GUARD_INIT                                                                    \
	__attribute__((cleanup(OpendxgkSehGuardEnd))) = { OpendxgkSehBody(), FALSE }
#endif

/* A __try inside another has a guard of the same name, and that is how __leave finds its own. */
#define OPENDXGK_SEH_GUARD_VARIABLE                                                                \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")              \
		OPENDXGK_SEH_GUARD opendxgk_seh OPENDXGK_SEH_GUARD_INIT;                           \
	_Pragma("GCC diagnostic pop")

/* The braces do not pair up on purpose, and clang-format takes these names for keywords. */
/* clang-format off */
#define __try                                                                                      \
	if (OPENDXGK_SEH_ENTER() == OPENDXGK_SEH_RUN) {                                            \
		OPENDXGK_SEH_GUARD_VARIABLE
#define __except(...)                                                                              \
		opendxgk_seh.Completed = TRUE;                                                     \
	} else if (OpendxgkSehCaught() && OpendxgkSehAccept((__VA_ARGS__)))
#define __finally                                                                                  \
		opendxgk_seh.Completed = TRUE;                                                     \
	}                                                                                          \
	for (OPENDXGK_SEH_FINALLY opendxgk_finally = { OpendxgkSehFinallyBegin(), FALSE };         \
	     !opendxgk_finally.Ran;                                                                \
	     opendxgk_finally.Ran = TRUE, OpendxgkSehFinallyEnd(opendxgk_finally.Frame))
/* clang-format on */
#define __leave OpendxgkSehLeave(opendxgk_seh.Frame)

#define GetExceptionCode()        OpendxgkSehCode()
#define GetExceptionInformation() OpendxgkSehInformation()
#define AbnormalTermination()     (opendxgk_finally.Frame != NULL)
#define _exception_code           GetExceptionCode
#define _exception_info           GetExceptionInformation
#define _abnormal_termination     AbnormalTermination

#endif
