/* SPDX-License-Identifier: MIT */
/*
 * quota_test.c - what a process may have, and all processes of a user together (quota.h): taken whole or refused by
 * name, and given back to both. What each call takes of it is in tests/api/quota_test.c.
 */
#include "support/failing.h"

#include "base/mem.h"
#include "base/quota.h"
#include "base/refusal.h"
#include "base/thread.h"

enum { PROCESS_MOST = 8000, USER_MOST = 10240, ALICE = 1, BOB = 2, THREADS = 4, ROUNDS = 20000 };

static struct quota_book book;

static void begin(void)
{
	quota_book_init(&book);
	book.process.most[QUOTA_EVENTS] = PROCESS_MOST;
	book.user.most[QUOTA_EVENTS] = USER_MOST;
}

static struct quota_ledger *open_one(uint32_t pid, uint32_t user)
{
	struct quota_ledger *ledger;

	EXPECT_EQ(quota_open(&book, pid, user, NULL, &ledger), STATUS_SUCCESS);
	EXPECT(ledger != NULL);
	return ledger;
}

static void finish(void)
{
	EXPECT(quota_book_validate(&book) == NULL);
	quota_book_finish(&book);
}

/* The words name the limit that it is over. */
static void expect_refused(struct quota_ledger *ledger, uint64_t amount, const char *words)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	uint64_t used = quota_used(ledger, QUOTA_EVENTS);
	uint64_t of_user = quota_used(ledger->above, QUOTA_EVENTS);

	EXPECT_EQ(quota_take(ledger, QUOTA_EVENTS, amount), STATUS_INSUFFICIENT_RESOURCES);
	EXPECT(refusal_last(&why));
	EXPECT_STR(why.rule, "SYS-QUOTA");
	EXPECT_CONTAINS(why.reason, words);
	EXPECT_EQ(quota_used(ledger, QUOTA_EVENTS), used);
	EXPECT_EQ(quota_used(ledger->above, QUOTA_EVENTS), of_user);
	EXPECT(quota_book_validate(&book) == NULL);
}

#define QUOTA_TEST(suite, claim) TEST_BETWEEN(begin(), finish(), suite, claim)

QUOTA_TEST(quota, of_a_process_is_taken_whole_or_refused)
{
	struct quota_ledger *one = open_one(1, ALICE);

	EXPECT_EQ(quota_take(one, QUOTA_EVENTS, PROCESS_MOST), STATUS_SUCCESS);
	expect_refused(one, 1, "8000");
	quota_give(one, QUOTA_EVENTS, 10);
	expect_refused(one, 11, "8000");
	EXPECT_EQ(quota_take(one, QUOTA_EVENTS, 10), STATUS_SUCCESS);
	/* What has no limit has none. */
	EXPECT_EQ(quota_take(one, QUOTA_HANDLES, UINT32_MAX), STATUS_SUCCESS);
	quota_give(one, QUOTA_HANDLES, UINT32_MAX);
	quota_give(one, QUOTA_EVENTS, PROCESS_MOST);
	quota_put(one);
}

QUOTA_TEST(quota, of_a_user_is_shared_by_its_processes_and_by_nobody_else)
{
	struct quota_ledger *one = open_one(1, ALICE);
	struct quota_ledger *two = open_one(2, ALICE);
	struct quota_ledger *other = open_one(3, BOB);

	EXPECT(one->above == two->above && other->above != one->above);
	EXPECT_EQ(quota_take(one, QUOTA_EVENTS, PROCESS_MOST), STATUS_SUCCESS);
	expect_refused(two, USER_MOST - PROCESS_MOST + 1, "10240");
	EXPECT_EQ(quota_take(other, QUOTA_EVENTS, PROCESS_MOST), STATUS_SUCCESS);
	/* What one gives back the other can have: of what it drew ahead it keeps a little. */
	quota_give(one, QUOTA_EVENTS, PROCESS_MOST);
	EXPECT_EQ(quota_take(two, QUOTA_EVENTS, PROCESS_MOST), STATUS_SUCCESS);
	quota_give(two, QUOTA_EVENTS, PROCESS_MOST);
	quota_give(other, QUOTA_EVENTS, PROCESS_MOST);
	quota_put(other);
	quota_put(one);
	quota_put(two);
}

QUOTA_TEST(quota, is_above_its_limit_with_what_cannot_be_refused)
{
	struct quota_ledger *one = open_one(1, ALICE);
	struct quota_ledger *two = open_one(2, ALICE);

	EXPECT_EQ(quota_take(one, QUOTA_EVENTS, PROCESS_MOST), STATUS_SUCCESS);
	quota_force(two, QUOTA_EVENTS, USER_MOST);
	EXPECT_EQ(quota_used(two, QUOTA_EVENTS), USER_MOST);
	EXPECT(quota_used(two->above, QUOTA_EVENTS) >= PROCESS_MOST + USER_MOST);
	EXPECT(quota_book_validate(&book) == NULL);
	expect_refused(two, 1, "8000");
	quota_give(two, QUOTA_EVENTS, USER_MOST);
	quota_give(one, QUOTA_EVENTS, PROCESS_MOST);
	quota_put(one);
	quota_put(two);
}

QUOTA_TEST(quota, of_a_process_that_joins_is_one_for_all_of_its_connections)
{
	struct quota_ledger *lone = open_one(1, ALICE);
	struct quota_ledger *first, *second, *other, *nameless[2];

	EXPECT_EQ(quota_join(&book, 1, ALICE, &first), STATUS_SUCCESS);
	EXPECT_EQ(quota_join(&book, 1, ALICE, &second), STATUS_SUCCESS);
	EXPECT(first == second && first != lone);
	EXPECT_EQ(quota_join(&book, 1, BOB, &other), STATUS_SUCCESS);
	EXPECT(other != first);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(quota_join(&book, 0, ALICE, &nameless[i]), STATUS_SUCCESS);
	EXPECT(nameless[0] != nameless[1]);
	EXPECT_EQ(quota_take(first, QUOTA_EVENTS, PROCESS_MOST), STATUS_SUCCESS);
	expect_refused(second, 1, "8000");
	quota_give(second, QUOTA_EVENTS, PROCESS_MOST);
	quota_put(first);
	EXPECT_EQ(quota_take(second, QUOTA_EVENTS, 1), STATUS_SUCCESS);
	quota_give(second, QUOTA_EVENTS, 1);
	quota_put(second);
	/* Who comes after the last begins anew. */
	EXPECT_EQ(quota_join(&book, 1, ALICE, &first), STATUS_SUCCESS);
	EXPECT_EQ(quota_used(first, QUOTA_EVENTS), 0);
	quota_put(first);
	quota_put(nameless[0]);
	quota_put(nameless[1]);
	quota_put(other);
	quota_put(lone);
}

TEST(quota, of_nobody_is_none)
{
	struct quota_book none = { 0 };
	struct quota_ledger *ledger;

	quota_book_finish(&none); /* one that never began */
	quota_book_init(&none);
	EXPECT_EQ(quota_open(&none, 1, ALICE, NULL, &ledger), STATUS_SUCCESS);
	EXPECT(ledger == NULL);
	EXPECT_EQ(quota_take(ledger, QUOTA_EVENTS, UINT64_MAX), STATUS_SUCCESS);
	quota_force(ledger, QUOTA_EVENTS, UINT64_MAX);
	quota_give(ledger, QUOTA_EVENTS, UINT64_MAX);
	quota_put(ledger);
	quota_book_finish(&none);
}

QUOTA_TEST(quota, without_memory_is_refused_and_nothing_is_left)
{
	struct mem_usage before = mem_usage();
	EACH_FAILURE (failing, 2) {
		struct quota_ledger *ledger;

		failing_start(&failing);
		NTSTATUS status = quota_open(&book, 1, ALICE, NULL, &ledger);
		bool was_lacking = failing_stop(&failing);
		EXPECT_EQ(status, was_lacking ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT_EQ(ledger != NULL, !was_lacking);
		quota_put(ledger);
		EXPECT_EQ(mem_usage().blocks, before.blocks);
	}
}

/* ---- what is wrong is found ---- */

QUOTA_TEST(quota, that_is_not_what_its_processes_drew_is_found)
{
	struct quota_ledger *one = open_one(1, ALICE);

	EXPECT_EQ(quota_take(one, QUOTA_EVENTS, 5), STATUS_SUCCESS);
	atomic_fetch_add(&one->above->used[QUOTA_EVENTS], 1);
	EXPECT_CONTAINS(quota_book_validate(&book), "not what its processes drew");
	atomic_fetch_sub(&one->above->used[QUOTA_EVENTS], 1);
	atomic_fetch_add(&one->used[QUOTA_EVENTS], PROCESS_MOST);
	EXPECT_CONTAINS(quota_book_validate(&book), "more than it drew");
	atomic_fetch_sub(&one->used[QUOTA_EVENTS], PROCESS_MOST);
	quota_give(one, QUOTA_EVENTS, 5);
	quota_put(one);
}

/* ---- threads ---- */

static void take_and_give(void *argument)
{
	struct quota_ledger *ledger = argument;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t amount = 1 + i % 97;

		if (quota_take(ledger, QUOTA_EVENTS, amount) == STATUS_SUCCESS)
			quota_give(ledger, QUOTA_EVENTS, amount);
	}
}

QUOTA_TEST(quota, is_right_after_threads_have_taken_and_given)
{
	struct thread *threads[THREADS];
	struct quota_ledger *ledgers[2];

	for (uint32_t i = 0; i < 2; i++)
		ledgers[i] = open_one(i, ALICE);
	for (int i = 0; i < THREADS; i++)
		EXPECT(NT_SUCCESS(
			thread_create("quota", take_and_give, ledgers[i % 2], &threads[i])));
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(quota_used(ledgers[i], QUOTA_EVENTS), 0);
		EXPECT(quota_book_validate(&book) == NULL);
		quota_put(ledgers[i]);
	}
}

TEST_MAIN("base/quota")
