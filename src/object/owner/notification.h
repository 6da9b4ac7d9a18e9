/* SPDX-License-Identifier: MIT */
/*
 * notification.h - what a client wants to be told: that it is to trim, what its budget is, that an
 * adapter is lost.
 *
 *	memory manager ──news──▶ posted to every registration of the process on that adapter
 *	                              │
 *	                         the process's own thread ──no lock held──▶ the client's callback
 *
 * One thread for each process that has registrations, so two callbacks never run at once. News that
 * come while a callback runs are told as one afterwards, with the numbers of that moment: who has
 * trimmed enough meanwhile is not told again.
 *
 * Unregistering waits for a callback that runs, unless the callback itself does it: afterwards its
 * code may be unloaded. The end of a process waits for none, because a callback may wait for the
 * end; the thread then goes by itself.
 */
#ifndef OBJECT_OWNER_NOTIFICATION_H
#define OBJECT_OWNER_NOTIFICATION_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "vidmm/manager.h"

struct client_port;
struct dxg_device;
struct dxg_process;
struct notifier;
struct process_adapter;

enum notification_kind {
	/* Of a device. */
	NOTIFICATION_TRIM,
	NOTIFICATION_BUDGET, /* names no group; what a client can do without a loss is the local one */
	/* Of adapters: notification_watch(). */
	NOTIFICATION_ANY_BUDGET, /* at first, and when that of a group changed */
	NOTIFICATION_LOSS,       /* once: the adapter is lost, or was before */
	NOTIFICATION_AT_FIRST,   /* once, whatever happens */
};

enum { NOTIFICATION_MOST = 4096 }; /* of one process */

/* What a callback is told. */
struct notification_message {
	void *context;
	uint32_t trim_flags;      /* as vidmm_listener.trim() */
	uint64_t bytes_to_trim;   /* with VIDMM_TRIM_TO_BUDGET, else 0 */
	uint64_t budget_bytes;    /* of the local group */
	struct client_port *port; /* NULL: the callback is in this process */
};

struct notification_target {
	enum notification_kind kind;
	/* On a thread of ours, no lock held; `callback` is the client's, and only it knows it. */
	void (*deliver)(void (*callback)(void), const struct notification_message *message);
	void (*callback)(void);
	void *context;
	/* NULL, or called for each registration when nothing is delivered to it any more. */
	void (*release)(void *context);
};

/* Recounts what the process has registered. NULL, or what is wrong. */
const char *notifier_validate(struct dxg_process *process);

/* `*token_out` is above 0 and never used again. */
MUST_CHECK NTSTATUS notification_register(struct dxg_device *device,
					  const struct notification_target *target,
					  uint64_t *token_out);

/* Refused when there is none. */
MUST_CHECK NTSTATUS notification_unregister(struct dxg_process *process,
					    enum notification_kind kind, uint64_t token);

/* All that have this callback, be it none. */
MUST_CHECK NTSTATUS notification_unregister_callback(struct dxg_process *process,
						     enum notification_kind kind,
						     void (*callback)(void));

/*
 * Of adapters that the process has joined, in one step: none of them is told before all are there.
 * `target.context` names the registrations, and nothing else has the same.
 */
MUST_CHECK NTSTATUS notification_watch(struct dxg_process *process,
				       struct process_adapter *const *process_adapters,
				       uint32_t count, const struct notification_target *target);

/* Waits as notification_unregister() does. */
MUST_CHECK NTSTATUS notification_unwatch(struct dxg_process *process, const void *context);

/* Its registrations hear nothing any more; their tokens stay until they are unregistered. */
void notification_device_ends(struct dxg_device *device);

/* From the memory manager. */
void notification_post_trim(struct vidmm_process *memory, uint32_t flags);
void notification_post_budget(struct vidmm_process *memory, enum vidmm_group group);
void notification_post_loss(struct vidmm_process *memory);

/* The process ends: no callback begins any more, and who waits for one is refused. */
void notifier_stop(struct dxg_process *process);
/* … and nothing posts any more. Accepts a process that never had any. */
void notifier_finish(struct dxg_process *process);

#endif
