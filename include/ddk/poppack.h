/* SPDX-License-Identifier: MIT */
/* poppack.h - ends what the last pshpack header began. */
#pragma pack(pop)
