/* SPDX-License-Identifier: MIT */
/*
 * internal.h - struct miniport, and what the files of this folder ask of each other.
 *
 * The only header besides ddi.h and the validators through which DXGK types are seen.
 */
#ifndef MINIPORT_INTERNAL_H
#define MINIPORT_INTERNAL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/gate.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/memory_traits.h"
#include "base/notice.h"
#include "base/refusal.h"
#include "miniport/ddi.h"
#include "miniport/device.h"
#include "miniport/image.h"
#include "miniport/miniport.h"
#include "miniport/verifier.h"
#include "nt/debug.h"
#include "nt/report.h"
#include "trace/trace.h"

/* What one DxgkCbNotifyInterrupt said, until the DPC that follows it. */
struct interrupt_record {
	enum {
		INTERRUPT_COMPLETED,
		INTERRUPT_PREEMPTED,
		INTERRUPT_FAULTED,
		INTERRUPT_FENCE_WRITTEN,
		INTERRUPT_TIMED_OUT,
		INTERRUPT_SUSPENDED
	} kind;
	uint32_t node; /* INTERRUPT_SUSPENDED has none */
	uint32_t fence;
	uint64_t suspend_fence;
	uint32_t last_completed;
	struct miniport_fault fault;
	uint64_t serial; /* they are delivered in this order */
};

enum { INTERRUPT_RECORDS = 1024 };

struct interrupt {
	/* Held around everything that runs at the device's IRQL. */
	struct lock lock; /* LOCK_RANK_INTERRUPT */

	KDPC dpc;
	_Atomic bool is_connected; /* from the call of StartDevice to the return of StopDevice */

	/* Guarded by records_lock. */
	struct lock records_lock; /* LOCK_RANK_LEAF */
	struct interrupt_record records[INTERRUPT_RECORDS];
	uint32_t first;
	uint32_t count;
	uint64_t newest_serial;
	uint64_t delivered_serial; /* everything up to here was told */
	uint64_t ignored_nodes;    /* a bit each: what they report is not written down */
	bool is_delivering;        /* somebody is: one at a time keeps the order */

	struct notice delivered; /* after each */
};

struct miniport_mdl;

/* An answer about an allocation that was found legal: all but what is different for each. */
struct judged_answer {
	bool is_there;
	struct memory_traits traits; /* what was made of it */
	uint32_t usable_segments;    /* … and of the two sets */
	UINT alignment;
	UINT flags;
	UINT flags2;
	UINT read_segments;
	UINT write_segments;
	UINT eviction_segments;
	UINT preferred_segments;
};

struct miniport_client {
	struct lock entry; /* LOCK_RANK_DDI_PROCESS: one thread of a process in the driver */
	void *owner;       /* whose handles the driver asks about (handle_services.h) */
	struct nt_process *process;  /* what the driver sees as the current one */
	struct judged_answer judged; /* the last; guarded by entry */
};

/*
 * A driver and its one adapter. Made by miniport_start(), freed by miniport_stop(); everything is
 * set while it starts and only read afterwards, except where a lock is named.
 */
struct miniport {
	struct image image;
	DRIVER_OBJECT *driver_object;
	DEVICE_OBJECT *device_object; /* the physical device object AddDevice is given */
	struct device device;
	uint32_t adapter_id;
	char start_name[64]; /* what refusals during the start call it */
	bool guards_answers; /* DXGK_VERIFY=answers: also of calls that are made often */

	/* From DxgkInitialize: what is newer than the registered version is NULL, and, as soon as
	   the driver has said which one it is of, what is newer than that. */
	DRIVER_INITIALIZATION_DATA ddi;
	NTSTATUS initialize_status; /* STATUS_PENDING until the driver called it */

	/* The routines themselves: those of `ddi`, unless a verifier stands in front of them. */
	DRIVER_INITIALIZATION_DATA driver;
	void *verified; /* the verifier's */

	PVOID context; /* MiniportDeviceContext, hAdapter in every entry point */
	DXGKRNL_INTERFACE interface;
	struct miniport_events events; /* members may be NULL */
	void *listener;
	struct miniport_info info;
	uint64_t *bank_ends; /* behind info.segments[].bank_ends */
	bool is_patching;    /* not NoDmaPatching */
	bool is_stranded;    /* threads of the driver outlived it */

	/* The kernel's own process, device and context: paging. */
	struct miniport_client system_client;
	void *system_process;
	void *system_device;
	struct miniport_context_info system_context;

	/* Guarded by mappings_lock: what DxgkCbMapMemory gave out. */
	struct lock mappings_lock; /* LOCK_RANK_LEAF */
	struct list mappings;

	struct lock class_locks[DDI_CLASS_COUNT]; /* LOCK_RANK_DDI_CLASS */
	struct gate level_gate;                   /* LOCK_RANK_DDI_LEVEL */
	struct interrupt interrupt;
};

/*
 * ddi_enter() and ddi_leave() for entry points of level 0 at PASSIVE_LEVEL that a client's calls
 * lead to all the time.
 */
extern _Thread_local struct ddi_crossing *ddi_innermost __attribute__((visibility("hidden")));

/* As in ddi_infos, and here for the compiler to see. */
static const uint16_t ddi_indexes[DDI_COUNT] = {
#define DDI(name, member, index, ...) [DDI_##name] = (index),
#include "miniport/ddi.def"
#undef DDI
};

/* The driver's routine behind an entry point. */
static inline const void *ddi_routine(const struct miniport *miniport, enum ddi ddi)
{
	return ((const void *const *)&miniport->driver)[ddi_indexes[ddi]];
}

/* From now on crashes are told with the entry point, and refused answers with its routine. */
void ddi_tell_reports(void);

/* Calls into the driver, and from it, in a trace that is to have them. */
static inline void ddi_trace_begin(const char *name, uint8_t irql)
{
	if (trace_has(TRACE_WITH_DRIVER))
		trace_ddi_call_begin(name, irql);
}

static inline void callback_trace_begin(const char *name)
{
	if (trace_has(TRACE_WITH_DRIVER))
		trace_callback_begin(name);
}

static inline void callback_trace_end(NTSTATUS status)
{
	if (trace_has(TRACE_WITH_DRIVER))
		trace_callback_end(status);
}

/* What a simple crossing is entered with: nothing that others would be told. */
SPECIALIZED void ddi_enter_simply(struct ddi_crossing *crossing, struct miniport *miniport,
				  struct miniport_client *client, enum ddi ddi, uint32_t seat)
{
	assert(ddi_infos[ddi].level == DDI_LEVEL_0 && ddi_infos[ddi].irql == DDI_IRQL_PASSIVE);
	lock_assert_none_held(ddi_infos[ddi].name);
	lock_acquire_from(&client->entry, seat);
	gate_enter_from(&miniport->level_gate, seat);
	/* What is not set is not read of a simple one, or while there is no subject. */
	crossing->miniport = miniport;
	crossing->client = client;
	crossing->ddi = ddi;
	crossing->level = DDI_LEVEL_0;
	crossing->subject = 0;
	crossing->seat = seat;
	crossing->has_entry = true;
	crossing->has_level = true;
	crossing->has_class = false;
	crossing->is_simple = true;
	ddi_note(crossing, NULL, NULL);
	ddi_innermost = crossing;
	nt_entered = (struct nt_entered){ .routine = ddi_routine(miniport, ddi) };
}

SPECIALIZED void ddi_enter_level_0(struct ddi_crossing *crossing, struct miniport *miniport,
				   struct miniport_client *client, enum ddi ddi)
{
	assert(ddi_infos[ddi].level == DDI_LEVEL_0 && ddi_infos[ddi].irql == DDI_IRQL_PASSIVE);
	/* Inside of another crossing, or for the kernel itself, there is more to it. A client's
	   thread is at the level already. */
	if (UNLIKELY(ddi_innermost || client == &miniport->system_client || !nt_irql_is_plain())) {
		ddi_enter(crossing, miniport, client, ddi);
		return;
	}
	ddi_enter_simply(crossing, miniport, client, ddi, thread_own_seat);
	ddi_trace_begin(ddi_infos[ddi].name, PASSIVE_LEVEL);
}

/* What to say about a call that failed, or of which everything is said. */
NTSTATUS ddi_level_0_judge(struct ddi_crossing *crossing, NTSTATUS status);

/* Its arguments as text, if the trace is to have them. */
void ddi_trace_arguments(const struct ddi_crossing *crossing);

static inline void ddi_trace_end(const struct ddi_crossing *crossing, NTSTATUS status)
{
	if (!trace_has(TRACE_WITH_DRIVER))
		return;
	if (trace_has(TRACE_WITH_ARGUMENTS))
		ddi_trace_arguments(crossing);
	trace_ddi_call_end(status);
}

SPECIALIZED void ddi_leave_simply(struct miniport *miniport, struct miniport_client *client,
				  uint32_t seat)
{
	ddi_innermost = NULL;
	gate_leave_from(&miniport->level_gate, seat);
	lock_release(&client->entry);
}

SPECIALIZED NTSTATUS ddi_leave_level_0(struct ddi_crossing *crossing, NTSTATUS status)
{
	if (UNLIKELY(!crossing->is_simple))
		return ddi_leave(crossing, status);
	nt_irql_expect_plain(ddi_infos[crossing->ddi].name);
	ddi_trace_end(crossing, status);
	ddi_leave_simply(crossing->miniport, crossing->client, crossing->seat);
	if (UNLIKELY(status != STATUS_SUCCESS || log_is_on(LOG_CALLS)))
		return ddi_level_0_judge(crossing, status);
	return STATUS_SUCCESS;
}

/* For a refusal of what the driver has just failed: ': "its last line"', or "". */
struct ddi_said {
	char text[208];
};
struct ddi_said ddi_said(void);

/* The status for an answer that no driver may give. */
#define STATUS_ILLEGAL_ANSWER STATUS_GRAPHICS_INVALID_DRIVER_MODEL

/* ---- entry.c: DriverEntry and DxgkInitialize ---- */

MUST_CHECK NTSTATUS entry_run(struct miniport *miniport);

/* What the driver, of info.wddm_version, is too old for is NULL from now on. */
void entry_forget_newer(struct miniport *miniport);

/* Refuses the driver when an entry point for `need` is missing that its version has. */
MUST_CHECK NTSTATUS entry_require(const struct miniport *miniport, enum ddi_need need);

/* ---- start.c ---- */

/* NULL: nobody verifies. */
extern const struct miniport_verifier *miniport_verifier __attribute__((visibility("hidden")));

/* ---- query.c ---- */

/* Before StartDevice, what WDDM 2.9 asks there. */
void query_before_start(struct miniport *miniport);

/* Everything the driver says about itself, judged, into miniport->info. */
MUST_CHECK NTSTATUS query_everything(struct miniport *miniport);

/* ---- callbacks.c ---- */

/* Makes miniport->interface, and from now on callbacks find the miniport by its handle. */
MUST_CHECK NTSTATUS callbacks_open(struct miniport *miniport);
void callbacks_close(struct miniport *miniport);

/* ---- interrupt.c ---- */

void interrupt_init(struct miniport *miniport);
void interrupt_finish(struct miniport *miniport);
void interrupt_connect(struct miniport *miniport);

/* When it returns no DPC runs and none will. What was not delivered is dropped. */
void interrupt_disconnect(struct miniport *miniport);

/* The DxgkCb functions of the same name, after their arguments were checked. */
bool interrupt_queue_dpc(struct miniport *miniport);
MUST_CHECK NTSTATUS interrupt_synchronize(struct miniport *miniport, PKSYNCHRONIZE_ROUTINE routine,
					  PVOID context, BOOLEAN *result_out);
void interrupt_notify(struct miniport *miniport, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
void interrupt_deliver(struct miniport *miniport);

/* ---- for work.h ---- */

/* mdl.c */
MDL *mdl_of(struct miniport_mdl *mdl);

/* paging.c: as a driver is told it, its base address included; as it is in system memory. */
uint64_t segment_address(const struct miniport *miniport, uint32_t segment, uint64_t offset_bytes);

/* False when a driver moved its pointer backwards, or further than there was room. */
MUST_CHECK bool pointer_moved(const void *start, const void *moved, uint64_t table_block_bytes,
			      uint32_t *bytes_out);

/* submission.c: hContext, or hDevice, of a submission; NULL where the node has to do. */
struct miniport_submission;
void *submission_handle(const struct miniport *miniport,
			const struct miniport_submission *submission);

/* Which parts of its buffers a submission is, as all entry points that get one are told. */
#define SUBMITTED_RANGES(submission)                                                               \
	.DmaBufferSubmissionStartOffset = (submission)->start_bytes,                               \
	.DmaBufferSubmissionEndOffset = (submission)->end_bytes,                                   \
	.pDmaBufferPrivateData = (submission)->private_data,                                       \
	.DmaBufferPrivateDataSize = (submission)->private_bytes,                                   \
	.DmaBufferPrivateDataSubmissionStartOffset = (submission)->private_start_bytes,            \
	.DmaBufferPrivateDataSubmissionEndOffset = (submission)->private_end_bytes

/* STATUS_DRIVER_INTERNAL_ERROR, reported and refused: "DxgkDdiRender moved …". */
NTSTATUS driver_mistake(enum rule rule, const char *entry, const char *what);

/* A driver that is not MultiEngineAware knows devices only, and gets them in place of contexts. */
static inline void *context_handle(const struct miniport *miniport, void *context, void *device)
{
	return miniport->info.is_multi_engine_aware ? context : device;
}

/* ---- wrappers.c ---- */

/* As miniport_create_device() and its kin, for the kernel itself. */
MUST_CHECK NTSTATUS system_objects_create(struct miniport *miniport);
void system_objects_destroy(struct miniport *miniport);

/*
 * DxgkDdiQueryAdapterInfo. `what` names the type in refusals; a driver may fail an optional one and
 * the status is all there is to it.
 */
struct query {
	DXGK_QUERYADAPTERINFOTYPE type;
	const char *what;
	bool is_optional;
	bool is_size_the_clients; /* of the output: the driver may want more */
	const void *input;
	uint32_t input_bytes;
	void *output; /* zeroed by the caller */
	uint32_t output_bytes;
};
MUST_CHECK NTSTATUS miniport_query(struct miniport *miniport, struct miniport_client *client,
				   const struct query *query);

#endif
