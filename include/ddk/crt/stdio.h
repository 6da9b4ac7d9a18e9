/* SPDX-License-Identifier: MIT */
/*
 * stdio.h - what a driver may use of it: formatting into memory.
 */
#include "../wdm_crt.h"
