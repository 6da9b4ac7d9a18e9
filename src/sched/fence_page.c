/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <sys/mman.h>

#include "base/client_call.h"
#include "base/machine.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "base/quota.h"
#include "ranges/client_arena.h"
#include "sched/fence_page.h"

struct fence_chunk {
	struct fence_pages *pages;
	struct list link; /* fence_pages.partial or .full */
	uint64_t address;
	unsigned char *window;
	unsigned char *view;             /* in this process; NULL: nobody looked */
	struct client_mappings mappings; /* in others */
	uint32_t free_count;
	uint32_t holds;
	uint16_t free_slots[]; /* as many as free_count says; the next one to take is the last */
};

struct fence_pages *fence_pages_create(uint32_t pages_per_chunk, bool is_elsewhere)
{
	struct fence_pages *pages = mem_zalloc(sizeof(*pages));

	if (!pages)
		return NULL;
	pages->slots_per_chunk = pages_per_chunk * (uint32_t)MACHINE_PAGE_BYTES / FENCE_SLOT_BYTES;
	assert(pages->slots_per_chunk <= UINT16_MAX);
	pages->is_elsewhere = is_elsewhere;
	lock_init(&pages->lock, LOCK_RANK_FENCE_PAGES, "fence pages");
	list_init(&pages->partial);
	list_init(&pages->full);
	return pages;
}

void fence_pages_charge(struct fence_pages *pages, struct quota_ledger *ledger)
{
	assert(!pages->ledger && !pages->bank);
	pages->ledger = quota_get(ledger);
}

static uint64_t chunk_bytes(const struct fence_pages *pages)
{
	return (uint64_t)pages->slots_per_chunk * FENCE_SLOT_BYTES;
}

/* ---- chunks ---- */

static bool chunk_view(struct fence_chunk *chunk, uint64_t size_bytes)
{
	unsigned char *view = machine_show(NULL, chunk->address, size_bytes);

	if (view && mprotect(view, size_bytes, PROT_READ) == 0) {
		chunk->view = view;
		return true;
	}
	if (view)
		munmap(view, size_bytes);
	return false;
}

static NTSTATUS bank_create_locked(struct fence_pages *pages)
{
	struct machine_bank *bank;
	NTSTATUS status = machine_bank_create_for_clients(MACHINE_BANK_READ, &bank);

	lock_assert_held(&pages->lock);
	if (!NT_SUCCESS(status))
		return status;
	status = machine_bank_charge(bank, pages->ledger);
	if (NT_SUCCESS(status))
		pages->bank = bank;
	else
		machine_bank_destroy(bank);
	return status;
}

static NTSTATUS pages_take_locked(struct fence_pages *pages, uint64_t *address_out)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_assert_held(&pages->lock);
	if (!pages->is_elsewhere)
		return machine_alloc_contiguous(chunk_bytes(pages), 0, 0, UINT64_MAX, 0,
						address_out);
	if (!pages->bank)
		status = bank_create_locked(pages);
	return NT_SUCCESS(status)
		       ? machine_bank_run(pages->bank, chunk_bytes(pages) / MACHINE_PAGE_BYTES,
					  UINT64_MAX, address_out)
		       : status;
}

static NTSTATUS chunk_map_locked(struct fence_pages *pages, struct fence_chunk *chunk)
{
	NTSTATUS status = pages_take_locked(pages, &chunk->address);

	lock_assert_held(&pages->lock);
	if (!NT_SUCCESS(status))
		return status;
	chunk->window = machine_to_pointer(chunk->address);
	if (pages->is_elsewhere || chunk_view(chunk, chunk_bytes(pages)))
		return STATUS_SUCCESS;
	(void)!machine_free_contiguous(chunk->address);
	return STATUS_NO_MEMORY;
}

static NTSTATUS chunk_create_locked(struct fence_pages *pages)
{
	uint32_t slots = pages->slots_per_chunk;

	lock_assert_held(&pages->lock);
	struct fence_chunk *chunk =
		mem_zalloc(sizeof(*chunk) + slots * sizeof(chunk->free_slots[0]));
	if (!chunk)
		return STATUS_NO_MEMORY;
	NTSTATUS status = chunk_map_locked(pages, chunk);
	if (!NT_SUCCESS(status)) {
		mem_free(chunk);
		return status;
	}
	chunk->pages = pages;
	/* The first slot is the last in the list. */
	for (uint32_t i = 0; i < slots; i++)
		chunk->free_slots[i] = (uint16_t)(slots - 1 - i);
	chunk->free_count = slots;
	list_push_front(&pages->partial, &chunk->link);
	pages->chunk_count++;
	pages->empty_count++;
	return STATUS_SUCCESS;
}

static void chunk_destroy_locked(struct fence_pages *pages, struct fence_chunk *chunk)
{
	lock_assert_held(&pages->lock);
	assert(chunk->free_count == pages->slots_per_chunk && chunk->holds == 0);
	list_remove(&chunk->link);
	pages->chunk_count--;
	pages->empty_count--;
	if (chunk->view)
		munmap(chunk->view, chunk_bytes(pages));
	client_mappings_finish(&chunk->mappings);
	(void)!machine_free_contiguous(chunk->address);
	mem_free(chunk);
}

/* Nobody needs them: the owner is gone, and so is the last slot. */
static void pages_destroy(struct fence_pages *pages)
{
	lock_acquire(&pages->lock);
	while (!list_is_empty(&pages->partial))
		chunk_destroy_locked(pages,
				     container_of(pages->partial.next, struct fence_chunk, link));
	assert(list_is_empty(&pages->full));
	lock_release(&pages->lock);
	lock_finish(&pages->lock);
	machine_bank_destroy(pages->bank);
	quota_put(pages->ledger);
	mem_free(pages);
}

void fence_pages_close(struct fence_pages *pages)
{
	if (!pages)
		return;
	lock_acquire(&pages->lock);
	pages->is_closed = true;
	bool is_unused = pages->taken == 0;
	lock_release(&pages->lock);
	if (is_unused)
		pages_destroy(pages);
}

/* ---- slots ---- */

static void slot_take_locked(struct fence_pages *pages, struct fence_slot *slot)
{
	struct fence_chunk *chunk = container_of(pages->partial.next, struct fence_chunk, link);

	lock_assert_held(&pages->lock);
	if (chunk->free_count == pages->slots_per_chunk)
		pages->empty_count--;
	uint64_t offset = (uint64_t)chunk->free_slots[--chunk->free_count] * FENCE_SLOT_BYTES;
	if (chunk->free_count == 0) {
		list_remove(&chunk->link);
		list_push_back(&pages->full, &chunk->link);
	}
	pages->taken++;
	*slot = (struct fence_slot){
		.value = (_Atomic uint64_t *)(void *)(chunk->window + offset),
		.view = pages->is_elsewhere
				? NULL
				: (const uint64_t *)(const void *)(chunk->view + offset),
		.physical_address = chunk->address + offset,
		.chunk = chunk,
	};
}

NTSTATUS fence_slot_take(struct fence_pages *pages, uint64_t value, struct fence_slot *slot_out)
{
	lock_acquire(&pages->lock);
	assert(!pages->is_closed);
	NTSTATUS status =
		list_is_empty(&pages->partial) ? chunk_create_locked(pages) : STATUS_SUCCESS;
	if (NT_SUCCESS(status))
		slot_take_locked(pages, slot_out);
	lock_release(&pages->lock);
	if (!NT_SUCCESS(status))
		return status;
	/* Nobody knows it yet. */
	atomic_store_explicit(slot_out->value, value, memory_order_relaxed);
	return STATUS_SUCCESS;
}

/* Its pages never change. */
static NTSTATUS chunk_note_locked(struct fence_chunk *chunk, struct client_arena *arena,
				  uint64_t *address_out)
{
	const struct fence_pages *pages = chunk->pages;
	uint64_t page_count = chunk_bytes(pages) / MACHINE_PAGE_BYTES;
	struct client_mapping *mapping;

	lock_assert_held(&pages->lock);
	if (!pages->bank)
		return STATUS_NOT_SUPPORTED;
	NTSTATUS status = client_mappings_find(&chunk->mappings, arena, page_count, &mapping);
	if (NT_SUCCESS(status))
		status = client_call_add_run(machine_bank_file(pages->bank),
					     machine_bank_page(chunk->address), page_count);
	if (NT_SUCCESS(status))
		status = client_mapping_note(mapping, 1, CLIENT_VIEW_VALUES);
	if (NT_SUCCESS(status))
		*address_out = client_mapping_address(mapping);
	return status;
}

NTSTATUS fence_slot_show(const struct fence_slot *slot, struct client_arena *arena,
			 const uint64_t **view_out)
{
	struct fence_chunk *chunk = slot->chunk;
	struct fence_pages *pages = chunk->pages;
	uint64_t address = 0;
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&pages->lock);
	if (arena)
		status = chunk_note_locked(chunk, arena, &address);
	else if (!chunk->view && !chunk_view(chunk, chunk_bytes(pages)))
		status = STATUS_NO_MEMORY;
	else
		address = (uintptr_t)chunk->view;
	lock_release(&pages->lock);
	if (NT_SUCCESS(status))
		*view_out = (const uint64_t *)(uintptr_t)(address + slot->physical_address -
							  chunk->address);
	return status;
}

void fence_slot_give(struct fence_slot *slot)
{
	struct fence_chunk *chunk = slot->chunk;

	if (!chunk)
		return;
	struct fence_pages *pages = chunk->pages;
	uint64_t offset = slot->physical_address - chunk->address;

	lock_acquire(&pages->lock);
	chunk->free_slots[chunk->free_count++] = (uint16_t)(offset / FENCE_SLOT_BYTES);
	if (chunk->free_count == 1) {
		list_remove(&chunk->link);
		list_push_front(&pages->partial, &chunk->link);
	}
	if (chunk->free_count == pages->slots_per_chunk && ++pages->empty_count > 1 &&
	    chunk->holds == 0)
		chunk_destroy_locked(pages, chunk);
	bool is_last = --pages->taken == 0 && pages->is_closed;
	lock_release(&pages->lock);
	*slot = (struct fence_slot){ 0 };
	if (is_last)
		pages_destroy(pages);
}

struct fence_chunk_memory fence_chunk_hold(struct fence_chunk *chunk)
{
	struct fence_pages *pages = chunk->pages;

	lock_acquire(&pages->lock);
	chunk->holds++;
	lock_release(&pages->lock);
	return (struct fence_chunk_memory){ chunk->address,
					    (uint32_t)(chunk_bytes(pages) / MACHINE_PAGE_BYTES) };
}

void fence_chunk_release(struct fence_chunk *chunk)
{
	struct fence_pages *pages = chunk->pages;

	lock_acquire(&pages->lock);
	assert(chunk->holds > 0);
	if (--chunk->holds == 0 && chunk->free_count == pages->slots_per_chunk &&
	    pages->empty_count > 1)
		chunk_destroy_locked(pages, chunk);
	lock_release(&pages->lock);
}

static const char *chunks_validate_locked(const struct fence_pages *pages)
{
	lock_assert_held(&pages->lock);
	const struct list *const lists[] = { &pages->partial, &pages->full };
	uint32_t chunks = 0;
	uint32_t empty = 0;
	uint32_t taken = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		list_each (const struct fence_chunk, chunk, lists[i], link) {
			if ((chunk->free_count == 0) != (lists[i] == &pages->full))
				return "a chunk of fences is full and offered, or the other way";
			chunks++;
			empty += chunk->free_count == pages->slots_per_chunk;
			taken += pages->slots_per_chunk - chunk->free_count;
		}
	}
	if (chunks != pages->chunk_count || empty != pages->empty_count)
		return "chunks of fences are miscounted";
	return taken == pages->taken ? NULL : "slots of fences are miscounted";
}

const char *fence_pages_validate(struct fence_pages *pages)
{
	lock_acquire(&pages->lock);
	const char *wrong = chunks_validate_locked(pages);
	lock_release(&pages->lock);
	return wrong;
}
