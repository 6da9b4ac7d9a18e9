/* SPDX-License-Identifier: MIT */
/*
 * processor.c - see processor.h.
 */
#include <sched.h>

#include "base/processor.h"

void processor_stay(void)
{
	cpu_set_t here;
	int processor = sched_getcpu();

	if (processor < 0 || processor >= CPU_SETSIZE)
		return;
	CPU_ZERO(&here);
	CPU_SET((size_t)processor, &here);
	sched_setaffinity(0, sizeof(here), &here);
}
