/* SPDX-License-Identifier: MIT */
/*
 * process_test.c - a process begins with all that it needs or not at all, here and elsewhere.
 */
#include "unit/object/scene.h"

static void sweep(const struct process_arena *arena)
{
	const struct process_identity identity = { .pid = 2, .name = "swept" };
	struct mem_usage usage = mem_usage();
	bool has_failed = true;
	unsigned failures = 0;

	/* Each block that it takes fails once. */
	for (unsigned nth = 1; has_failed; nth++) {
		struct dxg_process *process = NULL;

		mem_fail_nth(nth);
		NTSTATUS status = process_create(&kernel, &identity, arena, &process);
		has_failed = mem_fail_stop();
		/* It may have done without that one. */
		EXPECT(NT_SUCCESS(status) || (has_failed && status == STATUS_NO_MEMORY));
		EXPECT_EQ(process != NULL, NT_SUCCESS(status));
		failures += !NT_SUCCESS(status);
		if (process)
			process_destroy(process);
		EXPECT_EQ(mem_usage().blocks, usage.blocks);
	}
	EXPECT(failures >= 4);
}

PLAIN_TEST(process, without_memory_does_not_begin_and_leaves_nothing)
{
	sweep(NULL);
}

PLAIN_TEST(process, elsewhere_neither)
{
	sweep(&(struct process_arena){ UINT64_C(1) << 40, UINT64_C(1) << 36 });
}

TEST_MAIN("object/process")
