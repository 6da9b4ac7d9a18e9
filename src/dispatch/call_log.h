/* SPDX-License-Identifier: MIT */
/*
 * call_log.h - a call, its arguments, what came of it: one line of the log, from the table of calls.
 */
#ifndef DISPATCH_CALL_LOG_H
#define DISPATCH_CALL_LOG_H

#include "dispatch/decode.h"

/*
 * "D3DKMTCreateDevice(hAdapter 0x40000040, Flags 0x0): STATUS_SUCCESS, hDevice 0x400000c0". The call
 * is over; without `client_args` its arguments were never read.
 */
RARE void call_log(const struct call *call, const void *client_args, NTSTATUS status);

#endif
