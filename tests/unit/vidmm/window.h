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

/* With an allocation that is locked and full of `value`, and the driver fails at the end of its way in. */
static inline char *init_and_fail_way_in(const struct gpu_config *config, char value)
{
	scene_init(config);
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, MIB, SET_LOCAL);

	wishes.traits.wants_residency_news = true;
	scene_add_thing_as(&wishes);
	char *bytes = lock_thing(&scene.thing);
	memset(bytes, value, MIB);
	EXPECT_EQ(thing_make_resident(&scene.thing), STATUS_PENDING);
	scene.gpu.fail_op = 2; /* the news, behind the exchange */
	gpu_run(&scene.gpu, 1);
	EXPECT(!thing_is_in(&scene.thing));
	EXPECT(is_all(bytes, MIB, value));
	return bytes;
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
