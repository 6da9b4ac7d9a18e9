/* SPDX-License-Identifier: MIT */
/*
 * cpu_map_test.c - a view has a place of its own, shows what it is told, and nothing else.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "world.h"

static struct vidmm_backing pages(uint64_t count, char value)
{
	struct vidmm_backing backing = { 0 };

	EXPECT_EQ(backing_take(&backing, NULL, count, UINT64_MAX), STATUS_SUCCESS);
	EXPECT_EQ(backing.run_count, 1);
	memset(machine_to_pointer((uint64_t)backing.one.first_pfn * PAGE), value, count * PAGE);
	return backing;
}

SMALL_WORLD_TEST(view, the_pages_behind_a_pointer_change_and_the_pointer_does_not)
{
	struct cpu_view view = { 0 };

	struct vidmm_backing one = pages(20, '1');
	struct vidmm_backing two = pages(20, '2');
	EXPECT_EQ(cpu_view_reserve(&view, 20), STATUS_SUCCESS);
	EXPECT_EQ(cpu_view_page_count(&view), 20);
	char *bytes = cpu_view_pointer(&view);
	EXPECT(!probe_is_readable(bytes, 1));
	EXPECT_EQ(cpu_view_show(&view, &one), STATUS_SUCCESS);
	EXPECT(is_all(bytes, 20 * PAGE, '1'));
	EXPECT_EQ(cpu_view_show(&view, &two), STATUS_SUCCESS);
	EXPECT(is_all(bytes, 20 * PAGE, '2'));
	EXPECT(cpu_view_hide(&view));
	EXPECT(!probe_is_readable(bytes, 1));
	EXPECT(!probe_is_readable(bytes + 20 * PAGE - 1, 1));
	EXPECT_EQ(cpu_view_show(&view, &one), STATUS_SUCCESS);
	EXPECT(cpu_view_pointer(&view) == bytes);
	EXPECT(is_all(bytes, 20 * PAGE, '1'));
	EXPECT(cpu_view_finish(&view));
	EXPECT(!view.range && !view.is_mapped);
	EXPECT(!probe_is_readable(bytes, 1));
	backing_give(&one);
	backing_give(&two);
}

SMALL_WORLD_TEST(view, what_lies_next_to_it_cannot_be_touched)
{
	struct cpu_view view = { 0 };

	struct vidmm_backing one = pages(16, '1');
	EXPECT_EQ(cpu_view_reserve(&view, 16), STATUS_SUCCESS);
	EXPECT_EQ(cpu_view_show(&view, &one), STATUS_SUCCESS);
	char *bytes = cpu_view_pointer(&view);
	EXPECT(!probe_is_readable(bytes + 16 * PAGE, 1));
	EXPECT(cpu_view_finish(&view));
	EXPECT(cpu_view_finish(&view)); /* nothing is nothing */
	backing_give(&one);
}

SMALL_WORLD_TEST(view, more_addresses_than_there_are_is_refused)
{
	struct cpu_view view = { 0 };

	EXPECT_EQ(cpu_view_reserve(&view, UINT64_C(1) << 50), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT(!view.range);
	EXPECT(cpu_map_usage().total_pages >= (UINT64_C(1) << 30) / PAGE - 16);
	EXPECT_EQ(cpu_map_usage().taken_pages, 0);
	EXPECT(!cpu_map_validate());
}

/* Uses up what the host allows a process, and ends two views that are one mapping to the host. */
static int out_of_mappings(void)
{
	struct cpu_view views[3] = { 0 };
	struct vidmm_backing backings[3] = { 0 };
	char *bytes;

	for (int i = 0; i < 3; i++) {
		if (!NT_SUCCESS(backing_take(&backings[i], NULL, 1, UINT64_MAX)) ||
		    !NT_SUCCESS(cpu_view_reserve(&views[i], 1)) ||
		    !NT_SUCCESS(cpu_view_show(&views[i], &backings[i])))
			return 1;
	}
	bytes = cpu_view_pointer(&views[1]);
	/* Neighbours with different rights cannot be one mapping. */
	for (int i = 0;; i++) {
		if (mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0) == MAP_FAILED)
			break;
	}
	if (cpu_view_finish(&views[1]))
		return 77; /* the host did not need a mapping more */
	if (cpu_map_usage().abandoned_pages != 1 || cpu_map_usage().taken_pages != 3)
		return 2;
	bytes[0] = 1; /* still there, and nobody else's */
	return cpu_map_validate() ? 3 : 0;
}

TEST(view, a_view_that_cannot_be_taken_away_keeps_its_pages_and_its_place)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(out_of_mappings());
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT(WIFEXITED(status));
	if (WEXITSTATUS(status) != 77)
		EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(view, small_views_are_few_mappings)
{
	enum { COUNT = 100000 };
	static struct vidmm_allocation many[COUNT];
	struct world world;
	uint64_t at = 0;

	world_init(&world, 512);
	for (int i = 0; i < COUNT; i++) {
		struct vidmm_wishes wishes = world_wishes(&world, PAGE);
		void *pointer;

		wishes.account = NULL;
		vidmm_allocation_init(&many[i], &wishes);
		/* More than the host allows a process mappings. */
		EXPECT_EQ(vidmm_lock(&many[i], false, &pointer), STATUS_SUCCESS);
		*(int *)pointer = i;
	}
	EXPECT(!cpu_map_validate());
	for (; at < COUNT; at++) {
		EXPECT_EQ(*(int *)cpu_view_pointer(&many[at].view), at);
		vidmm_allocation_finish(&many[at]);
	}
	world_finish(&world);
}

TEST_MAIN("vidmm/cpu_map")
