/* SPDX-License-Identifier: MIT */
/*
 * bank_watch.c - clients that write where they have nothing.
 *
 * A client has the file of its bank, which is as long as the machine's memory: addresses come to a bank and
 * go, and a file does not grow and shrink under mappings. So it can write pages that are not its bank's,
 * whose content is nobody's and which cost the host memory. What a bank has is known, and what the host
 * has of its file, too; a client for which these are far apart is sent away (SYS-QUOTA), and its file ends with
 * it. Whose fault it is in a file that several have nobody knows: what is too much there is given back.
 *
 * A thread of its own looks once a second, because it has to wait where calls do.
 */
#include <sys/socket.h>

#include "base/clock.h"
#include "base/machine_bank.h"
#include "base/thread.h"
#include "server/server.h"

#define LOOK_EVERY_NS NS_PER_S

/* Pages on their way from and to a bank. */
enum { SLACK_PAGES = 4096 };

static struct {
	struct thread *thread;
	_Atomic uint32_t is_stopping;
} watch;

/* The next one behind `last`, with a reference; NULL: there is none. */
static struct session *next_session(struct server *server, const struct session *last)
{
	struct session *found = NULL;

	lock_acquire(&server->lock);
	list_each (struct session, session, &server->sessions, link) {
		if ((!last || (uintptr_t)session > (uintptr_t)last) &&
		    (!found || (uintptr_t)session < (uintptr_t)found))
			found = session;
	}
	if (found)
		session_get(found);
	lock_release(&server->lock);
	return found;
}

static void look_at(struct session *session)
{
	struct guest *guest = session_guest_if_any(session);

	if (!guest)
		return;
	struct machine_bank_usage usage = guest_bank_usage(guest);
	guest_put(guest);
	if (usage.host_pages <= usage.pages + SLACK_PAGES)
		return;
	complain(
		"client %s[%u] is sent away: it has written %llu pages of its bank, which has %llu",
		session->identity.name, session->identity.pid, (unsigned long long)usage.host_pages,
		(unsigned long long)usage.pages);
	session_say_goodbye(session, RULE_SYS_QUOTA,
			    "it has written to memory of its bank that it has not");
	/* The loop finds it hung up, and ends it. */
	shutdown(session->socket, SHUT_RDWR);
}

static void run(void *context)
{
	struct server *server = context;

	while (!atomic_load(&watch.is_stopping)) {
		struct session *session = NULL;
		struct session *next;

		while ((next = next_session(server, session)) != NULL) {
			if (session)
				session_put(session);
			session = next;
			look_at(session);
		}
		if (session)
			session_put(session);
		machine_banks_scrub(SLACK_PAGES);
		(void)thread_wait(&watch.is_stopping, 0, clock_deadline(LOOK_EVERY_NS));
	}
}

NTSTATUS bank_watch_start(struct server *server)
{
	return thread_create("bank watch", run, server, &watch.thread);
}

void bank_watch_stop(void)
{
	atomic_store(&watch.is_stopping, 1);
	thread_wake_all(&watch.is_stopping);
	thread_join(watch.thread);
	watch.thread = NULL;
}
