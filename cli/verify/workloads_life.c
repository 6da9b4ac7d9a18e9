/* SPDX-License-Identifier: MIT */
/*
 * workloads_life.c - beginnings and ends: clients, adapters, power; nonsense as input; everything at once.
 */
#include "cli/verify/scene.h"
#include "cli/verify/workload.h"

static void work_a_little(struct scene *scene, unsigned client)
{
	unsigned context;
	unsigned one;

	if (scene_any_context(scene, client, &context) && scene_any_allocation(scene, client, &one))
		scene_fill(scene, context, one);
}

static unsigned client_with_work(struct scene *scene, bool is_apart)
{
	unsigned client = scene_client(scene, is_apart);

	(void)scene_context(scene, client);
	for (uint64_t i = scene_number(scene, 1, 3); i > 0; i--)
		(void)scene_allocation(scene, client, scene_size(scene));
	work_a_little(scene, client);
	return client;
}

/* Processes that end in the middle of their work. */
static void write_process_callout(struct scene *scene)
{
	unsigned clients[6];
	unsigned count = (unsigned)scene_number(scene, 2, 6);

	for (unsigned i = 0; i < count; i++)
		clients[i] = client_with_work(scene, true);
	for (unsigned step = 0; step < 16; step++) {
		unsigned i = (unsigned)scene_number(scene, 0, count - 1);

		work_a_little(scene, clients[i]);
		if (scene_chance(scene, 25)) {
			if (scene_chance(scene, 60))
				scene_kill(scene, clients[i]);
			else
				scene_destroy_client(scene, clients[i]);
			clients[i] = client_with_work(scene, true);
		}
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* One branch of many that run at once, on what is its own. */
static void branch(struct scene *scene, unsigned client, unsigned context)
{
	for (uint64_t step = scene_number(scene, 3, 7); step > 0; step--) {
		unsigned one = scene_allocation(scene, client, scene_size(scene));

		scene_fill(scene, context, one);
		if (scene_chance(scene, 50))
			scene_wait(scene, context);
		if (scene_chance(scene, 30) && scene_can(scene, ABLE_ESCAPE))
			scene_line(scene, "escape c%u", client);
		if (scene_chance(scene, 50)) {
			scene_wait(scene, context);
			scene_check(scene, one);
			scene_destroy_allocation(scene, one);
		}
	}
}

/* Kernel and driver are called from many processes and threads at once. */
static void write_deadlock(struct scene *scene)
{
	unsigned count = (unsigned)scene_number(scene, 2, 4);
	unsigned clients[4];
	unsigned contexts[4];

	for (unsigned i = 0; i < count; i++) {
		clients[i] = scene_client(scene, true);
		contexts[i] = scene_context(scene, clients[i]);
	}
	scene_line(scene, "parallel");
	for (unsigned i = 0; i < count; i++) {
		if (i > 0)
			scene_line(scene, "and");
		branch(scene, clients[i], contexts[i]);
	}
	if (scene_chance(scene, 50)) {
		scene_line(scene, "and");
		for (unsigned i = 0; i < 3; i++)
			scene_line(scene, "%s",
				   scene_chance(scene, 50) ? "evict-all" : "defragment");
	}
	scene_line(scene, "end");
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* What fails in the middle leaves nothing behind, and works at the next try. */
static void write_pass_through(struct scene *scene)
{
	for (unsigned round = 0; round < 4; round++) {
		unsigned client = client_with_work(scene, scene_chance(scene, 50));

		for (unsigned step = 0; step < 4; step++) {
			unsigned one = scene_allocation(scene, client, scene_size(scene));

			if (scene_chance(scene, 40)) {
				scene_destroy_allocation(scene, one);
				/* Once is enough. */
				scene_line(scene, "try destroy a%u", one);
			}
		}
		if (scene_can(scene, ABLE_HW_QUEUES))
			scene_line(scene, "try hwqueue h%u c%u node 0", round, client);
		scene_line(scene, "try standard s%u c%u 64K", round, client);
		work_a_little(scene, client);
		scene_destroy_client(scene, client);
	}
}

/* The adapter stops and starts again, in half of the runs before all this; it goes, at the end, under load. */
static void write_pnp_stop(struct scene *scene)
{
	for (uint64_t round = scene_number(scene, 1, 4); round > 0; round--) {
		if (scene_can(scene, ABLE_ALLOCATE)) {
			unsigned client = client_with_work(scene, true);

			work_a_little(scene, client);
		}
		scene_lose_all(scene);
	}
	if (scene_can(scene, ABLE_ALLOCATE)) {
		unsigned client = client_with_work(scene, false);

		work_a_little(scene, client);
		scene_wait_all(scene);
		scene_check_all(scene);
	}
	if (scene_chance(scene, 25))
		scene_line(scene, "remove%s", scene_chance(scene, 50) ? " surprise" : "");
}

/* What every driver can: one of each. */
static void write_ddi_exposed(struct scene *scene)
{
	for (unsigned i = 0; i < 3; i++) {
		unsigned client = scene_client(scene, scene_chance(scene, 50));

		for (uint64_t node = 0; node < scene->facts->node_count; node++) {
			if (scene_chance(scene, 60))
				scene_line(scene, "try context y%u-%llu c%u node %llu%s", i,
					   (unsigned long long)node, client,
					   (unsigned long long)node,
					   scene_can(scene, ABLE_GPUMMU) ? "" : " list");
		}
		scene_line(scene, "try standard s%u c%u %lluK", i, client,
			   (unsigned long long)scene_number(scene, 4, 256));
		scene_line(scene, "fence f%u c%u %llu", i, client,
			   (unsigned long long)scene_number(scene, 0, 9));
		scene_line(scene, "fuzz query %llu",
			   (unsigned long long)scene_number(scene, 0, 999));
		if (scene_chance(scene, 50))
			scene_line(scene, "collect");
		scene_destroy_client(scene, client);
	}
	if (scene_chance(scene, 50))
		scene_line(scene, "reset-device");
}

/* Sleep and waking, with what was in memory before. */
static void write_power(struct scene *scene)
{
	bool has_memory = scene_can(scene, ABLE_ALLOCATE);
	unsigned client = has_memory ? client_with_work(scene, false) : scene_client(scene, false);

	for (uint64_t round = scene_number(scene, 1, 3); round > 0; round--) {
		if (has_memory) {
			work_a_little(scene, client);
			scene_wait_all(scene);
		}
		scene_line(scene, "power d3");
		scene_line(scene, "sleep %llums", (unsigned long long)scene_number(scene, 1, 3000));
		scene_line(scene, "power d0");
		if (has_memory)
			scene_check_all(scene);
	}
}

static void write_fuzz_commands(struct scene *scene)
{
	unsigned innocent = client_with_work(scene, true);

	for (unsigned round = 0; round < 6; round++) {
		unsigned guilty = scene_client(scene, true);
		unsigned context = scene_context(scene, guilty);

		(void)scene_allocation(scene, guilty, scene_size(scene));
		scene_bystander(scene, innocent);
		for (uint64_t i = scene_number(scene, 1, 4); i > 0; i--) {
			scene_line(scene, "fuzz submit x%u %llu", context,
				   (unsigned long long)scene_number(scene, 0, UINT32_MAX));
			/* What it does when it is alone can be told from what others do. */
			if (scene_chance(scene, 60))
				scene_line(scene, "try wait x%u", context);
		}
		work_a_little(scene, innocent);
		scene_line(scene, "try wait x%u", context);
		scene_destroy_client(scene, guilty);
	}
	/* Nobody else's memory was reached. */
	scene_wait_all(scene);
	scene_check_all(scene);
}

static void write_fuzz_allocations(struct scene *scene)
{
	static const char *const what[] = { "allocation", "context", "escape" };

	for (unsigned round = 0; round < 4; round++) {
		unsigned client = scene_client(scene, scene_chance(scene, 50));

		for (unsigned i = 0; i < 8; i++) {
			uint64_t number = scene_number(scene, 0, UINT32_MAX);

			if (scene_chance(scene, 15))
				scene_line(scene, "fuzz query %llu", (unsigned long long)number);
			else
				scene_line(scene, "fuzz %s c%u %llu",
					   what[scene_number(scene, 0, 2)], client,
					   (unsigned long long)number);
		}
		if (scene_can(scene, ABLE_ALLOCATE) && scene_chance(scene, 50))
			(void)scene_allocation(scene, client, scene_size(scene));
		scene_destroy_client(scene, client);
	}
}

/* ---- everything at once ---- */

static void share_something(struct scene *scene, unsigned number)
{
	unsigned owner = scene_client(scene, scene_chance(scene, 50));
	unsigned other = scene_client(scene, scene_chance(scene, 50));

	scene_line(scene, "allocate m%u c%u %llu shared", number, owner,
		   (unsigned long long)scene_size(scene));
	scene_line(scene, "try open o%u c%u m%u", number, other, number);
	/* The memory outlives the device it was made by. */
	scene_destroy_client(scene, scene_chance(scene, 50) ? owner : other);
}

static void queue_something(struct scene *scene, unsigned number)
{
	unsigned client = scene_client(scene, scene_chance(scene, 50));
	unsigned one = scene_allocation(scene, client, scene_size(scene));
	uint32_t value = (uint32_t)scene_number(scene, 1, UINT32_MAX);

	scene_line(scene, "hwqueue q%u c%u node 0", number, client);
	scene_line(scene, "submit q%u fill a%u 0x%x", number, one, value);
	scene_line(scene, "wait q%u", number);
	scene->allocations[one].value = value;
	scene->allocations[one].is_random = false;
	scene_check(scene, one);
}

static void write_churn(struct scene *scene)
{
	unsigned clients[3];

	for (unsigned i = 0; i < 3; i++)
		clients[i] = client_with_work(scene, scene_chance(scene, 60));
	for (unsigned step = 0; step < 30; step++) {
		unsigned client = clients[scene_number(scene, 0, 2)];
		unsigned one;

		switch (scene_number(scene, 0, 9)) {
		case 0:
			(void)scene_allocation(scene, client, scene_size(scene));
			break;
		case 1:
			if (scene_any_allocation(scene, client, &one)) {
				scene_wait_all(scene);
				scene_check(scene, one);
				scene_destroy_allocation(scene, one);
			}
			break;
		case 2:
			scene_line(scene, "%s",
				   scene_chance(scene, 70) ? "evict-all" : "defragment");
			break;
		case 3:
			share_something(scene, step);
			break;
		case 4:
			if (scene_can(scene, ABLE_HW_QUEUES | ABLE_COMMANDS))
				queue_something(scene, step);
			break;
		case 5:
			if (scene_can(scene, ABLE_ESCAPE))
				scene_line(scene, "escape c%u", client);
			break;
		default:
			work_a_little(scene, client);
			break;
		}
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* ---- nothing at all ---- */

static void generate_start(FILE *script, struct random *random, const struct verify_facts *facts)
{
	(void)random;
	(void)facts;
	fputs("# The driver starts, is asked what it can do, and stops.\n", script);
}

const struct workload workload_start = {
	.id = "W00",
	.name = "start",
	.what = "start and stop, nothing else",
	.generate = generate_start,
};

/* ---- the table ---- */

SCENE_WORKLOAD(process_callout, "W01", "process-callout", ABLE_ALLOCATE,
	       "processes that end in the middle of their work", NULL, write_process_callout)

SCENE_WORKLOAD(deadlock, "W02", "deadlock", ABLE_ALLOCATE,
	       "many processes and threads call at once", NULL, write_deadlock)

SCENE_WORKLOAD(pass_through, "W07", "pass-through", ABLE_ALLOCATE,
	       "creations that fail half-way and are tried again", "memory-random 3",
	       write_pass_through)

SCENE_WORKLOAD(pnp_stop, "W09", "pnp-stop", 0, "stop and start, removal under load", "restart",
	       write_pnp_stop)

SCENE_WORKLOAD(ddi_exposed, "W18", "ddi-exposed", 0,
	       "one of each object, queries, debug information", NULL, write_ddi_exposed)

SCENE_WORKLOAD(stress_power, "W19", "stress-power", 0, "D3 and D0", NULL, write_power)

SCENE_WORKLOAD(fuzz_command_buffer, "W05", "fuzz-command-buffer", ABLE_ALLOCATE | ABLE_COMMANDS,
	       "command buffers changed at random", NULL, write_fuzz_commands)

SCENE_WORKLOAD(fuzz_allocation, "W06", "fuzz-allocation", 0, "private data changed at random", NULL,
	       write_fuzz_allocations)

SCENE_WORKLOAD(churn, "W20", "churn", ABLE_ALLOCATE, "everything, in any order", NULL, write_churn)
