/* SPDX-License-Identifier: MIT */
/*
 * share_name_test.c - NT handles by name.
 */
#include "share_world.h"

#include <unistd.h>

BODY_TEST(name, finds_what_is_shared_whatever_its_case)
{
	static const char *const spellings[] = { "\\BaseNamedObjects\\Gr\xc3\xbc\xc3\x9f",
						 "\\basenamedobjects\\gR\xc3\x9c\xc3\x9f",
						 "\\BASENAMEDOBJECTS\\GR\xc3\xbc\xc3\x9f" };
	int opened;

	int descriptor =
		share_alone(body, &(struct share_nt_options){ .name = spellings[0], .access = 1 });
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(open_name(spellings[i], SHARE_RESOURCE, 1, &opened), STATUS_SUCCESS);
		EXPECT(opened != descriptor);
		EXPECT_EQ(find(opened, SHARE_RESOURCE), STATUS_SUCCESS);
		close(opened);
	}
	EXPECT_RULE(open_name("\\BaseNamedObjects\\Gr", SHARE_RESOURCE, 1, &opened),
		    STATUS_OBJECT_NAME_NOT_FOUND, "API-NAME");
	close(descriptor);
}

TEST(name, is_looked_up_before_access_is_asked)
{
	struct body body;
	int opened = -1;

	table_begin();
	body_init(&body, SHARE_SYNC_OBJECT, SHARE_NT);
	int descriptor =
		share_alone(&body, &(struct share_nt_options){ .name = "fence", .access = 1 });
	EXPECT_RULE(open_name("other", SHARE_SYNC_OBJECT, 0, &opened), STATUS_OBJECT_NAME_NOT_FOUND,
		    "API-NAME");
	EXPECT_RULE(open_name("fence", SHARE_SYNC_OBJECT, 0, &opened), STATUS_ACCESS_DENIED,
		    "API-ACCESS");
	EXPECT_RULE(open_name("fence", SHARE_RESOURCE, 1, &opened), STATUS_OBJECT_TYPE_MISMATCH,
		    "API-NT-HANDLE-KIND");
	EXPECT_EQ(opened, -1);
	close(descriptor);
	table_end();
}

BODY_TEST(name, gives_a_handle_of_its_own_with_its_own_access)
{
	struct share_set set;
	int opened;

	int descriptor = share_alone(
		body, &(struct share_nt_options){ .name = "name", .access = 1, .rights = 1 });
	EXPECT_EQ(open_name("name", SHARE_RESOURCE, 0x20000, &opened), STATUS_SUCCESS);
	EXPECT_EQ(share_find_nt(&table, (uintptr_t)opened, SHARE_RESOURCE, "h", &set),
		  STATUS_SUCCESS);
	EXPECT_EQ(set.rights, 0);
	share_set_put(&set);
	EXPECT_EQ(share_find_nt(&table, (uintptr_t)descriptor, SHARE_RESOURCE, "h", &set),
		  STATUS_SUCCESS);
	EXPECT_EQ(set.rights, 1);
	share_set_put(&set);
	close(descriptor);
	close(opened);
}

TEST(name, lives_as_long_as_any_of_its_handles)
{
	struct body body;
	struct share *share = &body.share;
	const struct share_nt_options named = { .name = "name", .access = 1 };
	int first;
	int second;

	table_begin();
	body_init(&body, SHARE_RESOURCE, SHARE_NT);
	EXPECT_EQ(share_create_nt(&table, &share, NULL, 1, &named, &first), STATUS_SUCCESS);
	EXPECT_EQ(open_name("NAME", SHARE_RESOURCE, 1, &second), STATUS_SUCCESS);
	close(first);
	EXPECT_EQ(open_name("name", SHARE_RESOURCE, 1, &first), STATUS_SUCCESS);
	close(first);
	close(second);
	/* The body lives on, its name does not. */
	EXPECT_RULE(open_name("name", SHARE_RESOURCE, 1, &first), STATUS_OBJECT_NAME_NOT_FOUND,
		    "API-NAME");
	EXPECT(!body.is_gone);
	EXPECT_EQ(share_create_nt(&table, &share, NULL, 1, &named, &first), STATUS_SUCCESS);
	EXPECT_EQ(open_name("name", SHARE_RESOURCE, 1, &second), STATUS_SUCCESS);
	close(first);
	close(second);
	share_close(share);
	table_end();
	EXPECT(body.is_gone);
}

BODY_TEST(name, stands_for_one_thing_at_a_time)
{
	struct share *share = &body->share;
	int first;
	int second = -1;

	EXPECT_EQ(share_create_nt(&table, &share, NULL, 1,
				  &(struct share_nt_options){ .name = "name", .access = 1 },
				  &first),
		  STATUS_SUCCESS);
	EXPECT_RULE(share_create_nt(&table, &share, NULL, 1,
				    &(struct share_nt_options){ .name = "Name", .access = 1 },
				    &second),
		    STATUS_OBJECT_NAME_COLLISION, "API-NAME-TAKEN");
	EXPECT_EQ(second, -1);
	/* Nameless things do not collide. */
	EXPECT_EQ(share_create_nt(&table, &share, NULL, 1, &plain, &second), STATUS_SUCCESS);
	close(first);
	close(second);
	share_close(share);
}

TEST_MAIN("object/share_name")
