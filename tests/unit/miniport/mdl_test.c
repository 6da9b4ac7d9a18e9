/* SPDX-License-Identifier: MIT */
/*
 * mdl_test.c - pages as a driver is shown them.
 */
#include "host.h"
#include "support/failing.h"

#include <ddk/ntddk.h>

#include "miniport/work.h"

TEST(mdl, pages_are_shown_in_the_order_of_the_runs)
{
	static const struct miniport_page_run runs[] = { { 300, 2 }, { 270, 1 }, { 500, 3 } };
	static const uint64_t expected[] = { 300, 301, 270, 500, 501, 502 };
	struct miniport_mdl *created = NULL;

	EXPECT_EQ(miniport_mdl_create(runs, 3, &created), STATUS_SUCCESS);
	MDL *mdl = (MDL *)created;
	EXPECT_EQ(MmGetMdlByteCount(mdl), 6 * 4096);
	EXPECT_EQ(MmGetMdlByteOffset(mdl), 0);
	EXPECT_EQ(memcmp(MmGetMdlPfnArray(mdl), expected, sizeof(expected)), 0);
	miniport_mdl_destroy(created);
	miniport_mdl_destroy(NULL);
}

TEST(mdl, creation_survives_every_lack_of_memory)
{
	EACH_FAILURE (failing, 2) {
		struct miniport_mdl *mdl = NULL;
		struct mem_usage before = mem_usage();

		failing_start(&failing);
		NTSTATUS status =
			miniport_mdl_create(&(struct miniport_page_run){ 256, 4 }, 1, &mdl);
		bool fired = failing_stop(&failing);
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		miniport_mdl_destroy(mdl);
		EXPECT_EQ(mem_usage().blocks, before.blocks);
	}
	EXPECT_EQ(miniport_mdl_create(NULL, 0, &(struct miniport_mdl *){ NULL }),
		  STATUS_INVALID_PARAMETER);
}

TEST_MAIN("miniport/mdl")
