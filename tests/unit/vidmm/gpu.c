/* SPDX-License-Identifier: MIT */
/*
 * gpu.c - see gpu.h.
 */
#include <assert.h>

#include "base/machine_alias.h"
#include "gpu.h"

struct gpu *the_gpu;

/* ---- clients ---- */

void client_init(struct client *client, struct vidmm_process *process)
{
	memset(client, 0, sizeof(*client));
	fake_owner_init(&client->owner, &the_gpu->sched);
	vidmm_device_init(&client->device, process, &client->owner, client);
	vidmm_device_begin(&client->device);
}

void client_finish(struct client *client)
{
	while (atomic_load(&client->owner.pending) > 0)
		gpu_retire(client);
	vidmm_device_finish(&client->device);
	EXPECT_EQ(client->owner.suspensions, 0);
}

void gpu_work(struct client *client)
{
	fake_owner_queue(&client->owner);
	fake_owner_submit(&client->owner);
}

void gpu_retire(struct client *client)
{
	fake_owner_retire(&client->owner);
}

void gpu_slice_over(struct client *client)
{
	lock_acquire(&the_gpu->manager->lock);
	client->device.slice_end_ns = 0;
	lock_release(&the_gpu->manager->lock);
	gpu_trim(NULL, 0);
}

void gpu_trim(struct vidmm_process *process, uint32_t flags)
{
	struct vidmm *manager = the_gpu->manager;

	lock_acquire(&manager->lock);
	list_each (struct vidmm_process, each, &manager->processes, link) {
		if (!process || each == process)
			trim_now_locked(each, flags);
	}
	decide_unlock(manager);
}

bool gpu_tick(struct gpu *gpu)
{
	return vidmm_tick(gpu->manager);
}

/* ---- what the manager asks for ---- */

static void on_trim(void *listener, struct vidmm_process *process, uint32_t flags, uint64_t bytes)
{
	struct gpu *gpu = listener;

	lock_assert_none_held("a trim callback");
	lock_acquire(&gpu->sched.lock);
	gpu->trims++;
	gpu->trim_flags = flags;
	gpu->trim_bytes = bytes;
	gpu->trimmed = process;
	lock_release(&gpu->sched.lock);
}

static void on_budget(void *listener, struct vidmm_process *process, enum vidmm_group group,
		      uint64_t budget_bytes)
{
	struct gpu *gpu = listener;

	lock_assert_none_held("a budget callback");
	(void)process, (void)group, (void)budget_bytes;
	lock_acquire(&gpu->sched.lock);
	gpu->budget_changes++;
	lock_release(&gpu->sched.lock);
}

static void on_starved(void *listener, struct vidmm_device *device)
{
	struct gpu *gpu = listener;

	lock_assert_none_held("a starving device");
	(void)device;
	lock_acquire(&gpu->sched.lock);
	gpu->starved++;
	lock_release(&gpu->sched.lock);
}

/* ---- the CPU host aperture ---- */

static NTSTATUS open_window(void *context, bool is_call, void *driver_allocation, uint32_t segment,
			    uint64_t count, const uint32_t aperture_pages[],
			    const uint64_t segment_pages[])
{
	struct gpu *gpu = context;
	uint64_t granule = gpu->uses_64k_pages ? 16 : 1;

	(void)is_call;
	EXPECT_EQ(segment, SEGMENT_LOCAL);
	if (gpu->in_window)
		gpu->in_window(gpu);
	if (gpu->refuse_windows > 0 && --gpu->refuse_windows == 0)
		return STATUS_NO_MEMORY;
	gpu->windows_opened++;
	gpu->window_allocation = driver_allocation;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t first = aperture_pages[i] * granule;

		EXPECT(!gpu->is_shown[aperture_pages[i]]);
		gpu->is_shown[aperture_pages[i]] = true;
		for (uint64_t k = 0; k < granule && !gpu->window_is_foreign; k++)
			EXPECT(machine_alias(gpu->window_address + (first + k) * PAGE,
					     gpu->local_address +
						     (segment_pages[i] * granule + k) * PAGE));
	}
	gpu->open_pages += (uint32_t)count;
	return STATUS_SUCCESS;
}

static void close_window(void *context, uint32_t segment, uint64_t count,
			 const uint32_t aperture_pages[])
{
	struct gpu *gpu = context;
	uint64_t granule = gpu->uses_64k_pages ? 16 : 1;

	EXPECT_EQ(segment, SEGMENT_LOCAL);
	gpu->windows_closed++;
	for (uint64_t i = 0; i < count; i++) {
		EXPECT(gpu->is_shown[aperture_pages[i]]);
		gpu->is_shown[aperture_pages[i]] = false;
		for (uint64_t k = 0; k < granule; k++)
			EXPECT(machine_alias(gpu->window_address +
						     (aperture_pages[i] * granule + k) * PAGE,
					     MACHINE_NOWHERE));
	}
	gpu->open_pages -= (uint32_t)count;
}

static const struct vidmm_window_ops window_ops = { open_window, close_window };

static void start_windows(struct gpu *gpu, const struct gpu_config *config)
{
	uint64_t granule = config->uses_64k_pages ? 16 : 1;

	gpu->uses_64k_pages = config->uses_64k_pages;
	gpu->window_is_foreign = config->window_is_foreign;
	if (config->window_pages == 0)
		return;
	EXPECT(config->window_pages <= GPU_WINDOW_PAGES);
	EXPECT_EQ(machine_alloc_contiguous(config->window_pages * granule * PAGE, 0, 0, UINT64_MAX,
					   0, &gpu->window_address),
		  STATUS_SUCCESS);
}

/* ---- all of it ---- */

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
	return value > 0 ? value : otherwise;
}

void gpu_init(struct gpu *gpu, const struct gpu_config *config)
{
	uint64_t aperture_bytes = or_default(config->aperture_bytes, 16 * MIB);

	memset(gpu, 0, sizeof(*gpu));
	the_gpu = gpu;
	world_init(&gpu->world, (unsigned)or_default(config->machine_mib, 64));
	fake_sched_init(&gpu->sched);
	list_init(&gpu->things);
	list_init(&gpu->ready);
	list_init(&gpu->built);
	uint64_t local_bytes = or_default(config->local_bytes, 8 * MIB);
	EXPECT_EQ(machine_alloc_contiguous(local_bytes, 0, 0, UINT64_MAX, 0, &gpu->local_address),
		  STATUS_SUCCESS);
	gpu->local = machine_to_pointer(gpu->local_address);
	gpu->memory =
		(struct fake_memory){ .local = (uint8_t *)gpu->local, .local_bytes = local_bytes };
	if (config->reachable_bytes > 0)
		gpu->world.adapter.highest_address =
			gpu->local_address + local_bytes + config->reachable_bytes - 1;
	start_windows(gpu, config);

	uint64_t system_bytes = aperture_bytes + (config->is_physical ? 0 : 32 * MIB);
	if (config->commit_limit_bytes != 0 && system_bytes > config->commit_limit_bytes)
		system_bytes = config->commit_limit_bytes;
	struct vidmm_segment_config segments[3] = {
		{ .is_budgeted = true,
		  .size_bytes = local_bytes,
		  .commit_limit_bytes = local_bytes,
		  .cpu_address = config->is_elsewhere ? MACHINE_FOREIGN / 2 : gpu->local_address,
		  .is_cpu_visible = !config->is_hidden,
		  .is_cache_coherent = config->is_coherent,
		  .window_address = gpu->window_address,
		  .window_pages = config->window_pages,
		  .window_is_cached = config->window_is_cached,
		  .uses_64k_pages = config->uses_64k_pages,
		  .bank_count = config->bank_count,
		  .bank_ends = config->bank_ends },
		{ .size_bytes = aperture_bytes,
		  .commit_limit_bytes = aperture_bytes,
		  .group = VIDMM_NON_LOCAL,
		  .is_budgeted = true,
		  .is_aperture = true },
		{ .size_bytes = 32 * MIB,
		  .commit_limit_bytes = 32 * MIB,
		  .group = VIDMM_NON_LOCAL,
		  .is_budgeted = true,
		  .is_implicit_system = true },
	};
	struct vidmm_config manager = {
		.segment_count = config->is_physical ? 2 : 3,
		.segments = segments,
		.has_gpu_mmu = !config->is_physical,
		.is_residency_by_lists = config->is_by_lists,
		.group_bytes = { local_bytes, system_bytes },
		.aperture_commit_limit_bytes = config->commit_limit_bytes,
		.dummy_page_address = 0xD000,
		.slice_ns = or_default(config->slice_ns, 3600 * NS_PER_S),
		.is_ticked_by_hand = !config->has_clock,
		.policy = config->policy ? config->policy : &evict_lru,
		.mdls = { gpu_mdl_create, gpu_mdl_destroy },
		.windows = &window_ops,
		.windows_context = gpu,
		.mappings = config->mappings,
		.mappings_context = gpu,
		.listener = { on_trim, on_budget, on_starved },
		.listener_context = gpu,
	};
	EXPECT_EQ(vidmm_create(&manager, &gpu->manager), STATUS_SUCCESS);
	vidmm_process_init(&gpu->process, gpu->manager, &gpu->world.adapter);
	vidmm_process_listen(&gpu->process, 1, 1);
}

void gpu_check(struct gpu *gpu)
{
	char wrong[160];

	if (!vidmm_manager_validate(gpu->manager, false, wrong, sizeof(wrong)) ||
	    !vidmm_validate(NULL, gpu->world.allocations, gpu->world.count, wrong, sizeof(wrong))) {
		print_error("%s\n", wrong);
		fail();
	}
}

void gpu_finish(struct gpu *gpu)
{
	gpu_check(gpu);
	EXPECT_EQ(gpu_ready(gpu), 0);
	EXPECT(list_is_empty(&gpu->built));
	vidmm_process_finish(&gpu->process);
	vidmm_destroy(gpu->manager);
	EXPECT_EQ(gpu->open_pages, 0);
	if (gpu->window_address != MACHINE_NOWHERE)
		EXPECT(machine_free_contiguous(gpu->window_address));
	EXPECT(machine_free_contiguous(gpu->local_address));
	EXPECT_EQ(gpu->memory.live_mdls, 0);
	fake_sched_finish(&gpu->sched);
	world_finish(&gpu->world);
	the_gpu = NULL;
}

struct vidmm_wishes thing_wishes(struct gpu *gpu, uint64_t size_bytes, uint32_t segments)
{
	static uint64_t last_id;

	return (struct vidmm_wishes){
		.id = ++last_id,
		.size_bytes = size_bytes,
		.alignment_bytes = PAGE,
		.supported_segments = segments,
		.priority = VIDMM_PRIORITY_NORMAL,
		.traits = { .is_cpu_visible = true },
		.account = &gpu->world.process,
	};
}

static void on_done(struct vidmm_request *request, NTSTATUS status)
{
	struct thing *thing = container_of(request, struct thing, request);

	lock_assert_none_held("a request's end");
	thing->done++;
	thing->status = status;
}

static void thing_bind(struct thing *thing, struct client *client)
{
	list_push_back(&the_gpu->things, &thing->link);
	thing->request.done = on_done;
	vidmm_binding_init(&thing->binding, &client->device, thing->memory, thing->memory);
}

void thing_init_as(struct thing *thing, struct client *client, const struct vidmm_wishes *wishes)
{
	struct world *world = &the_gpu->world;

	memset(thing, 0, sizeof(*thing));
	thing->memory = malloc(sizeof(*thing->memory));
	EXPECT(thing->memory && world->count < WORLD_MAX);
	vidmm_allocation_init(thing->memory, wishes);
	world->allocations[world->count++] = thing->memory;
	thing_bind(thing, client);
}

void thing_init(struct thing *thing, struct client *client, uint64_t size_bytes, uint32_t segments)
{
	struct vidmm_wishes wishes = thing_wishes(the_gpu, size_bytes, segments);

	thing_init_as(thing, client, &wishes);
}

void thing_add(struct thing *thing, struct client *client, uint64_t size_bytes, uint32_t segments)
{
	thing_init(thing, client, size_bytes, segments);
	thing_bring_in(thing);
}

void thing_open(struct thing *thing, struct client *client, struct thing *other)
{
	memset(thing, 0, sizeof(*thing));
	thing->memory = other->memory;
	thing->is_opened = true;
	thing_bind(thing, client);
}

void thing_close(struct thing *thing)
{
	list_remove(&thing->link);
	vidmm_binding_finish(&thing->binding);
}

void gpu_end_things(struct gpu *gpu)
{
	while (!list_is_empty(&gpu->things)) {
		struct thing *thing = container_of(gpu->things.prev, struct thing, link);

		if (thing->is_opened)
			thing_close(thing);
		else
			thing_finish(thing);
	}
}

static void on_departed(struct vidmm_departure *departure)
{
	departure->done = NULL;
}

void thing_finish(struct thing *thing)
{
	struct vidmm_departure departure = { .done = on_departed };

	gpu_run(the_gpu, 1000);
	vidmm_binding_finish(&thing->binding);
	if (thing->memory->life == VIDMM_LIVE)
		vidmm_allocation_retire(thing->memory);
	if (!vidmm_allocation_depart(thing->memory, &departure)) {
		gpu_run(the_gpu, 1000);
		EXPECT(!departure.done);
	}
	thing_end(thing);
}

void thing_end(struct thing *thing)
{
	struct world *world = &the_gpu->world;
	size_t i = 0;

	list_remove(&thing->link);
	while (world->allocations[i] != thing->memory)
		i++;
	world->allocations[i] = world->allocations[--world->count];
	vidmm_allocation_finish(thing->memory);
	free(thing->memory);
	gpu_check(the_gpu);
}

NTSTATUS thing_make_resident(struct thing *thing)
{
	struct vidmm_binding *list[] = { &thing->binding };
	uint64_t bytes;

	return vidmm_make_resident(thing->binding.device, list, 1, 0, &thing->request, &bytes);
}

NTSTATUS thing_demand(struct thing *thing)
{
	struct vidmm_binding *list[] = { &thing->binding };
	uint64_t bytes;

	return vidmm_make_resident(thing->binding.device, list, 1, VIDMM_CANT_TRIM_FURTHER,
				   &thing->request, &bytes);
}

NTSTATUS thing_evict(struct thing *thing, uint32_t flags)
{
	struct vidmm_binding *list[] = { &thing->binding };
	uint64_t bytes;

	return vidmm_evict(thing->binding.device, list, 1, flags, &bytes);
}

NTSTATUS thing_reclaim(struct thing *thing, enum vidmm_reclaim_result *result_out)
{
	struct vidmm_binding *list[] = { &thing->binding };

	return vidmm_reclaim_bindings(thing->binding.device, list, 1, result_out, &thing->request);
}

void thing_bring_in(struct thing *thing)
{
	NTSTATUS status = thing_make_resident(thing);

	EXPECT(status == STATUS_SUCCESS || status == STATUS_PENDING);
	gpu_run(the_gpu, 1000);
	EXPECT(thing_is_in(thing));
	gpu_check(the_gpu);
}

void thing_write(struct thing *thing, char value)
{
	void *pointer;

	EXPECT_EQ(vidmm_lock_anywhere(the_gpu->manager, thing->memory, 0, &pointer),
		  STATUS_SUCCESS);
	memset(pointer, value, thing->memory->size_bytes);
	EXPECT(vidmm_unlock_anywhere(the_gpu->manager, thing->memory));
}

char *thing_byte(struct thing *thing, uint64_t offset_bytes)
{
	struct vidmm_place *place = binding_place(&thing->binding);
	const struct page_run *runs = page_set_runs(&place->pages);
	uint64_t at = offset_bytes;

	EXPECT(place->state == PLACE_IN);
	if (place->wish.form == FORM_MAPPED)
		return (char *)fake_pointer(&the_gpu->memory, SEGMENT_APERTURE,
					    runs[0].first_page * PAGE + at);
	if (place->wish.form == FORM_SYSTEM) {
		const struct backing_run *system = backing_runs(&thing->memory->backing);

		while (at >= system->count * PAGE)
			at -= system++->count * PAGE;
		return (char *)machine_to_pointer(system->first_pfn * PAGE) + at;
	}
	while (at >= runs->count * PAGE)
		at -= runs++->count * PAGE;
	return the_gpu->local + runs->first_page * PAGE + at;
}

void thing_render(struct thing *thing, char value)
{
	for (uint64_t at = 0; at < thing->memory->size_bytes; at += PAGE)
		memset(thing_byte(thing, at), value, PAGE);
}

bool thing_holds(struct thing *thing, char value)
{
	if (thing_is_in(thing)) {
		for (uint64_t at = 0; at < thing->memory->size_bytes; at += PAGE) {
			if (!is_all(thing_byte(thing, at), PAGE, value))
				return false;
		}
		return true;
	}
	void *pointer;
	EXPECT_EQ(vidmm_lock_anywhere(the_gpu->manager, thing->memory, 0, &pointer),
		  STATUS_SUCCESS);
	bool holds = is_all(pointer, thing->memory->size_bytes, value);
	EXPECT(vidmm_unlock_anywhere(the_gpu->manager, thing->memory));
	return holds;
}

bool thing_is_in(struct thing *thing)
{
	return vidmm_where(thing->binding.device->process->manager, thing->memory) !=
	       VIDMM_NOT_RESIDENT;
}

uint32_t thing_segment(struct thing *thing)
{
	struct vidmm_place *place = binding_place(&thing->binding);

	return place && place->segment ? place->segment->id : 0;
}
