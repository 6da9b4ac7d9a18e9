/* SPDX-License-Identifier: MIT */
/*
 * paging_content.c - what paging operations have done, once the hardware says that they are executed: every byte is
 * where it was to go, and none beside it has changed.
 *
 *	both sides are seen          compared, where the driver may not keep the content in an order of its own
 *	one side is not              what went there comes back as it was, if no client has worked in between
 *	through a CPU host aperture  what was moved in is what a page shows when it is mapped
 *
 * Compared is when the interrupt comes, before the kernel hears of it: nobody uses the memory yet. What the hardware may be
 * writing already for an operation behind is not looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/machine.h"
#include "base/machine_alias.h"
#include "verify/blame.h"
#include "verify/bytes.h"
#include "verify/paging.h"

enum { NEIGHBOUR_BYTES = 64, NEIGHBOURS_MAX = 2 };

struct shadow_neighbours {
	uint64_t client_submissions; /* then */
	uint32_t count;
	struct {
		shadow_page page;
		uint32_t offset_bytes;
		unsigned char bytes[NEIGHBOUR_BYTES];
	} at[NEIGHBOURS_MAX];
};

/* Content that left our sight. */
struct journey {
	uint64_t size_bytes;
	uint64_t sum;
	uint64_t client_submissions; /* then: as long as there are no more … */
	uint64_t window_moves;       /* … and of these it stays the same */
};

void paging_content_init(struct paging *paging)
{
	lock_init(&paging->lock, LOCK_RANK_LEAF, "verified content");
}

static void free_value(void *context, uint64_t key, uint64_t value)
{
	(void)context;
	(void)key;
	free((void *)(uintptr_t)value);
}

void paging_content_forget(struct paging *paging)
{
	lock_acquire(&paging->lock);
	map_each(&paging->journeys, free_value, NULL);
	map_clear(&paging->journeys);
	map_clear(&paging->contents);
	map_clear(&paging->windows);
	map_clear(&paging->apertures);
	lock_release(&paging->lock);
}

void paging_content_finish(struct paging *paging)
{
	paging_content_forget(paging);
}

/* ---- questions ---- */

static uint64_t client_submissions(struct shadow *shadow)
{
	lock_acquire(&shadow->lock);
	uint64_t count = shadow->client_submissions;
	lock_release(&shadow->lock);
	return count;
}

/* May a driver keep it in the segment in an order of its own? */
static bool is_linear(struct shadow *shadow, const struct shadow_operation *operation)
{
	lock_acquire(&shadow->lock);
	const struct shadow_allocation *allocation =
		map_get_pointer(&shadow->allocations, operation->allocation);
	bool is_plain = !operation->allocation || (allocation && allocation->is_linear);
	lock_release(&shadow->lock);
	return is_plain;
}

static bool is_seen(const struct shadow *shadow, const struct shadow_range *range)
{
	struct shadow_cursor cursor = shadow_cursor(range);
	char *pointer = NULL;
	uint64_t bytes;

	if (!range->is_known)
		return false;
	while ((bytes = shadow_stretch(shadow, range, &cursor, &pointer)) > 0) {
		if (!pointer)
			return false;
		shadow_advance(range, &cursor, bytes);
	}
	return true;
}

static bool is_of_machine(const struct shadow_range *range)
{
	return range->is_known && range->run_count > 0 && shadow_segment(range->runs[0].first) == 0;
}

/* ---- blame ---- */

static enum rule rule_of_transfer(const struct shadow_operation *operation)
{
	if (operation->to.is_through_aperture || operation->from.is_through_aperture)
		return RULE_DDI_PAGING_APERTURE;
	if (!operation->allocation)
		return RULE_DDI_PAGING_NULL_ALLOCATION;
	return operation->is_part || operation->has_passes ? RULE_DDI_PAGING_SPLIT
							   : RULE_DDI_PAGING_TRANSFER;
}

/* Did it go where its address led before the last flush? */
static bool went_where_it_led_before(struct shadow *shadow, const struct shadow_range *to,
				     uint64_t at, const char *expected)
{
	if (to->address == 0)
		return false;
	lock_acquire(&shadow->lock);
	shadow_page before =
		map_get(&shadow->addresses_before, (to->address + at) >> SHADOW_PAGE_SHIFT);
	lock_release(&shadow->lock);
	const char *page = before ? shadow_pointer(shadow, before) : NULL;
	uint64_t offset_bytes = (to->address + at) % SHADOW_PAGE_BYTES;

	return page && !shadow_range_has(to, before) &&
	       memcmp(page + offset_bytes, expected, SHADOW_PAGE_BYTES - offset_bytes) == 0;
}

static void blame_transfer(struct shadow *shadow, const struct shadow_operation *operation,
			   uint64_t at, bool is_old_address)
{
	unsigned long long address = operation->to.address + at;

	if (is_old_address) {
		blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PT_TLB,
		      "A transfer to address 0x%llx went where that led before the last FLUSH_TLB",
		      address);
		return;
	}
	blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, rule_of_transfer(operation),
	      "A transfer of %llu bytes (from byte %llu of %s allocation%s) was executed, and its "
	      "byte %llu is not what the source has",
	      (unsigned long long)operation->to.size_bytes,
	      (unsigned long long)operation->allocation_offset, operation->allocation ? "an" : "no",
	      operation->has_passes ? ", in passes" : "", (unsigned long long)at);
}

/* ---- both sides are seen ---- */

static uint64_t first_difference(const char *a, const char *b, uint64_t size_bytes)
{
	uint64_t at = 0;

	while (at < size_bytes && a[at] == b[at])
		at++;
	return at;
}

static void compare_transfer(struct shadow *shadow, const struct shadow_operation *operation)
{
	struct shadow_cursor to = shadow_cursor(&operation->to);
	struct shadow_cursor from = shadow_cursor(&operation->from);
	uint64_t done = 0;

	for (;;) {
		char *at_to = NULL;
		char *at_from = NULL;
		uint64_t bytes = shadow_stretch(shadow, &operation->to, &to, &at_to);
		uint64_t other = shadow_stretch(shadow, &operation->from, &from, &at_from);

		bytes = bytes < other ? bytes : other;
		if (bytes == 0)
			return;
		if (memcmp(at_to, at_from, bytes) != 0) {
			uint64_t at = first_difference(at_to, at_from, bytes);

			blame_transfer(shadow, operation, done + at,
				       went_where_it_led_before(shadow, &operation->to, done + at,
								at_from + at));
			return;
		}
		shadow_advance(&operation->to, &to, bytes);
		shadow_advance(&operation->from, &from, bytes);
		done += bytes;
	}
}

/* The pattern from the `at`th byte of the fill on. */
static bool is_filled(const char *bytes, uint64_t size_bytes, uint32_t pattern)
{
	uint32_t word = 0;

	/* Equal from word to word, and the first is right. */
	memcpy(&word, bytes, size_bytes < sizeof(word) ? size_bytes : sizeof(word));
	return word == pattern && size_bytes % sizeof(word) == 0 &&
	       memcmp(bytes, bytes + sizeof(word), size_bytes - sizeof(word)) == 0;
}

static void compare_fill(struct shadow *shadow, const struct shadow_operation *operation)
{
	struct shadow_cursor cursor = shadow_cursor(&operation->to);
	char *at = NULL;
	uint64_t done = 0;
	uint64_t bytes;

	while ((bytes = shadow_stretch(shadow, &operation->to, &cursor, &at)) > 0) {
		if (!is_filled(at, bytes, operation->pattern)) {
			blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PAGING_FILL,
			      "A fill of %llu bytes with 0x%x was executed, and the pattern is not "
			      "everywhere in its %llu bytes from byte %llu on",
			      (unsigned long long)operation->to.size_bytes, operation->pattern,
			      (unsigned long long)bytes, (unsigned long long)done);
			return;
		}
		shadow_advance(&operation->to, &cursor, bytes);
		done += bytes;
	}
}

/* ---- there and back ---- */

static uint64_t sum_of(const struct shadow *shadow, const struct shadow_range *range)
{
	struct shadow_cursor cursor = shadow_cursor(range);
	char *at = NULL;
	uint64_t bytes;
	uint64_t sum = 1;

	while ((bytes = shadow_stretch(shadow, range, &cursor, &at)) > 0) {
		sum = bytes_sum(sum, at, bytes);
		shadow_advance(range, &cursor, bytes);
	}
	return sum;
}

static uint64_t sum_of_pattern(uint32_t pattern, uint64_t size_bytes)
{
	uint32_t some[SHADOW_PAGE_BYTES / sizeof(pattern)];
	uint64_t sum = 1;

	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		some[i] = pattern;
	for (; size_bytes > 0; size_bytes -= size_bytes < sizeof(some) ? size_bytes : sizeof(some))
		sum = bytes_sum(sum, some, size_bytes < sizeof(some) ? size_bytes : sizeof(some));
	return sum;
}

static uint64_t journey_key(const struct shadow_operation *operation)
{
	uint64_t handle = (uint64_t)(uintptr_t)operation->allocation;

	return handle == 0 ? 0 : ((handle << 20 ^ handle >> 44) + operation->allocation_offset) | 1;
}

static void journey_begin(struct shadow *shadow, const struct shadow_operation *operation,
			  uint64_t sum)
{
	struct paging *paging = paging_of(shadow);
	struct journey *journey = malloc(sizeof(*journey));
	uint64_t key = journey_key(operation);
	uint64_t submissions = client_submissions(shadow);

	if (!journey || key == 0) {
		free(journey);
		return;
	}
	lock_acquire(&paging->lock);
	*journey = (struct journey){ operation->to.size_bytes, sum, submissions,
				     paging->window_moves };
	free((void *)(uintptr_t)map_take(&paging->journeys, key));
	map_set(&paging->journeys, key, (uint64_t)(uintptr_t)journey);
	lock_release(&paging->lock);
}

static void journey_end(struct shadow *shadow, const struct shadow_operation *operation,
			bool is_back)
{
	struct paging *paging = paging_of(shadow);

	lock_acquire(&paging->lock);
	struct journey *journey =
		(struct journey *)(uintptr_t)map_take(&paging->journeys, journey_key(operation));
	bool is_untouched = journey && journey->window_moves == paging->window_moves;
	lock_release(&paging->lock);
	if (is_untouched && is_back && journey->size_bytes == operation->to.size_bytes &&
	    journey->client_submissions == client_submissions(shadow) &&
	    sum_of(shadow, &operation->to) != journey->sum)
		blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, rule_of_transfer(operation),
		      "%llu bytes of an allocation came out of a segment differently than they "
		      "went in, and no client has worked in between",
		      (unsigned long long)journey->size_bytes);
	free(journey);
}

/* ---- what a host aperture will show ---- */

static bool has_windows(const struct shadow *shadow, shadow_page page)
{
	const struct miniport_info *info = &shadow->adapter->miniport->info;
	uint32_t segment = shadow_segment(page);

	return segment != 0 && segment <= info->segment_count &&
	       info->segments[segment - 1].has_cpu_host_aperture;
}

static void content_set(struct shadow *shadow, shadow_page page, uint64_t sum)
{
	struct paging *paging = paging_of(shadow);
	uint64_t submissions = client_submissions(shadow);

	lock_acquire(&paging->lock);
	if (paging->contents_at != submissions)
		map_clear(&paging->contents);
	paging->contents_at = submissions;
	map_take(&paging->contents, page);
	if (sum != 0)
		map_set(&paging->contents, page, sum);
	lock_release(&paging->lock);
}

/* Page by page; `from` is NULL of a fill, and not seen: then what is there now is not known. */
static void contents_follow(struct shadow *shadow, const struct shadow_operation *operation,
			    bool is_known)
{
	struct shadow_cursor to = shadow_cursor(&operation->to);
	struct shadow_cursor from = shadow_cursor(&operation->from);
	bool is_fill = paging_is_fill(operation->kind);
	uint64_t pattern_sum = is_fill ? sum_of_pattern(operation->pattern, SHADOW_PAGE_BYTES) : 0;

	if (!operation->to.is_known || operation->to.offset_bytes != 0 ||
	    operation->from.offset_bytes != 0 || operation->to.run_count == 0 ||
	    !has_windows(shadow, operation->to.runs[0].first))
		return;
	while (to.left_bytes >= SHADOW_PAGE_BYTES) {
		shadow_page page = shadow_cursor_page(&operation->to, &to);
		char *at = NULL;

		if (!is_fill && is_known)
			(void)shadow_stretch(shadow, &operation->from, &from, &at);
		content_set(shadow, page,
			    !is_known ? 0
			    : is_fill ? pattern_sum
			    : at      ? bytes_sum(1, at, SHADOW_PAGE_BYTES)
				      : 0);
		shadow_advance(&operation->to, &to, SHADOW_PAGE_BYTES);
		if (!is_fill && operation->from.is_known)
			shadow_advance(&operation->from, &from, SHADOW_PAGE_BYTES);
	}
}

static uint64_t behind(uint64_t pfn)
{
	uint64_t real = 0;

	(void)machine_behind(pfn, 1, &real);
	return real;
}

static void window_check(struct shadow *shadow, shadow_page page, uint64_t pfn)
{
	struct paging *paging = paging_of(shadow);
	struct shadow_range range = { .runs = &(struct shadow_run){ page, 1 },
				      .run_count = 1,
				      .size_bytes = SHADOW_PAGE_BYTES,
				      .is_known = true };
	uint64_t submissions = client_submissions(shadow);
	uint64_t real = behind(pfn);

	lock_acquire(&paging->lock);
	/* From now on a client may write there. */
	uint64_t sum = map_take(&paging->contents, page);
	bool is_current = paging->contents_at == submissions;
	map_take(&paging->windows, pfn);
	map_set(&paging->windows, pfn, real);
	lock_release(&paging->lock);
	if (sum == 0 || !is_current || shadow_is_being_written(shadow, &range, 0, NULL))
		return;
	const char *shown = machine_to_pointer(real << SHADOW_PAGE_SHIFT);
	if (shown && bytes_sum(1, shown, SHADOW_PAGE_BYTES) != sum)
		nt_report(
			RULE_DDI_HOSTAPERTURE,
			"DxgkDdiMapCpuHostAperture was told to show page 0x%llx of segment %u, and "
			"what is to be seen is not what was moved there",
			(unsigned long long)shadow_number(page), shadow_segment(page));
}

void paging_windows_moved(struct shadow *shadow)
{
	struct paging *paging = paging_of(shadow);

	lock_acquire(&paging->lock);
	paging->window_moves++;
	lock_release(&paging->lock);
}

/* NULL: there is no such segment. The number of machine pages in one of the aperture, and where it begins. */
static const struct miniport_segment *windows_of(const struct shadow *shadow, uint32_t segment_id,
						 uint64_t *pages_out, uint64_t *first_out)
{
	const struct miniport_info *info = &shadow->adapter->miniport->info;

	if (segment_id == 0 || segment_id > info->segment_count)
		return NULL;
	const struct miniport_segment *segment = &info->segments[segment_id - 1];
	*pages_out = shadow_window_bytes(segment) >> SHADOW_PAGE_SHIFT;
	*first_out = segment->cpu_host_aperture_address >> SHADOW_PAGE_SHIFT;
	return segment;
}

void paging_window_mapped(struct shadow *shadow, const DXGKARG_MAPCPUHOSTAPERTURE *args)
{
	uint64_t pages;
	uint64_t first;

	if (!windows_of(shadow, args->SegmentId, &pages, &first))
		return;
	for (uint64_t i = 0; i < args->NumberOfPages * pages; i++)
		window_check(
			shadow,
			shadow_page_of(args->SegmentId,
				       args->pMemorySegmentPages[i / pages] * pages + i % pages),
			first + args->pCpuHostAperturePages[i / pages] * pages + i % pages);
}

/* Nothing, or something that is nobody's, is to be seen there from now on. */
void paging_window_unmapped(struct shadow *shadow, const DXGKARG_UNMAPCPUHOSTAPERTURE *args)
{
	struct paging *paging = paging_of(shadow);
	uint64_t pages;
	uint64_t first;

	if (!windows_of(shadow, args->SegmentId, &pages, &first))
		return;
	for (uint64_t i = 0; i < args->NumberOfPages * pages; i++) {
		uint32_t page = args->pCpuHostAperturePages[i / pages];
		uint64_t pfn = first + page * pages + i % pages;

		lock_acquire(&paging->lock);
		uint64_t before = map_take(&paging->windows, pfn);
		lock_release(&paging->lock);
		if (before == 0 || before == pfn || behind(pfn) != before)
			continue;
		nt_report(RULE_DDI_HOSTAPERTURE,
			  "DxgkDdiUnmapCpuHostAperture was told to unmap page 0x%x of the aperture "
			  "of "
			  "segment %u, and it still shows what it was mapped to",
			  page, args->SegmentId);
		return;
	}
}

/* ---- nothing beside it ---- */

/* Nobody but the hardware writes there, and no client has it work. */
static bool is_quiet(struct shadow *shadow, const struct shadow_operation *operation,
		     shadow_page page)
{
	lock_acquire(&shadow->lock);
	const void *owner = (const void *)(uintptr_t)map_get(&shadow->owners, page);
	const struct shadow_allocation *allocation = map_get_pointer(&shadow->allocations, owner);
	bool is_still = shadow->clients_in_flight == 0 && !shadow->has_hw_work && allocation &&
			(!allocation->is_cpu_visible || owner == operation->allocation);
	lock_release(&shadow->lock);
	return is_still;
}

/* By anything that is with the hardware, its own packet included. */
static bool is_written(struct shadow *shadow, shadow_page page, const struct list *behind)
{
	struct shadow_range range = { .runs = &(struct shadow_run){ page, 1 },
				      .run_count = 1,
				      .size_bytes = SHADOW_PAGE_BYTES,
				      .is_known = true };

	return shadow_is_being_written(shadow, &range, 0, behind);
}

static void neighbour_take(struct shadow *shadow, struct shadow_operation *operation,
			   shadow_page page, bool is_before)
{
	const char *pointer = page ? shadow_pointer(shadow, page) : NULL;
	uint32_t offset_bytes = is_before ? SHADOW_PAGE_BYTES - NEIGHBOUR_BYTES : 0;

	if (!pointer || !is_quiet(shadow, operation, page) || is_written(shadow, page, NULL))
		return;
	if (!operation->neighbours)
		operation->neighbours = calloc(1, sizeof(*operation->neighbours));
	struct shadow_neighbours *taken = operation->neighbours;
	if (!taken)
		return;
	taken->client_submissions = client_submissions(shadow);
	taken->at[taken->count].page = page;
	taken->at[taken->count].offset_bytes = offset_bytes;
	memcpy(taken->at[taken->count++].bytes, pointer + offset_bytes, NEIGHBOUR_BYTES);
}

/* By address: what the next address leads to; else the next page of the segment. */
static shadow_page next_to(struct shadow *shadow, const struct shadow_range *range, bool is_before)
{
	const struct shadow_run *run =
		is_before ? &range->runs[0] : &range->runs[range->run_count - 1];
	shadow_page page = is_before ? run->first - 1 : run->first + run->count;

	if (range->address == 0)
		return is_before && shadow_number(run->first) == 0 ? 0 : page;
	uint64_t address = is_before ? range->address - 1 : range->address + range->size_bytes;
	lock_acquire(&shadow->lock);
	page = map_get(&shadow->addresses, address >> SHADOW_PAGE_SHIFT);
	lock_release(&shadow->lock);
	return page;
}

static bool has_edges(const struct shadow_range *range)
{
	return range->is_known && range->run_count > 0 && range->offset_bytes == 0 &&
	       range->size_bytes > 0 && range->size_bytes % SHADOW_PAGE_BYTES == 0 &&
	       !range->is_through_aperture;
}

void paging_going(struct shadow *shadow, struct list *operations)
{
	list_each (struct shadow_operation, each, operations, link) {
		free(each->neighbours);
		each->neighbours = NULL;
		if (!has_edges(&each->to))
			continue;
		neighbour_take(shadow, each, next_to(shadow, &each->to, true), true);
		neighbour_take(shadow, each, next_to(shadow, &each->to, false), false);
	}
}

static enum rule rule_of_neighbours(const struct shadow_operation *operation)
{
	if (operation->kind == DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION)
		return RULE_DDI_PT_CONTEXT_ALLOCATION;
	if (paging_is_fill(operation->kind))
		return RULE_DDI_PAGING_FILL;
	return operation->is_part || operation->has_passes ? RULE_DDI_PAGING_SPLIT
							   : RULE_DDI_PAGING_TRANSFER;
}

static void compare_neighbours(struct shadow *shadow, const struct shadow_operation *operation,
			       const struct list *behind)
{
	const struct shadow_neighbours *taken = operation->neighbours;

	if (!taken || taken->client_submissions != client_submissions(shadow))
		return;
	for (uint32_t i = 0; i < taken->count; i++) {
		shadow_page page = taken->at[i].page;
		const char *pointer = shadow_pointer(shadow, page);

		if (!pointer || !is_quiet(shadow, operation, page) ||
		    is_written(shadow, page, behind) ||
		    memcmp(pointer + taken->at[i].offset_bytes, taken->at[i].bytes,
			   NEIGHBOUR_BYTES) == 0)
			continue;
		blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, rule_of_neighbours(operation),
		      "An operation that writes %llu bytes changed bytes %s them, in page 0x%llx "
		      "of "
		      "segment %u",
		      (unsigned long long)operation->to.size_bytes,
		      taken->at[i].offset_bytes == 0 ? "behind" : "in front of",
		      (unsigned long long)shadow_number(page), shadow_segment(page));
	}
}

/* ---- the dummy page ---- */

void paging_look_at_dummy(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args)
{
	struct paging *paging = paging_of(shadow);
	uint64_t address = (uint64_t)args->UnmapApertureSegment.DummyPage.QuadPart;

	if (args->Operation != DXGK_OPERATION_UNMAP_APERTURE_SEGMENT || address == 0 ||
	    address == paging->dummy_address)
		return;
	const char *page = shadow_pointer(shadow, shadow_page_of(0, address >> SHADOW_PAGE_SHIFT));
	lock_acquire(&paging->lock);
	paging->dummy_address = page ? address : 0;
	paging->dummy_sum = page ? bytes_sum(1, page, SHADOW_PAGE_BYTES) : 0;
	lock_release(&paging->lock);
}

static void check_dummy(struct shadow *shadow)
{
	struct paging *paging = paging_of(shadow);

	lock_acquire(&paging->lock);
	uint64_t address = paging->dummy_address;
	const char *page =
		address ? shadow_pointer(shadow, shadow_page_of(0, address >> SHADOW_PAGE_SHIFT))
			: NULL;
	uint64_t sum = page ? bytes_sum(1, page, SHADOW_PAGE_BYTES) : 0;
	bool is_changed = page && sum != paging->dummy_sum;
	paging->dummy_sum = sum;
	lock_release(&paging->lock);
	if (is_changed)
		blame(shadow->adapter, DDI_BUILD_PAGING_BUFFER, RULE_DDI_PAGING_APERTURE,
		      "The page that unmapped parts of an aperture show was written: something "
		      "still "
		      "goes through one");
}

/* ---- executed ---- */

static void check_transfer(struct shadow *shadow, const struct shadow_operation *operation,
			   const struct list *behind)
{
	bool sees_to = is_seen(shadow, &operation->to);
	bool sees_from = is_seen(shadow, &operation->from);
	bool is_plain = is_linear(shadow, operation);

	if (shadow_is_being_written(shadow, &operation->to, operation->number, behind) ||
	    shadow_is_being_written(shadow, &operation->from, operation->number, behind)) {
		contents_follow(shadow, operation, false);
		journey_end(shadow, operation, false);
		return;
	}
	contents_follow(shadow, operation, is_plain && sees_from);
	if (sees_to && sees_from && is_plain) {
		compare_transfer(shadow, operation);
		return;
	}
	if (is_of_machine(&operation->to))
		journey_end(shadow, operation, sees_to);
	else if (is_of_machine(&operation->from) && sees_from)
		journey_begin(shadow, operation, sum_of(shadow, &operation->from));
}

static void check_fill(struct shadow *shadow, const struct shadow_operation *operation,
		       const struct list *behind)
{
	bool is_plain = is_linear(shadow, operation);
	bool is_over = shadow_is_being_written(shadow, &operation->to, operation->number, behind);

	contents_follow(shadow, operation, is_plain && !is_over);
	if (is_over)
		return;
	if (is_plain && is_seen(shadow, &operation->to))
		compare_fill(shadow, operation);
	else
		journey_begin(shadow, operation,
			      sum_of_pattern(operation->pattern, operation->to.size_bytes));
}

void paging_executed(struct shadow *shadow, struct shadow_operation *operation,
		     const struct list *behind)
{
	if (operation->to.size_bytes > 0 && paging_is_content(operation->kind)) {
		if (paging_is_fill(operation->kind))
			check_fill(shadow, operation, behind);
		else
			check_transfer(shadow, operation, behind);
	}
	compare_neighbours(shadow, operation, behind);
	check_dummy(shadow);
}
