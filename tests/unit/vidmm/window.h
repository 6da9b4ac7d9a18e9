/* SPDX-License-Identifier: MIT */
/*
 * window.h - scenes with a CPU host aperture, for tests of what is seen through it.
 */
#ifndef TESTS_UNIT_VIDMM_WINDOW_H
#define TESTS_UNIT_VIDMM_WINDOW_H

#include "base/machine_exchange.h"
#include "scene.h"

static const struct gpu_config windowed = { .is_hidden = true, .window_pages = 2048 };

/* … that shows no memory of the machine. */
static const struct gpu_config foreign = {
	.is_hidden = true, .window_pages = 2048, .local_bytes = 6 * MIB, .window_is_foreign = true
};

static inline NTSTATUS try_lock(struct thing *thing, char **pointer_out)
{
	void *pointer = NULL;
	NTSTATUS status = vidmm_lock_anywhere(scene.gpu.manager, thing->memory, false, &pointer);

	*pointer_out = pointer;
	return status;
}

static inline char *lock_thing(struct thing *thing)
{
	char *pointer;

	EXPECT_EQ(try_lock(thing, &pointer), STATUS_SUCCESS);
	return pointer;
}

static inline void unlock_thing(struct thing *thing)
{
	EXPECT(vidmm_unlock_anywhere(scene.gpu.manager, thing->memory));
}

static inline void forget_windows(struct gpu *gpu)
{
	memset(gpu->is_shown, 0, sizeof(gpu->is_shown));
	gpu->open_pages = 0;
}

static inline void reset(void)
{
	scene.gpu.generation++;
	forget_windows(&scene.gpu);
	vidmm_reset(scene.gpu.manager);
	vidmm_windows_reopen(scene.gpu.manager);
}

#endif
