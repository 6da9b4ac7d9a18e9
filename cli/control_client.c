/* SPDX-License-Identifier: MIT */
/*
 * control_client.c - see control_client.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/control_client.h"

/* Evicting and putting in order take what they take. */
enum { PATIENCE_MS = 60000 };

static int complain(const char *path, const char *what)
{
	fprintf(stderr, "dxgk ctl: %s: %s\n", path, what);
	return -1;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file;

	if (strlen(path) >= sizeof(address.sun_path))
		return complain(path, "the path is longer than a socket's can be");
	memcpy(address.sun_path, path, strlen(path) + 1);
	file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (file < 0)
		return complain(path, strerror(errno));
	if (connect(file, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		complain(path, strerror(errno));
		close(file);
		return -1;
	}
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
		struct pollfd wait = { .fd = file, .events = POLLIN };

		if (poll(&wait, 1, PATIENCE_MS) == 0) {
			errno = ETIMEDOUT;
			return false;
		}
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
	int file = connect_to(client->path);
	bool is_answered;

	if (file < 0)
		return false;
	is_answered = exchange(file, &request, body, reply);
	if (!is_answered)
		complain(client->path, strerror(errno));
	close(file);
	return is_answered;
}

void control_print_refusal(const char *what, const struct control_reply *reply)
{
	fprintf(stderr, "dxgk ctl: %s: %s (%s%s%s)\n", what,
		reply->reason[0] ? reply->reason : "refused", reply->rule,
		reply->rule[0] ? ", " : "", status_name(reply->status));
}
