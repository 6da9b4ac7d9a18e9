/* SPDX-License-Identifier: MIT */
/*
 * nt_harness.h - what the tests of nt/ share: a driver's view of threads, and what was reported.
 *
 * Between nt_test_begin() and nt_test_finish() reports go to a buffer; finish() stops nt/ and fails
 * when it holds on to memory. The tests run on the real machine and under seeds.
 */
#ifndef TESTS_UNIT_NT_NT_HARNESS_H
#define TESTS_UNIT_NT_NT_HARNESS_H

#include "support/test.h"

#include <ddk/wdm.h>

#include "base/log.h"
#include "base/mem.h"
#include "nt/nt.h"
#include "nt/object.h"

static char nt_test_log[16384];
static size_t nt_test_log_length;
static struct mem_usage nt_test_usage;

static inline void nt_test_write(void *context, const char *line)
{
	size_t buffer = sizeof(nt_test_log) - nt_test_log_length;
	int length = snprintf(nt_test_log + nt_test_log_length, buffer, "%s\n", line);

	(void)context;
	nt_test_log_length += (size_t)length < buffer ? (size_t)length : buffer - 1;
}

static inline PKTHREAD nt_test_start(PKSTART_ROUTINE routine, void *context)
{
	HANDLE handle = NULL;
	struct nt_object *object = NULL;

	EXPECT_EQ(PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, routine,
				       context),
		  STATUS_SUCCESS);
	EXPECT_EQ(nt_handle_get(handle, &nt_type_thread, &object), STATUS_SUCCESS);
	EXPECT_EQ(nt_handle_close(handle), STATUS_SUCCESS);
	return nt_object_body(object);
}

/* As drivers do it: waits for the thread object, then lets go of it. */
static inline void nt_test_join(PKTHREAD thread)
{
	EXPECT_EQ(KeWaitForSingleObject(thread, Executive, KernelMode, FALSE, NULL),
		  STATUS_SUCCESS);
	nt_object_put(nt_object_from_body(thread));
}

/* All at once, until the last is done. */
static inline void nt_test_on_threads(unsigned count, PKSTART_ROUTINE routine, void *context)
{
	PKTHREAD threads[16];

	EXPECT(count <= 16);
	for (unsigned i = 0; i < count; i++)
		threads[i] = nt_test_start(routine, context);
	for (unsigned i = 0; i < count; i++)
		nt_test_join(threads[i]);
}

static inline VOID NTAPI nt_test_nothing(PVOID context)
{
	(void)context;
}

static inline void nt_test_begin(void)
{
	/* The handle table and the unwinder stay once they are there. */
	nt_test_join(nt_test_start(nt_test_nothing, NULL));
	nt_stop();
	nt_test_log_length = 0;
	nt_test_log[0] = '\0';
	log_redirect(nt_test_write, NULL);
	nt_test_usage = mem_usage();
}

static inline void nt_test_finish(void)
{
	nt_stop();
	log_redirect(NULL, NULL);
	EXPECT_EQ(mem_usage().blocks, nt_test_usage.blocks);
	EXPECT_EQ(mem_usage().bytes, nt_test_usage.bytes);
	EXPECT_EQ(nt_pool_usage().blocks, 0);
	EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

/* Exactly `count` reports of `rule`, and no other rule was broken. */
static inline void nt_test_expect_reports(enum rule rule, uint64_t count)
{
	for (unsigned i = 0; i < RULE_COUNT; i++) {
		if (nt_report_count((enum rule)i) != (i == (unsigned)rule ? count : 0)) {
			print_error("%s was reported %llu times\n%s", rule_id((enum rule)i),
				    (unsigned long long)nt_report_count((enum rule)i), nt_test_log);
			fail();
		}
	}
}

#define EXPECT_REPORTS(rule, count) nt_test_expect_reports(rule, count)
#define EXPECT_NO_REPORT()          nt_test_expect_reports(RULE_COUNT, 0)

/* A relative timeout. */
static inline LARGE_INTEGER nt_test_us(int64_t microseconds)
{
	LARGE_INTEGER timeout;

	timeout.QuadPart = -microseconds * 10;
	return timeout;
}

static inline NTSTATUS nt_test_poll(void *object)
{
	LARGE_INTEGER zero = { .QuadPart = 0 };

	return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, &zero);
}

static inline NTSTATUS nt_test_wait(void *object)
{
	return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, NULL);
}

#define NT_TEST(suite, claim) TEST_BETWEEN(nt_test_begin(), nt_test_finish(), suite, claim)

#endif
