/* SPDX-License-Identifier: MIT */
/*
 * trim.h - callbacks that note what they are told, for the tests of trims.
 */
#ifndef TESTS_API_TRIM_H
#define TESTS_API_TRIM_H

#include <stdatomic.h>

#include "api/control.h"

enum { PERIODIC = 1, RESTART = 2, TO_BUDGET = 4 };

/* Waits through a call, so that time moves in a seeded run, too. On any thread. */
static inline void pause_ms(int milliseconds)
{
	LARGE_INTEGER timeout = { .QuadPart = -10000LL * milliseconds };
	D3DKMT_CREATEKEYEDMUTEX create = { .InitialValue = 0 };

	if (D3DKMTCreateKeyedMutex(&create) != STATUS_SUCCESS)
		abort();
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { create.hKeyedMutex, 1, &timeout, 0 };
	(void)!D3DKMTAcquireKeyedMutex(&acquire);
	D3DKMT_DESTROYKEYEDMUTEX destroy = { create.hKeyedMutex };
	(void)!D3DKMTDestroyKeyedMutex(&destroy);
}

/* Returns when it is so many; they come from another thread. */
static inline void await(const _Atomic unsigned *count, unsigned wanted)
{
	for (int i = 0; atomic_load(count) < wanted && i < 10000; i++)
		pause_ms(1);
	EXPECT(atomic_load(count) >= wanted);
}

/* What one registration was told. */
struct ear {
	_Atomic unsigned calls;
	_Atomic unsigned periodic;
	_Atomic unsigned restarts;
	_Atomic unsigned to_budget;
	_Atomic unsigned flags; /* the last */
	_Atomic uint64_t bytes;
	_Atomic uint64_t budget;
	void (*then)(struct ear *ear); /* NULL, or what the callback does besides */
	VOID *handle;
	const struct client *client;
	D3DKMT_HANDLE to_evict;
	_Atomic unsigned ended;
};

static inline VOID APIENTRY on_trim(D3DKMT_TRIMNOTIFICATION *told)
{
	struct ear *ear = told->Context;

	atomic_store(&ear->flags, told->Flags.Value);
	atomic_store(&ear->bytes, told->NumBytesToTrim);
	atomic_fetch_add(&ear->periodic, told->Flags.PeriodicTrim);
	atomic_fetch_add(&ear->restarts, told->Flags.RestartPeriodicTrim);
	atomic_fetch_add(&ear->to_budget, told->Flags.TrimToBudget);
	atomic_fetch_add(&ear->calls, 1);
	if (ear->then)
		ear->then(ear);
	atomic_fetch_add(&ear->ended, 1);
}

static inline VOID APIENTRY on_budget(D3DKMT_BUDGETCHANGENOTIFICATION *told)
{
	struct ear *ear = told->Context;

	atomic_store(&ear->budget, told->Budget);
	atomic_fetch_add(&ear->calls, 1);
	if (ear->then)
		ear->then(ear);
	atomic_fetch_add(&ear->ended, 1);
}

static inline D3DKMT_REGISTERTRIMNOTIFICATION trim_registration(const struct client *client,
								struct ear *ear)
{
	return (D3DKMT_REGISTERTRIMNOTIFICATION){ .AdapterLuid = adapter_luid,
						  .hDevice = client->device,
						  .Callback = on_trim,
						  .Context = ear };
}

static inline void listen_for_trims(const struct client *client, struct ear *ear)
{
	D3DKMT_REGISTERTRIMNOTIFICATION args = trim_registration(client, ear);

	EXPECT_OK(D3DKMTRegisterTrimNotification(&args));
	EXPECT(args.Handle);
	ear->handle = args.Handle;
	ear->client = client;
}

static inline NTSTATUS unlisten(VOID *handle)
{
	return D3DKMTUnregisterTrimNotification(
		&(D3DKMT_UNREGISTERTRIMNOTIFICATION){ .Handle = handle });
}

static inline void listen_for_budgets(const struct client *client, struct ear *ear)
{
	D3DKMT_REGISTERBUDGETCHANGENOTIFICATION args = { .hDevice = client->device,
							 .Callback = on_budget,
							 .Context = ear };

	EXPECT_OK(D3DKMTRegisterBudgetChangeNotification(&args));
	EXPECT(args.Handle);
	ear->handle = args.Handle;
	ear->client = client;
}

static inline NTSTATUS unlisten_budget(VOID *handle)
{
	return D3DKMTUnregisterBudgetChangeNotification(
		&(D3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION){ .Handle = handle });
}

static inline NTSTATUS set_intervals_ms(const struct client *client, unsigned shortest,
					unsigned longest, unsigned idle)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SET_TRIM_INTERVALS };

	args.SetTrimIntervals.MinTrimInterval = shortest * 10000;
	args.SetTrimIntervals.MaxTrimInterval = longest * 10000;
	args.SetTrimIntervals.IdleTrimInterval = idle * 10000;
	return vidmm(client, &args);
}

/* Nobody is trimmed by the clock before a test says so. */
static inline struct client begin_quiet(void)
{
	struct client client = begin_uncontrolled();

	EXPECT_OK(set_intervals_ms(&client, 400000, 400000, 400000));
	return client;
}

static inline D3DKMT_HANDLE in_memory(const struct client *client, uint64_t size_bytes)
{
	D3DKMT_HANDLE handle = create_sized(client, size_bytes, SOFTGPU_LOCAL_ONLY);

	EXPECT_OK(make_resident(client, &handle, 1, 0));
	return handle;
}

#endif
