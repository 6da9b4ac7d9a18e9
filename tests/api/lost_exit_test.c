/* SPDX-License-Identifier: MIT */
/*
 * lost_exit_test.c - programs that end just when their adapter is reset, or lost.
 *
 * Whoever recovers has to do with the adapter's memory, and the end of the program takes that:
 * nothing may be used behind it, and nobody may wait for ever. So a thread of the kernel is parked
 * at each of its points in turn, from the moment work hangs, while the program goes on to its end.
 */
#include "api/crank.h"

#include <opendxgk/testing.h>

enum { POINTS_MAX = 5000, NO_SUCH_POINT = 77 };

/* By hand, so that work hangs; late after two seconds, of which a seeded run notices nothing. */
#define PROFILE                                                                                    \
	"{\"adapters\": [{\"driver\": \"%s\", \"name\": \"lost\", \"registry\": {"                 \
	"\"HandCranked\": 1, \"HoldPreemption\": 1, \"TdrDelay\": 1, " FOUR_NODES "%s}}]}"

/* Behind the kernel's own end, for it was registered before that. */
static void say_whether_parked(void)
{
	if (!dxgk_test_park_end())
		_exit(NO_SUCH_POINT);
}

static D3DKMT_HANDLE hang(void)
{
	D3DKMT_HANDLE fence;
	D3DKMT_HANDLE context;

	CHILD_EXPECT(atexit(say_whether_parked) == 0);
	adapter = child_open_adapter();
	device = child_create_device(adapter);
	context = create_virtual(0);
	fence = create_fence(0, 0, NULL);
	dxgk_test_park(getenv("TEST_THREAD"), strtoull(getenv("TEST_POINT"), NULL, 10));
	CHILD_EXPECT(submit(context, 1) == STATUS_SUCCESS);
	CHILD_EXPECT(queue_signal(context, fence, 1) == STATUS_SUCCESS);
	return fence;
}

/* Who waits for lost work is among the first to hear of it. */
CHILD(ends_when_its_work_is_lost)
{
	(void)wait_fence(hang(), 1, 0);
	return 0;
}

/* The end waits for the work, and so for the clock. */
CHILD(ends_with_work_that_hangs)
{
	(void)hang();
	return 0;
}

/* At every point, or, where there are hundreds, at one out of `stride`; at some of these when it has
 * to be quick. */
static void expect_clean_ends(const char *child, const char *thread, unsigned stride,
			      const char *registry)
{
	char profile[1024];
	char thread_setting[64];
	unsigned point = 1;
	int exit_status = 0;

	stride *= some_of(IS_SANITIZED ? 10 : 3, 1);
	snprintf(profile, sizeof(profile), PROFILE, getenv("TEST_RECORDER"), registry);
	const char *file = profile_setting(profile);
	snprintf(thread_setting, sizeof(thread_setting), "TEST_THREAD=%s", thread);
	for (; exit_status == 0 && point < POINTS_MAX; point += stride) {
		char setting[32];

		snprintf(setting, sizeof(setting), "TEST_POINT=%u", point);
		const struct child_result *result =
			run_child(child, "DXGK_SEED=1", file, thread_setting, setting);
		exit_status = result->exit_status;
		if (exit_status != 0 && exit_status != NO_SUCH_POINT)
			print_error("%s, %s, %s, point %u: exit status %d\n%s\n", child, thread,
				    registry, point, exit_status, result->err);
	}
	EXPECT_EQ(exit_status, NO_SUCH_POINT);
	EXPECT(point > 1 + stride);
}

TEST(end, comes_behind_the_loss_of_an_adapter)
{
	expect_clean_ends("ends_when_its_work_is_lost", "dxgk sched", 1, "\"TdrLevel\": 1");
	expect_clean_ends("ends_with_work_that_hangs", "dxgk sched", 3, "\"TdrLevel\": 1");
}

TEST(end, comes_behind_what_other_threads_do_about_the_loss)
{
	expect_clean_ends("ends_when_its_work_is_lost", "pager", 1, "\"TdrLevel\": 1");
	expect_clean_ends("ends_when_its_work_is_lost", "reaper", 1, "\"TdrLevel\": 1");
}

TEST(end, comes_behind_a_reset_that_fails)
{
	expect_clean_ends("ends_when_its_work_is_lost", "dxgk sched", 3,
			  "\"SupportPerEngineTDR\": 0, \"Fail\": \"RestartFromTimeout\"");
}

TEST(end, comes_behind_a_reset)
{
	expect_clean_ends("ends_when_its_work_is_lost", "dxgk sched", 3,
			  "\"SupportPerEngineTDR\": 0");
}

API_TEST_MAIN("api/lost_exit")
