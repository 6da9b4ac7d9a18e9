/* SPDX-License-Identifier: MIT */
/*
 * kept_name.c - see kept_name.h.
 *
 * Counted before it is looked at, and over before it is counted: one of the two sees the other.
 */
#include "miniport/kept_name.h"

bool miniport_name_enter(struct miniport_kept_name *name)
{
	atomic_fetch_add(&name->inside, 1);
	if (!atomic_load(&name->is_over))
		return true;
	miniport_name_leave(name);
	return false;
}

void miniport_name_leave(struct miniport_kept_name *name)
{
	atomic_fetch_sub(&name->inside, 1);
	notice_give(&name->left);
}

void miniport_name_end(struct miniport_kept_name *name, bool may_wait)
{
	atomic_store(&name->is_over, true);
	if (may_wait)
		notice_wait_until_none(&name->left, &name->inside);
}
