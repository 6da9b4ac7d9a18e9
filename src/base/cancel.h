/* SPDX-License-Identifier: MIT */
/*
 * cancel.h - calls are no cancellation points.
 *
 * A thread that pthread_cancel() ends in the middle of a call would leave locks taken and gates
 * passed behind, for ever. So cancellation waits outside: at the border calls hold it off and give
 * it back, and threads of the kernel's own never allow it. It costs two locked instructions, which
 * the few calls that are made most often do without: what is a cancellation point to the host
 * (write(), poll(), close() …) and can be come to from there holds it off itself.
 */
#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

#include <pthread.h>

/* From here on the calling thread cannot be cancelled. For cancel_give_back(). */
static inline int cancel_hold_off(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

/* What was asked for meanwhile takes effect where the client lets it. */
static inline void cancel_give_back(int before)
{
	int held_off;

	pthread_setcancelstate(before, &held_off);
}

#endif
