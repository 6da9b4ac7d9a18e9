/* SPDX-License-Identifier: MIT */
/*
 * validate_adapter.c - what the parts of an adapter believe of themselves, and of each other; see
 * survey.h.
 *
 * Each part recounts itself under its own lock. What two of them count, each for itself, is compared
 * without one: they differ for a moment when something is between the two, and whoever asks looks
 * again.
 */
#include "base/machine_bank.h"
#include "object/memory/context_allocation.h"
#include "object/owner/device.h"
#include "object/owner/notification.h"
#include "object/ending/ending.h"
#include "object/check/survey.h"
#include "paging/pager.h"
#include "sched/fence_page.h"
#include "sched/sched.h"
#include "ranges/client_arena.h"
#include "vidmm/manager.h"

static void check_sched(struct survey *survey, struct dxg_adapter *adapter, struct sched *sched)
{
	const char *why = sched_validate(sched);
	struct sched_holds holds = sched_holds(sched);

	if (why)
		survey_wrong(survey, "the scheduler of adapter %u: %s", adapter->id, why);
	if (holds.nodes != 0)
		survey_wrong(survey, "the nodes of adapter %u are held by nobody", adapter->id);
	if (holds.clients != pager_holds_clients(adapter->pager))
		survey_wrong(survey,
			     "the clients of adapter %u are held %u times, and not for that",
			     adapter->id, holds.clients);
}

static void check_pager(struct survey *survey, struct dxg_adapter *adapter)
{
	const char *why = pager_validate(adapter->pager);

	if (why)
		survey_wrong(survey, "the pager of adapter %u: %s", adapter->id, why);
}

static void check_manager(struct survey *survey, struct dxg_adapter *adapter)
{
	char why[160];

	if (!vidmm_manager_validate(adapter->memory, true, why, sizeof(why)))
		survey_wrong(survey, "the memory of adapter %u: %s", adapter->id, why);
}

void survey_adapter(struct survey *survey, struct dxg_adapter *adapter)
{
	struct sched *sched = atomic_load(&adapter->sched);

	if (sched && adapter->pager && adapter->memory) {
		check_sched(survey, adapter, sched);
		check_pager(survey, adapter);
		check_manager(survey, adapter);
	}
	const char *why = context_books_validate(&adapter->books);
	if (why)
		survey_wrong(survey, "what the driver of adapter %u keeps: %s", adapter->id, why);
}

static void count_memory(void *context, struct vidmm_allocation *allocation)
{
	uint32_t *count = context;

	(*count)++;
}

/*
 * A lost device is let go of by those who suspended it, each when it comes to know. Memory that the
 * driver keeps for the whole device suspends it on its own account while it goes.
 */
static void check_suspensions(struct survey *survey, struct dxg_device *device)
{
	uint32_t counted = sched_owner_suspensions(&device->work);
	uint32_t known = vidmm_device_suspensions(&device->memory);
	uint32_t drivers = 0;

	context_memory_for_each(&device->driver_memory, count_memory, &drivers);
	if (device_state(device) == DEVICE_ACTIVE && (counted < known || counted > known + drivers))
		survey_wrong(survey, "device 0x%08x is suspended %u times, and %u are known",
			     device->object.handle, counted, known);
}

void survey_device_counts_locked(struct survey *survey, struct dxg_device *device)
{
	uint32_t ordered = 0;
	struct list *link;

	lock_assert_held(&device->lock);
	list_for_each (link, &device->endings)
		ordered += container_of(link, struct ending, link)->group != NULL;
	if (ordered != atomic_load(&device->ordered_endings))
		survey_wrong(survey, "device 0x%08x counts %u endings of groups, and has %u",
			     device->object.handle, atomic_load(&device->ordered_endings), ordered);
	if (device->kept_fences.count > KEPT_FENCES)
		survey_wrong(survey, "device 0x%08x keeps more fences than it can",
			     device->object.handle);
	check_suspensions(survey, device);
}

void survey_process_counts(struct survey *survey, struct dxg_process *process)
{
	size_t devices = survey->devices.count;
	uint32_t published = 0;
	const char *why = handle_table_validate(&process->handles, &published);

	if (why)
		survey_wrong(survey, "the handles of process %u: %s", process->id, why);
	if (published != survey->found_count)
		survey_wrong(survey, "process %u has %u handles, and %u objects in its lists",
			     process->id, published, survey->found_count);
	if (process->ledger &&
	    quota_used(process->ledger, QUOTA_HANDLES) != handle_table_live(&process->handles))
		survey_wrong(survey, "process %u has %u handles, and its quota counts others",
			     process->id, handle_table_live(&process->handles));
	if (atomic_load(&process->driver_devices) != devices)
		survey_wrong(survey, "drivers know %u devices of process %u, which has %zu",
			     atomic_load(&process->driver_devices), process->id, devices);
	why = fence_pages_validate(process->fence_pages);
	if (why)
		survey_wrong(survey, "the fences of process %u: %s", process->id, why);
	why = notifier_validate(process);
	if (why)
		survey_wrong(survey, "the notifications of process %u: %s", process->id, why);
	struct machine_bank_usage bank = machine_bank_usage(process->bank);
	if (bank.taken_pages > bank.pages)
		survey_wrong(survey, "the bank of process %u has %llu pages, and %llu are taken",
			     process->id, (unsigned long long)bank.pages,
			     (unsigned long long)bank.taken_pages);
	why = process->arena ? client_arena_validate(process->arena) : NULL;
	if (why)
		survey_wrong(survey, "the addresses of process %u: %s", process->id, why);
}
