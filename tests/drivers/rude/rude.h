/* SPDX-License-Identifier: MIT */
/*
 * rude.h - what a test and the rude driver say to each other.
 *
 * The driver is the recorder, whose DxgkDdiEscape does what no driver may do when it is given one
 * of these. Anything else is the recorder's.
 */
#ifndef TESTS_DRIVERS_RUDE_H
#define TESTS_DRIVERS_RUDE_H

#define RUDE_MAGIC 0x45445552

#define RUDE_DEEDS(DEED)                                                                           \
	DEED(nothing)                                                                              \
	DEED(hold_spin_lock)                                                                       \
	DEED(hold_queued_spin_lock)                                                                \
	DEED(hold_shared_spin_lock)                                                                \
	DEED(hold_fast_mutex)                                                                      \
	DEED(hold_resource)                                                                        \
	DEED(hold_push_lock)                                                                       \
	DEED(hold_mutex)                                                                           \
	DEED(stay_in_region)                                                                       \
	DEED(take_all) /* and release it: nothing to tell */                                       \
	DEED(read_null)                                                                            \
	DEED(call_null)                                                                            \
	DEED(use_fresh_pool)                                                                       \
	DEED(use_freed_pool)                                                                       \
	DEED(divide_by_zero)                                                                       \
	DEED(illegal_instruction)                                                                  \
	DEED(call_abort)                                                                           \
	DEED(bug_check)                                                                            \
	DEED(crash_in_dpc)                                                                         \
	DEED(crash_in_thread)                                                                      \
	DEED(crash_in_try) /* and catch it */                                                      \
	DEED(wait_for_null)                                                                        \
	DEED(set_null)                                                                             \
	DEED(release_null)                                                                         \
	DEED(touch_paged)                                                                          \
	DEED(touch_paged_low) /* at PASSIVE_LEVEL: nothing to tell */                              \
	DEED(touch_locked)    /* locked pages: nothing to tell */                                  \
	DEED(touch_freed_paged)                                                                    \
	DEED(signal_paged_event)                                                                   \
	DEED(leak)                                                                                 \
	DEED(leak_pages)

enum rude_deed {
#define DEED(name) RUDE_##name,
	RUDE_DEEDS(DEED)
#undef DEED
};

struct rude_escape {
	unsigned magic;
	unsigned deed;
};

#endif
