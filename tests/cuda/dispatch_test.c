/* SPDX-License-Identifier: MIT */
/*
 * dispatch_test.c - kernels that clients bring: SOFTGPU_DISPATCH and the escapes around it, as
 * opendxgk/softgpu.h promises them.
 */
#include <dlfcn.h>

#include "api/strangers.h"
#include "cuda/libcuda.h"

extern const char dispatch_ptx[];

/* Addresses that a process has to spare: with the sanitizer of threads there are few. */
#define FIRST_ADDRESS (IS_THREAD_SANITIZED ? UINT64_C(0x4000000000) : UINT64_C(0x200000000000))

#define LARGE SOFTGPU_LARGE_PAGE_BYTES

/* A worker that has loaded the module; its data are words. */
struct launcher {
	struct worker worker;
	uint32_t module;
	uint32_t add;
	uint32_t add_slowly;
	uint32_t look;
	uint32_t spin;
};

/* ---- in short ---- */

static NTSTATUS escape(const struct worker *worker, void *request, unsigned size_bytes)
{
	return D3DKMTEscape(&(D3DKMT_ESCAPE){ .hAdapter = worker->client.adapter,
					      .hDevice = worker->client.device,
					      .Type = D3DKMT_ESCAPE_DRIVERPRIVATE,
					      .pPrivateDriverData = request,
					      .PrivateDriverDataSize = size_bytes });
}

static NTSTATUS load(const struct worker *worker, const char *text, uint32_t *module_out)
{
	uint32_t image_bytes = (uint32_t)strlen(text) + 1;
	uint32_t size_bytes = (uint32_t)sizeof(struct softgpu_escape_module) + image_bytes;
	struct softgpu_escape_module *request = calloc(1, size_bytes);

	request->header = (struct softgpu_escape){ SOFTGPU_ESCAPE_VERSION,
						   SOFTGPU_ESCAPE_LOAD_MODULE, size_bytes, 0 };
	request->image_bytes = image_bytes;
	memcpy(request + 1, text, image_bytes);
	NTSTATUS status = escape(worker, request, size_bytes);
	*module_out = request->module;
	free(request);
	return status;
}

static NTSTATUS unload(const struct worker *worker, uint32_t module)
{
	struct softgpu_escape_module request = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_UNLOAD_MODULE, sizeof(request),
			    0 },
		.module = module,
	};

	return escape(worker, &request, sizeof(request));
}

static NTSTATUS find(const struct worker *worker, uint32_t module, const char *name,
		     uint32_t *kernel_out)
{
	struct softgpu_escape_kernel request = {
		.header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_FIND_KERNEL, sizeof(request),
			    0 },
		.module = module,
	};

	strncpy(request.name, name, sizeof(request.name) - 1);
	NTSTATUS status = escape(worker, &request, sizeof(request));
	*kernel_out = request.kernel;
	return status;
}

static void launcher_open(struct launcher *launcher, D3DKMT_HANDLE adapter)
{
	worker_open(&launcher->worker, adapter);
	EXPECT_OK(load(&launcher->worker, dispatch_ptx, &launcher->module));
	EXPECT(launcher->module != 0);
	EXPECT_OK(find(&launcher->worker, launcher->module, "add", &launcher->add));
	EXPECT_OK(find(&launcher->worker, launcher->module, "add_slowly", &launcher->add_slowly));
	EXPECT_OK(find(&launcher->worker, launcher->module, "look", &launcher->look));
	EXPECT_OK(find(&launcher->worker, launcher->module, "spin", &launcher->spin));
	EXPECT(launcher->add != 0);
}

static NTSTATUS try_map_at(const struct client *client, D3DKMT_HANDLE allocation, uint64_t address,
			   uint64_t size_bytes, bool is_written)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = client->queue,
					     .hAllocation = allocation,
					     .BaseAddress = address,
					     .SizeInPages = size_bytes / PAGE };
	args.Protection.Write = is_written;
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);

	if (status != STATUS_PENDING)
		return status;
	wait_for(client, args.PagingFenceValue);
	return STATUS_SUCCESS;
}

/* Not resident. */
static D3DKMT_HANDLE hardware_memory(const struct client *client, uint64_t address,
				     uint64_t size_bytes)
{
	D3DKMT_HANDLE memory = create_sized(client, size_bytes, SOFTGPU_HARDWARE_ADDRESS);

	EXPECT_OK(try_map_at(client, memory, address, size_bytes, true));
	return memory;
}

static D3DKMT_HANDLE resident_memory(const struct client *client, uint64_t address,
				     uint64_t size_bytes)
{
	D3DKMT_HANDLE memory = hardware_memory(client, address, size_bytes);

	EXPECT_OK(make_resident(client, &memory, 1, 0));
	return memory;
}

/* Its arguments are in the buffer of commands, where the worker is writing next; with WRITTEN. */
static void add_dispatch(struct worker *worker, struct row *row, uint32_t kernel,
			 const struct softgpu_range *ranges, unsigned count,
			 const uint64_t *parameters, unsigned parameter_count)
{
	const unsigned range_bytes = count * (unsigned)sizeof(*ranges);
	const unsigned parameter_bytes = parameter_count * (unsigned)sizeof(*parameters);
	struct softgpu_dispatch dispatch = {
		.header = command(SOFTGPU_DISPATCH, sizeof(dispatch)),
		.kernel = kernel,
		.groups = { 4, 1, 1 },
		.threads = { 64, 1, 1 },
		.arguments = worker->command_address + worker->used_bytes,
		.range_count = count,
		.parameter_bytes = parameter_bytes,
	};

	EXPECT(worker->used_bytes + range_bytes + parameter_bytes <= DATA_BYTES);
	memcpy(worker->pointer + worker->used_bytes, ranges, range_bytes);
	memcpy(worker->pointer + worker->used_bytes + range_bytes, parameters, parameter_bytes);
	worker->used_bytes += range_bytes + parameter_bytes;
	row_add(row, &dispatch, sizeof(dispatch));
}

static struct softgpu_range written(uint64_t address, uint64_t size_bytes)
{
	return (struct softgpu_range){ address, size_bytes, SOFTGPU_RANGE_WRITTEN, 0 };
}

static void run(struct worker *worker, const struct row *row)
{
	worker_run(worker, row);
	worker_wait(worker);
}

static void launch_add(struct launcher *launcher, uint64_t address, uint64_t size_bytes,
		       uint64_t value)
{
	struct softgpu_range range = written(address, size_bytes);
	struct row row = { 0 };

	add_dispatch(&launcher->worker, &row, launcher->add, &range, 1,
		     (uint64_t[]){ address, size_bytes / 8, value }, 3);
	run(&launcher->worker, &row);
}

/* What the GPU sees there, by a copy to where we see it. */
static uint64_t read_word(struct worker *worker, uint64_t address)
{
	struct row row = { 0 };
	uint64_t value;

	add_copy(&row, worker->command_address + DATA_BYTES - 8, address, 8);
	run(worker, &row);
	memcpy(&value, worker->pointer + DATA_BYTES - 8, sizeof(value));
	return value;
}

static void expect_lost(struct worker *worker, unsigned state)
{
	while (state_of(worker) == D3DKMT_DEVICEEXECUTION_ACTIVE)
		worker_pause(worker);
	EXPECT_EQ(state_of(worker), state);
}

/* A launcher whose kernel works. */
static void expect_kernels_run(D3DKMT_HANDLE adapter)
{
	struct launcher launcher;
	const uint64_t address = FIRST_ADDRESS + 64 * LARGE;

	launcher_open(&launcher, adapter);
	resident_memory(&launcher.worker.client, address, LARGE);
	launch_add(&launcher, address, LARGE, 9);
	EXPECT_EQ(read_word(&launcher.worker, address + LARGE - 8), 9);
	EXPECT_EQ(state_of(&launcher.worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	worker_close(&launcher.worker);
}

/* ---- kernels ---- */

TEST(dispatch, a_kernel_works_on_what_its_ranges_name_among_other_commands)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct launcher launcher;
	struct row row = { 0 };

	launcher_open(&launcher, adapter);
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, 2 * LARGE);
	struct softgpu_range range = written(FIRST_ADDRESS, 2 * LARGE);

	add_fill(&row, FIRST_ADDRESS, 2 * LARGE, 0);
	add_write(&row, FIRST_ADDRESS + LARGE, 100);
	add_dispatch(&launcher.worker, &row, launcher.add, &range, 1,
		     (uint64_t[]){ FIRST_ADDRESS, 2 * LARGE / 8, 7 }, 3);
	add_dispatch(&launcher.worker, &row, launcher.add, &range, 1,
		     (uint64_t[]){ FIRST_ADDRESS, 1, 1 }, 3);
	run(&launcher.worker, &row);
	EXPECT_EQ(read_word(&launcher.worker, FIRST_ADDRESS), 8);
	EXPECT_EQ(read_word(&launcher.worker, FIRST_ADDRESS + 8), 7);
	EXPECT_EQ(read_word(&launcher.worker, FIRST_ADDRESS + LARGE), 107);
	EXPECT_EQ(read_word(&launcher.worker, FIRST_ADDRESS + 2 * LARGE - 8), 7);
	EXPECT_EQ(state_of(&launcher.worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	worker_close(&launcher.worker);
}

TEST(dispatch, more_memory_than_there_is_takes_turns)
{
	enum { COUNT = 8, EACH = 2, PASSES = 3 };
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_HANDLE memory[COUNT];
	struct launcher launcher;
	struct client *client = &launcher.worker.client;

	/* 32 MiB, of 16. */
	launcher_open(&launcher, adapter);
	for (unsigned i = 0; i < COUNT; i++)
		memory[i] = hardware_memory(client, FIRST_ADDRESS + i * EACH * LARGE, EACH * LARGE);
	for (unsigned pass = 0; pass < PASSES; pass++) {
		for (unsigned i = 0; i < COUNT; i++) {
			EXPECT_OK(make_resident(client, &memory[i], 1, 0));
			launch_add(&launcher, FIRST_ADDRESS + i * EACH * LARGE, EACH * LARGE,
				   i + 1);
			EXPECT_OK(evict(client, &memory[i], 1, 0));
		}
	}
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t address = FIRST_ADDRESS + i * EACH * LARGE;

		EXPECT_OK(make_resident(client, &memory[i], 1, 0));
		EXPECT_EQ(read_word(&launcher.worker, address), PASSES * (i + 1));
		EXPECT_EQ(read_word(&launcher.worker, address + EACH * LARGE - 8),
			  PASSES * (i + 1));
		EXPECT_OK(evict(client, &memory[i], 1, 0));
	}
	EXPECT_EQ(state_of(&launcher.worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	worker_close(&launcher.worker);
}

/* It answers no preemption; who asks for one meanwhile gets his answer right behind it. */
TEST(dispatch, a_kernel_runs_once_though_its_packet_is_preempted_behind_it)
{
	enum { TURNS = 10, LOOKS = 50000 };
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct launcher low;
	struct worker high;
	struct softgpu_range range = written(FIRST_ADDRESS, LARGE);

	launcher_open(&low, adapter);
	worker_open(&high, adapter);
	EXPECT_OK(set_priority(high.context, 7));
	resident_memory(&low.worker.client, FIRST_ADDRESS, LARGE);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		struct row row = { 0 };

		add_dispatch(&low.worker, &row, low.add_slowly, &range, 1,
			     (uint64_t[]){ FIRST_ADDRESS, LOOKS }, 2);
		worker_run(&low.worker, &row);
		row.used_bytes = 0;
		usleep(1000);
		add_write(&row, high.data, turn);
		run(&high, &row);
		worker_wait(&low.worker);
	}
	EXPECT_EQ(read_word(&low.worker, FIRST_ADDRESS), TURNS);
	EXPECT_EQ(state_of(&low.worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	worker_close(&low.worker);
	worker_close(&high);
}

TEST(dispatch, two_processes_have_the_same_addresses_and_see_their_own)
{
	struct stranger other;
	struct launcher launcher;
	struct launcher theirs;

	ours.adapter = open_first_adapter();
	launcher_open(&launcher, ours.adapter);
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, LARGE);
	launch_add(&launcher, FIRST_ADDRESS, LARGE, 1);
	stranger_open(&other, "other");
	be(other.process);
	theirs.worker = other.worker;
	EXPECT_OK(load(&theirs.worker, dispatch_ptx, &theirs.module));
	EXPECT_OK(find(&theirs.worker, theirs.module, "add", &theirs.add));
	resident_memory(&theirs.worker.client, FIRST_ADDRESS, LARGE);
	launch_add(&theirs, FIRST_ADDRESS, LARGE, 20);
	EXPECT_EQ(read_word(&theirs.worker, FIRST_ADDRESS), 20);
	be(NULL);
	launch_add(&launcher, FIRST_ADDRESS, LARGE, 2);
	EXPECT_EQ(read_word(&launcher.worker, FIRST_ADDRESS), 3);
	stranger_end(&other);
	EXPECT_EQ(read_word(&launcher.worker, FIRST_ADDRESS + 8), 3);
	worker_close(&launcher.worker);
}

/* ---- what they may not ---- */

TEST(dispatch, what_is_not_mapped_is_a_page_fault_and_nothing_runs)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct launcher launcher;
	struct worker other;
	struct row row = { 0 };

	launcher_open(&launcher, adapter);
	worker_open(&other, adapter);
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, LARGE);
	struct softgpu_range range = written(FIRST_ADDRESS, 2 * LARGE);

	add_dispatch(&launcher.worker, &row, launcher.add, &range, 1,
		     (uint64_t[]){ FIRST_ADDRESS, 1, 1 }, 3);
	run(&launcher.worker, &row);
	expect_lost(&launcher.worker, D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT);
	EXPECT_EQ(state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
	worker_close(&launcher.worker);
	worker_close(&other);
	expect_kernels_run(adapter);
}

TEST(dispatch, memory_that_may_only_be_read_is_not_named_as_written)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	const uint64_t to = FIRST_ADDRESS + 4 * LARGE;
	struct launcher launcher;
	struct row row = { 0 };

	launcher_open(&launcher, adapter);
	D3DKMT_HANDLE memory =
		create_sized(&launcher.worker.client, LARGE, SOFTGPU_HARDWARE_ADDRESS);
	EXPECT_OK(make_resident(&launcher.worker.client, &memory, 1, 0));
	EXPECT_OK(try_map_at(&launcher.worker.client, memory, FIRST_ADDRESS, LARGE, false));
	resident_memory(&launcher.worker.client, to, LARGE);
	struct softgpu_range ranges[] = { { FIRST_ADDRESS, LARGE, 0, 0 }, written(to, LARGE) };

	add_dispatch(&launcher.worker, &row, launcher.look, ranges, 2,
		     (uint64_t[]){ to, FIRST_ADDRESS + 16 }, 2);
	run(&launcher.worker, &row);
	EXPECT_EQ(read_word(&launcher.worker, to), 0);
	EXPECT_EQ(state_of(&launcher.worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	row.used_bytes = 0;
	ranges[0].flags = SOFTGPU_RANGE_WRITTEN;
	add_dispatch(&launcher.worker, &row, launcher.look, ranges, 2,
		     (uint64_t[]){ to, FIRST_ADDRESS + 16 }, 2);
	run(&launcher.worker, &row);
	expect_lost(&launcher.worker, D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT);
	worker_close(&launcher.worker);
}

TEST(dispatch, a_bad_pointer_loses_its_process_and_nobody_else)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	const uint64_t hidden = FIRST_ADDRESS + 4 * LARGE;
	struct launcher launcher;
	struct launcher second;
	struct worker plain;
	struct stranger other;
	struct launcher theirs;
	struct row row = { 0 };

	launcher_open(&launcher, adapter);
	worker_open(&plain, adapter);
	launcher_open(&second, adapter);
	stranger_open(&other, "other");
	be(other.process);
	theirs.worker = other.worker;
	EXPECT_OK(load(&theirs.worker, dispatch_ptx, &theirs.module));
	EXPECT_OK(find(&theirs.worker, theirs.module, "add", &theirs.add));
	resident_memory(&theirs.worker.client, FIRST_ADDRESS, LARGE);
	be(NULL);
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, LARGE);
	/* It is there, but no range names it. */
	resident_memory(&launcher.worker.client, hidden, LARGE);
	launch_add(&launcher, hidden, LARGE, 5);
	struct softgpu_range range = written(FIRST_ADDRESS, LARGE);

	add_dispatch(&launcher.worker, &row, launcher.look, &range, 1,
		     (uint64_t[]){ FIRST_ADDRESS, hidden }, 2);
	run(&launcher.worker, &row);
	expect_lost(&launcher.worker, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);

	/* Others of the process go on with all but kernels, which are gone. */
	EXPECT_EQ(state_of(&plain), D3DKMT_DEVICEEXECUTION_ACTIVE);
	resident_memory(&second.worker.client, FIRST_ADDRESS + 8 * LARGE, LARGE);
	launch_add(&second, FIRST_ADDRESS + 8 * LARGE, LARGE, 1);
	expect_lost(&second.worker, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	be(other.process);
	launch_add(&theirs, FIRST_ADDRESS, LARGE, 3);
	EXPECT_EQ(read_word(&theirs.worker, FIRST_ADDRESS), 3);
	EXPECT_EQ(state_of(&theirs.worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	be(NULL);
	stranger_end(&other);
	worker_close(&launcher.worker);
	worker_close(&second.worker);
	worker_close(&plain);
	expect_kernels_run(adapter);
}

TEST(dispatch, a_kernel_that_does_not_end_is_ended_by_a_reset_of_its_engine)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct launcher launcher;
	struct worker other;
	struct row row = { 0 };

	launcher_open(&launcher, adapter);
	worker_open(&other, adapter);
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, LARGE);
	struct softgpu_range range = written(FIRST_ADDRESS, LARGE);

	add_dispatch(&launcher.worker, &row, launcher.spin, &range, 1, &range.address, 1);
	run(&launcher.worker, &row);
	while (state_of(&launcher.worker) == D3DKMT_DEVICEEXECUTION_ACTIVE)
		worker_pause(&launcher.worker);
	EXPECT_EQ(state_of(&other), D3DKMT_DEVICEEXECUTION_ACTIVE);
	worker_close(&launcher.worker);
	worker_close(&other);
	expect_kernels_run(adapter);
}

TEST(dispatch, with_the_slab_all_kernels_are_lost_and_then_new_ones_work)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct launcher launcher;
	test_cuda_lose *lose_contexts = NULL;

	launcher_open(&launcher, adapter);
	library = library ? library : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	*(void **)&lose_contexts = library ? dlsym(library, "test_cuda_lose_contexts") : NULL;
	SKIP_UNLESS(lose_contexts, "a GPU does not lose its context on request");
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, LARGE);
	launch_add(&launcher, FIRST_ADDRESS, LARGE, 1);
	EXPECT_EQ(state_of(&launcher.worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	lose_contexts();
	launch_add(&launcher, FIRST_ADDRESS, LARGE, 1);
	while (state_of(&launcher.worker) == D3DKMT_DEVICEEXECUTION_ACTIVE)
		worker_pause(&launcher.worker);
	worker_close(&launcher.worker);
	expect_kernels_run(adapter);
	dlclose(library);
}

static void expect_fault(D3DKMT_HANDLE adapter, uint32_t kernel, struct softgpu_range range)
{
	struct launcher launcher;
	struct row row = { 0 };

	launcher_open(&launcher, adapter);
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, LARGE);
	add_dispatch(&launcher.worker, &row, kernel ? kernel : launcher.add, &range, 1,
		     (uint64_t[]){ FIRST_ADDRESS, 1, 1 }, 3);
	run(&launcher.worker, &row);
	expect_lost(&launcher.worker, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	worker_close(&launcher.worker);
}

TEST(dispatch, what_is_no_kernel_or_no_range_is_a_fault)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	const struct softgpu_range good = written(FIRST_ADDRESS, LARGE);
	struct softgpu_range bad;

	expect_fault(adapter, 0x12345678, good);
	bad = good;
	bad.address += 4096;
	expect_fault(adapter, 0, bad);
	bad = good;
	bad.size_bytes = 0;
	expect_fault(adapter, 0, bad);
	bad = good;
	bad.size_bytes = ~(LARGE - 1);
	expect_fault(adapter, 0, bad);
	bad = good;
	bad.flags = 2;
	expect_fault(adapter, 0, bad);
	expect_kernels_run(adapter);
}

TEST(dispatch, memory_that_did_not_ask_for_it_is_not_shown)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct launcher launcher;
	struct row row = { 0 };

	launcher_open(&launcher, adapter);
	D3DKMT_HANDLE memory = create_sized(&launcher.worker.client, LARGE, SOFTGPU_SYSTEM_ONLY);
	EXPECT_OK(make_resident(&launcher.worker.client, &memory, 1, 0));
	EXPECT_OK(try_map_at(&launcher.worker.client, memory, FIRST_ADDRESS, LARGE, true));
	struct softgpu_range range = written(FIRST_ADDRESS, LARGE);

	add_dispatch(&launcher.worker, &row, launcher.add, &range, 1,
		     (uint64_t[]){ FIRST_ADDRESS, 1, 1 }, 3);
	run(&launcher.worker, &row);
	expect_lost(&launcher.worker, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	worker_close(&launcher.worker);
}

/* ---- modules ---- */

TEST(module, what_is_no_ptx_and_what_it_does_not_have_is_refused)
{
	struct launcher launcher;
	uint32_t number;

	launcher_open(&launcher, open_first_adapter());
	EXPECT_EQ(load(&launcher.worker, "this is no PTX", &number), STATUS_INVALID_IMAGE_FORMAT);
	EXPECT_EQ(load(&launcher.worker, ".version 6.4\nno target, and no sense", &number),
		  STATUS_INVALID_IMAGE_FORMAT);
	EXPECT_EQ(find(&launcher.worker, launcher.module, "nobody", &number), STATUS_NOT_FOUND);
	EXPECT_EQ(find(&launcher.worker, launcher.module, "", &number), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(find(&launcher.worker, launcher.module + 100, "add", &number),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(find(&launcher.worker, 0, "add", &number), STATUS_INVALID_PARAMETER);
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, LARGE);
	launch_add(&launcher, FIRST_ADDRESS, LARGE, 4);
	EXPECT_EQ(read_word(&launcher.worker, FIRST_ADDRESS), 4);
	worker_close(&launcher.worker);
}

TEST(module, one_that_is_unloaded_has_no_kernels)
{
	struct launcher launcher;
	uint32_t number;

	launcher_open(&launcher, open_first_adapter());
	EXPECT_OK(unload(&launcher.worker, launcher.module));
	EXPECT_EQ(unload(&launcher.worker, launcher.module), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(find(&launcher.worker, launcher.module, "add", &number),
		  STATUS_INVALID_PARAMETER);
	resident_memory(&launcher.worker.client, FIRST_ADDRESS, LARGE);
	launch_add(&launcher, FIRST_ADDRESS, LARGE, 4);
	expect_lost(&launcher.worker, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	worker_close(&launcher.worker);
}

TEST_MAIN("cuda/dispatch")
