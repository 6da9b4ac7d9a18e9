/* SPDX-License-Identifier: MIT */
/*
 * seh_test.c - exceptions of drivers, and faults that are none of ours.
 */
#include "nt/fault.h"
#include "nt/seh.h"
#include "unit/nt/nt_harness.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/counted.h"

/* A __try inside another one hides the outer one's variable. */
#pragma GCC diagnostic ignored "-Wshadow"

static __attribute__((noinline)) int read_from(volatile uintptr_t address)
{
	return *(volatile int *)address;
}

static __attribute__((noinline)) void write_to(volatile uintptr_t address)
{
	*(volatile int *)address = 1;
}

__attribute__((noinline, no_sanitize("undefined"))) static void divide(volatile int by)
{
	volatile int result = 100 / by;

	(void)result;
}

static bool is_blocked(int number)
{
	sigset_t mask;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	return sigismember(&mask, number) == 1;
}

/* ---- catching ---- */

NT_TEST(seh, a_fault_reaches_the_handler_again_and_again_with_the_mask_restored)
{
	for (volatile int i = 0; i < 3; i++) {
		volatile NTSTATUS code = 0;
		volatile ULONG_PTR address = 0, is_write = 7;
		__try {
			read_from(0x10);
			fail();
		} __except (EXCEPTION_EXECUTE_HANDLER) {
			PEXCEPTION_RECORD record = GetExceptionInformation()->ExceptionRecord;
			code = GetExceptionCode();
			is_write = record->ExceptionInformation[0];
			address = record->ExceptionInformation[1];
		}
		EXPECT_EQ(code, STATUS_ACCESS_VIOLATION);
		EXPECT_EQ(address, 0x10);
		EXPECT_EQ(is_write, 0);
		EXPECT(!is_blocked(SIGSEGV));
	}
	EXPECT_EQ(nt_seh_forget_frames(), 0);
	EXPECT_NO_REPORT();
}

NT_TEST(seh, a_fault_says_what_it_was)
{
	volatile NTSTATUS code = 0;
	volatile ULONG_PTR is_write = 0;

	__try {
		write_to(0x20);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		is_write = GetExceptionInformation()->ExceptionRecord->ExceptionInformation[0];
		code = GetExceptionCode();
	}
	EXPECT_EQ(code, STATUS_ACCESS_VIOLATION);
	EXPECT_EQ(is_write, 1);
#if defined(__x86_64__)
	__try {
		divide(0);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		code = GetExceptionCode();
	}
	EXPECT_EQ(code, STATUS_INTEGER_DIVIDE_BY_ZERO);
	__try {
		__asm__ volatile("ud2");
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		code = GetExceptionCode();
	}
	EXPECT_EQ(code, STATUS_ILLEGAL_INSTRUCTION);
#endif
	EXPECT_NO_REPORT();
}

/* As the processor and the kernel say them; not every machine can be made to. */
NT_TEST(seh, a_fault_of_arithmetic_or_alignment_has_the_status_of_its_code)
{
	static const struct {
		int number, code;
		NTSTATUS status;
	} cases[] = {
		{ SIGFPE, FPE_INTDIV, STATUS_INTEGER_DIVIDE_BY_ZERO },
		{ SIGFPE, FPE_INTOVF, STATUS_INTEGER_OVERFLOW },
		{ SIGFPE, FPE_FLTDIV, STATUS_FLOAT_DIVIDE_BY_ZERO },
		{ SIGFPE, FPE_FLTOVF, STATUS_FLOAT_OVERFLOW },
		{ SIGFPE, FPE_FLTUND, STATUS_FLOAT_UNDERFLOW },
		{ SIGFPE, FPE_FLTRES, STATUS_FLOAT_INEXACT_RESULT },
		{ SIGFPE, FPE_FLTINV, STATUS_FLOAT_INVALID_OPERATION },
		{ SIGBUS, BUS_ADRALN, STATUS_DATATYPE_MISALIGNMENT },
	};

	for (volatile size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		volatile NTSTATUS code = 0;
		siginfo_t info = { .si_code = cases[i].code };
		ucontext_t context = { 0 };

		sigprocmask(SIG_SETMASK, NULL, &context.uc_sigmask);
		__try {
			nt_seh_take_fault(cases[i].number, &info, &context);
		} __except (EXCEPTION_EXECUTE_HANDLER) {
			code = GetExceptionCode();
		}
		EXPECT_EQ(code, cases[i].status);
	}
	EXPECT_NO_REPORT();
}

NT_TEST(seh, a_page_behind_the_end_of_a_file_is_an_in_page_error)
{
	volatile NTSTATUS code = 0;

	int file = memfd_create("empty", 0);
	void *page = mmap(NULL, PAGE_SIZE, PROT_READ, MAP_SHARED, file, 0);
	__try {
		read_from((uintptr_t)page);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		code = GetExceptionCode();
	}
	EXPECT_EQ(code, STATUS_IN_PAGE_ERROR);
	munmap(page, PAGE_SIZE);
	close(file);
}

static int volatile finally_runs;

static int leave_early(int how)
{
	__try {
		if (how == 1)
			return 10;
		if (how == 2)
			ExRaiseStatus(STATUS_NO_MEMORY);
		if (how == 3)
			__leave;
	} __finally {
		finally_runs++;
		EXPECT_EQ(AbnormalTermination(), how == 1 || how == 2);
	}
	return 20;
}

NT_TEST(seh, a_finally_block_runs_however_the_body_is_left)
{
	volatile int result = 0;
	volatile NTSTATUS code = 0;

	finally_runs = 0;
	EXPECT_EQ(leave_early(0), 20);
	EXPECT_EQ(leave_early(1), 10);
	EXPECT_EQ(leave_early(3), 20);
	EXPECT_EQ(finally_runs, 3);
	__try {
		result = leave_early(2);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		code = GetExceptionCode();
	}
	EXPECT_EQ(finally_runs, 4);
	EXPECT_EQ(result, 0);
	EXPECT_EQ(code, STATUS_NO_MEMORY);
	EXPECT_EQ(nt_seh_forget_frames(), 0);
	EXPECT_NO_REPORT();
}

NT_TEST(seh, a_filter_passes_on_what_it_does_not_want)
{
	volatile int handler = 0;

	__try {
		__try {
			ExRaiseStatus(STATUS_NO_MEMORY);
		} __except (GetExceptionCode() == STATUS_ACCESS_VIOLATION) {
			handler = 1;
		}
	} __except (GetExceptionCode() == STATUS_NO_MEMORY ? EXCEPTION_EXECUTE_HANDLER
							   : EXCEPTION_CONTINUE_SEARCH) {
		handler = 2;
	}
	EXPECT_EQ(handler, 2);
	EXPECT_EQ(nt_seh_forget_frames(), 0);
}

NT_TEST(seh, routines_that_raise_on_windows_raise_inside_a_try)
{
	volatile NTSTATUS code = 0;
	KSEMAPHORE semaphore;

	KeInitializeSemaphore(&semaphore, 1, 1);
	__try {
		KeReleaseSemaphore(&semaphore, 0, 1, FALSE);
		fail();
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		code = GetExceptionCode();
	}
	EXPECT_EQ(code, STATUS_SEMAPHORE_LIMIT_EXCEEDED);
	EXPECT_REPORTS(RULE_NT_SEMAPHORE_LIMIT, 1);
}

NT_TEST(seh, memory_that_raises_on_failure_does)
{
	volatile NTSTATUS code = 0;
	void *volatile memory = NULL;

	__try {
		memory = ExAllocatePool2(POOL_FLAG_PAGED | POOL_FLAG_RAISE_ON_FAILURE, SIZE_MAX, 1);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		code = GetExceptionCode();
	}
	EXPECT(!memory);
	EXPECT_EQ(code, STATUS_INSUFFICIENT_RESOURCES);
}

static NTSTATUS probe(bool writes, uintptr_t address, size_t length, ULONG alignment)
{
	volatile NTSTATUS code = STATUS_SUCCESS;

	__try {
		if (writes)
			ProbeForWrite((void *)address, length, alignment);
		else
			ProbeForRead((void *)address, length, alignment);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		code = GetExceptionCode();
	}
	return code;
}

NT_TEST(seh, probes_raise_for_ranges_that_cannot_be)
{
	char *pages = mmap(NULL, 3 * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	uintptr_t first = (uintptr_t)pages;
	pages[0] = 'x';
	EXPECT_EQ(probe(true, first, 3 * PAGE_SIZE, 8), STATUS_SUCCESS);
	EXPECT_EQ(pages[0], 'x');
	EXPECT_EQ(probe(false, first + 1, 8, 4), STATUS_DATATYPE_MISALIGNMENT);
	EXPECT_EQ(probe(false, UINTPTR_MAX - 4, 100, 1), STATUS_ACCESS_VIOLATION);
	EXPECT_EQ(probe(false, first + 1, 0, 4), STATUS_SUCCESS); /* nothing is nothing */
	mprotect(pages + 2 * PAGE_SIZE, PAGE_SIZE, PROT_READ);
	EXPECT_EQ(probe(true, first, 2 * PAGE_SIZE, 1), STATUS_SUCCESS);
	EXPECT_EQ(probe(true, first, 2 * PAGE_SIZE + 1, 1), STATUS_ACCESS_VIOLATION);
	munmap(pages, 3 * PAGE_SIZE);
	EXPECT_NO_REPORT();
}

static VOID NTAPI fault_often(PVOID context)
{
	volatile int caught = 0;

	for (volatile int i = 0; i < 20; i++) {
		__try {
			read_from((uintptr_t)context);
		} __except (EXCEPTION_EXECUTE_HANDLER) {
			caught += GetExceptionInformation()
					  ->ExceptionRecord->ExceptionInformation[1] ==
				  (ULONG_PTR)context;
		}
	}
	EXPECT_EQ(caught, 20);
}

static VOID NTAPI terminate_in_a_try(PVOID context)
{
	(void)context;
	__try {
		PsTerminateSystemThread(STATUS_SUCCESS);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
	}
}

NT_TEST(seh, every_thread_has_its_own_frames)
{
	PKTHREAD threads[3];

	for (int i = 0; i < 3; i++)
		threads[i] = nt_test_start(fault_often, (PVOID)(uintptr_t)(0x100 * (i + 1)));
	PKTHREAD quitter = nt_test_start(terminate_in_a_try, NULL);
	for (int i = 0; i < 3; i++)
		nt_test_join(threads[i]);
	nt_test_join(quitter);
	EXPECT_NO_REPORT();
}

/* ---- faults that are none of ours ---- */

static sigjmp_buf client_escape;
static volatile sig_atomic_t client_signal;
static void *volatile client_address;

static void client_plain(int number)
{
	client_signal = number;
	siglongjmp(client_escape, 1);
}

static void client_info(int number, siginfo_t *info, void *context)
{
	(void)context;
	client_address = info->si_addr;
	client_plain(number);
}

/* A __try, so that the handlers are ours. */
static void use_seh(void)
{
	volatile bool was_caught = false;

	__try {
		read_from(0x30);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		was_caught = true;
	}
	EXPECT(was_caught);
}

static void client_run(const struct sigaction *client)
{
	struct sigaction before, after;

	nt_test_begin();
	nt_faults_stop();
	sigaction(SIGSEGV, client, &before);
	use_seh();
	client_signal = 0;
	client_address = NULL;
	if (sigsetjmp(client_escape, 1) == 0)
		read_from(0x40);
	EXPECT_EQ(client_signal, SIGSEGV);
	EXPECT(!is_blocked(SIGSEGV));
	use_seh(); /* still works for us */

	nt_faults_stop();
	sigaction(SIGSEGV, &before, &after);
	EXPECT(after.sa_handler == client->sa_handler);
	nt_test_finish();
}

TEST(seh, a_fault_outside_a_try_goes_to_the_clients_plain_handler)
{
	struct sigaction action = { .sa_handler = client_plain };

	client_run(&action);
	EXPECT(!client_address);
}

TEST(seh, a_fault_outside_a_try_goes_to_the_clients_handler_with_its_information)
{
	struct sigaction action = { .sa_sigaction = client_info, .sa_flags = SA_SIGINFO };

	client_run(&action);
	EXPECT_EQ((uintptr_t)client_address, 0x40);
}

/* Runs `body` in a child that starts with default handlers. How the child ended. */
static int child_run(void (*body)(void), char *output, size_t size)
{
	int pipes[2];
	int status;
	size_t used = 0;
	ssize_t got;

	fflush(NULL);
	EXPECT_EQ(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		counts_write_at_abort();
		dup2(pipes[1], STDERR_FILENO);
		dup2(pipes[1], STDOUT_FILENO);
		close(pipes[0]);
		log_redirect(NULL, NULL);
		body();
		counts_write();
		_exit(0);
	}
	close(pipes[1]);
	while ((got = read(pipes[0], output + used, size - 1 - used)) > 0)
		used += (size_t)got;
	output[used] = '\0';
	close(pipes[0]);
	EXPECT_EQ(waitpid(child, &status, 0), child);
	return status;
}

static void fault_without_handler(void)
{
	use_seh();
	read_from(0x50);
}

static void signal_without_handler(void)
{
	use_seh();
	raise(SIGSEGV);
}

static void raise_outside(void)
{
	ExRaiseStatus(STATUS_NO_MEMORY);
}

static void go_on_there(void)
{
	__try {
		ExRaiseStatus(STATUS_NO_MEMORY);
	} __except (EXCEPTION_CONTINUE_EXECUTION) {
	}
}

TEST(seh, without_a_client_handler_a_fault_ends_the_process_as_ever)
{
	char output[8192];

	nt_faults_stop();
	int status = child_run(fault_without_handler, output, sizeof(output));
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	status = child_run(signal_without_handler, output, sizeof(output));
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

TEST(seh, raising_where_nobody_catches_stops_the_machine_and_says_why)
{
	char output[8192];

	int status = child_run(raise_outside, output, sizeof(output));
	EXPECT(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
	EXPECT_CONTAINS(output, "STATUS_NO_MEMORY was raised and no __try is there to catch it "
				"(NT-SEH-UNHANDLED)");
}

TEST(seh, a_filter_that_wants_to_go_on_where_it_was_stops_the_machine_and_says_why)
{
	char output[8192];

	int status = child_run(go_on_there, output, sizeof(output));
	EXPECT(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
	EXPECT_CONTAINS(output,
			"A filter answered EXCEPTION_CONTINUE_EXECUTION to STATUS_NO_MEMORY "
			"(NT-SEH-CONTINUE)");
	EXPECT_CONTAINS(output, "KMODE_EXCEPTION_NOT_HANDLED");
}

TEST_MAIN("nt/seh")
