/* SPDX-License-Identifier: MIT */
/*
 * pool.c - the pool: tagged memory for drivers, with a check on everything they do with it.
 *
 *   in:   sizes, types and tags
 *   out:  memory, and reports about what was done to it
 *
 * A small block is one of mem_take_known():
 *
 *	| struct pool_block, its last word a canary | payload … | canary |
 *
 * Others, those aligned to more, and those in which code may run are apart (the large ones on pages of their own):
 *
 *	| struct pool_apart | … alignment … | canary | payload … | canary |
 *
 * The payload is what the driver sees: 16-byte aligned, page aligned from a page on. A wrong
 * pointer is answered and not followed: small blocks are known by their address (base/slab.h), and
 * keep what is said about their end until they are used again; those apart are found in a hash
 * table by the address of the payload, and the last few that were freed are remembered. That tells
 * a second free from a wild one. Where a sanitizer watches, all blocks are apart, and really freed.
 *
 * A block knows the return address of the call that made it; that is its call site, and by it the
 * block belongs to an image.
 *
 * Locks: none for small blocks; whoever changes the state of one from live to freed has freed it.
 * The table has its own (pool_table.c). Reports come after it is released.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <ddk/wdm.h>

#include "base/checked.h"
#include "base/mem.h"
#include "base/mem_kept.h"
#include "base/race.h"
#include "nt/dispatcher.h"
#include "nt/forbidden.h"
#include "nt/irql.h"
#include "nt/lock_graph.h"
#include "nt/memory_faults.h"
#include "nt/paged_guard.h"
#include "nt/pool.h"
#include "nt/pool_block.h"
#include "nt/pool_stack.h"
#include "nt/report.h"

#define UNTAGGED 0x656e6f4e /* "None", the tag of ExAllocatePool() */

enum {
	CACHE_LINE = 64,
	TAGS_SHOWN = 32,
};

#define CANARY         UINT64_C(0xFDFDFDFDFDFDFDFD)
#define POOL_MAX_BYTES (PTRDIFF_MAX / 2)
#define SMALL_MAX_BYTES                                                                            \
	(MEM_KEEPS ? MEM_KNOWN_MAX_BYTES - sizeof(struct pool_block) - sizeof(uint64_t) : 0)

/* Set before there is a driver. */
static uint8_t pool_fresh_byte = POOL_FRESH_BYTE;

void nt_pool_fill_with(uint8_t byte)
{
	pool_fresh_byte = byte;
}

/* ---- blocks ---- */

const char *pool_tag_text(uint32_t tag, char text[5])
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
	uint64_t word;

	memcpy(&word, canary, sizeof(word));
	return word == CANARY;
}

static void canary_put(char *canary)
{
	const uint64_t word = CANARY;

	memcpy(canary, &word, sizeof(word));
}

/* Payloads are short as a rule, and their room is whole units. */
typedef uint64_t fill_unit __attribute__((vector_size(POOL_ALIGNMENT), may_alias));

static uint64_t rounded(uint64_t size_bytes)
{
	return (size_bytes + POOL_ALIGNMENT - 1) & ~(uint64_t)(POOL_ALIGNMENT - 1);
}

SPECIALIZED void fill(char *payload, uint8_t byte, uint64_t size_bytes)
{
	uint64_t word = UINT64_C(0x0101010101010101) * byte;
	fill_unit unit = { word, word };

	/* Or the compiler sees a memset() in it, which takes longer to begin than this does to end.
	 */
	__asm__("" : "+x"(unit));
	fill_unit *at = (fill_unit *)payload;
	fill_unit *end = (fill_unit *)(payload + rounded(size_bytes));
	for (; end - at >= 4; at += 4)
		at[0] = at[1] = at[2] = at[3] = unit;
	for (; at < end; at++)
		*at = unit;
}

/* Room for whole units, and for the canary right behind the payload. */
static uint64_t small_bytes(uint64_t size_bytes)
{
	return sizeof(struct pool_block) + rounded(size_bytes + sizeof(uint64_t));
}

static void apart_give_back(struct pool_apart *apart)
{
	if (apart->is_guarded)
		nt_paged_guard_give(apart->mapped, apart->mapped_bytes);
	else if (apart->mapped_bytes != 0)
		munmap(apart->mapped, apart->mapped_bytes);
	mem_free(apart);
}

struct pool_request {
	size_t size_bytes;
	size_t alignment;
	uint32_t tag;
	const void *site;
	bool is_zeroed;
	bool is_executable;
	bool is_paged;
	bool is_guarded;
	bool needs_pages; /* of its own: code may run in them, they are guarded, or many */
	bool raises;      /* when there is no memory */
};

static void *pages_take(const struct pool_request *request, struct pool_apart *apart,
			size_t size_bytes)
{
	int protection = PROT_READ | PROT_WRITE | (request->is_executable ? PROT_EXEC : 0);

	apart->is_guarded = request->is_guarded;
	if (apart->is_guarded)
		return nt_paged_guard_take(apart, size_bytes);
	void *pages = mmap(NULL, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pages == MAP_FAILED ? NULL : pages;
}

RARE static struct pool_block *block_create_apart(const struct pool_request *request)
{
	uint64_t around = request->alignment + 2 * sizeof(uint64_t);
	uint64_t memory_bytes = rounded(request->size_bytes) + around;

	if (request->size_bytes > POOL_MAX_BYTES)
		return NULL;

	/* The descriptor is counted memory in any case: a failing allocation reaches both. */
	struct pool_apart *apart =
		mem_alloc(sizeof(*apart) + (request->needs_pages ? 0 : memory_bytes));
	if (!apart)
		return NULL;
	*apart = (struct pool_apart){ .size_bytes = request->size_bytes };
	atomic_init(&apart->block.state, STATE_APART);
	char *memory = (char *)(apart + 1);
	if (request->needs_pages) {
		memory = pages_take(request, apart, memory_bytes);
		if (!memory) {
			mem_free(apart);
			return NULL;
		}
		apart->mapped = memory;
		apart->mapped_bytes = memory_bytes;
	}
	apart->payload = (char *)align_down((uint64_t)(uintptr_t)memory + sizeof(uint64_t) +
						    request->alignment - 1,
					    request->alignment);
	canary_put(apart->payload - sizeof(uint64_t));
	return &apart->block;
}

RARE static void *allocate_apart(const struct pool_request *request)
{
	struct pool_block *block = block_create_apart(request);

	if (!block)
		return NULL;
	char *payload = payload_of(block);
	set_origin(block, request->site, 0);
	block->tag = request->tag;
	if (!request->is_zeroed || !pool_has_new_pages((struct pool_apart *)block))
		memset(payload, request->is_zeroed ? 0 : pool_fresh_byte, request->size_bytes);
	canary_put(payload + request->size_bytes);
	if (request->is_paged)
		atomic_fetch_or_explicit(&block->state, STATE_PAGED, memory_order_relaxed);
	((struct pool_apart *)block)->stack = pool_stack_if_due();
	pool_table_insert(block);
	return payload;
}

SPECIALIZED void *small_begin(struct pool_block *block, const struct pool_request *request,
			      const struct nt_stack *stack)
{
	char *payload = (char *)(block + 1);
	uint32_t before = atomic_load_explicit(&block->state, memory_order_relaxed);
	set_origin(block, request->site, request->size_bytes);
	block->stack = stack;
	block->tag = request->tag;
	block->canary = CANARY;
	fill(payload, request->is_zeroed ? 0 : pool_fresh_byte, request->size_bytes);
	canary_put(payload + request->size_bytes);
	/* From now on it can be freed. */
	atomic_store_explicit(
		&block->state,
		state_with(before + STATE_USE, STATE_LIVE | (request->is_paged ? STATE_PAGED : 0)),
		memory_order_release);
	return payload;
}

/* Reports what is wrong with a request. */
RARE static void request_judge(const struct pool_request *request, const char *routine)
{
	char text[5];

	nt_forbidden_check(routine);
	if (request->is_paged && nt_irql_current() > APC_LEVEL)
		nt_report(RULE_NT_IRQL_PAGED, "%s allocates paged pool at %s", routine,
			  nt_irql_name(nt_irql_current()));
	else
		nt_irql_require(DISPATCH_LEVEL, routine);
	if (request->size_bytes == 0)
		nt_report(RULE_NT_POOL_SIZE, "%s was asked for no bytes, tag '%s'", routine,
			  pool_tag_text(request->tag, text));
	if (request->tag == 0)
		nt_report(RULE_NT_POOL_TAG, "%s was given no tag", routine);
}

static void *allocate_small(const struct pool_request *request)
{
	struct pool_block *block = mem_take_known(small_bytes(request->size_bytes));

	return block ? small_begin(block, request, pool_stack_if_due()) : NULL;
}

static void *allocate_somewhere(struct pool_request request)
{
	if (request.size_bytes == 0)
		request.size_bytes = 1;
	if (request.alignment < POOL_ALIGNMENT)
		request.alignment = POOL_ALIGNMENT;
	if (request.size_bytes >= PAGE_SIZE)
		request.alignment = PAGE_SIZE;
	request.is_guarded = request.is_paged && !request.is_executable && nt_paged_guard_is_on();
	request.needs_pages = request.is_executable || request.is_guarded ||
			      request.size_bytes >= POOL_LARGE_BYTES;
	if (request.size_bytes > SMALL_MAX_BYTES || request.needs_pages ||
	    request.alignment > POOL_ALIGNMENT)
		return allocate_apart(&request);
	return allocate_small(&request);
}

/* A request that is out of the ordinary in any way, or for which nothing is at hand. */
RARE static void *allocate_other(struct pool_request request, const char *routine)
{
	request_judge(&request, routine);
	void *memory = nt_memory_fails() ? NULL : allocate_somewhere(request);
	if (UNLIKELY(pool_watch != NULL)) {
		race_new_memory(memory, memory ? request.size_bytes : 0);
		if (memory)
			pool_watch->allocated(memory, request.size_bytes, request.site);
		else
			nt_pool_refused(request.size_bytes, request.site);
	}
	if (!memory && request.raises)
		ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
	return memory;
}

/* The other way is the last thing it does, so that this one needs no registers for it. */
SPECIALIZED void *pool_allocate(const struct pool_request *request, const char *routine)
{
	struct pool_block *block = NULL;

	if (LIKELY(nt_irql_current() <= APC_LEVEL && request->tag != 0 &&
		   request->size_bytes - 1 < SMALL_MAX_BYTES && !request->is_executable &&
		   !pool_stack_is_due() && request->alignment <= POOL_ALIGNMENT && !pool_watch))
		block = mem_take_kept(MEM_SHELF_KNOWN +
				      mem_size_index(small_bytes(request->size_bytes)));
	if (UNLIKELY(!block))
		return allocate_other(*request, routine);
	pool_stack_pass();
	return small_begin(block, request, NULL);
}

/* The small block whose payload that would be; NULL when there is none. */
static struct pool_block *small_at(const void *payload)
{
	/* A number first: it may be any pointer, NULL too. */
	uintptr_t address = (uintptr_t)payload - sizeof(struct pool_block);
	struct pool_block *block = (struct pool_block *)address;

	return LIKELY(mem_is_known(block)) ? block : NULL;
}

static struct freed_block find_freed(void *payload)
{
	struct pool_block *small = small_at(payload);

	if (small && (atomic_load_explicit(&small->state, memory_order_acquire) & STATE_FREED))
		return (struct freed_block){ payload, site_of(small), small->tag };
	if (small)
		return (struct freed_block){ 0 };
	return pool_table_find_freed(payload);
}

/* What went wrong with a pointer that is not a block. */
RARE static void report_bad_free(const char *routine, void *payload)
{
	struct freed_block found = find_freed(payload);
	char text[5];
	char where[256];

	if (found.site) {
		nt_report_where_called(found.site, where, sizeof(where));
		nt_report(RULE_NT_POOL_DOUBLE_FREE,
			  "%s frees %p a second time, tag '%s'; it was freed at %s", routine,
			  payload, pool_tag_text(found.tag, text), where);
	} else {
		nt_report(RULE_NT_POOL_BAD_FREE, "%s was given %p, which is not a pool block",
			  routine, payload);
	}
}

RARE static void report_overrun(const struct pool_block *block, bool is_whole_before,
				const char *routine)
{
	const void *site = site_of(block);
	char text[5];
	char where[256];

	nt_report_where_called(site, where, sizeof(where));
	nt_report_about(RULE_NT_POOL_OVERRUN, (uint64_t)(uintptr_t)site,
			"%s found the memory %s a block of %zu bytes overwritten, tag '%s', "
			"allocated at %s",
			routine, is_whole_before ? "behind" : "in front of", size_of(block),
			pool_tag_text(block->tag, text), where);
}

RARE static void report_paged_free(const char *routine)
{
	nt_report(RULE_NT_IRQL_PAGED, "%s frees paged pool at %s", routine,
		  nt_irql_name(nt_irql_current()));
}

RARE static void report_tag(const struct pool_block *block, uint32_t tag, const char *routine)
{
	char text[5];
	char given[5];

	nt_report(RULE_NT_POOL_TAG, "%s frees a block of tag '%s' with tag '%s'", routine,
		  pool_tag_text(block->tag, text), pool_tag_text(tag, given));
}

RARE static void report_in_use(const struct pool_block *block, const char *routine)
{
	char text[5];

	nt_report(RULE_NT_POOL_IN_USE,
		  "%s frees a block that holds an armed timer, a queued DPC or a queued work item, "
		  "tag '%s'",
		  routine, pool_tag_text(block->tag, text));
}

/* At a glance; if it is not, block_judge() says why. */
SPECIALIZED bool is_in_order(const struct pool_block *block, const char *payload, size_t size_bytes,
			     uint32_t tag)
{
	return nt_irql_current() <= APC_LEVEL && (tag == 0 || tag == block->tag) &&
	       canary_is_whole(payload - sizeof(uint64_t)) &&
	       canary_is_whole(payload + size_bytes) && !pool_watch && !nt_lock_graph_is_on &&
	       atomic_load_explicit(&nt_dispatcher_queued, memory_order_relaxed) == 0;
}

/* Checks a block that nobody else knows any more. */
static void block_judge(struct pool_block *block, char *payload, size_t size_bytes, bool is_paged,
			uint32_t tag, const char *routine)
{
	bool is_whole_before = canary_is_whole(payload - sizeof(uint64_t));
	bool is_whole_after = canary_is_whole(payload + size_bytes);

	if (UNLIKELY(is_paged && nt_irql_current() > APC_LEVEL))
		report_paged_free(routine);
	if (UNLIKELY(tag != 0 && tag != block->tag))
		report_tag(block, tag, routine);
	if (UNLIKELY(!is_whole_before || !is_whole_after))
		report_overrun(block, is_whole_before, routine);
	nt_lock_graph_forget(payload, payload + size_bytes);
	if (UNLIKELY(nt_dispatcher_forget_memory(payload, payload + size_bytes)))
		report_in_use(block, routine);
}

SPECIALIZED void small_end(struct pool_block *block, const void *site)
{
	size_t size_bytes = small_size(block);

	fill((char *)(block + 1), POOL_FREED_BYTE, size_bytes);
	set_origin(block, site, size_bytes);
	if (UNLIKELY(!mem_keep(block, MEM_SHELF_KNOWN + mem_size_index(small_bytes(size_bytes)))))
		mem_give_known(block, small_bytes(size_bytes));
}

RARE static void small_end_judged(struct pool_block *block, uint32_t state, uint32_t tag,
				  const void *site, const char *routine)
{
	nt_irql_require(DISPATCH_LEVEL, routine);
	if (pool_watch)
		pool_watch->freed(block + 1, small_size(block), site);
	block_judge(block, (char *)(block + 1), small_size(block), state & STATE_PAGED, tag,
		    routine);
	small_end(block, site);
}

static void apart_retire(struct pool_block *block, uint32_t tag, const void *site,
			 const char *routine)
{
	const struct pool_apart *apart = (struct pool_apart *)block;
	bool is_paged = atomic_load_explicit(&block->state, memory_order_relaxed) & STATE_PAGED;

	if (pool_watch)
		pool_watch->freed(payload_of(block), size_of(block), site);
	if (apart->is_guarded)
		nt_paged_guard_open(apart->mapped, apart->mapped_bytes);
	block_judge(block, payload_of(block), size_of(block), is_paged, tag, routine);
	if (!pool_has_new_pages(apart))
		memset(payload_of(block), POOL_FREED_BYTE, size_of(block));
	apart_give_back((struct pool_apart *)block);
}

RARE static void free_apart(void *payload, uint32_t tag, const void *site, const char *routine)
{
	struct pool_block *block = pool_table_take(payload, site);

	nt_irql_require(DISPATCH_LEVEL, routine);
	if (block)
		apart_retire(block, tag, site, routine);
	else
		report_bad_free(routine, payload);
}

RARE static void free_wrongly(void *payload, const char *routine)
{
	nt_irql_require(DISPATCH_LEVEL, routine);
	report_bad_free(routine, payload);
}

/* What is rare is the last thing it does, as in pool_allocate(). */
SPECIALIZED void pool_free(void *payload, uint32_t tag, const void *site, const char *routine)
{
	struct pool_block *block = small_at(payload);

	if (UNLIKELY(!block)) {
		free_apart(payload, tag, site, routine);
		return;
	}
	uint32_t state = atomic_load_explicit(&block->state, memory_order_relaxed);
	if (UNLIKELY(!(state & STATE_LIVE) ||
		     !atomic_compare_exchange_strong(&block->state, &state,
						     state_with(state, STATE_FREED)))) {
		free_wrongly(payload, routine);
		return;
	}
	if (LIKELY(is_in_order(block, payload, small_size(block), tag)))
		small_end(block, site);
	else
		small_end_judged(block, state, tag, site, routine);
}

/* ---- what drivers call ---- */

/* Bits of POOL_TYPE that are not the type itself. */
enum {
	TYPE_BASE_MASK = 1, /* 0 non-paged, 1 paged */
	TYPE_CACHE_ALIGNED = 4,
	TYPE_RAISE = POOL_RAISE_IF_ALLOCATION_FAILURE,
	TYPE_NX = NonPagedPoolNx,
};

SPECIALIZED void *allocate_typed(POOL_TYPE type, size_t size_bytes, uint32_t tag, bool is_zeroed,
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
		.raises = ((ULONG)type & TYPE_RAISE) != 0,
	};

	return pool_allocate(&request, routine);
}

PVOID ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes)
{
	return allocate_typed(PoolType, NumberOfBytes, UNTAGGED, false, CALLER, __func__);
}

PVOID ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
	return allocate_typed(PoolType, NumberOfBytes, Tag, false, CALLER, __func__);
}

PVOID ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
				    EX_POOL_PRIORITY Priority)
{
	return allocate_typed(PoolType, NumberOfBytes, Tag, false, CALLER, __func__);
}

/* Nobody has a quota; failing raises unless the caller asked for NULL, as on NT. */
PVOID ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
	ULONG type = (ULONG)PoolType & ~(ULONG)POOL_QUOTA_FAIL_INSTEAD_OF_RAISE;

	if (!((ULONG)PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE))
		type |= TYPE_RAISE;
	return allocate_typed((POOL_TYPE)type, NumberOfBytes, Tag, false, CALLER, __func__);
}

PVOID ExAllocatePoolUninitialized(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
	return allocate_typed(PoolType, NumberOfBytes, Tag, false, CALLER, __func__);
}

PVOID ExAllocatePoolZero(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
	return allocate_typed(PoolType, NumberOfBytes, Tag, true, CALLER, __func__);
}

SPECIALIZED void *allocate_flagged(POOL_FLAGS flags, size_t size_bytes, uint32_t tag,
				   const void *site, const char *routine)
{
	const POOL_FLAGS kinds =
		POOL_FLAG_NON_PAGED | POOL_FLAG_NON_PAGED_EXECUTE | POOL_FLAG_PAGED;
	const POOL_FLAGS known = kinds | POOL_FLAG_USE_QUOTA | POOL_FLAG_UNINITIALIZED |
				 POOL_FLAG_SESSION | POOL_FLAG_CACHE_ALIGNED |
				 POOL_FLAG_RAISE_ON_FAILURE;
	const POOL_FLAGS required = POOL_FLAG_REQUIRED_END * 2 - 1;

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
			.raises = (flags & POOL_FLAG_RAISE_ON_FAILURE) != 0,
		};
		return pool_allocate(&request, routine);
	}
	if (flags & POOL_FLAG_RAISE_ON_FAILURE)
		ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
	return NULL;
}

PVOID ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag)
{
	return allocate_flagged(Flags, NumberOfBytes, Tag, CALLER, __func__);
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
	return allocate_flagged(Flags, NumberOfBytes, Tag, CALLER, __func__);
}

VOID ExFreePool(PVOID P)
{
	pool_free(P, 0, CALLER, __func__);
}

VOID ExFreePoolWithTag(PVOID P, ULONG Tag)
{
	pool_free(P, Tag, CALLER, __func__);
}

VOID ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
		 ULONG ExtendedParametersCount)
{
	pool_free(P, Tag, CALLER, __func__);
}

/* ---- the host's side ---- */

bool nt_pool_is_live(const void *payload)
{
	const struct pool_block *small = small_at(payload);

	if (small)
		return atomic_load_explicit(&small->state, memory_order_acquire) & STATE_LIVE;
	return payload && pool_table_has(payload);
}

static void add_small(void *context, void *memory)
{
	const struct pool_block *block = memory;
	struct nt_pool_usage *usage = context;

	if (atomic_load_explicit(&block->state, memory_order_acquire) & STATE_LIVE) {
		usage->blocks++;
		usage->bytes += small_size(block);
	}
}

struct nt_pool_usage nt_pool_usage(void)
{
	struct nt_pool_usage now = pool_table_usage();

	mem_visit_known(add_small, &now);
	return now;
}

void *nt_pool_allocate(int type, size_t size_bytes, uint32_t tag, const void *site,
		       const char *routine)
{
	return allocate_typed((POOL_TYPE)type, size_bytes, tag, false, site, routine);
}

void nt_pool_free(void *payload, uint32_t tag, const void *site, const char *routine)
{
	pool_free(payload, tag, site, routine);
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
	struct nt_stack stack; /* of the first that has kept it */
};

/* What an image left. */
struct leaks {
	uintptr_t begin;
	uintptr_t end;
	struct pool_block *first; /* pool_block.next */
	struct leak tags[TAGS_SHOWN];
	unsigned tag_count;
};

static bool is_leak_of(const struct leaks *leaks, const struct pool_block *block)
{
	uintptr_t site = (uintptr_t)site_of(block);

	return site >= leaks->begin && site < leaks->end;
}

/*
 * Which of two blocks of a tag is told of does not depend on where they are, because that is another place in each run: one
 * with a stack, then by the code that allocated it.
 */
static bool is_told_before(const void *site, const struct nt_stack *stack, const struct leak *leak)
{
	if (!stack || leak->stack.count == 0)
		return stack ? true : leak->stack.count == 0 && site < leak->site;
	if (site != leak->site)
		return site < leak->site;
	for (uint32_t i = 0; i < stack->count && i < leak->stack.count; i++) {
		if (stack->frames[i] != leak->stack.frames[i])
			return stack->frames[i] < leak->stack.frames[i];
	}
	return stack->count < leak->stack.count;
}

static void leaks_count(struct leaks *leaks, const struct pool_block *block,
			const struct nt_stack *stack)
{
	unsigned i = 0;

	while (i < leaks->tag_count && leaks->tags[i].tag != block->tag)
		i++;
	if (i == TAGS_SHOWN)
		return;
	struct leak *leak = &leaks->tags[i];
	if (i == leaks->tag_count) {
		leaks->tag_count++;
		*leak = (struct leak){ .tag = block->tag, .site = site_of(block) };
	}
	leak->blocks++;
	leak->bytes += size_of(block);
	if (is_told_before(site_of(block), stack, leak)) {
		leak->site = site_of(block);
		if (stack)
			leak->stack = *stack;
	}
}

static int compare_tags(const void *one, const void *other)
{
	uint32_t a = ((const struct leak *)one)->tag;
	uint32_t b = ((const struct leak *)other)->tag;

	return a < b ? -1 : a > b;
}

static void leaks_take_small(void *context, void *memory)
{
	struct leaks *leaks = context;
	struct pool_block *block = memory;
	uint32_t state = atomic_load_explicit(&block->state, memory_order_acquire);

	if (!(state & STATE_LIVE) || !is_leak_of(leaks, block) ||
	    !atomic_compare_exchange_strong(&block->state, &state, state_with(state, STATE_FREED)))
		return;
	leaks_count(leaks, block, block->stack);
	block->next = leaks->first;
	leaks->first = block;
}

static void leak_report(struct leak *leak)
{
	char text[5];
	char where[256];

	/* The one frame that every block knows. */
	if (leak->stack.count == 0)
		leak->stack = (struct nt_stack){ .frames = { (const char *)leak->site - 1 },
						 .count = 1,
						 .has_driver = true };
	nt_report_where_called(leak->site, where, sizeof(where));
	nt_report_from(RULE_NT_POOL_LEAK, leak->tag, &leak->stack,
		       "The driver left %llu block%s of %llu bytes, tag '%s', the first allocated "
		       "at %s",
		       (unsigned long long)leak->blocks, leak->blocks == 1 ? "" : "s",
		       (unsigned long long)leak->bytes, pool_tag_text(leak->tag, text), where);
}

uint64_t nt_pool_report_leaks(const void *begin, const void *end)
{
	struct leaks left = { .begin = (uintptr_t)begin, .end = (uintptr_t)end };
	struct pool_block *apart = NULL;
	uint64_t total = 0;

	mem_visit_known(leaks_take_small, &left);
	pool_table_take_all(left.begin, left.end, &apart);
	while (apart) {
		struct pool_block *block = apart;

		apart = block->next;
		leaks_count(&left, block, ((struct pool_apart *)block)->stack);
		block->next = left.first;
		left.first = block;
	}
	qsort(left.tags, left.tag_count, sizeof(left.tags[0]), compare_tags);
	for (unsigned i = 0; i < left.tag_count; i++)
		leak_report(&left.tags[i]);
	while (left.first) {
		struct pool_block *block = left.first;
		left.first = block->next;
		if (is_apart(block))
			apart_retire(block, 0, site_of(block), "The unload");
		else
			small_end_judged(block, 0, 0, site_of(block), "The unload");
		total++;
	}
	return total;
}
