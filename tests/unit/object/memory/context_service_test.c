/* SPDX-License-Identifier: MIT */
/*
 * context_service_test.c - what stands behind DxgkCbCreateContextAllocation and its family, asked as
 * miniport/ asks it: for what there is not, where nobody may wait, without memory, on adapters of
 * other kinds than the usual one.
 */
#include "unit/object/scene.h"

#include "base/clock.h"
#include "base/refusal.h"
#include "object/memory/context_allocation.h"
#include "sched/sched.h"

static const struct miniport_context_services *const services = &context_allocation_services;

static struct dxg_context *context;

#define begin(is_virtual_, ...)                                                                    \
	do {                                                                                       \
		scene_begin(__VA_ARGS__);                                                          \
		client_begin(&app, 1);                                                             \
		EXPECT_EQ(context_create(app.device,                                               \
					 &(struct context_options){ .is_virtual = (is_virtual_) }, \
					 &context),                                                \
			  STATUS_SUCCESS);                                                         \
	} while (0)

static void end_context(void)
{
	EXPECT(context_destroy(context));
	object_put(&context->object);
}

static void finish(void)
{
	end_context();
	client_end(&app);
	scene_end();
}

static struct miniport_context_allocation wish(void)
{
	return (struct miniport_context_allocation){ .kernel_device = app.device,
						     .kernel_context = context,
						     .driver_allocation = (void *)0xC00C1E,
						     .size_bytes = 65536,
						     .alignment_bytes = 4096,
						     .supported_segments = 1 };
}

static void *make(const struct miniport_context_allocation *desc)
{
	void *handle = NULL;

	EXPECT_EQ(services->create(adapter, desc, &handle), STATUS_SUCCESS);
	return handle;
}

static struct dxgk_refusal last_refusal(void)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	EXPECT(refusal_last(&refusal));
	return refusal;
}

/* ---- what is made ---- */

#define CONTEXT_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, finish(), suite, claim)

/* Before WDDM 1.2 no context is switched away from: its memory goes without that. */
CONTEXT_TEST(level, before_1_2_waits_for_no_switch,
	     begin(false, { "Model", "physical", 0 }, { "WDDMVersion", NULL, 0x1100 }))
{
	EXPECT_EQ(adapter->info->wddm_version, 1100);
	struct miniport_context_allocation desc = wish();
	void *handle = make(&desc);
	notes_forget();
	EXPECT_EQ(services->destroy(adapter, handle, true), STATUS_SUCCESS);
	EXPECT_EQ(notes_of("SubmitCommand"), 0);
	/* And it has no addresses that an update could be about. */
	handle = make(&desc);
	EXPECT_EQ(services->update(adapter, handle, NULL, 0, true), STATUS_NOT_SUPPORTED);
	EXPECT_STR(last_refusal().rule, "DDI-VERSION");
	EXPECT_EQ(services->destroy(adapter, handle, true), STATUS_SUCCESS);
}

CONTEXT_TEST(create, in_an_aperture_gives_the_driver_a_pointer_for_good,
	     begin(true, { "Levels", "many processes", 0 }))
{
	struct miniport_context_allocation desc = wish();
	desc.supported_segments = 2;
	desc.is_cpu_visible = true;
	desc.wants_pointer = true;
	unsigned failures = 0;
	/* Each block of memory that it takes fails once. */
	for (unsigned nth = 1;; nth++) {
		void *handle = NULL;
		mem_fail_nth(nth);
		NTSTATUS status = services->create(adapter, &desc, &handle);
		bool has_failed = mem_fail_stop();
		if (NT_SUCCESS(status)) {
			EXPECT_EQ(services->destroy(adapter, handle, true), STATUS_SUCCESS);
		} else {
			EXPECT_EQ(status, STATUS_NO_MEMORY);
			failures++;
		}
		if (!has_failed)
			break;
	}
	EXPECT(failures >= 2);
}

CONTEXT_TEST(create, of_more_than_its_segments_hold_leaves_nothing,
	     begin(true, { "Levels", "many processes", 0 }))
{
	struct miniport_context_allocation desc = wish();
	struct mem_usage usage = mem_usage();
	void *handle = NULL;
	desc.size_bytes = UINT64_C(1) << 36;
	EXPECT_EQ(services->create(adapter, &desc, &handle), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
	EXPECT_STR(last_refusal().rule, "MM-LIST-FITS");
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

CONTEXT_TEST(create, on_a_lost_device_is_refused, begin(true, { "Levels", "many processes", 0 }))
{
	struct miniport_context_allocation desc = wish();
	void *handle = NULL;
	device_lose(app.device, DEVICE_HUNG, NULL);
	EXPECT_EQ(services->create(adapter, &desc, &handle), STATUS_DEVICE_REMOVED);
}

/* ---- where nobody may wait ---- */

static struct {
	void *handle;
	bool is_asked;
	uint64_t address;
	NTSTATUS status;
} on_pager;

static struct miniport_context_mapping mapping_of(void *handle)
{
	return (struct miniport_context_mapping){ .allocation = handle, .page_count = 1 };
}

/* The driver is in DxgkDdiBuildPagingBuffer: the thread is the one that would have to do it. */
static void ask_on_pager(const char *line)
{
	if (!on_pager.handle || on_pager.is_asked || !strstr(line, "BuildPagingBuffer"))
		return;
	on_pager.is_asked = true;
	struct miniport_context_mapping mapping = mapping_of(on_pager.handle);
	on_pager.address = services->map(adapter, &mapping, true);
	on_pager.status = services->update(adapter, on_pager.handle, NULL, 0, true);
}

CONTEXT_TEST(waiting, for_oneself_is_refused, begin(true, { "Levels", "many processes", 0 }))
{
	struct miniport_context_allocation desc = wish();
	void *handle = make(&desc);
	struct miniport_context_mapping mapping = mapping_of(handle);

	EXPECT_EQ(services->map(adapter, &mapping, false), 0);
	EXPECT_STR(last_refusal().rule, "DDI-CALLBACK-DEADLOCK");
	EXPECT_EQ(services->update(adapter, handle, NULL, 0, false), STATUS_INVALID_DEVICE_REQUEST);
	EXPECT_STR(last_refusal().rule, "DDI-CALLBACK-DEADLOCK");

	on_pager.handle = handle;
	note_hook = ask_on_pager;
	EXPECT_EQ(services->update(adapter, handle, NULL, 0, true), STATUS_SUCCESS);
	note_hook = NULL;
	EXPECT(on_pager.is_asked);
	EXPECT_EQ(on_pager.address, 0);
	EXPECT_EQ(on_pager.status, STATUS_INVALID_DEVICE_REQUEST);
	EXPECT_EQ(services->destroy(adapter, handle, true), STATUS_SUCCESS);
}

CONTEXT_TEST(map, without_memory_maps_nothing, begin(true, { "Levels", "many processes", 0 }))
{
	struct miniport_context_allocation desc = wish();
	unsigned failures = 0;

	for (unsigned nth = 1;; nth++) {
		void *handle = make(&desc);
		struct miniport_context_mapping mapping = mapping_of(handle);
		mem_fail_nth(nth);
		uint64_t address = services->map(adapter, &mapping, true);
		bool has_failed = mem_fail_stop();
		if (address == 0) {
			EXPECT(has_failed);
			EXPECT_EQ(last_refusal().status, STATUS_NO_MEMORY);
			failures++;
			address = services->map(adapter, &mapping, true);
			EXPECT(address != 0);
		}
		EXPECT_EQ(services->destroy(adapter, handle, true), STATUS_SUCCESS);
		if (!has_failed)
			break;
	}
	EXPECT(failures >= 2);
}

/* ---- the books ---- */

static _Atomic bool has_ended;

static void end_it(void *argument)
{
	(void)argument;
	end_context();
	has_ended = true;
}

TEST(owner, does_not_end_while_something_is_made_for_it)
{
	struct context_memory *memory;
	struct thread *thread;

	begin(true, { "Levels", "many processes", 0 });
	memory = &context->driver_memory;
	lock_acquire(&adapter->books.lock);
	memory->creating++; /* as a call under way */
	lock_release(&adapter->books.lock);
	has_ended = false;
	EXPECT_EQ(thread_create("ender", end_it, NULL, &thread), STATUS_SUCCESS);
	while (notes_of("DestroyContext") == 0)
		thread_point();
	for (unsigned i = 0; i < 1000; i++)
		thread_point();
	EXPECT(!has_ended);
	lock_acquire(&adapter->books.lock);
	memory->creating--;
	notice_give(&adapter->books.changed);
	lock_release(&adapter->books.lock);
	thread_join(thread);
	EXPECT(has_ended);
	client_end(&app);
	scene_end();
}

CONTEXT_TEST(books, are_recounted, begin(true, { "Levels", "many processes", 0 }))
{
	struct miniport_context_allocation desc = wish();
	void *handle = make(&desc);
	EXPECT(!context_books_validate(&adapter->books));
	struct rb_node *roots[] = { adapter->books.owners.root, adapter->books.allocations.root };
	for (unsigned i = 0; i < 2; i++) {
		roots[i]->parent_and_colour ^= 1;
		EXPECT_CONTAINS(context_books_validate(&adapter->books), "root");
		roots[i]->parent_and_colour ^= 1;
	}
	EXPECT(!context_books_validate(&adapter->books));
	EXPECT_EQ(services->destroy(adapter, handle, true), STATUS_SUCCESS);
}

/* ---- a reset hit a context ---- */

CONTEXT_TEST(hit, is_of_a_context_with_hardware_queues_and_no_other,
	     begin(true, { "Levels", "many processes", 0 }))
{
	void *wrong[] = { (void *)0x1000, app.device, context };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(services->invalidate_hw_context(adapter, wrong[i], false),
			  STATUS_INVALID_HANDLE);
		EXPECT_STR(last_refusal().rule, "DDI-CALLBACK-ARGUMENT");
	}
}

TEST_MAIN("object/context_service")
