/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/own_fd.h"
#include "base/refcount.h"
#include "base/shown_file.h"

enum { ROWS = 256 };

struct shown_file {
	struct refcount refs;
	uint32_t id;
	struct own_fd file;
	struct shown_file *next; /* of its row */
};

static struct {
	struct lock lock;

	/* Guarded by lock. */
	struct shown_file *rows[ROWS]; /* by the end of their ids */
	uint32_t last_id;
	uint64_t count;
	_Atomic uint64_t ended_count;
} files = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "shown files"),
};

static struct shown_file **find_locked(uint32_t id)
{
	struct shown_file **link = &files.rows[id % ROWS];

	lock_assert_held(&files.lock);
	while (*link && (*link)->id != id)
		link = &(*link)->next;
	return link;
}

struct shown_file *shown_file_create(int descriptor)
{
	struct shown_file *file = mem_zalloc(sizeof(*file));

	if (!file) {
		close(descriptor);
		errno = ENOMEM;
		return NULL;
	}
	if (!own_fd_keep(descriptor, &file->file)) {
		int saved_errno = errno;
		mem_free(file);
		errno = saved_errno;
		return NULL;
	}
	refcount_init(&file->refs);
	lock_acquire(&files.lock);
	do {
		files.last_id++;
	} while (files.last_id == 0 || *find_locked(files.last_id));
	file->id = files.last_id;
	*find_locked(file->id) = file;
	files.count++;
	lock_release(&files.lock);
	return file;
}

void shown_file_get(struct shown_file *file)
{
	refcount_get(&file->refs);
}

void shown_file_put(struct shown_file *file)
{
	if (!file || !refcount_put(&file->refs))
		return;
	lock_acquire(&files.lock);
	*find_locked(file->id) = file->next;
	files.count--;
	lock_release(&files.lock);
	atomic_fetch_add(&files.ended_count, 1);
	own_fd_close(&file->file);
	mem_free(file);
}

uint32_t shown_file_id(const struct shown_file *file)
{
	return file->id;
}

int shown_file_descriptor(uint32_t id)
{
	lock_acquire(&files.lock);
	struct shown_file *file = *find_locked(id);
	int descriptor = file && own_fd_is_ours(&file->file) ? file->file.number : -1;
	lock_release(&files.lock);
	return descriptor;
}

uint64_t shown_file_count(void)
{
	lock_acquire(&files.lock);
	uint64_t count = files.count;
	lock_release(&files.lock);
	return count;
}

uint64_t shown_file_ended_count(void)
{
	return atomic_load(&files.ended_count);
}
