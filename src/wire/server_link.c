/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/refusal.h"
#include "wire/call.h"
#include "wire/server_link.h"
#include "wire/travel.h"

/* A server lets one in, and welcomes one, at once; on a machine with much to do a little later. */
#define WELCOME_NS (10 * NS_PER_S)

static void explain(struct wire_message *welcome, NTSTATUS status, const char *path,
		    const char *why)
{
	welcome->kind = WIRE_WELCOME;
	welcome->welcome.status = status;
	snprintf(welcome->welcome.rule, sizeof(welcome->welcome.rule), "%s",
		 rule_id(RULE_SYS_SERVER));
	snprintf(welcome->welcome.reason, sizeof(welcome->welcome.reason),
		 "no server is reached at %s: %s", path, why);
}

/* 0: there is none left. Signals of the program interrupt, and do not make it longer. */
static uint64_t left_until(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_now_ns();

	return now_ns < deadline_ns ? deadline_ns - now_ns : 0;
}

/* With being let in; 0: for ever. */
static void be_patient(int file, uint64_t for_ns)
{
	const struct timeval patience = {
		.tv_sec = (time_t)(for_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(for_ns % NS_PER_S / NS_PER_US),
	};

	(void)setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

static bool is_let_in(int file, const struct sockaddr_un *address, uint64_t deadline_ns)
{
	uint64_t left_ns;

	errno = ETIMEDOUT;
	while ((left_ns = left_until(deadline_ns)) >= NS_PER_US) {
		be_patient(file, left_ns);
		if (connect(file, (const struct sockaddr *)address, sizeof(*address)) == 0)
			return true;
		if (errno != EINTR)
			break;
	}
	if (errno == EAGAIN || errno == EINTR)
		errno = ETIMEDOUT;
	return false;
}

/* -1 with errno. */
static int connect_to(const char *path, uint64_t deadline_ns)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file;

	if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path)) {
		errno = path[0] != '/' ? EINVAL : ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (file < 0)
		return -1;
	if (is_let_in(file, &address, deadline_ns)) {
		be_patient(file, 0);
		return file;
	}
	int problem = errno;
	close(file);
	errno = problem;
	return -1;
}

/* False: who listens is silent. */
static bool is_answering(int file, uint64_t deadline_ns)
{
	struct pollfd wait = { .fd = file, .events = POLLIN };
	int ready;

	do {
		ready = poll(&wait, 1, (int)(left_until(deadline_ns) / NS_PER_MS));
	} while (ready < 0 && errno == EINTR);
	return ready > 0;
}

static bool is_somebody_there(const char *path)
{
	int file = connect_to(path, clock_deadline(WELCOME_NS));

	if (file >= 0)
		close(file);
	return file >= 0;
}

enum server_choice server_link_choose(const char *said, char *path_out, size_t size_bytes)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (!said || !*said)
		return SERVER_NONE;
	if (strcmp(said, "auto") != 0) {
		snprintf(path_out, size_bytes, "%s", said);
		return SERVER_AT_PATH;
	}
	if (runtime && runtime[0] == '/') {
		snprintf(path_out, size_bytes, "%s/dxgk.sock", runtime);
		if (is_somebody_there(path_out))
			return SERVER_AT_PATH;
	}
	snprintf(path_out, size_bytes, "/run/dxgk/dxgk.sock");
	return is_somebody_there(path_out) ? SERVER_AT_PATH : SERVER_NONE;
}

int server_link_open(const char *path, struct wire_message *hello, struct wire_message *welcome)
{
	uint64_t deadline_ns = clock_deadline(WELCOME_NS);
	int descriptor;
	int file = connect_to(path, deadline_ns);

	if (file < 0) {
		explain(welcome, STATUS_PORT_CONNECTION_REFUSED, path,
			errno == EINVAL ? "the path must begin with /" : strerror(errno));
		return -1;
	}
	hello->kind = WIRE_HELLO;
	hello->hello.magic = WIRE_MAGIC;
	hello->hello.version = WIRE_VERSION;
	hello->hello.call_count = CALL_COUNT;
	hello->hello.hash = travel_hash();
	/* Who takes no more clients says so, and may have hung up before he hears who this is. */
	(void)!wire_send(file, hello, -1, true);
	if (!is_answering(file, deadline_ns) ||
	    wire_receive(file, welcome, &descriptor, true) != WIRE_DONE ||
	    welcome->kind != WIRE_WELCOME) {
		explain(welcome, STATUS_PORT_CONNECTION_REFUSED, path,
			"who listens there does not answer as dxgkd does");
	}
	welcome->welcome.rule[sizeof(welcome->welcome.rule) - 1] = '\0';
	welcome->welcome.reason[sizeof(welcome->welcome.reason) - 1] = '\0';
	if (NT_SUCCESS(welcome->welcome.status))
		return file;
	close(file);
	return -1;
}

bool server_link_ask(int socket, const struct control_request *request, void *body,
		     struct control_reply *reply)
{
	return server_link_ask_with(socket, request, body, -1, reply);
}

bool server_link_ask_with(int socket, const struct control_request *request, void *body,
			  int descriptor, struct control_reply *reply)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = "" };
	struct iovec parts[] = { { (void *)request, sizeof(*request) },
				 { body, request->size_bytes } };
	struct iovec answer[] = { { reply, sizeof(*reply) }, { body, request->size_bytes } };
	struct msghdr question = { .msg_iov = parts, .msg_iovlen = 2 };
	struct msghdr header = { .msg_iov = answer, .msg_iovlen = 2 };
	ssize_t length;

	if (descriptor >= 0) {
		question.msg_control = control.bytes;
		question.msg_controllen = sizeof(control.bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
	}
	if (sendmsg(socket, &question, MSG_NOSIGNAL) < 0)
		return false;
	do {
		length = recvmsg(socket, &header, 0);
	} while (length < 0 && errno == EINTR);
	if (length == 0)
		errno = ECONNRESET;
	if (length <= 0)
		return false;
	if ((size_t)length < sizeof(*reply) || reply->magic != CONTROL_MAGIC ||
	    reply->version != CONTROL_VERSION ||
	    (size_t)length != sizeof(*reply) + reply->size_bytes) {
		errno = EPROTO;
		return false;
	}
	reply->rule[sizeof(reply->rule) - 1] = '\0';
	reply->reason[sizeof(reply->reason) - 1] = '\0';
	return true;
}
