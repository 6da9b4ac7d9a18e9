/* SPDX-License-Identifier: MIT */
/*
 * server.h - what the files of the server know of each other.
 *
 *	serve.c            start, the loop that watches sockets, end
 *	listener.c         the socket at its path, or systemd's
 *	newcomers.c        who connects while others of his user are on their way out
 *	session.c          one client: from its first message to the end of what it made
 *	session_port.c     events and callbacks of a client
 *	session_files.c    descriptors, both ways
 *	channel_worker.c   one thread of a client: its calls
 *	channel_reply.c    what becomes of them, on its way back
 *	channel_part.c     calls that are longer than a channel
 *	gang.c             which workers have a processor beside their client's
 *	control_session.c  dxgk ctl and its like
 *	complain.c         what is said about those who do wrong
 *	bank_watch.c       clients that write where they have nothing
 *
 * The loop's thread never waits for a client. A call of a client runs on a thread that is for one
 * thread of that client alone, so whatever a client does, others have theirs.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "base/refcount.h"
#include "embed/guest.h"
#include "object/owner/client_port.h"
#include "object/owner/kernel.h"
#include "server/serve.h"
#include "wire/channel.h"
#include "wire/message.h"

enum {
	SERVER_SESSIONS_MOST = 1024,
	SESSION_ARRIVED_MOST = 1024, /* descriptors that no call has taken yet */
	SESSION_ARRIVED_SPARE = 16,  /* of those, what needs no memory */
	SESSION_EVENTS_MOST = 4096,  /* that are open at once */
};

struct server {
	/* Set at start. */
	struct dxg_kernel kernel;
	bool has_group;
	gid_t group; /* who controls, besides the server's own user */
	int poll_file;
	int listener;

	/* Written by the loop, under the lock; it reads them without. */
	struct lock lock;     /* LOCK_RANK_SESSION */
	struct list sessions; /* session.link: those that are not over */
	uint32_t session_count;
	struct list
		endings;   /* session.link: those that are over, until all they had is given back */
	uint64_t last_end; /* session.end_number */
	uint32_t last_number; /* of sessions; the loop's */
	uint32_t owing_count; /* sessions that owe an answer; the loop's */

	/* Sessions and workers that are being ended, on threads of their own. */
	_Atomic uint32_t ending;
	struct notice ended;

	/* The loop's; others look whether there is one. */
	struct list newcomers; /* newcomer.link, in the order they came */
	_Atomic uint32_t newcomer_count;
	int newcomer_file;     /* an eventfd that wakes the loop */
	int spare_file;        /* given up to turn somebody away; -1: it is gone */
	uint64_t let_again_ns; /* the loop's: nobody can be let in until then; 0: he can */

	/* Somebody wants to know that those who have hung up are gone. */
	int settle_file; /* an eventfd that wakes the loop */
	_Atomic uint32_t settle_wished;
	_Atomic uint32_t settle_done;
};

/* A descriptor that came by message, for a call that names it. */
struct arrived {
	struct list link; /* session.arrived */
	uint32_t token;
	int descriptor;  /* -1: there was no quota for it, or no room in the server */
	bool is_counted; /* in the quota */
	uint64_t offset; /* of memory: where in the file, and how much of it */
	uint64_t size_bytes;
};

/* Set or closed while the client's socket is full: told when it is not. */
struct session_event {
	enum { EVENT_FREE, EVENT_CAME, EVENT_TAKEN, EVENT_CLOSING } state;
	uint32_t token;   /* the client's name for it */
	uint32_t unsaid;  /* how often it was set since the client was told */
	struct list link; /* session.unsaid_events */
};

struct session {
	struct client_port port;
	struct refcount refs; /* the loop's or the end's, workers, events, notifiers */
	struct server *server;
	struct list link;    /* server.sessions, then server.endings */
	uint64_t end_number; /* in the order they ended, of one that is over */
	uint32_t number;     /* not 0 */
	int socket;
	int process_file; /* a pidfd; -1: the host has none */
	uid_t user;
	bool is_controller;
	bool is_greeted;               /* the loop's: its HELLO has come */
	bool owes;                     /* the loop's: an answer that its socket had no room for */
	struct wire_message owed;      /* that one */
	int owed_descriptor;           /* with it; -1: none */
	bool is_control;               /* a thread of its own reads its socket */
	struct thread *control_thread; /* that one; its end is waited for at the session's */
	bool has_session_quota;
	struct process_identity identity;
	uint64_t arena_address;
	uint64_t arena_bytes;
	struct quota_ledger *ledger; /* of sessions, threads and descriptors; NULL: no limits */
	_Atomic bool is_over;

	struct lock lock;      /* LOCK_RANK_LEAF */
	struct notice changed; /* a descriptor came, a callback is over, or the end has come */

	/* Written under lock; whoever sees his own there needs none. */
	_Atomic(struct guest *) guest; /* NULL: its next call makes one */

	/* Guarded by lock. */
	bool is_making_guest;
	uint64_t handles_drawn; /* by the guests before it: theirs stay stale */
	struct list workers;    /* channel_worker.link */
	struct list arrived;    /* arrived.link */
	uint32_t arrived_count;
	struct arrived spare[SESSION_ARRIVED_SPARE];
	struct list spare_free; /* arrived.link */
	uint32_t last_told;     /* the last callback that is over */

	_Atomic uint32_t last_tell;

	/* Guarded by send_lock, which is held in a system call that does not wait. */
	struct lock send_lock;        /* LOCK_RANK_LEAF */
	struct session_event *events; /* SESSION_EVENTS_MOST; NULL before the first */
	struct list unsaid_events;    /* session_event.link */
	_Atomic uint32_t events_said; /* messages about them; read without the lock */
	uint32_t *files;              /* that the client has, in order */
	uint32_t file_count;
	uint32_t file_capacity;
	_Atomic uint64_t files_ended_seen; /* of client_file_ended_count() */
	uint32_t last_token;               /* of descriptors on their way to the client */
};

/* ---- serve.c ---- */

/* Waits until everything is gone of the clients that have hung up by now. For tests; not on the loop's
 * thread. */
void serve_settle(void);

/* ---- newcomers.c ---- */

/* Somebody has connected: a session begins, now or when those of his user that have gone by now are over. */
void newcomers_let_in(struct server *server, int socket);
/* On the loop's thread: whose wait is over is let in. */
void newcomers_look(struct server *server);
/* When the next one has waited long enough; CLOCK_FOREVER: nobody waits. */
uint64_t newcomers_deadline_ns(const struct server *server);
/* A session is over. From any thread. */
void newcomers_wake(struct server *server);
/* The server ends: they are told. */
void newcomers_turn_away(struct server *server);

/* ---- session.c ---- */

/* Of a connection that was accepted, whose descriptor is the session's from now on. */
void session_begin(struct server *server, int socket);
/* Not yet a client, or one that was built differently: it is told why it is none. */
void session_turn_away(int socket, NTSTATUS status, enum rule rule, const char *reason);
/* On the loop's thread: there is something to read, or to write, or the process has ended. */
void session_take(struct session *session, uint32_t events);
void session_process_ended(struct session *session);
/* What it hears before it is hung up on. From any thread. */
void session_say_goodbye(struct session *session, enum rule rule, const char *why);
/*
 * On the loop's thread, which does not wait: what the socket has no room for is said before anything more of this
 * client is read. Takes the descriptor, or -1.
 */
void session_answer(struct session *session, const struct wire_message *message, int descriptor);
/* Ends one that has done nothing wrong, after it was told why. */
void session_part(struct session *session, const char *why);
void session_get(struct session *session);
void session_put(struct session *session);

/* Its process object, with a reference; made when there is none. */
MUST_CHECK NTSTATUS session_guest(struct session *session, struct guest **guest_out);
/* The same, or NULL: none is made. */
struct guest *session_guest_if_any(struct session *session);
void session_close_process(struct session *session);

/* Why something was not to be had, in a message that has a place for it. */
void session_tell_refusal(struct wire_message *message, NTSTATUS status);

/* May its user control the kernel? */
bool session_may_control(const struct session *session);

/* ---- session_port.c ---- */

extern const struct client_port_services session_port_services;
/* An event that a request names; 0: it can have no more. Waits for the client to hear of those that are over. */
uint32_t session_event_came(struct session *session, uint32_t token);
/* The call is over: if nobody has taken it, it is closed. If somebody has, the place may be another event's by now. */
void session_event_leave(struct session *session, uint32_t event, uint32_t token);
/* The socket has room again, or is gone. */
void session_say_events(struct session *session);

/* What DXCore of the client listens to. */
struct wire_listen;
MUST_CHECK NTSTATUS session_watch(struct dxg_kernel *kernel, struct dxg_process *process,
				  const struct wire_listen *listen);
MUST_CHECK NTSTATUS session_unwatch(struct dxg_kernel *kernel, struct dxg_process *process,
				    const struct wire_listen *listen);

/* ---- session_files.c ---- */

/* From the loop, with its descriptor, or -1 where the server has no room. False: it has too many that no call wants. */
MUST_CHECK bool session_descriptor_came(struct session *session, const struct wire_message *message,
					int descriptor);
/* Waits until it is there. False: the session is over. The caller closes it. */
MUST_CHECK bool session_take_descriptor(struct session *session, uint32_t token,
					struct arrived *arrived_out);
void session_close_descriptors(struct session *session);
void session_spare_init(struct session *session);
/* Its token, 0: it could not be sent. The descriptor is closed in both cases. */
uint32_t session_send_descriptor(struct session *session, int descriptor);
/* A file that views are of, unless the client has it. */
MUST_CHECK bool session_send_file(struct session *session, uint32_t file);
/* Files that have ended since the last time: the client is told. */
void session_forget_files(struct session *session);

/* ---- channel_part.c ---- */

/* A request or a reply that is longer than a channel; zeroed is none. */
struct channel_part {
	unsigned char *bytes;
	uint64_t size_bytes;
	uint64_t capacity_bytes; /* counted in the quota */
};

MUST_CHECK NTSTATUS channel_part_append(struct session *session, struct channel_part *part,
					const unsigned char *bytes, uint64_t size_bytes);
/* So long from the beginning. False: there is no memory for it, or it is above the quota. */
MUST_CHECK bool channel_part_make(struct session *session, struct channel_part *part,
				  uint64_t size_bytes);
void channel_part_forget(struct session *session, struct channel_part *part);

/* ---- channel_worker.c ---- */

/* Makes a channel and the thread that serves it, and sends the file; or no file, where there can be no more. */
void channel_worker_begin(struct session *session, uint32_t number);
void channel_workers_wake(struct session *session);
void channel_workers_join(struct session *session);

/* ---- control_session.c ---- */

/* Takes the session over: its socket carries requests of dxgk ctl from now on. */
MUST_CHECK bool control_session_begin(struct session *session);

/* ---- bank_watch.c ---- */

MUST_CHECK NTSTATUS bank_watch_start(struct server *server);
/* Accepts that it was not started. */
void bank_watch_stop(void);

/* ---- complain.c ---- */

/* A line about a client, unless there were many in this second. From any thread. */
void complain(const char *format, ...) PRINTF_LIKE(1, 2);
/* How many were left out since; at the end. */
void complain_of_the_rest(void);

/* ---- listener.c ---- */

/* Returns the listening socket, or -1 after saying why. */
int listener_open(const struct dxgk_serve_options *options, struct server *server);
void listener_close(int listener);

/* ---- system_notify.c ---- */

/* Tells systemd, if it asked to be told. */
void system_notify(const char *state);

#endif
