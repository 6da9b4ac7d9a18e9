/* SPDX-License-Identifier: MIT */
/*
 * table_world.h - two processes in a whole host with the recorder as its driver, whose page tables
 * are in local memory.
 */
#ifndef TESTS_UNIT_OBJECT_TABLE_WORLD_H
#define TESTS_UNIT_OBJECT_TABLE_WORLD_H
#include "unit/object/scene.h"

#include "base/refusal.h"
#include "object/memory/gpu_addresses.h"
#include "object/owner/hw_context.h"
#include "object/submit/submission.h"
#include "unit/vidmm/evict.h"
#include "vidmm/control.h"
#include "vidmm/place.h"
#include "vidmm/table_block.h"
#include "vidmm/table_states.h"

enum { LOCAL = 1, GPU_PHYSICAL = 2, TABLE_BYTES = 16384 };

/* ---- the world ---- */

static struct client other;

/* Of the next one that begins. */
static uint32_t local_bytes = 64 << 20;
static bool is_by_hand;

static inline void begin_with(uint32_t kinds)
{
	struct miniport_setting settings[] = {
		{ "Keep", NULL, kinds },
		{ "RefreshAtRoot", NULL, kinds },
		{ "TdrLevel", NULL, 0 },
		{ "NbAsymetricProcessingNodes", NULL, 2 },
		{ "PagingNode", NULL, 1 },
		{ "PagingAtOnce", NULL, 1 },
		{ "HandCranked", NULL, is_by_hand },
		{ "PageTableUpdateMode", NULL, GPU_PHYSICAL },
		{ "Segment1.Size", NULL, local_bytes },
		{ "Segment1.CommitLimit", NULL, local_bytes },
		{ "Level0.PageTableSegmentId", NULL, LOCAL },
		{ "Level1.PageTableSegmentId", NULL, LOCAL },
		{ "Level2.PageTableSegmentId", NULL, LOCAL },
		{ "Levels", "many processes", 0 }, /* of which a driver sees only one */
	};

	scene_begin_with(settings, ARRAY_SIZE(settings));
	client_begin(&app, 1);
	client_begin(&other, 2);
}

static inline void begin(void)
{
	begin_with(0);
}

static inline void finish(void)
{
	client_end(&app);
	client_end(&other);
	scene_end();
}

static inline struct dxg_context *make_context(struct client *client)
{
	struct dxg_context *context = NULL;

	EXPECT_EQ(context_create(client->device, &(struct context_options){ .is_virtual = true },
				 &context),
		  STATUS_SUCCESS);
	return context;
}

static inline void end_context(struct dxg_context *context)
{
	EXPECT(context_destroy(context));
	object_put(&context->object);
}

/* Returns when it ran. */
static inline void run(struct dxg_context *context)
{
	EXPECT_EQ(submission_queue(
			  &context, 1,
			  &(struct submission_request){ .gpu_address = 0x10000, .size_bytes = 64 }),
		  STATUS_SUCCESS);
	while (!sched_owner_is_idle(&context->device->work))
		thread_point();
}

static inline struct vidmm_process *memory_of(const struct client *client)
{
	return &client->device->process_adapter->memory;
}

static inline enum vidmm_tables_state state_of(const struct client *client)
{
	return tables_state(&memory_of(client)->tables);
}

static inline void wait_until_in(const struct client *client)
{
	while (state_of(client) != VIDMM_TABLES_IN)
		thread_point();
}

static inline void force_out(const struct client *client)
{
	vidmm_evict_selected(adapter->memory,
			     &(struct vidmm_selection){ .process = memory_of(client) });
}

/* A room in the way: the tables do not come back before it is given back. */
struct obstacle {
	struct pager_table places[4096];
	uint32_t count;
};
static struct obstacle obstacle;

static inline void obstruct(void)
{
	struct refusal_scope scope;

	refusal_begin(&scope, "test");
	while (NT_SUCCESS(vidmm_take_table(adapter->memory, LOCAL, TABLE_BYTES, TABLE_BYTES,
					   &obstacle.places[obstacle.count]))) {
		obstacle.count++;
		EXPECT(obstacle.count < ARRAY_SIZE(obstacle.places));
	}
	(void)refusal_end(&scope);
}

static inline void give_way(void)
{
	while (obstacle.count > 0)
		vidmm_give_table(adapter->memory, &obstacle.places[--obstacle.count], TABLE_BYTES);
}

static inline void expect_valid(void)
{
	char wrong[256] = "";
	uint64_t page;

	pager_flush(adapter->pager);
	EXPECT(!address_space_validate(app.device->process_adapter->addresses, &page));
	EXPECT(!address_space_validate(other.device->process_adapter->addresses, &page));
	(void)!vidmm_manager_validate(adapter->memory, false, wrong, sizeof(wrong));
	EXPECT_STR(wrong, "");
}

/* ---- addresses ---- */

enum { FAR_BYTES = 1 << 30 };

static inline struct space_memory *show(struct client *client, struct mapped_memory *memory)
{
	struct space_memory *shown = NULL;

	EXPECT_EQ(address_space_memory(client->device->process_adapter->addresses, memory, &shown),
		  STATUS_SUCCESS);
	return shown;
}

/* Each so far from the others that it has tables of its own. */
static inline void map_far(struct client *client, unsigned which, struct mapped_memory *memory)
{
	struct gpuva_map_request request = { .window.base = (uint64_t)which * FAR_BYTES,
					     .owner = &show(client, memory)->view.owner,
					     .page_count = 1 };
	uint64_t address;

	EXPECT_EQ(gpu_addresses_map_now(client->device->process_adapter->addresses, &request,
					&address),
		  STATUS_SUCCESS);
}

#endif
