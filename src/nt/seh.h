/* SPDX-License-Identifier: MIT */
/*
 * seh.h - exceptions of drivers, the host's side. Drivers use <ddk/excpt.h>.
 */
#ifndef NT_SEH_H
#define NT_SEH_H

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/status.h"

/* Raises if a __try of this thread is there to catch it; returns otherwise. */
void nt_seh_raise_if_guarded(NTSTATUS status);

/* The thread leaves the driver's code for good: forgets the frames it entered. How many. */
uint32_t nt_seh_forget_frames(void);

/* In a signal handler: raises if a __try of this thread is there to catch it; returns otherwise. */
void nt_seh_take_fault(int number, const siginfo_t *info, const ucontext_t *context);

/* How many of those this thread has caught. */
uint64_t nt_seh_faults_caught(void);

#endif
