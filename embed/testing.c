/* SPDX-License-Identifier: MIT */
/*
 * testing.c - see <opendxgk/testing.h>.
 */
#include <stdio.h>
#include <string.h>

#include <opendxgk/testing.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/machine_exchange.h"
#include "base/mem.h"
#include "base/quota.h"
#include "base/refusal.h"
#include "base/client_file.h"
#include "base/sim.h"
#include "base/thread.h"
#include "embed/embed.h"
#include "embed/guest.h"
#include "embed/testing_remote.h"
#include "object/owner/control.h"
#include "object/owner/process.h"
#include "nt/report.h"

EXPORTED struct dxgk_test_memory dxgk_test_memory(void)
{
	struct mem_usage usage = mem_usage();

	if (testing_is_remote()) {
		struct control_test there = testing_ask(CONTROL_TEST_MEMORY, 0, 0, NULL);

		return (struct dxgk_test_memory){ (long long)there.number, (long long)there.bytes };
	}
	return (struct dxgk_test_memory){ usage.blocks, usage.bytes };
}

EXPORTED void dxgk_test_fail_nth_allocation(unsigned long long n)
{
	if (testing_is_remote())
		(void)testing_ask(CONTROL_TEST_FAIL_NTH, 0, n, NULL);
	else
		mem_fail_nth(n);
}

EXPORTED int dxgk_test_fail_stop(void)
{
	if (testing_is_remote())
		return (int)testing_ask(CONTROL_TEST_FAIL_STOP, 0, 0, NULL).number;
	return mem_fail_stop();
}

EXPORTED unsigned long long dxgk_test_report_count(const char *rule)
{
	if (testing_is_remote())
		return testing_ask(CONTROL_TEST_REPORTS, 0, 0, rule).number;
	return nt_report_count_of(rule);
}

EXPORTED int dxgk_test_validate(char *problem, size_t size_bytes)
{
	if (testing_is_remote()) {
		struct control_test there = testing_ask(CONTROL_TEST_VALIDATE, 0, 0, NULL);

		snprintf(problem, size_bytes, "%s", there.text);
		return (int)there.number;
	}
	return embed_validate(problem, size_bytes);
}

EXPORTED struct dxgk_test_inside dxgk_test_inside(void)
{
	struct dxgk_test_inside inside;

	embed_look_inside(&inside.kernel, &inside.process);
	return inside;
}

static uint64_t luid_of(unsigned low, int high)
{
	return (uint64_t)(uint32_t)high << 32 | low;
}

EXPORTED int dxgk_test_remove_adapter(unsigned luid_low, int luid_high, int is_surprise)
{
	uint64_t luid = luid_of(luid_low, luid_high);

	if (testing_is_remote())
		return (int)testing_ask(CONTROL_TEST_REMOVE, luid, is_surprise != 0, NULL).number;
	return embed_remove_adapter(luid, is_surprise != 0);
}

static NTSTATUS go_to_sleep(struct dxg_adapter *adapter)
{
	return control_power(adapter, false);
}

static NTSTATUS wake_up(struct dxg_adapter *adapter)
{
	return control_power(adapter, true);
}

EXPORTED int dxgk_test_power(unsigned luid_low, int luid_high, unsigned state)
{
	enum { D0 = 0, D3 = 3 };

	if (testing_is_remote())
		return STATUS_NOT_SUPPORTED;
	if (state != D0 && state != D3)
		return STATUS_INVALID_PARAMETER;
	return embed_control_adapter(luid_of(luid_low, luid_high), "dxgk_test_power",
				     state == D0 ? wake_up : go_to_sleep);
}

EXPORTED int dxgk_test_reset_device(unsigned luid_low, int luid_high)
{
	if (testing_is_remote())
		return STATUS_NOT_SUPPORTED;
	return embed_control_adapter(luid_of(luid_low, luid_high), "dxgk_test_reset_device",
				     control_reset_device);
}

EXPORTED int dxgk_test_collect_debug_info(unsigned luid_low, int luid_high)
{
	if (testing_is_remote())
		return STATUS_NOT_SUPPORTED;
	return embed_control_adapter(luid_of(luid_low, luid_high), "dxgk_test_collect_debug_info",
				     control_collect_debug_info);
}

static bool read_limit(const struct dxgk_test_limit *limit, struct quota_limits *limits)
{
	for (int kind = 0; quota_name((enum quota_kind)kind); kind++) {
		if (strcmp(quota_name((enum quota_kind)kind), limit->name) == 0) {
			limits->most[kind] = limit->most;
			return true;
		}
	}
	return false;
}

EXPORTED struct dxgk_test_process *dxgk_test_process_create_as(
	const struct dxgk_test_identity *identity)
{
	struct quota_limits limits = { 0 };
	struct process_identity who = { .pid = identity->pid,
					.user = identity->user,
					.is_controller = identity->is_controller != 0,
					.limits = &limits };

	for (unsigned i = 0; i < identity->limit_count; i++) {
		if (!read_limit(&identity->limits[i], &limits))
			return NULL;
	}
	snprintf(who.name, sizeof(who.name), "%s", identity->name);
	return (struct dxgk_test_process *)embed_create_guest(&who, NULL);
}

EXPORTED struct dxgk_test_process *dxgk_test_process_create(unsigned pid, unsigned user,
							    const char *name)
{
	return dxgk_test_process_create_as(
		&(struct dxgk_test_identity){ .pid = pid, .user = user, .name = name });
}

EXPORTED struct dxgk_test_process *dxgk_test_process_create_remote(unsigned pid, unsigned user,
								   const char *name, void *arena,
								   unsigned long long size_bytes)
{
	const struct process_arena where = { (uintptr_t)arena, size_bytes };
	struct process_identity who = { .pid = pid, .user = user };

	snprintf(who.name, sizeof(who.name), "%s", name);
	return (struct dxgk_test_process *)embed_create_guest(&who, &where);
}

EXPORTED int dxgk_test_bring(void *memory, unsigned long long size_bytes, int descriptor,
			     unsigned long long offset)
{
	thread_enter_kernel();
	NTSTATUS status = guest_bring((uintptr_t)memory, size_bytes, descriptor, offset);
	thread_leave_kernel();
	return NT_SUCCESS(status);
}

EXPORTED void dxgk_test_watch_views(void (*watch)(void *address, unsigned long long page_count,
						  int descriptor, unsigned long long first_page))
{
	guest_watch_views(watch);
}

EXPORTED struct dxgk_test_banks dxgk_test_banks(void)
{
	if (testing_is_remote()) {
		struct control_test there = testing_ask(CONTROL_TEST_BANKS, 0, 0, NULL);

		return (struct dxgk_test_banks){
			.files = there.numbers[0],
			.taken_pages = there.numbers[1],
			.displaced_pages = there.numbers[2],
			.mappings = there.numbers[3],
		};
	}
	thread_enter_kernel();
	struct machine_exchange_usage exchanged = machine_exchange_usage();
	struct dxgk_test_banks banks = {
		.files = client_file_count(),
		.taken_pages = machine_usage().taken_pages,
		.displaced_pages = exchanged.displaced_pages,
		.mappings = exchanged.mappings,
	};
	thread_leave_kernel();
	return banks;
}

EXPORTED struct dxgk_test_process *dxgk_test_process_enter(struct dxgk_test_process *process)
{
	return (struct dxgk_test_process *)guest_enter((struct guest *)process);
}

EXPORTED void dxgk_test_process_end(struct dxgk_test_process *process)
{
	thread_enter_kernel();
	guest_end((struct guest *)process);
	thread_leave_kernel();
}

EXPORTED void dxgk_test_process_kill(struct dxgk_test_process *process)
{
	thread_enter_kernel();
	guest_close((struct guest *)process);
	thread_leave_kernel();
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

EXPORTED void dxgk_test_sleep(unsigned long long nanoseconds)
{
	thread_enter_kernel();
	clock_sleep_until(clock_deadline(nanoseconds));
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
