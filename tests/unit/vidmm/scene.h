/* SPDX-License-Identifier: MIT */
/*
 * scene.h - how most tests of the manager open and close: a GPU turned by hand with a client on it,
 * and what else is wanted.
 *
 *	scene_init(&scene, NULL);                      a GPU, a process, its device
 *	scene_init_two(&scene, NULL);                  … and another process with one
 *	scene_init_with(&scene, NULL, MIB, SET_LOCAL); … or an allocation of the first
 *	scene_finish(&scene);
 */
#ifndef TESTS_UNIT_VIDMM_SCENE_H
#define TESTS_UNIT_VIDMM_SCENE_H

#include "gpu.h"

struct scene {
	struct gpu gpu;
	struct client client;
	struct thing thing; /* with scene_add_thing() */
	bool has_thing;
	struct vidmm_process second; /* with scene_add_second() */
	struct client other;         /* of it */
	bool has_second;
};

/* NULL: a plain GPU. */
static inline void scene_init(struct scene *scene, const struct gpu_config *config)
{
	static const struct gpu_config plain;

	gpu_init(&scene->gpu, config ? config : &plain);
	client_init(&scene->client, &scene->gpu.process);
	scene->has_thing = false;
	scene->has_second = false;
}

static inline void scene_add_thing_as(struct scene *scene, const struct vidmm_wishes *wishes)
{
	thing_init_as(&scene->thing, &scene->client, wishes);
	scene->has_thing = true;
}

static inline void scene_add_thing(struct scene *scene, uint64_t size_bytes, uint32_t segments)
{
	thing_init(&scene->thing, &scene->client, size_bytes, segments);
	scene->has_thing = true;
}

static inline void scene_init_with(struct scene *scene, const struct gpu_config *config,
				   uint64_t size_bytes, uint32_t segments)
{
	scene_init(scene, config);
	scene_add_thing(scene, size_bytes, segments);
}

static inline void scene_add_second(struct scene *scene)
{
	vidmm_process_init(&scene->second, scene->gpu.manager, &scene->gpu.world.adapter);
	client_init(&scene->other, &scene->second);
	scene->has_second = true;
}

static inline void scene_end_second(struct scene *scene)
{
	client_finish(&scene->other);
	vidmm_process_finish(&scene->second);
	scene->has_second = false;
}

static inline void scene_init_two(struct scene *scene, const struct gpu_config *config)
{
	scene_init(scene, config);
	scene_add_second(scene);
}

static inline void scene_finish(struct scene *scene)
{
	if (scene->has_thing)
		thing_finish(&scene->thing);
	client_finish(&scene->client);
	if (scene->has_second)
		scene_end_second(scene);
	gpu_finish(&scene->gpu);
}

/* As a client does it that has no special wishes. */
static inline NTSTATUS thing_offer(struct thing *thing)
{
	return vidmm_binding_offer(&thing->binding, VIDMM_OFFER_NORMAL, false, false);
}

#endif
