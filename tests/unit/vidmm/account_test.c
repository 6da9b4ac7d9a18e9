/* SPDX-License-Identifier: MIT */
/*
 * account_test.c - a charge goes up to the top.
 */
#include "support/test.h"
#include "vidmm/account.h"

TEST(account, a_charge_counts_in_every_account_above)
{
	struct vidmm_account adapter = { 0 };
	struct vidmm_account one = { .parent = &adapter };
	struct vidmm_account two = { .parent = &adapter };

	account_charge_committed(&one, 100);
	account_charge_committed(&two, 20);
	account_charge_committed(&adapter, 3);
	account_charge_committed(NULL, 1000);
	account_charge_viewed(&one, 7);
	EXPECT_EQ(one.committed_bytes, 100);
	EXPECT_EQ(two.committed_bytes, 20);
	EXPECT_EQ(adapter.committed_bytes, 123);
	EXPECT_EQ(vidmm_everything.committed_bytes, 1123);
	EXPECT_EQ(one.viewed_bytes, 7);
	EXPECT_EQ(two.viewed_bytes, 0);
	EXPECT_EQ(vidmm_everything.viewed_bytes, 7);
	account_charge_committed(&one, -100);
	account_charge_committed(&two, -20);
	account_charge_committed(&adapter, -3);
	account_charge_committed(&vidmm_everything, -1000);
	account_charge_viewed(&one, -7);
	EXPECT_EQ(adapter.committed_bytes, 0);
	EXPECT_EQ(vidmm_everything.committed_bytes, 0);
	EXPECT_EQ(vidmm_everything.viewed_bytes, 0);
}

TEST_MAIN("vidmm/account")
