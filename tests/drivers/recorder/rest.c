/* SPDX-License-Identifier: MIT */
/*
 * rest.c - the entry points that this driver has no use for, for who fills in all of them.
 */
#include "driver.h"

/* Its arguments are none of its business. */
typedef NTSTATUS (*entry_point)(void);

#define ENTRY(member, version)                                                                     \
	static NTSTATUS refuse_##member(void)                                                      \
	{                                                                                          \
		note(#member, NULL, 0, NULL, 0);                                                   \
		return STATUS_NOT_SUPPORTED;                                                       \
	}
#include "introduced.def"
#undef ENTRY

void fill_in_the_rest(DRIVER_INITIALIZATION_DATA *data)
{
	if (!setting("Whole", 0))
		return;
#define ENTRY(member, version)                                                                     \
	if (!data->DxgkDdi##member)                                                                \
		*(entry_point *)&data->DxgkDdi##member = refuse_##member;
#include "introduced.def"
#undef ENTRY
}
