/* SPDX-License-Identifier: MIT */
/*
 * workloads_memory.c - where memory is: residency, budgets, offers, locks, addresses.
 */
#include "cli/verify/scene.h"
#include "cli/verify/workload.h"

/* What the CPU has locked is moved, evicted and put in order, and stays what it was. */
static void write_modify_vad(struct scene *scene)
{
	unsigned client = scene_client(scene, false);
	unsigned allocations[4];

	for (unsigned i = 0; i < 4; i++) {
		allocations[i] = scene_allocation(scene, client, scene_size(scene));
		scene_line(scene, "lock a%u", allocations[i]);
	}
	for (unsigned step = 0; step < 10; step++) {
		unsigned one = allocations[scene_number(scene, 0, 3)];

		switch (scene_number(scene, 0, 3)) {
		case 0:
			scene_line(scene, "evict-all");
			break;
		case 1:
			scene_line(scene, "defragment");
			break;
		case 2:
			scene_write(scene, one);
			break;
		default:
			scene_check(scene, one);
			break;
		}
	}
	for (unsigned i = 0; i < 4; i++)
		scene_line(scene, "unlock a%u", allocations[i]);
	scene_check_all(scene);
	if (scene_chance(scene, 30)) {
		scene_line(scene, "lock a%u", allocations[0]);
		scene_line(scene, "reset");
		scene_destroy_client(scene, client);
	}
}

/* MakeResident and Evict count; what was evicted comes back with what it held. */
static void write_make_resident(struct scene *scene)
{
	unsigned client = scene_client(scene, false);
	unsigned context = scene_context(scene, client);
	unsigned counts[6] = { 0 };
	unsigned allocations[6];

	for (unsigned i = 0; i < 6; i++)
		allocations[i] = scene_allocation(scene, client, scene_size(scene));
	for (unsigned step = 0; step < 24; step++) {
		unsigned i = (unsigned)scene_number(scene, 0, 5);

		if (scene_chance(scene, 45) && counts[i] < 4) {
			scene_line(scene, "resident a%u", allocations[i]);
			counts[i]++;
		} else if (counts[i] > 0) {
			scene_line(scene, "evict a%u%s", allocations[i],
				   scene_chance(scene, 30) ? " if-needed" : "");
			counts[i]--;
		} else {
			scene_fill(scene, context, allocations[i]);
		}
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* With less and less to be had the client gives up what it has; nothing is lost. */
static void write_budget_trim(struct scene *scene)
{
	unsigned client = scene_client(scene, false);
	unsigned context = scene_context(scene, client);
	unsigned count = (unsigned)scene_number(scene, 3, 8);
	unsigned allocations[8];

	for (unsigned i = 0; i < count; i++) {
		allocations[i] = scene_allocation(scene, client, scene_size(scene));
		scene_fill(scene, context, allocations[i]);
	}
	scene_wait_all(scene);
	scene_line(scene, "budget c%u 64K", client);
	for (unsigned i = 0; i < count; i++)
		scene_line(scene, "evict a%u", allocations[i]);
	for (unsigned i = 0; i < count; i++) {
		scene_line(scene, "try resident a%u", allocations[i]);
		if (scene_chance(scene, 50))
			scene_line(scene, "try evict a%u", allocations[i]);
	}
	scene_line(scene, "budget c%u 1G", client);
	scene_check_all(scene);
}

/* What is offered is dropped, decommitted or kept; the reclaim tells which. */
static void write_offer_reclaim(struct scene *scene)
{
	static const char *const priorities[] = { "", " low", " normal", " high", " auto" };
	unsigned client = scene_client(scene, false);
	unsigned context = scene_context(scene, client);

	for (unsigned step = 0; step < 16; step++) {
		unsigned one = scene_allocation(scene, client, scene_size(scene));

		scene_fill(scene, context, one);
		scene_wait(scene, context);
		bool is_evicted = scene_can(scene, ABLE_GPUMMU) && scene_chance(scene, 50);
		if (is_evicted)
			scene_line(scene, "evict a%u", one);
		scene_line(scene, "offer a%u%s%s", one, priorities[scene_number(scene, 0, 4)],
			   scene_chance(scene, 30) ? " decommit" : "");
		if (scene_chance(scene, 40))
			scene_line(scene, "evict-all");
		if (scene_chance(scene, 80)) {
			scene_line(scene, "reclaim a%u", one);
			if (is_evicted)
				scene_line(scene, "resident a%u", one);
			scene_fill(scene, context, one);
		} else {
			scene_destroy_allocation(scene, one);
		}
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* Addresses come and go while work uses others. */
static void write_virtual_mode(struct scene *scene)
{
	unsigned clients = (unsigned)scene_number(scene, 1, 3);
	unsigned contexts[3];

	for (unsigned i = 0; i < clients; i++) {
		unsigned client = scene_client(scene, true);

		contexts[i] = scene_context(scene, client);
		for (unsigned j = 0; j < 3; j++)
			(void)scene_allocation(scene, client, scene_size(scene));
	}
	for (unsigned step = 0; step < 24; step++) {
		unsigned context = contexts[scene_number(scene, 0, clients - 1)];
		unsigned one;

		if (!scene_any_allocation(scene, scene->contexts[context].client, &one))
			continue;
		scene_fill(scene, context, one);
		if (scene_chance(scene, 35)) {
			scene_wait(scene, context);
			scene_line(scene, "unmap a%u", one);
			scene_line(scene, "map a%u", one);
		}
		if (scene_chance(scene, 10))
			scene_line(scene, "evict-all");
	}
	scene_wait_all(scene);
	scene_check_all(scene);
}

/* ---- the table ---- */

SCENE_WORKLOAD(modify_vad, "W08", "modify-vad", ABLE_ALLOCATE,
	       "memory moves while the CPU has it locked", NULL, write_modify_vad)

SCENE_WORKLOAD(make_resident, "W10", "make-resident", ABLE_ALLOCATE | ABLE_GPUMMU,
	       "counts of MakeResident and Evict", NULL, write_make_resident)

SCENE_WORKLOAD(budget_trim, "W12", "budget-trim", ABLE_ALLOCATE | ABLE_GPUMMU,
	       "less to be had than is wanted", NULL, write_budget_trim)

SCENE_WORKLOAD(offer_reclaim, "W13", "offer-reclaim", ABLE_ALLOCATE,
	       "offers dropped, decommitted and kept", NULL, write_offer_reclaim)

SCENE_WORKLOAD(virtual_mode, "W17", "virtual-mode", ABLE_ALLOCATE | ABLE_GPUMMU | ABLE_COMMANDS,
	       "addresses come and go while work uses others", NULL, write_virtual_mode)
