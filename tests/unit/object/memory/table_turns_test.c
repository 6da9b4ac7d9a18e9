/* SPDX-License-Identifier: MIT */
/*
 * table_turns_test.c - two processes whose page tables do not fit in together and whose work has no
 * end: the real scheduler, and a GPU that is turned by hand.
 */
#include "table_world.h"

#include "base/clock.h"

enum { AHEAD = 3, SWITCHES = 8, FAR_MAPPINGS = 20 };

struct worker_of {
	struct client *client;
	struct dxg_context *context;
	uint32_t tag; /* its work has this size */
	uint32_t done;
};

static void submit(struct worker_of *who)
{
	EXPECT_EQ(submission_queue(&who->context, 1,
				   &(struct submission_request){ .gpu_address = 0x10000,
								 .size_bytes = who->tag }),
		  STATUS_SUCCESS);
}

/* The GPU ends the oldest; its tag, 0 when there is nothing. */
static uint32_t complete(void)
{
	struct recorder_escape args = { .command = RECORDER_COMPLETE, .node = 0 };
	struct miniport_escape_desc desc = { .private_data = &args, .private_bytes = sizeof(args) };

	EXPECT_EQ(miniport_escape(adapter->miniport, miniport_system_client(adapter->miniport),
				  &desc),
		  STATUS_SUCCESS);
	return args.result ? (uint32_t)args.values[0] : 0;
}

static void let_time_pass(void)
{
	clock_sleep_until(clock_deadline(NS_PER_MS));
}

static bool has_work(const struct worker_of *who)
{
	return !sched_owner_is_idle(&who->client->device->work);
}

TEST(table_turns, both_of_two_processes_with_endless_work_get_on)
{
	struct mapped_memory memory;
	struct worker_of workers[] = { { .client = &app, .tag = 64 },
				       { .client = &other, .tag = 128 } };
	struct vidmm_segment *segment;
	uint32_t switches = 0;
	uint32_t last = 0;

	local_bytes = 1 << 20;
	is_by_hand = true;
	begin();
	mapped_memory_init_fixed(&memory, 1, 1);
	segment = &adapter->memory->segments[LOCAL - 1];
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned far = 1; far <= FAR_MAPPINGS; far++)
			map_far(workers[i].client, far, &memory);
		workers[i].context = make_context(workers[i].client);
	}
	for (unsigned n = 0; n < 2 * AHEAD; n++)
		submit(&workers[n % 2]);
	EXPECT(table_blocks_bytes(&memory_of(&app)->tables.blocks, segment) +
		       table_blocks_bytes(&memory_of(&other)->tables.blocks, segment) >
	       local_bytes);
	while (switches < SWITCHES) {
		uint32_t tag = complete();

		EXPECT(!app.device->memory.is_lost && !other.device->memory.is_lost);
		if (tag == 0) {
			let_time_pass();
			continue;
		}
		switches += tag != last;
		last = tag;
		for (unsigned i = 0; i < 2; i++) {
			EXPECT(has_work(&workers[i])); /* it has no end */
			if (tag == workers[i].tag) {
				workers[i].done++;
				submit(&workers[i]);
			}
		}
	}
	EXPECT(workers[0].done > SWITCHES / 4 && workers[1].done > SWITCHES / 4);
	while (has_work(&workers[0]) || has_work(&workers[1])) {
		if (complete() == 0)
			let_time_pass();
	}
	expect_valid();
	for (unsigned i = 0; i < 2; i++) {
		end_context(workers[i].context);
		gpu_addresses_drop_now(workers[i].client->device->process_adapter->addresses,
				       &memory);
	}
	mapped_memory_finish(&memory);
	finish();
}

TEST_MAIN("object/table_turns")
