/* SPDX-License-Identifier: MIT */
/*
 * cuda_frames.c - frames that want more than the segment: what paging costs there.
 *
 *	cuda_frames 1.25      wants so many times the adapter's local memory, in buffers of 64 MiB
 *
 * A frame uses every buffer once, in the same order: it stores into a part of it. What was used it lets go
 * lazily, so that the kernel decides who goes. Beside it, in the same run:
 *
 *	least     the bytes that Belady's policy, which knows the future, has to move in and out, at the speed
 *	          that the bus has in both directions at once
 *	LRU       the same frames by a plain program over the driver API, which copies what was used least
 *	          recently out, and what it needs in, on two streams
 */
#include "cuda_bench.h"

enum { WARM_FRAMES = 4, FRAMES = 6, AHEAD = 8, USED_BYTES = 1 << 20 };

static struct {
	UINT64 each;
	unsigned wanted;   /* buffers */
	unsigned capacity; /* … that fit */
} size;

/* ---- here ---- */

struct buffer {
	D3DKMT_HANDLE handle;
	UINT64 address;
	UINT64 used; /* value of the fence behind its last use */
};

/* The GPU waits for memory, not we. */
static void use(struct buffer *buffer, unsigned at)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client.queue,
				     .NumAllocations = 1,
				     .AllocationList = &buffer->handle };
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (status == STATUS_PENDING) {
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = {
			.hContext = client.context,
			.ObjectCount = 1,
			.ObjectHandleArray = &client.queue_fence,
			.MonitoredFenceValueArray = &args.PagingFenceValue,
		};
		require(D3DKMTWaitForSynchronizationObjectFromGpu(&wait), "wait on the GPU");
	} else {
		require(status, "resident");
	}
	struct softgpu_fill fill = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL, sizeof(fill) },
		.destination.virtual_address = buffer->address,
		.size_bytes = USED_BYTES,
		.pattern = at,
	};
	submit(&fill, sizeof(fill), at % 512 * 64);
	buffer->used = client.last;
}

static void let_go(struct buffer *buffer)
{
	D3DKMT_EVICT args = { .hDevice = client.device,
			      .NumAllocations = 1,
			      .AllocationList = &buffer->handle };

	while (*client.value < buffer->used)
		;
	args.Flags.EvictOnlyIfNecessary = 1; /* whoever needs the room chooses who goes */
	require(D3DKMTEvict(&args), "evict");
}

static UINT64 evicted_bytes(LUID luid)
{
	D3DKMT_QUERYSTATISTICS query = { .Type = D3DKMT_QUERYSTATISTICS_SEGMENT,
					 .AdapterLuid = luid };

	require(D3DKMTQueryStatistics(&query), "statistics");
	return query.QueryResult.SegmentInformation.Memory.TotalBytesEvicted;
}

static double frames_here(LUID luid, UINT64 *evicted_out)
{
	struct buffer *buffers = calloc(size.wanted, sizeof(*buffers));
	unsigned done = 0;
	uint64_t start = 0;

	for (unsigned i = 0; i < size.wanted; i++) {
		buffers[i].handle = create(size.each, SOFTGPU_LOCAL_ONLY);
		buffers[i].address = map(buffers[i].handle, size.each);
	}
	for (unsigned frame = 0; frame < WARM_FRAMES + FRAMES; frame++) {
		if (frame == WARM_FRAMES) {
			seen();
			*evicted_out = evicted_bytes(luid);
			start = clock_now_ns();
		}
		for (unsigned i = 0; i < size.wanted; i++, done++) {
			use(&buffers[i], i);
			if (done >= AHEAD)
				let_go(&buffers[(done - AHEAD) % size.wanted]);
		}
	}
	seen();
	double frame_seconds = seconds(start) / FRAMES;
	*evicted_out = (evicted_bytes(luid) - *evicted_out) / FRAMES;
	for (unsigned i = 0; i < AHEAD; i++)
		let_go(&buffers[(done - AHEAD + i) % size.wanted]);
	for (unsigned i = 0; i < size.wanted; i++)
		destroy(&buffers[i].handle, 1);
	free(buffers);
	return frame_seconds;
}

/* ---- the least ---- */

/* Misses of Belady's policy in each frame after the first ones: who is needed last goes. */
static double least_misses(void)
{
	enum { COUNTED = 32 };
	unsigned char *is_in = calloc(size.wanted, 1);
	unsigned in = 0;
	unsigned misses = 0;

	for (unsigned frame = 0; frame < 2 * COUNTED; frame++) {
		for (unsigned i = 0; i < size.wanted; i++) {
			unsigned victim = i;

			if (is_in[i])
				continue;
			misses += frame >= COUNTED;
			/* In a cycle the one before it is needed last. */
			if (in == size.capacity) {
				do
					victim = (victim + size.wanted - 1) % size.wanted;
				while (!is_in[victim]);
				is_in[victim] = 0;
				in--;
			}
			is_in[i] = 1;
			in++;
		}
	}
	free(is_in);
	return (double)misses / COUNTED;
}

/* ---- a plain program ---- */

static struct {
	device_pointer memory;
	char *host;
	unsigned *slot_of; /* of a buffer, + 1; 0: it is out */
	unsigned *owner;   /* of a slot */
	UINT64 *last_use;  /* of a slot */
	void **left;       /* events of slots: what was in it is out */
	UINT64 now;
} plain;

static void plain_begin(void)
{
	void *host;

	did(cuda.allocate(&plain.memory, size.each * size.capacity), "cuMemAlloc");
	did(cuda.host_allocate(&host, size.each * size.wanted, 0), "cuMemHostAlloc");
	plain.host = host;
	plain.slot_of = calloc(size.wanted, sizeof(*plain.slot_of));
	plain.owner = calloc(size.capacity, sizeof(*plain.owner));
	plain.last_use = calloc(size.capacity, sizeof(*plain.last_use));
	plain.left = calloc(size.capacity, sizeof(*plain.left));
	for (unsigned i = 0; cuda.event_create && i < size.capacity; i++)
		did(cuda.event_create(&plain.left[i], 2), "cuEventCreate");
}

/* Bytes a second that cross the bus, both ways at once. */
static double bus_speed(void)
{
	const UINT64 part = size.each;
	unsigned count = size.capacity / 2 < 32 ? size.capacity / 2 : 32;
	double speed = 0;

	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t start = clock_now_ns();

		for (unsigned i = 0; i < count; i++) {
			did(cuda.to_device(plain.memory + i * part, plain.host + i * part, part,
					   cuda.stream),
			    "cuMemcpyHtoD");
			did(cuda.to_host(plain.host + (count + i) * part,
					 plain.memory + (count + i) * part, part,
					 cuda.other_stream),
			    "cuMemcpyDtoH");
		}
		did(cuda.stream_wait(cuda.stream), "wait");
		did(cuda.stream_wait(cuda.other_stream), "wait");
		speed = best(speed, 2.0 * (double)part * count / seconds(start));
	}
	return speed;
}

static unsigned least_recent(void)
{
	unsigned slot = 0;

	for (unsigned i = 1; i < size.capacity; i++) {
		if (plain.last_use[i] < plain.last_use[slot])
			slot = i;
	}
	return slot;
}

/* Out on one stream; in, and the use, on the other, behind it. */
static void plain_bring(unsigned buffer)
{
	unsigned slot = least_recent();
	device_pointer at = plain.memory + slot * size.each;

	if (plain.last_use[slot]) {
		unsigned old = plain.owner[slot];
		void *out = cuda.event_create ? cuda.other_stream : cuda.stream;

		/* Its last use is long over: the one stream is at most some buffers ahead. */
		if (cuda.event_create) {
			did(cuda.event_record(plain.left[slot], cuda.stream), "cuEventRecord");
			did(cuda.stream_wait_event(out, plain.left[slot], 0), "cuStreamWaitEvent");
		}
		did(cuda.to_host(plain.host + old * size.each, at, size.each, out), "cuMemcpyDtoH");
		if (cuda.event_create) {
			did(cuda.event_record(plain.left[slot], out), "cuEventRecord");
			did(cuda.stream_wait_event(cuda.stream, plain.left[slot], 0),
			    "cuStreamWaitEvent");
		}
		plain.slot_of[old] = 0;
	}
	did(cuda.to_device(at, plain.host + buffer * size.each, size.each, cuda.stream),
	    "cuMemcpyHtoD");
	plain.owner[slot] = buffer;
	plain.slot_of[buffer] = slot + 1;
}

static double frames_plain(void)
{
	uint64_t start = 0;

	for (unsigned frame = 0; frame < WARM_FRAMES + FRAMES; frame++) {
		if (frame == WARM_FRAMES) {
			did(cuda.stream_wait(cuda.stream), "wait");
			start = clock_now_ns();
		}
		for (unsigned i = 0; i < size.wanted; i++) {
			if (!plain.slot_of[i])
				plain_bring(i);
			unsigned slot = plain.slot_of[i] - 1;
			plain.last_use[slot] = ++plain.now;
			did(cuda.fill(plain.memory + slot * size.each, i, USED_BYTES / 4,
				      cuda.stream),
			    "cuMemsetD32");
		}
	}
	did(cuda.stream_wait(cuda.stream), "wait");
	return seconds(start) / FRAMES;
}

int main(int count, char **arguments)
{
	struct softgpu_adapter_info info = { 0 };
	double times = count > 1 ? strtod(arguments[1], NULL) : 1.25;
	char name[80];

	client_begin();
	cuda_begin();
	require(D3DKMTQueryAdapterInfo(
			&(D3DKMT_QUERYADAPTERINFO){ .hAdapter = client.adapter,
						    .Type = KMTQAITYPE_UMDRIVERPRIVATE,
						    .pPrivateDriverData = &info,
						    .PrivateDriverDataSize = sizeof(info) }),
		"query");
	size.each = info.local_bytes / 256 / MIB * MIB;
	if (size.each == 0)
		size.each = MIB;
	/* What page tables and commands take is not there for buffers. */
	size.capacity = (unsigned)(info.local_bytes / size.each) - 2;
	size.wanted = (unsigned)((double)info.local_bytes * times / (double)size.each);
	D3DKMT_ADAPTERINFO adapters[34] = { 0 };
	D3DKMT_ENUMADAPTERS2 all = { 34, adapters };
	UINT64 evicted = 0;
	require(D3DKMTEnumAdapters2(&all), "adapters");
	double here = frames_here(adapters[0].AdapterLuid, &evicted);
	plain_begin();
	double speed = bus_speed();
	double misses = least_misses();
	double least = 2 * misses * (double)size.each / speed;
	printf("  a frame moves %.2f GB out here, and %.2f at least: %.2f GB/s both ways\n",
	       (double)evicted / 1e9, misses * (double)size.each / 1e9,
	       2 * (double)evicted / 1e9 / here);
	double lru = frames_plain();
	snprintf(name, sizeof(name), "frame of %.2f x the segment (least, %.0f GB/s)", times,
		 speed / 1e9);
	row(name, here * 1e3, least * 1e3, "ms", 1.5);
	snprintf(name, sizeof(name), "LRU by hand, beside a frame of %.2f x", times);
	row(name, lru * 1e3, here * 1e3, "ms", 2);
	return 0;
}
