/* SPDX-License-Identifier: MIT */
/*
 * newcomers.c - who connects while others of his user are on their way out.
 *
 * Who has waited for the end of a program, and starts another one, means that the first has nothing any
 * more. Here its end is a thread's work that goes on for a while, and what it had counts in its user's
 * quotas until then. So who connects waits for those of his user that had hung up by then; not for ever,
 * because a driver may take its time.
 *
 *	connected ──▶ nobody of his user is on the way out? ──▶ session_begin()
 *	                 │ somebody is                              ▲
 *	                 └──▶ newcomers ──they are over, or a second has passed──┘
 *
 * Locks: the server's, for those that are on their way out. The rest is the loop's.
 */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "server/server.h"

#define PATIENCE_NS NS_PER_S

enum { NEWCOMERS_MOST = 256 /* who comes then does not wait */ };

struct newcomer {
	struct list link; /* server.newcomers */
	int socket;
	uid_t user;
	uint64_t last_end; /* of those that he waits for */
	uint64_t deadline_ns;
};

/* The loop finds those that have gone in its next rounds, and this newcomer may be before them. */
static void end_gone(struct server *server, uid_t user)
{
	static struct session *sessions[SERVER_SESSIONS_MOST]; /* the loop's */
	static struct pollfd ends[2 * SERVER_SESSIONS_MOST];
	uint32_t count = 0;

	list_each (struct session, session, &server->sessions, link) {
		if (session->user != user || count == SERVER_SESSIONS_MOST)
			continue;
		ends[(size_t)2 * count] =
			(struct pollfd){ .fd = session->socket, .events = POLLRDHUP };
		ends[(size_t)2 * count + 1] =
			(struct pollfd){ .fd = session->process_file, .events = POLLIN };
		sessions[count++] = session;
	}
	if (count == 0 || poll(ends, (nfds_t)2 * count, 0) <= 0)
		return;
	for (uint32_t i = 0; i < count; i++) {
		if (ends[(size_t)2 * i].revents != 0 || ends[(size_t)2 * i + 1].revents != 0)
			session_process_ended(sessions[i]);
	}
}

static bool is_waited_for(struct server *server, uid_t user, uint64_t last_end)
{
	bool is_found = false;

	lock_acquire(&server->lock);
	list_each (const struct session, session, &server->endings, link)
		is_found |= session->user == user && session->end_number <= last_end;
	lock_release(&server->lock);
	return is_found;
}

/* False: he need not, or cannot. */
static bool has_to_wait(struct server *server, int socket)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
		return false;
	end_gone(server, who.uid);
	if (!is_waited_for(server, who.uid, server->last_end) ||
	    atomic_load(&server->newcomer_count) == NEWCOMERS_MOST)
		return false;
	struct newcomer *newcomer = mem_zalloc(sizeof(*newcomer));
	if (!newcomer)
		return false;
	newcomer->socket = socket;
	newcomer->user = who.uid;
	newcomer->last_end = server->last_end;
	newcomer->deadline_ns = clock_deadline(PATIENCE_NS);
	list_push_back(&server->newcomers, &newcomer->link);
	atomic_fetch_add(&server->newcomer_count, 1);
	return true;
}

void newcomers_let_in(struct server *server, int socket)
{
	if (!has_to_wait(server, socket))
		session_begin(server, socket);
	else
		newcomers_look(server); /* it may have been over before the loop could be woken */
}

static int newcomer_end(struct server *server, struct newcomer *newcomer)
{
	int socket = newcomer->socket;

	list_remove(&newcomer->link);
	atomic_fetch_sub(&server->newcomer_count, 1);
	mem_free(newcomer);
	return socket;
}

void newcomers_look(struct server *server)
{
	list_each_safe (struct newcomer, newcomer, &server->newcomers, link) {
		if (newcomer->deadline_ns <= clock_now_ns() ||
		    !is_waited_for(server, newcomer->user, newcomer->last_end))
			session_begin(server, newcomer_end(server, newcomer));
	}
}

uint64_t newcomers_deadline_ns(const struct server *server)
{
	uint64_t first_ns = CLOCK_FOREVER;

	list_each (const struct newcomer, newcomer, &server->newcomers, link) {
		if (newcomer->deadline_ns < first_ns)
			first_ns = newcomer->deadline_ns;
	}
	return first_ns;
}

void newcomers_wake(struct server *server)
{
	const uint64_t one = 1;

	if (atomic_load(&server->newcomer_count) > 0)
		(void)!write(server->newcomer_file, &one, sizeof(one));
}

void newcomers_turn_away(struct server *server)
{
	list_each_safe (struct newcomer, newcomer, &server->newcomers, link) {
		int socket = newcomer_end(server, newcomer);

		session_turn_away(socket, STATUS_PORT_CONNECTION_REFUSED, RULE_SYS_SERVER,
				  "the server ends");
		close(socket);
	}
}
