/* SPDX-License-Identifier: MIT */
/*
 * turner.h - somebody else turns the crank, for calls that return when something has moved.
 */
#ifndef TESTS_UNIT_VIDMM_TURNER_H
#define TESTS_UNIT_VIDMM_TURNER_H

#include "gpu.h"

struct turner {
	struct gpu *gpu;
	struct thread *thread;
	struct notice pause;
	_Atomic bool is_over;
};

static inline void turner_run(void *argument)
{
	struct turner *turner = argument;

	while (!atomic_load(&turner->is_over)) {
		uint32_t seen = notice_read(&turner->pause);

		if (gpu_run(turner->gpu, 10) == 0)
			notice_wait(&turner->pause, seen, clock_deadline(NS_PER_MS));
	}
}

static inline void turner_start(struct turner *turner, struct gpu *gpu)
{
	*turner = (struct turner){ .gpu = gpu };
	EXPECT_EQ(thread_create("turner", turner_run, turner, &turner->thread), STATUS_SUCCESS);
}

static inline void turner_stop(struct turner *turner)
{
	atomic_store(&turner->is_over, true);
	notice_give(&turner->pause);
	thread_join(turner->thread);
}

#endif
