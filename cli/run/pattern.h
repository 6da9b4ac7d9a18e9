/* SPDX-License-Identifier: MIT */
/*
 * pattern.h - which byte a pattern has where.
 *
 * Both kinds are laid out from the start of the allocation, so that a part of it can be looked at
 * without the rest.
 */
#ifndef CLI_RUN_PATTERN_H
#define CLI_RUN_PATTERN_H

#include "cli/run/script.h"

void pattern_store(const struct script_pattern *pattern, unsigned char *bytes, uint64_t at,
		   uint64_t size_bytes);

/* False, with the first place that is different and what should be there. */
MUST_CHECK bool pattern_compare(const struct script_pattern *pattern, const unsigned char *bytes,
				uint64_t at, uint64_t size_bytes, uint64_t *place_out,
				unsigned char *expected_out);

#endif
