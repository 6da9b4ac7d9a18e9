/* SPDX-License-Identifier: MIT */
/*
 * start.h - what the rest of the kernel asks of the verifier (verify.h). No driver types are seen here.
 */
#ifndef VERIFY_START_H
#define VERIFY_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
enum { VERIFY_HISTORY_TEXT = 704, VERIFY_HISTORY_CALLS = 32 };
size_t verify_history(char (*lines)[VERIFY_HISTORY_TEXT], size_t count);

/*
 * When the driver reports the end of the packet with these commands, each 32 bits at `place` hold `value`; else it broke
 * a rule (watch_markers.c). Once. Before the submission; the memory stays until then, or until nothing is expected there.
 * False: as many are expected as can be.
 */
struct verify_expected {
	const void *kernel; /* the kernel's context or hardware queue, as the driver was told it */
	uint64_t commands;  /* their GPU address */
	const volatile void *place;
	uint64_t size_bytes;
	uint32_t value;
};
bool verify_expect(const struct verify_expected *expected);
void verify_expect_nothing(const volatile void *from, uint64_t size_bytes);

/*
 * The memory of an allocation, by the driver's handle, does not hold what was last written to it. It is reported under the rule of
 * the only way by which the GPU has reached it; false: there was none, and nothing was reported.
 */
bool verify_report_content(const void *allocation, const char *sentence);

#endif
