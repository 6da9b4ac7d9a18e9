/* SPDX-License-Identifier: MIT */
/*
 * processes.h - the clients of a script as processes of their own, which a server brings together.
 *
 *	dxgk run --processes ──▶ who reads the script, and says who does what
 *	        ├── alice        carries out statements about alice, and what is hers
 *	        └── bob
 *
 * A thread of the script has a link of its own to each client that it speaks to, so branches do not wait for
 * each other there, either.
 */
#ifndef CLI_RUN_PROCESSES_H
#define CLI_RUN_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "cli/run/world.h"

struct processes;

/* Carries out statement number `at`, in the client's process; true when all is as the script expects. */
typedef bool process_statement(void *context, struct world *world, uint32_t at);

/*
 * What does not work this way: commands that lead to memory of another client, whose addresses are others. False
 * after saying so.
 */
MUST_CHECK bool processes_can_run(const struct script *script, const char *path);

/*
 * Starts one for each client of the script; `things` is memory that all of them see, `exerciser` as of world_open(). Before
 * the first call to the kernel and the first thread. NULL with errno.
 */
struct processes *processes_begin(const struct script *script, struct thing *things,
				  const char *exerciser, process_statement *run, void *context);

/* The links of one thread: one for each name of the script; only clients have any. NULL with errno. */
int *processes_make_links(const struct processes *processes);
void processes_close_links(const struct processes *processes, int *links);

/* False when it was not as expected, which was said; or the process has ended, which *is_gone tells. */
MUST_CHECK bool processes_run(struct processes *processes, int *links, uint32_t client, uint32_t at,
			      bool *is_gone);

/*
 * Each destroys what the script left, and ends, in the order of the script. Every link is closed by then. Returns the
 * number of calls that they made. Accepts NULL.
 */
uint64_t processes_end(struct processes *processes);

#endif
