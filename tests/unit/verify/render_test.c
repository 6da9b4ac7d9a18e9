/* SPDX-License-Identifier: MIT */
/*
 * render_test.c - DMA buffers are written inside and patched in place; commands that change or vanish gain a client nothing.
 * What needs a plan of faults is run once more with it (DXGK_FAULT).
 */
#include "crooked.h"

#include "base/machine.h"
#include "verify/faults.h"

enum { PAGE = 4096 };

static const struct crooked_command two_commands[] = {
	{ CROOKED_COMMAND_MAGIC, 0, 0x11111111, 0 },
	{ CROOKED_COMMAND_MAGIC, 1, 0x22222222, 0 },
};

/* Three entries, the last of which is NULL. */
static void make_list(struct miniport_list_entry *list, uint64_t page)
{
	for (uint32_t i = 0; i < 2; i++)
		list[i] = (struct miniport_list_entry){ .driver_binding =
								(void *)(uintptr_t)(0x500 + i),
							.segment = 1,
							.offset_bytes = (page + i) * PAGE };
	list[2] = (struct miniport_list_entry){ .driver_binding = NULL };
}

/* The plan is read when the first driver is verified. */
static bool is_planned(enum fault_kind kind)
{
	static struct crooked gpu;

	crooked_start(&gpu, CROOKED_PHYSICAL);
	crooked_finish(&gpu);
	return fault_planned(kind) != NULL;
}

#define STORY(name, ...) CROOKED_STORY(render, name, CROOKED_PHYSICAL, __VA_ARGS__)

/* ---- behind the end ---- */

static void renders(struct crooked *gpu)
{
	struct crooked_rendering rendering;
	struct miniport_list_entry list[3];

	make_list(list, 8);
	crooked_rendering_init(gpu, &rendering);
	(void)crooked_render(gpu, &rendering, two_commands, 2, list, 3);
	crooked_rendering_finish(&rendering);
}

STORY(rendering_stays_in_the_buffer, BEND_RENDER_BEHIND, RULE_DDI_DMA_OVERRUN, renders)
STORY(the_last_page_is_looked_at_as_well, BEND_RENDER_JUST_BEHIND, RULE_DDI_DMA_OVERRUN, renders)

static void builds(struct crooked *gpu)
{
	crooked_fill(gpu, NULL, crooked_place(1, 8), 1, 0);
}

STORY(paging_stays_in_the_buffer, BEND_BUILD_BEHIND, RULE_DDI_DMA_OVERRUN, builds)

static void patches(struct crooked *gpu)
{
	struct crooked_rendering rendering;
	struct miniport_list_entry list[3];

	make_list(list, 8);
	crooked_rendering_init(gpu, &rendering);
	EXPECT_EQ(crooked_render(gpu, &rendering, two_commands, 2, list, 3), STATUS_SUCCESS);
	EXPECT_EQ(crooked_patch(gpu, &rendering, list, 3, 0, 2 * sizeof(struct crooked_dma)),
		  STATUS_SUCCESS);
	crooked_rendering_finish(&rendering);
}

STORY(patching_stays_in_the_buffer, BEND_PATCH_BEHIND, RULE_DDI_DMA_OVERRUN, patches)
STORY(patching_ends_with_the_submission, BEND_PATCH_AFTER_IT, RULE_DDI_PATCH_IN_PLACE, patches)

static void patches_the_second_half(struct crooked *gpu)
{
	struct crooked_rendering rendering;
	struct miniport_list_entry list[3];

	make_list(list, 8);
	crooked_rendering_init(gpu, &rendering);
	EXPECT_EQ(crooked_render(gpu, &rendering, two_commands, 2, list, 3), STATUS_SUCCESS);
	/* Only the second has an address that goes there. */
	rendering.patches[0] = rendering.patches[1];
	rendering.render.patch_out_count = 1;
	EXPECT_EQ(crooked_patch(gpu, &rendering, list, 3, sizeof(struct crooked_dma),
				2 * sizeof(struct crooked_dma)),
		  STATUS_SUCCESS);
	crooked_rendering_finish(&rendering);
}

STORY(patching_begins_with_the_submission, BEND_PATCH_BEFORE_IT, RULE_DDI_PATCH_IN_PLACE,
      patches_the_second_half)

/* ---- again ---- */

static void patches_again(struct crooked *gpu, uint64_t second_page, uint64_t third_page)
{
	struct crooked_rendering rendering;
	struct miniport_list_entry list[3];
	struct miniport_list_entry nowhere[3];
	const uint64_t pages[] = { 8, second_page, third_page };

	make_list(nowhere, 0);
	nowhere[0].segment = 0;
	nowhere[1].segment = 0;
	crooked_rendering_init(gpu, &rendering);
	EXPECT_EQ(crooked_render(gpu, &rendering, two_commands, 2, nowhere, 3), STATUS_SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		make_list(list, pages[i]);
		EXPECT_EQ(
			crooked_patch(gpu, &rendering, list, 3, 0, 2 * sizeof(struct crooked_dma)),
			STATUS_SUCCESS);
	}
	crooked_rendering_finish(&rendering);
}

static void patches_with_the_same(struct crooked *gpu)
{
	patches_again(gpu, 8, 8);
}

static void patches_with_another(struct crooked *gpu)
{
	patches_again(gpu, 12, 8);
}

STORY(the_same_address_gives_the_same, BEND_PATCH_ADDS, RULE_DDI_PATCH_IDEMPOTENT,
      patches_with_the_same)
STORY(another_address_leaves_nothing_of_the_first, BEND_PATCH_ONCE, RULE_DDI_PATCH_IDEMPOTENT,
      patches_with_another)

TEST(render, what_was_patched_before_is_forgotten)
{
	SKIP_UNLESS(is_planned(FAULT_REPATCH_ALWAYS), "needs repatch-always");
	crooked_compare(CROOKED_PHYSICAL, BEND_PATCH_ADDS, RULE_DDI_PATCH_IDEMPOTENT, patches);
}

TEST(render, an_address_that_is_written_is_in_the_patch_list)
{
	SKIP_UNLESS(is_planned(FAULT_REPATCH_ALWAYS), "needs repatch-always");
	crooked_compare(CROOKED_PHYSICAL, BEND_RENDER_UNPATCHED, RULE_DDI_PATCH_ALL, renders);
}

/* ---- the list ---- */

STORY(a_cut_comes_before_what_is_patched, BEND_RENDER_CUT, RULE_DDI_PATCH_LIST, renders)
STORY(what_is_unbound_is_the_first_element, BEND_RENDER_NULL, RULE_DDI_RENDER_NULL_ELEMENT, renders)

/* ---- the client's memory ---- */

TEST(render, what_was_checked_is_what_is_written)
{
	SKIP_UNLESS(is_planned(FAULT_USER_MEMORY_CHANGES), "needs user-memory-changes");
	crooked_compare(CROOKED_PHYSICAL, BEND_RENDER_CHECKS_FIRST, RULE_DDI_RENDER_TOCTOU,
			renders);
}

TEST(render, what_needs_no_check_may_be_read_twice)
{
	static struct crooked gpu;

	SKIP_UNLESS(is_planned(FAULT_USER_MEMORY_CHANGES), "needs user-memory-changes");
	crooked_start(&gpu, CROOKED_PHYSICAL);
	gpu.bend = BEND_RENDER_READS_VALUE_TWICE;
	renders(&gpu);
	crooked_expect_nothing(&gpu);
	crooked_finish(&gpu);
}

TEST(render, what_cannot_be_read_is_not_rendered)
{
	SKIP_UNLESS(is_planned(FAULT_USER_MEMORY_VANISHES), "needs user-memory-vanishes");
	crooked_compare(CROOKED_PHYSICAL, BEND_RENDER_IGNORES_FAULTS, RULE_DDI_RENDER_PROBE,
			renders);
}

TEST_MAIN("verify/render")
