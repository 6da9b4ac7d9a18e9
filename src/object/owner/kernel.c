/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "base/refusal.h"
#include "object/memory/context_allocation.h"
#include "object/ending/hold.h"
#include "object/owner/control_text.h"
#include "object/owner/kernel.h"
#include "vidmm/vidmm.h"

static void start_one(struct dxg_kernel *kernel, const struct miniport_config *config)
{
	struct refusal_scope scope;
	char what[64];

	snprintf(what, sizeof(what), "start of adapter %u", config->adapter_id);
	refusal_begin(&scope, what);
	NTSTATUS status = adapter_create(config, &kernel->adapters[kernel->adapter_count]);
	refusal_end_call(&scope, status);
	if (NT_SUCCESS(status)) {
		kernel->adapter_count++;
		return;
	}

	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	bool has_reason = refusal_last(&why);
	/* Said also when nobody asked for refusals: otherwise the adapter is just not there. Who did
	   ask has read why. */
	if (log_is_on(LOG_REFUSALS))
		log_warn("adapter %u (driver \"%s\") did not start: %s", config->adapter_id,
			 config->driver, status_name(status));
	else
		log_warn("adapter %u (driver \"%s\") did not start: %s (%s, %s)",
			 config->adapter_id, config->driver,
			 has_reason ? why.reason : "no reason was given",
			 has_reason ? why.rule : "-", status_name(status));
}

NTSTATUS kernel_start(struct dxg_kernel *kernel, const struct miniport_config *configs,
		      size_t count)
{
	assert(count <= KERNEL_MAX_ADAPTERS);
	*kernel = (struct dxg_kernel){ 0 };
	lock_init(&kernel->lock, LOCK_RANK_PROCESSES, "processes of the kernel");
	list_init(&kernel->processes);
	quota_book_init(&kernel->quotas);
	NTSTATUS status = share_table_init(&kernel->shares);
	if (!NT_SUCCESS(status))
		return status;
	status = miniport_host_start();
	if (!NT_SUCCESS(status)) {
		share_table_finish(&kernel->shares);
		return status;
	}
	miniport_serve_handles(&handle_data_services);
	miniport_serve_contexts(&context_allocation_services);
	for (size_t i = 0; i < count; i++)
		start_one(kernel, &configs[i]);
	return STATUS_SUCCESS;
}

void kernel_limit(struct dxg_kernel *kernel, const struct quota_limits *process,
		  const struct quota_limits *user)
{
	kernel->quotas.process = *process;
	kernel->quotas.user = *user;
}

void kernel_end(struct dxg_kernel *kernel)
{
	assert(list_is_empty(&kernel->processes));
	share_table_finish(&kernel->shares);
	while (kernel->adapter_count > 0)
		adapter_destroy(kernel->adapters[--kernel->adapter_count]);
	control_text_forget(kernel);
	holds_finish();
	vidmm_stop();
	miniport_host_stop();
	quota_book_finish(&kernel->quotas);
	lock_finish(&kernel->lock);
}

struct dxg_adapter *kernel_find_adapter(struct dxg_kernel *kernel, uint64_t luid)
{
	for (uint32_t i = 0; i < kernel->adapter_count; i++) {
		if (kernel->adapters[i]->luid == luid)
			return kernel->adapters[i];
	}
	return NULL;
}
