/* SPDX-License-Identifier: MIT */
/*
 * cuda.h - the hardware of cuda.so: an NVIDIA GPU, through the CUDA driver API.
 *
 *	api.c       libcuda.so.1
 *	settings.c  what this hardware can be (gpu_hw_settings_…)
 *	device.c    context, kernels, the slab of video memory, the world
 *	pieces.c    system memory that the GPU was told of
 *	engine.c    streams, and waiting for them
 *	execute.c   packets
 *	paging.c    … of the kernel's own, which move memory
 *	lanes.c     … their work, on its way
 *	kernels.c   what runs on the GPU
 *	slab.c      video memory
 *	dispatch.c, runner.c, channel.c
 *	            kernels of clients, which run in processes of their own: runner_main.c
 *
 * Everything else is drivers/common.
 */
#ifndef CUDA_CUDA_H
#define CUDA_CUDA_H

#include "gpu.h"
#include "api.h"
#include "lanes.h"
#include "work.h"
#include "runner.h"

enum {
	CUDA_RUN_THREADS = 256,
	CUDA_MOVE_THREADS = 256,
	CUDA_MOVE_BLOCKS_PER_PROCESSOR = 2, /* all at once: meson.build */
	CUDA_PAGES_BLOCKS = 128,
	CUDA_PAGES_THREADS = 512,
	CUDA_ENTRIES_THREADS = 512,
	CUDA_FOUND_COUNT = 16384, /* large pages that one launch of cuda_ranges finds */
	CUDA_FLIGHTS = 64,        /* paging packets of an engine that are under way at once */
	CUDA_MIN_LOCAL_MIB = 64,
	CUDA_SLOTS = 1024,    /* engines, hardware queues among them */
	CUDA_KEPT_MIB = 1024, /* left to CUDA itself and to others, when we choose the size */
};

/* One per adapter: gpu_memory.hardware. */
struct cuda_device {
	/* Set at the start of the adapter, and again when the context was lost (cuda_device_revive). */
	struct cuda_api api;
	cuda_device_number number;
	cuda_context context;
	cuda_module module;
	cuda_function run;
	cuda_function move;
	cuda_function pages;
	cuda_function entries;
	cuda_function ranges;
	cuda_pointer local;
	cuda_pointer aperture;
	cuda_pointer piece_table;
	cuda_pointer world;
	cuda_pointer states;         /* struct cuda_state, by slot */
	struct cuda_result *results; /* by slot; the GPU sees them at the same address */
	struct cuda_ring *rings;     /* likewise */
	ULONGLONG *stops;            /* by slot: what is copied to the stop of a state */
	UCHAR *arguments;            /* by slot, CUDA_ARGUMENT_BYTES each; the GPU sees them, too */
	cuda_stream control;         /* for words that running kernels look at, and tables */
	ULONG processors;
	ULONG generation; /* of all these; engines have streams of one */
	struct gpu_settings settings;
	ULONGLONG local_bytes;
	ULONGLONG aperture_pages;
	ULONGLONG piece_count;

	/* Guarded by lanes_lock, but for what the GPU tells. */
	KMUTEX lanes_lock;
	struct cuda_lanes lanes;

	/* slab.c; NULL: the slab is one piece. */
	cuda_memory *large_pages;
	ULONG large_page_count;

	/*
	 * Changes of page tables and of pieces: those that were begun, and those that have happened. What was
	 * found in tables is true as long as the numbers are the same. Interlocked.
	 */
	volatile LONG64 changes_begun;
	volatile LONG64 changes;

	/* An error that nothing but a new context ends. Interlocked. */
	volatile LONG is_lost;
	volatile LONG64 launches; /* of cuda_run(), each with a number. Interlocked. */

	/* Guarded by pieces_lock. */
	KMUTEX pieces_lock;
	UCHAR slots[CUDA_SLOTS];    /* which are some engine's */
	volatile LONG busy_engines; /* with kernels that may be using pieces. Interlocked. */
	volatile LONG is_wanted;    /* somebody waits for them to become none. Interlocked. */

	/* pieces.c. Guarded by pieces_lock. */
	PVOID pins;
	ULONGLONG *pieces; /* in memory that the GPU reads, too: what it has in its table */
	cuda_status register_status; /* of the last attempt */
	ULONGLONG wanted_until;      /* is_wanted counts until then */

	KMUTEX clients_lock;
	LIST_ENTRY clients; /* cuda_client.link */
};

/* gpu_process.hardware: whose kernels they are. */
struct cuda_client {
	struct cuda_device *device;
	LIST_ENTRY link; /* guarded by cuda_device.clients_lock */

	KMUTEX lock; /* one question at a time, and all of this */
	int runner;  /* a process of the host; 0: there is none */
	int socket;
	ULONG generation; /* of runners, in the numbers that clients are told */
	UCHAR *has;       /* by large page: the runner has it */
	struct cuda_page *pages;
	ULONG page_count; /* of `pages`: what it has mapped */
	struct cuda_page *wanted;
	ULONG capacity; /* of both */
};

/* A packet that is in the ring. */
struct cuda_sent {
	struct cuda_mail mail;
	LONG64 changes;       /* that had happened, and no other was begun; or NOT_QUIET */
	ULONGLONG sent_100ns; /* 0: nobody takes times */
};

/* The page of system memory where a virtual address is that commands come from. */
struct cuda_known {
	ULONGLONG number; /* address >> PAGE_SHIFT, of this root: */
	struct gpu_root root;
	const ULONGLONG *page; /* NULL: not known */
	LONG64 changes;
};

enum { CUDA_NOT_QUIET = -1, CUDA_KNOWN_PAGES = 64 };

/* gpu_engine.hardware. Its engine's thread alone, but for the end. */
struct cuda_engine {
	struct cuda_device *device;
	ULONG generation;
	ULONG entered; /* the generation of whose context our thread has */
	ULONG slot;    /* + 1; 0: none */
	cuda_stream stream;
	cuda_pointer state;         /* struct cuda_state */
	struct cuda_result *result; /* the GPU sees it at the same address */
	struct cuda_ring *ring;     /* likewise */
	ULONGLONG *stop;            /* what is copied to state->stop */
	ULONGLONG *found;           /* CUDA_FOUND_COUNT; NULL until they are needed */
	ULONGLONG sequence;         /* of the last packet in the ring */
	ULONGLONG reaped;           /* of the last that is over for us */
	ULONGLONG dropped;          /* up to here nothing is begun any more */
	ULONGLONG launch;           /* of the cuda_run() that may be there still; 0: none is */
	BOOLEAN is_cut;             /* what is in the ring and has not begun will not */
	struct cuda_sums counted;   /* what of the result's we have counted */
	struct cuda_sent sent[CUDA_RING_PACKETS]; /* by place in the ring */
	struct cuda_known known[CUDA_KNOWN_PAGES];

	/* Paging packets that are under way: since the beginning, those that have marks, and that are over. */
	ULONGLONG flights;
	ULONGLONG marked;
	ULONGLONG landed;
	struct cuda_marks marks[CUDA_FLIGHTS];
};

static __inline__ struct cuda_device *cuda_device_of(const struct gpu_memory *memory)
{
	return (struct cuda_device *)memory->hardware;
}

/* Packets are in the ring that are not reaped. */
static __inline__ BOOLEAN cuda_is_running(const struct cuda_engine *engine)
{
	return engine->sequence != engine->reaped;
}

static __inline__ BOOLEAN cuda_is_flying(const struct cuda_engine *engine)
{
	return engine->flights != engine->landed;
}

/* device.c */
/* True for CUDA_OK. Anything else is told, with `what`; the context is lost then. */
BOOLEAN cuda_did(struct cuda_device *device, cuda_status status, const char *what);
/* Our context is the thread's from now on. */
BOOLEAN cuda_enter(struct cuda_device *device);
/*
 * Around what is done on threads that are not our own: a client's may be using CUDA itself, and has the
 * context that it had again at the end.
 */
cuda_context cuda_visit(const struct cuda_device *device);
void cuda_visit_end(struct cuda_device *device, cuda_context had);
/* A new context, when the old one is lost; nothing is in memory then. No engine is at work. */
NTSTATUS cuda_device_revive(struct cuda_device *device);

/* pieces.c */
NTSTATUS cuda_pieces_start(struct cuda_device *device);
void cuda_pieces_stop(struct cuda_device *device);
/* Their registrations ended with the context. */
void cuda_pieces_forget(struct cuda_device *device);
/* Around what makes something else true of them: table entries, and pieces. */
void cuda_change_begin(struct cuda_device *device);
void cuda_change_end(struct cuda_device *device);
/* Around kernels and copies: no piece goes meanwhile. */
void cuda_pieces_hold(struct cuda_device *device);
void cuda_pieces_let_go(struct cuda_device *device);
/* The piece with this address is registered. Not while holding. FALSE: it cannot be. */
BOOLEAN cuda_piece_make(struct cuda_device *device, ULONGLONG physical);
/* Somebody waits until nobody holds them. A look. */
BOOLEAN cuda_pieces_are_wanted(const struct cuda_device *device);
/* Where the GPU and the CPU see it; 0: not registered. While holding. */
ULONGLONG cuda_piece_pointer(struct cuda_device *device, ULONGLONG physical);

/* engine.c */
/* Its streams are of the device's context; FALSE after an error. */
BOOLEAN cuda_engine_ready(struct cuda_engine *engine);
BOOLEAN cuda_launch(struct cuda_engine *engine, cuda_function function, ULONG blocks, ULONG threads,
		    void **parameters, const char *what);
/* Is there room in the ring? */
BOOLEAN cuda_has_room(const struct cuda_engine *engine);
/* The next packet for cuda_run(), which is there still, or is launched. FALSE after an error. */
BOOLEAN cuda_send(struct cuda_engine *engine, const struct cuda_mail *mail);
/* The oldest one goes on: what it wanted it has. */
BOOLEAN cuda_send_on(struct cuda_engine *engine, ULONG flags);
/* Nothing that is in the ring is begun from now on; cuda_run() has left, or leaves. */
void cuda_cut(struct cuda_engine *engine);

enum cuda_news { CUDA_NEWS_DONE, CUDA_NEWS_ENDED, CUDA_NEWS_OTHER, CUDA_NEWS_LOST };
/*
 * Until the oldest in the ring was done, or ended otherwise; passes on what is asked of the engine. With
 * `may_leave` until the engine has something else to do, too.
 */
enum cuda_news cuda_wait(struct gpu_engine *engine, BOOLEAN may_leave);
/* The same, for what is in the stream and tells nothing. */
BOOLEAN cuda_drain(struct cuda_engine *engine);

/* execute.c */
/* A lost context answers nothing: the engine stands still until the adapter is reset. */
enum gpu_outcome cuda_stand_still(struct gpu_engine *engine);
/* To its end, by cuda_run(), with nothing else in the ring. Holding pieces. */
enum gpu_outcome cuda_execute(struct gpu_engine *engine, struct gpu_packet *packet,
			      struct cuda_mail *mail, struct gpu_fault *fault_out);

/* paging.c: gpu_hw_execute() and gpu_hw_reap() for paging packets. */
enum gpu_outcome cuda_paging_begin(struct gpu_engine *engine, struct gpu_packet *packet,
				   struct gpu_fault *fault_out);
enum gpu_outcome cuda_paging_reap(struct gpu_engine *engine);

/* slab.c */
NTSTATUS cuda_slab_make(struct cuda_device *device);
void cuda_slab_end(struct cuda_device *device);

/* dispatch.c: SOFTGPU_DISPATCH, of a virtual context. Not while holding pieces. */
enum gpu_outcome cuda_dispatch(struct gpu_engine *engine, struct gpu_packet *packet,
			       const struct softgpu_dispatch *command, struct gpu_fault *fault_out);

/* runner.c */
void cuda_clients_init(struct cuda_device *device);
/* No runner has anything of the slab any more; clients' kernels are lost. */
void cuda_clients_end(struct cuda_device *device);
/* GPU_DONE: ours. Else what was asked of the packet meanwhile. */
enum gpu_outcome cuda_client_lock(struct cuda_client *client, struct gpu_engine *engine,
				  const struct gpu_packet *packet);
void cuda_client_unlock(struct cuda_client *client);
void cuda_client_end_locked(struct cuda_client *client);
/* FALSE: the runner is gone. */
BOOLEAN cuda_client_send_locked(struct cuda_client *client, ULONG kind, ULONG number,
				const void *behind, ULONGLONG size_bytes, const int *descriptors,
				ULONG count);
BOOLEAN cuda_client_ask_locked(struct cuda_client *client, ULONG kind, ULONG number,
			       const void *behind, ULONGLONG size_bytes, const int *descriptors,
			       ULONG count, struct cuda_answer *answer_out);
/* The answer to what was sent. GPU_ABORTED: the engine was reset, and the runner ended. */
enum gpu_outcome cuda_client_wait_locked(struct cuda_client *client, struct gpu_engine *engine,
					 const struct gpu_packet *packet,
					 struct cuda_answer *answer_out);
/* Numbers of modules and kernels, as clients know them. FALSE: of no runner that there is. */
ULONG cuda_client_number(const struct cuda_client *client, ULONG number);
BOOLEAN cuda_client_knows_locked(const struct cuda_client *client, ULONG given, ULONG *number_out);

extern const char cuda_ptx[];

#endif
