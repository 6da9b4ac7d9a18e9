/* SPDX-License-Identifier: MIT */
/*
 * clients.c - clients: a device with a paging queue, in the program's process or in one of its own in the same kernel.
 *
 * Such a one can be killed while its work runs and while other threads make calls of it, as a program can. Those calls are
 * refused by the kernel; memory that they read and write without it is let go first.
 */
#include "base/clock.h"
#include "cli/run/world.h"

/* ---- processes ---- */

/* None of this host, so that two runs of a seed are the same. */
static struct dxgk_test_process *create_process(struct world *world, uint32_t name)
{
	enum { FIRST_PID = 100, USER = 0 };

	return world->hooks.process_create(FIRST_PID + name, USER, world->script->names[name].text);
}

struct dxgk_test_process *client_enter(struct world *world, uint32_t client)
{
	if (!world->hooks.process_enter)
		return NULL;
	return world->hooks.process_enter(
		client == SCRIPT_NO_NAME ? NULL : world_thing(world, client)->process);
}

void client_leave(struct world *world, struct dxgk_test_process *before)
{
	if (world->hooks.process_enter)
		(void)world->hooks.process_enter(before);
}

void client_end_process(struct world *world, uint32_t name)
{
	struct thing *client = world_thing(world, name);

	if (client->process)
		world->hooks.process_end(client->process);
	client->process = NULL;
	client->adapter = 0;
}

bool client_touch(struct thing *client)
{
	atomic_fetch_add(&client->touches, 1);
	if (!client->is_killed)
		return true;
	client_touch_end(client);
	return false;
}

void client_touch_end(struct thing *client)
{
	atomic_fetch_sub(&client->touches, 1);
}

/* ---- made ---- */

static NTSTATUS open_adapter(struct world *world, D3DKMT_HANDLE *adapter_out)
{
	D3DKMT_OPENADAPTERFROMLUID args = { .AdapterLuid = world->luid };
	NTSTATUS status = CALL(world, D3DKMTOpenAdapterFromLuid(&args));

	*adapter_out = args.hAdapter;
	return status;
}

static NTSTATUS create_paging_queue(struct world *world, struct thing *client, D3DKMT_HANDLE device)
{
	D3DKMT_CREATEPAGINGQUEUE args = { .hDevice = device };
	NTSTATUS status = CALL(world, D3DKMTCreatePagingQueue(&args));

	client->paging_queue = args.hPagingQueue;
	client->paging_fence = args.hSyncObject;
	client->paging_value = 0;
	client->has_gaps = false;
	return status;
}

static NTSTATUS destroy_device(struct world *world, D3DKMT_HANDLE device)
{
	D3DKMT_DESTROYDEVICE args = { device };

	return CALL(world, D3DKMTDestroyDevice(&args));
}

static NTSTATUS create_device(struct world *world, struct thing *client, uint32_t options)
{
	D3DKMT_CREATEDEVICE args = { .hAdapter = client_adapter(world, client) };

	args.Flags.DisableGpuTimeout = (options & OPTION_NO_TIMEOUT) != 0;
	NTSTATUS status = CALL(world, D3DKMTCreateDevice(&args));
	if (!NT_SUCCESS(status))
		return status;
	status = create_paging_queue(world, client, args.hDevice);
	if (!NT_SUCCESS(status))
		destroy_device(world, args.hDevice);
	else
		client->handle = args.hDevice;
	return status;
}

static NTSTATUS create_apart(struct world *world, uint32_t name, uint32_t options)
{
	struct thing *client = world_thing(world, name);

	if (!world->hooks.process_create)
		return STATUS_NOT_SUPPORTED;
	client->process = create_process(world, name);
	if (!client->process)
		return STATUS_NO_MEMORY;
	struct dxgk_test_process *before = client_enter(world, name);
	NTSTATUS status = open_adapter(world, &client->adapter);
	if (NT_SUCCESS(status))
		status = create_device(world, client, options);
	client_leave(world, before);
	if (!NT_SUCCESS(status))
		client_end_process(world, name);
	return status;
}

NTSTATUS world_create_client(struct world *world, const struct script_statement *statement)
{
	struct thing *client = world_thing(world, statement->name);
	bool is_apart = (statement->options & OPTION_APART) != 0 && !world->is_shared;

	/* Of one that was killed before. */
	client_end_process(world, statement->name);
	client->is_killed = false;
	NTSTATUS status = is_apart ? create_apart(world, statement->name, statement->options)
				   : create_device(world, client, statement->options);
	client->is_there = NT_SUCCESS(status);
	return status;
}

/* ---- ended ---- */

/* What a device had is gone with it. */
static void forget_things(struct world *world, uint32_t client)
{
	for (uint32_t i = 0; i < world->script->name_count; i++) {
		if (world->script->names[i].client != client)
			continue;
		world->things[i].is_there = false;
		share_forget_name(world, i);
		if (world->script->names[i].kind == SCRIPT_ALLOCATION)
			allocation_forget(&world->things[i]);
	}
}

/* Its memory goes. */
static void end_proofs(struct world *world, uint32_t client)
{
	for (uint32_t i = 0; i < world->script->name_count; i++) {
		if (world->script->names[i].client == client)
			proof_end(world, &world->things[i].ring);
	}
}

NTSTATUS world_destroy_client(struct world *world, uint32_t name)
{
	struct thing *client = world_thing(world, name);

	end_proofs(world, name);
	NTSTATUS status = destroy_device(world, client->handle);

	if (!NT_SUCCESS(status))
		return status;
	forget_things(world, name);
	return status;
}

/* Who has begun to touch its memory comes to the end of that, and nobody begins anew. */
static void wait_for_touches(struct world *world, struct thing *client)
{
	while (client->touches > 0)
		world_sleep(world, NS_PER_US);
}

void client_do_kill(struct world *world, const struct script_statement *statement,
		    struct outcome *outcome)
{
	struct thing *client = world_thing(world, statement->name);

	if (!client->process) {
		outcome_leave_out(outcome, "%s has no process of its own here",
				  world->script->names[statement->name].text);
		return;
	}
	client->is_killed = true;
	wait_for_touches(world, client);
	end_proofs(world, statement->name);
	world->hooks.process_kill(client->process);
	forget_things(world, statement->name);
}
