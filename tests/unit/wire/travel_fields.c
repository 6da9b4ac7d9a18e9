/* SPDX-License-Identifier: MIT */
/*
 * travel_fields.c - every field of a call that a walk knows, one a line, for tools/check_wire.py:
 *
 *	D3DKMTEvict - 8 8 list
 *	D3DKMTCreateAllocation2 48 16 8 list
 *
 * The second word says which pointers lead to the struct that the field is in (travel_walk.h), then
 * come offset and size.
 */
#include <stdio.h>

#include "wire/travel_walk.h"

static void tell(void *context, const char *parent, uint32_t offset, uint32_t size_bytes,
		 const char *how)
{
	printf("%s %s %u %u %s\n", (const char *)context, *parent ? parent : "-", offset,
	       size_bytes, how);
}

int main(void)
{
	for (uint32_t id = 0; id < CALL_COUNT; id++)
		travel_describe(id, tell, (void *)call_describe(id)->name);
	return 0;
}
