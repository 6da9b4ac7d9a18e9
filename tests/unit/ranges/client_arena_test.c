/* SPDX-License-Identifier: MIT */
/*
 * client_arena_test.c - addresses of clients elsewhere, and what they are told to show there.
 */
#include <sys/mman.h>

#include "base/client_call.h"
#include "base/mem.h"
#include "ranges/client_arena.h"
#include "support/test.h"

enum { PAGE = 4096, ARENA_PAGES = 64 };

#define ARENA_AT UINT64_C(0x7f0000000000)

static struct mem_usage usage;

static struct client_arena *arena_new(void)
{
	usage = mem_usage();
	struct client_arena *arena = client_arena_create(ARENA_AT, ARENA_PAGES * PAGE);
	EXPECT(arena);
	return arena;
}

static void arena_end(struct client_arena *arena)
{
	EXPECT(!client_arena_validate(arena));
	client_arena_put(arena);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

TEST(mappings, are_found_again_in_the_same_arena)
{
	struct client_arena *arena = arena_new();
	struct client_arena *other = client_arena_create(ARENA_AT, ARENA_PAGES * PAGE);
	struct client_mappings mappings = { 0 };
	struct client_mapping *first;
	struct client_mapping *again;
	struct client_mapping *there;

	EXPECT_EQ(client_mappings_find(&mappings, arena, 3, &first), STATUS_SUCCESS);
	EXPECT_EQ(client_mappings_find(&mappings, other, 3, &there), STATUS_SUCCESS);
	EXPECT_EQ(client_mappings_find(&mappings, arena, 3, &again), STATUS_SUCCESS);
	EXPECT(first == again && first != there);
	EXPECT(client_arena_contains(arena, client_mapping_address(first), 3 * PAGE));
	EXPECT(!client_arena_contains(arena, ARENA_AT + ARENA_PAGES * PAGE, PAGE));
	client_mappings_finish(&mappings);
	/* All of it is free again. */
	EXPECT_EQ(client_mappings_find(&mappings, arena, ARENA_PAGES, &first), STATUS_SUCCESS);
	client_mappings_finish(&mappings);
	client_arena_put(other);
	arena_end(arena);
}

TEST(mappings, outlive_their_client_and_run_out)
{
	struct client_arena *arena = arena_new();
	struct client_mappings mappings = { 0 };
	struct client_mappings more = { 0 };
	struct client_mapping *mapping;

	EXPECT_EQ(client_mappings_find(&mappings, arena, ARENA_PAGES, &mapping), STATUS_SUCCESS);
	EXPECT_EQ(client_mappings_find(&more, arena, 1, &mapping), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	client_arena_put(arena);
	client_mappings_finish(&more);
	client_mappings_finish(&mappings);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

/* A call in which `count` versions of one page are noted, which the client is told to show as `kinds` say. */
static void note_versions(const uint64_t *versions, const enum client_view_kind *kinds,
			  unsigned count, void (*check)(const struct client_call *call))
{
	struct client_arena *arena = arena_new();
	struct client_file *file =
		client_file_create(memfd_create("test", MFD_CLOEXEC), CLIENT_FILE_OF_OURS);
	struct client_mappings mappings = { 0 };
	struct client_mapping *mapping;
	struct client_call call = { 0 };

	client_call_begin(&call);
	EXPECT_EQ(client_mappings_find(&mappings, arena, 1, &mapping), STATUS_SUCCESS);
	for (unsigned i = 0; i < count; i++) {
		EXPECT_EQ(client_call_add_run(file, i, 1), STATUS_SUCCESS);
		EXPECT_EQ(client_mapping_note(mapping, versions[i], kinds[i]), STATUS_SUCCESS);
	}
	client_call_end();
	EXPECT_EQ(call.view_count, count);
	EXPECT_EQ(call.views[count - 1].address, client_mapping_address(mapping));
	check(&call);
	client_call_finish(&call);
	client_mappings_finish(&mappings);
	client_file_put(file);
	arena_end(arena);
}

static void first_two_are_alike(const struct client_call *call)
{
	EXPECT_EQ(call->views[0].stamp, call->views[1].stamp);
	EXPECT(call->views[0].stamp != call->views[2].stamp);
}

TEST(stamps, change_with_what_is_shown)
{
	note_versions((const uint64_t[]){ 1, 1, 2 },
		      (const enum client_view_kind[]){ CLIENT_VIEW_WRITTEN, CLIENT_VIEW_WRITTEN,
						       CLIENT_VIEW_WRITTEN },
		      3, first_two_are_alike);
}

static void second_is_written(const struct client_call *call)
{
	EXPECT_EQ(call->views[1].kind, CLIENT_VIEW_WRITTEN);
}

/* Who may write there goes on seeing that it may. */
TEST(stamps, of_what_was_shown_to_be_written_stay_so_when_it_is_shown_to_be_read)
{
	note_versions((const uint64_t[]){ 1, 2 },
		      (const enum client_view_kind[]){ CLIENT_VIEW_WRITTEN, CLIENT_VIEW_READ }, 2,
		      second_is_written);
}

TEST(arenas, are_of_the_same_client_when_it_has_said_so_and_they_are_at_one_address)
{
	struct client_arena *first = arena_new();
	struct client_arena *second = client_arena_create(ARENA_AT, ARENA_PAGES * PAGE);
	struct client_arena *away = client_arena_create(2 * ARENA_AT, ARENA_PAGES * PAGE);

	EXPECT(client_arena_is_of_same(first, first));
	EXPECT(!client_arena_is_of_same(first, second)); /* nobody has said whose they are */
	client_arena_belong(first, 7);
	client_arena_belong(second, 8);
	client_arena_belong(away, 7);
	EXPECT(!client_arena_is_of_same(first, second));
	EXPECT(!client_arena_is_of_same(first, away));
	client_arena_belong(second, 7);
	EXPECT(client_arena_is_of_same(first, second));
	client_arena_put(away);
	client_arena_put(second);
	arena_end(first);
}

TEST(arenas, contain_what_reaches_into_them)
{
	struct client_arena *arena = arena_new();
	const uint64_t end = ARENA_AT + ARENA_PAGES * PAGE;

	EXPECT(!client_arena_contains(arena, ARENA_AT - PAGE, PAGE));
	EXPECT(client_arena_contains(arena, ARENA_AT - PAGE, PAGE + 1));
	EXPECT(client_arena_contains(arena, end - 1, UINT64_MAX));
	EXPECT(!client_arena_contains(arena, end, UINT64_MAX));
	arena_end(arena);
}

TEST(arenas, without_a_page_are_none)
{
	EXPECT(!client_arena_create(ARENA_AT, 100));
	EXPECT(!client_arena_create(UINT64_MAX - PAGE, 4 * PAGE));
	EXPECT(!client_arena_create(ARENA_AT + PAGE, 4 * PAGE));
}

TEST_MAIN("ranges/client_arena")
