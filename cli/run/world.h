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
	D3DKMT_HANDLE buffer; /* 0: nobody knows what to write into it, or it has lists */
	uint32_t slot_bytes;
	uint64_t address;
	unsigned char *bytes;
	D3DKMT_HANDLE fence; /* reaches n when the n-th submission is over */
	uint64_t submitted;
	uint64_t signed_value; /* what the fence will reach */
	uint64_t paging_value; /* what the context has been told to wait for */

	unsigned char
		*proofs; /* memory that its packets prove themselves by (proof.c); NULL: none */
	uint64_t proof_address;
};

/* What a context with allocation lists is to be given next. */
struct lists {
	void *commands;
	uint32_t command_bytes;
	D3DDDI_ALLOCATIONLIST *allocations;
	uint32_t allocation_capacity;
	D3DDDI_PATCHLOCATIONLIST *patches;
	uint32_t patch_capacity;
};

struct thing {
	_Atomic bool is_there;
	_Atomic bool is_left_out;     /* it could not be made, and it was not expected to be */
	_Atomic D3DKMT_HANDLE handle; /* device, context, hardware queue, allocation, fence */

	/* Of a client. */
	struct dxgk_test_process *process; /* NULL: the program's own */
	D3DKMT_HANDLE adapter;             /* as that process has it open */
	D3DKMT_HANDLE paging_queue;
	D3DKMT_HANDLE paging_fence;
	_Atomic uint64_t paging_value; /* when everything asked for has happened */
	_Atomic bool has_gaps;         /* work of it was left out: what it leads to is not known */
	_Atomic bool is_killed;        /* what others do with it is left out */
	_Atomic uint32_t touches;      /* statements that read or write its memory now */

	/* Of a context, or a hardware queue. */
	struct ring ring;
	struct lists lists;
	D3DKMT_HANDLE hw_context;

	/* Of a fence or an allocation that other processes may open: what keeps its name. 0: none. */
	int shared_as;

	/* Of an allocation. */
	D3DKMT_HANDLE resource;   /* 0: it is in none */
	D3DKMT_HANDLE twins[2];   /* made in the same call, and ended in one; 0: there are none */
	void *heap;               /* of a standard one: the client's own memory */
	_Atomic uint64_t address; /* 0 where it is not mapped */
	_Atomic bool is_unknown;  /* what is in it: who should have written it was left out */
	_Atomic bool is_out_of_reach; /* for commands (tolerate.c) */
	_Atomic uint64_t writers;     /* clients whose commands wrote to it (tolerate.c) */
};

struct world {
	const struct script *script;
	struct exerciser exerciser;
	bool is_soft; /* the adapter is the software GPU, and its exerciser the built-in one */
	struct hooks hooks;
	bool is_simulated; /* one seed says who runs, threads of the script among them */
	bool proves_work;  /* packets show that they have run (proof.c) */
	D3DKMT_HANDLE adapter;
	LUID luid;
	_Atomic bool is_asleep; /* the adapter is in D3 */
	struct thing *things;   /* by name */
	bool is_shared;         /* … in memory that processes see, each the world of one client */
	_Atomic uint64_t calls;
};

/* What came of a statement. */
struct outcome {
	NTSTATUS status;
	bool is_wrong; /* the kernel took it, and what it led to is not what the script says */
	bool has_wrong_bytes; /* likewise, in memory */
	bool is_shown;        /* the script asks for it to be seen */
	bool is_left_out;     /* it was not tried, and the note says why */
	char note[192];       /* what is worth saying; may be empty */
};

typedef void statement_action(struct world *world, const struct script_statement *statement,
			      struct outcome *outcome);

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

/* Lets time go by, virtual time in a seeded run. */
void world_sleep(struct world *world, uint64_t nanoseconds);

void outcome_note(struct outcome *outcome, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same, and the statement is left out. */
void outcome_leave_out(struct outcome *outcome, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- things (world.c) ---- */

statement_action world_do_create;
NTSTATUS world_destroy(struct world *world, uint32_t name);

/* ---- clients (clients.c) ---- */

NTSTATUS world_create_client(struct world *world, const struct script_statement *statement);
NTSTATUS world_destroy_client(struct world *world, uint32_t name);
statement_action client_do_kill;
/* Its process goes, if it has one of its own; nobody is inside, and its device is gone. */
void client_end_process(struct world *world, uint32_t name);

/* Calls of this thread are those of that client's process until it leaves; `client` SCRIPT_NO_NAME: the program's own. */
struct dxgk_test_process *client_enter(struct world *world, uint32_t client);
void client_leave(struct world *world, struct dxgk_test_process *before);

/* Around what reads or writes its memory. False: it was killed, and the memory may be gone. */
MUST_CHECK bool client_touch(struct thing *client);
void client_touch_end(struct thing *client);

static inline D3DKMT_HANDLE client_adapter(const struct world *world, const struct thing *client)
{
	return client->adapter ? client->adapter : world->adapter;
}

/* ---- contexts and hardware queues (contexts.c) ---- */

NTSTATUS context_create(struct world *world, const struct script_statement *statement);
NTSTATUS context_create_hw_queue(struct world *world, const struct script_statement *statement);
NTSTATUS context_destroy(struct world *world, uint32_t name);

/* ---- allocations (allocations.c) ---- */

NTSTATUS allocation_create(struct world *world, const struct script_statement *statement);
NTSTATUS allocation_create_standard(struct world *world, const struct script_statement *statement);
NTSTATUS allocation_open(struct world *world, const struct script_statement *statement);
NTSTATUS allocation_destroy(struct world *world, uint32_t name);
/* What was with the client, when the kernel has nothing of it any more. */
void allocation_forget(struct thing *allocation);
/* DXGK_EXERCISER_* that these options stand for. */
uint32_t allocation_wishes(uint32_t options);

/* ---- memory (memory.c) ---- */

/* `wishes` are DXGK_EXERCISER_*. */
NTSTATUS memory_create(struct world *world, const struct thing *client, uint64_t size_bytes,
		       uint32_t wishes, D3DKMT_HANDLE *handle_out);
NTSTATUS memory_destroy(struct world *world, const struct thing *client, D3DKMT_HANDLE handle);
NTSTATUS memory_lock(struct world *world, const struct thing *client, D3DKMT_HANDLE handle,
		     unsigned char **bytes_out);
NTSTATUS memory_unlock(struct world *world, const struct thing *client, D3DKMT_HANDLE handle);
/* A part of an allocation, or all of it. */
struct memory_part {
	D3DKMT_HANDLE allocation;
	uint64_t offset_bytes; /* whole pages */
	uint64_t size_bytes;
	uint64_t at; /* where it is wanted; 0: anywhere */
	bool is_read_only;
};
NTSTATUS memory_map(struct world *world, struct thing *client, const struct memory_part *part,
		    uint64_t *address_out);
NTSTATUS memory_make_resident(struct world *world, struct thing *client,
			      const D3DKMT_HANDLE *handles, uint32_t count, uint32_t flags,
			      uint64_t *trim_out);

/* Waits until an evicted allocation has left; what it says is wrong when it stays. */
void memory_wait_gone(struct world *world, uint32_t name, struct outcome *outcome);

statement_action memory_do_map;
statement_action memory_do_unmap;
statement_action memory_do_resident;
statement_action memory_do_evict;
statement_action memory_do_offer;
statement_action memory_do_reclaim;
statement_action memory_do_where;
statement_action memory_do_write;
statement_action memory_do_check;
statement_action memory_do_lock;
statement_action memory_do_unlock;

/* ---- what clients share (share.c) ---- */

/* A fence, or a resource, gets a name, which clients that are processes find it by; and loses it. */
NTSTATUS share_name(struct world *world, uint32_t name, D3DKMT_HANDLE object);
void share_forget_name(struct world *world, uint32_t name);

/* An NT handle of a fence or an allocation of another client; closed by the caller. */
NTSTATUS share_find(struct world *world, uint32_t name, HANDLE *handle_out);

/* ---- queues (queue.c) ---- */

NTSTATUS queue_create_fence(struct world *world, const struct thing *client, uint64_t value,
			    bool is_shared, D3DKMT_HANDLE *fence_out);
NTSTATUS queue_open_fence(struct world *world, const struct thing *client, uint32_t shared,
			  D3DKMT_HANDLE *fence_out);
NTSTATUS queue_destroy_fence(struct world *world, D3DKMT_HANDLE fence);
NTSTATUS queue_wait_cpu(struct world *world, const struct thing *client, D3DKMT_HANDLE fence,
			UINT64 value);
/* In the queue of a context or of a hardware queue. */
NTSTATUS queue_wait_gpu(struct world *world, const struct thing *context, D3DKMT_HANDLE fence,
			UINT64 value);
NTSTATUS queue_signal_gpu(struct world *world, const struct thing *context, D3DKMT_HANDLE fence,
			  UINT64 value);
NTSTATUS queue_wait_paging(struct world *world, struct thing *client);
/* Its device is not lost. */
bool queue_is_active(struct world *world, const struct thing *client);

statement_action queue_do_priority;
statement_action queue_do_signal;
statement_action queue_do_wait;
statement_action queue_do_state;

/* ---- submissions (submit.c) ---- */

/* Where an allocation is mapped; what is not is at its offset from 0, where nothing ever is. */
uint64_t submit_address_of(struct world *world, const struct script_address *address);

/* What a submission writes is not known from now on, and not how its client fares. */
void submit_leave_gap(struct world *world, const struct script_statement *statement);

statement_action submit_do;

/* The same, and what was written for it is changed before it is handed over; where nothing was, there is an empty buffer. */
struct submit_change {
	void (*change)(void *context, unsigned char *bytes, uint32_t capacity, uint32_t *used);
	void *context;
};
void submit_changed(struct world *world, const struct script_statement *statement,
		    const struct submit_change *change, struct outcome *outcome);

/* ---- packets that prove themselves (proof.c) ---- */

/* Memory that a ring needs for it, in whole pages behind its slots; 0: nothing is proved. */
uint64_t proof_bytes(const struct world *world);
/*
 * Behind `used` bytes of the commands at that GPU address, which are to be submitted next; how many bytes there are more.
 * Inside of client_touch().
 */
uint32_t proof_add(struct world *world, const struct thing *context, uint64_t commands,
		   unsigned char *bytes, uint32_t capacity, uint32_t used);
/* It was not submitted. */
void proof_take_back(struct world *world, const struct ring *ring);
/* Before the memory goes. */
void proof_end(struct world *world, struct ring *ring);

/* ---- the adapter, and what is asked of all of it (controls.c) ---- */

statement_action control_do;

/* ---- what no client would ask for (fuzz.c) ---- */

statement_action fuzz_do;
statement_action fuzz_do_escape;

#endif
