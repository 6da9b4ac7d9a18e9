/* SPDX-License-Identifier: MIT */
/*
 * run.h - a script is carried out.
 *
 *	strict     the first statement that does not do what the script expects of it ends the run
 *	tolerant   it is noted, and what depends on it is left out: for runs into which faults are put
 */
#ifndef CLI_RUN_RUN_H
#define CLI_RUN_RUN_H

#include <stdatomic.h>

#include "cli/run/processes.h"
#include "cli/run/script.h"
#include "cli/run/world.h"

/* What a run came to; all threads' while it runs. */
struct run_counts {
	_Atomic uint64_t statements; /* carried out, or left out */
	_Atomic uint64_t failed;     /* not as the script expects */
	_Atomic uint64_t left_out;
	_Atomic uint64_t
		wrong_bytes; /* of those that failed: memory did not hold what was written to it */

	/* The first of each, as "12: check picture 7: …"; empty: none. */
	_Atomic bool has_failure;
	_Atomic bool has_wrong_bytes;
	char failure[768];
	char wrong[768];
};

struct run_settings {
	const char *path; /* of the script, in what is said */
	bool is_verbose;
	bool is_silent; /* nothing is said, and nothing shown */
	bool is_tolerant;
	bool reports_content;        /* wrong bytes are the driver's fault: DDI-CONTENT */
	const char *exerciser;       /* as of world_open() */
	struct processes *processes; /* who carries it out; NULL: this one */
	struct run_counts *counts;
};

/*
 * True when every statement did what the script expects of it, or the run is a tolerant one; otherwise standard error has
 * `path:line:` and what happened instead, and the statements after it were not begun.
 */
MUST_CHECK bool run_script(struct world *world, const struct run_settings *settings);

/* One statement, in the process of its client: a process_statement of those settings. */
bool run_in_process(void *settings, struct world *world, uint32_t at);

/* ---- a script as a text, for who makes it ---- */

struct run_options {
	const char *path; /* a name for it, in what is said; files that it names are beside it */
	const char *
		driver; /* as on the command line of dxgk run; NULL: what the script says, or the environment */
	const char *exerciser; /* likewise */
	bool is_verbose;
	bool is_silent;
	bool is_tolerant;
	bool reports_content;
	bool proves_work; /* packets show that they have run; the kernel is verified (proof.c) */
};

enum run_end {
	RUN_DONE,           /* to its end */
	RUN_STOPPED,        /* at the first failure */
	RUN_NOT_UNDERSTOOD, /* `counts.failure` says why */
	RUN_NO_ADAPTER,     /* none has started, or the exerciser is none */
	RUN_NO_MEMORY,
};

struct run_result {
	enum run_end end;
	struct run_counts counts;
	uint64_t calls;
};

/*
 * Reads it, sets up its adapter, runs it and destroys what it left. The kernel starts with its first call, so that a process
 * runs one script with an adapter of its own.
 */
void run_script_text(const char *text, size_t size_bytes, const struct run_options *options,
		     struct run_result *result);

/* ---- statements (statement.c) ---- */

/* False: it was not as expected, and the run is over. */
MUST_CHECK bool statement_run(struct world *world, const struct run_settings *settings,
			      const struct script_statement *statement);
/* It makes the thing that it names first. */
bool statement_makes(const struct script_statement *statement);
/* Always false, after it was said and counted. */
bool statement_complain(const struct run_settings *settings,
			const struct script_statement *statement, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* ---- what a failure means for those that follow (tolerate.c) ---- */

/* After a statement that was left out or may fail: what cannot be used any more is left out from now on. */
void tolerate(struct world *world, const struct script_statement *statement,
	      const struct outcome *outcome);

/* It is left out: what it would do would cost the device or, in a tolerant run, is not known. */
MUST_CHECK bool tolerate_leaves_out(struct world *world, const struct script_statement *statement,
				    bool is_tolerant, struct outcome *outcome);

#endif
