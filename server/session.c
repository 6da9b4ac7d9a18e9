/* SPDX-License-Identifier: MIT */
/*
 * session.c - one client, from its connection to the end of what it made.
 *
 *	connected ──HELLO──▶ open ──hang-up, death, a message that is none──▶ over ──▶ freed
 *
 * The loop reads its messages. Its end has to wait for calls that are under way and for the driver,
 * so it is a thread of its own; what others still have of the session (an event that is set, a callback
 * that runs) keeps the struct.
 *
 * Locks: session->lock and session->send_lock, never together, and nothing but memory is asked for
 * under them.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "server/server.h"
#include "wire/call.h"
#include "wire/travel.h"

void session_get(struct session *session)
{
	refcount_get(&session->refs);
}

/* May be called under locks of the kernel: it only frees. */
void session_put(struct session *session)
{
	if (!refcount_put(&session->refs))
		return;
	session_close_descriptors(session);
	if (session->has_session_quota)
		quota_give(session->ledger, QUOTA_SESSIONS, 1);
	quota_put(session->ledger);
	close(session->socket);
	if (session->process_file >= 0)
		close(session->process_file);
	if (session->owes && session->owed_descriptor >= 0)
		close(session->owed_descriptor);
	mem_free(session->events);
	mem_free(session->files);
	lock_finish(&session->lock);
	lock_finish(&session->send_lock);
	mem_free(session);
}

/* ---- who it is ---- */

static bool is_in_group(int socket, gid_t own, gid_t group)
{
	gid_t groups[256];
	socklen_t size = sizeof(groups);

	if (own == group)
		return true;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0)
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++) {
		if (groups[i] == group)
			return true;
	}
	return false;
}

static bool learn_who(struct session *session)
{
	const struct server *server = session->server;
	struct ucred who;
	socklen_t size = sizeof(who);

	if (getsockopt(session->socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
		return false;
	session->user = who.uid;
	session->is_controller =
		who.uid == 0 || who.uid == geteuid() ||
		(server->has_group && is_in_group(session->socket, who.gid, server->group));
	session->identity.pid = (uint32_t)who.pid;
	session->identity.user = who.uid;
	session->identity.is_controller = session->is_controller;
	session->process_file = (int)syscall(SYS_pidfd_open, who.pid, 0);
	return true;
}

/* What a client calls itself is for people to read, and no more. */
static void take_name(struct session *session, const char *name, size_t most)
{
	size_t length = 0;

	for (; length < most && length + 1 < sizeof(session->identity.name) && name[length];
	     length++)
		session->identity.name[length] =
			(char)(isprint((unsigned char)name[length]) ? name[length] : '?');
	session->identity.name[length] = '\0';
}

bool session_may_control(const struct session *session)
{
	return session->is_controller;
}

/* ---- beginning ---- */

static bool watch(struct session *session)
{
	struct epoll_event wish = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = session,
	};
	/* The loop tells them apart by the lowest bit. */
	struct epoll_event death = { .events = EPOLLIN,
				     .data.u64 = (uint64_t)(uintptr_t)session | 1 };

	if (epoll_ctl(session->server->poll_file, EPOLL_CTL_ADD, session->socket, &wish) != 0)
		return false;
	return session->process_file < 0 || epoll_ctl(session->server->poll_file, EPOLL_CTL_ADD,
						      session->process_file, &death) == 0;
}

void session_turn_away(int socket, NTSTATUS status, enum rule rule, const char *reason)
{
	struct wire_message message = { .kind = WIRE_WELCOME, .welcome = { .status = status } };

	snprintf(message.welcome.rule, sizeof(message.welcome.rule), "%s", rule_id(rule));
	snprintf(message.welcome.reason, sizeof(message.welcome.reason), "%s", reason);
	(void)!wire_send(socket, &message, -1, false);
}

void session_tell_refusal(struct wire_message *message, NTSTATUS status)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	message->welcome.status = status;
	if (!refusal_last(&why))
		return;
	snprintf(message->welcome.rule, sizeof(message->welcome.rule), "%s", why.rule);
	snprintf(message->welcome.reason, sizeof(message->welcome.reason), "%s", why.reason);
}

/* One more of its user's. False: it was told that there are too many. */
static bool take_quota(struct session *session)
{
	struct wire_message message = { .kind = WIRE_WELCOME };
	struct refusal_scope scope;

	refusal_begin(&scope, "dxgkd");
	NTSTATUS status = quota_join(&session->server->kernel.quotas, session->identity.pid,
				     session->user, &session->ledger);
	if (!NT_SUCCESS(status))
		status = refuse_no_memory("the server has no memory for another client");
	else if (session->server->session_count >= SERVER_SESSIONS_MOST)
		status = refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_SYS_QUOTA, NULL,
				"the server has %d clients, and takes no more",
				SERVER_SESSIONS_MOST);
	else
		status = quota_take(session->ledger, QUOTA_SESSIONS, 1);
	session->has_session_quota = NT_SUCCESS(status);
	refusal_end_call(&scope, status);
	if (NT_SUCCESS(status))
		return true;
	session_tell_refusal(&message, status);
	(void)!wire_send(session->socket, &message, -1, false);
	return false;
}

void session_begin(struct server *server, int socket)
{
	struct session *session = mem_zalloc(sizeof(*session));

	if (!session) {
		session_turn_away(socket, STATUS_NO_MEMORY, RULE_API_NO_MEMORY,
				  "the server has no memory for another client");
		close(socket);
		return;
	}
	refcount_init(&session->refs);
	session->port.services = &session_port_services;
	session->server = server;
	session->socket = socket;
	session->process_file = -1;
	lock_init(&session->lock, LOCK_RANK_SESSION, "session");
	lock_init(&session->send_lock, LOCK_RANK_SESSION, "session's messages");
	list_init(&session->workers);
	list_init(&session->arrived);
	session_spare_init(session);
	list_init(&session->unsaid_events);
	session->identity.port = &session->port;
	if (!learn_who(session) || !take_quota(session) || !watch(session)) {
		session_put(session);
		return;
	}
	lock_acquire(&server->lock);
	list_push_back(&server->sessions, &session->link);
	server->session_count++;
	server->last_number += 1 + (server->last_number == UINT32_MAX);
	session->number = server->last_number;
	lock_release(&server->lock);
}

/* ---- messages ---- */

static void session_end(struct session *session, const char *why);
static void session_dismiss(struct session *session, const char *why);

/*
 * A program that closed the socket of its connection may have a thread asleep on it, and then we do not
 * hear of that. It says so when it comes again.
 */
static void end_replaced(const struct session *by, uint32_t number)
{
	list_each_safe (struct session, session, &by->server->sessions, link) {
		if (session != by && session->number == number &&
		    session->identity.pid == by->identity.pid && session->user == by->user)
			session_end(session, NULL);
	}
}

static const char *wrong_with(const struct wire_message *hello)
{
	if (hello->hello.magic != WIRE_MAGIC)
		return "this is no client of dxgkd";
	if (hello->hello.version != WIRE_VERSION || hello->hello.call_count != CALL_COUNT ||
	    hello->hello.hash != travel_hash())
		return "the server and libdxcore.so were built differently: end one of them and "
		       "start the version of the other";
	return NULL;
}

static void greet(struct session *session, const struct wire_message *hello)
{
	const struct wire_message welcome = { .kind = WIRE_WELCOME,
					      .welcome.session = session->number };
	const char *wrong = wrong_with(hello);

	session->is_greeted = true;
	take_name(session, hello->hello.name, sizeof(hello->hello.name));
	if (wrong) {
		session_turn_away(session->socket, STATUS_REVISION_MISMATCH, RULE_SYS_SERVER,
				  wrong);
		session_end(session, NULL);
		return;
	}
	if (hello->hello.replaces != 0)
		end_replaced(session, hello->hello.replaces);
	session->arena_address = hello->hello.arena_address;
	session->arena_bytes = hello->hello.arena_bytes;
	if (wire_send(session->socket, &welcome, -1, false) != WIRE_DONE ||
	    (hello->hello.purpose == WIRE_CONTROL && !control_session_begin(session)))
		session_end(session, NULL);
}

/* False: there is no room for it yet. To a client that is gone all is said. */
static bool say_owed(struct session *session)
{
	if (!session->owes)
		return true;
	if (wire_send(session->socket, &session->owed, session->owed_descriptor, false) ==
	    WIRE_WOULD_WAIT)
		return false;
	if (session->owed_descriptor >= 0)
		close(session->owed_descriptor);
	session->owes = false;
	session->server->owing_count--;
	return true;
}

void session_answer(struct session *session, const struct wire_message *message, int descriptor)
{
	assert(!session->owes);
	session->owed = *message;
	session->owed_descriptor = descriptor;
	session->owes = true;
	session->server->owing_count++;
	(void)say_owed(session);
}

static void note_told(struct session *session, uint32_t number)
{
	lock_acquire(&session->lock);
	session->last_told = number;
	lock_release(&session->lock);
	notice_give(&session->changed);
}

/* One that a client sends. False: it is none, and why. */
static bool take_message(struct session *session, const struct wire_message *message,
			 int descriptor, bool is_crowded, const char **why_out)
{
	if (!session->is_greeted) {
		*why_out = "its first message was no greeting";
		if (descriptor >= 0)
			close(descriptor);
		if (message->kind != WIRE_HELLO)
			return false;
		greet(session, message);
		return true;
	}
	if (message->kind == WIRE_DESCRIPTOR && (descriptor >= 0 || is_crowded)) {
		*why_out = "it sent more descriptors than a call can name";
		return session_descriptor_came(session, message, descriptor);
	}
	if (descriptor >= 0)
		close(descriptor);
	*why_out = "it sent a message that none of its kind sends";
	if (descriptor < 0 && message->kind == WIRE_OPEN_CHANNEL) {
		channel_worker_begin(session, message->number);
		return true;
	}
	if (descriptor < 0 && message->kind == WIRE_TOLD) {
		note_told(session, message->number);
		return true;
	}
	return false;
}

void session_take(struct session *session, uint32_t events)
{
	struct wire_message message;
	enum wire_result result = WIRE_WOULD_WAIT;
	const char *why = NULL;
	int descriptor;

	if (events & EPOLLOUT)
		session_say_events(session);
	session_get(session);
	while (!atomic_load(&session->is_over) && !session->is_control && say_owed(session) &&
	       (result = wire_receive(session->socket, &message, &descriptor, false)) <=
		       WIRE_CROWDED) {
		if (!take_message(session, &message, descriptor, result == WIRE_CROWDED, &why) &&
		    !atomic_load(&session->is_over))
			session_dismiss(session, why);
	}
	if (!atomic_load(&session->is_over) &&
	    (result == WIRE_BROKEN || (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR))))
		session_end(session, NULL);
	session_put(session);
}

void session_process_ended(struct session *session)
{
	if (!atomic_load(&session->is_over))
		session_end(session, NULL);
}

/* ---- its process object ---- */

static NTSTATUS make_guest(struct session *session, struct guest **guest_out)
{
	const struct process_arena arena = { session->arena_address, session->arena_bytes };
	NTSTATUS status =
		guest_create(&session->server->kernel, &session->identity, &arena, guest_out);

	if (NT_SUCCESS(status))
		guest_continue(*guest_out, session->handles_drawn);
	return status;
}

/* Waits while another thread makes it. NULL, and *is_over_out is false: the caller is to. */
static struct guest *find_guest(struct session *session, bool *is_over_out)
{
	lock_acquire(&session->lock);
	while (session->is_making_guest)
		notice_wait_relock(&session->changed, &session->lock);
	struct guest *guest = atomic_load(&session->guest);
	*is_over_out = atomic_load(&session->is_over);
	if (guest)
		guest_get(guest);
	else
		session->is_making_guest = !*is_over_out;
	lock_release(&session->lock);
	return guest;
}

NTSTATUS session_guest(struct session *session, struct guest **guest_out)
{
	bool is_over;
	struct guest *guest = find_guest(session, &is_over);
	NTSTATUS status = STATUS_SUCCESS;

	if (!guest && is_over)
		return refuse(STATUS_DEVICE_REMOVED, RULE_SYS_ENDED, NULL,
			      "the client has hung up");
	if (!guest) {
		status = make_guest(session, &guest);
		lock_acquire(&session->lock);
		session->is_making_guest = false;
		if (guest)
			guest_get(guest);
		atomic_store(&session->guest, guest);
		lock_release(&session->lock);
		notice_give(&session->changed);
	}
	*guest_out = guest;
	return status;
}

struct guest *session_guest_if_any(struct session *session)
{
	lock_acquire(&session->lock);
	struct guest *guest = atomic_load(&session->guest);
	if (guest)
		guest_get(guest);
	lock_release(&session->lock);
	return guest;
}

void session_close_process(struct session *session)
{
	lock_acquire(&session->lock);
	while (session->is_making_guest)
		notice_wait_relock(&session->changed, &session->lock);
	struct guest *guest = atomic_load(&session->guest);
	/* Who makes the next one waits until this one has ended. */
	session->is_making_guest = guest != NULL;
	atomic_store(&session->guest, NULL);
	lock_release(&session->lock);
	if (!guest)
		return;
	guest_close(guest);
	lock_acquire(&session->lock);
	session->handles_drawn = guest_handles_drawn(guest);
	session->is_making_guest = false;
	lock_release(&session->lock);
	notice_give(&session->changed);
	guest_put(guest);
}

/* ---- the end ---- */

static void run_end(void *context)
{
	struct session *session = context;
	struct server *server = session->server;

	thread_enter_kernel();
	session_close_process(session);
	channel_workers_join(session);
	thread_join(session->control_thread);
	thread_leave_kernel();
	log_topic(LOG_START, "client %s[%u] has gone", session->identity.name,
		  session->identity.pid);
	/* Who comes after it finds all of it given back, whoever still has the struct. */
	if (session->has_session_quota)
		quota_give(session->ledger, QUOTA_SESSIONS, 1);
	session->has_session_quota = false;
	lock_acquire(&server->lock);
	list_remove(&session->link);
	lock_release(&server->lock);
	session_put(session);
	atomic_fetch_sub(&server->ending, 1);
	notice_give(&server->ended);
	newcomers_wake(server);
}

/* Everything of it is destroyed on another thread. `why` is for the log; NULL: it has done nothing wrong. */
static void session_end(struct session *session, const char *why)
{
	struct server *server = session->server;
	struct thread *thread;

	assert(!atomic_load(&session->is_over));
	if (why)
		complain("client %s[%u] is sent away: %s", session->identity.name,
			 session->identity.pid, why);
	epoll_ctl(server->poll_file, EPOLL_CTL_DEL, session->socket, NULL);
	if (session->process_file >= 0)
		epoll_ctl(server->poll_file, EPOLL_CTL_DEL, session->process_file, NULL);
	lock_acquire(&server->lock);
	list_remove(&session->link);
	list_push_back(&server->endings, &session->link);
	session->end_number = ++server->last_end;
	server->session_count--;
	server->owing_count -= session->owes;
	lock_release(&server->lock);
	atomic_store(&session->is_over, true);
	shutdown(session->socket, SHUT_RDWR);
	notice_give(&session->changed);
	channel_workers_wake(session);
	atomic_fetch_add(&server->ending, 1);
	if (NT_SUCCESS(thread_create("session end", run_end, session, &thread)))
		thread_detach(thread);
	else
		run_end(session); /* the others wait a little */
}

void session_say_goodbye(struct session *session, enum rule rule, const char *why)
{
	struct wire_message message = { .kind = WIRE_GOODBYE };

	snprintf(message.welcome.rule, sizeof(message.welcome.rule), "%s", rule_id(rule));
	snprintf(message.welcome.reason, sizeof(message.welcome.reason), "%s", why);
	(void)!wire_send(session->socket, &message, -1, false);
}

/* Ends it after it was told why. */
static void session_dismiss(struct session *session, const char *why)
{
	session_say_goodbye(session, RULE_SYS_SERVER, why);
	session_end(session, why);
}

void session_part(struct session *session, const char *why)
{
	session_say_goodbye(session, RULE_SYS_SERVER, why);
	session_end(session, NULL);
}
