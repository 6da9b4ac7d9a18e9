/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/checked.h"
#include "base/client_call.h"
#include "base/machine.h"
#include "base/mem.h"
#include "base/quota.h"
#include "base/refusal.h"
#include "base/section.h"

static NTSTATUS check_descriptor(uintptr_t handle, uint64_t size_bytes, const char *argument)
{
	struct stat facts;
	struct statfs system;

	if (handle > INT_MAX || fstat((int)handle, &facts) != 0)
		return refuse(STATUS_INVALID_HANDLE, RULE_API_HANDLE, argument,
			      "0x%llx is no open descriptor", (unsigned long long)handle);
	int seals = fcntl((int)handle, F_GET_SEALS);
	if (seals < 0)
		return refuse(STATUS_OBJECT_TYPE_MISMATCH, RULE_API_HANDLE, argument,
			      "%d is no section: a memfd that can be sealed is needed",
			      (int)handle);
	/* A hole in it may not be filled again, and who touches it dies. */
	if (fstatfs((int)handle, &system) != 0 || system.f_type == HUGETLBFS_MAGIC)
		return refuse(STATUS_OBJECT_TYPE_MISMATCH, RULE_API_HANDLE, argument,
			      "%d is made of huge pages: a memfd without is needed", (int)handle);
	if ((seals & F_SEAL_SHRINK) == 0)
		return invalid(RULE_API_VALUE, argument,
			       "%d may still shrink: seal it (F_SEAL_SHRINK) first", (int)handle);
	if ((uint64_t)facts.st_size < size_bytes)
		return invalid(RULE_API_VALUE, argument, "has %lld bytes, and the heap %llu",
			       (long long)facts.st_size, (unsigned long long)size_bytes);
	return STATUS_SUCCESS;
}

/* For the client to map again; one in this process has its own. */
static NTSTATUS keep_file(struct section *section, int descriptor, const char *argument)
{
	int copy;

	if (!client_call_current())
		return STATUS_SUCCESS;
	copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_API_DESCRIPTORS, argument,
			      "needs a descriptor, and none is left");
	section->file = client_file_create(copy, CLIENT_FILE_OF_A_CLIENT);
	return section->file ? STATUS_SUCCESS : refuse_no_memory("no memory for a section");
}

static NTSTATUS map(struct section *section, int descriptor, uint64_t offset, bool is_read_only,
		    const char *argument)
{
	void *pointer =
		mmap(NULL, section->size_bytes, is_read_only ? PROT_READ : PROT_READ | PROT_WRITE,
		     MAP_SHARED, descriptor, (off_t)offset);

	if (pointer == MAP_FAILED)
		return refuse(STATUS_ACCESS_DENIED, RULE_API_HANDLE, argument,
			      "%d cannot be mapped for %s", descriptor,
			      is_read_only ? "reading" : "writing");
	section->pointer = pointer;
	NTSTATUS status = keep_file(section, descriptor, argument);
	if (!NT_SUCCESS(status))
		munmap(pointer, section->size_bytes);
	return status;
}

static void section_free(struct section *section)
{
	quota_give(section->ledger, QUOTA_MAPPINGS, 1);
	quota_put(section->ledger);
	mem_free(section);
}

NTSTATUS section_map_part(struct quota_ledger *ledger, uintptr_t handle, uint64_t offset,
			  uint64_t size_bytes, bool is_read_only, const char *argument,
			  struct section **section_out)
{
	uint64_t end;

	if (!checked_add(offset, size_bytes, &end) || !is_aligned(offset, MACHINE_PAGE_BYTES) ||
	    !is_aligned(size_bytes, MACHINE_PAGE_BYTES) || size_bytes == 0)
		return invalid(RULE_API_VALUE, argument, "is not whole pages of a file");
	NTSTATUS status = check_descriptor(handle, end, argument);
	if (NT_SUCCESS(status))
		status = quota_take(ledger, QUOTA_MAPPINGS, 1);
	if (!NT_SUCCESS(status))
		return status;
	struct section *section = mem_zalloc(sizeof(*section));
	if (!section) {
		quota_give(ledger, QUOTA_MAPPINGS, 1);
		return refuse_no_memory("no memory for a section");
	}
	section->ledger = quota_get(ledger);
	section->size_bytes = size_bytes;
	section->first_page = offset >> MACHINE_PAGE_SHIFT;
	status = map(section, (int)handle, offset, is_read_only, argument);
	if (NT_SUCCESS(status))
		*section_out = section;
	else
		section_free(section);
	return status;
}

NTSTATUS section_map(struct quota_ledger *ledger, uintptr_t handle, uint64_t size_bytes,
		     bool is_read_only, const char *argument, struct section **section_out)
{
	return section_map_part(ledger, handle, 0, size_bytes, is_read_only, argument, section_out);
}

void section_unmap(struct section *section)
{
	if (!section)
		return;
	munmap(section->pointer, section->size_bytes);
	client_file_put(section->file);
	section_free(section);
}
