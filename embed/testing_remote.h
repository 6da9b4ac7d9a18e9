/* SPDX-License-Identifier: MIT */
/*
 * testing_remote.h - questions of <opendxgk/testing.h> where the kernel is a server's (DXGK_SOCKET).
 */
#ifndef EMBED_TESTING_REMOTE_H
#define EMBED_TESTING_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/control.h"

bool testing_is_remote(void);

/* Asks, and stops the program when there is no answer. */
struct control_test testing_ask(enum control_kind kind, uint64_t luid, uint64_t number,
				const char *text);

#endif
