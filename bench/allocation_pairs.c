/* SPDX-License-Identifier: MIT */
/*
 * allocation_pairs.c - allocations of 64 KiB come and go while `live` of them stay. Nobody touches
 * their memory.
 *
 * usage: allocation_pairs pairs live count      for callgrind: counts exchange_allocations() alone
 *        allocation_pairs memory live           bytes of the kernel and the driver per allocation
 *        allocation_pairs strict live           pairs made by a thread that may make no system call
 *        allocation_pairs threads live count rounds
 *                                               one line per round: pairs per second of one thread,
 *                                               of two threads on two devices, of two adapters
 *                                               where there are two
 *
 * Each pair destroys one of the living, at random, and creates a new one.
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <opendxgk/testing.h>

#include "allocations.h"
#include "base/clock.h"
#include "base/random.h"

enum { SIZE_BYTES = 65536, STRICT_PAIRS = 20000 };

struct herd {
	D3DKMT_HANDLE device;
	size_t live;
	D3DKMT_HANDLE *allocations;
	size_t pairs;
	uint32_t *order;
};

static void *take(size_t items, size_t size_bytes)
{
	void *memory = calloc(items, size_bytes);

	if (!memory) {
		fprintf(stderr, "allocation_pairs: no memory\n");
		exit(1);
	}
	return memory;
}

static void herd_init(struct herd *herd, uint32_t adapter, size_t live, size_t pairs)
{
	struct random random;

	*herd = (struct herd){ .device = create_device_on(adapter), .live = live, .pairs = pairs };
	herd->allocations = take(live, sizeof(*herd->allocations));
	herd->order = take(pairs + 1, sizeof(*herd->order));
	random_init(&random, 1);
	for (size_t i = 0; i < live; i++)
		herd->allocations[i] = create_allocation(herd->device, SIZE_BYTES);
	for (size_t i = 0; i < pairs; i++)
		herd->order[i] = (uint32_t)random_below(&random, live);
}

static void herd_finish(struct herd *herd)
{
	D3DKMT_DESTROYDEVICE args = { herd->device };

	if (!NT_SUCCESS(D3DKMTDestroyDevice(&args)))
		fail("D3DKMTDestroyDevice");
	free(herd->allocations);
	free(herd->order);
}

__attribute__((noinline)) static void exchange_allocations(struct herd *herd)
{
	struct creation creation;
	struct destruction destruction;

	creation_init(&creation, herd->device, SIZE_BYTES);
	destruction_init(&destruction, herd->device);
	for (size_t i = 0; i < herd->pairs; i++) {
		D3DKMT_HANDLE *allocation = &herd->allocations[herd->order[i]];
		destruction_run(&destruction, allocation);
		*allocation = creation_run(&creation);
	}
}

static void count_pairs(size_t live, size_t pairs)
{
	struct herd herd;

	herd_init(&herd, 0, live, pairs);
	exchange_allocations(&herd);
	herd_finish(&herd);
}

static void measure_memory(size_t live)
{
	struct herd herd;

	herd_init(&herd, 0, 1000, 0); /* what is made once */
	long long before = dxgk_test_memory().bytes;
	for (size_t i = 0; i < live; i++)
		create_allocation(herd.device, SIZE_BYTES);
	printf("%.1f\n", (double)(dxgk_test_memory().bytes - before) / (double)live);
	herd_finish(&herd);
}

/* ---- without system calls ---- */

static _Atomic unsigned strict_done;

static void *strict_thread(void *context)
{
	struct herd *herd = context;

	exchange_allocations(herd); /* the first calls of a thread set it up */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
		perror("allocation_pairs: seccomp");
		exit(1);
	}
	exchange_allocations(herd);
	atomic_store(&strict_done, STRICT_PAIRS);
	syscall(SYS_exit, 0);
	return NULL;
}

static int check_no_system_call(size_t live)
{
	struct herd herd;
	pthread_t thread;

	herd_init(&herd, 0, live, STRICT_PAIRS);
	if (pthread_create(&thread, NULL, strict_thread, &herd) != 0)
		fail("pthread_create");
	pthread_join(thread, NULL);
	printf("%u\n", atomic_load(&strict_done));
	return atomic_load(&strict_done) == STRICT_PAIRS ? 0 : 1;
}

/* ---- threads ---- */

static void *pairs_thread(void *context)
{
	exchange_allocations(context);
	return NULL;
}

static double pairs_per_second(struct herd *herds, unsigned count)
{
	pthread_t threads[2];
	uint64_t start = clock_now_ns();

	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, pairs_thread, &herds[i]) != 0)
			fail("pthread_create");
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return (double)(count * herds[0].pairs) * 1e9 / (double)(clock_now_ns() - start);
}

static void measure_threads(size_t live, size_t pairs, unsigned rounds)
{
	struct herd herds[2];

	for (uint32_t i = 0; i < 2; i++)
		herd_init(&herds[i], i, live, pairs);
	pairs_per_second(herds, 2);
	for (unsigned i = 0; i < rounds; i++) {
		double one = pairs_per_second(herds, 1);
		printf("%.0f %.0f\n", one, pairs_per_second(herds, 2));
	}
	for (int i = 0; i < 2; i++)
		herd_finish(&herds[i]);
}

int main(int argc, char **argv)
{
	size_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	size_t second = argc > 3 ? strtoull(argv[3], NULL, 0) : 0;
	size_t third = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;

	if (argc == 4 && first > 0 && strcmp(argv[1], "pairs") == 0) {
		count_pairs(first, second);
	} else if (argc == 3 && first > 0 && strcmp(argv[1], "memory") == 0) {
		measure_memory(first);
	} else if (argc == 3 && first > 0 && strcmp(argv[1], "strict") == 0) {
		return check_no_system_call(first);
	} else if (argc == 5 && first > 0 && strcmp(argv[1], "threads") == 0) {
		measure_threads(first, second, (unsigned)third);
	} else {
		fprintf(stderr, "usage: allocation_pairs pairs live count | memory live | "
				"strict live | threads live count rounds\n");
		return 2;
	}
	return 0;
}
