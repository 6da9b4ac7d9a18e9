/* SPDX-License-Identifier: MIT */
/*
 * progress.c - see progress.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/verify/progress.h"

enum { TERMINAL_MS = 200, PLAIN_S = 15 };

void progress_begin(struct progress *progress)
{
	*progress = (struct progress){ .is_terminal = isatty(STDERR_FILENO) == 1,
				       .started_ns = clock_now_ns() };
	progress->next_ns = progress->started_ns +
			    (progress->is_terminal ? TERMINAL_MS * NS_PER_MS : PLAIN_S * NS_PER_S);
}

void progress_show(struct progress *progress, uint64_t done, uint64_t total, uint64_t runs,
		   uint64_t findings)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns < progress->next_ns)
		return;
	progress->next_ns =
		now_ns + (progress->is_terminal ? TERMINAL_MS * NS_PER_MS : PLAIN_S * NS_PER_S);
	fprintf(stderr,
		"%sdxgk verify: %" PRIu64 " of %" PRIu64 " seeds, %" PRIu64 " runs, %" PRIu64
		" findings, %" PRIu64 " s%s",
		progress->is_terminal ? "\r" : "", done, total, runs, findings,
		(now_ns - progress->started_ns) / NS_PER_S, progress->is_terminal ? "   " : "\n");
	progress->is_shown = true;
}

void progress_end(struct progress *progress)
{
	if (progress->is_terminal && progress->is_shown)
		fputs("\r\033[K", stderr);
	progress->is_shown = false;
}
