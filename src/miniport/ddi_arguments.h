/* SPDX-License-Identifier: MIT */
/*
 * ddi_arguments.h - what a driver was called with, in words: "hDevice 0x5581c0, NodeOrdinal 0, Flags
 * 0x1". From a table (ddi_arguments.def), for logs and reports.
 *
 * Nothing here takes a lock or memory, or calls what is not safe in the handler of a signal. The
 * arguments of a crossing are those that were noted with ddi_note(), and there while the driver runs.
 */
#ifndef MINIPORT_DDI_ARGUMENTS_H
#define MINIPORT_DDI_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "miniport/ddi.h"

/* Long enough for any of them. */
enum { DDI_ARGUMENTS_TEXT = 512 };

/* Of a crossing that is under way, or has just come back. Empty when there are none to speak of. */
void ddi_describe_arguments(const struct ddi_crossing *crossing, char *text, size_t size);

/* Of a DXGKARGCB_NOTIFY_INTERRUPT_DATA: its type, and what belongs to that. */
void ddi_describe_interrupt(const void *interrupt_data, char *text, size_t size);

#endif
