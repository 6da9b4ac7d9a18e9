/* SPDX-License-Identifier: MIT */
/*
 * start.h - what the rest of the kernel asks of the verifier (verify.h). No driver types are seen here.
 */
#ifndef VERIFY_START_H
#define VERIFY_START_H

#include <stdbool.h>
#include <stddef.h>

/* Drivers that are loaded from now on are verified, if DXGK_VERIFY asks for it. */
void verify_start(void);

/* Something of the plan in DXGK_FAULT has happened. */
bool verify_fault_has_fired(void);

/* The plan asks for what verify/requests.h lists. */
bool verify_makes_requests(void);

/*
 * The last calls of drivers and the callbacks in them, oldest first, as text: at most `count` of them. Returns how many
 * there are. Empty without DXGK_VERIFY=rules.
 */
enum { VERIFY_HISTORY_TEXT = 256, VERIFY_HISTORY_CALLS = 32 };
size_t verify_history(char (*lines)[VERIFY_HISTORY_TEXT], size_t count);

#endif
