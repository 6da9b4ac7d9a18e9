/* SPDX-License-Identifier: MIT */
/*
 * bystanders.h - memory that a client's packet has nothing to do with: of watch_bystanders.c, for shadow_work.c.
 */
#ifndef VERIFY_BYSTANDERS_H
#define VERIFY_BYSTANDERS_H

#include "verify/shadow.h"

/* A packet of a client goes, and nothing else is with the hardware. NULL: there is nobody to look at. */
struct shadow_bystanders *bystanders_look(struct shadow *shadow,
					  const struct shadow_submission *submission);
/* It was completed. Frees them. */
void bystanders_compare(struct shadow *shadow, struct shadow_bystanders *bystanders);

#endif
