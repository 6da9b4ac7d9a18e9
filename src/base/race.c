/* SPDX-License-Identifier: MIT */
/*
 * race.c - see race.h.
 */
#include "base/race.h"
#include "base/sanitizers.h"

bool race_is_told;

#if IS_THREAD_SANITIZED /* it sees for itself */

void race_tell_acquire(const void *what)
{
}

void race_tell_release(const void *what)
{
}

void race_tell_new(const void *memory, size_t size_bytes)
{
}

void race_tell_pause(bool is_over)
{
}

#else

/* Of the sanitizer's library, if that is there. */
#define OF_THE_SANITIZER extern __attribute__((weak, visibility("default")))
OF_THE_SANITIZER void __tsan_acquire(void *address);
OF_THE_SANITIZER void __tsan_release(void *address);
OF_THE_SANITIZER void AnnotateNewMemory(const char *file, int line, const void *memory,
					size_t size_bytes);
OF_THE_SANITIZER void AnnotateIgnoreSyncBegin(const char *file, int line);
OF_THE_SANITIZER void AnnotateIgnoreSyncEnd(const char *file, int line);

__attribute__((constructor(101))) static void race_listen(void)
{
	race_is_told = __tsan_acquire && __tsan_release && AnnotateNewMemory &&
		       AnnotateIgnoreSyncBegin && AnnotateIgnoreSyncEnd;
}

void race_tell_acquire(const void *what)
{
	if (what)
		__tsan_acquire((void *)what);
}

void race_tell_release(const void *what)
{
	if (what)
		__tsan_release((void *)what);
}

void race_tell_new(const void *memory, size_t size_bytes)
{
	AnnotateNewMemory(__FILE__, __LINE__, memory, size_bytes);
}

void race_tell_pause(bool is_over)
{
	if (is_over)
		AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
	else
		AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

#endif
