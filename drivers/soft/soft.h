/* SPDX-License-Identifier: MIT */
/*
 * soft.h - the objects of the software GPU driver, and which file does what with them.
 *
 *	driver.c      DriverEntry: registry, registration
 *	settings.c    what the registry may say
 *	adapter.c     add, start, stop, remove
 *	caps.c        what we say about ourselves
 *	segments.c    the memory of the GPU
 *	page_table.c  entries, walks
 *	process.c, device.c, context.c, allocation.c
 *	              the kernel's objects, our side of them
 *	escape.c      private calls
 *	command.c     what is in a command buffer
 *	render.c      command buffers -> DMA buffers
 *	paging.c      paging operations -> DMA buffers
 *	engine.c      queues and threads
 *	execute.c     what a thread does with one packet
 *	reach.c       … how it finds memory
 *	transfer.c    … how it moves much of it, with others
 *	stream.c      … past the cache
 *	recover.c     resets and what is asked around them
 *	interrupt.c   telling the kernel
 *	hw_queue.c    hardware queues, each an engine of its own
 *
 * Handles that the kernel brings back are checked by their first word before they are used.
 */
#ifndef SOFT_SOFT_H
#define SOFT_SOFT_H

#include "ntddk.h"
#include "dispmprt.h"
#include "opendxgk/softgpu.h"
#include "command.h"
#include "page_table.h"
#include "settings.h"
#include "stream.h"

/* Says why, in a line that the kernel puts into its refusal; and is the status. */
#define soft_refuse(status, format, ...) (DbgPrint("soft: " format "\n", ##__VA_ARGS__), (status))

#define SOFT_POOL_TAG 0x55504773u /* "sGPU" in a pool listing */

enum soft_magic {
	SOFT_MAGIC_ADAPTER = 0x61504773, /* "sGPa" and so on */
	SOFT_MAGIC_PROCESS = 0x70504773,
	SOFT_MAGIC_DEVICE = 0x64504773,
	SOFT_MAGIC_CONTEXT = 0x63504773,
	SOFT_MAGIC_HW_QUEUE = 0x71504773,
	SOFT_MAGIC_RESOURCE = 0x72504773,
	SOFT_MAGIC_ALLOCATION = 0x6c504773,
	SOFT_MAGIC_OPENING = 0x6f504773,
	SOFT_MAGIC_DEAD = 0x78504773,
};

enum {
	SOFT_SEGMENT_COUNT = 2,
	SOFT_PAGING_BUFFER_BYTES = 16384,
	SOFT_DMA_BUFFER_BYTES = 65536,
	SOFT_ALLOCATION_LIST_ENTRIES = 256,
	SOFT_PATCH_LIST_ENTRIES = 512,
	SOFT_MIN_PACKETS = 32, /* per engine, when the kernel names no number */
	SOFT_MAX_LANES = 3,    /* one less than there can be copy engines */
};

/* The GPU's own view of its memory. Neither starts at zero, so that a forgotten base is noticed. */
#define SOFT_LOCAL_BASE    0x1000000000ULL
#define SOFT_APERTURE_BASE 0x2000000000ULL

struct soft_adapter;
struct soft_context;
struct soft_hw_queue;

/* A piece of memory an engine can touch. */
struct soft_window {
	PUCHAR bytes; /* NULL: reads as zeroes, drops writes */
	ULONGLONG size_bytes;
	BOOLEAN is_mapped; /* to be unmapped by soft_window_close() */
};

/* Set while the adapter is started. Engines and entry points read it freely. */
struct soft_memory {
	PUCHAR local;
	ULONGLONG local_bytes;
	PHYSICAL_ADDRESS local_physical;
	/* One entry per aperture page: physical address | 1, or 0 for none. Written by the paging
	 * engine, each with one store. */
	ULONGLONG *aperture;
	ULONGLONG aperture_pages;
	BOOLEAN has_64k_pages; /* local memory is managed in those */
	/* What the CPU sees of local memory, if not all of it (host_aperture.c). */
	PUCHAR host_aperture; /* its addresses; NULL: there is none */
	ULONGLONG host_aperture_bytes;
	PHYSICAL_ADDRESS host_aperture_physical;
};

/* Work for one engine. On the free list or the queue of its engine, or running. */
struct soft_packet {
	LIST_ENTRY link;
	struct soft_context *context; /* NULL for paging that belongs to no context */
	ULONG fence;
	ULONGLONG progress; /* of a hardware queue, which has no fences */
	ULONG size_bytes;
	struct soft_place buffer;
	ULONGLONG tag; /* softgpu_submission.tag */
	BOOLEAN is_paging;
	BOOLEAN is_resubmission;
	BOOLEAN is_empty;   /* null rendering, context switches: only the fence matters */
	BOOLEAN is_refused; /* the kernel was told so at submission */
};

struct soft_transfer_work;

/* A thread that lends the paging engine a hand with long transfers. */
struct soft_lane {
	PVOID thread; /* a KTHREAD, referenced */
	KEVENT called;
	KEVENT done;
	volatile LONG is_stop_pending;
	volatile LONG state;
	struct soft_transfer_work *work; /* set before it is called */
};

/* One engine is one thread, and its lanes. Lives in its adapter, or is a hardware queue. */
struct soft_engine {
	/* Set at adapter start. */
	struct soft_adapter *adapter;
	ULONG node;
	struct soft_hw_queue *hw_queue; /* whose it is; NULL: the node's */
	ULONG lanes_wanted;

	/* Guarded by soft_adapter.start_lock. */
	PVOID thread; /* a KTHREAD, referenced; NULL until a context needs the engine */
	ULONG lane_count;
	struct soft_lane lanes[SOFT_MAX_LANES];

	/* Guarded by lock, taken at up to DISPATCH_LEVEL. */
	KSPIN_LOCK lock;
	LIST_ENTRY queue;
	LIST_ENTRY free;
	struct soft_packet *running;
	ULONG last_submitted_fence;
	ULONG last_completed_fence;
	ULONG last_aborted_fence;
	ULONG preemption_fence;
	BOOLEAN is_preemption_pending;
	BOOLEAN is_reset_pending;
	BOOLEAN is_stop_pending;
	BOOLEAN is_halted;  /* between ResetFromTimeout and RestartFromTimeout */
	BOOLEAN is_stalled; /* hung or faulted: waits for a reset */

	/* What the packet in progress has to look at; SOFT_ATTENTION_*. Interlocked. */
	volatile LONG attention;

	/* Since the adapter started. Interlocked. */
	volatile LONG64 packets_completed;
	volatile LONG64 bytes_written;
	volatile LONG64 entries_written;

	KEVENT work;       /* the queue has something */
	KEVENT control;    /* `attention` has something */
	KEVENT reset_done; /* the thread has seen is_reset_pending */
	struct soft_packet *packets;
};

#define SOFT_ATTENTION_PREEMPT 1
#define SOFT_ATTENTION_ABORT   2 /* reset or stop */

/*
 * One per loaded image: made by AddDevice, freed by RemoveDevice. The address is the kernel's
 * handle for us in every call.
 */
struct soft_adapter {
	ULONG magic;

	/* Set by AddDevice. */
	struct soft_settings settings;
	ULONG node_count;

	/* Set by StartDevice, cleared by StopDevice; the kernel lets nothing else in meanwhile. */
	BOOLEAN is_started;
	DXGKRNL_INTERFACE dxgk;
	struct soft_memory memory;

	KMUTEX start_lock; /* one thread at a time starts engines; leaves us at PASSIVE_LEVEL */
	struct soft_engine engines[SOFTGPU_MAX_NODES];

	KMUTEX hw_lock;       /* likewise, for hardware queues */
	LIST_ENTRY hw_queues; /* soft_hw_queue.link */

	/* Interlocked; what is not zero at the end was leaked. */
	volatile LONG live_processes;
	volatile LONG live_devices;
	volatile LONG live_contexts;
	volatile LONG live_resources;
	volatile LONG live_allocations;

	KMUTEX devices_lock;
	LIST_ENTRY devices; /* soft_device.link */

	volatile LONG64 packets_completed;
	volatile LONG64 packets_preempted;
	volatile LONG64 packets_faulted;
	volatile LONG64 engine_resets;
	volatile LONG packets_ended; /* counts for a defect */
};

struct soft_process {
	ULONG magic;
	BOOLEAN is_system;
	struct soft_adapter *adapter;
	HANDLE kernel_process;
	volatile LONG live_devices;
};

struct soft_device {
	ULONG magic;
	BOOLEAN is_system;
	struct soft_adapter *adapter;
	struct soft_process *process; /* NULL where the kernel makes none */
	HANDLE kernel_device;
	volatile LONG live_contexts;
	volatile LONG live_openings; /* written by one thread at a time: its process's in here */
	LIST_ENTRY link;             /* guarded by soft_adapter.devices_lock */
};

/* Where a preempted packet goes on when it comes back. */
struct soft_resume {
	BOOLEAN is_valid;
	ULONG offset;       /* of the command in its buffer */
	ULONGLONG progress; /* bytes, or 100 ns units, of that command */
};

struct soft_context {
	ULONG magic;

	/* Set at creation. */
	ULONG node;
	BOOLEAN is_system;
	BOOLEAN is_virtual;
	BOOLEAN has_hw_queues; /* it is a hardware context, or stands in for one */
	BOOLEAN ignores_preemption;
	struct soft_device *device;
	HANDLE kernel_context;

	/* Written while the context is idle (SetRootPageTable), read by its engine. */
	struct soft_root root;

	/* The engine's thread alone. */
	struct soft_resume resume;
};

/* Its packets are in its own engine. */
struct soft_hw_queue {
	ULONG magic;

	/* Set at creation. */
	struct soft_context *context;
	volatile LONG64 *fence; /* progress, as the kernel and its client read it */
	struct soft_engine engine;

	/* Guarded by soft_adapter.hw_lock. */
	LIST_ENTRY link;
	BOOLEAN is_hit; /* by the reset under way */
};

struct soft_resource {
	ULONG magic;
	volatile LONG live_allocations;
};

struct soft_opening {
	ULONG magic;
	BOOLEAN is_read_only;
	struct soft_allocation *allocation;
	struct soft_device *device;
};

struct soft_allocation {
	ULONG magic;
	ULONG flags; /* SOFTGPU_* */
	ULONGLONG size_bytes;
	struct soft_resource *resource;
	struct soft_opening first;         /* of the device that made it */
	volatile LONG live_other_openings; /* interlocked */
	/* Zero for plain memory. */
	ULONG width;
	ULONG height;
	ULONG format;
};

/* Why a packet could not go on. */
struct soft_fault {
	NTSTATUS status; /* STATUS_ACCESS_VIOLATION, or what the decoder said */
	ULONGLONG address;
	BOOLEAN is_write;
	BOOLEAN is_page_fault; /* of a virtual address */
	ULONG level;
};

enum soft_outcome { SOFT_DONE, SOFT_PREEMPTED, SOFT_ABORTED, SOFT_FAULTED };

/* Checked casts from what the kernel hands in; NULL when it is something else. */
struct soft_adapter *soft_adapter_from(HANDLE handle);
struct soft_process *soft_process_from(HANDLE handle);
struct soft_device *soft_device_from(HANDLE handle);
LONG soft_count_openings(struct soft_adapter *adapter);
struct soft_context *soft_context_from(HANDLE handle);
struct soft_hw_queue *soft_hw_queue_from(HANDLE handle);
struct soft_opening *soft_opening_from(HANDLE handle);

/* Entries of page tables and of the aperture, while others may be looking. */
static __inline__ ULONGLONG soft_entry_load(const volatile VOID *entry)
{
	return (ULONGLONG)(ULONG_PTR)ReadPointerAcquire((PVOID const volatile *)entry);
}

static __inline__ void soft_entry_store(volatile VOID *entry, ULONGLONG value)
{
	WritePointerRelease((PVOID volatile *)entry, (PVOID)(ULONG_PTR)value);
}

PVOID soft_pool_allocate(POOL_TYPE type, SIZE_T size_bytes); /* zeroed */
void soft_pool_free(PVOID memory);

/* adapter.c */
DXGKDDI_ADD_DEVICE soft_add_device;
DXGKDDI_START_DEVICE soft_start_device;
DXGKDDI_STOP_DEVICE soft_stop_device;
DXGKDDI_REMOVE_DEVICE soft_remove_device;
DXGKDDI_UNLOAD soft_unload;
DXGKDDI_DISPATCH_IO_REQUEST soft_dispatch_io_request;
DXGKDDI_QUERY_CHILD_RELATIONS soft_query_child_relations;
DXGKDDI_QUERY_CHILD_STATUS soft_query_child_status;
DXGKDDI_QUERY_DEVICE_DESCRIPTOR soft_query_device_descriptor;
DXGKDDI_SET_POWER_STATE soft_set_power_state;
DXGKDDI_NOTIFY_ACPI_EVENT soft_notify_acpi_event;
DXGKDDI_RESET_DEVICE soft_reset_device;
DXGKDDI_QUERY_INTERFACE soft_query_interface;
DXGKDDI_CONTROL_ETW_LOGGING soft_control_etw_logging;

/* driver.c: read by DriverEntry, before there is an adapter. */
const struct soft_settings *soft_driver_settings(void);

/* caps.c */
DXGKDDI_QUERYADAPTERINFO soft_query_adapter_info;
DXGKDDI_GETNODEMETADATA soft_get_node_metadata;
DXGKDDI_CALIBRATEGPUCLOCK soft_calibrate_gpu_clock;
void soft_caps_driver(const struct soft_settings *settings, DXGK_DRIVERCAPS *caps_out);
void soft_caps_gpummu(const struct soft_settings *settings, DXGK_GPUMMUCAPS *caps_out);
NTSTATUS soft_caps_level(const struct soft_settings *settings, ULONG level,
			 DXGK_PAGE_TABLE_LEVEL_DESC *desc_out);
void soft_caps_adapter_info(const struct soft_settings *settings,
			    struct softgpu_adapter_info *info_out);

/* host_aperture.c */
NTSTATUS soft_host_aperture_start(struct soft_memory *memory, const struct soft_settings *settings);
void soft_host_aperture_stop(struct soft_memory *memory);
void soft_host_aperture_describe(const struct soft_memory *memory, DXGK_SEGMENTDESCRIPTOR4 *local);
NTSTATUS APIENTRY soft_map_cpu_host_aperture(IN_CONST_HANDLE hAdapter,
					     IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE pArgs);
NTSTATUS APIENTRY soft_unmap_cpu_host_aperture(IN_CONST_HANDLE hAdapter,
					       IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE pArgs);

/* segments.c */
NTSTATUS soft_memory_start(struct soft_memory *memory, const struct soft_settings *settings);
void soft_memory_stop(struct soft_memory *memory);
NTSTATUS soft_memory_describe(const struct soft_memory *memory, DXGK_QUERYSEGMENTOUT4 *out);
/* A GPU physical address -> segment and offset. FALSE when nothing is there. */
BOOLEAN soft_memory_decode(const struct soft_memory *memory, ULONGLONG address,
			   struct soft_place *place_out);
/* At most `wanted` bytes; fewer when the memory is not in one piece. FALSE when nothing is there.
 * PASSIVE_LEVEL. */
BOOLEAN soft_window_open(const struct soft_memory *memory, ULONG segment, ULONGLONG offset,
			 ULONGLONG wanted, struct soft_window *window_out);
void soft_window_close(struct soft_window *window);
soft_entry_reader soft_memory_read_entry; /* reader_context is a const struct soft_memory */

/* process.c, device.c, context.c */
DXGKDDI_CREATEPROCESS soft_create_process;
DXGKDDI_DESTROYPROCESS soft_destroy_process;
DXGKDDI_CREATEDEVICE soft_create_device;
DXGKDDI_DESTROYDEVICE soft_destroy_device;
DXGKDDI_CREATECONTEXT soft_create_context;
DXGKDDI_DESTROYCONTEXT soft_destroy_context;
DXGKDDI_SETROOTPAGETABLE soft_set_root_page_table;
DXGKDDI_GETROOTPAGETABLESIZE soft_get_root_page_table_size;

/* hw_queue.c */
DXGKDDI_CREATEHWCONTEXT soft_create_hw_context;
DXGKDDI_DESTROYHWCONTEXT soft_destroy_hw_context;
DXGKDDI_CREATEHWQUEUE soft_create_hw_queue;
DXGKDDI_DESTROYHWQUEUE soft_destroy_hw_queue;
DXGKDDI_SUBMITCOMMANDTOHWQUEUE soft_submit_command_to_hw_queue;
DXGKDDI_RESETHWENGINE soft_reset_hw_engine;
DXGKDDI_RESUMEHWENGINE soft_resume_hw_engine;
void soft_hw_queue_completed(struct soft_hw_queue *queue, ULONGLONG progress);
void soft_hw_queues_reset(struct soft_adapter *adapter);
void soft_hw_queues_restart(struct soft_adapter *adapter);

/* allocation.c, standard.c */
DXGKDDI_CREATEALLOCATION soft_create_allocation;
DXGKDDI_DESTROYALLOCATION soft_destroy_allocation;
DXGKDDI_DESCRIBEALLOCATION soft_describe_allocation;
DXGKDDI_GETSTANDARDALLOCATIONDRIVERDATA soft_get_standard_allocation_driver_data;
DXGKDDI_OPENALLOCATIONINFO soft_open_allocation;
DXGKDDI_CLOSEALLOCATION soft_close_allocation;

/* escape.c */
DXGKDDI_ESCAPE soft_escape;

/* render.c, paging.c */
DXGKDDI_RENDER soft_render;
DXGKDDI_PATCH soft_patch;
DXGKDDI_BUILDPAGINGBUFFER soft_build_paging_buffer;

/* engine.c */
DXGKDDI_SUBMITCOMMAND soft_submit_command;
DXGKDDI_SUBMITCOMMANDVIRTUAL soft_submit_command_virtual;
DXGKDDI_PREEMPTCOMMAND soft_preempt_command;
NTSTATUS soft_engine_init(struct soft_engine *engine, struct soft_adapter *adapter, ULONG node,
			  ULONG packet_count);
NTSTATUS soft_engine_start(struct soft_engine *engine); /* PASSIVE_LEVEL; again is harmless */
void soft_engine_finish(struct soft_engine *engine);    /* waits for the thread */
NTSTATUS soft_engine_submit(struct soft_engine *engine, const struct soft_packet *work);
/* Ends what runs and forgets what is queued; returns the fence of what ran last. */
ULONG soft_engine_reset(struct soft_engine *engine);
struct soft_engine *soft_engine_from(HANDLE adapter, ULONG node, ULONG engine_ordinal);

/* `ask_to_stop` is for a thread that was made and cannot be kept. */
NTSTATUS soft_thread_create(PKSTART_ROUTINE routine, void (*ask_to_stop)(PVOID context),
			    PVOID context, PVOID *thread_out);

/* reach.c: how an engine finds memory. */
struct soft_reach {
	const struct soft_adapter *adapter;
	struct soft_root root;
};
/* What is `offset` into the place: at most `wanted` bytes, fewer when they are not in a row. */
BOOLEAN soft_reach_open(const struct soft_reach *reach, const struct soft_place *place,
			ULONGLONG offset, ULONGLONG wanted, BOOLEAN is_write,
			struct soft_window *window_out, struct soft_fault *fault_out);

/* transfer.c: PASSIVE_LEVEL. */
struct soft_transfer {
	BOOLEAN is_fill;
	ULONG pattern;
	struct soft_place destination;
	struct soft_place source;
	ULONGLONG size_bytes;
};
/* What was asked of the engine meanwhile: SOFT_DONE for nothing. */
enum soft_outcome soft_check_attention(struct soft_engine *engine,
				       const struct soft_packet *packet);
/* From *progress on, which says afterwards how far it came. */
enum soft_outcome soft_transfer(struct soft_engine *engine, const struct soft_packet *packet,
				const struct soft_reach *reach,
				const struct soft_transfer *transfer, ULONGLONG *progress,
				struct soft_fault *fault_out);
NTSTATUS soft_lanes_start(struct soft_engine *engine); /* again is harmless */
void soft_lanes_finish(struct soft_engine *engine);

/* execute.c: the engine's thread, PASSIVE_LEVEL. */
enum soft_outcome soft_execute(struct soft_engine *engine, struct soft_packet *packet,
			       struct soft_fault *fault_out);

/* interrupt.c */
DXGKDDI_INTERRUPT_ROUTINE soft_interrupt_routine;
DXGKDDI_DPC_ROUTINE soft_dpc_routine;
void soft_notify_completed(struct soft_engine *engine, ULONG fence);
void soft_notify_fence_written(struct soft_engine *engine);
void soft_notify_preempted(struct soft_engine *engine, ULONG preemption_fence,
			   ULONG last_completed_fence);
void soft_notify_faulted(struct soft_engine *engine, const struct soft_packet *packet,
			 const struct soft_fault *fault);

/* recover.c */
DXGKDDI_RESETENGINE soft_reset_engine;
DXGKDDI_RESETFROMTIMEOUT soft_reset_from_timeout;
DXGKDDI_NOTIFY_SURPRISE_REMOVAL soft_notify_surprise_removal;
DXGKDDI_RESTARTFROMTIMEOUT soft_restart_from_timeout;
DXGKDDI_QUERYDEPENDENTENGINEGROUP soft_query_dependent_engine_group;
DXGKDDI_QUERYENGINESTATUS soft_query_engine_status;
DXGKDDI_QUERYCURRENTFENCE soft_query_current_fence;
DXGKDDI_COLLECTDBGINFO soft_collect_dbg_info;

#endif
