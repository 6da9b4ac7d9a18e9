/* SPDX-License-Identifier: MIT */
/*
 * loopback.h - the embedded kernel behind the wire, in one process: for tests (DXGK_WIRE=loopback).
 */
#ifndef THUNK_LOOPBACK_H
#define THUNK_LOOPBACK_H

#include "wire/embed.h"

/* A kernel whose calls become bytes and calls again on their way to `kernel`. */
const struct dxgk_embed *loopback_around(const struct dxgk_embed *kernel);

#endif
