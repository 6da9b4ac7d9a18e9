/* SPDX-License-Identifier: MIT */
/*
 * process_budget_test.c - GPU memory between processes: a newcomer's budget comes out of those of the
 * others at once, whoever is over his budget loses memory and nobody else does, and the end of a
 * process gives it back.
 */
#include "api/control.h"
#include "api/strangers.h"

enum { PIECES = 16, PATIENCE_TURNS = 10000 };

/* A process with memory in pieces of half a MiB, all local. */
struct party {
	struct stranger stranger;
	D3DKMT_HANDLE pieces[PIECES];
	unsigned count;
};

#define PIECE ((UINT64)MIB / 2)

static struct client *party_client(struct party *party)
{
	return &party->stranger.worker.client;
}

static void party_open(struct party *party, const char *name)
{
	party->count = 0;
	stranger_open(&party->stranger, name);
}

static NTSTATUS party_grow(struct party *party, unsigned flags)
{
	D3DKMT_HANDLE piece;

	be(party->stranger.process);
	piece = create_sized(party_client(party), PIECE, SOFTGPU_LOCAL_ONLY);
	NTSTATUS status = make_resident(party_client(party), &piece, 1, flags);
	if (status == STATUS_SUCCESS)
		party->pieces[party->count++] = piece;
	else
		EXPECT_OK(destroy_one(party_client(party)->device, piece));
	be(NULL);
	return status;
}

static D3DKMT_QUERYVIDEOMEMORYINFO party_info(struct party *party)
{
	be(party->stranger.process);
	D3DKMT_QUERYVIDEOMEMORYINFO info = memory_info(party_client(party), 0);
	be(NULL);
	return info;
}

/* What of it is in GPU memory. */
static UINT64 party_resident(struct party *party)
{
	be(party->stranger.process);
	UINT64 bytes = statistics(D3DKMT_QUERYSTATISTICS_PROCESS_SEGMENT, 0)
			       .QueryResult.ProcessSegmentInformation.BytesCommitted;
	be(NULL);
	return bytes;
}

static void party_end(struct party *party)
{
	stranger_end(&party->stranger);
}

/* As far as its budget goes, and never further than there are pieces. */
static void party_fill(struct party *party)
{
	while (party->count < PIECES && party_grow(party, 0) == STATUS_SUCCESS)
		continue;
}

static void begin_alone(void)
{
	ours = begin_uncontrolled();
	D3DKMTCloseDxCoreDevice(); /* the program's own process has no part in it */
	ours = (struct client){ 0 };
}

/* One that has as much as there is. */
static UINT64 begin_full(struct party *first)
{
	begin_alone();
	party_open(first, "first");
	party_fill(first);
	return party_info(first).Budget;
}

TEST(newcomer, gets_its_share_at_once)
{
	struct party first;
	struct party second;
	UINT64 all = begin_full(&first);

	EXPECT(party_info(&first).CurrentUsage + PIECE > all);
	party_open(&second, "second");
	/* No time passes: half of all that is not page tables. */
	EXPECT(party_info(&second).Budget >= all / 2 - MIB);
	for (int i = 0; i < 4; i++)
		EXPECT_OK(party_grow(&second, 0));
	EXPECT(party_info(&first).Budget <= all - 4 * PIECE);
	EXPECT(party_info(&first).CurrentUsage > party_info(&first).Budget);
	party_end(&first);
	party_end(&second);
}

TEST(refusal, for_the_budget_names_who_has_the_memory)
{
	struct party first;
	struct party second;
	unsigned long long excess, local, non_local;
	unsigned process, pid;
	char name[32];

	begin_alone();
	party_open(&first, "first");
	for (int i = 0; i < 4; i++)
		EXPECT_OK(party_grow(&first, 0));
	party_open(&second, "second");
	party_fill(&second);
	EXPECT(second.count < PIECES);
	EXPECT_EQ(party_grow(&second, 0), STATUS_NO_MEMORY);
	struct dxgk_refusal why = last_refusal();
	EXPECT_STR(why.rule, "MM-BUDGET");
	UINT64 seconds = party_info(&second).CurrentUsage;
	UINT64 firsts = party_info(&first).CurrentUsage;
	EXPECT(seconds > firsts);
	/* Who has most comes first, and both are told with what they have. */
	EXPECT_EQ(sscanf(why.reason,
			 "AllocationList is %llu bytes above what the process may have resident; "
			 "of what is "
			 "resident process %u (%31[^,], pid %u) has %llu local and %llu non-local "
			 "bytes",
			 &excess, &process, name, &pid, &local, &non_local),
		  6);
	EXPECT_STR(name, "second");
	EXPECT_EQ(local, seconds);
	EXPECT(excess > 0 && excess <= PIECE);
	const char *other = strstr(why.reason, "(first, pid ");
	EXPECT(other != NULL);
	EXPECT_EQ(sscanf(other, "(first, pid %u) has %llu local", &pid, &local), 2);
	EXPECT_EQ(local, firsts);
	party_end(&first);
	party_end(&second);
}

TEST(process, that_is_over_its_budget_is_the_one_that_loses)
{
	struct party greedy;
	struct party modest;
	struct party newcomer;

	begin_alone();
	party_open(&modest, "modest");
	EXPECT_OK(party_grow(&modest, 0));
	UINT64 modest_has = party_resident(&modest);
	party_open(&greedy, "greedy");
	party_fill(&greedy);
	UINT64 greedy_had = party_resident(&greedy);
	party_open(&newcomer, "newcomer");
	UINT64 before = party_resident(&newcomer);
	for (int i = 0; i < 3; i++)
		EXPECT_OK(party_grow(&newcomer, 0));
	EXPECT_EQ(party_resident(&newcomer), before + 3 * PIECE);
	EXPECT_EQ(party_resident(&modest), modest_has);
	EXPECT(party_resident(&greedy) < greedy_had);
	/* Who is over can have no more. */
	EXPECT_EQ(party_grow(&greedy, 0), STATUS_NO_MEMORY);
	party_end(&newcomer);
	party_end(&greedy);
	party_end(&modest);
}

TEST(end, of_a_process_gives_its_budget_and_its_memory_back)
{
	struct party first;
	struct party second;
	UINT64 all = begin_full(&first);
	UINT64 had = party_resident(&first);
	party_open(&second, "second");
	for (int i = 0; i < 4; i++)
		EXPECT_OK(party_grow(&second, 0));
	EXPECT(party_resident(&first) < had);
	party_end(&second);
	EXPECT_EQ(party_info(&first).Budget, all);
	for (int i = 0; i < PATIENCE_TURNS && party_resident(&first) != had; i++) {
		if (!is_seeded())
			usleep(1000);
	}
	EXPECT_EQ(party_resident(&first), had);
	party_end(&first);
}

/* Somebody who only wants everything gets no more than what the others do not claim. */
TEST(processes, that_want_everything_share_it_evenly)
{
	struct party all[3];

	begin_alone();
	for (int i = 0; i < 3; i++)
		party_open(&all[i], "one of three");
	for (int turn = 0; turn < PIECES; turn++) {
		for (int i = 0; i < 3; i++)
			(void)party_grow(&all[i], 0);
	}
	for (int i = 0; i < 3; i++) {
		EXPECT(all[i].count + 1 >= all[(i + 1) % 3].count);
		EXPECT(party_info(&all[i]).CurrentUsage <= party_info(&all[i]).Budget);
	}
	for (int i = 0; i < 3; i++)
		party_end(&all[i]);
}

API_TEST_MAIN("api/process_budget")
