/* SPDX-License-Identifier: MIT */
/*
 * notes.h - the lines that a driver says, kept in their order, whichever threads it says them on.
 */
#ifndef TESTS_SUPPORT_NOTES_H
#define TESTS_SUPPORT_NOTES_H

#include <pthread.h>
#include <string.h>

static char notes[1 << 20];
static size_t notes_used;
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

/* What does not fit any more is left out. */
static inline void notes_add(const char *line)
{
	size_t length = strlen(line);

	pthread_mutex_lock(&notes_lock);
	if (notes_used + length + 2 < sizeof(notes)) {
		memcpy(notes + notes_used, line, length);
		notes_used += length;
		notes[notes_used++] = '\n';
		notes[notes_used] = '\0';
	}
	pthread_mutex_unlock(&notes_lock);
}

static inline void notes_forget(void)
{
	pthread_mutex_lock(&notes_lock);
	notes_used = 0;
	notes[0] = '\0';
	pthread_mutex_unlock(&notes_lock);
}

#endif
