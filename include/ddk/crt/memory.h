/* SPDX-License-Identifier: MIT */
/*
 * memory.h - what a driver may use of it.
 */
#include "../wdm_crt.h"
