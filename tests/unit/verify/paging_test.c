/* SPDX-License-Identifier: MIT */
/*
 * paging_test.c - a driver whose paging operations do what they were told is left alone; one that bends one of them is
 * reported for that, and for nothing else.
 */
#include "crooked.h"

#include "base/machine.h"
#include "verify/start.h"

enum { PAGE = 4096 };

static void *const pager = (void *)0x77000;

/* Run once as it should be and once bent. */
#define STORY(name, ...) CROOKED_STORY(paging, name, __VA_ARGS__)

/* ---- transfers ---- */

static void moves_in(struct crooked *gpu)
{
	void *allocation = crooked_allocation(gpu, 4 * PAGE, CROOKED_CPU_VISIBLE);

	crooked_scribble(crooked_system(gpu, 0), 4 * PAGE, 1);
	crooked_transfer(gpu, allocation, crooked_place_system(gpu, 0, 4), crooked_place(1, 8), 4);
}

STORY(a_transfer_brings_every_byte, CROOKED_PHYSICAL, BEND_COPY_SHORT, RULE_DDI_PAGING_TRANSFER,
      moves_in)

static void moves_for_nobody(struct crooked *gpu)
{
	crooked_scribble(crooked_system(gpu, 0), 4 * PAGE, 1);
	crooked_transfer(gpu, NULL, crooked_place_system(gpu, 0, 4), crooked_place(1, 8), 4);
}

STORY(a_transfer_of_no_allocation_is_plain, CROOKED_PHYSICAL, BEND_COPY_SWIZZLED,
      RULE_DDI_PAGING_NULL_ALLOCATION, moves_for_nobody)

static void moves_in_parts(struct crooked *gpu)
{
	void *allocation = crooked_allocation(gpu, 4 * PAGE, CROOKED_CPU_VISIBLE);
	struct miniport_paging_op op = {
		.kind = MINIPORT_PAGING_TRANSFER,
		.subject.driver_allocation = allocation,
		.target = crooked_place(1, 8),
		.size_bytes = 2 * PAGE,
		.transfer.is_start = true,
	};

	crooked_scribble(crooked_system(gpu, 0), 4 * PAGE, 1);
	op.source = crooked_place_system(gpu, 0, 2);
	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	crooked_run(gpu);
	op.source = crooked_place_system(gpu, 2, 2);
	op.offset_bytes = 2 * PAGE;
	op.transfer.is_start = false;
	op.transfer.is_end = true;
	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	crooked_run(gpu);
}

STORY(parts_of_a_transfer_go_where_they_belong, CROOKED_PHYSICAL, BEND_COPY_SHIFTED,
      RULE_DDI_PAGING_SPLIT, moves_in_parts)

static void moves_in_passes(struct crooked *gpu)
{
	gpu->passes = 2;
	moves_in(gpu);
}

STORY(a_transfer_in_passes_is_done_by_the_last, CROOKED_PHYSICAL, BEND_SECOND_PASS_LOST,
      RULE_DDI_PAGING_SPLIT, moves_in_passes)

/* The order in a segment is the driver's where the processor does not look; what comes back is what went. */
static void goes_out_of_sight(struct crooked *gpu)
{
	void *allocation = crooked_allocation(gpu, 2 * PAGE, 0);

	crooked_scribble(crooked_system(gpu, 0), 2 * PAGE, 1);
	crooked_transfer(gpu, allocation, crooked_place_system(gpu, 0, 2), crooked_place(3, 4), 2);
	crooked_transfer(gpu, allocation, crooked_place(3, 4), crooked_place_system(gpu, 8, 2), 2);
}

/* Twice the same bit would be as before. */
static void goes_out_of_sight_and_stays(struct crooked *gpu)
{
	enum crooked_bend bend = gpu->bend;
	void *allocation = crooked_allocation(gpu, 2 * PAGE, 0);

	crooked_scribble(crooked_system(gpu, 0), 2 * PAGE, 1);
	crooked_transfer(gpu, allocation, crooked_place_system(gpu, 0, 2), crooked_place(3, 4), 2);
	gpu->bend = HONEST;
	crooked_transfer(gpu, allocation, crooked_place(3, 4), crooked_place_system(gpu, 8, 2), 2);
	gpu->bend = bend;
}

STORY(what_nobody_sees_comes_back_as_it_went, CROOKED_PHYSICAL, BEND_COPY_LOSSY,
      RULE_DDI_PAGING_TRANSFER, goes_out_of_sight_and_stays)

CROOKED_TEST(paging, an_order_of_its_own_is_no_mistake, CROOKED_PHYSICAL)
{
	gpu->bend = BEND_COPY_SWIZZLED;
	goes_out_of_sight(gpu);
	crooked_expect_nothing(gpu);
}

CROOKED_TEST(paging, what_a_client_worked_on_may_come_back_changed, CROOKED_PHYSICAL)
{
	void *allocation = crooked_allocation(gpu, 2 * PAGE, 0);
	void *context = crooked_context(gpu, NULL, false);
	crooked_transfer(gpu, allocation, crooked_place_system(gpu, 0, 2), crooked_place(3, 4), 2);
	crooked_client_work(gpu, context, false, 0);
	crooked_scribble(crooked_hidden(gpu, 4), 2 * PAGE, 9);
	crooked_transfer(gpu, allocation, crooked_place(3, 4), crooked_place_system(gpu, 8, 2), 2);
	crooked_expect_nothing(gpu);
}

static void moves_beside_another(struct crooked *gpu)
{
	void *neighbour = crooked_allocation(gpu, PAGE, 0);
	void *allocation = crooked_allocation(gpu, 2 * PAGE, 0);

	crooked_scribble(crooked_system(gpu, 0), 4 * PAGE, 1);
	crooked_fill(gpu, neighbour, crooked_place(1, 10), 1, 0x12345678);
	crooked_transfer(gpu, allocation, crooked_place_system(gpu, 0, 2), crooked_place(1, 8), 2);
}

STORY(a_transfer_leaves_its_neighbours_alone, CROOKED_PHYSICAL, BEND_COPY_TOO_LONG,
      RULE_DDI_PAGING_TRANSFER, moves_beside_another)

CROOKED_TEST(paging, room_that_the_next_in_line_has_taken_is_not_compared, CROOKED_PHYSICAL)
{
	void *first = crooked_allocation(gpu, 2 * PAGE, CROOKED_CPU_VISIBLE);
	void *second = crooked_allocation(gpu, 2 * PAGE, CROOKED_CPU_VISIBLE);
	crooked_scribble(crooked_system(gpu, 0), 2 * PAGE, 1);
	crooked_scribble(crooked_system(gpu, 4), 2 * PAGE, 2);
	crooked_transfer(gpu, first, crooked_place_system(gpu, 0, 2), crooked_place(1, 8), 2);
	/* Out and in, by one packet. */
	struct miniport_paging_op op = {
		.kind = MINIPORT_PAGING_TRANSFER,
		.subject.driver_allocation = first,
		.source = crooked_place(1, 8),
		.target = crooked_place_system(gpu, 8, 2),
		.size_bytes = 2 * PAGE,
		.transfer = { true, true },
	};
	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	op.subject.driver_allocation = second;
	op.source = crooked_place_system(gpu, 4, 2);
	op.target = crooked_place(1, 8);
	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	crooked_run(gpu);
	crooked_expect_nothing(gpu);
}

CROOKED_TEST(paging, a_packet_that_was_preempted_is_compared_when_it_is_through, CROOKED_PHYSICAL)
{
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = { .InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED };

	void *allocation = crooked_allocation(gpu, PAGE, CROOKED_CPU_VISIBLE);
	crooked_scribble(crooked_system(gpu, 0), PAGE, 1);
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_TRANSFER,
					.subject.driver_allocation = allocation,
					.source = crooked_place_system(gpu, 0, 1),
					.target = crooked_place(1, 8),
					.size_bytes = PAGE,
					.transfer = { true, true },
				}),
		  STATUS_SUCCESS);
	crooked_submit(gpu);
	data.DmaPreempted.LastCompletedFenceId = gpu->fence - 1;
	crooked_interrupt(gpu, &data);
	crooked_expect_nothing(gpu);
	gpu->bend = BEND_COPY_SHORT;
	crooked_run(gpu);
	crooked_expect(gpu, RULE_DDI_PAGING_TRANSFER);
}

/* ---- fills ---- */

static void fills(struct crooked *gpu)
{
	void *allocation = crooked_allocation(gpu, 2 * PAGE, CROOKED_CPU_VISIBLE);

	crooked_scribble(crooked_local(gpu, 8), 2 * PAGE, 3);
	crooked_fill(gpu, allocation, crooked_place(1, 8), 2, 0xfeedf00d);
}

STORY(a_fill_fills_to_the_end, CROOKED_PHYSICAL, BEND_FILL_SHORT, RULE_DDI_PAGING_FILL, fills)
STORY(a_fill_has_its_pattern_everywhere, CROOKED_PHYSICAL, BEND_FILL_OTHER, RULE_DDI_PAGING_FILL,
      fills)

static void fills_beside_another(struct crooked *gpu)
{
	void *neighbour = crooked_allocation(gpu, PAGE, 0);
	void *allocation = crooked_allocation(gpu, PAGE, 0);
	enum crooked_bend bend = gpu->bend;

	gpu->bend = HONEST;
	crooked_fill(gpu, neighbour, crooked_place(1, 9), 1, 0);
	gpu->bend = bend;
	crooked_fill(gpu, allocation, crooked_place(1, 8), 1, 0xfeedf00d);
}

STORY(a_fill_ends_where_it_ends, CROOKED_PHYSICAL, BEND_FILL_TOO_LONG, RULE_DDI_PAGING_FILL,
      fills_beside_another)

/* ---- by address ---- */

static void moves_by_address(struct crooked *gpu)
{
	void *allocation = crooked_allocation(gpu, 4 * PAGE, CROOKED_CPU_VISIBLE);

	crooked_scribble(crooked_system(gpu, 0), 4 * PAGE, 1);
	crooked_space(gpu, pager);
	crooked_map(gpu, pager, 0x10000, crooked_entry(0, crooked_pfn(gpu, 0)), 4);
	crooked_map(gpu, pager, 0x20000, crooked_entry(1, 8), 4);
	crooked_transfer(gpu, allocation, crooked_place_at(0x10000), crooked_place_at(0x20000), 4);
	crooked_fill(gpu, allocation, crooked_place_at(0x20000), 4, 0x11223344);
}

STORY(addresses_lead_to_what_is_compared, CROOKED_VIRTUAL, BEND_COPY_SHORT,
      RULE_DDI_PAGING_TRANSFER, moves_by_address)
STORY(a_fill_by_address_is_compared_too, CROOKED_VIRTUAL, BEND_FILL_OTHER, RULE_DDI_PAGING_FILL,
      moves_by_address)

static void moves_by_an_address_that_changed(struct crooked *gpu)
{
	void *allocation = crooked_allocation(gpu, PAGE, CROOKED_CPU_VISIBLE);
	enum crooked_bend bend = gpu->bend;

	gpu->bend = HONEST;
	crooked_scribble(crooked_system(gpu, 0), PAGE, 1);
	crooked_scribble(crooked_system(gpu, 1), PAGE, 2);
	crooked_space(gpu, pager);
	crooked_map(gpu, pager, 0x10000, crooked_entry(0, crooked_pfn(gpu, 0)), 1);
	crooked_map(gpu, pager, 0x11000, crooked_entry(0, crooked_pfn(gpu, 1)), 1);
	crooked_map(gpu, pager, 0x20000, crooked_entry(1, 8), 1);
	crooked_transfer(gpu, allocation, crooked_place_at(0x10000), crooked_place_at(0x20000), 1);
	gpu->bend = bend;
	crooked_map(gpu, pager, 0x20000, crooked_entry(1, 9), 1);
	crooked_transfer(gpu, allocation, crooked_place_at(0x11000), crooked_place_at(0x20000), 1);
}

STORY(a_flush_ends_old_translations, CROOKED_VIRTUAL, BEND_NO_FLUSH, RULE_DDI_PT_TLB,
      moves_by_an_address_that_changed)

static void updates_a_context(struct crooked *gpu)
{
	void *neighbour = crooked_allocation(gpu, PAGE, 0);

	crooked_space(gpu, pager);
	crooked_map(gpu, pager, 0x10000, crooked_entry(1, 8), 2);
	crooked_map(gpu, pager, 0x12000, crooked_entry(1, 20), 1);
	crooked_fill(gpu, neighbour, crooked_place_at(0x12000), 1, 0);
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION,
					.target = crooked_place_at(0x10000),
					.size_bytes = 2 * PAGE,
				}),
		  STATUS_SUCCESS);
	crooked_run(gpu);
}

STORY(an_update_of_a_context_stays_inside, CROOKED_VIRTUAL, BEND_CONTEXT_TOO_LONG,
      RULE_DDI_PT_CONTEXT_ALLOCATION, updates_a_context)

/* ---- apertures ---- */

static void map_aperture(struct crooked *gpu, struct miniport_location system, uint64_t page,
			 uint64_t count)
{
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_MAP_APERTURE_SEGMENT,
					.target = crooked_place(2, page),
					.source = system,
					.size_bytes = count * PAGE,
				}),
		  STATUS_SUCCESS);
	crooked_run(gpu);
}

static void unmap_aperture(struct crooked *gpu, uint64_t page, uint64_t count)
{
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT,
					.target = crooked_place(2, page),
					.size_bytes = count * PAGE,
					.aperture.dummy_address = gpu->dummy,
				}),
		  STATUS_SUCCESS);
	crooked_run(gpu);
}

static void moves_through_an_aperture(struct crooked *gpu)
{
	void *allocation = crooked_allocation(gpu, 2 * PAGE, CROOKED_CPU_VISIBLE);

	crooked_scribble(crooked_local(gpu, 8), 2 * PAGE, 1);
	map_aperture(gpu, crooked_place_system(gpu, 0, 2), 4, 2);
	crooked_transfer(gpu, allocation, crooked_place(1, 8), crooked_place(2, 4), 2);
}

/* A client has found other bytes in it than it should have. */
CROOKED_TEST(paging, what_was_in_an_aperture_alone_went_wrong_there, CROOKED_PHYSICAL)
{
	void *allocation = crooked_allocation(gpu, 2 * PAGE, CROOKED_CPU_VISIBLE);
	EXPECT(!verify_report_content(allocation, "wrong"));
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_MAP_APERTURE_SEGMENT,
					.subject.driver_allocation = allocation,
					.target = crooked_place(2, 4),
					.source = crooked_place_system(gpu, 0, 2),
					.size_bytes = 2 * PAGE,
				}),
		  STATUS_SUCCESS);
	crooked_run(gpu);
	crooked_expect_nothing(gpu);
	EXPECT(verify_report_content(allocation, "wrong"));
	crooked_expect(gpu, RULE_DDI_PAGING_APERTURE);
	/* In a segment it may have gone wrong in many ways. */
	crooked_transfer(gpu, allocation, crooked_place_system(gpu, 0, 2), crooked_place(1, 8), 2);
	EXPECT(!verify_report_content(allocation, "wrong"));
}

STORY(an_aperture_shows_the_pages_it_was_told, CROOKED_PHYSICAL, BEND_APERTURE_SHIFTED,
      RULE_DDI_PAGING_APERTURE, moves_through_an_aperture)

CROOKED_TEST(paging, what_goes_through_an_unmapped_page_is_seen_in_the_dummy, CROOKED_PHYSICAL)
{
	map_aperture(gpu, crooked_place_system(gpu, 0, 2), 4, 2);
	unmap_aperture(gpu, 4, 2);
	fills(gpu);
	crooked_expect_nothing(gpu);
	memset(machine_to_pointer(gpu->dummy), 0x31, 8);
	fills(gpu);
	crooked_expect(gpu, RULE_DDI_PAGING_APERTURE);
}

CROOKED_TEST(paging, a_transfer_through_pages_that_are_not_mapped_is_the_kernels_mistake,
	     CROOKED_PHYSICAL)
{
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_TRANSFER,
					.source = crooked_place(1, 8),
					.target = crooked_place(2, 4),
					.size_bytes = PAGE,
					.transfer = { true, true },
				}),
		  STATUS_SUCCESS);
	crooked_expect(gpu, RULE_DDI_PAGING_APERTURE);
}

static void unmaps_behind_other_work(struct crooked *gpu)
{
	map_aperture(gpu, crooked_place_system(gpu, 0, 2), 4, 2);
	EXPECT_EQ(crooked_build(gpu, (struct miniport_paging_op){ .kind = MINIPORT_PAGING_FILL,
								  .target = crooked_place(1, 8),
								  .size_bytes = PAGE }),
		  STATUS_SUCCESS);
	unmap_aperture(gpu, 4, 2);
}

STORY(what_commands_have_mapped_is_not_unmapped_without_one, CROOKED_PHYSICAL, BEND_APERTURE_KEPT,
      RULE_DDI_PAGING_APERTURE, unmaps_behind_other_work)

/* With nothing under way the processor may do it; and what was never mapped stays as it is. */
CROOKED_TEST(paging, an_unmap_that_nothing_is_in_front_of_needs_no_command, CROOKED_PHYSICAL)
{
	map_aperture(gpu, crooked_place_system(gpu, 0, 2), 4, 2);
	gpu->bend = BEND_APERTURE_KEPT;
	unmap_aperture(gpu, 4, 2);
	EXPECT_EQ(crooked_build(gpu, (struct miniport_paging_op){ .kind = MINIPORT_PAGING_FILL,
								  .target = crooked_place(1, 8),
								  .size_bytes = PAGE }),
		  STATUS_SUCCESS);
	unmap_aperture(gpu, 4, 2);
	crooked_expect_nothing(gpu);
}

static void map_window(struct crooked *gpu, uint32_t window, uint64_t page)
{
	EXPECT_EQ(miniport_map_host_aperture(&gpu->miniport, NULL, 3, 1, &window, &page),
		  STATUS_SUCCESS);
}

static void looks_through_a_window(struct crooked *gpu)
{
	void *allocation = crooked_allocation(gpu, 2 * PAGE, CROOKED_CPU_VISIBLE);

	crooked_scribble(crooked_system(gpu, 0), 2 * PAGE, 1);
	crooked_transfer(gpu, allocation, crooked_place_system(gpu, 0, 2), crooked_place(3, 4), 2);
	map_window(gpu, 0, 4);
	map_window(gpu, 1, 5);
	/* What the processor writes there is the processor's. */
	crooked_scribble(crooked_hidden(gpu, 5), 16, 7);
	map_window(gpu, 2, 5);
}

STORY(a_window_shows_what_was_moved_there, CROOKED_PHYSICAL, BEND_WINDOW_SHIFTED,
      RULE_DDI_HOSTAPERTURE, looks_through_a_window)

static void closes_a_window(struct crooked *gpu)
{
	uint32_t window = 0;

	map_window(gpu, window, 4);
	miniport_unmap_host_aperture(&gpu->miniport, 3, 1, &window);
	/* Another page, and the same again. */
	map_window(gpu, window, 5);
	miniport_unmap_host_aperture(&gpu->miniport, 3, 1, &window);
}

STORY(a_window_that_is_unmapped_shows_nothing, CROOKED_PHYSICAL, BEND_WINDOW_STAYS,
      RULE_DDI_HOSTAPERTURE, closes_a_window)

/* A client that has it locked writes what it likes. */
CROOKED_TEST(paging, what_a_window_showed_may_come_back_changed, CROOKED_PHYSICAL)
{
	void *allocation = crooked_allocation(gpu, 2 * PAGE, 0);
	for (uint32_t is_early = 0; is_early < 2; is_early++) {
		uint32_t window = 0;

		crooked_scribble(crooked_system(gpu, 0), 2 * PAGE, 1);
		if (is_early)
			map_window(gpu, window, 4);
		crooked_transfer(gpu, allocation, crooked_place_system(gpu, 0, 2),
				 crooked_place(3, 4), 2);
		if (!is_early)
			map_window(gpu, window, 4);
		crooked_scribble(crooked_hidden(gpu, 4), PAGE, 9);
		miniport_unmap_host_aperture(&gpu->miniport, 3, 1, &window);
		crooked_transfer(gpu, allocation, crooked_place(3, 4),
				 crooked_place_system(gpu, 8, 2), 2);
	}
	crooked_expect_nothing(gpu);
}

/* ---- answers ---- */

STORY(building_writes_nothing_of_what_it_is_about, CROOKED_PHYSICAL, BEND_COPIES_AT_ONCE,
      RULE_DDI_PAGING_NO_HW, moves_in)
STORY(building_fills_nothing, CROOKED_PHYSICAL, BEND_FILLS_AT_ONCE, RULE_DDI_PAGING_NO_HW, fills)

CROOKED_TEST(paging, what_is_idle_is_not_busy, CROOKED_PHYSICAL)
{
	gpu->bend = BEND_BUSY_FOR_EVER;
	moves_in(gpu);
	EXPECT(crooked_reported(gpu, RULE_DDI_PAGING_BUSY_ONCE) > 0);
}

static void builds_in_many_passes(struct crooked *gpu)
{
	gpu->passes = 4;
	moves_in(gpu);
}

STORY(passes_go_forward, CROOKED_PHYSICAL, BEND_GOES_BACK, RULE_DDI_PAGING_PROGRESS,
      builds_in_many_passes)

TEST(paging, asking_for_room_comes_to_an_end)
{
	static struct crooked gpu;
	struct miniport_paging_op op = {
		.kind = MINIPORT_PAGING_FILL,
		.target = crooked_place(1, 8),
		.size_bytes = PAGE,
	};
	uint32_t multipass = 0;

	crooked_start(&gpu, CROOKED_PHYSICAL);
	gpu.bend = BEND_ASKS_FOR_EVER;
	gpu.passes_left = 1000;
	for (int i = 0; i < 200; i++)
		EXPECT_EQ(miniport_build_paging(&gpu.miniport, &op, &gpu.buffer, &multipass),
			  STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	crooked_expect_nothing(&gpu);
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(miniport_build_paging(&gpu.miniport, &op, &gpu.buffer, &multipass),
			  STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
	crooked_expect(&gpu, RULE_DDI_PAGING_PROGRESS);
	crooked_finish(&gpu);
}

/* ---- what the kernel promises ---- */

static void notify(struct crooked *gpu, void *allocation, bool is_resident)
{
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_NOTIFY_RESIDENCY,
					.subject.driver_allocation = allocation,
					.target = crooked_place(1, 8),
					.notify_residency.is_resident = is_resident,
				}),
		  STATUS_SUCCESS);
	crooked_run(gpu);
}

CROOKED_TEST(paging, news_of_residency_alternate, CROOKED_VIRTUAL)
{
	void *allocation = crooked_allocation(gpu, PAGE, CROOKED_WANTS_NEWS);
	notify(gpu, allocation, true);
	notify(gpu, allocation, false);
	notify(gpu, allocation, true);
	crooked_expect_nothing(gpu);
	notify(gpu, allocation, true);
	crooked_expect(gpu, RULE_DDI_PAGING_NOTIFY);
}

CROOKED_TEST(paging, who_leaves_is_told_before, CROOKED_VIRTUAL)
{
	void *allocation = crooked_allocation(gpu, PAGE, CROOKED_WANTS_NEWS);
	struct miniport_paging_op op = {
		.kind = MINIPORT_PAGING_VIRTUAL_TRANSFER,
		.subject.driver_allocation = allocation,
		.source = { .segment = 1, .gpu_address = 0x10000 },
		.target = { .gpu_address = 0x20000 },
		.size_bytes = PAGE,
	};
	notify(gpu, allocation, true);
	notify(gpu, allocation, false);
	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	crooked_expect_nothing(gpu);
	gpu->buffer.used_bytes = 0; /* it is not to be executed */
	notify(gpu, allocation, true);
	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	crooked_expect(gpu, RULE_DDI_PAGING_NOTIFY);
}

/* The kernel has no such operation: here it is made up. */
static void special_lock(struct crooked *gpu, void *allocation)
{
	DXGKARG_BUILDPAGINGBUFFER args = {
		.Operation = DXGK_OPERATION_SPECIAL_LOCK_TRANSFER,
		.SpecialLockTransfer.hAllocation = allocation,
		.pDmaBuffer = gpu->buffer.memory,
		.DmaSize = gpu->buffer.size_bytes,
	};
	struct ddi_crossing crossing;

	ddi_enter(&crossing, &gpu->miniport, NULL, DDI_BUILD_PAGING_BUFFER);
	ddi_note(&crossing, gpu, &args);
	gpu->miniport.ddi.DxgkDdiBuildPagingBuffer(gpu, &args);
	ddi_leave_as_it_is(&crossing, STATUS_SUCCESS);
}

CROOKED_TEST(paging, a_special_lock_is_for_who_asked_for_one, CROOKED_PHYSICAL)
{
	special_lock(gpu, crooked_allocation(gpu, PAGE, CROOKED_ALTERNATE_VA));
	crooked_expect_nothing(gpu);
	special_lock(gpu, crooked_allocation(gpu, PAGE, 0));
	crooked_expect(gpu, RULE_DDI_PAGING_SPECIAL_LOCK);
}

CROOKED_TEST(paging, some_segment_counts_for_applications, CROOKED_VIRTUAL)
{
	gpu->miniport.info.segments[0].is_budgeted = false;
	crooked_space(gpu, pager);
	crooked_expect(gpu, RULE_DDI_SEGMENT_BUDGET);
}

/* ---- who else is there ---- */

static void works_beside_another(struct crooked *gpu)
{
	void *context = crooked_context(gpu, NULL, false);
	void *other = crooked_allocation(gpu, PAGE, 0);
	struct miniport_submission submission = { .driver_context = context, .node = 1 };

	crooked_fill(gpu, other, crooked_place(1, 8), 1, 0x55555555);
	submission.fence = gpu->fence + 1;
	EXPECT_EQ(miniport_patch(&gpu->miniport,
				 &(struct miniport_patch){ .submission = &submission }),
		  STATUS_SUCCESS);
	crooked_client_work(gpu, context, false, 8);
}

STORY(work_by_list_stays_in_its_list, CROOKED_PHYSICAL, BEND_CLIENT_ASTRAY,
      RULE_DDI_RENDER_PRIVILEGED, works_beside_another)

static void *const process_a = (void *)0x88000;
static void *const process_b = (void *)0x99000;

static void set_root(struct crooked *gpu, void *context)
{
	miniport_set_root_page_table(&gpu->miniport, context, 1, 0, 512);
}

static void works_beside_another_process(struct crooked *gpu)
{
	struct miniport_pte entry = crooked_entry(1, 8);

	crooked_process(gpu, process_a, false);
	crooked_process(gpu, process_b, false);
	void *context = crooked_context(gpu, process_a, true);
	void *other = crooked_allocation(gpu, PAGE, 0);
	set_root(gpu, context);
	crooked_update(gpu, &(struct crooked_update){ .table = 30,
						      .count = 1,
						      .entries = &entry,
						      .process = process_b,
						      .allocation = other,
						      .mode = MINIPORT_TABLE_GPU_PHYSICAL });
	crooked_client_work(gpu, context, true, 8);
}

STORY(work_by_address_stays_in_its_process, CROOKED_VIRTUAL, BEND_CLIENT_ASTRAY,
      RULE_DDI_PT_ISOLATION, works_beside_another_process)

static void faults_beside_another_process(struct crooked *gpu)
{
	gpu->work_faults = true;
	works_beside_another_process(gpu);
}

STORY(work_that_faults_has_stayed_in_its_process, CROOKED_VIRTUAL, BEND_CLIENT_ASTRAY,
      RULE_DDI_PT_ISOLATION, faults_beside_another_process)

TEST(paging, who_mapped_it_may_write_it)
{
	static struct crooked gpu;
	struct miniport_pte entry = crooked_entry(1, 8);

	crooked_start(&gpu, CROOKED_VIRTUAL);
	crooked_process(&gpu, process_a, false);
	void *context = crooked_context(&gpu, process_a, true);
	set_root(&gpu, context);
	crooked_update(&gpu,
		       &(struct crooked_update){ .table = 30,
						 .count = 1,
						 .entries = &entry,
						 .process = process_a,
						 .allocation = crooked_allocation(&gpu, PAGE, 0),
						 .mode = MINIPORT_TABLE_GPU_PHYSICAL });
	gpu.bend = BEND_CLIENT_ASTRAY;
	crooked_client_work(&gpu, context, true, 8);
	crooked_expect_nothing(&gpu);
	crooked_finish(&gpu);
}

TEST_MAIN("verify/paging")
