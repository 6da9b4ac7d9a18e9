/* SPDX-License-Identifier: MIT */
/*
 * crooked_paging.c - the kernel's half of paging in crooked.h: operations, the buffer, page tables.
 */
#include "crooked_driver.h"

#include "base/machine.h"

enum { PAGE = 4096 };

/* ---- the buffer ---- */

void crooked_fresh_buffer(struct crooked *gpu)
{
	if (!gpu->buffer.memory) {
		EXPECT_EQ(machine_alloc_contiguous(CROOKED_BUFFER_BYTES + PAGE, 0, 0, UINT64_MAX, 0,
						   &gpu->buffer.physical_address),
			  STATUS_SUCCESS);
		gpu->buffer.memory = machine_to_pointer(gpu->buffer.physical_address);
		gpu->buffer.size_bytes = CROOKED_BUFFER_BYTES;
		gpu->buffer.gpu_address =
			gpu->miniport.info.supports_gpu_mmu ? UINT64_C(0x300000) : 0;
		gpu->buffer.private_data = calloc(1, 64);
		gpu->buffer.private_bytes = 64;
	}
	gpu->buffer.used_bytes = 0;
	gpu->buffer.private_used_bytes = 0;
}

void crooked_submit(struct crooked *gpu)
{
	bool is_virtual = gpu->miniport.info.supports_gpu_mmu;
	struct miniport_submission submission = {
		.fence = ++gpu->fence,
		.is_paging = true,
		.gpu_address = gpu->buffer.gpu_address,
		.size_bytes = gpu->buffer.used_bytes,
		.physical_address = gpu->buffer.physical_address,
		.memory = gpu->buffer.memory,
		.buffer_bytes = gpu->buffer.size_bytes,
		.end_bytes = gpu->buffer.used_bytes,
	};

	EXPECT_EQ(miniport_submit(&gpu->miniport, is_virtual, &submission), STATUS_SUCCESS);
}

void crooked_complete(struct crooked *gpu)
{
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = { .InterruptType = DXGK_INTERRUPT_DMA_COMPLETED };

	crooked_execute(gpu);
	data.DmaCompleted.SubmissionFenceId = gpu->fence;
	crooked_interrupt(gpu, &data);
	crooked_fresh_buffer(gpu);
}

void crooked_run(struct crooked *gpu)
{
	crooked_submit(gpu);
	crooked_complete(gpu);
}

NTSTATUS crooked_build(struct crooked *gpu, struct miniport_paging_op op)
{
	bool is_now = op.kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE &&
		      op.update_table.mode == MINIPORT_TABLE_CPU_VIRTUAL;
	struct miniport_paging_buffer nowhere = { 0 };
	NTSTATUS status;

	gpu->multipass = 0;
	gpu->passes_left = gpu->passes;
	do {
		status = miniport_build_paging(&gpu->miniport, &op,
					       is_now ? &nowhere : &gpu->buffer, &gpu->multipass);
		if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER && gpu->buffer.used_bytes > 0)
			crooked_run(gpu);
		if (status == STATUS_GRAPHICS_ALLOCATION_BUSY && !op.is_idle) {
			op.is_idle = true;
			status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
		}
	} while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	return status;
}

/* ---- places ---- */

struct miniport_location crooked_place(uint32_t segment, uint64_t page)
{
	return (struct miniport_location){ .segment = segment, .offset_bytes = page * PAGE };
}

struct miniport_location crooked_place_system(struct crooked *gpu, uint64_t page, uint64_t count)
{
	struct miniport_page_run run = { crooked_pfn(gpu, page), count };
	struct miniport_location place = { .segment = 0 };

	EXPECT(gpu->mdl_count < CROOKED_MDLS);
	EXPECT_EQ(miniport_mdl_create(&run, 1, &place.mdl), STATUS_SUCCESS);
	gpu->mdls[gpu->mdl_count++] = place.mdl;
	return place;
}

struct miniport_location crooked_place_at(uint64_t address)
{
	return (struct miniport_location){ .gpu_address = address };
}

void crooked_transfer(struct crooked *gpu, void *allocation, struct miniport_location from,
		      struct miniport_location to, uint64_t pages)
{
	bool is_virtual = from.gpu_address != 0;
	struct miniport_paging_op op = {
		.kind = is_virtual ? MINIPORT_PAGING_VIRTUAL_TRANSFER : MINIPORT_PAGING_TRANSFER,
		.subject.driver_allocation = allocation,
		.source = from,
		.target = to,
		.size_bytes = pages * PAGE,
		.transfer = { .is_start = true, .is_end = true },
	};

	if (crooked_build(gpu, op) == STATUS_SUCCESS)
		crooked_run(gpu);
}

void crooked_fill(struct crooked *gpu, void *allocation, struct miniport_location to,
		  uint64_t pages, uint32_t pattern)
{
	struct miniport_paging_op op = {
		.kind = to.gpu_address != 0 ? MINIPORT_PAGING_VIRTUAL_FILL : MINIPORT_PAGING_FILL,
		.subject.driver_allocation = allocation,
		.target = to,
		.size_bytes = pages * PAGE,
		.fill.pattern = pattern,
	};

	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	crooked_run(gpu);
}

/* ---- page tables ---- */

struct miniport_pte crooked_entry(uint32_t segment, uint64_t page)
{
	return (struct miniport_pte){ .page = page, .segment = (uint8_t)segment, .is_valid = true };
}

void crooked_update(struct crooked *gpu, const struct crooked_update *update)
{
	struct miniport_paging_op op = {
		.kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE,
		.subject.driver_allocation = update->allocation,
		.target = { .segment = 1,
			   .offset_bytes = update->table * PAGE,
			   .pointer = crooked_local(gpu, update->table) },
		.update_table = {
			.level = update->level,
			.mode = update->mode,
			.entries = update->entries,
			.first_index = update->first,
			.count = update->count,
			.is_repeated = update->is_repeated,
			.is_initial = update->is_initial,
			.is_run = update->is_run,
			.driver_process = update->process,
			.first_address = update->address,
		},
	};

	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	if (gpu->buffer.used_bytes > 0)
		crooked_run(gpu);
}

void crooked_space(struct crooked *gpu, void *process)
{
	static const struct miniport_pte invalid;

	crooked_process(gpu, process, true);
	for (uint64_t i = 0; i < 2; i++) {
		gpu->leaves[i] = gpu->local + (CROOKED_PAGES - 2 + i) * PAGE;
		crooked_update(gpu, &(struct crooked_update){
					    .table = CROOKED_PAGES - 2 + i,
					    .count = 512,
					    .entries = &invalid,
					    .is_repeated = true,
					    .is_initial = true,
					    .mode = MINIPORT_TABLE_CPU_VIRTUAL,
					    .process = process,
					    .address = i << 21,
				    });
	}
}

void crooked_map(struct crooked *gpu, void *process, uint64_t address, struct miniport_pte first,
		 uint32_t count)
{
	crooked_update(gpu, &(struct crooked_update){
				    .table = CROOKED_PAGES - 2 + (address >> 21),
				    .first = (uint32_t)(address >> 12) % 512,
				    .count = count,
				    .entries = &first,
				    .is_run = true,
				    .mode = MINIPORT_TABLE_GPU_PHYSICAL,
				    .process = process,
				    .address = address,
			    });
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_FLUSH_TLB,
					.flush_tlb = { .driver_process = process } }),
		  STATUS_SUCCESS);
	crooked_run(gpu);
}
