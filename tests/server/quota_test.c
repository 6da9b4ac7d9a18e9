/* SPDX-License-Identifier: MIT */
/*
 * quota_test.c - what only a server has to count: the length of a client's banks, and the mappings that the server makes
 * for it. The profile sets the limits. At a limit one more is refused by name, for a process and for all of a
 * user; what was given back can be had again at once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "api/residency.h"
#include "server/house.h"

enum { HERE = 1, GO, DONE };
/* As limits.json has it. */
enum {
	BANK_MIB = 8,
	BANK_OF_USER_MIB = 12,
	MAPPINGS = 8,
	MAPPINGS_OF_USER = 12,
	ALLOCATIONS = 48,
	MOST_TRIED = 32
};

static bool is_over(NTSTATUS status, NTSTATUS wanted, const char *name)
{
	const struct dxgk_refusal refusal = last_refusal();

	if (status != wanted || strcmp(refusal.rule, "SYS-QUOTA") != 0 ||
	    strstr(refusal.reason, name) == NULL)
		fprintf(stderr, "0x%08x %s: %s\n", (unsigned)status, refusal.rule, refusal.reason);
	return status == wanted && strcmp(refusal.rule, "SYS-QUOTA") == 0 &&
	       strstr(refusal.reason, name) != NULL;
}

/* ---- banks ---- */

static D3DKMT_HANDLE block_new(const struct client *client, uint64_t size_bytes)
{
	D3DKMT_HANDLE block = 0;

	CHILD_EXPECT(try_create_sized(client, size_bytes, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY,
				      &block) == STATUS_SUCCESS);
	return block;
}

static bool touch(const struct client *client, D3DKMT_HANDLE block, NTSTATUS *status_out)
{
	unsigned char *bytes;

	*status_out = lock2(client->device, block, (void **)&bytes);
	if (*status_out == STATUS_SUCCESS)
		bytes[0] = 1;
	return *status_out == STATUS_SUCCESS;
}

/* Says how many blocks of 1 MiB it has, when told to take them, and again, when it was told whose quota is full. */
CHILD(hoarder)
{
	struct client client;
	D3DKMT_HANDLE blocks[MOST_TRIED];
	unsigned count = 0;
	NTSTATUS status;

	client_open(&client, child_open_adapter());
	for (unsigned i = 0; i < MOST_TRIED; i++)
		blocks[i] = block_new(&client, MIB);
	test_say(HERE, 0);
	const char *name = test_hear().value ? "limits.user.bankMiB" : "limits.process.bankMiB";
	while (count < MOST_TRIED && touch(&client, blocks[count], &status))
		count++;
	CHILD_EXPECT(is_over(status, STATUS_QUOTA_EXCEEDED, name));
	for (unsigned i = 0; count > 0 && i < 16; i++) {
		CHILD_EXPECT(destroy_one(client.device, blocks[0]) == STATUS_SUCCESS);
		blocks[0] = block_new(&client, MIB);
		CHILD_EXPECT(touch(&client, blocks[0], &status));
		CHILD_EXPECT(!touch(&client, blocks[count], &status));
		CHILD_EXPECT(is_over(status, STATUS_QUOTA_EXCEEDED, name));
	}
	/* More than there is of anything. */
	D3DKMT_HANDLE absurd;
	if (try_create_sized(&client, UINT64_C(1) << 40, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY,
			     &absurd) == STATUS_SUCCESS) {
		CHILD_EXPECT(!touch(&client, absurd, &status));
		CHILD_EXPECT(destroy_one(client.device, absurd) == STATUS_SUCCESS);
	}
	test_say(DONE, count);
	test_hear();
	return 0;
}

static unsigned hoard(const struct lodger *hoarder, bool is_of_user)
{
	lodger_hear(hoarder, HERE);
	lodger_say(hoarder, GO, is_of_user);
	return (unsigned)lodger_hear(hoarder, DONE);
}

static void limited_house(struct house *house)
{
	const char *const options[] = { "--profile", getenv("TEST_LIMITS"), NULL };

	house_open(house, options);
}

TEST(banks, are_no_longer_than_the_quotas_of_a_process_and_of_its_user)
{
	struct house house;

	limited_house(&house);
	expect_valid();
	const struct belongings before = belongings_of(&house);
	struct lodger first = lodger_start("hoarder");
	unsigned has = hoard(&first, false);
	EXPECT(has >= BANK_MIB / 2 && has <= BANK_MIB);
	struct lodger second = lodger_start("hoarder");
	unsigned rest = hoard(&second, true);
	EXPECT(rest >= 1 && has + rest <= BANK_OF_USER_MIB);
	expect_valid();
	/* What one had another can have. */
	lodger_kill(&first);
	lodger_kill(&second);
	expect_nothing_left(&house, &before);
	struct lodger third = lodger_start("hoarder");
	EXPECT_EQ(hoard(&third, false), has);
	lodger_say(&third, GO, 0);
	lodger_end(&third);
	expect_valid();
	house_close(&house);
}

/* All of its bank, as the library has it mapped. */
static unsigned char *find_bank(uint64_t *size_bytes_out)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned char *found = NULL;
	char line[512];

	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long first;
		unsigned long end;

		if (strstr(line, "rw-s") && strstr(line, "dxgk-bank") &&
		    sscanf(line, "%lx-%lx", &first, &end) == 2 && end - first >= 256 * MIB) {
			found = (unsigned char *)first;
			*size_bytes_out = end - first;
		}
	}
	fclose(maps);
	return found;
}

CHILD(dirtier)
{
	uint64_t size_bytes = 0;
	struct client client;
	NTSTATUS status;

	client_open(&client, child_open_adapter());
	CHILD_EXPECT(touch(&client, block_new(&client, MIB), &status));
	unsigned char *bank = find_bank(&size_bytes);
	CHILD_EXPECT(bank);
	for (uint64_t i = 0; i < 64 * MIB; i += PAGE)
		bank[size_bytes - 64 * MIB + i] = 1;
	test_say(DONE, 0);
	/* It hears why. */
	for (unsigned i = 0; i < PATIENCE_MS / 10; i++) {
		D3DKMT_HANDLE block = 0;

		usleep(10000);
		if (try_create_sized(&client, MIB, SOFTGPU_CPU_VISIBLE, &block) != STATUS_SUCCESS ||
		    destroy_one(client.device, block) != STATUS_SUCCESS)
			break;
	}
	CHILD_EXPECT(strcmp(last_refusal().rule, "SYS-QUOTA") == 0);
	CHILD_EXPECT(strstr(last_refusal().reason, "its bank") != NULL);
	test_say(DONE, 0);
	return 0;
}

HOUSE_TEST(banks, that_are_written_where_they_have_nothing_end_with_their_client)
{
	struct lodger dirtier = lodger_start("dirtier");
	lodger_hear(&dirtier, DONE);
	lodger_hear(&dirtier, DONE);
	lodger_end(&dirtier);
}

/* ---- mappings ---- */

static NTSTATUS share_new(D3DKMT_HANDLE device, D3DKMT_HANDLE *resource_out)
{
	struct creation creation;

	creation_init_resource(&creation, device, 1, SHARED_NT);
	NTSTATUS status = create(&creation);
	*resource_out = creation.args.hResource;
	return status;
}

static NTSTATUS fence_new(D3DKMT_HANDLE device)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;

	return try_monitored_fence(device, true, &fence);
}

CHILD(sharer)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());
	D3DKMT_HANDLE resources[MOST_TRIED];
	D3DKMT_HANDLE more;
	unsigned count = 0;
	NTSTATUS status;

	test_say(HERE, 0);
	const char *name = test_hear().value ? "limits.user.mappings" : "limits.process.mappings";
	while (count < MOST_TRIED &&
	       (status = share_new(device, &resources[count])) == STATUS_SUCCESS)
		count++;
	CHILD_EXPECT(is_over(status, STATUS_INSUFFICIENT_RESOURCES, name));
	CHILD_EXPECT(is_over(fence_new(device), STATUS_INSUFFICIENT_RESOURCES, name));
	for (unsigned i = 0; count > 0 && i < 16; i++) {
		CHILD_EXPECT(destroy_resource(device, resources[0]) == STATUS_SUCCESS);
		CHILD_EXPECT(share_new(device, &resources[0]) == STATUS_SUCCESS);
		CHILD_EXPECT(
			is_over(share_new(device, &more), STATUS_INSUFFICIENT_RESOURCES, name));
	}
	test_say(DONE, count);
	test_hear();
	return 0;
}

TEST(mappings, are_no_more_than_the_quotas_of_a_process_and_of_its_user)
{
	struct house house;

	limited_house(&house);
	expect_valid();
	const struct belongings before = belongings_of(&house);
	struct lodger first = lodger_start("sharer");
	unsigned has = hoard(&first, false);
	EXPECT(has >= MAPPINGS / 2 && has < MAPPINGS);
	struct lodger second = lodger_start("sharer");
	unsigned rest = hoard(&second, true);
	EXPECT(has + rest < MAPPINGS_OF_USER);
	expect_valid();
	lodger_kill(&first);
	lodger_kill(&second);
	expect_nothing_left(&house, &before);
	struct lodger third = lodger_start("sharer");
	EXPECT_EQ(hoard(&third, false), has);
	lodger_say(&third, GO, 0);
	lodger_end(&third);
	expect_valid();
	house_close(&house);
}

/* ---- descriptors that come with calls ---- */

enum { OPENERS = 8, OPENINGS = 300 };

static D3DKMT_HANDLE opening_device;
static HANDLE opened;
static _Atomic unsigned opened_count;

/* Refused or not; never more than that. */
static void *open_often(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < OPENINGS; i++) {
		D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 opening = { .hNtHandle = opened,
							       .hDevice = opening_device };
		NTSTATUS status = D3DKMTOpenSyncObjectFromNtHandle2(&opening);
		D3DKMT_DESTROYSYNCHRONIZATIONOBJECT done = { opening.hSyncObject };

		CHILD_EXPECT(status == STATUS_SUCCESS ||
			     is_over(status, STATUS_INSUFFICIENT_RESOURCES,
				     "limits.process.descriptors"));
		if (status == STATUS_SUCCESS) {
			CHILD_EXPECT(D3DKMTDestroySynchronizationObject(&done) == STATUS_SUCCESS);
			atomic_fetch_add(&opened_count, 1);
		}
	}
	return NULL;
}

CHILD(openers)
{
	pthread_t threads[OPENERS];
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence;

	opening_device = child_create_device(child_open_adapter());
	CHILD_EXPECT(try_monitored_fence(opening_device, true, &fence) == STATUS_SUCCESS);
	CHILD_EXPECT(D3DKMTShareObjects(1, &fence.hSyncObject, NULL, 0x10000000, &opened) ==
		     STATUS_SUCCESS);
	for (unsigned i = 0; i < OPENERS; i++)
		CHILD_EXPECT(pthread_create(&threads[i], NULL, open_often, NULL) == 0);
	for (unsigned i = 0; i < OPENERS; i++)
		pthread_join(threads[i], NULL);
	/* One at a time there is always room. */
	atomic_store(&opened_count, 0);
	open_often(NULL);
	CHILD_EXPECT(atomic_load(&opened_count) == OPENINGS);
	return 0;
}

TEST(descriptors, above_the_quota_refuse_the_call_and_not_the_client)
{
	struct house house;

	limited_house(&house);
	struct lodger openers = lodger_start("openers");
	lodger_end(&openers);
	expect_valid();
	house_close(&house);
}

/* ---- calls that are longer than a channel ---- */

static NTSTATUS create_with(D3DKMT_HANDLE device, uint32_t private_bytes)
{
	static unsigned char bytes[MIB];
	struct creation creation;

	creation_init_resource(&creation, device, 1, SHARED_NT);
	creation.args.pPrivateRuntimeData = bytes;
	creation.args.PrivateRuntimeDataSize = private_bytes;
	NTSTATUS status = create(&creation);
	if (status == STATUS_SUCCESS)
		CHILD_EXPECT(destroy_resource(device, creation.args.hResource) == STATUS_SUCCESS);
	return status;
}

CHILD(long_winded)
{
	D3DKMT_HANDLE device = child_create_device(child_open_adapter());

	for (unsigned i = 0; i < 16; i++) {
		CHILD_EXPECT(create_with(device, 100 * KIB) == STATUS_SUCCESS);
		CHILD_EXPECT(is_over(create_with(device, MIB), STATUS_QUOTA_EXCEEDED,
				     "limits.process.requestKiB"));
		CHILD_EXPECT(strcmp(last_refusal().call, "D3DKMTCreateAllocation2") == 0);
	}
	return 0;
}

TEST(requests, that_are_longer_than_the_quota_are_refused_and_leave_nothing)
{
	struct house house;

	limited_house(&house);
	struct lodger long_winded = lodger_start("long_winded");
	lodger_end(&long_winded);
	expect_valid();
	house_close(&house);
}

/* ---- threads of one process ---- */

enum { HANDED_OVER = 2000 };

struct pair {
	struct client client;
	_Atomic(D3DKMT_HANDLE) last; /* 0: it was destroyed; UINT32_MAX: the end */
};

/* Destroys what the other thread has made, as soon as it is there. */
static void *destroy_each(void *context)
{
	struct pair *pair = context;

	for (unsigned i = 0; i < HANDED_OVER; i++) {
		D3DKMT_HANDLE block;

		while ((block = atomic_load(&pair->last)) == 0)
			sched_yield();
		if (block == UINT32_MAX ||
		    destroy_one(pair->client.device, block) != STATUS_SUCCESS)
			break;
		atomic_store(&pair->last, 0);
	}
	return NULL;
}

CHILD(relay)
{
	static struct pair pair;
	D3DKMT_HANDLE block = 0;
	pthread_t thread;

	client_open(&pair.client, child_open_adapter());
	for (unsigned i = 0; i < ALLOCATIONS; i++)
		block = block_new(&pair.client, MIB);
	D3DKMT_HANDLE more;
	CHILD_EXPECT(is_over(try_create_sized(&pair.client, MIB, SOFTGPU_CPU_VISIBLE, &more),
			     STATUS_INSUFFICIENT_RESOURCES, "limits.process.allocations"));
	atomic_store(&pair.last, block);
	CHILD_EXPECT(pthread_create(&thread, NULL, destroy_each, &pair) == 0);
	for (unsigned i = 0; i < HANDED_OVER; i++) {
		while (atomic_load(&pair.last) != 0)
			sched_yield();
		NTSTATUS status = try_create_sized(&pair.client, MIB, SOFTGPU_CPU_VISIBLE, &block);
		atomic_store(&pair.last, status == STATUS_SUCCESS ? block : UINT32_MAX);
		CHILD_EXPECT(status == STATUS_SUCCESS);
	}
	pthread_join(thread, NULL);
	CHILD_EXPECT(atomic_load(&pair.last) == block);
	return 0;
}

TEST(allocations, that_one_thread_has_destroyed_another_can_have_at_once)
{
	struct house house;

	limited_house(&house);
	struct lodger relay = lodger_start("relay");
	lodger_end(&relay);
	expect_valid();
	house_close(&house);
}

API_TEST_MAIN("server/quota")
