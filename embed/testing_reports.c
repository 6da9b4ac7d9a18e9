/* SPDX-License-Identifier: MIT */
/*
 * testing_reports.c - reports about drivers for who verifies them: see <opendxgk/testing.h>.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opendxgk/testing.h>

#include "base/attributes.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "embed/embed.h"
#include "embed/guest.h"
#include "nt/fault.h"
#include "nt/report.h"
#include "object/memory/allocation.h"
#include "verify/start.h"

static void (*test_listener)(void *context, const struct dxgk_test_report *report);
static void *test_listener_context;

/* Too much for the stack of a driver's thread. */
struct texts {
	struct dxgk_test_source_line frames[NT_STACK_FRAMES];
	char calls[VERIFY_HISTORY_CALLS][VERIFY_HISTORY_TEXT];
	const char *lines[VERIFY_HISTORY_CALLS];
};

static void source_line_write(const void *address, struct dxgk_test_source_line *line)
{
	struct nt_source_line known;

	_Static_assert(sizeof(line->function) == sizeof(known.function) &&
			       sizeof(line->file) == sizeof(known.file) &&
			       sizeof(line->image) == sizeof(known.image),
		       "copied as they are");
	nt_report_source_line(address, &known);
	memcpy(line->function, known.function, sizeof(known.function));
	memcpy(line->file, known.file, sizeof(known.file));
	memcpy(line->image, known.image, sizeof(known.image));
	line->line = known.line;
}

static unsigned frames_write(const struct nt_report_news *news,
			     struct dxgk_test_source_line *frames)
{
	unsigned count = 0;

	if (news->routine)
		source_line_write(news->routine, &frames[count++]);
	for (uint32_t i = 0; i < news->stack->count && count < NT_STACK_FRAMES; i++)
		source_line_write(news->stack->frames[i], &frames[count++]);
	return count;
}

static void tell(void *context, const struct nt_report_news *news)
{
	/* None of the kernel's: a driver is also reported where nothing of that may be wanting. */
	struct texts *texts = news->is_repeated ? NULL : calloc(1, sizeof(*texts));
	struct dxgk_test_report report = {
		.rule = rule_id(news->rule),
		.sentence = news->sentence,
		.entry = nt_fault_where(),
		.site = news->site,
		.is_repeated = news->is_repeated,
		.is_crash = news->is_crash,
	};

	(void)context;
	if (texts) {
		report.frames = texts->frames;
		report.frame_count = frames_write(news, texts->frames);
		report.calls = texts->lines;
		report.call_count = (unsigned)verify_history(texts->calls, VERIFY_HISTORY_CALLS);
		for (unsigned i = 0; i < report.call_count; i++)
			texts->lines[i] = texts->calls[i];
	}
	test_listener(test_listener_context, &report);
	free(texts);
}

EXPORTED int dxgk_test_fault_fired(void)
{
	return verify_fault_has_fired();
}

EXPORTED void dxgk_test_listen_reports(void (*listener)(void *context,
							const struct dxgk_test_report *report),
				       void *context)
{
	test_listener_context = context;
	test_listener = listener;
	nt_report_listen(listener ? tell : NULL, NULL);
}

/* ---- what clients call things ---- */

/* What a handle of the process is; NULL: it has none such. Neither of these pointers is ever followed. */
typedef const void *of_process(struct dxg_process *process, uint32_t handle);

/* The kernel's pointer, which is what the driver was told it by. */
static const void *queue_of(struct dxg_process *process, uint32_t handle)
{
	const struct object_class *found;
	struct object *object;

	if (!process ||
	    handle_find(&process->handles, handle, NULL, &object, &found) != HANDLE_FOUND)
		return NULL;
	const void *kernel = object;
	object_put(object);
	return kernel;
}

/* The driver's own handle. */
static const void *driver_allocation_of(struct dxg_process *process, uint32_t handle)
{
	const struct object_class *found;
	struct object *object;

	if (!process || handle_find(&process->handles, handle, &allocation_class, &object,
				    &found) != HANDLE_FOUND)
		return NULL;
	const void *driver =
		container_of(object, struct dxg_allocation, object)->body->driver_allocation;
	object_put(object);
	return driver;
}

static const void *find_here(uint32_t handle, of_process *find)
{
	struct guest *guest = guest_current();
	void *kernel;
	void *process;

	if (guest) {
		const void *found = find(guest_go_in(guest), handle);

		guest_come_out(guest);
		return found;
	}
	embed_look_inside(&kernel, &process);
	return find(process, handle);
}

/* ---- what packets write ---- */

/* No line of the driver is known for it: the bytes went wrong at some time before. */
EXPORTED void dxgk_test_report_content(unsigned allocation, const char *sentence)
{
	const struct nt_stack nowhere = { .count = 0 };

	thread_enter_kernel();
	const void *driver = find_here(allocation, driver_allocation_of);
	if (!driver || !verify_report_content(driver, sentence))
		nt_report_from(RULE_DDI_CONTENT, 0, &nowhere, "%s", sentence);
	thread_leave_kernel();
}

/* As every call: in a seeded run one thread runs at a time. */
EXPORTED int dxgk_test_expect(const struct dxgk_test_expectation *expectation)
{
	bool is_expected = false;

	thread_enter_kernel();
	const void *kernel = find_here(expectation->queue, queue_of);
	if (kernel)
		is_expected = verify_expect(&(struct verify_expected){
			.kernel = kernel,
			.commands = expectation->commands,
			.place = expectation->place,
			.size_bytes = expectation->size_bytes,
			.value = expectation->value,
		});
	thread_leave_kernel();
	return is_expected;
}

EXPORTED void dxgk_test_expect_nothing(const volatile void *from, unsigned long long size_bytes)
{
	thread_enter_kernel();
	verify_expect_nothing(from, size_bytes);
	thread_leave_kernel();
}
