/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - a driver for a GPU that speaks softgpu.h: its objects, and which file does what with them.
 *
 * All that such drivers have in common is in this folder: what the kernel says and is told, and the
 * queues of engines. What differs, the memory and who executes a packet, is hardware: the functions
 * gpu_hw_…(), of which each driver brings its own (drivers/soft: the processor).
 *
 *	driver.c      DriverEntry: registry, registration
 *	settings.c    what the registry may say
 *	adapter.c     add, start, stop, remove
 *	caps.c        what we say about ourselves
 *	segments.c    the memory of the GPU, as the kernel is told of it
 *	page_table.c  entries, walks
 *	process.c, device.c, context.c, allocation.c
 *	              the kernel's objects, our side of them
 *	escape.c      private calls
 *	command.c     what is in a command buffer
 *	render.c      command buffers -> DMA buffers
 *	paging.c      paging operations -> DMA buffers
 *	windows.c     … where the hardware is told places instead of the kernel's own addresses
 *	engine.c      queues and threads
 *	recover.c     resets and what is asked around them
 *	interrupt.c   telling the kernel
 *	hw_queue.c    hardware queues, each an engine of its own
 *
 * Handles that the kernel brings back are checked by their first word before they are used.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "ntddk.h"
#include "dispmprt.h"
#include "opendxgk/softgpu.h"
#include "command.h"
#include "page_table.h"
#include "settings.h"

/* The name of the driver, as its lines begin. */
#ifndef GPU_DRIVER
#define GPU_DRIVER "gpu"
#endif

/* Says why, in a line that the kernel puts into its refusal; and is the status. */
#define gpu_refuse(status, format, ...)                                                            \
	(DbgPrint(GPU_DRIVER ": " format "\n", ##__VA_ARGS__), (status))

#define GPU_POOL_TAG 0x55504773u /* "sGPU" in a pool listing */

enum gpu_magic {
	GPU_MAGIC_ADAPTER = 0x61504773, /* "sGPa" and so on */
	GPU_MAGIC_PROCESS = 0x70504773,
	GPU_MAGIC_DEVICE = 0x64504773,
	GPU_MAGIC_CONTEXT = 0x63504773,
	GPU_MAGIC_HW_QUEUE = 0x71504773,
	GPU_MAGIC_RESOURCE = 0x72504773,
	GPU_MAGIC_ALLOCATION = 0x6c504773,
	GPU_MAGIC_OPENING = 0x6f504773,
	GPU_MAGIC_DEAD = 0x78504773,
};

enum {
	GPU_SEGMENT_COUNT = 2,
	GPU_PAGING_BUFFER_BYTES = 16384,
	GPU_DMA_BUFFER_BYTES = 65536,
	GPU_ALLOCATION_LIST_ENTRIES = 256,
	GPU_PATCH_LIST_ENTRIES = 512,
	GPU_PARTITION_BYTES = 256,
	GPU_MAX_REGISTERS = 32,
	GPU_MIN_PACKETS = 32, /* per engine, when the kernel names no number */
};

struct gpu_adapter;
struct gpu_context;
struct gpu_hw_queue;
struct gpu_windows;

/* Set while the adapter is started. Engines and entry points read it freely. */
struct gpu_memory {
	PVOID hardware; /* gpu_hw_…: where it really is */
	ULONGLONG local_bytes;
	BOOLEAN is_local_visible; /* to the CPU, at this address */
	PHYSICAL_ADDRESS local_physical;
	ULONGLONG aperture_pages;
	BOOLEAN has_64k_pages; /* local memory is managed in those */
	BOOLEAN knows_windows; /* paging commands name places, never the kernel's own addresses */
	/* What the CPU sees of local memory, if not all of it; 0: there is none. */
	ULONGLONG host_aperture_bytes;
	PHYSICAL_ADDRESS host_aperture_physical;
};

/* Which device configuration space says this is; zero when there is none. */
struct gpu_ids {
	USHORT vendor;
	USHORT device;
	UCHAR revision;
};

/* Why a packet could not go on. */
struct gpu_fault {
	NTSTATUS status; /* STATUS_ACCESS_VIOLATION, or what the decoder said */
	ULONGLONG address;
	BOOLEAN is_write;
	BOOLEAN is_page_fault; /* of a virtual address */
	ULONG level;
};

enum gpu_outcome {
	GPU_DONE,
	GPU_PREEMPTED,
	GPU_ABORTED,
	GPU_FAULTED,
	GPU_UNDER_WAY, /* it is not over */
	GPU_BUSY,      /* it has not begun: those under way have to be over first */
	GPU_CUT_OFF, /* it was under way behind one that was stopped: it has not begun, and will not */
};

/* Work for one engine. On the free list or the queue of its engine, or under way. */
struct gpu_packet {
	LIST_ENTRY link;
	struct gpu_context *context; /* NULL for paging that belongs to no context */
	ULONG fence;
	ULONGLONG progress; /* of a hardware queue, which has no fences */
	ULONG size_bytes;
	struct gpu_place buffer;
	ULONGLONG tag;           /* softgpu_submission.tag */
	ULONGLONG fence_address; /* of softgpu_fenced_submission; 0: there is none */
	ULONGLONG fence_value;
	BOOLEAN is_paging;
	BOOLEAN is_resubmission;
	BOOLEAN is_empty;   /* null rendering, context switches: only the fence matters */
	BOOLEAN is_refused; /* the kernel was told so at submission */

	/* The engine's thread alone, while it is under way. */
	enum gpu_outcome outcome;
	struct gpu_fault fault; /* with GPU_FAULTED */
};

/* One engine is one thread. Lives in its adapter, or is a hardware queue. */
struct gpu_engine {
	/* Set at adapter start. */
	struct gpu_adapter *adapter;
	ULONG node;
	struct gpu_hw_queue *hw_queue; /* whose it is; NULL: the node's */

	/* Guarded by gpu_adapter.start_lock. */
	PVOID thread;   /* a KTHREAD, referenced; NULL until a context needs the engine */
	PVOID hardware; /* gpu_hw_engine_start() */
	ULONG looks;    /* for work before the thread sleeps: worth it where packets are short */

	/* Guarded by lock, taken at up to DISPATCH_LEVEL. */
	KSPIN_LOCK lock;
	LIST_ENTRY queue;
	LIST_ENTRY free;
	LIST_ENTRY under_way; /* oldest first; they end in this order */
	ULONG last_submitted_fence;
	ULONG last_completed_fence;
	ULONG last_aborted_fence;
	ULONG preemption_fence;
	BOOLEAN is_preemption_pending;
	BOOLEAN is_reset_pending;
	BOOLEAN is_stop_pending;
	BOOLEAN is_halted;  /* between ResetFromTimeout and RestartFromTimeout */
	BOOLEAN is_stalled; /* hung or faulted: waits for a reset */

	/* What packets under way have to look at; GPU_ATTENTION_*. Interlocked. */
	volatile LONG attention;
	volatile LONG queued; /* length of `queue`; a look without the lock */

	/* The thread alone. */
	BOOLEAN is_full;      /* takes nothing before one is over */
	BOOLEAN is_next_over; /* says gpu_hw_reap(): the next one is done, too, and is told of with it */
	BOOLEAN has_untold; /* a packet that was done, of which the kernel is told with the next: */
	ULONG untold_fence;
	ULONGLONG untold_progress;

	/* Since the adapter started. Interlocked. */
	volatile LONG64 packets_completed;
	volatile LONG64 bytes_written;
	volatile LONG64 entries_written;

	/* For SOFTGPU_ESCAPE_GET_TIMES, where the hardware takes times. Interlocked. */
	struct gpu_times {
		volatile LONG64 packets;
		volatile LONG64 under_way_ns;
		volatile LONG64 busy_ns;
		volatile LONG64 looks;
		volatile LONG64 look_ns;
	} times;

	KEVENT work;       /* the queue has something */
	KEVENT control;    /* `attention` has something */
	KEVENT reset_done; /* the thread has seen is_reset_pending */
	struct gpu_packet *packets;
};

#define GPU_ATTENTION_PREEMPT 1
#define GPU_ATTENTION_ABORT   2 /* reset or stop */

/*
 * One per loaded image: made by AddDevice, freed by RemoveDevice. The address is the kernel's
 * handle for us in every call.
 */
struct gpu_adapter {
	ULONG magic;

	/* Set by AddDevice. */
	struct gpu_settings settings;
	ULONG node_count;

	/* Set by StartDevice, cleared by StopDevice; the kernel lets nothing else in meanwhile. */
	BOOLEAN is_started;
	DXGKRNL_INTERFACE dxgk;
	struct gpu_memory memory;
	struct gpu_windows *windows; /* NULL: engines walk the kernel's own page tables, too */
	struct gpu_ids ids;

	KMUTEX start_lock; /* one thread at a time starts engines; leaves us at PASSIVE_LEVEL */
	struct gpu_engine engines[SOFTGPU_MAX_NODES];

	KMUTEX hw_lock;       /* likewise, for hardware queues */
	LIST_ENTRY hw_queues; /* gpu_hw_queue.link */

	/* Interlocked; what is not zero at the end was leaked. */
	volatile LONG live_processes;
	volatile LONG live_devices;
	volatile LONG live_contexts;
	volatile LONG live_resources;
	volatile LONG live_allocations;
	volatile LONG64 granted_bytes; /* with SOFTGPU_COMMANDS_INTEL */

	KMUTEX devices_lock;
	LIST_ENTRY devices; /* gpu_device.link */

	volatile LONG64 packets_completed;
	volatile LONG64 packets_preempted;
	volatile LONG64 packets_faulted;
	volatile LONG64 engine_resets;
	volatile LONG packets_ended; /* counts for a defect */
	volatile LONG is_timed;      /* somebody has asked for times */
};

struct gpu_process {
	ULONG magic;
	BOOLEAN is_system;
	/* How it divides its addresses, in words of its own; guarded by gpu_adapter.devices_lock. */
	BOOLEAN has_partition;
	UCHAR partition[GPU_PARTITION_BYTES];
	struct gpu_adapter *adapter;
	HANDLE kernel_process;
	volatile LONG live_devices;
	PVOID hardware; /* gpu_hw_module_load() */
};

struct gpu_device {
	ULONG magic;
	BOOLEAN is_system;
	struct gpu_adapter *adapter;
	struct gpu_process *process; /* NULL where the kernel makes none */
	HANDLE kernel_device;
	volatile LONG live_contexts;
	volatile LONG live_openings; /* written by one thread at a time: its process's in here */
	LIST_ENTRY link;             /* guarded by gpu_adapter.devices_lock */
};

/* Where a preempted packet goes on when it comes back. */
struct gpu_resume {
	BOOLEAN is_valid;
	ULONG offset;       /* of the command in its buffer */
	ULONGLONG progress; /* bytes, or 100 ns units, of that command */
	/* Of a stream that goes from buffer to buffer instead. */
	ULONGLONG address;
	ULONGLONG return_address; /* of the buffer that called this one; 0: none did */
};

/* Registers of the command streamer that were loaded; the others read zero. */
struct gpu_registers {
	ULONG count;
	struct gpu_register {
		ULONG offset;
		ULONG value;
	} loaded[GPU_MAX_REGISTERS];
};

struct gpu_context {
	ULONG magic;

	/* Set at creation. */
	ULONG node;
	BOOLEAN is_system;
	BOOLEAN is_virtual;
	BOOLEAN has_hw_queues; /* it is a hardware context, or stands in for one */
	BOOLEAN ignores_preemption;
	struct gpu_device *device;
	HANDLE kernel_context;

	/* Written while the context is idle (SetRootPageTable), read by its engine. */
	struct gpu_root root;

	/* The engine's thread alone. */
	struct gpu_resume resume;
	struct gpu_registers registers; /* with SOFTGPU_COMMANDS_INTEL */
};

/* Its packets are in its own engine. */
struct gpu_hw_queue {
	ULONG magic;

	/* Set at creation. */
	struct gpu_context *context;
	volatile LONG64 *fence; /* progress, as the kernel and its client read it */
	struct gpu_engine engine;

	/* Guarded by gpu_adapter.hw_lock. */
	LIST_ENTRY link;
	BOOLEAN is_hit; /* by the reset under way */
};

struct gpu_resource {
	ULONG magic;
	volatile LONG live_allocations;
};

struct gpu_opening {
	ULONG magic;
	BOOLEAN is_read_only;
	struct gpu_allocation *allocation;
	struct gpu_device *device;
};

struct gpu_allocation {
	ULONG magic;
	ULONG flags; /* SOFTGPU_* */
	ULONGLONG size_bytes;
	struct gpu_resource *resource;
	struct gpu_opening first;          /* of the device that made it */
	volatile LONG live_other_openings; /* interlocked */
	/* Zero for plain memory. */
	ULONG width;
	ULONG height;
	ULONG format;
};

/* Checked casts from what the kernel hands in; NULL when it is something else. */
struct gpu_adapter *gpu_adapter_from(HANDLE handle);
struct gpu_process *gpu_process_from(HANDLE handle);
struct gpu_device *gpu_device_from(HANDLE handle);
LONG gpu_count_openings(struct gpu_adapter *adapter);
struct gpu_context *gpu_context_from(HANDLE handle);
struct gpu_hw_queue *gpu_hw_queue_from(HANDLE handle);
struct gpu_opening *gpu_opening_from(HANDLE handle);

/* Entries of page tables and of the aperture, while others may be looking. */
static __inline__ ULONGLONG gpu_entry_load(const volatile VOID *entry)
{
	return (ULONGLONG)(ULONG_PTR)ReadPointerAcquire((PVOID const volatile *)entry);
}

static __inline__ void gpu_entry_store(volatile VOID *entry, ULONGLONG value)
{
	WritePointerRelease((PVOID volatile *)entry, (PVOID)(ULONG_PTR)value);
}

PVOID gpu_pool_allocate(POOL_TYPE type, SIZE_T size_bytes); /* zeroed */
void gpu_pool_free(PVOID memory);

/* adapter.c */
DXGKDDI_ADD_DEVICE gpu_add_device;
DXGKDDI_START_DEVICE gpu_start_device;
DXGKDDI_STOP_DEVICE gpu_stop_device;
DXGKDDI_REMOVE_DEVICE gpu_remove_device;
DXGKDDI_UNLOAD gpu_unload;
DXGKDDI_DISPATCH_IO_REQUEST gpu_dispatch_io_request;
DXGKDDI_QUERY_CHILD_RELATIONS gpu_query_child_relations;
DXGKDDI_QUERY_CHILD_STATUS gpu_query_child_status;
DXGKDDI_QUERY_DEVICE_DESCRIPTOR gpu_query_device_descriptor;
DXGKDDI_SET_POWER_STATE gpu_set_power_state;
DXGKDDI_NOTIFY_ACPI_EVENT gpu_notify_acpi_event;
DXGKDDI_RESET_DEVICE gpu_reset_device;
DXGKDDI_QUERY_INTERFACE gpu_query_interface;
DXGKDDI_CONTROL_ETW_LOGGING gpu_control_etw_logging;

/* driver.c: read by DriverEntry, before there is an adapter. */
const struct gpu_settings *gpu_driver_settings(void);

/* caps.c */
DXGKDDI_QUERYADAPTERINFO gpu_query_adapter_info;
DXGKDDI_GETNODEMETADATA gpu_get_node_metadata;
DXGKDDI_CALIBRATEGPUCLOCK gpu_calibrate_gpu_clock;
void gpu_caps_driver(const struct gpu_settings *settings, DXGK_DRIVERCAPS *caps_out);
void gpu_caps_gpummu(const struct gpu_settings *settings, DXGK_GPUMMUCAPS *caps_out);
NTSTATUS gpu_caps_level(const struct gpu_settings *settings, ULONG level,
			DXGK_PAGE_TABLE_LEVEL_DESC *desc_out);
void gpu_caps_adapter_info(const struct gpu_settings *settings,
			   struct softgpu_adapter_info *info_out);

/* segments.c */
NTSTATUS gpu_memory_describe(const struct gpu_memory *memory, DXGK_QUERYSEGMENTOUT4 *out);
/* A GPU physical address -> segment and offset. FALSE when nothing is there. */
BOOLEAN gpu_memory_decode(const struct gpu_memory *memory, ULONGLONG address,
			  struct gpu_place *place_out);

/* process.c, device.c, context.c */
DXGKDDI_CREATEPROCESS gpu_create_process;
DXGKDDI_DESTROYPROCESS gpu_destroy_process;
DXGKDDI_CREATEDEVICE gpu_create_device;
DXGKDDI_DESTROYDEVICE gpu_destroy_device;
DXGKDDI_CREATECONTEXT gpu_create_context;
DXGKDDI_DESTROYCONTEXT gpu_destroy_context;
DXGKDDI_SETROOTPAGETABLE gpu_set_root_page_table;
DXGKDDI_GETROOTPAGETABLESIZE gpu_get_root_page_table_size;

/* hw_queue.c */
DXGKDDI_CREATEHWCONTEXT gpu_create_hw_context;
DXGKDDI_DESTROYHWCONTEXT gpu_destroy_hw_context;
DXGKDDI_CREATEHWQUEUE gpu_create_hw_queue;
DXGKDDI_DESTROYHWQUEUE gpu_destroy_hw_queue;
DXGKDDI_SUBMITCOMMANDTOHWQUEUE gpu_submit_command_to_hw_queue;
DXGKDDI_RESETHWENGINE gpu_reset_hw_engine;
DXGKDDI_RESUMEHWENGINE gpu_resume_hw_engine;
void gpu_hw_queue_completed(struct gpu_hw_queue *queue, ULONGLONG progress);
void gpu_hw_queues_reset(struct gpu_adapter *adapter);
void gpu_hw_queues_restart(struct gpu_adapter *adapter);

/* allocation.c, standard.c */
DXGKDDI_CREATEALLOCATION gpu_create_allocation;
DXGKDDI_DESTROYALLOCATION gpu_destroy_allocation;
DXGKDDI_DESCRIBEALLOCATION gpu_describe_allocation;
DXGKDDI_GETSTANDARDALLOCATIONDRIVERDATA gpu_get_standard_allocation_driver_data;
DXGKDDI_OPENALLOCATIONINFO gpu_open_allocation;
DXGKDDI_CLOSEALLOCATION gpu_close_allocation;

/* escape.c */
DXGKDDI_ESCAPE gpu_escape;

/* render.c, paging.c */
DXGKDDI_RENDER gpu_render;
DXGKDDI_PATCH gpu_patch;
DXGKDDI_BUILDPAGINGBUFFER gpu_build_paging_buffer;

/* windows.c. Does nothing where the hardware does not want it. */
NTSTATUS gpu_windows_start(struct gpu_adapter *adapter);
void gpu_windows_stop(struct gpu_adapter *adapter);
/* Entries of leaf tables of the kernel's own process. One at a time. */
NTSTATUS gpu_windows_note(struct gpu_windows *windows,
			  const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update);
/* How far pages in a row go on from there, at most `wanted` bytes. FALSE: it shows nothing. */
BOOLEAN gpu_windows_find(const struct gpu_windows *windows, ULONGLONG address, ULONGLONG wanted,
			 BOOLEAN is_write, struct gpu_place *place_out, ULONGLONG *size_out);

/* engine.c */
DXGKDDI_SUBMITCOMMAND gpu_submit_command;
DXGKDDI_SUBMITCOMMANDVIRTUAL gpu_submit_command_virtual;
DXGKDDI_PREEMPTCOMMAND gpu_preempt_command;
NTSTATUS gpu_engine_init(struct gpu_engine *engine, struct gpu_adapter *adapter, ULONG node,
			 ULONG packet_count);
NTSTATUS gpu_engine_start(struct gpu_engine *engine); /* PASSIVE_LEVEL; again is harmless */
void gpu_engine_finish(struct gpu_engine *engine);    /* waits for the thread */
NTSTATUS gpu_engine_submit(struct gpu_engine *engine, const struct gpu_packet *work);
/* Ends what runs and forgets what is queued; returns the fence of what ran last. */
ULONG gpu_engine_reset(struct gpu_engine *engine);
struct gpu_engine *gpu_engine_from(HANDLE adapter, ULONG node, ULONG engine_ordinal);

/* `ask_to_stop` is for a thread that was made and cannot be kept. */
NTSTATUS gpu_thread_create(PKSTART_ROUTINE routine, void (*ask_to_stop)(PVOID context),
			   PVOID context, PVOID *thread_out);

/*
 * ---- hardware: each driver has its own ----
 */

/* What the registry says when it says nothing; and what this hardware cannot be (settings.h). */
void gpu_hw_settings_init(struct gpu_settings *settings);
NTSTATUS gpu_hw_settings_check(const struct gpu_settings *settings, PCSTR *problem_out);
/* Entry points that only this hardware has. */
void gpu_hw_register(const struct gpu_settings *settings, DRIVER_INITIALIZATION_DATA *data);

/* Fills in `memory`, and in `settings` what only the hardware knows. PASSIVE_LEVEL. */
NTSTATUS gpu_hw_memory_start(struct gpu_memory *memory, struct gpu_settings *settings);
void gpu_hw_memory_stop(struct gpu_memory *memory);
/* All that is in local memory is something else now. With every engine at rest. */
void gpu_hw_memory_lose(struct gpu_memory *memory);
/* One bit of each page is wrong now, for GPU_DEFECT_WRONG_BYTES. */
void gpu_hw_memory_spoil(struct gpu_memory *memory);

/* What an engine needs beside its thread; again is harmless. The thread has ended at the finish. */
NTSTATUS gpu_hw_engine_start(struct gpu_engine *engine);
void gpu_hw_engine_finish(struct gpu_engine *engine);

/*
 * Begins a packet, on the engine's thread at PASSIVE_LEVEL; others of the engine may be under way.
 * GPU_UNDER_WAY: gpu_hw_reap() tells how it ends. GPU_BUSY: not before the others are over.
 */
enum gpu_outcome gpu_hw_execute(struct gpu_engine *engine, struct gpu_packet *packet,
				struct gpu_fault *fault_out);
/*
 * How the oldest one ended that is under way. Waits until it has, or until gpu_engine_has_news():
 * GPU_UNDER_WAY then. Nothing of one that has ended touches memory. May say gpu_engine.is_next_over.
 */
enum gpu_outcome gpu_hw_reap(struct gpu_engine *engine, struct gpu_packet *packet,
			     struct gpu_fault *fault_out);

/*
 * Kernels that a client has brought, for SOFTGPU_DISPATCH. PASSIVE_LEVEL, on threads of clients; what a
 * process has loaded ends with it.
 */
NTSTATUS gpu_hw_module_load(struct gpu_process *process, PCSTR image, ULONG image_bytes,
			    ULONG *module_out);
NTSTATUS gpu_hw_module_unload(struct gpu_process *process, ULONG module);
NTSTATUS gpu_hw_kernel_find(struct gpu_process *process, ULONG module, PCSTR name,
			    ULONG *kernel_out);
void gpu_hw_process_finish(struct gpu_process *process);

/* After a reset of the adapter, with every engine at rest: what was lost works again. */
NTSTATUS gpu_hw_restart(struct gpu_memory *memory);
/* Can the engine go on after a reset of it alone? */
BOOLEAN gpu_hw_engine_is_alive(const struct gpu_engine *engine);

/* A hung or faulted engine answers to nothing but a reset, or the end. */
void gpu_engine_set_stalled(struct gpu_engine *engine, BOOLEAN is_stalled);
void gpu_engine_wait_for_abort(struct gpu_engine *engine);

/* For who waits in gpu_hw_reap(): the thread has something else to do meanwhile. */
BOOLEAN gpu_engine_has_news(const struct gpu_engine *engine);

/* What was asked of the engine meanwhile: GPU_DONE for nothing. */
enum gpu_outcome gpu_check_attention(struct gpu_engine *engine, const struct gpu_packet *packet);

/* interrupt.c */
DXGKDDI_INTERRUPT_ROUTINE gpu_interrupt_routine;
DXGKDDI_DPC_ROUTINE gpu_dpc_routine;
void gpu_notify_completed(struct gpu_engine *engine, ULONG fence);
void gpu_notify_fence_written(struct gpu_engine *engine);
void gpu_notify_preempted(struct gpu_engine *engine, ULONG preemption_fence,
			  ULONG last_completed_fence);
void gpu_notify_faulted(struct gpu_engine *engine, const struct gpu_packet *packet,
			const struct gpu_fault *fault);

/* recover.c */
DXGKDDI_RESETENGINE gpu_reset_engine;
DXGKDDI_RESETFROMTIMEOUT gpu_reset_from_timeout;
DXGKDDI_NOTIFY_SURPRISE_REMOVAL gpu_notify_surprise_removal;
DXGKDDI_RESTARTFROMTIMEOUT gpu_restart_from_timeout;
DXGKDDI_QUERYDEPENDENTENGINEGROUP gpu_query_dependent_engine_group;
DXGKDDI_QUERYENGINESTATUS gpu_query_engine_status;
DXGKDDI_QUERYCURRENTFENCE gpu_query_current_fence;
DXGKDDI_COLLECTDBGINFO gpu_collect_dbg_info;

#endif
