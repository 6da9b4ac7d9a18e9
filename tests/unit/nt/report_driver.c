/* SPDX-License-Identifier: MIT */
/*
 * report_driver.c - a driver that makes mistakes, in an image of its own.
 *
 * Test executables do not export the NT routines, so it is handed the ones it misuses.
 */
#include <ddk/wdm.h>

#include "report_driver.h"

static const struct report_driver_routines *nt;

__attribute__((visibility("default"))) void report_driver_init(
	const struct report_driver_routines *routines)
{
	nt = routines;
}

static __attribute__((noinline)) void wait_in_a_helper(KEVENT *event)
{
	LARGE_INTEGER timeout;

	timeout.QuadPart = -10;
	nt->wait(event, Executive, KernelMode, FALSE, &timeout); /* the line in the report */
	__asm__ volatile("");
}

__attribute__((visibility("default"))) void report_driver_wait(KEVENT *event)
{
	wait_in_a_helper(event);
	__asm__ volatile("");
}

/* Named as a C++ compiler names Adapter::Allocate(unsigned long, unsigned int). */
__attribute__((visibility("default"))) void *adapter_allocate(SIZE_T size, ULONG tag) __asm__(
	"_ZN7Adapter8AllocateEmj");

void *adapter_allocate(SIZE_T size, ULONG tag)
{
	void *memory = nt->allocate(NonPagedPoolNx, size, tag);

	__asm__ volatile("");
	return memory;
}

__attribute__((visibility("default"))) void *report_driver_allocate_deep(SIZE_T size, ULONG tag)
{
	void *memory = adapter_allocate(size, tag);

	__asm__ volatile("");
	return memory;
}

__attribute__((visibility("default"))) void *report_driver_allocate(SIZE_T size, ULONG tag)
{
	void *memory = nt->allocate(NonPagedPoolNx, size, tag);

	__asm__ volatile("");
	return memory;
}
