/* SPDX-License-Identifier: MIT */
/*
 * world.h - an address space, some memory to map, and requests in a line.
 *
 * Every request that succeeds is applied, and the space is recounted after each.
 */
#ifndef TESTS_UNIT_GPUVA_WORLD_H
#define TESTS_UNIT_GPUVA_WORLD_H

#include "base/mem.h"
#include "base/refusal.h"
#include "gpuva/plan.h"
#include "support/test.h"

#define KIB         UINT64_C(1024)
#define PAGE        (UINT64_C(4) * KIB)
#define PAGES(many) ((uint64_t)(many)*PAGE)
#define K64         (UINT64_C(64) * KIB)

enum { OWNERS = 3, OWNER_PAGES = 64 };

struct world {
	struct gpuva_space space;
	struct gpuva_owner owners[OWNERS];
	struct mem_usage usage;
	/* The last request's. */
	uint64_t address;
	struct gpuva_step steps[32];
	size_t step_count;
	struct dxgk_refusal refusal;
};

static inline void world_init(struct world *world, uint64_t page_count)
{
	memset(world, 0, sizeof(*world));
	world->usage = mem_usage();
	gpuva_space_init(&world->space, page_count, 512);
	for (int i = 0; i < OWNERS; i++)
		gpuva_owner_init(&world->owners[i], OWNER_PAGES);
}

static inline void world_finish(struct world *world)
{
	EXPECT(!gpuva_validate(&world->space));
	gpuva_space_finish(&world->space);
	for (int i = 0; i < OWNERS; i++)
		EXPECT(list_is_empty(&world->owners[i].ranges) &&
		       world->owners[i].range_count == 0);
	EXPECT_EQ(mem_usage().blocks, world->usage.blocks);
}

static inline void world_valid(const struct world *world)
{
	const char *wrong = gpuva_validate(&world->space);

	if (wrong)
		print_error("gpuva_validate: %s\n", wrong);
	EXPECT(!wrong);
}

/* Applies a plan that was made, remembers what it said or why it was refused. */
static inline NTSTATUS world_take(struct world *world, struct gpuva_plan *plan, NTSTATUS status)
{
	world->refusal = (struct dxgk_refusal){ .size_bytes = sizeof(world->refusal) };
	if (NT_SUCCESS(status)) {
		world->address = plan->first_page * PAGE;
		world->step_count = plan->step_count;
		for (size_t i = 0; i < plan->step_count && i < ARRAY_SIZE(world->steps); i++)
			world->steps[i] = plan->steps[i];
		gpuva_plan_apply(plan);
	} else {
		EXPECT(refusal_last(&world->refusal));
		EXPECT_EQ(world->refusal.status, status);
		EXPECT(!plan->space);
	}
	gpuva_plan_finish(plan);
	gpuva_plan_finish(plan);
	world_valid(world);
	return status;
}

static inline NTSTATUS reserve(struct world *world, const struct gpuva_reserve_request *request)
{
	struct gpuva_plan plan;
	NTSTATUS status = gpuva_plan_reserve(&world->space, request, &plan);

	return world_take(world, &plan, status);
}

static inline NTSTATUS map(struct world *world, const struct gpuva_map_request *request)
{
	struct gpuva_plan plan;
	NTSTATUS status = gpuva_plan_map(&world->space, request, &plan);

	return world_take(world, &plan, status);
}

static inline NTSTATUS free_range(struct world *world, uint64_t base, uint64_t size_bytes)
{
	struct gpuva_plan plan;
	NTSTATUS status = gpuva_plan_free(&world->space, base, size_bytes, false, &plan);

	return world_take(world, &plan, status);
}

static inline NTSTATUS update(struct world *world, const struct gpuva_operation *operations,
			      size_t count)
{
	struct gpuva_plan plan;
	NTSTATUS status = gpuva_plan_update(&world->space, operations, count, &plan);

	return world_take(world, &plan, status);
}

static inline void drop_owner(struct world *world, struct gpuva_owner *owner)
{
	while (!list_is_empty(&owner->ranges)) {
		struct gpuva_plan plan;

		gpuva_plan_drop(&world->space, range_of_owner_link(owner->ranges.next), &plan);
		EXPECT_EQ(world_take(world, &plan, STATUS_SUCCESS), STATUS_SUCCESS);
	}
}

/* The common ones. */

static inline NTSTATUS reserve_at(struct world *world, uint64_t base, uint64_t size_bytes,
				  bool is_zero)
{
	return reserve(world, &(struct gpuva_reserve_request){
				      .window.base = base,
				      .size_bytes = size_bytes,
				      .is_zero = is_zero,
			      });
}

static inline NTSTATUS map_at(struct world *world, uint64_t base, int owner, uint64_t offset_pages,
			      uint64_t page_count)
{
	return map(world, &(struct gpuva_map_request){
				  .window.base = base,
				  .owner = &world->owners[owner],
				  .offset_pages = offset_pages,
				  .page_count = page_count,
				  .protection = GPUVA_WRITE,
			  });
}

static inline NTSTATUS map_bare(struct world *world, uint64_t base, uint64_t page_count,
				uint64_t protection)
{
	return map(world, &(struct gpuva_map_request){
				  .window.base = base,
				  .page_count = page_count,
				  .protection = protection,
			  });
}

/*
 * What pages show, a character each: '.' free, '-' no access, '0' zero, and for memory the owner's
 * letter: A, B, C from map calls, a, b, c on a reservation.
 */
static inline const char *shows(const struct world *world, uint64_t first_page, uint64_t page_count)
{
	static char text[256];

	for (uint64_t i = 0; i < page_count && i < sizeof(text) - 1; i++) {
		struct gpuva_view view;

		gpuva_space_look(&world->space, first_page + i, &view);
		switch (view.state.kind) {
		case GPUVA_KIND_FREE:
			text[i] = '.';
			break;
		case GPUVA_KIND_NO_ACCESS:
			text[i] = '-';
			break;
		case GPUVA_KIND_ZERO:
			text[i] = '0';
			break;
		case GPUVA_KIND_MAPPED:
			text[i] = (char)((gpuva_is_reservation(view.area) ? 'a' : 'A') +
					 (view.state.owner - world->owners));
			break;
		}
		text[i + 1] = '\0';
	}
	return text;
}

/* Which page of its owner a mapped page shows. */
static inline uint64_t shown_page(const struct world *world, uint64_t page)
{
	struct gpuva_view view;

	gpuva_space_look(&world->space, page, &view);
	EXPECT_EQ(view.state.kind, GPUVA_KIND_MAPPED);
	return view.state.offset_pages + view.state.phase_pages;
}

#define EXPECT_REFUSED(world, status_got, status_wanted, rule_wanted, argument_wanted)             \
	do {                                                                                       \
		EXPECT_EQ(status_got, status_wanted);                                              \
		EXPECT_STR((world)->refusal.rule, rule_wanted);                                    \
		EXPECT_STR((world)->refusal.argument, argument_wanted);                            \
	} while (0)

/* Where the tests take place. */
static struct world world;

#define WORLD_TEST(suite, claim, page_count)                                                       \
	TEST_BETWEEN(world_init(&world, page_count), world_finish(&world), suite, claim)

#endif
