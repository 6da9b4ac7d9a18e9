/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "base/checked.h"
#include "gpuva/space.h"

void gpuva_space_init(struct gpuva_space *space, uint64_t page_count, uint64_t driver_unit_pages)
{
	assert(page_count > 1 && page_count <= UINT64_C(1) << (64 - GPUVA_PAGE_SHIFT));
	assert(is_power_of_two(driver_unit_pages));
	*space = (struct gpuva_space){
		.page_count = page_count,
		.driver_unit_pages = driver_unit_pages,
		.kernel_end_page = page_count,
		.next_source = 1,
	};
	range_pool_init(&space->pool);
	range_set_init(&space->areas, &space->pool, true);
	range_set_init(&space->pieces, &space->pool, true);
}

void gpuva_space_finish(struct gpuva_space *space)
{
	assert(space->open_plans == 0);
	if (space->page_count == 0)
		return;
	range_set_finish(&space->pieces);
	range_set_finish(&space->areas);
	range_pool_finish(&space->pool);
	*space = (struct gpuva_space){ 0 };
}

/* From `page`, which lies in `range`, to its end. */
static void view_range(const struct gpuva_range *range, uint64_t page, struct gpuva_view *view)
{
	view->page_count = range_end(range) - page;
	view->state = gpuva_state_after(&range->state, page - range->first_page);
}

void gpuva_space_look(const struct gpuva_space *space, uint64_t page, struct gpuva_view *view_out)
{
	const struct gpuva_range *area = range_set_from(&space->areas, page);

	*view_out = (struct gpuva_view){ .first_page = page };
	if (!area || area->first_page > page) {
		view_out->page_count = (area ? area->first_page : space->page_count) - page;
		return;
	}
	view_out->area = area;
	view_range(area, page, view_out);
	if (!gpuva_is_reservation(area))
		return;
	const struct gpuva_range *piece = range_set_from(&space->pieces, page);
	if (!piece)
		return;
	if (piece->first_page <= page)
		view_range(piece, page, view_out);
	else
		view_out->page_count = lower_of(view_out->page_count, piece->first_page - page);
}

/* Recounting. */

static const char *area_validate(const struct gpuva_space *space, const struct gpuva_range *area)
{
	if (range_end(area) > space->page_count)
		return "an area lies beyond the space";
	if (area->source == 0 || area->source >= space->next_source)
		return "an area came from no request";
	if (gpuva_is_reservation(area) == (area->state.kind == GPUVA_KIND_MAPPED))
		return "an area's state does not go with where it came from";
	return NULL;
}

static const char *piece_validate(const struct gpuva_space *space, const struct gpuva_range *piece)
{
	const struct gpuva_range *area = range_set_at(&space->areas, piece->first_page);

	if (!area || range_end(piece) > range_end(area))
		return "a piece does not lie in one area";
	if (!gpuva_is_reservation(area))
		return "a piece lies on what was not reserved";
	if (piece->source != area->source || piece->origin != area->origin)
		return "a piece says it came from elsewhere than its area";
	if (gpuva_state_equal(&piece->state, &area->state))
		return "a piece shows what its reservation shows anyhow";
	return NULL;
}

static const struct gpuva_range *first_range(const struct range_set *set)
{
	return range_set_from(set, 0);
}

const char *gpuva_validate(const struct gpuva_space *space)
{
	const char *wrong = range_set_validate(&space->areas);

	if (!wrong)
		wrong = range_set_validate(&space->pieces);
	for (const struct gpuva_range *area = first_range(&space->areas); area && !wrong;
	     area = range_next(area))
		wrong = area_validate(space, area);
	for (const struct gpuva_range *piece = first_range(&space->pieces); piece && !wrong;
	     piece = range_next(piece))
		wrong = piece_validate(space, piece);
	if (!wrong && space->open_plans == 0 &&
	    space->pool.taken_count != space->areas.range_count + space->pieces.range_count)
		return "the pool lost a range";
	return wrong;
}
