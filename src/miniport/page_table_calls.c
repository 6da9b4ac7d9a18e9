/* SPDX-License-Identifier: MIT */
/*
 * page_table_calls.c - root page tables, and the window through which the CPU sees memory that it
 * cannot see otherwise (work.h).
 */
#include "base/refusal.h"
#include "miniport/guard.h"
#include "miniport/internal.h"
#include "miniport/work.h"

void miniport_set_root_page_table(struct miniport *miniport, void *driver_context, uint32_t segment,
				  uint64_t offset_bytes, uint32_t entry_count)
{
	DXGKARG_SETROOTPAGETABLE args = {
		.hContext = driver_context,
		.Address = { .SegmentId = segment, .SegmentOffset = offset_bytes },
		.NumEntries = entry_count,
	};
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiSetRootPageTable)
		return;
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_SET_ROOT_PAGE_TABLE);
	ddi_note(&crossing, miniport->context, &args);
	miniport->ddi.DxgkDdiSetRootPageTable(miniport->context, &args);
	ddi_leave_void(&crossing);
}

uint64_t miniport_root_page_table_bytes(struct miniport *miniport, uint32_t *entry_count)
{
	DXGKARG_GETROOTPAGETABLESIZE args = { .NumberOfPte = *entry_count };
	struct ddi_crossing crossing;
	struct guard guard;

	if (!miniport->ddi.DxgkDdiGetRootPageTableSize)
		return 0;
	guard_open(&guard, &args, sizeof(args));
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_GET_ROOT_PAGE_TABLE_SIZE);
	ddi_note(&crossing, miniport->context, &args);
	SIZE_T size_bytes =
		miniport->ddi.DxgkDdiGetRootPageTableSize(miniport->context, guard.memory);
	guard_close(&guard, "DxgkDdiGetRootPageTableSize", NULL);
	ddi_leave_void(&crossing);

	/* A table of fewer entries than asked for would be of no use, and a driver that does not
	   touch the number means that it fits. */
	if (args.NumberOfPte > *entry_count)
		*entry_count = args.NumberOfPte;
	return size_bytes;
}

NTSTATUS miniport_map_host_aperture(struct miniport *miniport, void *driver_allocation,
				    uint32_t segment, uint64_t page_count,
				    const uint32_t *aperture_pages, const uint64_t *segment_pages)
{
	DXGKARG_MAPCPUHOSTAPERTURE args = {
		.hAllocation = driver_allocation,
		.SegmentId = (WORD)segment,
		.NumberOfPages = page_count,
		.pCpuHostAperturePages = (UINT32 *)aperture_pages,
		.pMemorySegmentPages = (UINT64 *)segment_pages,
	};
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiMapCpuHostAperture)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING,
			      "DxgkDdiMapCpuHostAperture",
			      "is missing: no segment has a CPU host aperture");
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_MAP_CPU_HOST_APERTURE);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiMapCpuHostAperture(miniport->context, &args);
	status = ddi_leave(&crossing, status);
	if (status != STATUS_SUCCESS)
		nt_report(
			RULE_DDI_STATUS_HOSTAPERTURE,
			"DxgkDdiMapCpuHostAperture returned %s%s: what is in GPU memory cannot be "
			"seen",
			status_name(status), ddi_said().text);
	return status;
}

void miniport_unmap_host_aperture(struct miniport *miniport, uint32_t segment, uint64_t page_count,
				  const uint32_t *aperture_pages)
{
	DXGKARG_UNMAPCPUHOSTAPERTURE args = {
		.NumberOfPages = page_count,
		.pCpuHostAperturePages = (UINT32 *)aperture_pages,
		.SegmentId = (WORD)segment,
	};
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiUnmapCpuHostAperture)
		return;
	ddi_enter(&crossing, miniport, &miniport->system_client, DDI_UNMAP_CPU_HOST_APERTURE);
	ddi_note(&crossing, miniport->context, &args);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiUnmapCpuHostAperture(miniport->context, &args));
}

/* ---- the kernel's own ---- */

void *miniport_system_context(const struct miniport *miniport)
{
	return miniport->system_context.driver_context;
}

void *miniport_system_process(const struct miniport *miniport)
{
	return miniport->system_process;
}
