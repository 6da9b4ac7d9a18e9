/* SPDX-License-Identifier: MIT */
/*
 * stage.c - see stage.h.
 */
#include "stage.h"

#include <ddk/ntddk.h>

DRIVER_INITIALIZATION_DATA real;
struct miniport *bent;

static _Atomic unsigned reports[RULE_COUNT];
static stage_bend *bend_now;

static NTSTATUS APIENTRY agree(PVOID context, DXGK_SURPRISE_REMOVAL_TYPE type)
{
	(void)context;
	(void)type;
	return STATUS_SUCCESS;
}

void stage_bend_removable(DRIVER_INITIALIZATION_DATA *driver)
{
	driver->DxgkDdiNotifySurpriseRemoval = agree;
}

unsigned stage_reports(enum rule rule)
{
	return reports[rule];
}

static void count(void *context, const struct nt_report_news *news)
{
	(void)context;
	reports[news->rule]++;
}

/* Inside of AddDevice: the first entry point there is, and before the driver says anything about itself. */
static void on_note(struct host *host, const char *line)
{
	(void)host;
	if (strncmp(line, "AddDevice ", 10) != 0)
		return;
	bent = ddi_innermost->miniport;
	real = bent->driver;
	if (bend_now)
		bend_now(&bent->driver);
}

static void start_once(void)
{
	static bool is_started;

	if (!is_started)
		verify_start();
	is_started = true;
}

void stage_play(stage_bend *bend, stage_act *act, const struct miniport_setting *settings,
		size_t setting_count)
{
	static struct stage stage;

	start_once();
	stage = (struct stage){ .is_bent = bend != NULL };
	host_init(&stage.host);
	memset(reports, 0, sizeof(reports));
	nt_report_listen(count, NULL);
	bend_now = bend;
	stage.host.note_hook = on_note;
	stage.start_status = host_start_settings(&stage.host, settings, setting_count);
	act(&stage);
	host_stop(&stage.host);
	bend_now = NULL;
	host_finish_reported(&stage.host);
}

void stage_expect(enum rule rule, stage_bend *bend, stage_act *act,
		  const struct miniport_setting *settings, size_t setting_count, const char *where)
{
	stage_play(NULL, act, settings, setting_count);
	if (stage_reports(rule) != 0)
		print_error("%s: %s was reported of a driver that keeps it\n", where,
			    rule_id(rule));
	EXPECT_EQ(stage_reports(rule), 0);
	stage_play(bend, act, settings, setting_count);
	if (stage_reports(rule) == 0)
		print_error("%s: %s was not reported\n", where, rule_id(rule));
	EXPECT(stage_reports(rule) > 0);
}

/* ---- what is done on many stages ---- */

void do_nothing(struct stage *stage)
{
	(void)stage;
}

void use_objects(struct stage *stage)
{
	struct host *host = &stage->host;
	struct miniport_context_info info;
	void *process = NULL;
	void *device = NULL;

	if (!NT_SUCCESS(miniport_create_process(host->miniport, host->client, stage, "someone",
						&process)))
		return;
	if (NT_SUCCESS(miniport_create_device(host->miniport, host->client, &device, process,
					      &device))) {
		struct miniport_context_desc desc = { .kernel_handle = &info,
						      .driver_device = device,
						      .engine_mask = 1,
						      .is_virtual = true };

		if (NT_SUCCESS(miniport_create_context(host->miniport, host->client, &desc, &info)))
			miniport_destroy_context(host->miniport, host->client, info.driver_context);
		miniport_destroy_device(host->miniport, host->client, device);
	}
	miniport_destroy_process(host->miniport, host->client, process);
}

void *stage_pool(size_t size_bytes)
{
	void *memory = ExAllocatePoolWithTag(NonPagedPoolNx, size_bytes, STAGE_TAG);

	EXPECT(memory);
	return memory;
}

DXGKRNL_INTERFACE *stage_interface(void)
{
	return &bent->interface;
}

void stage_escape(struct stage *stage, struct recorder_escape escape)
{
	EXPECT_EQ(host_escape(&stage->host, &escape), STATUS_SUCCESS);
	nt_dpc_flush();
}

void stage_interrupt(struct stage *stage, uint32_t type, uint32_t node, uint32_t fence)
{
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_INTERRUPT,
						      .type = type,
						      .node = node,
						      .fence = fence });
}

void stage_submit(struct stage *stage, const struct host_context *context, uint32_t node,
		  uint32_t fence)
{
	EXPECT_EQ(miniport_submit(
			  stage->host.miniport, true,
			  &(struct miniport_submission){
				  .driver_context = context ? context->info.driver_context : NULL,
				  .driver_device = context ? context->device : NULL,
				  .node = node,
				  .fence = fence,
				  .gpu_address = 0x10000 + fence,
				  .size_bytes = 64,
				  .is_paging = !context,
			  }),
		  STATUS_SUCCESS);
}
