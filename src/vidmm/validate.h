/* SPDX-License-Identifier: MIT */
/*
 * validate.h - recounts everything.
 */
#ifndef VIDMM_VALIDATE_H
#define VIDMM_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "vidmm/vidmm.h"

/*
 * These are all the allocations charged to `account` (NULL: all there are). Compares each with
 * itself and with the machine, and their sums with the books. Writes what is wrong to `wrong`.
 * Nothing is under way meanwhile.
 */
MUST_CHECK bool vidmm_validate(const struct vidmm_account *account,
			       struct vidmm_allocation *const allocations[], size_t count,
			       char *wrong, size_t wrong_size);

/* The books of one account below that: its part of `allocations`, and what accounts below it pay. */
const char *vidmm_account_validate(const struct vidmm_account *account,
				   struct vidmm_allocation *const allocations[], size_t count);

#endif
