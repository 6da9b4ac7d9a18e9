/* SPDX-License-Identifier: MIT */
/*
 * resource.h - what tests of shared resources share: a resource, and openings of it through each of
 * the three calls.
 */
#ifndef TESTS_API_RESOURCE_H
#define TESTS_API_RESOURCE_H

#include "api/allocation.h"

static D3DKMT_HANDLE adapter;
static LUID adapter_luid;
static D3DKMT_HANDLE creator;
static D3DKMT_HANDLE opener;

enum {
	RUNTIME_BYTES = 37,
};

/* ---- a resource to open ---- */

struct shared {
	struct creation creation;
	unsigned char runtime[RUNTIME_BYTES];
	unsigned count;
	HANDLE nt_handle;
};

static inline void share(struct shared *shared, unsigned count, int sharing)
{
	memset(shared, 0, sizeof(*shared));
	creation_init_resource(&shared->creation, creator, count, sharing);
	for (unsigned i = 0; i < RUNTIME_BYTES; i++)
		shared->runtime[i] = (unsigned char)(i + 1);
	shared->creation.args.pPrivateRuntimeData = shared->runtime;
	shared->creation.args.PrivateRuntimeDataSize = RUNTIME_BYTES;
	for (unsigned i = 0; i < count; i++)
		shared->creation.data[i].size_bytes = PAGE * (i + 1);
	shared->count = count;
	EXPECT_OK(create(&shared->creation));
}

static inline NTSTATUS share_nt(D3DKMT_HANDLE resource, const char *name, DWORD access,
				HANDLE *handle_out)
{
	wchar_t wide[64] = { 0 };
	UNICODE_STRING string = { 0 };
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &string };

	for (unsigned i = 0; name && name[i]; i++) {
		wide[i] = (wchar_t)name[i];
		string.Length += sizeof(wchar_t);
	}
	string.MaximumLength = sizeof(wide);
	string.Buffer = wide;
	return D3DKMTShareObjects(1, &resource, name ? &attributes : NULL, access, handle_out);
}

static inline void share_by_nt(struct shared *shared, unsigned count)
{
	share(shared, count, SHARED_NT);
	EXPECT_OK(share_nt(shared->creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
			   &shared->nt_handle));
}

/* ---- openings ---- */

/* Every call with the same shape, so that a rule is tested through each door. */
enum door { BY_GLOBAL, BY_GLOBAL_2, BY_NT, DOORS };

struct opening {
	D3DKMT_OPENRESOURCE global;
	D3DKMT_OPENRESOURCEFROMNTHANDLE nt;
	D3DDDI_OPENALLOCATIONINFO v1[MOST + 1];
	D3DDDI_OPENALLOCATIONINFO2 v2[MOST + 1];
	unsigned char runtime[RUNTIME_BYTES + 1];
	unsigned char total[1024];

	/* in, then what the call made of them */
	UINT count;
	UINT runtime_bytes;
	UINT resource_bytes;
	UINT total_bytes;
	bool no_elements;
	bool no_runtime;
	bool no_total;
	D3DKMT_HANDLE device;

	/* out */
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE allocations[MOST];
	const void *private_data[MOST];
	UINT private_bytes[MOST];
};

static inline void opening_init(struct opening *opening, const struct shared *shared)
{
	memset(opening, 0, sizeof(*opening));
	memset(opening->total, 0xcc, sizeof(opening->total));
	opening->device = opener;
	opening->count = shared->count;
	opening->runtime_bytes = RUNTIME_BYTES;
	opening->total_bytes = sizeof(opening->total);
}

static inline NTSTATUS open_nt(struct opening *opening, HANDLE nt_handle)
{
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = {
		.hDevice = opening->device,
		.hNtHandle = nt_handle,
		.NumAllocations = opening->count,
		.pOpenAllocationInfo2 = opening->no_elements ? NULL : opening->v2,
		.PrivateRuntimeDataSize = opening->runtime_bytes,
		.pPrivateRuntimeData = opening->no_runtime ? NULL : opening->runtime,
		.ResourcePrivateDriverDataSize = opening->resource_bytes,
		.pResourcePrivateDriverData = opening->resource_bytes ? opening->total : NULL,
		.TotalPrivateDriverDataBufferSize = opening->total_bytes,
		.pTotalPrivateDriverDataBuffer = opening->no_total ? NULL : opening->total,
		.hKeyedMutex = 0x1eadbeed,
		.hSyncObject = 0x1eadbeed,
		.hResource = 0x1eadbeed,
	};
	NTSTATUS status = D3DKMTOpenResourceFromNtHandle(&args);

	opening->nt = args;
	opening->resource = args.hResource;
	opening->total_bytes = args.TotalPrivateDriverDataBufferSize;
	return status;
}

static inline NTSTATUS open_global(struct opening *opening, D3DKMT_HANDLE global, bool is_version_2)
{
	D3DKMT_OPENRESOURCE args = {
		.hDevice = opening->device,
		.hGlobalShare = global,
		.NumAllocations = opening->count,
		.pPrivateRuntimeData = opening->no_runtime ? NULL : opening->runtime,
		.PrivateRuntimeDataSize = opening->runtime_bytes,
		.pResourcePrivateDriverData = opening->resource_bytes ? opening->total : NULL,
		.ResourcePrivateDriverDataSize = opening->resource_bytes,
		.pTotalPrivateDriverDataBuffer = opening->no_total ? NULL : opening->total,
		.TotalPrivateDriverDataBufferSize = opening->total_bytes,
		.hResource = 0x1eadbeed,
	};

	if (is_version_2)
		args.pOpenAllocationInfo2 = opening->no_elements ? NULL : opening->v2;
	else
		args.pOpenAllocationInfo = opening->no_elements ? NULL : opening->v1;
	NTSTATUS status = is_version_2 ? D3DKMTOpenResource2(&args) : D3DKMTOpenResource(&args);
	opening->global = args;
	opening->resource = args.hResource;
	opening->total_bytes = args.TotalPrivateDriverDataBufferSize;
	return status;
}

static inline NTSTATUS open_by(enum door door, const struct shared *shared, struct opening *opening)
{
	NTSTATUS status = door == BY_NT ? open_nt(opening, shared->nt_handle)
					: open_global(opening, shared->creation.args.hGlobalShare,
						      door == BY_GLOBAL_2);

	for (unsigned i = 0; status == STATUS_SUCCESS && i < shared->count; i++) {
		bool is_v1 = door == BY_GLOBAL;
		opening->allocations[i] =
			is_v1 ? opening->v1[i].hAllocation : opening->v2[i].hAllocation;
		opening->private_data[i] = is_v1 ? opening->v1[i].pPrivateDriverData
						 : opening->v2[i].pPrivateDriverData;
		opening->private_bytes[i] = is_v1 ? opening->v1[i].PrivateDriverDataSize
						  : opening->v2[i].PrivateDriverDataSize;
	}
	return status;
}

static inline void share_for(enum door door, struct shared *shared, unsigned count)
{
	if (door == BY_NT)
		share_by_nt(shared, count);
	else
		share(shared, count, SHARED_GLOBAL);
}

static inline void share_end(enum door door, struct shared *shared)
{
	if (door == BY_NT)
		close((int)(intptr_t)shared->nt_handle);
	EXPECT_OK(destroy_resource(creator, shared->creation.args.hResource));
}

/* Two devices; what is made once and kept is there before anything is counted. */
static inline int resource_main(const char *group, int argc, char **argv)
{
	if (argc < 3) {
		D3DKMT_ADAPTERINFO info = first_adapter();
		struct shared shared;
		struct opening opening;
		adapter = info.hAdapter;
		adapter_luid = info.AdapterLuid;
		creator = create_device(adapter);
		opener = create_device(adapter);
		/* What is made once and kept is there before anything is counted. */
		share(&shared, 2, SHARED_GLOBAL);
		opening_init(&opening, &shared);
		EXPECT_OK(open_by(BY_GLOBAL, &shared, &opening));
		EXPECT_OK(destroy_resource(opener, opening.resource));
		share_end(BY_GLOBAL, &shared);
	}
	return api_main(group, argc, argv);
}

#define RESOURCE_TEST_MAIN(group)                                                                  \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return resource_main(group, argc, argv);                                           \
	}

#endif
