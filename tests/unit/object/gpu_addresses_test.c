/*
 * gpu_addresses_test.c - GPU addresses of an allocation that is being destroyed: whoever found it
 * before does not map it after. In a whole host with the recorder as its driver.
 */
#include "support/test.h"

#include "base/mem.h"
#include "base/refusal.h"
#include "drivers/recorder/recorder.h"
#include "object/destruction.h"
#include "object/gpu_request.h"
#include "object/kernel.h"

EXPORTED void recorder_note(const char *line)
{
	(void)line;
}

/* ---- the world ---- */

static struct mem_usage before;
static struct dxg_kernel kernel;
static struct dxg_process *process;
static struct dxg_device *device;
static struct dxg_paging_queue *queue;
static struct refusal_scope scope;

static void begin(void)
{
	const struct miniport_config config = {
		.driver = RECORDER_PATH, .name = "recorder", .adapter_id = 1, .luid = 0x10000
	};

	before = mem_usage();
	EXPECT_EQ(kernel_start(&kernel, &config, 1), STATUS_SUCCESS);
	EXPECT_EQ(kernel.adapter_count, 1);
	EXPECT_EQ(process_create(1, &kernel.shares, &process), STATUS_SUCCESS);
	EXPECT_EQ(
		device_create(process, kernel.adapters[0], &(struct device_options){ 0 }, &device),
		STATUS_SUCCESS);
	EXPECT_EQ(paging_queue_create(device, 0, &queue), STATUS_SUCCESS);
	refusal_begin(&scope, "test");
}

static void finish(void)
{
	(void)refusal_end(&scope);
	object_put(&queue->object);
	object_put(&device->object);
	process_destroy(process);
	kernel_end(&kernel);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

/* With a reference, as a call that found it. */
static struct dxg_allocation *make(void)
{
	struct allocation_item item = { 0 };
	struct allocation_request request = { .device = device, .count = 1, .items = &item };
	const struct object_class *found;
	struct object *object = NULL;

	EXPECT_EQ(allocation_create(&request), STATUS_SUCCESS);
	EXPECT(handle_find(&process->handles, item.handle, &allocation_class, &object, &found) ==
	       HANDLE_FOUND);
	return container_of(object, struct dxg_allocation, object);
}

/* It is gone when this returns, but for who found it. */
static void destroy(struct dxg_allocation *allocation)
{
	const struct destruction_options options = { .is_synchronous = true };

	object_get(&allocation->object);
	EXPECT_EQ(destruction_of_list(device, 1, &allocation, &options), STATUS_SUCCESS);
}

static NTSTATUS map(struct dxg_allocation *allocation)
{
	struct gpuva_map_request request = { .page_count = 1, .protection = GPUVA_WRITE };
	struct gpu_answer answer;

	return gpu_map(queue, allocation, &request, &answer);
}

/* ---- tests ---- */

TEST(gpu_addresses, what_was_found_before_its_destruction_is_not_mapped_after_it)
{
	begin();
	struct dxg_allocation *allocation = make();

	destroy(allocation);
	EXPECT_EQ(map(allocation), STATUS_INVALID_PARAMETER);
	object_put(&allocation->object);
	finish();
}

TEST(gpu_addresses, what_was_mapped_is_not_mapped_again_after_its_destruction)
{
	begin();
	struct dxg_allocation *allocation = make();

	EXPECT_EQ(map(allocation), STATUS_PENDING);
	destroy(allocation);
	EXPECT_EQ(map(allocation), STATUS_INVALID_PARAMETER);
	object_put(&allocation->object);
	finish();
}

TEST_MAIN("object/gpu_addresses")
