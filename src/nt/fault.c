/* SPDX-License-Identifier: MIT */
/*
 * fault.c - see fault.h.
 *
 * A process that crashed may hold any lock, the allocator's and the loader's included, and its heap
 * may be in pieces. So the handler itself writes one line, and the rest is told by a copy of the
 * process: if that does not come to its end, nothing else is lost. It has a stack of its own,
 * because the handler may be on the small one of a client.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "nt/fault.h"
#include "nt/paged_guard.h"
#include "nt/pool.h"
#include "nt/report.h"
#include "nt/seh.h"
#include "nt/symbols.h"
#include "nt/trap.h"
#include "nt/user_watch.h"
#include "nt/visit.h"

enum {
	CHILD_STACK_BYTES = 1 << 20,
	CHILD_PATIENCE_MS = 20000,
};

static const int fault_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

/* Written before the handler can run, then constant; are_installed and has_exit are guarded by its lock. */
static struct sigaction fault_previous[ARRAY_SIZE(fault_signals)];
static struct lock install_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "nt fault handlers");
static _Atomic bool are_installed;
static bool has_exit;

static const struct nt_entry_source *_Atomic entry_source;
static _Atomic bool has_crashed;
static _Thread_local bool is_end_expected;
static _Thread_local bool is_exiting;

_Thread_local struct nt_visit *nt_visit_innermost;

void nt_faults_ask(const struct nt_entry_source *source)
{
	atomic_store_explicit(&entry_source, source, memory_order_release);
}

void nt_faults_expect_end(void)
{
	is_end_expected = true;
}

void nt_faults_exit(void)
{
	if (is_exiting || is_end_expected || !nt_fault_where())
		return;
	is_exiting = true;
	abort();
}

const char *nt_fault_where(void)
{
	const struct nt_entry_source *source =
		atomic_load_explicit(&entry_source, memory_order_acquire);
	const char *entry = source ? source->name() : NULL;

	if (entry)
		return entry;
	return nt_visit_innermost ? nt_visit_innermost->what : NULL;
}

/* ---- what happened ---- */

static const char *signal_name(int number)
{
	switch (number) {
	case SIGSEGV:
		return "SIGSEGV";
	case SIGBUS:
		return "SIGBUS";
	case SIGFPE:
		return "SIGFPE";
	case SIGILL:
		return "SIGILL";
	default:
		return "SIGABRT";
	}
}

static struct nt_fault fault_of(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (struct nt_fault){ .code = (const void *)context->uc_mcontext.gregs[REG_RIP],
				  .stack = (const void *)context->uc_mcontext.gregs[REG_RSP] };
#else
	return (struct nt_fault){ .code = (const void *)context->uc_mcontext.pc };
#endif
}

static bool is_write(const ucontext_t *context)
{
#if defined(__x86_64__)
	return context->uc_mcontext.gregs[REG_ERR] & 2;
#else
	return false;
#endif
}

/*
 * The processor does not say which address it was that cannot be one; a register that holds what
 * the pool is filled with, give or take the offset of a member, was it. 0 for none.
 */
static uint64_t pool_value_in_registers(const ucontext_t *context)
{
	static const uint8_t bytes[] = { POOL_FRESH_BYTE, POOL_FREED_BYTE };

#if defined(__x86_64__)
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		uint64_t filled = UINT64_C(0x0101010101010101) * bytes[i];

		for (int name = REG_R8; name <= REG_RCX; name++) {
			uint64_t value = (uint64_t)context->uc_mcontext.gregs[name];

			if (value - filled < 65536 || filled - value < 65536)
				return value;
		}
	}
#endif
	return 0;
}

static void describe(int number, const siginfo_t *info, const ucontext_t *context, char *text,
		     size_t size_bytes)
{
	bool is_access = number == SIGSEGV || number == SIGBUS;
	uint64_t value =
		is_access && info->si_code == SI_KERNEL ? pool_value_in_registers(context) : 0;

	if (number == SIGABRT)
		snprintf(text, size_bytes, "it called %s()", is_exiting ? "exit" : "abort");
	else if (number == SIGFPE)
		snprintf(text, size_bytes, "it divided by zero, or the like");
	else if (number == SIGILL)
		snprintf(text, size_bytes, "it came to an illegal instruction");
	else if (value != 0)
		snprintf(text, size_bytes, "it used the address 0x%llx", (unsigned long long)value);
	else if (info->si_code == SI_KERNEL)
		snprintf(text, size_bytes, "it used an address that cannot be one");
	else if (info->si_addr == fault_of(context).code)
		snprintf(text, size_bytes, "it called %p", info->si_addr);
	else
		snprintf(text, size_bytes, "it %s %p%s", is_write(context) ? "wrote to" : "read",
			 info->si_addr,
			 nt_paged_guard_is_freed(info->si_addr) ? " in freed paged pool" : "");
}

/* ---- telling it ---- */

static struct nt_stack child_frames;
static char child_sentence[256];
static ucontext_t child_context;
static char child_stack[CHILD_STACK_BYTES];

static void child_main(void)
{
	const struct nt_entry_source *source = atomic_load(&entry_source);
	struct symbols symbols = { 0 };
	char text[512] = "";

	symbols_refresh(&symbols);
	if (source && source->name())
		source->arguments(text, sizeof(text));
	if (text[0] != '\0') {
		nt_report_explain_values(text, sizeof(text));
		log_warn("  with %s", text);
	} else if (nt_visit_innermost) {
		symbols_where(&symbols, nt_visit_innermost->routine, text, sizeof(text));
		log_warn("  in %s %s", nt_visit_innermost->what, text);
	}
	nt_stack_print(&symbols, &child_frames);
	/* It has images' files mapped, and another table would take these for parts of the images. */
	symbols_close(&symbols);
	nt_report_tell_crash(child_sentence, &child_frames);
	_exit(0);
}

static bool is_mapped(const void *address)
{
	const uintptr_t page = (uintptr_t)address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	unsigned char is_resident;

	return mincore((void *)page, 1, &is_resident) == 0;
}

/* Code that is none cannot be read by who walks the stack, either: back to where it was called. */
static void leave_wild_code(ucontext_t *context)
{
#if defined(__x86_64__)
	greg_t *registers = context->uc_mcontext.gregs;

	if (is_mapped((const void *)registers[REG_RIP]) ||
	    !is_mapped((const void *)registers[REG_RSP]))
		return;
	registers[REG_RIP] = *(const greg_t *)registers[REG_RSP];
	registers[REG_RSP] += (greg_t)sizeof(greg_t);
#endif
}

NORETURN static void child_begin(ucontext_t *context)
{
	struct nt_fault fault = fault_of(context);
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (unsigned i = 0; i < ARRAY_SIZE(fault_signals); i++)
		sigaction(fault_signals[i], &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	thread_be_alone();
	leave_wild_code(context);
	nt_stack_take_fault(&child_frames, &fault);
	getcontext(&child_context);
	child_context.uc_stack.ss_sp = child_stack;
	child_context.uc_stack.ss_size = sizeof(child_stack);
	makecontext(&child_context, child_main, 0);
	setcontext(&child_context);
	_exit(1);
}

/* True when it told everything. */
static bool child_wait(pid_t child)
{
	int handle = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd end = { .fd = handle, .events = POLLIN };
	int status = 0;

	if (handle >= 0 && poll(&end, 1, CHILD_PATIENCE_MS) != 1)
		kill(child, SIGKILL);
	if (handle >= 0)
		close(handle);
	/* Somebody who waits for all children may have it already. */
	return waitpid(child, &status, 0) != child || (WIFEXITED(status) && !WEXITSTATUS(status));
}

static void crash_report(const char *where, int number, const siginfo_t *info, ucontext_t *context)
{
	char what[128];

	if (atomic_exchange(&has_crashed, true))
		return;
	describe(number, info, context, what, sizeof(what));
	nt_report_explain_values(what, sizeof(what));
	snprintf(child_sentence, sizeof(child_sentence), "%s in %s: %s", signal_name(number), where,
		 what);
	log_warn("driver: %s (%s)", child_sentence, rule_id(RULE_DDI_CRASH));
	/* A sanitizer was there before us, and tells the rest. */
	if (!MEM_KEEPS)
		return;
	pid_t child = _Fork();
	if (child == 0)
		child_begin(context);
	if (child < 0 || !child_wait(child))
		log_warn("  at %p; the stack could not be read", fault_of(context).code);
}

/* ---- handlers ---- */

/* Nobody was there before us: the default, with the fault as it was. */
static void fault_default(int number, const siginfo_t *info)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	sigaction(number, &action, NULL);
	/* A fault happens again when we return; a signal that was sent has to be sent again. */
	if (info->si_code <= 0)
		raise(number);
}

static void fault_pass_on(struct sigaction *previous, int number, siginfo_t *info,
			  ucontext_t *context)
{
	static ucontext_t was_here;
	sigset_t before;

	/* A handler that was there before us and was installed once more passes it on to us. The
	   kernel has no use for the link, and clears it for every signal. */
	bool is_circle = context->uc_link == &was_here;
	context->uc_link = &was_here;
	if (is_circle || (!(previous->sa_flags & SA_SIGINFO) &&
			  (previous->sa_handler == SIG_DFL ||
			   (previous->sa_handler == SIG_IGN && info->si_code > 0)))) {
		fault_default(number, info);
		return;
	}
	if (!(previous->sa_flags & SA_SIGINFO) && previous->sa_handler == SIG_IGN)
		return;

	/* The mask the kernel would have set for it; this thread's, on Linux. */
	sigset_t blocked = previous->sa_mask;
	if (!(previous->sa_flags & SA_NODEFER))
		sigaddset(&blocked, number);
	sigset_t wanted = context->uc_sigmask;
	sigorset(&wanted, &wanted, &blocked);
	sigprocmask(SIG_SETMASK, &wanted, &before);

	struct sigaction handler = *previous;
	if (previous->sa_flags & (int)SA_RESETHAND)
		*previous = (struct sigaction){ .sa_handler = SIG_DFL };
	if (handler.sa_flags & SA_SIGINFO)
		handler.sa_sigaction(number, info, context);
	else
		handler.sa_handler(number);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A signal that somebody sent is no fault of the code that runs, unless it is its own abort(). */
static bool is_own(int number, const siginfo_t *info)
{
	if (number == SIGABRT)
		return info->si_code == SI_TKILL && info->si_pid == getpid();
	return info->si_code > 0;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	unsigned index = 0;

	if (is_own(number, info)) {
		struct nt_fault fault = fault_of(context);

		if (number == SIGSEGV && (nt_trap_fault(info->si_addr, is_write(context), &fault) ||
					  nt_paged_guard_fault(info->si_addr, &fault) ||
					  nt_user_watch_fault(info->si_addr, context)))
			return;
		if (number != SIGABRT)
			nt_seh_take_fault(number, info, context);
		const char *where = is_end_expected ? NULL : nt_fault_where();
		if (where)
			crash_report(where, number, info, context);
	}
	while (fault_signals[index] != number)
		index++;
	fault_pass_on(&fault_previous[index], number, info, context);
}

void nt_faults_install(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	if (LIKELY(atomic_load_explicit(&are_installed, memory_order_acquire)))
		return;
	lock_acquire(&install_lock);
	if (!atomic_load_explicit(&are_installed, memory_order_relaxed)) {
		if (!has_exit)
			has_exit = atexit(nt_faults_exit) == 0;
		for (unsigned i = 0; i < ARRAY_SIZE(fault_signals); i++)
			sigaction(fault_signals[i], NULL, &fault_previous[i]);
		for (unsigned i = 0; i < ARRAY_SIZE(fault_signals); i++)
			sigaction(fault_signals[i], &action, NULL);
		atomic_store_explicit(&are_installed, true, memory_order_release);
	}
	lock_release(&install_lock);
}

void nt_faults_stop(void)
{
	struct sigaction now;

	lock_acquire(&install_lock);
	for (unsigned i = 0; are_installed && i < ARRAY_SIZE(fault_signals); i++) {
		sigaction(fault_signals[i], NULL, &now);
		if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault)
			sigaction(fault_signals[i], &fault_previous[i], NULL);
	}
	atomic_store_explicit(&are_installed, false, memory_order_release);
	lock_release(&install_lock);
}
