/* SPDX-License-Identifier: MIT */
/*
 * model_test.c - many random calls, each judged by a model of what should be there (model.h) and by
 * the kernel's own recount (dxgk_test_validate).
 *
 *	MODEL_SEED   the run to repeat; a failure prints it
 *	MODEL_SEEDS  without it: how many runs, from seed 1
 *	MODEL_STEPS  how long each is
 */
#include "model/setting.h"
#include "model/run.h"

#include <sys/eventfd.h>

enum { CHECK_DRIVER_EVERY = 64 };

static void make_a_step(struct run *run)
{
	static const struct {
		void (*step)(struct run *run);
		uint32_t weight;
	} steps[] = {
		{ step_create, 18 },     { step_standard, 4 }, { step_open, 16 },
		{ step_lock, 20 },       { step_touch, 20 },   { step_destroy, 14 },
		{ step_property, 12 },   { step_device, 3 },   { step_context, 3 },
		{ step_adapter, 2 },     { step_share, 10 },   { step_name, 4 },
		{ step_close_file, 12 }, { step_mutex, 14 },   { step_fence, 16 },
	};

	if (one_in(run, 2000)) {
		step_end_process(run);
		return;
	}
	steps[WEIGHTED(run, steps)].step(run);
}

/* Soon: a thread of the kernel may be about to let go of something. */
static void check_kernel(struct run *run)
{
	enum { SOON = 2000 };
	char problem[256] = "";

	for (int i = 0; i < SOON; i++) {
		if (dxgk_test_validate(problem, sizeof(problem)))
			return;
		usleep(i < 20 ? 10 : 1000);
	}
	run_fail(run, "afterwards the kernel is not sound: %s", problem);
}

static void start(struct run *run, unsigned long long seed)
{
	memset(run, 0, sizeof(*run));
	run->seed = seed;
	random_init(&run->random, seed);
	run->client_memory = mmap(NULL, (size_t)CLIENT_SLOTS * CLIENT_BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(run->client_memory != MAP_FAILED);
	run->plain_file = memfd_create("plain", MFD_CLOEXEC);
	EXPECT(run->plain_file >= 0);
	run->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	EXPECT(run->event > 0);
	D3DKMT_ADAPTERINFO adapter = first_adapter();
	run->luid = adapter.AdapterLuid;
	model_add(&run->model, KIND_ADAPTER, adapter.hAdapter);
	run->idle = soft_info(adapter.hAdapter);
}

/* Everything goes; the driver has what it had before, and so has the kernel. */
static void end(struct run *run)
{
	struct model *model = &run->model;

	for (int i = 0; i < MAX_DESCRIPTORS; i++) {
		for (int j = 0; model->descriptors[i].is_live && j < model->descriptors[i].copies;
		     j++)
			close(model->descriptors[i].files[j]);
		model->descriptors[i].copies = 0;
	}
	model_settle(model);
	check_driver(run);
	step_end_process(run);
	check_driver(run);
	check_kernel(run);
	RUN_EXPECT(run, model_memory_count(model) == 0);
	D3DKMTCloseDxCoreDevice();
	munmap(run->client_memory, (size_t)CLIENT_SLOTS * CLIENT_BYTES);
	close(run->plain_file);
	close(run->event);
}

static void run_seed(unsigned long long seed, unsigned steps)
{
	static struct run run;

	start(&run, seed);
	for (run.step = 0; run.step < steps; run.step++) {
		make_a_step(&run);
		model_settle(&run.model);
		check_kernel(&run);
		if (run.step % CHECK_DRIVER_EVERY == 0)
			check_driver(&run);
	}
	end(&run);
	print_message("# seed %llu: %u steps, %u calls accepted, %u refused\n", seed, steps,
		      run.accepted, run.refused);
	/* A run that refuses or accepts next to nothing would prove little. */
	EXPECT(run.accepted > steps / 4 && run.refused > steps / 12);
}

/* Global handles come in chunks, of which the kernel keeps one to spare from the second on. */
static void use_up_a_chunk_of_handles(void)
{
	D3DKMT_CREATEKEYEDMUTEX kept = { 0 };

	EXPECT_OK(D3DKMTCreateKeyedMutex(&kept));
	for (int i = 0; i < 5000; i++) {
		D3DKMT_CREATEKEYEDMUTEX create = { 0 };
		EXPECT_OK(D3DKMTCreateKeyedMutex(&create));
		D3DKMT_DESTROYKEYEDMUTEX destroy = { create.hKeyedMutex };
		EXPECT_OK(D3DKMTDestroyKeyedMutex(&destroy));
	}
	D3DKMTCloseDxCoreDevice();
}

/* The second time the kernel needs what it needed the first time, so nothing more is left of it. */
static void run_twice(unsigned long long seed, unsigned steps)
{
	run_seed(seed, steps);
	struct dxgk_test_memory before = dxgk_test_memory();
	run_seed(seed, steps);
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	EXPECT_EQ(dxgk_test_memory().bytes, before.bytes);
}

TEST(model, random_calls_do_what_the_model_says)
{
	unsigned steps = (unsigned)setting("MODEL_STEPS", 5000);
	unsigned long long seed = setting("MODEL_SEED", 0);

	use_up_a_chunk_of_handles();
	if (seed != 0) {
		run_twice(seed, steps);
	} else {
		for (seed = 1; seed <= setting("MODEL_SEEDS", 3); seed++)
			run_twice(seed, steps);
	}
	EXPECT_EQ(dxgk_test_report_count("DDI-MUST-SUCCEED"), 0);
}

API_TEST_MAIN("model")
