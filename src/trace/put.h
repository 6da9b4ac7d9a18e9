/* SPDX-License-Identifier: MIT */
/*
 * put.h - of put.c, what is not in trace.h. For trace/ only.
 */
#ifndef TRACE_PUT_H
#define TRACE_PUT_H

#include <stdint.h>

/* That of the next event, whoever says it. */
uint64_t trace_sequence(void);

/* The first event of a thread. */
void trace_put_thread(const char *name, uint32_t tid);

#endif
