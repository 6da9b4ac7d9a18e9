/* SPDX-License-Identifier: MIT */
/*
 * guest.h - further clients of the kernel in this program, each with a process object of its own:
 * what other programs would be, for tests. A thread makes its calls for one of them, or for the
 * program itself.
 */
#ifndef EMBED_GUEST_H
#define EMBED_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/machine_bank.h"
#include "base/status.h"
#include "object/owner/kernel.h"

struct guest;

/* `arena` as of process_create(). */
MUST_CHECK NTSTATUS guest_create(struct dxg_kernel *kernel, const struct process_identity *identity,
				 const struct process_arena *arena, struct guest **guest_out);

/*
 * One with an arena is treated as one in another process, though its arena is in this one: what its calls
 * are told to show is mapped there when they return. Before its first call.
 */
void guest_show_here(struct guest *guest);

/* Memory that comes along with this thread's next call of one with an arena. */
MUST_CHECK NTSTATUS guest_bring(uint64_t address, uint64_t size_bytes, int descriptor,
				uint64_t offset);

/* Told of each run of a view that is mapped; NULL: nobody is. */
void guest_watch_views(void (*watch)(void *address, unsigned long long page_count, int descriptor,
				     unsigned long long first_page));

void guest_get(struct guest *guest);
/* Accepts NULL. */
void guest_put(struct guest *guest);

/*
 * Handles that were drawn by the one before it, which has ended: what is left of those stays stale.
 * Before its first call.
 */
uint64_t guest_handles_drawn(const struct guest *guest);
void guest_continue(struct guest *guest, uint64_t handles_drawn);

/* Of its process; nothing when that has ended. */
struct machine_bank_usage guest_bank_usage(struct guest *guest);

/* Calls of this thread are made for it from now on; NULL: for the program. Returns who it was. */
struct guest *guest_enter(struct guest *guest);

/* For whom this thread makes calls; NULL: for the program. */
struct guest *guest_current(void);

/* "name[pid]", for people. */
const char *guest_name(const struct guest *guest);

/* A call of it begins: its process, or NULL, when that has ended. In both cases it ends, too. */
MUST_CHECK struct dxg_process *guest_go_in(struct guest *guest);
void guest_come_out(struct guest *guest);

/*
 * It has died: calls of it that wait are refused, and everything it had is destroyed when this
 * returns. Threads that are still in it are refused from then on.
 */
void guest_close(struct guest *guest);
/* The same, and its creator knows it no more. */
void guest_end(struct guest *guest);

/* Ends all that are left. No more can be made. */
void guests_end(void);

/*
 * Until they are opened again every call of a guest rests (object/owner/process.h), and no guest comes or
 * goes.
 */
void guests_close(void);
MUST_CHECK bool guests_close_until(uint64_t deadline_ns); /* false: one of them goes on too long */
void guests_open(void);

/* As one of their calls: they are not closed meanwhile. */
void guests_go_in(void);
void guests_come_out(void);

/* Who of them is in a call that does not rest, as far as there is room. A glance. */
void guests_name_busy(char *names, size_t size_bytes);

#endif
