/* SPDX-License-Identifier: MIT */
/*
 * job.h - a child (child.h) from its start to its end, as the parent sees it, and what came of it.
 *
 * A child has so much time and so much memory; who needs more is ended, and that is a finding.
 */
#ifndef CLI_VERIFY_JOB_H
#define CLI_VERIFY_JOB_H

#include <poll.h>
#include <sys/types.h>

#include "cli/verify/child.h"
#include "cli/verify/facts.h"
#include "cli/verify/finding.h"

enum job_verdict {
	JOB_OK,
	JOB_BROKEN,  /* a rule was */
	JOB_CRASHED, /* by a signal, a sanitizer, or it went away in the middle */
	JOB_HUNG,    /* it was out of time or of memory */
	JOB_SKIPPED, /* the script was not carried out to its end, for reasons that are no finding */
};

struct job_result {
	enum job_verdict verdict;
	struct findings findings; /* of this run, with counts; without an example */
	char *skipped;            /* why; NULL: it was not */
	bool is_over;             /* the script was carried out */
	bool has_ended;           /* the driver was unloaded */
	bool has_fired;           /* a fault came to pass */
	bool has_facts;
	struct verify_facts facts;
	char *tail; /* the last of what it said on standard error */
	uint64_t took_ns;
};
void job_result_finish(struct job_result *result);

struct job_limits {
	uint32_t seconds; /* on a processor, where it works; by the clock, where it waits */
	uint32_t memory_mib;
};

enum { JOB_TAIL_BYTES = 32768, JOB_FILES = 3 };

struct job {
	struct job *next;
	pid_t process; /* 0: none is there */
	int tell;
	int errors;
	int end; /* readable when it has ended */
	bool is_silent;
	bool is_mute;
	char *driver;
	struct job_limits limits;
	uint64_t started_ns;
	uint64_t deadline_ns;
	uint64_t had_ns;  /* of time on a processor, when it was looked at last */
	uint64_t look_ns; /* when its memory is looked at again */
	bool is_asked;    /* it was late, and asked where it is */
	bool is_killed;
	bool is_large; /* … for its memory */
	char tail[JOB_TAIL_BYTES];
	size_t tail_used; /* all there was, also what was overwritten */
	struct job_result result;
};

/* False with errno: there is no child. */
MUST_CHECK bool job_start(struct job *job, const struct run_request *request,
			  const struct job_limits *limits);

/* What to poll for. */
void job_poll(const struct job *job, struct pollfd files[JOB_FILES]);

/* Takes what there is and sees to limits; true when the child has ended: then job_finish(). */
MUST_CHECK bool job_step(struct job *job, uint64_t now_ns);

/* What came of it, which is the caller's. */
void job_finish(struct job *job, struct job_result *result_out);

/* From start to end, for who has only one. False with errno. */
MUST_CHECK bool job_run(const struct run_request *request, const struct job_limits *limits,
			struct job_result *result_out);

/* Ends it, whatever it does. */
void job_abandon(struct job *job);

#endif
