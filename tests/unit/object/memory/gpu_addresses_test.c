/* SPDX-License-Identifier: MIT */
/*
 * gpu_addresses_test.c - GPU addresses of an allocation that is being destroyed: whoever found it
 * before does not map it after. In a whole host with the recorder as its driver.
 */
#include "unit/object/scene.h"

#include "base/refusal.h"
#include "object/ending/destruction.h"
#include "object/ending/ending.h"
#include "object/memory/gpu_request.h"
#include "object/memory/residency.h"
#include "pagetable/table_tree.h"

/* ---- what the GPU would find when the driver hears that an allocation is gone ---- */

static _Atomic(struct page_tables *) watched_tables; /* NULL: nobody looks */
static _Atomic uint64_t watched_page;
static _Atomic unsigned destroyed_while_mapped;

static void look_at_tables(const char *line)
{
	struct page_tables *tables = watched_tables;

	if (!tables || strncmp(line, "DestroyAllocation", strlen("DestroyAllocation")) != 0)
		return;
	lock_acquire(&tables->lock);
	const struct table *leaf = tables_at(tables, 0, watched_page);
	if (leaf && table_given(leaf, table_index(tables, leaf, watched_page)) != 0)
		destroyed_while_mapped++;
	lock_release(&tables->lock);
}

/* ---- the world ---- */

static struct dxg_paging_queue *queue;
static struct refusal_scope scope;

static void begin(void)
{
	note_hook = look_at_tables;
	scene_begin_with(NULL, 0);
	client_begin(&app, 1);
	EXPECT_EQ(paging_queue_create(app.device, 0, &queue), STATUS_SUCCESS);
	refusal_begin(&scope, "test");
}

static void finish(void)
{
	(void)refusal_end(&scope);
	object_put(&queue->object);
	client_end(&app);
	scene_end();
}

/* With a reference, as a call that found it. */
static struct dxg_allocation *make(void)
{
	struct allocation_item item = { 0 };
	struct allocation_request request = { .device = app.device, .count = 1, .items = &item };
	const struct object_class *found;
	struct object *object = NULL;

	EXPECT_EQ(allocation_create(&request), STATUS_SUCCESS);
	EXPECT(handle_find(&app.process->handles, item.handle, &allocation_class, &object,
			   &found) == HANDLE_FOUND);
	return container_of(object, struct dxg_allocation, object);
}

/* It is gone when this returns, but for who found it. */
static void destroy(struct dxg_allocation *allocation)
{
	const struct destruction_options options = { .is_synchronous = true };

	object_get(&allocation->object);
	EXPECT_EQ(destruction_of_list(app.device, 1, &allocation, &options), STATUS_SUCCESS);
}

static NTSTATUS map_at(struct dxg_allocation *allocation, uint64_t *address_out)
{
	struct gpuva_map_request request = { .page_count = 1, .protection = GPUVA_WRITE };
	struct gpu_answer answer;
	NTSTATUS status = gpu_map(queue, allocation, &request, &answer);

	*address_out = answer.address;
	return status;
}

static NTSTATUS map(struct dxg_allocation *allocation)
{
	uint64_t address;

	return map_at(allocation, &address);
}

static void bring_in(struct dxg_allocation *allocation)
{
	struct vidmm_binding *binding;
	uint64_t fence_value;
	uint64_t bytes_to_trim;

	EXPECT_EQ(residency_bindings(&allocation, 1, &binding), STATUS_SUCCESS);
	const struct residency_request request = { .bindings = &binding, .count = 1 };
	EXPECT(NT_SUCCESS(residency_make(queue, &request, &fence_value, &bytes_to_trim)));
}

/* ---- tests ---- */

#define ADDRESSES_TEST(suite, claim) TEST_BETWEEN(begin(), finish(), suite, claim)

ADDRESSES_TEST(gpu_addresses, what_was_found_before_its_destruction_is_not_mapped_after_it)
{
	struct dxg_allocation *allocation = make();

	destroy(allocation);
	EXPECT_EQ(map(allocation), STATUS_INVALID_PARAMETER);
	object_put(&allocation->object);
}

ADDRESSES_TEST(gpu_addresses, what_was_mapped_is_not_mapped_again_after_its_destruction)
{
	struct dxg_allocation *allocation = make();

	EXPECT_EQ(map(allocation), STATUS_PENDING);
	destroy(allocation);
	EXPECT_EQ(map(allocation), STATUS_INVALID_PARAMETER);
	object_put(&allocation->object);
}

enum { ROUNDS = 40 };

/* It may be gone with the allocation. */
static void free_address(void *context)
{
	const uint64_t *address = context;
	struct refusal_scope own;

	refusal_begin(&own, "free");
	(void)!gpu_addresses_free_now(app.device->process_adapter->addresses, *address, 4096);
	(void)refusal_end(&own);
}

/* One thread frees the address, another destroys what was there: no entry outlives the memory. */
ADDRESSES_TEST(gpu_addresses, that_are_freed_are_out_of_the_tables_before_their_memory_is_gone)
{
	const struct destruction_options not_in_use = { .is_not_in_use = true };

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct dxg_allocation *allocation = make();
		struct thread *thread = NULL;
		uint64_t address;

		bring_in(allocation);
		EXPECT_EQ(map_at(allocation, &address), STATUS_PENDING);
		pager_flush(adapter->pager);
		watched_page = address >> GPUVA_PAGE_SHIFT;
		watched_tables = &app.device->process_adapter->addresses->tables;
		EXPECT_EQ(thread_create("free", free_address, &address, &thread), STATUS_SUCCESS);
		EXPECT_EQ(destruction_of_list(app.device, 1, &allocation, &not_in_use),
			  STATUS_SUCCESS);
		endings_wait(app.device);
		thread_join(thread);
		watched_tables = NULL;
	}
	EXPECT_EQ(destroyed_while_mapped, 0);
}

TEST_MAIN("object/gpu_addresses")
