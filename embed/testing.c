/* SPDX-License-Identifier: MIT */
/*
 * testing.c - see <opendxgk/testing.h>.
 */
#include <string.h>

#include <opendxgk/testing.h>

#include "base/attributes.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/sim.h"
#include "base/thread.h"
#include "embed/embed.h"
#include "nt/report.h"

EXPORTED struct dxgk_test_memory dxgk_test_memory(void)
{
	struct mem_usage usage = mem_usage();

	return (struct dxgk_test_memory){ usage.blocks, usage.bytes };
}

EXPORTED void dxgk_test_fail_nth_allocation(unsigned long long n)
{
	mem_fail_nth(n);
}

EXPORTED int dxgk_test_fail_stop(void)
{
	return mem_fail_stop();
}

EXPORTED unsigned long long dxgk_test_report_count(const char *rule)
{
	for (unsigned i = 0; i < RULE_COUNT; i++) {
		if (strcmp(rule_id((enum rule)i), rule) == 0)
			return nt_report_count((enum rule)i);
	}
	return 0;
}

EXPORTED int dxgk_test_validate(char *problem, size_t size_bytes)
{
	return embed_validate(problem, size_bytes);
}

EXPORTED struct dxgk_test_inside dxgk_test_inside(void)
{
	struct dxgk_test_inside inside;

	embed_look_inside(&inside.kernel, &inside.process);
	return inside;
}

EXPORTED int dxgk_test_remove_adapter(unsigned luid_low, int luid_high, int is_surprise)
{
	return embed_remove_adapter((uint64_t)(uint32_t)luid_high << 32 | luid_low,
				    is_surprise != 0);
}

EXPORTED struct dxgk_test_thread *dxgk_test_thread_create_named(const char *name,
								void (*run)(void *argument),
								void *argument)
{
	struct thread *thread;

	thread_enter_kernel();
	NTSTATUS status = thread_create(name, run, argument, &thread);
	thread_leave_kernel();
	return NT_SUCCESS(status) ? (struct dxgk_test_thread *)thread : NULL;
}

EXPORTED struct dxgk_test_thread *dxgk_test_thread_create(void (*run)(void *argument),
							  void *argument)
{
	return dxgk_test_thread_create_named("test", run, argument);
}

EXPORTED void dxgk_test_thread_join(struct dxgk_test_thread *thread)
{
	thread_enter_kernel();
	thread_join((struct thread *)thread);
	thread_leave_kernel();
}

EXPORTED void dxgk_test_park(const char *thread_name, unsigned long long point)
{
	thread_enter_kernel();
	sim_park(thread_name, point);
	thread_leave_kernel();
}

EXPORTED void dxgk_test_park_await(void)
{
	thread_enter_kernel();
	sim_park_await();
	thread_leave_kernel();
}

EXPORTED int dxgk_test_park_end(void)
{
	thread_enter_kernel();
	bool has_parked = sim_park_end();
	thread_leave_kernel();
	return has_parked;
}
