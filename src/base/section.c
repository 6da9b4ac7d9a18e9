/* SPDX-License-Identifier: MIT */
/*
 * section.c - see section.h.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "base/section.h"

static NTSTATUS check_descriptor(uintptr_t handle, uint64_t size_bytes, const char *argument)
{
	struct stat facts;

	if (handle > INT_MAX || fstat((int)handle, &facts) != 0)
		return refuse(STATUS_INVALID_HANDLE, RULE_API_HANDLE, argument,
			      "0x%llx is no open descriptor", (unsigned long long)handle);
	int seals = fcntl((int)handle, F_GET_SEALS);
	if (seals < 0)
		return refuse(STATUS_OBJECT_TYPE_MISMATCH, RULE_API_HANDLE, argument,
			      "%d is no section: a memfd that can be sealed is needed",
			      (int)handle);
	if ((seals & F_SEAL_SHRINK) == 0)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, argument,
			      "%d may still shrink: seal it (F_SEAL_SHRINK) first", (int)handle);
	if ((uint64_t)facts.st_size < size_bytes)
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, argument,
			      "has %lld bytes, and the heap %llu", (long long)facts.st_size,
			      (unsigned long long)size_bytes);
	return STATUS_SUCCESS;
}

NTSTATUS section_map(uintptr_t handle, uint64_t size_bytes, bool is_read_only, const char *argument,
		     struct section **section_out)
{
	NTSTATUS status = check_descriptor(handle, size_bytes, argument);
	struct section *section;
	void *pointer;

	if (!NT_SUCCESS(status))
		return status;
	section = mem_alloc(sizeof(*section));
	if (!section)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for a section");
	pointer = mmap(NULL, size_bytes, is_read_only ? PROT_READ : PROT_READ | PROT_WRITE,
		       MAP_SHARED, (int)handle, 0);
	if (pointer == MAP_FAILED) {
		mem_free(section);
		return refuse(STATUS_ACCESS_DENIED, RULE_API_HANDLE, argument,
			      "%d cannot be mapped for %s", (int)handle,
			      is_read_only ? "reading" : "writing");
	}
	*section = (struct section){ pointer, size_bytes };
	*section_out = section;
	return STATUS_SUCCESS;
}

void section_unmap(struct section *section)
{
	if (!section)
		return;
	munmap(section->pointer, section->size_bytes);
	mem_free(section);
}
