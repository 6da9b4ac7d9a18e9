/* SPDX-License-Identifier: MIT */
#include "nt/memory_faults.h"

bool (*nt_memory_judge)(void);

void nt_memory_fail_by(bool (*fails)(void))
{
	nt_memory_judge = fails;
}
