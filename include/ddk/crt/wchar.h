/* SPDX-License-Identifier: MIT */
/*
 * wchar.h - what a driver may use of it, with 16-bit characters.
 */
#include "../wdm_crt.h"
