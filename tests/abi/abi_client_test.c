/*
 * abi_client_test.c - include/dxg/ agrees with client_abi.def, number by number.
 *
 * Sizes, offsets, enumerators, constants and prototypes are asserted while compiling, so a mistake
 * does not even build. Where a bit field lands cannot be asked of the compiler: each one is filled
 * at run time and its bytes are looked at. The same file is compiled as C and, from
 * abi_client_cxx_test.cc, as C++.
 */
#include <dxg/d3dkmthk.h>

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
#define TYPE(name, type) ABI_ASSERT(SAME_TYPE(name, type), "what " #name " is");
#include "basic_types.def"
#undef TYPE
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
#include "client_abi.def"
#undef STRUCT
#undef FIELD
#undef TAIL
#undef BITS
#undef ENUM
#undef CONSTANT
#undef CALL

/* Counted: what the run reports. */
static const struct {
	unsigned types, structs, fields, bits, enumerators, constants, calls;
} counts = {
#define TYPE(...) +1
#include "basic_types.def"
	,
#undef TYPE
#define STRUCT(...) +1
#define FIELD(...)
#define TAIL(...)
#define BITS(...)
#define ENUM(...)
#define CONSTANT(...)
#define CALL(...)
#include "client_abi.def"
	,
#undef STRUCT
#undef FIELD
#undef TAIL
#define STRUCT(...)
#define FIELD(...) +1
#define TAIL(...)  +1
#include "client_abi.def"
	,
#undef FIELD
#undef TAIL
#undef BITS
#define FIELD(...)
#define TAIL(...)
#define BITS(...) +1
#include "client_abi.def"
	,
#undef BITS
#undef ENUM
#define BITS(...)
#define ENUM(...) +1
#include "client_abi.def"
	,
#undef ENUM
#undef CONSTANT
#define ENUM(...)
#define CONSTANT(...) +1
#include "client_abi.def"
	,
#undef CONSTANT
#undef CALL
#define CONSTANT(...)
#define CALL(...) +1
#include "client_abi.def"
#undef STRUCT
#undef FIELD
#undef TAIL
#undef BITS
#undef ENUM
#undef CONSTANT
#undef CALL
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
	check_bit_fields();

	printf("1..7\n");
	printf("ok 1 - %u structs have their size\n", counts.structs);
	printf("ok 2 - %u fields have their offset and size\n", counts.fields);
	printf("%s 3 - %u bit fields fill their bits\n", failures ? "not ok" : "ok", counts.bits);
	printf("ok 4 - %u enumerators have their value\n", counts.enumerators);
	printf("ok 5 - %u constants have their value\n", counts.constants);
	printf("ok 6 - %u calls take their argument\n", counts.calls);
	printf("ok 7 - %u basic types are what they have to be\n", counts.types);
	return failures != 0;
}
