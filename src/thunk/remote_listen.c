/* SPDX-License-Identifier: MIT */
/*
 * remote_listen.c - callbacks: trims and budgets of D3DKMT, and what DXCore listens to.
 *
 *	server ──TELL──▶ the connection's thread ──▶ the callbacks' thread ──▶ the program
 *	       ◀──TOLD────────────────────────────────────┘
 *
 * A thread of its own calls the program, one callback at a time, because a callback may make calls whose
 * replies need the connection's thread. The server sends the next one when this one was told, so at most
 * one of each process object is under way.
 *
 * Locks: listen.lock; the program is called without it.
 */
#include <stdlib.h>

#include <dxg/d3dkmthk.h>

#include "base/refusal.h"
#include "thunk/remote.h"

struct due {
	struct list link; /* listen.due */
	struct wire_message message;
	bool is_ours; /* the server did not send it, and does not wait for it */
};

struct listening {
	struct list link; /* listen.listening */
	struct dxgk_embed_listener *listener;
	uint32_t count; /* of adapters: it is released so often */
	bool is_over;   /* released when its callback has come back */
};

static struct {
	struct lock lock; /* LOCK_RANK_SESSION */
	struct notice changed;
	bool has_thread;
	struct list due;
	struct list listening;
	struct listening *running;
} listen = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_SESSION, "callbacks of the server"),
	.due = { &listen.due, &listen.due },
	.listening = { &listen.listening, &listen.listening },
};

static _Thread_local bool is_in_callback;

bool remote_is_in_callback(void)
{
	return is_in_callback;
}

/* ---- the thread ---- */

static void listening_end(struct listening *listening)
{
	struct dxgk_embed_listener *listener = listening->listener;
	uint32_t count = listening->count;

	free(listening);
	while (count-- > 0)
		listener->release(listener);
}

static struct listening *find_locked(const struct dxgk_embed_listener *listener)
{
	lock_assert_held(&listen.lock);
	list_each (struct listening, listening, &listen.listening, link) {
		if (listening->listener == listener)
			return listening;
	}
	return NULL;
}

static void tell_listener(struct dxgk_embed_listener *listener)
{
	lock_acquire(&listen.lock);
	struct listening *listening = find_locked(listener);
	listen.running = listening;
	lock_release(&listen.lock);
	if (!listening)
		return;
	listener->tell(listener);
	lock_acquire(&listen.lock);
	listen.running = NULL;
	bool is_over = listening->is_over;
	lock_release(&listen.lock);
	notice_give(&listen.changed);
	if (is_over)
		listening_end(listening);
}

static void call_program(const struct wire_message *message)
{
	void *context = (void *)(uintptr_t)message->tell.context;
	uintptr_t callback = (uintptr_t)message->tell.callback;

	if (message->tell.news == WIRE_NEWS_TRIM) {
		D3DKMT_TRIMNOTIFICATION told = {
			.Context = context,
			.Flags = { .Value = message->tell.flags },
			.NumBytesToTrim = message->tell.bytes,
		};
		((PFND3DKMT_TRIMNOTIFICATIONCALLBACK)callback)(&told);
	} else if (message->tell.news == WIRE_NEWS_BUDGET) {
		D3DKMT_BUDGETCHANGENOTIFICATION told = { .Context = context,
							 .Budget = message->tell.bytes };
		((PFND3DKMT_BUDGETCHANGENOTIFICATIONCALLBACK)callback)(&told);
	} else {
		tell_listener(context);
	}
}

static struct due *next_due(void)
{
	lock_acquire(&listen.lock);
	while (list_is_empty(&listen.due))
		notice_wait_relock(&listen.changed, &listen.lock);
	struct list *link = list_pop_front(&listen.due);
	lock_release(&listen.lock);
	return container_of(link, struct due, link);
}

/* The server sends the next one when it hears that this one is over. */
static void say_over(const struct wire_message *message)
{
	const struct wire_message told = { .kind = WIRE_TOLD, .number = message->number };

	(void)!remote_send(&told, -1);
}

static void due_end(struct due *due)
{
	if (!due->is_ours)
		say_over(&due->message);
	free(due);
}

static void run(void *unused)
{
	(void)unused;
	is_in_callback = true;
	for (;;) {
		struct due *due = next_due();

		call_program(&due->message);
		due_end(due);
	}
}

/* False: there is no memory for it, and nobody is told. */
static bool add_due_locked(const struct wire_message *message, bool is_ours)
{
	struct due *due = malloc(sizeof(*due));

	lock_assert_held(&listen.lock);
	if (!due)
		return false;
	*due = (struct due){ .message = *message, .is_ours = is_ours };
	list_push_back(&listen.due, &due->link);
	return true;
}

/* There is no thread to make callbacks: those that are due are over. The next one tries again. */
static void give_up_due(void)
{
	struct list given_up;

	list_init(&given_up);
	lock_acquire(&listen.lock);
	list_splice_back(&given_up, &listen.due);
	listen.has_thread = false;
	lock_release(&listen.lock);
	list_drain (struct due, due, &given_up, link)
		due_end(due);
}

/* Made when the first callback is due. */
static void wake_thread(void)
{
	struct thread *thread;

	lock_acquire(&listen.lock);
	bool needs_thread = !listen.has_thread && !list_is_empty(&listen.due);
	listen.has_thread |= needs_thread;
	lock_release(&listen.lock);
	if (needs_thread) {
		if (NT_SUCCESS(thread_create("callbacks", run, NULL, &thread)))
			thread_detach(thread);
		else
			give_up_due();
	}
	notice_give(&listen.changed);
}

void remote_tell(const struct wire_message *message)
{
	lock_acquire(&listen.lock);
	bool is_due = add_due_locked(message, false);
	lock_release(&listen.lock);
	if (!is_due)
		say_over(message);
	wake_thread();
}

/* ---- listening ---- */

NTSTATUS remote_listen(struct dxgk_embed_listener *listener, const uint64_t *luids, uint32_t count)
{
	struct listening *listening = malloc(sizeof(*listening));
	struct wire_listen wish = {
		.listener = (uintptr_t)listener,
		.news = listener->news,
		.count = count,
	};

	if (!listening || count > WIRE_LISTEN_MOST) {
		free(listening);
		return STATUS_NO_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		wish.luids[i] = luids[i];
	*listening = (struct listening){ .listener = listener, .count = count };
	/* Before it can be told, which may be before the server has answered. */
	lock_acquire(&listen.lock);
	list_push_back(&listen.listening, &listening->link);
	lock_release(&listen.lock);
	NTSTATUS status =
		remote_serve(WIRE_LISTEN, "RegisterEventNotification", &wish, sizeof(wish));
	if (!NT_SUCCESS(status)) {
		lock_acquire(&listen.lock);
		list_remove(&listening->link);
		lock_release(&listen.lock);
		free(listening);
	}
	return status;
}

/* Its callback runs: it is released afterwards. */
static bool leave_to_callback_locked(struct listening *listening)
{
	lock_assert_held(&listen.lock);
	listening->is_over = listen.running == listening;
	return listening->is_over;
}

void remote_unlisten(struct dxgk_embed_listener *listener)
{
	const struct wire_listen wish = { .listener = (uintptr_t)listener };

	(void)!remote_serve(WIRE_UNLISTEN, "UnregisterEventNotification", &wish, sizeof(wish));
	lock_acquire(&listen.lock);
	struct listening *listening = find_locked(listener);
	if (listening)
		list_remove(&listening->link);
	/* The server waits for a callback that it knows of; of the loss of the server it does not. */
	while (listening && listen.running == listening && !is_in_callback)
		notice_wait_relock(&listen.changed, &listen.lock);
	bool is_left = listening && leave_to_callback_locked(listening);
	lock_release(&listen.lock);
	if (listening && !is_left)
		listening_end(listening);
}

/* With the server its adapters are lost, which some want to hear; they unregister themselves. */
static void tell_loss(void)
{
	lock_acquire(&listen.lock);
	list_each (const struct listening, listening, &listen.listening, link) {
		const struct wire_message message = {
			.kind = WIRE_TELL,
			.tell = { .news = WIRE_NEWS_ADAPTER,
				  .context = (uintptr_t)listening->listener },
		};

		if (listening->listener->news == DXGK_EMBED_LOSS)
			(void)add_due_locked(&message, true);
	}
	lock_release(&listen.lock);
	wake_thread();
}

void remote_listeners_end(bool is_lost)
{
	if (is_lost) {
		tell_loss();
		return;
	}
	for (;;) {
		lock_acquire(&listen.lock);
		struct list *link = list_pop_front(&listen.listening);
		struct listening *listening =
			link ? container_of(link, struct listening, link) : NULL;
		bool is_left = listening && leave_to_callback_locked(listening);
		lock_release(&listen.lock);
		if (!listening)
			return;
		if (!is_left)
			listening_end(listening);
	}
}
