/* SPDX-License-Identifier: MIT */
/*
 * watch_races.c - the driver line orders what a driver does: told to its thread sanitizer (base/race.h).
 *
 * The kernel is entered and left in between, with locks that the sanitizer does not see. So a call that is over, and whatever
 * the driver has called us for, counts as earlier than each call that begins afterwards. That is more than WDDM promises, and never less: what
 * is reported is a race; of two calls that did not meet in this run, another seed may have them meet.
 */
#include "base/race.h"
#include "verify/verify.h"

static const char line; /* its address is all there is to it */

static void begin(struct verify_adapter *adapter, void *state)
{
	race_release(&line);
}

static void to_driver(struct verify_call *call, void *state)
{
	race_acquire(&line);
}

static void from_driver(struct verify_call *call, void *state)
{
	race_release(&line);
}

static void callback_to_kernel(struct verify_callback *callback, void *state)
{
	race_release(&line);
}

static void callback_to_driver(struct verify_callback *callback, void *state)
{
	race_acquire(&line);
}

const struct verify_watching verify_watch_races = {
	.begin = begin,
	.before = to_driver,
	.after = from_driver,
	.callback_before = callback_to_kernel,
	.callback_after = callback_to_driver,
	.routine_before = callback_to_driver,
	.routine_after = callback_to_kernel,
};
