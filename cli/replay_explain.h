/* SPDX-License-Identifier: MIT */
/*
 * replay_explain.h - dxgk replay --explain: what a policy believed of those it let go, and whether it was so.
 */
#ifndef CLI_REPLAY_EXPLAIN_H
#define CLI_REPLAY_EXPLAIN_H

#include <stdbool.h>

#include "base/attributes.h"
#include "replay/replay.h"

enum { EXPLAIN_KINDS_MAX = 8 };

struct explain_kind {
	const char *name; /* NULL: none yet */
	uint64_t left;
	uint64_t bytes;
	uint64_t returned;
	double expected; /* ticks, of those that came back: the sum */
	double passed;   /* until they did                          */
};

struct explain_departure {
	uint8_t kind; /* its number and one; 0: it has not left, or is back */
	double expected;
	uint64_t at;
};

struct explanation {
	const struct workload *workload;
	struct explain_kind kinds[EXPLAIN_KINDS_MAX];
	struct explain_departure *departures; /* of each allocation */
	struct replay_witness witness;        /* hand this to replay_run() */
};

/* False: no memory. */
MUST_CHECK bool explain_begin(struct explanation *explanation, const struct workload *workload);
void explain_print(const struct explanation *explanation, bool is_json);
void explain_end(struct explanation *explanation);

#endif
