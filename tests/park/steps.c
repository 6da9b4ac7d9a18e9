/* SPDX-License-Identifier: MIT */
/*
 * steps.c - the calls, each on the thing on the stage.
 */
#include "park/stage.h"

const char *const step_names[STEPS] = {
	[TRIM] = "trim",
	[OFFER] = "offer",
	[RECLAIM] = "reclaim",
	[EVICT] = "evict",
	[LOCK] = "lock",
	[RECLAIM_NOW] = "reclaim_now",
	[DESTROY] = "destroy",
	[DEFRAG] = "defrag",
	[DESTROY_NOW] = "destroy_now",
	[SHARE] = "share",
	[SUBMIT] = "submit",
	[RESIDENT] = "resident",
	[RUN] = "run",
	[PRESSURE] = "pressure",
	[FORCE_OUT] = "force_out",
	[OFFER_AT_ONCE] = "offer_at_once",
	[OFFER_LIST] = "offer_list",
	[HOLD_SECOND] = "hold_second",
};

bool script_has(const struct script *script, enum step step)
{
	for (unsigned i = 0; i < MOST_STEPS && script->steps[i] != END; i++) {
		if (script->steps[i] == step)
			return true;
	}
	return false;
}

static bool offers(const struct script *script)
{
	return script_has(script, OFFER) || script_has(script, OFFER_AT_ONCE) ||
	       script_has(script, OFFER_LIST);
}

static bool destroys(const struct script *script)
{
	return script_has(script, DESTROY) || script_has(script, DESTROY_NOW);
}

NTSTATUS wait_fence(const struct client *client, D3DKMT_HANDLE fence, UINT64 value)
{
	return wait_value(client->device, fence, value);
}

/* A call that pages is over when its fence is. */
static NTSTATUS wait_paging(const struct client *client, NTSTATUS status, UINT64 value)
{
	return status == STATUS_PENDING ? wait_fence(client, client->fence, value) : status;
}

/* ---- memory ---- */

static NTSTATUS trim(struct side *side)
{
	D3DKMT_TRIMPROCESSCOMMITMENT args = { .cbSize = sizeof(args),
					      .DecommitRequested = UINT64_MAX };

	(void)side;
	return D3DKMTTrimProcessCommitment(&args);
}

static NTSTATUS offer_some(const D3DKMT_HANDLE *handles, unsigned count, unsigned flags)
{
	NTSTATUS status = offer(&stage.client, handles, count, 1, ALLOW_DECOMMIT | flags);

	if (status == STATUS_SUCCESS)
		stage.was_offered = true;
	return status;
}

static NTSTATUS offer_thing(struct side *side)
{
	(void)side;
	return offer_some(&stage.thing, 1, 0);
}

static NTSTATUS offer_thing_at_once(struct side *side)
{
	(void)side;
	return offer_some(&stage.thing, 1, OFFER_NOW);
}

/* Both or none: what is locked cannot be offered. */
static NTSTATUS offer_list(struct side *side)
{
	const D3DKMT_HANDLE list[] = { stage.thing, stage.second };

	(void)side;
	return offer_some(list, 2, 0);
}

static NTSTATUS hold_second(struct side *side)
{
	void *pointer;

	(void)side;
	return lock2(stage.client.device, stage.second, &pointer);
}

NTSTATUS bring_back(D3DDDI_RECLAIM_RESULT *result_out)
{
	D3DKMT_RECLAIMALLOCATIONS2 args = { .hPagingQueue = stage.client.queue,
					    .NumAllocations = 1,
					    .HandleList = &stage.thing,
					    .pResults = result_out };
	NTSTATUS status = D3DKMTReclaimAllocations2(&args);

	return wait_paging(&stage.client, status, args.PagingFenceValue);
}

static NTSTATUS reclaim_thing(struct side *side)
{
	D3DDDI_RECLAIM_RESULT result = D3DDDI_RECLAIM_RESULT_OK;
	NTSTATUS status = bring_back(&result);

	(void)side;
	if (status == STATUS_SUCCESS && result != D3DDDI_RECLAIM_RESULT_OK)
		stage.is_discarded = true;
	return status;
}

static NTSTATUS reclaim_thing_now(struct side *side)
{
	BOOL discarded = 0;
	NTSTATUS status = reclaim_now(&stage.client, &stage.thing, 1, &discarded);

	(void)side;
	if (status == STATUS_SUCCESS && discarded)
		stage.is_discarded = true;
	return status;
}

static NTSTATUS evict_thing(struct side *side)
{
	(void)side;
	return evict(&stage.client, &stage.thing, 1, 0);
}

static NTSTATUS list_it(const struct client *client, D3DKMT_HANDLE handle, unsigned flags)
{
	D3DDDI_MAKERESIDENT args = residency_of(client, &handle, 1, flags);
	NTSTATUS status = D3DKMTMakeResident(&args);

	return wait_paging(client, status, args.PagingFenceValue);
}

static NTSTATUS make_thing_resident(struct side *side)
{
	(void)side;
	return list_it(&stage.client, stage.thing, 0);
}

static void write_page(void *pointer, uint32_t mark)
{
	uint32_t *words = pointer;

	for (unsigned i = 0; i < PAGE / 4; i++)
		words[i] = mark;
}

static NTSTATUS lock_thing(struct side *side)
{
	void *pointer;
	NTSTATUS status = lock2(stage.client.device, stage.thing, &pointer);

	if (status != STATUS_SUCCESS)
		return status;
	/* A destruction ends locks, and what they showed is gone. */
	if (!destroys(stage.scene.parked) && !destroys(stage.scene.other)) {
		side->cpu_mark += 0x1000001;
		write_page((unsigned char *)pointer + (size_t)side->number * PAGE, side->cpu_mark);
	}
	return unlock2(stage.client.device, stage.thing);
}

static NTSTATUS destroy_thing(unsigned flags)
{
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = stage.client.device,
					   .hResource = stage.resource };

	args.Flags.Value = flags;
	if (!stage.resource) {
		args.phAllocationList = &stage.thing;
		args.AllocationCount = 1;
	}
	NTSTATUS status = D3DKMTDestroyAllocation2(&args);
	if (status == STATUS_SUCCESS)
		stage.is_destroyed = true;
	return status;
}

static NTSTATUS destroy_thing_later(struct side *side)
{
	(void)side;
	return destroy_thing(0);
}

static NTSTATUS destroy_thing_now(struct side *side)
{
	D3DDDICB_DESTROYALLOCATION2FLAGS flags = { .SynchronousDestroy = 1 };

	(void)side;
	return destroy_thing(flags.Value);
}

static NTSTATUS defragment(struct side *side)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_DEFRAG };

	args.Defrag.Operation = D3DKMT_DEFRAG_ESCAPE_DEFRAG_PASS;
	args.Defrag.SegmentId = side->number == 0 ? LOCAL_SEGMENT : APERTURE_SEGMENT;
	if (stage.scene.kind == OF_GPU)
		args.Defrag.SegmentId = LOCAL_SEGMENT;
	return vidmm(&stage.client, &args);
}

static NTSTATUS force_out(struct side *side)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	(void)side;
	return vidmm(&stage.client, &args);
}

/*
 * Another device wants nearly all there is, for a moment. What is listed it cannot have: that is
 * refused. What is offered or left over goes for it.
 */
static NTSTATUS press(struct side *side)
{
	NTSTATUS status = list_it(&stage.bystander, stage.pressure, 0);

	(void)side;
	if (status == STATUS_NO_MEMORY)
		return STATUS_SUCCESS;
	if (status != STATUS_SUCCESS)
		return status;
	return evict(&stage.bystander, &stage.pressure, 1, 0);
}

/* ---- sharing ---- */

static NTSTATUS open_and_use(HANDLE shared)
{
	D3DDDI_OPENALLOCATIONINFO2 element = { 0 };
	unsigned char total[256];
	D3DKMT_OPENRESOURCEFROMNTHANDLE args = { .hDevice = stage.bystander.device,
						 .hNtHandle = shared,
						 .NumAllocations = 1,
						 .pOpenAllocationInfo2 = &element,
						 .pTotalPrivateDriverDataBuffer = total,
						 .TotalPrivateDriverDataBufferSize =
							 sizeof(total) };
	NTSTATUS status = D3DKMTOpenResourceFromNtHandle(&args);

	if (status != STATUS_SUCCESS)
		return status;
	status = list_it(&stage.bystander, element.hAllocation, 0);
	EXPECT(status == STATUS_SUCCESS || (status == STATUS_NO_MEMORY && scene_has(PRESSURE)));
	return destroy_resource(stage.bystander.device, args.hResource);
}

static NTSTATUS share_thing(struct side *side)
{
	HANDLE shared;
	NTSTATUS status =
		D3DKMTShareObjects(1, &stage.resource, NULL, SHARED_ALLOCATION_WRITE, &shared);

	(void)side;
	if (status != STATUS_SUCCESS)
		return status;
	status = open_and_use(shared);
	close((int)(intptr_t)shared);
	return status;
}

/* ---- work ---- */

static NTSTATUS wait_for_gate(const struct side *side)
{
	UINT64 one = 1;
	return D3DKMTWaitForSynchronizationObjectFromGpu(
		&(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){ .hContext = side->context,
							       .ObjectCount = 1,
							       .ObjectHandleArray = &stage.gate,
							       .MonitoredFenceValueArray = &one });
}

static NTSTATUS signal_behind(const struct side *side, UINT64 value)
{
	return D3DKMTSignalSynchronizationObjectFromGpu(
		&(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){ .hContext = side->context,
							      .ObjectCount = 1,
							      .ObjectHandleArray = &side->fence,
							      .MonitoredFenceValueArray = &value });
}

static NTSTATUS render(struct side *side, const struct softgpu_fill *fill)
{
	D3DKMT_CREATECONTEXT *buffers = &side->by_list;
	D3DKMT_RENDER args = { .hContext = side->context,
			       .CommandLength = sizeof(*fill),
			       .AllocationCount = 1 };

	memcpy(buffers->pCommandBuffer, fill, sizeof(*fill));
	buffers->pAllocationList[0] = (D3DDDI_ALLOCATIONLIST){ .hAllocation = stage.thing };
	buffers->pAllocationList[0].WriteOperation = 1;
	NTSTATUS status = D3DKMTRender(&args);
	if (status == STATUS_SUCCESS) {
		buffers->pCommandBuffer = args.pNewCommandBuffer;
		buffers->pAllocationList = args.pNewAllocationList;
	}
	return status;
}

static NTSTATUS submit_fill(struct side *side, const struct softgpu_fill *fill)
{
	D3DKMT_SUBMITCOMMAND args = { .Commands = side->command_address + side->used_bytes,
				      .CommandLength = sizeof(*fill),
				      .BroadcastContextCount = 1,
				      .BroadcastContext = { side->context } };

	memcpy(side->commands + side->used_bytes, fill, sizeof(*fill));
	side->used_bytes += sizeof(*fill);
	return D3DKMTSubmitCommand(&args);
}

/* Its page of the thing gets another mark. */
static NTSTATUS fill_page(struct side *side)
{
	unsigned offset = (2 + side->number) * PAGE;
	uint32_t mark = side->gpu_mark + 0x10001;
	struct softgpu_fill fill_command = {
		.header = { SOFTGPU_COMMAND_MAGIC, SOFTGPU_FILL, sizeof(fill_command) },
		.size_bytes = PAGE,
		.pattern = mark,
	};
	NTSTATUS status;

	if (stage.is_physical) {
		fill_command.destination.reference = (struct softgpu_reference){ 0, offset };
		status = render(side, &fill_command);
	} else {
		fill_command.destination.virtual_address = stage.address + offset;
		status = submit_fill(side, &fill_command);
	}
	if (status == STATUS_SUCCESS)
		side->gpu_mark = mark;
	if (status == STATUS_SUCCESS)
		status = signal_behind(side, ++side->submitted);
	return status;
}

static NTSTATUS submit(struct side *side)
{
	NTSTATUS status = wait_for_gate(side);

	return status == STATUS_SUCCESS ? fill_page(side) : status;
}

static NTSTATUS run(struct side *side)
{
	NTSTATUS status = fill_page(side);

	return status == STATUS_SUCCESS ? wait_fence(&stage.client, side->fence, side->submitted)
					: status;
}

/* ---- which one ---- */

NTSTATUS step_run(struct side *side, enum step step)
{
	static NTSTATUS (*const calls[STEPS])(struct side * side) = {
		[TRIM] = trim,
		[OFFER] = offer_thing,
		[OFFER_AT_ONCE] = offer_thing_at_once,
		[OFFER_LIST] = offer_list,
		[HOLD_SECOND] = hold_second,
		[RECLAIM] = reclaim_thing,
		[RECLAIM_NOW] = reclaim_thing_now,
		[EVICT] = evict_thing,
		[RESIDENT] = make_thing_resident,
		[LOCK] = lock_thing,
		[DESTROY] = destroy_thing_later,
		[DESTROY_NOW] = destroy_thing_now,
		[DEFRAG] = defragment,
		[SHARE] = share_thing,
		[SUBMIT] = submit,
		[RUN] = run,
		[FORCE_OUT] = force_out,
		[PRESSURE] = press,
	};

	return calls[step](side);
}

/* ---- what is right ---- */

bool scene_has(enum step step)
{
	return script_has(stage.scene.parked, step) || script_has(stage.scene.other, step);
}

static bool is_offered_at_first(enum state state)
{
	return state == OFFERED_IN || state == OFFERED_OUT;
}

static bool is_listed_at_first(enum state state)
{
	return state != AWAY && state != LEFTOVER;
}

static bool works(const struct script *script)
{
	return script_has(script, SUBMIT) || script_has(script, RUN);
}

/* What a script may count on when it begins to work: is it listed then, and not offered? */
static bool works_rightly(const struct script *script, enum state state)
{
	bool is_listed = is_listed_at_first(state);
	bool is_offered = is_offered_at_first(state);

	for (unsigned i = 0; i < MOST_STEPS && script->steps[i] != END; i++) {
		enum step step = script->steps[i];

		is_listed |= step == RESIDENT;
		is_listed &= step != EVICT;
		is_offered &= step != RECLAIM && step != RECLAIM_NOW;
		is_offered |= step == OFFER || step == OFFER_AT_ONCE || step == OFFER_LIST;
		if ((step == SUBMIT || step == RUN) && (!is_listed || is_offered))
			return false;
	}
	return true;
}

/* Is `step` there, and not behind `later`? */
static bool comes_first(enum step step, enum step later, const struct script *script)
{
	for (unsigned i = 0; i < MOST_STEPS && script->steps[i] != END; i++) {
		if (script->steps[i] == step)
			return true;
		if (script->steps[i] == later)
			return false;
	}
	return false;
}

/*
 * Of the other one's calls: an eviction takes the count that was there at first, so who works has
 * one of its own then. What a list names is not destroyed before its work is over.
 */
static bool is_left_alone(const struct script *worker, const struct script *other,
			  const struct scene *scene)
{
	if (!works(worker))
		return true;
	if (offers(other) || (destroys(other) && !stage.is_physical))
		return false;
	return !comes_first(EVICT, RESIDENT, other) ||
	       (is_listed_at_first(scene->state) && comes_first(RESIDENT, SUBMIT, worker) &&
		comes_first(RESIDENT, RUN, worker));
}

bool scene_may_lose(const struct scene *scene)
{
	return !works_rightly(scene->parked, scene->state) ||
	       !works_rightly(scene->other, scene->state) ||
	       !is_left_alone(scene->parked, scene->other, scene) ||
	       !is_left_alone(scene->other, scene->parked, scene);
}

static bool may_be_refused(const struct side *side, enum step step)
{
	const struct scene *scene = &stage.scene;
	const struct script *other = side->number == 0 ? scene->other : scene->parked;
	bool is_ever_offered =
		is_offered_at_first(scene->state) || offers(scene->parked) || offers(scene->other);

	if (destroys(scene->parked) || destroys(scene->other))
		return true;
	if (step == LOCK)
		return is_ever_offered;
	if (step == OFFER || step == OFFER_AT_ONCE)
		return script_has(other, LOCK);
	if (step == OFFER_LIST)
		return script_has(other, LOCK) || script_has(other, HOLD_SECOND);
	if (step == HOLD_SECOND)
		return script_has(other, OFFER_LIST);
	if (step == EVICT)
		return !is_listed_at_first(scene->state) || script_has(other, EVICT);
	return false;
}

bool step_may_give(const struct side *side, enum step step, NTSTATUS status)
{
	if (status == STATUS_SUCCESS)
		return true;
	if (status == STATUS_NO_MEMORY)
		return step == RESIDENT && scene_has(PRESSURE);
	if (status != STATUS_INVALID_PARAMETER && status != STATUS_DEVICE_REMOVED)
		return false;
	return scene_may_lose(&stage.scene) ||
	       (status == STATUS_INVALID_PARAMETER && may_be_refused(side, step));
}
