/* SPDX-License-Identifier: MIT */
#include "base/attributes.h"
#include "base/refusal.h"
#include "embed/adapter_watch.h"
#include "wire/embed.h"

static NTSTATUS join_adapters(struct dxg_kernel *kernel, struct dxg_process *process,
			      const uint64_t *luids, uint32_t count,
			      struct process_adapter **process_adapters)
{
	NTSTATUS status = STATUS_SUCCESS;

	if (count > KERNEL_MAX_ADAPTERS)
		return invalid(RULE_API_COUNT, NULL, "%u adapters are more than there can be",
			       count);
	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++) {
		struct dxg_adapter *adapter = kernel_find_adapter(kernel, luids[i]);

		status = adapter ? process_join_adapter(process, adapter, &process_adapters[i])
				 : invalid(RULE_API_VALUE, NULL, "there is no adapter %llx",
					   (unsigned long long)luids[i]);
	}
	return status;
}

NTSTATUS adapter_watch(struct dxg_kernel *kernel, struct dxg_process *process, uint32_t news,
		       const uint64_t *luids, uint32_t count,
		       const struct notification_target *wanted)
{
	static const enum notification_kind kinds[] = {
		[DXGK_EMBED_BUDGET] = NOTIFICATION_ANY_BUDGET,
		[DXGK_EMBED_LOSS] = NOTIFICATION_LOSS,
		[DXGK_EMBED_AT_FIRST] = NOTIFICATION_AT_FIRST,
	};
	struct process_adapter *process_adapters[KERNEL_MAX_ADAPTERS];
	struct notification_target target = *wanted;

	if (news >= ARRAY_SIZE(kinds))
		return invalid(RULE_API_VALUE, NULL, "%u is nothing that can be heard", news);
	target.kind = kinds[news];
	NTSTATUS status = join_adapters(kernel, process, luids, count, process_adapters);
	if (NT_SUCCESS(status))
		status = notification_watch(process, process_adapters, count, &target);
	return status;
}
