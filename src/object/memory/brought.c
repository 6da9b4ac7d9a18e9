/* SPDX-License-Identifier: MIT */
#include "base/client_call.h"
#include "base/probe.h"
#include "base/refusal.h"
#include "base/section.h"
#include "object/memory/allocation_extra.h"
#include "object/memory/brought.h"
#include "vidmm/elsewhere.h"

NTSTATUS brought_map(struct client_arena *arena, struct allocation_body *body,
		     struct allocation_item *item, uint64_t size_bytes, bool is_read_only,
		     uint32_t index)
{
	uint64_t address = (uintptr_t)item->existing_memory;
	const struct client_brought *brought = client_call_brought(address, size_bytes);

	if (!brought && client_arena_contains(arena, address, size_bytes))
		return invalid_item(RULE_API_VALUE, "pAllocationInfo", index,
				    "has a pSystemMem that belongs to another allocation");
	if (!brought)
		return refuse_item(STATUS_GRAPHICS_NO_VIDEO_MEMORY, RULE_API_VALUE,
				   "pAllocationInfo", index,
				   "has a pSystemMem that is no private memory of the client's "
				   "which it may write");
	uint64_t skip = address - brought->address;
	if (!body->has_extra)
		allocation_extra_begin(body, NULL);
	NTSTATUS status = section_map_part(body->maker.device->process->ledger,
					   (uintptr_t)brought->descriptor, brought->offset + skip,
					   brought->size_bytes - skip, is_read_only, "pSystemMem",
					   &body->extra.section);
	if (NT_SUCCESS(status)) {
		body->extra.section->client_address = address;
		item->existing_memory = NULL;
		item->has_section = true;
	}
	return status;
}

NTSTATUS brought_keep_file(struct allocation_body *body, struct client_arena *arena,
			   bool is_read_only)
{
	struct section *section = body->extra.section;
	struct client_memory memory = {
		.file = section->file,
		.first_page = section->first_page,
		.is_read_only = is_read_only,
		.address = section->client_address,
	};

	section->file = NULL;
	/* Who brings a file has it. */
	NTSTATUS status = client_file_let_write(memory.file, client_arena_number(arena));
	if (!NT_SUCCESS(status)) {
		client_file_put(memory.file);
		return refuse_no_memory("no memory for a section");
	}
	if (memory.address != 0) {
		client_arena_get(arena);
		memory.owner = arena;
	}
	return vidmm_allocation_take_client_memory(&body->memory, &memory);
}

NTSTATUS brought_check_here(void *memory, uint64_t size_bytes, bool is_read_only, uint32_t index)
{
	if (vidmm_is_view(memory, size_bytes))
		return invalid_item(RULE_API_VALUE, "pAllocationInfo", index,
				    "has a pSystemMem that belongs to another allocation");
	if (!(is_read_only ? probe_is_readable(memory, size_bytes)
			   : probe_is_writable(memory, size_bytes)))
		return refuse_item(
			STATUS_GRAPHICS_NO_VIDEO_MEMORY, RULE_API_VALUE, "pAllocationInfo", index,
			"has a pSystemMem of which not all %llu bytes can be %s",
			(unsigned long long)size_bytes, is_read_only ? "read" : "written");
	return STATUS_SUCCESS;
}
