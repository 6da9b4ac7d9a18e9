/* SPDX-License-Identifier: MIT */
/*
 * shadow.h - what a driver was told of memory and work, kept by the first watch for those behind it.
 *
 *   BuildPagingBuffer ──▶ operation ─┐                         places: which bytes an operation is about
 *   SubmitCommand     ──▶ packet  ───┴▶ node ──▶ interrupt     work: where it is, and when it was executed
 *   CreateAllocation, CreateContext, SetRootPageTable, …       objects: what the handles are
 *
 * Nothing here is asked of the driver, and nothing is believed that it says, but that a packet is completed. What could not be
 * followed is not known, and nobody is accused of it.
 *
 * Operations take effect in the order in which they are built, whichever packet carries them; addresses of the paging
 * process are looked up when they are built.
 *
 * Locks: `lock` guards the tables and lists. What hears of an operation is called without it, and the operation is its
 * alone meanwhile.
 */
#ifndef VERIFY_SHADOW_H
#define VERIFY_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "verify/map.h"
#include "verify/verify.h"

/* ---- places ---- */

enum {
	SHADOW_PAGE_BYTES = 4096,
	SHADOW_PAGE_SHIFT = 12,
	SHADOW_PROCESSES = 64,
};

/* A page: its segment (0: memory of the machine), and which of it. Never 0, which is one that is not known. */
typedef uint64_t shadow_page;

static inline shadow_page shadow_page_of(uint32_t segment, uint64_t number)
{
	return UINT64_C(1) << 63 | (uint64_t)segment << 52 | (number & ((UINT64_C(1) << 52) - 1));
}

static inline uint32_t shadow_segment(shadow_page page)
{
	return (uint32_t)(page >> 52 & 0x7ff);
}

static inline uint64_t shadow_number(shadow_page page)
{
	return page & ((UINT64_C(1) << 52) - 1);
}

/* Neighbours. */
struct shadow_run {
	shadow_page first;
	uint64_t count;
};

/* Bytes in the order of an operation. */
struct shadow_range {
	struct shadow_run *runs;
	uint32_t run_count;
	uint32_t offset_bytes; /* in the first page */
	uint64_t size_bytes;
	uint64_t address; /* of the paging process; 0: it is said by segment */
	bool is_known;    /* where all of it is */
	bool is_through_aperture;
};

/* ---- objects ---- */

struct shadow_allocation {
	const void *handle;
	uint64_t size_bytes;
	uint64_t mapped_by; /* processes, a bit each: ever */
	bool is_cpu_visible;
	bool is_linear;      /* what is in a segment is as in system memory, byte for byte */
	bool is_in_aperture; /* the GPU has seen it through one since it was in a segment */
	bool uses_alternate_address;
	bool wants_news; /* of its residency */
	bool was_told_resident;
};

struct shadow_context {
	const void *handle;
	uint64_t process; /* a bit; 0: not known */
	uint32_t node;
	bool is_kernels;
	bool is_virtual;
	shadow_page root; /* 0: it was told none */
	uint32_t root_entries;
	shadow_page root_before;
	uint32_t root_entries_before;
};

/* ---- work ---- */

/* An operation of BuildPagingBuffer that is complete in its buffer. */
struct shadow_operation {
	struct list link;
	uint64_t number; /* in the order of building */
	DXGK_BUILDPAGINGBUFFER_OPERATION kind;
	const void *allocation; /* the driver's handle; NULL: none */
	uint64_t allocation_offset;
	struct shadow_range to;
	struct shadow_range from;
	uint32_t pattern;
	bool is_part;    /* of an allocation that moves in several */
	bool has_passes; /* the driver asked for more room in the middle */

	/* UPDATE_PAGE_TABLE, COPY_PAGE_TABLE_ENTRIES: of watch_tables.c. */
	struct shadow_table_change *change;

	/* Bytes next to `to`, which stay as they are: taken when the packet goes (watch_paging.c). */
	struct shadow_neighbours *neighbours;
};

/* A paging buffer, and what was built into it since it was fresh. */
struct shadow_buffer {
	char *memory;
	uint64_t physical_address;
	uint64_t gpu_address;
	struct list operations;
	shadow_page
		part_of; /* a table that an operation changes which goes on in the next buffer; 0: none */
	bool is_going; /* a thread looks at the operations without the lock */
	bool is_lost;  /* … and frees them then */
};

/* With the hardware. */
struct shadow_packet {
	struct list link;
	uint32_t fence;
	uint32_t node;
	const void *context;
	bool is_paging;
	bool is_clients;
	bool was_alone;                       /* nothing else was with the hardware when it went */
	uint64_t table_changes;               /* that page tables had then */
	struct shadow_buffer *buffer;         /* NULL: not known */
	struct shadow_bystanders *bystanders; /* of watch_bystanders.c, freed with free() */
};

enum { SHADOW_BUFFERS = 64 };

struct shadow {
	struct verify_adapter *adapter;
	struct lock lock; /* LOCK_RANK_LEAF */

	/* Places. */
	struct map aperture;  /* page of an aperture -> page of the machine */
	struct map shown;     /* page of the machine in a CPU host aperture -> page it shows */
	struct map addresses; /* page of the paging process -> page */
	struct map addresses_before; /* the same, as it was until then */
	struct map owners;           /* page of a segment -> handle of an allocation */
	const void *paging_process;
	bool has_paging_process;

	/* Objects. */
	struct map allocations;
	struct map contexts;
	struct map devices;   /* -> process bit */
	struct map hw_queues; /* -> handle of the context */
	const void *processes[SHADOW_PROCESSES];
	uint64_t object_count; /* all that live: for who compares two moments */

	/* Work. */
	struct shadow_buffer buffers[SHADOW_BUFFERS];
	uint32_t buffer_count;
	struct list nodes[MINIPORT_MAX_NODES]; /* shadow_packet.link, oldest first */
	uint32_t in_flight;
	uint32_t clients_in_flight;
	uint64_t submissions;
	uint64_t client_submissions;
	bool has_hw_work; /* which is over when nobody here can tell */
	uint64_t built;
	/* Of the operation that is being built: one at a time, on the thread of the call. */
	struct {
		char *dma_buffer; /* as the driver was given them for this pass */
		uint32_t write_offset;
		uint32_t multipass;
		uint32_t passes; /* before it */
		bool has_written;
		struct shadow_operation *operation; /* NULL: none, or there is no memory */
		bool is_lost; /* the hardware is gone meanwhile; guarded by `lock` */
	} building;
	bool is_reset; /* between ResetFromTimeout and RestartFromTimeout */
};

struct shadow *shadow_of(const struct verify_adapter *adapter);
/* 0: it is none that is known. `shadow->lock` is held. */
uint64_t shadow_process_bit(const struct shadow *shadow, const void *process);

/* ---- shadow_places.c ---- */

/* As the driver is told it: with the base address of the segment. */
uint64_t shadow_segment_offset(const struct shadow *shadow, uint32_t segment, uint64_t address);
/* Behind the driver's own is the memory of the machine by another name. */
uint32_t shadow_real_segment(const struct shadow *shadow, uint32_t segment);
bool shadow_is_aperture(const struct shadow *shadow, uint32_t segment);
/* Of one page of its CPU host aperture. */
static inline uint64_t shadow_window_bytes(const struct miniport_segment *segment)
{
	return segment->uses_64k_pages ? 65536 : SHADOW_PAGE_BYTES;
}

/* Where this process sees the page; NULL: nowhere, or not for certain. */
char *shadow_pointer(const struct shadow *shadow, shadow_page page);

/* These leave a range that is not known where there is no memory. `shadow->lock` is held. */
void shadow_range_segment(struct shadow *shadow, struct shadow_range *range, uint32_t segment,
			  uint64_t offset_bytes, uint64_t size_bytes);
void shadow_range_mdl(struct shadow_range *range, MDL *mdl, uint64_t first_page,
		      uint64_t size_bytes);
void shadow_range_addresses(struct shadow *shadow, struct shadow_range *range, uint64_t address,
			    uint64_t size_bytes);
void shadow_range_finish(struct shadow_range *range);
bool shadow_range_overlaps(const struct shadow_range *a, const struct shadow_range *b);
bool shadow_range_has(const struct shadow_range *range, shadow_page page);

/* Goes through the bytes of a known range. */
struct shadow_cursor {
	uint32_t run;
	uint64_t in_run_bytes;
	uint64_t left_bytes;
};
struct shadow_cursor shadow_cursor(const struct shadow_range *range);
/* How many bytes are in a row from here on (0: the end), and where this process sees them; NULL: nowhere. */
uint64_t shadow_stretch(const struct shadow *shadow, const struct shadow_range *range,
			const struct shadow_cursor *cursor, char **pointer_out);
void shadow_advance(const struct shadow_range *range, struct shadow_cursor *cursor, uint64_t bytes);
/* The page it stands in. */
shadow_page shadow_cursor_page(const struct shadow_range *range,
			       const struct shadow_cursor *cursor);

/* ---- shadow_operations.c ---- */

/* What was built, and what it means for places. `shadow->lock` is held. NULL: no memory. */
struct shadow_operation *shadow_operation_create_locked(struct shadow *shadow,
							const DXGKARG_BUILDPAGINGBUFFER *args);
void shadow_operation_free(struct shadow_operation *operation);
void shadow_places_follow(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args,
			  const struct shadow_operation *operation);

/* ---- shadow_work.c ---- */

void shadow_work_init(struct shadow *shadow);
void shadow_work_finish(struct shadow *shadow);

/* One pass of BuildPagingBuffer. */
void shadow_building(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args);
void shadow_built(struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS status);
/* After a pass, before shadow_built(): did the operation become commands, in this pass or an earlier one? */
bool shadow_has_written(const struct shadow *shadow, const DXGKARG_BUILDPAGINGBUFFER *args);
/* Nothing is with the hardware or in a buffer. `shadow->lock` is held. */
bool shadow_is_idle_locked(const struct shadow *shadow);

struct shadow_submission {
	uint32_t node;
	uint32_t fence;
	const void *context;
	bool is_paging;
	bool is_context_switch;
	uint64_t physical_address; /* of the buffer; 0: not known */
	uint64_t gpu_address;
};
void shadow_submitting(struct shadow *shadow, const struct shadow_submission *submission);
void shadow_not_submitted(struct shadow *shadow, uint32_t node, uint32_t fence);
/* Everything of the node up to the fence was executed. */
void shadow_completed(struct shadow *shadow, uint32_t node, uint32_t fence);
/* The packet with the fence faulted, those before it were executed. `data` of a page fault, else NULL. */
void shadow_faulted(struct shadow *shadow, uint32_t node, uint32_t fence,
		    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
/* The rest is not with the hardware any more. */
void shadow_dropped(struct shadow *shadow, uint32_t node);
void shadow_all_lost(struct shadow *shadow);

/* Does something that was built later write there, and is with the hardware or in the same packet (`behind`)? */
bool shadow_is_being_written(struct shadow *shadow, const struct shadow_range *range,
			     uint64_t after_number, const struct list *behind);

/* ---- who hears of it ---- */

void paging_going(struct shadow *shadow, struct list *operations);
/* `behind` are those of the same packet that come after it, executed as well. */
void paging_executed(struct shadow *shadow, struct shadow_operation *operation,
		     const struct list *behind);
void tables_executed(struct shadow *shadow, struct shadow_operation *operation);

#endif
