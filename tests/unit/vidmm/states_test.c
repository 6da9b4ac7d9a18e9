/* SPDX-License-Identifier: MIT */
/*
 * states_test.c - which steps there are, and that each leaves a trace.
 */
#include <unistd.h>

#include "trace/trace.h"
#include "world.h"

TEST(states, life_only_goes_on)
{
	for (int from = VIDMM_LIVE; from <= VIDMM_DEAD; from++) {
		for (int to = VIDMM_LIVE; to <= VIDMM_DEAD; to++)
			EXPECT_EQ(state_may_become(STATES_LIFE, from, to), to > from);
	}
}

TEST(states, content_moves_between_any_two_places)
{
	for (int from = VIDMM_CONTENT_NONE; from <= VIDMM_CONTENT_LOCAL; from++) {
		for (int to = VIDMM_CONTENT_NONE; to <= VIDMM_CONTENT_LOCAL; to++)
			EXPECT_EQ(state_may_become(STATES_CONTENT, from, to), to != from);
	}
}

TEST(states, only_what_is_offered_is_lost)
{
	EXPECT(state_may_become(STATES_OFFER, VIDMM_NOT_OFFERED, VIDMM_OFFERED));
	EXPECT(!state_may_become(STATES_OFFER, VIDMM_NOT_OFFERED, VIDMM_DISCARDED));
	EXPECT(!state_may_become(STATES_OFFER, VIDMM_NOT_OFFERED, VIDMM_DECOMMITTED));
	EXPECT(state_may_become(STATES_OFFER, VIDMM_OFFERED, VIDMM_OFFERED));
	EXPECT(state_may_become(STATES_OFFER, VIDMM_OFFERED, VIDMM_NOT_OFFERED));
	EXPECT(state_may_become(STATES_OFFER, VIDMM_OFFERED, VIDMM_DISCARDED));
	EXPECT(state_may_become(STATES_OFFER, VIDMM_OFFERED, VIDMM_DECOMMITTED));
	EXPECT(state_may_become(STATES_OFFER, VIDMM_DISCARDED, VIDMM_NOT_OFFERED));
	EXPECT(!state_may_become(STATES_OFFER, VIDMM_DISCARDED, VIDMM_OFFERED));
	/* Whoever wants it back has memory for it first. */
	EXPECT(!state_may_become(STATES_OFFER, VIDMM_DECOMMITTED, VIDMM_NOT_OFFERED));
	EXPECT(!state_may_become(STATES_OFFER, VIDMM_DECOMMITTED, VIDMM_OFFERED));
	EXPECT(state_may_become(STATES_OFFER, VIDMM_DECOMMITTED, VIDMM_DISCARDED));
}

TEST(states, each_step_is_one_event)
{
	char path[] = "/tmp/vidmm-states-XXXXXX.json";
	char text[65536];
	struct world world;

	close(mkstemps(path, (int)strlen(".json")));
	world_init(&world, 16);
	EXPECT(trace_start(path));
	struct vidmm_wishes wishes = world_wishes(&world, 64 * KIB);
	wishes.id = 0xabcde;
	struct vidmm_allocation *allocation = world_add(&world, &wishes);
	world_lock(&world, allocation);
	EXPECT(world_unlock(allocation));
	EXPECT_EQ(world_offer(allocation, VIDMM_OFFER_LOW, true), STATUS_SUCCESS);
	EXPECT(world_decommit(allocation));
	vidmm_allocation_retire(allocation);
	world_drop(&world, allocation);
	trace_finish();

	FILE *file = fopen(path, "r");
	EXPECT(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	unlink(path);
	char *at = text;
	static const char *const expected[] = {
		"\"allocation content\"",
		"abcde",
		"backed",
		"\"allocation locks\"",
		"\"allocation locks\"",
		"\"allocation offer\"",
		"offered",
		"\"allocation content\"",
		"none",
		"\"allocation offer\"",
		"decommitted",
		"\"allocation dying\"",
		"\"allocation\"",
	};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		at = strstr(at, expected[i]);
		EXPECT(at);
		at++;
	}
	world_finish(&world);
}

TEST_MAIN("vidmm/states")
