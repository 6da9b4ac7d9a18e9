/* SPDX-License-Identifier: MIT */
/*
 * remote_things_test.c - what is no bytes, on its way to a server that the test plays and back (src/thunk/remote.h):
 * events that the server sets, descriptors of calls and of replies.
 */
#include "support/test.h"

#include <sys/eventfd.h>

#include "unit/thunk/played_calls.h"

/* ---- what goes along with a long request ---- */

enum { PIECES = 2 };

static unsigned char long_bytes[LONG_BYTES];

static struct {
	D3DDDI_ALLOCATIONINFO2 pieces[PIECES];
	D3DKMT_CREATEALLOCATION args;
	int files[2];
} creation;

/* Memory in a file, and behind it more private data than the room has. */
static NTSTATUS create_from_file(void)
{
	creation.pieces[0] = (D3DDDI_ALLOCATIONINFO2){
		.hSection = (HANDLE)(intptr_t)creation.files[0],
	};
	creation.pieces[1] = (D3DDDI_ALLOCATIONINFO2){ .pPrivateDriverData = long_bytes,
						       .PrivateDriverDataSize = LONG_BYTES };
	creation.args = (D3DKMT_CREATEALLOCATION){ .hDevice = DEVICE,
						   .Flags.ExistingSection = 1,
						   .NumAllocations = PIECES,
						   .pAllocationInfo2 = creation.pieces };
	return connection_call(CALL_create_allocation2, &creation.args);
}

/* What another thread does between the two times that a long request is written. */
static void change_file(void)
{
	creation.pieces[0].hSection = (HANDLE)(intptr_t)creation.files[1];
}

static void change_size(void)
{
	creation.pieces[1].PrivateDriverDataSize /= 2;
}

/* They come over the socket, beside the calls. */
static void await_descriptors(uint32_t count)
{
	while (atomic_load(&played.descriptors) < count)
		thread_relax();
	CHILD_EXPECT(atomic_load(&played.descriptors) == count);
}

static void open_creation(void)
{
	creation.files[0] = memfd_create("first", MFD_CLOEXEC);
	creation.files[1] = memfd_create("second", MFD_CLOEXEC);
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
}

static bool is_same_file(int one, int other)
{
	struct stat facts[2];

	return fstat(one, &facts[0]) == 0 && fstat(other, &facts[1]) == 0 &&
	       facts[0].st_ino == facts[1].st_ino;
}

static void sends_once(void *argument)
{
	(void)argument;
	open_creation();
	CHILD_EXPECT(create_from_file() == STATUS_SUCCESS);
	CHILD_EXPECT(count_asked(WIRE_PUT) > 1);
	await_descriptors(1);
	CHILD_EXPECT(is_same_file(atomic_load(&played.descriptor), creation.files[0]));
	/* Another one by then: that goes along, too. */
	host.at_memory = change_file;
	CHILD_EXPECT(create_from_file() == STATUS_SUCCESS);
	host.at_memory = NULL;
	await_descriptors(3);
	CHILD_EXPECT(is_same_file(atomic_load(&played.descriptor), creation.files[1]));
}

TEST(descriptor, goes_along_once_though_a_long_request_is_written_twice)
{
	EXPECT_PLAYED(sends_once, NULL);
}

static void changes_meanwhile(void *argument)
{
	(void)argument;
	open_creation();
	host.at_memory = change_size;
	expect_refused(create_from_file(), STATUS_INVALID_PARAMETER, "SYS-SERVER",
		       "another thread changes the arguments");
	host.at_memory = NULL;
	CHILD_EXPECT(count_asked(CALL_create_allocation2) == 0);
	CHILD_EXPECT(create_from_file() == STATUS_SUCCESS);
}

TEST(arguments, that_change_while_they_are_read_are_refused)
{
	EXPECT_PLAYED(changes_meanwhile, NULL);
}

static void sends_too_many(void *argument)
{
	enum { COUNT = REMOTE_SENT_MOST + 6 };
	static D3DDDI_ALLOCATIONINFO2 all[COUNT];
	D3DKMT_CREATEALLOCATION args = { .hDevice = DEVICE,
					 .Flags.ExistingSection = 1,
					 .NumAllocations = COUNT,
					 .pAllocationInfo2 = all };

	(void)argument;
	open_creation();
	for (unsigned i = 0; i < COUNT; i++)
		all[i].hSection = (HANDLE)(intptr_t)creation.files[0];
	/* The server finds none in those that are too many, and refuses by the rule it has. */
	CHILD_EXPECT(connection_call(CALL_create_allocation2, &args) == STATUS_SUCCESS);
	await_descriptors(REMOTE_SENT_MOST);
	all[0].hSection = (HANDLE)((intptr_t)1 << 40); /* no descriptor has such a number */
	all[1].hSection = (HANDLE)(intptr_t)2000000;
	args.NumAllocations = 3;
	CHILD_EXPECT(connection_call(CALL_create_allocation2, &args) == STATUS_SUCCESS);
	await_descriptors(REMOTE_SENT_MOST + 1);
}

TEST(descriptor, beyond_what_goes_with_one_call_does_not_go)
{
	EXPECT_PLAYED(sends_too_many, NULL);
}

/* ---- events ---- */

static uint64_t read_event(int event)
{
	uint64_t count = 0;

	return read(event, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}

static void sets_events(void *argument)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int pipe_ends[2];

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	CHILD_EXPECT(pipe(pipe_ends) == 0);
	CHILD_EXPECT(remote_event_lend((uintptr_t)pipe_ends[0]) == 0);
	CHILD_EXPECT(remote_event_lend((uintptr_t)1 << 40) == 0);
	uint32_t number = remote_event_lend((uintptr_t)event);
	CHILD_EXPECT(number != 0);
	played_say_event(WIRE_EVENT, number, 3);
	settle();
	CHILD_EXPECT(read_event(event) == 3);
	/* Of one that is full the writer would wait: it is set already. */
	CHILD_EXPECT(write(event, &(uint64_t){ UINT64_MAX - 1 }, 8) == 8);
	played_say_event(WIRE_EVENT, number, 1);
	settle();
	CHILD_EXPECT(read_event(event) == UINT64_MAX - 1);
	/* Closed over there it is set no more, and nobody minds that it is closed twice. */
	played_say_event(WIRE_EVENT_CLOSED, number, 0);
	played_say_event(WIRE_EVENT_CLOSED, number, 0);
	played_say_event(WIRE_EVENT, number, 1);
	settle();
	CHILD_EXPECT(read_event(event) == 0);
}

TEST(event, is_set_as_often_as_the_server_says_until_it_is_closed)
{
	EXPECT_PLAYED(sets_events, NULL);
}

/* The program closes the number that is ours, and has a file of its own there. */
static void takes_our_number(void *argument)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct stat facts;

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		int own = memfd_create("own", MFD_CLOEXEC);
		int ours = own_fd_copy(event); /* the number that is next */

		close(ours);
		uint32_t number = remote_event_lend((uintptr_t)event);
		CHILD_EXPECT(number != 0 && fcntl(ours, F_GETFD) >= 0);
		if (i == 0)
			CHILD_EXPECT(dup2(own, ours) == ours);
		else
			close(ours);
		played_say_event(WIRE_EVENT, number, 8);
		played_say_event(WIRE_EVENT_CLOSED, number, 0);
		settle();
		CHILD_EXPECT(fstat(own, &facts) == 0 && facts.st_size == 0);
		CHILD_EXPECT(i == 1 || fstat(ours, &facts) == 0);
		close(i == 0 ? ours : own);
	}
	CHILD_EXPECT(read_event(event) == 0);
}

TEST(event, whose_number_the_program_took_is_left_alone)
{
	EXPECT_PLAYED(takes_our_number, NULL);
}

/* ---- descriptors ---- */

static void misses_descriptors(void *argument)
{
	struct stat facts;
	HANDLE handle = NULL;

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(share(&handle) == STATUS_SUCCESS);
	CHILD_EXPECT(fstat((int)(intptr_t)handle, &facts) == 0);
	played.sends_back_nothing = true;
	expect_refused(share(&handle), STATUS_INVALID_PARAMETER, "SYS-SERVER",
		       "a descriptor did not arrive");
	played.sends_back_nothing = false;
	played.hangs_up_before_sending = true;
	NTSTATUS status = share(&handle);
	CHILD_EXPECT(status == STATUS_DEVICE_REMOVED || status == STATUS_INVALID_PARAMETER);
	expect_lost(share(&handle));
}

TEST(descriptor, that_does_not_arrive_makes_the_call_fail_and_nobody_wait)
{
	EXPECT_PLAYED(misses_descriptors, NULL);
}

/* One that came for a call that was never answered; the next server's has the same number. */
static void begins_anew(void *argument)
{
	struct wire_message message = { .kind = WIRE_DESCRIPTOR, .number = PLAYED_TOKEN };
	int stale = memfd_create("stale", MFD_CLOEXEC);
	HANDLE handle = NULL;

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	played_say(&message, stale);
	settle();
	atomic_store(&played.hangs_up_at, CALL_close_adapter);
	expect_lost(close_adapter());
	atomic_store(&played.hangs_up_at, PLAYED_NEVER);
	connection_close();
	CHILD_EXPECT(share(&handle) == STATUS_SUCCESS);
	CHILD_EXPECT(!is_same_file((int)(intptr_t)handle, stale));
}

TEST(descriptor, of_a_server_that_is_gone_is_not_taken_for_the_next_ones)
{
	EXPECT_PLAYED(begins_anew, NULL);
}

static unsigned count_descriptors_of(int file)
{
	unsigned count = 0;

	for (int i = 0; i < 2048; i++)
		count += is_same_file(i, file);
	return count;
}

static void hears_nonsense(void *argument)
{
	const struct wire_message strange = { .kind = 99 };
	const struct wire_message file_without = { .kind = WIRE_FILE, .number = 5 };
	int file = memfd_create("strange", MFD_CLOEXEC);

	(void)argument;
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	played_say(&strange, file);
	played_say(&strange, -1);
	played_say(&file_without, -1);
	settle();
	CHILD_EXPECT(count_descriptors_of(file) == 1);
}

TEST(message, of_no_kind_that_is_known_is_left_alone_and_its_descriptor_closed)
{
	EXPECT_PLAYED(hears_nonsense, NULL);
}

TEST_MAIN("thunk/remote_things")
