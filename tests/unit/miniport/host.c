/* SPDX-License-Identifier: MIT */
/*
 * host.c - see host.h.
 */
#include "base/machine.h"
#include "support/failing.h"
#include "host.h"

#include "nt/irql.h"
#include "nt/nt.h"
#include "nt/report.h"

static struct host *current;

__attribute__((visibility("default"))) void recorder_note(const char *line)
{
	struct host *host = current;
	size_t length = strlen(line);

	if (!host)
		return;
	if (host->note_hook)
		host->note_hook(host, line);
	lock_acquire(&host->lock);
	if (host->notes_used + length + 2 < sizeof(host->notes)) {
		memcpy(host->notes + host->notes_used, line, length);
		host->notes_used += length;
		host->notes[host->notes_used++] = '\n';
		host->notes[host->notes_used] = '\0';
	}
	lock_release(&host->lock);
}

static void remember(void *listener, const struct host_event *event)
{
	struct host *host = listener;

	lock_acquire(&host->lock);
	if (host->event_count < HOST_EVENTS)
		host->events[host->event_count++] = *event;
	lock_release(&host->lock);
}

static void completed(void *listener, uint32_t node, uint64_t fence)
{
	remember(listener,
		 &(struct host_event){
			 .kind = 'c', .node = node, .fence = fence, .irql = nt_irql_current() });
}

static void preempted(void *listener, uint32_t node, uint64_t fence, uint64_t last_completed)
{
	remember(listener, &(struct host_event){ .kind = 'p',
						 .node = node,
						 .fence = fence,
						 .last_completed = last_completed,
						 .irql = nt_irql_current() });
}

static void faulted(void *listener, const struct miniport_fault *fault)
{
	remember(listener, &(struct host_event){ .kind = 'f',
						 .node = fault->node,
						 .fence = fault->fence,
						 .irql = nt_irql_current(),
						 .fault = *fault });
}

static void written(void *listener, uint32_t node)
{
	remember(listener,
		 &(struct host_event){ .kind = 'w', .node = node, .irql = nt_irql_current() });
}

static void timed_out(void *listener, uint32_t node)
{
	remember(listener,
		 &(struct host_event){ .kind = 't', .node = node, .irql = nt_irql_current() });
}

static void suspended(void *listener, uint64_t fence)
{
	remember(listener,
		 &(struct host_event){ .kind = 's', .fence = fence, .irql = nt_irql_current() });
}

static const struct miniport_events events = {
	.fence_completed = completed,
	.fence_preempted = preempted,
	.node_faulted = faulted,
	.fence_written = written,
	.node_timed_out = timed_out,
	.context_suspended = suspended,
};

void host_init(struct host *host)
{
	static bool is_warm;

	if (!is_warm) {
		/* What is made at first use and kept is not a leak. */
		is_warm = true;
		EXPECT_EQ(nt_start(), STATUS_SUCCESS);
		host_init(host);
		EXPECT_EQ(host_start_settings(host, NULL, 0), STATUS_SUCCESS);
		host_finish(host);
	}
	memset(host, 0, sizeof(*host));
	lock_init(&host->lock, LOCK_RANK_LEAF, "host");
	host->before = mem_usage();
	current = host;
}

void host_finish(struct host *host)
{
	static bool is_measured;

	host_stop(host);
	current = NULL;
	EXPECT(strstr(host->notes, "WRONG") == NULL);
	if (is_measured) {
		EXPECT_EQ(mem_usage().blocks, host->before.blocks);
		EXPECT_EQ(mem_usage().bytes, host->before.bytes);
	}
	is_measured = true;
}

NTSTATUS host_start_config(struct host *host, const struct miniport_config *config)
{
	NTSTATUS status = miniport_start(config, &events, host, &host->miniport);

	host->refusal = (struct dxgk_refusal){ .size_bytes = sizeof(host->refusal) };
	if (NT_SUCCESS(status))
		EXPECT_EQ(
			miniport_client_create(nt_process_begin((uint32_t)getpid()), &host->client),
			STATUS_SUCCESS);
	else
		EXPECT(refusal_last(&host->refusal));
	return status;
}

NTSTATUS host_start_settings(struct host *host, const struct miniport_setting *settings,
			     size_t count)
{
	return host_start_config(host, &(struct miniport_config){
					       .driver = RECORDER_PATH,
					       .name = "Recorder",
					       .adapter_id = 7,
					       .luid = 0x1234500001234,
					       .settings = settings,
					       .setting_count = count,
				       });
}

NTSTATUS host_start_file(struct host *host, const char *driver)
{
	return host_start_config(host,
				 &(struct miniport_config){ .driver = driver, .adapter_id = 8 });
}

void host_start_without_memory(const struct miniport_config *config)
{
	struct host host;

	EACH_FAILURE (failing, 10) {
		uint64_t before = machine_usage().taken_pages;

		host_init(&host);
		failing_start(&failing);
		NTSTATUS status = miniport_start(config, &(struct miniport_events){ 0 }, NULL,
						 &host.miniport);
		bool has_failed = failing_stop(&failing);
		if (!has_failed)
			EXPECT_EQ(status, STATUS_SUCCESS);
		if (NT_SUCCESS(status))
			miniport_stop(host.miniport);
		host.miniport = NULL;
		EXPECT_EQ(machine_usage().taken_pages, before);
		host_finish(&host);
	}
}

void host_stop(struct host *host)
{
	if (!host->miniport)
		return;
	miniport_client_destroy(host->client);
	miniport_stop(host->miniport);
	host->client = NULL;
	host->miniport = NULL;
}

void host_forget_notes(struct host *host)
{
	lock_acquire(&host->lock);
	host->notes_used = 0;
	host->notes[0] = '\0';
	lock_release(&host->lock);
}

NTSTATUS host_escape(struct host *host, struct recorder_escape *escape)
{
	return miniport_escape(host->miniport, host->client,
			       &(struct miniport_escape_desc){
				       .private_data = escape,
				       .private_bytes = sizeof(*escape),
			       });
}

void host_ask_device(struct host *host, enum recorder_command what, struct recorder_device *ask)
{
	ask->escape.command = what;
	EXPECT_EQ(miniport_escape(host->miniport, host->client,
				  &(struct miniport_escape_desc){
					  .private_data = ask,
					  .private_bytes = sizeof(*ask),
				  }),
		  STATUS_SUCCESS);
}

/* ---- reports ---- */

struct host_reports host_reports;

static void listen(void *context, const struct nt_report_news *news)
{
	(void)context;
	host_reports.count++;
	host_reports.rule = news->rule;
	snprintf(host_reports.sentence, sizeof(host_reports.sentence), "%s", news->sentence);
}

void host_listen(void)
{
	host_reports = (struct host_reports){ 0 };
	nt_report_listen(listen, NULL);
}

void host_finish_reported(struct host *host)
{
	host_stop(host);
	nt_report_listen(NULL, NULL);
	/* What was reported is remembered by the NT side: that is not a leak of the miniport. */
	nt_report_reset();
	host->before = mem_usage();
	host_finish(host);
}

void host_expect_refusal(const char *rule)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, rule);
}

/* ---- what the driver saw ---- */

unsigned host_fetch(struct host *host, enum recorder_entry entry, void *argument, size_t bytes,
		    void *list, size_t list_bytes)
{
	struct recorder_fetch fetch = { .escape = { .command = RECORDER_FETCH, .type = entry } };

	EXPECT_EQ(miniport_escape(host->miniport, host->client,
				  &(struct miniport_escape_desc){
					  .private_data = &fetch,
					  .private_bytes = sizeof(fetch),
				  }),
		  STATUS_SUCCESS);
	if (fetch.calls != 0)
		EXPECT_EQ(fetch.argument_bytes, bytes);
	memcpy(argument, fetch.argument, bytes);
	if (list) {
		EXPECT(list_bytes <= fetch.list_bytes);
		memcpy(list, fetch.list, list_bytes);
	}
	return fetch.calls;
}

void host_context_create(struct host *host, struct host_context *context, uint32_t node,
			 bool is_virtual)
{
	EXPECT_EQ(
		miniport_create_device(host->miniport, host->client, host, NULL, &context->device),
		STATUS_SUCCESS);
	EXPECT_EQ(miniport_create_context(host->miniport, host->client,
					  &(struct miniport_context_desc){
						  .kernel_handle = context,
						  .driver_device = context->device,
						  .node = node,
						  .engine_mask = 1,
						  .is_virtual = is_virtual,
					  },
					  &context->info),
		  STATUS_SUCCESS);
}

void host_context_destroy(struct host *host, struct host_context *context)
{
	miniport_destroy_context(host->miniport, host->client, context->info.driver_context);
	miniport_destroy_device(host->miniport, host->client, context->device);
}
