/* SPDX-License-Identifier: MIT */
/*
 * resource_growing_test.c - calls about a resource, stopped at each of their lock points while another
 * thread adds an allocation to it (dxgk_test_park()). What a call met of it is its business; nothing
 * of the rest is lost.
 */
#include "api/residency.h"

static struct client client;
static D3DKMT_HANDLE resource;
static int has_parked;

static void offer_it(void *argument)
{
	D3DKMT_OFFERALLOCATIONS args = { .hDevice = client.device,
					 .pResources = &resource,
					 .NumAllocations = 1,
					 .Priority = D3DKMT_OFFER_PRIORITY_LOW };

	(void)argument;
	EXPECT_OK(D3DKMTOfferAllocations(&args));
	has_parked = dxgk_test_park_end();
}

static void destroy_it(void *argument)
{
	(void)argument;
	EXPECT_OK(destroy_resource(client.device, resource));
	has_parked = dxgk_test_park_end();
}

static D3DKMT_HANDLE make_resource(void)
{
	struct creation creation;

	creation_init_resource(&creation, client.device, 2, SHARED_NOT);
	EXPECT_OK(create(&creation));
	return creation.args.hResource;
}

static NTSTATUS add_to_it(D3DKMT_HANDLE *added_out)
{
	struct creation creation;

	creation_init(&creation, client.device, 1);
	creation.args.hResource = resource;
	NTSTATUS status = create(&creation);
	*added_out = creation.elements[0].hAllocation;
	return status;
}

/* The call stops at its n-th point, something is added, the call goes on. */
static NTSTATUS play(void (*call)(void *argument), unsigned point, D3DKMT_HANDLE *added_out)
{
	resource = make_resource();
	dxgk_test_park("caller", point);
	struct dxgk_test_thread *thread = dxgk_test_thread_create_named("caller", call, NULL);
	EXPECT(thread);
	dxgk_test_park_await();
	NTSTATUS status = add_to_it(added_out);
	dxgk_test_thread_join(thread);
	return status;
}

TEST(growing, while_it_is_offered_leaves_the_new_one_as_it_is_or_offers_it)
{
	SKIP_UNLESS(getenv("DXGK_SEED"), "threads are parked in simulated runs only");
	D3DKMT_HANDLE added = 0;
	unsigned not_offered = 0;
	unsigned point = 0;

	do {
		void *pointer;

		EXPECT_OK(play(offer_it, ++point, &added));
		NTSTATUS status = lock2(client.device, added, &pointer);
		not_offered += status == STATUS_SUCCESS;
		if (status != STATUS_SUCCESS)
			EXPECT_EQ(status, STATUS_INVALID_PARAMETER);
		expect_valid();
		EXPECT_OK(destroy_resource(client.device, resource));
	} while (has_parked);
	EXPECT(point > 5);
	EXPECT(not_offered > 0 && not_offered < point);
}

TEST(growing, while_it_is_destroyed_is_refused_or_destroyed_with_it)
{
	SKIP_UNLESS(getenv("DXGK_SEED"), "threads are parked in simulated runs only");
	D3DKMT_HANDLE added = 0;
	unsigned refused = 0;
	unsigned point = 0;

	do {
		NTSTATUS status = play(destroy_it, ++point, &added);

		refused += status != STATUS_SUCCESS;
		EXPECT(status == STATUS_SUCCESS || status == STATUS_INVALID_HANDLE ||
		       status == STATUS_INVALID_PARAMETER);
		expect_valid();
		EXPECT_EQ(soft_info(client.adapter).live_allocations, 0);
		EXPECT_EQ(soft_info(client.adapter).live_resources, 0);
	} while (has_parked);
	EXPECT(point > 5);
	EXPECT(refused > 0);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		client = begin();
	return api_main("api/resource_growing", argc, argv);
}
