/* SPDX-License-Identifier: MIT */
/*
 * context_allocation_test.c - memory that a driver keeps for its contexts: there before they run,
 * there until they are switched away, gone when nothing can touch it.
 *
 * The GPU is the recorder, turned by hand; by another process than the one whose thread is in the
 * driver, which has its driver to itself. Node 0 and 1 work, node 2 pages.
 */
#include "context_world.h"

/* ---- life ---- */

TEST(life, is_made_in_create_context_and_ends_in_destroy_context)
{
	begin_with("Keep", 1, false, false);
	struct dxg_context *context = make_context(&app, 0);
	EXPECT_EQ(notes_of("CreateContextAllocation irql=0 status=0"), 1);
	submit(context);
	AWAIT(sched_owner_is_idle(&app.device->work));
	end_context(context);
	EXPECT_EQ(notes_of("ContextAllocationGone irql=0 status=0"), 1);
	EXPECT_EQ(leaks(), 0);
	/* None of the calls for what clients make. */
	EXPECT_EQ(notes_of("CreateAllocation"), 0);
	EXPECT_EQ(notes_of("DestroyAllocation"), 0);
	EXPECT_EQ(notes_of("OpenAllocation") + notes_of("CloseAllocation"), 0);
	finish();
}

TEST(life, is_made_in_create_device_and_ends_in_destroy_device)
{
	begin_with("Keep", 2, false, false);
	EXPECT_EQ(notes_of("CreateContextAllocation irql=0 status=0"), 2); /* two devices */
	finish();
	EXPECT_EQ(notes_of("ContextAllocationGone irql=0 status=0"), 2);
	EXPECT_EQ(leaks(), 0);
}

TEST(life, what_is_leaked_goes_with_its_owner_and_is_reported)
{
	begin_with("Keep", 3, false, true);
	struct dxg_context *context = make_context(&app, 0);
	submit(context);
	AWAIT(sched_owner_is_idle(&app.device->work));
	end_context(context);
	EXPECT_EQ(leaks(), 1);
	client_end(&app);
	EXPECT_EQ(leaks(), 2);
	EXPECT_EQ(notes_of("ContextAllocationGone"), 0);
	client_begin(&app, 1);
	finish();
}

#define CONTEXT_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, finish(), suite, claim)

CONTEXT_TEST(life, is_charged_to_the_process_and_counted, begin(false))
{
	char wrong[256];

	struct dxg_context *context = make_context(&app, 0);
	unsigned long long handle = create(context, false);
	submit(context);
	AWAIT(sched_owner_is_idle(&app.device->work));
	AWAIT(pager_is_idle(adapter->pager));
	/* Only references that are known count. */
	object_put(&context->object);
	object_put(&app.device->object);
	object_put(&other.device->object);
	AWAIT(kernel_validate(&kernel, wrong, sizeof(wrong)));
	object_get(&other.device->object);
	object_get(&app.device->object);
	object_get(&context->object);
	EXPECT(vidmm_manager_validate(adapter->memory, false, wrong, sizeof(wrong)));
	EXPECT_EQ(destroy(&app, handle), STATUS_SUCCESS);
	end_context(context);
}

/* ---- residency ---- */

CONTEXT_TEST(residency, it_is_there_before_work_of_its_context_goes_to_the_hardware, begin(true))
{
	struct dxg_context *context = make_context(&app, 0);
	(void)create(context, false);
	EXPECT_EQ(operations(OPERATION_INIT), 0); /* not before it is needed */
	submit(context);
	AWAIT(pending(PAGING) > 0);
	others_run();
	EXPECT_EQ(pending(0), 0);
	AWAIT(operations(OPERATION_INIT) == 1);
	while (pending(0) == 0) {
		if (pending(PAGING) > 0)
			EXPECT(complete(PAGING));
		thread_point();
	}
	EXPECT(complete(0));
	AWAIT(sched_owner_is_idle(&app.device->work));
	/* It stays, and nothing has to be done again. */
	submit(context);
	complete_next(0);
	EXPECT_EQ(operations(OPERATION_INIT), 1);
	nt_report_reset();
	struct call call = { .act = act_end_context, .context = context };
	call_start(&call);
	complete_next(0); /* the switch away from it: the leak is reaped */
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	EXPECT_EQ(leaks(), 1);
}

static void page_until(bool (*is_over)(void))
{
	AWAIT(is_over() || (pending(PAGING) > 0 && complete(PAGING) && is_over()));
}

static bool work_is_submitted(void)
{
	return pending(0) > 0;
}

/* A context whose work the hardware has, and an allocation of it. */
static struct dxg_context *begin_at_work(unsigned long long *handle_out)
{
	begin(true);
	struct dxg_context *context = make_context(&app, 0);

	*handle_out = create(context, false);
	submit(context);
	page_until(work_is_submitted);
	return context;
}

static bool paging_is_idle(void)
{
	return pager_is_idle(adapter->pager);
}

TEST(residency, an_eviction_switches_the_context_away_first_and_keeps_the_content)
{
	unsigned long long handle;
	struct dxg_context *context = begin_at_work(&handle);
	EXPECT(complete(0));
	AWAIT(sched_owner_is_idle(&app.device->work));
	page_until(paging_is_idle);

	struct vidmm_segment_usage usage;
	evict_segment(adapter->memory, 1);
	others_run();
	AWAIT(notes_of("ContextSwitch irql=2 node=0 bytes=0") == 1);
	EXPECT_EQ(pending(PAGING), 0); /* nothing moves before it is switched away */
	complete_next(0);
	page_until(paging_is_idle);
	EXPECT(vidmm_segment_usage(adapter->memory, 1, &usage));
	EXPECT_EQ(usage.traffic.evicted.bytes, 65536);
	EXPECT_EQ(usage.traffic.discarded.bytes, 0);

	submit(context);
	page_until(work_is_submitted);
	EXPECT(vidmm_segment_usage(adapter->memory, 1, &usage));
	EXPECT_EQ(usage.traffic.copied_in.bytes, 65536);
	EXPECT_EQ(operations(OPERATION_INIT), 1);
	EXPECT(complete(0));
	struct call call = { .act = act_destroy, .handle = handle };
	call_start(&call);
	complete_next(0);
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	end_context(context);
	finish();
}

CONTEXT_TEST(residency, a_context_that_is_not_loaded_is_not_switched_away_from, begin(true))
{
	struct dxg_context *context = make_context(&app, 0);
	struct dxg_context *next = make_context(&app, 0);
	unsigned long long handle = create(context, false);
	submit(context);
	page_until(work_is_submitted);
	EXPECT(complete(0));
	submit(next);
	complete_next(0);
	EXPECT_EQ(destroy(&app, handle), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("ContextSwitch"), 0);
	end_context(context);
	end_context(next);
}

CONTEXT_TEST(residency, what_all_contexts_share_is_there_for_any_of_them, begin(true))
{
	struct dxg_context *context = make_context(&app, 0);
	struct dxg_context *second = make_context(&app, 1);
	unsigned long long handle = create(NULL, true);
	submit(second);
	AWAIT(pending(PAGING) > 0);
	others_run();
	EXPECT_EQ(pending(1), 0);
	while (pending(1) == 0) {
		if (pending(PAGING) > 0)
			EXPECT(complete(PAGING));
		thread_point();
	}
	submit(context);
	AWAIT(pending(0) == 1);
	/* Loaded on two nodes: both let go of it. */
	struct call call = { .act = act_destroy, .handle = handle };
	call_start(&call);
	complete_next(0);
	complete_next(1);
	AWAIT(pending(0) + pending(1) > 0);
	EXPECT(!call.is_over);
	complete_next(0);
	complete_next(1);
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("ContextSwitch irql=2 node=0"), 1);
	EXPECT_EQ(notes_of("ContextSwitch irql=2 node=1"), 1);
	end_context(context);
	end_context(second);
}

/* ---- destroy ---- */

TEST(destroy, with_work_under_way_returns_when_the_hardware_has_let_go)
{
	unsigned long long handle;
	struct dxg_context *context = begin_at_work(&handle);
	submit(context);
	struct call call = { .act = act_destroy, .handle = handle };
	call_start(&call);
	others_run();
	EXPECT(!call.is_over);
	EXPECT_EQ(notes_of("ContextSwitch"), 0);
	complete_next(0);
	others_run();
	EXPECT(!call.is_over);
	complete_next(0);
	AWAIT(notes_of("ContextSwitch") == 1);
	others_run();
	EXPECT(!call.is_over); /* the context is still loaded */
	complete_next(0);
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	/* The context works on, without it. */
	submit(context);
	complete_next(0);
	AWAIT(sched_owner_is_idle(&app.device->work));
	EXPECT_EQ(leaks(), 0);
	end_context(context);
	finish();
}

TEST(destroy, what_is_queued_meanwhile_waits_until_it_is_gone)
{
	unsigned long long handle;
	struct dxg_context *context = begin_at_work(&handle);
	struct call call = { .act = act_destroy, .handle = handle };
	call_start(&call);
	AWAIT(suspensions(&context->queue) > 0);
	submit(context);
	others_run();
	EXPECT_EQ(sched_queue_length(&context->queue), 2);
	complete_next(0);
	AWAIT(notes_of("ContextSwitch") == 1);
	complete_next(0);
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	complete_next(0);
	AWAIT(sched_owner_is_idle(&app.device->work));
	end_context(context);
	finish();
}

TEST(destroy, from_inside_destroy_context_switches_the_context_away)
{
	begin_with("Keep", 1, true, false);
	struct dxg_context *context = make_context(&app, 0);
	submit(context);
	page_until(work_is_submitted);
	EXPECT(complete(0));
	struct call call = { .act = act_end_context, .context = context };
	call_start(&call);
	AWAIT(notes_of("ContextSwitch irql=2 node=0") == 1);
	others_run();
	EXPECT_EQ(notes_of("ContextAllocationGone"), 0);
	EXPECT(!call.is_over);
	complete_next(0);
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("ContextAllocationGone irql=0 status=0"), 1);
	EXPECT_EQ(leaks(), 0);
	finish();
}

static void act_destroy_without_waiting(struct call *call)
{
	call->status = context_allocation_services.destroy(adapter, (void *)(uintptr_t)call->handle,
							   false);
}

/* On the pager's thread, say, which the update waits for. */
CONTEXT_TEST(destroy, where_nobody_may_wait_does_not_wait_for_an_update_either, begin(true))
{
	struct dxg_context *context = make_context(&app, 0);
	struct call update = { .act = act_update, .handle = create(context, false) };
	struct call call = { .act = act_destroy_without_waiting, .handle = update.handle };
	call_start(&update);
	AWAIT(pending(PAGING) > 0);
	call_start(&call);
	AWAIT(call.is_over);
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	EXPECT(!update.is_over);
	turner_start();
	EXPECT_EQ(call_end(&update), STATUS_SUCCESS);
	end_context(context);
	turner_stop();
	EXPECT_EQ(leaks(), 0);
}

TEST(destroy, of_a_lost_device_waits_for_nobody)
{
	unsigned long long handle;
	struct dxg_context *context = begin_at_work(&handle);
	device_lose(app.device, DEVICE_HUNG, NULL);
	EXPECT_EQ(destroy(&app, handle), STATUS_SUCCESS);
	EXPECT_EQ(destroy(&app, handle), STATUS_INVALID_PARAMETER);
	/* The memory is not given away before the hardware has let go of it. */
	struct vidmm_segment_usage usage;
	EXPECT(vidmm_segment_usage(adapter->memory, 1, &usage));
	EXPECT(usage.resident_bytes >= 65536);
	struct call call = { .act = act_end_context, .context = context };
	call_start(&call);
	complete_next(0);
	complete_next(0); /* the switch */
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	EXPECT_EQ(leaks(), 0);
	finish();
}

/* ---- handles ---- */

static NTSTATUS create_as(unsigned long long device, unsigned long long context, unsigned flags)
{
	struct recorder_escape args = {
		.command = RECORDER_CONTEXT_CREATE,
		.flags = flags,
		.values = { device, context, 0xC00C1E, 65536, 0, 1, 0, 0 },
	};

	return escape(&app, NULL, &args);
}

CONTEXT_TEST(handles, wrong_ones_are_refused_and_reported, begin(false))
{
	struct dxg_context *context = make_context(&app, 0);
	struct dxg_context *foreign = make_context(&other, 0);
	unsigned long long device_name = (uintptr_t)app.device;
	unsigned long long handle = create(context, false);

	EXPECT_EQ(destroy(&app, handle + 1), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(destroy(&app, 0xdead0000), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(destroy(&app, (uintptr_t)context), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_report_count(RULE_DDI_CALLBACK_ARGUMENT), 3);
	EXPECT_EQ(destroy(&app, handle), STATUS_SUCCESS);
	EXPECT_EQ(destroy(&app, handle), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_report_count(RULE_DDI_CALLBACK_ARGUMENT), 4);

	EXPECT_EQ(create_as(device_name, 0x1000, 0), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(create_as(0x1000, (uintptr_t)context, 0), STATUS_INVALID_PARAMETER);
	/* A context of another device; a device for a context; a context for a device. */
	EXPECT_EQ(create_as(device_name, (uintptr_t)foreign, 0), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(create_as(device_name, device_name, 0), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(create_as((uintptr_t)context, 0, IS_SHARED), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_report_count(RULE_DDI_CALLBACK_ARGUMENT), 9);
	unsigned long long gone = (uintptr_t)context;
	end_context(context);
	EXPECT_EQ(create_as(device_name, gone, 0), STATUS_INVALID_PARAMETER);
	end_context(foreign);
}

CONTEXT_TEST(handles, a_new_one_is_never_an_old_one, begin(false))
{
	struct dxg_context *context = make_context(&app, 0);
	unsigned long long first = create(context, false);
	EXPECT_EQ(destroy(&app, first), STATUS_SUCCESS);
	unsigned long long second = create(context, false);
	EXPECT(second != first);
	EXPECT_EQ(destroy(&app, first), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(destroy(&app, second), STATUS_SUCCESS);
	end_context(context);
}

/* ---- addresses ---- */

static unsigned long long map(unsigned long long handle, unsigned long long base, unsigned pages)
{
	struct recorder_escape args = { .command = RECORDER_CONTEXT_MAP,
					.values = { handle, base, 0, 0, 0, pages, 1, 0 } };

	return escape(&app, NULL, &args) == STATUS_SUCCESS ? args.values[0] : 0;
}

CONTEXT_TEST(addresses, that_are_taken_are_not_mapped_at, begin(false))
{
	struct dxg_context *context = make_context(&app, 0);
	unsigned long long first = create(context, false);
	unsigned long long second = create(context, false);
	unsigned long long address = map(first, 0, 16);
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	EXPECT(address != 0);
	EXPECT_EQ(map(second, address, 16), 0);
	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, "VA-IN-USE");
	EXPECT_EQ(map(first, address, 1), 0); /* not even over itself */
	EXPECT_EQ(map(second, address + 16 * 4096, 16), address + 16 * 4096);
	EXPECT_EQ(address_space_free(app.device->process_adapter->addresses, address, 4096, false,
				     NULL),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(destroy(&app, first), STATUS_SUCCESS);
	EXPECT_EQ(destroy(&app, second), STATUS_SUCCESS);
	end_context(context);
}

/* A leaf table covers 2 MiB, and the first is nobody's. */
TEST(addresses, of_a_driver_are_reserved_while_its_process_is_made)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	reserved_mib = 4;
	begin(false);
	reserved_mib = 0;
	EXPECT_EQ(notes_of("ReserveGpuVirtualAddressRange irql=0 status=0 start=2097152"), 2);
	/* The kernel keeps its own. */
	EXPECT_EQ(notes_of("ReserveGpuVirtualAddressRange irql=0 status=3221225659"), 1);
	struct address_space *space = app.device->process_adapter->addresses;
	EXPECT_EQ(address_space_free(space, 4 << 20, 4096, false, NULL), STATUS_INVALID_PARAMETER);
	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, "VA-DRIVER");
	finish();
}

CONTEXT_TEST(addresses, are_of_the_process_and_go_with_it, begin(false))
{
	struct dxg_context *context = make_context(&app, 0);
	unsigned long long first = create(context, false);
	unsigned long long second = create(context, false);
	unsigned long long address = map(first, 0, 16);

	EXPECT(address != 0);
	EXPECT_EQ(map(first, 0, 17), 0); /* more than there is */
	EXPECT_EQ(map(first + 1, 0, 1), 0);
	submit(context);
	AWAIT(sched_owner_is_idle(&app.device->work));
	EXPECT_EQ(destroy(&app, first), STATUS_SUCCESS);
	EXPECT_EQ(map(first, 0, 1), 0);
	EXPECT_EQ(map(second, address, 16), address);
	evict_segment(adapter->memory, 0);
	EXPECT_EQ(destroy(&app, second), STATUS_SUCCESS);
	end_context(context);
}

/* ---- update ---- */

TEST(update, returns_when_the_hardware_has_done_it)
{
	unsigned long long handle;
	struct dxg_context *context = begin_at_work(&handle);
	EXPECT(complete(0));
	page_until(paging_is_idle);
	struct call call = { .act = act_update, .handle = handle };
	call_start(&call);
	AWAIT(pending(PAGING) > 0);
	EXPECT_EQ(operations(OPERATION_UPDATE), 1);
	others_run();
	EXPECT(!call.is_over);
	EXPECT(complete(PAGING));
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	EXPECT_EQ(operations(OPERATION_UPDATE), 1);
	struct call last = { .act = act_destroy, .handle = handle };
	call_start(&last);
	complete_next(0);
	EXPECT_EQ(call_end(&last), STATUS_SUCCESS);
	end_context(context);
	finish();
}

/* It is brought in for it, and initialised first. */
CONTEXT_TEST(update, works_before_the_context_has_run, begin(false))
{
	struct dxg_context *context = make_context(&app, 0);
	struct call call = { .act = act_update, .handle = create(context, false) };
	act_update(&call);
	EXPECT_EQ(call.status, STATUS_SUCCESS);
	EXPECT_EQ(operations(OPERATION_INIT), 1);
	EXPECT_EQ(operations(OPERATION_UPDATE), 1);
	EXPECT_EQ(destroy(&app, call.handle), STATUS_SUCCESS);
	act_update(&call);
	EXPECT_EQ(call.status, STATUS_INVALID_PARAMETER);
	end_context(context);
}

enum { HARDWARE_ACCESS = 1 };

static void escape_alone(void *argument)
{
	struct recorder_escape args = { .command = RECORDER_PENDING, .node = PAGING };
	struct miniport_escape_desc desc = { .flags = HARDWARE_ACCESS,
					     .private_data = &args,
					     .private_bytes = sizeof(args) };

	(void)argument;
	EXPECT_EQ(process_escape(other.process, adapter, &desc), STATUS_SUCCESS);
}

static uint32_t holds(void)
{
	sched_lock(adapter->sched);
	uint32_t count = adapter->sched->holds;
	sched_unlock(adapter->sched);
	return count;
}

/* The escape wants an idle GPU and nobody else in the driver, where somebody waits for the GPU. */
CONTEXT_TEST(update, and_an_escape_that_is_alone_do_not_wait_for_each_other, begin(false))
{
	struct dxg_context *context = make_context(&app, 0);
	struct call call = { .act = act_update, .handle = create(context, false) };
	struct thread *thread;

	sched_quiesce(adapter->sched);
	call_start(&call);
	AWAIT(!sched_owner_is_idle(&adapter->system_work));
	EXPECT_EQ(thread_create("alone", escape_alone, NULL, &thread), STATUS_SUCCESS);
	AWAIT(holds() == 2);
	EXPECT(!call.is_over);
	sched_unquiesce(adapter->sched);
	EXPECT_EQ(call_end(&call), STATUS_SUCCESS);
	thread_join(thread);
	EXPECT_EQ(operations(OPERATION_UPDATE), 1);
	EXPECT_EQ(destroy(&app, call.handle), STATUS_SUCCESS);
	end_context(context);
}

/* ---- trouble ---- */

CONTEXT_TEST(trouble, without_memory_nothing_is_made, begin(false))
{
	struct dxg_context *context = make_context(&app, 0);
	unsigned long long handle = 0;
	unsigned failures = 0;

	for (unsigned nth = 1;; nth++) {
		struct mem_usage usage = mem_usage();
		mem_fail_nth(nth);
		NTSTATUS status = try_create(context, false, 1, &handle);
		if (!mem_fail_stop()) {
			EXPECT_EQ(status, STATUS_SUCCESS);
			break;
		}
		if (NT_SUCCESS(status)) { /* something it could do without */
			EXPECT_EQ(destroy(&app, handle), STATUS_SUCCESS);
			continue;
		}
		EXPECT_EQ(status, STATUS_NO_MEMORY);
		EXPECT_EQ(mem_usage().blocks, usage.blocks);
		failures++;
	}
	EXPECT(failures >= 2);
	EXPECT_EQ(destroy(&app, handle), STATUS_SUCCESS);
	end_context(context);
}

enum { THREADS = 3, ROUNDS = 60 };

struct walker {
	struct thread *thread;
	uint64_t state;
};

static unsigned chance(struct walker *walker, unsigned sides)
{
	walker->state = walker->state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(walker->state >> 33) % sides;
}

static void walk(void *argument)
{
	struct walker *walker = argument;
	struct dxg_context *context = make_context(&app, chance(walker, 2));
	unsigned long long handles[4];
	unsigned count = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		switch (chance(walker, 5)) {
		case 0:
			if (count < ARRAY_SIZE(handles))
				handles[count++] = create(context, chance(walker, 3) == 0);
			break;
		case 1:
			if (count > 0)
				EXPECT_EQ(destroy(&app, handles[--count]), STATUS_SUCCESS);
			break;
		case 2:
			evict_segment(adapter->memory, 0);
			break;
		default:
			submit(context);
			break;
		}
	}
	while (count > 0)
		EXPECT_EQ(destroy(&app, handles[--count]), STATUS_SUCCESS);
	end_context(context);
}

CONTEXT_TEST(trouble, many_threads_make_use_evict_and_destroy, begin(false))
{
	struct walker walkers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		walkers[i].state = i + 1;
		EXPECT_EQ(thread_create("walker", walk, &walkers[i], &walkers[i].thread),
			  STATUS_SUCCESS);
	}
	for (unsigned i = 0; i < THREADS; i++)
		thread_join(walkers[i].thread);
	EXPECT_EQ(leaks(), 0);
	EXPECT_EQ(app.device->state, DEVICE_ACTIVE);
}

TEST_MAIN("object/context_allocation")
