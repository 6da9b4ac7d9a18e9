/* SPDX-License-Identifier: MIT */
/*
 * names_test.c - names.def has every bit where the headers have it.
 */
#include <stdbool.h>
#include <string.h>

#include "support/test.h"
#include "wire/names.h"

static bool has_bit(const struct call_name *list, const char *member, uint32_t bit)
{
	const char *name = call_name_of(list, bit);

	return name && strcmp(name, member) == 0;
}

/* A flag word with one member set, as a number. */
#define BIT_OF(type, member)                                                                       \
	({                                                                                         \
		union {                                                                            \
			type flags;                                                                \
			uint32_t value;                                                            \
		} word = { .value = 0 };                                                           \
		_Static_assert(sizeof(word) == 4, #type);                                          \
		word.flags.member = 1;                                                             \
		word.value;                                                                        \
	})

TEST(names, are_of_the_bits_that_the_headers_have)
{
#define FLAGS_BEGIN(type)
#define BIT(type, member, bit)                                                                     \
	EXPECT_EQ(BIT_OF(type, member), UINT32_C(1) << (bit));                                     \
	EXPECT(has_bit(names_of_##type, #member, UINT32_C(1) << (bit)));
#define FLAGS_END(type)
#define VALUES_BEGIN(list)
#define VALUE(enumerator)
#define VALUES_END(list)
#include "wire/names.def"
}

TEST(names, of_bits_come_behind_their_numbers)
{
	char text[64];

	call_describe_bits(NULL, 0x30, text, sizeof(text));
	EXPECT_STR(text, "4, 5");
	call_describe_bits(names_of_D3DKMT_CREATEDEVICEFLAGS, 0x80000001, text, sizeof(text));
	EXPECT_STR(text, "0 (LegacyMode), 31");
	call_describe_bits(NULL, UINT32_MAX, text, 8);
	EXPECT_STR(text, "0, 1, 2");
	call_describe_bits(NULL, 0, text, sizeof(text));
	EXPECT_STR(text, "");
	EXPECT(!call_name_of(NULL, 1));
	EXPECT_STR(call_name_of(names_of_escape_types, D3DKMT_ESCAPE_VIDMM), "D3DKMT_ESCAPE_VIDMM");
}

TEST_MAIN("dispatch/names")
