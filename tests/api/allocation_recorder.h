/* SPDX-License-Identifier: MIT */
/*
 * allocation_recorder.h - for tests of what the recorder driver hears about allocations: they run in
 * children, and look at its notes afterwards.
 */
#ifndef TESTS_API_ALLOCATION_RECORDER_H
#define TESTS_API_ALLOCATION_RECORDER_H

#include "api/allocation.h"
#include "api/recorder.h"

#include "drivers/recorder/recorder.h"

/* Recorder, in a child: what every program here begins with. */
static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;

static inline void child_begin(void)
{
	adapter = child_open_adapter();
	device = child_create_device(adapter);
	say("--");
}

#define CHILD_OK(call) CHILD_EXPECT((call) == STATUS_SUCCESS)

/* What the child's driver noted after the line, up to the next "--" line. */
static inline const char *notes_after(const struct child_result *child, const char *line)
{
	static char notes[CHILD_TEXT];
	char marker[64];

	snprintf(marker, sizeof(marker), "%s\n", line);
	const char *begin = strstr(child->out, marker);
	EXPECT(begin);
	snprintf(notes, sizeof(notes), "%s", begin + strlen(marker));
	char *end = strstr(notes, "--");
	if (end)
		*end = '\0';
	return notes;
}

/* The child succeeded, the driver had nothing to complain about, nothing was left in it. */
static inline const struct child_result *expect_clean(const struct child_result *child)
{
	EXPECT_CHILD(child, 0);
	if (strstr(child->out, "WRONG"))
		print_error("%s", child->out);
	EXPECT(!strstr(child->out, "WRONG"));
	EXPECT_CONTAINS(child->out, "StopDevice irql=0 left=0\n");
	return child;
}

#define RECORDED_CLEAN(...) expect_clean(RECORDED(__VA_ARGS__))

static inline struct recorder_escape ask(struct recorder_escape escape)
{
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .pPrivateDriverData = &escape,
			       .PrivateDriverDataSize = sizeof(escape) };

	CHILD_OK(D3DKMTEscape(&args));
	return escape;
}

#endif
