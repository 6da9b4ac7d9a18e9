/* SPDX-License-Identifier: MIT */
/*
 * notes.c - saying what happens.
 */
#include "driver.h"

void append(char *line, ULONG capacity, ULONG *used, const char *text)
{
	while (*text && *used + 1 < capacity)
		line[(*used)++] = *text++;
	line[*used] = '\0';
}

void append_number(char *line, ULONG capacity, ULONG *used, ULONG number)
{
	char digits[11];
	ULONG at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number != 0);
	append(line, capacity, used, digits + at);
}

void note(const char *entry, const char *name1, ULONG value1, const char *name2, ULONG value2)
{
	char line[128];
	ULONG used = 0;

	append(line, sizeof(line), &used, entry);
	append(line, sizeof(line), &used, " irql=");
	append_number(line, sizeof(line), &used, KeGetCurrentIrql());
	if (name1) {
		append(line, sizeof(line), &used, " ");
		append(line, sizeof(line), &used, name1);
		append(line, sizeof(line), &used, "=");
		append_number(line, sizeof(line), &used, value1);
	}
	if (name2) {
		append(line, sizeof(line), &used, " ");
		append(line, sizeof(line), &used, name2);
		append(line, sizeof(line), &used, "=");
		append_number(line, sizeof(line), &used, value2);
	}
	recorder_note(line);
}

void complain(const char *what)
{
	char line[128];
	ULONG used = 0;

	append(line, sizeof(line), &used, "WRONG: ");
	append(line, sizeof(line), &used, what);
	recorder_note(line);
}

struct adapter *adapter_of(PVOID context)
{
	struct adapter *adapter = context;

	if (!adapter || adapter->magic != MAGIC_ADAPTER)
		complain("an adapter that is not the driver's");
	return adapter;
}
