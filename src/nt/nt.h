/* SPDX-License-Identifier: MIT */
/*
 * nt.h - the NT routines that drivers link to, seen by their host.
 *
 * The routines themselves are declared in <ddk/wdm.h>. A folder that includes this, and with it the
 * headers of drivers, is built with -fshort-wchar.
 */
#ifndef NT_NT_H
#define NT_NT_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

#include "nt/debug.h"
#include "nt/dpc.h"
#include "nt/io.h"
#include "nt/irql.h"
#include "nt/mdl.h"
#include "nt/modules.h"
#include "nt/object.h"
#include "nt/pool.h"
#include "nt/processes.h"
#include "nt/registry.h"
#include "nt/report.h"
#include "nt/seh.h"
#include "nt/threads.h"
#include "nt/unicode.h"

/*
 * Starts the threads that timers and DPCs run on. Without it they start at first use, where nobody
 * can be told that there was no memory for them.
 */
MUST_CHECK NTSTATUS nt_start(void);

/* The opposite, after the last driver is gone: everything that nt/ holds is given back. */
void nt_stop(void);

/*
 * The driver in [begin, end) has returned from its unload routine: reports threads, timers and
 * memory that it left behind, and frees the memory. True when its image may be unmapped.
 */
bool nt_driver_unloaded(const void *begin, const void *end);

#endif
