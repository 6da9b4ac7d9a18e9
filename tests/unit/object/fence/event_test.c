/* SPDX-License-Identifier: MIT */
/*
 * event_test.c - events of clients when there is no descriptor for them, at each point.
 *
 * event.c is compiled for this program with object_… in place of what can fail.
 */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/own_fd.h"
#include "base/refusal.h"
#include "object/fence/event.h"

#undef eventfd
#undef fcntl
#undef own_fd_copy
int eventfd(unsigned count, int flags);
int fcntl(int fd, int command, ...);
int own_fd_copy(int fd);

static struct {
	bool eventfd, fcntl, copy;
} failing;

static int no_descriptor(void)
{
	errno = EMFILE;
	return -1;
}

int object_eventfd(unsigned count, int flags)
{
	return failing.eventfd ? no_descriptor() : eventfd(count, flags);
}

int object_fcntl(int fd, int command, ...)
{
	va_list rest;
	va_start(rest, command);
	int argument = va_arg(rest, int);
	va_end(rest);
	return failing.fcntl ? no_descriptor() : fcntl(fd, command, argument);
}

int object_own_fd_copy(int fd)
{
	return failing.copy ? no_descriptor() : own_fd_copy(fd);
}

static int lowest_free(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

static void expect_no_descriptor(NTSTATUS status)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	EXPECT_EQ(status, STATUS_TOO_MANY_OPENED_FILES);
	EXPECT(refusal_last(&why));
	EXPECT_STR(why.rule, "API-DESCRIPTORS");
}

TEST(event, for_which_there_is_no_descriptor_is_refused_and_leaves_none)
{
	struct event event = EVENT_NONE;
	int lowest = lowest_free();
	int descriptor = -1;

	failing.eventfd = true;
	expect_no_descriptor(event_create(NULL, &event, &descriptor));
	failing.eventfd = false;
	failing.fcntl = true;
	expect_no_descriptor(event_create(NULL, &event, &descriptor));
	failing.fcntl = false;
	EXPECT(event.fd < 0 && descriptor < 0);
	EXPECT_EQ(lowest_free(), lowest);

	EXPECT_EQ(event_create(NULL, &event, &descriptor), STATUS_SUCCESS);
	event_set(&event);
	uint64_t count = 0;
	EXPECT_EQ(read(descriptor, &count, sizeof(count)), sizeof(count));
	EXPECT_EQ(count, 1);
	event_close(&event);
	close(descriptor);
	EXPECT_EQ(lowest_free(), lowest);
}

TEST(capture, of_an_event_for_which_there_is_no_descriptor_is_refused)
{
	struct event event = EVENT_NONE;
	int client = eventfd(0, EFD_NONBLOCK);

	failing.copy = true;
	expect_no_descriptor(event_capture(NULL, (uintptr_t)client, "hAsyncEvent", &event));
	failing.copy = false;
	EXPECT(event.fd < 0);
	/* Nobody hears what is set then. */
	event_set(&event);
	uint64_t count = 0;
	EXPECT(read(client, &count, sizeof(count)) < 0);
	EXPECT_EQ(event_capture(NULL, (uintptr_t)client, "hAsyncEvent", &event), STATUS_SUCCESS);
	event_set(&event);
	EXPECT_EQ(read(client, &count, sizeof(count)), sizeof(count));
	event_close(&event);
	event_close(&event); /* there is none any more */
	close(client);
}

TEST_MAIN("object/event")
