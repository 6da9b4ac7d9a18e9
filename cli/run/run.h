/* SPDX-License-Identifier: MIT */
/*
 * run.h - a script is carried out.
 */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include "cli/run/script.h"
#include "cli/run/world.h"

/*
 * True when every statement did what the script expects of it; otherwise standard error has
 * `path:line:` and what happened instead, and the statements after it were not begun.
 */
MUST_CHECK bool run_script(struct world *world, const char *path, bool is_verbose);

#endif
