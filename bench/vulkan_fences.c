/* SPDX-License-Identifier: MIT */
/*
 * vulkan_fences.c - our monitored fence beside lavapipe's timeline semaphore.
 *
 * usage: vulkan_fences what count rounds    one line per round: nanoseconds per pair, ours and
 *                                           lavapipe's
 *
 *	signal    signal from the CPU, and wait for what was just signalled
 *	create    create and destroy
 *
 * Measured in turn, and in time that the thread ran: what else the machine does is not counted.
 */
#include <stdbool.h>

#include "fences.h"
#include "lavapipe.h"
#include "thread_time.h"

struct pair {
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE fence;
	VkDevice vulkan;
	VkSemaphore semaphore;
	uint64_t value; /* of both, the last one signalled */
};

static void check(VkResult result, const char *what)
{
	if (result == VK_SUCCESS)
		return;
	fprintf(stderr, "vulkan_fences: %s failed\n", what);
	exit(1);
}

static VkSemaphore create_semaphore(VkDevice vulkan)
{
	VkSemaphoreTypeCreateInfo type = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
					   .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE };
	VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
				       .pNext = &type };
	VkSemaphore semaphore;

	check(vkCreateSemaphore(vulkan, &info, NULL, &semaphore), "vkCreateSemaphore");
	return semaphore;
}

static void ours_signal(struct pair *pair, uint64_t value)
{
	signal_fence(pair->device, pair->fence, value);
	wait_fence(pair->device, pair->fence, value);
}

static void theirs_signal(struct pair *pair, uint64_t value)
{
	VkSemaphoreSignalInfo signal = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
					 .semaphore = pair->semaphore,
					 .value = value };
	VkSemaphoreWaitInfo wait = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
				     .semaphoreCount = 1,
				     .pSemaphores = &pair->semaphore,
				     .pValues = &value };

	check(vkSignalSemaphore(pair->vulkan, &signal), "vkSignalSemaphore");
	check(vkWaitSemaphores(pair->vulkan, &wait, UINT64_MAX), "vkWaitSemaphores");
}

static void ours_create(struct pair *pair, uint64_t value)
{
	(void)value;
	destroy_fence(create_fence(pair->device));
}

static void theirs_create(struct pair *pair, uint64_t value)
{
	(void)value;
	vkDestroySemaphore(pair->vulkan, create_semaphore(pair->vulkan), NULL);
}

static double measure_ns(struct pair *pair, void (*make)(struct pair *, uint64_t), size_t count)
{
	uint64_t start = thread_time_ns();

	for (size_t i = 1; i <= count; i++)
		make(pair, pair->value + i);
	return (double)(thread_time_ns() - start) / (double)count;
}

int main(int argc, char **argv)
{
	struct pair pair = { 0 };

	if (argc != 4 || (strcmp(argv[1], "signal") != 0 && strcmp(argv[1], "create") != 0)) {
		fprintf(stderr, "usage: vulkan_fences signal|create count rounds\n");
		return 2;
	}
	bool is_signal = strcmp(argv[1], "signal") == 0;
	size_t count = strtoull(argv[2], NULL, 0);
	unsigned rounds = (unsigned)strtoul(argv[3], NULL, 0);

	pair.vulkan = open_lavapipe();
	pair.semaphore = create_semaphore(pair.vulkan);
	pair.device = create_device();
	pair.fence = create_fence(pair.device);
	for (unsigned i = 0; i <= rounds; i++, pair.value += count) {
		double ours = measure_ns(&pair, is_signal ? ours_signal : ours_create, count);
		double theirs = measure_ns(&pair, is_signal ? theirs_signal : theirs_create, count);
		if (i > 0) /* the first round warms up */
			printf("%.1f %.1f\n", ours, theirs);
	}
	return 0;
}
