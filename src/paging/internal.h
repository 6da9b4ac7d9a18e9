/* SPDX-License-Identifier: MIT */
/*
 * internal.h - what the files of this folder share.
 *
 *	job.c           what comes first, who is told afterwards
 *	pager.c         the thread: who is built next; start, reset, end
 *	builder.c       one step of one job -> calls of the driver
 *	  physical.c      … in pieces of a segment and an MDL
 *	  pager_space.c   … in pieces mapped into the kernel's own address space
 *	space_tables.c  the page tables of that space
 *	buffer.c        the paging buffers and their way to the hardware and back
 *	stream.c        for which context that is, and the order between contexts
 *	layout.c        what is where in that address space; pure
 *	location.c      pages of a location; pure
 *
 * Packets are numbered in the order in which they are built, and come back in that order. So
 * "everything that carries something of this job (MDL, window) is over" is one comparison:
 * last_sequence <= retired_sequence. What is in the buffer that is being filled has the number
 * that buffer is going to get.
 */
#ifndef PAGING_INTERNAL_H
#define PAGING_INTERNAL_H

#include "base/lock.h"
#include "base/machine.h"
#include "base/notice.h"
#include "base/tally.h"
#include "base/thread.h"
#include "paging/layout.h"
#include "paging/pager.h"

enum {
	PAGING_BUFFERS = 8,
	/* More than this in one packet, and building the next would begin too late. */
	PAGING_PACKET_WORK_BYTES = 16 << 20,
	PAGING_PACKET_PIECES = 96, /* each of which has an end, to be seen to behind it */
	/* … and this much is enough while the hardware has nothing else to do. */
	PAGING_FIRST_WORK_BYTES = 1 << 20,
	/* Of one TRANSFER or FILL in the physical model. */
	PAGING_PIECE_BYTES = 16 << 20,
};

/* ---- buffer.c ---- */

struct pager_buffer {
	struct sched_packet packet;
	struct pager *pager;
	struct pager_stream *stream; /* for which it is built; while there is something in it */
	struct list link;            /* pager.free_buffers, sent or retired_buffers */
	struct miniport_paging_buffer memory;
	struct miniport_paging_buffer submitted; /* the same, as the hardware was told of it */
	uint64_t sequence;                       /* when submitted */
	uint64_t after_sequence; /* packets of other streams have to be over up to this one */
	uint32_t generation;     /* in which it was built */
	bool is_back;            /* from the hardware; others before it may not be */
	uint64_t work_bytes;
	uint32_t piece_count; /* that move something */
};

MUST_CHECK NTSTATUS pager_buffers_init(struct pager *pager);
void pager_buffers_finish(struct pager *pager);

/* The buffer that is being filled, for this stream. False: all are with the hardware. */
MUST_CHECK bool pager_buffer_current(struct pager *pager, struct pager_stream *stream);

/* Submits it if there is anything in it. */
void pager_buffer_submit(struct pager *pager);

/* Forgets what is in it; whatever it carried a part of has failed with `status`. */
void pager_buffer_drop(struct pager *pager, NTSTATUS status);

/* As the driver expects it at its first call. */
void pager_buffer_refresh(struct miniport_paging_buffer *memory);

/* ---- stream.c ---- */

struct pager_stream {
	struct pager *pager;
	uint32_t node;
	void *driver_context; /* NULL: the kernel's own */
	struct sched_queue queue;

	/* Guarded by pager.lock. */
	struct list link; /* pager.streams */
	uint32_t kicks;   /* under way */
	uint32_t hands;   /* of threads that do something for all streams */
	bool is_ending;
};

/* The storage is the caller's. */
void pager_stream_begin(struct pager *pager, struct pager_stream *stream, uint32_t node,
			void *driver_context);
void pager_stream_end(struct pager_stream *stream);

/* For every stream: its context hears where the root is; what it has queued is cancelled. */
void pager_streams_set_root(struct pager *pager);
void pager_streams_cancel(struct pager *pager);

/* The buffer's number, and what has to be over first; is it? */
void pager_stream_order_locked(struct pager *pager, struct pager_buffer *buffer);
bool pager_stream_is_turn(struct pager *pager, const struct pager_buffer *buffer);

/* It came back. The stream that may have waited for it, to be kicked; or NULL. */
MUST_CHECK struct pager_stream *pager_stream_retire_locked(struct pager *pager,
							   struct pager_buffer *buffer);
void pager_stream_kick(struct pager_stream *stream);

/* ---- location.c ---- */

/* The page `offset_bytes` into the location; how many follow it in a row. */
uint64_t location_page(const struct miniport_location *location, uint64_t offset_bytes,
		       uint64_t *pages_in_row_out);

/* The runs that make up `page_count` pages from there: their number, and themselves. */
uint32_t location_run_count(const struct miniport_location *location, uint64_t offset_bytes,
			    uint64_t page_count);
void location_runs(const struct miniport_location *location, uint64_t offset_bytes,
		   uint64_t page_count, struct miniport_page_run runs_out[]);

static inline uint64_t pages_of(uint64_t size_bytes)
{
	return (size_bytes + MACHINE_PAGE_BYTES - 1) >> MACHINE_PAGE_SHIFT;
}

/* ---- builder.c ---- */

enum build_result {
	BUILD_DONE,
	BUILD_BLOCKED, /* until a packet is retired */
	BUILD_STALLED, /* until the job has nothing with the hardware */
	BUILD_YIELDED, /* until others had their turn */
	BUILD_TURNED,  /* one that moves the other way is next */
	BUILD_STALE,   /* a reset began */
	BUILD_FAILED,  /* build.status */
};

/* One MDL, until the packets that name it are retired. */
struct pager_mdl {
	struct list link; /* pager.mdls */
	struct miniport_mdl *mdl;
	uint64_t last_sequence;
};

/* A stretch of the kernel's own addresses that a piece is mapped at. */
struct pager_window {
	uint64_t address;
	uint64_t page_count;
	const struct miniport_location *location; /* what it shows, from here on; NULL: nothing */
	uint64_t offset_bytes;
};

/* Where the thread stands in a job. */
struct pager_build {
	struct paging_job *job;
	NTSTATUS status;

	bool has_piece;
	uint64_t piece_bytes;
	struct miniport_paging_op op; /* of the piece, as the driver is told it */
	struct pager_mdl *mdl;
	struct pager_slot *slot;
	struct pager_window windows[3]; /* first what is cleared, if anything is */
	uint32_t window_count;
	uint32_t cleared_slots; /* from `slot` on */
	uint32_t part_count;    /* of the windows, by leaf table */
	bool needs_flush;

	uint32_t op_count; /* in this turn */
	uint32_t step;     /* calls of the driver for this piece */
	uint32_t multipass;
	uint32_t empty_passes; /* in a row */

	bool is_tried_again;
	uint64_t give_up_ns; /* there was no memory; until then it is tried again. 0: there was */
};

/* Goes on with build.job. BUILD_DONE: it has no more operations. */
enum build_result pager_build_job(struct pager *pager);

/* The piece at hand from its beginning: it could not be finished. */
void pager_build_again(struct pager *pager);

/* Gives back what a piece has taken that is not going to be finished. */
void pager_build_abandon(struct pager *pager);

/* Is there one to be built that moves the other way? */
MUST_CHECK bool pager_has_other_way(struct pager *pager, const struct paging_job *job);

/* May the operation be divided? Else it is in one piece, whatever its size. */
bool pager_op_has_pieces(const struct miniport_paging_op *op);

/*
 * For the two models: the part of `location` that this piece is about, by address of its segment or as
 * an MDL, which is in build.mdl from then on.
 */
MUST_CHECK NTSTATUS pager_build_location(struct pager *pager, uint64_t size_bytes,
					 struct miniport_location *location);
void pager_mdls_reclaim(struct pager *pager);

/* ---- physical.c ---- */

MUST_CHECK enum build_result physical_begin_piece(struct pager *pager);

/* ---- pager_space.c ---- */

/* Two windows next to each other; free when what used it last is retired. */
struct pager_slot {
	uint64_t address;
	uint64_t last_sequence;
	bool was_used; /* since the tables were written: its entries may be valid */
};

struct pager_level {
	uint32_t count;
	uint32_t entry_count; /* of one table */
	uint64_t table_bytes;
	struct pager_table *tables;
};

struct pager_space {
	struct miniport_gpu_mmu mmu;
	struct pager_layout layout;
	struct pager_level levels[MINIPORT_MAX_PAGE_TABLE_LEVELS];
	struct pager_slot *small;
	struct pager_slot *big;
	uint64_t retired_sequence; /* when somebody last looked */
	uint32_t next_small;
	uint32_t next_big[2];         /* who moves in has some, everybody else the others */
	struct miniport_pte *entries; /* of the piece that is being built */
	void *driver_entries;         /* and of the update, as the driver reads them */
	uint32_t driver_entry_count;

	/* Writing all tables: which one comes next. */
	struct paging_job job;
	uint32_t level;
	uint32_t table;
	uint32_t part;
	bool is_ending; /* only invalid entries */
};

MUST_CHECK NTSTATUS pager_space_init(struct pager *pager, const struct pager_config *config);
void pager_space_finish(struct pager *pager);

/* All tables from the start: pager.space.job writes them. */
void pager_space_rewind(struct pager *pager, bool is_ending);
void pager_space_set_root(struct pager *pager, const struct pager_stream *stream);

/* Windows that only a forgotten packet used are free with the last one submitted. */
void pager_space_forget(struct pager *pager, uint64_t last_sequence);

/* A root in use before its content is there: only when nobody but the GPU can write it. */
bool pager_space_is_visible(const struct pager *pager);

MUST_CHECK enum build_result space_begin_piece(struct pager *pager);

/* A job of this way, with much to move, would find a window. */
MUST_CHECK bool space_has_window(struct pager *pager, enum paging_way way);

/* What lets the piece be seen, one step after the other. False: that was all. */
MUST_CHECK bool space_step(struct pager *pager, struct miniport_paging_op *op_out);

/* ---- job.c ---- */

/* The job behind this one, which others may have written last, comes to this processor meanwhile. */
static inline void pager_expect(const struct list *link)
{
	enum { LINE_BYTES = 64, BEFORE = 512, BEHIND = 768 }; /* its owner's are around it */
	const char *job = (const char *)container_of(link, struct paging_job, link);

	for (int at = -BEFORE; at < BEHIND; at += LINE_BYTES)
		__builtin_prefetch(job + at, 1);
}

/* True: it is ready, and who gives work to the thread tells it. */
MUST_CHECK bool pager_job_queue_locked(struct paging_job *job, uint64_t now_ns);

/* Something of `job` is in the buffer that is being filled. */
void pager_job_written(struct pager *pager, struct paging_job *job);

/* What was queued so far and changes tables has to be built before it goes on; is it not, yet? */
void pager_job_follow(struct paging_job *job);
/* An operation on tables waits in another job (paging_job.shares_tables). The pager's thread. */
MUST_CHECK bool pager_job_must_not_ask(const struct pager *pager, const struct paging_job *job);
bool pager_job_is_behind_yielded_locked(const struct pager *pager, const struct paging_job *job);

MUST_CHECK bool pager_job_is_following(struct pager *pager, const struct paging_job *job);
MUST_CHECK bool pager_job_is_following_locked(const struct pager *pager,
					      const struct paging_job *job);

/* The packet that it is behind may have been forgotten before there was one to tell. */
void pager_job_look_behind(struct pager *pager, struct paging_job *job);

/* It is built, as far as it ever will be: done when its packets are retired. What it has met. */
NTSTATUS pager_job_built(struct pager *pager, struct paging_job *job, NTSTATUS status);

/* Calls done() of one whose packets are. True when there was one. */
MUST_CHECK bool pager_finish_job(struct pager *pager);

/* ---- quiet.c ---- */

/* May the operation at hand be built? Else the thread is told when it is worth another look. */
MUST_CHECK bool pager_is_quiet_for(struct pager *pager, struct paging_job *job);

/* The job is done, or failed. */
void pager_quiet_end(struct pager *pager, struct paging_job *job);

/* ---- pager.c ---- */

enum paging_job_state {
	JOB_NEW,
	JOB_WAITING, /* for others */
	JOB_READY,
	JOB_BUILDING,
	JOB_STALLED,
	JOB_BUILT, /* waits for its packets */
	JOB_DONE,
};

enum pager_quiet { QUIET_NONE, QUIET_ASKED, QUIET_REACHED };

struct pager {
	/* Set at creation. */
	struct sched *sched;
	struct sched_owner *owner; /* the kernel's own */
	const struct pager_driver_ops *ops;
	void *driver;
	struct pager_config config;
	bool has_space;
	struct thread *thread;
	struct pager_stream own; /* the kernel's own context */
	struct notice changed;   /* for the thread */
	struct notice told;      /* for those who wait for it */

	/* Guarded by lock. */
	struct lock lock; /* LOCK_RANK_PAGER */
	struct list queued;
	struct list changes; /* of tables: paging_job.change_link */
	struct list ready;
	struct list yielded; /* paging_job.yield_link: others came between, until built */
	struct list stalled;
	struct list built; /* by last_sequence */
	struct list waits; /* sched_wait.link, by ticket */
	uint64_t last_ticket;
	uint64_t finishing_ticket; /* its done() is being called; 0: none */
	uint64_t submitted_sequence;
	uint64_t retired_sequence;
	struct list streams;                    /* pager_stream.link */
	const struct pager_stream *sent_stream; /* of the last packet; NULL: there was none */
	uint64_t switch_sequence;               /* the last packet of another stream */
	struct list sent;                       /* pager_buffer.link, by sequence: not retired */
	struct list free_buffers;
	struct list retired_buffers;
	bool is_suspended;
	bool is_building; /* the thread has a job, and may wait for packets to go on with it */
	bool is_sending;  /* the thread is about to hand over a packet */
	_Atomic bool needs_tables;
	bool is_stopping;
	bool is_stopped;         /* by pager_stop(); nobody else looks at it */
	_Atomic bool has_tables; /* written, in this generation; packets read it without the lock */
	NTSTATUS broken;         /* every job fails with it */
	enum pager_quiet quiet;
	uint32_t quiet_jobs; /* that need it; quiet.c */

	/* Grows under lock. */
	_Atomic uint32_t generation;
	_Atomic uint32_t outstanding; /* jobs queued and not done; a look without the lock */

	struct tally_spread took; /* jobs, from when they were queued until they were done */

	/* The thread only. */
	struct pager_buffer *buffers;
	struct pager_buffer *current;
	struct pager_build build;
	enum paging_way last_way; /* of the job that was last built on */
	uint32_t built_generation;
	uint32_t queue_generation; /* nothing older is in the scheduler's queues */
	struct list mdls;          /* pager_mdl.link, by last_sequence */
	struct pager_space space;

	struct sched_wait quiet_wait; /* the scheduler's while QUIET_ASKED */

	/* Whoever tells the driver something during a reset. */
	struct miniport_paging_buffer spare;
};

/* False: a reset began, and what is built now would never run. */
bool pager_may_build(struct pager *pager);

#endif
