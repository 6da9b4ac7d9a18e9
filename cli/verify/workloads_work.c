/* SPDX-License-Identifier: MIT */
/*
 * workloads_work.c - work on the nodes: order, preemption, faults, hangs, turns.
 */
#include "cli/verify/scene.h"
#include "cli/verify/workload.h"

/* A context, and so many allocations that it works on. */
static unsigned worker(struct scene *scene, unsigned client, unsigned allocations)
{
	unsigned context = scene_context(scene, client);

	for (unsigned i = 0; i < allocations; i++)
		(void)scene_allocation(scene, client, scene_size(scene));
	return context;
}

static void work(struct scene *scene, unsigned client, unsigned context)
{
	unsigned to;
	unsigned from;

	if (!scene_any_allocation(scene, client, &to))
		return;
	if (scene_chance(scene, 25))
		scene_packet(scene, context);
	else if (scene_chance(scene, 40) && scene_any_allocation(scene, client, &from))
		scene_copy(scene, context, to, from);
	else
		scene_fill(scene, context, to);
}

/* Many clients with large working sets; what is listed is moved under their feet. */
static void write_scheduler(struct scene *scene)
{
	unsigned clients = (unsigned)scene_number(scene, 2, 4);
	unsigned contexts[4];

	for (unsigned i = 0; i < clients; i++)
		contexts[i] = worker(scene, scene_client(scene, true),
				     (unsigned)scene_number(scene, 2, 5));
	for (unsigned step = 0; step < 30; step++) {
		unsigned who = (unsigned)scene_number(scene, 0, clients - 1);

		work(scene, scene->contexts[contexts[who]].client, contexts[who]);
		if (scene_chance(scene, 15))
			scene_line(scene, "priority x%u %d", contexts[who],
				   (int)scene_number(scene, 0, 14) - 7);
		if (scene_chance(scene, 12))
			scene_line(scene, "evict-all");
		if (scene_chance(scene, 6))
			scene_line(scene, "defragment");
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* Packets of growing length, and more important ones that come in between. */
static void write_preemption(struct scene *scene)
{
	unsigned client = scene_client(scene, false);
	unsigned low = worker(scene, client, 2);
	unsigned high = worker(scene, client, 0);
	uint64_t microseconds = 10;

	scene_line(scene, "priority x%u -7", low);
	scene_line(scene, "priority x%u 7", high);
	/* Each works on memory of its own: the two have no order. */
	unsigned mine = scene_allocation(scene, client, scene_size(scene));
	for (unsigned step = 0; step < 8; step++, microseconds *= 4) {
		unsigned other = (unsigned)scene_number(scene, 0, 1);

		if (scene_can(scene, ABLE_BUSY)) {
			scene_line(scene, "submit x%u busy %lluus ; fill a%u 0x%x", low,
				   (unsigned long long)microseconds, other,
				   scene->allocations[other].value);
			scene->allocations[other].is_random = false;
		} else {
			scene_fill(scene, low, other);
		}
		scene_fill(scene, high, mine);
		if (scene_chance(scene, 50))
			scene_wait(scene, high);
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* One who keeps the engine busy does not keep the others out. */
static void write_fairness(struct scene *scene)
{
	unsigned greedy = scene_client(scene, true);
	unsigned modest = scene_client(scene, true);
	unsigned flood = worker(scene, greedy, 2);
	unsigned drop = worker(scene, modest, 1);

	for (unsigned step = 0; step < 24; step++) {
		if (scene_can(scene, ABLE_BUSY))
			scene_line(scene, "submit x%u busy %lluus", flood,
				   (unsigned long long)scene_number(scene, 100, 5000));
		else
			work(scene, greedy, flood);
		if (step % 6 == 5) {
			work(scene, modest, drop);
			scene_wait(scene, drop);
		}
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* Access to what is not there costs the client its device, and nobody else anything. */
static void write_page_fault(struct scene *scene)
{
	unsigned innocent = scene_client(scene, true);
	unsigned steady = worker(scene, innocent, 2);

	for (unsigned round = 0; round < 3; round++) {
		unsigned guilty = scene_client(scene, true);
		unsigned context = worker(scene, guilty, 1);
		unsigned own;

		work(scene, innocent, steady);
		if (!scene_any_allocation(scene, guilty, &own))
			return;
		unsigned long long nowhere = scene_number(scene, 1, 15) << 28;
		switch (scene_number(scene, 0, scene_can(scene, ABLE_READ_ONLY) ? 4 : 2)) {
		case 0:
			scene_line(scene, "submit x%u fill 0x%llx 0x55 size 4K", context, nowhere);
			break;
		case 1:
			scene_line(scene, "unmap a%u", own);
			scene_line(scene, "submit x%u fill a%u 0x55 size 4K", context, own);
			break;
		case 3:
		case 4:
			/* At another address, where it may only be read. */
			scene_line(scene, "map a%u read-only", own);
			scene_line(scene, "submit x%u fill a%u 0x55 size 4K", context, own);
			break;
		default:
			scene_line(scene, "submit x%u copy 0x%llx to a%u size 4K", context, nowhere,
				   own);
			break;
		}
		scene_line(scene, "try wait x%u", context);
		scene_line(scene, "state c%u page-fault", guilty);
		scene_destroy_client(scene, guilty);
		work(scene, innocent, steady);
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* A hang is ended by a reset of its engine, forced ones come at any time; others go on or begin anew. */
static void write_tdr(struct scene *scene)
{
	for (unsigned round = 0; round < 3; round++) {
		unsigned victim = scene_client(scene, true);
		unsigned stuck = worker(scene, victim, 1);
		unsigned other = scene_client(scene, true);
		unsigned goes_on = worker(scene, other, 2);
		bool is_forced = scene_chance(scene, 40);

		work(scene, other, goes_on);
		if (is_forced) {
			scene_line(scene, "reset");
			scene_lose_all(scene);
			continue;
		}
		scene_line(scene, "submit x%u hang", stuck);
		scene_line(scene, "try wait x%u", stuck);
		scene_destroy_client(scene, victim);
		/* Whether an engine or the adapter was reset is the driver's ability. */
		scene_line(scene, "try wait x%u", goes_on);
		scene_destroy_client(scene, other);
		if (scene_chance(scene, 30))
			scene_line(scene, "collect");
	}
	/* Everything works as after the start. */
	unsigned client = scene_client(scene, false);
	unsigned context = worker(scene, client, 2);
	for (unsigned step = 0; step < 4; step++)
		work(scene, client, context);
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* ---- the table ---- */

SCENE_WORKLOAD(sched_no_prepatch, "W03", "sched-no-prepatch", ABLE_ALLOCATE | ABLE_COMMANDS,
	       "large working sets that move, without prepatching", "no-prepatch", write_scheduler)

SCENE_WORKLOAD(sched_always_repatch, "W04", "sched-always-repatch", ABLE_ALLOCATE | ABLE_COMMANDS,
	       "the same, with buffers patched twice", "repatch-always", write_scheduler)

SCENE_WORKLOAD(preemption, "W14", "preemption", ABLE_ALLOCATE | ABLE_COMMANDS,
	       "longer and longer packets, and more important ones in between", NULL,
	       write_preemption)

SCENE_WORKLOAD(queue_fairness, "W16", "queue-fairness", ABLE_ALLOCATE | ABLE_COMMANDS,
	       "one who floods an engine, one who asks for a little", NULL, write_fairness)

SCENE_WORKLOAD(page_fault, "W11", "page-fault", ABLE_ALLOCATE | ABLE_GPUMMU | ABLE_COMMANDS,
	       "access to what is not there", NULL, write_page_fault)

SCENE_WORKLOAD(tdr, "W15", "tdr", ABLE_ALLOCATE | ABLE_COMMANDS | ABLE_HANG,
	       "hangs and forced resets", NULL, write_tdr)
