/* SPDX-License-Identifier: MIT */
/*
 * descriptors_test.c - a client that closes descriptors it does not know.
 *
 * Daemons close everything from 3 on. What the library kept among them is gone then, and files of
 * the client's own get the same numbers: none of them is ever written to, cut, emptied, listened to
 * or closed by the library, whatever the client does next, and at its end.
 */
#include "api/residency.h"

#include <dirent.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The files are as large as the machine's memory (PHYSICAL), so that an offset of that is in them. */
enum { MANY = 10, LARGE = 128 * KIB, FILE_BYTES = 16 * MIB, LAST_SELECTED = 1023 };
#define PHYSICAL "DXGK_PHYSICAL_MIB=16"

/* ---- the client's own files, which its parent looks at when it is over ---- */

static const char *folder(void)
{
	return getenv("TEST_FOLDER");
}

static int make_file(int number)
{
	char path[512];
	unsigned char *bytes;

	snprintf(path, sizeof(path), "%s/own-%d", folder(), number);
	int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHILD_EXPECT(file >= 0 && ftruncate(file, FILE_BYTES) == 0);
	bytes = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHILD_EXPECT(bytes != MAP_FAILED);
	memset(bytes, number, FILE_BYTES);
	munmap(bytes, FILE_BYTES);
	return file;
}

static void expect_file_untouched(const char *path, unsigned char byte)
{
	struct stat facts;
	int file = open(path, O_RDONLY | O_CLOEXEC);

	EXPECT(file >= 0);
	EXPECT_EQ(fstat(file, &facts), 0);
	EXPECT_EQ(facts.st_size, FILE_BYTES);
	const unsigned char *bytes = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file, 0);
	EXPECT(bytes != MAP_FAILED);
	for (size_t i = 0; i < FILE_BYTES; i++) {
		if (bytes[i] != byte)
			print_error("%s: byte 0x%zx is 0x%02x\n", path, i, bytes[i]);
		EXPECT_EQ(bytes[i], byte);
	}
	munmap((void *)bytes, FILE_BYTES);
	close(file);
}

/* How many there are, and away with them. */
static unsigned expect_files_untouched(const char *in)
{
	DIR *files = opendir(in);
	unsigned count = 0;
	struct dirent *entry;

	EXPECT(files != NULL);
	while ((entry = readdir(files)) != NULL) {
		char path[512];
		int number;

		snprintf(path, sizeof(path), "%s/%s", in, entry->d_name);
		if (sscanf(entry->d_name, "own-%d", &number) == 1) {
			expect_file_untouched(path, (unsigned char)number);
			count++;
		}
		unlink(path);
	}
	closedir(files);
	return count;
}

/* ---- a client with everything that the library keeps descriptors for ---- */

struct scene {
	struct client client;
	D3DKMT_HANDLE kept;
	D3DKMT_HANDLE fence;
	int event;
};

static unsigned char *lock_bytes(const struct client *client, D3DKMT_HANDLE handle)
{
	D3DKMT_LOCK2 args = { .hDevice = client->device, .hAllocation = handle };

	EXPECT_OK(D3DKMTLock2(&args));
	return args.pData;
}

static void unlock(const struct client *client, D3DKMT_HANDLE handle)
{
	EXPECT_OK(D3DKMTUnlock2(
		&(D3DKMT_UNLOCK2){ .hDevice = client->device, .hAllocation = handle }));
}

static void share(D3DKMT_HANDLE fence)
{
	HANDLE handle;

	EXPECT_OK(D3DKMTShareObjects(1, &fence, NULL, 0x1fffff, &handle));
}

static void signal_at(const struct scene *scene, UINT64 value)
{
	EXPECT_OK(signal_value(scene->client.device, scene->fence, value));
}

static void wait_by_event(const struct scene *scene, UINT64 value, int event)
{
	EXPECT_OK(wait_event(scene->client.device, scene->fence, value, event));
}

static void set_scene(struct scene *scene)
{
	scene->client = begin();
	scene->kept = create_sized(&scene->client, LARGE, 0);
	memset(lock_bytes(&scene->client, scene->kept), 0x5a, LARGE);
	unlock(&scene->client, scene->kept);
	EXPECT_OK(make_resident(&scene->client, &scene->kept, 1, 0));
	scene->fence = monitored_fence(scene->client.device, true).hSyncObject;
	share(scene->fence);
	scene->event = eventfd(0, EFD_CLOEXEC);
	wait_by_event(scene, 1, scene->event);
}

/* Goes on as if nothing had happened. */
static void work_on(const struct scene *scene)
{
	const struct client *client = &scene->client;
	D3DDDI_RECLAIM_RESULT results[MANY];
	D3DKMT_HANDLE handles[MANY];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			handles[i] = create_sized(client, LARGE, 0);
			memset(lock_bytes(client, handles[i]), (int)i, LARGE);
			unlock(client, handles[i]);
		}
		EXPECT_OK(make_resident(client, handles, MANY, 0));
		EXPECT_OK(evict(client, handles, MANY, 0));
		EXPECT_OK(offer(client, handles, MANY, D3DKMT_OFFER_PRIORITY_LOW,
				OFFER_NOW | ALLOW_DECOMMIT));
		EXPECT_OK(reclaim(client, handles, MANY, results));
		for (unsigned i = 0; i < MANY; i++)
			EXPECT_OK(destroy_now(client, handles[i]));
	}
	signal_at(scene, 1);
	D3DKMT_HANDLE another = monitored_fence(client->device, true).hSyncObject;
	share(another);
	const unsigned char *bytes = lock_bytes(client, scene->kept);
	for (size_t i = 0; i < LARGE; i++)
		CHILD_EXPECT(bytes[i] == 0x5a);
	unlock(client, scene->kept);
}

/* ---- taking the numbers ---- */

enum { MOST_NUMBERS = 256, ALL_NUMBERS = 65536 };

static int numbers[MOST_NUMBERS];
static unsigned number_count;

/* What is open from 3 on: the library's, and a few of our own. */
static void note_numbers(void)
{
	number_count = 0;
	for (int number = 3; number < ALL_NUMBERS && number_count < MOST_NUMBERS; number++) {
		if (fcntl(number, F_GETFD) >= 0)
			numbers[number_count++] = number;
	}
}

static void close_what_select_can_name(void)
{
	for (int number = 3; number <= LAST_SELECTED; number++)
		close(number);
}

static void close_all(void)
{
	CHILD_EXPECT(close_range(3, ~0U, 0) == 0);
}

/* Puts a file of our own at every number that is free by now. */
static void take_numbers(void)
{
	for (unsigned i = 0; i < number_count; i++) {
		if (fcntl(numbers[i], F_GETFD) >= 0)
			continue;
		int made = make_file(numbers[i]);
		if (made != numbers[i]) {
			CHILD_EXPECT(dup2(made, numbers[i]) == numbers[i]);
			close(made);
		}
	}
}

static int close_and_work_on(void (*close_them)(void))
{
	struct scene scene;

	set_scene(&scene);
	note_numbers();
	close_them();
	take_numbers();
	work_on(&scene);
	return 0;
}

CHILD(closes_what_select_can_name)
{
	return close_and_work_on(close_what_select_can_name);
}

CHILD(closes_all)
{
	return close_and_work_on(close_all);
}

/* The trace is full before the numbers change, and its end comes after. */
CHILD(closes_all_and_only_ends)
{
	struct scene scene;

	set_scene(&scene);
	note_numbers();
	close_all();
	take_numbers();
	return 0;
}

static const char *setting(const char *name, const char *file)
{
	static char texts[2][600];
	static unsigned next;
	char *text = texts[next++ % 2];

	snprintf(text, sizeof(texts[0]), "%s=%s/%s", name, folder(), file);
	return text;
}

static const struct child_result *run_in_folder(const char *child, bool is_traced)
{
	const char *trace = is_traced ? setting("DXGK_TRACE", "trace") : NULL;
	const char *control = is_traced ? setting("DXGK_CONTROL", "control") : NULL;

	/* Two adapters of one driver, the second of which is loaded from a copy of the file. */
	const char *profile = profile_setting(
		"{\"adapters\": [{\"driver\": \"soft\", \"registry\": {\"LocalMemoryMiB\": 2}},"
		" {\"driver\": \"soft\", \"registry\": {\"LocalMemoryMiB\": 1}}]}");

	return run_child(child, PHYSICAL, profile, trace, control);
}

static void expect_own_files_untouched(const char *child, bool is_traced)
{
	char path[] = "/tmp/dxgk-own-XXXXXX";

	EXPECT(mkdtemp(path) != NULL);
	setenv("TEST_FOLDER", path, 1);
	const struct child_result *result = run_in_folder(child, is_traced);
	unsigned count = expect_files_untouched(path);
	rmdir(path);
	EXPECT_CHILD(result, 0);
	EXPECT(count > 0);
}

TEST(descriptors, of_a_client_that_closed_ours_are_left_alone)
{
	expect_own_files_untouched("closes_all", false);
	expect_own_files_untouched("closes_what_select_can_name", false);
}

TEST(descriptors, of_a_client_that_is_traced_and_controlled_are_left_alone)
{
	expect_own_files_untouched("closes_all", true);
	expect_own_files_untouched("closes_what_select_can_name", true);
	expect_own_files_untouched("closes_all_and_only_ends", true);
}

TEST(descriptors, that_were_closed_are_said_in_the_log)
{
	char path[] = "/tmp/dxgk-own-XXXXXX";

	EXPECT(mkdtemp(path) != NULL);
	setenv("TEST_FOLDER", path, 1);
	const struct child_result *result = run_in_folder("closes_all", true);
	expect_files_untouched(path);
	rmdir(path);
	EXPECT_CONTAINS(result->err, "the program closed descriptor");
	EXPECT_CONTAINS(result->err, "trace");
	EXPECT_CONTAINS(result->err, "control");
}

/* ---- strangers of the same kind ---- */

enum alike { AN_EVENTFD, AN_EPOLL, A_PIPE, A_LISTENER, ALIKE_COUNT };

static unsigned alike_turn;
static int pipe_ends[MOST_NUMBERS];

static enum alike alike_of(unsigned i)
{
	return (enum alike)((i + alike_turn) % ALIKE_COUNT);
}

/* An epoll has news that it tells once, a listener a caller that is accepted once. */
static int make_alike(unsigned i)
{
	struct epoll_event once = { .events = EPOLLIN | EPOLLONESHOT };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int ends[2];
	int made = -1;

	switch (alike_of(i)) {
	case AN_EVENTFD:
		return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	case AN_EPOLL:
		made = epoll_create1(EPOLL_CLOEXEC);
		CHILD_EXPECT(epoll_ctl(made, EPOLL_CTL_ADD, eventfd(1, EFD_CLOEXEC), &once) == 0);
		return made;
	case A_PIPE:
		CHILD_EXPECT(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
		pipe_ends[i] = ends[0];
		return ends[1];
	case A_LISTENER:
		made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		/* A name that only the host knows. */
		CHILD_EXPECT(bind(made, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0);
		CHILD_EXPECT(listen(made, 1) == 0);
		socklen_t size = sizeof(address);
		CHILD_EXPECT(getsockname(made, (struct sockaddr *)&address, &size) == 0);
		int caller = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHILD_EXPECT(connect(caller, (struct sockaddr *)&address, size) == 0);
		return made;
	case ALIKE_COUNT:
		break;
	}
	return made;
}

/* After everything the library does at the end of a program. */
static void check_alike(void)
{
	struct epoll_event news;
	struct stat facts;
	uint64_t value;
	char byte;

	for (unsigned i = 0; i < number_count; i++) {
		int number = numbers[i];

		CHILD_EXPECT(fstat(number, &facts) == 0);
		switch (alike_of(i)) {
		case AN_EVENTFD:
			CHILD_EXPECT(read(number, &value, sizeof(value)) < 0 && errno == EAGAIN);
			break;
		case AN_EPOLL:
			CHILD_EXPECT(epoll_wait(number, &news, 1, 0) == 1);
			CHILD_EXPECT(news.events == EPOLLIN);
			break;
		case A_PIPE:
			CHILD_EXPECT(read(pipe_ends[i], &byte, 1) < 0 && errno == EAGAIN);
			break;
		case A_LISTENER:
			CHILD_EXPECT(accept(number, NULL, NULL) >= 0);
			break;
		case ALIKE_COUNT:
			break;
		}
	}
}

CHILD(replaces_all_by_alike)
{
	int made[MOST_NUMBERS];
	struct scene scene;

	alike_turn = (unsigned)atoi(getenv("TEST_TURN"));
	atexit(check_alike);
	set_scene(&scene);
	note_numbers();
	for (unsigned i = 0; i < number_count; i++)
		made[i] = make_alike(i);
	for (unsigned i = 0; i < number_count; i++) {
		CHILD_EXPECT(dup2(made[i], numbers[i]) == numbers[i]);
		close(made[i]);
	}
	work_on(&scene);
	return 0;
}

TEST(descriptors, of_the_same_kind_as_ours_are_left_alone)
{
	static const char *const turns[] = { "0", "1", "2", "3" };
	char path[] = "/tmp/dxgk-own-XXXXXX";

	EXPECT(mkdtemp(path) != NULL);
	setenv("TEST_FOLDER", path, 1);
	for (unsigned i = 0; i < ALIKE_COUNT; i++) {
		setenv("TEST_TURN", turns[i], 1);
		EXPECT_CHILD(run_in_folder("replaces_all_by_alike", true), 0);
	}
	expect_files_untouched(path);
	rmdir(path);
}

/* ---- numbers ---- */

CHILD(has_the_low_numbers_to_itself)
{
	struct scene scene;

	set_scene(&scene);
	note_numbers();
	/* Its own event and its NT handle come first; all that the library keeps is further up. */
	for (unsigned i = 0; i < number_count; i++)
		printf("%d\n", numbers[i]);
	return 0;
}

TEST(descriptors, that_we_keep_are_not_among_the_first)
{
	char path[] = "/tmp/dxgk-own-XXXXXX";
	const char *at;
	int low = 0;

	EXPECT(mkdtemp(path) != NULL);
	setenv("TEST_FOLDER", path, 1);
	const struct child_result *result = run_in_folder("has_the_low_numbers_to_itself", true);
	expect_files_untouched(path);
	rmdir(path);
	EXPECT_CHILD(result, 0);
	for (at = result->out; *at; at = strchr(at, '\n') + 1)
		low += atoi(at) < 64;
	/* The event, the NT handle, and what the test's own surroundings left open. */
	EXPECT(low <= 2 + atoi(getenv("TEST_OPEN")));
}

/* ---- all of them taken ---- */

enum { FEW = 64 };

static unsigned take_all_numbers(int *taken)
{
	unsigned count = 0;

	while (count < FEW && (taken[count] = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0)
		count++;
	CHILD_EXPECT(count < FEW);
	return count;
}

static bool is_short_of_descriptors(NTSTATUS status)
{
	return status == STATUS_TOO_MANY_OPENED_FILES &&
	       strcmp(last_refusal().rule, "API-DESCRIPTORS") == 0;
}

static void *make_and_see_memory(void *context)
{
	const struct client *client = context;
	D3DKMT_HANDLE memory = create_sized(client, LARGE, SOFTGPU_CPU_VISIBLE);
	void *pointer;

	CHILD_EXPECT(lock2(client->device, memory, &pointer) == STATUS_SUCCESS);
	memset(pointer, 0x5a, LARGE);
	return NULL;
}

CHILD(has_all_it_may)
{
	const struct rlimit few = { FEW, FEW };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };
	const UINT64 one = 1;
	struct client client;
	uint64_t count_of_event;
	pthread_t thread;
	int taken[FEW];
	HANDLE handle;

	CHILD_EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
	client_open(&client, child_open_adapter());
	fence.hDevice = client.device;
	fence.Info.Flags.Shared = 1;
	fence.Info.Flags.NtSecuritySharing = 1;
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHILD_EXPECT(D3DKMTCreateSynchronizationObject2(&fence) == STATUS_SUCCESS);
	CHILD_EXPECT(wait_event(client.device, fence.hSyncObject, one, event) == STATUS_SUCCESS);
	unsigned count = take_all_numbers(taken);
	/* What is only seen needs none. */
	make_and_see_memory(&client);
	for (unsigned i = 0; i < 3; i++) {
		CHILD_EXPECT(pthread_create(&thread, NULL, make_and_see_memory, &client) == 0);
		pthread_join(thread, NULL);
	}
	/* An event that was given before is set. */
	CHILD_EXPECT(signal_value(client.device, fence.hSyncObject, one) == STATUS_SUCCESS);
	CHILD_EXPECT(read(event, &count_of_event, sizeof(count_of_event)) ==
		     (ssize_t)sizeof(count_of_event));
	/* That one is free again. */
	if (count < FEW && (taken[count] = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0)
		count++;
	CHILD_EXPECT(
		is_short_of_descriptors(wait_event(client.device, fence.hSyncObject, 2, event)));
	CHILD_EXPECT(is_short_of_descriptors(
		D3DKMTShareObjects(1, &fence.hSyncObject, NULL, 0x10000000, &handle)));
	while (count > 0)
		close(taken[--count]);
	CHILD_EXPECT(wait_event(client.device, fence.hSyncObject, 2, event) == STATUS_SUCCESS);
	CHILD_EXPECT(D3DKMTShareObjects(1, &fence.hSyncObject, NULL, 0x10000000, &handle) ==
		     STATUS_SUCCESS);
	return 0;
}

TEST(descriptors, that_are_all_taken_leave_calls_that_need_none)
{
	EXPECT_CHILD(run_child("has_all_it_may"), 0);
}

int main(int argc, char **argv)
{
	char text[16];

	note_numbers();
	snprintf(text, sizeof(text), "%u", number_count + 2); /* and out and err of a child */
	setenv("TEST_OPEN", text, 1);
	return api_main("api/descriptors", argc, argv);
}
