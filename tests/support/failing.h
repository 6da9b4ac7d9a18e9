/* SPDX-License-Identifier: MIT */
/*
 * failing.h - memory that runs out, at each allocation in turn.
 */
#ifndef TESTS_SUPPORT_FAILING_H
#define TESTS_SUPPORT_FAILING_H

#include "base/mem.h"
#include "support/test.h"

/*
 * `call` is made with its first allocation failing, its second and so on, until none did: it says
 * so each time, and leaves nothing behind once `undo` was done. There are more than `least` of them.
 */
#define EXPECT_EACH_FAILURE_TOLD(least, call, undo)                                                \
	do {                                                                                       \
		uint64_t failing_before = mem_usage().blocks;                                      \
		uint64_t failing_nth = 0;                                                          \
		bool has_failed;                                                                   \
		do {                                                                               \
			mem_fail_nth(++failing_nth);                                               \
			NTSTATUS failing_status = (call);                                          \
			has_failed = mem_fail_stop();                                              \
			EXPECT_EQ(failing_status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS); \
			undo;                                                                      \
			EXPECT_EQ(mem_usage().blocks, failing_before);                             \
		} while (has_failed);                                                              \
		EXPECT(failing_nth > (least));                                                     \
	} while (0)

/*
 * What takes more than a call:
 *
 *	EACH_FAILURE (failing, 4) {
 *		failing_start(&failing);
 *		NTSTATUS status = …;
 *		bool has_failed = failing_stop(&failing);
 *		…
 *	}
 */
struct failing {
	uint64_t nth;
	uint64_t least;
	bool has_failed;
};

static inline bool failing_goes_on(struct failing *failing)
{
	if (!failing->has_failed)
		EXPECT(failing->nth > failing->least);
	failing->nth++;
	return failing->has_failed;
}

static inline void failing_start(const struct failing *failing)
{
	mem_fail_nth(failing->nth);
}

/* Did it? */
static inline bool failing_stop(struct failing *failing)
{
	failing->has_failed = mem_fail_stop();
	return failing->has_failed;
}

#define EACH_FAILURE(failing, at_least)                                                            \
	for (struct failing failing = { 0, at_least, true }; failing_goes_on(&failing);)

#endif
