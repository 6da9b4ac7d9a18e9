/* SPDX-License-Identifier: MIT */
/* setting.h - MODEL_… from the environment. */
#ifndef TESTS_MODEL_SETTING_H
#define TESTS_MODEL_SETTING_H

#include <stdlib.h>

static inline unsigned long long setting(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

#endif
