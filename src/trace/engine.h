/* SPDX-License-Identifier: MIT */
/*
 * engine.h - kinds of engines in words, the same in a trace and for who asks an adapter.
 */
#ifndef TRACE_ENGINE_H
#define TRACE_ENGINE_H

#include <stdint.h>

/* By DXGK_ENGINE_TYPE. A string that is never freed. */
static inline const char *engine_type_words(uint32_t engine_type)
{
	static const char *const words[] = {
		"other",          "3D",   "video decode", "video encode", "video processing",
		"scene assembly", "copy", "overlay",      "crypto"
	};

	return engine_type < sizeof(words) / sizeof(words[0]) ? words[engine_type] : "unknown";
}

#endif
