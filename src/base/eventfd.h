/* SPDX-License-Identifier: MIT */
/*
 * eventfd.h - which eventfd a descriptor is of.
 *
 * All anonymous inodes are one to fstat(), so an eventfd is known by what /proc says of it.
 */
#ifndef BASE_EVENTFD_H
#define BASE_EVENTFD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/*
 * False when the descriptor is no eventfd, or with EMFILE when it is one and the program has no descriptor left to look
 * with. The number is 0 on hosts that do not number them.
 */
MUST_CHECK bool eventfd_identify(int fd, uint64_t *id_out);

/* Is it still the one that had this number? Who cannot look takes any eventfd for it: an event that is not set is lost. */
bool eventfd_is(int fd, uint64_t id);

#endif
