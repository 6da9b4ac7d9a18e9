/* SPDX-License-Identifier: MIT */
/*
 * tables_faults.c - a page fault is where the page tables allow no access. One that they allow was made by what the hardware
 * had of them before: another root, or where the address led then (tables.h).
 */
#include "verify/blame.h"
#include "verify/tables.h"

struct fault {
	struct shadow *shadow;
	uint64_t address;
	uint64_t since; /* how far page tables were when the packet was submitted */
	bool is_write;
};

static enum tables_walk walk(const struct fault *fault, shadow_page root, uint32_t root_entries)
{
	return tables_entries_walk(tables_entries_of(fault->shadow), fault->shadow, root,
				   root_entries, fault->address, fault->is_write, fault->since);
}

static void report(const struct fault *fault, const struct shadow_context *context, bool is_anew)
{
	unsigned long long address = fault->address;

	if (walk(fault, context->root_before, context->root_entries_before) == TABLES_INVALID)
		nt_report(
			RULE_DDI_PT_ROOT,
			"A fault was reported at address 0x%llx, which is mapped by the root page "
			"table of its context, and was not by the one before",
			address);
	else if (is_anew)
		blame(fault->shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_TLB,
		      "A fault was reported at address 0x%llx, which may be %s; it led elsewhere "
		      "before the last FLUSH_TLB",
		      address, fault->is_write ? "written" : "read");
	else
		nt_report(
			RULE_DDI_PT_INVALID,
			"A fault was reported at address 0x%llx, which may be %s: the page tables "
			"of its context say so since before it was submitted",
			address, fault->is_write ? "written" : "read");
}

void tables_faulted(struct shadow *shadow, const struct shadow_packet *packet,
		    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	uint64_t flags = (uint64_t)data->DmaPageFaulted.PageFaultFlags;
	const struct fault fault = { .shadow = shadow,
				     .address = data->DmaPageFaulted.FaultedVirtualAddress,
				     .since = packet->table_changes,
				     .is_write = (flags & DXGK_PAGE_FAULT_WRITE) != 0 };
	struct shadow_context at = { 0 };

	lock_acquire(&shadow->lock);
	const struct shadow_context *context = map_get_pointer(&shadow->contexts, packet->context);
	if (context)
		at = *context;
	lock_release(&shadow->lock);
	if (flags & (DXGK_PAGE_FAULT_IOMMU | DXGK_PAGE_FAULT_FATAL_HARDWARE_ERROR))
		return;
	enum tables_walk found = walk(&fault, at.root, at.root_entries);
	if (found == TABLES_VALID || found == TABLES_VALID_ANEW)
		report(&fault, &at, found == TABLES_VALID_ANEW);
}
