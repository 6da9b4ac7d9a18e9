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

uint32_t processor_number(void)
{
	int processor = sched_getcpu();

	return processor < 0 ? UINT32_MAX : (uint32_t)processor;
}

/* Who is not allowed to be there any more is moved at once; who is allowed again stays. */
bool processor_leave(uint32_t number)
{
	cpu_set_t allowed;
	cpu_set_t others;

	if (number >= CPU_SETSIZE || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return false;
	others = allowed;
	CPU_CLR((size_t)number, &others);
	if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0)
		return false;
	(void)sched_setaffinity(0, sizeof(allowed), &allowed);
	return true;
}
