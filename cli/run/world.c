/* SPDX-License-Identifier: MIT */
/*
 * world.c - what a script makes and destroys, by its kind; and the beginning and the end of it all.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <opendxgk/softgpu.h>

#include "base/clock.h"
#include "cli/adapter_facts.h"
#include "cli/run/world.h"

void outcome_note(struct outcome *outcome, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(outcome->note, sizeof(outcome->note), format, arguments);
	va_end(arguments);
}

void outcome_leave_out(struct outcome *outcome, const char *format, ...)
{
	va_list arguments;

	outcome->is_left_out = true;
	va_start(arguments, format);
	vsnprintf(outcome->note, sizeof(outcome->note), format, arguments);
	va_end(arguments);
}

/* ---- fences ---- */

static NTSTATUS keep_fence(struct thing *fence, NTSTATUS status, D3DKMT_HANDLE handle)
{
	if (!NT_SUCCESS(status))
		return status;
	fence->handle = handle;
	fence->is_there = true;
	return status;
}

static NTSTATUS create_fence(struct world *world, const struct script_statement *statement)
{
	D3DKMT_HANDLE handle;
	bool is_shared = (statement->options & OPTION_SHARED) != 0;
	NTSTATUS status = queue_create_fence(world, world_thing(world, statement->by),
					     statement->number, is_shared, &handle);

	if (NT_SUCCESS(status) && is_shared && world->is_shared) {
		status = share_name(world, statement->name, handle);
		if (!NT_SUCCESS(status))
			(void)queue_destroy_fence(world, handle);
	}
	return keep_fence(world_thing(world, statement->name), status, handle);
}

static NTSTATUS open_fence(struct world *world, const struct script_statement *statement)
{
	D3DKMT_HANDLE handle;
	NTSTATUS status = queue_open_fence(world, world_thing(world, statement->by),
					   statement->address.name, &handle);

	return keep_fence(world_thing(world, statement->name), status, handle);
}

static NTSTATUS destroy_fence(struct world *world, uint32_t name)
{
	struct thing *fence = world_thing(world, name);
	NTSTATUS status = queue_destroy_fence(world, fence->handle);

	if (NT_SUCCESS(status)) {
		fence->is_there = false;
		share_forget_name(world, name);
	}
	return status;
}

/* ---- things ---- */

static NTSTATUS open_thing(struct world *world, const struct script_statement *statement)
{
	return world->script->names[statement->name].kind == SCRIPT_FENCE
		       ? open_fence(world, statement)
		       : allocation_open(world, statement);
}

static NTSTATUS (*creator_of(enum script_verb verb))(struct world *world,
						     const struct script_statement *statement)
{
	static NTSTATUS (*const creators[])(struct world * world,
					    const struct script_statement *statement) = {
		[VERB_CLIENT] = world_create_client,
		[VERB_CONTEXT] = context_create,
		[VERB_HW_QUEUE] = context_create_hw_queue,
		[VERB_ALLOCATE] = allocation_create,
		[VERB_STANDARD] = allocation_create_standard,
		[VERB_FENCE] = create_fence,
		[VERB_OPEN] = open_thing,
	};

	return creators[verb];
}

static void leave_out_allocation(struct world *world, const struct script_statement *statement,
				 struct outcome *outcome)
{
	if (exerciser_can_allocate(&world->exerciser, statement->size_bytes,
				   allocation_wishes(statement->options)))
		return;
	outcome_leave_out(outcome, world->exerciser.is_there
					   ? "the exerciser has no such allocation"
					   : "there is no exerciser for the driver");
}

void world_do_create(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	struct thing *thing = world_thing(world, statement->name);

	if (thing->is_there) {
		outcome->is_wrong = true;
		outcome_note(outcome, "there is one already; destroy it before it is made again");
		return;
	}
	if (statement->verb == VERB_ALLOCATE)
		leave_out_allocation(world, statement, outcome);
	thing->is_left_out = outcome->is_left_out;
	if (!outcome->is_left_out)
		outcome->status = creator_of(statement->verb)(world, statement);
}

NTSTATUS world_destroy(struct world *world, uint32_t name)
{
	switch (world->script->names[name].kind) {
	case SCRIPT_CLIENT:
		return world_destroy_client(world, name);
	case SCRIPT_CONTEXT:
	case SCRIPT_HW_QUEUE:
		return context_destroy(world, name);
	case SCRIPT_ALLOCATION:
		return allocation_destroy(world, name);
	case SCRIPT_FENCE:
	default:
		return destroy_fence(world, name);
	}
}

void world_sleep(struct world *world, uint64_t nanoseconds)
{
	if (world->hooks.sleep)
		world->hooks.sleep(nanoseconds);
	else
		clock_sleep_until(clock_deadline(nanoseconds));
}

/* ---- beginning and end ---- */

static bool is_software_gpu(D3DKMT_HANDLE adapter)
{
	struct softgpu_adapter_info info = { 0 };
	D3DKMT_QUERYADAPTERINFO args = { adapter, KMTQAITYPE_UMDRIVERPRIVATE, &info, sizeof(info) };

	return NT_SUCCESS(D3DKMTQueryAdapterInfo(&args)) &&
	       info.version == SOFTGPU_ADAPTER_INFO_VERSION;
}

static bool open_adapter(struct world *world)
{
	enum { MOST_ADAPTERS = 64 };
	D3DKMT_ADAPTERINFO infos[MOST_ADAPTERS];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = MOST_ADAPTERS, .pAdapters = infos };

	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all))) {
		print_last_refusal("D3DKMTEnumAdapters2");
		return false;
	}
	for (ULONG i = 1; i < all.NumAdapters; i++) {
		D3DKMT_CLOSEADAPTER done = { infos[i].hAdapter };
		D3DKMTCloseAdapter(&done);
	}
	if (all.NumAdapters == 0) {
		fprintf(stderr, "dxgk run: no adapter started\n");
		return false;
	}
	world->adapter = infos[0].hAdapter;
	world->luid = infos[0].AdapterLuid;
	return true;
}

struct thing *world_make_shared_things(const struct script *script)
{
	struct thing *things = mmap(NULL, (script->name_count + 1) * sizeof(*things),
				    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return things == MAP_FAILED ? NULL : things;
}

static bool choose_exerciser(struct world *world, const char *path)
{
	char why[512];

	if (!path) {
		world->is_soft = is_software_gpu(world->adapter);
		if (world->is_soft)
			exerciser_use_soft(&world->exerciser);
		return true;
	}
	if (strcmp(path, "none") == 0)
		return true;
	if (exerciser_load(&world->exerciser, path, why, sizeof(why)))
		return true;
	fprintf(stderr, "dxgk run: %s\n", why);
	return false;
}

bool world_open(struct world *world, const struct script *script, struct thing *things,
		const char *exerciser)
{
	const char *seed = getenv("DXGK_SEED");

	*world = (struct world){ .script = script, .is_shared = things != NULL };
	if (!open_adapter(world) || !choose_exerciser(world, exerciser))
		return false;
	hooks_find(&world->hooks);
	world->is_simulated = world->hooks.thread_create && seed && *seed;
	world->things = things ? things : calloc(script->name_count + 1, sizeof(*things));
	if (!world->things)
		fprintf(stderr, "dxgk run: no memory\n");
	return world->things != NULL;
}

void world_destroy_all(struct world *world)
{
	/* Who stopped in between: what is left waits for the power. */
	if (world->is_asleep)
		(void)world->hooks.power(world->luid.LowPart, world->luid.HighPart, 0);
	for (uint32_t i = 0; world->things && i < world->script->name_count; i++) {
		if (world->script->names[i].kind != SCRIPT_CLIENT)
			continue;
		struct dxgk_test_process *before = client_enter(world, i);
		if (world->things[i].is_there)
			(void)world_destroy_client(world, i);
		client_leave(world, before);
		client_end_process(world, i);
	}
}

void world_close(struct world *world)
{
	D3DKMT_CLOSEADAPTER args = { world->adapter };

	if (!world->is_shared)
		free(world->things);
	world->things = NULL;
	if (world->adapter != 0)
		D3DKMTCloseAdapter(&args);
	world->adapter = 0;
	exerciser_unload(&world->exerciser);
}
