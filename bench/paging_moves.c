/* SPDX-License-Identifier: MIT */
/*
 * paging_moves.c - 64 MiB into GPU memory and out of it, through the whole stack, beside plain
 * copies of as much by as many threads.
 *
 * usage: paging_moves what rounds    one line per round: bytes per second, ours and the plain one
 *
 *	in      MakeResident of what is in system memory, and memcpy
 *	out     Evict of it, and memcpy
 *	both    one of each at the same time, and two such memcpys
 *	fill    MakeResident of what has no content yet, and stores past the cache
 *
 * As many threads copy as the GPU has copy engines (CopyEngines in the profile).
 */
#include <immintrin.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "fences.h"

enum { SIZE_BYTES = 64 << 20, THREADS_MAX = 4 };

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

static D3DKMT_HANDLE create_local(const struct client *client)
{
	struct softgpu_allocation wanted = { .version = SOFTGPU_ALLOCATION_VERSION,
					     .flags = SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY,
					     .size_bytes = SIZE_BYTES };
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

static double measure_in(const struct client *client, D3DKMT_HANDLE allocation)
{
	uint64_t start = clock_now_ns();

	end_in(client, begin_in(client, allocation));
	return rate(start, SIZE_BYTES);
}

static double measure_out(const struct client *client, D3DKMT_HANDLE allocation)
{
	uint64_t start = clock_now_ns();

	begin_out(client, allocation);
	end_out(client);
	return rate(start, SIZE_BYTES);
}

/* `inside` goes out, `outside` comes in. */
static double measure_both(const struct client *client, D3DKMT_HANDLE inside, D3DKMT_HANDLE outside)
{
	uint64_t start = clock_now_ns();

	begin_out(client, inside);
	end_in(client, begin_in(client, outside));
	end_out(client);
	return rate(start, 2ULL * SIZE_BYTES);
}

static double measure_fill(const struct client *client)
{
	D3DKMT_HANDLE allocation = create_local(client);
	double result = measure_in(client, allocation);

	destroy_allocation(client->device, allocation);
	end_out(client);
	return result;
}

/* ---- plain ---- */

struct part {
	char *to;
	const char *from; /* NULL: zeroes */
	size_t size_bytes;
};

static char *pages(void)
{
	char *memory =
		mmap(NULL, SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	memset(memory, 1, SIZE_BYTES);
	return memory;
}

static void store_zeroes(char *to, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i += sizeof(__m128i))
		_mm_stream_si128((__m128i *)(to + i), _mm_setzero_si128());
	_mm_sfence();
}

static void *do_part(void *context)
{
	const struct part *part = context;

	if (part->from)
		memcpy(part->to, part->from, part->size_bytes);
	else
		store_zeroes(part->to, part->size_bytes);
	return NULL;
}

static double measure_plain(char *to, const char *from, unsigned threads, unsigned times)
{
	struct part parts[THREADS_MAX];
	pthread_t others[THREADS_MAX];
	size_t share = SIZE_BYTES / threads;
	uint64_t start = clock_now_ns();

	for (unsigned turn = 0; turn < times; turn++) {
		for (unsigned i = 0; i < threads; i++) {
			parts[i] = (struct part){ to + i * share, from ? from + i * share : NULL,
						  share };
			if (i > 0 && pthread_create(&others[i], NULL, do_part, &parts[i]) != 0)
				fail("pthread_create");
		}
		do_part(&parts[0]);
		for (unsigned i = 1; i < threads; i++)
			pthread_join(others[i], NULL);
	}
	return rate(start, (uint64_t)times * SIZE_BYTES);
}

/* ---- in turn ---- */

struct bench {
	struct client client;
	D3DKMT_HANDLE one;   /* outside between rounds */
	D3DKMT_HANDLE other; /* inside */
	char *to;
	const char *from;
};

static void measure(struct bench *bench, const char *what, double *ours, double *plain)
{
	const struct client *client = &bench->client;
	bool is_fill = strcmp(what, "fill") == 0;
	bool is_both = strcmp(what, "both") == 0;

	if (is_fill) {
		*ours = measure_fill(client);
	} else if (is_both) {
		D3DKMT_HANDLE inside = bench->other;
		*ours = measure_both(client, inside, bench->one);
		bench->other = bench->one;
		bench->one = inside;
	} else {
		double in = measure_in(client, bench->one);
		double out = measure_out(client, bench->one);
		*ours = strcmp(what, "in") == 0 ? in : out;
	}
	*plain = measure_plain(bench->to, is_fill ? NULL : bench->from, client->engines,
			       is_both ? 2 : 1);
}

static bool is_known(const char *what)
{
	return strcmp(what, "in") == 0 || strcmp(what, "out") == 0 || strcmp(what, "both") == 0 ||
	       strcmp(what, "fill") == 0;
}

int main(int argc, char **argv)
{
	struct bench bench = { 0 };

	if (argc != 3 || !is_known(argv[1])) {
		fprintf(stderr, "usage: paging_moves in|out|both|fill rounds\n");
		return 2;
	}
	unsigned rounds = (unsigned)strtoul(argv[2], NULL, 0);

	open_client(&bench.client);
	bench.one = create_local(&bench.client);
	bench.other = create_local(&bench.client);
	write_content(&bench.client, bench.one);
	write_content(&bench.client, bench.other);
	end_in(&bench.client, begin_in(&bench.client, bench.other));
	bench.to = pages();
	bench.from = pages();
	for (unsigned i = 0; i <= rounds; i++) {
		double ours;
		double plain;
		measure(&bench, argv[1], &ours, &plain);
		if (i > 0) /* the first round warms up */
			printf("%.0f %.0f\n", ours, plain);
	}
	return 0;
}
