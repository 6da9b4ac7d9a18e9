/* SPDX-License-Identifier: MIT */
/* pshpack2.h - structs that follow are packed to 2 bytes, until poppack.h. No guard: included in
 * pairs. */
#pragma pack(push, 2)
