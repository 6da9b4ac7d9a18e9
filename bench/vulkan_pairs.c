/* SPDX-License-Identifier: MIT */
/*
 * vulkan_pairs.c - our pair of create and destroy beside lavapipe's vkAllocateMemory and
 * vkFreeMemory, which is the software Vulkan driver's way to do the same.
 *
 * usage: vulkan_pairs size_bytes live pairs rounds    one line per round: nanoseconds per pair,
 *                                                     ours and lavapipe's
 *
 * Both keep `live` allocations that nobody touches and exchange one at random, with requests that
 * were written once; they are measured in turn, so that what else the machine does reaches both. Exit status 77: there is no lavapipe.
 */
#include "allocations.h"
#include "thread_time.h"
#include "base/random.h"
#include "lavapipe.h"

struct herd {
	uint64_t size_bytes;
	size_t live;
	size_t pairs;
	uint32_t *order;

	D3DKMT_HANDLE device;
	struct creation creation;
	struct destruction destruction;
	D3DKMT_HANDLE *allocations;

	VkDevice vulkan;
	VkMemoryAllocateInfo wanted;
	VkDeviceMemory *memories;
};

static void *take(size_t items, size_t size_bytes)
{
	void *memory = calloc(items, size_bytes);

	if (!memory) {
		fprintf(stderr, "vulkan_pairs: no memory\n");
		exit(1);
	}
	return memory;
}

/* ---- lavapipe ---- */

static VkDeviceMemory vulkan_allocate(const struct herd *herd)
{
	VkDeviceMemory memory;

	if (vkAllocateMemory(herd->vulkan, &herd->wanted, NULL, &memory) != VK_SUCCESS) {
		fprintf(stderr, "vulkan_pairs: vkAllocateMemory failed\n");
		exit(1);
	}
	return memory;
}

/* ---- the two in turn ---- */

static double ours_ns(struct herd *herd)
{
	uint64_t start = thread_time_ns();

	for (size_t i = 0; i < herd->pairs; i++) {
		D3DKMT_HANDLE *allocation = &herd->allocations[herd->order[i]];
		destruction_run(&herd->destruction, allocation);
		*allocation = creation_run(&herd->creation);
	}
	return (double)(thread_time_ns() - start) / (double)herd->pairs;
}

static double theirs_ns(struct herd *herd)
{
	uint64_t start = thread_time_ns();

	for (size_t i = 0; i < herd->pairs; i++) {
		VkDeviceMemory *memory = &herd->memories[herd->order[i]];
		vkFreeMemory(herd->vulkan, *memory, NULL);
		*memory = vulkan_allocate(herd);
	}
	return (double)(thread_time_ns() - start) / (double)herd->pairs;
}

static void herd_init(struct herd *herd)
{
	struct random random;

	herd->vulkan = open_lavapipe();
	herd->wanted = (VkMemoryAllocateInfo){ .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
					       .allocationSize = herd->size_bytes,
					       .memoryTypeIndex = 0 /* lavapipe has one */ };
	herd->device = create_device();
	creation_init(&herd->creation, herd->device, herd->size_bytes);
	destruction_init(&herd->destruction, herd->device);
	herd->allocations = take(herd->live, sizeof(*herd->allocations));
	herd->memories = take(herd->live, sizeof(*herd->memories));
	herd->order = take(herd->pairs, sizeof(*herd->order));
	random_init(&random, 1);
	for (size_t i = 0; i < herd->pairs; i++)
		herd->order[i] = (uint32_t)random_below(&random, herd->live);
	for (size_t i = 0; i < herd->live; i++) {
		herd->allocations[i] = creation_run(&herd->creation);
		herd->memories[i] = vulkan_allocate(herd);
	}
}

int main(int argc, char **argv)
{
	struct herd herd = { 0 };

	if (argc != 5) {
		fprintf(stderr, "usage: vulkan_pairs size_bytes live pairs rounds\n");
		return 2;
	}
	herd.size_bytes = strtoull(argv[1], NULL, 0);
	herd.live = strtoull(argv[2], NULL, 0);
	herd.pairs = strtoull(argv[3], NULL, 0);
	unsigned rounds = (unsigned)strtoul(argv[4], NULL, 0);

	herd_init(&herd);
	ours_ns(&herd);
	theirs_ns(&herd);
	for (unsigned i = 0; i < rounds; i++) {
		double ours = ours_ns(&herd);
		printf("%.1f %.1f\n", ours, theirs_ns(&herd));
	}
	return 0;
}
