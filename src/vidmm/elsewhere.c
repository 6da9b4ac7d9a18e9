/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/client_call.h"
#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/machine_exchange.h"
#include "vidmm/allocation.h"
#include "vidmm/elsewhere.h"
#include "vidmm/states.h"

bool elsewhere_is_possible(const struct vidmm_allocation *allocation)
{
	return machine_bank_file(allocation_bank(allocation)) != NULL &&
	       !allocation->backing.is_clients;
}

bool elsewhere_keeps_pages(const struct vidmm_allocation *allocation)
{
	if (!elsewhere_is_possible(allocation))
		return false;
	return allocation->elsewhere || allocation->view.range || allocation->traits.is_pinned ||
	       (allocation->traits.is_cpu_visible && machine_has_spare_mappings());
}

bool elsewhere_is_inside(const struct vidmm_allocation *allocation)
{
	return allocation->elsewhere && allocation->elsewhere->is_inside;
}

void elsewhere_set_inside_locked(struct vidmm_allocation *allocation, bool is_inside)
{
	lock_assert_held(&allocation->lock);
	allocation->elsewhere->is_inside = is_inside;
}

NTSTATUS elsewhere_prepare_locked(struct vidmm_allocation *allocation)
{
	lock_assert_held(&allocation->lock);
	if (!allocation->elsewhere)
		allocation->elsewhere = mem_zalloc(sizeof(*allocation->elsewhere));
	if (!allocation->elsewhere)
		return STATUS_NO_MEMORY;
	if (allocation->elsewhere->version == 0)
		allocation->elsewhere->version = 1;
	return STATUS_SUCCESS;
}

void elsewhere_change_locked(struct vidmm_allocation *allocation)
{
	lock_assert_held(&allocation->lock);
	if (allocation->elsewhere)
		allocation->elsewhere->version++;
}

/* ---- showing ---- */

static NTSTATUS add_pages_locked(const struct vidmm_allocation *allocation)
{
	struct client_file *file = machine_bank_file(allocation_bank(allocation));
	const struct backing_run *runs = backing_runs(&allocation->backing);
	NTSTATUS status = STATUS_SUCCESS;

	lock_assert_held(&allocation->lock);
	assert(allocation->backing.run_count > 0);
	for (uint32_t i = 0; NT_SUCCESS(status) && i < allocation->backing.run_count; i++)
		status = client_call_add_run(
			file, machine_bank_page((uint64_t)runs[i].first_pfn << MACHINE_PAGE_SHIFT),
			runs[i].count);
	return status;
}

static NTSTATUS add_runs_locked(const struct vidmm_allocation *allocation)
{
	const struct client_memory *brought = &allocation->elsewhere->brought;

	lock_assert_held(&allocation->lock);
	if (!allocation->backing.is_clients)
		return add_pages_locked(allocation);
	return client_call_add_run(brought->file, brought->first_page,
				   allocation->size_bytes >> MACHINE_PAGE_SHIFT);
}

/* The file that its pages are in; a client that is shown one page has all of it. */
static struct client_file *file_of(const struct vidmm_allocation *allocation)
{
	return allocation->backing.is_clients ? allocation->elsewhere->brought.file
					      : machine_bank_file(allocation_bank(allocation));
}

/* Rights are the file's, whatever the client does with it. */
static NTSTATUS check_rights_locked(const struct vidmm_allocation *allocation,
				    const struct client_arena *arena, bool is_writable)
{
	struct client_file *file = file_of(allocation);
	uint64_t client = client_arena_number(arena);

	lock_assert_held(&allocation->lock);
	if (!is_writable)
		return client_file_let_read(file, client)
			       ? STATUS_SUCCESS
			       : refuse(STATUS_ACCESS_DENIED, RULE_MM_LOCK_SHARED, "hAllocation",
					"is in a file that cannot be sealed against writing, and "
					"this process may only read it");
	NTSTATUS status = client_file_let_write(file, client);
	if (status == STATUS_ACCESS_DENIED)
		return refuse(status, RULE_MM_LOCK_SHARED, "hAllocation",
			      "was shown to a process that may only read it before this one opened "
			      "it: nobody else can be let write to it any more");
	return NT_SUCCESS(status)
		       ? status
		       : refuse_no_memory("no memory to write down what a client is shown");
}

static NTSTATUS note_locked(struct vidmm_allocation *allocation, struct client_arena *arena,
			    bool is_writable, uint64_t *address_out)
{
	enum client_view_kind kind = is_writable ? CLIENT_VIEW_WRITTEN : CLIENT_VIEW_READ;
	struct vidmm_elsewhere *elsewhere = allocation->elsewhere;
	struct client_mapping *mapping;
	NTSTATUS status =
		client_mappings_find(&elsewhere->mappings, arena,
				     allocation->size_bytes >> MACHINE_PAGE_SHIFT, &mapping);

	lock_assert_held(&allocation->lock);
	if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
		return refuse(status, RULE_MM_NO_ADDRESSES, NULL,
			      "There are no addresses left to show an allocation of %llu bytes",
			      (unsigned long long)allocation->size_bytes);
	if (NT_SUCCESS(status) && mapping->kind < kind &&
	    !NT_SUCCESS(status = check_rights_locked(allocation, arena, is_writable)))
		return status;
	/* Pages behind addresses: what cannot be shown is not even begun. */
	if (NT_SUCCESS(status) && allocation_content(allocation) == VIDMM_CONTENT_NONE &&
	    !NT_SUCCESS(status = allocation_commit_locked(allocation)))
		return refuse(status, RULE_MM_NO_PAGES, NULL,
			      "The machine has no memory left for an allocation of %llu bytes",
			      (unsigned long long)allocation->size_bytes);
	if (NT_SUCCESS(status))
		status = add_runs_locked(allocation);
	if (NT_SUCCESS(status))
		status = client_mapping_note(mapping, elsewhere->version + 1, kind);
	if (!NT_SUCCESS(status))
		return refuse_no_memory("no memory to write down what a client is shown");
	*address_out = client_mapping_address(mapping);
	return STATUS_SUCCESS;
}

/* Of the client's own memory nothing has to be mapped where it is the client's. */
static bool is_there_already(const struct vidmm_allocation *allocation,
			     const struct client_arena *arena)
{
	const struct client_arena *owner = allocation->elsewhere->brought.owner;

	return allocation->backing.is_clients && owner && client_arena_is_of_same(owner, arena);
}

NTSTATUS elsewhere_show_locked(struct vidmm_allocation *allocation, struct client_arena *arena,
			       bool is_writable, uint64_t *address_out)
{
	lock_assert_held(&allocation->lock);
	if (!client_call_current() ||
	    !(allocation->backing.is_clients
		      ? allocation->elsewhere && allocation->elsewhere->brought.file
		      : elsewhere_is_possible(allocation)))
		return invalid(RULE_MM_LOCK_PLACE, "hAllocation",
			       "is memory of a process that shares none with this one");
	if (!NT_SUCCESS(elsewhere_prepare_locked(allocation)))
		return refuse_no_memory("no memory to write down what a client is shown");
	if (is_there_already(allocation, arena)) {
		*address_out = allocation->elsewhere->brought.address;
		return STATUS_SUCCESS;
	}
	/* The file has other memory that its owner brought, too. */
	if (allocation->backing.is_clients && allocation->elsewhere->brought.owner)
		return invalid(RULE_MM_LOCK_SHARED, "hAllocation",
			       "is memory that another process brought, and only that one sees it");
	is_writable &= !allocation->elsewhere->brought.is_read_only;
	return note_locked(allocation, arena, is_writable, address_out);
}

/* ---- the end ---- */

void elsewhere_finish(struct vidmm_allocation *allocation)
{
	struct vidmm_elsewhere *elsewhere = allocation->elsewhere;

	if (!elsewhere)
		return;
	assert(!elsewhere->is_inside);
	client_mappings_finish(&elsewhere->mappings);
	client_file_put(elsewhere->brought.file);
	client_arena_put(elsewhere->brought.owner);
	mem_free(elsewhere);
	allocation->elsewhere = NULL;
}

void elsewhere_revoke(struct vidmm_allocation *allocation)
{
	if (allocation->elsewhere)
		client_mappings_finish(&allocation->elsewhere->mappings);
}
