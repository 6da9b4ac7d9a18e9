/* SPDX-License-Identifier: MIT */
/*
 * neighbour.h - a client that works all the time beside those that a test is about, and ends with an error when a
 * call of its fails or a byte of its memory is not its own.
 */
#ifndef TESTS_SERVER_NEIGHBOUR_H
#define TESTS_SERVER_NEIGHBOUR_H

#include "api/soft_work.h"
#include "server/house.h"

enum { NEIGHBOUR_BEGUN = 1, NEIGHBOUR_STOP, NEIGHBOUR_DONE };
enum { NEIGHBOUR_BYTES = 256 * KIB };

static uint32_t own_pattern(uint64_t round)
{
	return 0x40000000u | (uint32_t)(round * 2654435761u >> 8);
}

CHILD(neighbour)
{
	struct worker worker;
	struct pollfd stop = { .fd = TALK_FD, .events = POLLIN };
	D3DKMT_HANDLE kept;
	uint64_t round = 0;

	worker_open(&worker, child_open_adapter());
	kept = create_sized(&worker.client, NEIGHBOUR_BYTES, SOFTGPU_CPU_VISIBLE);
	fill(&worker.client, kept, NEIGHBOUR_BYTES, 1);
	test_say(NEIGHBOUR_BEGUN, 0);
	do {
		uint32_t wanted = own_pattern(++round);
		struct row row = { 0 };
		uint32_t *pointer;

		worker.used_bytes = 0;
		add_fill(&row, worker.data, DATA_BYTES, wanted);
		worker_run(&worker, &row);
		worker_wait(&worker);
		CHILD_EXPECT(state_of(&worker) == D3DKMT_DEVICEEXECUTION_ACTIVE);
		CHILD_EXPECT(lock2(worker.client.device, worker.memory, (void **)&pointer) ==
			     STATUS_SUCCESS);
		for (unsigned i = 0; i < DATA_BYTES / sizeof(*pointer); i++)
			CHILD_EXPECT(pointer[i] == wanted);
		CHILD_EXPECT(unlock2(worker.client.device, worker.memory) == STATUS_SUCCESS);
		if (round % 16 == 0) {
			EXPECT_CONTENT(&worker.client, kept, NEIGHBOUR_BYTES, round / 16);
			fill(&worker.client, kept, NEIGHBOUR_BYTES, round / 16 + 1);
			CHILD_EXPECT(evict(&worker.client, &kept, 1, 0) == STATUS_SUCCESS ||
				     make_resident(&worker.client, &kept, 1, 0) == STATUS_SUCCESS);
		}
	} while (poll(&stop, 1, 0) == 0);
	test_hear();
	test_say(NEIGHBOUR_DONE, round);
	return 0;
}

static inline struct lodger neighbour_start(void)
{
	struct lodger neighbour = lodger_start("neighbour");

	lodger_hear(&neighbour, NEIGHBOUR_BEGUN);
	return neighbour;
}

static inline void neighbour_end(struct lodger *neighbour)
{
	lodger_say(neighbour, NEIGHBOUR_STOP, 0);
	EXPECT(lodger_hear(neighbour, NEIGHBOUR_DONE) > 0);
	lodger_end(neighbour);
}

#endif
