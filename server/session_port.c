/* SPDX-License-Identifier: MIT */
/*
 * session_port.c - events and callbacks of a client, as the kernel reaches them (client_port.h).
 *
 * Events are set from anywhere in the kernel, where nobody may wait for a client: what its socket has no
 * room for is counted, and said when the loop finds room. A client that reads nothing costs what its
 * events cost, which are limited.
 */
#include "base/mem.h"
#include "base/refusal.h"
#include "embed/adapter_watch.h"
#include "server/server.h"
#include "wire/request.h"

static struct session *session_of(struct client_port *port)
{
	return container_of(port, struct session, port);
}

static void port_get(struct client_port *port)
{
	session_get(session_of(port));
}

static void port_put(struct client_port *port)
{
	session_put(session_of(port));
}

/* ---- callbacks ---- */

static bool is_told_locked(const struct session *session, uint32_t number)
{
	lock_assert_held(&session->lock);
	return (int32_t)(session->last_told - number) >= 0;
}

static void port_tell(struct client_port *port, const struct client_news *news)
{
	struct session *session = session_of(port);
	struct wire_message message = {
		.kind = WIRE_TELL,
		.number = atomic_fetch_add(&session->last_tell, 1) + 1,
		.tell = { .news = news->kind,
			  .flags = news->flags,
			  .callback = news->callback,
			  .context = news->context,
			  .bytes = news->bytes },
	};

	if (atomic_load(&session->is_over) ||
	    wire_send(session->socket, &message, -1, true) != WIRE_DONE)
		return;
	lock_acquire(&session->lock);
	while (!is_told_locked(session, message.number) && !atomic_load(&session->is_over))
		notice_wait_relock(&session->changed, &session->lock);
	lock_release(&session->lock);
}

/* ---- what DXCore listens to ---- */

static void deliver_there(void (*callback)(void), const struct notification_message *message)
{
	const struct client_news news = { .kind = WIRE_NEWS_ADAPTER,
					  .context = (uintptr_t)message->context };

	message->port->services->tell(message->port, &news);
}

NTSTATUS session_watch(struct dxg_kernel *kernel, struct dxg_process *process,
		       const struct wire_listen *listen)
{
	const struct notification_target target = {
		.deliver = deliver_there,
		.context = (void *)(uintptr_t)listen->listener,
	};

	if (listen->listener == 0 || listen->count > WIRE_LISTEN_MOST)
		return invalid(RULE_API_COUNT, NULL, "there is nobody who listens, or too much");
	return adapter_watch(kernel, process, listen->news, listen->luids, listen->count, &target);
}

NTSTATUS session_unwatch(struct dxg_kernel *kernel, struct dxg_process *process,
			 const struct wire_listen *listen)
{
	return notification_unwatch(process, (const void *)(uintptr_t)listen->listener);
}

/* ---- events ---- */

static bool events_are_there_locked(struct session *session)
{
	lock_assert_held(&session->send_lock);
	if (!session->events)
		session->events = mem_zalloc_array(SESSION_EVENTS_MOST, sizeof(*session->events));
	return session->events != NULL;
}

static uint32_t event_came_locked(struct session *session, uint32_t token)
{
	lock_assert_held(&session->send_lock);
	for (uint32_t i = 0; events_are_there_locked(session) && i < SESSION_EVENTS_MOST; i++) {
		if (session->events[i].state != EVENT_FREE)
			continue;
		session->events[i] = (struct session_event){ .state = EVENT_CAME, .token = token };
		list_init(&session->events[i].link);
		return i + 1;
	}
	return 0;
}

uint32_t session_event_came(struct session *session, uint32_t token)
{
	for (;;) {
		uint32_t seen = notice_read(&session->changed);

		lock_acquire(&session->send_lock);
		uint32_t event = event_came_locked(session, token);
		/* Those that are over and that the client has not heard of will be free. */
		bool is_worth_waiting = !list_is_empty(&session->unsaid_events);
		lock_release(&session->send_lock);
		if (event != 0 || !is_worth_waiting || atomic_load(&session->is_over))
			return event;
		notice_wait(&session->changed, seen, CLOCK_FOREVER);
	}
}

static bool send_event(struct session *session, uint32_t kind, const struct session_event *event)
{
	const struct wire_message message = { .kind = kind,
					      .number = event->token,
					      .count = event->unsaid };

	if (wire_send(session->socket, &message, -1, false) == WIRE_WOULD_WAIT)
		return false;
	atomic_fetch_add(&session->events_said, 1);
	return true;
}

/* True when nothing of it is left to say. To a client that is gone all is said. */
static bool say_locked(struct session *session, struct session_event *event)
{
	lock_assert_held(&session->send_lock);
	if (event->unsaid > 0) {
		if (!send_event(session, WIRE_EVENT, event))
			return false;
		event->unsaid = 0;
	}
	if (event->state == EVENT_CLOSING) {
		if (!send_event(session, WIRE_EVENT_CLOSED, event))
			return false;
		event->state = EVENT_FREE;
	}
	return true;
}

static void say_or_queue_locked(struct session *session, struct session_event *event)
{
	lock_assert_held(&session->send_lock);
	if (list_is_linked(&event->link))
		return;
	/* In order: what was queued before goes first. */
	if (!list_is_empty(&session->unsaid_events) || !say_locked(session, event))
		list_push_back(&session->unsaid_events, &event->link);
}

void session_say_events(struct session *session)
{
	lock_acquire(&session->send_lock);
	bool has_unsaid = !list_is_empty(&session->unsaid_events);
	while (!list_is_empty(&session->unsaid_events)) {
		struct session_event *event =
			container_of(session->unsaid_events.next, struct session_event, link);

		if (!say_locked(session, event))
			break;
		list_remove(&event->link);
	}
	lock_release(&session->send_lock);
	if (has_unsaid)
		notice_give(&session->changed);
}

static void close_locked(struct session *session, struct session_event *event)
{
	lock_assert_held(&session->send_lock);
	event->state = EVENT_CLOSING;
	say_or_queue_locked(session, event);
}

void session_event_leave(struct session *session, uint32_t event, uint32_t token)
{
	lock_acquire(&session->send_lock);
	if (session->events[event - 1].state == EVENT_CAME &&
	    session->events[event - 1].token == token)
		close_locked(session, &session->events[event - 1]);
	lock_release(&session->send_lock);
}

static bool port_take_event(struct client_port *port, uint32_t event)
{
	struct session *session = session_of(port);
	bool is_there = false;

	lock_acquire(&session->send_lock);
	if (session->events && event <= SESSION_EVENTS_MOST) {
		is_there = session->events[event - 1].state == EVENT_CAME;
		if (is_there)
			session->events[event - 1].state = EVENT_TAKEN;
	}
	lock_release(&session->send_lock);
	if (is_there)
		session_get(session);
	return is_there;
}

static void port_set_event(struct client_port *port, uint32_t event)
{
	struct session *session = session_of(port);

	lock_acquire(&session->send_lock);
	session->events[event - 1].unsaid++;
	say_or_queue_locked(session, &session->events[event - 1]);
	lock_release(&session->send_lock);
}

static void port_close_event(struct client_port *port, uint32_t event)
{
	struct session *session = session_of(port);

	lock_acquire(&session->send_lock);
	close_locked(session, &session->events[event - 1]);
	lock_release(&session->send_lock);
	session_put(session);
}

const struct client_port_services session_port_services = {
	.get = port_get,
	.put = port_put,
	.tell = port_tell,
	.take_event = port_take_event,
	.set_event = port_set_event,
	.close_event = port_close_event,
};
