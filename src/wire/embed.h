/* SPDX-License-Identifier: MIT */
/*
 * embed.h - what libdxcore.so asks of libdxgk.so when the kernel lives in the same process.
 *
 * The two are separate files because drivers link to the kernel and clients to the API. libdxgk.so
 * exports dxgk_embed(), which hands out this table.
 */
#ifndef WIRE_EMBED_H
#define WIRE_EMBED_H

#include <stdbool.h>
#include <stdint.h>

#include <opendxgk/refusal.h>

#include "base/status.h"
#include "wire/call.h"

enum { DXGK_EMBED_VERSION = 4 };

/* What can be heard of adapters. */
enum dxgk_embed_news {
	DXGK_EMBED_BUDGET,   /* at first, and when the process's budget changed */
	DXGK_EMBED_LOSS,     /* once, when an adapter is lost or was: for each of them */
	DXGK_EMBED_AT_FIRST, /* once */
};

/*
 * Who wants to hear it: `tell` is called with the listener itself, on a thread of the kernel, one
 * call at a time. `release` is called once for each adapter it listens to, when the kernel does not
 * look at it any more on that adapter's behalf; it may not call back.
 */
struct dxgk_embed_listener {
	enum dxgk_embed_news news;
	void (*tell)(struct dxgk_embed_listener *listener);
	void (*release)(struct dxgk_embed_listener *listener);
};

/*
 * A way for each call, without asking which one it is; `door` is how it comes in. All may be the same.
 */
typedef NTSTATUS dxgk_way(void *door, void *arguments, uint32_t id);
struct dxgk_ways {
	void *door;
	dxgk_way *calls[CALL_COUNT];
};

struct dxgk_embed {
	uint32_t version;    /* DXGK_EMBED_VERSION, or the two files do not belong together */
	uint32_t call_count; /* CALL_COUNT, likewise */

	/* `arguments` is the client's own struct. Starts the kernel at the first call. */
	NTSTATUS (*call)(uint32_t id, void *arguments);
	const struct dxgk_ways *ways; /* the same, shorter; NULL: there are none */
	bool (*last_refusal)(struct dxgk_refusal *refusal);

	/* Everything this process made is destroyed; the next call starts with nothing. */
	void (*close_process)(void);

	/*
	 * It may be told before this returns, and be released. Ends with the process, too. When this
	 * fails it is not released.
	 */
	NTSTATUS(*listen)
	(struct dxgk_embed_listener *listener, const uint64_t *luids, uint32_t count);
	/*
	 * Returns when it is not being told any more, unless the one who tells it asks, or the
	 * process it listened in has ended meanwhile: then a call of tell() may still run, and
	 * release() comes after it.
	 */
	void (*unlisten)(struct dxgk_embed_listener *listener);
};

/* The only way in; found with dlsym(). */
const struct dxgk_embed *dxgk_embed(void);

/*
 * What happens at exit(), now: everything is destroyed, drivers stop, a trace is complete. For who ends otherwise than by exit();
 * found with dlsym().
 */
void dxgk_end(void);

#endif
