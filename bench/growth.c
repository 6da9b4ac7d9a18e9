/* SPDX-License-Identifier: MIT */
/*
 * growth.c - what one of many costs more than one of few, in processor time of the whole program.
 *
 * usage: growth victims resident count [own]
 *                                         somebody idle has so many allocations of 4 KiB in local memory, and no room is left;
 *                                         another process wants `count` there, each of which takes the room of a victim;
 *                                         it has `own` there already, older than all others
 *        growth device live               a device ends with so many allocations, none of which was ever used
 *
 * One line for each: nanoseconds. For victims the profile gives the adapter as much local memory as those need, and 2 MiB.
 */
#include <string.h>
#include <time.h>

#include <opendxgk/testing.h>

#include "allocations.h"
#include "fences.h"

enum { SIZE_BYTES = 4 << 10, AT_ONCE = 1000, FREE = (2 << 20) / SIZE_BYTES };

struct client {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE queue;
	D3DKMT_HANDLE fence;
};

static double processor_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

static struct client open_client(void)
{
	struct client client = { .device = create_device() };
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = client.device };

	if (!NT_SUCCESS(D3DKMTCreatePagingQueue(&queue)))
		fail("D3DKMTCreatePagingQueue");
	client.queue = queue.hPagingQueue;
	client.fence = queue.hSyncObject;
	return client;
}

static void create_many(const struct client *client, unsigned flags, D3DKMT_HANDLE *allocations,
			unsigned count)
{
	struct creation creation;

	creation_init(&creation, client->device, SIZE_BYTES);
	creation.wanted.flags = flags;
	for (unsigned i = 0; i < count; i++)
		allocations[i] = creation_run(&creation);
}

static void make_resident(const struct client *client, const D3DKMT_HANDLE *allocations,
			  unsigned count)
{
	D3DDDI_MAKERESIDENT args = { .hPagingQueue = client->queue,
				     .NumAllocations = count,
				     .AllocationList = (D3DKMT_HANDLE *)allocations };

	if (!NT_SUCCESS(D3DKMTMakeResident(&args)))
		fail("D3DKMTMakeResident");
	wait_fence(client->device, client->fence, args.PagingFenceValue);
}

static void bring_in(const struct client *client, const D3DKMT_HANDLE *allocations, unsigned count)
{
	for (unsigned i = 0; i < count; i += AT_ONCE)
		make_resident(client, allocations + i, count - i < AT_ONCE ? count - i : AT_ONCE);
}

static D3DKMT_HANDLE *handles_for(unsigned count)
{
	D3DKMT_HANDLE *handles = calloc(count, sizeof(*handles));

	if (!handles)
		fail("no memory");
	return handles;
}

static void measure_victims(unsigned resident, unsigned count, unsigned own)
{
	struct client idle = open_client();
	D3DKMT_HANDLE *theirs = handles_for(resident);
	D3DKMT_HANDLE *ours = handles_for(own + FREE + count);
	struct dxgk_test_process *other = dxgk_test_process_create(1, 1, "other");

	if (!other)
		fail("dxgk_test_process_create");
	dxgk_test_process_enter(other);
	struct client client = open_client();
	create_many(&client, SOFTGPU_LOCAL_ONLY, ours, own + FREE + count);
	bring_in(&client, ours, own);

	dxgk_test_process_enter(NULL);
	create_many(&idle, SOFTGPU_LOCAL_ONLY, theirs, resident);
	bring_in(&idle, theirs, resident);

	dxgk_test_process_enter(other);
	bring_in(&client, &ours[own], FREE);
	double before = processor_ns();
	for (unsigned i = 0; i < count; i++)
		make_resident(&client, &ours[own + FREE + i], 1);
	printf("%.1f\n", (processor_ns() - before) / count);
	dxgk_test_process_enter(NULL);
	dxgk_test_process_end(other);
	free(theirs);
	free(ours);
}

static void measure_device(unsigned live)
{
	struct client client = open_client();
	D3DKMT_HANDLE *allocations = handles_for(live);
	D3DKMT_DESTROYDEVICE args = { client.device };

	create_many(&client, SOFTGPU_CPU_VISIBLE, allocations, live);
	double before = processor_ns();
	if (!NT_SUCCESS(D3DKMTDestroyDevice(&args)))
		fail("D3DKMTDestroyDevice");
	printf("%.1f\n", (processor_ns() - before) / live);
	free(allocations);
}

int main(int argc, char **argv)
{
	const char *what = argc >= 3 ? argv[1] : "";
	unsigned many = argc >= 3 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;

	if (strcmp(what, "victims") == 0 && argc >= 4 && argc <= 5 && many > 0) {
		measure_victims(many, (unsigned)strtoul(argv[3], NULL, 0),
				argc == 5 ? (unsigned)strtoul(argv[4], NULL, 0) : 0);
	} else if (strcmp(what, "device") == 0 && argc == 3 && many > 0) {
		measure_device(many);
	} else {
		fprintf(stderr, "usage: growth victims resident count [own] | device live\n");
		return 2;
	}
	return 0;
}
