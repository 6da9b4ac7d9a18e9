/* SPDX-License-Identifier: MIT */
/*
 * channel_fuzz.c - bytes in the room of a channel, and what a server does with them.
 *
 *   in:   requests, each: what is asked for, flags, how long it says it is, how many bytes follow, those bytes
 *   out:  nothing, or the end of the program: a sanitizer's report, books that are wrong, or a server that does
 *         not answer any more
 *
 * The server is a thread of this program, so that what an input reaches is seen. A session lasts until it is sent
 * away or does not get an answer: calls may wait, as some do for ever.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <opendxgk/testing.h>

#include "server/serve.h"
#include "wire/channel.h"
#include "wire/request.h"
#include "wire/server_link.h"

enum { PATIENCE_MS = 50, VALIDATED_EVERY = 500 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static char folder[] = "/tmp/dxgk-fuzz-XXXXXX";
static char path[64];
static char ready_path[64];

static struct {
	int socket; /* -1: none */
	struct channel channel;
} session = { .socket = -1 };

static void expect(bool is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "channel_fuzz: %s\n", what);
	abort();
}

/* ---- the server ---- */

static void *serve(void *unused)
{
	const struct dxgk_serve_options options = { .version = DXGK_SERVE_VERSION,
						    .idle_exit_ns = -1,
						    .socket_path = path };

	(void)unused;
	expect(dxgk_serve(&options) == 0, "the server does not start");
	return NULL;
}

static void clean_up(void)
{
	char lock[80];

	snprintf(lock, sizeof(lock), "%s.lock", path);
	unlink(lock);
	unlink(path);
	unlink(ready_path);
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char said[64] = "";
	pthread_t thread;

	(void)argc;
	(void)argv;
	expect(mkdtemp(folder) != NULL, "there is no folder");
	snprintf(path, sizeof(path), "%s/dxgk.sock", folder);
	snprintf(ready_path, sizeof(ready_path), "%s/ready", folder);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", ready_path);
	int ready = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	expect(bind(ready, (struct sockaddr *)&address, sizeof(address)) == 0, "no socket");
	setenv("NOTIFY_SOCKET", ready_path, 1);
	setenv("DXGK_SOCKET", path, 1);
	setenv("DXGK_TESTING", "1", 1);
	expect(pthread_create(&thread, NULL, serve, NULL) == 0, "no thread");
	while (!strstr(said, "READY=1"))
		expect(recv(ready, said, sizeof(said) - 1, 0) > 0, "no word of the server");
	close(ready);
	atexit(clean_up);
	return 0;
}

/* ---- a session ---- */

static void hang_up(void)
{
	if (session.socket >= 0)
		close(session.socket);
	channel_close(&session.channel);
	session.socket = -1;
}

static void connect_anew(void)
{
	struct wire_message message = { .hello = { .purpose = WIRE_CLIENT,
						   .arena_address = UINT64_C(1) << 44,
						   .arena_bytes = UINT64_C(1) << 36,
						   .name = "fuzz" } };
	struct wire_message answer;
	int descriptor = -1;

	session.socket = server_link_open(path, &message, &answer);
	expect(session.socket >= 0, "the server does not take a client any more");
	message = (struct wire_message){ .kind = WIRE_OPEN_CHANNEL, .number = 1 };
	expect(wire_send(session.socket, &message, -1, true) == WIRE_DONE,
	       "no channel is asked for");
	expect(wire_receive(session.socket, &answer, &descriptor, true) == WIRE_DONE &&
		       answer.kind == WIRE_CHANNEL && descriptor >= 0,
	       "there is no channel");
	expect(channel_open(&session.channel, descriptor), "the channel cannot be mapped");
	close(descriptor);
}

/* What came by message is nothing to us. */
static bool is_sent_away(void)
{
	struct wire_message message;
	enum wire_result result;
	int descriptor;

	while ((result = wire_receive(session.socket, &message, &descriptor, false)) == WIRE_DONE) {
		if (descriptor >= 0)
			close(descriptor);
	}
	return result == WIRE_BROKEN;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* False: there will be no answer. */
static bool await_answer(void)
{
	uint64_t end_ms = now_ms() + PATIENCE_MS;

	for (unsigned i = 1;; i++) {
		if (atomic_load(&session.channel.memory->reply.number) == session.channel.number)
			return true;
		if (i % 64 == 0 && (is_sent_away() || now_ms() > end_ms))
			return false;
		if (i % 256 == 0)
			usleep(20);
	}
}

/* ---- an input ---- */

struct head {
	uint8_t what; /* from 240 on: services, and what there is not */
	uint8_t flags;
	uint16_t says_bytes; /* 0xffff: as many as there are */
	uint16_t bytes;
};

static size_t ask(const uint8_t *data, size_t size)
{
	struct head head;
	struct wire_request request;
	unsigned char *storage = session.channel.memory->request.buffer;

	memcpy(&head, data, sizeof(head));
	size_t bytes = size - sizeof(head) < head.bytes ? size - sizeof(head) : head.bytes;
	request = (struct wire_request){
		.call = head.what < 240 ? head.what % CALL_COUNT
					: WIRE_NOTHING + (head.what - 240u),
		.flags = head.flags & 0x80 ? head.flags : 0,
		.size_bytes = head.says_bytes == 0xffff ? bytes : head.says_bytes,
	};
	memset(storage, 0, 4096);
	memcpy(storage, data + sizeof(head), bytes);
	/* What a block begins with is said often enough to come to the rest. */
	if ((head.flags & 1) && bytes >= 2 * sizeof(uint32_t))
		memcpy(storage, (uint32_t[]){ request.call, 1 }, 2 * sizeof(uint32_t));
	wire_request_say(&session.channel, &request);
	channel_ask(&session.channel);
	return sizeof(head) + bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned count;
	char problem[256] = "";

	while (size >= sizeof(struct head)) {
		if (session.socket < 0)
			connect_anew();
		size_t used = ask(data, size);
		data += used;
		size -= used;
		if (!await_answer() || is_sent_away())
			hang_up();
	}
	if (++count % VALIDATED_EVERY == 0) {
		hang_up();
		expect(dxgk_test_validate(problem, sizeof(problem)), problem);
	}
	return 0;
}
