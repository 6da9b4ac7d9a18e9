/* SPDX-License-Identifier: MIT */
/*
 * opendxgk_cc.h - what the Microsoft compiler knows before the first line of a source.
 *
 * opendxgk-cc(1) includes it in front of everything.
 */
#ifndef OPENDXGK_DDK_CRT_OPENDXGK_CC_H
#define OPENDXGK_DDK_CRT_OPENDXGK_CC_H

#ifndef __ASSEMBLER__

#ifndef _WIN32
#define _WIN32 1
#endif
#ifndef _WIN64
#define _WIN64 1
#endif
#ifndef WINNT
#define WINNT 1
#endif
#ifndef _KERNEL_MODE
#define _KERNEL_MODE 1
#endif
#if defined(__x86_64__)
#ifndef _M_X64
#define _M_X64 100
#endif
#ifndef _M_AMD64
#define _M_AMD64 100
#endif
#ifndef _AMD64_
#define _AMD64_ 1
#endif
#elif defined(__aarch64__)
#ifndef _M_ARM64
#define _M_ARM64 1
#endif
#ifndef _ARM64_
#define _ARM64_ 1
#endif
#endif

/*
 * An inline function of C has one definition for all files there, wherever it is needed; C17 wants
 * somebody to say `extern` once, and existing sources do not. One definition per file does as well.
 */
#ifndef __cplusplus
#define __inline      static __inline__
#define __forceinline static __inline__ __attribute__((always_inline))
#endif

#endif

#endif
