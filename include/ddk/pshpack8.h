/* SPDX-License-Identifier: MIT */
/* pshpack8.h - structs that follow are packed to 8 bytes, until poppack.h. No guard: included in
 * pairs. */
#pragma pack(push, 8)
