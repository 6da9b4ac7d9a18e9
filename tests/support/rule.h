/* SPDX-License-Identifier: MIT */
/* rule.h - the rule by which the last call of this thread was refused. */
#ifndef TESTS_SUPPORT_RULE_H
#define TESTS_SUPPORT_RULE_H

#include "base/refusal.h"
#include "support/test.h"

#define EXPECT_RULE(expected)                                                                      \
	do {                                                                                       \
		struct dxgk_refusal why = { .size_bytes = sizeof(why) };                           \
		EXPECT(refusal_last(&why));                                                        \
		EXPECT_STR(why.rule, expected);                                                    \
	} while (0)

#endif
