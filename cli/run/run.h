/* SPDX-License-Identifier: MIT */
/*
 * run.h - a script is carried out.
 */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "cli/run/processes.h"
#include "cli/run/script.h"
#include "cli/run/world.h"

/*
 * True when every statement did what the script expects of it; otherwise standard error has
 * `path:line:` and what happened instead, and the statements after it were not begun.
 */
struct run_settings {
	const char *path;
	bool is_verbose;
	struct processes *processes; /* who carries it out; NULL: this one */
};
MUST_CHECK bool run_script(struct world *world, const struct run_settings *settings);

/* One statement, in the process of its client: a process_statement of those settings. */
bool run_in_process(void *settings, struct world *world, uint32_t at);

#endif
