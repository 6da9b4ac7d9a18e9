/* SPDX-License-Identifier: MIT */
/*
 * aux_klib.h - the auxiliary kernel-mode library: which images there are.
 *
 * They are what stands in for the kernel, and the drivers. An image here is an ELF file, so nothing
 * of the format of Windows' images is found at ImageBase.
 */
#ifndef OPENDXGK_DDK_AUX_KLIB_H
#define OPENDXGK_DDK_AUX_KLIB_H

#include "wdm.h"

OPENDXGK_EXTERN_C_BEGIN

#define AUX_KLIB_MODULE_PATH_LEN 256

typedef struct _AUX_MODULE_BASIC_INFO {
	PVOID ImageBase;
} AUX_MODULE_BASIC_INFO, *PAUX_MODULE_BASIC_INFO;

typedef struct _AUX_MODULE_EXTENDED_INFO {
	AUX_MODULE_BASIC_INFO BasicInfo;
	ULONG ImageSize;
	USHORT FileNameOffset;
	UCHAR FullPathName[AUX_KLIB_MODULE_PATH_LEN];
} AUX_MODULE_EXTENDED_INFO, *PAUX_MODULE_EXTENDED_INFO;

/* Comes before the others. */
NTKERNELAPI NTSTATUS NTAPI AuxKlibInitialize(VOID);
/* With QueryInfo NULL, only says how large it has to be. ElementSize chooses one of the two. */
NTKERNELAPI NTSTATUS NTAPI AuxKlibQueryModuleInformation(PULONG BufferSize, ULONG ElementSize,
							 PVOID QueryInfo);

OPENDXGK_EXTERN_C_END

#endif
