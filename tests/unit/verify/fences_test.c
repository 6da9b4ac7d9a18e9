/* SPDX-License-Identifier: MIT */
/*
 * fences_test.c - what a driver says about its packets and queues (watch_fences.c, fences.c, watch_hw_queues.c,
 * watch_markers.c). The recorder is cranked by hand, and says what the test tells it to.
 */
#include "stage.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/clock.h"
#include "base/thread.h"
#include "verify/fences.h"

BEND(bend_nothing, (void)driver)

static void completed(struct stage *stage, uint32_t fence)
{
	stage_interrupt(stage, DXGK_INTERRUPT_DMA_COMPLETED, 0, fence);
}

static void preempted(struct stage *stage, uint32_t preemption, uint32_t last)
{
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_INTERRUPT,
						      .type = DXGK_INTERRUPT_DMA_PREEMPTED,
						      .fence = preemption,
						      .last = last });
}

/* A context with packets 1 to 3 on node 0. */
static void begin(struct stage *stage, struct host_context *context)
{
	host_context_create(&stage->host, context, 0, true);
	for (uint32_t fence = 1; fence <= 3; fence++)
		stage_submit(stage, context, 0, fence);
}

static void end(struct stage *stage, struct host_context *context)
{
	host_context_destroy(&stage->host, context);
}

/* ---- completions ---- */

static void complete_unknown(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	completed(stage, stage->is_bent ? 77 : 2);
	end(stage, &context);
}

static void complete_of_other_node(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	stage_interrupt(stage, DXGK_INTERRUPT_DMA_COMPLETED, stage->is_bent ? 1 : 0, 2);
	end(stage, &context);
}

TEST(completion, is_of_what_the_node_was_given)
{
	EXPECT_RULE(RULE_DDI_FENCE_RANGE, bend_nothing, complete_unknown, NUMBER("HandCranked", 1));
	EXPECT_RULE(RULE_DDI_FENCE_RANGE, bend_nothing, complete_of_other_node,
		    NUMBER("HandCranked", 1));
}

static void complete_backwards(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	completed(stage, stage->is_bent ? 2 : 1);
	completed(stage, stage->is_bent ? 1 : 2);
	end(stage, &context);
}

static void complete_twice(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	completed(stage, 2); /* and with it the first */
	completed(stage, stage->is_bent ? 2 : 3);
	end(stage, &context);
}

TEST(completions, come_in_order_and_once)
{
	EXPECT_RULE(RULE_DDI_FENCE_MONOTONE, bend_nothing, complete_backwards,
		    NUMBER("HandCranked", 1));
	EXPECT_RULE(RULE_DDI_FENCE_MONOTONE, bend_nothing, complete_twice,
		    NUMBER("HandCranked", 1));
}

/* ---- preemption ---- */

static void answer_wrongly(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	miniport_preempt(stage->host.miniport, 0, 5);
	preempted(stage, stage->is_bent ? 6 : 5, 1);
	end(stage, &context);
}

static void answer_with_unknown(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	completed(stage, 1);
	miniport_preempt(stage->host.miniport, 0, 5);
	preempted(stage, 5, stage->is_bent ? 40 : 2);
	end(stage, &context);
}

static void complete_preempted(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	miniport_preempt(stage->host.miniport, 0, 5);
	preempted(stage, 5, 1);
	stage_submit(stage, &context, 0, 4);
	completed(stage, stage->is_bent ? 3 : 4);
	end(stage, &context);
}

static void never_answer(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	completed(stage, 3);
	miniport_preempt(stage->host.miniport, 0, 5);
	if (!stage->is_bent)
		preempted(stage, 5, 3);
	stage_submit(stage, &context, 0, 4);
	end(stage, &context);
}

/* The kernel's own come again with the ids they had. */
static void resubmit(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	miniport_preempt(stage->host.miniport, 0, 5);
	preempted(stage, 5, 0);
	stage_submit(stage, &context, 0, 2);
	stage_submit(stage, &context, 0, 4);
	completed(stage, 2);
	completed(stage, 4);
	end(stage, &context);
}

TEST(preemption, is_answered_and_final)
{
	static const struct miniport_setting settings[] = { NUMBER("HandCranked", 1),
							    NUMBER("HoldPreemption", 1) };

	EXPECT_RULE(RULE_DDI_PREEMPT_ANSWER, bend_nothing, answer_wrongly, settings[0],
		    settings[1]);
	EXPECT_RULE(RULE_DDI_PREEMPT_ANSWER, bend_nothing, complete_preempted, settings[0],
		    settings[1]);
	EXPECT_RULE(RULE_DDI_PREEMPT_ANSWER, bend_nothing, never_answer, settings[0], settings[1]);
	EXPECT_RULE(RULE_DDI_FENCE_RANGE, bend_nothing, answer_with_unknown, settings[0],
		    settings[1]);
	stage_play(bend_nothing, resubmit, settings, ARRAY_SIZE(settings));
	EXPECT_EQ(stage_reports(RULE_DDI_PREEMPT_ANSWER), 0);
	EXPECT_EQ(stage_reports(RULE_DDI_FENCE_RANGE), 0);
	EXPECT_EQ(stage_reports(RULE_DDI_FENCE_MONOTONE), 0);
}

static void run_on(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	miniport_preempt(stage->host.miniport, 0, 5);
	clock_sleep_until(clock_now_ns() + (stage->is_bent ? 1500 : 100) * NS_PER_MS);
	completed(stage, 1);
	preempted(stage, 5, 1);
	end(stage, &context);
}

TEST(preemption, takes_no_longer_than_is_claimed)
{
	SKIP_UNLESS(thread_is_simulated(), "a slow machine is no mistake of a driver");
	EXPECT_RULE(RULE_DDI_PREEMPT_GRANULARITY, bend_nothing, run_on, NUMBER("HandCranked", 1),
		    NUMBER("HoldPreemption", 1));
}

/* ---- faults ---- */

static void fault(struct stage *stage, uint32_t node, uint32_t fence)
{
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_INTERRUPT,
						      .type = DXGK_INTERRUPT_DMA_FAULTED,
						      .node = node,
						      .fence = fence,
						      .status = STATUS_ILLEGAL_INSTRUCTION });
}

static void fault_unknown(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	fault(stage, 0, stage->is_bent ? 9 : 2);
	end(stage, &context);
}

static void fault_of_kernel(struct stage *stage)
{
	struct host_context context;

	begin(stage, &context);
	stage_submit(stage, NULL, miniport_info(stage->host.miniport)->paging_node, 9);
	if (stage->is_bent)
		fault(stage, miniport_info(stage->host.miniport)->paging_node, 9);
	else
		fault(stage, 0, 1);
	end(stage, &context);
}

TEST(fault, is_of_a_clients_packet_that_the_node_has)
{
	EXPECT_RULE(RULE_DDI_FAULT_PARAMETERS, bend_nothing, fault_unknown,
		    NUMBER("HandCranked", 1));
	EXPECT_RULE(RULE_DDI_FAULT_SYSTEM, bend_nothing, fault_of_kernel, NUMBER("HandCranked", 1));
}

/* ---- questions ---- */

static uint32_t answered;

static NTSTATUS APIENTRY answer(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_QUERYCURRENTFENCE args)
{
	NTSTATUS status = real.DxgkDdiQueryCurrentFence(adapter, args);

	if (args->NodeOrdinal == 0)
		args->CurrentFence = answered;
	return status;
}

BEND(bend_answer, driver->DxgkDdiQueryCurrentFence = answer)

static void ask(struct stage *stage)
{
	struct host_context context;
	uint32_t fence;

	begin(stage, &context);
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_COMPLETE });
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_COMPLETE });
	EXPECT(miniport_query_current_fence(stage->host.miniport, 0, &fence));
	end(stage, &context);
}

TEST(question, for_the_fence_is_answered_between_reported_and_submitted)
{
	static const uint32_t wrong[] = { 1, 4, 0xfffffff0 };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		answered = wrong[i];
		EXPECT_RULE(RULE_DDI_FENCE_QUERY, bend_answer, ask, NUMBER("HandCranked", 1));
	}
	answered = 3; /* done, and about to be reported */
	stage_play(bend_answer, ask, STAGE_SETTINGS(NUMBER("HandCranked", 1)), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_FENCE_QUERY), 0);
}

/* As a fault plan does it: the driver speaks, and the kernel does not hear. */
static void swallow(struct stage *stage, uint32_t fence)
{
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = { .InterruptType = DXGK_INTERRUPT_DMA_COMPLETED };
	struct verify_adapter *adapter = stage->host.miniport->verified;
	struct verify_callback callback = { .adapter = adapter,
					    .id = VERIFY_CB_NotifyInterrupt,
					    .arguments = &data };

	data.DmaCompleted.SubmissionFenceId = fence;
	verify_watch_fences.callback_before(&callback, adapter->states[VERIFY_WATCH_fences]);
	callback.is_answered = true;
	verify_watch_fences.callback_after(&callback, adapter->states[VERIFY_WATCH_fences]);
}

static void lose_and_ask(struct stage *stage)
{
	struct host_context context;
	uint32_t fence;

	begin(stage, &context);
	swallow(stage, 3);
	EXPECT(miniport_query_current_fence(stage->host.miniport, 0, &fence));
	end(stage, &context);
}

TEST(interrupt, that_is_lost_can_be_asked_for)
{
	answered = 3;
	stage_play(bend_answer, lose_and_ask, STAGE_SETTINGS(NUMBER("HandCranked", 1)), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_INTERRUPT_LOST), 0);
	answered = 2;
	stage_play(bend_answer, lose_and_ask, STAGE_SETTINGS(NUMBER("HandCranked", 1)), 1);
	EXPECT(stage_reports(RULE_DDI_INTERRUPT_LOST) > 0);
}

/* ---- resets ---- */

static void reset_and_complete(struct stage *stage)
{
	struct host_context context;
	uint32_t fence;

	begin(stage, &context);
	EXPECT_EQ(miniport_reset_node(stage->host.miniport, 0, &fence), STATUS_SUCCESS);
	stage_submit(stage, &context, 0, 4);
	completed(stage, stage->is_bent ? 2 : 4);
	end(stage, &context);
}

TEST(reset, ends_what_the_node_had)
{
	EXPECT_RULE(RULE_DDI_FENCE_RANGE, bend_nothing, reset_and_complete,
		    NUMBER("HandCranked", 1));
}

/* ---- the model by itself ---- */

TEST(model, of_a_node_goes_round_with_the_ids)
{
	static struct fence_node node;

	node = (struct fence_node){ 0 };
	for (uint32_t i = 0; i < 100; i++)
		fence_node_submit(&node, &(struct fence_packet){ .fence = UINT32_MAX - 50 + i });
	EXPECT_EQ(fence_node_complete(&node, UINT32_MAX - 10), FENCE_GOOD);
	EXPECT_EQ(fence_node_complete(&node, 10), FENCE_GOOD);
	EXPECT_EQ(fence_node_complete(&node, UINT32_MAX - 5), FENCE_OVER);
	EXPECT_EQ(fence_node_complete(&node, 100), FENCE_UNKNOWN);
	EXPECT(fence_node_is_busy(&node));
	EXPECT_EQ(fence_node_complete(&node, 48), FENCE_GOOD);
	EXPECT(!fence_node_is_busy(&node));
}

TEST(model, of_a_node_that_has_more_than_fits_judges_nothing)
{
	static struct fence_node node;

	node = (struct fence_node){ 0 };
	for (uint32_t i = 1; i <= FENCE_PACKETS + 1; i++)
		fence_node_submit(&node, &(struct fence_packet){ .fence = i });
	EXPECT_EQ(fence_node_complete(&node, FENCE_PACKETS + 1), FENCE_NOT_JUDGED);
	fence_node_reset(&node);
	EXPECT_EQ(fence_node_complete(&node, 3), FENCE_UNKNOWN);
}

/* Refused at its submission, it is over without a word when its turn comes. */
TEST(model, of_a_node_does_not_wait_for_what_was_refused)
{
	static struct fence_node node;

	node = (struct fence_node){ 0 };
	for (uint32_t i = 1; i <= 3; i++)
		fence_node_submit(&node, &(struct fence_packet){ .fence = i });
	fence_node_refused(&node, 2, true);
	fence_node_refused(&node, 3, false);
	EXPECT_EQ(fence_node_complete(&node, 1), FENCE_GOOD);
	EXPECT(!fence_node_is_busy(&node));
	EXPECT_EQ(fence_node_complete(&node, 3), FENCE_UNKNOWN);
}

/* ---- hardware queues ---- */

struct queue {
	void *device;
	void *context;
	void *handle;
	uint64_t progress;
};

static void queue_create(struct stage *stage, struct queue *queue)
{
	struct host *host = &stage->host;

	*queue = (struct queue){ 0 };
	EXPECT_EQ(miniport_create_device(host->miniport, host->client, stage, NULL, &queue->device),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_hw_context(host->miniport, host->client,
					     &(struct miniport_context_desc){
						     .kernel_handle = &queue->context,
						     .driver_device = queue->device,
						     .engine_mask = 1,
					     },
					     &queue->context),
		  STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_hw_queue(host->miniport, host->client,
					   &(struct miniport_hw_queue_desc){
						   .kernel_handle = queue,
						   .driver_context = queue->context,
						   .fence_pointer = &queue->progress,
						   .is_hw_context = true,
					   },
					   &queue->handle),
		  STATUS_SUCCESS);
}

static void queue_destroy(struct stage *stage, struct queue *queue)
{
	struct host *host = &stage->host;

	/* The recorder wants to be rid of what it has. */
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_HW_COMPLETE,
						      .flags = RECORDER_HW_SILENT,
						      .wide_fence = UINT64_MAX });
	miniport_destroy_hw_queue(host->miniport, host->client, queue->handle);
	miniport_destroy_hw_context(host->miniport, host->client, queue->context);
	miniport_destroy_device(host->miniport, host->client, queue->device);
}

static void queue_submit(struct stage *stage, struct queue *queue, uint64_t value)
{
	EXPECT_EQ(miniport_submit_to_hw_queue(stage->host.miniport,
					      &(struct miniport_hw_submission){
						      .driver_queue = queue->handle,
						      .progress_fence_value = value,
						      .gpu_address = 0x20000,
						      .size_bytes = 64,
						      .fence_pointer = &queue->progress,
					      }),
		  STATUS_SUCCESS);
}

static uint64_t wrong_progress;

static void progress(struct stage *stage)
{
	struct queue queue;

	queue_create(stage, &queue);
	for (uint64_t value = 10; value <= 30; value += 10)
		queue_submit(stage, &queue, value);
	queue.progress = 20;
	stage_interrupt(stage, DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED, 0, 0);
	queue.progress = stage->is_bent ? wrong_progress : 30;
	stage_interrupt(stage, DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED, 0, 0);
	queue_destroy(stage, &queue);
}

TEST(progress, goes_up_to_what_was_submitted)
{
	static const uint64_t wrong[] = { 10, 25, 40 };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		wrong_progress = wrong[i];
		EXPECT_RULE(RULE_DDI_HWQ_PROGRESS, bend_nothing, progress, NUMBER("HwQueues", 1));
	}
	/* The kernel's own way to say that there is nothing more. */
	wrong_progress = UINT64_MAX;
	stage_play(bend_nothing, progress, STAGE_SETTINGS(NUMBER("HwQueues", 1)), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_HWQ_PROGRESS), 0);
}

static void suspend(struct stage *stage)
{
	struct queue queue;

	queue_create(stage, &queue);
	EXPECT(!miniport_suspend_context(stage->host.miniport, queue.context, 7));
	stage_escape(stage,
		     (struct recorder_escape){ .command = RECORDER_INTERRUPT,
					       .type = DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED,
					       .wide_fence = stage->is_bent ? 8 : 7 });
	miniport_resume_context(stage->host.miniport, queue.context);
	queue_destroy(stage, &queue);
}

TEST(suspension, is_reported_with_its_fence)
{
	EXPECT_RULE(RULE_DDI_HWQ_SUSPEND_FENCE, bend_nothing, suspend, NUMBER("HwQueues", 1),
		    NUMBER("HwSuspend", 2));
}

/* ---- what packets write ---- */

static volatile uint32_t marker[4];

static void write_marker(uint32_t value)
{
	for (size_t i = 0; i < ARRAY_SIZE(marker); i++)
		marker[i] = value;
}

static void expect_marker(const void *kernel, uint64_t commands)
{
	write_marker(0);
	EXPECT(verify_expect(&(struct verify_expected){ .kernel = kernel,
							.commands = commands,
							.place = marker,
							.size_bytes = sizeof(marker),
							.value = 0xabcd }));
}

static void complete_with_marker(struct stage *stage)
{
	struct host_context context;

	host_context_create(&stage->host, &context, 0, true);
	expect_marker(&context, 0x10000 + 2);
	for (uint32_t fence = 1; fence <= 2; fence++)
		stage_submit(stage, &context, 0, fence);
	completed(stage, 1); /* not that one */
	if (!stage->is_bent)
		write_marker(0xabcd);
	completed(stage, 2);
	end(stage, &context);
	verify_expect_nothing(marker, sizeof(*marker));
}

static void progress_with_marker(struct stage *stage)
{
	struct queue queue;

	queue_create(stage, &queue);
	expect_marker(&queue, 0x20000);
	queue_submit(stage, &queue, 1);
	stage_interrupt(stage, DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED, 0, 0); /* of another */
	if (!stage->is_bent)
		write_marker(0xabcd);
	queue.progress = 1;
	stage_interrupt(stage, DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED, 0, 0);
	queue_destroy(stage, &queue);
	verify_expect_nothing(marker, sizeof(*marker));
}

TEST(packet, is_reported_when_it_has_written)
{
	EXPECT_RULE(RULE_DDI_FENCE_NO_EARLY, bend_nothing, complete_with_marker,
		    NUMBER("HandCranked", 1));
	EXPECT_RULE(RULE_DDI_FENCE_NO_EARLY, bend_nothing, progress_with_marker,
		    NUMBER("HwQueues", 1));
}

static void preempt_with_marker(struct stage *stage)
{
	struct host_context context;

	host_context_create(&stage->host, &context, 0, true);
	expect_marker(&context, 0x10000 + 1);
	stage_submit(stage, &context, 0, 1);
	miniport_preempt(stage->host.miniport, 0, 5);
	preempted(stage, 5, 0);
	/* The same commands, with another fence. */
	EXPECT_EQ(miniport_submit(stage->host.miniport, true,
				  &(struct miniport_submission){
					  .driver_context = context.info.driver_context,
					  .driver_device = context.device,
					  .fence = 2,
					  .gpu_address = 0x10000 + 1,
					  .size_bytes = 64,
					  .is_resubmission = true,
				  }),
		  STATUS_SUCCESS);
	write_marker(0xabcd);
	if (stage->is_bent)
		marker[2] = 0; /* a part of it was thought to be done */
	completed(stage, 2);
	end(stage, &context);
	verify_expect_nothing(marker, sizeof(*marker));
}

/* Of what it had, and of what it is given all the same, it says that it is over. */
static void remove_with_marker(struct stage *stage)
{
	struct host_context context;

	host_context_create(&stage->host, &context, 0, true);
	expect_marker(&context, 0x10000 + 1);
	expect_marker(&context, 0x10000 + 2);
	stage_submit(stage, &context, 0, 1);
	EXPECT(miniport_notify_surprise_removal(stage->host.miniport));
	stage_submit(stage, &context, 0, 2);
	completed(stage, 2);
	end(stage, &context);
	verify_expect_nothing(marker, sizeof(*marker));
}

TEST(packet, of_hardware_that_is_gone_writes_nothing)
{
	const struct miniport_setting settings[] = { NUMBER("HandCranked", 1),
						     NUMBER("SurpriseRemoval", 1),
						     NUMBER("Whole", 1) };

	stage_play(stage_bend_removable, remove_with_marker, settings, ARRAY_SIZE(settings));
	EXPECT_EQ(stage_reports(RULE_DDI_FENCE_NO_EARLY), 0);
}

TEST(packet, that_was_preempted_writes_the_same)
{
	EXPECT_RULE(RULE_DDI_PREEMPT_RESUBMIT, bend_nothing, preempt_with_marker,
		    NUMBER("HandCranked", 1), NUMBER("HoldPreemption", 1));
	EXPECT_EQ(stage_reports(RULE_DDI_FENCE_NO_EARLY), 0);
}

enum { LOOKS = 12 };

static volatile uint32_t many_words[4 << 20];

static void complete_much(struct stage *stage)
{
	struct host_context context;

	for (size_t i = 0; i < ARRAY_SIZE(many_words); i++)
		many_words[i] = 0xabcd;
	host_context_create(&stage->host, &context, 0, true);
	for (uint32_t fence = 1; fence <= LOOKS; fence++) {
		EXPECT(verify_expect(&(struct verify_expected){ .kernel = &context,
								.commands = 0x10000 + fence,
								.place = many_words,
								.size_bytes = sizeof(many_words),
								.value = 0xabcd }));
		stage_submit(stage, &context, 0, fence);
	}
	for (uint32_t fence = 1; fence <= LOOKS; fence++)
		completed(stage, fence);
	end(stage, &context);
}

/* We look at the bytes while the driver is at interrupt level; that is not its time. */
TEST(packet, that_is_looked_at_for_long_makes_no_driver_slow)
{
	stage_play(bend_nothing, complete_much, STAGE_SETTINGS(NUMBER("HandCranked", 1)), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_TIME), 0);
}

TEST_MAIN("verify/fences")
