/*
 * process.c - see process.h. How a process ends is in teardown.c.
 */
#include <assert.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "object/process.h"
#include "trace/trace.h"

NTSTATUS process_create(uint32_t id, struct dxg_process **process_out)
{
	struct dxg_process *process = mem_zalloc(sizeof(*process));

	if (!process)
		goto no_memory;
	if (!NT_SUCCESS(handle_table_init(&process->handles, HANDLE_TAG_LOCAL)))
		goto free_process;
	process->id = id;
	lock_init(&process->lock, LOCK_RANK_PROCESS, "process");
	list_init(&process->adapters);
	list_init(&process->opens);
	list_init(&process->devices);
	trace_process_create(id);
	*process_out = process;
	return STATUS_SUCCESS;

free_process:
	mem_free(process);
no_memory:
	return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, "no memory for a process");
}

static struct process_adapter *find_joined_locked(struct dxg_process *process,
						  const struct dxg_adapter *adapter)
{
	struct list *link;

	lock_assert_held(&process->lock);
	list_for_each (link, &process->adapters) {
		struct process_adapter *joined = container_of(link, struct process_adapter, link);
		if (joined->adapter == adapter)
			return joined;
	}
	return NULL;
}

/* Tells the driver; the record is already in the list, not ready, so that nobody does it twice. */
static NTSTATUS join_driver(struct dxg_process *process, struct process_adapter *joined)
{
	struct miniport *miniport = joined->adapter->miniport;
	NTSTATUS status = miniport_client_create(miniport, &joined->client);

	if (!NT_SUCCESS(status))
		return status;
	status = miniport_create_process(miniport, joined->client, joined, "client",
					 &joined->driver_process);
	if (!NT_SUCCESS(status))
		miniport_client_destroy(joined->client);
	return status;
}

NTSTATUS process_join_adapter(struct dxg_process *process, struct dxg_adapter *adapter,
			      struct process_adapter **joined_out)
{
	struct process_adapter *joined;

	lock_acquire(&process->lock);
	while ((joined = find_joined_locked(process, adapter)) != NULL) {
		if (joined->is_ready) {
			lock_release(&process->lock);
			*joined_out = joined;
			return STATUS_SUCCESS;
		}
		uint32_t seen = notice_read(&process->changed);
		lock_release(&process->lock);
		notice_wait(&process->changed, seen, CLOCK_FOREVER);
		lock_acquire(&process->lock);
	}
	joined = mem_zalloc(sizeof(*joined));
	if (joined) {
		joined->adapter = adapter;
		list_push_back(&process->adapters, &joined->link);
	}
	lock_release(&process->lock);
	if (!joined)
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL,
			      "no memory for the process on adapter %u", adapter->id);

	NTSTATUS status = join_driver(process, joined);

	lock_acquire(&process->lock);
	joined->is_ready = NT_SUCCESS(status);
	if (!joined->is_ready)
		list_remove(&joined->link);
	lock_release(&process->lock);
	notice_give(&process->changed);
	if (!NT_SUCCESS(status)) {
		mem_free(joined);
		return status;
	}
	*joined_out = joined;
	return STATUS_SUCCESS;
}
