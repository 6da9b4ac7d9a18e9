/*
 * model_test.c - many random calls, each judged by a model of what should be there (model.h) and by
 * the kernel's own recount (dxgk_test_validate).
 *
 *	MODEL_SEED   repeats one run; a failure prints it. Without it a few fixed seeds are run
 *	MODEL_STEPS  how long a run is
 */
#include "model/run.h"

enum { DEFAULT_STEPS = 12000, CHECK_DRIVER_EVERY = 64 };

static unsigned long long setting(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

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
		{ step_close_file, 12 }, { step_mutex, 14 },
	};
	uint32_t total = 0;

	if (one_in(run, 2000)) {
		step_end_process(run);
		return;
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		total += steps[i].weight;
	uint32_t chosen = below(run, total);
	size_t index = 0;
	while (chosen >= steps[index].weight)
		chosen -= steps[index++].weight;
	steps[index].step(run);
}

static void check_kernel(struct run *run)
{
	char problem[256] = "";

	if (!dxgk_test_validate(problem, sizeof(problem)))
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

TEST(model, random_calls_do_what_the_model_says)
{
	unsigned steps = (unsigned)setting("MODEL_STEPS", DEFAULT_STEPS);
	unsigned long long seed = setting("MODEL_SEED", 0);
	struct dxgk_test_memory before;

	/* The first run makes what the kernel keeps for good; the others find it there. */
	run_seed(1, steps / 10);
	before = dxgk_test_memory();
	if (seed != 0) {
		run_seed(seed, steps);
	} else {
		for (seed = 2; seed < 2 + setting("MODEL_SEEDS", 3); seed++)
			run_seed(seed, steps);
	}
	EXPECT_EQ(dxgk_test_memory().blocks, before.blocks);
	EXPECT_EQ(dxgk_test_memory().bytes, before.bytes);
	EXPECT_EQ(dxgk_test_report_count("DDI-MUST-SUCCEED"), 0);
}

API_TEST_MAIN("model")
