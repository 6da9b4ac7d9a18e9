/* SPDX-License-Identifier: MIT */
/*
 * render_soft_test.c - D3DKMTRender through to the bytes: what the software GPU computed in its
 * physical model is what a client reads.
 */
#include "api/residency.h"

#include <opendxgk/softgpu.h>

enum { SIZE_BYTES = 256 * KIB };

/* A context, and the commands it is given next. */
struct writer {
	struct client client;
	D3DKMT_CREATECONTEXT context;
	D3DKMT_RENDER args;
};

static void writer_open(struct writer *writer)
{
	writer->client = begin();
	writer->context = (D3DKMT_CREATECONTEXT){ .hDevice = writer->client.device };
	EXPECT_OK(D3DKMTCreateContext(&writer->context));
	writer->args = (D3DKMT_RENDER){ .hContext = writer->context.hContext };
}

static D3DKMT_HANDLE bring_in(const struct writer *writer)
{
	D3DKMT_HANDLE handle = create_sized(&writer->client, SIZE_BYTES, SOFTGPU_CPU_VISIBLE);

	EXPECT_OK(make_resident(&writer->client, &handle, 1, 0));
	return handle;
}

static UINT list(struct writer *writer, D3DKMT_HANDLE handle, bool is_written)
{
	D3DDDI_ALLOCATIONLIST *entry =
		&writer->context.pAllocationList[writer->args.AllocationCount];

	*entry = (D3DDDI_ALLOCATIONLIST){ .hAllocation = handle };
	entry->WriteOperation = is_written;
	return writer->args.AllocationCount++;
}

static void put(struct writer *writer, const void *command, UINT size)
{
	memcpy((char *)writer->context.pCommandBuffer + writer->args.CommandLength, command, size);
	writer->args.CommandLength += size;
}

static struct softgpu_command header(unsigned opcode, UINT size)
{
	return (struct softgpu_command){ SOFTGPU_COMMAND_MAGIC, (uint16_t)opcode, size };
}

static void put_fill(struct writer *writer, UINT index, UINT offset, UINT size, UINT pattern_word)
{
	const struct softgpu_fill fill = {
		.header = header(SOFTGPU_FILL, sizeof(fill)),
		.destination.reference = { index, offset },
		.size_bytes = size,
		.pattern = pattern_word,
	};

	put(writer, &fill, sizeof(fill));
}

static void put_copy(struct writer *writer, UINT to, UINT from, UINT size)
{
	const struct softgpu_copy copy = {
		.header = header(SOFTGPU_COPY, sizeof(copy)),
		.destination.reference = { to, 0 },
		.source.reference = { from, 0 },
		.size_bytes = size,
	};

	put(writer, &copy, sizeof(copy));
}

static NTSTATUS hand_over(struct writer *writer)
{
	NTSTATUS status = D3DKMTRender(&writer->args);

	writer->context.pCommandBuffer = writer->args.pNewCommandBuffer;
	writer->context.pAllocationList = writer->args.pNewAllocationList;
	writer->args.CommandLength = 0;
	writer->args.AllocationCount = 0;
	return status;
}

static void await_gpu(const struct writer *writer)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = monitored_fence(writer->client.device, false);
	UINT64 one = 1;

	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU signal = {
		.hContext = writer->context.hContext,
		.ObjectCount = 1,
		.ObjectHandleArray = &fence.hSyncObject,
		.MonitoredFenceValueArray = &one,
	};
	EXPECT_OK(D3DKMTSignalSynchronizationObjectFromGpu(&signal));
	EXPECT_OK(wait_value(writer->client.device, fence.hSyncObject, one));
}

static UINT word_at(const struct writer *writer, D3DKMT_HANDLE handle, UINT offset)
{
	void *pointer;
	UINT word;

	EXPECT_OK(lock2(writer->client.device, handle, &pointer));
	memcpy(&word, (char *)pointer + offset, sizeof(word));
	EXPECT_OK(unlock2(writer->client.device, handle));
	return word;
}

/* An opening of a resource of our own, without the right to write. */
static D3DKMT_HANDLE open_to_read(const struct writer *writer)
{
	struct softgpu_allocation wish = { SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE,
					   SIZE_BYTES };
	D3DDDI_ALLOCATIONINFO2 made = { .pPrivateDriverData = &wish,
					.PrivateDriverDataSize = sizeof(wish) };
	D3DKMT_CREATEALLOCATION create = { .hDevice = writer->client.device,
					   .NumAllocations = 1,
					   .pAllocationInfo2 = &made };
	D3DDDI_OPENALLOCATIONINFO2 info = { 0 };
	unsigned char total[1024];
	HANDLE handle;

	create.Flags.CreateResource = 1;
	create.Flags.CreateShared = 1;
	create.Flags.NtSecuritySharing = 1;
	EXPECT_OK(D3DKMTCreateAllocation2(&create));
	EXPECT_OK(D3DKMTShareObjects(1, &create.hResource, NULL, GENERIC_READ, &handle));
	D3DKMT_OPENRESOURCEFROMNTHANDLE open = { .hDevice = writer->client.device,
						 .hNtHandle = handle,
						 .NumAllocations = 1,
						 .pOpenAllocationInfo2 = &info,
						 .TotalPrivateDriverDataBufferSize = sizeof(total),
						 .pTotalPrivateDriverDataBuffer = total };
	EXPECT_OK(D3DKMTOpenResourceFromNtHandle(&open));
	close((int)(intptr_t)handle);
	EXPECT_OK(make_resident(&writer->client, &info.hAllocation, 1, 0));
	return info.hAllocation;
}

TEST(soft, nothing_is_written_through_an_opening_without_the_right_to_write)
{
	struct writer writer;

	writer_open(&writer);
	D3DKMT_HANDLE readable = open_to_read(&writer);
	D3DKMT_HANDLE own = bring_in(&writer);
	list(&writer, own, true);
	put_fill(&writer, list(&writer, readable, true), 0, PAGE, 0xbadbadba);
	EXPECT_REFUSED(D3DKMTRender(&writer.args), STATUS_ACCESS_DENIED, "API-RIGHTS",
		       "AllocationList");
	EXPECT_EQ(last_refusal().index, 1);
	/* What it reads it may name. */
	writer.args.CommandLength = 0;
	writer.args.AllocationCount = 0;
	UINT to = list(&writer, own, true);
	put_copy(&writer, to, list(&writer, readable, false), PAGE);
	EXPECT_OK(hand_over(&writer));
	await_gpu(&writer);
	EXPECT_EQ(word_at(&writer, readable, 0), 0);
}

TEST(soft, a_fill_and_a_copy_arrive_where_the_list_says)
{
	struct writer writer;

	writer_open(&writer);
	D3DKMT_HANDLE one = bring_in(&writer);
	D3DKMT_HANDLE other = bring_in(&writer);
	UINT first = list(&writer, one, true);
	UINT second = list(&writer, other, true);
	put_fill(&writer, first, 0, SIZE_BYTES, 0x11111111);
	put_fill(&writer, first, 4096, 8, 0x22222222);
	put_copy(&writer, second, first, SIZE_BYTES);
	EXPECT_OK(hand_over(&writer));
	await_gpu(&writer);
	EXPECT_EQ(word_at(&writer, other, 0), 0x11111111);
	EXPECT_EQ(word_at(&writer, other, 4096), 0x22222222);
	EXPECT_EQ(word_at(&writer, other, 4104), 0x11111111);
	EXPECT_EQ(word_at(&writer, other, SIZE_BYTES - 4), 0x11111111);
	expect_valid();
}

TEST(soft, full_command_buffers_run_in_order)
{
	struct writer writer;
	UINT count = 0;

	writer_open(&writer);
	D3DKMT_HANDLE one = bring_in(&writer);
	for (UINT round = 0; round < 40; round++) {
		UINT index = list(&writer, one, true);

		while (writer.args.CommandLength + sizeof(struct softgpu_fill) <=
		       writer.context.CommandBufferSize)
			put_fill(&writer, index, 0, 64, ++count);
		EXPECT_OK(hand_over(&writer));
	}
	await_gpu(&writer);
	EXPECT(count > 40);
	EXPECT_EQ(word_at(&writer, one, 0), count);
	EXPECT_EQ(word_at(&writer, one, 60), count);
	EXPECT_EQ(word_at(&writer, one, 64), 0);
	expect_valid();
}

TEST(soft, a_command_that_reaches_beyond_its_allocation_is_refused)
{
	struct writer writer;

	writer_open(&writer);
	UINT index = list(&writer, bring_in(&writer), true);
	put_fill(&writer, index, 4096, SIZE_BYTES, 1);
	EXPECT_REFUSED(hand_over(&writer), STATUS_INVALID_PARAMETER, "DDI-STATUS", "DxgkDdiRender");
	index = list(&writer, bring_in(&writer), false);
	put_fill(&writer, index, 0, 64, 1);
	EXPECT_REFUSED(hand_over(&writer), STATUS_INVALID_PARAMETER, "DDI-STATUS", "DxgkDdiRender");
	put_fill(&writer, 0, 0, 64, 1);
	EXPECT_REFUSED(hand_over(&writer), STATUS_INVALID_PARAMETER, "DDI-STATUS", "DxgkDdiRender");
}

/* More than fits at once, in and out, with the GPU writing all the time. */
TEST(soft, what_was_written_survives_being_moved)
{
	enum { COUNT = 12, BIG = 2 * MIB };
	D3DKMT_HANDLE handles[COUNT];
	struct writer writer;

	writer_open(&writer);
	for (unsigned i = 0; i < COUNT; i++)
		handles[i] = create_sized(&writer.client, BIG, SOFTGPU_CPU_VISIBLE);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < COUNT; i++) {
			EXPECT_OK(make_resident(&writer.client, &handles[i], 1, 0));
			UINT index = list(&writer, handles[i], true);
			put_fill(&writer, index, round * 4096, 4096, round * 100 + i);
			EXPECT_OK(hand_over(&writer));
			EXPECT_OK(evict(&writer.client, &handles[i], 1, 0));
		}
	}
	await_gpu(&writer);
	for (unsigned i = 0; i < COUNT; i++) {
		for (unsigned round = 0; round < 3; round++)
			EXPECT_EQ(word_at(&writer, handles[i], round * 4096), round * 100 + i);
	}
	expect_valid();
}

API_TEST_MAIN("api/render_soft")
