/* SPDX-License-Identifier: MIT */
/* check.h - what hardware and drivers may rely on: who breaks it is found where it happens, on whichever thread. */
#ifndef TESTS_FAKE_CHECK_H
#define TESTS_FAKE_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#endif
