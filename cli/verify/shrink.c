/* SPDX-License-Identifier: MIT */
/*
 * shrink.c - dxgk verify shrink: a failing run is made small.
 */
#include <stdio.h>

#include "cli/verify/verify.h"

int verify_shrink(const char *folder, uint32_t minutes)
{
	(void)minutes;
	fprintf(stderr, "dxgk verify shrink: %s: not built yet\n", folder);
	return VERIFY_EXIT_USAGE;
}
