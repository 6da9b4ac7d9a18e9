/* SPDX-License-Identifier: MIT */
/*
 * allocation_existing_test.c - memory the client has: heaps (standard allocations) and pSystemMem.
 *
 * The expectations are those observed on Windows; the pages ask for more in some places.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/allocation.h"

static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;
static _Alignas(PAGE) unsigned char heap[SOME_BYTES];

struct standard {
	D3DKMT_CREATEALLOCATION args;
	D3DKMT_CREATESTANDARDALLOCATION standard;
	union {
		D3DDDI_ALLOCATIONINFO v1[2];
		D3DDDI_ALLOCATIONINFO2 v2[2];
	};
};

static void standard_init(struct standard *standard)
{
	memset(standard, 0, sizeof(*standard));
	standard->args.hDevice = device;
	standard->args.NumAllocations = 1;
	standard->args.pAllocationInfo2 = standard->v2;
	standard->args.pStandardAllocation = &standard->standard;
	standard->args.Flags.StandardAllocation = 1;
	standard->args.Flags.ExistingSysMem = 1;
	standard->standard.Type = D3DKMT_STANDARDALLOCATIONTYPE_EXISTINGHEAP;
	standard->standard.ExistingHeapData.Size = sizeof(heap);
	standard->v2[0].pSystemMem = heap;
}

/* By both versions, whose elements begin alike; nothing is made and nothing is written. */
#define EXPECT_STANDARD_REFUSED(asked, wanted, rule, argument)                                     \
	do {                                                                                       \
		struct census census_before = census_of(adapter);                                  \
		struct standard standard_before = *(asked);                                        \
		EXPECT_REFUSED(D3DKMTCreateAllocation2(&(asked)->args), wanted, rule, argument);   \
		EXPECT_REFUSED(D3DKMTCreateAllocation(&(asked)->args), wanted, rule, argument);    \
		EXPECT(memcmp(asked, &standard_before, sizeof(standard_before)) == 0);             \
		EXPECT_CENSUS(adapter, census_before);                                             \
	} while (0)

TEST(heap, is_created_with_two_flags_and_nothing_else)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.hGlobalShare = 0x1eadbeed;
	standard.args.hPrivateRuntimeResourceHandle = (HANDLE)(uintptr_t)0x1eadbeed;
	EXPECT_OK(D3DKMTCreateAllocation(&standard.args));
	EXPECT_EQ(standard.args.hGlobalShare, 0);
	EXPECT_EQ(standard.args.hResource, 0);
	EXPECT(standard.args.hPrivateRuntimeResourceHandle == (HANDLE)(uintptr_t)0x1eadbeed);
	EXPECT(is_local_handle(standard.v1[0].hAllocation));
	EXPECT_OK(destroy_one(device, standard.v1[0].hAllocation));
}

TEST(heap, version_2_leaves_every_size_zero)
{
	struct standard standard;

	standard_init(&standard);
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	EXPECT_EQ(standard.args.PrivateRuntimeDataSize, 0);
	EXPECT_EQ(standard.args.PrivateDriverDataSize, 0);
	EXPECT_EQ(standard.v2[0].PrivateDriverDataSize, 0);
	EXPECT(standard.v2[0].pSystemMem == heap);
	EXPECT_EQ(standard.v2[0].GpuVirtualAddress, 0);
	EXPECT_OK(destroy_one(device, standard.v2[0].hAllocation));
}

TEST(heap, is_not_said_to_be_zeroed)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.Flags.Zeroed = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	EXPECT_EQ(standard.args.Flags.Zeroed, 0);
	EXPECT_OK(destroy_one(device, standard.v2[0].hAllocation));
}

TEST(heap, is_locked_where_the_client_has_it_and_keeps_its_bytes)
{
	struct standard standard;
	void *pointer;

	standard_init(&standard);
	memset(heap, 0xa5, sizeof(heap));
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	EXPECT_OK(lock2(device, standard.v2[0].hAllocation, &pointer));
	EXPECT(pointer == heap);
	EXPECT_EQ(heap[PAGE + 1], 0xa5);
	EXPECT_OK(destroy_one(device, standard.v2[0].hAllocation));
	/* It was the client's all the time. */
	EXPECT_EQ(heap[PAGE + 1], 0xa5);
}

TEST(heap, may_come_with_private_data_of_the_allocation_which_stays_the_clients)
{
	unsigned char data[16];
	struct standard standard;

	memset(data, 0x77, sizeof(data));
	standard_init(&standard);
	standard.v2[0].pPrivateDriverData = data;
	standard.v2[0].PrivateDriverDataSize = sizeof(data);
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	EXPECT_EQ(data[0], 0x77);
	EXPECT_EQ(data[15], 0x77);
	EXPECT_EQ(standard.v2[0].PrivateDriverDataSize, sizeof(data));
	EXPECT_OK(destroy_one(device, standard.v2[0].hAllocation));
}

TEST(heap, may_come_with_runtime_data)
{
	static const char runtime_data[] = "runtime";
	struct standard standard;

	standard_init(&standard);
	standard.args.pPrivateRuntimeData = runtime_data;
	standard.args.PrivateRuntimeDataSize = sizeof(runtime_data);
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	EXPECT_OK(destroy_one(device, standard.v2[0].hAllocation));
}

TEST(heap, may_be_in_a_new_resource)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.Flags.CreateResource = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	EXPECT_EQ(standard.v2[0].hAllocation, standard.args.hResource + 0x40);
	/* The allocation first, then what is left of the resource, then there is nothing. */
	EXPECT_OK(destroy_one(device, standard.v2[0].hAllocation));
	EXPECT_OK(destroy_resource(device, standard.args.hResource));
	EXPECT_REFUSED(destroy_resource(device, standard.args.hResource), STATUS_INVALID_PARAMETER,
		       "API-HANDLE", "hResource");
}

TEST(heap, goes_with_its_resource)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.Flags.CreateResource = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	EXPECT_OK(destroy_resource(device, standard.args.hResource));
	EXPECT_REFUSED(destroy_one(device, standard.v2[0].hAllocation), STATUS_INVALID_PARAMETER,
		       "API-HANDLE", "phAllocationList");
}

TEST(heap, is_not_added_to_a_resource)
{
	struct standard first;
	struct standard second;

	standard_init(&first);
	first.args.Flags.CreateResource = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&first.args));
	standard_init(&second);
	second.args.hResource = first.args.hResource;
	EXPECT_STANDARD_REFUSED(&second, STATUS_INVALID_PARAMETER, "API-VALUE", "hResource");
	EXPECT_OK(destroy_resource(device, first.args.hResource));
}

TEST(heap, with_group_private_data_is_refused)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.PrivateDriverDataSize = sizeof(standard.standard);
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE",
				"PrivateDriverDataSize");
}

TEST(heap, without_a_device_is_refused)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.hDevice = 0;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-HANDLE", "hDevice");
}

TEST(heap, with_a_garbage_resource_is_an_invalid_handle)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.hResource = 0x1eadbeed;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_HANDLE, "API-HANDLE", "hResource");
	standard.args.Flags.CreateResource = 1;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_HANDLE, "API-HANDLE", "hResource");
}

TEST(heap, is_exactly_one_allocation)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.NumAllocations = 0;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-COUNT", "NumAllocations");
	standard.args.Flags.CreateResource = 1;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-COUNT", "NumAllocations");
	standard_init(&standard);
	standard.v2[1] = standard.v2[0];
	standard.args.NumAllocations = 2;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE", "NumAllocations");
}

TEST(heap, of_another_type_is_refused)
{
	static const unsigned types[] = { 0, 2, 3 };
	struct standard standard;

	for (unsigned i = 0; i < 3; i++) {
		standard_init(&standard);
		standard.standard.Type = (D3DKMT_STANDARDALLOCATIONTYPE)types[i];
		EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE",
					"pStandardAllocation");
	}
}

TEST(heap, with_reserved_flags_is_refused)
{
	struct standard standard;

	standard_init(&standard);
	standard.standard.Flags.Value = 1;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-RESERVED",
				"pStandardAllocation");
}

TEST(heap, that_is_not_described_is_refused)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.pStandardAllocation = NULL;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
				"pStandardAllocation");
}

TEST(heap, needs_memory)
{
	struct standard standard;

	standard_init(&standard);
	standard.v2[0].pSystemMem = NULL;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
				"pAllocationInfo");
}

TEST(heap, is_whole_pages_at_a_whole_page)
{
	static const unsigned long long sizes[] = { 0, 1, PAGE - 1, PAGE + 1, SOME_BYTES - 1 };
	struct standard standard;

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		standard_init(&standard);
		standard.standard.ExistingHeapData.Size = sizes[i];
		EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE",
					"ExistingHeapData.Size");
	}
	standard_init(&standard);
	standard.v2[0].pSystemMem = heap + 1;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE",
				"pAllocationInfo");
}

TEST(heap, needs_both_flags)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.Flags.ExistingSysMem = 0;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
	standard_init(&standard);
	standard.args.Flags.StandardAllocation = 0;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
}

TEST(heap, is_not_shared_without_a_resource)
{
	struct standard standard;

	standard_init(&standard);
	standard.args.Flags.CreateShared = 1;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
}

TEST(heap, of_four_gigabytes_does_not_fit_what_a_driver_is_told)
{
	struct standard standard;

	standard_init(&standard);
	standard.standard.ExistingHeapData.Size = 1ull << 32;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE",
				"ExistingHeapData.Size");
}

/* What is seen there can move into the GPU's memory. */
TEST(heap, is_not_memory_that_a_lock_handed_out)
{
	D3DKMT_HANDLE allocation = create_one(device);
	struct standard standard;
	void *pointer;

	EXPECT_OK(lock2(device, allocation, &pointer));
	standard_init(&standard);
	standard.v2[0].pSystemMem = pointer;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE",
				"pAllocationInfo");
	EXPECT_OK(destroy_one(device, allocation));
}

/* ---- pSystemMem without any flag, as compute-runtime does it ---- */

TEST(system_memory, is_taken_without_flags)
{
	struct creation creation;
	void *pointer;

	creation_init(&creation, device, 3);
	for (unsigned i = 0; i < 3; i++) {
		creation.data[i].size_bytes = PAGE;
		creation.elements[i].pSystemMem = heap + i * PAGE;
	}
	heap[PAGE] = 0x42;
	EXPECT_OK(create(&creation));
	EXPECT_OK(lock2(device, creation.elements[1].hAllocation, &pointer));
	EXPECT(pointer == heap + PAGE);
	EXPECT_EQ(*(unsigned char *)pointer, 0x42);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_OK(destroy_one(device, creation.elements[i].hAllocation));
	EXPECT_EQ(heap[PAGE], 0x42);
}

TEST(system_memory, is_not_said_to_be_zeroed)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	creation.data[0].size_bytes = PAGE;
	creation.elements[0].pSystemMem = heap;
	EXPECT_OK(create(&creation));
	EXPECT_EQ(creation.args.Flags.Zeroed, 0);
	EXPECT_OK(destroy_one(device, creation.elements[0].hAllocation));
}

TEST(system_memory, begins_at_a_page)
{
	struct creation creation;

	creation_init(&creation, device, 2);
	creation.elements[1].pSystemMem = heap + 16;
	EXPECT_REFUSED(create(&creation), STATUS_INVALID_PARAMETER, "API-VALUE", "pAllocationInfo");
	EXPECT_EQ(last_refusal().index, 1);
}

TEST(system_memory, is_not_memory_that_a_lock_handed_out)
{
	D3DKMT_HANDLE allocation = create_one(device);
	struct creation creation;
	void *pointer;

	EXPECT_OK(lock2(device, allocation, &pointer));
	creation_init(&creation, device, 1);
	creation.elements[0].pSystemMem = (char *)pointer + PAGE;
	creation.data[0].size_bytes = PAGE;
	EXPECT_REFUSED(create(&creation), STATUS_INVALID_PARAMETER, "API-VALUE", "pAllocationInfo");
	EXPECT_OK(destroy_one(device, allocation));
}

/* Two pages of which the second is as `protection` says, or not there at all (-1). */
static void *map_pages(int protection)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(pages != MAP_FAILED);
	if (protection < 0)
		EXPECT_EQ(munmap(pages + PAGE, PAGE), 0);
	else
		EXPECT_EQ(mprotect(pages + PAGE, PAGE, protection), 0);
	return pages;
}

/* compute-runtime takes this status for "use a copy", and gives up at any other. */
TEST(system_memory, that_cannot_be_used_is_no_video_memory)
{
	static const int protections[] = { -1, PROT_NONE, PROT_READ };

	for (unsigned i = 0; i < 3; i++) {
		void *pages = map_pages(protections[i]);
		struct census before = census_of(adapter);
		struct creation creation;
		struct standard standard;

		creation_init(&creation, device, 2);
		creation.data[1].size_bytes = 2 * PAGE;
		creation.elements[1].pSystemMem = pages;
		EXPECT_REFUSED(create(&creation), STATUS_GRAPHICS_NO_VIDEO_MEMORY, "API-VALUE",
			       "pAllocationInfo");
		EXPECT_EQ(last_refusal().index, 1);
		standard_init(&standard);
		standard.standard.ExistingHeapData.Size = 2 * PAGE;
		standard.v2[0].pSystemMem = pages;
		EXPECT_REFUSED(D3DKMTCreateAllocation2(&standard.args),
			       STATUS_GRAPHICS_NO_VIDEO_MEMORY, "API-VALUE", "pAllocationInfo");
		EXPECT_CENSUS(adapter, before);
		/* The page that is there is good enough for one page. */
		creation.data[1].size_bytes = PAGE;
		EXPECT_OK(create(&creation));
		for (unsigned k = 0; k < 2; k++)
			EXPECT_OK(destroy_one(device, creation.elements[k].hAllocation));
		munmap(pages, PAGE);
	}
}

TEST(system_memory, that_is_only_read_may_be_read_only)
{
	SKIP_UNLESS(!is_served(), "a client lends a server only memory that it may write");

	void *pages = map_pages(PROT_READ);
	struct creation creation;

	creation_init(&creation, device, 1);
	creation.data[0].size_bytes = 2 * PAGE;
	creation.elements[0].pSystemMem = pages;
	creation.args.Flags.ReadOnly = 1;
	EXPECT_OK(create(&creation));
	EXPECT_OK(destroy_one(device, creation.elements[0].hAllocation));
	munmap(pages, 2 * PAGE);
}

/* ---- a section: a sealed memfd ---- */

static void set_up_section(int descriptor, uint64_t size_bytes, unsigned seals)
{
	EXPECT_EQ(ftruncate(descriptor, (off_t)size_bytes), 0);
	EXPECT_EQ(fcntl(descriptor, F_ADD_SEALS, seals), 0);
}

static int make_section(uint64_t size_bytes, unsigned seals)
{
	int descriptor = memfd_create("heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	EXPECT(descriptor >= 0);
	set_up_section(descriptor, size_bytes, seals);
	return descriptor;
}

static void section_init(struct standard *standard, int descriptor)
{
	standard_init(standard);
	standard->args.Flags.ExistingSysMem = 0;
	standard->args.Flags.ExistingSection = 1;
	standard->v2[0].hSection = (HANDLE)(uintptr_t)descriptor;
}

TEST(section, is_the_memory_behind_the_allocation)
{
	int descriptor = make_section(sizeof(heap), F_SEAL_SHRINK);
	struct census before = census_of(adapter);
	struct standard standard;
	unsigned char byte = 0x42;
	void *pointer;

	section_init(&standard, descriptor);
	standard.args.Flags.Zeroed = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	EXPECT_EQ(standard.args.Flags.Zeroed, 0);
	EXPECT_EQ(pwrite(descriptor, &byte, 1, PAGE), 1);
	EXPECT_OK(lock2(device, standard.v2[0].hAllocation, &pointer));
	EXPECT_EQ(((unsigned char *)pointer)[PAGE], 0x42);
	((unsigned char *)pointer)[1] = 0x43;
	EXPECT_EQ(pread(descriptor, &byte, 1, 1), 1);
	EXPECT_EQ(byte, 0x43);
	EXPECT_OK(destroy_one(device, standard.v2[0].hAllocation));
	EXPECT_CENSUS(adapter, before);
	close(descriptor);
}

TEST(section, outlives_the_descriptor_it_came_with)
{
	int descriptor = make_section(sizeof(heap), F_SEAL_SHRINK);
	struct standard standard;
	void *pointer;

	section_init(&standard, descriptor);
	EXPECT_OK(D3DKMTCreateAllocation2(&standard.args));
	close(descriptor);
	EXPECT_OK(lock2(device, standard.v2[0].hAllocation, &pointer));
	memset(pointer, 1, sizeof(heap));
	EXPECT_OK(destroy_one(device, standard.v2[0].hAllocation));
}

TEST(section, that_may_shrink_is_refused)
{
	int descriptor = make_section(sizeof(heap), F_SEAL_GROW);
	struct standard standard;

	section_init(&standard, descriptor);
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE", "hSection");
	close(descriptor);
}

TEST(section, smaller_than_the_heap_is_refused)
{
	int descriptor = make_section(sizeof(heap) - PAGE, F_SEAL_SHRINK);
	struct standard standard;

	section_init(&standard, descriptor);
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE", "hSection");
	close(descriptor);
}

TEST(section, that_is_no_descriptor_is_an_invalid_handle)
{
	static const uintptr_t handles[] = { 0x7ffffff0, UINTPTR_MAX, UINT64_C(1) << 32 };
	struct standard standard;

	for (unsigned i = 0; i < 3; i++) {
		section_init(&standard, 0);
		standard.v2[0].hSection = (HANDLE)handles[i];
		EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_HANDLE, "API-HANDLE", "hSection");
	}
}

TEST(section, that_is_a_pipe_is_of_another_type)
{
	int ends[2];
	struct standard standard;

	EXPECT_EQ(pipe(ends), 0);
	section_init(&standard, ends[0]);
	EXPECT_STANDARD_REFUSED(&standard, STATUS_OBJECT_TYPE_MISMATCH, "API-HANDLE", "hSection");
	close(ends[0]);
	close(ends[1]);
}

/* A hole in such a one may not be filled again: who touches it dies, and that may be a server. */
TEST(section, of_huge_pages_is_of_another_type)
{
	int descriptor = memfd_create("heap", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
	struct standard standard;

	SKIP_UNLESS(descriptor >= 0, "this kernel has no huge pages");
	set_up_section(descriptor, UINT64_C(32) << 20, F_SEAL_SHRINK);
	section_init(&standard, descriptor);
	EXPECT_STANDARD_REFUSED(&standard, STATUS_OBJECT_TYPE_MISMATCH, "API-HANDLE", "hSection");
	close(descriptor);
}

TEST(section, sealed_against_writing_is_only_for_reading)
{
	int descriptor = make_section(sizeof(heap), F_SEAL_SHRINK | F_SEAL_WRITE);
	struct standard standard;

	section_init(&standard, descriptor);
	EXPECT_STANDARD_REFUSED(&standard, STATUS_ACCESS_DENIED, "API-HANDLE", "hSection");
	close(descriptor);
}

TEST(section, and_system_memory_exclude_each_other)
{
	int descriptor = make_section(sizeof(heap), F_SEAL_SHRINK);
	struct standard standard;

	section_init(&standard, descriptor);
	standard.args.Flags.ExistingSysMem = 1;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
	section_init(&standard, descriptor);
	standard.args.Flags.StandardAllocation = 0;
	EXPECT_STANDARD_REFUSED(&standard, STATUS_INVALID_PARAMETER, "API-VALUE", "Flags");
	close(descriptor);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		struct standard warm_up;
		adapter = open_first_adapter();
		device = create_device(adapter);
		standard_init(&warm_up);
		EXPECT_OK(D3DKMTCreateAllocation2(&warm_up.args));
		EXPECT_OK(destroy_one(device, warm_up.v2[0].hAllocation));
	}
	return api_main("api/allocation_existing", argc, argv);
}
