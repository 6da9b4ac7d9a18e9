/* SPDX-License-Identifier: MIT */
/*
 * scene.h - how tests of the manager open and close: a GPU turned by hand with a client on it, and
 * what else is wanted.
 *
 *	scene_init(NULL);                      a GPU, a process, its device
 *	scene_init_two(NULL);                  … and another process with one
 *	scene_init_with(NULL, MIB, SET_LOCAL); … or an allocation of the first
 *	scene_finish();                        ends it, with all allocations that are there
 *
 *	SCENE_TEST(room, is_waited_for, scene_init(NULL)) { … }     does both
 */
#ifndef TESTS_UNIT_VIDMM_SCENE_H
#define TESTS_UNIT_VIDMM_SCENE_H

#include "gpu.h"

enum { SCENE_THINGS = 8 };

static struct {
	struct gpu gpu;
	struct client client;
	struct thing thing;          /* with scene_add_thing() */
	struct vidmm_process second; /* with scene_add_second() */
	struct client other;         /* of it */
	bool has_second;
	struct thing things[SCENE_THINGS]; /* with thing_new() and its like */
	unsigned thing_count;
} scene;

/* NULL: a plain GPU. */
static inline void scene_init(const struct gpu_config *config)
{
	static const struct gpu_config plain;

	gpu_init(&scene.gpu, config ? config : &plain);
	client_init(&scene.client, &scene.gpu.process);
	scene.has_second = false;
	scene.thing_count = 0;
}

static inline struct thing *scene_next_thing(void)
{
	if (scene.thing_count == SCENE_THINGS)
		abort();
	return &scene.things[scene.thing_count++];
}

/* Allocations that last as long as the scene. */
static inline struct thing *thing_new(struct client *client, uint64_t size_bytes, uint32_t segments)
{
	struct thing *thing = scene_next_thing();

	thing_init(thing, client, size_bytes, segments);
	return thing;
}

/* … and resident. */
static inline struct thing *thing_new_in(struct client *client, uint64_t size_bytes,
					 uint32_t segments)
{
	struct thing *thing = scene_next_thing();

	thing_add(thing, client, size_bytes, segments);
	return thing;
}

static inline struct thing *thing_new_as(struct client *client, const struct vidmm_wishes *wishes)
{
	struct thing *thing = scene_next_thing();

	thing_init_as(thing, client, wishes);
	return thing;
}

static inline void scene_add_thing_as(const struct vidmm_wishes *wishes)
{
	thing_init_as(&scene.thing, &scene.client, wishes);
}

static inline void scene_add_thing(uint64_t size_bytes, uint32_t segments)
{
	thing_init(&scene.thing, &scene.client, size_bytes, segments);
}

static inline void scene_init_with(const struct gpu_config *config, uint64_t size_bytes,
				   uint32_t segments)
{
	scene_init(config);
	scene_add_thing(size_bytes, segments);
}

/* … that keeps its system memory, too. */
static inline void scene_add_kept(uint64_t size_bytes)
{
	struct vidmm_wishes wishes = thing_wishes(&scene.gpu, size_bytes, SET_LOCAL);

	wishes.traits.is_kept_in_system = true;
	scene_add_thing_as(&wishes);
}

/* … with something in it, and resident. */
static inline void scene_init_kept(char value)
{
	scene_init(NULL);
	scene_add_kept(MIB);
	thing_write(&scene.thing, value);
	thing_bring_in(&scene.thing);
}

/* Leaves every second MiB of local memory free. */
static inline void scene_make_holes(struct thing things[8])
{
	for (int i = 0; i < 8; i++) {
		thing_init(&things[i], &scene.client, MIB, SET_LOCAL);
		thing_bring_in(&things[i]);
	}
	for (int i = 0; i < 8; i += 2)
		thing_finish(&things[i]);
}

static inline void scene_add_second(void)
{
	vidmm_process_init(&scene.second, scene.gpu.manager, &scene.gpu.world.adapter);
	client_init(&scene.other, &scene.second);
	scene.has_second = true;
}

static inline void scene_end_second(void)
{
	client_finish(&scene.other);
	vidmm_process_finish(&scene.second);
	scene.has_second = false;
}

static inline void scene_init_two(const struct gpu_config *config)
{
	scene_init(config);
	scene_add_second();
}

static inline void scene_finish(void)
{
	gpu_end_things(&scene.gpu);
	client_finish(&scene.client);
	if (scene.has_second)
		scene_end_second();
	gpu_finish(&scene.gpu);
}

/* As a client does it that has no special wishes. */
static inline NTSTATUS thing_offer(struct thing *thing)
{
	return vidmm_binding_offer(&thing->binding, VIDMM_OFFER_NORMAL, false, false);
}

/* Of tests that begin as it says at the end of their name, and have no allocation but the scene's. */
#define SCENE_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, scene_finish(), suite, claim)

#define THING_TEST(suite, claim) SCENE_TEST(suite, claim, scene_init_with(NULL, MIB, SET_LOCAL))

/* The scene's, which another client of the same process has opened. */
struct shared_thing {
	struct client other;
	struct thing opened;
};

static inline void shared_thing_begin(struct shared_thing *shared)
{
	client_init(&shared->other, &scene.gpu.process);
	thing_open(&shared->opened, &shared->other, &scene.thing);
}

static inline void shared_thing_end(struct shared_thing *shared)
{
	thing_close(&shared->opened);
	client_finish(&shared->other);
	scene_finish();
}

#define SHARED_THING_TEST(suite, claim, begin)                                                     \
	TEST_ON(shared_thing, begin;                                                               \
		shared_thing_begin(&shared_thing), shared_thing_end(&shared_thing), suite, claim)

#endif
