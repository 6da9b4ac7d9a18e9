/* SPDX-License-Identifier: MIT */
/*
 * link_test.c - connections to a server whose other end the test plays: replies that are none, hosts that give no
 * channel. Clients that play the first two messages are in tests/unit/thunk.
 */
#include "support/test.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/processor.h"
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

/* ---- a server that is silent, and a program with a timer ---- */

enum { SIGNALS = 3 };

static struct {
	unsigned count;
	int timeouts_ms[SIGNALS + 1];
} polls;

#undef poll
int poll(struct pollfd *files, nfds_t count, int timeout_ms);
int host_poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
	(void)!poll(files, count, 20); /* then there is a signal */
	polls.timeouts_ms[polls.count] = timeout_ms;
	if (polls.count++ == SIGNALS)
		return 0;
	errno = EINTR;
	return -1;
}

TEST(server, that_is_silent_is_waited_for_no_longer_because_of_signals)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct wire_message welcome;
	struct wire_message hello = { 0 };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/link-test-%d", (int)getpid());
	EXPECT_EQ(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	EXPECT_EQ(listen(listener, 1), 0);
	EXPECT_EQ(server_link_open(address.sun_path, &hello, &welcome), -1);
	EXPECT_EQ(welcome.welcome.status, STATUS_PORT_CONNECTION_REFUSED);
	EXPECT(strstr(welcome.welcome.reason, "does not answer") != NULL);
	EXPECT_EQ(polls.count, SIGNALS + 1);
	for (unsigned i = 1; i <= SIGNALS; i++)
		EXPECT(polls.timeouts_ms[i] < polls.timeouts_ms[i - 1]);
	close(listener);
	unlink(address.sun_path);
}

/* A directory of the user's has a name from the root on, or is none. */
TEST(server, is_looked_for_where_the_system_has_it_when_the_user_has_no_directory)
{
	static const char *const directories[] = { NULL, "", "run", "/nowhere/at/all" };
	char path[128];

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		if (directories[i])
			setenv("XDG_RUNTIME_DIR", directories[i], 1);
		else
			unsetenv("XDG_RUNTIME_DIR");
		path[0] = '\0';
		(void)server_link_choose("auto", path, sizeof(path));
		EXPECT_STR(path, "/run/dxgk/dxgk.sock");
	}
	EXPECT_EQ(server_link_choose(NULL, path, sizeof(path)), SERVER_NONE);
	EXPECT_EQ(server_link_choose("", path, sizeof(path)), SERVER_NONE);
	EXPECT_EQ(server_link_choose("/x", path, sizeof(path)), SERVER_AT_PATH);
	EXPECT_STR(path, "/x");
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

static const _Atomic bool never;

/* A pair of sides in one process. */
struct sides {
	int file;
	struct channel client;
	struct channel server;
};

static void sides_open(struct sides *sides)
{
	sides->file = channel_file_create(CHANNEL_BYTES);
	EXPECT(sides->file >= 0 && channel_open(&sides->client, sides->file) &&
	       channel_open(&sides->server, sides->file));
	sides->client.can_look = sides->server.can_look = true;
}

static void sides_close(struct sides *sides)
{
	channel_close(&sides->client);
	channel_close(&sides->server);
	close(sides->file);
}

/* As a worker does: it looks, if it may, and then sleeps. */
static bool take_request(struct channel *server, const _Atomic bool *is_over)
{
	return channel_look_for_request(server) ||
	       channel_await_request(server, is_over, CLOCK_FOREVER);
}

static void answer_one(void *argument)
{
	struct channel *channel = argument;

	if (!take_request(channel, &never))
		abort();
	channel_answer(channel, CHANNEL_LOOK);
}

#define SIDES_TEST(suite, claim)                                                                   \
	TEST_ON(sides, sides_open(&sides), sides_close(&sides), suite, claim)

SIDES_TEST(channel, carries_calls_where_there_is_one_processor_too)
{
	struct thread *thread;

	sides->client.can_look = sides->server.can_look =
		false; /* nobody looks, everybody sleeps */
	for (int i = 0; i < 100; i++) {
		EXPECT(NT_SUCCESS(thread_create("server", answer_one, &sides->server, &thread)));
		channel_ask(&sides->client);
		EXPECT(channel_await_answer(&sides->client, &never));
		thread_join(thread);
		EXPECT(sides->client.has_slept);
		EXPECT_EQ(sides->client.misses, 0);
	}
}

/* A call whose answer is there before anybody looks for it. */
static void call_awake(struct sides *sides, enum channel_advice advice)
{
	channel_ask(&sides->client);
	EXPECT(take_request(&sides->server, &never));
	channel_answer(&sides->server, advice);
	EXPECT(channel_await_answer(&sides->client, &never));
}

/* Waits that end unanswered: is_over is true, so nobody sleeps. Returns how many of them looked. */
static unsigned await_in_vain(struct channel *channel, bool is_client, unsigned waits)
{
	static const _Atomic bool is_over = true;
	unsigned looked = 0;

	for (unsigned i = 0; i < waits; i++) {
		looked += channel->may_look && channel->sleep_next == 0;
		EXPECT(!(is_client ? channel_await_answer(channel, &is_over)
				   : take_request(channel, &is_over)));
	}
	return looked;
}

SIDES_TEST(channel, that_is_looked_at_in_vain_is_looked_at_less_and_less_and_never_given_up)
{
	call_awake(sides, CHANNEL_LOOK);
	EXPECT(!sides->client.has_slept);
	EXPECT_EQ(await_in_vain(&sides->server, false, 8),
		  3); /* the first, the third, the seventh */
	(void)await_in_vain(&sides->server, false, 1000);
	EXPECT_EQ(await_in_vain(&sides->server, false, 6400), 100);
	sides->client.number++; /* of a request that is never answered */
	(void)await_in_vain(&sides->client, true, 1000);
	EXPECT_EQ(await_in_vain(&sides->client, true, 6400), 100);
	/* One that helped, and all is as at first. */
	sides->client.number--;
	sides->client.sleep_next = sides->server.sleep_next = 0;
	call_awake(sides, CHANNEL_LOOK);
	EXPECT_EQ(sides->client.misses, 0);
	EXPECT_EQ(sides->server.misses, 0);
	EXPECT_EQ(await_in_vain(&sides->server, false, 8), 3);
}

SIDES_TEST(channel, of_which_the_server_says_that_there_are_no_processors_is_not_looked_at)
{
	call_awake(sides, CHANNEL_SLEEP);
	sides->client.number++;
	EXPECT_EQ(await_in_vain(&sides->server, false, 10), 0);
	EXPECT_EQ(await_in_vain(&sides->client, true, 10), 0);
	EXPECT_EQ(sides->server.misses, 0);
	EXPECT_EQ(sides->client.misses, 0);
	sides->client.number--;
	call_awake(sides, CHANNEL_LOOK); /* now there are */
	sides->client.number++;
	EXPECT_EQ(await_in_vain(&sides->client, true, 8), 3);
	/* What was in vain because there were none does not count. */
	sides->client.number--;
	call_awake(sides, CHANNEL_LOOK_AGAIN);
	EXPECT_EQ(sides->client.misses, 0);
	EXPECT_EQ(sides->client.sleep_next, 0);
}

/* ---- a worker and its client on one processor ---- */

TEST(channel, whose_sides_meet_on_one_processor_has_the_server_go_to_another)
{
	struct sides sides;
	unsigned met = 0;

	SKIP_UNLESS(thread_processors() > 1, "there is one processor");
	sides_open(&sides);
	channel_ask(&sides.client); /* from where we are */
	for (unsigned i = 0; i < 100 && met == 0; i++) {
		atomic_store(&sides.client.memory->request.processor, processor_number());
		uint32_t here = processor_number();
		met += channel_look_where(&sides.server, false) == CHANNEL_PARTING &&
		       channel_part() == CHANNEL_APART && processor_number() != here;
	}
	EXPECT(met > 0); /* it left, or the host moved us right after we looked, a hundred times */
	EXPECT_EQ(thread_processors() > 1, true); /* and may be everywhere again */
	sides_close(&sides);
}

/* Where we are, unless the host moves us right then. */
static enum channel_place look_where_met(struct sides *sides, bool is_turn)
{
	uint32_t here;
	enum channel_place place;

	do {
		here = processor_number();
		atomic_store(&sides->client.memory->request.processor, here);
		place = channel_look_where(&sides->server, is_turn);
	} while (here != processor_number());
	return place;
}

TEST(channel, that_meets_its_client_again_and_again_parts_rarely_but_once_in_each_turn)
{
	struct sides sides;

	sides_open(&sides);
	sides.server.misses = 6;
	sides.server.sleep_next = 63;
	for (unsigned i = 0; i < 10; i++)
		EXPECT_EQ(look_where_met(&sides, false), CHANNEL_TOGETHER);
	EXPECT(sides.server.sleep_next <= 53);
	EXPECT_EQ(look_where_met(&sides, true), CHANNEL_PARTING);
	atomic_store(&sides.client.memory->request.processor, UINT32_MAX);
	EXPECT_EQ(channel_look_where(&sides.server, false), CHANNEL_APART);
	sides_close(&sides);
}

/* ---- both fall asleep at the same instant ---- */

static struct {
	struct sides sides;
	_Atomic uint32_t calls;
} race;

enum { RACE_DELAYS = 400 };

/* Some tens of nanoseconds to some microseconds. */
static void dawdle(uint32_t *chance)
{
	*chance = *chance * 1664525 + 1013904223;
	for (uint32_t i = (*chance >> 16) % RACE_DELAYS; i > 0; i--)
		thread_relax();
}

/* Whether it may look changes all the time: so each way of falling asleep meets each way of waking. */
static void race_serve(void *unused)
{
	uint32_t chance = 7;

	(void)unused;
	for (uint32_t left = atomic_load(&race.calls); left > 0; left--) {
		dawdle(&chance);
		race.sides.server.sleep_next = chance >> 31;
		if (!take_request(&race.sides.server, &never))
			abort();
		dawdle(&chance);
		channel_answer(&race.sides.server, (chance >> 29) % 3);
	}
}

TEST(channel, loses_no_wake_up_when_both_sides_fall_asleep_at_once)
{
	uint32_t calls = IS_SANITIZED ? 3000 : some_of(8000, 400000);
	struct thread *thread;
	uint32_t chance = 1;

	sides_open(&race.sides);
	atomic_store(&race.calls, calls);
	EXPECT(NT_SUCCESS(thread_create("server", race_serve, NULL, &thread)));
	for (uint32_t i = 0; i < calls; i++) {
		dawdle(&chance);
		race.sides.client.sleep_next = chance >> 31;
		memcpy(race.sides.client.memory->request.buffer, &i, sizeof(i));
		channel_ask(&race.sides.client);
		EXPECT(channel_await_answer(&race.sides.client, &never));
	}
	thread_join(thread);
	EXPECT_EQ(race.sides.server.number, race.sides.client.number);
	sides_close(&race.sides);
}

TEST_MAIN("wire/link")
