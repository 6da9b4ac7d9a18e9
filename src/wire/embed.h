/*
 * embed.h - what libdxcore.so asks of libdxgk.so when the kernel lives in the same process.
 *
 * The two are separate files because drivers link to the kernel and clients to the API. libdxgk.so
 * exports one function, dxgk_embed(), which hands out this table.
 */
#ifndef WIRE_EMBED_H
#define WIRE_EMBED_H

#include <stdbool.h>
#include <stdint.h>

#include <opendxgk/refusal.h>

#include "base/status.h"

enum { DXGK_EMBED_VERSION = 1 };

struct dxgk_embed {
	uint32_t version;    /* DXGK_EMBED_VERSION, or the two files do not belong together */
	uint32_t call_count; /* CALL_COUNT, likewise */

	/* `arguments` is the client's own struct. Starts the kernel at the first call. */
	NTSTATUS (*call)(uint32_t id, void *arguments);
	bool (*last_refusal)(struct dxgk_refusal *refusal);

	/* Everything this process made is destroyed; the next call starts with nothing. */
	void (*close_process)(void);
};

/* The only way in; found with dlsym(). */
const struct dxgk_embed *dxgk_embed(void);

#endif
