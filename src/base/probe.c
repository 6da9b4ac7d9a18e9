/* SPDX-License-Identifier: MIT */
/*
 * probe.c - is there memory at an address? Asked of the kernel, which answers instead of faulting.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/machine.h"
#include "base/probe.h"

/*
 * The kernel reads a signal set from the address before it looks at the (impossible) request, so
 * it tells a readable address from another without a fault and without side effects.
 */
static bool byte_is_readable(const void *pointer)
{
	const void *word = (const void *)((uintptr_t)pointer & ~(uintptr_t)7);

	return syscall(SYS_rt_sigprocmask, ~0, word, NULL, 8) == 0 || errno != EFAULT;
}

static bool is_readable_page_by_page(const void *pointer, uint64_t size_bytes)
{
	uintptr_t page = (uintptr_t)pointer & ~(uintptr_t)(MACHINE_PAGE_BYTES - 1);
	uintptr_t last = (uintptr_t)pointer + size_bytes - 1;

	for (; page <= last; page += MACHINE_PAGE_BYTES) {
		if (!byte_is_readable((const void *)page))
			return false;
	}
	return true;
}

/* Brings pages in, writable, without changing them. Linux 5.14 and later. */
static int populate(const void *pointer, uint64_t size_bytes)
{
	uintptr_t page = (uintptr_t)pointer & ~(uintptr_t)(MACHINE_PAGE_BYTES - 1);

	return madvise((void *)page, (uintptr_t)pointer + size_bytes - page, MADV_POPULATE_WRITE);
}

static bool range_is_sane(const void *pointer, uint64_t size_bytes)
{
	uint64_t end;

	/* The first page is nobody's; the kernel takes NULL for "no pointer" and would not look. */
	return size_bytes > 0 && (uintptr_t)pointer >= MACHINE_PAGE_BYTES &&
	       checked_add((uintptr_t)pointer, size_bytes, &end) && end <= UINT64_C(1) << 47;
}

bool probe_is_readable(const void *pointer, uint64_t size_bytes)
{
	return range_is_sane(pointer, size_bytes) && is_readable_page_by_page(pointer, size_bytes);
}

bool probe_is_writable(void *pointer, uint64_t size_bytes)
{
	char here = 0;

	if (!range_is_sane(pointer, size_bytes))
		return false;
	if (populate(pointer, size_bytes) == 0)
		return true;
	/* An older kernel cannot tell; then readable has to be enough. */
	return populate(&here, 1) != 0 && is_readable_page_by_page(pointer, size_bytes);
}
