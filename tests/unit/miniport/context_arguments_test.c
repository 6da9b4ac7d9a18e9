/* SPDX-License-Identifier: MIT */
/*
 * context_arguments_test.c - DxgkCbCreateContextAllocation and its family with one argument wrong at
 * a time, called as a driver calls them: refused, with a report that names the argument, and whoever
 * serves them hears nothing. What is wrong on one adapter may be right on another.
 */
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "miniport/callbacks.h"
#include "miniport/context_services.h"

#define MIB (UINT64_C(1) << 20)

static DXGKRNL_INTERFACE os;
static unsigned served;
static NTSTATUS served_status;
static struct miniport_context_allocation created;

static NTSTATUS serve_create(void *listener, const struct miniport_context_allocation *desc,
			     void **allocation_out)
{
	(void)listener;
	served++;
	created = *desc;
	*allocation_out = &served;
	return served_status;
}

static uint64_t serve_map(void *listener, const struct miniport_context_mapping *mapping,
			  bool may_wait)
{
	(void)listener;
	(void)mapping;
	(void)may_wait;
	served++;
	return 0x1000;
}

static NTSTATUS serve_update(void *listener, void *allocation, void *private_data,
			     uint32_t private_bytes, bool may_wait)
{
	(void)listener;
	(void)allocation;
	(void)private_data;
	(void)private_bytes;
	(void)may_wait;
	served++;
	return served_status;
}

static NTSTATUS serve_destroy(void *listener, void *allocation, bool may_wait)
{
	(void)listener;
	(void)allocation;
	(void)may_wait;
	served++;
	return served_status;
}

static NTSTATUS serve_reserve(void *listener, const struct miniport_reservation *reservation,
			      uint64_t *address_out)
{
	(void)listener;
	(void)reservation;
	served++;
	*address_out = 0x40000000;
	return served_status;
}

static NTSTATUS serve_hit(void *listener, void *kernel_context, bool is_collateral)
{
	(void)listener;
	(void)kernel_context;
	(void)is_collateral;
	served++;
	return served_status;
}

static NTSTATUS serve_signal(void *process, void *event, bool is_cpu_event)
{
	(void)process;
	(void)event;
	(void)is_cpu_event;
	served++;
	return served_status;
}

static const struct miniport_context_services everything = {
	.create = serve_create,
	.map = serve_map,
	.update = serve_update,
	.destroy = serve_destroy,
	.reserve_addresses = serve_reserve,
	.invalidate_hw_context = serve_hit,
	.signal_event = serve_signal,
};

static void begin_with(struct host *host, const struct miniport_setting *settings, size_t count)
{
	served = 0;
	served_status = STATUS_SUCCESS;
	host_init(host);
	EXPECT_EQ(host_start_settings(host, settings, count), STATUS_SUCCESS);
	host_listen();
	miniport_serve_contexts(&everything);
	callbacks_fill_contexts(&os);
}

static void begin(struct host *host)
{
	begin_with(host, NULL, 0);
}

static void begin_physical(struct host *host)
{
	const struct miniport_setting settings[] = { TEXT("Model", "physical") };

	begin_with(host, settings, 1);
}

static void end(struct host *host)
{
	miniport_serve_contexts(NULL);
	host_finish_reported(host);
}

#define BEGUN_TEST(suite, claim) TEST_ON(host, begin(&host), end(&host), suite, claim)

/* Refused for the driver's fault, and the report says for which. */
#define EXPECT_WRONG(call, words)                                                                  \
	do {                                                                                       \
		unsigned wrong_served = served;                                                    \
		unsigned wrong_count = host_reports.count;                                         \
		EXPECT_EQ(call, STATUS_INVALID_PARAMETER);                                         \
		EXPECT_EQ(served, wrong_served);                                                   \
		EXPECT_EQ(host_reports.count, wrong_count + 1);                                    \
		EXPECT_CONTAINS(host_reports.sentence, words);                                     \
	} while (0)

/* ---- create ---- */

static DXGKARGCB_CREATECONTEXTALLOCATION creation(struct host *host)
{
	return (DXGKARGCB_CREATECONTEXTALLOCATION){ .hAdapter = host->miniport,
						    .hDevice = (HANDLE)0x10000,
						    .hContext = (HANDLE)0x20000,
						    .Size = 4096,
						    .SupportedSegmentSet = 1 };
}

BEGUN_TEST(create, without_arguments_has_no_adapter)
{
	EXPECT_WRONG(os.DxgkCbCreateContextAllocation(NULL), "not the DeviceHandle");
}

BEGUN_TEST(create, is_not_for_the_systems_device_and_context)
{
	DXGKARGCB_CREATECONTEXTALLOCATION args = creation(host);
	args.hDevice = (HANDLE)&host->miniport->system_device;
	EXPECT_WRONG(os.DxgkCbCreateContextAllocation(&args), "hDevice");
	args = creation(host);
	args.hContext = (HANDLE)&host->miniport->system_context;
	EXPECT_WRONG(os.DxgkCbCreateContextAllocation(&args), "hContext");
}

TEST(create, has_no_addresses_where_the_adapter_has_none)
{
	struct host host;

	begin_physical(&host);
	DXGKARGCB_CREATECONTEXTALLOCATION args = creation(&host);
	EXPECT_EQ(os.DxgkCbCreateContextAllocation(&args), STATUS_SUCCESS);
	args.ContextAllocationFlags.MapGpuVirtualAddress = 1;
	EXPECT_WRONG(os.DxgkCbCreateContextAllocation(&args), "MapGpuVirtualAddress");
	end(&host);
}

/* The member is of WDDM 2.0: what an older driver leaves there means nothing. */
TEST(create, is_for_the_one_physical_adapter_there_is)
{
	const struct miniport_setting older[] = {
		NUMBER("Version", DXGKDDI_INTERFACE_VERSION_WDDM1_3), TEXT("Model", "physical")
	};
	struct host host;

	begin(&host);
	DXGKARGCB_CREATECONTEXTALLOCATION args = creation(&host);
	args.PhysicalAdapterIndex = 1;
	EXPECT_WRONG(os.DxgkCbCreateContextAllocation(&args), "PhysicalAdapterIndex");
	end(&host);

	begin_with(&host, older, 2);
	args = creation(&host);
	args.PhysicalAdapterIndex = 1;
	EXPECT_EQ(os.DxgkCbCreateContextAllocation(&args), STATUS_SUCCESS);
	end(&host);
}

/* A pointer for the driver is to memory that stays where it is. */
BEGUN_TEST(create, promises_a_pointer_only_to_memory_in_apertures)
{
	DXGKARGCB_CREATECONTEXTALLOCATION args = creation(host);
	args.Flags.CpuVisible = 1;
	args.Flags.Protected = 1;
	args.SupportedSegmentSet = 2; /* the aperture */
	EXPECT_EQ(os.DxgkCbCreateContextAllocation(&args), STATUS_SUCCESS);
	EXPECT(created.wants_pointer);
	args.SupportedSegmentSet = 3;
	EXPECT_EQ(os.DxgkCbCreateContextAllocation(&args), STATUS_SUCCESS);
	EXPECT(!created.wants_pointer);
	args.SupportedSegmentSet = 2;
	args.Flags.Protected = 0;
	EXPECT_EQ(os.DxgkCbCreateContextAllocation(&args), STATUS_SUCCESS);
	EXPECT(!created.wants_pointer);
}

/* ---- map, update, destroy ---- */

TEST(map, wants_addresses_arguments_and_pages_that_there_can_be)
{
	struct host host;
	DXGKARGCB_MAPCONTEXTALLOCATION args = { .hAllocation = (HANDLE)0x40000, .SizeInPages = 1 };

	begin(&host);
	EXPECT_EQ(os.DxgkCbMapContextAllocation(host.miniport, &args), 0x1000);
	EXPECT_EQ(os.DxgkCbMapContextAllocation(host.miniport, NULL), 0);
	EXPECT_CONTAINS(host_reports.sentence, "NULL");
	args.SizeInPages = UINT64_C(1) << 53; /* of which the bytes are not to be counted */
	EXPECT_EQ(os.DxgkCbMapContextAllocation(host.miniport, &args), 0);
	EXPECT_CONTAINS(host_reports.sentence, "range of pages");
	EXPECT_EQ(served, 1);
	end(&host);

	begin_physical(&host);
	args.SizeInPages = 1;
	EXPECT_EQ(os.DxgkCbMapContextAllocation(host.miniport, &args), 0);
	EXPECT_CONTAINS(host_reports.sentence, "no virtual addresses");
	EXPECT_EQ(served, 0);
	end(&host);
}

BEGUN_TEST(update, wants_the_data_it_speaks_of)
{
	int data = 1;
	DXGKARGCB_UPDATECONTEXTALLOCATION args = { .hAllocation = (HANDLE)0x40000 };

	EXPECT_WRONG(os.DxgkCbUpdateContextAllocation(host->miniport, NULL), "NULL");
	EXPECT_EQ(os.DxgkCbUpdateContextAllocation(host->miniport, &args), STATUS_SUCCESS);
	args.PrivateDriverDataSize = sizeof(data);
	EXPECT_WRONG(os.DxgkCbUpdateContextAllocation(host->miniport, &args), "pPrivateDriverData");
	args.pPrivateDriverData = &data;
	EXPECT_EQ(os.DxgkCbUpdateContextAllocation(host->miniport, &args), STATUS_SUCCESS);
}

BEGUN_TEST(destroy, wants_an_allocation)
{
	EXPECT_WRONG(os.DxgkCbDestroyContextAllocation(host->miniport, NULL), "hAllocation");
}

BEGUN_TEST(waiting, where_the_work_itself_is_done_is_reported)
{
	served_status = STATUS_INVALID_DEVICE_REQUEST;
	DXGKARGCB_UPDATECONTEXTALLOCATION args = { .hAllocation = (HANDLE)0x40000 };
	EXPECT_EQ(os.DxgkCbUpdateContextAllocation(host->miniport, &args),
		  STATUS_INVALID_DEVICE_REQUEST);
	EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_DEADLOCK);
}

/* ---- addresses of a process ---- */

static void (*in_create_process)(struct host *host);

static void hear(struct host *host, const char *line)
{
	if (in_create_process && strstr(line, "CreateProcess"))
		in_create_process(host);
}

/* What is said inside DxgkDdiCreateProcess; the driver is between its two lines there. */
static void create_process(struct host *host, void (*act)(struct host *host))
{
	int cookie;
	void *process = NULL;

	host->note_hook = hear;
	in_create_process = act;
	EXPECT_EQ(miniport_create_process(host->miniport, host->client, &cookie, "app", &process),
		  STATUS_SUCCESS);
	in_create_process = NULL;
	miniport_destroy_process(host->miniport, host->client, process);
}

static NTSTATUS reserve(struct host *host, DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE args)
{
	return os.DxgkCbReserveGpuVirtualAddressRange(host->miniport, &args);
}

static DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE reservation(void)
{
	return (DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE){ .hDxgkProcess = (HANDLE)0x50000,
							  .SizeInBytes = 2 * MIB };
}

static void reserve_what_is_wrong(struct host *host)
{
	DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE args = reservation();

	EXPECT_WRONG(os.DxgkCbReserveGpuVirtualAddressRange(host->miniport, NULL), "NULL");
	args.hDxgkProcess = NULL;
	EXPECT_WRONG(reserve(host, args), "hDxgkProcess");
	args = reservation();
	args.Reserved = 1;
	EXPECT_WRONG(reserve(host, args), "reserved");
	args = reservation();
	args.SizeInBytes = 0;
	EXPECT_WRONG(reserve(host, args), "whole page tables");
	args.SizeInBytes = 3 * MIB;
	EXPECT_WRONG(reserve(host, args), "whole page tables");
	args = reservation();
	args.BaseAddress = MIB;
	EXPECT_WRONG(reserve(host, args), "whole page tables");
	args = reservation();
	args.Alignment = 3000;
	EXPECT_WRONG(reserve(host, args), "Alignment");
	EXPECT_EQ(served, 0);
	args.Alignment = 4096;
	EXPECT_EQ(reserve(host, args), STATUS_SUCCESS);
	EXPECT_EQ(served, 1);
}

static void reserve_for_nobody(struct host *host)
{
	static const struct miniport_context_services nothing;

	miniport_serve_contexts(&nothing);
	EXPECT_EQ(reserve(host, reservation()), STATUS_NOT_SUPPORTED);
	EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_NOT_BUILT);
}

BEGUN_TEST(reserve, wants_whole_page_tables_of_a_process)
{
	create_process(host, reserve_what_is_wrong);
	EXPECT_EQ(served, 1);
	create_process(host, reserve_for_nobody);
	EXPECT_EQ(served, 1);
	EXPECT_EQ(os.DxgkCbReserveGpuVirtualAddressRange(NULL, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_HANDLE);
}

TEST(reserve, is_not_where_the_adapter_has_no_addresses)
{
	struct host host;

	begin_physical(&host);
	EXPECT_WRONG(reserve(&host, reservation()), "no virtual addresses");
	end(&host);
}

/* ---- news ---- */

BEGUN_TEST(invalidate, wants_a_context_and_known_flags)
{
	DXGKARGCB_INVALIDATEHWCONTEXT args = { .hAdapter = host->miniport };
	EXPECT_WRONG(os.DxgkCbInvalidateHwContext(NULL), "not the DeviceHandle");
	EXPECT_WRONG(os.DxgkCbInvalidateHwContext(&args), "hHwContext");
	args.hHwContext = (HANDLE)0x60000;
	args.Flags.Value = 2;
	EXPECT_WRONG(os.DxgkCbInvalidateHwContext(&args), "reserved");
}

BEGUN_TEST(signal, wants_an_event_and_known_flags)
{
	DXGKARGCB_SIGNALEVENT args = { 0 };

	EXPECT_WRONG(os.DxgkCbSignalEvent(NULL), "NULL");
	EXPECT_WRONG(os.DxgkCbSignalEvent(&args), "hEvent");
	args.hEvent = (HANDLE)0x70000;
	args.Reserved = 1;
	EXPECT_WRONG(os.DxgkCbSignalEvent(&args), "reserved");
	args.Reserved = 0;
	/* Of a kind that whoever serves it does not have. */
	served_status = STATUS_NOT_SUPPORTED;
	EXPECT_EQ(os.DxgkCbSignalEvent(&args), STATUS_NOT_SUPPORTED);
	EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_NOT_BUILT);
}

TEST_MAIN("miniport/context_arguments")
