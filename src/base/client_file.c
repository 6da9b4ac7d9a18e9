/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/own_fd.h"
#include "base/refcount.h"
#include "base/client_file.h"

enum { ROWS = 256 };

/* Who was let in before it was sealed. */
struct writer {
	struct writer *next;
	uint64_t client;
};

struct client_file {
	struct refcount refs;
	uint32_t id;
	enum client_file_origin origin;
	struct own_fd file;

	/* Guarded by the lock of all. */
	struct client_file *next; /* of its row */
	struct writer *writers;
	bool is_sealed;
};

static struct {
	struct lock lock;

	/* Guarded by lock. */
	struct client_file *rows[ROWS]; /* by the end of their ids */
	uint32_t last_id;
	uint64_t count;
	_Atomic uint64_t ended_count;
} files = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "shown files"),
};

static struct client_file **find_locked(uint32_t id)
{
	struct client_file **link = &files.rows[id % ROWS];

	lock_assert_held(&files.lock);
	while (*link && (*link)->id != id)
		link = &(*link)->next;
	return link;
}

struct client_file *client_file_create(int descriptor, enum client_file_origin origin)
{
	struct client_file *file = mem_zalloc(sizeof(*file));

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
	file->origin = origin;
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

void client_file_get(struct client_file *file)
{
	refcount_get(&file->refs);
}

void client_file_put(struct client_file *file)
{
	if (!file || !refcount_put(&file->refs))
		return;
	lock_acquire(&files.lock);
	*find_locked(file->id) = file->next;
	files.count--;
	lock_release(&files.lock);
	atomic_fetch_add(&files.ended_count, 1);
	own_fd_close(&file->file);
	while (file->writers) {
		struct writer *writer = file->writers;

		file->writers = writer->next;
		mem_free(writer);
	}
	mem_free(file);
}

/* ---- who may write ---- */

static bool is_writer_locked(const struct client_file *file, uint64_t client)
{
	lock_assert_held(&files.lock);
	for (const struct writer *writer = file->writers; writer; writer = writer->next) {
		if (writer->client == client)
			return true;
	}
	return false;
}

/* STATUS_PENDING: he is to be written down. */
static NTSTATUS judge_writer_locked(const struct client_file *file, uint64_t client)
{
	lock_assert_held(&files.lock);
	if (is_writer_locked(file, client))
		return STATUS_SUCCESS;
	return file->is_sealed ? STATUS_ACCESS_DENIED : STATUS_PENDING;
}

NTSTATUS client_file_let_write(struct client_file *file, uint64_t client)
{
	lock_acquire(&files.lock);
	NTSTATUS status = judge_writer_locked(file, client);
	lock_release(&files.lock);
	if (status != STATUS_PENDING)
		return status;

	struct writer *fresh = mem_zalloc(sizeof(*fresh));

	if (!fresh)
		return STATUS_NO_MEMORY;
	lock_acquire(&files.lock);
	status = judge_writer_locked(file, client);
	if (status == STATUS_PENDING) {
		*fresh = (struct writer){ file->writers, client };
		file->writers = fresh;
		fresh = NULL;
		status = STATUS_SUCCESS;
	}
	lock_release(&files.lock);
	mem_free(fresh);
	return status;
}

/* What is sealed stays so; a writer that comes upon the file may have done it himself. */
static bool seal_locked(struct client_file *file)
{
	const int against_writing = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
	int seals;

	lock_assert_held(&files.lock);
	if (file->is_sealed || !own_fd_is_ours(&file->file))
		return file->is_sealed;
	seals = fcntl(file->file.number, F_GET_SEALS);
	if (seals < 0)
		return false;
	file->is_sealed =
		(seals & against_writing) ||
		(file->origin == CLIENT_FILE_OF_OURS &&
		 fcntl(file->file.number, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0);
	return file->is_sealed;
}

bool client_file_let_read(struct client_file *file, uint64_t client)
{
	lock_acquire(&files.lock);
	bool is_safe = is_writer_locked(file, client) || seal_locked(file);
	lock_release(&files.lock);
	return is_safe;
}

uint32_t client_file_id(const struct client_file *file)
{
	return file->id;
}

int client_file_descriptor(uint32_t id)
{
	lock_acquire(&files.lock);
	struct client_file *file = *find_locked(id);
	int descriptor = file && own_fd_is_ours(&file->file) ? file->file.number : -1;
	lock_release(&files.lock);
	return descriptor;
}

uint64_t client_file_count(void)
{
	lock_acquire(&files.lock);
	uint64_t count = files.count;
	lock_release(&files.lock);
	return count;
}

uint64_t client_file_ended_count(void)
{
	return atomic_load(&files.ended_count);
}
