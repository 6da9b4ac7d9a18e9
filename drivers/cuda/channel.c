/* SPDX-License-Identifier: MIT */
/*
 * channel.c - see channel.h.
 *
 * What the host has is declared here, because a driver has no headers of the host's.
 */
#include "channel.h"

/* ---- the host ---- */

struct host_part {
	void *bytes;
	size_t size_bytes;
};

struct host_message {
	void *name;
	unsigned name_bytes;
	struct host_part *parts;
	size_t part_count;
	void *control;
	size_t control_bytes;
	int flags;
};

struct host_control {
	size_t size_bytes;
	int level;
	int kind;
};

struct host_poll {
	int descriptor;
	short wanted;
	short found;
};

struct host_symbol {
	const char *file;
	void *base;
	const char *name;
	void *address;
};

/* Larger than the host's own. */
struct host_spawn_actions {
	ULONGLONG words[32];
};

enum {
	HOST_UNIX = 1,
	HOST_STREAM = 1,
	HOST_CLOSE_ON_EXEC = 02000000,
	HOST_SOCKET_LEVEL = 1,
	HOST_RIGHTS = 1,
	HOST_NO_SIGNAL = 0x4000,
	HOST_RECEIVE_CLOSE_ON_EXEC = 0x40000000,
	HOST_READABLE = 1,
	HOST_KILL = 9,
	HOST_INTERRUPTED = 4,
};

extern int socketpair(int domain, int type, int protocol, int ends[2]);
extern LONG_PTR sendmsg(int socket, const struct host_message *message, int flags);
extern LONG_PTR recvmsg(int socket, struct host_message *message, int flags);
extern int poll(struct host_poll *polls, unsigned long count, int milliseconds);
extern int close(int descriptor);
extern int kill(int process, int signal);
extern int waitpid(int process, int *status, int flags);
extern int dladdr(const void *address, struct host_symbol *symbol);
extern int posix_spawn(int *process, const char *path, const struct host_spawn_actions *actions,
		       const void *attributes, char *const arguments[], char *const variables[]);
extern int posix_spawn_file_actions_init(struct host_spawn_actions *actions);
extern int posix_spawn_file_actions_destroy(struct host_spawn_actions *actions);
extern int posix_spawn_file_actions_adddup2(struct host_spawn_actions *actions, int from, int to);
extern int *__errno_location(void);
extern char **environ;

static BOOLEAN was_interrupted(void)
{
	return *__errno_location() == HOST_INTERRUPTED;
}

/* ---- processes ---- */

int channel_start(const char *program, int *socket_out)
{
	char *arguments[] = { (char *)program, NULL };
	struct host_spawn_actions actions;
	int ends[2];
	int process = 0;

	if (socketpair(HOST_UNIX, HOST_STREAM | HOST_CLOSE_ON_EXEC, 0, ends) != 0)
		return 0;
	int failed = posix_spawn_file_actions_init(&actions);
	if (failed == 0) {
		failed = posix_spawn_file_actions_adddup2(&actions, ends[1], CHANNEL_THERE);
		if (failed == 0)
			failed = posix_spawn(&process, program, &actions, NULL, arguments, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[1]);
	if (failed != 0) {
		close(ends[0]);
		return 0;
	}
	*socket_out = ends[0];
	return process;
}

void channel_end(int process, int socket)
{
	int status;

	close(socket);
	(void)kill(process, HOST_KILL);
	while (waitpid(process, &status, 0) < 0 && was_interrupted())
		;
}

/* ---- bytes ---- */

/* As the host lays out one list of descriptors. */
struct rights {
	struct host_control head;
	int descriptors[CHANNEL_MOST_DESCRIPTORS];
};

BOOLEAN channel_send(int socket, const void *bytes, size_t size_bytes, const int *descriptors,
		     unsigned count)
{
	struct rights rights = { .head = { sizeof(rights.head) + count * sizeof(int),
					   HOST_SOCKET_LEVEL, HOST_RIGHTS } };
	size_t done = 0;

	for (unsigned i = 0; i < count; i++)
		rights.descriptors[i] = descriptors[i];
	while (done < size_bytes) {
		struct host_part part = { (char *)bytes + done, size_bytes - done };
		struct host_message message = { .parts = &part, .part_count = 1 };

		if (done == 0 && count > 0) {
			message.control = &rights;
			message.control_bytes = rights.head.size_bytes;
		}
		LONG_PTR sent = sendmsg(socket, &message, HOST_NO_SIGNAL);
		if (sent < 0 && was_interrupted())
			continue;
		if (sent <= 0)
			return FALSE;
		done += (size_t)sent;
	}
	return TRUE;
}

BOOLEAN channel_receive(int socket, void *bytes, size_t size_bytes, int *descriptors,
			unsigned capacity, unsigned *count_out)
{
	struct rights rights;
	size_t done = 0;

	if (count_out)
		*count_out = 0;
	while (done < size_bytes) {
		struct host_part part = { (char *)bytes + done, size_bytes - done };
		struct host_message message = { .parts = &part, .part_count = 1 };

		if (capacity > 0) {
			message.control = &rights;
			message.control_bytes = sizeof(rights);
		}
		LONG_PTR got = recvmsg(socket, &message, HOST_RECEIVE_CLOSE_ON_EXEC);
		if (got < 0 && was_interrupted())
			continue;
		if (got <= 0)
			return FALSE;
		done += (size_t)got;
		if (capacity == 0 || !count_out || message.control_bytes < sizeof(rights.head))
			continue;
		unsigned count =
			(unsigned)((rights.head.size_bytes - sizeof(rights.head)) / sizeof(int));
		for (unsigned i = 0; i < count; i++) {
			if (*count_out < capacity)
				descriptors[(*count_out)++] = rights.descriptors[i];
			else
				close(rights.descriptors[i]);
		}
	}
	return TRUE;
}

BOOLEAN channel_has_news(int socket)
{
	struct host_poll look = { socket, HOST_READABLE, 0 };

	return poll(&look, 1, 0) > 0;
}

void channel_close(int descriptor)
{
	close(descriptor);
}

BOOLEAN channel_find_beside(const void *symbol, const char *name, char *path, size_t size_bytes)
{
	struct host_symbol found;
	size_t folder = 0;
	size_t length = 0;

	if (dladdr(symbol, &found) == 0 || !found.file)
		return FALSE;
	for (size_t i = 0; found.file[i] != 0; i++) {
		if (found.file[i] == '/')
			folder = i + 1;
	}
	while (name[length] != 0)
		length++;
	if (folder + length + 1 > size_bytes)
		return FALSE;
	for (size_t i = 0; i < folder; i++)
		path[i] = found.file[i];
	for (size_t i = 0; i <= length; i++)
		path[folder + i] = name[i];
	return TRUE;
}
