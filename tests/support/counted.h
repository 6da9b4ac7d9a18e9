/* SPDX-License-Identifier: MIT */
/*
 * counted.h - for make coverage: what a process passed is written when it ends as it should. Tests of
 * how it ends otherwise write it themselves, before that.
 */
#ifndef TESTS_SUPPORT_COUNTED_H
#define TESTS_SUPPORT_COUNTED_H

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef IS_COUNTED
#define IS_COUNTED 0
#endif

#if IS_COUNTED
void __gcov_dump(void);
#endif

/* In front of _exit(). */
static inline void counts_write(void)
{
#if IS_COUNTED
	__gcov_dump();
#endif
}

/* In a program whose own code calls _exit(): that writes them, too. */
#if IS_COUNTED
#define COUNTS_WRITTEN_BY_EXIT                                                                     \
	void _exit(int status)                                                                     \
	{                                                                                          \
		counts_write();                                                                    \
		for (;;)                                                                           \
			syscall(SYS_exit_group, status);                                           \
	}
#else
#define COUNTS_WRITTEN_BY_EXIT
#endif

static inline void counts_write_and_die(int number)
{
	counts_write();
	signal(number, SIG_DFL); /* it comes again when this returns */
}

static inline void counts_write_at_abort(void)
{
	signal(SIGABRT, IS_COUNTED ? counts_write_and_die : SIG_DFL);
}

static inline void counts_write_at_faults(void)
{
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

	for (size_t i = 0; IS_COUNTED && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], counts_write_and_die);
}

#endif
