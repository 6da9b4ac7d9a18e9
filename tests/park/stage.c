/* SPDX-License-Identifier: MIT */
/*
 * stage.c - see stage.h: before and after.
 */
#include "park/stage.h"
#include "api/trim.h"

enum { INITIAL_SEED = 7, BYSTANDER_SEED = 11, COMMAND_SLICE = 2048 };

struct stage stage;

const char *const state_names[STATES] = { [THERE] = "there",
					  [AWAY] = "away",
					  [LEFTOVER] = "leftover",
					  [OFFERED_IN] = "offered_in",
					  [OFFERED_OUT] = "offered_out" };
const char *const kind_names[KINDS] = { [OF_GPU] = "gpu", [OF_SYSTEM] = "system" };

/* ---- before ---- */

static D3DKMT_HANDLE create_fence(const struct client *client)
{
	return monitored_fence(client->device, false).hSyncObject;
}

static UINT64 map_it(const struct client *client, D3DKMT_HANDLE handle, UINT64 size_bytes)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = client->queue,
					     .hAllocation = handle,
					     .SizeInPages = size_bytes / PAGE,
					     .Protection.Write = 1 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);

	if (status != STATUS_PENDING)
		EXPECT_OK(status);
	else
		wait_for(client, args.PagingFenceValue);
	return args.VirtualAddress;
}

/* In the virtual model commands are memory like any other. */
static void open_commands(void)
{
	D3DKMT_HANDLE commands =
		create_sized(&stage.client, PAGE, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	UINT64 address;
	void *pointer;

	EXPECT_OK(make_resident(&stage.client, &commands, 1, 0));
	address = map_it(&stage.client, commands, PAGE);
	EXPECT_OK(lock2(stage.client.device, commands, &pointer));
	for (unsigned i = 0; i < 2; i++) {
		stage.sides[i].commands = (unsigned char *)pointer + (size_t)i * COMMAND_SLICE;
		stage.sides[i].command_address = address + (UINT64)i * COMMAND_SLICE;
	}
}

static void open_context(struct side *side)
{
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = stage.client.device };

	side->fence = create_fence(&stage.client);
	if (stage.is_physical) {
		side->by_list = (D3DKMT_CREATECONTEXT){ .hDevice = stage.client.device };
		EXPECT_OK(D3DKMTCreateContext(&side->by_list));
		side->context = side->by_list.hContext;
		return;
	}
	EXPECT_OK(D3DKMTCreateContextVirtual(&context));
	side->context = context.hContext;
}

/* What can be shared is a resource. */
static void create_thing(void)
{
	struct creation creation;

	if (scene_has(SHARE))
		creation_init_resource(&creation, stage.client.device, 1, SHARED_NT);
	else
		creation_init(&creation, stage.client.device, 1);
	creation.data[0].size_bytes = THING_BYTES;
	creation.data[0].flags =
		SOFTGPU_CPU_VISIBLE |
		(stage.scene.kind == OF_GPU ? SOFTGPU_LOCAL_ONLY : SOFTGPU_SYSTEM_ONLY);
	EXPECT_OK(create(&creation));
	stage.thing = creation.elements[0].hAllocation;
	stage.resource = creation.args.hResource;
	fill(&stage.client, stage.thing, THING_BYTES, INITIAL_SEED);
	EXPECT_OK(make_resident(&stage.client, &stage.thing, 1, 0));
	if (!stage.is_physical)
		stage.address = map_it(&stage.client, stage.thing, THING_BYTES);
}

static void create_second(void)
{
	stage.second = create_sized(&stage.client, PAGE, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	fill(&stage.client, stage.second, PAGE, INITIAL_SEED);
	EXPECT_OK(make_resident(&stage.client, &stage.second, 1, 0));
}

static void force_out_now(void)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	EXPECT_OK(vidmm(&stage.client, &args));
	flush(&stage.client);
}

static void set_state(void)
{
	if (stage.scene.state == AWAY)
		EXPECT_OK(evict(&stage.client, &stage.thing, 1, 0));
	if (stage.scene.state == LEFTOVER)
		EXPECT_OK(evict(&stage.client, &stage.thing, 1, ONLY_IF_NECESSARY));
	stage.was_offered = stage.scene.state == OFFERED_IN || stage.scene.state == OFFERED_OUT;
	if (stage.was_offered)
		EXPECT_OK(offer(&stage.client, &stage.thing, 1, 1, ALLOW_DECOMMIT));
	if (stage.scene.state == OFFERED_OUT)
		force_out_now();
	flush(&stage.client);
}

static void open_bystander(void)
{
	client_open(&stage.bystander, stage.client.adapter);
	stage.theirs = create_sized(&stage.bystander, BYSTANDER_BYTES,
				    SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY);
	fill(&stage.bystander, stage.theirs, BYSTANDER_BYTES, BYSTANDER_SEED);
	EXPECT_OK(make_resident(&stage.bystander, &stage.theirs, 1, 0));
	if (scene_has(PRESSURE))
		stage.pressure = create_sized(&stage.bystander, PRESSURE_BYTES, SOFTGPU_LOCAL_ONLY);
}

void stage_begin(const struct scene *scene)
{
	const char *model = getenv("TEST_MODEL");

	stage = (struct stage){ .scene = *scene,
				.is_physical = model && strcmp(model, "physical") == 0 };
	stage.client = begin();
	for (unsigned i = 0; i < 2; i++) {
		stage.sides[i].number = i;
		stage.sides[i].script = i == 0 ? scene->parked : scene->other;
		open_context(&stage.sides[i]);
	}
	stage.gate = create_fence(&stage.client);
	if (!stage.is_physical)
		open_commands();
	open_bystander();
	create_thing();
	if (scene_has(OFFER_LIST) || scene_has(HOLD_SECOND))
		create_second();
	set_state();
}

/* ---- meanwhile ---- */

void stage_play(struct side *side)
{
	for (unsigned i = 0; i < MOST_STEPS && side->script->steps[i] != END; i++) {
		enum step step = side->script->steps[i];
		NTSTATUS status = step_run(side, step);

		if (step_may_give(side, step, status)) {
			/* Without room for it the client goes no further. */
			if (status == STATUS_NO_MEMORY)
				return;
			continue;
		}
		struct dxgk_refusal why = last_refusal();
		print_error("%s gave 0x%08x: %s: %s (%s)\n", step_names[step], (unsigned)status,
			    why.call, why.reason, why.rule);
		abort();
	}
}

/* ---- after ---- */

bool is_lost(D3DKMT_HANDLE device)
{
	return execution_state(device) != D3DKMT_DEVICEEXECUTION_ACTIVE;
}

void stage_await_work(void)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct side *side = &stage.sides[i];

		NTSTATUS status = wait_fence(&stage.client, side->fence, side->submitted);
		EXPECT(status == STATUS_SUCCESS || status == STATUS_DEVICE_REMOVED);
	}
}

/* Everything fits together, once what calls left to others is over. */
static void await_sound_kernel(void)
{
	char problem[256] = "";

	for (int i = 0; i < 200; i++) {
		if (dxgk_test_validate(problem, sizeof(problem)))
			return;
		pause_ms(10);
	}
	print_error("the kernel is not sound: %s\n", problem);
	EXPECT_STR(problem, "");
}

static void expect_page(const unsigned char *bytes, unsigned page, uint32_t mark)
{
	const uint32_t *words = (const uint32_t *)(bytes + (size_t)page * PAGE);

	for (unsigned i = 0; mark != 0 && i < PAGE / 4; i++) {
		if (words[i] != mark) {
			print_error("page %u: word %u is 0x%x, and 0x%x was written\n", page, i,
				    words[i], mark);
			EXPECT_EQ(words[i], mark);
		}
	}
}

static void expect_contents(void)
{
	const uint64_t *words;
	void *pointer;

	EXPECT_OK(lock2(stage.client.device, stage.thing, &pointer));
	for (unsigned i = 0; i < 2; i++) {
		expect_page(pointer, i, stage.sides[i].cpu_mark);
		expect_page(pointer, 2 + i, stage.sides[i].gpu_mark);
	}
	words = pointer;
	for (unsigned i = 4 * PAGE / 8; i < THING_BYTES / 8; i++) {
		if (words[i] != pattern(INITIAL_SEED, i))
			print_error("byte %u of the first content is another\n", i * 8);
		EXPECT_EQ(words[i], pattern(INITIAL_SEED, i));
	}
	EXPECT_OK(unlock2(stage.client.device, stage.thing));
}

static void look_at_thing(void)
{
	D3DDDI_RECLAIM_RESULT result = D3DDDI_RECLAIM_RESULT_OK;

	if (stage.is_destroyed || is_lost(stage.client.device))
		return;
	EXPECT_OK(bring_back(&result));
	if (result != D3DDDI_RECLAIM_RESULT_OK)
		stage.is_discarded = true;
	if (stage.is_discarded)
		EXPECT(stage.was_offered);
	else
		expect_contents();
	/* And it is memory as ever. */
	fill(&stage.client, stage.thing, THING_BYTES, INITIAL_SEED + 1);
	EXPECT_OK(make_resident(&stage.client, &stage.thing, 1, 0));
	EXPECT_CONTENT(&stage.client, stage.thing, THING_BYTES, INITIAL_SEED + 1);
}

static void look_at_bystander(void)
{
	EXPECT(!is_lost(stage.bystander.device));
	EXPECT_CONTENT(&stage.bystander, stage.theirs, BYSTANDER_BYTES, BYSTANDER_SEED);
	EXPECT_OK(evict(&stage.bystander, &stage.theirs, 1, 0));
	EXPECT_OK(make_resident(&stage.bystander, &stage.theirs, 1, 0));
	EXPECT_CONTENT(&stage.bystander, stage.theirs, BYSTANDER_BYTES, BYSTANDER_SEED);
}

void stage_end(void)
{
	stage_await_work();
	if (is_lost(stage.client.device))
		EXPECT(scene_may_lose(&stage.scene));
	look_at_thing();
	look_at_bystander();
	await_sound_kernel();
	EXPECT_OK(destroy_device(stage.client.device));
	EXPECT_OK(destroy_device(stage.bystander.device));
	await_sound_kernel();
	struct softgpu_escape_info info = soft_info(stage.client.adapter);
	EXPECT_EQ(info.live_allocations, 0);
	EXPECT_EQ(info.live_openings, 0);
}
