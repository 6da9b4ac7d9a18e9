/* SPDX-License-Identifier: MIT */
/*
 * api.h - the CUDA driver API, as far as we use it: our own declarations of what libcuda.so.1 has.
 *
 * The library is loaded when the adapter starts, so nothing of it is needed to build, and a machine
 * without it only has an adapter less.
 */
#ifndef CUDA_API_H
#define CUDA_API_H

#include "ntdef.h"

typedef int cuda_status; /* CUresult */
typedef int cuda_device_number;
typedef ULONGLONG cuda_pointer; /* CUdeviceptr */
typedef struct cuda_opaque_context *cuda_context;
typedef struct cuda_opaque_module *cuda_module;
typedef struct cuda_opaque_function *cuda_function;
typedef struct cuda_opaque_stream *cuda_stream;
typedef struct cuda_opaque_event *cuda_event;
typedef ULONGLONG cuda_memory; /* CUmemGenericAllocationHandle */

/* CUmemLocation, CUmemAllocationProp, CUmemAccessDesc */
struct cuda_location {
	int kind; /* CUDA_LOCATION_DEVICE */
	int device;
};
struct cuda_memory_kind {
	int kind;         /* CUDA_MEMORY_PINNED */
	int handle_kinds; /* CUDA_HANDLE_DESCRIPTOR */
	struct cuda_location location;
	void *not_here;
	UCHAR flags[8];
};
struct cuda_access {
	struct cuda_location location;
	int access; /* CUDA_ACCESS_… */
};

enum {
	CUDA_OK = 0,
	CUDA_OUT_OF_MEMORY = 2,
	CUDA_INVALID_VALUE = 1,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_READY = 600,

	CUDA_DRIVER_VERSION_WANTED = 12000, /* words written by streams; virtual memory, PTX 6.4 */
	CUDA_COMPUTE_MAJOR_WANTED = 7, /* threads.h: threads of a warp that go on by themselves */

	CUDA_CONTEXT_SCHED_SPIN = 0x1,
	CUDA_CONTEXT_MAP_HOST = 0x8,
	CUDA_HOST_PORTABLE = 0x1,
	CUDA_HOST_DEVICEMAP = 0x2,
	CUDA_STREAM_NON_BLOCKING = 0x1,
	CUDA_EVENT_DISABLE_TIMING = 0x2,

	CUDA_ATTRIBUTE_MULTIPROCESSORS = 16,
	CUDA_ATTRIBUTE_MAP_HOST = 19,
	CUDA_ATTRIBUTE_UNIFIED = 41,
	CUDA_ATTRIBUTE_COMPUTE_MAJOR = 75,
	CUDA_ATTRIBUTE_REGISTERED_POINTER = 91, /* the host's pointer is the device's */
	CUDA_ATTRIBUTE_VIRTUAL_MEMORY = 102,
	CUDA_ATTRIBUTE_DESCRIPTORS = 103, /* memory can be handed to another process */

	CUDA_LOCATION_DEVICE = 1,
	CUDA_MEMORY_PINNED = 1,
	CUDA_HANDLE_DESCRIPTOR = 1,
	CUDA_ACCESS_READ = 1,
	CUDA_ACCESS_READ_WRITE = 3,

	/* In the list `extra` of a launch. */
	CUDA_LAUNCH_END = 0,
	CUDA_LAUNCH_PARAMETERS = 1,
	CUDA_LAUNCH_PARAMETER_BYTES = 2,
};

/* X(our name, its symbol, its parameters) */
#define CUDA_API(X)                                                                                \
	X(init, "cuInit", (unsigned flags))                                                        \
	X(driver_version, "cuDriverGetVersion", (int *version_out))                                \
	X(error_name, "cuGetErrorName", (cuda_status status, const char **name_out))               \
	X(device_count, "cuDeviceGetCount", (int *count_out))                                      \
	X(device_get, "cuDeviceGet", (cuda_device_number * device_out, int ordinal))               \
	X(device_name, "cuDeviceGetName", (char *name, int length, cuda_device_number device))     \
	X(device_attribute, "cuDeviceGetAttribute",                                                \
	  (int *value_out, int attribute, cuda_device_number device))                              \
	X(context_create, "cuCtxCreate_v2",                                                        \
	  (cuda_context * context_out, unsigned flags, cuda_device_number device))                 \
	X(context_destroy, "cuCtxDestroy_v2", (cuda_context context))                              \
	X(context_set, "cuCtxSetCurrent", (cuda_context context))                                  \
	X(context_get, "cuCtxGetCurrent", (cuda_context * context_out))                            \
	X(memory_info, "cuMemGetInfo_v2", (size_t * free_out, size_t * total_out))                 \
	X(memory_allocate, "cuMemAlloc_v2", (cuda_pointer * pointer_out, size_t bytes))            \
	X(memory_free, "cuMemFree_v2", (cuda_pointer pointer))                                     \
	X(host_allocate, "cuMemHostAlloc", (void **pointer_out, size_t bytes, unsigned flags))     \
	X(host_free, "cuMemFreeHost", (void *pointer))                                             \
	X(host_register, "cuMemHostRegister_v2", (void *pointer, size_t bytes, unsigned flags))    \
	X(host_unregister, "cuMemHostUnregister", (void *pointer))                                 \
	X(module_load, "cuModuleLoadData", (cuda_module * module_out, const void *image))          \
	X(module_function, "cuModuleGetFunction",                                                  \
	  (cuda_function * function_out, cuda_module module, const char *name))                    \
	X(module_unload, "cuModuleUnload", (cuda_module module))                                   \
	X(address_reserve, "cuMemAddressReserve",                                                  \
	  (cuda_pointer * pointer_out, size_t bytes, size_t alignment, cuda_pointer wanted,        \
	   ULONGLONG flags))                                                                       \
	X(address_free, "cuMemAddressFree", (cuda_pointer pointer, size_t bytes))                  \
	X(memory_create, "cuMemCreate",                                                            \
	  (cuda_memory * memory_out, size_t bytes, const struct cuda_memory_kind *kind,            \
	   ULONGLONG flags))                                                                       \
	X(memory_release, "cuMemRelease", (cuda_memory memory))                                    \
	X(memory_map, "cuMemMap",                                                                  \
	  (cuda_pointer at, size_t bytes, size_t offset, cuda_memory memory, ULONGLONG flags))     \
	X(memory_unmap, "cuMemUnmap", (cuda_pointer at, size_t bytes))                             \
	X(memory_access, "cuMemSetAccess",                                                         \
	  (cuda_pointer at, size_t bytes, const struct cuda_access *access, size_t count))         \
	X(memory_export, "cuMemExportToShareableHandle",                                           \
	  (void *descriptor_out, cuda_memory memory, int handle_kind, ULONGLONG flags))            \
	X(memory_import, "cuMemImportFromShareableHandle",                                         \
	  (cuda_memory * memory_out, void *descriptor, int handle_kind))                           \
	X(stream_create, "cuStreamCreate", (cuda_stream * stream_out, unsigned flags))             \
	X(stream_destroy, "cuStreamDestroy_v2", (cuda_stream stream))                              \
	X(stream_query, "cuStreamQuery", (cuda_stream stream))                                     \
	X(stream_wait, "cuStreamSynchronize", (cuda_stream stream))                                \
	X(stream_wait_event, "cuStreamWaitEvent",                                                  \
	  (cuda_stream stream, cuda_event event, unsigned flags))                                  \
	X(stream_write, "cuStreamWriteValue64_v2",                                                 \
	  (cuda_stream stream, cuda_pointer to, ULONGLONG value, unsigned flags))                  \
	X(event_create, "cuEventCreate", (cuda_event * event_out, unsigned flags))                 \
	X(event_record, "cuEventRecord", (cuda_event event, cuda_stream stream))                   \
	X(copy_to_device, "cuMemcpyHtoDAsync_v2",                                                  \
	  (cuda_pointer to, const void *from, size_t bytes, cuda_stream stream))                   \
	X(copy_to_host, "cuMemcpyDtoHAsync_v2",                                                    \
	  (void *to, cuda_pointer from, size_t bytes, cuda_stream stream))                         \
	X(fill_words, "cuMemsetD32Async",                                                          \
	  (cuda_pointer to, unsigned word, size_t count, cuda_stream stream))                      \
	X(launch, "cuLaunchKernel",                                                                \
	  (cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,              \
	   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,            \
	   cuda_stream stream, void **parameters, void **extra))

struct cuda_api {
	void *library;
#define CUDA_MEMBER(name, symbol, parameters) cuda_status(*name) parameters;
	CUDA_API(CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* Loads it and says cuInit(). Refused with a reason. PASSIVE_LEVEL. */
NTSTATUS cuda_api_open(struct cuda_api *api);
void cuda_api_close(struct cuda_api *api);

/* For people: "CUDA_ERROR_OUT_OF_MEMORY". */
const char *cuda_error_name(const struct cuda_api *api, cuda_status status);

#endif
