/* SPDX-License-Identifier: MIT */
/*
 * link_test.c - connections to a server whose other end the test plays: replies that are none, hosts that give no
 * channel. Clients that play the first two messages are in tests/unit/thunk.
 */
#include "support/test.h"

#include <sys/socket.h>

#include "base/thread.h"
#include "support/host.h"
#include "wire/channel.h"
#include "wire/server_link.h"

/* ---- requests of who controls ---- */

static struct {
	int socket;
	struct control_reply reply;
	size_t length; /* of what is answered; 0: it hangs up */
} played;

static void answer(void *unused)
{
	char request[sizeof(struct control_request) + CONTROL_MOST_BYTES];

	(void)unused;
	if (recv(played.socket, request, sizeof(request), 0) <= 0)
		abort();
	if (played.length == 0)
		shutdown(played.socket, SHUT_RDWR);
	else if (send(played.socket, &played.reply, played.length, 0) <= 0)
		abort();
}

/* What became of it, with errno. */
static bool ask(struct control_reply *reply)
{
	const struct control_request request = { .magic = CONTROL_MAGIC,
						 .version = CONTROL_VERSION,
						 .kind = CONTROL_STATES };
	struct thread *thread;
	int ends[2];

	EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	played.socket = ends[1];
	EXPECT(NT_SUCCESS(thread_create("control", answer, NULL, &thread)));
	bool is_answered = server_link_ask(ends[0], &request, NULL, reply);
	int problem = errno;
	thread_join(thread);
	close(ends[0]);
	close(ends[1]);
	errno = problem;
	return is_answered;
}

static void expect_none(int problem)
{
	struct control_reply reply;

	EXPECT(!ask(&reply));
	EXPECT_EQ(errno, problem);
}

static void play_right(void)
{
	played.reply = (struct control_reply){ .magic = CONTROL_MAGIC, .version = CONTROL_VERSION };
	memset(played.reply.reason, 'x', sizeof(played.reply.reason));
	played.length = sizeof(played.reply);
}

TEST(control, replies_that_are_none_are_told_from_those_that_are)
{
	struct control_reply reply;

	play_right();
	EXPECT(ask(&reply));
	EXPECT_EQ(strlen(reply.reason),
		  sizeof(reply.reason) - 1); /* it has an end, whatever came */
	played.length--;
	expect_none(EPROTO);
	play_right();
	played.reply.magic++;
	expect_none(EPROTO);
	play_right();
	played.reply.version++;
	expect_none(EPROTO);
	play_right();
	played.reply.size_bytes = 1; /* which does not follow */
	expect_none(EPROTO);
	played.length = 0;
	expect_none(ECONNRESET);
}

TEST(control, that_cannot_be_asked_says_so)
{
	const struct control_request request = { .magic = CONTROL_MAGIC };
	struct control_reply reply;

	EXPECT(!server_link_ask(-1, &request, NULL, &reply));
	EXPECT_EQ(errno, EBADF);
}

/* ---- channels ---- */

TEST(channel, that_the_host_does_not_give_is_none)
{
	static const enum host_thing things[] = { HOST_FILE, HOST_RESIZE, HOST_SEAL };
	struct channel channel = { 0 };

	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
		host_refuse(things[i], 1);
		EXPECT_EQ(channel_file_create(CHANNEL_BYTES), -1);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT(host_may());
	}
	int file = channel_file_create(CHANNEL_BYTES);
	EXPECT(file >= 0);
	host_refuse(HOST_MAP, 1);
	EXPECT(!channel_open(&channel, file));
	EXPECT(host_may());
	channel_close(&channel); /* nothing is open */
	EXPECT(channel_open(&channel, file));
	channel_close(&channel);
	close(file);
}

/* Both sides in one: whoever looks finds what was written. */
static void answer_one(void *argument)
{
	static const _Atomic bool never;
	struct channel *channel = argument;

	if (!channel_await_request(channel, &never))
		abort();
	channel_answer(channel);
}

TEST(channel, carries_calls_where_there_is_one_processor_too)
{
	static const _Atomic bool never;
	int file = channel_file_create(CHANNEL_BYTES);
	struct channel client;
	struct channel server;
	struct thread *thread;

	EXPECT(file >= 0 && channel_open(&client, file) && channel_open(&server, file));
	client.can_look = server.can_look = false; /* nobody looks, everybody sleeps */
	for (int i = 0; i < 100; i++) {
		EXPECT(NT_SUCCESS(thread_create("server", answer_one, &server, &thread)));
		channel_ask(&client);
		EXPECT(channel_await_answer(&client, &never));
		thread_join(thread);
		EXPECT(!client.is_quick);
		EXPECT_EQ(client.misses, 0);
	}
	channel_close(&client);
	channel_close(&server);
	close(file);
}

/* A call after which both sides are as they are between calls of a client that is awake. */
static void call_awake(struct channel *client, struct channel *server)
{
	static const _Atomic bool never;

	channel_ask(client);
	EXPECT(channel_await_request(server, &never));
	channel_answer(server);
	EXPECT(channel_await_answer(client, &never));
}

/* Waits that end unanswered: is_over is true, so nobody sleeps. Returns how many of them looked. */
static unsigned await_in_vain(struct channel *channel, bool is_client, unsigned waits)
{
	static const _Atomic bool is_over = true;
	unsigned looked = 0;

	for (unsigned i = 0; i < waits; i++) {
		looked += channel->sleep_next == 0;
		EXPECT(!(is_client ? channel_await_answer(channel, &is_over)
				   : channel_await_request(channel, &is_over)));
	}
	return looked;
}

TEST(channel, that_is_looked_at_in_vain_is_looked_at_less_and_less_and_never_given_up)
{
	int file = channel_file_create(CHANNEL_BYTES);
	struct channel client;
	struct channel server;

	EXPECT(file >= 0 && channel_open(&client, file) && channel_open(&server, file));
	client.can_look = server.can_look = true;
	call_awake(&client, &server); /* it tells the server with its next request */
	EXPECT(client.is_quick);
	call_awake(&client, &server);
	EXPECT_EQ(await_in_vain(&server, false, 8), 3); /* the first, the third, the seventh */
	(void)await_in_vain(&server, false, 1000);
	EXPECT_EQ(await_in_vain(&server, false, 6400), 100);
	client.number++; /* of a request that is never answered */
	(void)await_in_vain(&client, true, 1000);
	EXPECT_EQ(await_in_vain(&client, true, 6400), 100);
	/* One that helped, and all is as at first. */
	client.number--;
	client.sleep_next = server.sleep_next = 0;
	call_awake(&client, &server);
	EXPECT_EQ(client.misses, 0);
	EXPECT(client.is_quick);
	call_awake(&client, &server);
	EXPECT_EQ(server.misses, 0);
	EXPECT_EQ(await_in_vain(&server, false, 8), 3);
	channel_close(&client);
	channel_close(&server);
	close(file);
}

TEST(channel, of_a_client_that_slept_is_not_looked_at_by_the_server)
{
	int file = channel_file_create(CHANNEL_BYTES);
	struct channel client;
	struct channel server;

	EXPECT(file >= 0 && channel_open(&client, file) && channel_open(&server, file));
	client.can_look = false;
	server.can_look = true;
	call_awake(&client, &server);
	EXPECT(!client.is_quick);
	call_awake(&client, &server);
	(void)await_in_vain(&server, false, 100);
	EXPECT_EQ(server.misses, 0);
	channel_close(&client);
	channel_close(&server);
	close(file);
}

TEST_MAIN("wire/link")
