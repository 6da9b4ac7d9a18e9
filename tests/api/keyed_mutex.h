/* SPDX-License-Identifier: MIT */
/*
 * keyed_mutex.h - the calls of keyed mutexes in short, for their tests.
 */
#ifndef TESTS_API_KEYED_MUTEX_H
#define TESTS_API_KEYED_MUTEX_H

#include "api/support.h"

enum { SOME_KEY = 7, SOME_FENCE = 1234, GARBAGE = 0x1eadbeed };

static inline bool is_global_handle(D3DKMT_HANDLE handle)
{
	return (handle & 0xc0000000) != 0 && (handle & 0x3f) == 2;
}

/* ---- the calls in short ---- */

static inline NTSTATUS try_create(UINT64 key, D3DKMT_HANDLE *shared_out, D3DKMT_HANDLE *mutex_out)
{
	D3DKMT_CREATEKEYEDMUTEX args = { .InitialValue = key };
	NTSTATUS status = D3DKMTCreateKeyedMutex(&args);

	*shared_out = args.hSharedHandle;
	*mutex_out = args.hKeyedMutex;
	return status;
}

static inline D3DKMT_HANDLE create(UINT64 key, D3DKMT_HANDLE *shared_out)
{
	D3DKMT_HANDLE shared;
	D3DKMT_HANDLE mutex;

	EXPECT_OK(try_create(key, &shared, &mutex));
	if (shared_out)
		*shared_out = shared;
	return mutex;
}

static inline D3DKMT_HANDLE create_with(const void *data, UINT bytes, D3DKMT_HANDLE *shared_out)
{
	D3DKMT_CREATEKEYEDMUTEX2 args = { .pPrivateRuntimeData = (void *)data,
					  .PrivateRuntimeDataSize = bytes };

	EXPECT_OK(D3DKMTCreateKeyedMutex2(&args));
	*shared_out = args.hSharedHandle;
	return args.hKeyedMutex;
}

static inline NTSTATUS try_open(D3DKMT_HANDLE shared, D3DKMT_HANDLE *mutex_out)
{
	D3DKMT_OPENKEYEDMUTEX args = { .hSharedHandle = shared };
	NTSTATUS status = D3DKMTOpenKeyedMutex(&args);

	*mutex_out = args.hKeyedMutex;
	return status;
}

static inline D3DKMT_HANDLE open_shared(D3DKMT_HANDLE shared)
{
	D3DKMT_HANDLE mutex;

	EXPECT_OK(try_open(shared, &mutex));
	return mutex;
}

static inline NTSTATUS try_open_with(D3DKMT_HANDLE shared, void *data, UINT bytes,
				     D3DKMT_HANDLE *mutex_out)
{
	D3DKMT_OPENKEYEDMUTEX2 args = { .hSharedHandle = shared,
					.pPrivateRuntimeData = data,
					.PrivateRuntimeDataSize = bytes };
	NTSTATUS status = D3DKMTOpenKeyedMutex2(&args);

	EXPECT_EQ(args.PrivateRuntimeDataSize, bytes);
	*mutex_out = args.hKeyedMutex;
	return status;
}

static inline NTSTATUS destroy(D3DKMT_HANDLE mutex)
{
	return D3DKMTDestroyKeyedMutex(&(D3DKMT_DESTROYKEYEDMUTEX){ mutex });
}

static inline NTSTATUS acquire_for(D3DKMT_HANDLE mutex, UINT64 key, LARGE_INTEGER *timeout,
				   UINT64 *fence_out)
{
	D3DKMT_ACQUIREKEYEDMUTEX args = {
		.hKeyedMutex = mutex, .Key = key, .pTimeout = timeout, .FenceValue = GARBAGE
	};
	NTSTATUS status = D3DKMTAcquireKeyedMutex(&args);

	EXPECT_EQ(args.Key, key);
	if (fence_out)
		*fence_out = args.FenceValue;
	return status;
}

/* Without waiting. */
static inline NTSTATUS poll_fence(D3DKMT_HANDLE mutex, UINT64 key, UINT64 *fence_out)
{
	LARGE_INTEGER now = { .QuadPart = 0 };

	return acquire_for(mutex, key, &now, fence_out);
}

static inline NTSTATUS poll(D3DKMT_HANDLE mutex, UINT64 key)
{
	return poll_fence(mutex, key, NULL);
}

static inline NTSTATUS release(D3DKMT_HANDLE mutex, UINT64 key, UINT64 fence)
{
	D3DKMT_RELEASEKEYEDMUTEX args = { mutex, key, fence };
	NTSTATUS status = D3DKMTReleaseKeyedMutex(&args);

	EXPECT_EQ(args.Key, key);
	EXPECT_EQ(args.FenceValue, fence);
	return status;
}

#define EXPECT_BAD_HANDLE(call, argument)                                                          \
	EXPECT_REFUSED(call, STATUS_INVALID_PARAMETER, "API-HANDLE", argument)

/* Of tests with one mutex, made as it says at the end of their name; its global handle is `shared`. */
#define MUTEX_TEST(suite, claim, made)                                                             \
	static void play_##suite##_##claim(D3DKMT_HANDLE mutex, D3DKMT_HANDLE shared);             \
	TEST(suite, claim)                                                                         \
	{                                                                                          \
		D3DKMT_HANDLE shared;                                                              \
		D3DKMT_HANDLE mutex = made;                                                        \
                                                                                                   \
		play_##suite##_##claim(mutex, shared);                                             \
		EXPECT_OK(destroy(mutex));                                                         \
	}                                                                                          \
	static void play_##suite##_##claim(D3DKMT_HANDLE mutex, D3DKMT_HANDLE shared)

#endif
