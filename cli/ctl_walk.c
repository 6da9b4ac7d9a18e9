/* SPDX-License-Identifier: MIT */
/*
 * ctl_walk.c - dxgk ctl walk: the way of one GPU address through the page tables, level by level.
 *
 * Asks for what the tables look like, then for one entry of each level from the root down; an entry
 * says where the next table is.
 */
#include <inttypes.h>
#include <stdio.h>

#include <dxg/d3dkmthk.h>

#include "cli/ctl.h"

enum { PAGE_SHIFT = 12, WIDE_SHIFT = 16 };

static bool ask(const struct control_client *client, D3DKMT_VIDMM_ESCAPE *args,
		D3DKMT_VAD_ESCAPE_COMMAND command)
{
	args->Type = D3DKMT_VIDMMESCAPETYPE_GET_VAD_INFO;
	args->GetVads.Command = command;
	return ctl_escape(client, "walk", D3DKMT_ESCAPE_VIDMM, args, sizeof(*args));
}

static void print_entry(uint32_t level, uint32_t index, bool is_wide, const DXGK_PTE *entry)
{
	printf("  level %u  index %5u  ", level, index);
	if (entry->Zero) {
		printf("zero\n");
		return;
	}
	if (!entry->Valid) {
		printf("invalid\n");
		return;
	}
	printf("%s%s of segment %u at 0x%" PRIx64 "%s%s%s\n",
	       entry->LargePage ? "large page"
	       : level > 0      ? "table"
				: "page",
	       is_wide                    ? " of 64 KiB"
	       : entry->PageTablePageSize ? " of 64 KiB pages"
					  : "",
	       (unsigned)entry->Segment, (uint64_t)entry->PageAddress << PAGE_SHIFT,
	       entry->ReadOnly ? ", read-only" : "", entry->NoExecute ? ", no-execute" : "",
	       entry->CacheCoherent ? ", coherent" : "");
}

static void print_end(uint64_t address, uint32_t level, uint64_t page_bytes, const DXGK_PTE *entry)
{
	uint64_t offset = address & (page_bytes - 1);

	if (entry->Zero)
		printf("ends at level %u: reads as zeroes\n", level);
	else if (!entry->Valid)
		printf("ends at level %u: nothing is there\n", level);
	else
		printf("ends at level %u: %s 0x%" PRIx64 "\n", level,
		       entry->Segment ? "in its segment at" : "in system memory at",
		       ((uint64_t)entry->PageAddress << PAGE_SHIFT) + offset);
}

/* One level; false when there is no table any more, or no answer. `is_wide`: of 64 KiB pages. */
static bool read_entry(const struct control_client *client, const uint32_t *path, uint32_t level,
		       bool is_wide, DXGK_PTE *entry, int *exit_status)
{
	D3DKMT_VIDMM_ESCAPE args = { 0 };

	args.GetVads.GetPte.PageTableLevel = level;
	args.GetVads.GetPte.NumPtes = 1;
	args.GetVads.GetPte.b64KBPte = is_wide;
	for (uint32_t i = 0; i < DXGK_MAX_PAGE_TABLE_LEVEL_COUNT; i++)
		args.GetVads.GetPte.PageTableIndex[i] = path[i];
	if (is_wide)
		args.GetVads.GetPte.PageTableIndex[0] >>= WIDE_SHIFT - PAGE_SHIFT;
	if (!ask(client, &args, D3DKMT_VAD_ESCAPE_GET_PTE)) {
		*exit_status = CTL_FAILED;
		return false;
	}
	*entry = args.GetVads.GetPte.Pte[0];
	if (args.GetVads.GetPte.NumPtes == 0 && !is_wide)
		printf("  level %u  no table\nends at level %u: nothing is there\n", level, level);
	return args.GetVads.GetPte.NumPtes > 0;
}

/* Of two leaf tables the one of 64 KiB pages goes first, where it says anything. */
static bool is_in_wide_leaf(const struct control_client *client, const uint32_t *path,
			    const DXGK_ESCAPE_GPUMMUCAPS *caps, const DXGK_PTE *above)
{
	int exit_status = 0;
	DXGK_PTE entry;

	if (!caps->DualPteSupported)
		return above->PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_64KB;
	return read_entry(client, path, 1, true, &entry, &exit_status) && entry.Valid &&
	       read_entry(client, path, 0, true, &entry, &exit_status) &&
	       (entry.Valid || entry.Zero);
}

static int walk(const struct control_client *client, uint64_t address,
		const DXGK_ESCAPE_GPUMMUCAPS *caps)
{
	uint32_t path[DXGK_MAX_PAGE_TABLE_LEVEL_COUNT] = { 0 };
	bool is_wide = false;
	int exit_status = 0;

	for (uint32_t level = 0; level < caps->PageTableLevelCount; level++) {
		const D3DKMT_PAGE_TABLE_LEVEL_DESC *shape = &caps->PageTableLevelDesk[level];

		path[level] = (uint32_t)((address & shape->IndexMask) >> shape->IndexShift);
	}
	printf("address 0x%" PRIx64 ", %u levels\n", address, caps->PageTableLevelCount);
	for (uint32_t level = caps->PageTableLevelCount; level-- > 0;) {
		uint64_t entry_pages = caps->PageTableLevelDesk[level].EntryCoverageInPages;
		DXGK_PTE entry;

		if (!read_entry(client, path, level, is_wide, &entry, &exit_status))
			return exit_status;
		print_entry(level, is_wide ? path[0] >> (WIDE_SHIFT - PAGE_SHIFT) : path[level],
			    is_wide, &entry);
		if (level == 0 || !entry.Valid || entry.Zero || entry.LargePage) {
			print_end(address, level,
				  is_wide ? UINT64_C(1) << WIDE_SHIFT : entry_pages << PAGE_SHIFT,
				  &entry);
			break;
		}
		if (level == 1)
			is_wide = is_in_wide_leaf(client, path, caps, &entry);
	}
	return 0;
}

int ctl_walk(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { 0 };
	uint64_t address;

	if (!ctl_number(arguments[0], &address))
		return ctl_complain("walk", arguments[0]);
	if (!ask(client, &args, D3DKMT_VAD_ESCAPE_GET_GPUMMU_CAPS))
		return CTL_FAILED;
	const DXGK_ESCAPE_GPUMMUCAPS caps = args.GetVads.GetGpuMmuCaps.GpuMmuCaps;
	if (caps.VirtualAddressBitCount < 64 && address >> caps.VirtualAddressBitCount != 0) {
		fprintf(stderr, "dxgk ctl: walk: addresses have %u bits\n",
			caps.VirtualAddressBitCount);
		return CTL_FAILED;
	}
	return walk(client, address, &caps);
}
