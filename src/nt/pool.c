/*
 * pool.c - the pool: tagged memory for drivers, with a check on everything they do with it.
 *
 *   in:   sizes, types and tags
 *   out:  memory, and reports about what was done to it
 *
 * A block is one allocation of base/mem.h, or of the system when code may run in it:
 *
 *	| struct pool_block | … alignment … | canary | payload … | canary |
 *
 * The payload is what the driver sees: 16-byte aligned, page aligned from a page on. Blocks are
 *found by the address of the payload in a hash table, never by looking in front of a pointer, so a
 *wrong pointer is answered and not followed. The last few that were freed are remembered, to tell a
 *second free from a wild one.
 *
 * A block knows the return address of the call that made it; that is its call site, and by it the
 * block belongs to an image.
 *
 * Locks: pool_lock guards the table and the memory of frees. Reports come after it is released.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <ddk/wdm.h>

#include "base/checked.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "nt/dispatcher.h"
#include "nt/irql.h"
#include "nt/pool.h"
#include "nt/report.h"
#include "nt/seh.h"

#define UNTAGGED 0x656e6f4e /* "None", the tag of ExAllocatePool() */

enum {
	POOL_ALIGNMENT = 16,
	CACHE_LINE = 64,
	CANARY_SIZE = 16,
	FRESH_BYTE = 0xCD,
	FREED_BYTE = 0xDD,
	CANARY_BYTE = 0xFD,
	FREED_REMEMBERED = 64,
	BUCKETS_FIRST = 256,
	TAGS_SHOWN = 32,
};

struct pool_block {
	struct list link; /* in its bucket */
	char *payload;
	size_t size_bytes;
	void *memory; /* what to give back; mapped if executable, else the block itself */
	size_t mapped_bytes;
	const void *site;
	uint32_t tag;
	bool is_paged;
};

/* Guarded by pool_lock. */
static struct lock pool_lock = LOCK_INITIALIZER(LOCK_RANK_NT_POOL, "nt pool");
static struct list *buckets; /* pool_block.link */
static size_t bucket_count;
static struct nt_pool_usage usage;
static struct {
	const void *payload;
	const void *site; /* of the free */
	uint32_t tag;
} freed[FREED_REMEMBERED];
static unsigned freed_next;

/* ---- the table ---- */

static struct list *bucket_of(const void *payload)
{
	uint64_t hash = (uint64_t)(uintptr_t)payload * UINT64_C(0x9e3779b97f4a7c15);

	return &buckets[(hash >> 32) & (bucket_count - 1)];
}

static struct pool_block *block_find_locked(const void *payload)
{
	struct list *link;

	lock_assert_held(&pool_lock);
	if (!buckets)
		return NULL;
	list_for_each (link, bucket_of(payload)) {
		struct pool_block *block = container_of(link, struct pool_block, link);
		if (block->payload == payload)
			return block;
	}
	return NULL;
}

/* Twice as many buckets. Keeps the old ones when there is no memory, which is only slower. */
static void buckets_grow_locked(void)
{
	size_t count = bucket_count ? bucket_count * 2 : BUCKETS_FIRST;
	struct list *larger = mem_zalloc_array(count, sizeof(*larger));
	struct list *smaller = buckets;
	size_t smaller_count = bucket_count;
	struct list *link;

	if (!larger)
		return;
	for (size_t i = 0; i < count; i++)
		list_init(&larger[i]);
	buckets = larger;
	bucket_count = count;
	for (size_t i = 0; i < smaller_count; i++) {
		while ((link = list_pop_front(&smaller[i])) != NULL)
			list_push_back(
				bucket_of(container_of(link, struct pool_block, link)->payload),
				link);
	}
	mem_free(smaller);
}

static bool block_insert_locked(struct pool_block *block)
{
	lock_assert_held(&pool_lock);

	if (usage.blocks >= bucket_count)
		buckets_grow_locked();
	if (!buckets)
		return false;
	list_push_back(bucket_of(block->payload), &block->link);
	usage.blocks++;
	usage.bytes += block->size_bytes;
	return true;
}

static void block_remove_locked(struct pool_block *block)
{
	lock_assert_held(&pool_lock);

	list_remove(&block->link);
	usage.blocks--;
	usage.bytes -= block->size_bytes;
	if (usage.blocks == 0) {
		mem_free(buckets);
		buckets = NULL;
		bucket_count = 0;
	}
}

/* ---- blocks ---- */

static const char *tag_text(uint32_t tag, char text[5])
{
	for (int i = 0; i < 4; i++) {
		unsigned char letter = (unsigned char)(tag >> (8 * i));
		text[i] = (char)(letter >= 0x20 && letter < 0x7f ? letter : '.');
	}
	text[4] = '\0';
	return text;
}

static bool canary_is_whole(const char *canary)
{
	for (int i = 0; i < CANARY_SIZE; i++) {
		if ((unsigned char)canary[i] != CANARY_BYTE)
			return false;
	}
	return true;
}

static void block_give_back(struct pool_block *block)
{
	if (block->mapped_bytes != 0)
		munmap(block->memory, block->mapped_bytes);
	mem_free(block);
}

struct pool_request {
	size_t size_bytes;
	size_t alignment;
	uint32_t tag;
	const void *site;
	bool is_zeroed;
	bool is_executable;
	bool is_paged;
};

static struct pool_block *block_create(const struct pool_request *request)
{
	uint64_t around = request->alignment + 2 * CANARY_SIZE;
	uint64_t memory_bytes;
	struct pool_block *block;
	char *memory;

	if (!checked_add(request->size_bytes, around, &memory_bytes) ||
	    !checked_add(memory_bytes, sizeof(*block), &memory_bytes) || memory_bytes > PTRDIFF_MAX)
		return NULL;

	/* The descriptor is counted memory in any case, so that a failing allocation reaches both.
	 */
	block = mem_alloc(request->is_executable ? sizeof(*block) : memory_bytes);
	if (!block)
		return NULL;
	*block = (struct pool_block){ .size_bytes = request->size_bytes,
				      .tag = request->tag,
				      .site = request->site,
				      .is_paged = request->is_paged };
	memory = (char *)(block + 1);
	if (request->is_executable) {
		memory = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED) {
			mem_free(block);
			return NULL;
		}
		block->memory = memory;
		block->mapped_bytes = memory_bytes;
	}
	block->payload = (char *)align_down((uint64_t)(uintptr_t)memory + CANARY_SIZE +
						    request->alignment - 1,
					    request->alignment);
	memset(block->payload - CANARY_SIZE, CANARY_BYTE, CANARY_SIZE);
	memset(block->payload, request->is_zeroed ? 0 : FRESH_BYTE, request->size_bytes);
	memset(block->payload + request->size_bytes, CANARY_BYTE, CANARY_SIZE);
	return block;
}

static void *pool_allocate(const struct pool_request *request, const char *routine)
{
	struct pool_request wanted = *request;
	char text[5];

	if (request->is_paged && nt_irql_current() > APC_LEVEL)
		nt_report(RULE_NT_IRQL_PAGED, "%s allocates paged pool at %s", routine,
			  nt_irql_name(nt_irql_current()));
	else
		nt_irql_require(DISPATCH_LEVEL, routine);
	if (request->size_bytes == 0)
		nt_report(RULE_NT_POOL_SIZE, "%s was asked for no bytes, tag '%s'", routine,
			  tag_text(request->tag, text));
	if (request->tag == 0)
		nt_report(RULE_NT_POOL_TAG, "%s was given no tag", routine);

	if (wanted.size_bytes == 0)
		wanted.size_bytes = 1;
	if (wanted.alignment < POOL_ALIGNMENT)
		wanted.alignment = POOL_ALIGNMENT;
	if (wanted.size_bytes >= PAGE_SIZE)
		wanted.alignment = PAGE_SIZE;

	struct pool_block *block = block_create(&wanted);
	if (!block)
		return NULL;
	lock_acquire(&pool_lock);
	bool is_known = block_insert_locked(block);
	lock_release(&pool_lock);
	if (!is_known) {
		block_give_back(block);
		return NULL;
	}
	return block->payload;
}

/* What went wrong with a pointer that is not a block. */
static void report_bad_free(const char *routine, const void *payload)
{
	char text[5];
	char where[256];
	unsigned found = FREED_REMEMBERED;

	lock_acquire(&pool_lock);
	for (unsigned i = 0; i < FREED_REMEMBERED && payload; i++) {
		if (freed[i].payload == payload)
			found = i;
	}
	const void *site = found < FREED_REMEMBERED ? freed[found].site : NULL;
	uint32_t tag = found < FREED_REMEMBERED ? freed[found].tag : 0;
	lock_release(&pool_lock);

	if (site) {
		nt_report_where(site, where, sizeof(where));
		nt_report(RULE_NT_POOL_DOUBLE_FREE,
			  "%s frees %p a second time, tag '%s'; it was freed at %s", routine,
			  payload, tag_text(tag, text), where);
	} else {
		nt_report(RULE_NT_POOL_BAD_FREE, "%s was given %p, which is not a pool block",
			  routine, payload);
	}
}

/* Checks a block that nobody else knows any more, and gives it back. */
static void block_retire(struct pool_block *block, uint32_t tag, const char *routine)
{
	bool is_whole_before = canary_is_whole(block->payload - CANARY_SIZE);
	bool is_whole_after = canary_is_whole(block->payload + block->size_bytes);
	char text[5];
	char given[5];
	char where[256];

	if (block->is_paged && nt_irql_current() > APC_LEVEL)
		nt_report(RULE_NT_IRQL_PAGED, "%s frees paged pool at %s", routine,
			  nt_irql_name(nt_irql_current()));
	if (tag != 0 && tag != block->tag)
		nt_report(RULE_NT_POOL_TAG, "%s frees a block of tag '%s' with tag '%s'", routine,
			  tag_text(block->tag, text), tag_text(tag, given));
	if (!is_whole_before || !is_whole_after) {
		nt_report_where(block->site, where, sizeof(where));
		nt_report_about(
			RULE_NT_POOL_OVERRUN, (uint64_t)(uintptr_t)block->site,
			"%s found the memory %s a block of %zu bytes overwritten, tag '%s', "
			"allocated at %s",
			routine, is_whole_before ? "behind" : "in front of", block->size_bytes,
			tag_text(block->tag, text), where);
	}
	if (nt_dispatcher_forget_memory(block->payload, block->payload + block->size_bytes))
		nt_report(RULE_NT_POOL_IN_USE,
			  "%s frees a block that holds an armed timer, a queued DPC or a queued "
			  "work item, tag '%s'",
			  routine, tag_text(block->tag, text));
	memset(block->payload, FREED_BYTE, block->size_bytes);
	block_give_back(block);
}

static void pool_free(void *payload, uint32_t tag, const void *site, const char *routine)
{
	nt_irql_require(DISPATCH_LEVEL, routine);
	lock_acquire(&pool_lock);
	struct pool_block *block = block_find_locked(payload);
	if (block) {
		block_remove_locked(block);
		freed[freed_next].payload = payload;
		freed[freed_next].site = site;
		freed[freed_next].tag = block->tag;
		freed_next = (freed_next + 1) % FREED_REMEMBERED;
	}
	lock_release(&pool_lock);

	if (block)
		block_retire(block, tag, routine);
	else
		report_bad_free(routine, payload);
}

/* ---- what drivers call ---- */

/* Bits of POOL_TYPE that are not the type itself. */
enum {
	TYPE_BASE_MASK = 1, /* 0 non-paged, 1 paged */
	TYPE_CACHE_ALIGNED = 4,
	TYPE_RAISE = POOL_RAISE_IF_ALLOCATION_FAILURE,
	TYPE_NX = NonPagedPoolNx,
};

static void *allocate_typed(POOL_TYPE type, size_t size_bytes, uint32_t tag, bool is_zeroed,
			    const void *site, const char *routine)
{
	bool is_paged = ((ULONG)type & TYPE_BASE_MASK) != 0;
	struct pool_request request = {
		.size_bytes = size_bytes,
		.alignment = (ULONG)type & TYPE_CACHE_ALIGNED ? CACHE_LINE : POOL_ALIGNMENT,
		.tag = tag,
		.site = site,
		.is_zeroed = is_zeroed || ((ULONG)type & POOL_ZERO_ALLOCATION) != 0,
		.is_executable = !is_paged && !((ULONG)type & TYPE_NX),
		.is_paged = is_paged,
	};
	void *memory = pool_allocate(&request, routine);

	if (!memory && ((ULONG)type & TYPE_RAISE))
		ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
	return memory;
}

PVOID ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes)
{
	return allocate_typed(PoolType, NumberOfBytes, UNTAGGED, false, __builtin_return_address(0),
			      "ExAllocatePool");
}

PVOID ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
	return allocate_typed(PoolType, NumberOfBytes, Tag, false, __builtin_return_address(0),
			      "ExAllocatePoolWithTag");
}

PVOID ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
				    EX_POOL_PRIORITY Priority)
{
	UNREFERENCED_PARAMETER(Priority);
	return allocate_typed(PoolType, NumberOfBytes, Tag, false, __builtin_return_address(0),
			      "ExAllocatePoolWithTagPriority");
}

/* Nobody has a quota; failing raises unless the caller asked for NULL, as on NT. */
PVOID ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
	ULONG type = (ULONG)PoolType & ~(ULONG)POOL_QUOTA_FAIL_INSTEAD_OF_RAISE;

	if (!((ULONG)PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE))
		type |= TYPE_RAISE;
	return allocate_typed((POOL_TYPE)type, NumberOfBytes, Tag, false,
			      __builtin_return_address(0), "ExAllocatePoolWithQuotaTag");
}

PVOID ExAllocatePoolUninitialized(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
	return allocate_typed(PoolType, NumberOfBytes, Tag, false, __builtin_return_address(0),
			      "ExAllocatePoolUninitialized");
}

PVOID ExAllocatePoolZero(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
	return allocate_typed(PoolType, NumberOfBytes, Tag, true, __builtin_return_address(0),
			      "ExAllocatePoolZero");
}

static void *allocate_flagged(POOL_FLAGS flags, size_t size_bytes, uint32_t tag, const void *site,
			      const char *routine)
{
	const POOL_FLAGS kinds =
		POOL_FLAG_NON_PAGED | POOL_FLAG_NON_PAGED_EXECUTE | POOL_FLAG_PAGED;
	const POOL_FLAGS known = kinds | POOL_FLAG_USE_QUOTA | POOL_FLAG_UNINITIALIZED |
				 POOL_FLAG_SESSION | POOL_FLAG_CACHE_ALIGNED |
				 POOL_FLAG_RAISE_ON_FAILURE;
	const POOL_FLAGS required = POOL_FLAG_REQUIRED_END * 2 - 1;
	void *memory = NULL;

	/* Exactly one kind; bits of the lower half that are unknown make the call fail. */
	if (!is_power_of_two(flags & kinds) || (flags & required & ~known)) {
		nt_report(RULE_NT_POOL_TYPE, "%s was given flags 0x%llx", routine, flags);
	} else {
		struct pool_request request = {
			.size_bytes = size_bytes,
			.alignment = flags & POOL_FLAG_CACHE_ALIGNED ? CACHE_LINE : POOL_ALIGNMENT,
			.tag = tag,
			.site = site,
			.is_zeroed = !(flags & POOL_FLAG_UNINITIALIZED),
			.is_executable = (flags & POOL_FLAG_NON_PAGED_EXECUTE) != 0,
			.is_paged = (flags & POOL_FLAG_PAGED) != 0,
		};
		memory = pool_allocate(&request, routine);
	}
	if (!memory && (flags & POOL_FLAG_RAISE_ON_FAILURE))
		ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
	return memory;
}

PVOID ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag)
{
	return allocate_flagged(Flags, NumberOfBytes, Tag, __builtin_return_address(0),
				"ExAllocatePool2");
}

PVOID ExAllocatePool3(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag,
		      PCPOOL_EXTENDED_PARAMETER ExtendedParameters, ULONG ExtendedParametersCount)
{
	/* Priority and node are hints; a secure pool is a promise that nobody here can keep. */
	for (ULONG i = 0; i < ExtendedParametersCount; i++) {
		if (ExtendedParameters[i].Type == PoolExtendedParameterSecurePool &&
		    !ExtendedParameters[i].Optional)
			return NULL;
	}
	return allocate_flagged(Flags, NumberOfBytes, Tag, __builtin_return_address(0),
				"ExAllocatePool3");
}

VOID ExFreePool(PVOID P)
{
	pool_free(P, 0, __builtin_return_address(0), "ExFreePool");
}

VOID ExFreePoolWithTag(PVOID P, ULONG Tag)
{
	pool_free(P, Tag, __builtin_return_address(0), "ExFreePoolWithTag");
}

VOID ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
		 ULONG ExtendedParametersCount)
{
	UNREFERENCED_PARAMETER(ExtendedParameters);
	UNREFERENCED_PARAMETER(ExtendedParametersCount);
	pool_free(P, Tag, __builtin_return_address(0), "ExFreePool2");
}

/* ---- lookaside lists: every entry is a pool block, so that each is checked ---- */

static void lookaside_init(GENERAL_LOOKASIDE_POOL *list, POOL_TYPE type, size_t size_bytes,
			   uint32_t tag)
{
	memset(list, 0, sizeof(*list));
	InitializeSListHead(&list->ListHead);
	InitializeListHead(&list->ListEntry);
	list->Type = type;
	list->Size = (ULONG)size_bytes;
	list->Tag = tag;
}

_Static_assert(offsetof(GENERAL_LOOKASIDE, Future) == offsetof(GENERAL_LOOKASIDE_POOL, Future),
	       "both kinds of list have the same fields");

static GENERAL_LOOKASIDE_POOL *lookaside_of(GENERAL_LOOKASIDE *list)
{
	return (GENERAL_LOOKASIDE_POOL *)list;
}

static void *lookaside_allocate(GENERAL_LOOKASIDE_POOL *list, const void *site, const char *routine)
{
	__atomic_fetch_add(&list->TotalAllocates, 1, __ATOMIC_RELAXED);
	if (list->Allocate)
		return list->Allocate(list->Type, list->Size, list->Tag);
	return allocate_typed(list->Type, list->Size, list->Tag, false, site, routine);
}

static void lookaside_free(GENERAL_LOOKASIDE_POOL *list, void *entry, const void *site,
			   const char *routine)
{
	__atomic_fetch_add(&list->TotalFrees, 1, __ATOMIC_RELAXED);
	if (list->Free)
		list->Free(entry);
	else
		pool_free(entry, list->Tag, site, routine);
}

static POOL_TYPE nonpaged_type(ULONG flags)
{
	return (POOL_TYPE)(flags & (TYPE_NX | TYPE_RAISE));
}

VOID ExInitializeNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PALLOCATE_FUNCTION Allocate,
				     PFREE_FUNCTION Free, ULONG Flags, SIZE_T Size, ULONG Tag,
				     USHORT Depth)
{
	UNREFERENCED_PARAMETER(Depth);
	lookaside_init(lookaside_of(&Lookaside->L), nonpaged_type(Flags), Size, Tag);
	Lookaside->L.Allocate = Allocate;
	Lookaside->L.Free = Free;
}

/* Entries that were not freed stay what they are: blocks that the leak report finds. */
VOID ExDeleteNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside)
{
	memset(Lookaside, 0, sizeof(*Lookaside));
}

PVOID ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside)
{
	return lookaside_allocate(lookaside_of(&Lookaside->L), __builtin_return_address(0),
				  "ExAllocateFromNPagedLookasideList");
}

VOID ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry)
{
	lookaside_free(lookaside_of(&Lookaside->L), Entry, __builtin_return_address(0),
		       "ExFreeToNPagedLookasideList");
}

VOID ExInitializePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PALLOCATE_FUNCTION Allocate,
				    PFREE_FUNCTION Free, ULONG Flags, SIZE_T Size, ULONG Tag,
				    USHORT Depth)
{
	UNREFERENCED_PARAMETER(Depth);
	lookaside_init(lookaside_of(&Lookaside->L), (POOL_TYPE)(PagedPool | (Flags & TYPE_RAISE)),
		       Size, Tag);
	Lookaside->L.Allocate = Allocate;
	Lookaside->L.Free = Free;
}

VOID ExDeletePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside)
{
	memset(Lookaside, 0, sizeof(*Lookaside));
}

PVOID ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside)
{
	return lookaside_allocate(lookaside_of(&Lookaside->L), __builtin_return_address(0),
				  "ExAllocateFromPagedLookasideList");
}

VOID ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry)
{
	lookaside_free(lookaside_of(&Lookaside->L), Entry, __builtin_return_address(0),
		       "ExFreeToPagedLookasideList");
}

NTSTATUS ExInitializeLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PALLOCATE_FUNCTION_EX Allocate,
				     PFREE_FUNCTION_EX Free, POOL_TYPE PoolType, ULONG Flags,
				     SIZE_T Size, ULONG Tag, USHORT Depth)
{
	UNREFERENCED_PARAMETER(Flags);
	if (Depth != 0 || Size > MAXULONG)
		return STATUS_INVALID_PARAMETER;
	lookaside_init(&Lookaside->L, PoolType, Size, Tag);
	Lookaside->L.AllocateEx = Allocate;
	Lookaside->L.FreeEx = Free;
	return STATUS_SUCCESS;
}

VOID ExDeleteLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
	memset(Lookaside, 0, sizeof(*Lookaside));
}

VOID ExFlushLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
	UNREFERENCED_PARAMETER(Lookaside); /* nothing is kept back */
}

PVOID ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
	GENERAL_LOOKASIDE_POOL *list = &Lookaside->L;

	if (!list->AllocateEx)
		return lookaside_allocate(list, __builtin_return_address(0),
					  "ExAllocateFromLookasideListEx");
	__atomic_fetch_add(&list->TotalAllocates, 1, __ATOMIC_RELAXED);
	return list->AllocateEx(list->Type, list->Size, list->Tag, Lookaside);
}

VOID ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PVOID Entry)
{
	GENERAL_LOOKASIDE_POOL *list = &Lookaside->L;

	if (!list->FreeEx) {
		lookaside_free(list, Entry, __builtin_return_address(0), "ExFreeToLookasideListEx");
		return;
	}
	__atomic_fetch_add(&list->TotalFrees, 1, __ATOMIC_RELAXED);
	list->FreeEx(Entry, Lookaside);
}

/* ---- the host's side ---- */

struct nt_pool_usage nt_pool_usage(void)
{
	lock_acquire(&pool_lock);
	struct nt_pool_usage now = usage;
	lock_release(&pool_lock);
	return now;
}

void *nt_pool_alloc_at(const void *site, size_t size_bytes, uint32_t tag)
{
	struct pool_request request = {
		.size_bytes = size_bytes, .tag = tag, .site = site, .is_zeroed = true
	};

	return pool_allocate(&request, "A routine that allocates");
}

/* One tag of the leak report. */
struct leak {
	uint32_t tag;
	uint64_t blocks;
	uint64_t bytes;
	const void *site;
};

/* Takes every block of the image out of the table. */
static void leaks_take_locked(uintptr_t begin, uintptr_t end, struct list *taken)
{
	struct list *link;
	struct list *following;

	lock_assert_held(&pool_lock);
	/* The table goes away with its last block. */
	for (size_t i = 0; i < bucket_count; i++) {
		list_for_each_safe (link, following, &buckets[i]) {
			struct pool_block *block = container_of(link, struct pool_block, link);
			uintptr_t site = (uintptr_t)block->site;
			if (site < begin || site >= end)
				continue;
			block_remove_locked(block);
			list_push_back(taken, link);
			if (!buckets)
				return;
		}
	}
}

static unsigned leaks_sum(struct list *taken, struct leak *leaks)
{
	unsigned count = 0;
	struct list *link;

	list_for_each (link, taken) {
		const struct pool_block *block = container_of(link, struct pool_block, link);
		unsigned i = 0;
		while (i < count && leaks[i].tag != block->tag)
			i++;
		if (i == count) {
			if (count == TAGS_SHOWN)
				continue;
			leaks[count++] = (struct leak){ .tag = block->tag, .site = block->site };
		}
		leaks[i].blocks++;
		leaks[i].bytes += block->size_bytes;
	}
	return count;
}

uint64_t nt_pool_report_leaks(const void *begin, const void *end)
{
	struct leak leaks[TAGS_SHOWN];
	struct list taken;
	struct list *link;
	uint64_t total = 0;
	char text[5];
	char where[256];

	list_init(&taken);
	lock_acquire(&pool_lock);
	leaks_take_locked((uintptr_t)begin, (uintptr_t)end, &taken);
	lock_release(&pool_lock);

	unsigned count = leaks_sum(&taken, leaks);
	for (unsigned i = 0; i < count; i++) {
		nt_report_where(leaks[i].site, where, sizeof(where));
		nt_report_about(
			RULE_NT_POOL_LEAK, leaks[i].tag,
			"The driver left %llu block%s of %llu bytes, tag '%s', the first allocated "
			"at %s",
			(unsigned long long)leaks[i].blocks, leaks[i].blocks == 1 ? "" : "s",
			(unsigned long long)leaks[i].bytes, tag_text(leaks[i].tag, text), where);
	}
	while ((link = list_pop_front(&taken)) != NULL) {
		block_retire(container_of(link, struct pool_block, link), 0, "The unload");
		total++;
	}
	return total;
}
