/* SPDX-License-Identifier: MIT */
/*
 * travel_hostile_test.c - bytes that no client of ours has written are refused with a reason, and
 * nothing outside of the block is touched.
 */
#include "unit/wire/travel.h"

static struct test_hooks hooks;

/* In a block of its own, that ends where it ends. True when it was opened, and then answered. */
static bool open_bytes(uint32_t id, const void *bytes, uint64_t size_bytes)
{
	struct travel_image image;
	const char *why = "";
	void *block = malloc(size_bytes ? size_bytes : 1);
	assert_non_null(block);

	memcpy(block, bytes, size_bytes);
	bool is_open = travel_request_open(&image, id, block, size_bytes, &hooks.hooks, &why);
	if (is_open) {
		uint64_t reply_bytes = travel_reply_bytes(&image, STATUS_INVALID_PARAMETER);
		void *reply = malloc(reply_bytes);
		assert_non_null(reply);
		travel_reply_write(&image, STATUS_INVALID_PARAMETER, reply, &hooks.hooks);
		free(reply);
		travel_image_close(&image);
	} else {
		EXPECT(why && *why);
	}
	free(block);
	return is_open;
}

/* No other length than the whole is opened. */
static void cut_everywhere(uint32_t id, const void *arguments)
{
	uint64_t size_bytes;
	unsigned char *request = test_request(id, arguments, &size_bytes, &hooks);
	unsigned char *longer = calloc(1, size_bytes + 16);
	assert_non_null(longer);

	memcpy(longer, request, size_bytes);
	for (uint64_t i = 0; i < size_bytes + 16; i++)
		EXPECT_EQ(open_bytes(id, longer, i), i == size_bytes);
	free(longer);
	free(request);
}

TEST(hostile, a_block_that_was_cut_or_grew_is_refused)
{
	const D3DKMT_HANDLE handles[3] = { 1, 2, 3 };
	UINT numbers[3] = { 0 };
	D3DDDI_ALLOCATIONINFO2 elements[2] = {
		{ .pPrivateDriverData = numbers, .PrivateDriverDataSize = 5 },
		{ .pSystemMem = (void *)4096 },
	};
	D3DKMT_CREATEALLOCATION create = { .NumAllocations = 2, .pAllocationInfo2 = elements };
	D3DKMT_RECLAIMALLOCATIONS2 reclaim = { .HandleList = handles,
					       .NumAllocations = 3,
					       .pResults = (void *)numbers };
	WCHAR text[] = L"ab";
	UNICODE_STRING name = { .Length = 2 * sizeof(WCHAR), .Buffer = text };
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &name };
	HANDLE shared = NULL;
	D3DKMT_SHAREOBJECTS share = { 3, handles, &attributes, 0, &shared };
	const UINT64 values[3] = { 0 };
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = { .ObjectCount = 3,
							    .ObjectHandleArray = handles,
							    .MonitoredFenceValueArray = values };
	D3DKMT_CLOSEADAPTER close = { 0 };

	test_hooks_init(&hooks);
	cut_everywhere(CALL_create_allocation2, &create);
	cut_everywhere(CALL_reclaim_allocations2, &reclaim);
	cut_everywhere(CALL_share_objects, &share);
	cut_everywhere(CALL_wait_for_synchronization_object_from_gpu, &wait);
	cut_everywhere(CALL_close_adapter, &close);
	cut_everywhere(CALL_close_adapter, NULL);
}

TEST(hostile, a_count_that_is_not_the_written_one_is_refused_or_leads_nowhere)
{
	static const uint32_t counts[] = { 0,          1,          3,          CALL_MAX_LIST,
					   0x15555556, 0x40000000, 0x80000000, UINT32_MAX };
	const D3DKMT_HANDLE handles[4] = { 1, 2, 3, 4 };
	D3DKMT_EVICT args = { .NumAllocations = 4, .AllocationList = handles };
	uint64_t size_bytes;

	test_hooks_init(&hooks);
	unsigned char *request = test_request(CALL_evict, &args, &size_bytes, &hooks);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		memcpy(request + 8 + offsetof(D3DKMT_EVICT, NumAllocations), &counts[i],
		       sizeof(counts[i]));
		/* Three handles take as much of the block as four. */
		EXPECT_EQ(open_bytes(CALL_evict, request, size_bytes), counts[i] == 3);
	}
	free(request);
}

TEST(hostile, a_number_that_is_no_call_or_another_is_refused)
{
	uint64_t request[64] = { CALL_close_adapter };

	test_hooks_init(&hooks);
	EXPECT(open_bytes(CALL_close_adapter, request, 8));
	EXPECT(!open_bytes(CALL_lock2, request, 8));
	EXPECT(!open_bytes(CALL_COUNT, request, 8));
	EXPECT(!open_bytes(UINT32_MAX, request, 8));
	request[0] |= UINT64_C(1) << 35; /* a flag there is not */
	EXPECT(!open_bytes(CALL_close_adapter, request, 8));
	request[0] = CALL_D3DKMTPresent | UINT64_C(1) << 32; /* a struct that nobody reads */
	EXPECT(!open_bytes(CALL_D3DKMTPresent, request, sizeof(request)));
	EXPECT(!open_bytes(CALL_D3DKMTPresent, request, 8));
}

TEST(hostile, values_of_a_call_that_has_none_are_refused)
{
	D3DKMT_CLOSEADAPTER close = { 0 };
	uint64_t size_bytes;
	uint64_t *request;

	test_hooks_init(&hooks);
	request = test_request(CALL_close_adapter, &close, &size_bytes, &hooks);
	request[0] |= UINT64_C(2) << 32;
	EXPECT(!open_bytes(CALL_close_adapter, request, size_bytes));
	free(request);
}

TEST(hostile, a_block_at_an_odd_address_or_of_too_many_bytes_is_refused)
{
	static uint64_t request[(TRAVEL_MAX_BYTES + 8) / 8] = { CALL_close_adapter };
	struct travel_image image;
	const char *why = NULL;

	test_hooks_init(&hooks);
	EXPECT(!travel_request_open(&image, CALL_close_adapter, (char *)request + 4, 8,
				    &hooks.hooks, &why));
	EXPECT_CONTAINS(why, "not aligned");
	EXPECT(!travel_request_open(&image, CALL_close_adapter, request, TRAVEL_MAX_BYTES + 8,
				    &hooks.hooks, &why));
	EXPECT_CONTAINS(why, "too long");
}

/* An answer of open_resource2 to one element and room for data: what is said of both may be anything. */
static bool apply_opened(uint64_t data_at, uint64_t data_bytes)
{
	char total[16];
	D3DDDI_OPENALLOCATIONINFO2 element;
	D3DKMT_OPENRESOURCE args = { .NumAllocations = 1,
				     .pOpenAllocationInfo2 = &element,
				     .pTotalPrivateDriverDataBuffer = total,
				     .TotalPrivateDriverDataBufferSize = sizeof(total) };
	struct {
		uint32_t status;
		uint32_t changed;
		D3DDDI_OPENALLOCATIONINFO2 element;
		uint64_t data_bytes;
		char data[sizeof(total)];
	} reply = { .changed = UINT32_C(1) << 31, .data_bytes = data_bytes };

	reply.element.pPrivateDriverData = (void *)(uintptr_t)data_at;
	return travel_reply_apply(CALL_open_resource2, &args, &reply, sizeof(reply), &hooks.hooks);
}

TEST(hostile, a_reply_that_leads_out_of_the_clients_room_is_refused)
{
	test_hooks_init(&hooks);
	EXPECT(apply_opened(0, 16));
	EXPECT(apply_opened(16, 16));
	EXPECT(!apply_opened(17, 16));
	EXPECT(!apply_opened(UINT64_MAX, 16));
	EXPECT(!apply_opened(0, 17));
	EXPECT(!apply_opened(0, 0)); /* there is more than it says */
}

TEST(hostile, a_reply_that_is_not_of_the_call_is_refused)
{
	UINT numbers[2] = { 0 };
	D3DKMT_GETALLOCATIONPRIORITY args = { .AllocationCount = 2, .pPriorities = numbers };
	struct travel_image image;
	const char *why;
	uint64_t size_bytes;
	uint64_t reply[8] = { 0 };

	test_hooks_init(&hooks);
	void *request = test_request(CALL_get_allocation_priority, &args, &size_bytes, &hooks);
	EXPECT(travel_request_open(&image, CALL_get_allocation_priority, request, size_bytes,
				   &hooks.hooks, &why));
	size_bytes = travel_reply_bytes(&image, STATUS_SUCCESS);
	assert_true(size_bytes <= sizeof(reply) - 8);
	travel_reply_write(&image, STATUS_SUCCESS, reply, &hooks.hooks);
	for (uint64_t i = 0; i <= size_bytes + 8; i++)
		EXPECT_EQ(travel_reply_apply(CALL_get_allocation_priority, &args, reply, i,
					     &hooks.hooks),
			  i == size_bytes);
	EXPECT(!travel_reply_apply(CALL_COUNT, &args, reply, size_bytes, &hooks.hooks));
	travel_image_close(&image);
	free(request);
}

static uint64_t next_number(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 32;
}

/* A sanitizer is the judge. */
TEST(hostile, bytes_at_random_break_nothing_in_any_call)
{
	const unsigned rounds = some_of(200, 20000);
	uint64_t seed = 1;

	test_hooks_init(&hooks);
	for (uint32_t id = 0; id < CALL_COUNT; id++) {
		for (unsigned round = 0; round < rounds; round++) {
			uint64_t words[96];
			uint64_t count = 1 + next_number(&seed) % 96;

			/* Mostly small numbers, as counts are. */
			for (uint64_t i = 0; i < count; i++) {
				uint64_t number = next_number(&seed);
				words[i] = number % 3 == 0 ? number % 8 | (number % 5) << 32
							   : number << (number % 33);
			}
			words[0] = id | (uint64_t)(next_number(&seed) % 4) << 32;
			(void)open_bytes(id, words, count * 8);
		}
	}
}

TEST_MAIN("wire/travel_hostile")
