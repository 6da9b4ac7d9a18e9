/* SPDX-License-Identifier: MIT */
/*
 * handle_room_test.c - calls that make something, when its handle is the first of a new chunk of the
 * table of handles (src/handle/table.h): each block of memory that they take fails once, the chunk
 * among them.
 *
 * A call that fails so says STATUS_NO_MEMORY, leaves nothing behind, and works the next time.
 */
#include "api/resource.h"

#include "handle/table.h"

static D3DKMT_HANDLE device;

/* ---- to the end of a chunk ---- */

enum table { PROCESS, GLOBAL, TABLES };

static unsigned position(D3DKMT_HANDLE handle)
{
	return (handle - HANDLE_FIRST) / HANDLE_GAP % HANDLE_CHUNK;
}

static D3DKMT_HANDLE open_adapter(void)
{
	D3DKMT_OPENADAPTERFROMLUID args = { .AdapterLuid = adapter_luid };

	EXPECT_OK(D3DKMTOpenAdapterFromLuid(&args));
	return args.hAdapter;
}

static D3DKMT_CREATEKEYEDMUTEX create_mutex(void)
{
	D3DKMT_CREATEKEYEDMUTEX args = { .InitialValue = 0 };

	EXPECT_OK(D3DKMTCreateKeyedMutex(&args));
	return args;
}

static NTSTATUS destroy_mutex(D3DKMT_HANDLE mutex)
{
	return D3DKMTDestroyKeyedMutex(&(D3DKMT_DESTROYKEYEDMUTEX){ mutex });
}

/* One lives on in each chunk, so that none of them is used again. */
static unsigned burn_one(enum table table, bool *is_kept)
{
	if (table == PROCESS) {
		D3DKMT_HANDLE handle = open_adapter();

		*is_kept = position(handle) == HANDLE_CHUNK / 2;
		if (!*is_kept)
			EXPECT_OK(close_adapter(handle));
		return position(handle);
	}
	D3DKMT_CREATEKEYEDMUTEX mutex = create_mutex();
	*is_kept = position(mutex.hSharedHandle) == HANDLE_CHUNK / 2;
	if (!*is_kept)
		EXPECT_OK(destroy_mutex(mutex.hKeyedMutex));
	return position(mutex.hSharedHandle);
}

/* Of the chunk in hand so many handles of the table are left. */
static void burn(enum table table, unsigned left)
{
	bool has_kept = false;
	bool is_kept;
	unsigned last;

	do {
		last = burn_one(table, &is_kept);
		has_kept |= is_kept;
	} while (last != HANDLE_CHUNK - 1 - left || !has_kept);
}

/* ---- the calls ---- */

static D3DKMT_HANDLE shared_mutex;
static D3DKMT_HANDLE shared_fence;
static struct shared shared;

static NTSTATUS make_mutex(D3DKMT_HANDLE *made)
{
	static const char data[] = "data";
	D3DKMT_CREATEKEYEDMUTEX2 args = { .pPrivateRuntimeData = (void *)data,
					  .PrivateRuntimeDataSize = sizeof(data) };
	NTSTATUS status = D3DKMTCreateKeyedMutex2(&args);

	*made = args.hKeyedMutex;
	return status;
}

static NTSTATUS open_mutex(D3DKMT_HANDLE *made)
{
	D3DKMT_OPENKEYEDMUTEX args = { .hSharedHandle = shared_mutex };
	NTSTATUS status = D3DKMTOpenKeyedMutex(&args);

	*made = args.hKeyedMutex;
	return status;
}

static NTSTATUS make_sync(bool is_shared, D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *args)
{
	*args = (D3DKMT_CREATESYNCHRONIZATIONOBJECT2){ .hDevice = device };
	args->Info.Type = is_shared ? D3DDDI_FENCE : D3DDDI_MONITORED_FENCE;
	args->Info.Flags.Shared = is_shared;
	return D3DKMTCreateSynchronizationObject2(args);
}

static NTSTATUS make_fence(D3DKMT_HANDLE *made)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;
	NTSTATUS status = make_sync(false, &args);

	*made = args.hSyncObject;
	return status;
}

static NTSTATUS make_shared_fence(D3DKMT_HANDLE *made)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args;
	NTSTATUS status = make_sync(true, &args);

	*made = args.hSyncObject;
	return status;
}

static NTSTATUS open_fence(D3DKMT_HANDLE *made)
{
	D3DKMT_OPENSYNCHRONIZATIONOBJECT args = { .hSharedHandle = shared_fence };
	NTSTATUS status = D3DKMTOpenSynchronizationObject(&args);

	*made = args.hSyncObject;
	return status;
}

static NTSTATUS destroy_fence(D3DKMT_HANDLE made)
{
	return D3DKMTDestroySynchronizationObject(&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){ made });
}

static NTSTATUS make_queue(D3DKMT_HANDLE *made)
{
	D3DKMT_CREATEPAGINGQUEUE args = { .hDevice = device };
	NTSTATUS status = D3DKMTCreatePagingQueue(&args);

	*made = args.hPagingQueue;
	return status;
}

static NTSTATUS destroy_queue(D3DKMT_HANDLE made)
{
	return D3DKMTDestroyPagingQueue(&(D3DDDI_DESTROYPAGINGQUEUE){ made });
}

static NTSTATUS make_resource_of(int sharing, D3DKMT_HANDLE *made)
{
	static const char words[] = "runtime";
	struct creation creation;

	creation_init_resource(&creation, device, 2, sharing);
	creation.args.pPrivateRuntimeData = words;
	creation.args.PrivateRuntimeDataSize = sizeof(words);
	creation.args.pPrivateDriverData = words;
	creation.args.PrivateDriverDataSize = sizeof(words);
	NTSTATUS status = create(&creation);
	*made = creation.args.hResource;
	return status;
}

static NTSTATUS make_resource(D3DKMT_HANDLE *made)
{
	return make_resource_of(SHARED_NOT, made);
}

static NTSTATUS make_shared_resource(D3DKMT_HANDLE *made)
{
	return make_resource_of(SHARED_GLOBAL, made);
}

static NTSTATUS open_resource(D3DKMT_HANDLE *made)
{
	struct opening opening;

	opening_init(&opening, &shared);
	opening.device = device;
	NTSTATUS status = open_nt(&opening, shared.nt_handle);
	*made = opening.resource;
	return status;
}

static NTSTATUS undo_resource(D3DKMT_HANDLE made)
{
	return destroy_resource(device, made);
}

static NTSTATUS make_allocation(D3DKMT_HANDLE *made)
{
	struct creation creation;

	creation_init(&creation, device, 1);
	NTSTATUS status = create(&creation);
	*made = creation.elements[0].hAllocation;
	return status;
}

static NTSTATUS undo_allocation(D3DKMT_HANDLE made)
{
	return destroy_one(device, made);
}

static NTSTATUS make_device(D3DKMT_HANDLE *made)
{
	return try_create_device(adapter, made);
}

static NTSTATUS make_context(D3DKMT_HANDLE *made)
{
	return try_create_context(device, made);
}

static const struct {
	const char *what;
	NTSTATUS (*make)(D3DKMT_HANDLE *made);
	NTSTATUS (*undo)(D3DKMT_HANDLE made);
	bool is_global; /* it has a global handle, too */
} calls[] = {
	{ "a device", make_device, destroy_device, false },
	{ "a context", make_context, destroy_context, false },
	{ "an allocation", make_allocation, undo_allocation, false },
	{ "a resource", make_resource, undo_resource, false },
	{ "a shared resource", make_shared_resource, undo_resource, true },
	{ "the opening of a resource", open_resource, undo_resource, false },
	{ "a paging queue", make_queue, destroy_queue, false },
	{ "a fence", make_fence, destroy_fence, false },
	{ "a shared fence", make_shared_fence, destroy_fence, true },
	{ "the opening of a fence", open_fence, destroy_fence, false },
	{ "a keyed mutex", make_mutex, destroy_mutex, true },
	{ "the opening of a keyed mutex", open_mutex, destroy_mutex, false },
};

/* ---- one call ---- */

/* How often it failed. */
static unsigned sweep(unsigned index, enum table table, unsigned left)
{
	unsigned failures = 0;
	int has_fired = 1;

	for (unsigned nth = 1; has_fired; nth++) {
		D3DKMT_HANDLE made = 0;

		burn(table, left);
		struct dxgk_test_memory before = dxgk_test_memory();
		dxgk_test_fail_nth_allocation(nth);
		NTSTATUS status = calls[index].make(&made);
		has_fired = dxgk_test_fail_stop();
		if (status != STATUS_SUCCESS) {
			if (status != STATUS_NO_MEMORY)
				print_error("%s, allocation %u: 0x%x\n", calls[index].what, nth,
					    (unsigned)status);
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			EXPECT(has_fired);
			EXPECT_EQ(last_refusal().status, STATUS_NO_MEMORY);
			/* At most a chunk, which stays. */
			EXPECT(dxgk_test_memory().blocks <= before.blocks + 1);
			failures++;
			EXPECT_OK(calls[index].make(&made));
		}
		EXPECT_OK(calls[index].undo(made));
	}
	return failures;
}

TEST(handles, of_a_new_chunk_for_which_there_is_no_memory_are_refused)
{
	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
		EXPECT(sweep(i, PROCESS, 0) > 0);
}

/* Of what has several, the first is had and the second is not. */
TEST(handles, of_which_one_is_left_and_no_memory_for_more_are_refused)
{
	unsigned failures = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
		failures += sweep(i, PROCESS, 1);
	EXPECT(failures > ARRAY_SIZE(calls));
}

TEST(global_handles, of_a_new_chunk_for_which_there_is_no_memory_are_refused)
{
	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].is_global)
			EXPECT(sweep(i, GLOBAL, 0) > 0);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		D3DKMT_ADAPTERINFO first = first_adapter();
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;

		adapter = first.hAdapter;
		adapter_luid = first.AdapterLuid;
		creator = create_device(adapter);
		device = create_device(adapter);
		shared_mutex = create_mutex().hSharedHandle;
		EXPECT_OK(make_sync(true, &fence));
		shared_fence = fence.Info.SharedHandle;
		share_by_nt(&shared, 9);
	}
	return api_main("api/handle_room", argc, argv);
}
