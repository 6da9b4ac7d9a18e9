/* SPDX-License-Identifier: MIT */
/*
 * adapter_test.c - finding, opening and closing adapters (d3dkmt-objects, section 1).
 */
#include "api/support.h"

enum { ROOM = 34 };

static NTSTATUS enumerate(D3DKMT_ADAPTERINFO *infos, ULONG *count)
{
	D3DKMT_ENUMADAPTERS2 args = { .NumAdapters = *count, .pAdapters = infos };
	NTSTATUS status = D3DKMTEnumAdapters2(&args);

	*count = args.NumAdapters;
	return status;
}

static NTSTATUS enumerate3(uint64_t filter, D3DKMT_ADAPTERINFO *infos, ULONG *count)
{
	D3DKMT_ENUMADAPTERS3 args = { .NumAdapters = *count, .pAdapters = infos };
	args.Filter.Value = filter;
	NTSTATUS status = D3DKMTEnumAdapters3(&args);

	*count = args.NumAdapters;
	return status;
}

static void close_all(const D3DKMT_ADAPTERINFO *infos, ULONG count)
{
	for (ULONG i = 0; i < count; i++)
		EXPECT_OK(close_adapter(infos[i].hAdapter));
}

/* ---- EnumAdapters2 ---- */

TEST(enum_adapters2, null_is_refused)
{
	EXPECT_REFUSED(D3DKMTEnumAdapters2(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_STR(last_refusal().call, "D3DKMTEnumAdapters2");
}

TEST(enum_adapters2, without_an_array_it_says_the_maximum_not_the_count)
{
	ULONG count = 0;

	EXPECT_OK(enumerate(NULL, &count));
	EXPECT_EQ(count, ROOM);
	count = 7; /* what goes in does not matter then */
	EXPECT_OK(enumerate(NULL, &count));
	EXPECT_EQ(count, ROOM);
}

TEST(enum_adapters2, gives_handles_luids_and_counts)
{
	D3DKMT_ADAPTERINFO infos[ROOM];
	ULONG count = ROOM;

	memset(infos, 0xee, sizeof(infos));
	EXPECT_OK(enumerate(infos, &count));
	EXPECT_EQ(count, 1);
	EXPECT(is_local_handle(infos[0].hAdapter));
	EXPECT(infos[0].AdapterLuid.LowPart != 0 || infos[0].AdapterLuid.HighPart != 0);
	EXPECT_EQ(infos[0].NumOfSources, 0);
	EXPECT_EQ(infos[0].bPrecisePresentRegionsPreferred, FALSE);
	EXPECT_EQ(infos[1].hAdapter, 0xeeeeeeee); /* not written beyond the count */
	close_all(infos, count);
}

TEST(enum_adapters2, an_exact_array_is_enough)
{
	D3DKMT_ADAPTERINFO infos[1];
	ULONG count = 1;

	EXPECT_OK(enumerate(infos, &count));
	EXPECT_EQ(count, 1);
	close_all(infos, count);
}

TEST(enum_adapters2, an_array_of_none_is_too_small)
{
	D3DKMT_ADAPTERINFO info;
	ULONG count = 0;

	EXPECT_REFUSED(enumerate(&info, &count), STATUS_BUFFER_TOO_SMALL, "API-BUFFER",
		       "NumAdapters");
}

TEST(enum_adapters2, a_refused_call_opens_nothing)
{
	D3DKMT_ADAPTERINFO info;
	ULONG count = 0;
	D3DKMT_HANDLE before = open_first_adapter();
	struct dxgk_test_memory memory = dxgk_test_memory();

	EXPECT_EQ(enumerate(&info, &count), STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(dxgk_test_memory().blocks, memory.blocks);
	D3DKMT_HANDLE after = open_first_adapter();
	EXPECT_EQ(after, before + 0x40);
	EXPECT_OK(close_adapter(before));
	EXPECT_OK(close_adapter(after));
}

TEST(enum_adapters2, a_count_near_the_end_of_numbers_writes_only_what_there_is)
{
	static const ULONG counts[] = { 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		D3DKMT_ADAPTERINFO infos[2];
		ULONG count = counts[i];
		memset(infos, 0xee, sizeof(infos));
		EXPECT_OK(enumerate(infos, &count));
		EXPECT_EQ(count, 1);
		EXPECT_EQ(infos[1].hAdapter, 0xeeeeeeee);
		close_all(infos, count);
	}
}

TEST(enum_adapters2, every_call_opens_anew)
{
	D3DKMT_ADAPTERINFO first[ROOM];
	D3DKMT_ADAPTERINFO second[ROOM];
	ULONG count = ROOM;

	EXPECT_OK(enumerate(first, &count));
	count = ROOM;
	EXPECT_OK(enumerate(second, &count));
	EXPECT(first[0].hAdapter != second[0].hAdapter);
	EXPECT_EQ(first[0].AdapterLuid.LowPart, second[0].AdapterLuid.LowPart);
	EXPECT_EQ(first[0].AdapterLuid.HighPart, second[0].AdapterLuid.HighPart);
	close_all(first, 1);
	close_all(second, 1);
}

/* ---- EnumAdapters ---- */

TEST(enum_adapters, null_is_refused)
{
	EXPECT_REFUSED(D3DKMTEnumAdapters(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT", "");
	EXPECT_STR(last_refusal().call, "D3DKMTEnumAdapters");
}

TEST(enum_adapters, the_first_form_has_the_adapters_that_render)
{
	/* What comes in is not looked at: the field is a result. */
	D3DKMT_ENUMADAPTERS all = { .NumAdapters = 12345 };
	D3DKMT_ADAPTERINFO infos[8];
	ULONG count = 8;

	EXPECT_OK(D3DKMTEnumAdapters(&all));
	EXPECT_OK(enumerate3(0, infos, &count));
	EXPECT(count > 0);
	EXPECT_EQ(all.NumAdapters, count);
	for (ULONG i = 0; i < count; i++) {
		EXPECT(all.Adapters[i].AdapterLuid.LowPart == infos[i].AdapterLuid.LowPart);
		EXPECT(all.Adapters[i].hAdapter != 0 &&
		       all.Adapters[i].hAdapter != infos[i].hAdapter);
	}
	EXPECT_EQ(all.Adapters[count].hAdapter, 0);
	close_all(infos, count);
	close_all(all.Adapters, all.NumAdapters);
}

/* ---- EnumAdapters3 ---- */

TEST(enum_adapters3, null_is_refused)
{
	EXPECT_REFUSED(D3DKMTEnumAdapters3(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
}

TEST(enum_adapters3, every_filter_has_the_render_adapter)
{
	for (uint64_t filter = 0; filter < 4; filter++) {
		D3DKMT_ADAPTERINFO infos[ROOM];
		ULONG count = ROOM;
		EXPECT_OK(enumerate3(filter, infos, &count));
		EXPECT_EQ(count, 1);
		close_all(infos, count);
	}
}

TEST(enum_adapters3, without_an_array_it_says_the_maximum)
{
	ULONG count = 0;

	EXPECT_OK(enumerate3(0, NULL, &count));
	EXPECT_EQ(count, ROOM);
}

TEST(enum_adapters3, an_array_of_none_is_too_small)
{
	D3DKMT_ADAPTERINFO info;
	ULONG count = 0;

	EXPECT_REFUSED(enumerate3(3, &info, &count), STATUS_BUFFER_TOO_SMALL, "API-BUFFER",
		       "NumAdapters");
}

TEST(enum_adapters3, each_reserved_bit_is_refused)
{
	for (unsigned bit = 2; bit < 64; bit++) {
		D3DKMT_ADAPTERINFO infos[ROOM];
		ULONG count = ROOM;
		EXPECT_REFUSED(enumerate3(UINT64_C(1) << bit, infos, &count),
			       STATUS_INVALID_PARAMETER, "API-RESERVED", "Filter");
		count = 0;
		EXPECT_REFUSED(enumerate3(UINT64_C(1) << bit, NULL, &count),
			       STATUS_INVALID_PARAMETER, "API-RESERVED", "Filter");
	}
}

/* ---- OpenAdapterFromLuid ---- */

TEST(open_adapter_from_luid, gives_a_handle_of_its_own_each_time)
{
	D3DKMT_ADAPTERINFO info = first_adapter();
	D3DKMT_OPENADAPTERFROMLUID one = { .AdapterLuid = info.AdapterLuid };
	D3DKMT_OPENADAPTERFROMLUID two = { .AdapterLuid = info.AdapterLuid };

	EXPECT_OK(D3DKMTOpenAdapterFromLuid(&one));
	EXPECT_OK(D3DKMTOpenAdapterFromLuid(&two));
	EXPECT(is_local_handle(one.hAdapter) && is_local_handle(two.hAdapter));
	EXPECT(one.hAdapter != two.hAdapter && one.hAdapter != info.hAdapter);
	EXPECT_OK(close_adapter(one.hAdapter));
	EXPECT_OK(destroy_device(create_device(two.hAdapter))); /* the others are not affected */
	EXPECT_OK(close_adapter(two.hAdapter));
	EXPECT_OK(close_adapter(info.hAdapter));
}

TEST(open_adapter_from_luid, an_unknown_luid_is_refused_and_nothing_is_written)
{
	D3DKMT_ADAPTERINFO info = first_adapter();
	D3DKMT_OPENADAPTERFROMLUID args = { .AdapterLuid = { 0xdead, 0 }, .hAdapter = 0x5a5a };

	EXPECT_REFUSED(D3DKMTOpenAdapterFromLuid(&args), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "AdapterLuid");
	EXPECT_EQ(args.hAdapter, 0x5a5a);
	args.AdapterLuid = (LUID){ 0 };
	EXPECT_REFUSED(D3DKMTOpenAdapterFromLuid(&args), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "AdapterLuid");
	args.AdapterLuid = info.AdapterLuid;
	args.AdapterLuid.HighPart ^= -1; /* both halves count */
	EXPECT_REFUSED(D3DKMTOpenAdapterFromLuid(&args), STATUS_INVALID_PARAMETER, "API-VALUE",
		       "AdapterLuid");
	EXPECT_OK(close_adapter(info.hAdapter));
}

TEST(open_adapter_from_luid, null_is_refused)
{
	EXPECT_REFUSED(D3DKMTOpenAdapterFromLuid(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
}

/* ---- CloseAdapter ---- */

TEST(close_adapter, null_zero_and_garbage_are_refused)
{
	static const D3DKMT_HANDLE garbage[] = { 0,          1,          0x3f,       0x40,
						 0x3fffffc0, 0x40000001, 0x40000002, 0x7fffffff,
						 0x80000000, 0xffffffc0, 0xffffffff };

	EXPECT_REFUSED(D3DKMTCloseAdapter(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT", "");
	for (unsigned i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++)
		EXPECT_REFUSED(close_adapter(garbage[i]), STATUS_INVALID_PARAMETER, "API-HANDLE",
			       "hAdapter");
}

TEST(close_adapter, a_closed_handle_is_closed)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_HANDLE device;
	uint32_t type;

	EXPECT_OK(close_adapter(adapter));
	EXPECT_REFUSED(close_adapter(adapter), STATUS_INVALID_PARAMETER, "API-HANDLE", "hAdapter");
	EXPECT_REFUSED(try_create_device(adapter, &device), STATUS_INVALID_PARAMETER, "API-HANDLE",
		       "hAdapter");
	EXPECT_REFUSED(query_adapter(adapter, KMTQAITYPE_ADAPTERTYPE, &type, sizeof(type)),
		       STATUS_INVALID_PARAMETER, "API-HANDLE", "hAdapter");
}

TEST(close_adapter, an_object_of_another_kind_is_named_and_stays)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_HANDLE device = create_device(adapter);

	EXPECT_REFUSED(close_adapter(device), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND",
		       "hAdapter");
	EXPECT_CONTAINS(last_refusal().reason, "is a device, not an adapter");
	EXPECT_OK(get_execution_state(device));
	EXPECT_OK(destroy_device(device));
	EXPECT_OK(close_adapter(adapter));
}

TEST(close_adapter, devices_live_on)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_HANDLE device = create_device(adapter);

	EXPECT_OK(close_adapter(adapter));
	EXPECT_OK(get_execution_state(device));
	EXPECT_OK(destroy_context(create_context(device)));
	EXPECT_OK(destroy_device(device));
}

TEST(close_adapter, the_last_handle_does_not_stop_the_adapter)
{
	D3DKMT_ADAPTERINFO before = first_adapter();
	EXPECT_OK(close_adapter(before.hAdapter));
	D3DKMT_ADAPTERINFO after = first_adapter();

	EXPECT_EQ(after.AdapterLuid.LowPart, before.AdapterLuid.LowPart);
	EXPECT_OK(close_adapter(after.hAdapter));
}

/* ---- the numbers ---- */

TEST(handles, go_up_by_0x40_and_are_not_used_again_at_once)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_HANDLE last = adapter;

	for (unsigned i = 0; i < 200; i++) {
		D3DKMT_HANDLE device = create_device(adapter);
		EXPECT(is_local_handle(device));
		EXPECT_EQ(device, last + 0x40);
		if (i % 2 == 0)
			EXPECT_OK(destroy_device(device));
		last = device;
		if (i % 2 == 1) {
			last = create_context(device);
			EXPECT_EQ(last, device + 0x40);
			EXPECT_OK(destroy_device(device));
		}
	}
	EXPECT_OK(close_adapter(adapter));
}

TEST(handles, opening_and_closing_leaks_nothing)
{
	EXPECT_OK(close_adapter(open_first_adapter()));
	struct dxgk_test_memory before = dxgk_test_memory();

	for (unsigned i = 0; i < 1000; i++)
		EXPECT_OK(close_adapter(open_first_adapter()));
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
}

API_TEST_MAIN("api/adapter")
