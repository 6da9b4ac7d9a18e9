/* SPDX-License-Identifier: MIT */
/*
 * progress.h - how far a campaign is: a line that is written again on a terminal, a line now and then elsewhere.
 */
#ifndef CLI_VERIFY_PROGRESS_H
#define CLI_VERIFY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool is_terminal;
	bool is_shown;
	uint64_t started_ns;
	uint64_t next_ns; /* when it is worth saying again */
};

void progress_begin(struct progress *progress);
void progress_show(struct progress *progress, uint64_t done, uint64_t total, uint64_t runs,
		   uint64_t findings);
/* The line is over. */
void progress_end(struct progress *progress);

#endif
