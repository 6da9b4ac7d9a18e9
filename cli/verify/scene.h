/* SPDX-License-Identifier: MIT */
/*
 * scene.h - what the workloads write scripts with: clients, contexts, allocations and what is in them.
 *
 * A scene remembers what the script has made and what each allocation holds when all that was submitted is over, so that a
 * generator says what is to happen and the scene writes the statements, with the checks of content. It knows how this driver is
 * spoken to: by GPU addresses or by allocation lists, with commands or without.
 */
#ifndef CLI_VERIFY_SCENE_H
#define CLI_VERIFY_SCENE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/random.h"
#include "cli/verify/facts.h"

/* As many as a script makes; a name stands for one thing, so none is used again. */
enum { SCENE_CLIENTS = 64, SCENE_CONTEXTS = 128, SCENE_ALLOCATIONS = 512 };

struct scene_allocation {
	bool is_there;
	unsigned client;
	uint64_t size_bytes;
	bool is_known; /* … what is in it: */
	uint32_t value;
	bool is_random; /* a row of bytes that the value determines: no page is like another */
	bool is_locked;
	bool is_offered;
	bool is_resident;
};

struct scene {
	const struct verify_facts *facts;
	struct random *random;
	FILE *script;

	struct {
		bool is_there;
		bool is_apart;
	} clients[SCENE_CLIENTS];
	struct {
		bool is_there;
		unsigned client;
	} contexts[SCENE_CONTEXTS];
	struct scene_allocation allocations[SCENE_ALLOCATIONS];
	unsigned client_count;
	unsigned context_count;
	unsigned allocation_count;
	unsigned bystander_count;
};

void scene_begin(struct scene *scene, FILE *script, struct random *random,
		 const struct verify_facts *facts);

/* A line as it stands. */
void scene_line(struct scene *scene, const char *format, ...) PRINTF_LIKE(2, 3);

/* From `least` to `most`. */
uint64_t scene_number(struct scene *scene, uint64_t least, uint64_t most);
bool scene_chance(struct scene *scene, unsigned percent);
/* A few pages most of the time, now and then many. */
uint64_t scene_size(struct scene *scene);

bool scene_can(const struct scene *scene, uint32_t abilities);

/* Memory of the client that nobody uses and the CPU does not see: whoever changes it has reached too far (verify/bystanders.h). */
void scene_bystander(struct scene *scene, unsigned client);

/* Each returns the number in the names c0, x0, a0 …; beyond the last that can be made it is that one again. */
unsigned scene_client(struct scene *scene, bool is_apart);
unsigned scene_context(struct scene *scene, unsigned client);
/* Mapped and resident, and written by the CPU. */
unsigned scene_allocation(struct scene *scene, unsigned client, uint64_t size_bytes);
/* One that is there and of this client; false: there is none. */
bool scene_any_allocation(struct scene *scene, unsigned client, unsigned *allocation_out);
bool scene_any_context(struct scene *scene, unsigned client, unsigned *context_out);

/* The CPU writes. */
void scene_write(struct scene *scene, unsigned allocation);
/* The GPU, or without commands the CPU, writes; what is in it afterwards is known. */
void scene_fill(struct scene *scene, unsigned context, unsigned allocation);
void scene_copy(struct scene *scene, unsigned context, unsigned to, unsigned from);
/* Several of both in one packet, on memory of the context's client. */
void scene_packet(struct scene *scene, unsigned context);
/* Until what was submitted to the context has run. */
void scene_wait(struct scene *scene, unsigned context);
void scene_wait_all(struct scene *scene);
/* Compares, if it is known what is there. */
void scene_check(struct scene *scene, unsigned allocation);
void scene_check_all(struct scene *scene);

void scene_destroy_allocation(struct scene *scene, unsigned allocation);
void scene_destroy_client(struct scene *scene, unsigned client);
/* Its process ends; it must be one that is apart. */
void scene_kill(struct scene *scene, unsigned client);
/* A reset or the like: all clients have lost their devices, nothing is known of any content. */
void scene_lose_all(struct scene *scene);

/* A workload whose script a function of the scene writes. */
#define SCENE_WORKLOAD(symbol, id_text, name_text, needs_bits, what_text, plan_text, writer)       \
	static void generate_##symbol(FILE *script, struct random *random,                         \
				      const struct verify_facts *facts)                            \
	{                                                                                          \
		static struct scene scene;                                                         \
                                                                                                   \
		scene_begin(&scene, script, random, facts);                                        \
		writer(&scene);                                                                    \
		scene_line(&scene, "validate");                                                    \
	}                                                                                          \
	const struct workload workload_##symbol = {                                                \
		.id = id_text,                                                                     \
		.name = name_text,                                                                 \
		.what = what_text,                                                                 \
		.needs = needs_bits,                                                               \
		.weight = 1,                                                                       \
		.plan = plan_text,                                                                 \
		.generate = generate_##symbol,                                                     \
	};

#endif
