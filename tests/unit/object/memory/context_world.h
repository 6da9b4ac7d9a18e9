/* SPDX-License-Identifier: MIT */
/*
 * context_world.h - a kernel with the recorder turned by hand, two clients, and what they do with
 * context allocations.
 */
#ifndef TESTS_UNIT_OBJECT_CONTEXT_WORLD_H
#define TESTS_UNIT_OBJECT_CONTEXT_WORLD_H
#include "unit/object/scene.h"

#include <sched.h>

#include "base/refusal.h"
#include "nt/report.h"
#include "object/submit/context_switch.h"
#include "object/memory/gpu_addresses.h"
#include "object/submit/submission.h"
#include "object/check/validate.h"
#include "sched/internal.h"
#include "unit/vidmm/evict.h"
#include "vidmm/place.h"

enum { PAGING = 2, PATIENCE = 4000000 };
enum { IS_SHARED = 1 };
enum { OPERATION_INIT = 10, OPERATION_UPDATE = 13 };

/* ---- the driver's notes ---- */

static unsigned operations(unsigned operation)
{
	char text[64];

	snprintf(text, sizeof(text), "BuildPagingBuffer irql=0 operation=%u ", operation);
	return notes_of(text);
}

/* ---- the world ---- */

static struct client other; /* turns the crank */

/* Processes begin and end with paging of their own, which is not what is looked at here. */
static struct thread *turner;
static _Atomic bool is_turning;

static void turn_paging(void *argument)
{
	struct recorder_escape args;
	struct miniport_escape_desc desc = { .private_data = &args, .private_bytes = sizeof(args) };

	(void)argument;
	while (is_turning) {
		args = (struct recorder_escape){ .command = RECORDER_COMPLETE, .node = PAGING };
		(void)!miniport_escape(adapter->miniport, miniport_system_client(adapter->miniport),
				       &desc);
		thread_point();
	}
}

static void turner_start(void)
{
	is_turning = true;
	EXPECT_EQ(thread_create("turner", turn_paging, NULL, &turner), STATUS_SUCCESS);
}

static void turner_stop(void)
{
	is_turning = false;
	thread_join(turner);
}

static uint32_t reserved_mib; /* by the driver, in each process */

static void begin_with(const char *keep, uint32_t kinds, bool is_by_hand, bool leaks)
{
	struct miniport_setting settings[] = {
		{ "NbAsymetricProcessingNodes", NULL, 3 },
		{ "PagingNode", NULL, PAGING },
		{ "HandCranked", NULL, is_by_hand },
		{ "TdrLevel", NULL, 0 },
		{ "QuantumMs", NULL, 3600000 }, /* a slow test is no reason to preempt */
		{ keep, NULL, kinds },
		{ "Leak", NULL, leaks },
		{ "ReserveMiB", NULL, reserved_mib },
		{ "Levels", "many processes", 0 }, /* of which a driver sees only one */
	};

	nt_report_reset();
	scene_begin_with(settings, ARRAY_SIZE(settings));
	turner_start();
	client_begin(&app, 1);
	client_begin(&other, 2);
	turner_stop();
}

static void begin(bool is_by_hand)
{
	begin_with("Keep", 0, is_by_hand, false);
}

static void finish(void)
{
	turner_start();
	client_end(&app);
	client_end(&other);
	turner_stop();
	scene_end();
}

static NTSTATUS escape(struct client *client, struct dxg_context *context,
		       struct recorder_escape *escape)
{
	return escape_to_driver(client->device, context, escape);
}

/* ---- the crank ---- */

static unsigned pending(unsigned node)
{
	struct recorder_escape args = { .command = RECORDER_PENDING, .node = node };

	return (unsigned)escape(&other, NULL, &args);
}

static bool complete(unsigned node)
{
	struct recorder_escape args = { .command = RECORDER_COMPLETE, .node = node };

	recorder_note("completing");
	return escape(&other, NULL, &args) != 0;
}

#define AWAIT(condition)                                                                           \
	do {                                                                                       \
		unsigned await_turns = 0;                                                          \
		while (!(condition)) {                                                             \
			if (++await_turns > PATIENCE) {                                            \
				print_error("never came: %s\n%s", #condition, notes);              \
				_fail(__FILE__, __LINE__);                                         \
			}                                                                          \
			thread_point();                                                            \
			sched_yield();                                                             \
		}                                                                                  \
	} while (0)

static void complete_next(unsigned node)
{
	AWAIT(pending(node) > 0);
	EXPECT(complete(node));
}

static void others_run(void)
{
	for (unsigned i = 0; i < 200; i++)
		(void)pending(0);
}

/* ---- contexts, work, allocations ---- */

static struct dxg_context *make_context(struct client *client, unsigned node)
{
	struct dxg_context *context = NULL;

	EXPECT_EQ(context_create(client->device,
				 &(struct context_options){ .node = node, .is_virtual = true },
				 &context),
		  STATUS_SUCCESS);
	return context;
}

static void end_context(struct dxg_context *context)
{
	EXPECT(context_destroy(context));
	object_put(&context->object);
}

static void submit(struct dxg_context *context)
{
	EXPECT_EQ(submission_queue(
			  &context, 1,
			  &(struct submission_request){ .gpu_address = 0x10000, .size_bytes = 64 }),
		  STATUS_SUCCESS);
}

static NTSTATUS try_create(struct dxg_context *context, bool is_shared, uint32_t segments,
			   unsigned long long *handle_out)
{
	struct recorder_escape args = {
		.command = RECORDER_CONTEXT_CREATE,
		.flags = is_shared ? IS_SHARED : 0,
		.values = { 1, is_shared ? 0 : 1, 0xC00C1E, 65536, 0, segments, 0, 0 },
	};
	NTSTATUS status = escape(&app, is_shared ? NULL : context, &args);

	*handle_out = args.values[0];
	return status;
}

static unsigned long long create(struct dxg_context *context, bool is_shared)
{
	unsigned long long handle = 0;

	EXPECT_EQ(try_create(context, is_shared, 1, &handle), STATUS_SUCCESS);
	return handle;
}

static NTSTATUS destroy(struct client *client, unsigned long long handle)
{
	struct recorder_escape args = { .command = RECORDER_CONTEXT_DESTROY, .values = { handle } };

	return escape(client, NULL, &args);
}

/* One call, on a thread of its own: in the driver for as long as it takes. */
struct call {
	struct thread *thread;
	void (*act)(struct call *call);
	unsigned long long handle;
	struct dxg_context *context;
	NTSTATUS status;
	_Atomic bool is_over;
};

static void call_run(void *argument)
{
	struct call *call = argument;

	call->act(call);
	recorder_note("returned");
	atomic_store(&call->is_over, true);
}

static void call_start(struct call *call)
{
	EXPECT_EQ(thread_create("caller", call_run, call, &call->thread), STATUS_SUCCESS);
}

static NTSTATUS call_end(struct call *call)
{
	thread_join(call->thread);
	EXPECT(call->is_over);
	return call->status;
}

static void act_destroy(struct call *call)
{
	call->status = destroy(&app, call->handle);
}

static void act_end_context(struct call *call)
{
	end_context(call->context);
	call->status = STATUS_SUCCESS;
}

static void act_update(struct call *call)
{
	struct recorder_escape args = { .command = RECORDER_CONTEXT_UPDATE,
					.fence = 0x12345678,
					.values = { call->handle } };

	call->status = escape(&app, NULL, &args);
}

static uint32_t suspensions(struct sched_queue *queue)
{
	sched_lock(queue->sched);
	uint32_t count = queue->suspensions;
	sched_unlock(queue->sched);
	return count;
}

static uint64_t leaks(void)
{
	return nt_report_count(RULE_DDI_CONTEXT_ALLOCATION_LEAK);
}

#endif
