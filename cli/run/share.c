/* SPDX-License-Identifier: MIT */
/*
 * share.c - fences and allocations that one client opens of another: by a handle where all are in this program, by a name
 * between processes.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/run/world.h"

enum { ALL_ACCESS = 0x001f0003 };

struct told_name {
	WCHAR text[48];
	UNICODE_STRING string;
	OBJECT_ATTRIBUTES attributes;
};

/* Every run has its own, by the process that started the clients. */
static OBJECT_ATTRIBUTES *name_of(uint32_t thing, struct told_name *name)
{
	char text[ARRAY_SIZE(name->text)];
	int length = snprintf(text, sizeof(text), "dxgk run %d %u", (int)getppid(), thing);

	for (int i = 0; i < length; i++)
		name->text[i] = (WCHAR)text[i];
	name->string = (UNICODE_STRING){ .Length = (USHORT)((size_t)length * sizeof(WCHAR)),
					 .MaximumLength = (USHORT)((size_t)length * sizeof(WCHAR)),
					 .Buffer = name->text };
	name->attributes = (OBJECT_ATTRIBUTES){ .Length = sizeof(name->attributes),
						.ObjectName = &name->string };
	return &name->attributes;
}

NTSTATUS share_name(struct world *world, uint32_t name, D3DKMT_HANDLE object)
{
	struct told_name told;
	HANDLE handle = NULL;
	NTSTATUS status = CALL(
		world, D3DKMTShareObjects(1, &object, name_of(name, &told), ALL_ACCESS, &handle));

	if (NT_SUCCESS(status))
		world_thing(world, name)->shared_as = (int)(intptr_t)handle;
	return status;
}

void share_forget_name(struct world *world, uint32_t name)
{
	struct thing *thing = world_thing(world, name);

	if (thing->shared_as > 0)
		close(thing->shared_as);
	thing->shared_as = 0;
}

static NTSTATUS find_fence_by_name(struct world *world, uint32_t name, HANDLE *handle_out)
{
	struct told_name told;
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME args = { .dwDesiredAccess = ALL_ACCESS,
						       .pObjAttrib = name_of(name, &told) };
	NTSTATUS status = CALL(world, D3DKMTOpenSyncObjectNtHandleFromName(&args));

	*handle_out = args.hNtHandle;
	return status;
}

static NTSTATUS find_resource_by_name(struct world *world, uint32_t name, HANDLE *handle_out)
{
	struct told_name told;
	D3DKMT_OPENNTHANDLEFROMNAME args = { .dwDesiredAccess = ALL_ACCESS,
					     .pObjAttrib = name_of(name, &told) };
	NTSTATUS status = CALL(world, D3DKMTOpenNtHandleFromName(&args));

	*handle_out = args.hNtHandle;
	return status;
}

/* Its owner shares it. */
static NTSTATUS find_by_handle(struct world *world, uint32_t name, HANDLE *handle_out)
{
	const struct thing *thing = world_thing(world, name);
	D3DKMT_HANDLE object = thing->resource ? thing->resource : thing->handle;
	struct dxgk_test_process *before = client_enter(world, world->script->names[name].client);
	NTSTATUS status = CALL(world, D3DKMTShareObjects(1, &object, NULL, ALL_ACCESS, handle_out));

	client_leave(world, before);
	return status;
}

NTSTATUS share_find(struct world *world, uint32_t name, HANDLE *handle_out)
{
	if (!world->is_shared)
		return find_by_handle(world, name, handle_out);
	return world->script->names[name].kind == SCRIPT_FENCE
		       ? find_fence_by_name(world, name, handle_out)
		       : find_resource_by_name(world, name, handle_out);
}
