/* SPDX-License-Identifier: MIT */
/*
 * string.h - what a driver may use of it.
 */
#include "../wdm_crt.h"
