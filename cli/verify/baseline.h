/* SPDX-License-Identifier: MIT */
/*
 * baseline.h - findings that are known, and do not fail a campaign:
 *
 *	{ "known": [ { "rule": "DDI-…", "fingerprint": "…", "reason": "…", "until": "2027-01-31" } ] }
 *
 * Each has a reason. After the day of `until`, where there is one, it counts again.
 */
#ifndef CLI_VERIFY_BASELINE_H
#define CLI_VERIFY_BASELINE_H

#include "cli/verify/finding.h"

struct known {
	char *rule;
	char *fingerprint;
	char *reason;
	char *until; /* "" for ever */
	bool is_seen;
};

struct baseline {
	struct known *known;
	uint32_t count;
};

/* False after saying what is wrong with the file. */
MUST_CHECK bool baseline_read(struct baseline *baseline, const char *path);
void baseline_finish(struct baseline *baseline);

/* Marks findings; `today` is "2026-11-17". */
void baseline_apply(struct baseline *baseline, struct findings *findings, const char *today);

/* Those that were not seen any more. */
void baseline_print_unseen(FILE *out, const struct baseline *baseline);

#endif
