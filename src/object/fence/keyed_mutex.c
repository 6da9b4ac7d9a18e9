/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "object/ending/endings.h"
#include "object/fence/keyed_mutex.h"
#include "object/memory/kept_bytes.h"
#include "trace/trace.h"

static struct keyed_mutex_body *body_of_share(struct share *share)
{
	return container_of(share, struct keyed_mutex_body, share);
}

static void body_destroy(struct share *share)
{
	struct keyed_mutex_body *body = body_of_share(share);

	lock_finish(&body->lock);
	kept_bytes_free(body->private_data);
	mem_free(body);
}

/* ---- its stages (endings.h) ---- */

static void leave_process(struct dxg_keyed_mutex *mutex)
{
	lock_acquire(&mutex->process->lock);
	list_remove(&mutex->process_link);
	lock_release(&mutex->process->lock);
}

static void abandon(struct dxg_keyed_mutex *mutex)
{
	struct keyed_mutex_body *body = mutex->body;

	lock_acquire(&body->lock);
	mutex->is_closed = true;
	if (body->owner == mutex) {
		body->owner = NULL;
		body->is_abandoned = true;
		trace_keyed_mutex_abandon(mutex->process->id, mutex->object.handle);
	}
	lock_release(&body->lock);
	keyed_mutex_wake(mutex);
}

/* The body stays until no call is busy with this opening any more. */
static void end_global_handle(struct dxg_keyed_mutex *mutex)
{
	share_close_keep(&mutex->body->share);
}

static void give_back(struct dxg_keyed_mutex *mutex)
{
	trace_keyed_mutex_destroy(mutex->process->id, mutex->object.handle);
	kept_bytes_free(mutex->offered.data);
	share_put(&mutex->body->share);
	mem_free(mutex);
}

static void mutex_finish(struct object *object)
{
	struct dxg_keyed_mutex *subject = object_as(keyed_mutex, object);

	ENDING_OF_KEYED_MUTEX(ENDING_CALL)
}

static struct share *mutex_share(struct object *object, uint32_t *withheld_out)
{
	*withheld_out = 0;
	return &object_as(keyed_mutex, object)->body->share;
}

const struct object_class keyed_mutex_class = { "a keyed mutex", mutex_finish, mutex_share };

/* ---- the blob ---- */

static NTSTATUS copy_data(const struct dxg_process *process, const struct keyed_mutex_data *data,
			  void **copy_out)
{
	NTSTATUS status = kept_bytes_copy(process->ledger, data->data, data->bytes, copy_out);

	if (NT_SUCCESS(status))
		return STATUS_SUCCESS;
	return refuse(status, RULE_API_NO_MEMORY, "pPrivateRuntimeData",
		      "has %u bytes, and there is no memory to keep them", data->bytes);
}

static NTSTATUS check_data_size_locked(const struct keyed_mutex_body *body,
				       const struct keyed_mutex_data *data)
{
	lock_assert_held(&body->lock);
	if (data->bytes != 0 && body->private_bytes != 0 && data->bytes != body->private_bytes)
		return invalid(RULE_API_MUTEX_DATA, "PrivateRuntimeDataSize",
			       "is %u, and the mutex has %u bytes", data->bytes,
			       body->private_bytes);
	return STATUS_SUCCESS;
}

uint32_t keyed_mutex_data_bytes(struct share *share)
{
	struct keyed_mutex_body *body = body_of_share(share);

	lock_acquire(&body->lock);
	uint32_t bytes = body->private_bytes;
	lock_release(&body->lock);
	return bytes;
}

/* ---- making and ending ---- */

static NTSTATUS body_create(struct dxg_process *process, uint64_t initial_key,
			    const struct keyed_mutex_data *initial_data, enum share_scheme scheme,
			    struct keyed_mutex_body **body_out)
{
	struct keyed_mutex_body *body = mem_zalloc(sizeof(*body));

	if (!body)
		return refuse_no_memory("no memory for a keyed mutex");
	NTSTATUS status = copy_data(process, initial_data, &body->private_data);
	if (!NT_SUCCESS(status))
		goto free_body;
	status = share_init(&body->share, process->shares, process->identity.user,
			    SHARE_KEYED_MUTEX, scheme, NULL, body_destroy);
	if (!NT_SUCCESS(status))
		goto free_data;
	lock_init(&body->lock, LOCK_RANK_FENCE, "keyed mutex");
	body->key = initial_key;
	body->private_bytes = initial_data->bytes;
	*body_out = body;
	return STATUS_SUCCESS;

free_data:
	kept_bytes_free(body->private_data);
free_body:
	mem_free(body);
	return status;
}

/* An opening nobody finds yet; the body comes later. */
static NTSTATUS mutex_build(struct dxg_process *process, struct dxg_keyed_mutex **mutex_out)
{
	struct dxg_keyed_mutex *mutex = mem_zalloc(sizeof(*mutex));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!mutex)
		goto no_memory;
	status = object_init(&mutex->object, &keyed_mutex_class, &process->handles);
	if (!NT_SUCCESS(status))
		goto free_mutex;
	mutex->process = process;
	*mutex_out = mutex;
	return STATUS_SUCCESS;

free_mutex:
	mem_free(mutex);
no_memory:
	refusal_say(status, RULE_API_NO_MEMORY, NULL, "no memory for a keyed mutex handle");
	return refused(status);
}

static void mutex_abandon_build(struct dxg_keyed_mutex *mutex)
{
	object_abandon(&mutex->object);
	kept_bytes_free(mutex->offered.data);
	mem_free(mutex);
}

static void mutex_publish(struct dxg_keyed_mutex *mutex)
{
	struct dxg_process *process = mutex->process;

	lock_acquire(&process->lock);
	list_push_back(&process->keyed_mutexes, &mutex->process_link);
	lock_release(&process->lock);
	trace_keyed_mutex_create(process->id, mutex->object.handle,
				 share_global_handle(&mutex->body->share));
	/* The caller's reference first: from the next line on another thread can end it. */
	object_get(&mutex->object);
	object_publish(&mutex->object);
}

NTSTATUS keyed_mutex_create(struct dxg_process *process, uint64_t initial_key,
			    const struct keyed_mutex_data *initial_data, enum share_scheme scheme,
			    struct dxg_keyed_mutex **mutex_out)
{
	struct dxg_keyed_mutex *mutex;
	NTSTATUS status = mutex_build(process, &mutex);

	if (!NT_SUCCESS(status))
		return status;
	status = body_create(process, initial_key, initial_data, scheme, &mutex->body);
	if (!NT_SUCCESS(status)) {
		mutex_abandon_build(mutex);
		return status;
	}
	share_publish(&mutex->body->share);
	mutex_publish(mutex);
	*mutex_out = mutex;
	return STATUS_SUCCESS;
}

static NTSTATUS body_check_data(struct keyed_mutex_body *body, const struct keyed_mutex_data *data)
{
	lock_acquire(&body->lock);
	NTSTATUS status = check_data_size_locked(body, data);
	lock_release(&body->lock);
	return status;
}

static NTSTATUS body_open(struct keyed_mutex_body *body, const struct keyed_mutex_data *offered)
{
	lock_acquire(&body->lock);
	NTSTATUS status = check_data_size_locked(body, offered);
	if (NT_SUCCESS(status) && !share_open(&body->share))
		status = invalid(RULE_API_HANDLE, "hSharedHandle",
				 "0x%08x was destroyed during the call",
				 share_global_handle(&body->share));
	lock_release(&body->lock);
	return status;
}

NTSTATUS keyed_mutex_open(struct dxg_process *process, struct share *share,
			  const struct keyed_mutex_data *initial_data,
			  struct dxg_keyed_mutex **mutex_out)
{
	struct dxg_keyed_mutex *mutex;
	/* A first look, before a handle is taken that nobody gets. */
	NTSTATUS status = body_check_data(body_of_share(share), initial_data);

	if (NT_SUCCESS(status))
		status = mutex_build(process, &mutex);
	if (!NT_SUCCESS(status))
		return status;
	mutex->body = body_of_share(share);
	mutex->offered.bytes = initial_data->bytes;
	status = copy_data(process, initial_data, &mutex->offered.data);
	if (NT_SUCCESS(status))
		status = body_open(mutex->body, &mutex->offered);
	if (!NT_SUCCESS(status)) {
		mutex_abandon_build(mutex);
		return status;
	}
	mutex_publish(mutex);
	*mutex_out = mutex;
	return STATUS_SUCCESS;
}

void keyed_mutex_settle(struct dxg_keyed_mutex *mutex)
{
	struct keyed_mutex_body *body = mutex->body;

	lock_acquire(&body->lock);
	struct keyed_mutex_data offered = mutex->offered;
	mutex->offered = (struct keyed_mutex_data){ 0 };
	if (body->private_bytes == 0) {
		body->private_data = offered.data;
		body->private_bytes = offered.bytes;
		offered.data = NULL;
	}
	lock_release(&body->lock);
	kept_bytes_free(offered.data);
}

bool keyed_mutex_destroy(struct dxg_keyed_mutex *subject)
{
	if (!object_retire(&subject->object))
		return false;
	ENDING_OF_KEYED_MUTEX_HANDLE(ENDING_CALL)
	object_put(&subject->object);
	return true;
}

void keyed_mutex_wake(struct dxg_keyed_mutex *mutex)
{
	notice_give(&mutex->body->changed);
}

/* ---- acquire and release ---- */

/* It is free, and the key is the right one. */
static NTSTATUS take_locked(struct dxg_keyed_mutex *mutex, const struct keyed_mutex_data *buffer,
			    uint64_t *fence_value_out)
{
	struct keyed_mutex_body *body = mutex->body;

	lock_assert_held(&body->lock);
	if (buffer->bytes != 0 && buffer->bytes < body->private_bytes)
		return invalid(RULE_API_MUTEX_DATA, "PrivateRuntimeDataSize",
			       "is %u, and the mutex has %u bytes", buffer->bytes,
			       body->private_bytes);
	if (buffer->bytes != 0 && body->private_bytes != 0)
		memcpy(buffer->data, body->private_data, body->private_bytes);
	body->owner = mutex;
	*fence_value_out = body->fence_value;
	trace_keyed_mutex_acquire(mutex->process->id, mutex->object.handle, body->key,
				  body->fence_value);
	return STATUS_SUCCESS;
}

/* STATUS_PENDING: not yet. */
static NTSTATUS try_acquire_locked(struct dxg_keyed_mutex *mutex, uint64_t key,
				   const struct keyed_mutex_data *buffer, uint64_t *fence_value_out)
{
	struct keyed_mutex_body *body = mutex->body;

	lock_assert_held(&body->lock);
	if (mutex->is_closed)
		return invalid(RULE_API_HANDLE, "hKeyedMutex",
			       "0x%08x was destroyed during the call", mutex->object.handle);
	if (atomic_load(&mutex->process->is_dying))
		return refuse(STATUS_PROCESS_IS_TERMINATING, RULE_API_PROCESS_ENDING, NULL,
			      "the process ends");
	if (body->is_abandoned) {
		*fence_value_out = 0;
		return STATUS_ABANDONED;
	}
	if (!body->owner && body->key == key)
		return take_locked(mutex, buffer, fence_value_out);
	return STATUS_PENDING;
}

NTSTATUS keyed_mutex_acquire(struct dxg_keyed_mutex *mutex, uint64_t key, uint64_t deadline_ns,
			     const struct keyed_mutex_data *buffer, uint64_t *fence_value_out)
{
	struct keyed_mutex_body *body = mutex->body;
	struct process_rest rest = { .objects = { &mutex->object } };
	bool has_timed_out = deadline_ns == 0;

	for (;;) {
		/* Before looking: a process that ends gives notice without taking the lock. */
		uint32_t seen = notice_read(&body->changed);
		lock_acquire(&body->lock);
		NTSTATUS status = try_acquire_locked(mutex, key, buffer, fence_value_out);
		lock_release(&body->lock);
		if (status != STATUS_PENDING)
			return status;
		if (has_timed_out) {
			*fence_value_out = 0;
			return STATUS_TIMEOUT;
		}
		process_rest_begin(mutex->process, &rest);
		has_timed_out = notice_wait(&body->changed, seen, deadline_ns) == THREAD_TIMED_OUT;
		process_rest_end(mutex->process, &rest);
	}
}

static NTSTATUS release_locked(struct dxg_keyed_mutex *mutex, uint64_t key, uint64_t fence_value,
			       const struct keyed_mutex_data *new_data, void **data)
{
	struct keyed_mutex_body *body = mutex->body;

	lock_assert_held(&body->lock);
	if (body->is_abandoned)
		return STATUS_ABANDONED;
	if (body->owner != mutex)
		return invalid(RULE_API_MUTEX_OWNER, "hKeyedMutex",
			       "0x%08x does not hold the mutex: %s", mutex->object.handle,
			       body->owner ? "another handle does" : "it is free");
	NTSTATUS status = check_data_size_locked(body, new_data);
	if (!NT_SUCCESS(status))
		return status;
	if (*data) {
		void *old = body->private_data;
		body->private_data = *data;
		body->private_bytes = new_data->bytes;
		*data = old;
	}
	body->owner = NULL;
	body->key = key;
	body->fence_value = fence_value;
	trace_keyed_mutex_release(mutex->process->id, mutex->object.handle, key, fence_value);
	return STATUS_SUCCESS;
}

NTSTATUS keyed_mutex_release(struct dxg_keyed_mutex *mutex, uint64_t key, uint64_t fence_value,
			     const struct keyed_mutex_data *new_data)
{
	struct keyed_mutex_body *body = mutex->body;
	void *data;
	NTSTATUS status = copy_data(mutex->process, new_data, &data);

	if (!NT_SUCCESS(status))
		return status;
	lock_acquire(&body->lock);
	status = release_locked(mutex, key, fence_value, new_data, &data);
	lock_release(&body->lock);
	if (status == STATUS_SUCCESS)
		notice_give(&body->changed);
	kept_bytes_free(data);
	return status;
}
