/* SPDX-License-Identifier: MIT */
/*
 * race.h - what orders the accesses of a driver, for the thread sanitizer that it was built with.
 *
 * The sanitizer knows what instrumented code and the C library do. The driver's locks, waits and DPCs are ours, and we need not be
 * instrumented; so whoever orders two threads of a driver says it here: what came before a release comes before what follows the
 * acquire. Where no sanitizer is loaded, or this code is instrumented itself, nothing is said.
 */
#ifndef BASE_RACE_H
#define BASE_RACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

extern bool race_is_told __attribute__((visibility("hidden"))); /* somebody listens */

/* NULL: nothing to tell. */
void race_tell_acquire(const void *what);
void race_tell_release(const void *what);
void race_tell_new(const void *memory, size_t size_bytes);
void race_tell_pause(bool is_over);

static inline void race_acquire(const void *what)
{
	if (UNLIKELY(race_is_told))
		race_tell_acquire(what);
}

static inline void race_release(const void *what)
{
	if (UNLIKELY(race_is_told))
		race_tell_release(what);
}

/* Who has this memory now is the first. */
static inline void race_new_memory(const void *memory, size_t size_bytes)
{
	if (UNLIKELY(race_is_told))
		race_tell_new(memory, size_bytes);
}

/* Between the two, the calling thread uses what the sanitizer sees by itself (pthreads), and that orders nothing. */
static inline void race_pause(void)
{
	if (UNLIKELY(race_is_told))
		race_tell_pause(false);
}

static inline void race_go_on(void)
{
	if (UNLIKELY(race_is_told))
		race_tell_pause(true);
}

#endif
