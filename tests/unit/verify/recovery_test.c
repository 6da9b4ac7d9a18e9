/* SPDX-License-Identifier: MIT */
/*
 * recovery_test.c - resets, power and debugging: what a driver does meanwhile, and what it is like afterwards.
 */
#include "crooked.h"

#include "base/clock.h"
#include "base/sim.h"
#include "nt/visit.h"

enum { PAGE = 4096 };

#define STORY(name, ...) CROOKED_STORY(recovery, name, CROOKED_PHYSICAL, __VA_ARGS__)

static void notice(struct crooked *gpu)
{
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_TRANSFER,
					.source = crooked_place(1, 8),
				}),
		  STATUS_SUCCESS);
	gpu->buffer.used_bytes = 0;
}

/* ---- between reset and restart ---- */

static void is_told_meanwhile(struct crooked *gpu)
{
	EXPECT(miniport_reset_from_timeout(&gpu->miniport));
	notice(gpu);
	EXPECT(miniport_restart_from_timeout(&gpu->miniport));
	notice(gpu);
}

STORY(nobody_in_the_driver_touches_memory_after_a_reset, BEND_NOTICE_TOUCHES,
      RULE_DDI_TDR_NO_ACCESS, is_told_meanwhile)

/* As a thread of the driver, which plays the hardware. */
static void hardware_works(struct crooked *gpu)
{
	struct nt_visit visit;

	nt_visit_begin(&visit, "A system thread", (const void *)(uintptr_t)hardware_works);
	crooked_scribble(crooked_local(gpu, 9), 8, 1);
	nt_visit_end(&visit);
}

static void hardware_stands_still(struct crooked *gpu)
{
	hardware_works(gpu);
	EXPECT(miniport_reset_from_timeout(&gpu->miniport));
	if (gpu->bend == BEND_RESET_WORKS_ON)
		hardware_works(gpu);
	/* Who looks from outside is in nobody's way. */
	crooked_scribble(crooked_local(gpu, 10), 8, 1);
	EXPECT(miniport_restart_from_timeout(&gpu->miniport));
	hardware_works(gpu);
}

STORY(hardware_stands_still_after_a_reset, BEND_RESET_WORKS_ON, RULE_DDI_TDR_RESET,
      hardware_stands_still)

CROOKED_TEST(recovery, who_comes_after_somebody_else_is_seen_as_well, CROOKED_PHYSICAL)
{
	EXPECT(miniport_reset_from_timeout(&gpu->miniport));
	crooked_scribble(crooked_local(gpu, 10), 8, 1); /* opens it */
	notice(gpu);
	hardware_works(gpu);
	crooked_expect(gpu, RULE_DDI_TDR_RESET);
}

/* ---- afterwards ---- */

static void makes_a_device_afterwards(struct crooked *gpu)
{
	DXGKARG_CREATEDEVICE args = { 0 };
	struct ddi_crossing crossing;

	EXPECT(miniport_reset_from_timeout(&gpu->miniport));
	EXPECT(miniport_restart_from_timeout(&gpu->miniport));
	ddi_enter(&crossing, &gpu->miniport, &gpu->client, DDI_CREATE_DEVICE);
	ddi_leave_as_it_is(&crossing, gpu->miniport.ddi.DxgkDdiCreateDevice(gpu, &args));
}

STORY(devices_are_made_after_a_reset, BEND_NO_DEVICE_AFTER, RULE_DDI_TDR_RESTART,
      makes_a_device_afterwards)

TEST(recovery, paging_works_after_a_reset)
{
	static struct crooked gpu;

	SKIP_UNLESS(thread_is_simulated(), "late packets take real seconds");
	crooked_start(&gpu, CROOKED_PHYSICAL);
	EXPECT(miniport_reset_from_timeout(&gpu.miniport));
	EXPECT(miniport_restart_from_timeout(&gpu.miniport));
	crooked_fill(&gpu, NULL, crooked_place(1, 8), 1, 0);
	clock_sleep_until(clock_deadline(120 * NS_PER_S));
	EXPECT(miniport_reset_from_timeout(&gpu.miniport));
	EXPECT(miniport_restart_from_timeout(&gpu.miniport));
	crooked_expect_nothing(&gpu);
	crooked_submit(&gpu);
	clock_sleep_until(clock_deadline(120 * NS_PER_S));
	EXPECT(miniport_reset_from_timeout(&gpu.miniport));
	crooked_expect(&gpu, RULE_DDI_TDR_RESTART);
	crooked_finish(&gpu);
}

TEST(recovery, too_many_resets_end_an_adapter)
{
	static struct crooked gpu;

	SKIP_UNLESS(thread_is_simulated(), "a limit in time");
	crooked_start(&gpu, CROOKED_PHYSICAL);
	for (int i = 0; i < 6; i++) {
		EXPECT(miniport_reset_from_timeout(&gpu.miniport));
		EXPECT(miniport_restart_from_timeout(&gpu.miniport));
	}
	crooked_expect_nothing(&gpu);
	clock_sleep_until(clock_deadline(120 * NS_PER_S));
	for (int i = 0; i < 6; i++) {
		EXPECT(miniport_reset_from_timeout(&gpu.miniport));
		EXPECT(miniport_restart_from_timeout(&gpu.miniport));
	}
	crooked_expect_nothing(&gpu);
	EXPECT(miniport_reset_from_timeout(&gpu.miniport));
	crooked_expect(&gpu, RULE_DDI_TDR_LIMIT);
	crooked_finish(&gpu);
}

TEST(recovery, resets_leave_nothing_behind)
{
	static struct crooked gpu;

	SKIP_UNLESS(thread_is_simulated(), "a limit in time");
	crooked_start(&gpu, CROOKED_PHYSICAL);
	for (int i = 0; i < 60; i++) {
		if (i == 30)
			gpu.bend = BEND_RESET_LEAKS;
		clock_sleep_until(clock_deadline(120 * NS_PER_S));
		EXPECT(miniport_reset_from_timeout(&gpu.miniport));
		EXPECT(miniport_restart_from_timeout(&gpu.miniport));
		if (i < 30)
			crooked_expect_nothing(&gpu);
	}
	crooked_expect(&gpu, RULE_DDI_LEAK_RESET);
	while (gpu.leaked_count > 0)
		ExFreePoolWithTag(gpu.leaked[--gpu.leaked_count], 0);
	crooked_finish(&gpu);
}

/* ---- one engine ---- */

static void resets_an_engine(struct crooked *gpu)
{
	struct miniport_submission work = { .driver_context = gpu, .node = 1, .fence = 7 };
	uint32_t aborted = 0;

	EXPECT_EQ(miniport_submit(&gpu->miniport, false, &work), STATUS_SUCCESS);
	work.fence = 8;
	EXPECT_EQ(miniport_submit(&gpu->miniport, false, &work), STATUS_SUCCESS);
	gpu->aborted_fence = 7;
	EXPECT_EQ(miniport_reset_node(&gpu->miniport, 1, &aborted), STATUS_SUCCESS);
	/* And once more, with nothing there. */
	EXPECT_EQ(miniport_reset_node(&gpu->miniport, 1, &aborted), STATUS_SUCCESS);
}

STORY(an_engine_aborts_what_it_had, BEND_ABORTS_OTHER, RULE_DDI_ENGINE_RESET, resets_an_engine)

/* A removal by surprise may come in the middle of a recovery, and is an end of what the engine had. */
CROOKED_TEST(recovery, an_engine_that_is_gone_may_have_aborted_it_then, CROOKED_PHYSICAL)
{
	const struct miniport_submission work = { .driver_context = gpu, .node = 1, .fence = 7 };
	uint32_t aborted = 0;

	EXPECT_EQ(miniport_submit(&gpu->miniport, false, &work), STATUS_SUCCESS);
	gpu->miniport.info.supports_surprise_removal = true;
	EXPECT(miniport_notify_surprise_removal(&gpu->miniport));
	gpu->aborted_fence = 7;
	EXPECT_EQ(miniport_reset_node(&gpu->miniport, 1, &aborted), STATUS_SUCCESS);
	crooked_expect_nothing(gpu);
}

CROOKED_TEST(recovery, an_engine_that_fails_is_the_adapters_affair, CROOKED_PHYSICAL)
{
	uint32_t aborted;

	gpu->bend = BEND_RESET_FAILS;
	EXPECT(miniport_reset_node(&gpu->miniport, 1, &aborted) != STATUS_SUCCESS);
	gpu->bend = HONEST;
	EXPECT(miniport_reset_from_timeout(&gpu->miniport));
	crooked_expect_nothing(gpu);
	gpu->bend = BEND_RESET_FAILS;
	EXPECT(miniport_reset_node(&gpu->miniport, 1, &aborted) != STATUS_SUCCESS);
	EXPECT(!miniport_reset_from_timeout(&gpu->miniport));
	EXPECT(crooked_reported(gpu, RULE_DDI_ENGINE_PROMOTE) > 0);
}

/* ---- debugging and power ---- */

static void is_dumped(struct crooked *gpu)
{
	unsigned char dump[256];

	(void)miniport_collect_debug_info(&gpu->miniport, 0x117, dump, sizeof(dump));
}

STORY(a_dump_succeeds, BEND_DUMP_FAILS, RULE_DDI_DBGINFO, is_dumped)
STORY(a_dump_is_taken_soon, BEND_DUMP_SLOW, RULE_DDI_DBGINFO, is_dumped)

static void set_power(struct crooked *gpu, DEVICE_POWER_STATE state)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, &gpu->miniport, NULL, DDI_SET_POWER_STATE);
	ddi_leave_as_it_is(&crossing, gpu->miniport.ddi.DxgkDdiSetPowerState(
					      gpu, DISPLAY_ADAPTER_HW_ID, state, PowerActionNone));
}

static void sleeps(struct crooked *gpu)
{
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = { .InterruptType = DXGK_INTERRUPT_DMA_COMPLETED };

	set_power(gpu, PowerDeviceD3);
	if (gpu->bend == BEND_POWER_SPEAKS)
		crooked_interrupt(gpu, &data);
	set_power(gpu, PowerDeviceD0);
	crooked_interrupt(gpu, &data);
}

STORY(power_is_not_refused, BEND_POWER_FAILS, RULE_DDI_POWER_STATE, sleeps)
STORY(who_sleeps_says_nothing, BEND_POWER_SPEAKS, RULE_DDI_POWER_STATE, sleeps)

TEST_MAIN("verify/recovery")
