/* SPDX-License-Identifier: MIT */
/*
 * bitmap_test.c - RTL_BITMAP against a plain array of bools.
 */
#include "nt_harness.h"

#include "base/random.h"

enum { BITS = 203 };

TEST(bitmap, the_wdk_examples)
{
	ULONG words[4] = { 0 };
	RTL_BITMAP map;
	ULONG start;

	RtlInitializeBitMap(&map, words, 100);
	RtlClearAllBits(&map);
	EXPECT_EQ(RtlFindClearBitsAndSet(&map, 10, 95), 0); /* only 5 from the hint on */
	EXPECT_EQ(RtlFindClearBitsAndSet(&map, 5, 95), 95);
	EXPECT_EQ(RtlNumberOfSetBits(&map), 15);
	EXPECT_EQ(RtlFindClearBits(&map, 86, 0), 0xffffffffu);
	EXPECT_EQ(RtlFindClearBits(&map, 85, 500), 10); /* a hint past the end is no hint */
	EXPECT_EQ(RtlFindSetBitsAndClear(&map, 3, 1), 1);
	EXPECT(RtlTestBit(&map, 0) && !RtlTestBit(&map, 1) && RtlTestBit(&map, 4));
	RtlClearBit(&map, 96);
	EXPECT(RtlTestBit(&map, 95) && !RtlTestBit(&map, 96) && RtlTestBit(&map, 97));
	RtlSetBit(&map, 96);
	EXPECT_EQ(RtlFindClearBits(&map, 0, 13), 8);
	EXPECT_EQ(RtlFindNextForwardRunClear(&map, 0, &start), 3);
	EXPECT_EQ(start, 1);
	EXPECT_EQ(RtlFindNextForwardRunClear(&map, 95, &start), 0);
	RtlSetAllBits(&map);
	EXPECT_EQ(RtlFindClearBits(&map, 1, 0), 0xffffffffu);
	EXPECT_EQ(RtlNumberOfClearBits(&map), 0);
}

TEST(bitmap, nothing_outside_is_touched)
{
	ULONG words[3] = { 0, 0, 0xaaaaaaaa };
	RTL_BITMAP map;

	RtlInitializeBitMap(&map, words, 60);
	RtlSetBits(&map, 50, 11);
	RtlSetBit(&map, 60);
	RtlSetBits(&map, 0xffffffff, 2);
	EXPECT(words[0] == 0 && words[1] == 0 && words[2] == 0xaaaaaaaa);
	EXPECT(!RtlTestBit(&map, 60) && !RtlAreBitsClear(&map, 59, 2));
	EXPECT(RtlAreBitsClear(&map, 0, 60) && !RtlAreBitsClear(&map, 0, 0));
	RtlInitializeBitMap(&map, words, 0);
	EXPECT_EQ(RtlFindClearBits(&map, 1, 0), 0xffffffffu);
	EXPECT_EQ(RtlNumberOfSetBits(&map), 0);
	EXPECT_EQ(RtlFindLeastSignificantBit(0x50), 4);
	EXPECT_EQ(RtlFindMostSignificantBit(0x50), 6);
	EXPECT_EQ(RtlFindLeastSignificantBit(0), -1);
}

static ULONG model_find(const bool *bits, ULONG count, ULONG hint, bool value)
{
	for (int pass = 0; pass < 2; pass++) {
		for (ULONG i = pass == 0 ? hint : 0; i + count <= BITS; i++) {
			ULONG run = 0;
			while (run < count && bits[i + run] == value)
				run++;
			if (run == count)
				return i;
		}
	}
	return 0xffffffff;
}

TEST(bitmap, behaves_as_an_array_of_bools)
{
	ULONG words[(BITS + 31) / 32] = { 0 };
	bool bits[BITS] = { false };
	RTL_BITMAP map;
	struct random random;

	RtlInitializeBitMap(&map, words, BITS);
	random_init(&random, 1);
	for (int step = 0; step < 20000; step++) {
		ULONG first = (ULONG)random_below(&random, BITS);
		ULONG count = 1 + (ULONG)random_below(&random, BITS - first);
		bool value = random_below(&random, 2);

		if (count > 40)
			count = 1 + count % 40;
		switch (random_below(&random, 4)) {
		case 0:
			(value ? RtlSetBits : RtlClearBits)(&map, first, count);
			for (ULONG i = first; i < first + count; i++)
				bits[i] = value;
			break;
		case 1:
			EXPECT_EQ((value ? RtlFindSetBits : RtlFindClearBits)(&map, count, first),
				  model_find(bits, count, first, value));
			break;
		case 2: {
			bool is_all = true;
			for (ULONG i = first; i < first + count; i++)
				is_all = is_all && bits[i] == value;
			EXPECT_EQ((value ? RtlAreBitsSet : RtlAreBitsClear)(&map, first, count),
				  is_all);
			break;
		}
		default: {
			ULONG set = 0;
			for (ULONG i = 0; i < BITS; i++)
				set += bits[i];
			EXPECT_EQ(RtlNumberOfSetBits(&map), set);
			EXPECT_EQ(RtlTestBit(&map, first), bits[first]);
			break;
		}
		}
	}
}

TEST_MAIN("nt/bitmap")
