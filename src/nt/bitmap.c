/* SPDX-License-Identifier: MIT */
/*
 * bitmap.c - RTL_BITMAP: bits in an array of ULONGs that the driver owns. No state, no locks: the
 * driver guards its own bitmap. Requests that reach past the end touch nothing.
 */
#include <stdbool.h>
#include <string.h>

#include <ddk/wdm.h>

#define NOT_FOUND 0xffffffffu

static bool bit_get(const RTL_BITMAP *map, ULONG index)
{
	return (map->Buffer[index / 32] >> (index % 32) & 1) != 0;
}

static bool range_fits(const RTL_BITMAP *map, ULONG first, ULONG count)
{
	return first <= map->SizeOfBitMap && count <= map->SizeOfBitMap - first;
}

/* The first bit from `from` on that has the value, or the size of the map; whole words at a time.
 */
static ULONG find_next(const RTL_BITMAP *map, ULONG from, bool value)
{
	while (from < map->SizeOfBitMap) {
		ULONG word = map->Buffer[from / 32];

		if (!value)
			word = ~word;
		word >>= from % 32;
		if (word != 0) {
			from += (ULONG)__builtin_ctz(word);
			break;
		}
		if ((from | 31) >= map->SizeOfBitMap - 1)
			return map->SizeOfBitMap;
		from = (from | 31) + 1;
	}
	return from < map->SizeOfBitMap ? from : map->SizeOfBitMap;
}

static void range_set(RTL_BITMAP *map, ULONG first, ULONG count, bool value)
{
	if (!range_fits(map, first, count))
		return;
	while (count > 0) {
		ULONG bit = first % 32;
		ULONG width = 32 - bit < count ? 32 - bit : count;
		ULONG mask = (width == 32 ? ~0u : (1u << width) - 1) << bit;

		if (value)
			map->Buffer[first / 32] |= mask;
		else
			map->Buffer[first / 32] &= ~mask;
		first += width;
		count -= width;
	}
}

/* First run of `count` bits of the value that starts in [from, to). */
static ULONG find_run_between(const RTL_BITMAP *map, ULONG from, ULONG to, ULONG count, bool value)
{
	for (;;) {
		ULONG start = find_next(map, from, value);

		if (start >= to || !range_fits(map, start, count))
			return NOT_FOUND;
		ULONG end = find_next(map, start, !value);
		if (end - start >= count)
			return start;
		from = end;
	}
}

static ULONG find_run(const RTL_BITMAP *map, ULONG count, ULONG hint, bool value)
{
	if (hint >= map->SizeOfBitMap)
		hint = 0;
	if (count == 0)
		return hint & ~7u;
	ULONG found = find_run_between(map, hint, map->SizeOfBitMap, count, value);
	return found == NOT_FOUND ? find_run_between(map, 0, hint, count, value) : found;
}

static ULONG count_set(const RTL_BITMAP *map)
{
	ULONG count = 0;
	ULONG words = map->SizeOfBitMap / 32;
	ULONG rest = map->SizeOfBitMap % 32;

	for (ULONG i = 0; i < words; i++)
		count += (ULONG)__builtin_popcount(map->Buffer[i]);
	if (rest > 0)
		count += (ULONG)__builtin_popcount(map->Buffer[words] & ((1u << rest) - 1));
	return count;
}

VOID RtlInitializeBitMap(PRTL_BITMAP BitMapHeader, PULONG BitMapBuffer, ULONG SizeOfBitMap)
{
	BitMapHeader->SizeOfBitMap = SizeOfBitMap;
	BitMapHeader->Buffer = BitMapBuffer;
}

/* Whole ULONGs, as documented: the bits beyond the size go along. */
VOID RtlClearAllBits(PRTL_BITMAP BitMapHeader)
{
	memset(BitMapHeader->Buffer, 0, ((size_t)BitMapHeader->SizeOfBitMap + 31) / 32 * 4);
}

VOID RtlSetAllBits(PRTL_BITMAP BitMapHeader)
{
	memset(BitMapHeader->Buffer, 0xff, ((size_t)BitMapHeader->SizeOfBitMap + 31) / 32 * 4);
}

VOID RtlClearBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
	range_set(BitMapHeader, BitNumber, 1, false);
}

VOID RtlSetBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
	range_set(BitMapHeader, BitNumber, 1, true);
}

BOOLEAN RtlTestBit(PRTL_BITMAP BitMapHeader, ULONG BitNumber)
{
	return BitNumber < BitMapHeader->SizeOfBitMap && bit_get(BitMapHeader, BitNumber);
}

VOID RtlClearBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToClear)
{
	range_set(BitMapHeader, StartingIndex, NumberToClear, false);
}

VOID RtlSetBits(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG NumberToSet)
{
	range_set(BitMapHeader, StartingIndex, NumberToSet, true);
}

ULONG RtlFindClearBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
	return find_run(BitMapHeader, NumberToFind, HintIndex, false);
}

ULONG RtlFindSetBits(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
	return find_run(BitMapHeader, NumberToFind, HintIndex, true);
}

ULONG RtlFindClearBitsAndSet(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
	ULONG found = find_run(BitMapHeader, NumberToFind, HintIndex, false);

	if (found != NOT_FOUND)
		range_set(BitMapHeader, found, NumberToFind, true);
	return found;
}

ULONG RtlFindSetBitsAndClear(PRTL_BITMAP BitMapHeader, ULONG NumberToFind, ULONG HintIndex)
{
	ULONG found = find_run(BitMapHeader, NumberToFind, HintIndex, true);

	if (found != NOT_FOUND)
		range_set(BitMapHeader, found, NumberToFind, false);
	return found;
}

ULONG RtlNumberOfSetBits(PRTL_BITMAP BitMapHeader)
{
	return count_set(BitMapHeader);
}

ULONG RtlNumberOfClearBits(PRTL_BITMAP BitMapHeader)
{
	return BitMapHeader->SizeOfBitMap - count_set(BitMapHeader);
}

BOOLEAN RtlAreBitsClear(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG Length)
{
	return Length > 0 && range_fits(BitMapHeader, StartingIndex, Length) &&
	       find_next(BitMapHeader, StartingIndex, true) - StartingIndex >= Length;
}

BOOLEAN RtlAreBitsSet(PRTL_BITMAP BitMapHeader, ULONG StartingIndex, ULONG Length)
{
	return Length > 0 && range_fits(BitMapHeader, StartingIndex, Length) &&
	       find_next(BitMapHeader, StartingIndex, false) - StartingIndex >= Length;
}

ULONG RtlFindNextForwardRunClear(PRTL_BITMAP BitMapHeader, ULONG FromIndex, PULONG StartingRunIndex)
{
	ULONG start = find_next(BitMapHeader, FromIndex, false);

	*StartingRunIndex = start;
	return find_next(BitMapHeader, start, true) - start;
}

CCHAR RtlFindLeastSignificantBit(ULONGLONG Set)
{
	return Set == 0 ? -1 : (CCHAR)__builtin_ctzll(Set);
}

CCHAR RtlFindMostSignificantBit(ULONGLONG Set)
{
	return Set == 0 ? -1 : (CCHAR)(63 - __builtin_clzll(Set));
}
