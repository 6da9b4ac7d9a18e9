/* SPDX-License-Identifier: MIT */
/*
 * hw_suspend_test.c - hardware that schedules itself lets go of a context before the context, or
 * memory that the driver keeps for it, goes away (DxgkDdiSuspendContext).
 *
 * What takes time (TdrDelay) runs in simulated runs only.
 */
#include "api/hw_queue.h"

enum { AT_ONCE_SUSPENDED, WHEN_TOLD, WITHOUT, SUSPEND_ADAPTERS };
enum { SUSPENDED = 17 };

/* A context whose queue has worked, and is done. */
static D3DKMT_HANDLE begin_used(unsigned which)
{
	begin_on(which);
	D3DKMT_HANDLE context = create_hw_context(device, 0);
	struct hw_queue queue = create_hw_queue_in(context);

	EXPECT_OK(hw_submit(queue, 1, 8));
	AWAIT(hw_pending(0) == 1);
	EXPECT(hw_complete(0) != 0);
	AWAIT(*queue.view == 1);
	return context;
}

static void say_suspended(UINT64 fence)
{
	struct recorder_escape escape = { .command = RECORDER_INTERRUPT,
					  .type = SUSPENDED,
					  .wide_fence = fence };

	(void)crank(&escape);
}

/* The fence of the last one. */
static unsigned suspend_fence(void)
{
	const char *line = notes;
	unsigned fence = 0;

	pthread_mutex_lock(&notes_lock);
	while ((line = strstr(line, "SuspendContext"))) {
		sscanf(strstr(line, "fence="), "fence=%u", &fence);
		line++;
	}
	pthread_mutex_unlock(&notes_lock);
	return fence;
}

static void destroy_in_thread(void *argument)
{
	EXPECT_OK(destroy_hw_context(*(D3DKMT_HANDLE *)argument));
	mark("destroyed");
}

/* ---- contexts ---- */

TEST(context, is_suspended_before_it_is_destroyed)
{
	D3DKMT_HANDLE context = begin_used(AT_ONCE_SUSPENDED);

	EXPECT_OK(destroy_hw_context(context));
	EXPECT(notes_in_order("DestroyHwQueue", "SuspendContext"));
	EXPECT(notes_in_order("SuspendContext", "DestroyHwContext"));
	EXPECT_EQ(notes_count("SuspendContext"), 1);
	expect_valid();
}

TEST(context, with_its_device_too)
{
	(void)begin_used(AT_ONCE_SUSPENDED);
	EXPECT_OK(destroy_device(device));
	EXPECT(notes_in_order("SuspendContext", "DestroyHwContext"));
}

TEST(context, that_never_worked_is_not)
{
	begin_on(AT_ONCE_SUSPENDED);
	D3DKMT_HANDLE context = create_hw_context(device, 0);

	create_hw_queue_in(context);
	EXPECT_OK(destroy_hw_context(context));
	EXPECT_EQ(notes_count("DestroyHwContext"), 1);
	EXPECT_EQ(notes_count("SuspendContext"), 0);
}

TEST(context, of_a_driver_that_cannot_is_not)
{
	D3DKMT_HANDLE context = begin_used(WITHOUT);

	EXPECT_OK(destroy_hw_context(context));
	EXPECT_EQ(notes_count("DestroyHwContext"), 1);
}

TEST(context, is_destroyed_when_the_driver_says_that_it_is_suspended)
{
	D3DKMT_HANDLE context = begin_used(WHEN_TOLD);
	struct dxgk_test_thread *thread = begin_thread(destroy_in_thread, &context);
	AWAIT(notes_count("SuspendContext") == 1);
	say_suspended(suspend_fence() + 1); /* of nobody */
	settle();
	EXPECT_EQ(notes_count("DestroyHwContext"), 0);
	mark("saying so");
	say_suspended(suspend_fence());
	dxgk_test_thread_join(thread);
	EXPECT(notes_in_order("saying so", "DestroyHwContext"));
	EXPECT_EQ(notes_count("ResetHwEngine"), 0);
	expect_valid();
}

/* ---- no answer ---- */

TEST(no_answer, in_time_resets_the_engine)
{
	SKIP_UNLESS_SEEDED();

	D3DKMT_HANDLE context = begin_used(WHEN_TOLD);
	EXPECT_OK(destroy_hw_context(context));
	EXPECT(notes_in_order("SuspendContext", "ResetHwEngine"));
	EXPECT(notes_in_order("ResetHwEngine", "DestroyHwContext"));
	EXPECT_EQ(notes_count("ResetFromTimeout"), 0);
	EXPECT_OK(destroy_device(device));
	expect_valid();
}

TEST(no_answer, does_not_keep_what_a_reset_of_the_adapter_ends)
{
	D3DKMT_HANDLE context = begin_used(WHEN_TOLD);
	struct dxgk_test_thread *thread = begin_thread(destroy_in_thread, &context);
	AWAIT(notes_count("SuspendContext") == 1);
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_GPUTDR, 0));
	dxgk_test_thread_join(thread);
	EXPECT(notes_in_order("ResetFromTimeout", "destroyed"));
	EXPECT_OK(destroy_device(device));
	expect_valid();
}

/* ---- memory that the driver keeps ---- */

static D3DKMT_HANDLE kept_context;

static unsigned long long keep_for_context(void)
{
	struct recorder_fetch created = fetched(RECORDER_CREATE_HW_CONTEXT);
	struct recorder_escape escape = { .command = RECORDER_CONTEXT_CREATE };
	unsigned long long kernel_handle;

	/* DXGKARG_CREATEHWCONTEXT begins with it. */
	memcpy(&kernel_handle, created.argument, sizeof(kernel_handle));
	escape.values[0] = 1;
	escape.values[1] = kernel_handle;
	escape.values[2] = 0xC0;
	escape.values[3] = 65536;
	escape.values[5] = 1;
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .hDevice = device,
			       .pPrivateDriverData = &escape,
			       .PrivateDriverDataSize = sizeof(escape) };
	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_OK((NTSTATUS)escape.result);
	return escape.values[0];
}

static void let_go_of(unsigned long long kept)
{
	struct recorder_escape escape = { .command = RECORDER_CONTEXT_DESTROY };

	escape.values[0] = kept;
	EXPECT_OK((NTSTATUS)crank(&escape));
	mark("let go");
}

TEST(memory, of_a_context_goes_when_it_is_suspended)
{
	begin_on(AT_ONCE_SUSPENDED);
	kept_context = create_hw_context(device, 0);
	unsigned long long kept = keep_for_context();
	struct hw_queue queue = create_hw_queue_in(kept_context);

	EXPECT_OK(hw_submit(queue, 1, 8));
	AWAIT(hw_pending(0) == 1);
	EXPECT(hw_complete(0) != 0);
	AWAIT(*queue.view == 1);
	let_go_of(kept);
	EXPECT(notes_in_order("SuspendContext", "let go"));
	EXPECT_EQ(notes_count("ResumeContext"), 0);
	EXPECT_OK(hw_submit(queue, 2, 8));
	AWAIT(hw_pending(0) == 1);
	EXPECT_EQ(notes_count("ResumeContext"), 1);
	EXPECT(hw_complete(0) != 0);
	AWAIT(*queue.view == 2);
	EXPECT_OK(destroy_hw_context(kept_context));
	EXPECT_EQ(notes_count("SuspendContext"), 2);
	EXPECT_EQ(notes_count("WRONG"), 0);
	EXPECT_OK(destroy_device(device));
	expect_valid();
}

int main(int argc, char **argv)
{
	static const char *const registries[SUSPEND_ADAPTERS] = {
		[AT_ONCE_SUSPENDED] = "\"HwQueues\": 1, \"HwSuspend\": 1",
		[WHEN_TOLD] = "\"HwQueues\": 1, \"HwSuspend\": 2",
		[WITHOUT] = "\"HwQueues\": 1",
	};

	crank_profile_of(registries, SUSPEND_ADAPTERS, "\"HandCranked\": 1, ");
	return api_main("api/hw_suspend", argc, argv);
}
