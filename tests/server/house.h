/* SPDX-License-Identifier: MIT */
/*
 * house.h - a server of a test's own, and clients of it, each in a process of its own.
 *
 *	house_open(&house, NULL)                dxgkd at a path of its own; DXGK_SOCKET is set to it
 *	lodger_start("name")                    a CHILD() of the program; it and the test talk by messages
 *	lodger_hear(), lodger_say()             … in the test; test_say(), test_hear() in the child
 *	house_close(&house)                     asked to end, which it does in order
 *	HOUSE_TEST(suite, claim)                a test between the first and the last of these
 *
 * Whatever becomes of the test, the server and the children end with it.
 */
#ifndef TESTS_SERVER_HOUSE_H
#define TESTS_SERVER_HOUSE_H

#include "api/support.h"

#include <dirent.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

enum { PATIENCE_MS = 60000, TALK_FD = 3, SERVER_ARGUMENTS_MOST = 16 };

/* ---- messages between the test and a child ---- */

struct talk {
	uint64_t word;
	uint64_t value;
};

static inline bool talk_send(int socket, struct talk talk, int descriptor)
{
	struct iovec bytes = { &talk, sizeof(talk) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = "" };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (descriptor >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(part), &descriptor, sizeof(descriptor));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(talk);
}

/* False: it has hung up, or says nothing. */
static inline bool talk_receive(int socket, struct talk *talk, int *descriptor_out)
{
	struct iovec bytes = { talk, sizeof(*talk) };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct pollfd file = { .fd = socket, .events = POLLIN };
	int got = -1;

	if (poll(&file, 1, PATIENCE_MS) != 1 ||
	    recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*talk))
		return false;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part;
	     part = CMSG_NXTHDR(&message, part))
		memcpy(&got, CMSG_DATA(part), sizeof(got));
	if (descriptor_out)
		*descriptor_out = got;
	else if (got >= 0)
		close(got);
	return true;
}

/* In a child. */
static inline void test_say(uint64_t word, uint64_t value)
{
	CHILD_EXPECT(talk_send(TALK_FD, (struct talk){ word, value }, -1));
}

static inline struct talk test_hear_with(int *descriptor_out)
{
	struct talk talk = { 0 };

	/* A test that is over has nothing to say. */
	if (!talk_receive(TALK_FD, &talk, descriptor_out))
		_exit(97);
	return talk;
}

static inline struct talk test_hear(void)
{
	return test_hear_with(NULL);
}

/* ---- the server ---- */

struct house {
	pid_t server;
	int notified; /* what it tells systemd */
	char folder[64];
	char path[96];
	char notify_path[96];
};

static struct house *house_standing;

static inline void house_remove(struct house *house)
{
	char lock[128];

	snprintf(lock, sizeof(lock), "%s.lock", house->path);
	unlink(house->path);
	unlink(lock);
	unlink(house->notify_path);
	rmdir(house->folder);
	close(house->notified);
	house_standing = NULL;
}

static inline void house_burn(void)
{
	if (house_standing && house_standing->server > 0)
		kill(house_standing->server, SIGKILL);
	if (house_standing)
		house_remove(house_standing);
}

static inline pid_t start_process(char *const *arguments, int talk)
{
	pid_t parent = getpid();
	pid_t process = fork();

	EXPECT(process >= 0);
	if (process > 0)
		return process;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(96);
	if (talk >= 0 && talk != TALK_FD)
		dup2(talk, TALK_FD);
	else if (talk >= 0)
		fcntl(talk, F_SETFD, 0);
	execv(arguments[0], arguments);
	_exit(95);
}

static inline void house_await(struct house *house, const char *word)
{
	char said[256];

	for (;;) {
		struct pollfd file = { .fd = house->notified, .events = POLLIN };

		if (poll(&file, 1, PATIENCE_MS) != 1)
			print_error("the server does not say %s\n", word);
		ssize_t length = recv(house->notified, said, sizeof(said) - 1, MSG_DONTWAIT);
		EXPECT(length >= 0);
		said[length] = '\0';
		if (strstr(said, word))
			return;
	}
}

/* `more`: options, up to NULL. */
static inline void house_start(struct house *house, const char *const *more)
{
	const char *arguments[SERVER_ARGUMENTS_MOST] = { getenv("TEST_DXGKD"), "--socket",
							 house->path };
	unsigned count = 3;

	EXPECT(arguments[0] != NULL);
	for (; more && *more; more++)
		arguments[count++] = *more;
	setenv("DXGK_TESTING", "1", 1);
	setenv("NOTIFY_SOCKET", house->notify_path, 1);
	house->server = start_process((char *const *)arguments, -1);
	unsetenv("NOTIFY_SOCKET");
	house_await(house, "READY=1");
}

static inline void house_open(struct house *house, const char *const *more)
{
	static bool is_cleaned_up;
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!is_cleaned_up)
		is_cleaned_up = atexit(house_burn) == 0;
	house_burn(); /* what a test that failed has left */
	*house = (struct house){ .folder = "/tmp/dxgk-house-XXXXXX" };
	EXPECT(mkdtemp(house->folder) != NULL);
	snprintf(house->path, sizeof(house->path), "%s/dxgk.sock", house->folder);
	snprintf(house->notify_path, sizeof(house->notify_path), "%s/ready", house->folder);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", house->notify_path);
	house->notified = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	EXPECT_EQ(bind(house->notified, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("DXGK_SOCKET", house->path, 1);
	house_standing = house;
	house_start(house, more);
}

/* Its exit status, or minus the signal that ended it. */
static inline int process_end(pid_t process)
{
	int status = 0;

	while (waitpid(process, &status, 0) < 0)
		EXPECT(errno == EINTR);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline void house_kill(struct house *house)
{
	kill(house->server, SIGKILL);
	EXPECT_EQ(process_end(house->server), -SIGKILL);
	house->server = 0;
}

static inline void house_close(struct house *house)
{
	kill(house->server, SIGTERM);
	EXPECT_EQ(process_end(house->server), 0);
	house->server = 0;
	EXPECT(access(house->path, F_OK) != 0);
	house_remove(house);
}

/* Most tests: a server with the settings of the program, whose books are right at the end. */
static struct house usual_house;

static inline void usual_house_close(void)
{
	expect_valid();
	house_close(&usual_house);
}

#define HOUSE_TEST(suite, claim)                                                                   \
	TEST_BETWEEN(house_open(&usual_house, NULL), usual_house_close(), suite, claim)

/* ---- clients ---- */

struct lodger {
	pid_t process;
	int talk;
};

static inline struct lodger lodger_start(const char *name)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *arguments[] = { path, (char *)"--child", (char *)name, NULL };
	int pair[2];

	EXPECT(length > 0);
	path[length] = '\0';
	EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	struct lodger lodger = { start_process(arguments, pair[1]), pair[0] };
	close(pair[1]);
	return lodger;
}

static inline struct talk lodger_hear_with(const struct lodger *lodger, int *descriptor_out)
{
	struct talk talk = { 0 };
	bool has_spoken = talk_receive(lodger->talk, &talk, descriptor_out);
	int status = 0;

	if (!has_spoken && waitpid(lodger->process, &status, WNOHANG) == lodger->process)
		print_error("a client has ended, with 0x%x\n", (unsigned)status);
	EXPECT(has_spoken);
	return talk;
}

/* It says this word, and a value. */
static inline uint64_t lodger_hear(const struct lodger *lodger, uint64_t word)
{
	struct talk talk = lodger_hear_with(lodger, NULL);

	EXPECT_EQ(talk.word, word);
	return talk.value;
}

static inline void lodger_say(const struct lodger *lodger, uint64_t word, uint64_t value)
{
	EXPECT(talk_send(lodger->talk, (struct talk){ word, value }, -1));
}

static inline void lodger_kill(struct lodger *lodger)
{
	kill(lodger->process, SIGKILL);
	EXPECT_EQ(process_end(lodger->process), -SIGKILL);
	close(lodger->talk);
	*lodger = (struct lodger){ 0 };
}

/* It ends by itself, and is content. */
static inline void lodger_end(struct lodger *lodger)
{
	EXPECT_EQ(process_end(lodger->process), 0);
	close(lodger->talk);
	*lodger = (struct lodger){ 0 };
}

/* ---- what the server has ---- */

struct belongings {
	long long blocks;
	struct dxgk_test_banks banks;
	unsigned descriptors;
	unsigned threads;
};

static inline unsigned count_entries(pid_t process, const char *folder)
{
	char path[64];
	unsigned count = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)process, folder);
	DIR *entries = opendir(path);
	EXPECT(entries != NULL);
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(entries);
	return count;
}

static inline struct belongings belongings_of(const struct house *house)
{
	struct belongings found = { .banks = dxgk_test_banks(),
				    .blocks = dxgk_test_memory().blocks };

	found.descriptors = count_entries(house->server, "fd");
	found.threads = count_entries(house->server, "task");
	return found;
}

/* Blocks that the server keeps for the next one: tables that grew, memory of threads. */
enum { BLOCKS_KEPT = 16 };

static inline bool is_nothing_left(const struct belongings *now, const struct belongings *before)
{
	return now->blocks <= before->blocks + BLOCKS_KEPT &&
	       now->banks.files <= before->banks.files &&
	       now->banks.taken_pages <= before->banks.taken_pages &&
	       now->banks.displaced_pages <= before->banks.displaced_pages &&
	       now->descriptors <= before->descriptors && now->threads <= before->threads;
}

/* Books are right, and nothing is left of those who are gone; a thread may be about to let go. */
static inline void expect_nothing_left(const struct house *house, const struct belongings *before)
{
	struct belongings now = belongings_of(house);

	expect_valid();
	for (int i = 0; i < 500 && !is_nothing_left(&now, before); i++) {
		usleep(10000);
		now = belongings_of(house);
	}
	if (is_nothing_left(&now, before))
		return;
	print_error("blocks %lld of %lld, files %llu of %llu, pages %llu of %llu, displaced %llu "
		    "of %llu, "
		    "descriptors %u of %u, threads %u of %u\n",
		    now.blocks, before->blocks, now.banks.files, before->banks.files,
		    now.banks.taken_pages, before->banks.taken_pages, now.banks.displaced_pages,
		    before->banks.displaced_pages, now.descriptors, before->descriptors,
		    now.threads, before->threads);
	EXPECT(is_nothing_left(&now, before));
}

static inline uint64_t kib_of_server(const struct house *house)
{
	char path[64];
	char line[256];
	unsigned long long kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)house->server);
	FILE *status = fopen(path, "re");
	EXPECT(status != NULL);
	while (fgets(line, sizeof(line), status))
		(void)!sscanf(line, "VmRSS: %llu", &kib);
	fclose(status);
	return kib;
}

/* ---- time, for patience and for chance; nobody is synchronized by it ---- */

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline uint64_t random_of(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline unsigned below(uint64_t *state, unsigned limit)
{
	return (unsigned)(random_of(state) >> 20) % limit;
}

/* In a client: a mutex that it holds with key 0. */
static inline D3DKMT_CREATEKEYEDMUTEX child_hold_mutex(void)
{
	D3DKMT_CREATEKEYEDMUTEX made = { .InitialValue = 0 };

	child_open_adapter();
	CHILD_EXPECT(D3DKMTCreateKeyedMutex(&made) == STATUS_SUCCESS);
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { made.hKeyedMutex, 0, NULL, 0 };
	CHILD_EXPECT(D3DKMTAcquireKeyedMutex(&acquire) == STATUS_SUCCESS);
	return made;
}

/* … opens one of another, which does not get it for a moment; then it waits. Says so, and what came of it. */
static inline NTSTATUS child_want_mutex(D3DKMT_HANDLE global, uint64_t key, int64_t moment,
					uint32_t word)
{
	D3DKMT_OPENKEYEDMUTEX opening = { .hSharedHandle = global };
	LARGE_INTEGER timeout = { .QuadPart = moment };

	child_open_adapter();
	CHILD_EXPECT(D3DKMTOpenKeyedMutex(&opening) == STATUS_SUCCESS);
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { opening.hKeyedMutex, key, &timeout, 0 };
	CHILD_EXPECT(D3DKMTAcquireKeyedMutex(&acquire) == STATUS_TIMEOUT);
	test_say(word, 0);
	acquire.pTimeout = NULL;
	return D3DKMTAcquireKeyedMutex(&acquire);
}

#endif
