/* SPDX-License-Identifier: MIT */
/*
 * endings.h - THE order in which things end, kind by kind.
 *
 *	STAGE(what has to be over before it, what is done then, the same in words)
 *
 * The functions are in the file that is named with the kind; ending.h says who goes through them.
 */
#ifndef OBJECT_ENDING_ENDINGS_H
#define OBJECT_ENDING_ENDINGS_H

#include "object/ending/ending.h"

#define NOTHING NULL

/* clang-format off */

/*
 * Allocations of a device that end together, alone or of a resource, which may go with them; the memory of a shared
 * resource that no device has open any more (destruction.c). The handles are retired before.
 * Thread: the caller's when nothing has to be waited for, who ends the device with all it has, else the reaper.
 */
#define ENDING_OF_ALLOCATIONS(STAGE) \
	STAGE(await_use,         batch_enter,        "work queued before and paging are over; the gate, one destruction at a time on a device") \
	STAGE(NOTHING,           batch_end_use,      "CPU views, GPU addresses, TLB, residency and the place in a segment") \
	STAGE(NOTHING,           batch_close,        "DxgkDdiCloseAllocation, once for all bindings") \
	STAGE(NOTHING,           batch_destroy,      "DxgkDdiDestroyAllocation, once for the memory whose last binding went") \
	STAGE(NOTHING,           batch_give_back,    "backing store, budget, private data; references")

/* The same for one alone that no other thread can reach (destruction.c). Thread: the caller's, inside the gate. */
#define ENDING_OF_UNREACHABLE_ALLOCATION(STAGE) \
	STAGE(NOTHING, end_unreachable_use,           "CPU view, GPU addresses, TLB, residency and the place in a segment; of one never used, a client elsewhere goes on") \
	STAGE(NOTHING, close_and_destroy_unreachable, "DxgkDdiCloseAllocation, DxgkDdiDestroyAllocation, on one visit") \
	STAGE(NOTHING, give_unreachable_back,         "backing store, budget, private data; references")

/*
 * An opening of a sync object, whose handle is retired and through which nobody waits (sync_object.c).
 * Thread: the caller's when no queued work can write it, else the reaper.
 */
#define ENDING_OF_SYNC_OBJECT(STAGE) \
	STAGE(await_queued_work, give_back,          "work queued before is over; GPU address, TLB; with the last reference the body")

/* The body of a sync object (sync_object.c). Thread: that which gives its last reference back, outside the adapter's gate. */
#define ENDING_OF_SYNC_BODY(STAGE) \
	STAGE(NOTHING,           end_driver_event,   "DxgkDdiDestroyCpuEvent, where the driver sets its event") \
	STAGE(NOTHING,           give_body_back,     "the client's event, the value's slot")

/*
 * Memory that a driver keeps for a context (context_allocation.c).
 * Thread: that which destroys it, or the reaper where that may not wait, or who ends the owner when it was leaked.
 */
#define ENDING_OF_CONTEXT_ALLOCATION(STAGE) \
	STAGE(await_submitted,   NOTHING,            "the owner stands still, and the hardware has none of its work") \
	STAGE(await_unloaded,    NOTHING,            "no context that uses it is loaded") \
	STAGE(await_unmapped,    NOTHING,            "GPU addresses, TLB") \
	STAGE(await_departed,    give_back,          "its place in a segment; the owner goes on; backing store, budget")

/* A submission that never ran; holds its device's line (cancelled.c). Thread: the reaper, or who ends its context. */
#define ENDING_OF_CANCELLED(STAGE) \
	STAGE(NOTHING,           tell_driver,        "DxgkDdiCancelCommand, with its lists") \
	STAGE(NOTHING,           forget,             "what it listed is in use no more; the context may go")

/*
 * Contexts, hardware and paging queues, keyed mutexes, devices (context.c, hw_context.c, hw_queue.c, paging_queue.c,
 * keyed_mutex.c, device.c) end in two parts: ..._HANDLE when the handle is retired, on the thread that destroys it, so that
 * calls which still have it come to their end; the rest with the last reference, on the thread that gives it back. The
 * companion of a context (companion.c) ends within it.
 */
#define ENDING_OF_CONTEXT_HANDLE(STAGE) \
	STAGE(NOTHING,           companion_end,             "no update of GPU addresses begins any more") \
	STAGE(NOTHING,           gpu_update_cancel_context, "updates that wait for a fence") \
	STAGE(NOTHING,           end_queue,                 "what is ready runs, the rest of its queue is cancelled; who waits for a slot leaves") \
	STAGE(NOTHING,           end_hw_queues,             "its hardware queues; it is loaded no more")
#define ENDING_OF_CONTEXT(STAGE) \
	STAGE(NOTHING,           end_work,           "its queue is over, the driver knows of what was cancelled; DMA buffers") \
	STAGE(NOTHING,           end_addresses,      "its companion; no root is told to it any more") \
	STAGE(NOTHING,           tell_driver_of_end, "DxgkDdiDestroyContext") \
	STAGE(NOTHING,           give_back,          "what the driver kept for it; the reference on its device")
#define ENDING_OF_COMPANION(STAGE) \
	STAGE(NOTHING,           await_uses,         "updates that are being carried out") \
	STAGE(NOTHING,           tell_driver_of_end, "its paging buffers are back; DxgkDdiDestroyContext, of the companion")
#define ENDING_OF_HW_CONTEXT_HANDLE(STAGE) \
	STAGE(NOTHING,           end_hw_queues,      "its hardware queues; it is loaded no more")
#define ENDING_OF_HW_CONTEXT(STAGE) \
	STAGE(NOTHING,           end_addresses,      "no root is told to it any more") \
	STAGE(NOTHING,           tell_driver_of_end, "DxgkDdiDestroyHwContext") \
	STAGE(NOTHING,           give_back,          "what the driver kept for it; the reference on its device")
#define ENDING_OF_HW_QUEUE_HANDLE(STAGE) \
	STAGE(NOTHING,           end_work,           "what is ready has run, the rest is cancelled; calls that have it are refused") \
	STAGE(NOTHING,           end_fence,          "its progress fence: the handle, and to its maximum for who waits")
#define ENDING_OF_HW_QUEUE(STAGE) \
	STAGE(NOTHING,           tell_driver_of_end, "DxgkDdiDestroyHwQueue") \
	STAGE(NOTHING,           give_back,          "the fence's memory; the reference on its context")
#define ENDING_OF_PAGING_QUEUE_HANDLE(STAGE) \
	STAGE(NOTHING,           await_operations,   "its operations are over; what delays one does so no more") \
	STAGE(NOTHING,           end_fence,          "its fence's handle")
#define ENDING_OF_PAGING_QUEUE(STAGE) \
	STAGE(NOTHING,           give_back,          "the fence's memory; the reference on its device")
#define ENDING_OF_KEYED_MUTEX_HANDLE(STAGE) \
	STAGE(NOTHING,           leave_process,      "its process's list") \
	STAGE(NOTHING,           abandon,            "abandoned for good, where it holds; who waits through it leaves") \
	STAGE(NOTHING,           end_global_handle,  "the global handle, with the last opening")
#define ENDING_OF_KEYED_MUTEX(STAGE) \
	STAGE(NOTHING,           give_back,          "its data; with the last reference the mutex")

#define ENDING_OF_DEVICE_HANDLE(STAGE) \
	STAGE(NOTHING,           leave_process,            "what it lists counts no more; its process's list; nothing joins it, nobody is told of it") \
	STAGE(NOTHING,           context_destroy_all,      "contexts") \
	STAGE(NOTHING,           hw_context_destroy_all,   "hardware contexts, with their queues") \
	STAGE(NOTHING,           gpu_update_cancel_device, "updates of GPU addresses that wait for a fence") \
	STAGE(NOTHING,           destruction_of_device,    "its work and its line are over; resources, allocations") \
	STAGE(NOTHING,           paging_queue_destroy_all, "paging queues") \
	STAGE(NOTHING,           sync_object_destroy_all,  "sync objects") \
	STAGE(NOTHING,           await_own_threads,        "the kernel's threads let go of it")
#define ENDING_OF_DEVICE(STAGE) \
	STAGE(NOTHING,           tell_driver_of_end,       "DxgkDdiDestroyDevice") \
	STAGE(NOTHING,           give_back,                "what the driver kept for it; its process may go")

/* A process of which no call is under way (teardown.c). Thread: that which ends it. */
#define ENDING_OF_PROCESS(STAGE) \
	STAGE(NOTHING,           leave_list,               "the kernel's list: who looks at processes finds it no more") \
	STAGE(NOTHING,           destroy_devices,          "devices, newest first") \
	STAGE(NOTHING,           await_devices,            "DxgkDdiDestroyDevice for each") \
	STAGE(NOTHING,           destroy_keyed_mutexes,    "keyed mutexes, of which one that is held is abandoned") \
	STAGE(NOTHING,           destroy_sync_objects,     "sync objects of no device") \
	STAGE(NOTHING,           leave_adapters,           "every adapter it was on, as below") \
	STAGE(NOTHING,           notifier_finish,          "what it wanted to be told") \
	STAGE(NOTHING,           close_adapters,           "adapter handles") \
	STAGE(NOTHING,           give_back,                "fence pages; the handle table, which asserts that nothing is left")

/* A process on one adapter whose driver knows it (teardown.c); no device of it is left there. Thread: the same. */
#define ENDING_OF_DRIVER_PROCESS(STAGE) \
	STAGE(NOTHING,           gpu_update_cancel_all,    "updates of GPU addresses that are left") \
	STAGE(NOTHING,           fence_addresses_end,      "GPU addresses that were kept for fences") \
	STAGE(NOTHING,           gpu_addresses_destroy,    "its GPU addresses, with their page tables") \
	STAGE(NOTHING,           tell_driver_of_end,       "DxgkDdiDestroyProcess")

/*
 * An adapter, on which no process is left (adapter.c). Thread: that which ends the kernel, or which starts it and fails;
 * then nobody is turned away. Who destroys needs memory that works, the pager needs the scheduler, and the scheduler's
 * thread, when it resets, tells the memory: so threads end first, in this order, and storage goes last.
 */
#define ENDING_OF_ADAPTER(STAGE) \
	STAGE(NOTHING,           turn_calls_away,          "its gate lets nobody in any more") \
	STAGE(NOTHING,           end_work_and_memory,      "its threads and what they work with, as below") \
	STAGE(NOTHING,           stop_driver,              "the system context, device and process; StopDevice, RemoveDevice, Unload; leaks are reported") \
	STAGE(NOTHING,           give_back,                "what the driver could name")
#define ENDING_OF_ADAPTER_WORK(STAGE) \
	STAGE(NOTHING,           end_reaper,               "the reaper's thread") \
	STAGE(NOTHING,           adapter_memory_stop,      "the pager's thread, when what was queued is done") \
	STAGE(NOTHING,           adapter_work_stop,        "the scheduler's threads, and the scheduler") \
	STAGE(NOTHING,           adapter_memory_finish,    "tables, pager and memory")

/* clang-format on */

#endif
