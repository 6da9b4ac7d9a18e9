/* SPDX-License-Identifier: MIT */
/* pshpack1.h - structs that follow are packed to 1 byte, until poppack.h. No guard: included in
 * pairs. */
#pragma pack(push, 1)
