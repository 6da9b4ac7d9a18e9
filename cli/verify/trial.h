/* SPDX-License-Identifier: MIT */
/*
 * trial.h - an exerciser is loaded once by a process of its own, before anything else is done with it: one that cannot be used is a
 * matter of the command line and none of the driver's.
 */
#ifndef CLI_VERIFY_TRIAL_H
#define CLI_VERIFY_TRIAL_H

#include <stdbool.h>

#include "base/attributes.h"

/* False after saying on standard error what is wrong with it. */
MUST_CHECK bool trial_of_exerciser(const char *path);

#endif
