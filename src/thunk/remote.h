/* SPDX-License-Identifier: MIT */
/*
 * remote.h - the kernel in another process: the server that DXGK_SOCKET names.
 *
 *	remote.c          calls: from a client's struct into a channel, and back
 *	remote_known.c    calls that need no answer of the server's
 *	remote_link.c     the connection: what comes over the socket, and its end
 *	remote_view.c     what the server shows, at addresses of this process
 *	remote_memory.c   what this process shows the server: its own memory
 *	remote_listen.c   DXCore's listeners, and other callbacks
 *
 * One connection for the process, opened by its first call. When the server goes, every call that waits
 * returns, fences read their last value, what is locked stays readable; until D3DKMTCloseDxCoreDevice the
 * process stays without it, because handles of another server's would mean something else.
 */
#ifndef THUNK_REMOTE_H
#define THUNK_REMOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "base/own_fd.h"
#include "base/thread.h"
#include "wire/channel.h"
#include "wire/embed.h"
#include "wire/message.h"
#include "wire/request.h"
#include "wire/server_link.h"
#include "wire/travel.h"

/* The table of connection.h, once the server at `path` has said welcome. NULL after a refusal. */
const struct dxgk_embed *remote_connect(const char *path, NTSTATUS *status_out);

/* ---- remote_link.c ---- */

enum {
	REMOTE_SENT_MOST = 64,    /* with one call; the server takes no more */
	REMOTE_DRAFT_BYTES = 512, /* more than most requests have */
};

/* A channel, of one thread at a time. */
struct remote_channel {
	struct list link; /* remote.free_channels */
	struct list all_link;
	struct channel channel;
	struct travel_hooks hooks;
	uint32_t generation; /* of the connection it belongs to */

	/*
	 * Where a request is made. The server looks at the channel's memory all the time: what is written
	 * there bit by bit goes from one processor to the other and back with each bit.
	 */
	_Alignas(TRAVEL_ALIGN_BYTES) unsigned char draft[REMOTE_DRAFT_BYTES];

	/* What went along with the request that is being written: written again, it goes once. */
	struct remote_sent {
		enum travel_thing thing;
		uintptr_t value;
		uint64_t token;
	} sent[REMOTE_SENT_MOST];
	uint32_t sent_count;
	uint32_t sent_again;   /* those of them that the second writing has come to */
	bool lacks_descriptor; /* this program has as many as it may: the call is refused */
};

/* Another thread of the program may be quicker to take the number that a file was to have. */
enum { REMOTE_SLOTS = 4 };

/* What came by message, and could not be laid down: who waits for it waits no more. */
enum { REMOTE_MISSED_KEPT = 64 };
struct remote_missed {
	enum wire_kind kind;
	uint32_t number;
};

struct remote {
	struct own_fd socket;
	/* Each given up for a file that has no number: of who has as many descriptors as it may. Guarded by lock. */
	struct own_fd slots[REMOTE_SLOTS];
	_Atomic bool is_over;          /* nothing can be asked any more, and `reason` says why */
	_Atomic bool is_forked;        /* this is a child of the process that connected */
	_Atomic uint32_t generation;   /* of the connection, from 1; another one when it is over */
	_Atomic uint32_t events_heard; /* messages about events */

	struct lock lock;      /* LOCK_RANK_SESSION */
	struct notice changed; /* something arrived, or it is over */

	/* Guarded by lock. */
	char path[SERVER_PATH_BYTES];
	char reason[WIRE_TEXT_BYTES];
	bool reason_is_quota;
	char no_channel[WIRE_TEXT_BYTES]; /* why the server did not give one, the last time */
	bool is_over_quota;               /* … and whether that is a quota's doing */
	bool is_changing;                 /* a thread begins the connection, or is at its end */
	uint32_t session;                 /* what the server calls it */
	uint32_t replaced; /* the session that it does not know to be over; 0: there is none */
	struct list free_channels;
	uint32_t free_count;
	struct list channels; /* all of them */
	struct list arrived;  /* what came by message and nobody has taken */
	struct remote_missed missed[REMOTE_MISSED_KEPT]; /* the last ones */
	uint32_t missed_count;
	struct list events;   /* of ours, that the server may set */
	uint32_t last_number; /* of channels, descriptors and events */
};

extern struct remote remote;

/* Connects, or connects again after the process was closed. */
MUST_CHECK NTSTATUS remote_open(void);
/* Has the program closed the descriptor of the connection? Then that is over when this returns. */
bool remote_is_cut_off(void);
/* A channel for this thread, or NULL when it is over or there is none to be had. */
struct remote_channel *remote_channel_take(void);
/* False: there are enough that nobody uses. It is the caller's to end, and to free. */
MUST_CHECK bool remote_channel_give(struct remote_channel *channel);
void remote_channel_free(struct remote_channel *channel);

/* Sends it, however long that takes. */
MUST_CHECK bool remote_send(const struct wire_message *message, int descriptor);
/* One that came with this number. -1: it will not, with EMFILE where this program had no room. */
int remote_await_descriptor(uint32_t number);
uint32_t remote_next_number(void);
/* Events that were set before a reply was sent are set when its call returns. */
void remote_await_events(uint32_t count);
/* An eventfd of the program's is the server's to set, by this number. 0: it is none, or as errno says. */
uint32_t remote_event_lend(uintptr_t handle);

/* ---- remote_known.c ---- */

/* What the word of a device that is active holds (wire_reply.word). */
#define REMOTE_WORD_ACTIVE UINT64_C(1)

/* True: the call is answered, and was successful. */
bool remote_known_answer(uint32_t id, void *arguments);
/* Around every call that the server is asked: it may end something, or has made it. */
void remote_known_end(uint32_t id, const void *arguments);
void remote_known_made(uint32_t id, const void *arguments, uint64_t word);
void remote_known_forget_all(void);

/* ---- remote_view.c ---- */

/* Addresses of the process that are the server's to use. False: there are none. */
MUST_CHECK bool remote_arena_reserve(uint64_t *address_out, uint64_t *size_bytes_out);
void remote_file_came(uint32_t number, int descriptor, uint64_t size_bytes);
void remote_file_gone(uint32_t number);
/*
 * Shows what a reply says, or nothing of it can be used. STATUS_DEVICE_REMOVED, and no refusal: the server has gone.
 */
MUST_CHECK NTSTATUS remote_views_show(const struct wire_view *views, uint32_t count,
				      const struct wire_run *runs);
/* The server has gone: fences read all ones. */
void remote_views_end(void);
/* A new connection: nothing that the one before showed is known. */
void remote_views_forget(void);

/* ---- remote_memory.c ---- */

/*
 * Memory of the program, made memory of a file in its place. Returns the descriptor, which the caller
 * does not close, and where in the file it begins; -1: it cannot be.
 */
int remote_memory_share(uintptr_t address, uint64_t *size_bytes, uint64_t *offset_out);

/* ---- remote_listen.c ---- */

NTSTATUS remote_listen(struct dxgk_embed_listener *listener, const uint64_t *luids, uint32_t count);
void remote_unlisten(struct dxgk_embed_listener *listener);
/* From the connection's thread: a callback is due. */
void remote_tell(const struct wire_message *message);
/* Nobody tells anything any more: the process was closed, or its server has gone. */
void remote_listeners_end(bool is_lost);
/* Is the calling thread inside a callback? */
bool remote_is_in_callback(void);

/* ---- remote.c ---- */

/* A service of the server (wire/request.h). */
MUST_CHECK NTSTATUS remote_serve(uint32_t service, const char *name, const void *body,
				 uint64_t size_bytes);

#endif
