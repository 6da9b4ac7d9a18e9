/*
 * status.h - NTSTATUS, the status type everywhere, and the names of its values.
 *
 * The values are the public header's: a second list of them would only be a chance to differ.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <dxg/ntstatus.h>

/* "STATUS_INVALID_PARAMETER"; for a value without a name its number, valid until the next call. */
const char *status_name(NTSTATUS status);

#endif
