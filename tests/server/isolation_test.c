/* SPDX-License-Identifier: MIT */
/*
 * isolation_test.c - clients that keep every mapping they ever had and look for bytes of others.
 *
 * Each writes words that carry its own mark into memory that it makes, moves, gives back and destroys, on an adapter
 * with little memory. What it was ever shown it keeps mapped a second time (mremap of shared memory leaves the
 * first where it is), and looks there again and again: its own mark or nothing, never another's. Memory that two
 * share carries a third mark, which nobody else sees.
 */
#include "api/soft_work.h"
#include "server/house.h"

enum { READY = 1, GO, HERE, DONE };
enum { CLIENTS = 3, KEPT_MOST = 2000, BLOCK_BYTES = 128 * KIB, BLOCKS = 24 };

#define MARK      UINT64_C(0x6d61726b00000000) /* and whose it is */
#define MARK_MASK UINT64_C(0xffffffffff000000)
enum { SHARED_MARK = 0xff };

struct keeper {
	uint64_t mark;
	uint64_t chance;
	bool may_see_shared;
	struct client client;
	struct kept {
		const volatile uint64_t *words;
		uint64_t size_bytes;
	} kept[KEPT_MOST];
	unsigned kept_count;
	D3DKMT_HANDLE blocks[BLOCKS];
};

static uint64_t word_of(uint64_t mark)
{
	return MARK | mark << 16;
}

/* Whoever's it is; 0: nobody's. */
static uint64_t owner_of(uint64_t word)
{
	return (word & MARK_MASK) == (MARK & MARK_MASK) ? word >> 16 & 0xff : 0;
}

static void look(const struct keeper *keeper, const struct kept *kept)
{
	for (uint64_t i = 0; i < kept->size_bytes / 8; i += 64) {
		uint64_t owner = owner_of(kept->words[i]);

		if (owner != 0 && owner != keeper->mark &&
		    !(owner == SHARED_MARK && keeper->may_see_shared)) {
			fprintf(stderr, "client %llu sees a word of %llu\n",
				(unsigned long long)keeper->mark, (unsigned long long)owner);
			_exit(99);
		}
	}
}

static void look_at_all(const struct keeper *keeper)
{
	for (unsigned i = 0; i < keeper->kept_count; i++)
		look(keeper, &keeper->kept[i]);
}

static void keep(struct keeper *keeper, void *pointer, uint64_t size_bytes)
{
	unsigned slot = keeper->kept_count < KEPT_MOST ? keeper->kept_count++
						       : below(&keeper->chance, KEPT_MOST);
	struct kept *kept = &keeper->kept[slot];
	/* A second mapping of the same pages of the same file. */
	void *again = mremap(pointer, 0, size_bytes, MREMAP_MAYMOVE);

	if (kept->words)
		munmap((void *)kept->words, kept->size_bytes);
	/* Where what is shown is of several files the first of them is enough. */
	if (again == MAP_FAILED)
		again = mremap(pointer, 0, PAGE, MREMAP_MAYMOVE), size_bytes = PAGE;
	CHILD_EXPECT(again != MAP_FAILED);
	*kept = (struct kept){ again, size_bytes };
}

static void write_own(struct keeper *keeper, D3DKMT_HANDLE block, uint64_t mark)
{
	uint64_t *words;

	if (lock2(keeper->client.device, block, (void **)&words) != STATUS_SUCCESS)
		return;
	keep(keeper, words, BLOCK_BYTES);
	for (unsigned i = 0; i < BLOCK_BYTES / 8; i++)
		words[i] = word_of(mark);
	CHILD_EXPECT(unlock2(keeper->client.device, block) == STATUS_SUCCESS);
}

static void churn(struct keeper *keeper)
{
	static const unsigned flags[] = { SOFTGPU_CPU_VISIBLE,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY };
	unsigned slot = below(&keeper->chance, BLOCKS);
	D3DKMT_HANDLE *block = &keeper->blocks[slot];
	D3DDDI_RECLAIM_RESULT result;

	if (!*block) {
		if (try_create_sized(&keeper->client, BLOCK_BYTES, flags[below(&keeper->chance, 3)],
				     block) != STATUS_SUCCESS)
			*block = 0;
		else
			write_own(keeper, *block, keeper->mark);
		return;
	}
	switch (below(&keeper->chance, 6)) {
	case 0:
		write_own(keeper, *block, keeper->mark);
		break;
	case 1:
		(void)!make_resident(&keeper->client, block, 1, 0);
		break;
	case 2:
		(void)!evict(&keeper->client, block, 1, 0);
		break;
	case 3:
		(void)!offer(&keeper->client, block, 1, D3DKMT_OFFER_PRIORITY_LOW, 0);
		break;
	case 4:
		(void)!reclaim(&keeper->client, block, 1, &result);
		break;
	default:
		CHILD_EXPECT(destroy_one(keeper->client.device, *block) == STATUS_SUCCESS);
		*block = 0;
	}
}

/* The first makes something that the second opens; the third sees nothing of it. */
static void make_shared(struct keeper *keeper)
{
	struct creation creation;
	HANDLE handle;

	creation_init_resource(&creation, keeper->client.device, 1, SHARED_NT);
	creation.data[0].size_bytes = BLOCK_BYTES;
	CHILD_EXPECT(create(&creation) == STATUS_SUCCESS);
	write_own(keeper, creation.elements[0].hAllocation, SHARED_MARK);
	CHILD_EXPECT(D3DKMTShareObjects(1, &creation.args.hResource, NULL, SHARED_ALLOCATION_WRITE,
					&handle) == STATUS_SUCCESS);
	CHILD_EXPECT(talk_send(TALK_FD, (struct talk){ HERE, 0 }, (int)(intptr_t)handle));
}

static void open_shared(struct keeper *keeper, int descriptor)
{
	D3DDDI_OPENALLOCATIONINFO2 info = { 0 };
	unsigned char total[1024];
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = { .hDevice = keeper->client.device,
						 .hNtHandle = (HANDLE)(intptr_t)descriptor,
						 .NumAllocations = 1,
						 .pOpenAllocationInfo2 = &info,
						 .TotalPrivateDriverDataBufferSize = sizeof(total),
						 .pTotalPrivateDriverDataBuffer = total };
	const uint64_t *words;

	CHILD_EXPECT(D3DKMTOpenResourceFromNtHandle(&args) == STATUS_SUCCESS);
	CHILD_EXPECT(lock2(keeper->client.device, info.hAllocation, (void **)&words) ==
		     STATUS_SUCCESS);
	CHILD_EXPECT(owner_of(words[0]) == SHARED_MARK);
}

CHILD(keeper)
{
	static struct keeper keeper;
	struct pollfd stop = { .fd = TALK_FD, .events = POLLIN };

	keeper.mark = test_hear().value;
	keeper.chance = keeper.mark * 7919 | 1;
	keeper.may_see_shared = keeper.mark <= 2;
	client_open(&keeper.client, child_open_adapter());
	if (keeper.mark == 1)
		make_shared(&keeper);
	if (keeper.mark == 2) {
		int descriptor;
		test_hear_with(&descriptor);
		open_shared(&keeper, descriptor);
	}
	test_say(READY, 0);
	test_hear();
	for (unsigned i = 0; poll(&stop, 1, 0) == 0; i++) {
		churn(&keeper);
		if (i % 64 == 0)
			look_at_all(&keeper);
	}
	look_at_all(&keeper);
	test_hear();
	test_say(DONE, keeper.kept_count);
	return 0;
}

TEST(isolation, nobody_sees_a_word_of_another_in_what_he_was_ever_shown)
{
	const char *const options[] = { "--profile", getenv("TEST_SMALL"), NULL };
	struct lodger lodgers[CLIENTS];
	struct house house;
	int shared;

	house_open(&house, options);
	for (unsigned i = 0; i < CLIENTS; i++) {
		lodgers[i] = lodger_start("keeper");
		lodger_say(&lodgers[i], GO, i + 1);
	}
	EXPECT_EQ(lodger_hear_with(&lodgers[0], &shared).word, HERE);
	EXPECT(talk_send(lodgers[1].talk, (struct talk){ HERE, 0 }, shared));
	close(shared);
	for (unsigned i = 0; i < CLIENTS; i++)
		lodger_hear(&lodgers[i], READY);
	for (unsigned i = 0; i < CLIENTS; i++)
		lodger_say(&lodgers[i], GO, 0);
	/* As long as it is worth. */
	usleep(some_of(3000, 120000) * 1000);
	for (unsigned i = 0; i < CLIENTS; i++)
		lodger_say(&lodgers[i], GO, 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		EXPECT(lodger_hear(&lodgers[i], DONE) > 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		lodger_end(&lodgers[i]);
	expect_valid();
	house_close(&house);
}

API_TEST_MAIN("server/isolation")
