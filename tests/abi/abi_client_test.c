/* SPDX-License-Identifier: MIT */
/*
 * abi_client_test.c - include/dxg/ agrees with client_abi.def and umd_abi.def, number by number.
 *
 * Sizes, offsets, enumerators, constants and prototypes are asserted while compiling, so a mistake
 * does not even build. Where a bit field lands cannot be asked of the compiler: each one is filled
 * at run time and its bytes are looked at. The same file is compiled as C and, from
 * abi_client_cxx_test.cc, as C++.
 */
#include <dxg/d3dkmthk.h>
#include <dxg/d3dumddi.h>

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
#include <type_traits>
#define ABI_ASSERT(condition, text) static_assert(condition, text)
#define SAME_TYPE(a, b)             (std::is_same<a, b>::value)
#else
#define ABI_ASSERT(condition, text) _Static_assert(condition, text)
#define SAME_TYPE(a, b)             __builtin_types_compatible_p(a, b)
#endif

/* Checked while compiling. */
#define TYPE(name, type)    ABI_ASSERT(SAME_TYPE(name, type), "what " #name " is");
#define STRUCT(name, bytes) ABI_ASSERT(sizeof(name) == (bytes), "size of " #name);
#define FIELD(name, field, offset, bytes)                                                          \
	ABI_ASSERT(__builtin_offsetof(name, field) == (offset), "offset of " #name "." #field);    \
	ABI_ASSERT(sizeof(((name *)0)->field) == (bytes), "size of " #name "." #field);
#define TAIL(name, field, offset)                                                                  \
	ABI_ASSERT(__builtin_offsetof(name, field) == (offset), "offset of " #name "." #field);
#define BITS(name, field, first, bits, type)
#define ENUM(name, enumerator, value) ABI_ASSERT((long long)(enumerator) == (value), #enumerator);
#define CONSTANT(name, value)         ABI_ASSERT((unsigned long long)(name) == (value), #name);
#define CALL(name, pointer, argument)                                                              \
	ABI_ASSERT(SAME_TYPE(__typeof__(&name), pointer), #pointer);                               \
	ABI_ASSERT(SAME_TYPE(pointer, NTSTATUS(APIENTRY *)(argument *)), "argument of " #name);
#include "every_abi.def"

/* Counted: what the run reports. */
enum {
	COUNT_TYPE,
	COUNT_STRUCT,
	COUNT_FIELD,
	COUNT_BITS,
	COUNT_ENUM,
	COUNT_CONSTANT,
	COUNT_CALL,
	COUNT_KINDS,
};
static const unsigned char kinds[] = {
#define TYPE(...)     COUNT_TYPE,
#define STRUCT(...)   COUNT_STRUCT,
#define FIELD(...)    COUNT_FIELD,
#define TAIL(...)     COUNT_FIELD,
#define BITS(...)     COUNT_BITS,
#define ENUM(...)     COUNT_ENUM,
#define CONSTANT(...) COUNT_CONSTANT,
#define CALL(...)     COUNT_CALL,
#include "every_abi.def"
};

static unsigned failures;

/* `value` is zero except for one bit field that holds all ones. */
static void expect_bits(const char *name, const void *value, size_t bytes, size_t first,
			size_t bits)
{
	const unsigned char *byte = (const unsigned char *)value;

	for (size_t i = 0; i < bytes * 8; i++) {
		int is_set = byte[i / 8] >> i % 8 & 1;
		int expected = i >= first && i < first + bits;

		if (is_set != expected) {
			printf("# %s: bit %zu is %d; the field is bits %zu..%zu\n", name, i, is_set,
			       first, first + bits - 1);
			failures++;
			return;
		}
	}
}

static void check_bit_fields(void)
{
#define STRUCT(...)
#define FIELD(...)
#define TAIL(...)
#define BITS(name, field, first, bits, type)                                                       \
	{                                                                                          \
		static name value;                                                                 \
		value.field = (type)(~0ULL >> (64 - (bits)));                                      \
		expect_bits(#name "." #field, &value, sizeof(value), first, bits);                 \
	}
#define ENUM(...)
#define CONSTANT(...)
#define CALL(...)
#include "client_abi.def"
#include "umd_abi.def"
#undef STRUCT
#undef FIELD
#undef TAIL
#undef BITS
#undef ENUM
#undef CONSTANT
#undef CALL
}

int main(void)
{
	static const char *const claims[COUNT_KINDS] = {
		"basic types are what they have to be",
		"structs have their size",
		"fields have their offset and size",
		"bit fields fill their bits",
		"enumerators have their value",
		"constants have their value",
		"calls take their argument",
	};
	unsigned counts[COUNT_KINDS] = { 0 };

	for (size_t i = 0; i < sizeof(kinds); i++)
		counts[kinds[i]]++;
	check_bit_fields();

	printf("1..%d\n", COUNT_KINDS);
	for (unsigned i = 0; i < COUNT_KINDS; i++)
		printf("%s %u - %u %s\n", i == COUNT_BITS && failures ? "not ok" : "ok", i + 1,
		       counts[i], claims[i]);
	return failures != 0;
}
