/* SPDX-License-Identifier: MIT */
/*
 * processor.c - see processor.h.
 */
#include <pthread.h>
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

static bool keep_off(pthread_t thread, uint32_t number, cpu_set_t *allowed_out,
		     cpu_set_t *others_out)
{
	if (number >= CPU_SETSIZE ||
	    pthread_getaffinity_np(thread, sizeof(*allowed_out), allowed_out) != 0)
		return false;
	*others_out = *allowed_out;
	CPU_CLR((size_t)number, others_out);
	return CPU_COUNT(others_out) > 0 &&
	       pthread_setaffinity_np(thread, sizeof(*others_out), others_out) == 0;
}

/* Who is not allowed to be there any more is moved at once; who is allowed again stays. */
bool processor_leave(uint32_t number)
{
	cpu_set_t allowed;
	cpu_set_t others;

	if (!keep_off(pthread_self(), number, &allowed, &others))
		return false;
	(void)sched_setaffinity(0, sizeof(allowed), &allowed);
	return true;
}

void processor_sleep(struct processor_sleeper *sleeper_out)
{
	sleeper_out->thread = pthread_self();
}

bool processor_send_away(struct processor_sleeper *sleeper)
{
	_Static_assert(sizeof(cpu_set_t) == sizeof(sleeper->allowed), "it holds a set");
	return keep_off(sleeper->thread, processor_number(), (cpu_set_t *)sleeper->allowed,
			(cpu_set_t *)sleeper->others);
}

/* Whoever has said meanwhile where it may be has the last word. */
void processor_return(const struct processor_sleeper *sleeper)
{
	cpu_set_t now;

	if (sched_getaffinity(0, sizeof(now), &now) == 0 &&
	    CPU_EQUAL(&now, (const cpu_set_t *)sleeper->others))
		(void)sched_setaffinity(0, sizeof(sleeper->allowed),
					(const cpu_set_t *)sleeper->allowed);
}
