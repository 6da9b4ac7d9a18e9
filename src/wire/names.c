/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "wire/names.h"

#define FLAGS_BEGIN(type)      const struct call_name names_of_##type[] = {
#define BIT(type, member, bit) { UINT32_C(1) << (bit), #member },
#define FLAGS_END(type)                                                                            \
	{                                                                                          \
		0, NULL                                                                            \
	}                                                                                          \
	}                                                                                          \
	;
#define VALUES_BEGIN(list) const struct call_name names_of_##list[] = {
#define VALUE(enumerator)  { (uint32_t)(enumerator), #enumerator },
#define VALUES_END(list)                                                                           \
	{                                                                                          \
		0, NULL                                                                            \
	}                                                                                          \
	}                                                                                          \
	;
#include "wire/names.def"

const char *call_name_of(const struct call_name *list, uint64_t value)
{
	for (; list && list->name; list++) {
		if (list->value == value)
			return list->name;
	}
	return NULL;
}

void call_describe_bits(const struct call_name *list, uint32_t bits, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned bit = 0; bit < 32 && used < size; bit++) {
		const char *name = call_name_of(list, UINT32_C(1) << bit);

		if (!(bits >> bit & 1))
			continue;
		int written = snprintf(text + used, size - used, "%s%u%s%s%s", used > 0 ? ", " : "",
				       bit, name ? " (" : "", name ? name : "", name ? ")" : "");
		used += written > 0 ? (size_t)written : 0;
	}
}
