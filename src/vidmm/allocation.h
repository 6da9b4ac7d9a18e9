/* SPDX-License-Identifier: MIT */
/*
 * allocation.h - what the files of this folder do with one allocation, its lock held.
 */
#ifndef VIDMM_ALLOCATION_H
#define VIDMM_ALLOCATION_H

#include "vidmm/vidmm.h"

/* Where its system memory is: of who may be shown it. NULL: the machine's. */
struct machine_bank *allocation_bank(const struct vidmm_allocation *allocation);

/* System memory that its GPU reaches, charged; the content is copied there next … */
MUST_CHECK NTSTATUS allocation_take_pages_locked(struct vidmm_allocation *allocation);
/* … or is: zeroes. */
MUST_CHECK NTSTATUS allocation_commit_locked(struct vidmm_allocation *allocation);
/* Gives it back; the content has moved, and may move back. */
void allocation_give_pages_locked(struct vidmm_allocation *allocation);

/* May the CPU lock it at all? */
MUST_CHECK NTSTATUS allocation_check_lock_locked(const struct vidmm_allocation *allocation,
						 bool needs_cpu_visible);
/* Shows its system memory, or the pages `elsewhere`, where the CPU sees it; counts the lock. */
MUST_CHECK NTSTATUS allocation_lock_locked(struct vidmm_allocation *allocation,
					   const struct vidmm_backing *elsewhere,
					   void **pointer_out);

/* False when it is not locked. The pointer stays good, though nobody should use it. */
MUST_CHECK bool allocation_unlock_locked(struct vidmm_allocation *allocation);

/* What is new about it; what is not set stays. */
void allocation_update_locked(struct vidmm_allocation *allocation,
			      const struct vidmm_update *update);

/* What keeps it from being offered, in a word, or NULL. */
const char *allocation_offer_obstacle_locked(const struct vidmm_allocation *allocation);
/*
 * The content may be thrown away; offered again, the priority changes. With `may_decommit` the
 * memory may go, too. STATUS_INVALID_PARAMETER for what is locked or pinned; who has the list says
 * which one it is.
 */
MUST_CHECK NTSTATUS allocation_offer_locked(struct vidmm_allocation *allocation,
					    enum vidmm_offer_priority priority, bool may_decommit);
/* Memory again, of zeroes, for what was decommitted: it is only discarded then. */
MUST_CHECK NTSTATUS allocation_recommit_locked(struct vidmm_allocation *allocation);
/* Takes the offer back and says what became of the content. What was not offered is fine. */
enum vidmm_reclaim_result allocation_reclaim_locked(struct vidmm_allocation *allocation);
MUST_CHECK bool allocation_decommit_locked(struct vidmm_allocation *allocation);
/* The content of an offered one in system memory that no GPU sees goes. False when it may not. */
bool allocation_discard_locked(struct vidmm_allocation *allocation);

#endif
