/* SPDX-License-Identifier: MIT */
/*
 * ddi_test.c - the company a thread has in the driver.
 *
 * RECORDER_SLOW counts the threads that are inside at once. What must not overlap never does,
 * whatever the timing; what may overlap is only required to come back.
 */
#include "host.h"

#include "base/thread.h"

enum { THREADS = 4, ROUNDS = 8 };

struct visitor {
	struct host *host;
	struct miniport_client *client;
	uint32_t flags;
	unsigned most;
};

static void visit(void *argument)
{
	struct visitor *visitor = argument;

	for (int i = 0; i < ROUNDS; i++) {
		struct recorder_escape escape = { .command = RECORDER_SLOW };
		NTSTATUS status = miniport_escape(visitor->host->miniport, visitor->client,
						  &(struct miniport_escape_desc){
							  .flags = visitor->flags,
							  .private_data = &escape,
							  .private_bytes = sizeof(escape),
						  });

		if (!NT_SUCCESS(status) || escape.result > visitor->most)
			visitor->most = NT_SUCCESS(status) ? escape.result : 1000;
	}
}

/* How many were inside at once when each thread has `clients[i]`. */
static unsigned crowd(struct host *host, struct miniport_client *clients[], uint32_t flags)
{
	struct visitor visitors[THREADS];
	struct thread *threads[THREADS];
	unsigned most = 0;

	for (int i = 0; i < THREADS; i++) {
		visitors[i] = (struct visitor){ host, clients[i], flags, 0 };
		EXPECT_EQ(thread_create("visitor", visit, &visitors[i], &threads[i]),
			  STATUS_SUCCESS);
	}
	for (int i = 0; i < THREADS; i++) {
		thread_join(threads[i]);
		if (visitors[i].most > most)
			most = visitors[i].most;
	}
	return most;
}

HOST_TEST(level, threads_of_one_process_are_in_the_driver_one_at_a_time)
{
	struct miniport_client *clients[THREADS];

	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	for (int i = 0; i < THREADS; i++)
		clients[i] = host->client;
	EXPECT_EQ(crowd(host, clients, 0), 1);
}

HOST_TEST(level, hardware_access_means_alone_in_the_driver)
{
	struct miniport_client *clients[THREADS];

	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	for (int i = 0; i < THREADS; i++)
		EXPECT_EQ(miniport_client_create(nt_process_begin((uint32_t)getpid()), &clients[i]),
			  STATUS_SUCCESS);
	EXPECT_EQ(crowd(host, clients, 1), 1);
	for (int i = 0; i < THREADS; i++)
		miniport_client_destroy(clients[i]);
}

HOST_TEST(level, processes_do_not_wait_for_each_other)
{
	struct miniport_client *clients[THREADS];
	unsigned most;

	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	for (int i = 0; i < THREADS; i++)
		EXPECT_EQ(miniport_client_create(nt_process_begin((uint32_t)getpid()), &clients[i]),
			  STATUS_SUCCESS);
	most = crowd(host, clients, 0);
	EXPECT(most >= 2 && most <= THREADS);
	for (int i = 0; i < THREADS; i++)
		miniport_client_destroy(clients[i]);
}

struct interrupter {
	struct host *host;
	struct miniport_client *client;
	uint32_t node;
	bool has_failed;
};

static void complete_fences(void *argument)
{
	struct interrupter *interrupter = argument;

	for (unsigned fence = 1; fence <= 200; fence++) {
		struct recorder_escape escape = { .command = RECORDER_INTERRUPT,
						  .type = 1,
						  .node = interrupter->node,
						  .fence = fence };

		if (!NT_SUCCESS(miniport_escape(interrupter->host->miniport, interrupter->client,
						&(struct miniport_escape_desc){
							.private_data = &escape,
							.private_bytes = sizeof(escape),
						})))
			interrupter->has_failed = true;
	}
}

static _Atomic uint64_t newest[2];
static _Atomic bool went_back;

static void note_fence(void *listener, uint32_t node, uint64_t fence)
{
	if (fence < newest[node])
		went_back = true;
	newest[node] = fence;
}

TEST(interrupt, fences_of_a_node_never_go_back)
{
	struct host host;
	struct interrupter interrupters[2];
	struct thread *threads[2];
	struct miniport *miniport = NULL;

	host_init(&host);
	EXPECT_EQ(miniport_start(
			  &(struct miniport_config){ .driver = RECORDER_PATH, .adapter_id = 7 },
			  &(struct miniport_events){ .fence_completed = note_fence }, NULL,
			  &miniport),
		  STATUS_SUCCESS);
	host.miniport = miniport;
	for (uint32_t i = 0; i < 2; i++) {
		interrupters[i] = (struct interrupter){ .host = &host, .node = i };
		EXPECT_EQ(miniport_client_create(nt_process_begin((uint32_t)getpid()),
						 &interrupters[i].client),
			  STATUS_SUCCESS);
		EXPECT_EQ(thread_create("interrupter", complete_fences, &interrupters[i],
					&threads[i]),
			  STATUS_SUCCESS);
	}
	for (uint32_t i = 0; i < 2; i++) {
		thread_join(threads[i]);
		miniport_client_destroy(interrupters[i].client);
		EXPECT(!interrupters[i].has_failed);
	}
	/* Stopping while DPCs are queued or running: none runs afterwards. */
	miniport_stop(miniport);
	host.miniport = NULL;
	EXPECT(!went_back);
	host_finish(&host);
}

HOST_TEST(start, adapters_start_and_stop_side_by_side)
{
	for (int round = 0; round < 3; round++) {
		struct miniport *miniports[3];

		for (uint32_t i = 0; i < 3; i++)
			EXPECT_EQ(miniport_start(&(struct miniport_config){ .driver = RECORDER_PATH,
									    .adapter_id = 20 + i },
						 &(struct miniport_events){ 0 }, NULL,
						 &miniports[i]),
				  STATUS_SUCCESS);
		for (uint32_t i = 0; i < 3; i++)
			miniport_stop(miniports[(i + (uint32_t)round) % 3]);
	}
}

TEST_MAIN("miniport/ddi")
