/* SPDX-License-Identifier: MIT */
/*
 * access_test.c - the rules of locking, as a table.
 */
#include "support/test.h"
#include "vidmm/access.h"

#define NONE   VIDMM_CONTENT_NONE
#define BACKED VIDMM_CONTENT_BACKED
#define LOCAL  VIDMM_CONTENT_LOCAL

static const struct {
	struct access_question question;
	enum access_way way;
} table[] = {
	/* content, CPU visible, cached, aperture, segment visible, host aperture, a cached one,
	   coherent segment */
	{ { LOCAL, false, false, false, false, false }, ACCESS_NONE },
	{ { LOCAL, false, false, false, true, true }, ACCESS_NONE },
	{ { LOCAL, false, false, true, false, false }, ACCESS_DEMOTE },
	{ { LOCAL, false, false, true, true, true }, ACCESS_DEMOTE },
	{ { LOCAL, false, true, false, true, true }, ACCESS_NONE },
	{ { LOCAL, false, true, true, true, true }, ACCESS_DEMOTE },
	{ { LOCAL, true, true, false, true, true }, ACCESS_NONE },
	{ { LOCAL, true, true, false, false, false }, ACCESS_NONE },
	{ { LOCAL, true, true, true, true, true }, ACCESS_DEMOTE },
	{ { LOCAL, true, false, false, true, false }, ACCESS_SEGMENT },
	{ { LOCAL, true, false, true, true, true }, ACCESS_SEGMENT },
	{ { LOCAL, true, false, false, false, true }, ACCESS_HOST_APERTURE },
	{ { LOCAL, true, false, true, false, true }, ACCESS_HOST_APERTURE },
	{ { LOCAL, true, false, true, false, false }, ACCESS_DEMOTE },
	{ { LOCAL, true, false, false, false, false }, ACCESS_NONE },
	{ { LOCAL, true, true, false, false, true, true }, ACCESS_HOST_APERTURE },
	{ { LOCAL, true, true, true, true, true, true }, ACCESS_HOST_APERTURE },
	{ { LOCAL, true, true, true, false, false, true }, ACCESS_DEMOTE },
	{ { LOCAL, false, true, false, false, true, true }, ACCESS_NONE },
	/* In a segment that caches agree with. */
	{ { LOCAL, true, true, false, true, false, false, true }, ACCESS_SEGMENT },
	{ { LOCAL, true, true, true, true, true, true, true }, ACCESS_SEGMENT },
	{ { LOCAL, true, true, true, false, false, false, true }, ACCESS_DEMOTE },
	{ { LOCAL, true, true, false, false, true, false, true }, ACCESS_NONE },
	{ { LOCAL, false, true, false, true, false, false, true }, ACCESS_NONE },
	{ { LOCAL, true, false, false, true, false, false, true }, ACCESS_SEGMENT },
};

TEST(access, local_memory_follows_the_table)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (access_decide(&table[i].question) != table[i].way)
			print_error("row %zu\n", i);
		EXPECT_EQ(access_decide(&table[i].question), table[i].way);
	}
}

TEST(access, system_memory_can_always_be_seen)
{
	for (unsigned bits = 0; bits < 32; bits++) {
		struct access_question question = {
			.content = NONE,
			.is_cpu_visible = bits & 1,
			.is_cached = bits & 2,
			.supports_aperture = bits & 4,
			.segment_is_cpu_visible = bits & 8,
			.host_aperture_has_room = bits & 16,
		};

		EXPECT_EQ(access_decide(&question), ACCESS_SYSTEM);
		question.content = BACKED;
		EXPECT_EQ(access_decide(&question), ACCESS_SYSTEM);
	}
}

TEST_MAIN("vidmm/access")
