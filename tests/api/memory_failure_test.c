/* SPDX-License-Identifier: MIT */
/*
 * memory_failure_test.c - every call, with each of its allocations failing in turn.
 *
 * A call that could not get its memory says STATUS_NO_MEMORY and why, leaves nothing behind, and
 * works the next time.
 */
#include "api/allocation.h"

static D3DKMT_ADAPTERINFO adapter;
static D3DKMT_HANDLE device;

/* One call that changes something, and what undoes it when it succeeds. */
struct attempt {
	NTSTATUS (*make)(D3DKMT_HANDLE *made);
	NTSTATUS (*undo)(D3DKMT_HANDLE made);
	NTSTATUS answer; /* when there is memory */
};

static unsigned sweep(const struct attempt *attempt)
{
	D3DKMT_HANDLE made = 0;
	unsigned failed = 0;

	/* What is made once and kept is there before the counting starts. */
	EXPECT_EQ(attempt->make(&made), attempt->answer);
	if (attempt->undo)
		EXPECT_OK(attempt->undo(made));
	for (unsigned nth = 1;; nth++) {
		struct dxgk_test_memory before = dxgk_test_memory();
		struct softgpu_escape_info held = soft_info(adapter.hAdapter);
		unsigned long long refusals = last_refusal().sequence;
		EXPECT(nth < 1000);
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = attempt->make(&made);
		int fired = dxgk_test_fail_stop();

		if (status == attempt->answer) {
			if (attempt->undo)
				EXPECT_OK(attempt->undo(made));
		} else {
			struct dxgk_refusal why = last_refusal();
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			EXPECT(why.sequence > refusals);
			EXPECT_EQ(why.status, STATUS_NO_MEMORY);
			EXPECT(why.reason[0] != '\0');
			EXPECT(strcmp(why.rule, "API-NO-MEMORY") == 0 ||
			       strcmp(why.rule, "DDI-STATUS") == 0); /* it had none */
			failed++;
		}
		EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
		EXPECT_EQ(soft_info(adapter.hAdapter).live_devices, held.live_devices);
		EXPECT_EQ(soft_info(adapter.hAdapter).live_contexts, held.live_contexts);
		if (!fired) {
			EXPECT_EQ(status, attempt->answer);
			return failed;
		}
	}
}

static NTSTATUS make_open(D3DKMT_HANDLE *made)
{
	D3DKMT_OPENADAPTERFROMLUID args = { .AdapterLuid = adapter.AdapterLuid };
	NTSTATUS status = D3DKMTOpenAdapterFromLuid(&args);

	*made = args.hAdapter;
	return status;
}

TEST(memory, opening_an_adapter_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_open, close_adapter, STATUS_SUCCESS }) > 0);
}

static NTSTATUS make_list(D3DKMT_HANDLE *made)
{
	D3DKMT_ADAPTERINFO infos[34] = { { 0 } };
	D3DKMT_ENUMADAPTERS2 args = { .NumAdapters = 34, .pAdapters = infos };
	NTSTATUS status = D3DKMTEnumAdapters2(&args);

	*made = infos[0].hAdapter;
	return status;
}

TEST(memory, enumerating_adapters_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_list, close_adapter, STATUS_SUCCESS }) > 0);
}

static NTSTATUS make_device(D3DKMT_HANDLE *made)
{
	return try_create_device(adapter.hAdapter, made);
}

TEST(memory, creating_a_device_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_device, destroy_device, STATUS_SUCCESS }) > 0);
}

static NTSTATUS make_context(D3DKMT_HANDLE *made)
{
	return try_create_context(device, made);
}

TEST(memory, creating_a_context_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_context, destroy_context, STATUS_SUCCESS }) > 0);
}

static NTSTATUS make_context_with_data(D3DKMT_HANDLE *made)
{
	struct softgpu_context data = { SOFTGPU_CONTEXT_VERSION, 0 };
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice = device,
					     .pPrivateDriverData = &data,
					     .PrivateDriverDataSize = sizeof(data) };
	NTSTATUS status = D3DKMTCreateContextVirtual(&args);

	*made = args.hContext;
	return status;
}

TEST(memory, creating_a_virtual_context_with_data_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_context_with_data, destroy_context, STATUS_SUCCESS }) >
	       0);
}

/* More than a call has room for without taking memory. */
enum { MUCH = 4096 };

static NTSTATUS make_escape(D3DKMT_HANDLE *made)
{
	static union {
		struct softgpu_escape header;
		unsigned char buffer[MUCH];
	} data;
	D3DKMT_ESCAPE args = { .hAdapter = adapter.hAdapter,
			       .pPrivateDriverData = &data,
			       .PrivateDriverDataSize = sizeof(data) };

	data.header = (struct softgpu_escape){ SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_ECHO,
					       sizeof(data), 0 };
	*made = 0;
	return D3DKMTEscape(&args);
}

/* The driver has no escape of that size, and says so once it gets to see it. */
TEST(memory, an_escape_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_escape, NULL, STATUS_INVALID_PARAMETER }) > 0);
}

static NTSTATUS make_query(D3DKMT_HANDLE *made)
{
	D3DDDI_QUERYREGISTRY_INFO info = { .QueryType = D3DDDI_QUERYREGISTRY_ADAPTERKEY,
					   .ValueName = L"AddressModel" };

	*made = 0;
	return query_adapter(adapter.hAdapter, KMTQAITYPE_QUERYREGISTRY, &info, sizeof(info));
}

TEST(memory, a_query_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_query, NULL, STATUS_SUCCESS }) > 0);
}

static NTSTATUS make_private_query(D3DKMT_HANDLE *made)
{
	static unsigned char info[MUCH];

	*made = 0;
	return query_adapter(adapter.hAdapter, KMTQAITYPE_UMDRIVERPRIVATE, info, sizeof(info));
}

TEST(memory, the_drivers_private_answer_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_private_query, NULL, STATUS_SUCCESS }) > 0);
}

/* Releasing what is held must always be possible. */
TEST(memory, destroying_needs_none)
{
	D3DKMT_HANDLE doomed = create_device(adapter.hAdapter);
	D3DKMT_HANDLE context = create_context(doomed);
	D3DKMT_HANDLE second = create_context(doomed);
	D3DKMT_HANDLE open;

	EXPECT_OK(make_open(&open));
	(void)second;
	for (unsigned nth = 1; nth <= 3; nth++) {
		dxgk_test_fail_nth_allocation(1);
		NTSTATUS status = nth == 1   ? destroy_context(context)
				  : nth == 2 ? destroy_device(doomed)
					     : close_adapter(open);
		dxgk_test_fail_stop();
		EXPECT_OK(status);
	}
}

enum { MANY = 300 };

static HANDLE large_handle;

static D3DKMT_HANDLE make_large(void)
{
	static struct softgpu_allocation data[MANY];
	static D3DDDI_ALLOCATIONINFO2 elements[MANY];
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = MANY,
					 .pAllocationInfo2 = elements };

	args.Flags.CreateResource = args.Flags.CreateShared = args.Flags.NtSecuritySharing = 1;
	for (unsigned i = 0; i < MANY; i++) {
		data[i] = (struct softgpu_allocation){ SOFTGPU_ALLOCATION_VERSION,
						       SOFTGPU_CPU_VISIBLE, PAGE, 0 };
		elements[i].pPrivateDriverData = &data[i];
		elements[i].PrivateDriverDataSize = sizeof(data[i]);
	}
	EXPECT_OK(D3DKMTCreateAllocation2(&args));
	EXPECT_OK(D3DKMTShareObjects(1, &args.hResource, NULL, SHARED_ALLOCATION_WRITE,
				     &large_handle));
	return args.hResource;
}

static NTSTATUS open_large(D3DKMT_HANDLE *made)
{
	static D3DDDI_OPENALLOCATIONINFO2 elements[MANY];
	static unsigned char total[MANY * sizeof(struct softgpu_allocation)];
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = { .hDevice = device,
						 .hNtHandle = large_handle,
						 .NumAllocations = MANY,
						 .pOpenAllocationInfo2 = elements,
						 .TotalPrivateDriverDataBufferSize = sizeof(total),
						 .pTotalPrivateDriverDataBuffer = total };
	NTSTATUS status = D3DKMTOpenResourceFromNtHandle(&args);

	*made = args.hResource;
	return status;
}

TEST(memory, opening_a_large_resource_survives_some_failures)
{
	D3DKMT_HANDLE resource = make_large();
	unsigned failures = 0;
	int has_fired = 1;

	/* Of the many that are alike not each one. */
	for (unsigned nth = 1; has_fired; nth += nth < 12 ? 1 : 37) {
		D3DKMT_HANDLE made;

		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = open_large(&made);
		has_fired = dxgk_test_fail_stop();
		if (status == STATUS_SUCCESS) {
			EXPECT_OK(destroy_resource(device, made));
			continue;
		}
		EXPECT_EQ(status, STATUS_NO_MEMORY);
		EXPECT_EQ(last_refusal().status, STATUS_NO_MEMORY);
		failures++;
	}
	EXPECT(failures > 3);
	EXPECT_OK(destroy_resource(device, resource));
	close((int)(intptr_t)large_handle);
	D3DKMT_HANDLE none;
	EXPECT_EQ(open_large(&none), STATUS_INVALID_HANDLE); /* and it is gone */
}

/* The driver hears of a few at a time when there is no memory for a list of all. */
TEST(memory, destroying_a_large_shared_resource_needs_none)
{
	struct softgpu_escape_info before = soft_info(adapter.hAdapter);

	for (unsigned nth = 1; nth <= 4; nth++) {
		struct creation creation;

		creation_init_resource(&creation, device, MOST, SHARED_GLOBAL);
		EXPECT_OK(create(&creation));
		dxgk_test_fail_nth_allocation(nth);
		EXPECT_OK(destroy_resource(device, creation.args.hResource));
		dxgk_test_fail_stop();
		EXPECT_EQ(soft_info(adapter.hAdapter).live_allocations, before.live_allocations);
		EXPECT_EQ(soft_info(adapter.hAdapter).live_resources, before.live_resources);
	}
}

/* ---- the first call, which starts everything ---- */

CHILD(start_with_a_failure)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	unsigned nth = (unsigned)atoi(getenv("TEST_FAIL_AT"));

	dxgk_test_fail_nth_allocation(nth);
	NTSTATUS status = D3DKMTEnumAdapters2(&all);
	int fired = dxgk_test_fail_stop();
	struct dxgk_refusal why = last_refusal();

	/* No memory, or a kernel without the adapter that found none, or it did without. */
	CHILD_EXPECT(status == STATUS_SUCCESS || status == STATUS_NO_MEMORY);
	CHILD_EXPECT(status == STATUS_SUCCESS || why.status == status);
	if (status == STATUS_SUCCESS && all.NumAdapters == 1) {
		D3DKMT_HANDLE made = child_create_device(infos[0].hAdapter);
		child_create_context(made);
	}
	/* What failed for want of memory works when there is some; an adapter stays out. */
	all = (D3DKMT_ENUMADAPTERS2){ .NumAdapters = 34, .pAdapters = infos };
	CHILD_EXPECT(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS);
	printf("%s\n", fired ? "fired" : "not fired");
	return 0;
}

TEST(memory, starting_the_kernel_survives_each_failure)
{
	SKIP_UNLESS(!is_served(), "the server has started its kernel already");

	unsigned nth;

	for (nth = 1; nth < 5000; nth++) {
		char setting[32];
		snprintf(setting, sizeof(setting), "TEST_FAIL_AT=%u", nth);
		const struct child_result *child = run_child("start_with_a_failure", setting);
		if (child->exit_status != 0)
			print_error("with allocation %u failing:\n", nth);
		EXPECT_CHILD(child, 0);
		if (strcmp(child->out, "not fired\n") == 0)
			break;
		EXPECT_STR(child->out, "fired\n");
		/* An adapter that is not there was said. */
		if (strstr(child->err, "did not start"))
			EXPECT_CONTAINS(child->err, "STATUS_");
	}
	EXPECT(nth > 20);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		adapter = first_adapter();
		device = create_device(adapter.hAdapter);
	}
	return api_main("api/memory_failure", argc, argv);
}
