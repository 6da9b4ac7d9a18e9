/* SPDX-License-Identifier: MIT */
/*
 * verifier_options.c - see verifier_options.h.
 */
#include <string.h>

#include "cli/verifier_options.h"

const struct verifier_option verifier_options[VERIFIER_OPTIONS] = {
	{ "always-discard", { .AlwaysDiscardOffer = 1 }, { .Value = 0 } },
	{ "never-discard", { .NeverDiscardOffer = 1 }, { .Value = 0 } },
	{ "always-decommit", { .AlwaysDecommitOffer = 1 }, { .Value = 0 } },
	{ "no-demotion", { .NoDemotion = 1 }, { .Value = 0 } },
	{ "never-move", { .NeverMoveDefrag = 1 }, { .Value = 0 } },
	{ "fail-defrag", { .FailDefragPass = 1 }, { .Value = 0 } },
	{ "never-defer", { .Value = 0 }, { .NeverDeferEvictions = 1 } },
	{ "demote", { .Value = 0 }, { .AlwaysPlaceInDemotedLocation = 1 } },
	{ "sync-evict", { .Value = 0 }, { .ForceSynchronousEvict = 1 } },
	{ "fail-reclaim", { .Value = 0 }, { .AlwaysFailCommitOnReclaim = 1 } },
};

bool verifier_option_find(const char *name, size_t length, uint32_t *index_out)
{
	for (uint32_t i = 0; i < VERIFIER_OPTIONS; i++) {
		if (strlen(verifier_options[i].name) == length &&
		    memcmp(verifier_options[i].name, name, length) == 0) {
			*index_out = i;
			return true;
		}
	}
	return false;
}
