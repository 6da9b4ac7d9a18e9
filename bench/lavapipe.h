/* SPDX-License-Identifier: MIT */
/*
 * lavapipe.h - the software Vulkan driver that ours is measured beside. Exit status 77: there is
 * none.
 */
#ifndef BENCH_LAVAPIPE_H
#define BENCH_LAVAPIPE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

enum { NO_LAVAPIPE = 77 };

static inline void no_lavapipe(const char *why)
{
	fprintf(stderr, "no lavapipe: %s\n", why);
	exit(NO_LAVAPIPE);
}

static inline VkPhysicalDevice find_lavapipe(VkInstance instance)
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

/* A device that can do timeline semaphores. */
static inline VkDevice open_lavapipe(void)
{
	VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
					  .apiVersion = VK_API_VERSION_1_2 };
	VkInstanceCreateInfo instance_info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
					       .pApplicationInfo = &application };
	VkPhysicalDeviceVulkan12Features features = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
		.timelineSemaphore = VK_TRUE,
	};
	float priority = 1;
	VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
					  .queueCount = 1,
					  .pQueuePriorities = &priority };
	VkDeviceCreateInfo device_info = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
					   .pNext = &features,
					   .queueCreateInfoCount = 1,
					   .pQueueCreateInfos = &queue };
	VkInstance instance;
	VkDevice device;

	if (vkCreateInstance(&instance_info, NULL, &instance) != VK_SUCCESS)
		no_lavapipe("no instance");
	if (vkCreateDevice(find_lavapipe(instance), &device_info, NULL, &device) != VK_SUCCESS)
		no_lavapipe("it makes no device");
	return device;
}

#endif
