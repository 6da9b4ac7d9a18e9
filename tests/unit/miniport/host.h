/* SPDX-License-Identifier: MIT */
/*
 * host.h - a test as the kernel around a recorder driver.
 *
 *	struct host host;
 *
 *	host_init(&host);
 *	EXPECT_EQ(host_start(&host, TEXT("Fail", "AddDevice")), STATUS_UNSUCCESSFUL);
 *	EXPECT_STR(host.notes, "DriverEntry irql=0\nAddDevice irql=0 adapters=1\nUnload irql=0\n");
 *	host_finish(&host);
 *
 * The notes are what the driver says it gets: drivers/recorder/recorder.h has the legend.
 * host_finish() stops what was started and fails on memory that is not given back.
 */
#ifndef TESTS_UNIT_MINIPORT_HOST_H
#define TESTS_UNIT_MINIPORT_HOST_H

#include <unistd.h>

#include <opendxgk/refusal.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "drivers/recorder/recorder.h"
#include "miniport/miniport.h"
#include "nt/nt.h"
#include "support/test.h"

enum { HOST_EVENTS = 64 };

struct host_event {
	char kind; /* 'c'ompleted, 'p'reempted, 'f'aulted, 'w'ritten, 't'imed out, 's'uspended */
	uint32_t node;
	uint64_t fence;
	uint64_t last_completed;
	uint8_t irql;
	struct miniport_fault fault;
};

struct host {
	struct mem_usage before;
	struct miniport *miniport;
	struct miniport_client *client;
	struct dxgk_refusal refusal; /* of the last host_start() that failed */
	/* Hears each note first, where the driver says it: inside the entry point. */
	void (*note_hook)(struct host *host, const char *line);

	struct lock lock; /* LOCK_RANK_LEAF: the rest, which other threads write */
	char notes[32768];
	size_t notes_used;
	struct host_event events[HOST_EVENTS];
	size_t event_count;
};

#define TEXT(setting_name, setting_text)                                                           \
	{                                                                                          \
		.name = (setting_name), .text = (setting_text)                                     \
	}
#define NUMBER(setting_name, setting_number)                                                       \
	{                                                                                          \
		.name = (setting_name), .number = (uint32_t)(setting_number)                       \
	}

#define host_start(host, ...)                                                                      \
	host_start_settings(host, (const struct miniport_setting[]){ __VA_ARGS__ },                \
			    sizeof((const struct miniport_setting[]){ __VA_ARGS__ }) /             \
				    sizeof(struct miniport_setting))

void host_init(struct host *host);
void host_finish(struct host *host);

NTSTATUS host_start_settings(struct host *host, const struct miniport_setting *settings,
			     size_t count);
NTSTATUS host_start_file(struct host *host, const char *driver);
NTSTATUS host_start_config(struct host *host, const struct miniport_config *config);

/* Starts it with its first allocation failing, its second and so on, until none does; what is left
 * of each is nothing. Optional questions, and what a driver does without, may fail unseen. */
void host_start_without_memory(const struct miniport_config *config);

/* Stops it now; notes stay. */
void host_stop(struct host *host);
void host_forget_notes(struct host *host);

NTSTATUS host_escape(struct host *host, struct recorder_escape *escape);

/* About the device; the answer comes back in `ask`. */
void host_ask_device(struct host *host, enum recorder_command what, struct recorder_device *ask);

/*
 * From here to host_finish_reported() reports about the driver are counted instead of being a
 * surprise; the last one is kept.
 */
struct host_reports {
	unsigned count;
	enum rule rule;
	char sentence[512];
};
extern struct host_reports host_reports;
void host_listen(void);
void host_finish_reported(struct host *host);

/* The argument struct of the last call of that entry point, and how often it was called. */
unsigned host_fetch(struct host *host, enum recorder_entry entry, void *argument, size_t bytes,
		    void *list, size_t list_bytes);

/* A device with one context on `node`. */
struct host_context {
	void *device;
	struct miniport_context_info info;
};
void host_context_create(struct host *host, struct host_context *context, uint32_t node,
			 bool is_virtual);
void host_context_destroy(struct host *host, struct host_context *context);

/* The last refusal of this thread has this rule. */
void host_expect_refusal(const char *rule);

/* Expects a start to fail with this status and a refusal of this rule that contains `words`. */
#define EXPECT_REFUSED(host, expected_status, expected_rule, words, ...)                           \
	do {                                                                                       \
		EXPECT_EQ(host_start(host, __VA_ARGS__), expected_status);                         \
		EXPECT_STR((host)->refusal.rule, expected_rule);                                   \
		EXPECT_EQ((host)->refusal.status, expected_status);                                \
		EXPECT_CONTAINS((host)->refusal.reason, words);                                    \
	} while (0)

#define HOST_TEST(suite, claim) TEST_ON(host, host_init(&host), host_finish(&host), suite, claim)

#endif
