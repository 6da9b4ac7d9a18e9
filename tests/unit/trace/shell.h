/* SPDX-License-Identifier: MIT */
/*
 * shell.h - running programs and reading what they left, in a folder of the test's own.
 */
#ifndef TESTS_UNIT_TRACE_SHELL_H
#define TESTS_UNIT_TRACE_SHELL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static bool has_folder;
static char folder[] = P_tmpdir "/dxgk-trace-test-XXXXXX";

static inline const char *in_folder(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	if (!has_folder && !mkdtemp(folder))
		abort();
	has_folder = true;
	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

__attribute__((destructor)) static void remove_folder(void)
{
	char command[300];

	if (!has_folder)
		return;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command) != 0)
		fprintf(stderr, "left behind: %s\n", folder);
}

/* Runs the command; its exit status, or -1 when a signal ended it. */
__attribute__((format(printf, 1, 2))) static inline int shell(const char *format, ...)
{
	char command[2048];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The whole file, to be freed; NULL when there is none. */
static inline char *read_all(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, EOF, file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

#endif
