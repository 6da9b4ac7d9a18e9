/* SPDX-License-Identifier: MIT */
/*
 * test.h - a test is named as the sentence it proves.
 *
 *	TEST(lock, a_second_taker_waits)
 *	{
 *		EXPECT(1 + 1 == 2);
 *		EXPECT_EQ(actual, expected);
 *	}
 *	TEST_MAIN("base/lock")
 *
 * What cannot be tested here and now says so first, with the reason, and counts as neither passed
 * nor failed: SKIP_UNLESS(is_seeded(), "late work takes real seconds").
 *
 * Tests register themselves, so none can be written and forgotten. They run under cmocka and
 * report as TAP. A single one: `program suite.name_of_the_claim` (shell wildcards work).
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/sanitizers.h"

/* How often something is tried: `some` of them in `make test`, `all` in `make soak`, which sets
 * TEST_LONG. */
static inline unsigned some_of(unsigned some, unsigned all)
{
	return getenv("TEST_LONG") ? all : some;
}

/* … of what sanitizers make many times slower, and another number of it shows them nothing new. */
static inline unsigned fewer_of(unsigned some, unsigned all)
{
	return some_of(IS_SANITIZED ? (some + 3) / 4 : some, all);
}

#ifndef IS_COUNTED
#define IS_COUNTED 0 /* make coverage: not optimized, and counts are written at the end */
#endif

enum { TEST_MAX = 1024 };
static struct CMUnitTest test_registry[TEST_MAX];
static size_t test_count;
static struct CMUnitTest test_chosen[TEST_MAX];
static size_t test_begun; /* of those */

static inline int test_begins(__attribute__((unused)) void **state)
{
	test_begun++;
	return 0;
}

/* cmocka's own skip() says "not ok", and why it says nowhere. It names a test when it is over. */
static inline void test_skip(const char *reason)
{
	static char names[TEST_MAX][256];
	struct CMUnitTest *test = &test_chosen[test_begun - 1];
	char *name = names[test_begun - 1];

	snprintf(name, sizeof(names[0]), "%s # SKIP %s", test->name, reason);
	test->name = name;
}

/* At the beginning of a test. */
#define SKIP_UNLESS(condition, reason)                                                             \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			test_skip(reason);                                                         \
			return;                                                                    \
		}                                                                                  \
	} while (0)

#define TEST(suite, claim)                                                                         \
	static void test_##suite##_##claim(void **state);                                          \
	__attribute__((constructor)) static void test_register_##suite##_##claim(void)             \
	{                                                                                          \
		if (test_count == TEST_MAX)                                                        \
			abort();                                                                   \
		test_registry[test_count++] =                                                      \
			(struct CMUnitTest){ .name = #suite "." #claim,                            \
					     .test_func = test_##suite##_##claim,                  \
					     .setup_func = test_begins };                          \
	}                                                                                          \
	static void test_##suite##_##claim(__attribute__((unused)) void **state)

/* A test with its scene around it. Headers of scenes make of it a name for tests that take place there:
 * #define WORLD_TEST(suite, claim) TEST_BETWEEN(world_start(), world_finish(), suite, claim)
 * The end comes when the test's own variables are gone: what the scene still knows then may be none of them. */
#define TEST_BETWEEN(begin, end, suite, claim)                                                     \
	static void play_##suite##_##claim(void);                                                  \
	TEST(suite, claim)                                                                         \
	{                                                                                          \
		begin;                                                                             \
		play_##suite##_##claim();                                                          \
		end;                                                                               \
	}                                                                                          \
	static void play_##suite##_##claim(void)

/* … where it is a struct of that name, which the test has a pointer to. */
#define TEST_ON(scene, begin, end, suite, claim)                                                   \
	static void play_##suite##_##claim(struct scene *scene);                                   \
	TEST(suite, claim)                                                                         \
	{                                                                                          \
		struct scene scene;                                                                \
		begin;                                                                             \
		play_##suite##_##claim(&scene);                                                    \
		end;                                                                               \
	}                                                                                          \
	static void play_##suite##_##claim(struct scene *scene)

/* … where it is made by an expression, and the test has a pointer to it. */
#define TEST_MADE(type, scene, made, end, suite, claim)                                            \
	static void play_##suite##_##claim(struct type *scene);                                    \
	TEST(suite, claim)                                                                         \
	{                                                                                          \
		struct type scene = made;                                                          \
		play_##suite##_##claim(&scene);                                                    \
		end;                                                                               \
	}                                                                                          \
	static void play_##suite##_##claim(struct type *scene)

/* … where it is made by an expression, which gives the test its pointer. */
#define TEST_WITH(type, scene, made, end, suite, claim)                                            \
	static void play_##suite##_##claim(struct type *scene);                                    \
	TEST(suite, claim)                                                                         \
	{                                                                                          \
		struct type *scene = made;                                                         \
		play_##suite##_##claim(scene);                                                     \
		end;                                                                               \
	}                                                                                          \
	static void play_##suite##_##claim(struct type *scene)

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			print_error("%s:%d: expected: %s\n", __FILE__, __LINE__, #condition);      \
			_fail(__FILE__, __LINE__);                                                 \
		}                                                                                  \
	} while (0)

#define EXPECT_EQ(actual, expected)                                                                \
	do {                                                                                       \
		unsigned long long expect_a = (unsigned long long)(actual);                        \
		unsigned long long expect_b = (unsigned long long)(expected);                      \
		if (expect_a != expect_b) {                                                        \
			print_error("%s:%d: %s is 0x%llx, expected %s = 0x%llx\n", __FILE__,       \
				    __LINE__, #actual, expect_a, #expected, expect_b);             \
			_fail(__FILE__, __LINE__);                                                 \
		}                                                                                  \
	} while (0)

#define EXPECT_STR(actual, expected)                                                               \
	do {                                                                                       \
		const char *expect_a = (actual);                                                   \
		const char *expect_b = (expected);                                                 \
		if (!expect_a || strcmp(expect_a, expect_b) != 0) {                                \
			print_error("%s:%d: %s is \"%s\", expected \"%s\"\n", __FILE__, __LINE__,  \
				    #actual, expect_a ? expect_a : "(null)", expect_b);            \
			_fail(__FILE__, __LINE__);                                                 \
		}                                                                                  \
	} while (0)

#define EXPECT_CONTAINS(text, part)                                                                \
	do {                                                                                       \
		const char *expect_a = (text);                                                     \
		const char *expect_b = (part);                                                     \
		if (!expect_a || !strstr(expect_a, expect_b)) {                                    \
			print_error("%s:%d: \"%s\" should contain \"%s\"\n", __FILE__, __LINE__,   \
				    expect_a ? expect_a : "(null)", expect_b);                     \
			_fail(__FILE__, __LINE__);                                                 \
		}                                                                                  \
	} while (0)

/* One of a table of texts: what is to be said of each. */
struct text_case {
	const char *given;
	const char *said;
};

/* The whole registry, or the tests whose name matches the pattern in argv[1]. */
static inline int test_run(const char *group, int argc, char **argv)
{
	size_t count = 0;

	for (size_t i = 0; i < test_count; i++) {
		if (argc < 2 || fnmatch(argv[1], test_registry[i].name, 0) == 0)
			test_chosen[count++] = test_registry[i];
	}
	if (count == 0) {
		fprintf(stderr, "%s: no test matches\n", group);
		return 2;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests(group, test_chosen, count, NULL, NULL);
}

#define TEST_MAIN(group)                                                                           \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return test_run(group, argc, argv);                                                \
	}

#endif
