/* SPDX-License-Identifier: MIT */
/*
 * process_class_test.c - D3DKMTSetProcessSchedulingPriorityClass: the work of a higher class goes
 * first, whatever the priorities of contexts; these decide within a class.
 */
#include "api/crank.h"

enum { TAG_FULL = 100 };

/* Another process, with a context on node 0. */
struct party {
	struct dxgk_test_process *process;
	D3DKMT_HANDLE context;
};

static void be(const struct party *party)
{
	dxgk_test_process_enter(party ? party->process : NULL);
}

static struct party party_open(const char *name, bool is_controller)
{
	static unsigned pid = 6000;
	D3DKMT_OPENADAPTERFROMLUID open = { .AdapterLuid = { .LowPart = 0x10000 + BY_HAND } };
	struct party party = {
		.process = dxgk_test_process_create_as(&(struct dxgk_test_identity){
			.pid = ++pid, .user = 1000, .name = name, .is_controller = is_controller })
	};

	EXPECT(party.process != NULL);
	be(&party);
	EXPECT_OK(D3DKMTOpenAdapterFromLuid(&open));
	party.context = create_virtual_on(create_device(open.hAdapter), 0);
	be(NULL);
	return party;
}

static void party_end(const struct party *party)
{
	dxgk_test_process_end(party->process);
}

static NTSTATUS party_set_class(const struct party *party, unsigned priority_class)
{
	be(party);
	NTSTATUS status = D3DKMTSetProcessSchedulingPriorityClass(
		NULL, (D3DKMT_SCHEDULINGPRIORITYCLASS)priority_class);
	be(NULL);
	return status;
}

static unsigned party_class(const struct party *party)
{
	D3DKMT_SCHEDULINGPRIORITYCLASS found = (D3DKMT_SCHEDULINGPRIORITYCLASS)99;

	be(party);
	EXPECT_OK(D3DKMTGetProcessSchedulingPriorityClass((HANDLE)(intptr_t)-1, &found));
	be(NULL);
	return (unsigned)found;
}

static void party_submit(const struct party *party, unsigned tag)
{
	be(party);
	EXPECT_OK(submit(party->context, tag));
	be(NULL);
}

static void party_set_priority(const struct party *party, int priority)
{
	be(party);
	EXPECT_OK(set_priority(party->context, priority));
	be(NULL);
}

/* The hardware has all it takes, of one whom nobody preempts. How much that is. */
static unsigned fill_hardware(const struct party *full)
{
	unsigned filled = 0;

	do {
		party_submit(full, TAG_FULL);
		filled++;
	} while (pending(0) == filled);
	return filled;
}

static void expect_order(unsigned filled, const unsigned *tags, unsigned count)
{
	for (unsigned seen = 0, ended = 0; seen < count; ended++) {
		EXPECT(ended < filled + count);
		AWAIT(pending(0) > 0);
		unsigned tag = complete(0);
		if (tag != TAG_FULL)
			EXPECT_EQ(tag, tags[seen++]);
	}
}

TEST(process_class, is_normal_at_first_and_what_was_set)
{
	D3DKMT_SCHEDULINGPRIORITYCLASS found;

	begin_by_hand();
	struct party stranger = party_open("stranger", false);
	struct party controller = party_open("controller", true);
	EXPECT_EQ(party_class(&stranger), D3DKMT_SCHEDULINGPRIORITYCLASS_NORMAL);
	for (unsigned i = 0; i < D3DKMT_SCHEDULINGPRIORITYCLASS_REALTIME; i++) {
		EXPECT_OK(party_set_class(&stranger, i));
		EXPECT_EQ(party_class(&stranger), i);
	}
	EXPECT_EQ(party_class(&controller), D3DKMT_SCHEDULINGPRIORITYCLASS_NORMAL);
	EXPECT_REFUSED(party_set_class(&stranger, D3DKMT_SCHEDULINGPRIORITYCLASS_REALTIME),
		       STATUS_ACCESS_DENIED, "SYS-RIGHTS", "Class");
	EXPECT_OK(party_set_class(&controller, D3DKMT_SCHEDULINGPRIORITYCLASS_REALTIME));
	EXPECT_BAD(party_set_class(&stranger, 6), "API-VALUE", "Class");
	EXPECT_REFUSED(D3DKMTSetProcessSchedulingPriorityClass(
			       (HANDLE)(intptr_t)77, D3DKMT_SCHEDULINGPRIORITYCLASS_NORMAL),
		       STATUS_INVALID_HANDLE, "API-HANDLE", "hProcess");
	EXPECT_REFUSED(D3DKMTGetProcessSchedulingPriorityClass((HANDLE)(intptr_t)77, &found),
		       STATUS_INVALID_HANDLE, "API-HANDLE", "hProcess");
	EXPECT_EQ(D3DKMTGetProcessSchedulingPriorityClass(NULL, NULL), STATUS_INVALID_PARAMETER);
	party_end(&stranger);
	party_end(&controller);
	expect_valid();
}

/* One has the hardware, and two wait for it. */
struct three {
	struct party full;
	struct party low;
	struct party high;
};

static struct three three_open(void)
{
	begin_by_hand();
	struct three three = { party_open("full", true), party_open("low", false),
			       party_open("high", false) };

	EXPECT_OK(party_set_class(&three.full, D3DKMT_SCHEDULINGPRIORITYCLASS_REALTIME));
	return three;
}

static void three_end(struct three *three)
{
	party_end(&three->low);
	party_end(&three->high);
	party_end(&three->full);
	expect_valid();
}

/* The unimportant one comes first. */
static unsigned submit_low_first(struct three *three)
{
	unsigned filled = fill_hardware(&three->full);

	party_submit(&three->low, 1);
	party_submit(&three->high, 2);
	return filled;
}

static void expect_first(unsigned high_class, unsigned low_class, int high_priority,
			 int low_priority)
{
	static const unsigned order[] = { 2, 1 };
	struct three three = three_open();

	EXPECT_OK(party_set_class(&three.low, low_class));
	party_set_priority(&three.low, low_priority);
	party_set_priority(&three.high, high_priority);
	unsigned filled = submit_low_first(&three);
	/* Also of what is queued already. */
	EXPECT_OK(party_set_class(&three.high, high_class));
	expect_order(filled, order, 2);
	three_end(&three);
}

TEST(process_class, goes_before_the_priority_of_contexts)
{
	for (unsigned i = 0; i < D3DKMT_SCHEDULINGPRIORITYCLASS_HIGH; i++)
		expect_first(i + 1, i, -7, 7);
}

TEST(process_class, leaves_it_to_priorities_among_equals)
{
	expect_first(D3DKMT_SCHEDULINGPRIORITYCLASS_BELOW_NORMAL,
		     D3DKMT_SCHEDULINGPRIORITYCLASS_BELOW_NORMAL, 1, 0);
	expect_first(D3DKMT_SCHEDULINGPRIORITYCLASS_HIGH, D3DKMT_SCHEDULINGPRIORITYCLASS_HIGH, 7,
		     6);
}

TEST(process_class, of_a_newcomer_preempts_what_runs)
{
	begin_by_hand();
	struct party low = party_open("low", false);
	struct party high = party_open("high", false);
	EXPECT_OK(party_set_class(&low, D3DKMT_SCHEDULINGPRIORITYCLASS_IDLE));
	party_submit(&low, 1);
	AWAIT(pending(0) == 1);
	party_submit(&high, 2);
	AWAIT(strncmp(pending_tags(0), "2 ", 2) == 0);
	EXPECT_EQ(complete(0), 2);
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 1);
	party_end(&low);
	party_end(&high);
}

/* Of one class and priority everybody has a turn, one packet each, whoever has queued more. */
TEST(process_class, leaves_nobody_out_among_equals)
{
	static const unsigned order[] = { 1, 2, 1, 2, 1, 1 };
	struct three three = three_open();

	EXPECT_OK(party_set_class(&three.low, D3DKMT_SCHEDULINGPRIORITYCLASS_HIGH));
	EXPECT_OK(party_set_class(&three.high, D3DKMT_SCHEDULINGPRIORITYCLASS_HIGH));
	unsigned filled = fill_hardware(&three.full);
	for (int i = 0; i < 4; i++)
		party_submit(&three.low, 1);
	for (int i = 0; i < 2; i++)
		party_submit(&three.high, 2);
	expect_order(filled, order, 6);
	three_end(&three);
}

/* Whoever is made afterwards has it, too. */
TEST(process_class, is_that_of_devices_made_later)
{
	static const unsigned order[] = { 2, 1 };

	struct three three = three_open();

	EXPECT_OK(party_set_class(&three.high, D3DKMT_SCHEDULINGPRIORITYCLASS_HIGH));
	be(&three.high);
	D3DKMT_OPENADAPTERFROMLUID open = { .AdapterLuid = { .LowPart = 0x10000 + BY_HAND } };
	EXPECT_OK(D3DKMTOpenAdapterFromLuid(&open));
	three.high.context = create_virtual_on(create_device(open.hAdapter), 0);
	be(NULL);
	expect_order(submit_low_first(&three), order, 2);
	three_end(&three);
}

CRANK_TEST_MAIN("api/process_class", "")
