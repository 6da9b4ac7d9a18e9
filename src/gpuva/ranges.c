/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/checked.h"
#include "gpuva/range_pool.h"
#include "gpuva/ranges.h"

/* How many gaps that look large enough are tried before asking for one that fits anyhow. */
enum { GAPS_TO_TRY = 8 };

/* States. */

struct gpuva_state gpuva_state_after(const struct gpuva_state *state, uint64_t pages)
{
	struct gpuva_state after = *state;

	if (state->kind != GPUVA_KIND_MAPPED)
		return after;
	if (state->period_pages == 0)
		after.offset_pages += pages;
	else
		after.phase_pages = (state->phase_pages + pages) % state->period_pages;
	return after;
}

bool gpuva_state_equal(const struct gpuva_state *a, const struct gpuva_state *b)
{
	if (a->kind != b->kind || a->driver_protection != b->driver_protection)
		return false;
	return a->kind != GPUVA_KIND_MAPPED ||
	       (a->protection == b->protection && a->owner == b->owner &&
		a->offset_pages == b->offset_pages && a->period_pages == b->period_pages &&
		a->phase_pages == b->phase_pages);
}

struct page_span {
	uint64_t first;
	uint64_t end;
};

/* Which pages of its owner a run shows: one span, or two when it begins inside a repetition. */
static int shown_spans(const struct gpuva_state *state, uint64_t pages, struct page_span spans[2])
{
	uint64_t base = state->offset_pages;
	uint64_t period = state->period_pages;
	uint64_t phase = state->phase_pages;

	if (period == 0 || phase + pages <= period) {
		spans[0] = (struct page_span){ base + phase, base + phase + pages };
		return 1;
	}
	if (pages >= period) {
		spans[0] = (struct page_span){ base, base + period };
		return 1;
	}
	spans[0] = (struct page_span){ base + phase, base + period };
	spans[1] = (struct page_span){ base, base + phase + pages - period };
	return 2;
}

bool gpuva_state_shares_memory(const struct gpuva_state *a, uint64_t a_pages,
			       const struct gpuva_state *b, uint64_t b_pages)
{
	struct page_span a_spans[2];
	struct page_span b_spans[2];

	if (a->kind != GPUVA_KIND_MAPPED || b->kind != GPUVA_KIND_MAPPED || a->owner != b->owner)
		return false;
	int a_count = shown_spans(a, a_pages, a_spans);
	int b_count = shown_spans(b, b_pages, b_spans);
	for (int i = 0; i < a_count; i++) {
		for (int k = 0; k < b_count; k++) {
			if (a_spans[i].first < b_spans[k].end && b_spans[k].first < a_spans[i].end)
				return true;
		}
	}
	return false;
}

/* Owners. */

void gpuva_owner_init(struct gpuva_owner *owner, uint64_t page_count)
{
	*owner = (struct gpuva_owner){ .page_count = page_count };
	list_init(&owner->ranges);
}

static void owner_link(struct gpuva_range *range)
{
	struct gpuva_owner *owner = range->state.owner;

	list_push_back(&owner->ranges, &range->owner_link);
	owner->range_count++;
	if (range->state.driver_protection & GPUVA_UNIQUE)
		owner->unique_count++;
}

static void owner_unlink(struct gpuva_range *range)
{
	struct gpuva_owner *owner = range->state.owner;

	list_remove(&range->owner_link);
	owner->range_count--;
	if (range->state.driver_protection & GPUVA_UNIQUE)
		owner->unique_count--;
}

static bool is_linked_kind(const struct range_set *set, const struct gpuva_range *range)
{
	return set->links_owners && range->state.kind == GPUVA_KIND_MAPPED;
}

/* The tree. */

static struct gpuva_range *range_of(const struct rb_node *node)
{
	return container_of(node, struct gpuva_range, node);
}

static struct gpuva_range *range_or_null(const struct rb_node *node)
{
	return node ? range_of(node) : NULL;
}

void range_set_init(struct range_set *set, struct range_pool *pool, bool links_owners)
{
	*set = (struct range_set){
		.pool = pool,
		.links_owners = links_owners,
	};
}

void range_set_finish(struct range_set *set)
{
	struct gpuva_range *range;

	while (set->tree.root) {
		range = range_of(set->tree.root);
		range_set_remove(set, range);
		range_pool_give(set->pool, range);
	}
}

struct gpuva_range *range_set_from(const struct range_set *set, uint64_t page)
{
	const struct rb_node *node = set->tree.root;
	const struct rb_node *found = NULL;

	while (node) {
		if (range_end(range_of(node)) > page) {
			found = node;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	return range_or_null(found);
}

struct gpuva_range *range_set_at(const struct range_set *set, uint64_t page)
{
	const struct rb_node *node = set->tree.root;

	while (node) {
		struct gpuva_range *range = range_of(node);

		if (page < range->first_page)
			node = node->left;
		else if (page >= range_end(range))
			node = node->right;
		else
			return range;
	}
	return NULL;
}

struct gpuva_range *range_next(const struct gpuva_range *range)
{
	return range_or_null(rb_next(&range->node));
}

static struct gpuva_range *range_previous(const struct gpuva_range *range)
{
	return range_or_null(rb_previous(&range->node));
}

void range_set_insert(struct range_set *set, struct gpuva_range *range, struct gpuva_range *above)
{
	struct gpuva_range *below;
	uint64_t gap_first;

	if (above) {
		gap_first = above->first_page - range_gap(above);
		rb_set_value(&above->node, above->first_page - range_end(range));
	} else {
		below = range_or_null(rb_last(&set->tree));
		gap_first = below ? range_end(below) : GPUVA_FIRST_PAGE;
	}
	assert(range->first_page >= gap_first);
	range->node.value = range->first_page - gap_first;
	rb_insert_before(&set->tree, &range->node, above ? &above->node : NULL);
	set->range_count++;
	if (is_linked_kind(set, range))
		owner_link(range);
	else
		list_init(&range->owner_link);
}

void range_set_remove(struct range_set *set, struct gpuva_range *range)
{
	struct gpuva_range *above = range_next(range);

	if (above)
		rb_set_value(&above->node, range_gap(above) + range->page_count + range_gap(range));
	rb_remove(&set->tree, &range->node);
	set->range_count--;
	if (is_linked_kind(set, range))
		owner_unlink(range);
}

/* Cutting and joining. */

static void trim_tail(struct gpuva_range *range, uint64_t end_page)
{
	struct gpuva_range *above = range_next(range);
	uint64_t lost = range_end(range) - end_page;

	range->page_count -= lost;
	if (above)
		rb_set_value(&above->node, range_gap(above) + lost);
}

static void trim_head(struct gpuva_range *range, uint64_t first_page)
{
	uint64_t lost = first_page - range->first_page;

	range->state = gpuva_state_after(&range->state, lost);
	range->first_page = first_page;
	range->page_count -= lost;
	rb_set_value(&range->node, range_gap(range) + lost);
}

/* `upper` becomes the part of `range` from `page` on. */
static void split(struct range_set *set, struct gpuva_range *range, uint64_t page,
		  struct gpuva_range *upper)
{
	uint64_t head_pages = page - range->first_page;

	upper->first_page = page;
	upper->page_count = range->page_count - head_pages;
	upper->state = gpuva_state_after(&range->state, head_pages);
	upper->source = range->source;
	upper->origin = range->origin;
	trim_tail(range, page);
	range_set_insert(set, upper, range_next(range));
}

void range_set_cut(struct range_set *set, uint64_t first_page, uint64_t end_page,
		   struct gpuva_range **spare)
{
	struct gpuva_range *range = range_set_from(set, first_page);
	struct gpuva_range *above;

	for (; range && range->first_page < end_page; range = above) {
		if (range->first_page < first_page && range_end(range) > end_page) {
			assert(*spare);
			split(set, range, end_page, *spare);
			*spare = NULL;
		}
		above = range_next(range);
		if (range->first_page < first_page) {
			trim_tail(range, first_page);
		} else if (range_end(range) > end_page) {
			trim_head(range, end_page);
		} else {
			range_set_remove(set, range);
			range_pool_give(set->pool, range);
		}
	}
}

static bool continues(const struct gpuva_range *lower, const struct gpuva_range *upper)
{
	if (range_end(lower) != upper->first_page || lower->source != upper->source ||
	    lower->origin != upper->origin)
		return false;
	struct gpuva_state expected = gpuva_state_after(&lower->state, lower->page_count);
	return gpuva_state_equal(&expected, &upper->state);
}

/* `lower` takes over what `upper` has. */
static void take_over(struct range_set *set, struct gpuva_range *lower, struct gpuva_range *upper)
{
	uint64_t pages = upper->page_count;

	range_set_remove(set, upper);
	range_pool_give(set->pool, upper);
	lower->page_count += pages;
	struct gpuva_range *above = range_next(lower);
	if (above)
		rb_set_value(&above->node, range_gap(above) - pages);
}

void range_set_join(struct range_set *set, struct gpuva_range *range)
{
	struct gpuva_range *above = range_next(range);
	struct gpuva_range *below = range_previous(range);

	if (above && continues(range, above))
		take_over(set, range, above);
	if (below && continues(below, range))
		take_over(set, below, range);
}

/* Finding room. */

/* The lowest range of a subtree, which has one, with a gap of so many pages. */
static struct gpuva_range *lowest_gap_below(const struct rb_node *node, uint64_t gap_pages)
{
	for (;;) {
		if (node->left && node->left->largest >= gap_pages)
			node = node->left;
		else if (node->value >= gap_pages)
			return range_of(node);
		else
			node = node->right;
	}
}

/* The next one above `range`. */
static struct gpuva_range *next_gap(const struct gpuva_range *range, uint64_t gap_pages)
{
	const struct rb_node *node = &range->node;

	for (;;) {
		const struct rb_node *parent;

		if (rb_largest(node->right) >= gap_pages)
			return lowest_gap_below(node->right, gap_pages);
		for (parent = rb_parent(node); parent && parent->right == node;
		     parent = rb_parent(parent))
			node = parent;
		if (!parent)
			return NULL;
		if (parent->value >= gap_pages)
			return range_of(parent);
		node = parent;
	}
}

/* The lowest range that has such a gap and begins above `from_page`. */
static struct gpuva_range *first_gap(const struct range_set *set, uint64_t from_page,
				     uint64_t gap_pages)
{
	if (rb_largest(set->tree.root) < gap_pages)
		return NULL;
	struct gpuva_range *range = lowest_gap_below(set->tree.root, gap_pages);
	if (LIKELY(range->first_page > from_page))
		return range;
	range = range_set_from(set, from_page);
	if (range && range->first_page <= from_page)
		range = range_next(range);
	if (!range || range_gap(range) >= gap_pages)
		return range;
	return next_gap(range, gap_pages);
}

struct wish {
	uint64_t from_page;
	uint64_t end_page;
	uint64_t page_count;
	uint64_t alignment_pages;
};

/* Whether the part of [gap_first, gap_end) that may be used holds what is wished for. */
static bool gap_fits(const struct wish *wish, uint64_t gap_first, uint64_t gap_end,
		     uint64_t *first_page_out)
{
	uint64_t first = gap_first > wish->from_page ? gap_first : wish->from_page;
	uint64_t end = gap_end < wish->end_page ? gap_end : wish->end_page;

	/* Pages are counted with 52 bits: this does not overflow. */
	first = align_down(first + wish->alignment_pages - 1, wish->alignment_pages);
	if (first >= end || end - first < wish->page_count)
		return false;
	*first_page_out = first;
	return true;
}

enum search { SEARCH_FOUND, SEARCH_NONE, SEARCH_TIRED };

/* Tries gaps of at least `gap_pages`, from below, at most `tries` of them. */
static enum search search_gaps(const struct range_set *set, const struct wish *wish,
			       uint64_t gap_pages, uint64_t tries, uint64_t *first_page_out,
			       struct gpuva_range **above_out)
{
	struct gpuva_range *range = first_gap(set, wish->from_page, gap_pages);

	for (; range; range = next_gap(range, gap_pages)) {
		uint64_t gap_first = range->first_page - range_gap(range);

		if (gap_first >= wish->end_page)
			return SEARCH_NONE;
		if (gap_fits(wish, gap_first, range->first_page, first_page_out)) {
			*above_out = range;
			return SEARCH_FOUND;
		}
		if (tries-- == 0)
			return SEARCH_TIRED;
	}
	struct gpuva_range *last = range_or_null(rb_last(&set->tree));
	*above_out = NULL;
	return gap_fits(wish, last ? range_end(last) : GPUVA_FIRST_PAGE, UINT64_MAX, first_page_out)
		       ? SEARCH_FOUND
		       : SEARCH_NONE;
}

/* The lowest gap is not it: it is not aligned, or lies at the edge of the window. */
static bool search_harder(const struct range_set *set, const struct wish *wish,
			  uint64_t *first_page_out, struct gpuva_range **above_out)
{
	enum search result =
		search_gaps(set, wish, wish->page_count, GAPS_TO_TRY, first_page_out, above_out);

	if (result != SEARCH_TIRED)
		return result == SEARCH_FOUND;
	/* Many gaps of about this size, none of them aligned. A larger one is, wherever it stands.
	 */
	result = search_gaps(set, wish, wish->page_count + wish->alignment_pages - 1, GAPS_TO_TRY,
			     first_page_out, above_out);
	if (result == SEARCH_FOUND)
		return true;
	/* Nearly full: one by one. */
	return search_gaps(set, wish, wish->page_count, UINT64_MAX, first_page_out, above_out) ==
	       SEARCH_FOUND;
}

bool range_set_find_gap(const struct range_set *set, uint64_t from_page, uint64_t end_page,
			uint64_t page_count, uint64_t alignment_pages, uint64_t *first_page_out,
			struct gpuva_range **above_out)
{
	struct wish wish = { from_page, end_page, page_count, alignment_pages };
	struct gpuva_range *above = first_gap(set, from_page, page_count);

	assert(page_count > 0 && is_power_of_two(alignment_pages));
	if (LIKELY(above) && gap_fits(&wish, above->first_page - range_gap(above),
				      above->first_page, first_page_out)) {
		*above_out = above;
		return true;
	}
	/* A copy: so the compiler keeps the first in registers. */
	struct wish slow_wish = wish;
	return search_harder(set, &slow_wish, first_page_out, above_out);
}

/* Recounting. */

static const char *owner_validate(const struct gpuva_owner *owner)
{
	uint64_t range_count = 0;
	uint64_t unique_count = 0;
	struct list *link;

	list_for_each (link, &owner->ranges) {
		const struct gpuva_range *range = range_of_owner_link(link);

		if (range->state.owner != owner)
			return "a range hangs in the list of another owner";
		range_count++;
		if (range->state.driver_protection & GPUVA_UNIQUE)
			unique_count++;
	}
	if (range_count != owner->range_count || unique_count != owner->unique_count)
		return "an owner's ranges were miscounted";
	return NULL;
}

static const char *range_validate(const struct range_set *set, const struct gpuva_range *range)
{
	const struct gpuva_state *state = &range->state;

	if (range->page_count == 0 || state->kind == GPUVA_KIND_FREE)
		return "a range is empty";
	if (state->kind != GPUVA_KIND_MAPPED)
		return state->owner ? "a range without memory has an owner" : NULL;
	if (!state->owner)
		return "a mapped range has no owner";
	if (state->offset_pages + (state->period_pages ? state->period_pages : range->page_count) >
	    state->owner->page_count)
		return "a range shows more than its owner has";
	if (state->period_pages ? state->phase_pages >= state->period_pages
				: state->phase_pages != 0)
		return "a repetition begins outside itself";
	if (!set->links_owners)
		return NULL;
	if (!list_is_linked(&range->owner_link))
		return "a range hangs in no owner's list";
	/* An owner with many ranges is recounted once. */
	return &range->owner_link == state->owner->ranges.next ? owner_validate(state->owner)
							       : NULL;
}

const char *range_set_validate(const struct range_set *set)
{
	uint64_t range_count = 0;
	uint64_t end = GPUVA_FIRST_PAGE;
	const char *wrong = rb_validate(&set->tree);

	for (struct gpuva_range *range = range_or_null(rb_first(&set->tree)); range && !wrong;
	     range = range_next(range)) {
		if (range->first_page < end)
			return "ranges overlap";
		if (range_gap(range) != range->first_page - end)
			return "a gap is not as large as a range says";
		end = range_end(range);
		range_count++;
		wrong = range_validate(set, range);
	}
	if (!wrong && range_count != set->range_count)
		return "ranges were miscounted";
	return wrong;
}
