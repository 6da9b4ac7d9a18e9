/* SPDX-License-Identifier: MIT */
/*
 * kept_memory_test.c - memory that a driver keeps for contexts and devices, when the adapter is
 * reset and when it stops. What the driver has to be told of it, the driver that watches its levels
 * sees (meson.build runs this on it, too).
 */
#include "api/crank.h"

enum { WITH_ADDRESSES, BY_LISTS, KEPT_ADAPTERS };

static D3DKMT_HANDLE create_on(unsigned which)
{
	D3DKMT_CREATECONTEXT args = { .hDevice = device };

	if (which == WITH_ADDRESSES)
		return create_virtual(0);
	EXPECT_OK(D3DKMTCreateContext(&args));
	return args.hContext;
}

/* Work brings what is kept for it into place. */
static void work_on(unsigned which, D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value)
{
	D3DKMT_RENDER render = { .hContext = context, .CommandLength = 8 };

	if (which == WITH_ADDRESSES)
		EXPECT_OK(submit(context, 8));
	else
		EXPECT_OK(D3DKMTRender(&render));
	EXPECT_OK(queue_signal(context, fence, value));
	EXPECT_OK(wait_fence(fence, value, 0));
}

static unsigned initialized(void)
{
	return notes_count("BuildPagingBuffer irql=0 operation=10");
}

static void expect_survives_a_reset(unsigned which)
{
	begin_on(which);
	D3DKMT_HANDLE lost = device;
	work_on(which, create_on(which), create_fence(0, 0, NULL), 1);
	unsigned before = initialized();
	EXPECT(before > 0);
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_GPUTDR, 0));
	EXPECT_EQ(notes_count("RestartFromTimeout"), 1);

	device = create_device(adapter);
	work_on(which, create_on(which), create_fence(0, 0, NULL), 1);
	EXPECT(initialized() > before);
	EXPECT_OK(destroy_device(device));
	EXPECT_OK(destroy_device(lost));
	EXPECT_EQ(notes_count("ContextAllocationGone status=0"),
		  notes_count("CreateContextAllocation status=0"));
	expect_valid();
}

TEST(reset, leaves_nothing_of_it_in_place)
{
	expect_survives_a_reset(WITH_ADDRESSES);
}

TEST(reset, leaves_nothing_of_it_in_place_without_gpu_addresses)
{
	expect_survives_a_reset(BY_LISTS);
}

TEST(stop, finds_nothing_of_it_in_place)
{
	for (unsigned which = 0; which < KEPT_ADAPTERS; which++) {
		begin_on(which);
		work_on(which, create_on(which), create_fence(0, 0, NULL), 1);
	}
	D3DKMTCloseDxCoreDevice();
	EXPECT_EQ(notes_count("WRONG"), 0);
}

int main(int argc, char **argv)
{
	static const char *const registries[KEPT_ADAPTERS] = {
		[WITH_ADDRESSES] = "\"HandCranked\": 0",
		[BY_LISTS] = "\"HandCranked\": 0, \"Model\": \"physical\"",
	};

	crank_profile_of(registries, KEPT_ADAPTERS, "\"Keep\": 3, ");
	return api_main("api/kept_memory", argc, argv);
}
