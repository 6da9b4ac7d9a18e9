/* SPDX-License-Identifier: MIT */
/*
 * paging_moves.c - 64 MiB into GPU memory and out of it, through the whole stack, beside plain copies
 * of as much by as many threads (plain_copies.h).
 *
 * usage: paging_moves rounds    one line per round, bytes of a second: what the stack does (in, out,
 *                               both, fill), and what plain threads do of each kind, one way, both ways
 *                               and filling
 *
 *	in      MakeResident of what is in system memory
 *	out     Evict of it
 *	both    one of each at the same time
 *	fill    MakeResident of twice as much that has no content yet
 *
 * As many threads copy as the GPU has copy engines (CopyEngines in the profile). All of a round is
 * measured in turn, so that what else the machine does reaches everybody.
 */
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "fences.h"
#include "plain_copies.h"

enum { WAYS = 2 };
#define SIZE_BYTES (UINT64_C(64) << 20)

/* ---- ours ---- */

struct client {
	D3DKMT_HANDLE adapter;
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE fence;
	unsigned engines;
};

static void open_client(struct client *client)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	struct softgpu_adapter_info info = { 0 };

	client->device = create_device();
	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all)))
		fail("D3DKMTEnumAdapters2");
	client->adapter = infos[0].hAdapter;
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client->device };
	if (!NT_SUCCESS(D3DKMTCreatePagingQueue(&queue)))
		fail("D3DKMTCreatePagingQueue");
	client->queue = queue.hPagingQueue;
	client->fence = queue.hSyncObject;
	D3DKMT_QUERYADAPTERINFO query = { .hAdapter = client->adapter,
					  .Type = KMTQAITYPE_UMDRIVERPRIVATE,
					  .pPrivateDriverData = &info,
					  .PrivateDriverDataSize = sizeof(info) };
	if (!NT_SUCCESS(D3DKMTQueryAdapterInfo(&query)))
		fail("D3DKMTQueryAdapterInfo");
	for (unsigned i = 0; i < info.node_count; i++)
		client->engines += info.node_kinds[i] == SOFTGPU_NODE_COPY;
}

static D3DKMT_HANDLE create_local(const struct client *client, uint64_t size_bytes)
{
	struct softgpu_allocation wanted = { .version = SOFTGPU_ALLOCATION_VERSION,
					     .flags = SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY,
					     .size_bytes = size_bytes };
	D3DDDI_ALLOCATIONINFO2 info = { .pPrivateDriverData = &wanted,
					.PrivateDriverDataSize = sizeof(wanted) };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->device,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &info };

	if (!NT_SUCCESS(D3DKMTCreateAllocation2(&args)))
		fail("D3DKMTCreateAllocation2");
	return info.hAllocation;
}

static void write_content(const struct client *client, D3DKMT_HANDLE allocation)
{
	D3DKMT_LOCK2 lock = { .hDevice = client->device, .hAllocation = allocation };
	D3DKMT_UNLOCK2 unlock = { .hDevice = client->device, .hAllocation = allocation };

	if (!NT_SUCCESS(D3DKMTLock2(&lock)))
		fail("D3DKMTLock2");
	memset(lock.pData, 0x5a, SIZE_BYTES);
	if (!NT_SUCCESS(D3DKMTUnlock2(&unlock)))
		fail("D3DKMTUnlock2");
}

/* What has to be waited for; 0 for nothing. */
static UINT64 begin_in(const struct client *client, D3DKMT_HANDLE allocation)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->queue,
				     .NumAllocations = 1,
				     .AllocationList = &allocation };

	if (!NT_SUCCESS(D3DKMTMakeResident(&args)))
		fail("D3DKMTMakeResident");
	return args.PagingFenceValue;
}

static void end_in(const struct client *client, UINT64 value)
{
	if (value)
		wait_fence(client->device, client->fence, value);
}

static void begin_out(const struct client *client, D3DKMT_HANDLE allocation)
{
	D3DKMT_EVICT args = { .hDevice = client->device,
			      .NumAllocations = 1,
			      .AllocationList = &allocation };

	if (!NT_SUCCESS(D3DKMTEvict(&args)))
		fail("D3DKMTEvict");
}

static void end_out(const struct client *client)
{
	D3DKMT_FLUSHHEAPTRANSITIONS args = { client->adapter };

	if (!NT_SUCCESS(D3DKMTFlushHeapTransitions(&args)))
		fail("D3DKMTFlushHeapTransitions");
}

static double rate(uint64_t start_ns, uint64_t size_bytes)
{
	return (double)size_bytes * 1e9 / (double)(clock_now_ns() - start_ns);
}

static double measure_in(const struct client *client, D3DKMT_HANDLE allocation, uint64_t size_bytes)
{
	plain_cool();
	uint64_t start = clock_now_ns();

	end_in(client, begin_in(client, allocation));
	return rate(start, size_bytes);
}

static double measure_out(const struct client *client, D3DKMT_HANDLE allocation)
{
	plain_cool();
	uint64_t start = clock_now_ns();

	begin_out(client, allocation);
	end_out(client);
	return rate(start, SIZE_BYTES);
}

/* `inside` goes out, `outside` comes in. */
static double measure_both(const struct client *client, D3DKMT_HANDLE inside, D3DKMT_HANDLE outside)
{
	plain_cool();
	uint64_t start = clock_now_ns();

	begin_out(client, inside);
	end_in(client, begin_in(client, outside));
	end_out(client);
	return rate(start, WAYS * SIZE_BYTES);
}

static double measure_fill(const struct client *client)
{
	D3DKMT_HANDLE allocation = create_local(client, WAYS * SIZE_BYTES);
	double result = measure_in(client, allocation, WAYS * SIZE_BYTES);

	destroy_allocation(client->device, allocation);
	end_out(client);
	return result;
}

/* ---- in turn ---- */

struct bench {
	struct client client;
	D3DKMT_HANDLE one;   /* outside between rounds */
	D3DKMT_HANDLE other; /* inside */
	char *to[WAYS];
	const char *from[WAYS];
};

static void measure_ours(struct bench *bench)
{
	const struct client *client = &bench->client;
	D3DKMT_HANDLE inside = bench->other;

	/* The longest first: it has to wake whoever slept while the others were measured. */
	double both = measure_both(client, inside, bench->one);
	bench->other = bench->one;
	bench->one = inside;
	double in = measure_in(client, bench->one, SIZE_BYTES);
	double out = measure_out(client, bench->one);
	printf("%.0f %.0f %.0f %.0f", in, out, both, measure_fill(client));
}

static void measure_plain(const struct bench *bench, const char *const *from, unsigned ways)
{
	for (unsigned i = 0; i < PLAIN_KINDS; i++) {
		struct plain_moves moves = { .copy = plain_kinds[i],
					     .to = bench->to,
					     .from = from,
					     .count = ways,
					     .size_bytes = SIZE_BYTES,
					     .hands = bench->client.engines };

		printf(" %.0f", plain_rate(&moves));
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 0) : 0;
	struct bench bench = { 0 };

	if (rounds == 0) {
		fprintf(stderr, "usage: paging_moves rounds\n");
		return 2;
	}
	open_client(&bench.client);
	bench.one = create_local(&bench.client, SIZE_BYTES);
	bench.other = create_local(&bench.client, SIZE_BYTES);
	write_content(&bench.client, bench.one);
	write_content(&bench.client, bench.other);
	end_in(&bench.client, begin_in(&bench.client, bench.other));
	for (unsigned i = 0; i < WAYS; i++) {
		bench.to[i] = plain_pages(SIZE_BYTES);
		bench.from[i] = plain_pages(SIZE_BYTES);
	}
	for (unsigned i = 0; i < rounds; i++) {
		measure_ours(&bench);
		measure_plain(&bench, bench.from, 1);
		measure_plain(&bench, bench.from, WAYS);
		measure_plain(&bench, NULL, WAYS);
		printf("\n");
	}
	return 0;
}
