/* SPDX-License-Identifier: MIT */
/* Found as <device.h> and as "..\Inc\DEVICE.H". */
#ifndef WDK_STYLE_DEVICE_H
#define WDK_STYLE_DEVICE_H

/* Registers as the hardware has them: a long of the Microsoft compiler has 32 bits. */
typedef struct _DEVICE_REGISTERS {
	unsigned long Control;
	long Status;
	unsigned long int Size;
} DEVICE_REGISTERS;

C_ASSERT(sizeof(DEVICE_REGISTERS) == 12);
C_ASSERT(sizeof(0x10UL) == 4 && sizeof(0x10ULL) == 8);

/* Inline for every file that includes it, with no `extern` anywhere. */
__inline ULONG DeviceAlign(ULONG Size)
{
	return (Size + PAGE_SIZE - 1) & ~(ULONG)(PAGE_SIZE - 1);
}

/* In every file that includes it, and one for all of them. */
#ifndef __cplusplus
ULONG DeviceCount;
#endif

EXTERN_C ULONG DeviceCheck(void);
EXTERN_C int TraceAsserted;

#endif
