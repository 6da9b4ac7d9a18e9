/* SPDX-License-Identifier: MIT */
/*
 * control_text_test.c - what a controller is told of a kernel at work: all of it, in parts, or a reason.
 */
#include "unit/object/scene.h"

#include "base/refusal.h"
#include "object/owner/control_text.h"

static struct refusal_scope scope;
static struct client other;
static struct dxg_context *context;

static void begin(void)
{
	begin_plain();
	client_begin(&other, 2);
	EXPECT_EQ(context_create(app.device, &(struct context_options){ .is_virtual = true },
				 &context),
		  STATUS_SUCCESS);
	refusal_begin(&scope, "test");
}

static void finish(void)
{
	(void)refusal_end(&scope);
	EXPECT(context_destroy(context));
	object_put(&context->object);
	client_end(&other);
	finish_plain();
}

#define TEXT_TEST(suite, claim) TEST_BETWEEN(begin(), finish(), suite, claim)

static void expect_rule(const char *rule)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, rule);
}

/* Read in parts of so many bytes. */
static const char *read_all(uint64_t ticket, size_t part_bytes)
{
	static char text[65536];
	uint64_t size = 1;
	uint64_t at = 0;

	while (at < size) {
		EXPECT_EQ(control_text_read(&kernel, ticket, at, text + at, part_bytes, &size),
			  STATUS_SUCCESS);
		at += part_bytes < size - at ? part_bytes : size - at;
	}
	text[size] = '\0';
	return text;
}

static const char *details_of(uint32_t process_id, size_t part_bytes)
{
	uint64_t ticket = 0;

	EXPECT_EQ(control_text_details(&kernel, adapter, process_id, &ticket), STATUS_SUCCESS);
	return read_all(ticket, part_bytes);
}

PRINTF_LIKE(2, 3)
static bool has_line(const char *text, const char *format, ...)
{
	char line[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	return strstr(text, line) != NULL;
}

TEXT_TEST(details, of_one_process_have_its_devices_and_queues_and_the_others_in_a_line)
{
	char whole[65536];
	uint32_t id = app.process->id;

	strcpy(whole, details_of(id, sizeof(whole)));
	EXPECT(has_line(whole, "\nprocess %u ", id));
	EXPECT(has_line(whole, "\nprocess %u ", other.process->id));
	EXPECT(has_line(whole, "\ndevice %u 0x%08x active\n", id, app.device->object.handle));
	EXPECT(has_line(whole, "\nqueue %u 0x%08x 0 0 ", id, context->object.handle));
	EXPECT(!has_line(whole, "\ndevice %u ", other.process->id));
	EXPECT_STR(details_of(id, 7), whole);
	EXPECT(!strstr(details_of(0, 4096), "\ndevice "));
	device_lose(app.device, DEVICE_HUNG, NULL);
	EXPECT(has_line(details_of(id, 4096), "\ndevice %u 0x%08x lost\n", id,
			app.device->object.handle));
	EXPECT_CONTAINS(details_of(0, 4096), " lost\n");
}

TEXT_TEST(text, is_gone_when_it_was_read_or_another_one_was_made)
{
	uint64_t tickets[2];
	uint64_t size;
	char part[16];

	for (int i = 0; i < 2; i++)
		EXPECT_EQ(control_text_details(&kernel, adapter, 0, &tickets[i]), STATUS_SUCCESS);
	EXPECT_EQ(control_text_read(&kernel, tickets[0], 0, part, sizeof(part), &size),
		  STATUS_INVALID_PARAMETER);
	expect_rule("API-VALUE");
	EXPECT_EQ(control_text_read(&kernel, tickets[1], UINT64_MAX, part, sizeof(part), &size),
		  STATUS_INVALID_PARAMETER);
	(void)read_all(tickets[1], 4096);
	EXPECT_EQ(control_text_read(&kernel, tickets[1], 0, part, sizeof(part), &size),
		  STATUS_INVALID_PARAMETER);
}

static NTSTATUS make_details(uint64_t *ticket_out)
{
	return control_text_details(&kernel, adapter, app.process->id, ticket_out);
}

static NTSTATUS make_map(uint64_t *ticket_out)
{
	return control_text_map(&kernel, adapter, 1, ticket_out);
}

static NTSTATUS (*const makers[])(uint64_t *ticket_out) = { make_details, make_map };

/* Each block that it takes fails once. */
TEXT_TEST(text, without_memory_is_refused_and_leaves_nothing)
{
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++) {
		struct mem_usage usage = mem_usage();
		bool has_failed = true;
		unsigned failures = 0;

		for (unsigned nth = 1; has_failed; nth++) {
			uint64_t ticket = 0;

			mem_fail_nth(nth);
			NTSTATUS status = makers[i](&ticket);
			has_failed = mem_fail_stop();
			failures += has_failed;
			EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
			if (NT_SUCCESS(status))
				(void)read_all(ticket, 4096);
			EXPECT_EQ(mem_usage().blocks, usage.blocks);
		}
		EXPECT(failures >= 2);
	}
}

TEXT_TEST(text, about_an_adapter_that_is_gone_is_refused)
{
	struct mem_usage usage = mem_usage();
	uint64_t ticket;

	atomic_store(&adapter->is_lost, true);
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++)
		EXPECT_EQ(makers[i](&ticket), STATUS_DEVICE_REMOVED);
	atomic_store(&adapter->is_lost, false);
	EXPECT_EQ(mem_usage().blocks, usage.blocks);
}

TEST_MAIN("object/control_text")
