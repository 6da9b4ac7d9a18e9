/* SPDX-License-Identifier: MIT */
/*
 * effort.h - how much the calling thread has done, for who holds code to a time.
 *
 * A clock cannot tell: a thread may be kept from running, and in a seeded run time is virtual and does not see a loop at
 * all. So instructions are counted where the machine lets us, and time on a processor elsewhere, which a busy machine
 * still makes longer: whoever judges by it looks more than once.
 */
#ifndef BASE_EFFORT_H
#define BASE_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

struct effort {
	bool is_counted; /* `amount` is instructions, else nanoseconds */
	uint64_t amount;
};

/* A system call: for code that took long by effort_glance_ns(). */
struct effort effort_now(void);

/* Real nanoseconds since an arbitrary start, cheaply: no thread has had more time than passed here. */
uint64_t effort_glance_ns(void);

#endif
