/* SPDX-License-Identifier: MIT */
/*
 * control_client.c - see control_client.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/control_client.h"
#include "wire/server_link.h"

/* Evicting and putting in order take what they take; what is only asked is soon answered, or nobody is there. */
enum { PATIENCE_S = 60, ANSWER_S = 10 };

static int complain(const char *path, const char *what)
{
	fprintf(stderr, "dxgk: %s: %s\n", path, what);
	return -1;
}

/* For each message, and for being let in. */
static void be_patient(int file, enum control_kind kind)
{
	const struct timeval patience = { .tv_sec =
						  kind == CONTROL_ESCAPE ? PATIENCE_S : ANSWER_S };

	(void)setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* Of errno. */
static const char *problem_of(void)
{
	return errno == EAGAIN   ? "who listens there does not answer"
	       : errno == EPROTO ? "who listens there does not answer as a kernel does"
				 : strerror(errno);
}

/* -1 with errno. */
static int connect_stream(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (file >= 0)
		be_patient(file, CONTROL_STATISTICS);
	if (file >= 0 && connect(file, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		int problem = errno;
		close(file);
		errno = problem;
		return -1;
	}
	return file;
}

/* ---- a server ---- */

/* A server's socket is of another kind, which the host tells before anybody hears of it. */
static bool is_of_program(const char *path)
{
	int file = connect_stream(path);

	if (file >= 0)
		close(file);
	return file >= 0;
}

/* -1 after saying why. */
static int open_server(const char *path)
{
	struct wire_message hello = { .hello = { .purpose = WIRE_CONTROL, .name = "dxgk" } };
	struct wire_message welcome = { 0 };
	int file = server_link_open(path, &hello, &welcome);

	if (file < 0) {
		fprintf(stderr, "dxgk: %s (%s, %s)\n", welcome.welcome.reason, welcome.welcome.rule,
			status_name(welcome.welcome.status));
		return -1;
	}
	return file;
}

bool control_find_server(struct control_client *client, const char *said)
{
	if (server_link_choose(said, client->path, sizeof(client->path)) != SERVER_AT_PATH)
		return false;
	client->is_server = !is_of_program(client->path);
	client->server = client->is_server ? open_server(client->path) : -1;
	return true;
}

bool control_connect(struct control_client *client)
{
	if (client->is_server && client->server < 0)
		client->server = open_server(client->path);
	return !client->is_server || client->server >= 0;
}

void control_disconnect(struct control_client *client)
{
	if (client->is_server && client->server >= 0)
		close(client->server);
	client->server = -1;
}

void control_of_program(struct control_client *client, const char *path)
{
	client->is_server = false;
	snprintf(client->path, sizeof(client->path), "%s", path);
}

static bool ask_about_trace(const struct control_client *client, const char *verb,
			    enum control_kind kind, int descriptor, uint32_t wishes)
{
	const struct control_request request = {
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.kind = kind,
		.type = wishes,
	};
	struct control_reply reply;

	if (client->server < 0)
		return false;
	be_patient(client->server, CONTROL_ESCAPE);
	if (!server_link_ask_with(client->server, &request, NULL, descriptor, &reply)) {
		fprintf(stderr, "dxgk %s: %s: %s\n", verb, client->path, problem_of());
		return false;
	}
	if (!NT_SUCCESS(reply.status))
		fprintf(stderr, "dxgk %s: %s (%s)\n", verb, reply.reason,
			status_name(reply.status));
	return NT_SUCCESS(reply.status);
}

/* The server empties it when it begins, and writes with the rights of who opened it. */
bool control_trace_begin(const struct control_client *client, const char *verb, const char *path,
			 uint32_t wishes)
{
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	bool is_new = file >= 0;

	if (!is_new && errno == EEXIST)
		file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (file < 0) {
		fprintf(stderr, "dxgk %s: %s: %s\n", verb, path, strerror(errno));
		return false;
	}
	bool has_begun = ask_about_trace(client, verb, CONTROL_TRACE_START, file, wishes);
	close(file);
	if (!has_begun && is_new)
		unlink(path);
	return has_begun;
}

bool control_trace_end(const struct control_client *client, const char *verb)
{
	return ask_about_trace(client, verb, CONTROL_TRACE_STOP, -1, 0);
}

/* ---- a program ---- */

static int connect_to(const char *path)
{
	int file = connect_stream(path);

	if (file < 0 && errno == ENAMETOOLONG)
		return complain(path, "the path is longer than a socket's can be");
	if (file < 0)
		return complain(path, problem_of());
	return file;
}

static bool send_all(int file, const void *bytes, size_t size_bytes)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t sent =
			send(file, (const char *)bytes + done, size_bytes - done, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return false;
		done += sent > 0 ? (size_t)sent : 0;
	}
	return true;
}

static bool receive(int file, void *bytes, size_t size_bytes)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t got = recv(file, (char *)bytes + done, size_bytes - done, 0);
		if (got == 0)
			errno = ECONNRESET;
		if (got == 0 || (got < 0 && errno != EINTR))
			return false;
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static bool exchange(int file, const struct control_request *request, void *body,
		     struct control_reply *reply)
{
	if (!send_all(file, request, sizeof(*request)) ||
	    !send_all(file, body, request->size_bytes) || !receive(file, reply, sizeof(*reply)))
		return false;
	if (reply->magic != CONTROL_MAGIC || reply->version != CONTROL_VERSION ||
	    (reply->size_bytes != 0 && reply->size_bytes != request->size_bytes)) {
		errno = EPROTO;
		return false;
	}
	reply->rule[sizeof(reply->rule) - 1] = '\0';
	reply->reason[sizeof(reply->reason) - 1] = '\0';
	return receive(file, body, reply->size_bytes);
}

/* ---- both ---- */

bool control_ask(const struct control_client *client, enum control_kind kind, uint32_t type,
		 void *body, uint32_t size_bytes, struct control_reply *reply)
{
	const struct control_request request = {
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.kind = kind,
		.size_bytes = size_bytes,
		.luid = client->luid,
		.type = type,
	};
	int file = client->is_server ? client->server : connect_to(client->path);
	bool is_answered;

	if (file < 0)
		return false;
	be_patient(file, kind);
	is_answered = client->is_server ? server_link_ask(file, &request, body, reply)
					: exchange(file, &request, body, reply);
	if (!is_answered)
		complain(client->path, problem_of());
	if (!client->is_server)
		close(file);
	return is_answered;
}

void control_print_refusal(const struct control_client *client, const char *what,
			   const struct control_reply *reply)
{
	fprintf(stderr, "dxgk %s: %s%s%s (%s%s%s)\n", client->command, what ? what : "",
		what ? ": " : "", reply->reason[0] ? reply->reason : "refused", reply->rule,
		reply->rule[0] ? ", " : "", status_name(reply->status));
}
