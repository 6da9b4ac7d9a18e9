/* SPDX-License-Identifier: MIT */
/*
 * steps.h - what happens in the world of world.h: updates, allocations that need the room of page
 * tables, work, moves, and resets.
 */
#ifndef TESTS_UNIT_ADDRESS_SPACE_STEPS_H
#define TESTS_UNIT_ADDRESS_SPACE_STEPS_H

#include "world.h"

/* ---- updates ---- */

static inline struct gpuva_operation operation_at(struct party *party, uint64_t page,
						  uint64_t count, struct memory *memory)
{
	return (struct gpuva_operation){ .kind = GPUVA_OPERATION_MAP,
					 .base = page << GPUVA_PAGE_SHIFT,
					 .size_bytes = count << GPUVA_PAGE_SHIFT,
					 .owner = owner_of(party, memory) };
}

static inline NTSTATUS try_update(struct party *party, const struct gpuva_operation *operations,
				  uint32_t count, struct told *told,
				  struct space_update **update_out)
{
	return address_space_update(party->space, operations, count,
				    told ? &(struct space_listener){ told_done, told } : NULL,
				    update_out);
}

/* Waits for its turn: space_update_run(). */
static inline struct space_update *make_update(struct party *party, uint64_t page, uint64_t count,
					       struct memory *memory, struct told *told)
{
	struct gpuva_operation operation = operation_at(party, page, count, memory);
	struct space_update *update = NULL;

	EXPECT_EQ(try_update(party, &operation, 1, told, &update), STATUS_SUCCESS);
	return update;
}

static inline void run_update(struct space_update *update, const struct told *told)
{
	space_update_run(update);
	flush();
	EXPECT_EQ(atomic_load(&told->count), 1);
	EXPECT_EQ(told->status, STATUS_SUCCESS);
}

static inline void update_all(struct party *party, const struct gpuva_operation *operations,
			      uint32_t count)
{
	struct space_update *update = NULL;
	struct told told = { 0 };

	EXPECT_EQ(try_update(party, operations, count, &told, &update), STATUS_SUCCESS);
	run_update(update, &told);
}

static inline void update(struct party *party, uint64_t page, uint64_t count, struct memory *memory)
{
	struct gpuva_operation operation = operation_at(party, page, count, memory);

	update_all(party, &operation, 1);
}

/* ---- allocations that need the room ---- */

static inline void thing_done(struct vidmm_request *request, NTSTATUS status)
{
	struct thing *thing = container_of(request, struct thing, request);

	thing->status = status;
	atomic_store(&thing->done, 1);
	notice_give(&world.starved);
}

static inline void thing_init(struct thing *thing, struct party *party, uint64_t page_count)
{
	static _Atomic uint64_t last_id;

	memset(thing, 0, sizeof(*thing));
	thing->request.done = thing_done;
	vidmm_allocation_init(&thing->memory,
			      &(struct vidmm_wishes){ .id = ++last_id,
						      .size_bytes = page_count * MACHINE_PAGE_BYTES,
						      .alignment_bytes = MACHINE_PAGE_BYTES,
						      .supported_segments = 1 << (FAKE_LOCAL - 1),
						      .priority = VIDMM_PRIORITY_NORMAL,
						      .account = &world.account });
	vidmm_binding_init(&thing->binding, &party->device, &thing->memory, thing);
}

static inline NTSTATUS thing_ask(struct thing *thing)
{
	struct vidmm_binding *list[] = { &thing->binding };
	uint64_t bytes;

	atomic_store(&thing->done, 0);
	return vidmm_make_resident(thing->binding.device, list, 1,
				   VIDMM_CANT_TRIM_FURTHER | VIDMM_WHATEVER_THE_BUDGET,
				   &thing->request, &bytes);
}

static inline NTSTATUS thing_wait(struct thing *thing)
{
	for (;;) {
		uint32_t seen = notice_read(&world.starved);

		if (atomic_load(&thing->done))
			return thing->status;
		notice_wait(&world.starved, seen, CLOCK_FOREVER);
	}
}

static inline void thing_bring_in(struct thing *thing)
{
	NTSTATUS status = thing_ask(thing);

	EXPECT_EQ(status == STATUS_PENDING ? thing_wait(thing) : status, STATUS_SUCCESS);
}

static inline void thing_add(struct thing *thing, struct party *party, uint64_t page_count)
{
	thing_init(thing, party, page_count);
	thing_bring_in(thing);
}

static inline NTSTATUS thing_let_go(struct thing *thing)
{
	struct vidmm_binding *list[] = { &thing->binding };
	uint64_t bytes;

	return vidmm_evict(thing->binding.device, list, 1, VIDMM_EVICT_ONLY_IF_NECESSARY, &bytes);
}

static inline bool thing_is_in(struct thing *thing)
{
	return vidmm_where(thing->binding.device->process->manager, &thing->memory) ==
	       VIDMM_RESIDENT_IN_GPU_MEMORY;
}

static inline uint64_t table_bytes(void)
{
	struct vidmm_segment_usage usage;

	flush();
	EXPECT(vidmm_segment_usage(world.manager, FAKE_LOCAL, &usage));
	return usage.table_bytes;
}

static inline uint64_t table_bytes_of(struct party *party)
{
	return table_blocks_bytes(&party->process.tables.blocks, &world.manager->segments[0]);
}

/* The other one needs so much. */
static inline void crowd_in(uint64_t page_count)
{
	world.is_crowded = true;
	thing_add(&crowd, other, page_count);
}

/* All the room there is but what others than the first have: it does nothing, and its tables go. */
static inline void take_all(void)
{
	uint64_t others = table_bytes() - table_bytes_of(app);

	EXPECT(table_bytes() > others);
	crowd_in(LOCAL_PAGES - others / MACHINE_PAGE_BYTES);
	EXPECT(thing_is_in(&crowd));
	EXPECT_EQ(state_of(app), VIDMM_TABLES_OUT);
	EXPECT_EQ(table_bytes(), others);
}

/* … which had addresses. */
static inline void crowd_out(void)
{
	EXPECT_EQ(map(app, 510, &memories[0], 20), STATUS_PENDING);
	EXPECT_EQ(map(app, 300000, &memories[1], PAGES), STATUS_PENDING);
	take_all();
}

/* ---- work ---- */

static inline void queue_work(struct party *party)
{
	fake_owner_queue(&party->owner);
	vidmm_device_has_work(&party->device);
}

static inline void end_work(struct party *party)
{
	fake_owner_retire(&party->owner);
}

static inline bool runs(struct party *party)
{
	return !fake_owner_is_suspended(&party->owner);
}

/* Its tables come back for its work. */
static inline void have_back(struct party *party)
{
	queue_work(party);
	wait_until(party, VIDMM_TABLES_IN);
	settle();
	EXPECT(runs(party));
	end_work(party);
}

/* ---- tables that change while nothing runs ---- */

static inline void await_hold(void)
{
	struct notice *changed = &world.fake->sched.changed;

	for (;;) {
		uint32_t seen = notice_read(changed);

		if (fake_client_holds(&world.fake->sched) > 0)
			return;
		notice_wait(changed, seen, CLOCK_FOREVER);
	}
}

/* The pager has been at all that was queued before. */
static inline void await_turn(void)
{
	struct fake_job job;

	fake_job_init(&job, world.fake);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
}

/* ---- moves ---- */

/* As the manager moves what is mapped. */
struct moving {
	struct fake_job job;
	struct memory *memory;
	uint64_t first_page;
	struct mapped_memory_cursor cursor;
};

static inline enum paging_step moving_next(struct paging_job *job,
					   struct miniport_paging_op *op_out)
{
	struct moving *moving = container_of(job, struct moving, job.job);

	atomic_store(&moving->memory->first_page, moving->first_page);
	return paging_step_of(mapped_memory_next(&moving->memory->mapped, &moving->cursor, op_out));
}

static inline void moving_init(struct moving *moving, struct memory *memory, uint64_t first_page)
{
	*moving = (struct moving){ .memory = memory, .first_page = first_page };
	fake_job_init(&moving->job, world.fake);
	moving->job.job.next = moving_next;
}

static inline void moving_wait(struct moving *moving)
{
	fake_job_wait(&moving->job);
	EXPECT_EQ(moving->job.status, STATUS_SUCCESS);
	flush();
}

static inline void move_memory(struct memory *memory, uint64_t first_page)
{
	struct moving moving;

	moving_init(&moving, memory, first_page);
	paging_job_queue(&moving.job.job);
	moving_wait(&moving);
}

/* ---- a reset ---- */

/* What the hardware has comes back undone, and what is in its memory is lost. */
static inline void reset_begin(void)
{
	pager_suspend(world.fake->pager);
	while (fake_in_flight(world.fake) > 0)
		fake_retire_one(world.fake, SCHED_ABORTED);
	memset(world.fake->memory.local, 0xA5, world.local_pages * MACHINE_PAGE_BYTES);
	fake_set_automatic(world.fake, true);
}

/* A job of afterwards is behind what the reset has queued. */
static inline void reset_end(void)
{
	vidmm_reset(world.manager);
	pager_restart(world.fake->pager);
	await_turn();
	settle();
}

static inline void reset(void)
{
	reset_begin();
	reset_end();
}

#endif
