/* SPDX-License-Identifier: MIT */
/*
 * report_driver.h - see report_driver.c. The including file has included <ddk/wdm.h>.
 */
#ifndef TESTS_UNIT_NT_REPORT_DRIVER_H
#define TESTS_UNIT_NT_REPORT_DRIVER_H

struct report_driver_routines {
	NTSTATUS(*wait)
	(PVOID object, KWAIT_REASON reason, KPROCESSOR_MODE mode, BOOLEAN alertable,
	 PLARGE_INTEGER timeout);
	PVOID (*allocate)(POOL_TYPE type, SIZE_T size, ULONG tag);
};

void report_driver_init(const struct report_driver_routines *routines);
void report_driver_wait(KEVENT *event);
void *report_driver_allocate(SIZE_T size, ULONG tag);
void *report_driver_allocate_deep(SIZE_T size, ULONG tag);

#endif
