/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "nt/forbidden.h"
#include "nt/report.h"

_Thread_local const struct nt_forbidden *nt_forbidden;

RARE void nt_forbidden_report(const char *routine)
{
	nt_report(nt_forbidden->rule, "%s called %s; it may neither take memory nor wait",
		  nt_forbidden->routine, routine);
}
