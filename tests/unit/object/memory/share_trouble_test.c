/* SPDX-License-Identifier: MIT */
/*
 * share_trouble_test.c - NT handles when the system says no, and when a client has closed
 * descriptors that are not its own.
 *
 * share.c is compiled for this program with share_… in place of what can fail.
 */
#include "share_world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own_fd.h"

/* ---- between share.c and the system ---- */

#undef epoll_create1
#undef epoll_ctl
#undef fcntl
#undef fstat
#undef own_fd_keep

int epoll_create1(int flags);
int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int fcntl(int fd, int command, ...);
int fstat(int fd, struct stat *facts);
bool own_fd_keep(int made, struct own_fd *fd_out);

static struct {
	bool watches;
	unsigned adds;   /* that work, of what is to be watched */
	int command;     /* of fcntl: fails */
	bool keeps;      /* our end of a pipe */
	dev_t other_dev; /* what fstat says is on another device */
} allowed;

static void allow_all(void)
{
	allowed.watches = true;
	allowed.adds = UINT32_MAX;
	allowed.command = -1;
	allowed.keeps = true;
	allowed.other_dev = 0;
}

int share_epoll_create1(int flags)
{
	if (allowed.watches)
		return epoll_create1(flags);
	errno = EMFILE;
	return -1;
}

int share_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD && allowed.adds-- == 0) {
		errno = ENOSPC; /* /proc/sys/fs/epoll/max_user_watches */
		return -1;
	}
	return epoll_ctl(epfd, op, fd, event);
}

int share_fcntl(int fd, int command, ...)
{
	va_list rest;
	va_start(rest, command);
	int argument = va_arg(rest, int);
	va_end(rest);
	if (command == allowed.command) {
		errno = EMFILE;
		return -1;
	}
	return fcntl(fd, command, argument);
}

int share_fstat(int fd, struct stat *facts)
{
	int result = fstat(fd, facts);

	facts->st_dev += allowed.other_dev;
	return result;
}

bool share_own_fd_keep(int made, struct own_fd *fd_out)
{
	if (allowed.keeps)
		return own_fd_keep(made, fd_out);
	close(made);
	*fd_out = (struct own_fd)OWN_FD_NONE;
	errno = EMFILE;
	return false;
}

static void begin(void)
{
	allow_all();
	table_begin();
}

static NTSTATUS share_one(struct body *body, bool is_inherited, int *descriptor_out)
{
	struct share *share = &body->share;

	return share_create_nt(
		&table, &share, NULL, 1,
		&(struct share_nt_options){ .access = 1, .is_inherited = is_inherited },
		descriptor_out);
}

/* How many descriptors the program has; of one inode, or of all. */
static unsigned open_files(ino_t inode, int *last_out)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;
	struct dirent *entry;

	EXPECT(folder);
	while ((entry = readdir(folder)) != NULL) {
		struct stat facts;
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || fd == dirfd(folder) || fstat(fd, &facts) != 0)
			continue;
		if (inode != 0 && facts.st_ino != inode)
			continue;
		count++;
		*last_out = fd;
	}
	closedir(folder);
	return count;
}

static ino_t inode_of(int fd)
{
	struct stat facts;

	EXPECT_EQ(fstat(fd, &facts), 0);
	return facts.st_ino;
}

/* The number of our end of this pipe. */
static int other_end(int descriptor)
{
	int last = -1;

	EXPECT_EQ(open_files(inode_of(descriptor), &last), 2);
	if (last != descriptor)
		return last;
	for (int fd = 0; fd < 4096; fd++) {
		struct stat facts;

		if (fd != descriptor && fstat(fd, &facts) == 0 &&
		    facts.st_ino == inode_of(descriptor))
			return fd;
	}
	return -1;
}

/* ---- the system says no ---- */

static const struct {
	unsigned adds;
	int command;
	bool keeps;
	bool is_inherited;
	bool is_at_zero;
} refusals[] = {
	{ .adds = 0, .command = -1, .keeps = true },
	{ .adds = 9, .command = F_SETFD, .keeps = true, .is_inherited = true },
	{ .adds = 9, .command = -1, .keeps = false },
	/* The number is a standard stream's, and it cannot have another. */
	{ .adds = 9, .command = F_DUPFD_CLOEXEC, .keeps = true, .is_at_zero = true },
};

static void expect_refused(const struct body *others)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct body body;
		int descriptor = -1;
		int last;

		body_init(&body, SHARE_RESOURCE, SHARE_NT);
		unsigned before = open_files(0, &last);
		int input = dup(STDIN_FILENO);
		if (refusals[i].is_at_zero)
			close(STDIN_FILENO);
		allowed.adds = refusals[i].adds;
		allowed.command = refusals[i].command;
		allowed.keeps = refusals[i].keeps;
		NTSTATUS status = share_one(&body, refusals[i].is_inherited, &descriptor);
		allow_all();
		dup2(input, STDIN_FILENO);
		close(input);
		EXPECT_RULE(status, STATUS_TOO_MANY_OPENED_FILES, "API-DESCRIPTORS");
		EXPECT_EQ(open_files(0, &last), before);
		EXPECT(!others || !others->is_gone);
		share_close(&body.share);
		EXPECT(body.is_gone);
	}
}

TEST(refusal, of_the_system_leaves_nothing_behind)
{
	begin();
	expect_refused(NULL);
	EXPECT(table.watch_fd < 0);
	table_end();
}

TEST(refusal, of_the_system_leaves_what_is_shared_as_it_was)
{
	struct body body;

	begin();
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	int descriptor = share_alone(&body, &plain);
	expect_refused(&body);
	EXPECT(table.watch_fd >= 0);
	EXPECT_EQ(find(descriptor, SHARE_RESOURCE), STATUS_SUCCESS);
	close(descriptor);
	share_sweep(&table);
	EXPECT(body.is_gone);
	table_end();
}

/* ---- a client that closes what is not its own ---- */

/* Two are shared; the watch and the first one are closed. */
static void begin_with_closed_watch(struct body bodies[2], int descriptors[2])
{
	begin();
	for (unsigned i = 0; i < 2; i++) {
		body_init(&bodies[i], SHARE_RESOURCE, SHARE_NT);
		descriptors[i] = share_alone(&bodies[i], &plain);
	}
	close(table.watch_fd);
	close(descriptors[0]);
}

TEST(watch, that_the_client_closed_is_made_anew_by_who_looks)
{
	struct body bodies[2];
	int descriptors[2];

	begin_with_closed_watch(bodies, descriptors);
	share_sweep(&table);
	EXPECT(bodies[0].is_gone && !bodies[1].is_gone);
	/* Who cannot have one now is told nothing, and the next handle makes it. */
	struct body next;
	close(table.watch_fd);
	allowed.watches = false;
	share_sweep(&table);
	allow_all();
	EXPECT(table.watch_fd < 0);
	body_init(&next, SHARE_RESOURCE, SHARE_NT);
	close(share_alone(&next, &plain));
	share_sweep(&table);
	EXPECT(next.is_gone && !bodies[1].is_gone);
	close(descriptors[1]);
	share_sweep(&table);
	EXPECT(bodies[1].is_gone);
	table_end();
}

TEST(watch, that_cannot_be_made_anew_leaves_its_handles_to_the_end_of_the_program)
{
	struct body bodies[2];
	int descriptors[2];

	begin_with_closed_watch(bodies, descriptors);
	close(descriptors[1]);
	allowed.adds = 1;
	share_sweep(&table);
	allow_all();
	EXPECT(bodies[0].is_gone && !bodies[1].is_gone);
	share_sweep(&table);
	EXPECT(!bodies[1].is_gone);
	table_end();
	EXPECT(bodies[1].is_gone);
}

TEST(watch, that_the_client_closed_is_no_reason_not_to_end)
{
	struct body body;

	begin();
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	int descriptor = share_alone(&body, &plain);
	close(table.watch_fd);
	table_end();
	EXPECT(body.is_gone);
	close(descriptor);
}

/* Its epoll goes with the last end that could be watched; there is nothing to make a new one for. */
TEST(watch, without_any_end_of_ours_is_not_made_anew)
{
	struct body body;

	begin();
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	int descriptor = share_alone(&body, &plain);
	close(other_end(descriptor));
	close(table.watch_fd);
	share_sweep(&table);
	EXPECT(!body.is_gone);
	EXPECT(table.watch_fd < 0);
	/* The next one makes its own, and what lost its end is not in it. */
	struct body next;
	body_init(&next, SHARE_RESOURCE, SHARE_NT);
	int second = share_alone(&next, &plain);
	close(second);
	share_sweep(&table);
	EXPECT(next.is_gone && !body.is_gone);
	table_end();
	EXPECT(body.is_gone);
	close(descriptor);
}

/* Where a child of fork() has a copy of our end, the system goes on telling of it. */
TEST(sweep, of_an_end_that_only_a_child_has_is_news_of_nobody)
{
	struct body bodies[2];
	int descriptors[2];
	int hold[2];
	char byte;

	begin();
	for (unsigned i = 0; i < 2; i++) {
		body_init(&bodies[i], SHARE_RESOURCE, SHARE_NT);
		descriptors[i] = share_alone(&bodies[i], &plain);
	}
	int ours = other_end(descriptors[0]);
	EXPECT_EQ(pipe(hold), 0);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		close(hold[1]);
		close(descriptors[1]);
		close(descriptors[0]);
		_exit(read(hold[0], &byte, 1) != 0);
	}
	close(hold[0]);
	close(ours);
	close(descriptors[0]);
	/* When the child has closed its copy of the client's end. */
	while (!bodies[0].is_gone)
		share_sweep(&table);
	share_sweep(&table);
	EXPECT(!bodies[1].is_gone);
	EXPECT_EQ(find(descriptors[1], SHARE_RESOURCE), STATUS_SUCCESS);
	close(descriptors[1]);
	share_sweep(&table);
	EXPECT(bodies[1].is_gone);
	close(hold[1]);
	waitpid(child, NULL, 0);
	table_end();
}

/* As many as one look is told of, and none after them. */
TEST(sweep, of_a_whole_round_ends_with_the_last_handle)
{
	enum { ROUND = 16 };
	static struct body bodies[ROUND];
	int descriptors[ROUND];

	begin();
	for (unsigned i = 0; i < ROUND; i++) {
		body_init(&bodies[i], SHARE_RESOURCE, SHARE_NT);
		descriptors[i] = share_alone(&bodies[i], &plain);
	}
	for (unsigned i = 0; i < ROUND; i++)
		close(descriptors[i]);
	share_sweep(&table);
	for (unsigned i = 0; i < ROUND; i++)
		EXPECT(bodies[i].is_gone);
	EXPECT(table.watch_fd < 0);
	table_end();
}

/* ---- which descriptor it is ---- */

TEST(descriptor, of_ours_is_no_handle_of_the_clients)
{
	struct body body;

	begin();
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	int descriptor = share_alone(&body, &plain);
	EXPECT_RULE(find(other_end(descriptor), SHARE_RESOURCE), STATUS_INVALID_HANDLE,
		    "API-NT-HANDLE");
	EXPECT_EQ(find(descriptor, SHARE_RESOURCE), STATUS_SUCCESS);
	close(descriptor);
	table_end();
}

/* Inodes are numbered by each device for itself. */
TEST(descriptor, of_another_device_is_another_file)
{
	struct body body;

	begin();
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	int descriptor = share_alone(&body, &plain);
	allowed.other_dev = 1;
	EXPECT_RULE(find(descriptor, SHARE_RESOURCE), STATUS_INVALID_HANDLE, "API-NT-HANDLE");
	allow_all();
	EXPECT_EQ(find(descriptor, SHARE_RESOURCE), STATUS_SUCCESS);
	close(descriptor);
	table_end();
}

/* ---- global handles ---- */

/* Who has found the handle may come to the body after its last reference. */
TEST(global, handle_of_a_body_that_is_going_finds_nothing)
{
	struct body body;
	struct share *found = NULL;

	begin();
	body_init(&body, SHARE_RESOURCE, SHARE_GLOBAL);
	uint32_t handle = body.share.global.handle;
	object_get(&body.share.global); /* the lookup's */
	share_put(&body.share);
	EXPECT(!body.is_gone);
	EXPECT_RULE(share_find_global(&table, 0, handle, SHARE_RESOURCE, "hGlobalShare", &found),
		    STATUS_INVALID_PARAMETER, "API-HANDLE");
	EXPECT(object_retire(&body.share.global));
	object_put(&body.share.global);
	EXPECT(body.is_gone);
	table_end();
}

enum { OPENERS = 3, OPENINGS = 200000 };

static _Atomic unsigned ready;

static void open_and_close(void *argument)
{
	struct share *share = argument;

	ready++;
	while (ready < OPENERS)
		thread_point();
	for (unsigned i = 0; i < OPENINGS; i++) {
		EXPECT(share_open(share));
		share_close(share);
	}
}

TEST(threads, that_open_the_same_share_are_all_counted)
{
	struct thread *threads[OPENERS];
	struct body body;

	begin();
	body_init(&body, SHARE_RESOURCE, SHARE_GLOBAL);
	for (unsigned i = 0; i < OPENERS; i++)
		EXPECT_EQ(thread_create("opener", open_and_close, &body.share, &threads[i]),
			  STATUS_SUCCESS);
	for (unsigned i = 0; i < OPENERS; i++)
		thread_join(threads[i]);
	EXPECT_EQ(atomic_load(&body.share.openings), 1);
	EXPECT(!body.is_gone);
	share_close(&body.share);
	EXPECT(body.is_gone);
	table_end();
}

TEST_MAIN("object/share_trouble")
