/* SPDX-License-Identifier: MIT */
/*
 * table_request.c - a call that needs the page tables of its process in place, or more of them.
 *
 *   in:   blocks that are to be taken, perhaps none
 *   out:  they are, and everything the process has is in; or nothing, refused
 *
 * It waits for its turn in the row of all who need memory (room.c). Meanwhile it holds nothing: who
 * is in front of it may need the room of those that its process has. With the answer it holds them
 * again.
 *
 * Locks: the manager's.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "vidmm/place.h"
#include "vidmm/table_states.h"

static void requested_free(struct table_request *request)
{
	struct list *link;

	while ((link = list_pop_front(&request->blocks)))
		mem_free(table_block_of(link));
}

static NTSTATUS requested_create(struct table_request *request, struct table_block_want blocks[],
				 uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct vidmm_table_block *block = table_block_create(
			request->process->manager, request->process, blocks[i].segment,
			blocks[i].size_bytes, blocks[i].align_bytes);

		if (!block) {
			requested_free(request);
			return STATUS_NO_MEMORY;
		}
		blocks[i].memory.block = block;
		list_push_back(&request->blocks, &block->tables_link);
	}
	return STATUS_SUCCESS;
}

/* With success its blocks were placed, and are its process's. */
void table_request_answer_locked(struct table_request *request, NTSTATUS status)
{
	struct vidmm_process *process = request->process;
	struct list *link;

	lock_assert_held(&process->manager->lock);
	list_remove(&request->waiter.link);
	while (NT_SUCCESS(status) && (link = list_pop_front(&request->blocks))) {
		list_push_back(&process->manager->blocks, &table_block_of(link)->link);
		list_push_back(&process->tables.blocks, link);
	}
	request->status = status;
	vidmm_tables_hold(process);
	process->manager->plan.has_changes = true;
	atomic_store(&request->is_answered, true); /* the last look at it */
}

static NTSTATUS request_wait(struct table_request *request)
{
	struct vidmm *manager = request->process->manager;

	lock_acquire(&manager->lock);
	vidmm_tables_release(request->process);
	list_push_back(&manager->waiters, &request->waiter.link);
	decide_unlock(manager);
	notice_wait_until(&manager->changed, &request->is_answered);
	return request->status;
}

NTSTATUS vidmm_tables_await(struct vidmm_process *process, struct table_block_want blocks[],
			    uint32_t count)
{
	struct table_request request = { .waiter.kind = VIDMM_WAITER_TABLES, .process = process };

	if (LIKELY(count == 0 && vidmm_tables_are_in(process)))
		return STATUS_SUCCESS;
	list_init(&request.blocks);
	NTSTATUS status = requested_create(&request, blocks, count);
	if (!NT_SUCCESS(status))
		return status;
	status = request_wait(&request);
	if (!NT_SUCCESS(status)) {
		requested_free(&request);
		if (status == STATUS_NO_MEMORY)
			return refuse_no_memory("There is no memory for a page table");
		return refuse(status, RULE_MM_TABLE_ROOM, NULL,
			      "page tables have no room where the driver wants them, and nothing "
			      "more can be evicted for them");
	}
	for (uint32_t i = 0; i < count; i++) {
		blocks[i].memory = table_block_where(blocks[i].memory.block);
		blocks[i].is_taken = true;
	}
	return STATUS_SUCCESS;
}
