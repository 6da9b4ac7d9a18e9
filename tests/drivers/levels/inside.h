/* SPDX-License-Identifier: MIT */
/*
 * inside.h - who is inside the driver, and whether that is allowed.
 *
 *	struct visit visit;
 *
 *	visit_begin(&visit, LEVELS_CreateContext, NULL);
 *	status = real.DxgkDdiCreateContext(device, args);
 *	visit_end(&visit);
 */
#ifndef TESTS_DRIVERS_LEVELS_INSIDE_H
#define TESTS_DRIVERS_LEVELS_INSIDE_H

#include <ntddk.h>

#include <dispmprt.h>
#include <stdbool.h>

#include "levels.h"

enum promised_irql {
	IRQL_PASSIVE,
	IRQL_UP_TO_APC,
	IRQL_UP_TO_DISPATCH,
	IRQL_DISPATCH,
	IRQL_DIRQL,
	IRQL_ANY,
};

enum promised_level { LEVEL_0, LEVEL_1, LEVEL_2, LEVEL_3, ALWAYS, UNSAID };

enum promised_class {
	CLASS_NONE,
	CLASS_SCHEDULER,
	CLASS_VIDMM,
	CLASS_SWIZZLING,
	CLASS_POINTER,
	CLASS_OVERLAY,
	CLASS_CHILD,
	CLASS_DISPLAY,
	CLASS_INTERRUPT,
	CLASS_DPC,
};

struct promise {
	const char *name;
	enum promised_irql irql;
	enum promised_level level;
	enum promised_class class;
};

/* One thread in one entry point; lives on its stack. */
struct visit {
	struct visit *next;
	enum levels_entry entry;
	enum promised_level level;
	PKTHREAD thread;
	PEPROCESS process;
	const void *queue; /* of which only one submission at a time may be inside; NULL */
	KIRQL irql;
};

/* Reads what to believe from the registry, once. */
void inside_init(PUNICODE_STRING registry_path);

void visit_begin(struct visit *visit, enum levels_entry entry, const void *queue);

/* For Escape, whose flags decide. */
void visit_begin_at(struct visit *visit, enum levels_entry entry, enum promised_level level);

void visit_end(struct visit *visit);

/* ---- what the GPU has to do, for the levels that promise that it is idle ---- */

void work_submitted(ULONG node, ULONG fence);
void work_completed(ULONG node, ULONG fence);
void work_is_gone(ULONG node);
void work_is_all_gone(void);

/* Hardware queues: done when the fence says so. */
void work_queued(const void *queue, ULONGLONG progress, const void *fence);
void work_of_queue_ends(const void *queue);
void work_of_queues_is_gone(void);

/* … and whatever is submitted now goes nowhere. */
void hardware_is_gone(void);

/* Something else that should not be. */
void inside_complain(const char *what, const char *why);

void inside_count_probe(void);
void inside_count_meeting(void);
void inside_report(struct levels_seen *seen);

#endif
