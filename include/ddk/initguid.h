/* SPDX-License-Identifier: MIT */
/*
 * initguid.h - include before the headers whose GUIDs this file shall define, not only declare.
 */
#ifndef INITGUID
#define INITGUID
#endif
#include "guiddef.h"
