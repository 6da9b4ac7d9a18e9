/* SPDX-License-Identifier: MIT */
/*
 * testing_remote.c - see testing_remote.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/own_fd.h"
#include "embed/testing_remote.h"
#include "wire/server_link.h"

bool testing_is_remote(void)
{
	const char *socket = getenv("DXGK_SOCKET");

	return socket && *socket;
}

static void give_up(const char *why)
{
	fprintf(stderr, "a test's question to the server at %s: %s\n", getenv("DXGK_SOCKET"), why);
	abort();
}

/*
 * One connection for all questions: one that comes and goes takes memory of the server, which is what the
 * questions are about. A child of fork() has its own.
 */
static struct {
	struct lock lock; /* LOCK_RANK_LEAF; held while the server answers */
	struct own_fd socket;
	pid_t owner;
} way = { .lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "questions of a test"), .socket = OWN_FD_NONE };

static int connect_locked(void)
{
	struct wire_message hello = { .hello = { .purpose = WIRE_CONTROL, .name = "test" } };
	struct wire_message welcome;
	int socket;

	lock_assert_held(&way.lock);
	if (way.owner == getpid() && own_fd_is_ours(&way.socket))
		return own_fd_use(&way.socket, "the way of a test to the server");
	socket = server_link_open(getenv("DXGK_SOCKET"), &hello, &welcome);
	if (socket < 0)
		give_up(welcome.welcome.reason);
	if (!own_fd_keep(socket, &way.socket))
		give_up(strerror(errno));
	way.owner = getpid();
	return own_fd_use(&way.socket, "the way of a test to the server");
}

/* The server that was asked before may have ended, and another one be there. */
static void ask_locked(const struct control_request *request, struct control_test *test,
		       struct control_reply *reply)
{
	const struct control_test question = *test;

	lock_assert_held(&way.lock);
	if (server_link_ask(connect_locked(), request, test, reply))
		return;
	own_fd_close(&way.socket);
	*test = question;
	if (!server_link_ask(connect_locked(), request, test, reply))
		give_up(strerror(errno));
}

struct control_test testing_ask(enum control_kind kind, uint64_t luid, uint64_t number,
				const char *text)
{
	struct control_test test = { .number = number };
	struct control_reply reply;
	const struct control_request request = {
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.kind = kind,
		.size_bytes = sizeof(test),
		.luid = luid,
	};

	if (text)
		snprintf(test.text, sizeof(test.text), "%s", text);
	lock_acquire(&way.lock);
	ask_locked(&request, &test, &reply);
	lock_release(&way.lock);
	if (!NT_SUCCESS(reply.status))
		give_up(reply.reason);
	return test;
}
