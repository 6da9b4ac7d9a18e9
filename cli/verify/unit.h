/* SPDX-License-Identifier: MIT */
/*
 * unit.h - what is done for one seed: a workload, its script, and what is made to fail.
 *
 * A unit depends on its seed, on what is known of the driver and on what was asked for, and on nothing else: whoever has
 * the seed, in whichever shard, has the same unit.
 */
#ifndef CLI_VERIFY_UNIT_H
#define CLI_VERIFY_UNIT_H

#include "cli/verify/verify.h"

struct unit {
	uint64_t seed;
	const struct workload *workload;
	struct plan plan;
	char *script;
	bool is_run_twice; /* one of a hundred: two runs have to be the same, event by event */
};

/* Workloads that were asked for and fit; the number of them. */
uint32_t unit_choices(const struct verify_settings *settings, const struct verify_facts *facts,
		      const struct workload *chosen[VERIFY_WORKLOADS_MOST]);

/* Lines that say which workloads could have been and do not fit, and why; none where all do. */
void unit_print_left_out(FILE *out, const struct verify_settings *settings,
			 const struct verify_facts *facts);

/* There is at least one choice. */
void unit_draw(const struct verify_settings *settings, const struct verify_facts *facts,
	       uint64_t seed, struct unit *unit_out);
void unit_finish(struct unit *unit);

#endif
