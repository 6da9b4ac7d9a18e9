/* SPDX-License-Identifier: MIT */
/*
 * stdlib.h - what a driver may use of it: no heap, no process.
 */
#include "../wdm_crt.h"
