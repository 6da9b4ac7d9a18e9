/* SPDX-License-Identifier: MIT */
/*
 * context_callbacks_test.c - memory that a driver asks the kernel to own: what reaches whoever
 * serves it, what does not, and that the two can wait for each other.
 */
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/clock.h"
#include "base/thread.h"
#include "miniport/context_services.h"
#include "miniport/work.h"

static struct {
	unsigned calls;
	void *listener;
	struct miniport_context_allocation creation;
	struct miniport_context_mapping mapping;
	struct miniport_reservation reservation;
	void *allocation;
	void *process;
	uint32_t data;
	bool flag;
	NTSTATUS status;
} served;

static int the_allocation;

static NTSTATUS create(void *listener, const struct miniport_context_allocation *desc,
		       void **allocation_out)
{
	served.calls++;
	served.listener = listener;
	served.creation = *desc;
	if (NT_SUCCESS(served.status))
		*allocation_out = &the_allocation;
	return served.status;
}

static uint64_t map(void *listener, const struct miniport_context_mapping *mapping, bool may_wait)
{
	EXPECT(may_wait);
	served.calls++;
	served.listener = listener;
	served.mapping = *mapping;
	return NT_SUCCESS(served.status) ? 0x700000 : 0;
}

static NTSTATUS update(void *listener, void *allocation, void *data, uint32_t bytes, bool may_wait)
{
	EXPECT(may_wait);
	served.calls++;
	served.listener = listener;
	served.allocation = allocation;
	EXPECT_EQ(bytes, sizeof(served.data));
	memcpy(&served.data, data, bytes);
	return served.status;
}

static NTSTATUS destroy(void *listener, void *allocation, bool may_wait)
{
	EXPECT(may_wait);
	served.calls++;
	served.listener = listener;
	served.allocation = allocation;
	return served.status;
}

static NTSTATUS reserve(void *listener, const struct miniport_reservation *reservation,
			uint64_t *address_out)
{
	served.calls++;
	served.listener = listener;
	served.reservation = *reservation;
	*address_out = 0x40000000;
	return served.status;
}

static NTSTATUS invalidate(void *listener, void *context, bool is_collateral)
{
	served.calls++;
	served.listener = listener;
	served.allocation = context;
	served.flag = is_collateral;
	return served.status;
}

static NTSTATUS signal_event(void *process, void *event, bool is_cpu_event)
{
	served.calls++;
	served.process = process;
	served.allocation = event;
	served.flag = is_cpu_event;
	return served.status;
}

static const struct miniport_context_services services = {
	.create = create,
	.map = map,
	.update = update,
	.destroy = destroy,
	.reserve_addresses = reserve,
	.invalidate_hw_context = invalidate,
	.signal_event = signal_event,
};

static void begin_with(struct host *host, const struct miniport_context_services *table)
{
	memset(&served, 0, sizeof(served));
	host_init(host);
	EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
	host_listen();
	miniport_serve_contexts(table);
}

static void end(struct host *host)
{
	miniport_serve_contexts(NULL);
	host_finish_reported(host);
}

static NTSTATUS call(struct host *host, struct recorder_escape *escape)
{
	EXPECT_EQ(host_escape(host, escape), STATUS_SUCCESS);
	return (NTSTATUS)escape->result;
}

/* Handles are addresses; these stand for a device and a context. */
enum { DEVICE = 0x10000, CONTEXT = 0x20000, COOKIE = 0x30000, ALLOCATION = 0x40000 };

static struct recorder_escape creation(void)
{
	return (struct recorder_escape){
		.command = RECORDER_CONTEXT_CREATE,
		.values = { DEVICE, CONTEXT, COOKIE, 5000, 8192, 1, 2, 1 },
	};
}

static struct recorder_escape mapping(void)
{
	return (struct recorder_escape){
		.command = RECORDER_CONTEXT_MAP,
		.values = { ALLOCATION, 0, 0x1000, 0x100000, 1, 2, 1, 9 },
	};
}

/* ---- everybody ---- */

static const struct recorder_escape everybody[] = {
	{ .command = RECORDER_CONTEXT_CREATE, .values = { DEVICE, CONTEXT, 0, 4096, 0, 1, 0, 1 } },
	{ .command = RECORDER_CONTEXT_MAP, .values = { ALLOCATION, 0, 0, 0, 0, 1, 1, 0 } },
	{ .command = RECORDER_CONTEXT_UPDATE, .values = { ALLOCATION } },
	{ .command = RECORDER_CONTEXT_DESTROY, .values = { ALLOCATION } },
	{ .command = RECORDER_INVALIDATE, .values = { CONTEXT } },
	{ .command = RECORDER_SIGNAL, .values = { DEVICE, CONTEXT } },
};

TEST(everybody, refuses_honestly_when_nobody_serves)
{
	for (size_t i = 0; i < ARRAY_SIZE(everybody); i++) {
		struct host host;
		struct recorder_escape escape = everybody[i];
		bool is_map = escape.command == RECORDER_CONTEXT_MAP;

		begin_with(&host, NULL);
		EXPECT_EQ(call(&host, &escape),
			  is_map ? STATUS_UNSUCCESSFUL : STATUS_NOT_SUPPORTED);
		if (is_map || escape.command == RECORDER_CONTEXT_CREATE)
			EXPECT_EQ(escape.values[0], 0);
		EXPECT_EQ(host_reports.count, 1);
		EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_NOT_BUILT);
		end(&host);
	}
}

TEST(everybody, is_for_passive_level_but_for_events)
{
	for (size_t i = 0; i < ARRAY_SIZE(everybody); i++) {
		struct host host;
		struct recorder_escape escape = everybody[i];

		begin_with(&host, &services);
		escape.irql = escape.command == RECORDER_SIGNAL ? 5 : DISPATCH_LEVEL;
		EXPECT(!NT_SUCCESS(call(&host, &escape)));
		EXPECT_EQ(served.calls, 0);
		EXPECT_EQ(host_reports.rule, RULE_NT_IRQL_HIGH);
		end(&host);
	}
}

TEST(everybody, passes_on_what_those_who_serve_say)
{
	for (size_t i = 0; i < ARRAY_SIZE(everybody); i++) {
		struct host host;
		struct recorder_escape escape = everybody[i];

		begin_with(&host, &services);
		EXPECT_EQ(call(&host, &escape), STATUS_SUCCESS);
		escape = everybody[i];
		served.status = STATUS_GRAPHICS_NO_VIDEO_MEMORY;
		EXPECT_EQ((uint32_t)call(&host, &escape),
			  escape.command == RECORDER_CONTEXT_MAP
				  ? (uint32_t)STATUS_UNSUCCESSFUL
				  : (uint32_t)STATUS_GRAPHICS_NO_VIDEO_MEMORY);
		EXPECT_EQ(served.calls, 2);
		if (escape.command != RECORDER_SIGNAL)
			EXPECT(served.listener == &host);
		if (escape.command == RECORDER_CONTEXT_CREATE)
			EXPECT_EQ(escape.values[0], 0);
		EXPECT_EQ(host_reports.count, 0);
		end(&host);
	}
}

#define BEGUN_TEST(suite, claim, ...) TEST_ON(host, __VA_ARGS__, end(&host), suite, claim)

/* ---- one by one ---- */

BEGUN_TEST(create, every_field_arrives, begin_with(&host, &services))
{
	struct recorder_escape escape = creation();
	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	EXPECT_EQ(escape.values[0], (uintptr_t)&the_allocation);
	const struct miniport_context_allocation *seen = &served.creation;
	EXPECT(seen->kernel_device == (void *)DEVICE && seen->kernel_context == (void *)CONTEXT &&
	       seen->driver_allocation == (void *)COOKIE);
	EXPECT(seen->size_bytes == 8192 && seen->alignment_bytes == 8192);
	EXPECT(seen->supported_segments == 1 && seen->eviction_segments == 2);
	EXPECT(seen->flags == 1 && seen->is_cpu_visible && !seen->is_accessed_physically &&
	       !seen->wants_pointer && !seen->wants_residency_news);

	/* CpuVisible and Protected, in an aperture only: the driver is owed a pointer. */
	DXGK_ALLOCATIONINFOFLAGS flags = { .CpuVisible = 1, .Protected = 1 };
	escape = creation();
	escape.values[5] = 2;
	escape.values[7] = flags.Value;
	escape.flags = 2; /* MapGpuVirtualAddress */
	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	EXPECT(seen->wants_pointer);

	/* Shared: for a device, and no context. */
	escape = creation();
	escape.flags = 1;
	escape.values[1] = 0;
	escape.values[4] = 0;
	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	EXPECT(!seen->kernel_context && seen->alignment_bytes == 4096);
	EXPECT_EQ(host_reports.count, 0);
}

TEST(create, what_is_not_in_order_is_not_passed_on)
{
	static const struct {
		unsigned index; /* of values; 8: flags */
		unsigned long long value;
		const char *words;
	} cases[] = {
		{ 0, 0, "hDevice" },
		{ 1, 0, "hContext" },
		{ 8, 1, "SharedAcrossContexts" },
		{ 8, 4, "reserved" },
		{ 3, 0, "Size" },
		{ 3, UINT64_MAX - 10, "Size" },
		{ 4, 3000, "Alignment" },
		{ 5, 0, "SupportedSegmentSet is empty" },
		{ 5, 1 << 20, "names a segment there is not" },
		{ 6, 1, "EvictionSegmentSet" },
		{ 7, 1u << 31, "Flags" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host;
		struct recorder_escape escape = creation();

		begin_with(&host, &services);
		if (cases[i].index == 8)
			escape.flags = (unsigned)cases[i].value;
		else
			escape.values[cases[i].index] = cases[i].value;
		EXPECT_EQ(call(&host, &escape), STATUS_INVALID_PARAMETER);
		EXPECT_EQ(served.calls, 0);
		EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_ARGUMENT);
		EXPECT_CONTAINS(host_reports.sentence, cases[i].words);
		end(&host);
	}
}

BEGUN_TEST(map, every_field_arrives, begin_with(&host, &services))
{
	struct recorder_escape escape = mapping();
	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	EXPECT_EQ(escape.values[0], 0x700000);
	const struct miniport_context_mapping *seen = &served.mapping;
	EXPECT(seen->allocation == (void *)ALLOCATION && seen->base_address == 0 &&
	       seen->lowest_address == 0x1000 && seen->end_address == 0x100000 &&
	       seen->first_page == 1 && seen->page_count == 2 && seen->protection == 1 &&
	       seen->driver_protection == 9);
}

TEST(map, what_is_not_in_order_is_not_passed_on)
{
	static const struct {
		unsigned index;
		unsigned long long value;
	} cases[] = {
		{ 0, 0 },                  /* no allocation */
		{ 1, 0x1001 },             /* within a page */
		{ 1, UINT64_MAX - 0xfff }, /* no room behind it */
		{ 3, 0x1000 },             /* not above the lowest */
		{ 4, UINT64_MAX },         /* no such page */
		{ 5, 0 },                  /* nothing */
		{ 6, 4 },                  /* Zero */
		{ 6, 8 },                  /* NoAccess */
		{ 6, 1 << 10 },            /* reserved */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct host host;
		struct recorder_escape escape = mapping();

		begin_with(&host, &services);
		escape.values[cases[i].index] = cases[i].value;
		EXPECT_EQ(call(&host, &escape), STATUS_UNSUCCESSFUL);
		EXPECT(served.calls == 0 && escape.values[0] == 0);
		EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_ARGUMENT);
		end(&host);
	}
}

BEGUN_TEST(update, the_private_data_arrives, begin_with(&host, &services))
{
	struct recorder_escape escape = { .command = RECORDER_CONTEXT_UPDATE,
					  .fence = 0xfeed,
					  .values = { ALLOCATION } };

	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	EXPECT(served.allocation == (void *)ALLOCATION && served.data == 0xfeed);
	escape.values[0] = 0;
	EXPECT_EQ(call(host, &escape), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(served.calls, 1);
}

BEGUN_TEST(news, arrives, begin_with(&host, &services))
{
	struct recorder_escape escape = { .command = RECORDER_INVALIDATE,
					  .flags = 1,
					  .values = { CONTEXT } };

	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	EXPECT(served.allocation == (void *)CONTEXT && served.flag);
	escape.flags = 2;
	EXPECT_EQ(call(host, &escape), STATUS_INVALID_PARAMETER);
	escape = (struct recorder_escape){ .command = RECORDER_SIGNAL,
					   .irql = DISPATCH_LEVEL,
					   .flags = 1,
					   .values = { 0, CONTEXT } };
	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	EXPECT(!served.process && served.allocation == (void *)CONTEXT && served.flag);
	escape.values[1] = 0;
	EXPECT_EQ(call(host, &escape), STATUS_INVALID_PARAMETER);
	/* A CPU event is of no process. */
	escape.values[0] = DEVICE;
	escape.values[1] = CONTEXT;
	EXPECT_EQ(call(host, &escape), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(served.calls, 2);
	/* One that is not there is the driver's mistake. */
	escape.values[0] = 0;
	served.status = STATUS_INVALID_HANDLE;
	EXPECT_EQ(call(host, &escape), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(served.calls, 3);
}

/* ---- addresses ---- */

static void reserve_in_create_process(uint32_t size_mib, const char *note)
{
	struct host host;
	int cookie;
	void *process = NULL;

	memset(&served, 0, sizeof(served));
	host_init(&host);
	miniport_serve_contexts(&services);
	host_listen();
	EXPECT_EQ(host_start(&host, NUMBER("ReserveMiB", size_mib)), STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_process(host.miniport, host.client, &cookie, "app", &process),
		  STATUS_SUCCESS);
	EXPECT_CONTAINS(host.notes, note);
	if (served.calls) {
		EXPECT_EQ(served.calls, 2); /* the kernel's own process, and this one */
		EXPECT(served.reservation.kernel_process == &cookie);
		EXPECT_EQ(served.reservation.size_bytes, (uint64_t)size_mib << 20);
		EXPECT(!served.reservation.is_mappable_by_client);
		EXPECT_EQ(host_reports.count, 0);
	}
	miniport_destroy_process(host.miniport, host.client, process);
	end(&host);
}

TEST(reserve, is_for_create_process_and_whole_page_tables)
{
	struct host host;
	struct recorder_escape escape = { .command = RECORDER_RESERVE,
					  .values = { DEVICE, 2 << 20 } };

	/* A leaf table of 512 entries is 2 MiB. */
	reserve_in_create_process(4, "ReserveGpuVirtualAddressRange irql=0 status=0 "
				     "start=1073741824\n");
	EXPECT_EQ(served.calls, 2);
	reserve_in_create_process(3, "ReserveGpuVirtualAddressRange irql=0 status=3221225485");
	EXPECT_EQ(served.calls, 0);
	begin_with(&host, &services);
	EXPECT_EQ(call(&host, &escape), STATUS_INVALID_PARAMETER);
	EXPECT_CONTAINS(host_reports.sentence, "outside DxgkDdiCreateProcess");
	EXPECT_EQ(served.calls, 0);
	end(&host);
}

/* ---- waiting for each other ---- */

static struct host *waiting_host;

static void build(void *argument)
{
	static const struct miniport_paging_op op = {
		.kind = MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION,
	};
	uint8_t *memory = aligned_alloc(4096, 4096);
	uint8_t private_data[64];
	struct miniport_paging_buffer buffer = { .memory = memory,
						 .size_bytes = 4096,
						 .private_data = private_data,
						 .private_bytes = 64 };
	uint32_t multipass = 0;

	if (!NT_SUCCESS(miniport_build_paging(waiting_host->miniport, &op, &buffer, &multipass)) ||
	    !NT_SUCCESS(miniport_submit(
		    waiting_host->miniport, true,
		    &(struct miniport_submission){ .node = 1, .fence = 1, .is_paging = true })))
		abort();
	free(memory);
}

static void want_to_be_alone(void *argument)
{
	struct recorder_escape escape = { .command = RECORDER_NOTHING };
	struct miniport_client *client = argument;

	if (!NT_SUCCESS(miniport_escape(waiting_host->miniport, client,
					&(struct miniport_escape_desc){
						.flags = 1, /* HardwareAccess: level 2 */
						.private_data = &escape,
						.private_bytes = sizeof(escape),
					})))
		abort();
}

static struct thread *alone;
static struct miniport_client *alone_client;

/*
 * The thread that called is in the driver. Another one waits to be alone there. And the kernel's
 * own has to get in, or nobody ever goes on.
 */
static NTSTATUS update_by_paging(void *listener, void *allocation, void *data, uint32_t bytes,
				 bool may_wait)
{
	struct thread *builder;

	if (!alone) {
		if (!NT_SUCCESS(thread_create("alone", want_to_be_alone, alone_client, &alone)))
			abort();
		clock_sleep_until(clock_deadline(10 * NS_PER_MS));
	}
	if (!NT_SUCCESS(thread_create("builder", build, NULL, &builder)))
		abort();
	thread_join(builder);
	return STATUS_SUCCESS;
}

static NTSTATUS destroy_and_submit(void *listener, void *allocation, bool may_wait)
{
	/* The scheduler submits on the thread that brings it work: this one, which is in the
	   driver already. */
	return miniport_submit(
		waiting_host->miniport, true,
		&(struct miniport_submission){ .node = 0, .fence = 2, .is_context_switch = true });
}

static const struct miniport_context_services waiting = {
	.update = update_by_paging,
	.destroy = destroy_and_submit,
};

BEGUN_TEST(waiting, a_thread_in_the_driver_may_wait_for_paging_though_another_wants_to_be_alone,
	   begin_with(&host, &waiting))
{
	struct recorder_escape escape = { .command = RECORDER_CONTEXT_UPDATE,
					  .values = { ALLOCATION } };

	waiting_host = host;
	alone = NULL;
	EXPECT_EQ(miniport_client_create(nt_process_begin((uint32_t)getpid()), &alone_client),
		  STATUS_SUCCESS);
	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	thread_join(alone);
	miniport_client_destroy(alone_client);
	EXPECT_CONTAINS(host->notes, "BuildPagingBuffer irql=0 operation=13");
}

BEGUN_TEST(waiting, a_thread_in_a_callback_may_enter_the_driver_again, begin_with(&host, &waiting))
{
	struct recorder_escape escape = { .command = RECORDER_CONTEXT_DESTROY,
					  .values = { ALLOCATION } };

	waiting_host = host;
	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
	EXPECT_CONTAINS(host->notes, "SubmitCommandVirtual irql=2 node=0 fence=2\n");
	EXPECT_EQ(host_reports.count, 0);
	/* And has left it as before: the same process gets in again. */
	EXPECT_EQ(call(host, &escape), STATUS_SUCCESS);
}

TEST_MAIN("miniport/context_callbacks")
