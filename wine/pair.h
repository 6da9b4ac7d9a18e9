/* SPDX-License-Identifier: MIT */
/*
 * pair.h - what dxgkwine.dll, which Windows programs call, and dxgkwine.so, which calls libdxcore.so, say to each other.
 *
 * Wine lets a DLL of its own kind call functions of a Unix library by their numbers. Those of calls.def come
 * first, each with the struct of the program as it is; then the ones below. Both files are of one build, and begin by
 * comparing that.
 */
#ifndef WINE_PAIR_H
#define WINE_PAIR_H

#include <stdint.h>

/* The DLL knows the calls by their numbers only: the structs are none of its business. */
#ifdef _WIN32
enum call_id {
#define CALL(id, name, type, constness, ...)  CALL_##id,
#define CALL_NOT_BUILT(name, type, constness) CALL_##name,
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT
	CALL_COUNT
};
#else
#include "wire/call.h"
#endif

enum pair_refused {
#define REFUSED(name, reason)       REFUSED_##name,
#define REFUSED_FALSE(name, reason) REFUSED_##name,
#include "refused.inc"
#undef REFUSED
#undef REFUSED_FALSE
	REFUSED_COUNT
};

enum pair_call {
	PAIR_ATTACH = CALL_COUNT, /* struct pair_attach, first of all */
	PAIR_DETACH,              /* the process ends */
	PAIR_CLOSE,               /* D3DKMTCloseDxCoreDevice */
	PAIR_REFUSE,              /* uint32_t: one of enum pair_refused */
	PAIR_LAST_REFUSAL,        /* struct dxgk_refusal; status 1: there was one */
	PAIR_PARK,                /* struct pair_callback: returns with the next one to be called */
	PAIR_PARKED,              /* a thread is on its way into PAIR_PARK */
	PAIR_EMPTY,               /* nothing: what a call costs that does nothing */
	PAIR_COUNT
};

/* Instead of a status, which it cannot be: first a thread has to park, then the call is made again. */
#define PAIR_NEEDS_PARKED ((int32_t)0xe0d96b01)

struct pair_attach {
	uint32_t pair_count; /* PAIR_COUNT */
	uint32_t refused_count;
	char version[32];
};

/* A callback of the program, to be called on a thread of the program: with the notification as its only argument. */
struct pair_callback {
	uint64_t function;
	uint64_t words[3]; /* D3DKMT_TRIMNOTIFICATION or D3DKMT_BUDGETCHANGENOTIFICATION */
};

#endif
