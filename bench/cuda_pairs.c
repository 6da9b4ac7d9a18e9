/* SPDX-License-Identifier: MIT */
/*
 * cuda_pairs.c - what cuda.so does, beside the CUDA driver API itself, in one run.
 *
 *	cuda_pairs            a table: what, here, the driver API, the ratio
 *	cuda_pairs NAME       one measurement: pairs, packets, transfers, paging, paging-both, paging-64k or growth
 */
#include "cuda_bench.h"

#include <stdbool.h>

/* ---- what is measured ---- */

/* Pairs a second: the kernel's own. */
static double pair_rate(unsigned pairs)
{
	uint64_t start = clock_now_ns();

	for (unsigned i = 0; i < pairs; i++) {
		D3DKMT_HANDLE handle = create(65536, 0);

		destroy(&handle, 1);
	}
	return pairs / seconds(start);
}

static double driver_pair_rate(unsigned pairs)
{
	device_pointer pointer;

	uint64_t start = clock_now_ns();
	for (unsigned i = 0; i < pairs; i++) {
		did(cuda.allocate(&pointer, 65536), "cuMemAlloc");
		did(cuda.release(pointer), "cuMemFree");
	}
	return pairs / seconds(start);
}

/* By turns, each at its best: the first of either meet cold caches and pages that nobody has touched. */
static void measure_pairs(void)
{
	double here = 0;
	double there = 0;

	for (unsigned turn = 0; turn < 9; turn++) {
		here = best(here, pair_rate(2000));
		there = best(there, driver_pair_rate(200));
	}
	row("create + destroy of 64 KiB, a second", here, there, "/s", 100);
}

/* What was never written would only be zeroed. */
static void create_written(D3DKMT_HANDLE *handles, unsigned count, UINT64 each)
{
	for (unsigned i = 0; i < count; i++)
		handles[i] = create(each, SOFTGPU_LOCAL_ONLY | SOFTGPU_CPU_VISIBLE);
	for (unsigned i = 0; i < count; i++) {
		D3DKMT_LOCK2 lock = { .hDevice = client.device, .hAllocation = handles[i] };
		D3DKMT_UNLOCK2 unlock = { .hDevice = client.device, .hAllocation = handles[i] };

		require(D3DKMTLock2(&lock), "lock");
		memset(lock.pData, (int)i + 1, each);
		require(D3DKMTUnlock2(&unlock), "unlock");
	}
}

/* Bytes a second of pinned copies in pieces. */
struct pinned {
	double in;
	double out;
	double both; /* of both together */
};

static struct pinned measure_pinned(UINT64 bytes, UINT64 each)
{
	struct pinned best_of = { 0, 0, 0 };
	device_pointer device;
	void *host;

	did(cuda.allocate(&device, 2 * bytes), "cuMemAlloc");
	did(cuda.host_allocate(&host, 2 * bytes, 0), "cuMemHostAlloc");
	memset(host, 1, 2 * bytes);
	for (unsigned turn = 0; turn < 9; turn++) {
		bool is_in = turn % 3 != 1;
		bool is_out = turn % 3 != 0;
		uint64_t start = clock_now_ns();

		for (UINT64 at = 0; at < bytes; at += each) {
			if (is_in)
				did(cuda.to_device(device + at, (char *)host + at, each,
						   cuda.stream),
				    "cuMemcpyHtoD");
			if (is_out)
				did(cuda.to_host((char *)host + bytes + at, device + bytes + at,
						 each, cuda.other_stream),
				    "cuMemcpyDtoH");
		}
		did(cuda.stream_wait(cuda.stream), "wait");
		did(cuda.stream_wait(cuda.other_stream), "wait");
		double rate = (double)bytes / seconds(start) / 1e9;
		if (is_in && is_out)
			best_of.both = best(best_of.both, 2 * rate);
		else if (is_in)
			best_of.in = best(best_of.in, rate);
		else
			best_of.out = best(best_of.out, rate);
	}
	did(cuda.release(device), "cuMemFree");
	return best_of;
}

static void measure_paging(UINT64 each, unsigned count, double goal, const char *what)
{
	D3DKMT_HANDLE *handles = calloc(count, sizeof(*handles));
	UINT64 bytes = each * count;
	double in = 0;
	double out = 0;
	char name[80];

	create_written(handles, count, each);
	for (unsigned turn = 0; turn < 8; turn++) {
		uint64_t start = clock_now_ns();
		UINT64 value = resident_begin(handles, count);
		double called = seconds(start);
		paging_seen(value);
		double seen = seconds(start);
		if (turn > 0)
			in = best(in, (double)bytes / seen / 1e9);
		start = clock_now_ns();
		evict(handles, count);
		double evict_called = seconds(start);
		moves_flush();
		double flushed = seconds(start);
		out = best(out, (double)bytes / flushed / 1e9);
		if (turn == 7)
			printf("  the last turn: MakeResident %.0f us, seen after %.0f us; Evict "
			       "%.0f us, flushed after %.0f us\n",
			       called * 1e6, seen * 1e6, evict_called * 1e6, flushed * 1e6);
	}
	struct pinned whole = measure_pinned(bytes, bytes);
	snprintf(name, sizeof(name), "page in, %s", what);
	row(name, in, whole.in, "GB/s", goal);
	snprintf(name, sizeof(name), "page out, %s", what);
	row(name, out, whole.out, "GB/s", goal);
	if (count > 1) {
		struct pinned parts = measure_pinned(bytes, each);

		printf("  (copies in such pieces by the driver API: %.1f in, %.1f out)\n", parts.in,
		       parts.out);
	}
	destroy(handles, count);
	free(handles);
}

/* Some leave while others come, with room for all. */
static void measure_both_ways(void)
{
	enum { COUNT = 8 };
	const UINT64 each = 64 * MIB;
	D3DKMT_HANDLE handles[2][COUNT];
	double rate = 0;

	create_written(handles[0], COUNT, each);
	create_written(handles[1], COUNT, each);
	resident(handles[0], COUNT);
	for (unsigned turn = 0; turn < 8; turn++) {
		uint64_t start = clock_now_ns();

		evict(handles[turn % 2], COUNT);
		UINT64 value = resident_begin(handles[1 - turn % 2], COUNT);
		moves_flush();
		paging_seen(value);
		rate = best(rate, 2.0 * COUNT * (double)each / seconds(start) / 1e9);
	}
	struct pinned whole = measure_pinned(COUNT * each, each);
	row("page in and out at once, 8 x 64 MiB", rate, whole.both, "GB/s", 0.9);
	row("... beside one engine after the other", rate, (whole.in + whole.out) / 2, "GB/s", 1);
	moves_flush();
	destroy(handles[0], COUNT);
	destroy(handles[1], COUNT);
}

static void measure_transfers(UINT64 size_bytes)
{
	D3DKMT_HANDLE handles[2] = { create(size_bytes, SOFTGPU_LOCAL_ONLY),
				     create(size_bytes, SOFTGPU_LOCAL_ONLY) };
	device_pointer device[2];
	double fill_here = 0;
	double copy_here = 0;
	double fill_there = 0;
	double copy_there = 0;

	resident(handles, 2);
	struct softgpu_fill fill = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL, sizeof(fill) },
		.destination.virtual_address = map(handles[0], size_bytes),
		.size_bytes = size_bytes,
		.pattern = 0x12345678,
	};
	struct softgpu_copy copy = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_COPY, sizeof(copy) },
		.destination.virtual_address = map(handles[1], size_bytes),
		.source.virtual_address = fill.destination.virtual_address,
		.size_bytes = size_bytes,
	};
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t start = clock_now_ns();
		submit(&fill, sizeof(fill), 0);
		seen();
		fill_here = best(fill_here, (double)size_bytes / seconds(start) / 1e9);
		start = clock_now_ns();
		submit(&copy, sizeof(copy), 0);
		seen();
		copy_here = best(copy_here, (double)size_bytes / seconds(start) / 1e9);
	}
	destroy(handles, 2);
	did(cuda.allocate(&device[0], size_bytes), "cuMemAlloc");
	did(cuda.allocate(&device[1], size_bytes), "cuMemAlloc");
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t start = clock_now_ns();
		did(cuda.fill(device[0], 1, size_bytes / 4, cuda.stream), "cuMemsetD32");
		did(cuda.stream_wait(cuda.stream), "wait");
		fill_there = best(fill_there, (double)size_bytes / seconds(start) / 1e9);
		start = clock_now_ns();
		if (cuda.copy)
			did(cuda.copy(device[1], device[0], size_bytes, cuda.stream),
			    "cuMemcpyDtoD");
		did(cuda.stream_wait(cuda.stream), "wait");
		copy_there = best(copy_there, (double)size_bytes / seconds(start) / 1e9);
	}
	did(cuda.release(device[0]), "cuMemFree");
	did(cuda.release(device[1]), "cuMemFree");
	row("fill through page tables", fill_here, fill_there, "GB/s", 0.75);
	row("copy through page tables", copy_here, copy_there, "GB/s", 0.85);
}

/*
 * The live ones are in address order of nothing: none is resident, so all that grows is what the kernel and
 * the driver keep of them.
 */
static void measure_growth(void)
{
	enum { FEW = 1000, MANY = 1000000, PAIRS = 20000, TURNS = 3 };
	double few = 0;
	double many = 0;

	for (unsigned i = 0; i < FEW; i++)
		(void)create(65536, 0);
	for (unsigned turn = 0; turn < TURNS; turn++)
		few = best(few, pair_rate(PAIRS));
	for (unsigned i = FEW; i < MANY; i++)
		(void)create(65536, 0);
	for (unsigned turn = 0; turn < TURNS; turn++)
		many = best(many, pair_rate(PAIRS));
	row("a pair with 1M live, beside 1K (ns, no CUDA)", 1e9 / many, 1e9 / few, "ns", 1.1);
}

/* A launch that stores a word: what no packet can do without. */
static const char store_ptx[] =
	".version 6.4\n.target sm_70\n.address_size 64\n"
	".visible .entry store(\n\t.param .u64 to,\n\t.param .u64 value\n)\n"
	"{\n\t.reg .b64 %rd<3>;\n\tld.param.u64 %rd1, [to];\n\tld.param.u64 %rd2, [value];\n"
	"\tst.volatile.u64 [%rd1], %rd2;\n\tret;\n}\n";

static struct {
	void *function;
	volatile uint64_t *word;
	uint64_t last;
} bare;

static void bare_begin(void)
{
	void *module;
	void *word;

	did(cuda.load(&module, store_ptx), "cuModuleLoadData");
	did(cuda.function(&bare.function, module, "store"), "cuModuleGetFunction");
	did(cuda.host_allocate(&word, 4096, 3), "cuMemHostAlloc");
	bare.word = word;
	*bare.word = 0;
}

static void bare_launch(void)
{
	struct {
		uint64_t to, value;
	} parameters = { (uint64_t)(uintptr_t)bare.word, ++bare.last };
	size_t size_bytes = sizeof(parameters);
	void *extra[] = { (void *)1, &parameters, (void *)2, &size_bytes, (void *)0 };

	did(cuda.launch(bare.function, 1, 1, 1, 32, 1, 1, 0, cuda.stream, NULL, extra),
	    "cuLaunchKernel");
}

enum { PACKETS = 2000, IN_FLIGHT = 64 };

/* Packets a second, each alone or IN_FLIGHT of them at a time; ours, and bare launches. */
static double packet_rate(bool is_bare, unsigned in_flight)
{
	const volatile uint64_t *word =
		is_bare ? bare.word : (const volatile uint64_t *)client.value;
	uint64_t *last = is_bare ? &bare.last : (uint64_t *)&client.last;
	uint64_t start = clock_now_ns();

	for (unsigned i = 0; i < PACKETS; i++) {
		if (is_bare)
			bare_launch();
		else
			submit(NULL, 0, i % in_flight * 64);
		while (*word + in_flight <= *last) {
			if (seconds(start) > 60) {
				fprintf(stderr, "cuda bench: a packet does not end\n");
				exit(1);
			}
		}
	}
	while (*word < *last)
		;
	return PACKETS / seconds(start);
}

static struct softgpu_node_times times_of_node(unsigned node)
{
	struct softgpu_escape_times times = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_GET_TIMES, sizeof(times), 0 }
	};
	D3DKMT_ESCAPE escape = { .hAdapter = client.adapter,
				 .Type = D3DKMT_ESCAPE_DRIVERPRIVATE,
				 .pPrivateDriverData = &times,
				 .PrivateDriverDataSize = sizeof(times) };

	require(D3DKMTEscape(&escape), "times");
	return times.nodes[node];
}

/* Who executes leaves when nothing comes for a while, says how fast its clock is, and is looked at again. */
static void await_times(void)
{
	for (unsigned i = 0; i < 2; i++) {
		submit(NULL, 0, 0);
		seen();
		clock_sleep_until(clock_deadline(10000000));
	}
}

/* Each with its parts, of a packet alone and of many: what is left is the kernel's and the driver's way there. */
static void tell_where_time_goes(unsigned in_flight)
{
	await_times();
	struct softgpu_node_times before = times_of_node(0);
	double calls = 0;
	uint64_t start = clock_now_ns();

	for (unsigned i = 0; i < PACKETS; i++) {
		uint64_t called = clock_now_ns();

		submit(NULL, 0, i % in_flight * 64);
		calls += seconds(called);
		while (*client.value + in_flight <= client.last)
			;
	}
	seen();
	double all = seconds(start) / PACKETS * 1e6;
	await_times();
	struct softgpu_node_times after = times_of_node(0);
	double packets = (double)(after.packets - before.packets);
	double looks = (double)(after.looks - before.looks);
	double under_way = (double)(after.under_way_ns - before.under_way_ns) / packets / 1e3;

	printf("  %2u in flight, each of %.0f packets: %.2f us; the submit call %.2f us; in the "
	       "ring until "
	       "the driver knows %.2f us\n",
	       in_flight, packets, all, calls / PACKETS * 1e6, under_way);
	printf("     on the GPU %.2f us from finding it to its end; a look into the ring %.2f us, "
	       "and "
	       "%.1f packets found in it\n",
	       (double)(after.busy_ns - before.busy_ns) / packets / 1e3,
	       (double)(after.look_ns - before.look_ns) / looks / 1e3, packets / looks);
	if (in_flight == 1)
		printf("     before the ring, and from the end until seen %.2f us\n",
		       all - under_way);
}

static void measure_packets(void)
{
	double alone[2] = { 0, 0 };
	double many[2] = { 0, 0 };

	bare_begin();
	for (unsigned turn = 0; turn < 4; turn++) {
		for (unsigned i = 0; i < 2; i++) {
			alone[i] = best(alone[i], packet_rate(i == 1, 1));
			many[i] = best(many[i], packet_rate(i == 1, IN_FLIGHT));
		}
	}
	row("submit until seen (bare launch)", 1e6 / alone[0], 1e6 / alone[1], "us", 1.3);
	row("64 packets in flight (bare launches)", many[0] / 1e3, many[1] / 1e3, "k/s", 0.8);
	/* They are taken from now on; a packet brings those of before. */
	(void)times_of_node(0);
	submit(NULL, 0, 0);
	seen();
	tell_where_time_goes(1);
	tell_where_time_goes(IN_FLIGHT);
}

static void measure_large_transfers(void)
{
	const char *mib = getenv("CUDA_PAIRS_MIB");

	measure_transfers((mib ? strtoull(mib, NULL, 10) : 4096) * MIB);
}

static void measure_large_paging(void)
{
	measure_paging(64 * MIB, 1, 0.95, "64 MiB");
}

static void measure_small_paging(void)
{
	measure_paging(65536, 2048, 0.85, "64 KiB each");
}

static const struct {
	const char *name;
	void (*measure)(void);
} measurements[] = {
	{ "pairs", measure_pairs },
	{ "packets", measure_packets },
	{ "transfers", measure_large_transfers },
	{ "paging", measure_large_paging },
	{ "paging-both", measure_both_ways },
	{ "paging-64k", measure_small_paging },
	{ "growth", measure_growth }, /* last: it leaves a million */
};

int main(int count, char **arguments)
{
	bool is_any = false;

	client_begin();
	cuda_begin();
	if (count < 2)
		header();
	for (unsigned i = 0; i < sizeof(measurements) / sizeof(*measurements); i++) {
		if (count > 1 && strcmp(arguments[1], measurements[i].name) != 0)
			continue;
		measurements[i].measure();
		is_any = true;
	}
	if (!is_any)
		fprintf(stderr, "cuda_pairs: there is no measurement %s\n", arguments[1]);
	return is_any ? 0 : 2;
}
