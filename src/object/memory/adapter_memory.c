/* SPDX-License-Identifier: MIT */
/*
 * adapter_memory.c - see adapter_memory.h.
 *
 * The pager takes room for its own page tables from the manager, and the manager moves memory by
 * the pager: the manager is made first and told of the pager afterwards.
 */
#include "base/checked.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/work.h"
#include "object/memory/adapter_memory.h"
#include "object/owner/device.h"
#include "object/memory/memory_sizes.h"
#include "object/owner/notification.h"
#include "object/owner/process.h"
#include "address_space/address_space.h"
#include "vidmm/manager.h"
#include "address_space/mappings.h"
#include "vidmm/table_block.h"
#include "vidmm/table_states.h"

/* ---- what the manager tells ---- */

static void device_starved(void *listener, struct vidmm_device *memory)
{
	device_lose(container_of(memory, struct dxg_device, memory), DEVICE_OUT_OF_MEMORY, NULL);
}

static void trim(void *listener, struct vidmm_process *process, uint32_t flags,
		 uint64_t bytes_to_trim)
{
	(void)bytes_to_trim; /* asked for again when it is told */
	notification_post_trim(process, flags);
}

static void budget_changed(void *listener, struct vidmm_process *process, enum vidmm_group group,
			   uint64_t budget_bytes)
{
	notification_post_budget(process, group);
}

static void lost(void *listener, struct vidmm_process *process)
{
	notification_post_loss(process);
}

static const struct vidmm_listener listener = {
	.trim = trim,
	.budget_changed = budget_changed,
	.device_starved = device_starved,
	.adapter_lost = lost,
};

static NTSTATUS open_window(void *context, bool is_call, void *driver_allocation, uint32_t segment,
			    uint64_t count, const uint32_t aperture_pages[],
			    const uint64_t segment_pages[])
{
	struct dxg_adapter *adapter = context;
	NTSTATUS status = is_call ? adapter_enter(adapter) : STATUS_SUCCESS;

	if (!NT_SUCCESS(status))
		return status;
	status = miniport_map_host_aperture(adapter->miniport, driver_allocation, segment, count,
					    aperture_pages, segment_pages);
	if (is_call)
		adapter_leave(adapter);
	return status;
}

/* Also of what is destroyed, by who is in the gate already. */
static void close_window(void *context, uint32_t segment, uint64_t count,
			 const uint32_t aperture_pages[])
{
	const struct dxg_adapter *adapter = context;

	miniport_unmap_host_aperture(adapter->miniport, segment, count, aperture_pages);
}

static const struct vidmm_window_ops windows = { open_window, close_window };

/* ---- the manager ---- */

enum { MMU_HAS_LARGE = 1 << 6, MMU_HAS_UNALIGNED = 1 << 8 }; /* of DXGK_GPUMMUCAPS */

/* An entry of a level above the leaves shows what a table below it covers, from a multiple of that
 * on. */
static void describe_large_pages(const struct miniport_gpu_mmu *mmu,
				 struct vidmm_segment_config *config)
{
	uint32_t shift = 0;

	if (!(mmu->flags & MMU_HAS_LARGE) || (mmu->flags & MMU_HAS_UNALIGNED) ||
	    config->is_aperture || config->is_implicit_system)
		return;
	for (uint32_t level = 0; level + 1 < mmu->level_count; level++) {
		shift += mmu->levels[level].index_bits;
		config->large_pages[level] = UINT64_C(1) << shift;
	}
}

/* What is no memory of the machine shows the CPU nothing. */
static uint64_t window_pages(const struct miniport_segment *segment)
{
	uint64_t page_bytes = segment->uses_64k_pages ? 0x10000 : MACHINE_PAGE_BYTES;

	if (!segment->has_cpu_host_aperture ||
	    !is_aligned(segment->cpu_host_aperture_address, MACHINE_PAGE_BYTES) ||
	    !machine_is_memory(segment->cpu_host_aperture_address,
			       segment->cpu_host_aperture_pages * page_bytes))
		return 0;
	return segment->cpu_host_aperture_pages;
}

static struct vidmm_segment_config segment_of(const struct miniport_segment *segment)
{
	return (struct vidmm_segment_config){
		.size_bytes = segment->size_bytes,
		.commit_limit_bytes = segment->commit_limit_bytes,
		.cpu_address = segment->cpu_translated_address,
		.window_address = segment->cpu_host_aperture_address,
		.window_pages = window_pages(segment),
		.window_is_cached = segment->has_cached_cpu_host_aperture,
		.is_aperture = segment->is_aperture,
		.is_implicit_system = segment->is_implicit_system,
		.is_cpu_visible = segment->is_cpu_visible,
		.is_cache_coherent = segment->is_cache_coherent,
		.uses_64k_pages = segment->uses_64k_pages,
		.group = segment->is_local ? VIDMM_LOCAL : VIDMM_NON_LOCAL,
		.is_budgeted = segment->is_budgeted,
		.bank_count = segment->bank_count,
		.bank_ends = segment->bank_ends,
	};
}

/* The ones the driver reported, and the one behind them that the kernel adds. */
static uint32_t segment_count(const struct miniport_info *info)
{
	return info->segment_count + (info->implicit_system_segment_id != 0);
}

static NTSTATUS start_manager(struct dxg_adapter *adapter)
{
	const struct miniport_info *info = adapter->info;
	struct vidmm_segment_config segments[VIDMM_MAX_SEGMENTS];
	struct memory_sizes sizes;

	memory_sizes_compute(info, machine_size_bytes(), &sizes);
	struct vidmm_config config = {
		.adapter_id = adapter->id,
		.policy = adapter->eviction,
		.segment_count = segment_count(info),
		.segments = segments,
		.has_gpu_mmu = info->supports_gpu_mmu,
		.is_residency_by_lists = info->wddm_version < 2000,
		.group_bytes = { [VIDMM_LOCAL] = sizes.local_bytes,
				 [VIDMM_NON_LOCAL] = sizes.non_local_bytes },
		.aperture_commit_limit_bytes = info->aperture_commit_limit_bytes,
		.dummy_page_address = adapter->dummy_page_address,
		.mdls = { miniport_mdl_create, miniport_mdl_destroy },
		.mappings = info->supports_gpu_mmu ? &vidmm_table_mappings : NULL,
		.windows = &windows,
		.windows_context = adapter,
		.listener = listener,
		.listener_context = adapter,
	};

	adapter->account.highest_address = info->highest_acceptable_address;
	for (uint32_t i = 0; i < config.segment_count; i++) {
		segments[i] = segment_of(&info->segments[i]);
		if (info->supports_gpu_mmu)
			describe_large_pages(&info->gpu_mmu, &segments[i]);
	}
	return vidmm_create(&config, &adapter->memory);
}

static void forget_tables(void *context)
{
	const struct dxg_adapter *adapter = context;

	if (adapter->tables)
		address_spaces_forget(adapter->tables);
}

static NTSTATUS start_pager(struct dxg_adapter *adapter)
{
	const struct miniport_info *info = adapter->info;
	const struct pager_config config = {
		.buffer_bytes = info->paging_buffer_size_bytes,
		.buffer_guard_bytes = info->buffer_guard_bytes,
		.buffer_private_bytes = info->paging_buffer_private_bytes,
		.node = info->paging_node,
		.gpu_mmu = info->supports_gpu_mmu ? &info->gpu_mmu : NULL,
		.implicit_system_segment = info->implicit_system_segment_id,
		.driver_process = miniport_system_process(adapter->miniport),
		.take_table = vidmm_take_table,
		.give_table = vidmm_give_table,
		.memory = adapter->memory,
		.table_windows = vidmm_table_windows,
		.forget = forget_tables,
		.forget_context = adapter,
	};
	struct pager *pager = NULL;
	NTSTATUS status = pager_create(&config, &pager_miniport_ops, adapter->miniport,
				       &adapter->system_work, &pager);

	if (!NT_SUCCESS(status))
		return status;
	vidmm_set_pager(adapter->memory, pager);
	/* A reset, which may come any moment, takes the memory along from here on. */
	atomic_store(&adapter->pager, pager);
	/* Its own tables are written by the GPU; then an idle pager has nothing to do. */
	pager_flush(pager);
	return STATUS_SUCCESS;
}

static uint64_t root_bytes(void *driver, uint32_t *entry_count)
{
	return miniport_root_page_table_bytes(driver, entry_count);
}

static void set_root(void *driver, void *driver_context, const struct page_tables_root *root)
{
	miniport_set_root_page_table(driver, driver_context, root->segment, root->offset_bytes,
				     root->entry_count);
}

static NTSTATUS start_tables(struct dxg_adapter *adapter)
{
	const struct miniport_info *info = adapter->info;

	if (!info->supports_gpu_mmu)
		return STATUS_SUCCESS;
	adapter->tables = mem_zalloc(sizeof(*adapter->tables));
	if (!adapter->tables)
		return STATUS_NO_MEMORY;
	*adapter->tables = (struct page_tables_config){
		.mmu = info->gpu_mmu,
		.implicit_system_segment = info->implicit_system_segment_id,
		.segments_of_64k_pages = info->segments_of_64k_pages,
		.take_block = vidmm_take_block,
		.give_block = vidmm_give_table,
		.room_left = vidmm_room_left,
		.memory = adapter->memory,
		.find_block = vidmm_find_block,
		.hold = vidmm_tables_hold,
		.release = vidmm_tables_release,
		.await = vidmm_tables_await,
		.root_bytes = root_bytes,
		.set_root = set_root,
		.driver = adapter->miniport,
		.look = vidmm_look,
		.failed = address_space_tables_failed,
	};
	NTSTATUS status = page_tables_config_init(adapter->tables);
	if (!NT_SUCCESS(status))
		return status;
	return worker_init(&adapter->root_update_worker, "page table roots");
}

static void finish_tables(struct dxg_adapter *adapter)
{
	if (!adapter->tables)
		return;
	worker_finish(&adapter->root_update_worker);
	page_tables_config_finish(adapter->tables);
	mem_free(adapter->tables);
	adapter->tables = NULL;
}

NTSTATUS adapter_memory_start(struct dxg_adapter *adapter)
{
	NTSTATUS status = machine_alloc_contiguous(MACHINE_PAGE_BYTES, 0, 0,
						   adapter->info->highest_acceptable_address, 0,
						   &adapter->dummy_page_address);

	if (NT_SUCCESS(status))
		status = start_manager(adapter);
	if (NT_SUCCESS(status))
		status = start_tables(adapter);
	if (NT_SUCCESS(status))
		status = start_pager(adapter);
	if (!NT_SUCCESS(status))
		refuse(status, RULE_MM_START, NULL,
		       "the memory of adapter %u cannot be managed: %s", adapter->id,
		       status_name(status));
	return status;
}

void adapter_memory_stop(struct dxg_adapter *adapter)
{
	pager_stop(adapter->pager);
}

void adapter_memory_finish(struct dxg_adapter *adapter)
{
	finish_tables(adapter);
	pager_destroy(adapter->pager);
	vidmm_destroy(adapter->memory);
	if (adapter->dummy_page_address != MACHINE_NOWHERE)
		(void)!machine_free_contiguous(adapter->dummy_page_address);
	atomic_store(&adapter->pager, NULL);
	adapter->memory = NULL;
	adapter->dummy_page_address = MACHINE_NOWHERE;
}

/* ---- resets ---- */

void adapter_memory_reset_begins(struct dxg_adapter *adapter)
{
	pager_suspend(adapter->pager);
}

void adapter_memory_was_reset(struct dxg_adapter *adapter)
{
	vidmm_reset(adapter->memory);
}

void adapter_memory_reset_ended(struct dxg_adapter *adapter)
{
	vidmm_windows_reopen(adapter->memory); /* the pager writes its tables through them */
	pager_restart(adapter->pager);
}

void adapter_memory_lost(struct dxg_adapter *adapter)
{
	pager_give_up(adapter->pager);
	vidmm_give_up(adapter->memory);
}
