/* SPDX-License-Identifier: MIT */
/*
 * share_world.h - a table with bodies that are nothing but a share and a flag that says whether
 * they are gone.
 */
#ifndef TESTS_UNIT_OBJECT_SHARE_WORLD_H
#define TESTS_UNIT_OBJECT_SHARE_WORLD_H

#include "support/test.h"

#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "object/memory/share.h"

struct body {
	struct share share;
	_Atomic bool is_gone;
};

static inline void body_destroy(struct share *share)
{
	struct body *body = container_of(share, struct body, share);

	EXPECT(!body->is_gone);
	body->is_gone = true;
}

__attribute__((unused)) static struct share_table table;
__attribute__((unused)) static const struct share_nt_options plain = { .access = 1 };

static struct mem_usage before_table;

static inline void table_begin(void)
{
	before_table = mem_usage();
	EXPECT_EQ(share_table_init(&table), STATUS_SUCCESS);
}

/* Nothing of it is left. */
static inline void table_end(void)
{
	share_table_finish(&table);
	EXPECT_EQ(mem_usage().blocks, before_table.blocks);
}

static inline void body_init(struct body *body, enum share_kind kind, enum share_scheme scheme)
{
	body->is_gone = false;
	EXPECT_EQ(share_init(&body->share, &table, 0, kind, scheme, NULL, body_destroy),
		  STATUS_SUCCESS);
	share_publish(&body->share);
}

/* Shares one body; its first opening is closed, so only the NT handle holds it. */
static inline int share_alone(struct body *body, const struct share_nt_options *options)
{
	struct share *shares[] = { &body->share };
	int descriptor = -1;

	EXPECT_EQ(share_create_nt(&table, shares, NULL, 1, options, &descriptor), STATUS_SUCCESS);
	share_close(&body->share);
	EXPECT(!body->is_gone);
	return descriptor;
}

static inline NTSTATUS find(int descriptor, enum share_kind kind)
{
	struct share_set set = { 0 };
	NTSTATUS status = share_find_nt(&table, (uintptr_t)descriptor, kind, "hNtHandle", &set);

	share_set_put(&set);
	return status;
}

static inline struct dxgk_refusal last_refusal(void)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	EXPECT(refusal_last(&refusal));
	return refusal;
}

#define EXPECT_RULE(call, status, rule_name)                                                       \
	do {                                                                                       \
		EXPECT_EQ(call, status);                                                           \
		EXPECT_STR(last_refusal().rule, rule_name);                                        \
	} while (0)

static inline NTSTATUS open_name(const char *name, enum share_kind kind, uint32_t access,
				 int *descriptor_out)
{
	return share_open_name(
		&table, kind,
		&(struct share_nt_options){ .name = name, .access = access, .rights = access & 1 },
		descriptor_out);
}

static inline void begin_with_body(struct body *body)
{
	table_begin();
	body_init(body, SHARE_RESOURCE, SHARE_NT);
}

/* Of tests with a resource for NT handles, `body`. */
#define BODY_TEST(suite, claim) TEST_ON(body, begin_with_body(&body), table_end(), suite, claim)

#endif
