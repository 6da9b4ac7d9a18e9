/* SPDX-License-Identifier: MIT */
/*
 * watch_bystanders.c - a client's work reaches the client's memory and no other.
 *
 * While one packet of a client is alone with the hardware, pages of allocations that it cannot mean stay as they are: those
 * that are in no entry of its list, or, where it has addresses, those that its process never mapped. Only of
 * allocations that the processor does not see: the others somebody may be writing. A few at a time, the next ones with the
 * next packet.
 */
#include <stdlib.h>

#include "verify/blame.h"
#include "verify/bystanders.h"
#include "verify/bytes.h"

enum {
	PAGES_LOOKED_AT = 32,
	SLOTS_TRIED = 4096,
	LISTS_REMEMBERED = 8,
	LISTED_MAX = 64,
};

struct shadow_bystanders {
	uint64_t submissions; /* shadow.submissions then */
	bool is_virtual;
	uint32_t count;
	struct {
		shadow_page page;
		const void *allocation;
		uint64_t sum;
	} pages[PAGES_LOOKED_AT];
};

/* Whom the last submissions listed: DxgkDdiPatch comes before, with the same fence. */
struct listed {
	const void *context;
	uint32_t fence;
	bool is_whole; /* everybody is known */
	uint32_t count;
	const void *allocations[LISTED_MAX];
};

struct bystanders {
	struct lock lock; /* LOCK_RANK_LEAF */
	struct listed lists[LISTS_REMEMBERED];
	uint32_t next_list;
	size_t next_slot; /* of shadow.owners */
};

static struct bystanders *bystanders_of(const struct shadow *shadow)
{
	return shadow->adapter->states[VERIFY_WATCH_bystanders];
}

/* ---- who is meant ---- */

static const void *owner_at_locked(const struct shadow *shadow, uint32_t segment, uint64_t address)
{
	uint64_t offset_bytes = shadow_segment_offset(shadow, segment, address);

	lock_assert_held(&shadow->lock);
	return (const void *)(uintptr_t)map_get(
		&shadow->owners, shadow_page_of(segment, offset_bytes >> SHADOW_PAGE_SHIFT));
}

static void remember_list(struct bystanders *bystanders, struct shadow *shadow,
			  const DXGKARG_PATCH *args)
{
	struct listed list = { .context = args->hContext,
			       .fence = args->SubmissionFenceId,
			       .is_whole = args->AllocationListSize <= LISTED_MAX };

	lock_acquire(&shadow->lock);
	for (uint32_t i = 0; list.is_whole && i < args->AllocationListSize; i++) {
		const DXGK_ALLOCATIONLIST *entry = &args->pAllocationList[i];

		if (!entry->hDeviceSpecificAllocation || entry->SegmentId == 0 ||
		    shadow_is_aperture(shadow, entry->SegmentId))
			continue;
		list.allocations[list.count] = owner_at_locked(
			shadow, entry->SegmentId, (uint64_t)entry->PhysicalAddress.QuadPart);
		list.is_whole = list.allocations[list.count++] != NULL;
	}
	lock_release(&shadow->lock);
	lock_acquire(&bystanders->lock);
	bystanders->lists[bystanders->next_list] = list;
	bystanders->next_list = (bystanders->next_list + 1) % LISTS_REMEMBERED;
	lock_release(&bystanders->lock);
}

static bool find_list(struct bystanders *bystanders, const struct shadow_submission *submission,
		      struct listed *list_out)
{
	bool is_found = false;

	lock_acquire(&bystanders->lock);
	for (uint32_t i = 0; i < LISTS_REMEMBERED && !is_found; i++) {
		const struct listed *list = &bystanders->lists[i];

		is_found = list->is_whole && list->context == submission->context &&
			   list->fence == submission->fence;
		if (is_found)
			*list_out = *list;
	}
	lock_release(&bystanders->lock);
	return is_found;
}

static bool is_listed(const struct listed *list, const void *allocation)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->allocations[i] == allocation)
			return true;
	}
	return false;
}

/* ---- looking ---- */

static void take_pages_locked(struct shadow *shadow, struct bystanders *bystanders,
			      const struct listed *list, uint64_t process,
			      struct shadow_bystanders *chosen)
{
	lock_assert_held(&shadow->lock);
	for (uint32_t tried = 0; tried < SLOTS_TRIED && tried < shadow->owners.capacity &&
				 chosen->count < PAGES_LOOKED_AT;
	     tried++) {
		const struct map_slot *slot =
			&shadow->owners
				 .slots[bystanders->next_slot++ & (shadow->owners.capacity - 1)];
		const void *handle = (const void *)(uintptr_t)slot->value;
		const struct shadow_allocation *allocation =
			slot->key == 0 ? NULL : map_get_pointer(&shadow->allocations, handle);

		if (!allocation || allocation->is_cpu_visible ||
		    (list ? is_listed(list, handle) : (allocation->mapped_by & process) != 0))
			continue;
		chosen->pages[chosen->count].page = slot->key;
		chosen->pages[chosen->count++].allocation = handle;
	}
}

struct shadow_bystanders *bystanders_look(struct shadow *shadow,
					  const struct shadow_submission *submission)
{
	struct bystanders *bystanders = bystanders_of(shadow);
	struct shadow_bystanders *chosen = calloc(1, sizeof(*chosen));
	struct listed list;
	bool has_list = find_list(bystanders, submission, &list);

	if (!chosen)
		return NULL;
	lock_acquire(&shadow->lock);
	const struct shadow_context *context =
		map_get_pointer(&shadow->contexts, submission->context);
	chosen->submissions = shadow->submissions;
	chosen->is_virtual = context && context->is_virtual;
	if (context && (context->is_virtual ? context->process != 0 : has_list))
		take_pages_locked(shadow, bystanders, context->is_virtual ? NULL : &list,
				  context->process, chosen);
	lock_release(&shadow->lock);
	for (uint32_t i = 0; i < chosen->count;) {
		const char *page = shadow_pointer(shadow, chosen->pages[i].page);

		if (page)
			chosen->pages[i++].sum = bytes_sum(0, page, SHADOW_PAGE_BYTES);
		else
			chosen->pages[i] = chosen->pages[--chosen->count];
	}
	if (chosen->count > 0)
		return chosen;
	free(chosen);
	return NULL;
}

/* With a list it is Render that lets through what may not be. */
static void report(const struct shadow *shadow, const struct shadow_bystanders *seen, uint32_t i)
{
	blame(shadow->adapter, seen->is_virtual ? DDI_SUBMIT_COMMAND_VIRTUAL : DDI_RENDER,
	      seen->is_virtual ? RULE_DDI_PT_ISOLATION : RULE_DDI_RENDER_PRIVILEGED,
	      "Work of a client changed page 0x%llx of segment %u, of allocation %p: %s",
	      (unsigned long long)shadow_number(seen->pages[i].page),
	      shadow_segment(seen->pages[i].page), seen->pages[i].allocation,
	      seen->is_virtual ? "its process never mapped it" : "it is not in its list");
}

void bystanders_compare(struct shadow *shadow, struct shadow_bystanders *bystanders)
{
	lock_acquire(&shadow->lock);
	bool was_alone = shadow->submissions == bystanders->submissions && !shadow->has_hw_work;
	lock_release(&shadow->lock);
	for (uint32_t i = 0; was_alone && i < bystanders->count; i++) {
		const char *page = shadow_pointer(shadow, bystanders->pages[i].page);

		if (page && bytes_sum(0, page, SHADOW_PAGE_BYTES) != bystanders->pages[i].sum) {
			report(shadow, bystanders, i);
			break;
		}
	}
	free(bystanders);
}

/* ---- the watch ---- */

static void begin(struct verify_adapter *adapter, void *state)
{
	(void)adapter;
	lock_init(&((struct bystanders *)state)->lock, LOCK_RANK_LEAF, "verified lists");
}

static void before(struct verify_call *call, void *state)
{
	const DXGKARG_PATCH *args = call->arguments;

	if (call->ddi == DDI_PATCH && !args->Flags.Paging)
		remember_list(state, shadow_of(call->adapter), args);
}

const struct verify_watching verify_watch_bystanders = {
	.state_bytes = sizeof(struct bystanders),
	.begin = begin,
	.before = before,
};
