/* SPDX-License-Identifier: MIT */
/*
 * keyed_mutex_test.c - keyed mutexes, as they were observed on Windows and as their pages say.
 * Threads that wait for one are in keyed_mutex_wait_test.c.
 */
#include "api/keyed_mutex.h"

/* ---- create, open, destroy ---- */

TEST(create, refuses_no_struct)
{
	EXPECT_REFUSED(D3DKMTCreateKeyedMutex(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_REFUSED(D3DKMTCreateKeyedMutex2(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
}

MUTEX_TEST(create, gives_a_local_and_a_global_handle, create(0, &shared))
{
	EXPECT(is_local_handle(mutex));
	EXPECT(is_global_handle(shared));
}

TEST(create, numbers_handles_one_after_the_other)
{
	D3DKMT_HANDLE first = create(0, NULL);
	D3DKMT_HANDLE second = create(0, NULL);

	EXPECT_EQ(second, first + 0x40);
	EXPECT_OK(destroy(first));
	EXPECT_OK(destroy(second));
}

TEST(create2, refuses_reserved_flags_and_data_that_is_not_there)
{
	D3DKMT_CREATEKEYEDMUTEX2 args = { .hKeyedMutex = GARBAGE, .Flags.Value = 2 };

	EXPECT_REFUSED(D3DKMTCreateKeyedMutex2(&args), STATUS_INVALID_PARAMETER, "API-RESERVED",
		       "Flags");
	args.Flags.Value = 0;
	args.PrivateRuntimeDataSize = 6;
	EXPECT_REFUSED(D3DKMTCreateKeyedMutex2(&args), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pPrivateRuntimeData");
	EXPECT_EQ(args.hKeyedMutex, GARBAGE);
}

TEST(create2, for_nt_handles_gives_no_global_handle)
{
	D3DKMT_CREATEKEYEDMUTEX2 args = { .hSharedHandle = GARBAGE, .Flags.NtSecuritySharing = 1 };

	EXPECT_OK(D3DKMTCreateKeyedMutex2(&args));
	EXPECT_EQ(args.hSharedHandle, 0);
	EXPECT(is_local_handle(args.hKeyedMutex));
	EXPECT_OK(destroy(args.hKeyedMutex));
}

TEST(open, refuses_zero_whatever_is_in_the_result)
{
	D3DKMT_HANDLE mutex = create(0, NULL);
	D3DKMT_OPENKEYEDMUTEX args = { .hKeyedMutex = mutex };
	D3DKMT_OPENKEYEDMUTEX2 args2 = { .hKeyedMutex = mutex };

	EXPECT_BAD_HANDLE(D3DKMTOpenKeyedMutex(&args), "hSharedHandle");
	EXPECT_BAD_HANDLE(D3DKMTOpenKeyedMutex2(&args2), "hSharedHandle");
	EXPECT_EQ(args.hKeyedMutex, mutex);
	args.hKeyedMutex = 0;
	EXPECT_BAD_HANDLE(D3DKMTOpenKeyedMutex(&args), "hSharedHandle");
	EXPECT_OK(destroy(mutex));
}

TEST(open, refuses_a_local_handle)
{
	D3DKMT_HANDLE mutex = create(0, NULL);
	D3DKMT_HANDLE opened;

	EXPECT_BAD_HANDLE(try_open(mutex, &opened), "hSharedHandle");
	EXPECT_OK(destroy(mutex));
}

MUTEX_TEST(open, gives_a_new_local_handle_each_time, create(0, &shared))
{
	D3DKMT_HANDLE first = open_shared(shared);
	D3DKMT_HANDLE second = open_shared(shared);

	EXPECT(is_local_handle(first) && is_local_handle(second));
	EXPECT(first != second && first != mutex && second != mutex);
	EXPECT_OK(destroy(first));
	EXPECT_OK(destroy(second));
}

TEST(destroy, ends_one_handle_once)
{
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE mutex = create(0, &shared);
	D3DKMT_HANDLE opened = open_shared(shared);

	EXPECT_BAD_HANDLE(destroy(0), "hKeyedMutex");
	EXPECT_OK(destroy(opened));
	EXPECT_BAD_HANDLE(destroy(opened), "hKeyedMutex");
	EXPECT_OK(destroy(mutex));
	EXPECT_BAD_HANDLE(destroy(mutex), "hKeyedMutex");
}

MUTEX_TEST(destroy, refuses_a_global_handle_and_another_kind, create(0, &shared))
{
	D3DKMT_HANDLE adapter = open_first_adapter();

	EXPECT_BAD_HANDLE(destroy(shared), "hKeyedMutex");
	EXPECT_REFUSED(destroy(adapter), STATUS_INVALID_PARAMETER, "API-HANDLE-KIND",
		       "hKeyedMutex");
	EXPECT_OK(close_adapter(adapter));
}

TEST(destroy, of_the_last_opening_ends_the_global_handle)
{
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE mutex = create(0, &shared);
	D3DKMT_HANDLE opened = open_shared(shared);
	D3DKMT_HANDLE none;

	EXPECT_OK(destroy(mutex));
	D3DKMT_HANDLE again = open_shared(shared);
	EXPECT_OK(destroy(opened));
	EXPECT_OK(destroy(again));
	EXPECT_BAD_HANDLE(try_open(shared, &none), "hSharedHandle");
}

/* The same rules by the second version of both calls. */
TEST(open2, and_create2_live_by_the_same_rules)
{
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE mutex = create_with(NULL, 0, &shared);
	D3DKMT_HANDLE opened;
	D3DKMT_HANDLE none;

	EXPECT(is_local_handle(mutex) && is_global_handle(shared));
	EXPECT_BAD_HANDLE(try_open_with(mutex, NULL, 0, &none), "hSharedHandle");
	EXPECT_BAD_HANDLE(try_open_with(GARBAGE, NULL, 0, &none), "hSharedHandle");
	EXPECT_OK(try_open_with(shared, NULL, 0, &opened));
	EXPECT(is_local_handle(opened));
	EXPECT(opened != mutex);
	EXPECT_OK(destroy(opened));
	EXPECT_BAD_HANDLE(destroy(opened), "hKeyedMutex");
	EXPECT_OK(try_open_with(shared, NULL, 0, &opened));
	EXPECT_OK(destroy(mutex));
	EXPECT_OK(destroy(opened));
	EXPECT_BAD_HANDLE(try_open_with(shared, NULL, 0, &none), "hSharedHandle");
}

/* ---- the runtime's data ---- */

MUTEX_TEST(open2, refuses_a_size_without_data, create_with(NULL, 0, &shared))
{
	D3DKMT_HANDLE opened;

	EXPECT_REFUSED(try_open_with(shared, NULL, 6, &opened), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pPrivateRuntimeData");
}

MUTEX_TEST(open2, gives_data_to_a_mutex_that_has_none, create_with(NULL, 0, &shared))
{
	char data[64];
	char read[64] = { 0 };
	D3DKMT_HANDLE opened;

	memset(data, 0xcd, sizeof(data));
	EXPECT_OK(try_open_with(shared, data, sizeof(data), &opened));
	D3DKMT_ACQUIREKEYEDMUTEX2 args = { .hKeyedMutex = mutex,
					   .pPrivateRuntimeData = read,
					   .PrivateRuntimeDataSize = sizeof(read) };
	EXPECT_OK(D3DKMTAcquireKeyedMutex2(&args));
	EXPECT(memcmp(read, data, sizeof(data)) == 0);
	EXPECT_OK(destroy(opened));
}

MUTEX_TEST(open2, needs_no_data_of_a_mutex_that_has_some, create_with("mutex", 6, &shared))
{
	D3DKMT_HANDLE opened;

	EXPECT_OK(try_open_with(shared, NULL, 0, &opened));
	EXPECT_OK(destroy(opened));
}

MUTEX_TEST(open2, refuses_data_of_another_size_than_the_mutex_has, create_with("mutex", 6, &shared))
{
	char data[64] = { 0 };
	D3DKMT_HANDLE opened;

	EXPECT_REFUSED(try_open_with(shared, NULL, 6, &opened), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pPrivateRuntimeData");
	EXPECT_REFUSED(try_open_with(shared, data, 5, &opened), STATUS_INVALID_PARAMETER,
		       "API-MUTEX-DATA", "PrivateRuntimeDataSize");
	EXPECT_REFUSED(try_open_with(shared, data, 7, &opened), STATUS_INVALID_PARAMETER,
		       "API-MUTEX-DATA", "PrivateRuntimeDataSize");
}

MUTEX_TEST(open2, that_is_refused_takes_no_handle, create_with("mutex", 6, &shared))
{
	char data[64] = { 0 };
	D3DKMT_HANDLE opened;
	D3DKMT_HANDLE none;

	for (UINT bytes = 1; bytes <= sizeof(data); bytes++) {
		if (bytes != 6)
			EXPECT_REFUSED(try_open_with(shared, data, bytes, &none),
				       STATUS_INVALID_PARAMETER, "API-MUTEX-DATA",
				       "PrivateRuntimeDataSize");
	}
	EXPECT_OK(try_open_with(shared, data, 6, &opened));
	EXPECT_EQ(opened, mutex + 0x40);
	EXPECT_OK(destroy(opened));
}

MUTEX_TEST(open2, writes_nothing_into_the_data, create_with("mutex", 6, &shared))
{
	char data[6];
	D3DKMT_HANDLE opened;

	memset(data, 0xcd, sizeof(data));
	EXPECT_OK(try_open_with(shared, data, sizeof(data), &opened));
	for (unsigned i = 0; i < sizeof(data); i++)
		EXPECT_EQ((unsigned char)data[i], 0xcd);
	EXPECT_OK(destroy(opened));
}

MUTEX_TEST(acquire2, reads_the_data_into_room_that_may_be_larger, create_with("mutex", 6, &shared))
{
	char buffer[8];
	D3DKMT_ACQUIREKEYEDMUTEX2 args = { .hKeyedMutex = mutex,
					   .pPrivateRuntimeData = buffer,
					   .PrivateRuntimeDataSize = sizeof(buffer) };

	memset(buffer, 'x', sizeof(buffer));
	EXPECT_OK(D3DKMTAcquireKeyedMutex2(&args));
	EXPECT(memcmp(buffer, "mutex\0xx", 8) == 0);
	EXPECT_EQ(args.PrivateRuntimeDataSize, sizeof(buffer));
}

MUTEX_TEST(acquire2, with_too_little_room_is_refused_and_takes_nothing,
	   create_with("mutex", 6, &shared))
{
	char buffer[8];
	D3DKMT_ACQUIREKEYEDMUTEX2 args = { .hKeyedMutex = mutex,
					   .FenceValue = GARBAGE,
					   .pPrivateRuntimeData = buffer,
					   .PrivateRuntimeDataSize = 5 };

	EXPECT_REFUSED(D3DKMTAcquireKeyedMutex2(&args), STATUS_INVALID_PARAMETER, "API-MUTEX-DATA",
		       "PrivateRuntimeDataSize");
	EXPECT_EQ(args.FenceValue, GARBAGE);
	args.pPrivateRuntimeData = NULL;
	EXPECT_REFUSED(D3DKMTAcquireKeyedMutex2(&args), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "pPrivateRuntimeData");
	EXPECT_OK(poll(mutex, 0));
}

MUTEX_TEST(release2, replaces_the_data_for_the_next_one, create_with("mutex", 6, &shared))
{
	char buffer[6];
	D3DKMT_RELEASEKEYEDMUTEX2 args = { .hKeyedMutex = mutex,
					   .Key = SOME_KEY,
					   .FenceValue = SOME_FENCE,
					   .pPrivateRuntimeData = (void *)"other",
					   .PrivateRuntimeDataSize = 6 };
	D3DKMT_ACQUIREKEYEDMUTEX2 again = { .hKeyedMutex = mutex,
					    .Key = SOME_KEY,
					    .pPrivateRuntimeData = buffer,
					    .PrivateRuntimeDataSize = sizeof(buffer) };

	EXPECT_OK(poll(mutex, 0));
	EXPECT_OK(D3DKMTReleaseKeyedMutex2(&args));
	EXPECT_OK(D3DKMTAcquireKeyedMutex2(&again));
	EXPECT_STR(buffer, "other");
	EXPECT_EQ(again.FenceValue, SOME_FENCE);
	/* Without data the old one stays. */
	EXPECT_OK(release(mutex, SOME_KEY, 0));
	memset(buffer, 0, sizeof(buffer));
	EXPECT_OK(D3DKMTAcquireKeyedMutex2(&again));
	EXPECT_STR(buffer, "other");
}

MUTEX_TEST(release2, with_data_of_another_size_is_refused_and_releases_nothing,
	   create_with("mutex", 6, &shared))
{
	D3DKMT_RELEASEKEYEDMUTEX2 args = { .hKeyedMutex = mutex,
					   .pPrivateRuntimeData = (void *)"longer",
					   .PrivateRuntimeDataSize = 7 };

	EXPECT_OK(poll(mutex, 0));
	EXPECT_REFUSED(D3DKMTReleaseKeyedMutex2(&args), STATUS_INVALID_PARAMETER, "API-MUTEX-DATA",
		       "PrivateRuntimeDataSize");
	EXPECT_EQ(poll(mutex, 0), STATUS_TIMEOUT);
	EXPECT_OK(release(mutex, 0, 0));
}

MUTEX_TEST(versions, of_the_calls_work_on_each_others_mutexes, create_with("mutex", 6, &shared))
{
	D3DKMT_HANDLE opened = open_shared(shared);
	D3DKMT_RELEASEKEYEDMUTEX2 args = { .hKeyedMutex = opened, .Key = SOME_KEY };

	EXPECT_OK(poll(opened, 0));
	EXPECT_OK(D3DKMTReleaseKeyedMutex2(&args));
	EXPECT_OK(poll(mutex, SOME_KEY));
	EXPECT_OK(destroy(opened));
}

/* ---- acquire and release ---- */

TEST(acquire, refuses_no_struct_and_no_mutex_and_touches_nothing)
{
	D3DKMT_ACQUIREKEYEDMUTEX args = { GARBAGE, SOME_KEY, NULL, SOME_FENCE };
	D3DKMT_ACQUIREKEYEDMUTEX2 args2 = { GARBAGE, SOME_KEY, NULL, SOME_FENCE, NULL, 0 };

	EXPECT_REFUSED(D3DKMTAcquireKeyedMutex(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_REFUSED(D3DKMTAcquireKeyedMutex2(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	EXPECT_BAD_HANDLE(D3DKMTAcquireKeyedMutex(&args), "hKeyedMutex");
	EXPECT_BAD_HANDLE(D3DKMTAcquireKeyedMutex2(&args2), "hKeyedMutex");
	EXPECT_EQ(args.Key, SOME_KEY);
	EXPECT_EQ(args.FenceValue, SOME_FENCE);
	EXPECT_EQ(args2.FenceValue, SOME_FENCE);
}

TEST(acquire, of_another_key_times_out_and_sets_the_fence_to_zero)
{
	LARGE_INTEGER ten_ms = { .QuadPart = -100000 };
	D3DKMT_HANDLE mutex = create(0, NULL);
	UINT64 fence;

	if (!is_seeded())
		ten_ms.QuadPart = -1; /* of real time, as little as there is */
	EXPECT_EQ(acquire_for(mutex, 1, &ten_ms, &fence), STATUS_TIMEOUT);
	EXPECT_EQ(fence, 0);
	EXPECT_EQ(poll_fence(mutex, 1, &fence), STATUS_TIMEOUT);
	EXPECT_EQ(fence, 0);
	EXPECT_OK(destroy(mutex));
}

TEST(acquire, of_the_initial_key_succeeds_with_fence_zero)
{
	D3DKMT_HANDLE mutex = create(SOME_KEY, NULL);
	UINT64 fence;

	EXPECT_EQ(poll(mutex, 0), STATUS_TIMEOUT);
	EXPECT_OK(acquire_for(mutex, SOME_KEY, NULL, &fence));
	EXPECT_EQ(fence, 0);
	EXPECT_OK(destroy(mutex));
}

TEST(release, refuses_no_struct_and_no_mutex_and_touches_nothing)
{
	EXPECT_REFUSED(D3DKMTReleaseKeyedMutex(NULL), STATUS_INVALID_PARAMETER, "API-NULL-ARGUMENT",
		       "");
	EXPECT_REFUSED(D3DKMTReleaseKeyedMutex2(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	EXPECT_BAD_HANDLE(release(GARBAGE, SOME_KEY, SOME_FENCE), "hKeyedMutex");
}

TEST(release, succeeds_once)
{
	D3DKMT_HANDLE mutex = create(0, NULL);

	EXPECT_OK(poll(mutex, 0));
	EXPECT_OK(release(mutex, 1, SOME_FENCE));
	EXPECT_REFUSED(release(mutex, 1, SOME_FENCE), STATUS_INVALID_PARAMETER, "API-MUTEX-OWNER",
		       "hKeyedMutex");
	EXPECT_OK(destroy(mutex));
}

TEST(release, of_a_mutex_never_acquired_is_refused)
{
	D3DKMT_HANDLE mutex = create(0, NULL);

	EXPECT_REFUSED(release(mutex, 1, 0), STATUS_INVALID_PARAMETER, "API-MUTEX-OWNER",
		       "hKeyedMutex");
	EXPECT_OK(poll(mutex, 0));
	EXPECT_OK(destroy(mutex));
}

TEST(release, hands_key_and_fence_to_the_next_one)
{
	D3DKMT_HANDLE mutex = create(0, NULL);
	UINT64 fence;

	EXPECT_OK(poll(mutex, 0));
	EXPECT_OK(release(mutex, 1, SOME_FENCE));
	EXPECT_EQ(poll_fence(mutex, 0, &fence), STATUS_TIMEOUT);
	EXPECT_EQ(fence, 0);
	EXPECT_OK(poll_fence(mutex, 1, &fence));
	EXPECT_EQ(fence, SOME_FENCE);
	EXPECT_OK(release(mutex, 0, 0));
	EXPECT_OK(poll_fence(mutex, 0, &fence));
	EXPECT_EQ(fence, 0);
	EXPECT_OK(destroy(mutex));
}

MUTEX_TEST(release, through_another_handle_is_refused, create(0, &shared))
{
	D3DKMT_HANDLE opened = open_shared(shared);

	EXPECT_OK(poll(mutex, 0));
	EXPECT_REFUSED(release(opened, 1, 0), STATUS_INVALID_PARAMETER, "API-MUTEX-OWNER",
		       "hKeyedMutex");
	EXPECT_EQ(poll(opened, 0), STATUS_TIMEOUT);
	EXPECT_OK(release(mutex, 1, 0));
	EXPECT_OK(poll(opened, 1));
	EXPECT_OK(destroy(opened));
}

TEST(acquire, of_a_held_mutex_times_out_also_for_its_holder)
{
	D3DKMT_HANDLE mutex = create(0, NULL);

	EXPECT_OK(poll(mutex, 0));
	EXPECT_EQ(poll(mutex, 0), STATUS_TIMEOUT);
	EXPECT_OK(release(mutex, 0, 0));
	EXPECT_OK(destroy(mutex));
}

TEST(timeout, of_a_moment_long_past_does_not_wait)
{
	LARGE_INTEGER in_1601 = { .QuadPart = 1 };
	D3DKMT_HANDLE mutex = create(0, NULL);

	EXPECT_EQ(acquire_for(mutex, 1, &in_1601, NULL), STATUS_TIMEOUT);
	EXPECT_OK(acquire_for(mutex, 0, &in_1601, NULL));
	EXPECT_OK(destroy(mutex));
}

TEST(timeout, of_a_moment_to_come_ends_then)
{
	/* The calendar of a seeded run starts on 13 September 2020. */
	LARGE_INTEGER next_day = { .QuadPart = (1600000000 + 86400) * 10000000LL +
					       116444736000000000LL };
	D3DKMT_HANDLE mutex = create(0, NULL);

	if (is_seeded())
		EXPECT_EQ(acquire_for(mutex, 1, &next_day, NULL), STATUS_TIMEOUT);
	EXPECT_OK(acquire_for(mutex, 0, &next_day, NULL));
	EXPECT_OK(destroy(mutex));
}

/* ---- abandoned ---- */

TEST(abandon, is_what_destroying_a_holder_does_and_it_stays)
{
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE mutex = create(0, &shared);
	D3DKMT_HANDLE opened = open_shared(shared);
	UINT64 fence;

	EXPECT_OK(poll(mutex, 0));
	EXPECT_OK(destroy(mutex));
	for (UINT64 key = 0; key < 2; key++) {
		EXPECT_EQ(poll_fence(opened, key, &fence), STATUS_ABANDONED);
		EXPECT_EQ(fence, 0);
	}
	EXPECT_EQ(acquire_for(opened, SOME_KEY, NULL, NULL), STATUS_ABANDONED);
	D3DKMT_HANDLE again = open_shared(shared);
	EXPECT_EQ(poll(again, 0), STATUS_ABANDONED);
	EXPECT_OK(destroy(again));
	EXPECT_OK(destroy(opened));
}

TEST(abandon, is_told_to_who_releases)
{
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE mutex = create(0, &shared);
	D3DKMT_HANDLE opened = open_shared(shared);

	EXPECT_OK(poll(mutex, 0));
	EXPECT_OK(destroy(mutex));
	EXPECT_EQ(release(opened, 0, 0), STATUS_ABANDONED);
	EXPECT_EQ(poll(opened, 0), STATUS_ABANDONED);
	EXPECT_OK(destroy(opened));
}

MUTEX_TEST(abandon, is_not_what_destroying_another_handle_does, create(0, &shared))
{
	D3DKMT_HANDLE opened = open_shared(shared);

	EXPECT_OK(poll(mutex, 0));
	EXPECT_OK(destroy(opened));
	EXPECT_OK(release(mutex, 0, 0));
	EXPECT_OK(poll(mutex, 0));
}

TEST(abandon, and_time_out_are_successes)
{
	EXPECT(NT_SUCCESS(STATUS_ABANDONED) && STATUS_ABANDONED == 0x80);
	EXPECT(NT_SUCCESS(STATUS_TIMEOUT) && STATUS_TIMEOUT == 0x102);
}

/* ---- NT handles ---- */

TEST(open_from_nt_handle, refuses_what_is_no_nt_handle)
{
	D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE args = { .hKeyedMutex = GARBAGE };
	int file = memfd_create("not ours", 0);

	EXPECT_REFUSED(D3DKMTOpenKeyedMutexFromNtHandle(NULL), STATUS_INVALID_PARAMETER,
		       "API-NULL-ARGUMENT", "");
	EXPECT_REFUSED(D3DKMTOpenKeyedMutexFromNtHandle(&args), STATUS_INVALID_HANDLE,
		       "API-NT-HANDLE", "hNtHandle");
	args.hNtHandle = (HANDLE)(intptr_t)file;
	EXPECT_REFUSED(D3DKMTOpenKeyedMutexFromNtHandle(&args), STATUS_INVALID_HANDLE,
		       "API-NT-HANDLE", "hNtHandle");
	args.hNtHandle = (HANDLE)(intptr_t)-1;
	EXPECT_REFUSED(D3DKMTOpenKeyedMutexFromNtHandle(&args), STATUS_INVALID_HANDLE,
		       "API-NT-HANDLE", "hNtHandle");
	EXPECT_EQ(args.hKeyedMutex, GARBAGE);
	close(file);
}

/* ---- memory ---- */

/* A whole life; the first failure ends it. */
static NTSTATUS live(void)
{
	char buffer[6];
	D3DKMT_CREATEKEYEDMUTEX2 made = { .pPrivateRuntimeData = (void *)"mutex",
					  .PrivateRuntimeDataSize = 6 };
	NTSTATUS status = D3DKMTCreateKeyedMutex2(&made);

	if (status != STATUS_SUCCESS)
		return status;
	D3DKMT_HANDLE opened = 0;
	status = try_open_with(made.hSharedHandle, buffer, sizeof(buffer), &opened);
	D3DKMT_ACQUIREKEYEDMUTEX2 taken = { .hKeyedMutex = made.hKeyedMutex,
					    .pPrivateRuntimeData = buffer,
					    .PrivateRuntimeDataSize = sizeof(buffer) };
	if (status == STATUS_SUCCESS)
		status = D3DKMTAcquireKeyedMutex2(&taken);
	D3DKMT_RELEASEKEYEDMUTEX2 given = { .hKeyedMutex = made.hKeyedMutex,
					    .pPrivateRuntimeData = buffer,
					    .PrivateRuntimeDataSize = sizeof(buffer) };
	if (status == STATUS_SUCCESS)
		status = D3DKMTReleaseKeyedMutex2(&given);
	if (opened)
		EXPECT_OK(destroy(opened));
	EXPECT_OK(destroy(made.hKeyedMutex));
	return status;
}

TEST(memory, that_is_missing_anywhere_is_said_and_nothing_is_lost)
{
	bool has_failed;
	unsigned n = 0;

	EXPECT_OK(live());
	struct dxgk_test_memory before = dxgk_test_memory();
	do {
		dxgk_test_fail_nth_allocation(++n);
		NTSTATUS status = live();
		has_failed = dxgk_test_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		if (has_failed)
			EXPECT_STR(last_refusal().rule, "API-NO-MEMORY");
		EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	} while (has_failed);
	EXPECT(n > 4);
}

TEST(memory, of_mutexes_left_behind_goes_with_the_process)
{
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE mutex;

	D3DKMTCloseDxCoreDevice();
	struct dxgk_test_memory before = dxgk_test_memory();
	mutex = create_with("mutex", 6, &shared);
	(void)open_shared(shared);
	EXPECT_OK(poll(mutex, 0));
	D3DKMTCloseDxCoreDevice();
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	EXPECT_BAD_HANDLE(try_open(shared, &mutex), "hSharedHandle");
}

API_TEST_MAIN("api/keyed_mutex")
