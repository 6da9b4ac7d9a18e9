/* SPDX-License-Identifier: MIT */
/*
 * around.h - drivers that stand around another one: they hand the kernel its table with entries of
 * their own, which call those of the driver.
 */
#ifndef TESTS_DRIVERS_AROUND_H
#define TESTS_DRIVERS_AROUND_H

#include <ntddk.h>

#include <dispmprt.h>

/* Keeps the driver's table in `real`, and registers what replace() makes of it. */
static inline NTSTATUS initialize_around(PDRIVER_OBJECT driver, PUNICODE_STRING path,
					 PDRIVER_INITIALIZATION_DATA data,
					 DRIVER_INITIALIZATION_DATA *real,
					 void (*replace)(DRIVER_INITIALIZATION_DATA *data))
{
	DRIVER_INITIALIZATION_DATA ours;

	if (!data)
		return DxgkInitialize(driver, path, data);
	*real = *data;
	ours = *data;
	replace(&ours);
	return DxgkInitialize(driver, path, &ours);
}

#endif
