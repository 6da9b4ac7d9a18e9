/* SPDX-License-Identifier: MIT */
/*
 * ctype.h - what a driver may use of it.
 */
#include "../wdm_crt.h"
