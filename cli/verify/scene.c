/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "cli/verify/scene.h"

enum { PAGE = 4096, WDDM_2_0 = 2000 };

void scene_begin(struct scene *scene, FILE *script, struct random *random,
		 const struct verify_facts *facts)
{
	*scene = (struct scene){ .facts = facts, .random = random, .script = script };
}

void scene_line(struct scene *scene, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vfprintf(scene->script, format, arguments);
	va_end(arguments);
	(void)fputc('\n', scene->script);
}

/* ---- chance ---- */

uint64_t scene_number(struct scene *scene, uint64_t least, uint64_t most)
{
	return least + random_below(scene->random, most - least + 1);
}

bool scene_chance(struct scene *scene, unsigned percent)
{
	return random_below(scene->random, 100) < percent;
}

uint64_t scene_size(struct scene *scene)
{
	uint64_t pages = scene_number(scene, 1, scene_chance(scene, 10) ? 256 : 16);

	/* Not always whole pages: what is behind the end is nobody's. */
	return pages * PAGE - (scene_chance(scene, 20) ? scene_number(scene, 1, 1023) * 4 : 0);
}

bool scene_can(const struct scene *scene, uint32_t abilities)
{
	return (scene->facts->abilities & abilities) == abilities;
}

/* ---- things ---- */

unsigned scene_client(struct scene *scene, bool is_apart)
{
	if (scene->client_count == SCENE_CLIENTS)
		return SCENE_CLIENTS - 1;
	unsigned client = scene->client_count++;

	scene->clients[client].is_there = true;
	scene->clients[client].is_apart = is_apart;
	scene_line(scene, "client c%u%s", client, is_apart ? " apart" : "");
	return client;
}

/* One of those that take the exerciser's commands. */
static unsigned any_node(struct scene *scene)
{
	uint64_t nodes = scene->facts->command_nodes;
	unsigned chosen = 0;
	unsigned seen = 0;

	for (unsigned node = 0; node < scene->facts->node_count && node < 64; node++) {
		if ((nodes >> node & 1) && random_below(scene->random, ++seen) == 0)
			chosen = node;
	}
	return chosen;
}

unsigned scene_context(struct scene *scene, unsigned client)
{
	if (scene->context_count == SCENE_CONTEXTS)
		return SCENE_CONTEXTS - 1;
	unsigned context = scene->context_count++;

	scene->contexts[context].is_there = true;
	scene->contexts[context].client = client;
	scene_line(scene, "context x%u c%u node %u%s", context, client, any_node(scene),
		   scene_can(scene, ABLE_GPUMMU) ? "" : " list");
	if (scene_can(scene, ABLE_ALLOCATE) && scene_chance(scene, 25))
		scene_bystander(scene, client);
	return context;
}

/* Before WDDM 2.0 the kernel sees to it itself, for what is in the list of a submission. */
static bool has_residency(const struct scene *scene)
{
	return scene_can(scene, ABLE_GPUMMU) || scene->facts->wddm >= WDDM_2_0;
}

void scene_bystander(struct scene *scene, unsigned client)
{
	unsigned number = scene->bystander_count++;

	scene_line(scene, "allocate b%u c%u %uK hidden%s", number, client,
		   4 * (unsigned)scene_number(scene, 1, 4),
		   scene_can(scene, ABLE_GPUMMU) ? "" : " contiguous");
	if (scene_can(scene, ABLE_GPUMMU))
		scene_line(scene, "map b%u", number);
	if (has_residency(scene))
		scene_line(scene, "resident b%u", number);
}

/* Half of the time no page is like another, so that one that is shown in the place of another is noticed. */
void scene_write(struct scene *scene, unsigned number)
{
	struct scene_allocation *allocation = &scene->allocations[number];

	allocation->value = (uint32_t)scene_number(scene, 1, UINT32_MAX);
	allocation->is_random = scene_chance(scene, 50);
	allocation->is_known = true;
	scene_line(scene, "write a%u %s0x%x", number, allocation->is_random ? "random " : "",
		   allocation->value);
}

unsigned scene_allocation(struct scene *scene, unsigned client, uint64_t size_bytes)
{
	if (scene->allocation_count == SCENE_ALLOCATIONS)
		return SCENE_ALLOCATIONS - 1;
	unsigned number = scene->allocation_count++;
	struct scene_allocation *allocation = &scene->allocations[number];

	*allocation = (struct scene_allocation){ .is_there = true,
						 .client = client,
						 .size_bytes = size_bytes };
	/* Several in one call now and then: the driver makes all of them, or none. */
	scene_line(scene, "allocate a%u c%u %llu%s%s%s", number, client,
		   (unsigned long long)size_bytes,
		   scene_can(scene, ABLE_GPUMMU) ? "" : " contiguous",
		   scene_can(scene, ABLE_SYSTEM) && scene_chance(scene, 15) ? " system" : "",
		   !scene_chance(scene, 25)  ? ""
		   : scene_chance(scene, 50) ? " triple"
					     : " triple resource");
	if (scene_can(scene, ABLE_GPUMMU))
		scene_line(scene, "map a%u", number);
	if (has_residency(scene)) {
		scene_line(scene, "resident a%u", number);
		allocation->is_resident = true;
	}
	scene_write(scene, number);
	return number;
}

bool scene_any_allocation(struct scene *scene, unsigned client, unsigned *allocation_out)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < SCENE_ALLOCATIONS; i++) {
		const struct scene_allocation *allocation = &scene->allocations[i];

		if (allocation->is_there && !allocation->is_offered &&
		    allocation->client == client && random_below(scene->random, ++seen) == 0)
			*allocation_out = i;
	}
	return seen > 0;
}

bool scene_any_context(struct scene *scene, unsigned client, unsigned *context_out)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < SCENE_CONTEXTS; i++) {
		if (scene->contexts[i].is_there && scene->contexts[i].client == client &&
		    random_below(scene->random, ++seen) == 0)
			*context_out = i;
	}
	return seen > 0;
}

/* ---- work ---- */

static void add_fill(struct scene *scene, unsigned allocation)
{
	struct scene_allocation *to = &scene->allocations[allocation];

	to->value = (uint32_t)scene_number(scene, 1, UINT32_MAX);
	to->is_random = false;
	to->is_known = true;
	(void)fprintf(scene->script, " fill a%u 0x%x", allocation, to->value);
}

static bool can_copy(const struct scene *scene, unsigned to, unsigned from)
{
	const struct scene_allocation *source = &scene->allocations[from];

	return to != from && source->is_known &&
	       source->size_bytes >= scene->allocations[to].size_bytes;
}

static void add_copy(struct scene *scene, unsigned to, unsigned from)
{
	struct scene_allocation *target = &scene->allocations[to];
	const struct scene_allocation *source = &scene->allocations[from];

	(void)fprintf(scene->script, " copy a%u to a%u", from, to);
	target->value = source->value;
	target->is_random = source->is_random;
	target->is_known = true;
}

void scene_fill(struct scene *scene, unsigned context, unsigned allocation)
{
	if (!scene_can(scene, ABLE_COMMANDS)) {
		scene_write(scene, allocation);
		return;
	}
	(void)fprintf(scene->script, "submit x%u", context);
	add_fill(scene, allocation);
	scene_line(scene, "%s", "");
}

void scene_copy(struct scene *scene, unsigned context, unsigned to, unsigned from)
{
	if (!scene_can(scene, ABLE_COMMANDS) || !can_copy(scene, to, from)) {
		scene_fill(scene, context, to);
		return;
	}
	(void)fprintf(scene->script, "submit x%u", context);
	add_copy(scene, to, from);
	scene_line(scene, "%s", "");
}

void scene_packet(struct scene *scene, unsigned context)
{
	unsigned client = scene->contexts[context].client;
	uint64_t commands = scene_number(scene, 2, 6);
	unsigned to;
	unsigned from;

	if (!scene_any_allocation(scene, client, &to))
		return;
	if (!scene_can(scene, ABLE_COMMANDS)) {
		scene_fill(scene, context, to);
		return;
	}
	(void)fprintf(scene->script, "submit x%u", context);
	for (uint64_t i = 0; i < commands; i++) {
		(void)fputs(i > 0 ? " ;" : "", scene->script);
		(void)scene_any_allocation(scene, client, &to);
		(void)scene_any_allocation(scene, client, &from);
		if (scene_chance(scene, 40) && can_copy(scene, to, from))
			add_copy(scene, to, from);
		else
			add_fill(scene, to);
	}
	scene_line(scene, "%s", "");
}

void scene_wait(struct scene *scene, unsigned context)
{
	scene_line(scene, "wait x%u", context);
}

void scene_wait_all(struct scene *scene)
{
	for (unsigned i = 0; i < SCENE_CONTEXTS; i++) {
		if (scene->contexts[i].is_there)
			scene_wait(scene, i);
	}
}

void scene_check(struct scene *scene, unsigned allocation)
{
	const struct scene_allocation *one = &scene->allocations[allocation];

	if (one->is_there && one->is_known && !one->is_offered)
		scene_line(scene, "check a%u %s0x%x", allocation, one->is_random ? "random " : "",
			   one->value);
}

void scene_check_all(struct scene *scene)
{
	for (unsigned i = 0; i < SCENE_ALLOCATIONS; i++)
		scene_check(scene, i);
}

/* ---- ends ---- */

void scene_destroy_allocation(struct scene *scene, unsigned allocation)
{
	scene_line(scene, "destroy a%u", allocation);
	scene->allocations[allocation].is_there = false;
}

static void forget_client(struct scene *scene, unsigned client)
{
	for (unsigned i = 0; i < SCENE_CONTEXTS; i++) {
		if (scene->contexts[i].client == client)
			scene->contexts[i].is_there = false;
	}
	for (unsigned i = 0; i < SCENE_ALLOCATIONS; i++) {
		if (scene->allocations[i].client == client)
			scene->allocations[i].is_there = false;
	}
	scene->clients[client].is_there = false;
}

void scene_destroy_client(struct scene *scene, unsigned client)
{
	scene_line(scene, "destroy c%u", client);
	forget_client(scene, client);
}

void scene_kill(struct scene *scene, unsigned client)
{
	scene_line(scene, "kill c%u", client);
	forget_client(scene, client);
}

void scene_lose_all(struct scene *scene)
{
	for (unsigned i = 0; i < SCENE_CLIENTS; i++) {
		if (scene->clients[i].is_there)
			scene_destroy_client(scene, i);
	}
}
