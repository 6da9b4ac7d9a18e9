/* SPDX-License-Identifier: MIT */
/*
 * sweep_test.c - a client's use of memory (scene.h), with everything in it failing once: the n-th
 * block of memory the kernel takes, the n-th paging operation the driver is to build, the n-th call
 * of every other entry point.
 *
 * After each the books of the kernel agree, and when the client is gone nothing of it is left, in
 * the kernel and in the driver.
 */
#include "api/scene.h"
#include "drivers/faulty/faulty.h"

#include <pthread.h>

enum { ENTRIES_MAX = 32, REQUEST_MAX = 512 };

/* ---- the fault ---- */

struct fault {
	const char *entry; /* NULL: memory, or none */
	unsigned nth;
	NTSTATUS status;
	bool is_for_ever; /* the same request is answered like this whenever it comes */
	bool is_at_end;   /* only what ends things is to fail */
};

struct reached {
	const char *entry;
	unsigned calls;
};

static struct {
	pthread_mutex_t lock;
	struct fault fault;
	unsigned calls; /* of the entry */
	bool has_fired;
	bool is_excused;
	unsigned char request[REQUEST_MAX]; /* that was answered */
	unsigned request_bytes;
	struct reached reached[ENTRIES_MAX];
	unsigned reached_count;
} planned = { .lock = PTHREAD_MUTEX_INITIALIZER };

__attribute__((visibility("default"))) int faulty_answer(const char *entry, const void *request,
							 unsigned request_bytes);

static void count_reached(const char *entry)
{
	unsigned i = 0;

	while (i < planned.reached_count && strcmp(planned.reached[i].entry, entry) != 0)
		i++;
	if (i == ENTRIES_MAX)
		return;
	if (i == planned.reached_count)
		planned.reached[planned.reached_count++] = (struct reached){ entry, 0 };
	planned.reached[i].calls++;
}

static NTSTATUS answer_locked(const char *entry, const void *request, unsigned request_bytes)
{
	const struct fault *fault = &planned.fault;

	count_reached(entry);
	if (!fault->entry || strcmp(fault->entry, entry) != 0)
		return STATUS_SUCCESS;
	if (++planned.calls == fault->nth && request_bytes <= REQUEST_MAX) {
		planned.has_fired = true;
		planned.request_bytes = request_bytes;
		if (request_bytes > 0)
			memcpy(planned.request, request, request_bytes);
		return fault->status;
	}
	if (planned.has_fired && fault->is_for_ever && planned.request_bytes == request_bytes &&
	    memcmp(planned.request, request, request_bytes) == 0)
		return fault->status;
	return STATUS_SUCCESS;
}

int faulty_answer(const char *entry, const void *request, unsigned request_bytes)
{
	pthread_mutex_lock(&planned.lock);
	NTSTATUS status = answer_locked(entry, request, request_bytes);
	pthread_mutex_unlock(&planned.lock);
	return status;
}

static void fault_plan(const struct fault *fault)
{
	pthread_mutex_lock(&planned.lock);
	planned.fault = *fault;
	planned.calls = 0;
	planned.has_fired = false;
	planned.is_excused = false;
	pthread_mutex_unlock(&planned.lock);
	if (fault->nth > 0 && !fault->entry)
		dxgk_test_fail_nth_allocation(fault->nth);
}

static bool fault_has_fired(void)
{
	/* Of memory it is only told once. */
	if (dxgk_test_fail_stop())
		planned.has_fired = true;
	return planned.has_fired;
}

/* Up to NULL. */
static bool is_among(const char *entry, const char *const *entries)
{
	for (; entry && *entries; entries++) {
		if (strcmp(entry, *entries) == 0)
			return true;
	}
	return false;
}

/* They may say that they have too little of something. */
static bool fault_is_of_a_creator(void)
{
	static const char *const entries[] = { "CreateProcess",  "CreateDevice",
					       "CreateContext",  "CreateAllocation",
					       "OpenAllocation", NULL };

	return is_among(planned.fault.entry, entries);
}

/* They may not fail, and the adapter is reset when they do. */
static bool fault_is_of_a_submission(void)
{
	static const char *const entries[] = { "SubmitCommand", "SubmitCommandVirtual", "Patch",
					       NULL };

	return is_among(planned.fault.entry, entries);
}

/* What the one call says that meets it, on a device that is not lost by it. */
static NTSTATUS fault_gives(void)
{
	const struct fault *fault = &planned.fault;

	if (!fault->entry)
		return STATUS_NO_MEMORY;
	if (fault_is_of_a_submission())
		return STATUS_DEVICE_REMOVED;
	if (fault_is_of_a_creator() && !NT_SUCCESS(fault->status))
		return fault->status;
	return STATUS_DRIVER_INTERNAL_ERROR;
}

/* Memory that does not come, or page tables of which nobody knows what they show. */
static bool fault_may_lose(void)
{
	return fault_is_of_a_submission() ||
	       (planned.fault.entry && strcmp(planned.fault.entry, "BuildPagingBuffer") == 0);
}

static bool fault_excuses(NTSTATUS status)
{
	if (!fault_has_fired() || planned.is_excused)
		return false;
	planned.is_excused = true;
	return status == fault_gives();
}

static bool fault_is_for_ever(void)
{
	return planned.fault.is_for_ever && fault_has_fired();
}

/* A recount needs memory, too: no more of it fails. */
static bool fault_validate(void)
{
	bool has_fired = fault_has_fired();

	expect_valid();
	return has_fired;
}

/* ---- what is left ---- */

struct left {
	long long blocks;
	unsigned processes, devices, contexts, resources, allocations, openings;
};

static struct left look_left(void)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct softgpu_escape_info info = soft_info(adapter);
	struct left left = { .processes = info.live_processes,
			     .devices = info.live_devices,
			     .contexts = info.live_contexts,
			     .resources = info.live_resources,
			     .allocations = info.live_allocations,
			     .openings = info.live_openings };

	expect_valid();
	D3DKMTCloseDxCoreDevice();
	left.blocks = dxgk_test_memory().blocks;
	return left;
}

#define EXPECT_LEFT(left, wanted)                                                                  \
	do {                                                                                       \
		EXPECT_EQ((left).processes, (wanted).processes);                                   \
		EXPECT_EQ((left).devices, (wanted).devices);                                       \
		EXPECT_EQ((left).contexts, (wanted).contexts);                                     \
		EXPECT_EQ((left).resources, (wanted).resources);                                   \
		EXPECT_EQ((left).allocations, (wanted).allocations);                               \
		EXPECT_EQ((left).openings, (wanted).openings);                                     \
		EXPECT_EQ((left).blocks, (wanted).blocks);                                         \
	} while (0)

/* ---- sweeps ---- */

static struct left nothing;

static bool play(const struct fault *fault, bool *is_lost_out)
{
	struct scene scene;

	scene_begin(&scene);
	fault_plan(fault->is_at_end ? &(struct fault){ 0 } : fault);
	scene_play(&scene);
	*is_lost_out = scene_look_lost(&scene);
	bool has_fired = fault_validate();
	if (has_fired && !fault_may_lose())
		EXPECT(!*is_lost_out);
	if (fault->is_at_end)
		fault_plan(fault);
	scene_end(&scene);
	has_fired |= fault_has_fired();
	fault_plan(&(struct fault){ 0 });
	struct left left = look_left();
	EXPECT_LEFT(left, nothing);
	return has_fired;
}

/* Without a fault, nothing is lost; but by a reset that the last fault of the time before led to.
 */
static bool play_once(const struct fault *fault, bool *is_lost_out)
{
	bool has_fired = play(fault, is_lost_out);

	if (!has_fired && *is_lost_out)
		has_fired = play(fault, is_lost_out);
	if (!has_fired)
		EXPECT(!*is_lost_out);
	return has_fired;
}

/* What is made once and kept is there before anything is counted. */
static void play_without_fault(void)
{
	bool is_lost;

	if (nothing.blocks == 0) {
		struct scene scene;

		scene_begin(&scene);
		fault_plan(&(struct fault){ 0 });
		scene_play(&scene);
		scene_end(&scene);
		nothing = look_left();
	}
	EXPECT(!play_once(&(struct fault){ 0 }, &is_lost));
}

static void sweep(struct fault fault)
{
	unsigned lost = 0;

	play_without_fault();
	for (fault.nth = 1;; fault.nth++) {
		bool is_lost;

		EXPECT(fault.nth < 5000);
		if (getenv("TEST_VERBOSE"))
			print_message("# %s %u 0x%08x\n", fault.entry ? fault.entry : "memory",
				      fault.nth, (unsigned)fault.status);
		if (!play_once(&fault, &is_lost))
			break;
		lost += is_lost;
	}
	print_message("# %s 0x%08x: %u times, %u devices lost\n",
		      fault.entry ? fault.entry : "memory", (unsigned)fault.status, fault.nth - 1,
		      lost);
	EXPECT(fault.nth > 1);
}

TEST(sweep, each_block_of_memory_fails_once)
{
	sweep((struct fault){ .status = STATUS_NO_MEMORY });
}

TEST(sweep, each_block_of_memory_fails_once_at_the_end)
{
	sweep((struct fault){ .status = STATUS_NO_MEMORY, .is_at_end = true });
}

TEST(sweep, each_paging_operation_fails_for_want_of_memory)
{
	sweep((struct fault){ "BuildPagingBuffer", .status = STATUS_NO_MEMORY });
}

TEST(sweep, each_paging_operation_fails_for_want_of_resources)
{
	sweep((struct fault){ "BuildPagingBuffer", .status = STATUS_INSUFFICIENT_RESOURCES });
}

/* That is legal: the operation goes into the next buffer. */
TEST(sweep, each_paging_operation_needs_another_buffer)
{
	sweep((struct fault){ "BuildPagingBuffer",
			      .status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER });
}

TEST(sweep, each_paging_operation_never_has_room)
{
	sweep((struct fault){ "BuildPagingBuffer",
			      .status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
			      .is_for_ever = true });
}

/* Legal for what moves, and a mistake for the rest. */
TEST(sweep, each_paging_operation_meets_a_busy_allocation)
{
	sweep((struct fault){ "BuildPagingBuffer", .status = STATUS_GRAPHICS_ALLOCATION_BUSY });
}

TEST(sweep, each_paging_operation_answers_what_is_no_answer)
{
	sweep((struct fault){ "BuildPagingBuffer", .status = STATUS_PENDING });
}

static void sweep_entries(NTSTATUS status)
{
	play_without_fault();
	for (unsigned i = 0; i < planned.reached_count; i++) {
		if (strcmp(planned.reached[i].entry, "BuildPagingBuffer") != 0 &&
		    strcmp(planned.reached[i].entry, "PreemptCommand") != 0)
			sweep((struct fault){ planned.reached[i].entry, .status = status });
	}
}

TEST(sweep, each_call_of_each_other_entry_point_fails_once)
{
	sweep_entries(STATUS_INSUFFICIENT_RESOURCES);
}

TEST(sweep, each_call_of_each_other_entry_point_answers_what_is_no_answer)
{
	sweep_entries(STATUS_PENDING);
}

/*
 * Page tables that cannot be given to the GPU cost the adapter a reset. Who makes a device
 * meanwhile has one of after it.
 */
TEST(device, is_made_although_its_first_page_table_meets_a_reset)
{
	SKIP_UNLESS(!is_physical(), "the physical model has no page tables");

	struct scene scene;

	scene_begin(&scene);
	fault_plan(&(struct fault){ "SubmitCommandVirtual", .nth = 1,
				    .status = STATUS_INSUFFICIENT_RESOURCES });
	EXPECT_OK(scene_open_device(&scene));
	EXPECT(fault_has_fired());
	fault_plan(&(struct fault){ 0 });
	EXPECT(!scene_look_lost(&scene));
	scene_end(&scene);
}

int main(int argc, char **argv)
{
	static char profile[1024];

	snprintf(profile, sizeof(profile),
		 "{\"adapters\": [{\"driver\": \"%s\", \"name\": \"faulty\", \"registry\": "
		 "{\"LocalMemoryMiB\": 8, \"ApertureMiB\": 16, \"TdrLimitCount\": 100000, "
		 "\"AddressModel\": \"%s\"}}]}",
		 getenv("TEST_FAULTY"), is_physical() ? "physical" : "gpummu");
	setenv("DXGK_PROFILE", write_file(profile), 1);
	return api_main("api/sweep", argc, argv);
}
