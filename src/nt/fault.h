/* SPDX-License-Identifier: MIT */
/*
 * fault.h - faults of the processor, and abort(), on threads that may be in a driver.
 *
 * In order: memory that is out of reach on purpose (trap.h, paged_guard.h), a __try of the driver (seh.h),
 * a driver that crashed, whoever handled the signal before. A crash is told with the entry point,
 * its arguments and the driver's lines, and then the process ends by the signal as it would have.
 * A thread that is in no driver is none of our business.
 */
#ifndef NT_FAULT_H
#define NT_FAULT_H

#include <stddef.h>

/* Installs the handlers, once. Before the first call into a driver. */
void nt_faults_install(void);

/* Puts back the handlers that were there before, unless they were replaced. */
void nt_faults_stop(void);

/*
 * Which entry point the calling thread is in, NULL for none; and what it was given, as text. The
 * first is asked in a signal handler, the second in a child of the process that crashed.
 */
struct nt_entry_source {
	const char *(*name)(void);
	void (*arguments)(char *text, size_t size_bytes);
};
void nt_faults_ask(const struct nt_entry_source *source);

/* The calling thread ends the process, and has said why. */
void nt_faults_expect_end(void);

/* The process is about to exit: a driver that calls exit() is told of like one that calls abort(). */
void nt_faults_exit(void);

/* What of a driver the calling thread is in, for people; NULL: nothing. */
const char *nt_fault_where(void);

#endif
