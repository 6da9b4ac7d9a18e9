/* SPDX-License-Identifier: MIT */
/*
 * driver.c - the pager's driver is a miniport.
 */
#include "paging/pager.h"

static NTSTATUS build(void *driver, const struct miniport_paging_op *op,
		      struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	return miniport_build_paging(driver, op, buffer, multipass);
}

static NTSTATUS submit(void *driver, const struct sched_submission *how,
		       const struct miniport_paging_buffer *buffer, uint32_t start_bytes,
		       uint32_t end_bytes, uint32_t private_start_bytes, uint32_t private_end_bytes)
{
	struct miniport *miniport = driver;
	bool is_virtual = miniport_submits_virtually(miniport, buffer->gpu_address != 0);
	const struct miniport_submission submission = {
		.driver_context = buffer->driver_context,
		.node = how->node,
		.fence = how->fence,
		.is_paging = true,
		.is_resubmission = how->is_resubmission,
		.gpu_address = buffer->gpu_address ? buffer->gpu_address + start_bytes : 0,
		.size_bytes = end_bytes - start_bytes,
		.physical_address = buffer->physical_address,
		.memory = buffer->memory,
		.buffer_bytes = buffer->size_bytes,
		.start_bytes = start_bytes,
		.end_bytes = end_bytes,
		.private_data = buffer->private_data,
		.private_bytes = buffer->private_bytes,
		.private_start_bytes = private_start_bytes,
		.private_end_bytes = private_end_bytes,
	};
	NTSTATUS status = STATUS_SUCCESS;

	/* There is nothing to patch; but that is where a driver may finish what it submits. */
	if (!is_virtual)
		status = miniport_patch(miniport,
					&(struct miniport_patch){ .submission = &submission });
	return NT_SUCCESS(status) ? miniport_submit(miniport, is_virtual, &submission) : status;
}

static NTSTATUS create_mdl(void *driver, const struct miniport_page_run *runs, uint32_t run_count,
			   struct miniport_mdl **mdl_out)
{
	return miniport_mdl_create(runs, run_count, mdl_out);
}

static void destroy_mdl(void *driver, struct miniport_mdl *mdl)
{
	miniport_mdl_destroy(mdl);
}

static void set_root(void *driver, void *driver_context, uint32_t segment, uint64_t offset_bytes,
		     uint32_t entry_count)
{
	struct miniport *miniport = driver;

	miniport_set_root_page_table(
		miniport, driver_context ? driver_context : miniport_system_context(miniport),
		segment, offset_bytes, entry_count);
}

static uint64_t root_bytes(void *driver, uint32_t *entry_count)
{
	return miniport_root_page_table_bytes(driver, entry_count);
}

const struct pager_driver_ops pager_miniport_ops = {
	.build = build,
	.submit = submit,
	.create_mdl = create_mdl,
	.destroy_mdl = destroy_mdl,
	.set_root = set_root,
	.root_bytes = root_bytes,
};
