/* SPDX-License-Identifier: MIT */
/*
 * allocation_failure_test.c - create, open, lock, share and destroy, with each of their own
 * allocations failing in turn, and with each call into the driver failing in turn.
 *
 * What could not be done says STATUS_NO_MEMORY and why, leaves nothing behind, and works the next
 * time.
 */
#include "api/allocation.h"
#include "api/recorder.h"

#include "drivers/recorder/recorder.h"

enum { MANY = 12 }; /* more than fits the stack anywhere */

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;
static D3DKMT_HANDLE other;

/* One call, and what undoes it when it succeeds. */
struct attempt {
	NTSTATUS (*make)(void);
	void (*undo)(void);
};

static unsigned sweep(const struct attempt *attempt)
{
	unsigned failed = 0;

	EXPECT_OK(attempt->make());
	attempt->undo();
	for (unsigned nth = 1;; nth++) {
		struct census before = census_of(adapter);
		unsigned long long refusals = last_refusal().sequence;
		EXPECT(nth < 1000);
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = attempt->make();
		int fired = dxgk_test_fail_stop();

		if (status == STATUS_SUCCESS) {
			attempt->undo();
		} else {
			struct dxgk_refusal why = last_refusal();
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			EXPECT(why.sequence > refusals);
			EXPECT_EQ(why.status, status);
			EXPECT(why.reason[0] != '\0');
			failed++;
		}
		EXPECT_CENSUS(adapter, before);
		if (!fired) {
			EXPECT_EQ(status, STATUS_SUCCESS);
			return failed;
		}
	}
}

/* ---- create ---- */

static struct creation creation;
static int sharing;
static unsigned count;
static bool in_resource;

static NTSTATUS make_allocations(void)
{
	if (in_resource)
		creation_init_resource(&creation, device, count, sharing);
	else
		creation_init(&creation, device, count);
	creation.args.pPrivateRuntimeData = "runtime";
	creation.args.PrivateRuntimeDataSize = in_resource ? 8 : 0;
	return create(&creation);
}

static void undo_allocations(void)
{
	D3DKMT_HANDLE handles[MOST];

	for (unsigned i = 0; i < count; i++)
		handles[i] = creation.elements[i].hAllocation;
	if (in_resource)
		EXPECT_OK(destroy_resource(device, creation.args.hResource));
	else
		EXPECT_OK(destroy_list(device, handles, count));
}

static const struct attempt create_attempt = { make_allocations, undo_allocations };

TEST(create, survives_each_failure)
{
	in_resource = false;
	for (count = 1; count <= MANY; count += MANY - 1)
		EXPECT(sweep(&create_attempt) > 0);
}

TEST(create, of_resources_survives_each_failure)
{
	in_resource = true;
	for (sharing = SHARED_NOT; sharing <= SHARED_NT; sharing++) {
		for (count = 1; count <= MANY; count += MANY - 1)
			EXPECT(sweep(&create_attempt) > 0);
	}
}

static D3DKMT_HANDLE filled;
static struct creation more;

static NTSTATUS make_more(void)
{
	creation_init(&more, device, 6);
	more.args.hResource = filled;
	return create(&more);
}

static void undo_more(void)
{
	for (unsigned i = 0; i < 6; i++)
		EXPECT_OK(destroy_one(device, more.elements[i].hAllocation));
}

TEST(create, in_a_resource_that_is_there_survives_each_failure)
{
	in_resource = true;
	sharing = SHARED_NOT;
	count = 1;
	EXPECT_OK(make_allocations());
	filled = creation.args.hResource;
	EXPECT(sweep(&(struct attempt){ make_more, undo_more }) > 0);
	undo_allocations();
}

static D3DDDI_ALLOCATIONINFO2 heap_element;

static NTSTATUS make_heap(void)
{
	static _Alignas(PAGE) unsigned char heap[PAGE];
	D3DKMT_CREATESTANDARDALLOCATION standard = {
		.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP
	};
	D3DKMT_CREATEALLOCATION args = { .hDevice = device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &heap_element,
					 .pStandardAllocation = &standard };

	standard.ExistingHeapData.Size = sizeof(heap);
	heap_element = (D3DDDI_ALLOCATIONINFO2){ .pSystemMem = heap };
	args.Flags.StandardAllocation = 1;
	args.Flags.ExistingSysMem = 1;
	return D3DKMTCreateAllocation2(&args);
}

static void undo_heap(void)
{
	EXPECT_OK(destroy_one(device, heap_element.hAllocation));
}

TEST(create, of_a_heap_survives_each_failure)
{
	EXPECT(sweep(&(struct attempt){ make_heap, undo_heap }) > 0);
}

/* ---- open ---- */

static D3DKMT_HANDLE opened;
static HANDLE nt_handle;

static NTSTATUS make_opening(void)
{
	static D3DDDI_OPENALLOCATIONINFO elements[MOST];
	static struct softgpu_allocation total[MOST];
	char runtime[8];
	D3DKMT_OPENRESOURCE args = { .hDevice = other,
				     .hGlobalShare = creation.args.hGlobalShare,
				     .NumAllocations = count,
				     .pOpenAllocationInfo = elements,
				     .pPrivateRuntimeData = runtime,
				     .PrivateRuntimeDataSize = sizeof(runtime),
				     .pTotalPrivateDriverDataBuffer = total,
				     .TotalPrivateDriverDataBufferSize = sizeof(total) };
	NTSTATUS status = D3DKMTOpenResource(&args);

	opened = args.hResource;
	return status;
}

static NTSTATUS make_nt_opening(void)
{
	static D3DDDI_OPENALLOCATIONINFO2 elements[MOST];
	static struct softgpu_allocation total[MOST];
	char runtime[8];
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = { .hDevice = other,
						 .hNtHandle = nt_handle,
						 .NumAllocations = count,
						 .pOpenAllocationInfo2 = elements,
						 .pPrivateRuntimeData = runtime,
						 .PrivateRuntimeDataSize = sizeof(runtime),
						 .pTotalPrivateDriverDataBuffer = total,
						 .TotalPrivateDriverDataBufferSize =
							 sizeof(total) };
	NTSTATUS status = D3DKMTOpenResourceFromNtHandle(&args);

	opened = args.hResource;
	return status;
}

static void undo_opening(void)
{
	EXPECT_OK(destroy_resource(other, opened));
}

TEST(open, survives_each_failure)
{
	in_resource = true;
	sharing = SHARED_GLOBAL;
	for (count = 1; count <= MANY; count += MANY - 1) {
		EXPECT_OK(make_allocations());
		EXPECT(sweep(&(struct attempt){ make_opening, undo_opening }) > 0);
		undo_allocations();
	}
}

TEST(open, by_nt_handle_survives_each_failure)
{
	in_resource = true;
	sharing = SHARED_NT;
	count = MANY;
	EXPECT_OK(make_allocations());
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
				     &nt_handle));
	EXPECT(sweep(&(struct attempt){ make_nt_opening, undo_opening }) > 0);
	close((int)(intptr_t)nt_handle);
	undo_allocations();
}

/* ---- share ---- */

static WCHAR name[] = L"a name";
static UNICODE_STRING string = { sizeof(name) - sizeof(WCHAR), sizeof(name), name };
static OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &string };

static NTSTATUS make_nt_handle(void)
{
	return D3DKMTShareObjects(1, &creation.args.hResource, &attributes, SHARED_ALLOCATION_WRITE,
				  &nt_handle);
}

static NTSTATUS make_named_handle(void)
{
	D3DKMT_OPENNTHANDLEFROMNAME args = { .dwDesiredAccess = SHARED_ALLOCATION_WRITE,
					     .pObjAttrib = &attributes };
	NTSTATUS status = D3DKMTOpenNtHandleFromName(&args);

	nt_handle = args.hNtHandle;
	return status;
}

/* The kernel notices at the next call that looks. */
static void undo_nt_handle(void)
{
	D3DKMT_DESTROYALLOCATION nothing = { .hDevice = device };

	close((int)(intptr_t)nt_handle);
	EXPECT_OK(D3DKMTDestroyAllocation(&nothing));
}

TEST(share, survives_each_failure)
{
	const struct attempt share = { make_nt_handle, undo_nt_handle };
	const struct attempt by_name = { make_named_handle, undo_nt_handle };

	in_resource = true;
	sharing = SHARED_NT;
	count = 1;
	EXPECT_OK(make_allocations());
	EXPECT(sweep(&share) > 0);
	EXPECT_OK(make_nt_handle());
	HANDLE kept = nt_handle;
	EXPECT(sweep(&by_name) > 0);
	close((int)(intptr_t)kept);
	undo_allocations();
}

/* ---- lock ---- */

static D3DKMT_HANDLE locked;

static NTSTATUS make_lock(void)
{
	void *pointer;
	D3DKMT_HANDLE allocation = locked;

	return lock2(device, allocation, &pointer);
}

static void undo_lock(void)
{
	EXPECT_OK(unlock2(device, locked));
}

/* The first lock takes pages and addresses, so each attempt has an allocation of its own. */
TEST(lock, survives_each_failure)
{
	unsigned failed = 0;

	for (unsigned nth = 1;; nth++) {
		EXPECT(nth < 100);
		locked = create_one(device);
		struct census before = census_of(adapter);
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = make_lock();
		int fired = dxgk_test_fail_stop();
		if (status == STATUS_SUCCESS) {
			undo_lock();
		} else {
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			EXPECT_CENSUS(adapter, before);
			EXPECT_REFUSED(unlock2(device, locked), STATUS_INVALID_PARAMETER,
				       "API-VALUE", "hAllocation");
			/* It works the next time. */
			EXPECT_OK(make_lock());
			failed++;
		}
		EXPECT_OK(destroy_one(device, locked));
		if (!fired)
			break;
	}
	EXPECT(failed > 0);
}

/* ---- destroy ---- */

TEST(destroy, of_a_few_a_resource_or_a_device_needs_no_memory)
{
	for (unsigned how = 0; how < 4; how++) {
		D3DKMT_HANDLE usual = device;
		struct census before = census_of(adapter);
		device = create_device(adapter);
		in_resource = how != 0;
		sharing = how == 2 ? SHARED_GLOBAL : SHARED_NOT;
		count = how == 0 ? 8 : MANY;
		EXPECT_OK(make_allocations());
		D3DKMT_HANDLE handles[MOST];
		for (unsigned i = 0; i < count; i++)
			handles[i] = creation.elements[i].hAllocation;
		/* Every allocation fails, not one. */
		for (unsigned nth = 1; nth <= 2; nth++) {
			dxgk_test_fail_nth_allocation(1);
			NTSTATUS status = STATUS_SUCCESS;
			if (nth == 2)
				status = destroy_device(device);
			else if (how == 0)
				status = destroy_list(device, handles, count);
			else if (how != 3)
				status = destroy_resource(device, creation.args.hResource);
			dxgk_test_fail_stop();
			EXPECT_OK(status);
		}
		device = usual;
		EXPECT_CENSUS(adapter, before);
	}
}

TEST(destroy, of_a_long_list_without_memory_destroys_nothing)
{
	in_resource = false;
	count = MANY;
	EXPECT_OK(make_allocations());
	D3DKMT_HANDLE handles[MOST];
	for (unsigned i = 0; i < count; i++)
		handles[i] = creation.elements[i].hAllocation;
	dxgk_test_fail_nth_allocation(1);
	NTSTATUS status = destroy_list(device, handles, count);
	int fired = dxgk_test_fail_stop();
	if (fired) {
		EXPECT_EQ(status, STATUS_NO_MEMORY);
		for (unsigned i = 0; i < count; i++)
			EXPECT(is_alive(device, handles[i]));
		status = destroy_list(device, handles, count);
	}
	EXPECT_OK(status);
}

/* ---- the driver fails ---- */

/* Everything a client does with allocations, whatever comes of each step. */
CHILD(do_everything)
{
	D3DKMT_HANDLE child_adapter = child_open_adapter();
	D3DKMT_HANDLE first = child_create_device(child_adapter);
	D3DKMT_HANDLE second = child_create_device(child_adapter);
	void *pointer;

	for (unsigned round = 0; round < 2; round++) {
		struct creation alone;
		struct creation group;
		D3DDDI_OPENALLOCATIONINFO elements[2] = { { 0 } };

		creation_init_plain(&alone, first, 2);
		if (create(&alone) == STATUS_SUCCESS) {
			CHILD_EXPECT(lock2(first, alone.elements[0].hAllocation, &pointer) ==
				     STATUS_SUCCESS);
			CHILD_EXPECT(destroy_one(first, alone.elements[0].hAllocation) ==
				     STATUS_SUCCESS);
		}
		creation_init_plain(&group, first, 2);
		group.args.Flags.CreateResource = 1;
		group.args.Flags.CreateShared = 1;
		if (create(&group) != STATUS_SUCCESS)
			continue;
		D3DKMT_OPENRESOURCE open = { .hDevice = second,
					     .hGlobalShare = group.args.hGlobalShare,
					     .NumAllocations = 2,
					     .pOpenAllocationInfo = elements };
		if (D3DKMTOpenResource(&open) == STATUS_SUCCESS) {
			CHILD_EXPECT(lock2(second, elements[1].hAllocation, &pointer) ==
				     STATUS_SUCCESS);
			CHILD_EXPECT(destroy_one(second, elements[1].hAllocation) ==
				     STATUS_SUCCESS);
		}
		CHILD_EXPECT(destroy_resource(first, group.args.hResource) == STATUS_SUCCESS);
	}
	CHILD_EXPECT(destroy_device(first) == STATUS_SUCCESS);
	return 0;
}

TEST(driver, each_call_may_fail_and_nothing_is_left)
{
	static const char *const steps[] = { "CreateAllocation", "OpenAllocation",
					     "CloseAllocation", "DestroyAllocation" };

	for (unsigned i = 0; i < 4; i++) {
		for (unsigned nth = 1; nth <= 9; nth++) {
			char settings[128];
			snprintf(settings, sizeof(settings), "\"Fail\": \"%s\", \"FailAt\": %u",
				 steps[i], nth);
			const struct child_result *child = RECORDED("do_everything", settings);

			EXPECT(!strstr(child->out, "WRONG"));
			EXPECT_CONTAINS(child->out, "StopDevice irql=0 left=0\n");
		}
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		adapter = open_first_adapter();
		device = create_device(adapter);
		other = create_device(adapter);
	}
	return api_main("api/allocation_failure", argc, argv);
}
