/* SPDX-License-Identifier: MIT */
/*
 * share_test.c - bodies that outlive their openings, global handles and NT handles. Names are in
 * share_name_test.c.
 */
#include "share_world.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- bodies ---- */

TEST(body, goes_with_its_last_reference)
{
	struct body body;

	table_begin();
	body_init(&body, SHARE_RESOURCE, SHARE_PRIVATE);
	EXPECT_EQ(share_global_handle(&body.share), 0);
	share_get(&body.share);
	share_close(&body.share);
	EXPECT(!body.is_gone);
	share_put(&body.share);
	EXPECT(body.is_gone);
	table_end();
}

TEST(body, that_was_never_finished_gives_its_number_back)
{
	struct body body = { .is_gone = false };

	table_begin();
	EXPECT_EQ(share_init(&body.share, &table, 0, SHARE_RESOURCE, SHARE_GLOBAL, NULL,
			     body_destroy),
		  STATUS_SUCCESS);
	share_abandon(&body.share);
	EXPECT(!body.is_gone);
	table_end(); /* asserts that no number is taken */
}

/* ---- global handles ---- */

TEST(global, handle_finds_the_body_and_only_as_its_kind)
{
	struct body body;
	struct share *found;

	table_begin();
	body_init(&body, SHARE_SYNC_OBJECT, SHARE_GLOBAL);
	uint32_t handle = share_global_handle(&body.share);
	EXPECT((handle & 0xc0000000) != 0 && (handle & 0x3f) == 2);
	EXPECT_EQ(share_find_global(&table, 0, handle, SHARE_SYNC_OBJECT, "h", &found),
		  STATUS_SUCCESS);
	EXPECT(found == &body.share);
	share_put(found);
	EXPECT_RULE(share_find_global(&table, 0, handle, SHARE_RESOURCE, "h", &found),
		    STATUS_INVALID_PARAMETER, "API-HANDLE-KIND");
	EXPECT_RULE(share_find_global(&table, 0, handle + 0x40, SHARE_SYNC_OBJECT, "h", &found),
		    STATUS_INVALID_PARAMETER, "API-HANDLE");
	EXPECT_RULE(share_find_global(&table, 0, handle - 2, SHARE_SYNC_OBJECT, "h", &found),
		    STATUS_INVALID_PARAMETER, "API-HANDLE");
	share_close(&body.share);
	EXPECT(body.is_gone);
	table_end();
}

TEST(global, handle_dies_with_the_last_opening_whoever_holds_references)
{
	struct body body;
	struct share *found;
	struct share *again;

	table_begin();
	body_init(&body, SHARE_RESOURCE, SHARE_GLOBAL);
	uint32_t handle = share_global_handle(&body.share);
	EXPECT_EQ(share_find_global(&table, 0, handle, SHARE_RESOURCE, "h", &found),
		  STATUS_SUCCESS);
	EXPECT(share_open(found));
	share_close(&body.share);
	EXPECT_EQ(share_find_global(&table, 0, handle, SHARE_RESOURCE, "h", &again),
		  STATUS_SUCCESS);
	share_put(again);
	share_close(found);
	EXPECT(!body.is_gone);
	EXPECT_RULE(share_find_global(&table, 0, handle, SHARE_RESOURCE, "h", &again),
		    STATUS_INVALID_PARAMETER, "API-HANDLE");
	EXPECT(!share_open(found));
	share_put(found);
	EXPECT(body.is_gone);
	table_end();
}

/* ---- sets ---- */

static bool is_legal(const enum share_kind *kinds, unsigned count)
{
	if (count == 1)
		return kinds[0] == SHARE_RESOURCE || kinds[0] == SHARE_SYNC_OBJECT;
	return count == 3 && kinds[0] == SHARE_RESOURCE && kinds[1] == SHARE_KEYED_MUTEX &&
	       kinds[2] == SHARE_SYNC_OBJECT;
}

static void check_combination(const enum share_kind *kinds, unsigned count)
{
	struct body bodies[SHARE_SET_MAX];
	struct share *shares[SHARE_SET_MAX];
	int descriptor = -1;

	for (unsigned i = 0; i < count; i++) {
		body_init(&bodies[i], kinds[i], SHARE_NT);
		shares[i] = &bodies[i].share;
	}
	if (is_legal(kinds, count)) {
		EXPECT_EQ(share_create_nt(&table, shares, NULL, count, &plain, &descriptor),
			  STATUS_SUCCESS);
		close(descriptor);
		share_sweep(&table);
	} else {
		EXPECT_RULE(share_create_nt(&table, shares, NULL, count, &plain, &descriptor),
			    STATUS_INVALID_PARAMETER, "API-SHARE-SET");
		EXPECT_EQ(descriptor, -1);
	}
	for (unsigned i = 0; i < count; i++) {
		share_close(&bodies[i].share);
		EXPECT(bodies[i].is_gone);
	}
}

TEST(set, is_a_resource_a_sync_object_or_three_in_order_and_nothing_else)
{
	table_begin();
	check_combination(NULL, 0);
	for (unsigned count = 1; count <= SHARE_SET_MAX; count++) {
		for (unsigned code = 0; code < 27; code++) {
			enum share_kind kinds[] = { code % 3, code / 3 % 3, code / 9 };
			check_combination(kinds, count);
		}
	}
	table_end();
}

TEST(set, holds_only_what_was_made_for_nt_handles)
{
	static const enum share_kind kinds[] = { SHARE_RESOURCE, SHARE_KEYED_MUTEX,
						 SHARE_SYNC_OBJECT };
	int descriptor;

	table_begin();
	for (unsigned odd = 0; odd < SHARE_SET_MAX; odd++) {
		struct body bodies[SHARE_SET_MAX];
		struct share *shares[SHARE_SET_MAX];
		for (unsigned i = 0; i < SHARE_SET_MAX; i++) {
			body_init(&bodies[i], kinds[i], i == odd ? SHARE_GLOBAL : SHARE_NT);
			shares[i] = &bodies[i].share;
		}
		EXPECT_RULE(
			share_create_nt(&table, shares, NULL, SHARE_SET_MAX, &plain, &descriptor),
			STATUS_INVALID_PARAMETER, "API-SHARE-SCHEME");
		EXPECT_EQ(last_refusal().index, odd);
		for (unsigned i = 0; i < SHARE_SET_MAX; i++)
			share_close(shares[i]);
	}
	struct body private;
	struct share *share = &private.share;
	body_init(&private, SHARE_RESOURCE, SHARE_PRIVATE);
	EXPECT_RULE(share_create_nt(&table, &share, NULL, 1, &plain, &descriptor),
		    STATUS_INVALID_PARAMETER, "API-SHARE-SCHEME");
	share_close(share);
	table_end();
}

TEST(set, of_three_is_found_as_a_resource_with_all_of_it)
{
	struct body bodies[SHARE_SET_MAX];
	struct share *shares[SHARE_SET_MAX];
	struct share_set set;
	int descriptor;

	table_begin();
	for (unsigned i = 0; i < SHARE_SET_MAX; i++) {
		body_init(&bodies[i], (enum share_kind)i, SHARE_NT);
		shares[i] = &bodies[i].share;
	}
	EXPECT_EQ(share_create_nt(&table, shares, NULL, SHARE_SET_MAX,
				  &(struct share_nt_options){ .access = 0x20001, .rights = 1 },
				  &descriptor),
		  STATUS_SUCCESS);
	for (unsigned i = 0; i < SHARE_SET_MAX; i++)
		share_close(&bodies[i].share);
	EXPECT_RULE(find(descriptor, SHARE_KEYED_MUTEX), STATUS_OBJECT_TYPE_MISMATCH,
		    "API-NT-HANDLE-KIND");
	EXPECT_RULE(find(descriptor, SHARE_SYNC_OBJECT), STATUS_OBJECT_TYPE_MISMATCH,
		    "API-NT-HANDLE-KIND");
	EXPECT_EQ(share_find_nt(&table, (uintptr_t)descriptor, SHARE_RESOURCE, "h", &set),
		  STATUS_SUCCESS);
	EXPECT_EQ(set.count, SHARE_SET_MAX);
	EXPECT_EQ(set.rights, 1);
	close(descriptor);
	share_sweep(&table);
	for (unsigned i = 0; i < SHARE_SET_MAX; i++) {
		EXPECT(set.shares[i] == shares[i]);
		EXPECT(!bodies[i].is_gone);
		/* Nobody had it open any more: it can be opened all the same. */
		EXPECT(share_open(set.shares[i]));
		share_close(set.shares[i]);
	}
	share_set_put(&set);
	for (unsigned i = 0; i < SHARE_SET_MAX; i++)
		EXPECT(bodies[i].is_gone);
	table_end();
}

/* ---- descriptors ---- */

TEST(descriptor, is_closed_on_exec_unless_it_is_to_be_inherited)
{
	struct body body;
	struct body inherited;

	table_begin();
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	body_init(&inherited, SHARE_RESOURCE, SHARE_NT);
	int first = share_alone(&body, &plain);
	int second = share_alone(&inherited,
				 &(struct share_nt_options){ .access = 1, .is_inherited = true });
	EXPECT_EQ(fcntl(first, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(fcntl(second, F_GETFD), 0);
	EXPECT_EQ((unsigned)first & 0xc0000000, 0);
	close(first);
	close(second);
	table_end();
}

BODY_TEST(descriptor, is_never_zero_nor_another_standard_stream)
{
	int input = dup(STDIN_FILENO);
	close(STDIN_FILENO);
	int descriptor = share_alone(body, &plain);
	bool is_zero_free = fcntl(STDIN_FILENO, F_GETFD) < 0;
	if (input >= 0) {
		dup2(input, STDIN_FILENO);
		close(input);
	}
	EXPECT(descriptor > STDERR_FILENO);
	EXPECT(is_zero_free);
	EXPECT_EQ(find(descriptor, SHARE_RESOURCE), STATUS_SUCCESS);
	close(descriptor);
}

BODY_TEST(descriptor, holds_the_body_until_it_is_closed)
{
	int descriptor = share_alone(body, &plain);
	share_sweep(&table);
	EXPECT(!body->is_gone);
	EXPECT_EQ(find(descriptor, SHARE_RESOURCE), STATUS_SUCCESS);
	close(descriptor);
	EXPECT(!body->is_gone);
	share_sweep(&table);
	EXPECT(body->is_gone);
}

TEST(descriptor, that_was_copied_holds_until_the_last_copy_is_closed)
{
	struct body body;

	table_begin();
	body_init(&body, SHARE_SYNC_OBJECT, SHARE_NT);
	int descriptor = share_alone(&body, &plain);
	int copy = dup(descriptor);
	close(descriptor);
	share_sweep(&table);
	EXPECT(!body.is_gone);
	EXPECT_EQ(find(copy, SHARE_SYNC_OBJECT), STATUS_SUCCESS);
	EXPECT_RULE(find(descriptor, SHARE_SYNC_OBJECT), STATUS_INVALID_HANDLE, "API-NT-HANDLE");
	close(copy);
	share_sweep(&table);
	EXPECT(body.is_gone);
	table_end();
}

BODY_TEST(descriptor, that_a_child_of_fork_has_holds_until_the_child_ends)
{
	int go[2];
	char byte;

	int descriptor = share_alone(body, &plain);
	EXPECT_EQ(pipe(go), 0);
	pid_t child = fork();
	if (child == 0) {
		close(go[1]);
		_exit(read(go[0], &byte, 1) != 0);
	}
	close(go[0]);
	close(descriptor);
	share_sweep(&table);
	EXPECT(!body->is_gone);
	close(go[1]);
	EXPECT_EQ(waitpid(child, NULL, 0), child);
	share_sweep(&table);
	EXPECT(body->is_gone);
}

union one_descriptor {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static void send_descriptor(int to, int descriptor)
{
	union one_descriptor control = { .bytes = { 0 } };
	struct iovec byte = { "", 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	*header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
				    .cmsg_level = SOL_SOCKET,
				    .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
	EXPECT_EQ(sendmsg(to, &message, 0), 1);
}

static int receive_descriptor(int from)
{
	union one_descriptor control;
	char text;
	struct iovec byte = { &text, 1 };
	struct msghdr message = { .msg_iov = &byte,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int descriptor;

	EXPECT_EQ(recvmsg(from, &message, 0), 1);
	EXPECT_EQ(control.header.cmsg_type, SCM_RIGHTS);
	memcpy(&descriptor, CMSG_DATA(&control.header), sizeof(descriptor));
	return descriptor;
}

BODY_TEST(descriptor, in_the_post_is_as_good_as_in_a_process)
{
	int ends[2];

	int descriptor = share_alone(body, &plain);
	EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	send_descriptor(ends[0], descriptor);
	close(descriptor);
	share_sweep(&table);
	EXPECT(!body->is_gone);
	int received = receive_descriptor(ends[1]);
	EXPECT_EQ(find(received, SHARE_RESOURCE), STATUS_SUCCESS);
	close(received);
	share_sweep(&table);
	EXPECT(body->is_gone);
	close(ends[0]);
	close(ends[1]);
}

BODY_TEST(descriptor, is_told_from_everything_else)
{
	struct share_set set;
	int other[2];

	int descriptor = share_alone(body, &plain);
	int file = memfd_create("file", MFD_CLOEXEC);
	EXPECT_EQ(pipe(other), 0);
	EXPECT_RULE(find(file, SHARE_RESOURCE), STATUS_INVALID_HANDLE, "API-NT-HANDLE");
	EXPECT_RULE(find(other[0], SHARE_RESOURCE), STATUS_INVALID_HANDLE, "API-NT-HANDLE");
	EXPECT_RULE(find(-1, SHARE_RESOURCE), STATUS_INVALID_HANDLE, "API-NT-HANDLE");
	/* A number that is ours when cut to 32 bits. */
	EXPECT_RULE(share_find_nt(&table, (uintptr_t)descriptor + (UINT64_C(1) << 32),
				  SHARE_RESOURCE, "h", &set),
		    STATUS_INVALID_HANDLE, "API-NT-HANDLE");
	/* Our own end, which a client can only guess. */
	unsigned found = 0;
	for (int fd = 0; fd < 256; fd++)
		found += find(fd, SHARE_RESOURCE) == STATUS_SUCCESS;
	EXPECT_EQ(found, 1);
	close(file);
	close(other[0]);
	close(other[1]);
	close(descriptor);
}

BODY_TEST(descriptor, of_the_same_body_can_be_made_more_than_once)
{
	struct share *share = &body->share;
	int first;
	int second;

	EXPECT_EQ(share_create_nt(&table, &share, NULL, 1, &plain, &first), STATUS_SUCCESS);
	EXPECT_EQ(share_create_nt(&table, &share, NULL, 1, &plain, &second), STATUS_SUCCESS);
	share_close(share);
	close(first);
	share_sweep(&table);
	EXPECT(!body->is_gone);
	EXPECT_EQ(find(second, SHARE_RESOURCE), STATUS_SUCCESS);
	close(second);
	share_sweep(&table);
	EXPECT(body->is_gone);
}

TEST(sweep, ends_any_number_at_once)
{
	enum { MANY = 100 };
	static struct body bodies[MANY];
	int descriptors[MANY];

	table_begin();
	for (unsigned i = 0; i < MANY; i++) {
		body_init(&bodies[i], SHARE_RESOURCE, SHARE_NT);
		descriptors[i] = share_alone(&bodies[i], &plain);
	}
	for (unsigned i = 0; i < MANY; i++) {
		if (i % 10 != 0)
			close(descriptors[i]);
	}
	share_sweep(&table);
	for (unsigned i = 0; i < MANY; i++)
		EXPECT_EQ(bodies[i].is_gone, i % 10 != 0);
	table_end();
	for (unsigned i = 0; i < MANY; i += 10) {
		EXPECT(bodies[i].is_gone);
		close(descriptors[i]);
	}
}

TEST(finish, ends_what_is_still_shared_and_leaves_no_descriptor_of_ours)
{
	struct body body;
	struct pollfd ended = { .events = POLLIN };

	table_begin();
	int lowest = dup(STDERR_FILENO);
	close(lowest);
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	ended.fd = share_alone(&body, &plain);
	table_end();
	EXPECT(body.is_gone);
	/* Nobody has the other end any more. */
	EXPECT_EQ(poll(&ended, 1, 0), 1);
	EXPECT_EQ(ended.revents, POLLHUP);
	close(ended.fd);
	int again = dup(STDERR_FILENO);
	EXPECT_EQ(again, lowest);
	close(again);
}

TEST(finish, closes_no_number_that_the_client_took_back)
{
	enum { LAST = 64 };
	int files[LAST];
	struct body body;

	table_begin();
	int first = dup(STDERR_FILENO);
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	(void)share_alone(&body, &plain);
	/* As daemons do, and then they open their own. */
	for (int fd = first; fd < LAST; fd++)
		close(fd);
	for (int i = 0; i < 8; i++)
		files[i] = memfd_create("file", MFD_CLOEXEC);
	share_sweep(&table);
	table_end();
	EXPECT(body.is_gone);
	for (int i = 0; i < 8; i++) {
		EXPECT(fcntl(files[i], F_GETFD) >= 0);
		close(files[i]);
	}
}

TEST(descriptor, that_is_not_to_be_had_is_refused)
{
	struct body body;
	struct share *share = &body.share;
	struct rlimit limit;
	int descriptor;

	table_begin();
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	int lowest = dup(STDERR_FILENO);
	close(lowest);
	/* Room for none, for the watch, for one end: then for all. */
	for (int buffer = 0; buffer <= 3; buffer++) {
		struct rlimit tight = { (rlim_t)(lowest + buffer), limit.rlim_max };
		EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
		NTSTATUS status = share_create_nt(&table, &share, NULL, 1, &plain, &descriptor);
		EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
		if (buffer == 3)
			EXPECT_EQ(status, STATUS_SUCCESS);
		else
			EXPECT_RULE(status, STATUS_TOO_MANY_OPENED_FILES, "API-DESCRIPTORS");
	}
	close(descriptor);
	share_close(share);
	table_end();
	EXPECT(body.is_gone);
}

/* ---- memory and threads ---- */

TEST(memory, that_is_missing_anywhere_loses_nothing)
{
	const struct share_nt_options named = { .name = "name", .access = 1 };
	struct mem_usage before = mem_usage();
	bool has_failed;
	uint64_t n = 0;

	do {
		struct body body;
		struct share *share = &body.share;
		int first = -1;
		int second = -1;
		mem_fail_nth(++n);
		NTSTATUS status = share_table_init(&table);
		if (NT_SUCCESS(status)) {
			body.is_gone = false;
			status = share_init(share, &table, 0, SHARE_RESOURCE, SHARE_NT, NULL,
					    body_destroy);
		}
		if (NT_SUCCESS(status)) {
			status = share_create_nt(&table, &share, NULL, 1, &named, &first);
			if (NT_SUCCESS(status))
				status = open_name("name", SHARE_RESOURCE, 1, &second);
			share_close(share);
		}
		has_failed = mem_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		close(first);
		close(second);
		table_end();
		EXPECT_EQ(mem_usage().blocks, before.blocks);
	} while (has_failed);
	EXPECT(n > 5);
}

/* Shares, finds, opens by name and closes, beside others that do the same. */
static void share_and_close(void *argument)
{
	const char *name = argument;
	const struct share_nt_options named = { .name = name, .access = 1 };

	for (unsigned i = 0; i < 100; i++) {
		struct body body;
		struct share *share = &body.share;
		int first = -1;
		int second = -1;
		body_init(&body, SHARE_RESOURCE, SHARE_NT);
		EXPECT_EQ(share_create_nt(&table, &share, NULL, 1, &named, &first), STATUS_SUCCESS);
		EXPECT_EQ(open_name(name, SHARE_RESOURCE, 1, &second), STATUS_SUCCESS);
		EXPECT_EQ(find(second, SHARE_RESOURCE), STATUS_SUCCESS);
		close(first);
		close(second);
		share_close(share);
		while (!body.is_gone) {
			share_sweep(&table);
			thread_point();
		}
	}
}

TEST(threads, share_at_the_same_time)
{
	static char names[][8] = { "one", "two", "three" };
	struct thread *threads[3];

	table_begin();
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(thread_create("sharer", share_and_close, names[i], &threads[i]),
			  STATUS_SUCCESS);
	for (unsigned i = 0; i < 3; i++)
		thread_join(threads[i]);
	EXPECT_EQ(table.descriptor_count, 0);
	table_end();
}

TEST(global, handles_that_there_is_no_memory_for_are_refused)
{
	struct body body = { .is_gone = false };
	bool has_fired = true;

	table_begin();
	for (unsigned nth = 1; has_fired; nth++) {
		mem_fail_nth(nth);
		NTSTATUS status = share_init(&body.share, &table, 0, SHARE_RESOURCE, SHARE_GLOBAL,
					     NULL, body_destroy);
		has_fired = mem_fail_stop();
		if (NT_SUCCESS(status)) {
			share_abandon(&body.share);
		} else {
			EXPECT(has_fired);
			EXPECT_RULE(status, STATUS_NO_MEMORY, "API-NO-MEMORY");
		}
		EXPECT(has_fired || NT_SUCCESS(status));
	}
	table_end();
	EXPECT(!body.is_gone);
}

TEST(share, of_nothing_is_let_go_of_at_no_cost)
{
	share_put(NULL);
}

TEST_MAIN("object/share")
