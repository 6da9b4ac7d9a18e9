/* SPDX-License-Identifier: MIT */
/*
 * world.h - what a script has made in the kernel so far, and what one statement does to it.
 *
 * A name stands for one thing, which is made and destroyed as the statements say. Its handle stays
 * known after its end: calls with a name that is gone are something to try. Branches of a parallel
 * block share the world; what two of them may touch at once is atomic, the rest is kept apart when
 * the script is read (reader_names.c).
 */
#ifndef CLI_RUN_WORLD_H
#define CLI_RUN_WORLD_H

#include <stdatomic.h>

#include <dxg/d3dkmthk.h>

#include "cli/run/exerciser.h"
#include "cli/run/hooks.h"
#include "cli/run/script.h"

/* Command buffers of a context: used in turn, each again when the GPU has done with it. */
enum { RING_SLOTS = 16 };

struct ring {
	D3DKMT_HANDLE buffer; /* 0: nobody knows what to write into it */
	uint32_t slot_bytes;
	uint64_t address;
	unsigned char *bytes;
	D3DKMT_HANDLE fence; /* reaches n when the n-th submission is over */
	uint64_t submitted;
	uint64_t paging_value; /* what the context has been told to wait for */
};

struct thing {
	_Atomic bool is_there;
	_Atomic bool is_left_out;     /* it could not be made for want of an exerciser */
	_Atomic D3DKMT_HANDLE handle; /* device, context, allocation, fence */

	/* Of a client. */
	D3DKMT_HANDLE paging_queue;
	D3DKMT_HANDLE paging_fence;
	_Atomic uint64_t paging_value; /* when everything asked for has happened */
	_Atomic bool has_gaps;         /* work of it was left out: what it leads to is not known */

	/* Of a context. */
	struct ring ring;

	/* Of a fence that other processes may open: what keeps its name. 0: none. */
	int shared_as;

	/* Of an allocation: 0 where it is not mapped. */
	_Atomic uint64_t address;
	_Atomic bool is_unknown;      /* what is in it: who should have written it was left out */
	_Atomic bool is_out_of_reach; /* for commands (tolerate.c) */
	_Atomic uint64_t writers;     /* clients whose commands wrote to it (tolerate.c) */
};

struct world {
	const struct script *script;
	struct exerciser exerciser;
	bool is_soft; /* the adapter is the software GPU, and its exerciser the built-in one */
	struct hooks hooks;
	bool is_simulated; /* one seed says who runs, threads of the script among them */
	D3DKMT_HANDLE adapter;
	struct thing *things; /* by name */
	bool is_shared;       /* … in memory that processes see, each the world of one client */
	_Atomic uint64_t calls;
};

/* What came of a statement. */
struct outcome {
	NTSTATUS status;
	bool is_wrong;    /* the kernel took it, and what it led to is not what the script says */
	bool is_shown;    /* the script asks for it to be seen */
	bool is_left_out; /* it was not tried, and the note says why */
	bool has_wrong_bytes; /* likewise, in memory */
	char note[192];       /* what is worth saying; may be empty */
};

/* Counts a call. */
#define CALL(world, call) (atomic_fetch_add(&(world)->calls, 1), (call))

static inline struct thing *world_thing(struct world *world, uint32_t name)
{
	return &world->things[name];
}

static inline struct thing *world_client_of(struct world *world, uint32_t name)
{
	return &world->things[world->script->names[name].client];
}

/*
 * Opens the first adapter, and takes the exerciser in that file, none ("none"), or the built-in one for the software GPU
 * (NULL); says why not on standard error. `things` NULL: of its own.
 */
MUST_CHECK bool world_open(struct world *world, const struct script *script, struct thing *things,
			   const char *exerciser);
/* For several processes: before they are made. NULL with errno. */
struct thing *world_make_shared_things(const struct script *script);
/* Destroys what the script left, which waits for the GPU. */
void world_destroy_all(struct world *world);
void world_close(struct world *world);

void outcome_note(struct outcome *outcome, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same, and the statement is left out. */
void outcome_leave_out(struct outcome *outcome, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- things (world.c) ---- */

void world_do_create(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome);
NTSTATUS world_destroy(struct world *world, uint32_t name);

/* ---- memory (memory.c) ---- */

/* `wishes` are DXGK_EXERCISER_*. */
NTSTATUS memory_create(struct world *world, const struct thing *client, uint64_t size_bytes,
		       uint32_t wishes, D3DKMT_HANDLE *handle_out);
NTSTATUS memory_destroy(struct world *world, const struct thing *client, D3DKMT_HANDLE handle);
NTSTATUS memory_lock(struct world *world, const struct thing *client, D3DKMT_HANDLE handle,
		     unsigned char **bytes_out);
NTSTATUS memory_unlock(struct world *world, const struct thing *client, D3DKMT_HANDLE handle);
NTSTATUS memory_map(struct world *world, struct thing *client, D3DKMT_HANDLE handle,
		    uint64_t size_bytes, uint64_t at, bool is_read_only, uint64_t *address_out);
NTSTATUS memory_make_resident(struct world *world, struct thing *client,
			      const D3DKMT_HANDLE *handles, uint32_t count, uint32_t flags,
			      uint64_t *trim_out);

/* Waits until an evicted allocation has left; what it says is wrong when it stays. */
void memory_wait_gone(struct world *world, uint32_t name, struct outcome *outcome);

void memory_do_map(struct world *world, const struct script_statement *statement,
		   struct outcome *outcome);
void memory_do_unmap(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome);
void memory_do_resident(struct world *world, const struct script_statement *statement,
			struct outcome *outcome);
void memory_do_evict(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome);
void memory_do_offer(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome);
void memory_do_reclaim(struct world *world, const struct script_statement *statement,
		       struct outcome *outcome);
void memory_do_where(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome);
void memory_do_write(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome);
void memory_do_check(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome);

/* ---- queues (queue.c) ---- */

NTSTATUS queue_create_fence(struct world *world, const struct thing *client, uint64_t value,
			    bool is_shared, D3DKMT_HANDLE *fence_out);
/* The fence of another client, by the handle of one process that both are in, or by a name between two. */
NTSTATUS queue_open_fence(struct world *world, const struct thing *client, uint32_t shared,
			  D3DKMT_HANDLE *fence_out);
/* Gives it that name, and takes it away; for clients that are processes. */
NTSTATUS queue_name_fence(struct world *world, uint32_t name, D3DKMT_HANDLE fence);
void queue_forget_name(struct world *world, uint32_t name);
NTSTATUS queue_wait_cpu(struct world *world, const struct thing *client, D3DKMT_HANDLE fence,
			UINT64 value);
NTSTATUS queue_wait_gpu(struct world *world, const struct thing *context, D3DKMT_HANDLE fence,
			UINT64 value);
NTSTATUS queue_signal_gpu(struct world *world, const struct thing *context, D3DKMT_HANDLE fence,
			  UINT64 value);
NTSTATUS queue_wait_paging(struct world *world, struct thing *client);
/* Its device is not lost. */
bool queue_is_active(struct world *world, const struct thing *client);

void queue_do_priority(struct world *world, const struct script_statement *statement,
		       struct outcome *outcome);
void queue_do_signal(struct world *world, const struct script_statement *statement,
		     struct outcome *outcome);
void queue_do_wait(struct world *world, const struct script_statement *statement,
		   struct outcome *outcome);
void queue_do_state(struct world *world, const struct script_statement *statement,
		    struct outcome *outcome);

/* ---- submissions (submit.c) ---- */

/* Where an allocation is mapped; what is not is at its offset from 0, where nothing ever is. */
uint64_t submit_address_of(struct world *world, const struct script_place *place);

void submit_do(struct world *world, const struct script_statement *statement,
	       struct outcome *outcome);

#endif
