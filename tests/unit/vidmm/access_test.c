/* SPDX-License-Identifier: MIT */
/*
 * access_test.c - the rules of locking, as a table.
 */
#include "support/test.h"
#include "base/attributes.h"
#include "vidmm/access.h"

static const struct {
	struct access_question question;
	enum access_way way;
} table[] = {
	/* CPU visible, cached, aperture, segment visible, host aperture, a cached one, coherent
	   segment */
	{ { false, false, false, false, false }, ACCESS_NONE },
	{ { false, false, false, true, true }, ACCESS_NONE },
	{ { false, false, true, false, false }, ACCESS_DEMOTE },
	{ { false, false, true, true, true }, ACCESS_DEMOTE },
	{ { false, true, false, true, true }, ACCESS_NONE },
	{ { false, true, true, true, true }, ACCESS_DEMOTE },
	{ { true, true, false, true, true }, ACCESS_NONE },
	{ { true, true, false, false, false }, ACCESS_NONE },
	{ { true, true, true, true, true }, ACCESS_DEMOTE },
	{ { true, false, false, true, false }, ACCESS_SEGMENT },
	{ { true, false, true, true, true }, ACCESS_SEGMENT },
	{ { true, false, false, false, true }, ACCESS_HOST_APERTURE },
	{ { true, false, true, false, true }, ACCESS_HOST_APERTURE },
	{ { true, false, true, false, false }, ACCESS_DEMOTE },
	{ { true, false, false, false, false }, ACCESS_NONE },
	{ { true, true, false, false, true, true }, ACCESS_HOST_APERTURE },
	{ { true, true, true, true, true, true }, ACCESS_HOST_APERTURE },
	{ { true, true, true, false, false, true }, ACCESS_DEMOTE },
	{ { false, true, false, false, true, true }, ACCESS_NONE },
	/* In a segment that caches agree with. */
	{ { true, true, false, true, false, false, true }, ACCESS_SEGMENT },
	{ { true, true, true, true, true, true, true }, ACCESS_SEGMENT },
	{ { true, true, true, false, false, false, true }, ACCESS_DEMOTE },
	{ { true, true, false, false, true, false, true }, ACCESS_NONE },
	{ { false, true, false, true, false, false, true }, ACCESS_NONE },
	{ { true, false, false, true, false, false, true }, ACCESS_SEGMENT },
};

TEST(access, local_memory_follows_the_table)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (access_decide(&table[i].question) != table[i].way)
			print_error("row %zu\n", i);
		EXPECT_EQ(access_decide(&table[i].question), table[i].way);
	}
}

TEST_MAIN("vidmm/access")
