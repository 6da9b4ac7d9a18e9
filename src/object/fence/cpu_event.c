/* SPDX-License-Identifier: MIT */
/*
 * cpu_event.c - see cpu_event.h.
 *
 * Locks: one for all events there are, under which they are set: that never waits.
 */
#include "base/lock.h"
#include "base/mem.h"
#include "base/rbtree.h"
#include "base/refusal.h"
#include "object/fence/cpu_event.h"
#include "object/owner/device.h"

struct cpu_event {
	struct rb_node known; /* its value is the name */
	struct dxg_device *device;
	const struct event *event;
	void *driver_event;
};

static struct {
	struct lock lock;      /* LOCK_RANK_LEAF */
	struct rb_tree events; /* cpu_event.known, by name */
	uint64_t last_name;
} books = { .lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "CPU events of drivers") };

/* Names only grow: a new one goes to the end. */
static void learn(struct cpu_event *cpu_event)
{
	lock_acquire(&books.lock);
	cpu_event->known.value = ++books.last_name;
	rb_insert_before(&books.events, &cpu_event->known, NULL);
	lock_release(&books.lock);
}

static void forget(struct cpu_event *cpu_event)
{
	lock_acquire(&books.lock);
	rb_remove(&books.events, &cpu_event->known);
	lock_release(&books.lock);
	mem_free(cpu_event);
}

static struct cpu_event *find_locked(uint64_t name)
{
	struct rb_node *node = books.events.root;

	lock_assert_held(&books.lock);
	while (node && node->value != name)
		node = name < node->value ? node->left : node->right;
	return node ? container_of(node, struct cpu_event, known) : NULL;
}

NTSTATUS cpu_event_create(struct dxg_device *device, const struct event *event,
			  struct cpu_event **cpu_event_out)
{
	struct cpu_event *cpu_event = mem_zalloc(sizeof(*cpu_event));

	if (!cpu_event)
		return refuse_no_memory("no memory for an event of the driver");
	cpu_event->device = device;
	cpu_event->event = event;
	/* Before the driver is told: it may set it at once. */
	learn(cpu_event);
	NTSTATUS status = adapter_enter(device->adapter);
	if (NT_SUCCESS(status)) {
		status = miniport_create_cpu_event(
			device->adapter->miniport, device->process_adapter->client,
			device->driver_device, (void *)(uintptr_t)cpu_event->known.value,
			&cpu_event->driver_event);
		adapter_leave(device->adapter);
	}
	if (!NT_SUCCESS(status)) {
		forget(cpu_event);
		return status;
	}
	*cpu_event_out = cpu_event;
	return STATUS_SUCCESS;
}

void cpu_event_destroy(struct cpu_event *cpu_event)
{
	if (!cpu_event)
		return;
	struct dxg_adapter *adapter = cpu_event->device->adapter;

	adapter_enter_to_release(adapter);
	miniport_destroy_cpu_event(adapter->miniport, cpu_event->device->process_adapter->client,
				   cpu_event->driver_event);
	adapter_leave(adapter);
	/* The driver may set it until that has returned. */
	forget(cpu_event);
}

void *cpu_event_of_driver(const struct cpu_event *cpu_event)
{
	return cpu_event->driver_event;
}

NTSTATUS cpu_event_signal(void *kernel_process, void *name, bool is_cpu_event)
{
	/* An event of a client in a virtual machine: nobody hosts those. */
	if (!is_cpu_event)
		return STATUS_NOT_SUPPORTED;
	lock_acquire(&books.lock);
	const struct cpu_event *found = find_locked((uintptr_t)name);
	if (found)
		event_set(found->event);
	lock_release(&books.lock);
	return found ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
}
