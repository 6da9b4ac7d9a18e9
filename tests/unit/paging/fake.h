/* SPDX-License-Identifier: MIT */
/*
 * fake.h - a scheduler that is turned by hand, and a GPU that really executes what was built.
 *
 * The GPU has the memory of fake/memory.h. Commands are in the paging buffer, so what is wrong with a
 * buffer shows. Under a GpuMmu addresses go through the tables that were written, and through a TLB
 * that forgets only when it is told to (fake/mmu.h).
 *
 * A packet waits until the test completes it, unless is_automatic.
 */
#ifndef TESTS_PAGING_FAKE_H
#define TESTS_PAGING_FAKE_H

#include "fake/check.h"
#include "fake/mmu.h"
#include "fake/owners.h"
#include "paging/internal.h"
#include "paging/pager.h"

enum {
	FAKE_LOCAL_BYTES = 48 << 20,
	FAKE_TLB_PAGES = 1 << 16,
	FAKE_SLOTS = 256,
	FAKE_LOG = 4096,
	FAKE_PRIVATE_BYTES = 64,
	FAKE_INVALID_NOT_CACHED = 1 << 10,
	FAKE_EXPLICIT_INVALIDATION = 1 << 3,
	FAKE_REQUIRES_IDLE = 1 << 5,
};

struct fake_config {
	bool has_mmu;
	uint32_t update_mode;
	uint32_t mmu_flags;
	bool has_dual_entries; /* of clients: two words in entries of level 1 */
	uint32_t levels;       /* 0: 3 */
	uint32_t address_bits; /* 0: 12 + 9 per level */
	uint32_t table_segment;
	bool hides_tables;     /* the CPU has no pointer to tables in local memory */
	uint32_t buffer_bytes; /* 0: 4096 */
	uint32_t buffer_count;
	uint32_t transfer_bytes; /* at most so many per command; 0: any number */
	bool is_automatic;
	void (*forget)(void *context); /* of the pager's; NULL: nobody */
	void *forget_context;
};

struct fake_submission {
	struct sched_packet *packet;
	const struct miniport_paging_buffer *buffer;
	uint32_t start_bytes;
	uint32_t end_bytes;
	uint32_t private_start_bytes;
	uint32_t private_end_bytes;
	uint32_t fence;
	bool is_parked; /* prepare() said: not yet */
};

struct fake_log_entry {
	enum miniport_paging_kind kind;
	struct miniport_paging_op op; /* what it points at may be gone */
	uint32_t multipass;
	uint32_t used_bytes; /* before */
	const struct miniport_paging_buffer *buffer;
	const void *context;  /* for which; NULL: the kernel's own */
	uint64_t submissions; /* before */
	bool had_memory;
};

/* What the scheduler was given; guarded by sched.lock. */
struct fake_packets {
	struct fake_submission queue[FAKE_SLOTS];
	uint64_t first;
	uint64_t end;
	uint32_t last_fence;
	bool is_retiring; /* a thread gives a packet back */
	bool is_kicking;  /* a thread looks whether one that is parked may go now */
	uint32_t kicks;
	bool is_automatic;
	bool is_refusing; /* sched_queue_submit() says that the owner is lost */
};

struct fake {
	struct fake_config config;
	struct sched sched;
	struct fake_packets packets;
	struct sched_owner owner;
	struct pager *pager;
	struct miniport_gpu_mmu mmu;

	struct fake_memory memory;
	uint64_t local_taken; /* tables, from the end */
	uint64_t tables_taken;

	/* Of the kernel's own addresses. */
	struct page_tables_root root;
	const void *root_context; /* the last that was told one */
	uint32_t roots_set;
	struct fake_mmu walker;
	struct fake_tlb tlb;
	bool is_tlb_cold;

	/* On the way into the driver, before it is its turn. On the pager's thread. */
	void (*door)(struct fake *fake, const struct miniport_paging_op *op);
	/* Instead of building: STATUS_PENDING goes on as usual. On the pager's thread. */
	NTSTATUS(*hook)
	(struct fake *fake, const struct miniport_paging_op *op,
	 struct miniport_paging_buffer *buffer, uint32_t *multipass);
	uint32_t hook_count;

	_Atomic uint32_t log_count;
	struct fake_log_entry log[FAKE_LOG];
	_Atomic uint32_t faults;
	_Atomic uint32_t other_flushes;     /* of spaces that have a driver's process */
	_Atomic uint64_t context_signature; /* INIT/UPDATE_CONTEXT were executed with this */
};

/* A hook that counts the pager's own tables that are written while a packet, which may go through them, is with the hardware. */
NTSTATUS fake_count_early_tables(struct fake *fake, const struct miniport_paging_op *op,
				 struct miniport_paging_buffer *buffer, uint32_t *multipass);

/* Allocates, creates the pager. */
struct fake *fake_create(const struct fake_config *config);
NTSTATUS fake_try_create(const struct fake_config *config, struct fake **fake_out);
/* Completes what is there, destroys, checks that nothing is left. */
void fake_destroy(struct fake *fake);
void fake_free(struct fake *fake); /* the rest of it, when the pager has been destroyed */

/* Waits until a packet is there, executes and retires it. */
void fake_complete_one(struct fake *fake);
void fake_retire_one(struct fake *fake, enum sched_outcome outcome);
uint64_t fake_submitted(struct fake *fake);
uint64_t fake_in_flight(struct fake *fake);
uint64_t fake_parked(struct fake *fake); /* of those */
void fake_wait_submitted(struct fake *fake, uint64_t count);
void fake_set_automatic(struct fake *fake, bool is_automatic);

/* What the hardware does with a packet. */
void fake_execute(struct fake *fake, const struct fake_submission *submission);

/* How often the driver was asked for one, from log entry `first` on. */
uint32_t fake_count(struct fake *fake, uint32_t first, enum miniport_paging_kind kind);

/* Else it asks for another buffer, and is asked the same once more. */
bool fake_has_room(const struct miniport_paging_buffer *buffer);

/* ---- jobs ---- */

enum { FAKE_OPS = 16 };

struct fake_job {
	struct paging_job job;
	struct fake *fake;
	enum paging_step steps[FAKE_OPS];
	struct miniport_paging_op ops[FAKE_OPS];
	uint32_t op_count;
	uint32_t next_op;
	_Atomic uint32_t done_count;
	_Atomic uint32_t order; /* which one it was to be done, from 1 */
	_Atomic uint32_t idles;
	NTSTATUS status;
	bool was_on_thread;
	struct paging_dependency dependencies[4];
	struct list followers; /* sched_wait.link; guarded by sched.lock */
	bool is_over;          /* they were told */
};

void fake_job_init(struct fake_job *job, struct fake *fake);
struct miniport_paging_op *fake_job_add(struct fake_job *job, enum miniport_paging_kind kind);
/* Sixteen pages of local memory behind the first sixteen; and a job of nothing else. */
struct miniport_paging_op *fake_job_add_fill(struct fake_job *job, uint32_t pattern);
void fake_job_queue_fill(struct fake_job *job, struct fake *fake, uint32_t pattern);
/* Of a table, the way the driver wants it. */
struct miniport_paging_op *fake_job_add_update(struct fake_job *job, uint32_t segment,
					       const struct miniport_page_run *table);
void fake_job_add_step(struct fake_job *job, enum paging_step step);
void fake_job_wait(struct fake_job *job);

/* `job` begins after `first` is done, or what the owner has queued is over. Before it is queued. */
void fake_job_after(struct fake_job *job, struct fake_job *first, uint32_t dependency);
void fake_job_after_owner(struct fake_job *job, uint32_t dependency);
void fake_job_complete(struct fake_job *job); /* completes packets until it is done */

/* A place of one run; and its bytes. */
struct miniport_location fake_place(uint32_t segment, const struct miniport_page_run *run);

/* Pages of the machine, in runs of `run_pages`, that are not neighbours. */
struct fake_pages {
	struct miniport_page_run runs[64];
	uint32_t run_count;
	uint32_t run_pages;
};
void fake_pages_init(struct fake_pages *pages, uint32_t run_count, uint32_t run_pages);
void fake_pages_finish(struct fake_pages *pages);
struct miniport_location fake_pages_place(const struct fake_pages *pages);
uint8_t *fake_pages_byte(const struct fake_pages *pages, uint64_t offset_bytes);

#define FAKE_TEST(suite, claim, ...)                                                               \
	TEST_WITH(fake, fake, fake_create(__VA_ARGS__), fake_destroy(fake), suite, claim)

#endif
