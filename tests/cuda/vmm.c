/* SPDX-License-Identifier: MIT */
/*
 * vmm.c - memory of the stand-in for libcuda.so.1 that is mapped at addresses of the caller's choice: each
 * handle is a file, which other processes can be given.
 *
 * Rules that are checked: whole pages of 2 MiB; a mapping is in one reservation, where nothing is mapped; what
 * is unmapped, released or freed is there, and as large; no copy or fill is under way in what is unmapped; a
 * reservation that is freed has nothing mapped. None of it belongs to a context.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/streams.h"

enum { PAGE_BYTES = 2 << 20 };

#define CALL()                                                                                     \
	do {                                                                                       \
		int failed;                                                                        \
		if (fake_call_fails(&failed))                                                      \
			return failed;                                                             \
	} while (0)

static struct thing *add(enum thing_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct thing *thing = fake_add(kind, address, size_bytes);

	thing->context = NULL;
	return thing;
}

static struct thing *find(const char *function, enum thing_kind kind, uint64_t address,
			  uint64_t size_bytes)
{
	struct thing *thing = fake_find(kind, address, 0);

	if (!thing || thing->size_bytes != size_bytes)
		fake_violation(function, "there is no such thing, or no more, or of another size");
	return thing;
}

static void *cover(uint64_t address, uint64_t size_bytes)
{
	return mmap((void *)(uintptr_t)address, size_bytes, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address ? MAP_FIXED : 0), -1, 0);
}

/* ---- addresses ---- */

PUBLIC int cuMemAddressReserve(uint64_t *pointer, size_t size_bytes, size_t alignment,
			       uint64_t wanted, uint64_t flags)
{
	CALL();
	if (size_bytes == 0 || size_bytes % PAGE_BYTES || wanted % PAGE_BYTES ||
	    (alignment & (alignment - 1)) || flags)
		fake_violation(__func__, "not whole pages, or flags");
	/* Where it is wished, when that is free; more than is needed, to be able to align it. */
	void *made = mmap((void *)(uintptr_t)wanted, size_bytes, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				  (wanted ? MAP_FIXED_NOREPLACE : 0),
			  -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)made;
	if (made == MAP_FAILED || at % PAGE_BYTES) {
		if (made != MAP_FAILED)
			munmap(made, size_bytes);
		made = cover(0, size_bytes + PAGE_BYTES);
		if (made == MAP_FAILED)
			return ERROR_OUT_OF_MEMORY;
		uint64_t begin = (uint64_t)(uintptr_t)made;
		at = (begin + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
		if (at > begin)
			munmap(made, at - begin);
		if (at < begin + PAGE_BYTES)
			munmap((void *)(uintptr_t)(at + size_bytes), begin + PAGE_BYTES - at);
	}
	add(THING_RESERVED, at, size_bytes);
	*pointer = at;
	return OK;
}

PUBLIC int cuMemAddressFree(uint64_t pointer, size_t size_bytes)
{
	CALL();
	struct thing *reserved = find(__func__, THING_RESERVED, pointer, size_bytes);
	for (uint64_t at = pointer; at < pointer + size_bytes; at += PAGE_BYTES) {
		if (fake_find(THING_MAPPED, at, 0))
			fake_violation(__func__, "something is mapped there");
	}
	munmap((void *)(uintptr_t)pointer, size_bytes);
	fake_remove(reserved);
	return OK;
}

/* ---- memory ---- */

struct location {
	int kind;
	int device;
};
struct memory_kind {
	int kind;
	int handle_kinds;
	struct location location;
	void *not_here;
	unsigned char flags[8];
};
struct access {
	struct location location;
	int access;
};

PUBLIC int cuMemCreate(uint64_t *handle, size_t size_bytes, const struct memory_kind *kind,
		       uint64_t flags)
{
	CALL();
	if (size_bytes == 0 || size_bytes % PAGE_BYTES || flags || kind->kind != 1 ||
	    kind->handle_kinds != 1 || kind->location.kind != 1)
		fake_violation(__func__, "not whole pages of a GPU that can be handed on");
	if (!fake_take_bytes(size_bytes))
		return ERROR_OUT_OF_MEMORY;
	int file = memfd_create("memory of a GPU", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, (off_t)size_bytes) != 0)
		abort();
	/* There is anything in it. */
	const unsigned anything = 0xc7c7c7c7;
	if (pwrite(file, &anything, sizeof(anything), 0) != sizeof(anything))
		abort();
	struct thing *made = add(THING_PAGES, 0, size_bytes);
	made->file = file;
	*handle = made->address;
	return OK;
}

PUBLIC int cuMemRelease(uint64_t handle)
{
	CALL();
	struct thing *memory = fake_find(THING_PAGES, handle, 0);
	if (!memory)
		fake_violation(__func__, "there is no such memory, or no more");
	close(memory->file);
	if (!memory->is_imported)
		atomic_fetch_sub(&fake.used_bytes, memory->size_bytes);
	fake_remove(memory);
	return OK;
}

PUBLIC int cuMemMap(uint64_t pointer, size_t size_bytes, size_t offset, uint64_t handle,
		    uint64_t flags)
{
	CALL();
	struct thing *memory = fake_find(THING_PAGES, handle, 0);
	if (!memory || memory->size_bytes != size_bytes || offset || flags || pointer % PAGE_BYTES)
		fake_violation(__func__, "no such memory, or not all of it");
	if (!fake_find(THING_RESERVED, pointer, size_bytes))
		fake_violation(__func__, "the addresses are not in one reservation");
	if (fake_find(THING_MAPPED, pointer, 1))
		fake_violation(__func__, "something is mapped there");
	if (mmap((void *)(uintptr_t)pointer, size_bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
		 memory->file, 0) == MAP_FAILED)
		return ERROR_OUT_OF_MEMORY;
	add(THING_MAPPED, pointer, size_bytes);
	return OK;
}

PUBLIC int cuMemUnmap(uint64_t pointer, size_t size_bytes)
{
	CALL();
	struct thing *mapped = find(__func__, THING_MAPPED, pointer, size_bytes);
	if (fake_range_is_used(mapped))
		fake_violation(__func__, "a copy from or to it is under way");
	if (cover(pointer, size_bytes) == MAP_FAILED)
		abort();
	fake_remove(mapped);
	return OK;
}

PUBLIC int cuMemSetAccess(uint64_t pointer, size_t size_bytes, const struct access *access,
			  size_t count)
{
	CALL();
	if (count != 1 || access->location.kind != 1 ||
	    (access->access != 1 && access->access != 3) || size_bytes == 0)
		fake_violation(__func__, "no access that we know");
	for (uint64_t at = pointer; at < pointer + size_bytes; at += PAGE_BYTES) {
		struct thing *mapped = fake_find(THING_MAPPED, at, 0);

		if (!mapped)
			fake_violation(__func__, "nothing is mapped there");
		mapped->is_accessible = true;
	}
	if (mprotect((void *)(uintptr_t)pointer, size_bytes,
		     access->access == 3 ? PROT_READ | PROT_WRITE : PROT_READ) != 0)
		abort();
	return OK;
}

/* ---- other processes ---- */

PUBLIC int cuMemExportToShareableHandle(void *descriptor, uint64_t handle, int kind, uint64_t flags)
{
	CALL();
	struct thing *memory = fake_find(THING_PAGES, handle, 0);
	if (!memory || kind != 1 || flags)
		fake_violation(__func__, "no such memory, or not as a descriptor");
	*(int *)descriptor = fcntl(memory->file, F_DUPFD_CLOEXEC, 0);
	return *(int *)descriptor < 0 ? ERROR_OUT_OF_MEMORY : OK;
}

PUBLIC int cuMemImportFromShareableHandle(uint64_t *handle, void *descriptor, int kind)
{
	CALL();
	int file = fcntl((int)(uintptr_t)descriptor, F_DUPFD_CLOEXEC, 0);
	off_t size_bytes = lseek(file, 0, SEEK_END);
	if (kind != 1 || file < 0 || size_bytes <= 0)
		fake_violation(__func__, "this is no memory of a GPU");
	struct thing *made = add(THING_PAGES, 0, (uint64_t)size_bytes);
	made->file = file;
	made->is_imported = true;
	*handle = made->address;
	return OK;
}

bool fake_is_mapped(uint64_t pointer, uint64_t size_bytes)
{
	uint64_t end = pointer + size_bytes;

	for (uint64_t at = pointer / PAGE_BYTES * PAGE_BYTES; at < end; at += PAGE_BYTES) {
		struct thing *mapped = fake_find(THING_MAPPED, at, 0);

		if (!mapped || !mapped->is_accessible)
			return false;
	}
	return size_bytes > 0;
}
