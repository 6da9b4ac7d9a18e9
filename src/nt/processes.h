/* SPDX-License-Identifier: MIT */
/*
 * processes.h - what stands behind PEPROCESS: the system, and the process around us.
 */
#ifndef NT_PROCESSES_H
#define NT_PROCESSES_H

#include <stdbool.h>

/* The process around us begins or ends to be a client; this thread belongs to it. */
void nt_process_tell(bool begins);

/* Routines of a driver that is gone, which it should have taken back: how many there were. */
unsigned nt_process_forget_routines(const void *begin, const void *end);

#endif
