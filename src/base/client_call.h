/* SPDX-License-Identifier: MIT */
/*
 * client_call.h - one call of a client that is in another process: what goes along with it.
 *
 *	in    memory of the client that the call is about: the file that it is in
 *	out   views: what the client has to show at which of its addresses
 *
 * The kernel maps nothing there. A call that hands out an address notes the view that it lies in, each
 * time: another thread of the client may have been told of it before and not have mapped it yet. Who
 * serves the client sends the views with the answer, and the client maps those whose stamp it does
 * not have, before it uses the answer.
 *
 * A call is one thread's; nothing here has a lock. Without one (the client is in this process) all of
 * it costs a look at a pointer.
 */
#ifndef BASE_CLIENT_CALL_H
#define BASE_CLIENT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/client_file.h"
#include "base/status.h"

/* In this order: who was shown more keeps it. */
enum client_view_kind {
	CLIENT_VIEW_VALUES, /* values of fences, to read */
	CLIENT_VIEW_READ,   /* memory, to read */
	CLIENT_VIEW_WRITTEN,
};

/* One stretch of addresses of a client, and what it must show there before an address in it is any good. */
struct client_view {
	uint64_t address;
	uint64_t page_count;
	uint64_t stamp; /* of no other view, and another one whenever what is shown changes */
	enum client_view_kind kind;
	uint32_t first_run; /* client_call.runs */
	uint32_t run_count;
};

/* Pages of a shown file. */
struct client_view_run {
	uint32_t file;
	uint64_t first_page;
	uint64_t page_count;
};

struct client_brought {
	uint64_t address;
	uint64_t size_bytes;
	int descriptor;
	uint64_t offset;
};

struct client_call {
	struct client_view *views;
	struct client_view_run *runs; /* those behind the last view's belong to none yet */
	uint32_t view_count;
	uint32_t run_count;
	uint64_t
		word; /* in a view: what the client asks for most about what the call made; 0: none */

	/* Tells the client that it has succeeded; NULL: that is done when the call is over. */
	void (*settle)(struct client_call *call);

	/* Its own. */
	struct client_brought *brought;
	struct client_file **files; /* of the runs; held until the end */
	uint32_t brought_count;
	uint32_t file_count;
	size_t view_capacity;
	size_t run_capacity;
	size_t brought_capacity;
	size_t file_capacity;
};

/* This thread's calls note there what they show. `call` is zeroed; one call has one. */
void client_call_begin(struct client_call *call);
void client_call_end(void);
/* Forgets what was noted, and puts the files. Accepts a zeroed one. */
void client_call_finish(struct client_call *call);

/*
 * Memory of the client that goes along with the call (ExistingSysMem): its address there, and the file
 * it is in. The descriptor stays the caller's, and is good until the call has ended.
 */
MUST_CHECK NTSTATUS client_call_bring(struct client_call *call, uint64_t address,
				      uint64_t size_bytes, int descriptor, uint64_t offset);

/* ---- for the kernel ---- */

/* The call that is under way, or NULL. */
struct client_call *client_call_current(void);

/* What was brought that has all of it, or NULL. */
const struct client_brought *client_call_brought(uint64_t address, uint64_t size_bytes);

/*
 * Pages of the view that is noted next, in order. STATUS_NO_MEMORY, not refused: those of that view are
 * forgotten.
 */
MUST_CHECK NTSTATUS client_call_add_run(struct client_file *file, uint64_t first_page,
					uint64_t page_count);

/* The view itself, with the runs that were added since the last one; they are as long as it is. */
MUST_CHECK NTSTATUS client_call_add_view(uint64_t address, uint64_t stamp,
					 enum client_view_kind kind);

/* The client maps this file before the call returns, without being shown any of it yet. */
MUST_CHECK NTSTATUS client_call_add_file(struct client_file *file);

/*
 * The call succeeds, has no results, and what is left of it nobody waits for: its client goes on now. Once in a call,
 * with no lock held, and where client_call_can_settle().
 */
bool client_call_can_settle(void);
void client_call_settle(void);

/* A stamp that no view has. */
uint64_t client_call_stamp(void);

#endif
