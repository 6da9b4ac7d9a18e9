/*
 * cancel.h - calls are no cancellation points.
 *
 * A thread that pthread_cancel() ends in the middle of a call would leave locks taken and gates
 * passed behind, for ever. So cancellation waits outside: at the border each call holds it off and
 * gives it back, and threads of the kernel's own never allow it.
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
