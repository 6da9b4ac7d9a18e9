/* SPDX-License-Identifier: MIT */
/*
 * recorder.h - for programs that load the recorder driver: its notes go to standard output, between
 * what the program itself says there. drivers/recorder/recorder.h has the legend.
 */
#ifndef TESTS_API_RECORDER_H
#define TESTS_API_RECORDER_H

#include "api/support.h"

__attribute__((visibility("default"))) void recorder_note(const char *line);

/* Called by recorder_note() first, when a child sets it. */
static void (*note_hook)(const char *line);

void recorder_note(const char *line)
{
	if (note_hook)
		note_hook(line);
	dprintf(STDOUT_FILENO, "%s\n", line);
}

static inline void say(const char *line)
{
	dprintf(STDOUT_FILENO, "%s\n", line);
}

/* A profile with the recorder and these registry settings ("\"Fail\": \"StartDevice\""). */
static inline const char *recorder_profile(const char *registry, const char *more_adapters)
{
	static char profile[8192];

	snprintf(profile, sizeof(profile),
		 "{\"adapters\": [{\"driver\": \"%s\", \"name\": \"recorder\", \"registry\": "
		 "{%s}}%s]}",
		 getenv("TEST_RECORDER"), registry, more_adapters);
	return profile_setting(profile);
}

/* What a child did with the recorder, set like this, and in this environment; it ended well. */
#define RECORDED(name, registry, ...)                                                              \
	expect_child(run_child(name, recorder_profile(registry, ""), ##__VA_ARGS__), 0, __FILE__,  \
		     __LINE__)

/* What follows this line in the text. */
static inline const char *after_line(const char *text, const char *line)
{
	const char *found = strstr(text, line);

	EXPECT(found);
	return found + strlen(line);
}

#endif
