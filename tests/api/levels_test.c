/* SPDX-License-Identifier: MIT */
/*
 * levels_test.c - every entry point of a driver is called at the IRQL, and in the company, that the
 * threading model of WDDM promises.
 *
 * Who knows is the driver: tests/drivers/levels is the software GPU with a watch at each of its
 * doors. What the tests do is to make it busy. Other programs of this folder run on the same
 * driver, which then stops at the first violation (meson.build).
 */
#include "api/soft_work.h"
#include "drivers/levels/levels.h"

#include <stdatomic.h>

enum { PAINTERS = 2, MOVERS = 2, ROUNDS = 60, PIECES = 6, ESCAPES = 40 };

static struct levels_seen seen_with(D3DKMT_HANDLE adapter, unsigned hardware_access)
{
	struct levels_seen seen = { .magic = LEVELS_ESCAPE };
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .Flags.HardwareAccess = hardware_access,
			       .pPrivateDriverData = &seen,
			       .PrivateDriverDataSize = sizeof(seen) };

	EXPECT_OK(D3DKMTEscape(&args));
	EXPECT_EQ(seen.size_bytes, sizeof(seen));
	return seen;
}

static struct levels_seen seen_by(D3DKMT_HANDLE adapter)
{
	return seen_with(adapter, 0);
}

static void expect_all_kept(D3DKMT_HANDLE adapter)
{
	struct levels_seen seen = seen_by(adapter);

	EXPECT_STR(seen.first, "");
	EXPECT_EQ(seen.violations, 0);
	EXPECT(seen.probes > 0);
	EXPECT(seen.meetings > 0);
}

/* Whatever is kept, it was put to the test. */
static void expect_called(D3DKMT_HANDLE adapter, const enum levels_entry *entries, size_t count)
{
	struct levels_seen seen = seen_by(adapter);

	for (size_t i = 0; i < count; i++) {
		if (seen.calls[entries[i]] == 0)
			print_error("entry point %u was never called\n", entries[i]);
		EXPECT(seen.calls[entries[i]] > 0);
	}
}

static D3DKMT_HANDLE open_anew(void)
{
	D3DKMTCloseDxCoreDevice();
	return open_first_adapter();
}

/* ---- who is busy ---- */

struct painter {
	struct worker worker;
	int priority;
};

static void paint_once(struct painter *painter, unsigned rows)
{
	struct row row = { 0 };

	for (unsigned i = 0; i < 8; i++)
		add_fill(&row, painter->worker.data, DATA_BYTES, i);
	for (unsigned i = 0; i < rows; i++)
		worker_run(&painter->worker, &row);
}

static void paint(void *argument)
{
	struct painter *painter = argument;

	for (unsigned round = 0; round < ROUNDS; round++) {
		paint_once(painter, 4);
		worker_wait(&painter->worker);
		painter->worker.used_bytes = 0;
	}
}

static void painter_open(struct painter *painter, D3DKMT_HANDLE adapter)
{
	worker_open(&painter->worker, adapter);
	D3DKMT_SETCONTEXTSCHEDULINGPRIORITY args = { .hContext = painter->worker.context,
						     .Priority = painter->priority };
	EXPECT_OK(D3DKMTSetContextSchedulingPriority(&args));
}

/* More than there is place for: things of two threads push each other out. */
static void move(void *argument)
{
	const struct client *client = argument;
	D3DKMT_HANDLE pieces[PIECES];
	D3DDDI_RECLAIM_RESULT result;
	uint64_t address;
	void *pointer;

	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < PIECES; i++) {
			pieces[i] =
				create_sized(client, MIB, SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY);
			NTSTATUS status = make_resident(client, &pieces[i], 1, 0);
			EXPECT(status == STATUS_SUCCESS || status == STATUS_NO_MEMORY);
			EXPECT_OK(try_map(client, pieces[i], MIB, &address));
			EXPECT_OK(lock2(client->device, pieces[i], &pointer));
			*(volatile unsigned char *)pointer = (unsigned char)round;
			EXPECT_OK(unlock2(client->device, pieces[i]));
			EXPECT_OK(unmap(client, address, MIB));
			if (status == STATUS_SUCCESS)
				EXPECT_OK(evict(client, &pieces[i], 1, 0));
		}
		for (unsigned i = 0; i < PIECES; i++) {
			EXPECT_OK(offer(client, &pieces[i], 1, D3DKMT_OFFER_PRIORITY_LOW, 0));
			EXPECT_OK(reclaim(client, &pieces[i], 1, &result));
			EXPECT_OK(destroy_now(client, pieces[i]));
		}
	}
}

TEST(levels, are_kept_while_everybody_is_busy)
{
	static const enum levels_entry wanted[] = {
		LEVELS_CreateDevice,         LEVELS_CreateContext,
		LEVELS_CreateAllocation,     LEVELS_OpenAllocation,
		LEVELS_CloseAllocation,      LEVELS_DestroyAllocation,
		LEVELS_BuildPagingBuffer,    LEVELS_DestroyDevice,
		LEVELS_SubmitCommandVirtual, LEVELS_SetRootPageTable,
		LEVELS_DpcRoutine,           LEVELS_Escape,
		LEVELS_SynchronizeExecution, LEVELS_QueryAdapterInfo,
		LEVELS_StartDevice,          LEVELS_AddDevice,
		LEVELS_CreateProcess,        LEVELS_GetNodeMetadata,
	};
	static struct painter painters[PAINTERS];
	struct client mover;
	struct dxgk_test_thread *threads[PAINTERS + MOVERS];
	D3DKMT_HANDLE adapter = open_anew();

	client_open(&mover, adapter);
	for (unsigned i = 0; i < PAINTERS; i++) {
		painters[i].priority = i ? 7 : -7;
		painter_open(&painters[i], adapter);
		threads[i] = dxgk_test_thread_create(paint, &painters[i]);
	}
	for (unsigned i = PAINTERS; i < PAINTERS + MOVERS; i++)
		threads[i] = dxgk_test_thread_create(move, &mover);
	for (unsigned i = 0; i < ESCAPES; i++) {
		seen_with(adapter, i % 2);
		usleep(1000);
	}
	for (unsigned i = 0; i < PAINTERS + MOVERS; i++)
		dxgk_test_thread_join(threads[i]);
	for (unsigned i = 0; i < PAINTERS; i++)
		worker_close(&painters[i].worker);
	EXPECT_OK(destroy_device(mover.device));

	expect_called(adapter, wanted, sizeof(wanted) / sizeof(wanted[0]));
	EXPECT(seen_by(adapter).table_updates > 0);
	EXPECT(seen_by(adapter).rooted_submissions > 0);
	expect_all_kept(adapter);
	expect_valid();
}

TEST(levels, are_kept_when_work_is_preempted)
{
	struct painter slow = { .priority = -7 };
	struct painter quick = { .priority = 7 };
	D3DKMT_HANDLE adapter = open_anew();
	uint64_t preemptions = 0;

	painter_open(&slow, adapter);
	painter_open(&quick, adapter);
	for (unsigned i = 0; i < 500 && preemptions == 0; i++) {
		paint_once(&slow, 32);
		paint_once(&quick, 1);
		worker_wait(&quick.worker);
		worker_wait(&slow.worker);
		slow.worker.used_bytes = quick.worker.used_bytes = 0;
		preemptions = seen_by(adapter).calls[LEVELS_PreemptCommand];
	}
	worker_close(&slow.worker);
	worker_close(&quick.worker);
	EXPECT(preemptions > 0);
	expect_all_kept(adapter);
}

static void hang_and_recover(D3DKMT_HANDLE adapter, unsigned control)
{
	D3DKMT_TDRDBGCTRL_ESCAPE tdr = { (D3DKMT_TDRDBGCTRLTYPE)control, 0 };
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .Type = D3DKMT_ESCAPE_TDRDBGCTRL,
			       .pPrivateDriverData = &tdr,
			       .PrivateDriverDataSize = sizeof(tdr) };
	struct worker worker;
	struct row row = { 0 };
	void *pointer;

	worker_open(&worker, adapter);
	EXPECT_OK(lock2(worker.client.device, worker.memory, &pointer));
	add_write(&row, worker.data, 1);
	add_hang(&row);
	EXPECT_OK(worker_submit(&worker, &row));
	while (*(volatile uint64_t *)pointer != 1)
		usleep(100);
	EXPECT_OK(D3DKMTEscape(&args));
	worker_close(&worker);
}

TEST(levels, are_kept_when_the_gpu_hangs)
{
	static const enum levels_entry wanted[] = {
		LEVELS_QueryEngineStatus, LEVELS_QueryDependentEngineGroup, LEVELS_ResetEngine,
		LEVELS_ResetFromTimeout,  LEVELS_RestartFromTimeout,        LEVELS_CollectDbgInfo,
	};
	D3DKMT_HANDLE adapter = open_anew();

	hang_and_recover(adapter, D3DKMT_TDRDBGCTRLTYPE_ENGINETDR);
	hang_and_recover(adapter, D3DKMT_TDRDBGCTRLTYPE_GPUTDR);
	expect_work_gets_done(adapter);
	expect_called(adapter, wanted, sizeof(wanted) / sizeof(wanted[0]));
	expect_all_kept(adapter);
}

/* Level two: nothing is with the GPU, however much there is to do. */
TEST(hardware_access, finds_an_idle_gpu)
{
	struct painter painter = { 0 };
	D3DKMT_HANDLE adapter = open_anew();

	painter_open(&painter, adapter);
	for (unsigned i = 0; i < 20; i++) {
		paint_once(&painter, 32);
		EXPECT_STR(seen_with(adapter, 1).first, "");
		worker_wait(&painter.worker);
		painter.worker.used_bytes = 0;
	}
	worker_close(&painter.worker);
	expect_all_kept(adapter);
}

/* Level three: what was in video memory has left it when the driver starts the GPU again. */
TEST(restart, finds_all_memory_evicted)
{
	D3DKMT_HANDLE adapter = open_anew();
	uint64_t entered = seen_by(adapter).entered;

	hang_and_recover(adapter, D3DKMT_TDRDBGCTRLTYPE_GPUTDR);
	EXPECT(seen_by(adapter).entered > entered);
	expect_work_gets_done(adapter);
	expect_all_kept(adapter);
}

/* ---- the driver would notice ---- */

/* With the escape a DPC runs while its thread is inside, in each of them. */
CHILD(say_what_was_seen)
{
	D3DKMT_HANDLE adapter = child_open_adapter();
	struct levels_seen seen = { .magic = LEVELS_ESCAPE };
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .Flags.HardwareAccess = getenv("TEST_HARDWARE_ACCESS") != NULL,
			       .pPrivateDriverData = &seen,
			       .PrivateDriverDataSize = sizeof(seen) };

	if (getenv("TEST_RESET"))
		hang_and_recover(adapter, D3DKMT_TDRDBGCTRLTYPE_GPUTDR);
	CHILD_EXPECT(D3DKMTEscape(&args) == STATUS_SUCCESS);
	printf("%s\n", seen.violations > 0 ? seen.first : "nothing");
	return 0;
}

static void expect_seen(const char *belief, const char *setting, const char *sentence)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"adapters\": [{\"driver\": \"levels\", \"registry\": {\"LocalMemoryMiB\": 8, "
		 "\"ApertureMiB\": 16, \"Levels\": \"%s\"}}]}",
		 belief);
	const struct child_result *child =
		run_child("say_what_was_seen", profile_setting(text), setting);
	EXPECT_CHILD(child, 0);
	if (!strstr(child->out, sentence))
		print_error("\"%s\": saw %s", belief, child->out);
	EXPECT(strstr(child->out, sentence));
}

TEST(watch, sees_nothing_when_nothing_is_wrong)
{
	expect_seen("right", NULL, "nothing");
}

TEST(watch, sees_another_irql)
{
	expect_seen("wrong irql", NULL, "DxgkDdiDpcRoutine, at another IRQL");
}

TEST(watch, sees_company_of_what_is_alone)
{
	expect_seen("wrong level", NULL, "one of which is alone in the driver");
}

TEST(watch, sees_two_of_a_class)
{
	expect_seen("wrong class", NULL,
		    "DxgkDdiDpcRoutine during DxgkDdiEscape, which are of one class");
}

TEST(watch, sees_two_threads_of_a_process)
{
	expect_seen("wrong process", NULL, "by two threads of one process");
}

TEST(watch, sees_a_gpu_that_works)
{
	expect_seen("wrong idle", "TEST_HARDWARE_ACCESS=1",
		    "DxgkDdiAddDevice, while the GPU works");
}

TEST(watch, sees_memory_that_is_not_evicted)
{
	expect_seen("right", "TEST_RESET=1", "nothing");
	expect_seen("wrong memory", "TEST_RESET=1",
		    "DxgkDdiRestartFromTimeout, before all memory was evicted");
}

/* What pages has a root, too. */
TEST(watch, sees_a_context_without_a_root)
{
	expect_seen("wrong root", "TEST_RESET=1",
		    "A submission, of a context that was told no root page table");
}

API_TEST_MAIN("api/levels")
