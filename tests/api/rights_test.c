/* SPDX-License-Identifier: MIT */
/*
 * rights_test.c - what a process may do to others: nothing, unless it is a controller. What is shared
 * is found by the same user, or by whoever was given a descriptor.
 */
#include "api/control.h"
#include "api/strangers.h"

#define EXPECT_DENIED(call, argument)                                                              \
	EXPECT_REFUSED(call, STATUS_ACCESS_DENIED, "SYS-RIGHTS", argument)
#define SOMEBODY ((HANDLE)(intptr_t)4711)

static struct client begin_with(struct stranger *stranger, bool is_controller)
{
	ours = begin_uncontrolled();
	stranger_open_as(stranger, (struct dxgk_test_identity){ .user = STRANGERS_USER,
								.name = "stranger",
								.is_controller = is_controller });
	be(stranger->process);
	return stranger->worker.client;
}

static void end_with(struct stranger *stranger)
{
	be(NULL);
	stranger_end(stranger);
}

/* ---- controls ---- */

static NTSTATUS memory_control(const struct client *client, D3DKMT_VIDMMESCAPETYPE type)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = type };

	if (type == D3DKMT_VIDMMESCAPETYPE_DEFRAG) {
		args.Defrag.Operation = D3DKMT_DEFRAG_ESCAPE_DEFRAG_DOWNWARD;
		args.Defrag.SegmentId = LOCAL_SEGMENT;
	}
	if (type == D3DKMT_VIDMMESCAPETYPE_SET_TRIM_INTERVALS)
		args.SetTrimIntervals.MinTrimInterval = args.SetTrimIntervals.MaxTrimInterval =
			args.SetTrimIntervals.IdleTrimInterval = 1000000;
	if (type == D3DKMT_VIDMMESCAPETYPE_SET_BUDGET)
		args.SetBudget.LocalMemoryBudget = args.SetBudget.SystemMemoryBudget = UINT64_MAX;
	return vidmm(client, &args);
}

static const struct {
	D3DKMT_VIDMMESCAPETYPE type;
	const char *argument;
} touching[] = {
	{ D3DKMT_VIDMMESCAPETYPE_SETFAULT, "Type" },
	{ D3DKMT_VIDMMESCAPETYPE_EVICT, "Evict.hProcess" },
	{ D3DKMT_VIDMMESCAPETYPE_EVICT_BY_CRITERIA, "Type" },
	{ D3DKMT_VIDMMESCAPETYPE_SET_BUDGET, "Type" },
	{ D3DKMT_VIDMMESCAPETYPE_SET_TRIM_INTERVALS, "Type" },
	{ D3DKMT_VIDMMESCAPETYPE_DEFRAG, "Defrag.Operation" },
	{ D3DKMT_VIDMMESCAPETYPE_VALIDATE_INTEGRITY, "Type" },
};

TEST(stranger, does_nothing_to_the_memory_of_others)
{
	struct stranger stranger;
	struct client client = begin_with(&stranger, false);
	D3DKMT_VIDMM_ESCAPE shared = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT_BY_NT_HANDLE };

	for (size_t i = 0; i < sizeof(touching) / sizeof(touching[0]); i++)
		EXPECT_DENIED(memory_control(&client, touching[i].type), touching[i].argument);
	EXPECT_DENIED(vidmm(&client, &shared), "Type");
	end_with(&stranger);
}

TEST(controller, does)
{
	struct stranger stranger;
	struct client client = begin_with(&stranger, true);

	for (size_t i = 0; i < sizeof(touching) / sizeof(touching[0]); i++)
		EXPECT_OK(memory_control(&client, touching[i].type));
	be(NULL);
	EXPECT_OK(memory_control(&ours, D3DKMT_VIDMMESCAPETYPE_EVICT)); /* the program is one */
	end_with(&stranger);
}

TEST(stranger, resets_nothing_and_sets_no_option_of_the_adapter)
{
	D3DKMT_TDRDBGCTRL_ESCAPE reset = { .TdrControl = D3DKMT_TDRDBGCTRLTYPE_FORCETDR };
	D3DKMT_ADAPTER_VERIFIER_OPTION intervals = {
		.Type = D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_TRIM_INTERVAL,
		.Mode = D3DKMT_VERIFIER_OPTION_SET
	};
	struct stranger stranger;
	struct client client = begin_with(&stranger, false);
	UINT32 flags = 0;

	EXPECT_DENIED(escape_of(&client, D3DKMT_ESCAPE_TDRDBGCTRL, &reset, sizeof(reset)), "Type");
	EXPECT_DENIED(set_adapter(&client, 0), "Mode");
	EXPECT_DENIED(escape_of(&client, D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION, &intervals,
				sizeof(intervals)),
		      "Mode");
	EXPECT_OK(adapter_option(&client, D3DKMT_VERIFIER_OPTION_QUERY, &flags));
	end_with(&stranger);
}

TEST(stranger, may_do_everything_to_itself)
{
	struct stranger stranger;
	struct client client = begin_with(&stranger, false);
	D3DKMT_HANDLE memory = create_sized(&client, MIB, SOFTGPU_LOCAL_ONLY);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	EXPECT_OK(make_resident(&client, &memory, 1, 0));
	args.Evict.hProcess = (HANDLE)(intptr_t)-1;
	EXPECT_OK(vidmm(&client, &args));
	args.Evict.hProcess = NULL;
	args.Evict.AllocationHandle = memory;
	EXPECT_OK(vidmm(&client, &args));
	args = (D3DKMT_VIDMM_ESCAPE){ .Type = D3DKMT_VIDMMESCAPETYPE_DEFRAG };
	args.Defrag.Operation = D3DKMT_DEFRAG_ESCAPE_GET_FRAGMENTATION_STATS;
	args.Defrag.SegmentId = LOCAL_SEGMENT;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_OK(memory_control(&client, D3DKMT_VIDMMESCAPETYPE_GET_BUDGET));
	EXPECT_OK(memory_control(&client, D3DKMT_VIDMMESCAPETYPE_WAKE));
	EXPECT_OK(memory_control(&client, D3DKMT_VIDMMESCAPETYPE_SUSPEND_PROCESS));
	EXPECT_OK(memory_control(&client, D3DKMT_VIDMMESCAPETYPE_RESUME_PROCESS));
	EXPECT_OK(set_process(&client, 0));
	(void)statistics(D3DKMT_QUERYSTATISTICS_PROCESS_ADAPTER, 0);
	end_with(&stranger);
}

/* A controller may, and is told that there is no such handle. */
TEST(process, names_no_other)
{
	D3DKMT_QUERYPROCESSOFFERINFO offers = { .cbSize = sizeof(offers), .hProcess = SOMEBODY };
	D3DKMT_TRIMPROCESSCOMMITMENT trim = { .cbSize = sizeof(trim), .hProcess = SOMEBODY };
	D3DKMT_QUERYSTATISTICS query = { .Type = D3DKMT_QUERYSTATISTICS_PROCESS,
					 .hProcess = SOMEBODY };
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SUSPEND_PROCESS };
	struct stranger stranger;
	struct client client = begin_with(&stranger, false);
	D3DKMT_QUERYVIDEOMEMORYINFO info = { .hAdapter = client.adapter, .hProcess = SOMEBODY };

	query.AdapterLuid = adapter_luid;
	args.SuspendProcess.hProcess = SOMEBODY;
	EXPECT_DENIED(D3DKMTQueryProcessOfferInfo(&offers), "hProcess");
	EXPECT_DENIED(D3DKMTTrimProcessCommitment(&trim), "hProcess");
	EXPECT_DENIED(D3DKMTQueryStatistics(&query), "hProcess");
	EXPECT_DENIED(D3DKMTQueryVideoMemoryInfo(&info), "hProcess");
	EXPECT_DENIED(vidmm(&client, &args), "hProcess");
	be(NULL);
	EXPECT_REFUSED(D3DKMTQueryStatistics(&query), STATUS_INVALID_HANDLE, "API-HANDLE",
		       "hProcess");
	end_with(&stranger);
}

/* ---- sharing between users ---- */

struct users {
	struct stranger maker;
	struct stranger same;
	struct stranger other;
};

static void users_open(struct users *users)
{
	ours = begin();
	stranger_open(&users->maker, "maker");
	stranger_open(&users->same, "same user");
	stranger_open_as(&users->other,
			 (struct dxgk_test_identity){ .user = OTHER_USER, .name = "other user" });
	be(users->maker.process);
}

static void users_end(struct users *users)
{
	be(NULL);
	stranger_end(&users->maker);
	stranger_end(&users->same);
	stranger_end(&users->other);
}

TEST(global_handle, is_found_by_the_same_user_only)
{
	struct users users;
	struct creation creation;
	struct pair pair;

	users_open(&users);
	creation_init_resource(&creation, users.maker.worker.client.device, 1, SHARED_GLOBAL);
	EXPECT_OK(create(&creation));
	be(users.other.process);
	EXPECT_BAD(try_open_global(&users.other.worker.client, creation.args.hGlobalShare, &pair),
		   "API-HANDLE", "hGlobalShare");
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID where = { .hGlobalShare = creation.args.hGlobalShare };
	EXPECT_BAD(D3DKMTGetSharedResourceAdapterLuid(&where), "API-HANDLE", "hGlobalShare");
	/* Nor is its kind told. */
	D3DKMT_OPENKEYEDMUTEX open = { .hSharedHandle = creation.args.hGlobalShare };
	EXPECT_BAD(D3DKMTOpenKeyedMutex(&open), "API-HANDLE", "hSharedHandle");
	be(users.same.process);
	EXPECT_BAD(D3DKMTOpenKeyedMutex(&open), "API-HANDLE-KIND", "hSharedHandle");
	(void)open_global(&users.same.worker.client, creation.args.hGlobalShare);
	users_end(&users);
}

static NTSTATUS share_as(const struct stranger *stranger, OBJECT_ATTRIBUTES *attributes,
			 HANDLE *handle_out)
{
	struct creation creation;

	creation_init_resource(&creation, stranger->worker.client.device, 1, SHARED_NT);
	EXPECT_OK(create(&creation));
	return D3DKMTShareObjects(1, &creation.args.hResource, attributes, SHARED_ALLOCATION_WRITE,
				  handle_out);
}

TEST(name, is_of_one_user)
{
	static const WCHAR text[] = { 't', 'h', 'e', ' ', 'n', 'a', 'm', 'e', 0 };
	UNICODE_STRING name = string_of(text);
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &name };
	D3DKMT_OPENNTHANDLEFROMNAME open = { .dwDesiredAccess = SHARED_ALLOCATION_WRITE,
					     .pObjAttrib = &attributes };
	struct users users;
	HANDLE handles[2];

	users_open(&users);
	EXPECT_OK(share_as(&users.maker, &attributes, &handles[0]));
	be(users.other.process);
	EXPECT_REFUSED(D3DKMTOpenNtHandleFromName(&open), STATUS_OBJECT_NAME_NOT_FOUND, "API-NAME",
		       "pObjAttrib");
	EXPECT_OK(share_as(&users.other, &attributes, &handles[1])); /* another of that name */
	be(users.same.process);
	EXPECT_REFUSED(share_as(&users.same, &attributes, &handles[1]),
		       STATUS_OBJECT_NAME_COLLISION, "API-NAME-TAKEN", "pObjectAttributes");
	EXPECT_OK(D3DKMTOpenNtHandleFromName(&open));
	close((int)(intptr_t)open.hNtHandle);
	close((int)(intptr_t)handles[0]);
	close((int)(intptr_t)handles[1]);
	users_end(&users);
}

TEST(descriptor, opens_for_whoever_was_given_it)
{
	struct users users;
	HANDLE handle;

	users_open(&users);
	EXPECT_OK(share_as(&users.maker, NULL, &handle));
	be(users.other.process);
	struct pair pair = open_nt(&users.other.worker.client, handle);
	fill(&users.other.worker.client, pair.memory, SOME_BYTES, 3);
	be(NULL);
	stranger_end(&users.maker);
	stranger_open(&users.maker, "maker");
	be(users.other.process);
	EXPECT_CONTENT(&users.other.worker.client, pair.memory, SOME_BYTES, 3);
	close((int)(intptr_t)handle);
	users_end(&users);
}

static NTSTATUS open_fence(const struct client *client, HANDLE handle, D3DKMT_HANDLE *fence_out)
{
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = { .hNtHandle = handle,
						    .hDevice = client->device };
	NTSTATUS status = D3DKMTOpenSyncObjectFromNtHandle2(&open);

	*fence_out = open.hSyncObject;
	return status;
}

/* Made with all rights, given on with one, and nobody behind that gets the other back. */
TEST(rights, never_grow_from_one_process_to_the_next)
{
	struct users users;
	HANDLE first;
	HANDLE second;
	D3DKMT_HANDLE fence;
	const UINT64 value = 1;

	users_open(&users);
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 made =
		monitored_fence(users.maker.worker.client.device, true);
	EXPECT_OK(D3DKMTShareObjects(1, &made.hSyncObject, NULL, D3DDDI_SYNC_OBJECT_WAIT, &first));
	be(users.same.process);
	EXPECT_OK(open_fence(&users.same.worker.client, first, &fence));
	EXPECT_REFUSED(D3DKMTShareObjects(1, &fence, NULL, D3DDDI_SYNC_OBJECT_SIGNAL, &second),
		       STATUS_ACCESS_DENIED, "API-RIGHTS", "DesiredAccess");
	EXPECT_OK(D3DKMTShareObjects(1, &fence, NULL, MAXIMUM_ALLOWED, &second));
	be(users.other.process);
	EXPECT_OK(open_fence(&users.other.worker.client, second, &fence));
	EXPECT_EQ(signal_value(users.other.worker.client.device, fence, value),
		  STATUS_ACCESS_DENIED);
	close((int)(intptr_t)first);
	close((int)(intptr_t)second);
	users_end(&users);
}

API_TEST_MAIN("api/rights")
