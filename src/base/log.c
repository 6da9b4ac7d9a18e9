/* SPDX-License-Identifier: MIT */
/*
 * log.c - see log.h. One line is one write, so lines of two threads do not mix.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/log.h"

static const char *const topic_names[LOG_TOPIC_COUNT] = {
	[LOG_REFUSALS] = "refusals", [LOG_DRIVER] = "driver", [LOG_START] = "start",
	[LOG_CALLS] = "calls",       [LOG_MEMORY] = "memory",
};

static unsigned topics_on;

static void (*redirect)(void *context, const char *line);
static void *redirect_context;

/*
 * At the end of the file, if it is one: two threads that write at once where it is may write to the
 * same place. Nowhere to report a failing standard error.
 */
static void log_append(char *line, size_t length)
{
	struct iovec whole = { line, length };
	ssize_t written = pwritev2(STDERR_FILENO, &whole, 1, -1, RWF_APPEND);

	if (written < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL))
		written = write(STDERR_FILENO, line, length);
	(void)written;
}

static _Thread_local const char *speaker;

const char *log_speak_for(const char *whose)
{
	const char *before = speaker;

	speaker = whose;
	return before;
}

PRINTF_LIKE(1, 0) static void log_write(const char *format, va_list arguments)
{
	char line[1024];
	int length = snprintf(line, sizeof(line), "dxgk: %.64s%s", speaker ? speaker : "",
			      speaker ? ": " : "");

	length += vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, arguments);
	if ((size_t)length > sizeof(line) - 2)
		length = (int)sizeof(line) - 2;
	line[length] = '\0';
	if (redirect) {
		redirect(redirect_context, line);
		return;
	}
	line[length] = '\n';
	int before = cancel_hold_off();
	log_append(line, (size_t)length + 1);
	cancel_give_back(before);
}

/* Calls `unknown` for each word of DXGK_LOG that is no topic. */
static void log_choose_topics(void (*unknown)(const char *word, int length))
{
	const char *wanted = getenv("DXGK_LOG");

	while (wanted && *wanted) {
		size_t length = strcspn(wanted, ",");
		bool is_known = length == 0;
		for (unsigned topic = 0; topic < LOG_TOPIC_COUNT; topic++) {
			const char *name = topic_names[topic];
			bool is_this = strlen(name) == length && !strncmp(wanted, name, length);
			if (is_this || (length == 3 && !strncmp(wanted, "all", 3))) {
				topics_on |= 1u << topic;
				is_known = true;
			}
		}
		if (!is_known)
			unknown(wanted, (int)length);
		wanted += length + (wanted[length] == ',');
	}
}

static void log_pass_over(const char *word, int length)
{
}

static void log_warn_of_topic(const char *word, int length)
{
	log_warn("DXGK_LOG: \"%.*s\" is not a topic (refusals, driver, start, calls, memory, all)",
		 length, word);
}

__attribute__((constructor)) static void log_read_environment(void)
{
	log_choose_topics(log_pass_over);
}

void log_check_topics(void)
{
	log_choose_topics(log_warn_of_topic);
}

bool log_is_on(enum log_topic topic)
{
	return topics_on & (1u << topic);
}

void log_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_write(format, arguments);
	va_end(arguments);
}

void log_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_write(format, arguments);
	va_end(arguments);
}

void log_topic(enum log_topic topic, const char *format, ...)
{
	va_list arguments;

	if (!log_is_on(topic))
		return;
	va_start(arguments, format);
	log_write(format, arguments);
	va_end(arguments);
}

void log_redirect(void (*write_line)(void *context, const char *line), void *context)
{
	redirect = write_line;
	redirect_context = context;
}
