/* SPDX-License-Identifier: MIT */
/*
 * miniport.h - a display miniport driver, as the rest of the kernel sees it.
 *
 * Loading one runs DriverEntry, AddDevice, StartDevice and all capability queries; what comes back
 * is a started driver whose every answer was checked, or a refusal that names the answer that was
 * not acceptable. After that there is one function per entry point. Each enters the driver at the
 * IRQL and the synchronization level that WDDM promises (ddi.c), and may be called from any thread
 * that holds no lock of rank LOCK_RANK_DEVICE or inner.
 *
 * No DXGK type leaves this folder: strings are UTF-8, handles are opaque pointers.
 */
#ifndef MINIPORT_MINIPORT_H
#define MINIPORT_MINIPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "base/refusal.h"
#include "miniport/events.h"
#include "miniport/hardware.h"

struct miniport;

enum {
	MINIPORT_MAX_SEGMENTS = 31, /* segment ids are five bits wide, and 0 is system memory */
	MINIPORT_MAX_NODES = 64,
	MINIPORT_MAX_PAGE_TABLE_LEVELS = 6,
	MINIPORT_NODE_NAME_BYTES = 128,
};

/* ---- which driver, and what it finds in its registry ---- */

/* Where no text, texts or bytes are given, it is the number. */
struct miniport_setting {
	const char *name;
	const char *text;         /* REG_SZ */
	uint32_t number;          /* REG_DWORD */
	const char *const *texts; /* REG_MULTI_SZ */
	const uint8_t *bytes;     /* REG_BINARY */
	size_t count;             /* of texts or bytes */
	const char *key; /* below the driver's own, as "Parameters"; NULL: in that itself */
};

struct evict_policy;

struct miniport_config {
	const char *driver;       /* a name looked up in the driver folders, or an absolute path */
	const char *name;         /* what people see: DRIVER_DESCRIPTION */
	const char *driver_store; /* where its user-mode parts are; NULL: where the driver is */
	uint32_t adapter_id;      /* 1, 2, … in the order of the profile; part of RegistryPath */
	uint64_t luid;
	uint64_t driver_version;             /* as info.driver_version */
	uint32_t wddm_level;                 /* 2000 to 3100; 0: as far as this kernel goes */
	const struct evict_policy *eviction; /* of its memory; NULL: the kernel's own choice */
	const struct miniport_setting *settings;
	size_t setting_count;

	const struct miniport_pci *pci; /* NULL: the device is on no bus */
	const struct miniport_resource *resources;
	size_t resource_count;
	const char *const *hardware_ids; /* without pci, which has its own; most specific first */
	size_t hardware_id_count;
	const char *const *compatible_ids;
	size_t compatible_id_count;
};

/* ---- what the driver said about itself ---- */

struct miniport_segment {
	uint32_t id;           /* 1-based, as in every DDI */
	uint64_t base_address; /* the GPU's view */
	uint64_t size_bytes;
	uint64_t commit_limit_bytes;
	uint64_t cpu_translated_address;    /* with is_cpu_visible */
	uint64_t cpu_host_aperture_address; /* with has_cpu_host_aperture */
	uint32_t cpu_host_aperture_pages;
	uint64_t system_memory_end_address;
	bool is_aperture;
	bool is_cpu_visible;
	bool is_cache_coherent;
	bool is_populated_from_system_memory;
	bool uses_64k_pages;
	bool has_cpu_host_aperture;
	bool has_cached_cpu_host_aperture;
	bool is_application_target; /* so the driver marked it */
	bool is_local;              /* of the group LOCAL, else of NON_LOCAL */
	bool is_budgeted;           /* counts for what applications can have */
	bool is_implicit_system;    /* the one after the last, which we add (WDDM 2) */
	uint32_t flags;             /* as reported, for people and traces */
	uint32_t bank_count;
	const uint64_t *bank_ends; /* bank_count entries, owned by the miniport */
};

struct miniport_node {
	uint32_t engine_type; /* DXGK_ENGINE_TYPE: 0 other, 1 3D, … 6 copy */
	char name[MINIPORT_NODE_NAME_BYTES];
	uint32_t flags;
	bool has_gpu_mmu;
	bool has_io_mmu;
};

struct miniport_page_table_level {
	uint32_t index_bits;
	uint32_t segment_id;
	uint32_t paging_process_segment_id;
	uint32_t table_size_bytes;
	uint32_t alignment_bytes;
};

struct miniport_gpu_mmu {
	uint32_t flags;       /* DXGK_GPUMMUCAPS, bit for bit */
	uint32_t update_mode; /* 0 CPU_VIRTUAL, 1 GPU_VIRTUAL, 2 GPU_PHYSICAL */
	uint32_t address_bits;
	uint32_t leaf_table_size_64k_bytes;
	uint32_t level_count;
	struct miniport_page_table_level levels[MINIPORT_MAX_PAGE_TABLE_LEVELS]; /* 0 is the leaf */
};

struct miniport_info {
	char driver_path[4096];  /* the file that was loaded */
	char driver_store[4096]; /* the folder of its user-mode parts */
	char description[256];
	char registry_path[256];
	uint32_t interface_version; /* DRIVER_INITIALIZATION_DATA.Version */
	uint32_t wddm_version;      /* 1200, 1300, 2000 … as KMTQAITYPE_DRIVERVERSION says it */

	/* From the configuration. */
	uint32_t wddm_level;     /* the newest WDDM that the driver may be of; 0: any */
	uint64_t driver_version; /* 31.0.101.2111: 16 bits each, the first uppermost */
	bool is_on_pci;          /* … and only then: */
	struct miniport_pci_ids pci_ids;
	struct miniport_pci_address pci_address;

	uint32_t video_present_sources;
	uint32_t children;

	bool is_compute_only;
	bool is_multi_engine_aware;
	bool is_preemption_aware;
	bool is_cancel_command_aware;
	bool has_no_64bit_atomics;
	uint32_t packets_per_node_max; /* that the hardware takes; 0: the driver does not say */
	bool supports_per_engine_tdr;
	bool supports_virtual_addressing;
	bool supports_gpu_mmu;
	bool supports_io_mmu;
	bool supports_surprise_removal;
	bool supports_cross_adapter;
	bool supports_non_vga;
	uint64_t highest_acceptable_address;
	uint64_t aperture_commit_limit_bytes;
	uint32_t graphics_preemption; /* D3DKMDT_GRAPHICS_PREEMPTION_GRANULARITY */
	uint32_t compute_preemption;

	uint32_t segment_count;              /* as reported, without the implicit one */
	uint32_t implicit_system_segment_id; /* 0 when there is none */
	uint32_t counted_segment_count;      /* with it, unless its memory counts by an aperture */
	struct miniport_segment segments[MINIPORT_MAX_SEGMENTS + 1];

	/* The same as sets: bit n-1 is segment n. */
	uint32_t known_segments; /* the implicit one included */
	uint32_t aperture_segments;
	uint32_t system_memory_segments; /* apertures and the implicit one */
	uint32_t segments_of_64k_pages;

	uint32_t paging_buffer_segment_id;
	uint32_t paging_buffer_size_bytes;
	uint32_t paging_buffer_private_bytes;
	/* Nobody's, behind each buffer that the driver writes commands into; 0 unless it is verified. */
	uint32_t buffer_guard_bytes;

	uint32_t node_count;
	uint32_t paging_node;
	struct miniport_node nodes[MINIPORT_MAX_NODES];

	struct miniport_gpu_mmu gpu_mmu; /* with supports_gpu_mmu */
	uint32_t power_component_count;
};

/* ---- life ---- */

/* The NT environment of all drivers: before the first one starts, and after the last one stopped.
 */
MUST_CHECK NTSTATUS miniport_host_start(void);
void miniport_host_stop(void);

/*
 * A client's process begins or ends: drivers that asked for it are told, on this thread. NULL: there is
 * no memory for it.
 */
struct nt_process;
MUST_CHECK struct nt_process *miniport_process_begin(uint32_t pid);
void miniport_process_end(struct nt_process *process);

/*
 * Load, DriverEntry, AddDevice, StartDevice, every query, node metadata, and the kernel's own
 * (system) process, device and one context per paging node. On failure all of it is undone in
 * reverse and the refusal says which answer was unacceptable; if StartDevice failed: RemoveDevice,
 * Unload, no StopDevice; if an answer after it was illegal: StopDevice, RemoveDevice, Unload.
 *
 * `config` and `events` are copied. nt_start() comes before the first start.
 */
MUST_CHECK NTSTATUS miniport_start(const struct miniport_config *config,
				   const struct miniport_events *events, void *listener,
				   struct miniport **miniport_out);

/* How often drivers broke the rule since the kernel began. */
uint64_t miniport_report_count(enum rule rule);

/* Tells a trace that it runs, and which segments it has. */
void miniport_trace_start(const struct miniport *miniport);

/* System context, device, process; StopDevice, RemoveDevice, Unload, leak report, dlclose. Accepts
 * NULL. */
void miniport_stop(struct miniport *miniport);

const struct miniport_info *miniport_info(const struct miniport *miniport);

/* ---- one wrapper per entry point ---- */

/*
 * Who is calling: serialises the threads of one process in the driver (levels 0 and 1). Storage
 * belongs to the caller and outlives the calls.
 */
struct miniport_client;
MUST_CHECK NTSTATUS miniport_client_create(struct nt_process *process,
					   struct miniport_client **client_out);
void miniport_client_destroy(struct miniport_client *client);

/* The kernel itself: for what no process does. */
struct miniport_client *miniport_system_client(struct miniport *miniport);

/*
 * DxgkDdiCreateProcess where the driver has it; *driver_process_out is NULL where it has not.
 * `kernel_handle` travels down as hDxgkProcess.
 */
MUST_CHECK NTSTATUS miniport_create_process(struct miniport *miniport,
					    struct miniport_client *client, void *kernel_handle,
					    const char *name, void **driver_process_out);
void miniport_destroy_process(struct miniport *miniport, struct miniport_client *client,
			      void *driver_process);

/* hDevice carries the kernel's handle down and the driver's back. */
MUST_CHECK NTSTATUS miniport_create_device(struct miniport *miniport,
					   struct miniport_client *client, void *kernel_handle,
					   void *driver_process, void **driver_device_out);
void miniport_destroy_device(struct miniport *miniport, struct miniport_client *client,
			     void *driver_device);

struct miniport_context_desc {
	void *kernel_handle;
	void *driver_device;
	uint32_t node;
	uint32_t engine_mask;
	bool is_virtual; /* DXGK_CREATECONTEXTFLAGS.VirtualAddressing */
	bool has_hw_queues;
	bool is_kernels;    /* only what the kernel generates runs in it: SystemContext */
	void *private_data; /* the miniport may write it */
	uint32_t private_bytes;
};

struct miniport_context_info {
	void *driver_context;
	uint32_t dma_buffer_bytes;
	uint32_t dma_buffer_segment_set;
	uint32_t dma_private_bytes;
	uint32_t allocation_list_entries;
	uint32_t patch_list_entries;
	bool needs_no_patching;
	uint32_t paging_companion_node;
};

MUST_CHECK NTSTATUS miniport_create_context(struct miniport *miniport,
					    struct miniport_client *client,
					    const struct miniport_context_desc *desc,
					    struct miniport_context_info *info_out);
void miniport_destroy_context(struct miniport *miniport, struct miniport_client *client,
			      void *driver_context);

struct miniport_escape_desc {
	void *driver_process; /* or NULL */
	void *driver_device;  /* or NULL */
	void *driver_context; /* or NULL */
	uint32_t flags;       /* D3DDDI_ESCAPEFLAGS; HardwareAccess means level two */
	void *private_data;
	uint32_t private_bytes;
};

MUST_CHECK NTSTATUS miniport_escape(struct miniport *miniport, struct miniport_client *client,
				    const struct miniport_escape_desc *desc);

/* Level two: the caller sees to it that the GPU is idle. */
bool miniport_escape_is_alone(const struct miniport_escape_desc *desc);

/* Such an escape. False, and not made, when others are still in the driver at the deadline. */
MUST_CHECK bool miniport_escape_until(struct miniport *miniport, struct miniport_client *client,
				      const struct miniport_escape_desc *desc, uint64_t deadline_ns,
				      NTSTATUS *status_out);

/*
 * An event that the driver sets with DxgkCbSignalEvent, by the kernel's name for it (WDDM 3.0). Refused
 * where the driver has no such events.
 */
MUST_CHECK NTSTATUS miniport_create_cpu_event(struct miniport *miniport,
					      struct miniport_client *client, void *driver_device,
					      void *kernel_event, void **driver_event_out);
void miniport_destroy_cpu_event(struct miniport *miniport, struct miniport_client *client,
				void *driver_event);

/* The clock of a node's first engine and the performance counter, read together by the driver. */
struct miniport_clock {
	uint64_t gpu_frequency; /* ticks in a second, above 0 */
	uint64_t gpu_counter;
	uint64_t cpu_counter; /* as KeQueryPerformanceCounter */
	uint32_t flags;       /* DXGK_GPUCLOCKDATA_FLAGS */
};

MUST_CHECK NTSTATUS miniport_calibrate_clock(struct miniport *miniport,
					     struct miniport_client *client, uint32_t node,
					     struct miniport_clock *clock_out);

/* DXGKQAITYPE_UMDRIVERPRIVATE on behalf of a user-mode driver: the buffer goes down and comes back.
 */
MUST_CHECK NTSTATUS miniport_query_umd_private(struct miniport *miniport,
					       struct miniport_client *client, void *data,
					       uint32_t size_bytes);

/*
 * A value of the driver's registry key. Text comes back as UTF-8, numbers as four bytes.
 * *needed_out is the full size also when `capacity` was too small (STATUS_BUFFER_OVERFLOW);
 * STATUS_OBJECT_NAME_NOT_FOUND when there is no such value.
 */
enum miniport_value_type {
	MINIPORT_VALUE_TEXT = 1,
	MINIPORT_VALUE_BINARY = 3,
	MINIPORT_VALUE_DWORD = 4,
	MINIPORT_VALUE_MULTI_TEXT = 7,
	MINIPORT_VALUE_QWORD = 11
};
MUST_CHECK NTSTATUS miniport_query_registry(struct miniport *miniport, const char *value_name,
					    enum miniport_value_type *type_out, void *data,
					    size_t capacity, size_t *needed_out);

#endif
