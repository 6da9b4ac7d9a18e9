/* SPDX-License-Identifier: MIT */
/*
 * ntifs.h - the kernel as file systems see it, in the parts a display miniport uses.
 */
#ifndef OPENDXGK_DDK_NTIFS_H
#define OPENDXGK_DDK_NTIFS_H

#include "ntddk.h"

OPENDXGK_EXTERN_C_BEGIN

/* Another process's addresses, for a while. */
typedef struct _KAPC_STATE {
	LIST_ENTRY ApcListHead[2];
	PKPROCESS Process;
	UCHAR InProgressFlags;
	BOOLEAN KernelApcPending;
	BOOLEAN UserApcPending;
} KAPC_STATE, *PKAPC_STATE, *PRKAPC_STATE;

/* A reference comes with the process; STATUS_INVALID_PARAMETER: there is none of that id. */
NTKERNELAPI NTSTATUS NTAPI PsLookupProcessByProcessId(HANDLE ProcessId, PEPROCESS *Process);
NTKERNELAPI VOID NTAPI KeStackAttachProcess(PRKPROCESS PROCESS, PRKAPC_STATE ApcState);
NTKERNELAPI VOID NTAPI KeUnstackDetachProcess(PRKAPC_STATE ApcState);

OPENDXGK_EXTERN_C_END

#endif
