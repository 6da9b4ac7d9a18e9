/* SPDX-License-Identifier: MIT */
/*
 * processor.h - where threads run.
 */
#ifndef BASE_PROCESSOR_H
#define BASE_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/*
 * The processor that the caller is on is the only one for it from now on, and for threads that it starts. Where a seed lets one
 * run at a time, a turn costs half as much there.
 */
void processor_stay(void);

/* The one that the caller is on, UINT32_MAX: the system does not say. It may be another the moment after. */
uint32_t processor_number(void);

/* Goes to another one than this, where there is one for it. */
MUST_CHECK bool processor_leave(uint32_t number);

/*
 * A thread is often woken on the processor of who wakes it, also when that one goes on for long and another is idle: in a virtual
 * machine an idle processor looks taken. Who sleeps says who it is, and who wakes it may send it to another processor, where there
 * is one for it. It calls processor_return() then, and may be anywhere again.
 */
struct processor_sleeper {
	unsigned long thread;
	uint64_t allowed[16]; /* the processors, before it was sent away */
	uint64_t others[16];  /* and when it was */
};
void processor_sleep(struct processor_sleeper *sleeper_out);
MUST_CHECK bool processor_send_away(struct processor_sleeper *sleeper);
void processor_return(const struct processor_sleeper *sleeper);

#endif
