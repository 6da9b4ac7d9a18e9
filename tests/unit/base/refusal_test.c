/* SPDX-License-Identifier: MIT */
/*
 * refusal_test.c - the record of why.
 */
#include "base/log.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "support/test.h"

static struct dxgk_refusal last_refusal(void)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	EXPECT(refusal_last(&refusal));
	return refusal;
}

static unsigned heard;
static struct dxgk_refusal heard_last;

static void listen(const struct dxgk_refusal *refusal)
{
	heard++;
	heard_last = *refusal;
}

/* First: nothing was refused yet. */
TEST(refusal, there_is_none_before_the_first)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal), .status = 1 };

	EXPECT(!refusal_last(&refusal));
	EXPECT_EQ(refusal.status, 1);
	EXPECT(!refusal_last(NULL));
}

TEST(refusal, the_record_has_every_field)
{
	struct refusal_scope scope;

	refusal_begin(&scope, "D3DKMTCreateDevice");
	EXPECT_EQ(refuse(STATUS_INVALID_PARAMETER, RULE_API_RESERVED, "Flags",
			 "has reserved bits 0x%x set", 0x30),
		  STATUS_INVALID_PARAMETER);
	EXPECT(refusal_end(&scope));

	struct dxgk_refusal refusal = last_refusal();
	EXPECT_EQ(refusal.size_bytes, sizeof(refusal));
	EXPECT_EQ(refusal.status, STATUS_INVALID_PARAMETER);
	EXPECT_EQ(refusal.index, -1);
	EXPECT_STR(refusal.call, "D3DKMTCreateDevice");
	EXPECT_STR(refusal.argument, "Flags");
	EXPECT_STR(refusal.rule, "API-RESERVED");
	EXPECT_STR(refusal.reason, "Flags has reserved bits 0x30 set");

	uint64_t sequence = refusal.sequence;
	refuse(STATUS_NOT_IMPLEMENTED, RULE_API_NOT_BUILT, NULL, "this call is not built");
	refusal = last_refusal();
	EXPECT_EQ(refusal.sequence, sequence + 1);
	EXPECT_STR(refusal.argument, "");
	EXPECT_STR(refusal.reason, "this call is not built");
	EXPECT_STR(refusal.call, "opendxgk");
}

TEST(refusal, an_element_of_a_list_is_named_by_its_index)
{
	refuse_item(STATUS_INVALID_PARAMETER, RULE_API_HANDLE_KIND, "phAllocationList", 3,
		    "is not an allocation of device 0x%x", 0x40000080);
	struct dxgk_refusal refusal = last_refusal();
	EXPECT_EQ(refusal.index, 3);
	EXPECT_STR(refusal.argument, "phAllocationList");
	EXPECT_STR(refusal.reason, "phAllocationList[3] is not an allocation of device 0x40000080");

	refuse_item(STATUS_INVALID_PARAMETER, RULE_API_HANDLE_KIND, "phList", 0, "is nothing");
	EXPECT_STR(last_refusal().reason, "phList[0] is nothing");
}

TEST(refusal, the_first_of_a_call_stands)
{
	struct refusal_scope scope;

	refusal_begin(&scope, "D3DKMTEscape");
	refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "Type", "is 7");
	EXPECT_EQ(refuse(STATUS_UNSUCCESSFUL, RULE_API_NULL_ARGUMENT, "other", "is worse"),
		  STATUS_UNSUCCESSFUL);
	EXPECT(refusal_end(&scope));
	EXPECT_STR(last_refusal().reason, "Type is 7");

	/* The next call starts afresh. */
	refusal_begin(&scope, "D3DKMTEscape");
	refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "Type", "is 8");
	refusal_end(&scope);
	EXPECT_STR(last_refusal().reason, "Type is 8");
}

TEST(refusal, scopes_nest)
{
	struct refusal_scope outer, inner;

	refusal_begin(&outer, "D3DKMTEnumAdapters2");
	refusal_begin(&inner, "start of soft");
	refuse(STATUS_DRIVER_UNABLE_TO_LOAD, RULE_DDI_STATUS, NULL, "DriverEntry failed");
	EXPECT_STR(last_refusal().call, "start of soft");
	EXPECT(refusal_end(&inner));

	/* What the inner one said does not count for the outer one. */
	refuse(STATUS_INVALID_PARAMETER, RULE_API_COUNT, "NumAdapters", "is 0");
	EXPECT_STR(last_refusal().call, "D3DKMTEnumAdapters2");
	EXPECT(refusal_end(&outer));

	refusal_begin(&outer, "D3DKMTEnumAdapters2");
	refusal_begin(&inner, "start of soft");
	refuse(STATUS_UNSUCCESSFUL, RULE_DDI_STATUS, NULL, "no");
	EXPECT(refusal_end(&inner));
	EXPECT(!refusal_end(&outer));
}

TEST(refusal, a_record_that_is_too_small_is_left_alone)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) - 1, .status = 1 };

	refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "x", "y");
	EXPECT(!refusal_last(&refusal));
	EXPECT_EQ(refusal.status, 1);
	refusal.size_bytes = 0;
	EXPECT(!refusal_last(&refusal));
	refusal.size_bytes = sizeof(refusal) + 100; /* from a later header */
	EXPECT(refusal_last(&refusal));
	EXPECT_EQ(refusal.size_bytes, sizeof(refusal));
}

TEST(refusal, long_words_are_cut)
{
	char text[1000];
	struct refusal_scope scope;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	refusal_begin(&scope, text);
	refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, text, "%s", text);
	refusal_end(&scope);
	struct dxgk_refusal refusal = last_refusal();
	EXPECT_EQ(strlen(refusal.call), sizeof(refusal.call) - 1);
	EXPECT_EQ(strlen(refusal.argument), sizeof(refusal.argument) - 1);
	EXPECT_EQ(strlen(refusal.reason), sizeof(refusal.reason) - 1);
}

static void refuse_elsewhere(void *argument)
{
	struct dxgk_refusal *refusal = argument;

	refusal->size_bytes = sizeof(*refusal);
	if (refusal_last(refusal))
		abort(); /* this thread was refused nothing */
	refuse(STATUS_UNSUCCESSFUL, RULE_API_VALUE, "there", "too");
	refusal_last(refusal);
}

TEST(refusal, each_thread_has_its_own)
{
	struct dxgk_refusal theirs = { 0 };
	struct thread *thread;

	refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "here", "only");
	EXPECT(NT_SUCCESS(thread_create("refuse", refuse_elsewhere, &theirs, &thread)));
	thread_join(thread);
	EXPECT_STR(theirs.reason, "there too");
	EXPECT_STR(last_refusal().reason, "here only");
	EXPECT(theirs.sequence > last_refusal().sequence);
}

TEST(refusal, the_listener_hears_each_that_is_recorded)
{
	struct refusal_scope scope;

	refusal_listen(listen);
	refusal_begin(&scope, "D3DKMTEscape");
	refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "Type", "is 7");
	refuse(STATUS_INVALID_PARAMETER, RULE_API_VALUE, "Type", "is 8");
	refusal_end(&scope);
	refusal_listen(NULL);
	EXPECT_EQ(heard, 1);
	EXPECT_STR(heard_last.reason, "Type is 7");
	EXPECT_STR(heard_last.call, "D3DKMTEscape");
}

TEST(refusal, of_a_call_that_succeeds_all_the_same_is_none)
{
	struct refusal_scope scope;

	refusal_begin(&scope, "D3DKMTLock2");
	refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, "there is none");
	EXPECT(refusal_end_call(&scope, STATUS_NO_MEMORY));
	uint64_t sequence = last_refusal().sequence;

	heard = 0;
	refusal_listen(listen);
	refusal_begin(&scope, "D3DKMTLock2");
	refuse(STATUS_UNSUCCESSFUL, RULE_DDI_STATUS, NULL, "the driver opens no window");
	EXPECT_STR(last_refusal().reason, "the driver opens no window");
	EXPECT(refusal_end_call(&scope, STATUS_SUCCESS));
	EXPECT_EQ(heard, 0);
	EXPECT_STR(last_refusal().reason, "there is none");
	EXPECT_EQ(last_refusal().sequence, sequence);

	refusal_begin(&scope, "D3DKMTMakeResident");
	refuse(STATUS_UNSUCCESSFUL, RULE_DDI_STATUS, NULL, "not this way");
	EXPECT(refusal_end_call(&scope, STATUS_PENDING));
	EXPECT_EQ(heard, 0);
	EXPECT_EQ(last_refusal().sequence, sequence);
	refusal_begin(&scope, "D3DKMTLock2");
	refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, "there is still none");
	EXPECT_EQ(heard, 0);
	EXPECT(refusal_end_call(&scope, STATUS_NO_MEMORY));
	refusal_listen(NULL);
	EXPECT_EQ(heard, 1);
	EXPECT_EQ(last_refusal().sequence, sequence + 1);
}

TEST(refusal, of_a_call_stays_whatever_is_refused_while_it_unwinds)
{
	struct refusal_scope outer, inner;

	refusal_begin(&outer, "D3DKMTCreateDevice");
	refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, "there is none");
	refusal_begin(&inner, "stop of soft");
	refuse(STATUS_UNSUCCESSFUL, RULE_DDI_STATUS, NULL, "it does not stop");
	EXPECT(refusal_end_call(&inner, STATUS_UNSUCCESSFUL));
	EXPECT_STR(refusal_call(), "D3DKMTCreateDevice");
	EXPECT(refusal_end_call(&outer, STATUS_NO_MEMORY));
	EXPECT_STR(last_refusal().call, "D3DKMTCreateDevice");
	EXPECT_STR(last_refusal().reason, "there is none");
	EXPECT(!refusal_call());
}

TEST(refusal, every_rule_has_an_id_of_its_own)
{
	for (unsigned a = 0; a < RULE_COUNT; a++) {
		EXPECT(strlen(rule_id((enum rule)a)) > 4);
		EXPECT(strlen(rule_id((enum rule)a)) < sizeof(((struct dxgk_refusal *)NULL)->rule));
		for (unsigned b = 0; b < a; b++)
			EXPECT(strcmp(rule_id((enum rule)a), rule_id((enum rule)b)) != 0);
	}
}

TEST_MAIN("base/refusal")
