/* SPDX-License-Identifier: MIT */
/*
 * status.c - see status.h. The table is generated from <dxg/ntstatus.h>, sorted by value.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "base/status.h"

static const struct {
	uint32_t value;
	const char *name;
} names[] = {
#include "status_names.inc"
};

const char *status_name(NTSTATUS status)
{
	static _Thread_local char number[16];
	size_t low = 0;
	size_t high = ARRAY_SIZE(names);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (names[middle].value < (uint32_t)status)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < ARRAY_SIZE(names) && names[low].value == (uint32_t)status)
		return names[low].name;
	snprintf(number, sizeof(number), "0x%08x", (unsigned)status);
	return number;
}

bool status_from_name(const char *name, NTSTATUS *status_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i].name, name) == 0) {
			*status_out = (NTSTATUS)names[i].value;
			return true;
		}
	}
	return false;
}
