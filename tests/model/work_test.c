/* SPDX-License-Identifier: MIT */
/*
 * work_test.c - random work, fences, residency, offers, destruction and recovery on the software
 * GPU, each step judged by a model of what should have been done (work.h) and by the kernel's own
 * recount.
 *
 *	MODEL_SEED   the run to repeat; a failure prints it
 *	MODEL_SEEDS  without it: how many runs, from seed 1
 *	MODEL_STEPS  how long each is
 */
#include "model/setting.h"
#include "model/work.h"

static void step_on_a_device(struct work_run *run, struct work_device *device)
{
	static const struct {
		void (*step)(struct work_run *run, struct work_device *device);
		uint32_t weight;
	} steps[] = {
		{ step_submit, 60 },     { step_wait, 10 },   { step_signal, 14 },
		{ step_signal_cpu, 12 }, { step_context, 5 }, { step_fence, 8 },
		{ step_memory, 14 },     { step_destroy, 5 }, { step_residency, 24 },
		{ step_offer, 8 },       { step_touch, 24 },  { step_evict_everything, 4 },
	};

	steps[WEIGHTED(run, steps)].step(run, device);
}

static void make_a_step(struct work_run *run)
{
	static void (*const troubles[])(struct work_run * run, struct work_device * device) = {
		step_hang,
		step_fault,
		step_error,
	};
	int device = PICK(run, run->devices, it->is_live);

	if (one_in(run, 1000))
		step_reset(run);
	else if (device == NOBODY || one_in(run, 60))
		step_device(run);
	else if (one_in(run, 200))
		run_release(run, &run->devices[device]);
	else if (one_in(run, 150))
		troubles[below(run, 3)](run, &run->devices[device]);
	else
		step_on_a_device(run, &run->devices[device]);
}

static void run_seed(unsigned long long seed, unsigned steps)
{
	static struct work_run run;

	memset(&run, 0, sizeof(run));
	run.seed = seed;
	random_init(&run.random, seed);
	D3DKMTCloseDxCoreDevice();
	run.adapter = open_first_adapter();
	run.idle = soft_info(run.adapter);
	for (run.step = 0; run.step < steps; run.step++) {
		make_a_step(&run);
		run_check_fences(&run);
		run_check_kernel(&run);
		if (run.step % 16 == 0)
			run_check_driver(&run);
	}
	for (int i = 0; i < WORK_DEVICES; i++) {
		if (!run.devices[i].is_live)
			continue;
		run_release(&run, &run.devices[i]);
		for (int j = 0; j < WORK_MEMORIES * 4; j++)
			step_touch(&run, &run.devices[i]);
		run_close_device(&run, &run.devices[i]);
	}
	run_check_kernel(&run);
	run_check_driver(&run);
	print_message(
		"# seed %llu: %u submissions, %u held up, %u memories compared, %u discarded, "
		"%u devices lost, %u operations cancelled\n",
		seed, run.submitted, run.held_up, run.checked, run.discarded, run.losses,
		run.cancelled);
	/* A run in which next to nothing happens would prove little. */
	EXPECT(run.submitted > steps / 16 && run.held_up > 0 && run.checked > steps / 40);
}

TEST(work, random_work_does_what_the_model_says)
{
	unsigned steps = (unsigned)setting("MODEL_STEPS", 5000);
	unsigned long long seed = setting("MODEL_SEED", 0);

	if (seed != 0) {
		run_seed(seed, steps);
		return;
	}
	for (seed = 1; seed <= setting("MODEL_SEEDS", 2); seed++)
		run_seed(seed, steps);
}

API_TEST_MAIN("model/work")
