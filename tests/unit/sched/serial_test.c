/* SPDX-License-Identifier: MIT */
/*
 * serial_test.c - fence ids near the end of 32 bits.
 */
#include "base/attributes.h"
#include "sched/serial.h"
#include "support/test.h"

TEST(serial, zero_is_left_out)
{
	EXPECT_EQ(serial_next(0), 1);
	EXPECT_EQ(serial_next(UINT32_MAX - 1), UINT32_MAX);
	EXPECT_EQ(serial_next(UINT32_MAX), 1);
	EXPECT_EQ(serial_before(1), UINT32_MAX);
	EXPECT_EQ(serial_before(2), 1);
}

TEST(serial, what_comes_after_is_after_also_around_the_end)
{
	static const uint32_t starts[] = { 1, 100, INT32_MAX, UINT32_MAX - 3, UINT32_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		uint32_t id = starts[i];
		for (int steps = 0; steps < 10; steps++) {
			id = serial_next(id);
			EXPECT(serial_is_after(id, starts[i]));
			EXPECT(!serial_is_after(starts[i], id));
		}
	}
	EXPECT(!serial_is_after(5, 5));
}

TEST(serial, a_range_includes_its_ends_and_nothing_else)
{
	EXPECT(serial_is_within(UINT32_MAX, UINT32_MAX, 3));
	EXPECT(serial_is_within(2, UINT32_MAX, 3));
	EXPECT(serial_is_within(3, UINT32_MAX, 3));
	EXPECT(!serial_is_within(4, UINT32_MAX, 3));
	EXPECT(!serial_is_within(UINT32_MAX - 1, UINT32_MAX, 3));
	EXPECT(serial_is_within(7, 7, 7));
	EXPECT(!serial_is_within(0, 0x90000000, 0x90000010)); /* "nothing yet", said late */
}

TEST_MAIN("sched/serial")
