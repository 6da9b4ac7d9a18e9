/* SPDX-License-Identifier: MIT */
/*
 * control.h - escapes of the kernel and its statistics in short, for their tests.
 */
#ifndef TESTS_API_CONTROL_H
#define TESTS_API_CONTROL_H

#include "api/residency.h"

enum { LOCAL_SEGMENT = 1, APERTURE_SEGMENT = 2 }; /* from 0 in statistics */

static LUID adapter_luid;

static inline NTSTATUS escape_of(const struct client *client, D3DKMT_ESCAPETYPE type, void *data,
				 size_t size_bytes)
{
	return D3DKMTEscape(&(D3DKMT_ESCAPE){ .hAdapter = client->adapter,
					      .hDevice = client->device,
					      .Type = type,
					      .pPrivateDriverData = data,
					      .PrivateDriverDataSize = (UINT)size_bytes });
}

static inline NTSTATUS vidmm(const struct client *client, D3DKMT_VIDMM_ESCAPE *args)
{
	return escape_of(client, D3DKMT_ESCAPE_VIDMM, args, sizeof(*args));
}

/* What flags an adapter or a process has for its memory, to look at or to set. */
#define MEMORY_OPTION(name, KIND)                                                                  \
	static inline NTSTATUS name(const struct client *client, unsigned mode, UINT32 *flags)     \
	{                                                                                          \
		D3DKMT_##KIND##_VERIFIER_OPTION args = {                                           \
			.Type = D3DKMT_##KIND##_VERIFIER_OPTION_VIDMM_FLAGS,                       \
			.Mode = (D3DKMT_VERIFIER_OPTION_MODE)mode,                                 \
			.Data.VidMmFlags.Value = *flags,                                           \
		};                                                                                 \
		NTSTATUS status = escape_of(client, D3DKMT_ESCAPE_##KIND##_VERIFIER_OPTION, &args, \
					    sizeof(args));                                         \
                                                                                                   \
		*flags = args.Data.VidMmFlags.Value;                                               \
		return status;                                                                     \
	}

MEMORY_OPTION(adapter_option, ADAPTER)
MEMORY_OPTION(process_option, PROCESS)

static inline NTSTATUS set_adapter(const struct client *client, UINT32 flags)
{
	return adapter_option(client, D3DKMT_VERIFIER_OPTION_SET, &flags);
}

static inline NTSTATUS set_process(const struct client *client, UINT32 flags)
{
	return process_option(client, D3DKMT_VERIFIER_OPTION_SET, &flags);
}

static inline NTSTATUS set_budget(const struct client *client, UINT64 local, UINT64 system)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SET_BUDGET };

	args.SetBudget.LocalMemoryBudget = local;
	args.SetBudget.SystemMemoryBudget = system;
	return vidmm(client, &args);
}

static inline D3DKMT_QUERYSTATISTICS statistics(D3DKMT_QUERYSTATISTICS_TYPE type, UINT selector)
{
	D3DKMT_QUERYSTATISTICS args = { .Type = type, .AdapterLuid = adapter_luid };

	args.QuerySegment.SegmentId = selector;
	EXPECT_OK(D3DKMTQueryStatistics(&args));
	return args;
}

static inline D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION segment_statistics(UINT segment)
{
	return statistics(D3DKMT_QUERYSTATISTICS_SEGMENT, segment - 1)
		.QueryResult.SegmentInformation;
}

static inline D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION adapter_statistics(void)
{
	return statistics(D3DKMT_QUERYSTATISTICS_ADAPTER, 0).QueryResult.AdapterInformation;
}

/* A new process on an adapter that does everything in its own way. */
static inline struct client begin_uncontrolled(void)
{
	struct client client = begin();

	adapter_luid = first_adapter().AdapterLuid;
	EXPECT_OK(set_adapter(&client, 0));
	EXPECT_OK(set_budget(&client, UINT64_MAX, UINT64_MAX));
	return client;
}

static inline D3DKMT_HANDLE resident(const struct client *client, uint64_t size_bytes)
{
	D3DKMT_HANDLE handle = create_sized(client, size_bytes, SOFTGPU_CPU_VISIBLE);

	EXPECT_OK(make_resident(client, &handle, 1, 0));
	return handle;
}

/* … with something in it. */
static inline D3DKMT_HANDLE resident_filled(const struct client *client, uint64_t size_bytes,
					    uint64_t seed)
{
	D3DKMT_HANDLE handle = create_sized(client, size_bytes, SOFTGPU_CPU_VISIBLE);

	fill(client, handle, size_bytes, seed);
	EXPECT_OK(make_resident(client, &handle, 1, 0));
	return handle;
}

#endif
