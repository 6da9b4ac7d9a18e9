/* SPDX-License-Identifier: MIT */
/*
 * log.h - messages for people, on standard error.
 *
 * Warnings and errors always; the topics below when DXGK_LOG names them (comma separated, or
 * "all"): DXGK_LOG=refusals,driver.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/attributes.h"

enum log_topic {
	LOG_REFUSALS, /* every refused call, and why                  */
	LOG_DRIVER,   /* what a driver prints with DbgPrint           */
	LOG_START,    /* how adapters start and stop                  */
	LOG_CALLS,    /* every call and its status                    */
	LOG_MEMORY,   /* every plan of the memory manager             */
	LOG_TOPIC_COUNT
};

bool log_is_on(enum log_topic topic);

/* Warns of words in DXGK_LOG that are no topic. Said once, by the kernel at its start: this code is
 * in every library and program of ours that runs in the process. */
void log_check_topics(void);

void log_error(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warn(const char *format, ...) PRINTF_LIKE(1, 2);
void log_topic(enum log_topic topic, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * Lines of this thread begin with it, until it is NULL again: whose call it is in, where there are several
 * whose it could be. Returns what it was.
 */
const char *log_speak_for(const char *whose);

/* Everything logged goes to `write` instead; NULL puts it back. For tests. */
void log_redirect(void (*write)(void *context, const char *line), void *context);

#endif
