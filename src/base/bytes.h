/*
 * bytes.h - copies of a few bytes, as clients and drivers exchange them, without a call.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"

/* As memcpy(); made for 4, 8, and 16 to 64 bytes. */
static inline void bytes_copy(void *to, const void *from, size_t count)
{
	char first[16], second[16], third[16], last[16];

	if (UNLIKELY(count < 16 || count > 64)) {
		if (count == sizeof(uint64_t))
			memcpy(to, from, sizeof(uint64_t));
		else if (count == sizeof(uint32_t))
			memcpy(to, from, sizeof(uint32_t));
		else
			memcpy(to, from, count);
		return;
	}
	/* From both ends: the halves may overlap. */
	memcpy(first, from, 16);
	memcpy(last, (const char *)from + count - 16, 16);
	if (count > 32) {
		memcpy(second, (const char *)from + 16, 16);
		memcpy(third, (const char *)from + count - 32, 16);
		memcpy((char *)to + 16, second, 16);
		memcpy((char *)to + count - 32, third, 16);
	}
	memcpy(to, first, 16);
	memcpy((char *)to + count - 16, last, 16);
}

#endif
