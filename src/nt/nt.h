/* SPDX-License-Identifier: MIT */
/*
 * nt.h - the NT routines that drivers link to, seen by their host.
 *
 * The routines themselves are declared in <ddk/wdm.h>. A folder that includes this, and with it the
 * headers of drivers, is built with -fshort-wchar.
 */
#ifndef NT_NT_H
#define NT_NT_H

#include "base/attributes.h"
#include "base/status.h"

#include "nt/debug.h"
#include "nt/dpc.h"
#include "nt/io.h"
#include "nt/irql.h"
#include "nt/mdl.h"
#include "nt/object.h"
#include "nt/pool.h"
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

/* An image that a driver can ask about, until nt_module_remove(). STATUS_NO_MEMORY. */
MUST_CHECK NTSTATUS nt_module_add(const char *path, const void *begin, const void *end);
void nt_module_remove(const void *begin);

/*
 * A process begins or ends to be a client: routines are told, on this thread and on its behalf. NULL:
 * there is no memory for it.
 */
struct nt_process;
MUST_CHECK struct nt_process *nt_process_begin(uint32_t pid);
void nt_process_end(struct nt_process *process);

struct nt_process *nt_process_of_system(void);

/* Routines of a driver that is gone, which it should have taken back: how many there were. */
unsigned nt_process_forget_routines(const void *begin, const void *end);

#endif
