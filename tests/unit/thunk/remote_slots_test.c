/* SPDX-License-Identifier: MIT */
/*
 * remote_slots_test.c - the client's side of a server (src/thunk/remote.h) in a program that has as many
 * descriptors as it may: what the server shows is seen all the same, whatever comes between two looks at
 * the socket, and however quick the program's other threads are.
 */
#include "support/test.h"

#include <sys/resource.h>

#include "unit/thunk/played_calls.h"

enum { FEW = 64, FILE_NUMBER = 3, NOBODY = 4711 };

/* ---- the program ---- */

static void take_all_numbers(void)
{
	unsigned count = 0;

	while (open("/dev/null", O_RDWR | O_CLOEXEC) >= 0)
		count++;
	CHILD_EXPECT(errno == EMFILE && count > 0);
}

static int file_of_text(const char *text, uint64_t size_bytes)
{
	int file = memfd_create("played", MFD_CLOEXEC);

	CHILD_EXPECT(file >= 0 && ftruncate(file, (off_t)size_bytes) == 0);
	CHILD_EXPECT(pwrite(file, text, strlen(text), 0) == (ssize_t)strlen(text));
	return file;
}

static int shown;         /* the file that the server shows */
static int of_nobody;     /* a channel's that no thread has asked for */
static _Atomic int quick; /* how often another thread takes what becomes free */

static void begin(void)
{
	const struct rlimit few = { FEW, FEW };
	const struct wire_message told = { .kind = WIRE_TOLD };

	CHILD_EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	/* The server has closed what it sent by then. */
	CHILD_EXPECT(remote_send(&told, -1));
	while (atomic_load(&played.told) == 0)
		thread_relax();
	shown = file_of_text("as it was", PLAYED_PAGE);
	of_nobody = channel_file_create(CHANNEL_BYTES);
	CHILD_EXPECT(of_nobody >= 0);
	take_all_numbers();
}

static void say_file(void)
{
	const struct wire_message message = { .kind = WIRE_FILE,
					      .number = FILE_NUMBER,
					      .size_bytes = PLAYED_PAGE };

	played_say(&message, shown);
}

static NTSTATUS see_file(void)
{
	D3DKMT_LOCK2 args = { .hDevice = DEVICE, .hAllocation = MEMORY };

	played_show(0, 0, FILE_NUMBER, 1, true);
	NTSTATUS status = connection_call(CALL_lock2, &args);
	CHILD_EXPECT(!NT_SUCCESS(status) || strcmp(args.pData, "as it was") == 0);
	return status;
}

/* ---- between two looks ---- */

static bool is_the_servers(int socket)
{
	return socket == atomic_load(&played.link)->socket;
}

static void file_comes(int socket)
{
	char byte;

	if (is_the_servers(socket) || recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
		return;
	atomic_store(&host.at_receive, NULL);
	say_file();
}

static void comes_between(void *argument)
{
	(void)argument;
	begin();
	/* Another message wakes its thread; then there is none, and then there is the file. */
	atomic_store(&host.at_receive, file_comes);
	settle();
	while (atomic_load(&host.at_receive))
		thread_relax();
	CHILD_EXPECT(see_file() == STATUS_SUCCESS);
}

TEST(file, that_comes_when_there_was_nothing_is_seen_without_a_number_for_it)
{
	EXPECT_PLAYED(comes_between, NULL);
}

/* ---- other threads ---- */

static void number_goes(int socket)
{
	if (is_the_servers(socket) || atomic_load(&quick) == 0)
		return;
	if (open("/dev/null", O_RDWR | O_CLOEXEC) >= 0)
		atomic_fetch_sub(&quick, 1);
}

static void another_is_quicker(void *argument)
{
	(void)argument;
	begin();
	atomic_store(&quick, 1);
	atomic_store(&host.at_receive, number_goes);
	say_file();
	CHILD_EXPECT(see_file() == STATUS_SUCCESS);
	CHILD_EXPECT(atomic_load(&quick) == 0);
}

TEST(file, is_seen_though_another_thread_takes_the_number_that_was_free_for_it)
{
	EXPECT_PLAYED(another_is_quicker, NULL);
}

static void another_is_quicker_always(void *argument)
{
	(void)argument;
	begin();
	atomic_store(&quick, FEW);
	atomic_store(&host.at_receive, number_goes);
	say_file();
	expect_refused(see_file(), STATUS_DEVICE_REMOVED, "SYS-SERVER",
		       "the program has as many descriptors as it may");
	CHILD_EXPECT(atomic_load(&quick) > 0);
}

TEST(program, that_takes_every_number_we_had_loses_the_server_by_name)
{
	EXPECT_PLAYED(another_is_quicker_always, NULL);
}

/* ---- channels ---- */

static void channel_lies_there(void *argument)
{
	const struct wire_message message = { .kind = WIRE_CHANNEL, .number = NOBODY };

	(void)argument;
	begin();
	for (unsigned i = 0; i < FEW; i++)
		played_say(&message, of_nobody);
	say_file();
	CHILD_EXPECT(see_file() == STATUS_SUCCESS);
}

TEST(channel, that_its_thread_has_not_taken_yet_holds_no_number)
{
	EXPECT_PLAYED(channel_lies_there, NULL);
}

TEST_MAIN("thunk/remote_slots")
