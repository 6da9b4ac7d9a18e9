/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "base/checked.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/work.h"
#include "object/submit/submission.h"

struct submission {
	struct sched_packet packet;
	struct cancelled cancelled;
	struct dxg_context *context; /* outlives its packets */
	uint64_t gpu_address;
	uint32_t size_bytes;
	bool is_null;
	uint32_t client_private_bytes;
	uint32_t private_bytes;
	_Alignas(max_align_t) unsigned char private_data[]; /* the driver's, for as long as it runs
							     */
};

static struct submission *submission_of(struct sched_packet *packet)
{
	return container_of(packet, struct submission, packet);
}

static struct miniport_submission describe(struct submission *submission)
{
	return (struct miniport_submission){
		.driver_context = submission->context->info.driver_context,
		.driver_device = submission->context->device->driver_device,
		.node = submission->context->node,
		.is_null = submission->is_null,
		.gpu_address = submission->gpu_address,
		.size_bytes = submission->size_bytes,
		.private_data = submission->private_bytes ? submission->private_data : NULL,
		.private_bytes = submission->private_bytes,
		.private_end_bytes = submission->private_bytes,
		.client_private_bytes = submission->client_private_bytes,
	};
}

static NTSTATUS submission_submit(struct sched_packet *packet, const struct sched_submission *how)
{
	struct submission *submission = submission_of(packet);
	struct miniport_submission what = describe(submission);

	what.fence = how->fence;
	what.is_resubmission = how->is_resubmission;
	return miniport_submit(submission->context->device->adapter->miniport, true, &what);
}

static void submission_tell(struct cancelled *cancelled)
{
	struct submission *submission = container_of(cancelled, struct submission, cancelled);
	const struct miniport_submission what = describe(submission);

	miniport_cancel(submission->context->device->adapter->miniport, &what, NULL);
}

static uint64_t submission_bytes(const struct dxg_context *context)
{
	return sizeof(struct submission) + context->info.dma_private_bytes;
}

static void submission_free(struct submission *submission)
{
	work_discharge(submission->context->device, submission_bytes(submission->context));
	mem_free(submission);
}

static void submission_forget(struct cancelled *cancelled)
{
	submission_free(container_of(cancelled, struct submission, cancelled));
}

static void submission_retired(struct sched_packet *packet, enum sched_outcome outcome)
{
	struct submission *submission = submission_of(packet);
	struct dxg_context *context = submission->context;

	if (outcome == SCHED_CANCELLED && context->device->adapter->info->is_cancel_command_aware)
		cancellations_add(&context->cancellations, &submission->cancelled);
	else
		submission_free(submission);
}

static const struct sched_packet_ops submission_ops = {
	.submit = submission_submit,
	.retired = submission_retired,
};

static NTSTATUS check_private_bytes(const struct dxg_context *context,
				    const struct submission_request *request)
{
	if (request->private_bytes > context->info.dma_private_bytes)
		return invalid(RULE_API_VALUE, "PrivateDriverDataSize",
			       "is %u, and the driver asked for at most %u per submission",
			       request->private_bytes, context->info.dma_private_bytes);
	return STATUS_SUCCESS;
}

static NTSTATUS submission_create(struct dxg_context *context,
				  const struct submission_request *request,
				  struct submission **submission_out)
{
	NTSTATUS status = check_private_bytes(context, request);

	if (NT_SUCCESS(status))
		status = work_charge(context->device, submission_bytes(context));
	if (!NT_SUCCESS(status))
		return status;
	struct submission *submission = mem_zalloc(submission_bytes(context));
	if (!submission) {
		work_discharge(context->device, submission_bytes(context));
		return refuse_no_memory("no memory for a submission");
	}
	submission->packet.kind = SCHED_WORK;
	submission->packet.ops = &submission_ops;
	submission->packet.is_never_late = context->has_no_gpu_timeout;
	submission->context = context;
	submission->cancelled.tell = submission_tell;
	submission->cancelled.forget = submission_forget;
	submission->gpu_address = request->gpu_address;
	submission->size_bytes = request->size_bytes;
	submission->is_null = request->is_null;
	submission->client_private_bytes = request->private_bytes;
	submission->private_bytes = context->info.dma_private_bytes;
	if (request->private_bytes)
		memcpy(submission->private_data, request->private_data, request->private_bytes);
	*submission_out = submission;
	return STATUS_SUCCESS;
}

/* Once for all of them, so what the driver writes is written to all. */
static NTSTATUS validate(struct submission *const *all, uint32_t count)
{
	struct submission *first = all[0];
	void *contexts[SUBMISSION_CONTEXTS_MAX];
	const struct miniport_validation validation = {
		.targets = contexts,
		.target_count = count,
		.gpu_address = first->gpu_address,
		.size_bytes = first->size_bytes,
		.private_data = first->private_data,
		.private_bytes = first->private_bytes,
		.client_private_bytes = first->client_private_bytes,
	};

	assert(count <= SUBMISSION_CONTEXTS_MAX);
	for (uint32_t i = 0; i < count; i++)
		contexts[i] = all[i]->context->info.driver_context;
	NTSTATUS status = work_validate(first->context->device, &validation);
	for (uint32_t i = 1; i < count; i++)
		memcpy(all[i]->private_data, first->private_data,
		       lower_of(all[i]->private_bytes, first->private_bytes));
	return status;
}

static NTSTATUS queue_all(struct dxg_context *const *contexts, struct submission *const *all,
			  uint32_t count)
{
	struct work_target targets[SUBMISSION_CONTEXTS_MAX];
	struct sched_packet *packets[SUBMISSION_CONTEXTS_MAX];

	_Static_assert((int)SUBMISSION_CONTEXTS_MAX <= (int)WORK_TARGETS_MAX,
		       "all of them at once");
	for (uint32_t i = 0; i < count; i++) {
		targets[i] = context_target(contexts[i]);
		packets[i] = &all[i]->packet;
	}
	return count == 1 ? work_target_queue(&targets[0], packets[0])
			  : work_targets_queue(targets, packets, count);
}

NTSTATUS submission_queue(struct dxg_context *const *contexts, uint32_t context_count,
			  const struct submission_request *request)
{
	struct submission *few[1] = { NULL };
	struct submission **all = few;
	NTSTATUS status = STATUS_SUCCESS;
	uint32_t made = 0;

	if (context_count > 1) {
		all = mem_zalloc_array(context_count, sizeof(struct submission *));
		if (!all)
			return refuse_no_memory("no memory for %u submissions", context_count);
	}
	while (made < context_count && NT_SUCCESS(status)) {
		status = submission_create(contexts[made], request, &all[made]);
		if (NT_SUCCESS(status)) {
			assert(all[made]);
			made++;
		}
	}
	if (NT_SUCCESS(status)) {
		assert(made > 0 && all[0]);
		status = validate(all, made);
	}
	if (NT_SUCCESS(status))
		status = queue_all(contexts, all, made);
	for (uint32_t i = 0; i < made && !NT_SUCCESS(status); i++)
		submission_free(all[i]);
	if (all != few)
		mem_free(all);
	return status;
}
