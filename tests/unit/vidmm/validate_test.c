/* SPDX-License-Identifier: MIT */
/*
 * validate_test.c - the judge notices when something is wrong.
 */
#include "ranges/ranges.h"
#include "world.h"

static char wrong[160];

static bool is_right(struct world *world)
{
	return vidmm_validate(NULL, world->allocations, world->count, wrong, sizeof(wrong));
}

#define EXPECT_WRONG(change, restore, text)                                                        \
	do {                                                                                       \
		change;                                                                            \
		EXPECT(!is_right(&world));                                                         \
		EXPECT_CONTAINS(wrong, text);                                                      \
		restore;                                                                           \
		EXPECT(is_right(&world));                                                          \
	} while (0)

TEST(validate, each_lie_is_found)
{
	struct world world;

	world_init(&world, 16);
	struct vidmm_allocation *a = world_new(&world, 64 * KIB);
	world_lock(&world, a);
	EXPECT(is_right(&world));
	EXPECT_WRONG(a->content = VIDMM_CONTENT_NONE, a->content = VIDMM_CONTENT_BACKED,
		     "has none, and it is not so");
	EXPECT_WRONG(a->backing.one.count--, a->backing.one.count++, "more or fewer pages");
	EXPECT_WRONG(a->backing.one.first_pfn++, a->backing.one.first_pfn--,
		     "machine did not give");
	EXPECT_WRONG(a->view.is_mapped = false, a->view.is_mapped = true, "cannot be seen");
	EXPECT_WRONG(a->offer = VIDMM_OFFERED, a->offer = VIDMM_NOT_OFFERED, "locked and offered");
	EXPECT_WRONG(a->life = VIDMM_DYING, a->life = VIDMM_LIVE, "dying and can be seen");
	EXPECT_WRONG(account_charge_committed(NULL, 1), account_charge_committed(NULL, -1),
		     "committed bytes");
	EXPECT_WRONG(account_charge_viewed(NULL, 1), account_charge_viewed(NULL, -1),
		     "bytes of views");
	EXPECT_WRONG(a->view.range->count++, a->view.range->count--, "view of another size");
	EXPECT_WRONG(world.count = 0, world.count = 1, "miscounted");
	world_finish(&world);
}

TEST(validate, an_account_is_compared_with_its_own_only)
{
	struct vidmm_account other = { 0 };
	struct world world;

	world_init(&world, 16);
	struct vidmm_wishes wishes = world_wishes(&world, PAGE);
	wishes.account = &other;
	struct vidmm_allocation foreign;
	struct vidmm_allocation *one = &foreign;
	void *pointer;
	vidmm_allocation_init(&foreign, &wishes);
	EXPECT_EQ(vidmm_lock(&foreign, false, &pointer), STATUS_SUCCESS);
	EXPECT(vidmm_validate(&world.process, NULL, 0, wrong, sizeof(wrong)));
	EXPECT(!vidmm_validate(&other, NULL, 0, wrong, sizeof(wrong)));
	EXPECT(vidmm_validate(&other, &one, 1, wrong, sizeof(wrong)));
	EXPECT(vidmm_validate(NULL, &one, 1, wrong, sizeof(wrong)));
	vidmm_allocation_finish(&foreign);
	world_finish(&world);
}

TEST_MAIN("vidmm/validate")
