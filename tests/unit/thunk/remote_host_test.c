/* SPDX-License-Identifier: MIT */
/*
 * remote_host_test.c - the client's side of a server (src/thunk/remote.h) when the host gives no memory, no
 * mapping, no descriptor or no thread: calls are refused by name, nobody waits in vain, and when there is
 * some again everything works.
 */
#include "support/test.h"

#include <sys/eventfd.h>

#include "unit/thunk/played_calls.h"

enum { FILE_NUMBER = 3, SAME_BUCKET = FILE_NUMBER + 1024 };

static void begin(void)
{
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
}

static NTSTATUS lock2(char **data_out)
{
	D3DKMT_LOCK2 args = { .hDevice = DEVICE, .hAllocation = MEMORY };
	NTSTATUS status = connection_call(CALL_lock2, &args);

	*data_out = args.pData;
	return status;
}

/* ---- connecting ---- */

struct lack {
	enum host_thing thing;
	NTSTATUS status;
	const char *rule;
	const char *words;
};

static void cannot_connect(void *argument)
{
	static const struct lack lacks[] = {
		{ HOST_MAP, STATUS_NO_MEMORY, "API-NO-MEMORY", "no addresses" },
		{ HOST_NUMBER, STATUS_TOO_MANY_OPENED_FILES, "API-DESCRIPTORS",
		  "no file descriptor" },
		{ HOST_THREAD, STATUS_NO_MEMORY, "API-NO-MEMORY", "no memory for a thread" },
	};

	(void)argument;
	played_open(kernel);
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		host_refuse_all(lacks[i].thing);
		expect_refused(close_adapter(), lacks[i].status, lacks[i].rule, lacks[i].words);
		CHILD_EXPECT(host_may());
	}
	/* One for the socket, and none to keep for what the server shows. */
	host_refuse(HOST_NUMBER, 2);
	expect_refused(close_adapter(), STATUS_TOO_MANY_OPENED_FILES, "API-DESCRIPTORS",
		       "no file descriptor");
	CHILD_EXPECT(host_may());
	/* Less than it would like is enough. */
	atomic_store(&host.most_bytes, UINT64_C(1) << 32);
	remote_views_forget();
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
}

TEST(connection, that_the_host_does_not_let_be_made_is_refused_and_made_later)
{
	EXPECT_PLAYED(cannot_connect, NULL);
}

static void has_little(void *argument)
{
	(void)argument;
	played_open(kernel);
	atomic_store(&host.most_bytes, UINT64_C(1) << 32);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	CHILD_EXPECT(played.hello.hello.arena_bytes == UINT64_C(1) << 32);
	CHILD_EXPECT(played.hello.hello.arena_address != 0);
}

TEST(connection, takes_as_many_addresses_as_there_are)
{
	EXPECT_PLAYED(has_little, NULL);
}

/* ---- memory ---- */

static void expect_answer(NTSTATUS status)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	if (NT_SUCCESS(status))
		return;
	CHILD_EXPECT(connection_last_refusal(&why) && why.status == status);
	CHILD_EXPECT(why.rule[0] != '\0' && why.reason[0] != '\0');
	CHILD_EXPECT(status == STATUS_NO_MEMORY || status == STATUS_INSUFFICIENT_RESOURCES ||
		     status == STATUS_INVALID_PARAMETER);
}

static NTSTATUS wait_by_event(int event)
{
	static const D3DKMT_HANDLE fence = MEMORY;
	static const UINT64 value = 1;
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args = {
		.hDevice = DEVICE,
		.ObjectCount = 1,
		.ObjectHandleArray = &fence,
		.FenceValueArray = &value,
		.hAsyncEvent = (HANDLE)(intptr_t)event,
	};

	return connection_call(CALL_wait_for_synchronization_object_from_cpu, &args);
}

/* All that the client's side takes memory for. */
static void call_all(void)
{
	static unsigned char bytes[LONG_BYTES];
	HANDLE handle;
	char *data;

	expect_answer(close_adapter());
	expect_answer(escape(bytes, LONG_BYTES));
	expect_answer(wait_by_event(eventfd(0, EFD_CLOEXEC)));
	expect_answer(share(&handle));
	played_say_file(FILE_NUMBER, 1, false, "");
	played_show(0, 0, FILE_NUMBER, 1, true);
	expect_answer(lock2(&data));
	played.view_count = 0;
}

static bool *was_refused; /* shared with the child */

static void lacks_memory(void *argument)
{
	HANDLE handle;

	played_open(kernel);
	host_refuse(HOST_MEMORY, *(int *)argument);
	/* Without a first call there is nobody to send a file to. */
	expect_answer(close_adapter());
	call_all();
	*was_refused = host_may();
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	CHILD_EXPECT(share(&handle) == STATUS_SUCCESS);
}

TEST(memory, that_is_lacking_anywhere_is_refused_and_nobody_waits)
{
	int nth = 0;

	was_refused = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(was_refused != MAP_FAILED);
	do {
		nth++;
		EXPECT_PLAYED(lacks_memory, &nth);
	} while (*was_refused && nth < 100);
	EXPECT(nth > 8 && nth < 100);
	munmap(was_refused, 4096);
}

static void lacks_number(void *argument)
{
	int event = eventfd(0, EFD_CLOEXEC);

	(void)argument;
	begin();
	host_refuse(HOST_NUMBER, 1);
	CHILD_EXPECT(remote_event_lend((uintptr_t)event) == 0);
	CHILD_EXPECT(host_may());
	CHILD_EXPECT(remote_event_lend((uintptr_t)event) != 0);
}

TEST(event, for_which_there_is_no_descriptor_is_not_lent)
{
	EXPECT_PLAYED(lacks_number, NULL);
}

/* ---- views ---- */

static void file_is_not_mapped(void)
{
	host_refuse_all(HOST_MAP);
	played_say_file(FILE_NUMBER, 1, false, "");
	settle();
}

static void file_is_not_kept(void)
{
	host_refuse(HOST_SHOW, 1);
	host_refuse(HOST_NUMBER, 1);
	played_say_file(FILE_NUMBER, 1, false, "");
	settle();
}

static void file_has_no_memory(void)
{
	host_refuse(HOST_MEMORY, 1);
	played_say_file(FILE_NUMBER, 1, false, "");
	settle();
}

static void file_is_gone(void)
{
	const struct wire_message gone = { .kind = WIRE_FILE_GONE, .number = FILE_NUMBER };

	played_say_file(FILE_NUMBER, 1, false, "");
	played_say(&gone, -1);
	settle();
}

static void page_is_not_shown(void)
{
	played_say_file(FILE_NUMBER, 1, false, "");
	settle();
	host_refuse(HOST_SHOW, 1);
}

static void page_is_not_protected(void)
{
	played_say_file(FILE_NUMBER, 1, false, "");
	settle();
	played.views[0].kind = CLIENT_VIEW_READ;
	host_refuse(HOST_PROTECT, 1);
}

static void view_has_no_memory(void)
{
	played_say_file(FILE_NUMBER, 1, false, "");
	settle();
	host_refuse(HOST_MEMORY, 1);
}

static void page_is_behind_the_file(void)
{
	played_say_file(FILE_NUMBER, 1, false, "");
	played.runs[0].first_page = 2;
}

static void pages_are_more_than_the_file(void)
{
	played_say_file(FILE_NUMBER, 1, false, "");
	played.runs[0].page_count = 2;
	played.views[0].page_count = 2;
}

/* Of the file that the server has said and closed. */
static int number_of_file(void)
{
	char path[32];
	char name[64] = "";

	for (int number = 0; number < (int)sysconf(_SC_OPEN_MAX); number++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", number);
		ssize_t length = readlink(path, name, sizeof(name) - 1);
		if (length > 0 && strncmp(name, "/memfd:played ", strlen("/memfd:played ")) == 0)
			return number;
	}
	return -1;
}

static void descriptor_is_closed(void)
{
	host_refuse(HOST_SHOW, 1);
	played_say_file(FILE_NUMBER, 1, false, "");
	settle();
	CHILD_EXPECT(close(number_of_file()) == 0);
}

static void (*const obstacles[])(void) = {
	file_is_not_mapped,      file_is_not_kept,
	file_has_no_memory,      file_is_gone,
	page_is_not_shown,       view_has_no_memory,
	page_is_behind_the_file, pages_are_more_than_the_file,
	page_is_not_protected,   descriptor_is_closed,
};

static NTSTATUS try_old_lock(void)
{
	D3DKMT_LOCK args = { .hDevice = DEVICE, .hAllocation = MEMORY };

	return connection_call(CALL_lock, &args);
}

static NTSTATUS try_lock2(void)
{
	char *data;

	return lock2(&data);
}

static NTSTATUS try_create_device(void)
{
	D3DKMT_CREATEDEVICE args = { .hAdapter = 1 };

	return connection_call(CALL_create_device, &args);
}

struct sight {
	void (*obstacle)(void);
	NTSTATUS (*call)(void);
	unsigned unlocks;
};

static void is_not_seen(void *argument)
{
	const struct sight *sight = argument;
	char *data;

	begin();
	played_show(0, 0, FILE_NUMBER, 1, true);
	played.view_count = 0; /* not with the calls that settle */
	sight->obstacle();
	played.view_count = 1;
	expect_refused(sight->call(), STATUS_NO_MEMORY, "MM-NO-MAPPINGS", "does not map");
	(void)host_may();
	/* What was locked and cannot be seen is not locked. */
	CHILD_EXPECT(count_asked(CALL_unlock2) == sight->unlocks);
	/* Another file can be seen at the same address. */
	played_say_file(SAME_BUCKET, 1, false, "here");
	played_show(0, 0, SAME_BUCKET, 2, true);
	CHILD_EXPECT(lock2(&data) == STATUS_SUCCESS && strcmp(data, "here") == 0);
}

TEST(view, that_the_host_does_not_show_is_refused_and_the_lock_undone)
{
	for (size_t i = 0; i < sizeof(obstacles) / sizeof(obstacles[0]); i++) {
		EXPECT_PLAYED(is_not_seen, &((struct sight){ obstacles[i], try_lock2, 1 }));
	}
	EXPECT_PLAYED(is_not_seen, &((struct sight){ page_is_not_shown, try_old_lock, 1 }));
	EXPECT_PLAYED(is_not_seen, &((struct sight){ page_is_not_shown, try_create_device, 0 }));
}

/* It was sealed before this process, which is let write to it, could map it. */
static void came_too_late(void *argument)
{
	char *data;

	(void)argument;
	begin();
	played_say_file(FILE_NUMBER, 1, true, "sealed");
	played_show(0, 0, FILE_NUMBER, 1, true);
	expect_refused(lock2(&data), STATUS_ACCESS_DENIED, "MM-LOCK-SHARED", "may only read");
	CHILD_EXPECT(count_asked(CALL_unlock2) == 1);
	played_show(0, 0, FILE_NUMBER, 2, false);
	CHILD_EXPECT(lock2(&data) == STATUS_SUCCESS && strcmp(data, "sealed") == 0);
}

TEST(view, of_what_was_sealed_meanwhile_is_not_shown_to_be_written_and_the_lock_undone)
{
	EXPECT_PLAYED(came_too_late, NULL);
}

/* A host on which a mapping cannot be shown twice: the descriptor is kept for it. */
static void keeps_descriptors(void *argument)
{
	bool is_sealed = *(bool *)argument;
	char *data;

	begin();
	host_refuse_all(HOST_SHOW);
	char *pages = played_say_file(FILE_NUMBER, 2, is_sealed, "first");
	strcpy(pages + PLAYED_PAGE, "second");
	played_show(0, 0, FILE_NUMBER, 1, !is_sealed);
	CHILD_EXPECT(lock2(&data) == STATUS_SUCCESS && strcmp(data, "first") == 0);
	if (!is_sealed)
		CHILD_EXPECT(strcmp(strcpy(data, "ours"), pages) == 0);
	played.runs[0].first_page = 1;
	played.views[0].stamp = 2;
	CHILD_EXPECT(lock2(&data) == STATUS_SUCCESS && strcmp(data, "second") == 0);
}

TEST(view, is_shown_from_its_descriptor_where_the_host_shows_no_page_twice)
{
	EXPECT_PLAYED(keeps_descriptors, &(bool){ false });
	EXPECT_PLAYED(keeps_descriptors, &(bool){ true });
}

/* Files that fall into one bucket, come twice and go in any order. */
static void has_many_files(void *argument)
{
	struct wire_message gone = { .kind = WIRE_FILE_GONE };
	char *data;

	(void)argument;
	begin();
	played_say_file(FILE_NUMBER, 1, false, "first");
	played_say_file(SAME_BUCKET, 1, false, "second");
	played_say_file(FILE_NUMBER, 1, false, "twice");
	for (uint32_t i = 0; i < 2; i++) {
		played_show(0, i, i == 0 ? FILE_NUMBER : SAME_BUCKET, 1 + i, true);
		CHILD_EXPECT(lock2(&data) == STATUS_SUCCESS);
		CHILD_EXPECT(strcmp(data, i == 0 ? "first" : "second") == 0);
	}
	played.view_count = 0;
	for (uint32_t i = 0; i < 3; i++) {
		gone.number = i == 0 ? FILE_NUMBER : SAME_BUCKET; /* the last one a second time */
		played_say(&gone, -1);
	}
	settle();
	CHILD_EXPECT(strcmp(data, "second") == 0); /* what is shown stays */
}

TEST(file, is_found_among_others_and_what_it_showed_outlives_it)
{
	EXPECT_PLAYED(has_many_files, NULL);
}

/* Who is shown a file that never comes waits for the server's end, and no longer. */
static void file_never_comes(void *argument)
{
	char *data;

	(void)argument;
	begin();
	played_say_file(FILE_NUMBER, 1, false, "");
	settle();
	played_show(0, 0, FILE_NUMBER, 1, true);
	played_show(1, 1, SAME_BUCKET, 2, true);
	host.at_memory = played_hang_up; /* when the first view is made */
	expect_lost(lock2(&data));
	host.at_memory = NULL;
	expect_lost(close_adapter());
}

TEST(file, that_never_comes_is_not_waited_for_when_the_server_has_gone)
{
	EXPECT_PLAYED(file_never_comes, NULL);
}

static void say_file_later(void *unused)
{
	(void)unused;
	while (count_asked(CALL_lock2) == 0)
		thread_relax();
	played_say_file(FILE_NUMBER, 1, false, "anew");
}

/* The next server begins its numbers anew. */
static void numbers_come_again(void *argument)
{
	const struct wire_message gone = { .kind = WIRE_FILE_GONE, .number = FILE_NUMBER };
	struct thread *thread;
	char *data;

	(void)argument;
	begin();
	played_say(&gone, -1);
	settle();
	atomic_store(&played.hangs_up_at, CALL_close_adapter);
	expect_lost(close_adapter());
	atomic_store(&played.hangs_up_at, PLAYED_NEVER);
	connection_close();
	played_show(0, 0, FILE_NUMBER, 1, true);
	CHILD_EXPECT(NT_SUCCESS(thread_create("file", say_file_later, NULL, &thread)));
	CHILD_EXPECT(lock2(&data) == STATUS_SUCCESS && strcmp(data, "anew") == 0);
	thread_join(thread);
}

TEST(file, of_the_next_server_is_waited_for_though_one_of_its_number_had_gone)
{
	EXPECT_PLAYED(numbers_come_again, NULL);
}

/* ---- the end ---- */

static void await_end(void)
{
	lock_acquire(&remote.lock);
	while (!atomic_load(&remote.is_over) || remote.is_changing)
		notice_wait_relock(&remote.changed, &remote.lock);
	lock_release(&remote.lock);
}

static void ends(void *argument)
{
	enum host_thing lack = *(enum host_thing *)argument;
	bool is_all = lack == HOST_THINGS;
	uint64_t *fence;
	char *memory;

	begin();
	*(uint64_t *)played_say_file(FILE_NUMBER, 1, true, "") = 5;
	played_say_file(SAME_BUCKET, 1, false, "locked");
	played_show(1, 1, SAME_BUCKET, 2, true);
	played_show(0, 0, FILE_NUMBER, 1, false);
	played.view_count = 2;
	CHILD_EXPECT(lock2((char **)&fence) == STATUS_SUCCESS && *fence == 5);
	memory = (char *)fence + PLAYED_PAGE;
	if (!is_all)
		host_refuse_all(lack);
	played.view_count = 0;
	atomic_store(&played.hangs_up_at, CALL_close_adapter);
	expect_lost(close_adapter());
	await_end();
	/* A fence reads its maximum, or its last value; what is locked stays. */
	CHILD_EXPECT(*(volatile uint64_t *)fence == (is_all ? UINT64_MAX : 5));
	CHILD_EXPECT(strcmp(memory, "locked") == 0);
}

TEST(end, of_the_server_shows_in_fences_as_far_as_the_host_allows)
{
	EXPECT_PLAYED(ends, &(enum host_thing){ HOST_THINGS });
	EXPECT_PLAYED(ends, &(enum host_thing){ HOST_MAP });
	EXPECT_PLAYED(ends, &(enum host_thing){ HOST_REMAP });
}

TEST_MAIN("thunk/remote_host")
