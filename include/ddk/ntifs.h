/*
 * ntifs.h - the kernel as file systems see it, in the parts a display miniport uses.
 */
#ifndef OPENDXGK_DDK_NTIFS_H
#define OPENDXGK_DDK_NTIFS_H

#include "ntddk.h"

#endif
