/* SPDX-License-Identifier: MIT */
/*
 * list_test.c - the intrusive list.
 */
#include "base/list.h"
#include "support/test.h"

struct item {
	int value;
	struct list link;
};

static int value_of(struct list *link)
{
	return container_of(link, struct item, link)->value;
}

/* The values in order, forwards; and the same backwards must give the mirror image. */
static const char *values(struct list *head)
{
	static char text[64];
	char backwards[64];
	size_t count = 0;
	struct list *link;

	list_for_each (link, head)
		text[count++] = (char)('0' + value_of(link));
	text[count] = '\0';
	size_t seen = 0;
	for (link = head->prev; link != head; link = link->prev)
		backwards[seen++] = (char)('0' + value_of(link));
	EXPECT_EQ(seen, count);
	for (size_t i = 0; i < count; i++)
		EXPECT_EQ(backwards[i], text[count - 1 - i]);
	return text;
}

TEST(list, a_new_one_is_empty)
{
	struct list head;

	list_init(&head);
	EXPECT(list_is_empty(&head));
	EXPECT(!list_is_linked(&head));
	EXPECT(list_pop_front(&head) == NULL);
	EXPECT_STR(values(&head), "");
}

TEST(list, keeps_the_order_of_both_ends)
{
	struct item items[4] = { { .value = 1 }, { .value = 2 }, { .value = 3 }, { .value = 4 } };
	struct list head;

	list_init(&head);
	list_push_back(&head, &items[0].link);
	list_push_back(&head, &items[1].link);
	list_push_front(&head, &items[2].link);
	list_insert_between(&items[3].link, &items[0].link, &items[1].link);
	EXPECT_STR(values(&head), "3142");
	EXPECT(list_pop_front(&head) == &items[2].link);
	EXPECT_STR(values(&head), "142");
}

TEST(list, removing_twice_does_no_harm)
{
	struct item items[2] = { { .value = 1 }, { .value = 2 } };
	struct list head;

	list_init(&head);
	list_push_back(&head, &items[0].link);
	list_push_back(&head, &items[1].link);
	EXPECT(list_is_linked(&items[0].link));
	list_remove(&items[0].link);
	EXPECT(!list_is_linked(&items[0].link));
	list_remove(&items[0].link);
	EXPECT_STR(values(&head), "2");
	list_push_front(&head, &items[0].link);
	EXPECT_STR(values(&head), "12");
}

TEST(list, a_safe_walk_may_remove)
{
	struct item items[5];
	struct list head, *link, *following;

	list_init(&head);
	for (int i = 0; i < 5; i++) {
		items[i].value = i;
		list_push_back(&head, &items[i].link);
	}
	list_for_each_safe (link, following, &head) {
		if (value_of(link) % 2 == 0)
			list_remove(link);
	}
	EXPECT_STR(values(&head), "13");
}

TEST(list, splicing_moves_everything_to_the_end)
{
	struct item items[4] = { { .value = 1 }, { .value = 2 }, { .value = 3 }, { .value = 4 } };
	struct list a, b;

	list_init(&a);
	list_init(&b);
	list_splice_back(&a, &b);
	EXPECT(list_is_empty(&a));
	list_push_back(&b, &items[0].link);
	list_push_back(&b, &items[1].link);
	list_splice_back(&a, &b);
	EXPECT_STR(values(&a), "12");
	EXPECT(list_is_empty(&b));
	list_push_back(&b, &items[2].link);
	list_push_back(&b, &items[3].link);
	list_splice_back(&a, &b);
	EXPECT_STR(values(&a), "1234");
	EXPECT(list_is_empty(&b));
}

TEST_MAIN("base/list")
