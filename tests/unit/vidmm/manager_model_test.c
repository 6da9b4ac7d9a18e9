/* SPDX-License-Identifier: MIT */
/*
 * manager_model_test.c - everything at random, and every byte where it should be.
 *
 * The model is one letter for each allocation: what its owner wrote last, by the CPU or the GPU, or
 * nothing after a reclaim said that it was lost. After each step the books are recounted; now and
 * then everything is evicted, memory fails, or a job does.
 */
#include "base/random.h"
#include "gpu.h"

enum { THINGS = 24, CLIENTS = 3, STEPS = 3000 };

struct model {
	struct gpu gpu;
	struct vidmm_process second;
	struct client clients[CLIENTS];
	struct random random;
	struct thing things[THINGS];
	bool is_there[THINGS];
	char content[THINGS];
	uint32_t counts[THINGS];
	uint32_t locks[THINGS];
	bool is_offered[THINGS];
	bool is_unknown[THINGS];
	uint64_t discarded;
	uint64_t evicted;
	uint64_t shifts;
	bool is_physical;
};

static uint32_t pick(struct model *model, uint32_t below)
{
	return (uint32_t)random_below(&model->random, below);
}

static struct client *client_of_thing(struct thing *thing)
{
	return container_of(thing->binding.device, struct client, device);
}

static void run_everything(struct model *model)
{
	unsigned moved;

	do {
		moved = gpu_run(&model->gpu, 1000);
		for (int i = 0; i < CLIENTS; i++) {
			while (fake_owner_runs(&model->clients[i].owner)) {
				gpu_retire(&model->clients[i]);
				moved++;
			}
		}
	} while (moved > 0);
}

static void create(struct model *model, uint32_t i)
{
	static const uint32_t sets[] = { SET_LOCAL, SET_LOCAL | SET_APERTURE, SET_APERTURE,
					 SET_LOCAL };
	struct vidmm_wishes wishes =
		thing_wishes(&model->gpu, (1 + pick(model, 300)) * PAGE, sets[pick(model, 4)]);

	wishes.priority = VIDMM_PRIORITY_LOW + pick(model, 0x60000000);
	wishes.traits.is_accessed_physically = pick(model, 4) == 0;
	wishes.traits.is_kept_in_system = pick(model, 8) == 0;
	wishes.traits.wants_residency_news = pick(model, 8) == 0;
	wishes.traits.goes_to_the_end = pick(model, 4) == 0;
	thing_init_as(&model->things[i], &model->clients[pick(model, CLIENTS)], &wishes);
	model->is_there[i] = true;
	model->content[i] = 0;
	model->counts[i] = 0;
	model->locks[i] = 0;
	model->is_offered[i] = false;
	model->is_unknown[i] = false;
}

static void destroy(struct model *model, uint32_t i)
{
	/* Nothing that was queued may still use it, however long that takes. */
	run_everything(model);
	while (atomic_load(&client_of_thing(&model->things[i])->owner.pending) > 0)
		gpu_retire(client_of_thing(&model->things[i]));
	thing_finish(&model->things[i]);
	model->is_there[i] = false;
}

static void make_resident(struct model *model, uint32_t i)
{
	struct thing *thing = &model->things[i];
	uint32_t done = thing->done;
	NTSTATUS status;

	/* One request at a time for each. */
	if (thing->request.wants)
		return;
	status = pick(model, 4) == 0 ? thing_demand(thing) : thing_make_resident(thing);
	if (status == STATUS_NO_MEMORY) {
		EXPECT_EQ(thing->done, done);
		return;
	}
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	model->counts[i]++;
}

static void evict(struct model *model, uint32_t i)
{
	uint32_t flags = pick(model, 2) ? VIDMM_EVICT_ONLY_IF_NECESSARY : 0;
	NTSTATUS status = thing_evict(&model->things[i], flags);

	if (model->counts[i] == 0) {
		EXPECT_EQ(status, STATUS_INVALID_PARAMETER);
		return;
	}
	EXPECT_EQ(status, STATUS_SUCCESS);
	model->counts[i]--;
}

static void offer(struct model *model, uint32_t i)
{
	NTSTATUS status = vidmm_binding_offer(&model->things[i].binding,
					      (enum vidmm_offer_priority)(1 + pick(model, 4)),
					      pick(model, 4) == 0, pick(model, 8) == 0);

	if (model->locks[i] > 0) {
		EXPECT_EQ(status, STATUS_INVALID_PARAMETER);
		return;
	}
	EXPECT_EQ(status, STATUS_SUCCESS);
	model->is_offered[i] = true;
}

static void reclaim(struct model *model, uint32_t i)
{
	enum vidmm_reclaim_result result;

	if (model->things[i].request.wants)
		return;
	NTSTATUS status = thing_reclaim(&model->things[i], &result);
	/* With it the device would list more than there is. */
	if (status == STATUS_NO_MEMORY) {
		EXPECT_RULE("MM-BUDGET");
		EXPECT(model->is_offered[i] && model->counts[i] > 0);
		return;
	}
	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	if (result == VIDMM_RECLAIM_NOT_COMMITTED)
		return;
	if (result == VIDMM_RECLAIM_DISCARDED) {
		EXPECT(model->is_offered[i]);
		model->content[i] = 0;
		model->discarded++;
		/* What keeps a copy has that one again, however old it is. */
		model->is_unknown[i] = model->things[i].memory->traits.is_kept_in_system;
	}
	model->is_offered[i] = false;
}

static bool is_moving(struct thing *thing)
{
	struct vidmm_place *place = binding_place(&thing->binding);

	return place && (place->state == PLACE_ENTERING || place->state == PLACE_LEAVING ||
			 place->state == PLACE_SHIFTING);
}

static void lock(struct model *model, uint32_t i)
{
	void *pointer;

	if (is_moving(&model->things[i]))
		run_everything(model);
	if (is_moving(&model->things[i]))
		return;
	NTSTATUS status =
		vidmm_lock_anywhere(model->gpu.manager, model->things[i].memory, 0, &pointer);
	if (model->is_offered[i]) {
		EXPECT_EQ(status, STATUS_INVALID_PARAMETER);
		return;
	}
	if (status == STATUS_NO_MEMORY)
		return;
	EXPECT_EQ(status, STATUS_SUCCESS);
	EXPECT(model->is_unknown[i] ||
	       is_all(pointer, model->things[i].memory->size_bytes, model->content[i]));
	model->is_unknown[i] = false;
	model->content[i] = (char)('a' + pick(model, 26));
	memset(pointer, model->content[i], model->things[i].memory->size_bytes);
	model->locks[i]++;
}

static void unlock(struct model *model, uint32_t i)
{
	EXPECT_EQ(vidmm_unlock_anywhere(model->gpu.manager, model->things[i].memory),
		  model->locks[i] > 0);
	model->locks[i] -= model->locks[i] > 0;
}

/* What a shader could do: its device runs, everything it lists is there. */
static void render(struct model *model, uint32_t i)
{
	struct thing *thing = &model->things[i];

	if (model->counts[i] == 0 || model->is_offered[i] || !thing_is_in(thing) ||
	    is_moving(thing) || client_of_thing(thing)->owner.suspensions > 0)
		return;
	EXPECT(model->is_unknown[i] || thing_holds(thing, model->content[i]));
	model->is_unknown[i] = false;
	model->content[i] = (char)('A' + pick(model, 26));
	thing_render(thing, model->content[i]);
}

/* A round of it begins; another one before it is over is none of its business. */
static void put_in_order(struct model *model)
{
	struct vidmm_defragmentation how = { .is_upward = pick(model, 4) == 0,
					     .must_verify = pick(model, 4) == 0 };
	enum defragment_round round;
	struct defragment order;

	defragment_init(&order, model->gpu.manager, SEGMENT_LOCAL, &how);
	EXPECT_EQ(defragment_step(&order, &round), STATUS_SUCCESS);
	model->shifts += round == DEFRAGMENT_SHIFTS;
}

static void check_whole(struct model *model)
{
	/* Who runs has everything it lists that it did not offer, but for what is still coming
	   for the first time. */
	for (int i = 0; i < THINGS; i++) {
		struct thing *thing = &model->things[i];

		if (!model->is_there[i])
			continue;
		EXPECT_EQ(vidmm_binding_count(&thing->binding), model->counts[i]);
		if (model->counts[i] > 0 && !model->is_offered[i] && !thing->request.wants &&
		    client_of_thing(thing)->owner.suspensions == 0 &&
		    !client_of_thing(thing)->device.is_lost && thing->status == STATUS_SUCCESS)
			EXPECT(thing_is_in(thing));
	}
}

static void step(struct model *model)
{
	uint32_t i = pick(model, THINGS);
	uint32_t what = pick(model, 100);

	if (!model->is_there[i]) {
		create(model, i);
		return;
	}
	if (what < 4)
		destroy(model, i);
	else if (what < 25)
		make_resident(model, i);
	else if (what < 35)
		evict(model, i);
	else if (what < 42)
		offer(model, i);
	else if (what < 52)
		reclaim(model, i);
	else if (what < 60)
		lock(model, i);
	else if (what < 70)
		unlock(model, i);
	else if (what < 78)
		render(model, i);
	else if (what < 83)
		gpu_work(&model->clients[pick(model, CLIENTS)]);
	else if (what < 88)
		run_everything(model);
	else if (what < 90)
		gpu_slice_over(&model->clients[pick(model, CLIENTS)]);
	else if (what < 92)
		evict_segment(model->gpu.manager, pick(model, 3));
	else if (what < 93)
		(void)vidmm_process_decommit(&model->gpu.process, pick(model, 1 << 20),
					     VIDMM_DECOMMIT_LAZILY);
	else if (what < 94)
		gpu_tick(&model->gpu);
	else if (what < 96)
		put_in_order(model);
	else
		gpu_run(&model->gpu, 1 + pick(model, 3));
}

static void model_run(uint64_t seed, bool is_physical, unsigned fail_every)
{
	static struct model model;

	memset(&model, 0, sizeof(model));
	random_init(&model.random, seed);
	gpu_init(&model.gpu, &(struct gpu_config){ .local_bytes = 4 * MIB,
						   .aperture_bytes = 4 * MIB,
						   .is_physical = is_physical });
	vidmm_process_init(&model.second, model.gpu.manager, &model.gpu.world.adapter);
	for (int i = 0; i < CLIENTS; i++)
		client_init(&model.clients[i], i == 0 ? &model.second : &model.gpu.process);
	for (int i = 0; i < STEPS; i++) {
		if (fail_every > 0)
			mem_fail_nth(1 + random_below(&model.random, fail_every));
		if (fail_every > 0 && i % 2 == 0) {
			/* Only what the manager takes for itself, later, in its own time. */
			gpu_run(&model.gpu, 2);
			evict_segment(model.gpu.manager, 0);
			gpu_run(&model.gpu, 2);
		}
		if (fail_every > 0)
			(void)mem_fail_stop();
		step(&model);
		gpu_check(&model.gpu);
		if (fail_every == 0)
			check_whole(&model);
	}
	for (int i = 0; i < CLIENTS; i++)
		gpu_slice_over(&model.clients[i]);
	run_everything(&model);
	model.evicted = model.gpu.copied_out_bytes;
	for (uint32_t i = 0; i < THINGS; i++) {
		if (model.is_there[i])
			destroy(&model, i);
	}
	for (int i = 0; i < CLIENTS; i++)
		client_finish(&model.clients[i]);
	vidmm_process_finish(&model.second);
	gpu_finish(&model.gpu);
	EXPECT(model.discarded > 0);
	EXPECT(model.evicted > 0);
	EXPECT(model.shifts > 0);
}

TEST(model, behind_page_tables_no_byte_is_lost)
{
	for (uint64_t seed = 1; seed <= some_of(2, 5); seed++)
		model_run(seed, false, 0);
}

TEST(model, in_the_physical_model_no_byte_is_lost)
{
	for (uint64_t seed = 11; seed <= some_of(12, 15); seed++)
		model_run(seed, true, 0);
}

TEST(model, when_memory_fails_no_byte_is_lost)
{
	for (uint64_t seed = 21; seed <= some_of(21, 23); seed++)
		model_run(seed, false, 6);
}

TEST_MAIN("vidmm/manager_model")
