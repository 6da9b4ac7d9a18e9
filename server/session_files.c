/* SPDX-License-Identifier: MIT */
/*
 * session_files.c - descriptors between a client and the server.
 *
 * They go ahead of the request or the reply that names them, over the socket; a token stands for each.
 * The loop takes those that come, and the call that wants one waits for it.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/client_file.h"
#include "server/server.h"

void session_spare_init(struct session *session)
{
	list_init(&session->spare_free);
	for (uint32_t i = 0; i < SESSION_ARRIVED_SPARE; i++)
		list_push_back(&session->spare_free, &session->spare[i].link);
}

static bool is_spare(const struct session *session, const struct arrived *arrived)
{
	return arrived >= session->spare && arrived < session->spare + SESSION_ARRIVED_SPARE;
}

/* NULL: it has too many, or there is no memory. */
static struct arrived *arrived_take(struct session *session)
{
	lock_acquire(&session->lock);
	bool fits = session->arrived_count < SESSION_ARRIVED_MOST;
	struct list *link = fits ? list_pop_front(&session->spare_free) : NULL;
	session->arrived_count += fits;
	lock_release(&session->lock);
	if (link)
		return container_of(link, struct arrived, link);
	struct arrived *arrived = fits ? mem_zalloc(sizeof(*arrived)) : NULL;
	if (!arrived) {
		lock_acquire(&session->lock);
		session->arrived_count -= fits;
		lock_release(&session->lock);
	}
	return arrived;
}

static void arrived_give(struct session *session, struct arrived *arrived)
{
	bool is_own = is_spare(session, arrived);

	if (arrived->is_counted)
		quota_give(session->ledger, QUOTA_DESCRIPTORS, 1);
	lock_acquire(&session->lock);
	session->arrived_count--;
	if (is_own)
		list_push_back(&session->spare_free, &arrived->link);
	lock_release(&session->lock);
	if (!is_own)
		mem_free(arrived);
}

bool session_descriptor_came(struct session *session, const struct wire_message *message,
			     int descriptor)
{
	struct arrived *arrived = arrived_take(session);
	bool fits = arrived && descriptor >= 0 &&
		    NT_SUCCESS(quota_take(session->ledger, QUOTA_DESCRIPTORS, 1));

	if (!fits && descriptor >= 0)
		close(descriptor);
	if (!arrived)
		return false;
	/* The call that names it is refused, not the client. */
	arrived->token = message->number;
	arrived->descriptor = fits ? descriptor : -1;
	arrived->is_counted = fits;
	arrived->offset = message->memory.offset;
	arrived->size_bytes = message->memory.size_bytes;
	lock_acquire(&session->lock);
	list_push_back(&session->arrived, &arrived->link);
	lock_release(&session->lock);
	notice_give(&session->changed);
	return true;
}

static struct arrived *find_locked(struct session *session, uint32_t token)
{
	lock_assert_held(&session->lock);
	list_each (struct arrived, arrived, &session->arrived, link) {
		if (arrived->token == token) {
			list_remove(&arrived->link);
			return arrived;
		}
	}
	return NULL;
}

bool session_take_descriptor(struct session *session, uint32_t token, struct arrived *arrived_out)
{
	struct arrived *arrived;

	lock_acquire(&session->lock);
	while ((arrived = find_locked(session, token)) == NULL && !atomic_load(&session->is_over))
		notice_wait_relock(&session->changed, &session->lock);
	lock_release(&session->lock);
	if (!arrived)
		return false;
	*arrived_out = *arrived;
	arrived_give(session, arrived);
	return true;
}

void session_close_descriptors(struct session *session)
{
	list_drain (struct arrived, arrived, &session->arrived, link) {
		if (arrived->descriptor >= 0)
			close(arrived->descriptor);
		arrived_give(session, arrived);
	}
}

/* Only this client's own thread waits, until there is a slot or the session is over. */
static bool send_waiting(struct session *session, const struct wire_message *message,
			 int descriptor)
{
	return !atomic_load(&session->is_over) &&
	       wire_send(session->socket, message, descriptor, true) == WIRE_DONE;
}

uint32_t session_send_descriptor(struct session *session, int descriptor)
{
	lock_acquire(&session->send_lock);
	struct wire_message message = { .kind = WIRE_DESCRIPTOR, .number = ++session->last_token };
	lock_release(&session->send_lock);
	bool is_sent = send_waiting(session, &message, descriptor);
	close(descriptor);
	return is_sent ? message.number : 0;
}

/* ---- files of views ---- */

/* Where it is in the row, or would be. */
static uint32_t index_locked(const struct session *session, uint32_t file)
{
	uint32_t first = 0;
	uint32_t end = session->file_count;

	lock_assert_held(&session->send_lock);
	while (first < end) {
		uint32_t middle = first + (end - first) / 2;

		if (session->files[middle] < file)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static bool has_file_locked(const struct session *session, uint32_t file)
{
	uint32_t index = index_locked(session, file);

	lock_assert_held(&session->send_lock);
	return index < session->file_count && session->files[index] == file;
}

static bool has_file(struct session *session, uint32_t file)
{
	lock_acquire(&session->send_lock);
	bool has = has_file_locked(session, file);
	lock_release(&session->send_lock);
	return has;
}

static bool files_grow_locked(struct session *session)
{
	uint32_t capacity = session->file_capacity * 2 + 16;
	uint32_t *more;

	lock_assert_held(&session->send_lock);
	if (session->file_count < session->file_capacity)
		return true;
	more = mem_zalloc_array(capacity, sizeof(*more));
	if (!more)
		return false;
	if (session->files)
		memcpy(more, session->files, session->file_count * sizeof(*more));
	mem_free(session->files);
	session->files = more;
	session->file_capacity = capacity;
	return true;
}

static bool note_file_locked(struct session *session, uint32_t file)
{
	lock_assert_held(&session->send_lock);
	if (has_file_locked(session, file))
		return true;
	if (!files_grow_locked(session))
		return false;
	uint32_t index = index_locked(session, file);
	memmove(&session->files[index + 1], &session->files[index],
		(session->file_count - index) * sizeof(session->files[0]));
	session->files[index] = file;
	session->file_count++;
	return true;
}

bool session_send_file(struct session *session, uint32_t file)
{
	struct wire_message message = { .kind = WIRE_FILE, .number = file };
	struct stat facts;

	if (has_file(session, file))
		return true;
	int descriptor = client_file_descriptor(file);
	if (descriptor < 0 || fstat(descriptor, &facts) != 0)
		return false;
	message.size_bytes = (uint64_t)facts.st_size;
	/* Twice does no harm: two threads may be here. */
	if (!send_waiting(session, &message, descriptor))
		return false;
	lock_acquire(&session->send_lock);
	bool is_noted = note_file_locked(session, file);
	lock_release(&session->send_lock);
	return is_noted;
}

/* False: the socket takes no more now. */
static bool say_gone_locked(struct session *session, uint32_t file)
{
	const struct wire_message message = { .kind = WIRE_FILE_GONE, .number = file };

	lock_assert_held(&session->send_lock);
	return wire_send(session->socket, &message, -1, false) != WIRE_WOULD_WAIT;
}

void session_forget_files(struct session *session)
{
	uint64_t ended = client_file_ended_count();
	uint32_t kept = 0;
	bool has_said_all = true;

	if (ended == atomic_load_explicit(&session->files_ended_seen, memory_order_relaxed))
		return;
	lock_acquire(&session->send_lock);
	for (uint32_t i = 0; i < session->file_count; i++) {
		uint32_t file = session->files[i];
		bool is_gone = has_said_all && client_file_descriptor(file) < 0;

		if (is_gone)
			has_said_all = say_gone_locked(session, file);
		if (!is_gone || !has_said_all)
			session->files[kept++] = file;
	}
	session->file_count = kept;
	if (has_said_all)
		atomic_store(&session->files_ended_seen, ended);
	lock_release(&session->send_lock);
}
