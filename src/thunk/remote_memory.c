/* SPDX-License-Identifier: MIT */
/*
 * remote_memory.c - memory of the program that the server is to use (ExistingSysMem).
 *
 *	addresses   ······|private|·······|private |·····        before
 *	                      │               │
 *	addresses   ······|shared |·······|private |·····        after, at the same addresses
 *	file        ······|content|··················            one for the process, sparse: offset = address
 *
 * The server cannot see memory of another process, and a copy would not be the memory. So private memory
 * of the program becomes, where it is, memory of a file that both have. Its content is copied once: no
 * other thread writes there during the call that brings it. What is none of the program's own (memory
 * that others share, a stack, what may only be read) stays what it is, and the call is refused.
 *
 * An address has one offset for ever, so memory that is brought again, more or less of it, is the same
 * memory.
 *
 * Locks: shared.lock; held while the memory is exchanged.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/file_size.h"
#include "thunk/remote.h"

/* Of memory whose size only the driver knows: as much as there is, up to this. */
#define UNSAID_BYTES (UINT64_C(1) << 30)

/* Addresses of a program end below it. */
#define FILE_BYTES (UINT64_C(1) << 47)

static struct {
	struct lock lock; /* LOCK_RANK_SESSION */
	struct own_fd file;
	ino_t inode;
} shared = { .lock = LOCK_INITIALIZER(LOCK_RANK_SESSION, "memory that the server uses"),
	     .file = OWN_FD_NONE };

static bool file_is_there_locked(void)
{
	struct stat facts;
	int file;

	lock_assert_held(&shared.lock);
	if (own_fd_is_ours(&shared.file))
		return true;
	file = memfd_create("dxgk-client-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file < 0)
		return false;
	if (!file_size_is_allowed(FILE_BYTES) || ftruncate(file, (off_t)FILE_BYTES) != 0 ||
	    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
	    fstat(file, &facts) != 0) {
		close(file);
		return false;
	}
	shared.inode = facts.st_ino;
	return own_fd_keep(file, &shared.file);
}

/* ---- what is mapped ---- */

struct mapping {
	uint64_t first;
	uint64_t end;
	bool is_private;
	bool is_ours;
};

/*
 * "first-end rights offset device inode path", as the host writes it. False: it is none, or one that cannot
 * be the server's.
 */
static bool mapping_read(char *line, struct mapping *mapping)
{
	char *rights;
	char *rest;

	mapping->first = strtoull(line, &rest, 16);
	mapping->end = *rest == '-' ? strtoull(rest + 1, &rights, 16) : 0;
	if (mapping->end == 0 || strlen(rights) < 6)
		return false;
	uint64_t offset = strtoull(rights + 6, &rest, 16);
	rest = *rest ? strchr(rest + 1, ' ') : NULL; /* behind the device */
	uint64_t inode = rest ? strtoull(rest, &rest, 10) : 0;
	mapping->is_private = rights[4] == 'p';
	mapping->is_ours =
		!mapping->is_private && inode == shared.inode && offset == mapping->first;
	return strncmp(rights, " rw", 3) == 0 && rest && !strstr(rest, "[stack") &&
	       (mapping->is_private || mapping->is_ours);
}

/* The next one that can be the server's; false at the first that cannot, and at the end. */
static bool next_mapping(FILE *maps, uint64_t from, struct mapping *mapping)
{
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		bool is_right = mapping_read(line, mapping);

		if (mapping->end > from)
			return is_right && mapping->first <= from;
	}
	return false;
}

static bool write_all(int file, const char *from, uint64_t size_bytes, uint64_t offset)
{
	uint64_t done = 0;

	while (done < size_bytes) {
		ssize_t written =
			pwrite(file, from + done, size_bytes - done, (off_t)(offset + done));

		if (written <= 0)
			return false;
		done += (uint64_t)written;
	}
	return true;
}

static bool exchange(int file, uint64_t first, uint64_t size_bytes)
{
	void *at = (void *)(uintptr_t)first;

	return write_all(file, at, size_bytes, first) &&
	       mmap(at, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
		    (off_t)first) != MAP_FAILED;
}

/*
 * How much from `address` on can be the server's, at most `wanted`. With `file` it is made so; -1: it is only
 * measured.
 */
static uint64_t walk(uint64_t address, uint64_t wanted, int file)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t reached = address;
	struct mapping mapping;

	while (maps && next_mapping(maps, reached, &mapping)) {
		uint64_t end = lower_of(mapping.end, address + wanted);

		if (file >= 0 && mapping.is_private && !exchange(file, reached, end - reached))
			break;
		reached = end;
		if (reached == address + wanted)
			break;
	}
	if (maps)
		fclose(maps);
	return reached - address;
}

int remote_memory_share(uintptr_t address, uint64_t *size_bytes, uint64_t *offset_out)
{
	bool is_said = *size_bytes != 0;
	int file = -1;

	if (address >= FILE_BYTES || *size_bytes > FILE_BYTES - address)
		return -1;
	uint64_t wanted = is_said ? *size_bytes : lower_of(UNSAID_BYTES, FILE_BYTES - address);
	lock_acquire(&shared.lock);
	uint64_t found = file_is_there_locked() ? walk(address, wanted, -1) : 0;
	if (found > 0 && (found == wanted || !is_said))
		file = own_fd_use(&shared.file, "memory of the program stays unknown to dxgkd");
	/* Nothing is exchanged before all of it can be. */
	if (file >= 0 && walk(address, found, file) != found)
		file = -1;
	lock_release(&shared.lock);
	*size_bytes = found;
	*offset_out = address;
	return file;
}
