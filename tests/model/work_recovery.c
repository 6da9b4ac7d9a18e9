/* SPDX-License-Identifier: MIT */
/*
 * work_recovery.c - steps that lose devices, and what is left afterwards.
 */
#include "model/work.h"

enum {
	HUNG = D3DKMT_DEVICEEXECUTION_HUNG,
	RESET = D3DKMT_DEVICEEXECUTION_RESET,
	PAGE_FAULT = D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT,
	ACTIVE = D3DKMT_DEVICEEXECUTION_ACTIVE,
};

static unsigned state_of_device(struct work_run *run, const struct work_device *device)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = device->client.device,
				       .StateType = D3DKMT_DEVICESTATE_EXECUTION };

	GIVES(run, STATUS_SUCCESS, D3DKMTGetDeviceState(&args));
	return args.ExecutionState;
}

static void force(struct work_run *run, unsigned control, unsigned node)
{
	D3DKMT_TDRDBGCTRL_ESCAPE tdr = { (D3DKMT_TDRDBGCTRLTYPE)control, node };
	D3DKMT_ESCAPE args = { .hAdapter = run->adapter,
			       .Type = D3DKMT_ESCAPE_TDRDBGCTRL,
			       .pPrivateDriverData = &tdr,
			       .PrivateDriverDataSize = sizeof(tdr) };

	GIVES(run, STATUS_SUCCESS, D3DKMTEscape(&args));
}

/* Everybody who waits is let go: its fences come to their maximum. */
static void await_loss(struct work_run *run, struct work_device *device)
{
	enum { SOON = 200000 };

	for (int i = 0; i < WORK_FENCES; i++) {
		const struct work_fence *fence = &device->fences[i];
		for (unsigned turns = 0; fence->is_open && *fence->view != UINT64_MAX; turns++) {
			if (turns == SOON)
				run_fail(run, "fence %d of a lost device stays at %llu", i,
					 (unsigned long long)*fence->view);
			run_let_others(run);
		}
	}
}

/* A context with nothing in it and room for the commands. */
static int pick_for_trouble(struct work_run *run, struct work_device *device)
{
	return device->is_lost || device->command_used + 256 > MARKER_AT
		       ? NOBODY
		       : PICK(run, device->contexts, it->is_live && it->count == 0);
}

static void lose(struct work_run *run, struct work_device *device, unsigned state)
{
	await_loss(run, device);
	if (state_of_device(run, device) != state)
		run_fail(run, "a lost device is in state %u, expected %u",
			 state_of_device(run, device), state);
	work_lose(run, device);
}

/* Only the one that hangs is lost; what others have on the same node is done afterwards. */
void step_hang(struct work_run *run, struct work_device *device)
{
	enum { SOON = 200000 };
	int context = pick_for_trouble(run, device);
	volatile uint64_t *marker = (volatile uint64_t *)(device->pointer + MARKER_AT);
	struct row row = { 0 };

	if (context == NOBODY)
		return;
	*marker = 0;
	add_write(&row, device->command_address + MARKER_AT, run->step + 1);
	add_hang(&row);
	GIVES(run, STATUS_SUCCESS, call_submit(device, context, &row));
	for (unsigned turns = 0; *marker != run->step + 1; turns++) {
		RUN_EXPECT(run, turns < SOON);
		run_let_others(run);
	}
	force(run, D3DKMT_TDRDBGCTRLTYPE_ENGINETDR, device->contexts[context].node);
	lose(run, device, HUNG);
}

void step_fault(struct work_run *run, struct work_device *device)
{
	int context = pick_for_trouble(run, device);
	struct row row = { 0 };

	if (context == NOBODY)
		return;
	add_fault(&row, 0x7654321000);
	GIVES(run, STATUS_SUCCESS, call_submit(device, context, &row));
	lose(run, device, PAGE_FAULT);
}

/* By its own client, with work under way or held up. */
void step_error(struct work_run *run, struct work_device *device)
{
	D3DKMT_MARKDEVICEASERROR args = { .hDevice = device->client.device,
					  .Reason = D3DKMT_DEVICE_ERROR_REASON_GENERIC };

	if (device->is_lost)
		return;
	GIVES(run, STATUS_SUCCESS, D3DKMTMarkDeviceAsError(&args));
	await_loss(run, device);
	RUN_EXPECT(run, state_of_device(run, device) != ACTIVE);
	work_lose(run, device);
}

/*
 * Nothing is left of what the devices had. The first times the kernel takes what it keeps. Page
 * tables are not among it: where they are, and so how many holes there are between them, depends on
 * what was in their way when they came back.
 */
static void check_leaks(struct work_run *run)
{
	enum { SOON = 20000, FIRST_TIMES = 4 };

	run_check_kernel(run);
	run_check_driver(run);
	step_evict_everything(run, NULL);
	if (run->resets++ < FIRST_TIMES) {
		long long blocks = dxgk_test_memory().blocks;
		run->idle_blocks = blocks > run->idle_blocks ? blocks : run->idle_blocks;
		return;
	}
	for (unsigned i = 0; dxgk_test_memory().blocks > run->idle_blocks; i++) {
		if (i == SOON)
			run_fail(run, "%lld blocks of memory are left, expected at most %lld",
				 dxgk_test_memory().blocks, run->idle_blocks);
		run_wait(run, i);
		step_evict_everything(run, NULL); /* who is written just then stays */
	}
}

/* Everybody is lost; then everything goes, and nothing is left of it. */
void step_reset(struct work_run *run)
{
	static const unsigned controls[] = { D3DKMT_TDRDBGCTRLTYPE_GPUTDR,
					     D3DKMT_TDRDBGCTRLTYPE_FORCETDR };

	force(run, controls[below(run, 2)], 0);
	for (int i = 0; i < WORK_DEVICES; i++) {
		struct work_device *device = &run->devices[i];
		if (!device->is_live || device->is_lost)
			continue;
		await_loss(run, device);
		unsigned state = state_of_device(run, device);
		RUN_EXPECT(run, state == RESET || state == HUNG);
		work_lose(run, device);
	}
	for (unsigned i = below(run, 12); i > 0; i--) {
		struct work_device *device = &run->devices[below(run, WORK_DEVICES)];
		if (device->is_live)
			step_destroy(run, device);
	}
	for (int i = 0; i < WORK_DEVICES; i++) {
		if (run->devices[i].is_live)
			run_close_device(run, &run->devices[i]);
	}
	check_leaks(run);
}

void step_device(struct work_run *run)
{
	int index = PICK(run, run->devices, !it->is_live);
	int lost = PICK(run, run->devices, it->is_live && it->is_lost);

	if (lost != NOBODY)
		run_close_device(run, &run->devices[lost]);
	else if (index != NOBODY)
		run_open_device(run, &run->devices[index]);
	else if (one_in(run, 8))
		run_close_device(run, &run->devices[below(run, WORK_DEVICES)]);
}
