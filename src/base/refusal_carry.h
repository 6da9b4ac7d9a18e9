/* SPDX-License-Identifier: MIT */
/*
 * refusal_carry.h - what a thread was refused that worked for another.
 */
#ifndef BASE_REFUSAL_CARRY_H
#define BASE_REFUSAL_CARRY_H

#include "base/refusal.h"

/* From here on `refusal` is the last one of the calling thread; it was told and logged already. */
void refusal_carry(const struct dxgk_refusal *refusal);

#endif
