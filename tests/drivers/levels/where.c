/* SPDX-License-Identifier: MIT */
/*
 * where.c - see where.h.
 *
 * Places for a bounded number of allocations and pages. Where that is not enough nothing is known
 * any more, and nothing is complained about.
 */
#include "where.h"
#include "inside.h"

enum {
	BUCKETS = 1024,
	SLOTS = 16,
	OWN_MAX = 64,
	OWNERS_MAX = 1024,
	APERTURES = 2,
	PAGES = 1 << 19, /* 2 GiB of an aperture */
	BITS = 8,
};

static volatile LONG is_locked;

/* Guarded by is_locked. */
static HANDLE residents[BUCKETS][SLOTS];
static ULONG resident_count;
static struct {
	HANDLE cookie; /* what the driver below calls it; NULL: there is none */
	HANDLE kernel; /* what the kernel does */
	HANDLE owner;  /* the kernel's name of the context, or device, it is for */
} own[OWN_MAX];
static struct {
	HANDLE driver; /* NULL: nobody's */
	HANDLE kernel;
} owners[OWNERS_MAX];
static struct aperture {
	UINT segment; /* 0: none yet */
	UCHAR pages[PAGES / BITS];
} apertures[APERTURES];
static ULONG mapped_count;
static ULONGLONG entered;
static bool is_full;
static bool has_addresses; /* of the GPU */
static bool is_reset;      /* and not restarted yet */
static bool forgets_nothing;

static void lock(void)
{
	while (InterlockedExchange(&is_locked, 1) != 0)
		;
}

static void unlock(void)
{
	InterlockedExchange(&is_locked, 0);
}

/* ---- allocations ---- */

static HANDLE *find(HANDLE allocation, HANDLE wanted)
{
	HANDLE *bucket = residents[((ULONG_PTR)allocation >> 4) * 2654435761u % BUCKETS];

	for (ULONG i = 0; i < SLOTS; i++) {
		if (bucket[i] == wanted)
			return &bucket[i];
	}
	return NULL;
}

static void leaves(HANDLE allocation)
{
	HANDLE *slot = allocation && !forgets_nothing ? find(allocation, allocation) : NULL;

	if (!slot)
		return;
	*slot = NULL;
	resident_count--;
}

static void enters(HANDLE allocation)
{
	if (!allocation)
		return;
	entered++;
	if (find(allocation, allocation))
		return;
	HANDLE *slot = find(allocation, NULL);
	if (!slot) {
		is_full = true;
		return;
	}
	*slot = allocation;
	resident_count++;
}

static struct aperture *aperture_of(UINT segment)
{
	for (ULONG i = 0; i < APERTURES; i++) {
		if (apertures[i].segment == segment)
			return &apertures[i];
	}
	return NULL;
}

/* What a transfer goes through was mapped before. */
static bool is_memory(UINT segment)
{
	return segment != 0 && !aperture_of(segment);
}

static void transferred(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	if (is_memory(args->Transfer.Destination.SegmentId))
		enters(args->Transfer.hAllocation);
	else if (is_memory(args->Transfer.Source.SegmentId))
		leaves(args->Transfer.hAllocation);
}

static void transferred_virtually(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	if (args->TransferVirtual.TransferDirection == DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM)
		leaves(args->TransferVirtual.hAllocation);
	else
		enters(args->TransferVirtual.hAllocation);
}

/* ---- apertures ---- */

static void map_page(UCHAR *pages, SIZE_T page, bool is_mapped)
{
	UCHAR bit = (UCHAR)(1u << page % BITS);
	bool was_mapped = (pages[page / BITS] & bit) != 0;

	if (is_mapped == was_mapped)
		return;
	pages[page / BITS] ^= bit;
	if (is_mapped)
		mapped_count++;
	else
		mapped_count--;
}

static void map_pages(UINT segment, SIZE_T first, SIZE_T count, bool is_mapped)
{
	struct aperture *aperture = aperture_of(segment);

	if (!aperture && is_mapped && (aperture = aperture_of(0)))
		aperture->segment = segment;
	if (!aperture || first >= PAGES || count > PAGES - first) {
		is_full = true;
		return;
	}
	if (is_mapped)
		entered++;
	else if (forgets_nothing)
		return;
	for (SIZE_T i = 0; i < count; i++)
		map_page(aperture->pages, first + i, is_mapped);
}

/* ---- what a driver asked for itself ---- */

/* A name that is nobody else's: the driver below may call all of its own the same. */
HANDLE where_own_begins(HANDLE cookie, HANDLE owner)
{
	HANDLE name = cookie;

	lock();
	for (ULONG i = 0; i < OWN_MAX; i++) {
		if (own[i].cookie)
			continue;
		own[i].cookie = cookie;
		own[i].kernel = NULL;
		own[i].owner = owner;
		name = &own[i];
		break;
	}
	is_full |= name == cookie;
	unlock();
	return name;
}

static ULONG own_index(HANDLE name)
{
	ULONG_PTR offset = (ULONG_PTR)name - (ULONG_PTR)own;

	return name >= (HANDLE)own && offset < sizeof(own) ? (ULONG)(offset / sizeof(own[0]))
							   : OWN_MAX;
}

void where_own_made(HANDLE name, HANDLE kernel)
{
	ULONG index = own_index(name);

	lock();
	if (index < OWN_MAX && kernel)
		own[index].kernel = kernel;
	else if (index < OWN_MAX)
		own[index].cookie = NULL;
	unlock();
}

/* It is gone when the callback returns, without another word. */
void where_own_ended(HANDLE kernel)
{
	lock();
	for (ULONG i = 0; i < OWN_MAX; i++) {
		if (!own[i].cookie || own[i].kernel != kernel)
			continue;
		leaves(&own[i]);
		own[i].cookie = NULL;
	}
	unlock();
}

void where_owner_made(HANDLE kernel, HANDLE driver)
{
	bool is_remembered = false;

	lock();
	for (ULONG i = 0; i < OWNERS_MAX && !is_remembered; i++) {
		if (owners[i].driver)
			continue;
		owners[i].driver = driver;
		owners[i].kernel = kernel;
		is_remembered = true;
	}
	is_full |= !is_remembered;
	unlock();
}

static void leave_leaked(HANDLE owner)
{
	for (ULONG i = 0; i < OWN_MAX; i++) {
		if (!own[i].cookie || own[i].owner != owner)
			continue;
		leaves(&own[i]);
		own[i].cookie = NULL;
	}
}

void where_owner_ended(HANDLE driver)
{
	lock();
	for (ULONG i = 0; i < OWNERS_MAX; i++) {
		if (!driver || owners[i].driver != driver)
			continue;
		leave_leaked(owners[i].kernel);
		owners[i].driver = NULL;
	}
	unlock();
}

static HANDLE *subject_of(DXGKARG_BUILDPAGINGBUFFER *args)
{
	switch ((int)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
		return &args->Transfer.hAllocation;
	case DXGK_OPERATION_FILL:
		return &args->Fill.hAllocation;
	case DXGK_OPERATION_DISCARD_CONTENT:
		return &args->DiscardContent.hAllocation;
	case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
		return &args->MapApertureSegment.hAllocation;
	case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
		return &args->UnmapApertureSegment.hAllocation;
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		return &args->TransferVirtual.hAllocation;
	case DXGK_OPERATION_VIRTUAL_FILL:
		return &args->FillVirtual.hAllocation;
	case DXGK_OPERATION_INIT_CONTEXT_RESOURCE:
		return &args->InitContextResource.hAllocation;
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		return &args->UpdatePageTable.hAllocation;
	case DXGK_OPERATION_NOTIFY_RESIDENCY:
		return &args->NotifyResidency.hAllocation;
	default:
		break;
	}
	return NULL;
}

HANDLE where_own_cookie(HANDLE name)
{
	ULONG index = own_index(name);
	HANDLE cookie = name;

	if (index < OWN_MAX) {
		lock();
		cookie = own[index].cookie;
		unlock();
	}
	return cookie;
}

HANDLE where_own_translate(DXGKARG_BUILDPAGINGBUFFER *args)
{
	HANDLE *subject = subject_of(args);
	HANDLE name = subject ? *subject : NULL;
	HANDLE cookie = where_own_cookie(name);

	if (name && !cookie)
		inside_complain("DxgkDdiBuildPagingBuffer",
				"for a context allocation that was destroyed");
	if (subject)
		*subject = cookie;
	return name;
}

void where_own_restore(DXGKARG_BUILDPAGINGBUFFER *args, HANDLE name)
{
	HANDLE *subject = subject_of(args);

	if (subject)
		*subject = name;
}

/* ---- what is told ---- */

static void paged(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	switch ((int)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
		transferred(args);
		break;
	case DXGK_OPERATION_FILL:
		enters(args->Fill.hAllocation);
		break;
	case DXGK_OPERATION_DISCARD_CONTENT:
		leaves(args->DiscardContent.hAllocation);
		break;
	case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
		map_pages(args->MapApertureSegment.SegmentId,
			  args->MapApertureSegment.OffsetInPages,
			  args->MapApertureSegment.NumberOfPages, true);
		break;
	case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
		map_pages(args->UnmapApertureSegment.SegmentId,
			  args->UnmapApertureSegment.OffsetInPages,
			  args->UnmapApertureSegment.NumberOfPages, false);
		break;
	case DXGK_OPERATION_VIRTUAL_TRANSFER:
		transferred_virtually(args);
		break;
	case DXGK_OPERATION_VIRTUAL_FILL:
		enters(args->FillVirtual.hAllocation);
		break;
	case DXGK_OPERATION_INIT_CONTEXT_RESOURCE:
		if (is_memory(args->InitContextResource.Destination.SegmentId))
			enters(args->InitContextResource.hAllocation);
		break;
	case DXGK_OPERATION_UPDATE_PAGE_TABLE:
		has_addresses = true;
		break;
	default:
		break;
	}
}

/* What a driver may be told while its GPU is not to be touched. */
static bool is_notice(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	switch ((int)args->Operation) {
	case DXGK_OPERATION_TRANSFER:
		return args->Transfer.TransferSize == 0;
	case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
		return true;
	case DXGK_OPERATION_NOTIFY_RESIDENCY:
		return !args->NotifyResidency.Resident;
	default:
		break;
	}
	return false;
}

void where_paged(const DXGKARG_BUILDPAGINGBUFFER *args)
{
	lock();
	paged(args);
	bool is_out_of_turn = is_reset && !is_notice(args);
	unlock();
	if (is_out_of_turn)
		inside_complain("DxgkDdiBuildPagingBuffer",
				"with more than a notice between a reset and the restart");
}

void where_destroyed(const DXGKARG_DESTROYALLOCATION *args)
{
	lock();
	for (UINT i = 0; i < args->NumAllocations; i++)
		leaves(args->pAllocationList[i]);
	unlock();
}

void where_was_reset(void)
{
	lock();
	is_reset = true;
	if (has_addresses && !forgets_nothing) {
		RtlZeroMemory(residents, sizeof(residents));
		resident_count = 0;
	}
	unlock();
}

void where_restarts(void)
{
	lock();
	is_reset = false;
	unlock();
}

void where_submitted(void)
{
	lock();
	bool is_out_of_turn = is_reset;
	unlock();
	if (is_out_of_turn)
		inside_complain("A submission", "between a reset and the restart");
}

void where_forget_nothing(void)
{
	forgets_nothing = true;
}

bool where_all_is_evicted(void)
{
	lock();
	bool is_evicted = is_full || (resident_count == 0 && mapped_count == 0);
	unlock();
	return is_evicted;
}

ULONGLONG where_entered(void)
{
	lock();
	ULONGLONG count = entered;
	unlock();
	return count;
}
