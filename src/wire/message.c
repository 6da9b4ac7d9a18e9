/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/message.h"

/* Room for more than one, so that a sender of several is found out, and none of them stays open. */
enum { DESCRIPTORS_MOST = 8 };

union control_buffer {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(DESCRIPTORS_MOST * sizeof(int))];
};

_Static_assert(CMSG_SPACE(DESCRIPTORS_MOST * sizeof(int)) ==
		       CMSG_LEN(DESCRIPTORS_MOST * sizeof(int)),
	       "the host puts no more of them there");

enum { CROWDED_MS = 1 };

static bool wait_for(int socket, short events)
{
	struct pollfd file = { .fd = socket, .events = events };

	/* Too many descriptors of the user's are under way: nothing tells when there are fewer. */
	if (errno == ETOOMANYREFS)
		(void)poll(NULL, 0, CROWDED_MS);
	while (poll(&file, 1, -1) < 0) {
		if (errno != EINTR)
			return false;
	}
	return (file.revents & events) != 0;
}

/* What sendmsg() or recvmsg() returned, which did not wait. */
static enum wire_result result_of(ssize_t length, size_t wanted)
{
	if (length == (ssize_t)wanted)
		return WIRE_DONE;
	return length < 0 && (errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS)
		       ? WIRE_WOULD_WAIT
		       : WIRE_BROKEN;
}

enum wire_result wire_send(int socket, const struct wire_message *message, int descriptor,
			   bool waits)
{
	struct iovec bytes = { (void *)message, sizeof(*message) };
	union control_buffer control = { .bytes = "" };
	struct msghdr header = { .msg_iov = &bytes, .msg_iovlen = 1 };
	enum wire_result result;

	if (descriptor >= 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(sizeof(int));
		struct cmsghdr *part = CMSG_FIRSTHDR(&header);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &descriptor, sizeof(descriptor));
	}
	do {
		result = result_of(sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL),
				   sizeof(*message));
	} while (result == WIRE_WOULD_WAIT && waits && wait_for(socket, POLLOUT));
	return result;
}

/* The first one, or -1; false when there were more, which are closed, or some were cut off behind it. */
static bool take_descriptors(struct msghdr *header, int *descriptor_out)
{
	bool is_right = (header->msg_flags & MSG_TRUNC) == 0;

	*descriptor_out = -1;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		int descriptors[DESCRIPTORS_MOST];
		size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(descriptors, CMSG_DATA(part), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			if (*descriptor_out < 0) {
				*descriptor_out = descriptors[i];
			} else {
				close(descriptors[i]);
				is_right = false;
			}
		}
	}
	return is_right && (*descriptor_out < 0 || (header->msg_flags & MSG_CTRUNC) == 0);
}

static enum wire_result receive(int socket, struct wire_message *message, int *descriptor_out,
				int flags)
{
	union control_buffer control;
	struct iovec bytes = { message, sizeof(*message) };
	struct msghdr header = { .msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes) };

	flags |= MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
	*descriptor_out = -1;
	ssize_t length = recvmsg(socket, &header, flags);
	/* It has hung up, and not read all that we said; what it said is still there. */
	if (length < 0 && errno == ECONNRESET)
		length = recvmsg(socket, &header, flags);
	enum wire_result result = result_of(length, sizeof(*message));
	if (length >= 0 && !take_descriptors(&header, descriptor_out))
		result = WIRE_BROKEN;
	else if (result == WIRE_DONE && (header.msg_flags & MSG_CTRUNC))
		result = WIRE_CROWDED;
	if (result == WIRE_BROKEN && *descriptor_out >= 0) {
		close(*descriptor_out);
		*descriptor_out = -1;
	}
	return result;
}

enum wire_result wire_receive(int socket, struct wire_message *message, int *descriptor_out,
			      bool waits)
{
	enum wire_result result;

	do {
		result = receive(socket, message, descriptor_out, 0);
	} while (result == WIRE_WOULD_WAIT && waits && wait_for(socket, POLLIN));
	return result;
}

enum wire_result wire_peek(int socket, struct wire_message *message, int *descriptor_out)
{
	return receive(socket, message, descriptor_out, MSG_PEEK);
}

/* The host drops what nobody has room for. */
void wire_skip(int socket)
{
	char byte;

	(void)!recv(socket, &byte, sizeof(byte), MSG_DONTWAIT);
}
