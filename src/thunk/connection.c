/* SPDX-License-Identifier: MIT */
/*
 * connection.c - see connection.h.
 *
 * The kernel is a library of its own, loaded here when the first call is made: drivers link to it,
 * so it cannot hide inside this one. It is looked for beside this library first (run path), then
 * where the loader looks for libraries.
 *
 * No lock: loading it twice finds the same library, and the table it hands out is constant.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/refusal.h"
#include "thunk/connection.h"
#include "thunk/loopback.h"
#include "thunk/remote.h"
#include "wire/call.h"
#include "wire/server_link.h"

_Atomic(const struct dxgk_ways *) connection_ways;
static _Atomic(const struct dxgk_embed *) connection_kernel;

/* NULL after a refusal, whose status is in *status_out. */
static const struct dxgk_embed *load_kernel(NTSTATUS *status_out)
{
	const struct dxgk_embed *(*enter)(void);
	const char *socket = getenv("DXGK_SOCKET");
	char path[SERVER_PATH_BYTES];           /* little of a small stack */
	const char *wire = getenv("DXGK_WIRE"); /* for tests */

	if (server_link_choose(socket, path, sizeof(path)) == SERVER_AT_PATH) {
		const struct dxgk_embed *server = remote_connect(path, status_out);

		if (server)
			atomic_store_explicit(&connection_kernel, server, memory_order_release);
		return server;
	}
	/* Never unloaded: its threads and the drivers' would not survive that. */
	void *library = dlopen("libdxgk.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!library) {
		*status_out = refuse(STATUS_UNSUCCESSFUL, RULE_SYS_LIBRARY, NULL,
				     "the kernel library cannot be loaded: %s", dlerror());
		return NULL;
	}
	*(void **)&enter = dlsym(library, "dxgk_embed");
	const struct dxgk_embed *found = enter ? enter() : NULL;
	if (!found || found->version != DXGK_EMBED_VERSION || found->call_count != CALL_COUNT) {
		*status_out = refuse(STATUS_UNSUCCESSFUL, RULE_SYS_LIBRARY, NULL,
				     "libdxgk.so.0 and libdxcore.so are not of the same build");
		return NULL;
	}
	if (wire && strcmp(wire, "loopback") == 0)
		found = loopback_around(found);
	atomic_store_explicit(&connection_kernel, found, memory_order_release);
	atomic_store_explicit(&connection_ways, found->ways, memory_order_release);
	return found;
}

RARE static NTSTATUS call_first(uint32_t id, void *arguments)
{
	NTSTATUS status = STATUS_UNSUCCESSFUL;
	struct refusal_scope scope;
	int before = cancel_hold_off();

	refusal_begin(&scope, call_describe(id)->name);
	const struct dxgk_embed *found = load_kernel(&status);
	refusal_end_call(&scope, found ? STATUS_SUCCESS : status);
	cancel_give_back(before);
	return found ? found->call(id, arguments) : status;
}

NTSTATUS connection_call_otherwise(uint32_t id, void *arguments)
{
	const struct dxgk_embed *found =
		atomic_load_explicit(&connection_kernel, memory_order_acquire);

	return LIKELY(found != NULL) ? found->call(id, arguments) : call_first(id, arguments);
}

bool connection_last_refusal(struct dxgk_refusal *refusal)
{
	const struct dxgk_embed *found =
		atomic_load_explicit(&connection_kernel, memory_order_acquire);

	return found ? found->last_refusal(refusal) : refusal_last(refusal);
}

/* Who listens has made a call before, to learn of the adapter. */
NTSTATUS connection_listen(struct dxgk_embed_listener *listener, const uint64_t *luids,
			   uint32_t count)
{
	const struct dxgk_embed *found =
		atomic_load_explicit(&connection_kernel, memory_order_acquire);

	return found ? found->listen(listener, luids, count) : STATUS_DEVICE_REMOVED;
}

void connection_unlisten(struct dxgk_embed_listener *listener)
{
	const struct dxgk_embed *found =
		atomic_load_explicit(&connection_kernel, memory_order_acquire);

	if (found)
		found->unlisten(listener);
}

void connection_close(void)
{
	const struct dxgk_embed *found =
		atomic_load_explicit(&connection_kernel, memory_order_acquire);

	if (found)
		found->close_process();
}
