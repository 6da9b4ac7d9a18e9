/* SPDX-License-Identifier: MIT */
/*
 * paging_name_test.c - what is said about a paging operation names it as the documentation does.
 */
#include "paging_world.h"

static const char *public_name(DXGK_BUILDPAGINGBUFFER_OPERATION operation)
{
#define NAME(name)                                                                                 \
	if (operation == (name))                                                                   \
	return #name
	NAME(DXGK_OPERATION_TRANSFER);
	NAME(DXGK_OPERATION_FILL);
	NAME(DXGK_OPERATION_DISCARD_CONTENT);
	NAME(DXGK_OPERATION_MAP_APERTURE_SEGMENT);
	NAME(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT);
	NAME(DXGK_OPERATION_VIRTUAL_TRANSFER);
	NAME(DXGK_OPERATION_VIRTUAL_FILL);
	NAME(DXGK_OPERATION_INIT_CONTEXT_RESOURCE);
	NAME(DXGK_OPERATION_UPDATE_PAGE_TABLE);
	NAME(DXGK_OPERATION_FLUSH_TLB);
	NAME(DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION);
	NAME(DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES);
	NAME(DXGK_OPERATION_NOTIFY_RESIDENCY);
#undef NAME
	return "an operation without a name";
}

static void expect_told(struct pager *pager)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };
	const char *name = public_name(seen(pager, NULL, 0).Operation);

	EXPECT(refusal_last(&refusal));
	EXPECT_CONTAINS(host_reports.sentence, name);
	EXPECT_CONTAINS(refusal.reason, name);
}

TEST(told, every_operation_has_its_public_name)
{
	for (int kind = 0; kind <= MINIPORT_PAGING_NOTIFY_RESIDENCY; kind++) {
		struct pager pager;
		struct miniport_paging_op op = { .kind = (enum miniport_paging_kind)kind };

		begin(&pager, TEXT("Fail", "BuildPagingBuffer"));
		EXPECT_EQ(build(&pager, &op), STATUS_DRIVER_INTERNAL_ERROR);
		expect_told(&pager);
		end(&pager);
	}
}

TEST(told, whatever_the_mistake_was)
{
	static const char *const moves[] = { "back", "past", "private back", "private past",
					     "stuck" };

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		struct pager pager;

		begin(&pager, TEXT("PagingMoves", moves[i]));
		EXPECT_EQ(build(&pager, &fill), STATUS_DRIVER_INTERNAL_ERROR);
		expect_told(&pager);
		end(&pager);
	}
}

TEST_MAIN("miniport/paging_name")
