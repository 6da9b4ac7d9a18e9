/* SPDX-License-Identifier: MIT */
/*
 * shrink_test.h - a small script as the skeleton of a test in C, for the suite of the driver's own: D3DKMT calls through
 * the exerciser, in the order of the script.
 */
#ifndef CLI_VERIFY_SHRINK_TEST_H
#define CLI_VERIFY_SHRINK_TEST_H

#include <stdint.h>
#include <stdio.h>

#include "cli/verify/failing.h"
#include "cli/verify/shrink_lines.h"

/* `switches` UINT64_MAX: as many as there are. */
void shrink_test_write(FILE *out, const struct lines *lines, const struct failing *failing,
		       uint64_t switches);

#endif
