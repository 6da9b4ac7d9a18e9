/* SPDX-License-Identifier: MIT */
/*
 * residency_turns.c - from MakeResident to the thread that sees its fence reached, beside two threads
 * that wake each other.
 *
 * usage: residency_turns free|evict count rounds    one line per round: nanoseconds per turn, the
 *                                                   memory manager's and of two threads
 *
 *	free    there is room: it is filled with zeroes and mapped
 *	evict   there is none: something that nobody needs any more is copied out first
 *
 * Allocations of 64 KiB: what is measured is the way, more than the bytes. For `evict` the profile
 * gives the adapter 4 MiB of local memory.
 */
#include <string.h>

#include "base/clock.h"
#include "fences.h"
#include "two_threads.h"

enum { SIZE_BYTES = 64 << 10, ALLOCATIONS = 128, LISTED = 16 };

struct client {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE fence;
	D3DKMT_HANDLE allocations[ALLOCATIONS];
	unsigned next; /* of them, round and round */
	bool is_evicting;
};

static struct client open_client(bool is_evicting)
{
	struct client client = { .device = create_device(), .is_evicting = is_evicting };
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client.device };

	if (!NT_SUCCESS(D3DKMTCreatePagingQueue(&queue)))
		fail("D3DKMTCreatePagingQueue");
	client.queue = queue.hPagingQueue;
	client.fence = queue.hSyncObject;
	for (unsigned i = 0; i < ALLOCATIONS; i++)
		client.allocations[i] = create_allocation(client.device, SIZE_BYTES);
	return client;
}

static void make_resident(const struct client *client, D3DKMT_HANDLE allocation)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->queue,
				     .NumAllocations = 1,
				     .AllocationList = &allocation };

	if (!NT_SUCCESS(D3DKMTMakeResident(&args)))
		fail("D3DKMTMakeResident");
	wait_fence(client->device, client->fence, args.PagingFenceValue);
}

/* It leaves at once; or when its room is needed, which is what is measured then. */
static void evict(const struct client *client, D3DKMT_HANDLE allocation)
{
	D3DKMT_EVICT args = { .hDevice = client->device,
			      .NumAllocations = 1,
			      .AllocationList = &allocation,
			      .Flags.EvictOnlyIfNecessary = client->is_evicting };

	if (!NT_SUCCESS(D3DKMTEvict(&args)))
		fail("D3DKMTEvict");
}

static double turns_ns(void *context, unsigned count)
{
	struct client *client = context;
	uint64_t spent_ns = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t start = clock_now_ns();

		make_resident(client, client->allocations[client->next % ALLOCATIONS]);
		spent_ns += clock_now_ns() - start;
		client->next++;
		if (client->next >= LISTED)
			evict(client, client->allocations[(client->next - LISTED) % ALLOCATIONS]);
	}
	return (double)spent_ns / count;
}

int main(int argc, char **argv)
{
	const char *what = argc == 4 ? argv[1] : "";
	unsigned count = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;
	unsigned rounds = argc == 4 ? (unsigned)strtoul(argv[3], NULL, 0) : 0;
	bool is_evicting = strcmp(what, "evict") == 0;

	if ((!is_evicting && strcmp(what, "free") != 0) || count == 0 || rounds == 0) {
		fprintf(stderr, "usage: residency_turns free|evict count rounds\n");
		return 2;
	}
	struct client client = open_client(is_evicting);
	print_beside_threads(turns_ns, &client, count, rounds);
	return 0;
}
