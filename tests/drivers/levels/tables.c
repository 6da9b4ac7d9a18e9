/* SPDX-License-Identifier: MIT */
/*
 * tables.c - see tables.h.
 *
 * A place in memory is its segment and page in one number; 0 is none that is known. There is room for
 * a bounded number of tables. Where that is not enough, or something cannot be followed,
 * nothing is known, and nothing is complained about.
 */
#include "tables.h"
#include "inside.h"

enum {
	PAGE_BITS = 12,
	WIDE_PAGES = 16, /* of a page of 64 KiB */
	SLOTS = 1 << 16,
	PAGING_PAGES = 1 << 18, /* 1 GiB of the paging process */
	SEGMENTS = 32,
	USERS = 1024,
};

static const char *const build = "DxgkDdiBuildPagingBuffer";
static const char *const set_root = "DxgkDdiSetRootPageTable";
static const char *const submission = "A submission";

static volatile LONG is_locked;

/* Guarded by is_locked. */
static struct slot {
	ULONGLONG place; /* 0: nobody's */
	enum { NO_TABLE, TABLE, LOST_TABLE } state;
} slots[SLOTS];
static ULONG used_slots;
static ULONGLONG paging_pages[PAGING_PAGES];
static struct {
	bool is_memory;
	ULONGLONG first; /* for the CPU; 0: it does not see it */
	ULONGLONG size_bytes;
} segments[SEGMENTS]; /* [0] is none */
static UINT segment_count;
static struct user {
	HANDLE name;    /* NULL: nobody's */
	HANDLE context; /* of a hardware queue; NULL: it is a context */
	ULONGLONG root;
	bool is_kernels; /* only what the kernel generates runs in it */
} users[USERS];
static HANDLE paging_context; /* the kernel's own: the first of those */
static bool is_full;
static HANDLE paging_process;
static bool has_paging_process;
static bool has_tables;
static bool believes_no_root;
static ULONGLONG update_count;
static ULONGLONG submission_count;

static void lock(void)
{
	while (InterlockedExchange(&is_locked, 1) != 0)
		;
}

static void unlock(void)
{
	InterlockedExchange(&is_locked, 0);
}

/* ---- places ---- */

static ULONGLONG place_of(UINT segment, ULONGLONG offset_bytes)
{
	/* Behind the driver's own segments is system memory by another name. */
	ULONGLONG number = segment > segment_count ? 0 : segment;

	return 1ull << 63 | number << 52 | offset_bytes >> PAGE_BITS;
}

static UINT segment_of(ULONGLONG place)
{
	return (UINT)(place >> 52 & (SEGMENTS - 1));
}

static ULONGLONG place_of_pointer(PVOID pointer)
{
	ULONGLONG address = (ULONGLONG)MmGetPhysicalAddress(pointer).QuadPart;

	for (UINT i = 1; i <= segment_count; i++) {
		if (segments[i].first != 0 && address >= segments[i].first &&
		    address - segments[i].first < segments[i].size_bytes)
			return place_of(i, address - segments[i].first);
	}
	return place_of(0, address);
}

static ULONGLONG place_of_address(D3DGPU_VIRTUAL_ADDRESS address)
{
	ULONGLONG page = address >> PAGE_BITS;

	return page < PAGING_PAGES ? paging_pages[page] : 0;
}

static ULONGLONG place_of_table(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
	const DXGK_PAGETABLEUPDATEADDRESS *address = &update->PageTableAddress;

	switch (update->UpdateMode) {
	case DXGK_PAGETABLEUPDATE_CPU_VIRTUAL:
		return place_of_pointer(address->CpuVirtual);
	case DXGK_PAGETABLEUPDATE_GPU_VIRTUAL:
		return place_of_address(address->GpuVirtual);
	case DXGK_PAGETABLEUPDATE_GPU_PHYSICAL:
		break;
	}
	return place_of(address->GpuPhysical.SegmentId, address->GpuPhysical.SegmentOffset);
}

/* ---- tables ---- */

static struct slot *slot_of(ULONGLONG place)
{
	ULONG at = (ULONG)(place * 0x9e3779b97f4a7c15ull >> 48) % SLOTS;

	while (slots[at].place != 0 && slots[at].place != place)
		at = (at + 1) % SLOTS;
	return &slots[at];
}

/* Also where nobody knows. */
static bool is_table(ULONGLONG place)
{
	return place == 0 || is_full || slot_of(place)->state == TABLE;
}

static bool is_lost(ULONGLONG place)
{
	return slot_of(place)->state == LOST_TABLE;
}

static void set_table(ULONGLONG place, bool is_one)
{
	struct slot *slot = slot_of(place);

	if (place == 0 || is_full)
		return;
	used_slots += slot->place == 0;
	slot->place = place;
	slot->state = is_one ? TABLE : NO_TABLE;
	is_full = used_slots > SLOTS / 2;
}

/* ---- entries ---- */

static bool leads_to_tables(const DXGK_PTE *entries, UINT count)
{
	for (UINT i = 0; entries && i < count; i++) {
		const DXGK_PTE *entry = &entries[i];

		if (entry->Valid && !entry->Zero && !entry->LargePage &&
		    !is_table(place_of((UINT)entry->Segment, entry->PageTableAddress << PAGE_BITS)))
			return false;
	}
	return true;
}

/* What the paging process shows from now on. */
static void remember_pages(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
	ULONGLONG first = update->FirstPteVirtualAddress >> PAGE_BITS;
	UINT pages = update->Flags.Use64KBPages ? WIDE_PAGES : 1;

	for (UINT i = 0; i < update->NumPageTableEntries; i++) {
		const DXGK_PTE *entry = &update->pPageTableEntries[update->Flags.Repeat ? 0 : i];

		for (UINT j = 0; j < pages && first + i * pages + j < PAGING_PAGES; j++)
			paging_pages[first + i * pages + j] =
				entry->Valid && !entry->Zero
					? place_of((UINT)entry->Segment, (entry->PageAddress + j)
										 << PAGE_BITS)
					: 0;
	}
}

/* NULL, or what is wrong. */
static const char *updated(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
	UINT count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;
	ULONGLONG table = place_of_table(update);
	const char *why = NULL;

	update_count += table != 0 && !is_full;
	if (!update->Flags.InitialUpdate && !is_table(table))
		why = "with an update of what is no page table, or none any more";
	else if (update->PageTableLevel > 0 &&
		 (!leads_to_tables(update->pPageTableEntries, count) ||
		  !leads_to_tables(update->pPageTableEntries64KB, count)))
		why = "with an entry that leads to no page table";
	if (has_paging_process && update->hProcess == paging_process && update->PageTableLevel == 0)
		remember_pages(update);
	set_table(table, !update->Flags.NotifyEviction);
	return why;
}

static const char *copied(const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copy)
{
	for (UINT i = 0; i < copy->NumRanges; i++) {
		if (!is_table(place_of_address(copy->pRanges[i].SrcPageTableAddress)) ||
		    !is_table(place_of_address(copy->pRanges[i].DstPageTableAddress)))
			return "with a copy between what are no page tables, or none any more";
	}
	return NULL;
}

static struct user *user_of(HANDLE name);

/* Only asked about drivers that were seen to make contexts. */
static const char *built_for(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	const struct user *user = args->hSystemContext ? user_of(args->hSystemContext) : NULL;

	if (is_full || !has_tables || !paging_context)
		return NULL;
	if (!user || !user->is_kernels)
		return "for a context that is not the kernel's";
	if (args->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES &&
	    args->hSystemContext == paging_context)
		return "with copies of entries for a context that is beside no client's";
	return NULL;
}

void tables_paged(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	lock();
	const char *why = built_for(args);
	if (!why && args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
		why = updated(&args->UpdatePageTable);
	else if (!why && args->Operation == DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES)
		why = copied(&args->CopyPageTableEntries);
	unlock();
	if (why)
		inside_complain(build, why);
}

/* ---- contexts and hardware queues ---- */

static struct user *user_of(HANDLE name)
{
	for (ULONG i = 0; i < USERS; i++) {
		if (users[i].name == name)
			return &users[i];
	}
	return NULL;
}

/* NULL when there is no place for it. */
static struct user *user_made(HANDLE name)
{
	struct user *user = user_of(name);

	if (!user && (user = user_of(NULL)))
		*user = (struct user){ .name = name };
	is_full |= !user;
	return user;
}

void tables_queue_made(HANDLE context, HANDLE queue)
{
	lock();
	struct user *user = user_made(queue);
	if (user)
		user->context = context;
	unlock();
}

void tables_context_made(const DXGKARG_CREATECONTEXT *args)
{
	if (!args->Flags.SystemContext)
		return;
	lock();
	struct user *user = user_made(args->hContext);
	if (user)
		user->is_kernels = true;
	if (!paging_context)
		paging_context = args->hContext;
	unlock();
}

void tables_user_ended(HANDLE user_name)
{
	lock();
	if (user_name == paging_context)
		paging_context = NULL;
	struct user *user = user_name ? user_of(user_name) : NULL;
	if (user)
		*user = (struct user){ .name = NULL };
	unlock();
}

void tables_root_set(const DXGKARG_SETROOTPAGETABLE *args)
{
	ULONGLONG root = place_of(args->Address.SegmentId, args->Address.SegmentOffset);

	lock();
	struct user *user = user_made(args->hContext);
	if (user && !believes_no_root)
		user->root = root;
	bool is_right = is_table(root) || is_lost(root);
	unlock();
	if (!is_right)
		inside_complain(set_root, "with a root that is no page table");
}

static const char *begun_at_root(HANDLE name)
{
	const struct user *user = user_of(name);

	if (user && user->context)
		user = user_of(user->context);
	if (is_full || !has_tables)
		return NULL;
	submission_count++;
	if (!user || user->root == 0)
		return "of a context that was told no root page table";
	return is_table(user->root) ? NULL : "of a context whose root is no page table any more";
}

void tables_submitted(HANDLE user)
{
	lock();
	const char *why = begun_at_root(user);
	unlock();
	if (why)
		inside_complain(submission, why);
}

/* ---- the adapter ---- */

static void learn_segments(const DXGK_QUERYSEGMENTOUT4 *answer)
{
	segment_count = answer->NbSegment < SEGMENTS ? answer->NbSegment : SEGMENTS - 1;
	for (UINT i = 0; answer->pSegmentDescriptor && i < segment_count; i++) {
		const DXGK_SEGMENTDESCRIPTOR4 *segment =
			(const void *)(answer->pSegmentDescriptor +
				       i * answer->SegmentDescriptorStride);
		bool is_seen = segment->Flags.CpuVisible && !segment->Flags.Aperture;

		segments[i + 1].is_memory = !segment->Flags.Aperture;
		segments[i + 1].first =
			is_seen ? (ULONGLONG)segment->CpuTranslatedAddress.QuadPart : 0;
		segments[i + 1].size_bytes = segment->Size;
	}
}

void tables_answered(const DXGKARG_QUERYADAPTERINFO *args)
{
	lock();
	if (args->Type == DXGKQAITYPE_QUERYSEGMENT4)
		learn_segments(args->pOutputData);
	has_tables |= args->Type == DXGKQAITYPE_GPUMMUCAPS;
	unlock();
}

void tables_process_made(const DXGKARG_CREATEPROCESS *args)
{
	if (!args->Flags.SystemProcess)
		return;
	lock();
	paging_process = args->hKmdProcess;
	has_paging_process = true;
	unlock();
}

void tables_were_reset(void)
{
	lock();
	for (ULONG i = 0; i < SLOTS; i++) {
		if (slots[i].state == TABLE && segments[segment_of(slots[i].place)].is_memory)
			slots[i].state = LOST_TABLE;
	}
	unlock();
}

void tables_are_gone(void)
{
	lock();
	RtlZeroMemory(slots, sizeof(slots));
	RtlZeroMemory(paging_pages, sizeof(paging_pages));
	RtlZeroMemory(users, sizeof(users));
	used_slots = 0;
	has_paging_process = false;
	paging_context = NULL;
	unlock();
}

void tables_believe_no_root(void)
{
	believes_no_root = true;
}

void tables_report(struct levels_seen *seen)
{
	lock();
	seen->table_updates = update_count;
	seen->rooted_submissions = submission_count;
	unlock();
}
