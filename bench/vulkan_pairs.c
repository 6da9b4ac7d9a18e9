/*
 * vulkan_pairs.c - our pair of create and destroy beside lavapipe's vkAllocateMemory and
 * vkFreeMemory, which is the software Vulkan driver's way to do the same.
 *
 * usage: vulkan_pairs size_bytes live pairs rounds    one line per round: nanoseconds per pair,
 *                                                     ours and lavapipe's
 *
 * Both keep `live` allocations that nobody touches and exchange one at random; they are measured in
 * turn, so that what else the machine does reaches both. Exit status 77: there is no lavapipe.
 */
#include <string.h>

#include <vulkan/vulkan.h>

#include "allocations.h"
#include "base/clock.h"
#include "base/random.h"

enum { NO_LAVAPIPE = 77 };

struct herd {
	uint64_t size_bytes;
	size_t live;
	size_t pairs;
	uint32_t *order;

	D3DKMT_HANDLE device;
	D3DKMT_HANDLE *allocations;

	VkDevice vulkan;
	uint32_t memory_type;
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

static void no_lavapipe(const char *why)
{
	fprintf(stderr, "vulkan_pairs: no lavapipe: %s\n", why);
	exit(NO_LAVAPIPE);
}

static VkPhysicalDevice find_lavapipe(VkInstance instance)
{
	VkPhysicalDevice devices[8];
	uint32_t count = 8;

	if (vkEnumeratePhysicalDevices(instance, &count, devices) < 0)
		no_lavapipe("no device");
	for (uint32_t i = 0; i < count; i++) {
		VkPhysicalDeviceProperties properties;
		vkGetPhysicalDeviceProperties(devices[i], &properties);
		if (properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
		    strstr(properties.deviceName, "llvmpipe"))
			return devices[i];
	}
	no_lavapipe("none of the devices is it");
	return VK_NULL_HANDLE;
}

static void open_lavapipe(struct herd *herd)
{
	VkInstanceCreateInfo instance_info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO };
	float priority = 1;
	VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					  .queueCount = 1,
					  .pQueuePriorities = &priority };
	VkDeviceCreateInfo device_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
					   .queueCreateInfoCount = 1,
					   .pQueueCreateInfos = &queue };
	VkInstance instance;

	if (vkCreateInstance(&instance_info, NULL, &instance) != VK_SUCCESS)
		no_lavapipe("no instance");
	if (vkCreateDevice(find_lavapipe(instance), &device_info, NULL, &herd->vulkan) !=
	    VK_SUCCESS)
		no_lavapipe("it makes no device");
	herd->memory_type = 0; /* lavapipe has one */
}

static VkDeviceMemory vulkan_allocate(const struct herd *herd)
{
	VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
				      .allocationSize = herd->size_bytes,
				      .memoryTypeIndex = herd->memory_type };
	VkDeviceMemory memory;

	if (vkAllocateMemory(herd->vulkan, &info, NULL, &memory) != VK_SUCCESS) {
		fprintf(stderr, "vulkan_pairs: vkAllocateMemory failed\n");
		exit(1);
	}
	return memory;
}

/* ---- the two in turn ---- */

static double ours_ns(struct herd *herd)
{
	uint64_t start = clock_now_ns();

	for (size_t i = 0; i < herd->pairs; i++) {
		D3DKMT_HANDLE *allocation = &herd->allocations[herd->order[i]];
		destroy_allocation(herd->device, *allocation);
		*allocation = create_allocation(herd->device, herd->size_bytes);
	}
	return (double)(clock_now_ns() - start) / (double)herd->pairs;
}

static double theirs_ns(struct herd *herd)
{
	uint64_t start = clock_now_ns();

	for (size_t i = 0; i < herd->pairs; i++) {
		VkDeviceMemory *memory = &herd->memories[herd->order[i]];
		vkFreeMemory(herd->vulkan, *memory, NULL);
		*memory = vulkan_allocate(herd);
	}
	return (double)(clock_now_ns() - start) / (double)herd->pairs;
}

static void herd_init(struct herd *herd)
{
	struct random random;

	open_lavapipe(herd);
	herd->device = create_device();
	herd->allocations = take(herd->live, sizeof(*herd->allocations));
	herd->memories = take(herd->live, sizeof(*herd->memories));
	herd->order = take(herd->pairs, sizeof(*herd->order));
	random_init(&random, 1);
	for (size_t i = 0; i < herd->pairs; i++)
		herd->order[i] = (uint32_t)random_below(&random, herd->live);
	for (size_t i = 0; i < herd->live; i++) {
		herd->allocations[i] = create_allocation(herd->device, herd->size_bytes);
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
