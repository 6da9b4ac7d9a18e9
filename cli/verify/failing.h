/* SPDX-License-Identifier: MIT */
/*
 * failing.h - DIR/failing/RULE-FINGERPRINT: what it takes to see one finding again.
 *
 *	script.dxgk    what the clients do, for dxgk-run(5)
 *	seed           the number of the schedule
 *	plan           what is made to fail; empty without faults
 *	profile.json   the adapter, with the path of the driver
 *	finding.json   what was found
 *	trace.json     what happened, where the run came to its end (ui.perfetto.dev opens it)
 */
#ifndef CLI_VERIFY_FAILING_H
#define CLI_VERIFY_FAILING_H

#include "cli/verify/finding.h"
#include "cli/verify/subject.h"
#include "cli/verify/verify.h"

struct failing {
	char *script;
	char *plan;
	char *profile;   /* its text */
	char *driver;    /* a path */
	char *exerciser; /* NULL: none */
	char *build;     /* of the driver, as it was found */
	uint64_t seed;
	uint32_t sanitizers;
	struct finding *finding;
};

/* False after saying what cannot be read. */
MUST_CHECK bool failing_load(struct failing *failing, const char *folder);
void failing_finish(struct failing *failing);

/* Makes the folder below `directory`, with everything but the trace. False after saying why. */
MUST_CHECK bool failing_write(const char *directory, const struct finding *finding,
			      const struct subject *subject,
			      const struct verify_settings *settings);

/* Runs what is in the folder of the finding once more, and keeps its trace. Says so in a finding that is not seen again. */
void failing_trace(const char *directory, struct finding *finding);

/* Removes what an earlier campaign left there. */
void failing_clear(const char *directory);

/* One run of it, with a trace when `trace` names a file. False with errno: there is no child. */
struct job_result;
MUST_CHECK bool failing_run(const struct failing *failing, const struct subject *subject,
			    const char *trace, struct job_result *result_out);

#endif
