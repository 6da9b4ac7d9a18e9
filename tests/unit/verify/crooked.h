/* SPDX-License-Identifier: MIT */
/*
 * crooked.h - a driver that keeps every rule, and breaks the one it is told to break.
 *
 *	static struct crooked gpu;            what a test that failed leaves is finished by the next
 *
 *	crooked_start(&gpu, CROOKED_PHYSICAL);
 *	gpu.bend = BEND_FILL_SHORT;
 *	crooked_build(&gpu, &op);
 *	crooked_run(&gpu);
 *	crooked_finish(&gpu);                 reports are in gpu.reports
 *
 * The driver is in the test itself, behind the entry points as the kernel calls them while a driver is verified. Its
 * hardware is a row of commands that crooked_run() executes by hand, one paging buffer at a time:
 *
 *	segment 1   local memory that the processor sees       segment 2   an aperture onto system memory
 *	segment 3   local memory behind a CPU host aperture    segment 0   memory of the machine
 *
 * In the virtual model a page table is one page of 8-byte entries, and there are two levels of 512 with a root of three:
 * 39 bits of address.
 */
#ifndef TESTS_UNIT_VERIFY_CROOKED_H
#define TESTS_UNIT_VERIFY_CROOKED_H

#include "support/test.h"

#include "miniport/internal.h"
#include "miniport/work.h"

enum crooked_model { CROOKED_PHYSICAL, CROOKED_VIRTUAL };

/* What it does wrong. */
enum crooked_bend {
	HONEST,

	/* BuildPagingBuffer, when it is called. */
	BEND_COPIES_AT_ONCE,
	BEND_FILLS_AT_ONCE,
	BEND_BUSY_FOR_EVER,
	BEND_GOES_BACK,
	BEND_ASKS_FOR_EVER,

	/* The hardware, when it executes. */
	BEND_COPY_SHORT,
	BEND_COPY_SHIFTED, /* an offset of the allocation is forgotten */
	BEND_COPY_SWIZZLED,
	BEND_COPY_TOO_LONG,
	BEND_FILL_SHORT,
	BEND_FILL_TOO_LONG,
	BEND_FILL_OTHER,
	BEND_COPY_LOSSY, /* of what the processor does not see: it comes back changed */
	BEND_SECOND_PASS_LOST,
	BEND_APERTURE_KEPT, /* an unmap writes no command */
	BEND_APERTURE_SHIFTED,
	BEND_NO_FLUSH,
	BEND_CONTEXT_TOO_LONG,

	/* Page tables. */
	BEND_ENTRY_BEHIND, /* one more entry than it was told */
	BEND_ENTRY_SHIFTED,
	BEND_ENTRY_NONE,
	BEND_REPEAT_ONCE,
	BEND_COPY_OF_ENTRIES_SHORT,

	/* The rest. */
	BEND_WINDOW_SHIFTED,
	BEND_WINDOW_STAYS,
	BEND_ROOT_SMALLER,
	BEND_ROOT_ODD,
	BEND_CLIENT_ASTRAY, /* a client's work writes into somebody else's memory */

	/* Rendering (crooked_render.c). */
	BEND_BUILD_BEHIND, /* BuildPagingBuffer writes behind its buffer, … */
	BEND_RENDER_BEHIND,
	BEND_RENDER_JUST_BEHIND, /* … in the same page */
	BEND_PATCH_BEHIND,
	BEND_PATCH_BEFORE_IT,
	BEND_PATCH_AFTER_IT,
	BEND_PATCH_ADDS,
	BEND_PATCH_ONCE,
	BEND_RENDER_UNPATCHED,
	BEND_RENDER_NULL,
	BEND_RENDER_CUT,
	BEND_RENDER_IGNORES_FAULTS,
	BEND_RENDER_CHECKS_FIRST, /* reads what it has checked again */
	BEND_RENDER_READS_VALUE_TWICE,

	/* Recovery (crooked_recovery.c). */
	BEND_RESET_WORKS_ON,
	BEND_NOTICE_TOUCHES,
	BEND_ABORTS_OTHER,
	BEND_RESET_FAILS,
	BEND_NO_DEVICE_AFTER,
	BEND_DUMP_FAILS,
	BEND_DUMP_SLOW,
	BEND_POWER_FAILS,
	BEND_POWER_SPEAKS,
	BEND_RESET_LEAKS,
};

enum {
	CROOKED_PAGES = 64, /* of each memory segment */
	CROOKED_APERTURE_PAGES = 64,
	CROOKED_WINDOWS = 8,
	CROOKED_BUFFER_BYTES = 16384,
	CROOKED_ADDRESSES = 1024, /* pages of the paging process */
	CROOKED_MDLS = 16,
	CROOKED_REPORTS = 16,
};

struct crooked {
	struct miniport miniport;
	struct miniport_client client;
	enum crooked_bend bend;

	/* What was reported. */
	unsigned report_count;
	struct {
		enum rule rule;
		char sentence[400];
	} reports[CROOKED_REPORTS];

	/* Its memory. */
	uint64_t local;   /* physical address of segment 1 */
	uint64_t hidden;  /* of segment 3 */
	uint64_t windows; /* of its host aperture */
	uint64_t system;  /* pages for the test: CROOKED_PAGES */
	uint64_t dummy;
	uint64_t aperture[CROOKED_APERTURE_PAGES]; /* page frame, 0: none */

	/* The paging process, as the hardware has it: leaf tables and a memory of them. */
	uint64_t leaves[2]; /* where the tables of its first two MiB are */
	uint64_t tlb[CROOKED_ADDRESSES];

	/* Paging buffers. */
	struct miniport_paging_buffer buffer;
	uint32_t fence;
	uint32_t multipass;
	struct miniport_mdl *mdls[CROOKED_MDLS];
	unsigned mdl_count;

	/* What it does when it is asked something. */
	unsigned passes; /* of each operation, so many ask for room first */
	unsigned passes_left;
	bool passes_work; /* what is built before more room is asked for is executed, too */
	const DXGKARGCB_NOTIFY_INTERRUPT_DATA
		*meanwhile; /* it interrupts so while the processor writes a table */
	bool work_faults;   /* of clients, at its end */
	unsigned resets;
	uint32_t aborted_fence; /* what ResetEngine says */
	void *leaked[64];
	unsigned leaked_count;
};

void crooked_start(struct crooked *gpu, enum crooked_model model);
void crooked_finish(struct crooked *gpu);

/* ---- memory ---- */

char *crooked_local(struct crooked *gpu, uint64_t page);
char *crooked_hidden(struct crooked *gpu, uint64_t page);
char *crooked_system(struct crooked *gpu, uint64_t page);
uint64_t crooked_pfn(const struct crooked *gpu, uint64_t page); /* of crooked_system() */

/* Different bytes everywhere. */
void crooked_scribble(char *bytes, size_t size_bytes, unsigned seed);

/* ---- objects ---- */

enum {
	CROOKED_CPU_VISIBLE = 1,
	CROOKED_ALTERNATE_VA = 2,
	CROOKED_WANTS_NEWS = 4,
};
void *crooked_allocation(struct crooked *gpu, uint64_t size_bytes, unsigned flags);
void crooked_process(struct crooked *gpu, void *process, bool is_system);
void *crooked_context(struct crooked *gpu, void *process, bool is_virtual);

/* ---- paging ---- */

struct miniport_location crooked_place(uint32_t segment, uint64_t page);
/* Pages of crooked_system(), in a row. */
struct miniport_location crooked_place_system(struct crooked *gpu, uint64_t page, uint64_t count);
/* By address of the paging process. */
struct miniport_location crooked_place_at(uint64_t address);

/* All passes of one operation, into the buffer. Returns the last answer. */
NTSTATUS crooked_build(struct crooked *gpu, struct miniport_paging_op op);
/* Submits the buffer, executes and completes it. The next one is fresh. */
void crooked_run(struct crooked *gpu);
/* The two of it. */
void crooked_submit(struct crooked *gpu);
void crooked_complete(struct crooked *gpu);

/* A transfer or a fill, built and run. */
void crooked_transfer(struct crooked *gpu, void *allocation, struct miniport_location from,
		      struct miniport_location to, uint64_t pages);
void crooked_fill(struct crooked *gpu, void *allocation, struct miniport_location to,
		  uint64_t pages, uint32_t pattern);

/* ---- page tables ---- */

struct crooked_update {
	uint64_t table; /* page of segment 1 */
	uint32_t level;
	uint32_t first;
	uint32_t count;
	const struct miniport_pte *entries;
	bool is_repeated;
	bool is_initial;
	bool is_run;
	enum miniport_table_update_mode mode;
	void *process;
	void *allocation;
	uint64_t address;
};
void crooked_update(struct crooked *gpu, const struct crooked_update *update);
struct miniport_pte crooked_entry(uint32_t segment, uint64_t page);
/* The paging process: tables for its first two MiB, and pages from `address` on. */
void crooked_space(struct crooked *gpu, void *process);
void crooked_map(struct crooked *gpu, void *process, uint64_t address, struct miniport_pte first,
		 uint32_t count);

/* ---- work of clients ---- */

/* Submits, executes and completes an empty packet, or it faults; with BEND_CLIENT_ASTRAY it hits page `page` of segment 1. */
void crooked_client_work(struct crooked *gpu, void *context, bool is_virtual, uint64_t page);
void crooked_interrupt(struct crooked *gpu, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);

/* ---- rendering: commands that each store a word at the beginning of a listed allocation ---- */

enum { CROOKED_COMMAND_MAGIC = 0x43, CROOKED_DMA_BYTES = 8000 };

struct crooked_command {
	uint32_t magic;
	uint32_t index; /* of the list */
	uint32_t value;
	uint32_t reserved; /* anything */
};

struct crooked_dma {
	uint64_t address; /* patched */
	uint32_t value;
	uint32_t index;
};

/* A DMA buffer with a page behind it, as the kernel has them for who is verified. */
struct crooked_rendering {
	struct miniport_render render;
	struct miniport_patch_entry patches[16];
	unsigned char private_data[64];
	uint64_t physical_address;
};
void crooked_rendering_init(struct crooked *gpu, struct crooked_rendering *rendering);
void crooked_rendering_finish(struct crooked_rendering *rendering);
NTSTATUS crooked_render(struct crooked *gpu, struct crooked_rendering *rendering,
			const struct crooked_command *commands, uint32_t count,
			struct miniport_list_entry *list, uint32_t list_count);
NTSTATUS crooked_patch(struct crooked *gpu, struct crooked_rendering *rendering,
		       const struct miniport_list_entry *list, uint32_t list_count,
		       uint32_t start_bytes, uint32_t end_bytes);

/* ---- judgement ---- */

unsigned crooked_reported(const struct crooked *gpu, enum rule rule);
/* That rule and no other. */
void crooked_expect(const struct crooked *gpu, enum rule rule);
void crooked_expect_nothing(const struct crooked *gpu);

/* A driver that keeps the rules is told the same without a report; one that is bent so breaks this one. */
void crooked_compare(enum crooked_model model, enum crooked_bend bend, enum rule rule,
		     void (*tell)(struct crooked *gpu));
#define CROOKED_STORY(suite, name, model, bend, rule, tell)                                        \
	TEST(suite, name)                                                                          \
	{                                                                                          \
		crooked_compare(model, bend, rule, tell);                                          \
	}

static inline struct crooked *crooked_started(enum crooked_model model)
{
	static struct crooked gpu;

	crooked_start(&gpu, model);
	return &gpu;
}

#define CROOKED_TEST(suite, claim, model)                                                          \
	TEST_WITH(crooked, gpu, crooked_started(model), crooked_finish(gpu), suite, claim)

#endif
