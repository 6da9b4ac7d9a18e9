/* SPDX-License-Identifier: MIT */
/*
 * remote.c - calls to the server: a client's struct into a channel, and what came of it back.
 *
 *	into the room, or parts ──▶ ask, wait ──▶ views shown ──▶ results written
 *
 * A thread takes a channel with its first call and gives it back at its end. Calls are no cancellation
 * points, as in the embedded kernel.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/refusal.h"
#include "thunk/remote.h"
#include "wire/call.h"

/* ---- what travels beside the bytes ---- */

static uint64_t send_descriptor(uintptr_t handle)
{
	struct wire_message message = { .kind = WIRE_DESCRIPTOR, .number = remote_next_number() };

	if (handle > INT32_MAX || !remote_send(&message, (int)handle))
		return 0;
	return message.number;
}

static uint64_t send_memory(uintptr_t address, uint64_t size_bytes)
{
	struct wire_message message = { .kind = WIRE_DESCRIPTOR, .number = remote_next_number() };
	int file;

	message.memory.size_bytes = size_bytes;
	file = remote_memory_share(address, &message.memory.size_bytes, &message.memory.offset);
	return file >= 0 && remote_send(&message, file) ? message.number : 0;
}

static uint64_t send_thing(enum travel_thing thing, uintptr_t value, uint64_t size_bytes)
{
	switch (thing) {
	case TRAVEL_EVENT:
		return remote_event_lend(value);
	case TRAVEL_MEMORY:
		return send_memory(value, size_bytes);
	case TRAVEL_NT_HANDLE:
	case TRAVEL_SECTION:
		break;
	}
	return send_descriptor(value);
}

/* It went along already when the request was first written, and turned out to be too long. */
static bool was_sent(struct remote_channel *channel, enum travel_thing thing, uintptr_t value,
		     uint64_t *token_out)
{
	const struct remote_sent *sent = &channel->sent[channel->sent_again];

	if (channel->sent_again == channel->sent_count || sent->thing != thing ||
	    sent->value != value)
		return false;
	channel->sent_again++;
	*token_out = sent->token;
	return true;
}

static uint64_t hook_send(struct travel_hooks *hooks, enum travel_thing thing, uintptr_t value,
			  uint64_t size_bytes)
{
	struct remote_channel *channel = container_of(hooks, struct remote_channel, hooks);
	uint64_t token;

	if (was_sent(channel, thing, value, &token))
		return token;
	if (channel->sent_count == REMOTE_SENT_MOST)
		return 0; /* the call is refused by the rule it has */
	token = send_thing(thing, value, size_bytes);
	channel->lacks_descriptor |= thing == TRAVEL_EVENT && token == 0 && errno == EMFILE;
	channel->sent[channel->sent_count++] = (struct remote_sent){ thing, value, token };
	channel->sent_again = channel->sent_count;
	return token;
}

static int hook_arrive_back(struct travel_hooks *hooks, uint64_t token)
{
	struct remote_channel *channel = container_of(hooks, struct remote_channel, hooks);
	int descriptor = token != 0 ? remote_await_descriptor((uint32_t)token) : -1;

	channel->lacks_descriptor = token != 0 && descriptor < 0 && errno == EMFILE;
	return descriptor;
}

/* ---- the thread's channel ---- */

static _Thread_local struct {
	struct thread_end end;
	bool is_watched;
	struct remote_channel *channel;
} own;

static bool exchange(struct remote_channel *channel, uint32_t call, uint32_t flags,
		     uint64_t size_bytes);

/* One of a connection that is over ends here; one that is not is worth keeping, or the server is told. */
static void own_channel_give(void)
{
	struct remote_channel *channel = own.channel;

	own.channel = NULL;
	if (!channel || atomic_load(&remote.is_forked) || remote_channel_give(channel))
		return;
	if (channel->generation == atomic_load(&remote.generation))
		(void)!exchange(channel, WIRE_CLOSE_CHANNEL, 0, 0);
	remote_channel_free(channel);
}

static void own_end(struct thread_end *end)
{
	(void)end;
	own.is_watched = false;
	own_channel_give();
}

RARE static struct remote_channel *own_channel_take(void)
{
	own_channel_give();
	own.channel = remote_channel_take();
	if (!own.channel)
		return NULL;
	own.channel->hooks.send = hook_send;
	own.channel->hooks.arrive_back = hook_arrive_back;
	if (!own.is_watched) {
		own.end.run = own_end;
		thread_on_end(&own.end);
		own.is_watched = true;
	}
	return own.channel;
}

static struct remote_channel *own_channel(void)
{
	if (LIKELY(own.channel &&
		   own.channel->generation ==
			   atomic_load_explicit(&remote.generation, memory_order_acquire)))
		return own.channel;
	return own_channel_take();
}

/* ---- asking ---- */

static NTSTATUS refuse_lost(void)
{
	char reason[WIRE_TEXT_BYTES];

	bool is_over = atomic_load(&remote.is_over);
	lock_acquire(&remote.lock);
	memcpy(reason, is_over ? remote.reason : remote.no_channel, sizeof(reason));
	bool is_quota = is_over ? remote.reason_is_quota : remote.is_over_quota;
	lock_release(&remote.lock);
	enum rule rule = is_quota ? RULE_SYS_QUOTA : RULE_SYS_SERVER;
	if (!is_over)
		return refuse(STATUS_INSUFFICIENT_RESOURCES, rule, NULL,
			      "there is no channel for this thread: %.200s",
			      reason[0] ? reason : "the program has no memory for it");
	return refuse(STATUS_DEVICE_REMOVED, rule, NULL,
		      "the server has gone%s%.200s; D3DKMTCloseDxCoreDevice begins anew",
		      reason[0] ? ": " : "", reason);
}

/* Takes no lock: whoever held one in the parent is not here to release it. */
static NTSTATUS refuse_child(void)
{
	return refuse(STATUS_NOT_SUPPORTED, RULE_SYS_FORK, NULL,
		      "the connection to the server is the parent's; exec first");
}

static NTSTATUS refuse_descriptor(void)
{
	return refuse(
		STATUS_TOO_MANY_OPENED_FILES, RULE_API_DESCRIPTORS, NULL,
		"no file descriptor for an event or an NT handle: the program has as many as it "
		"may");
}

static bool exchange(struct remote_channel *channel, uint32_t call, uint32_t flags,
		     uint64_t size_bytes)
{
	const struct wire_request request = {
		.call = call,
		.flags = flags | (remote_is_in_callback() ? WIRE_FROM_CALLBACK : 0),
		.size_bytes = size_bytes,
	};

	wire_request_say(&channel->channel, &request);
	channel_ask(&channel->channel);
	bool is_answered = channel_await_answer(&channel->channel, &remote.is_over);
	channel_way_prepare(&channel->channel.memory->request); /* for the next one */
	return is_answered;
}

static unsigned char *request_buffer(struct remote_channel *channel)
{
	return channel->channel.memory->request.buffer;
}

/* A part was not taken: the call is refused for that reason. */
static NTSTATUS refuse_part(struct remote_channel *channel)
{
	struct wire_reply reply;
	struct dxgk_refusal why = { 0 };
	const unsigned char *buffer = channel->channel.memory->reply.buffer;
	size_t head_bytes = wire_reply_read(&reply, buffer);

	if (reply.has_refusal)
		memcpy(&why, buffer + head_bytes, sizeof(why));
	if (strncmp(why.rule, rule_id(RULE_SYS_QUOTA), sizeof(why.rule)) == 0)
		return refuse(reply.status, RULE_SYS_QUOTA, NULL, "%.*s",
			      (int)sizeof(why.reason) - 1, why.reason);
	return refuse_no_memory("the server has no memory for the request");
}

/* A request that is longer than the room. */
static bool put(struct remote_channel *channel, const unsigned char *block, uint64_t size_bytes,
		NTSTATUS *status_out)
{
	struct wire_reply reply = { 0 };

	for (uint64_t done = 0, part; done < size_bytes; done += part) {
		part = size_bytes - done;
		if (part > CHANNEL_BUFFER_BYTES)
			part = CHANNEL_BUFFER_BYTES;
		memcpy(request_buffer(channel), block + done, part);
		if (!exchange(channel, WIRE_PUT, 0, part))
			return false;
		(void)wire_reply_read(&reply, channel->channel.memory->reply.buffer);
		if (!NT_SUCCESS(reply.status)) {
			*status_out = refuse_part(channel);
			return true;
		}
	}
	*status_out = STATUS_SUCCESS;
	return true;
}

/* ---- what came back ---- */

struct answer {
	struct wire_reply head;
	unsigned char *payload;
	unsigned char *taken; /* where it was too long for the room */
};

static bool fetch_rest(struct remote_channel *channel, struct answer *answer)
{
	const unsigned char *buffer = channel->channel.memory->reply.buffer;
	uint64_t done = WIRE_REPLY_BUFFER_BYTES;

	answer->taken = malloc(answer->head.size_bytes);
	if (!answer->taken)
		return false;
	answer->payload = answer->taken;
	memcpy(answer->taken, buffer + sizeof(answer->head), done);
	while (done < answer->head.size_bytes) {
		uint64_t part = answer->head.size_bytes - done;

		if (part > CHANNEL_BUFFER_BYTES)
			part = CHANNEL_BUFFER_BYTES;
		if (!exchange(channel, WIRE_MORE, 0, 0))
			return false;
		memcpy(answer->taken + done, buffer, part);
		done += part;
	}
	return true;
}

static bool answer_read(struct remote_channel *channel, struct answer *answer)
{
	unsigned char *buffer = channel->channel.memory->reply.buffer;

	answer->payload = buffer + wire_reply_read(&answer->head, buffer);
	remote_await_events(answer->head.event_count);
	return answer->head.size_bytes <= WIRE_REPLY_BUFFER_BYTES || fetch_rest(channel, answer);
}

/* The refusal becomes this thread's last one. Returns what stands behind it. */
static unsigned char *answer_refusal(struct answer *answer)
{
	struct dxgk_refusal refusal;

	if (!answer->head.has_refusal)
		return answer->payload;
	memcpy(&refusal, answer->payload, sizeof(refusal));
	refusal_repeat(&refusal);
	return answer->payload + sizeof(refusal);
}

static NTSTATUS finish_call(struct remote_channel *channel, struct answer *answer, uint32_t id,
			    void *arguments)
{
	unsigned char *at = answer_refusal(answer);
	uint64_t left = answer->head.size_bytes - (uint64_t)(at - answer->payload);
	const struct wire_view *views = (const struct wire_view *)(const void *)at;
	uint64_t view_bytes = answer->head.view_count * sizeof(struct wire_view) +
			      answer->head.run_count * sizeof(struct wire_run);

	if (!NT_SUCCESS(answer->head.status) && !answer->head.has_refusal)
		return refuse(answer->head.status, RULE_SYS_SERVER, NULL,
			      "the server has no memory for the reply");
	if (answer->head.view_count > 0) {
		NTSTATUS shown = remote_views_show(
			views, answer->head.view_count,
			(const struct wire_run *)(views + answer->head.view_count));

		if (!NT_SUCCESS(shown))
			return shown == STATUS_DEVICE_REMOVED ? refuse_lost() : shown;
	}
	/* It came to no call: nothing has changed. */
	if (!NT_SUCCESS(answer->head.status) && left == view_bytes)
		return answer->head.status;
	if (travel_reply_apply(id, arguments, at + view_bytes, left - view_bytes, &channel->hooks))
		return answer->head.status;
	if (atomic_load(&remote.is_over))
		return refuse_lost();
	if (channel->lacks_descriptor)
		return refuse_descriptor();
	return refuse(STATUS_INVALID_PARAMETER, RULE_SYS_SERVER, NULL,
		      "another thread has changed the arguments during the call, or a descriptor "
		      "did not arrive");
}

/* What was locked and cannot be seen is not locked. */
static void undo_lock(struct remote_channel *channel, uint32_t id, const void *arguments)
{
	D3DKMT_UNLOCK2 unlock = { 0 };

	if (id != CALL_lock2 && id != CALL_lock)
		return;
	memcpy(&unlock, arguments, sizeof(unlock)); /* device and allocation are the first of all */
	uint64_t size_bytes = travel_request_put(CALL_unlock2, &unlock, request_buffer(channel),
						 CHANNEL_BUFFER_BYTES, &channel->hooks);
	(void)!exchange(channel, CALL_unlock2, 0, size_bytes);
}
_Static_assert(offsetof(D3DKMT_LOCK, hAllocation) == offsetof(D3DKMT_UNLOCK2, hAllocation) &&
		       offsetof(D3DKMT_LOCK2, hAllocation) == offsetof(D3DKMT_UNLOCK2, hAllocation),
	       "what is locked is named as what is unlocked");

/* ---- a call ---- */

static NTSTATUS refuse_changing(void)
{
	return invalid(RULE_SYS_SERVER, NULL,
		       "another thread changes the arguments during the call");
}

/* The server has all of it when it returns true with a success. False: there is none any more. */
static bool put_request(struct remote_channel *channel, uint32_t id, const void *arguments,
			uint64_t size_bytes, NTSTATUS *status_out)
{
	unsigned char *block = malloc(size_bytes);
	bool is_answered = true;

	if (!block) {
		*status_out = refuse_no_memory("no memory for a request of %llu bytes",
					       (unsigned long long)size_bytes);
		return true;
	}
	channel->sent_again = 0;
	if (!travel_request_write(id, arguments, block, size_bytes, &channel->hooks))
		*status_out = refuse_changing();
	else
		is_answered = put(channel, block, size_bytes, status_out);
	free(block);
	return is_answered;
}

static NTSTATUS finish_exchange(struct remote_channel *channel, uint32_t id, void *arguments)
{
	struct answer answer = { .taken = NULL };
	NTSTATUS status;

	if (LIKELY(answer_read(channel, &answer))) {
		status = finish_call(channel, &answer, id, arguments);
		if (NT_SUCCESS(status))
			remote_known_made(id, arguments, answer.head.word);
		if (UNLIKELY(NT_SUCCESS(answer.head.status) && !NT_SUCCESS(status)))
			undo_lock(channel, id, arguments);
	} else {
		status = atomic_load(&remote.is_over)
				 ? refuse_lost()
				 : refuse_no_memory("no memory for the reply of the server");
	}
	free(answer.taken);
	return status;
}

/* What does not fit the room is measured, and goes in parts. */
RARE static NTSTATUS call_in_parts(struct remote_channel *channel, uint32_t id, void *arguments)
{
	uint64_t size_bytes = travel_request_bytes(id, arguments);
	NTSTATUS status = STATUS_SUCCESS;

	if (size_bytes == 0)
		return invalid(
			RULE_API_COUNT, NULL,
			"the arguments are more than the %d MiB that can travel to the server",
			TRAVEL_MAX_BYTES >> 20);
	if (!put_request(channel, id, arguments, size_bytes, &status))
		return refuse_lost();
	if (!NT_SUCCESS(status))
		return status;
	if (!exchange(channel, id, WIRE_WAS_PUT, 0))
		return refuse_lost();
	return finish_exchange(channel, id, arguments);
}

/* All at once, without the head. */
static bool exchange_draft(struct remote_channel *channel, uint64_t size_bytes)
{
	struct travel_head head;

	memcpy(&head, channel->draft, sizeof(head));
	channel_way_write(&channel->channel.memory->request, channel->draft + sizeof(head),
			  size_bytes - sizeof(head));
	return exchange(channel, head.id, WIRE_IS_BARE | head.flags << WIRE_HEAD_SHIFT,
			size_bytes - sizeof(head));
}

/* What is more than a draft is made where it is read. */
RARE static NTSTATUS call_long(struct remote_channel *channel, uint32_t id, void *arguments)
{
	channel->sent_again = 0;
	uint64_t size_bytes = travel_request_put(id, arguments, request_buffer(channel),
						 CHANNEL_BUFFER_BYTES, &channel->hooks);
	if (channel->lacks_descriptor)
		return refuse_descriptor();
	if (size_bytes == 0)
		return call_in_parts(channel, id, arguments);
	if (!exchange(channel, id, 0, size_bytes))
		return refuse_lost();
	return finish_exchange(channel, id, arguments);
}

static NTSTATUS call_server(struct remote_channel *channel, uint32_t id, void *arguments)
{
	channel->sent_count = 0;
	channel->sent_again = 0;
	channel->lacks_descriptor = false;
	uint64_t size_bytes = travel_request_put(id, arguments, channel->draft,
						 sizeof(channel->draft), &channel->hooks);
	if (UNLIKELY(channel->lacks_descriptor))
		return refuse_descriptor();
	if (UNLIKELY(size_bytes == 0))
		return call_long(channel, id, arguments);
	if (UNLIKELY(!exchange_draft(channel, size_bytes)))
		return refuse_lost();
	return finish_exchange(channel, id, arguments);
}

static NTSTATUS remote_call(uint32_t id, void *arguments)
{
	struct remote_channel *channel;
	struct refusal_scope scope;
	NTSTATUS status;

	if (remote_known_answer(id, arguments))
		return STATUS_SUCCESS;
	int before = cancel_hold_off();
	remote_known_end(id, arguments);
	refusal_begin(&scope, call_describe(id)->name);
	if (UNLIKELY(atomic_load_explicit(&remote.is_forked, memory_order_relaxed)))
		status = refuse_child();
	else if (UNLIKELY((channel = own_channel()) == NULL))
		status = refuse_lost();
	else
		status = call_server(channel, id, arguments);
	refusal_end_call(&scope, status);
	cancel_give_back(before);
	return status;
}

NTSTATUS remote_serve(uint32_t service, const char *name, const void *body, uint64_t size_bytes)
{
	struct answer answer = { .taken = NULL };
	struct remote_channel *channel;
	struct refusal_scope scope;
	NTSTATUS status;
	int before = cancel_hold_off();

	refusal_begin(&scope, name);
	if (atomic_load(&remote.is_forked)) {
		status = refuse_child();
	} else if ((channel = own_channel()) == NULL) {
		status = refuse_lost();
	} else {
		memcpy(request_buffer(channel), body, size_bytes);
		if (!exchange(channel, service, 0, size_bytes) || !answer_read(channel, &answer)) {
			status = refuse_lost();
		} else {
			(void)answer_refusal(&answer);
			status = answer.head.status;
		}
		free(answer.taken);
	}
	refusal_end_call(&scope, status);
	cancel_give_back(before);
	return status;
}

/* ---- the connection's beginning and end ---- */

static void remote_forked(void)
{
	if (atomic_load(&remote.generation) != 0)
		atomic_store(&remote.is_forked, true);
}

/* After the loss of the server the next call connects again. */
static void remote_close_process(void)
{
	struct refusal_scope scope;
	int before;

	if (atomic_load(&remote.is_forked))
		return;
	remote_known_forget_all();
	before = cancel_hold_off();
	if (!remote_is_cut_off() && !atomic_load(&remote.is_over)) {
		(void)!remote_serve(WIRE_CLOSE_PROCESS, "D3DKMTCloseDxCoreDevice", "", 0);
		remote_listeners_end(false);
		cancel_give_back(before);
		return;
	}
	remote_listeners_end(false);
	refusal_begin(&scope, "D3DKMTCloseDxCoreDevice");
	NTSTATUS status = remote_open();
	refusal_end_call(&scope, status);
	cancel_give_back(before);
}

const struct dxgk_embed *remote_connect(const char *path, NTSTATUS *status_out)
{
	static const struct dxgk_embed table = {
		.version = DXGK_EMBED_VERSION,
		.call_count = CALL_COUNT,
		.call = remote_call,
		.last_refusal = refusal_last,
		.close_process = remote_close_process,
		.listen = remote_listen,
		.unlisten = remote_unlisten,
	};
	static struct lock connecting = LOCK_INITIALIZER(LOCK_RANK_KERNEL, "connecting");

	if (thread_is_simulated()) {
		*status_out = refuse(STATUS_NOT_SUPPORTED, RULE_SYS_SERVER, "DXGK_SOCKET",
				     "is set, and a simulated run (DXGK_SEED) has no server");
		return NULL;
	}
	lock_acquire(&connecting);
	*status_out = STATUS_SUCCESS;
	if (atomic_load(&remote.generation) == 0) {
		snprintf(remote.path, sizeof(remote.path), "%s", path);
		*status_out = remote_open();
		if (NT_SUCCESS(*status_out))
			thread_on_fork(remote_forked);
	}
	lock_release(&connecting);
	return NT_SUCCESS(*status_out) ? &table : NULL;
}
