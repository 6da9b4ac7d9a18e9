/* SPDX-License-Identifier: MIT */
/*
 * memory.c - statements about allocations: where they are, what is in them.
 *
 * What the kernel has not finished when a call returns (STATUS_PENDING) is remembered as a value of
 * the client's paging fence. Contexts wait for it on the GPU before they run anything; statements
 * that look wait for it here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/run/pattern.h"
#include "cli/run/world.h"

enum { PAGE_BYTES = 4096 };

/* ---- calls ---- */

NTSTATUS memory_create(struct world *world, const struct thing *client, uint64_t size_bytes,
		       uint32_t wishes, D3DKMT_HANDLE *handle_out)
{
	unsigned char data[EXERCISER_DATA_MAX];
	D3DDDI_ALLOCATIONINFO2 element = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->handle,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element };

	element.PrivateDriverDataSize =
		exerciser_allocation(&world->exerciser, size_bytes, wishes, data);
	element.pPrivateDriverData = element.PrivateDriverDataSize > 0 ? data : NULL;
	NTSTATUS status = CALL(world, D3DKMTCreateAllocation2(&args));
	*handle_out = element.hAllocation;
	return status;
}

NTSTATUS memory_destroy(struct world *world, const struct thing *client, D3DKMT_HANDLE handle)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = client->handle,
					   .phAllocationList = &handle,
					   .AllocationCount = 1 };

	return CALL(world, D3DKMTDestroyAllocation2(&args));
}

NTSTATUS memory_lock(struct world *world, const struct thing *client, D3DKMT_HANDLE handle,
		     unsigned char **bytes_out)
{
	D3DKMT_LOCK2 args = { .hDevice = client->handle, .hAllocation = handle };
	NTSTATUS status = CALL(world, D3DKMTLock2(&args));

	*bytes_out = args.pData;
	return status;
}

NTSTATUS memory_unlock(struct world *world, const struct thing *client, D3DKMT_HANDLE handle)
{
	D3DKMT_UNLOCK2 args = { .hDevice = client->handle, .hAllocation = handle };

	return CALL(world, D3DKMTUnlock2(&args));
}

/* Another branch may have been promised more already. */
static void remember_paging(struct thing *client, uint64_t value)
{
	uint64_t before = client->paging_value;

	while (before < value &&
	       !atomic_compare_exchange_weak(&client->paging_value, &before, value))
		;
}

NTSTATUS memory_map(struct world *world, struct thing *client, const struct memory_part *part,
		    uint64_t *address_out)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = {
		.hPagingQueue = client->paging_queue,
		.BaseAddress = part->at,
		.hAllocation = part->allocation,
		.OffsetInPages = part->offset_bytes / PAGE_BYTES,
		.SizeInPages = (part->size_bytes + PAGE_BYTES - 1) / PAGE_BYTES,
		.Protection.Write = !part->is_read_only,
	};
	NTSTATUS status = CALL(world, D3DKMTMapGpuVirtualAddress(&args));

	if (!NT_SUCCESS(status))
		return status;
	remember_paging(client, args.PagingFenceValue);
	*address_out = args.VirtualAddress;
	return status;
}

NTSTATUS memory_make_resident(struct world *world, struct thing *client,
			      const D3DKMT_HANDLE *handles, uint32_t count, uint32_t flags,
			      uint64_t *trim_out)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->paging_queue,
				     .NumAllocations = count,
				     .AllocationList = handles };

	args.Flags.Value = flags;
	NTSTATUS status = CALL(world, D3DKMTMakeResident(&args));
	*trim_out = args.NumBytesToTrim;
	if (NT_SUCCESS(status))
		remember_paging(client, args.PagingFenceValue);
	return status;
}

/* ---- addresses ---- */

void memory_do_map(struct world *world, const struct script_statement *statement,
		   struct outcome *outcome)
{
	struct thing *allocation = world_thing(world, statement->name);
	const struct memory_part all = {
		.allocation = allocation->handle,
		.size_bytes = world->script->names[statement->name].size_bytes,
		.at = statement->number,
		.is_read_only = (statement->options & OPTION_READ_ONLY) != 0,
	};
	uint64_t address = 0;

	outcome->status =
		memory_map(world, world_client_of(world, statement->name), &all, &address);
	if (!NT_SUCCESS(outcome->status))
		return;
	allocation->address = address;
	outcome_note(outcome, "at 0x%" PRIx64, address);
}

void memory_do_unmap(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	struct thing *allocation = world_thing(world, statement->name);
	uint64_t size_bytes = world->script->names[statement->name].size_bytes;
	D3DKMT_FREEGPUVIRTUALADDRESS args = {
		.hAdapter = client_adapter(world, world_client_of(world, statement->name)),
		.BaseAddress = allocation->address,
	};

	args.Size = (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	outcome->status = CALL(world, D3DKMTFreeGpuVirtualAddress(&args));
	if (NT_SUCCESS(outcome->status))
		allocation->address = 0;
}

/* ---- residency ---- */

/* NULL when there is no memory. */
static D3DKMT_HANDLE *list_handles(struct world *world, const struct script_statement *statement)
{
	D3DKMT_HANDLE *handles = calloc(statement->list_count, sizeof(*handles));

	for (uint32_t i = 0; handles && i < statement->list_count; i++)
		handles[i] = world_thing(world, statement->list[i])->handle;
	return handles;
}

void memory_do_resident(struct world *world, const struct script_statement *statement,
			struct outcome *outcome)
{
	D3DKMT_HANDLE *handles = list_handles(world, statement);
	D3DDDI_MAKERESIDENT_FLAGS flags = { 0 };
	uint64_t to_trim = 0;

	flags.CantTrimFurther = (statement->options & OPTION_CANT_TRIM) != 0;
	outcome->status = STATUS_NO_MEMORY;
	if (handles)
		outcome->status =
			memory_make_resident(world, world_client_of(world, statement->name),
					     handles, statement->list_count, flags.Value, &to_trim);
	if (to_trim > 0)
		outcome_note(outcome, "%" PRIu64 " bytes to trim", to_trim);
	free(handles);
}

void memory_do_evict(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	D3DKMT_HANDLE *handles = list_handles(world, statement);
	D3DKMT_EVICT args = { .hDevice = world_client_of(world, statement->name)->handle,
			      .NumAllocations = statement->list_count,
			      .AllocationList = handles };

	args.Flags.EvictOnlyIfNecessary = (statement->options & OPTION_IF_NEEDED) != 0;
	outcome->status = handles ? CALL(world, D3DKMTEvict(&args)) : STATUS_NO_MEMORY;
	free(handles);
}

void memory_do_offer(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	D3DKMT_HANDLE *handles = list_handles(world, statement);
	D3DKMT_OFFERALLOCATIONS args = {
		.hDevice = world_client_of(world, statement->name)->handle,
		.HandleList = handles,
		.NumAllocations = statement->list_count,
		.Priority = D3DKMT_OFFER_PRIORITY_NORMAL,
	};

	if (statement->options & OPTION_LOW)
		args.Priority = D3DKMT_OFFER_PRIORITY_LOW;
	if (statement->options & OPTION_HIGH)
		args.Priority = D3DKMT_OFFER_PRIORITY_HIGH;
	if (statement->options & OPTION_AUTO)
		args.Priority = D3DKMT_OFFER_PRIORITY_AUTO;
	args.Flags.AllowDecommit = (statement->options & OPTION_DECOMMIT) != 0;
	outcome->status = handles ? CALL(world, D3DKMTOfferAllocations(&args)) : STATUS_NO_MEMORY;
	free(handles);
}

void memory_do_reclaim(struct world *world, const struct script_statement *statement,
		       struct outcome *outcome)
{
	struct thing *client = world_client_of(world, statement->name);
	D3DKMT_HANDLE handle = world_thing(world, statement->name)->handle;
	D3DDDI_RECLAIM_RESULT result = D3DDDI_RECLAIM_RESULT_OK;
	D3DKMT_RECLAIMALLOCATIONS2 args = { .hPagingQueue = client->paging_queue,
					    .NumAllocations = 1,
					    .HandleList = &handle,
					    .pResults = &result };

	outcome->status = CALL(world, D3DKMTReclaimAllocations2(&args));
	if (!NT_SUCCESS(outcome->status))
		return;
	remember_paging(client, args.PagingFenceValue);
	uint32_t kept = result == D3DDDI_RECLAIM_RESULT_OK ? OPTION_KEPT : OPTION_DISCARDED;
	outcome_note(outcome, "%s: %s", world->script->names[statement->name].text,
		     kept == OPTION_KEPT ? "kept" : "discarded");
	outcome->is_shown = true;
	outcome->is_wrong = statement->options != 0 && statement->options != kept;
	/* A script that does not say what it expects cannot know what is in it now. */
	if (kept == OPTION_DISCARDED && statement->options == 0)
		world_thing(world, statement->name)->is_unknown = true;
}

static NTSTATUS ask_where(struct world *world, uint32_t name,
			  D3DKMT_ALLOCATIONRESIDENCYSTATUS *where_out)
{
	D3DKMT_HANDLE handle = world_thing(world, name)->handle;
	D3DKMT_QUERYALLOCATIONRESIDENCY args = { .hDevice = world_client_of(world, name)->handle,
						 .phAllocationList = &handle,
						 .AllocationCount = 1,
						 .pResidencyStatus = where_out };

	return CALL(world, D3DKMTQueryAllocationResidency(&args));
}

/* It leaves when the work in front of the evict is over, and no fence tells when that is. */
void memory_wait_gone(struct world *world, uint32_t name, struct outcome *outcome)
{
	enum { PATIENCE_S = 20, LOOKS_PER_S = 10000 };
	D3DKMT_ALLOCATIONRESIDENCYSTATUS where = D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT;

	for (uint32_t i = 0; i < PATIENCE_S * LOOKS_PER_S; i++) {
		outcome->status = ask_where(world, name, &where);
		if (!NT_SUCCESS(outcome->status) ||
		    where == D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT)
			return;
		world_sleep(world, NS_PER_S / LOOKS_PER_S);
	}
	outcome->is_wrong = true;
	outcome_note(outcome, "it is still resident after %d s", PATIENCE_S);
}

void memory_do_where(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	static const char *const words[] = { "?", "local", "shared", "out" };
	static const uint32_t options[] = { 0, OPTION_LOCAL, OPTION_SHARED, OPTION_OUT };
	struct thing *client = world_client_of(world, statement->name);
	D3DKMT_ALLOCATIONRESIDENCYSTATUS where = D3DKMT_ALLOCATIONRESIDENCYSTATUS_NOTRESIDENT;

	outcome->status = queue_wait_paging(world, client);
	if (NT_SUCCESS(outcome->status))
		outcome->status = ask_where(world, statement->name, &where);
	if (!NT_SUCCESS(outcome->status))
		return;
	size_t index = (size_t)where < ARRAY_SIZE(words) ? (size_t)where : 0;
	outcome_note(outcome, "%s: %s", world->script->names[statement->name].text, words[index]);
	outcome->is_shown = true;
	outcome->is_wrong = statement->options != 0 && statement->options != options[index];
}

/* ---- contents ---- */

void memory_do_lock(struct world *world, const struct script_statement *statement,
		    struct outcome *outcome)
{
	unsigned char *bytes;

	outcome->status = memory_lock(world, world_client_of(world, statement->name),
				      world_thing(world, statement->name)->handle, &bytes);
}

void memory_do_unlock(struct world *world, const struct script_statement *statement,
		      struct outcome *outcome)
{
	outcome->status = memory_unlock(world, world_client_of(world, statement->name),
					world_thing(world, statement->name)->handle);
}

/* Locked, and nobody takes it away meanwhile. */
static bool touch_begin(struct world *world, const struct script_statement *statement,
			struct outcome *outcome, unsigned char **bytes_out)
{
	struct thing *client = world_client_of(world, statement->name);

	outcome->status = queue_wait_paging(world, client);
	if (NT_SUCCESS(outcome->status))
		outcome->status = memory_lock(
			world, client, world_thing(world, statement->name)->handle, bytes_out);
	if (!NT_SUCCESS(outcome->status))
		return false;
	if (client_touch(client))
		return true;
	outcome_leave_out(outcome, "its client was killed");
	return false;
}

static void touch_end(struct world *world, const struct script_statement *statement,
		      struct outcome *outcome)
{
	client_touch_end(world_client_of(world, statement->name));
	memory_do_unlock(world, statement, outcome);
}

void memory_do_write(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	struct thing *allocation = world_thing(world, statement->name);
	unsigned char *bytes;

	if (!touch_begin(world, statement, outcome, &bytes))
		return;
	pattern_store(&statement->pattern, bytes, statement->at, statement->size_bytes);
	touch_end(world, statement, outcome);
	if (statement->size_bytes == world->script->names[statement->name].size_bytes) {
		allocation->is_unknown = false;
		allocation->writers = 0;
	}
}

void memory_do_check(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome)
{
	unsigned char expected;
	unsigned char *bytes;
	uint64_t place;

	if (world_thing(world, statement->name)->is_unknown) {
		outcome_leave_out(outcome, "what is in %s is not known: something was left out",
				  world->script->names[statement->name].text);
		return;
	}
	if (!touch_begin(world, statement, outcome, &bytes))
		return;
	if (!pattern_compare(&statement->pattern, bytes, statement->at, statement->size_bytes,
			     &place, &expected)) {
		outcome->is_wrong = outcome->has_wrong_bytes = true;
		outcome_note(outcome, "the byte at %s+0x%" PRIx64 " is 0x%02x, expected 0x%02x",
			     world->script->names[statement->name].text, place, bytes[place],
			     expected);
	}
	touch_end(world, statement, outcome);
}
