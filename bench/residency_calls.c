/* SPDX-License-Identifier: MIT */
/*
 * residency_calls.c - what costs bookkeeping only: making resident what is, and offering and
 * reclaiming what nobody touches meanwhile.
 *
 * usage: residency_calls resident count rounds   one line per round: nanoseconds per call, and per
 *                                                getppid(), in turn, in time that the
 *                                                thread ran
 *        residency_calls offers count            for callgrind: offer_and_reclaim()
 *        residency_calls strict count            how many of each a thread made that may make no
 *                                                system call
 */
#include <string.h>

#include "allocations.h"
#include "strict.h"
#include "thread_time.h"

enum { SIZE_BYTES = 1 << 20 };

struct client {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE resident;
	D3DKMT_HANDLE untouched;
	unsigned count;
};

/* STATUS_PENDING where it is not there yet. */
static NTSTATUS make_resident(const struct client *client)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->queue,
				     .NumAllocations = 1,
				     .AllocationList = &client->resident };
	NTSTATUS status = D3DKMTMakeResident(&args);

	if (!NT_SUCCESS(status))
		fail("D3DKMTMakeResident");
	return status;
}

static void evict(const struct client *client)
{
	D3DKMT_EVICT args = { .hDevice = client->device,
			      .NumAllocations = 1,
			      .AllocationList = &client->resident };

	if (!NT_SUCCESS(D3DKMTEvict(&args)))
		fail("D3DKMTEvict");
}

__attribute__((noinline)) static void offer_and_reclaim(const struct client *client)
{
	D3DDDI_RECLAIM_RESULT result;
	D3DKMT_OFFERALLOCATIONS offer = { .hDevice = client->device,
					  .HandleList = &client->untouched,
					  .NumAllocations = 1,
					  .Priority = D3DKMT_OFFER_PRIORITY_NORMAL };
	D3DKMT_RECLAIMALLOCATIONS2 reclaim = { .hPagingQueue = client->queue,
					       .NumAllocations = 1,
					       .HandleList = &client->untouched,
					       .pResults = &result };

	if (!NT_SUCCESS(D3DKMTOfferAllocations(&offer)))
		fail("D3DKMTOfferAllocations");
	if (D3DKMTReclaimAllocations2(&reclaim) != STATUS_SUCCESS ||
	    result != D3DDDI_RECLAIM_RESULT_OK)
		fail("D3DKMTReclaimAllocations2");
}

static struct client open_client(unsigned count)
{
	struct client client = { .device = create_device(), .count = count };
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client.device };

	if (!NT_SUCCESS(D3DKMTCreatePagingQueue(&queue)))
		fail("D3DKMTCreatePagingQueue");
	client.queue = queue.hPagingQueue;
	client.resident = create_allocation(client.device, SIZE_BYTES);
	client.untouched = create_allocation(client.device, SIZE_BYTES);
	while (make_resident(&client) != STATUS_SUCCESS)
		usleep(1000);
	return client;
}

/* Off the list as often as onto it. */
static double resident_ns(const struct client *client)
{
	uint64_t start = thread_time_ns();

	for (unsigned i = 0; i < client->count; i++)
		make_resident(client);
	double result = (double)(thread_time_ns() - start) / client->count;
	for (unsigned i = 0; i < client->count; i++)
		evict(client);
	return result;
}

static double getppid_ns(unsigned count)
{
	uint64_t start = thread_time_ns();

	for (unsigned i = 0; i < count; i++)
		(void)!getppid();
	return (double)(thread_time_ns() - start) / count;
}

static void make_calls(void *context)
{
	const struct client *client = context;

	for (unsigned i = 0; i < client->count; i++) {
		if (make_resident(client) != STATUS_SUCCESS)
			fail("it is not resident");
		offer_and_reclaim(client);
	}
}

static void measure_resident(const struct client *client, unsigned rounds)
{
	for (unsigned i = 0; i <= rounds; i++) {
		double ours = resident_ns(client);
		double theirs = getppid_ns(client->count);
		if (i > 0) /* the first round warms up */
			printf("%.1f %.1f\n", ours, theirs);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc >= 3 ? argv[1] : "";
	struct client client;

	if (strcmp(what, "resident") == 0 && argc == 4) {
		client = open_client((unsigned)strtoul(argv[2], NULL, 0));
		measure_resident(&client, (unsigned)strtoul(argv[3], NULL, 0));
		return 0;
	}
	if (strcmp(what, "offers") == 0 && argc == 3) {
		client = open_client((unsigned)strtoul(argv[2], NULL, 0));
		for (unsigned i = 0; i < client.count; i++)
			offer_and_reclaim(&client);
		return 0;
	}
	if (strcmp(what, "strict") == 0 && argc == 3) {
		client = open_client((unsigned)strtoul(argv[2], NULL, 0));
		bool is_done = strict_run(make_calls, &client);
		printf("%u\n", is_done ? client.count : 0);
		return is_done ? 0 : 1;
	}
	fprintf(stderr, "usage: residency_calls resident count rounds | offers count | strict "
			"count\n");
	return 2;
}
