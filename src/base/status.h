/* SPDX-License-Identifier: MIT */
/*
 * status.h - NTSTATUS, the status type everywhere, and the names of its values.
 *
 * The values are the public header's: a second list of them would only be a chance to differ.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>

#include <dxg/ntstatus.h>

/* "STATUS_INVALID_PARAMETER"; for a value without a name its number, valid until the next call. */
const char *status_name(NTSTATUS status);

/* The other way round; false when there is none of this name. */
bool status_from_name(const char *name, NTSTATUS *status_out);

#endif
