/* SPDX-License-Identifier: MIT */
/* pshpack4.h - structs that follow are packed to 4 bytes, until poppack.h. No guard: included in
 * pairs. */
#pragma pack(push, 4)
