/* SPDX-License-Identifier: MIT */
/*
 * inventory_test.c - a trace that begins late says of what there is what one that was there from the beginning said when
 * it was made.
 */
#include "unit/object/scene.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "object/check/inventory.h"
#include "object/ending/destruction.h"
#include "object/fence/keyed_mutex.h"
#include "object/fence/sync_object.h"
#include "object/memory/allocation.h"
#include "object/memory/paging_queue.h"
#include "object/memory/resource_open.h"
#include "object/owner/hw_context.h"
#include "object/submit/queue_sync.h"
#include "object/submit/render.h"
#include "paging/pager.h"
#include "sched/sched.h"
#include "trace/reader.h"
#include "trace/trace.h"

static struct client other;
static struct client third;

/* ---- what a trace says ---- */

enum { LINES_MAX = 256, COUNT = 2 };

struct said {
	char lines[LINES_MAX][128];
	unsigned count;
};

static struct said early;
static struct said late;

static char path[64];

static void record(void)
{
	strcpy(path, "/tmp/object-inventory-XXXXXX");
	close(mkstemp(path));
	EXPECT(trace_start(path));
}

static bool is_in(const struct trace_entry *entry, enum trace_category category)
{
	return entry->info->category &&
	       strcmp(entry->info->category, trace_category_titles[category]) == 0;
}

/* What lives, and whose it is; not what is under way. */
static bool is_of_a_life(const struct trace_entry *entry)
{
	return (entry->info->kind == TRACE_KIND_ASYNC_BEGIN &&
		(is_in(entry, TRACE_CATEGORY_OBJECT) || is_in(entry, TRACE_CATEGORY_ALLOCATION))) ||
	       entry->event == TRACE_process_is || entry->event == TRACE_node_is ||
	       entry->event == TRACE_allocation_name;
}

static void write_down(struct said *said, const struct trace_entry *entry)
{
	EXPECT(said->count < LINES_MAX);
	char *line = said->lines[said->count++];
	int used = snprintf(line, sizeof(said->lines[0]), "%s", entry->info->name);

	for (uint32_t i = 0; i < entry->info->field_count; i++)
		used += snprintf(line + used, sizeof(said->lines[0]) - (size_t)used, " %llx%s",
				 (unsigned long long)entry->fields[i].number,
				 entry->fields[i].text ? entry->fields[i].text : "");
}

static int by_line(const void *one, const void *two)
{
	return strcmp(one, two);
}

/* What is queued and with the hardware; not whose queues there are. */
static bool is_of_work(const struct trace_entry *entry)
{
	return is_in(entry, TRACE_CATEGORY_SUBMIT) && entry->event != TRACE_queue_is;
}

static void read_back_what(struct said *said, bool (*is_wanted)(const struct trace_entry *entry))
{
	static char bytes[1 << 20];
	char problem[128];
	struct trace_entry entry;

	trace_finish();
	int file = open(path, O_RDONLY);
	ssize_t size = read(file, bytes, sizeof(bytes));
	close(file);
	unlink(path);
	EXPECT(size > 0);
	said->count = 0;
	struct trace_reader *reader =
		trace_reader_open(bytes, (size_t)size, problem, sizeof(problem));
	EXPECT(reader != NULL);
	while (trace_reader_next(reader, &entry)) {
		if (is_wanted(&entry))
			write_down(said, &entry);
	}
	trace_reader_close(reader);
	qsort(said->lines, said->count, sizeof(said->lines[0]), by_line);
}

static void read_back(struct said *said)
{
	read_back_what(said, is_of_a_life);
}

static unsigned said_with(const struct said *said, const char *name, const char *text)
{
	unsigned count = 0;

	for (unsigned i = 0; i < said->count; i++)
		count += strncmp(said->lines[i], name, strlen(name)) == 0 &&
			 strstr(said->lines[i], text) != NULL;
	return count;
}

static unsigned said_of(const struct said *said, const char *name)
{
	return said_with(said, name, "");
}

/* Of memory as the client's. */
static unsigned lives_of(const struct said *said, const struct client *client)
{
	char owner[32];

	snprintf(owner, sizeof(owner), " %x %x ", client->process->id,
		 client->device->object.handle);
	return said_with(said, "allocation_live ", owner);
}

static void begin_late(bool is_still)
{
	record();
	kernel_trace_inventory(&kernel, is_still);
	read_back(&late);
}

/* ---- what there is ---- */

static struct dxg_resource *resource;

static void make_contexts(void)
{
	struct dxg_context *context;
	struct dxg_hw_context *hw_context;
	struct dxg_hw_queue *queue;

	for (int has_hw_queues = 0; has_hw_queues < 2; has_hw_queues++) {
		EXPECT_EQ(
			context_create(app.device,
				       &(struct context_options){ .is_virtual = true,
								  .has_hw_queues = has_hw_queues },
				       &context),
			STATUS_SUCCESS);
		object_put(&context->object);
	}
	EXPECT_EQ(hw_queue_create(&context->hw_queues, &(struct hw_queue_options){ 0 }, &queue),
		  STATUS_SUCCESS);
	object_put(&queue->object);
	EXPECT_EQ(hw_context_create(app.device, &(struct hw_context_options){ .node = 1 },
				    &hw_context),
		  STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(hw_queue_create(&hw_context->hw_queues, &(struct hw_queue_options){ 0 },
					  &queue),
			  STATUS_SUCCESS);
		object_put(&queue->object);
	}
	object_put(&hw_context->object);
}

static void make_fences(void)
{
	struct dxg_sync_object *sync;
	struct dxg_keyed_mutex *mutex;
	struct dxg_paging_queue *queue;

	EXPECT_EQ(sync_object_create(
			  app.device,
			  &(struct sync_options){ .kind = SYNC_FENCE, .event = EVENT_NONE }, &sync),
		  STATUS_SUCCESS);
	object_put(&sync->object);
	EXPECT_EQ(keyed_mutex_create(app.process, 7, &(struct keyed_mutex_data){ 0 }, SHARE_GLOBAL,
				     &mutex),
		  STATUS_SUCCESS);
	object_put(&mutex->object);
	EXPECT_EQ(paging_queue_create(app.device, 0, &queue), STATUS_SUCCESS);
	object_put(&queue->object);
}

/* The first allocation of it. */
static struct dxg_allocation *shared_as(struct dxg_resource *of)
{
	return container_of(of->allocations.next, struct dxg_allocation, owner_link);
}

static void open_shared(struct client *client)
{
	struct resource_open_item opened[COUNT];
	struct resource_open_request request = {
		.device = client->device, .body = resource->body, .count = COUNT, .items = opened
	};

	EXPECT_EQ(resource_open(&request), STATUS_SUCCESS);
}

/* A resource that the others open, and memory of none. */
static void make_memory(void)
{
	struct allocation_item items[COUNT] = { 0 };
	struct allocation_request alone = { .device = app.device, .count = 1, .items = items };
	struct allocation_request shared = { .device = app.device,
					     .is_new_resource = true,
					     .is_shared = true,
					     .count = COUNT,
					     .items = items };
	const struct object_class *class;
	struct object *object = NULL;

	EXPECT_EQ(allocation_create(&alone), STATUS_SUCCESS);
	EXPECT_EQ(allocation_create(&shared), STATUS_SUCCESS);
	EXPECT(handle_find(&app.process->handles, shared.resource_handle, &resource_class, &object,
			   &class) == HANDLE_FOUND);
	resource = container_of(object, struct dxg_resource, object);
	open_shared(&other);
	open_shared(&third);
	object_put(&resource->object);
	EXPECT_EQ(allocation_set_name(shared_as(resource), "shadow map"), STATUS_SUCCESS);
}

static void destroy_what_was_made(void)
{
	EXPECT_EQ(destruction_of_resource(resource, &(struct destruction_options){ 0 }),
		  STATUS_SUCCESS);
}

static void begin(void)
{
	record();
	scene_begin({ "HwQueues", NULL, 1 }, { "NbAsymetricProcessingNodes", NULL, 2 });
	client_begin(&app, 1);
	client_begin(&other, 2);
	client_begin(&third, 3);
	make_contexts();
	make_fences();
	make_memory();
	read_back(&early);
}

static void finish(void)
{
	client_end(&third);
	client_end(&other);
	finish_plain();
}

#define LATE_TEST(suite, claim) TEST_BETWEEN(begin(), finish(), suite, claim)

LATE_TEST(inventory, says_what_was_said_when_it_was_made)
{
	begin_late(true);
	for (unsigned i = 0; i < early.count || i < late.count; i++)
		EXPECT_STR(late.lines[i], early.lines[i]);
	EXPECT_EQ(late.count, early.count);
	EXPECT_EQ(said_of(&late, "node_is "), 2);
	EXPECT_EQ(said_of(&late, "context_create "), 2);
	EXPECT_EQ(said_of(&late, "hw_context_create "), 1);
	EXPECT_EQ(said_of(&late, "hw_queue_create "), 3);
	EXPECT_EQ(said_of(&late, "keyed_mutex_create "), 1);
	EXPECT_EQ(said_of(&late, "allocation_live "), 1 + COUNT);
	EXPECT_EQ(said_of(&late, "allocation_opened "), 2 * COUNT);
}

/* Whoever of them who have it gave it. */
LATE_TEST(inventory, says_the_last_name_that_was_given)
{
	struct dxg_resource *others =
		container_of(other.device->resources.next, struct dxg_resource, device_link);

	EXPECT_EQ(said_of(&early, "allocation_name "), 1);
	EXPECT_EQ(allocation_set_name(shared_as(others), "moon"), STATUS_SUCCESS);
	destroy_what_was_made();
	begin_late(true);
	EXPECT_EQ(said_of(&late, "allocation_name "), 1);
	EXPECT(said_with(&late, "allocation_name ", "moon"));
	EXPECT_EQ(allocation_set_name(shared_as(others), ""), STATUS_SUCCESS);
	begin_late(true);
	EXPECT_EQ(said_of(&late, "allocation_name "), 0);
}

/* Once, as the memory of the first who has it open; and in each trace anew. */
LATE_TEST(inventory, says_what_others_have_open_and_its_maker_no_more)
{
	destroy_what_was_made();
	for (int i = 0; i < 2; i++) {
		begin_late(true);
		EXPECT_EQ(said_of(&late, "allocation_live "), 1 + COUNT);
		EXPECT_EQ(lives_of(&late, &app), 1);
		EXPECT_EQ(lives_of(&late, &other), COUNT);
		EXPECT_EQ(said_of(&late, "allocation_opened 2 "), COUNT);
		EXPECT_EQ(said_of(&late, "allocation_opened 3 "), COUNT);
	}
	client_end(&other);
	begin_late(true);
	EXPECT_EQ(said_of(&late, "allocation_live "), 1 + COUNT);
	EXPECT_EQ(lives_of(&late, &third), COUNT);
	EXPECT_EQ(said_of(&late, "allocation_opened "), COUNT);
	client_begin(&other, 2);
}

/* Clients are in their calls: what they have changes under who would look. */
LATE_TEST(inventory, of_what_does_not_stand_still_says_who_there_is)
{
	begin_late(false);
	EXPECT_EQ(said_of(&late, "process_is "), 3);
	EXPECT_EQ(said_of(&late, "device_create "), 0);
	EXPECT_EQ(said_of(&late, "allocation_"), 0);
}

/* ---- work that is under way ---- */

static _Atomic bool is_open;   /* waits are over, and the GPU is done with what it gets */
static _Atomic uint32_t asked; /* to take something, or whether a wait is over */
static _Atomic uint32_t retired;

static NTSTATUS take(struct sched_packet *packet, const struct sched_submission *submission)
{
	atomic_fetch_add(&asked, 1);
	if (atomic_load(&is_open))
		sched_on_completed(packet->queue->sched, submission->node, submission->fence);
	return STATUS_SUCCESS;
}

static bool try_wait(struct sched_packet *packet)
{
	(void)packet;
	atomic_fetch_add(&asked, 1);
	return atomic_load(&is_open);
}

static void do_nothing(struct sched_packet *packet)
{
	(void)packet;
}

static void count(struct sched_packet *packet, enum sched_outcome outcome)
{
	(void)packet;
	(void)outcome;
	atomic_fetch_add(&retired, 1);
}

static const struct sched_packet_ops packet_ops = {
	.submit = take, .try_wait = try_wait, .signal = do_nothing, .retired = count
};

/* One the GPU has, a signal behind it, a wait that is not over, and one behind that. */
static struct sched_packet packets[] = {
	{ .kind = SCHED_WORK, .ops = &packet_ops },
	{ .kind = SCHED_SIGNAL, .ops = &packet_ops },
	{ .kind = SCHED_WAIT, .ops = &packet_ops },
	{ .kind = SCHED_WORK, .ops = &packet_ops },
};
static struct sched_packet hw_packet = { .kind = SCHED_WORK, .ops = &packet_ops, .progress = 1 };

static void await(const _Atomic uint32_t *number, uint32_t wanted)
{
	while (atomic_load(number) < wanted)
		clock_sleep_until(clock_now_ns() + 100000);
}

LATE_TEST(inventory, says_what_is_queued_and_what_the_hardware_has)
{
	struct dxg_context *context =
		container_of(app.device->contexts.next, struct dxg_context, owned.link);
	struct dxg_hw_context *hw_context =
		container_of(app.device->hw_contexts.next, struct dxg_hw_context, owned.link);
	struct dxg_hw_queue *hw_queue =
		container_of(hw_context->hw_queues.queues.next, struct dxg_hw_queue, owned.link);

	atomic_store(&is_open, false);
	atomic_store(&asked, 0);
	atomic_store(&retired, 0);
	record();
	for (unsigned i = 0; i < ARRAY_SIZE(packets); i++)
		EXPECT_EQ(sched_queue_submit(&context->queue, &packets[i], false), STATUS_SUCCESS);
	EXPECT_EQ(sched_queue_submit(&hw_queue->queue, &hw_packet, false), STATUS_SUCCESS);
	await(&asked, 3);
	read_back_what(&early, is_of_work);
	EXPECT_EQ(said_of(&early, "packet_queued "), 5);
	EXPECT_EQ(said_of(&early, "packet_submitted "), 1);
	EXPECT_EQ(said_of(&early, "hw_packet_submitted "), 1);
	EXPECT_EQ(said_of(&early, "queue_waits "), 1);
	for (int is_still = 0; is_still < 2; is_still++) {
		record();
		kernel_trace_inventory(&kernel, is_still);
		read_back_what(&late, is_of_work);
		for (unsigned i = 0; i < early.count || i < late.count; i++)
			EXPECT_STR(late.lines[i], early.lines[i]);
		EXPECT_EQ(late.count, early.count);
	}
	atomic_store(&is_open, true);
	sched_on_completed(adapter->sched, context->node, packets[0].fence);
	sched_queue_kick(&context->queue);
	atomic_store(hw_queue->body->slot.value, 1);
	sched_on_fence_written(adapter->sched);
	await(&retired, ARRAY_SIZE(packets) + 1);
}

/* As the clients' own, by handle and value, which stand before the packet. */
LATE_TEST(inventory, says_what_queued_packets_wait_for_and_signal)
{
	struct dxg_context *context =
		container_of(app.device->contexts.next, struct dxg_context, owned.link);
	const struct work_target target = context_target(context);
	struct dxg_sync_object *sync =
		container_of(app.device->sync_objects.next, struct dxg_sync_object, owned.link);
	const struct queue_sync_item item = { sync, 12 };
	const struct queue_sync_item next = { sync, 13 };

	record();
	EXPECT_EQ(queue_sync_wait(&target, &item, 1), STATUS_SUCCESS);
	EXPECT_EQ(queue_sync_signal(&target, 1,
				    &(struct queue_sync_signal){
					    .items = &next, .item_count = 1, .event = EVENT_NONE }),
		  STATUS_SUCCESS);
	while (!atomic_load(&context->queue.owner->pending))
		;
	sched_settle(adapter->sched);
	read_back_what(&early, is_of_work);
	EXPECT_EQ(said_of(&early, "queue_wait_for "), 1);
	EXPECT_EQ(said_of(&early, "queue_signal_of "), 1);
	record();
	kernel_trace_inventory(&kernel, true);
	read_back_what(&late, is_of_work);
	for (unsigned i = 0; i < early.count || i < late.count; i++)
		EXPECT_STR(late.lines[i], early.lines[i]);
	EXPECT_EQ(late.count, early.count);
	EXPECT(sync_body_signal(sync->body, 12, false));
	while (atomic_load(&context->queue.owner->pending))
		clock_sleep_until(clock_now_ns() + 100000);
}

/* ---- lists of packets ---- */

static bool is_of_lists(const struct trace_entry *entry)
{
	return entry->event == TRACE_packet_lists || entry->event == TRACE_packet_queued;
}

static struct dxg_context *make_painter(void)
{
	struct dxg_context *context;

	EXPECT_EQ(context_create(app.device, &(struct context_options){ 0 }, &context),
		  STATUS_SUCCESS);
	object_put(&context->object);
	return context;
}

/* Work that lists the first of the device's allocations, as one that it writes. */
static void paint(struct dxg_context *context)
{
	const struct render_item item = {
		container_of(app.device->allocations.next, struct dxg_allocation, owner_link), true
	};
	const struct render_request request = { .command_bytes = 16,
						.items = &item,
						.item_count = 1 };

	EXPECT_EQ(render_begin(context), STATUS_SUCCESS);
	EXPECT_EQ(render_submit(context, &request), STATUS_SUCCESS);
	render_end(context);
}

/* Before WDDM 2.0 the list of a packet brings in what it names. */
TEST(inventory, says_what_queued_packets_list_where_that_was_asked_for)
{
	static const char *const wishes[] = { "", "lists" };

	scene_begin({ "Model", "physical", 0 }, { "Version", NULL, 16386 });
	client_begin(&app, 1);
	struct dxg_context *context = make_painter();
	struct allocation_item items[1] = { 0 };
	struct allocation_request alone = { .device = app.device, .count = 1, .items = items };
	EXPECT_EQ(allocation_create(&alone), STATUS_SUCCESS);
	make_fences();
	struct dxg_sync_object *sync =
		container_of(app.device->sync_objects.next, struct dxg_sync_object, owned.link);
	const struct work_target target = context_target(context);
	const struct queue_sync_item gate = { sync, 12 };
	EXPECT_EQ(queue_sync_wait(&target, &gate, 1), STATUS_SUCCESS);
	paint(context);
	for (unsigned i = 0; i < 2; i++) {
		setenv("DXGK_TRACE_WITH", wishes[i], 1);
		record();
		kernel_trace_inventory(&kernel, true);
		read_back_what(&late, is_of_lists);
		EXPECT_EQ(said_of(&late, "packet_queued "), 2);
		EXPECT_EQ(said_of(&late, "packet_lists "), i);
	}
	unsetenv("DXGK_TRACE_WITH");
	EXPECT(sync_body_signal(sync->body, 12, false));
	while (atomic_load(&context->queue.owner->pending))
		clock_sleep_until(clock_now_ns() + 100000);
	finish_plain();
}

static bool is_of_paging(const struct trace_entry *entry)
{
	return entry->event == TRACE_paging_job_queued;
}

static _Atomic uint32_t jobs_done;

static void job_done(struct paging_job *job, NTSTATUS status)
{
	(void)job;
	EXPECT_EQ(status, STATUS_SUCCESS);
	atomic_fetch_add(&jobs_done, 1);
}

LATE_TEST(inventory, says_which_paging_jobs_are_under_way)
{
	struct paging_job job;
	struct paging_dependency dependency;

	atomic_store(&jobs_done, 0);
	paging_job_init(&job, adapter->pager);
	job.done = job_done;
	struct sched_wait *wait = paging_job_after_wait(&job, &dependency);
	record();
	paging_job_queue(&job);
	read_back_what(&early, is_of_paging);
	EXPECT_EQ(early.count, 1);
	record();
	kernel_trace_inventory(&kernel, true);
	read_back_what(&late, is_of_paging);
	EXPECT_EQ(late.count, 1);
	EXPECT_STR(late.lines[0], early.lines[0]);
	wait->over(wait);
	await(&jobs_done, 1);
	record();
	kernel_trace_inventory(&kernel, true);
	read_back_what(&late, is_of_paging);
	EXPECT_EQ(late.count, 0);
}

/* Nobody has it, and it takes its room: until the last copy of the handle is closed. In each trace anew, once. */
LATE_TEST(inventory, says_what_an_nt_handle_alone_keeps)
{
	struct allocation_item items[COUNT] = { 0 };
	struct allocation_request request = { .device = other.device,
					      .is_new_resource = true,
					      .is_shared = true,
					      .is_nt_shared = true,
					      .count = COUNT,
					      .items = items };
	const struct object_class *class;
	struct object *object = NULL;
	int handles[2];

	EXPECT_EQ(allocation_create(&request), STATUS_SUCCESS);
	EXPECT(handle_find(&other.process->handles, request.resource_handle, &resource_class,
			   &object, &class) == HANDLE_FOUND);
	struct dxg_resource *kept = container_of(object, struct dxg_resource, object);
	struct share *share = &kept->body->share;
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(share_create_nt(&kernel.shares, &share, NULL, 1,
					  &(struct share_nt_options){ .access = 1 }, &handles[i]),
			  STATUS_SUCCESS);
	begin_late(true);
	EXPECT_EQ(lives_of(&late, &other), COUNT);
	EXPECT_EQ(destruction_of_resource(kept, &(struct destruction_options){ 0 }),
		  STATUS_SUCCESS);
	object_put(&kept->object);
	for (int i = 0; i < 2; i++) {
		begin_late(true);
		EXPECT_EQ(lives_of(&late, &other), 0);
		EXPECT_EQ(said_with(&late, "allocation_live ", " 2 0 0 "), COUNT);
	}
	for (int i = 0; i < 2; i++)
		close(handles[i]);
	share_sweep(&kernel.shares);
	begin_late(true);
	EXPECT_EQ(said_with(&late, "allocation_live ", " 2 0 0 "), 0);
}

static void fence_gone(struct share *share)
{
	EXPECT_EQ(share->kind, SHARE_SYNC_OBJECT);
}

/* Whatever else a handle keeps has none. */
LATE_TEST(inventory, says_nothing_of_memory_for_a_fence_that_an_nt_handle_keeps)
{
	static struct share fence;
	struct share *share = &fence;
	int handle;

	EXPECT_EQ(share_init(&fence, &kernel.shares, 0, SHARE_SYNC_OBJECT, SHARE_NT, NULL,
			     fence_gone),
		  STATUS_SUCCESS);
	EXPECT_EQ(share_create_nt(&kernel.shares, &share, NULL, 1,
				  &(struct share_nt_options){ .access = 1 }, &handle),
		  STATUS_SUCCESS);
	begin_late(true);
	EXPECT_EQ(said_with(&late, "allocation_live ", " 0 0 "), 0);
	close(handle);
	share_sweep(&kernel.shares);
	share_close(&fence);
}

TEST_MAIN("object/inventory")
