/* SPDX-License-Identifier: MIT */
/*
 * child.h - one run of a script, in a process of its own: what it is told, and what it tells.
 *
 * A child is forked before the program's first D3DKMT call, so that it starts a kernel of its own by the environment it
 * sets. It tells the parent what happens in messages of JSON, each one packet of a socket:
 *
 *	{"facts":{…}}                    of a script without statements
 *	{"finding":{…}}                  a report, as it happens (finding.h)
 *	{"skipped":"…"}                  why the script was not carried out to its end, where that is no finding
 *	{"over":true}                    the script is, and everything it made is destroyed
 *	{"again":[["DDI-…","…",3],…]}    how often findings were reported again
 *	{"ended":true,"fired":1}         the driver is unloaded; whether a fault came to pass
 *
 * What is missing at the end tells how far it came.
 */
#ifndef CLI_VERIFY_CHILD_H
#define CLI_VERIFY_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct run_request {
	const char *driver;    /* the file name of its image */
	const char *exerciser; /* a path; NULL: none */
	const char *profile;   /* its text, without what the plan wants of it */
	const char *script;    /* its text; one without statements asks for facts */
	const char *plan;      /* "" without faults */
	const char *trace;     /* a path; NULL: no trace */
	uint64_t seed;
	bool is_seeded; /* else threads run as they do, and `seed` made the script only */
	bool is_again; /* in an image of its own, at other addresses, with other bytes in fresh pool */
};

/* What the child does with itself; `tell` is its end of the socket. */
NORETURN void child_run(const struct run_request *request, int tell);

/* `dxgk verify again …`: the child of a request with is_again, after exec(). */
int child_run_again(int argc, char **argv);

#endif
