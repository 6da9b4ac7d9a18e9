/*
 * host.c - see host.h.
 */
#include "host.h"

#include "nt/irql.h"
#include "nt/nt.h"

static struct host *current;

__attribute__((visibility("default"))) void recorder_note(const char *line)
{
	struct host *host = current;
	size_t length = strlen(line);

	if (!host)
		return;
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
	remember(listener, &(struct host_event){ 'c', node, fence, 0, nt_irql_current() });
}

static void preempted(void *listener, uint32_t node, uint64_t fence, uint64_t last_completed)
{
	remember(listener,
		 &(struct host_event){ 'p', node, fence, last_completed, nt_irql_current() });
}

static void faulted(void *listener, uint32_t node, uint64_t fence)
{
	remember(listener, &(struct host_event){ 'f', node, fence, 0, nt_irql_current() });
}

static const struct miniport_events events = {
	.fence_completed = completed,
	.fence_preempted = preempted,
	.node_faulted = faulted,
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

static NTSTATUS host_start_config(struct host *host, const struct miniport_config *config)
{
	NTSTATUS status = miniport_start(config, &events, host, &host->miniport);

	host->refusal = (struct dxgk_refusal){ .size_bytes = sizeof(host->refusal) };
	if (NT_SUCCESS(status))
		EXPECT_EQ(miniport_client_create(host->miniport, &host->client), STATUS_SUCCESS);
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
