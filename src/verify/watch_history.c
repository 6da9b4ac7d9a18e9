/* SPDX-License-Identifier: MIT */
/*
 * watch_history.c - what a driver was called with last, and what it called meanwhile: for whoever is told of a broken
 * rule. One ring for all adapters, because the last thing one of them did may be about another.
 *
 * A line is written when the call is over, and once more for one that never comes back: the call that a report is
 * made in is the last line, and says so.
 */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "miniport/ddi_arguments.h"
#include "verify/start.h"
#include "verify/verify.h"

static struct lock history_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "verifier history");

_Static_assert(VERIFY_HISTORY_TEXT >= DDI_ARGUMENTS_TEXT + 128, "a name and a status beside them");

/* Guarded by history_lock. */
static char history[VERIFY_HISTORY_CALLS][VERIFY_HISTORY_TEXT];
static uint64_t written;

static void write_line(const char *line)
{
	lock_acquire(&history_lock);
	snprintf(history[written++ % VERIFY_HISTORY_CALLS], VERIFY_HISTORY_TEXT, "%s", line);
	lock_release(&history_lock);
}

static void describe(enum ddi ddi, const char *end, char *line, size_t size_bytes)
{
	char arguments[DDI_ARGUMENTS_TEXT];

	ddi_describe_arguments(ddi_innermost, arguments, sizeof(arguments));
	snprintf(line, size_bytes, "%s(%s)%s%s", ddi_infos[ddi].name, arguments, end ? ": " : "",
		 end ? end : "");
}

static void after(struct verify_call *call, void *state)
{
	char line[VERIFY_HISTORY_TEXT];
	bool has_status = ddi_infos[call->ddi].result == DDI_RESULT_STATUS ||
			  ddi_infos[call->ddi].result == DDI_RESULT_MUST_SUCCEED;

	(void)state;
	describe(call->ddi, has_status ? status_name(call->status) : NULL, line, sizeof(line));
	write_line(line);
}

static void callback_after(struct verify_callback *callback, void *state)
{
	char line[VERIFY_HISTORY_TEXT];
	char about[DDI_ARGUMENTS_TEXT] = "";

	(void)state;
	if (callback->id == VERIFY_CB_NotifyInterrupt)
		ddi_describe_interrupt(callback->arguments, about, sizeof(about));
	snprintf(line, sizeof(line), "  %s(%s)", verify_callback_names[callback->id], about);
	write_line(line);
}

size_t verify_history(char (*lines)[VERIFY_HISTORY_TEXT], size_t count)
{
	const struct verify_call *call = verify_call_innermost();
	size_t given = 0;

	lock_acquire(&history_lock);
	/* The last line is for the call that is under way. */
	uint64_t most = count > VERIFY_HISTORY_CALLS ? VERIFY_HISTORY_CALLS
			: count > 0                  ? count - 1
						     : 0;
	for (uint64_t i = written > most ? written - most : 0; i < written; i++)
		memcpy(lines[given++], history[i % VERIFY_HISTORY_CALLS], VERIFY_HISTORY_TEXT);
	lock_release(&history_lock);
	if (call && call->status == STATUS_PENDING && given < count)
		describe(call->ddi, "under way", lines[given++], VERIFY_HISTORY_TEXT);
	return given;
}

const struct verify_watching verify_watch_history = {
	.after = after,
	.callback_after = callback_after,
};
