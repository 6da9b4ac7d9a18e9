/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/client_call.h"
#include "base/mem.h"

static _Thread_local struct client_call *current;

void client_call_begin(struct client_call *call)
{
	assert(!current);
	current = call;
}

void client_call_end(void)
{
	current = NULL;
}

struct client_call *client_call_current(void)
{
	return current;
}

void client_call_finish(struct client_call *call)
{
	while (call->file_count > 0)
		client_file_put(call->files[--call->file_count]);
	mem_free(call->files);
	mem_free(call->brought);
	mem_free(call->runs);
	mem_free(call->views);
	*call = (struct client_call){ 0 };
}

/* ---- in ---- */

NTSTATUS client_call_bring(struct client_call *call, uint64_t address, uint64_t size_bytes,
			   int descriptor, uint64_t offset)
{
	struct client_brought *brought = mem_grow_array(call->brought, call->brought_count,
							&call->brought_capacity, sizeof(*brought));

	if (!brought)
		return STATUS_NO_MEMORY;
	call->brought = brought;
	brought[call->brought_count++] =
		(struct client_brought){ address, size_bytes, descriptor, offset };
	return STATUS_SUCCESS;
}

const struct client_brought *client_call_brought(uint64_t address, uint64_t size_bytes)
{
	for (uint32_t i = 0; current && i < current->brought_count; i++) {
		const struct client_brought *each = &current->brought[i];

		if (address >= each->address && address - each->address <= each->size_bytes &&
		    size_bytes <= each->size_bytes - (address - each->address))
			return each;
	}
	return NULL;
}

/* ---- out ---- */

static uint32_t first_open_run(const struct client_call *call)
{
	if (call->view_count == 0)
		return 0;
	const struct client_view *last = &call->views[call->view_count - 1];
	return last->first_run + last->run_count;
}

static bool file_hold(struct client_call *call, struct client_file *file)
{
	for (uint32_t i = 0; i < call->file_count; i++) {
		if (call->files[i] == file)
			return true;
	}
	struct client_file **files = mem_grow_array(
		call->files, call->file_count, &call->file_capacity, sizeof(struct client_file *));
	if (!files)
		return false;
	client_file_get(file);
	call->files = files;
	files[call->file_count++] = file;
	return true;
}

static bool run_add(struct client_call *call, struct client_view_run run)
{
	struct client_view_run *runs;

	if (call->run_count > first_open_run(call)) {
		struct client_view_run *last = &call->runs[call->run_count - 1];

		if (last->file == run.file &&
		    last->first_page + last->page_count == run.first_page) {
			last->page_count += run.page_count;
			return true;
		}
	}
	runs = mem_grow_array(call->runs, call->run_count, &call->run_capacity, sizeof(*runs));
	if (!runs)
		return false;
	call->runs = runs;
	runs[call->run_count++] = run;
	return true;
}

static NTSTATUS add_run(struct client_file *file, uint64_t first_page, uint64_t page_count)
{
	struct client_call *call = current;

	if (file_hold(call, file) &&
	    run_add(call, (struct client_view_run){ client_file_id(file), first_page, page_count }))
		return STATUS_SUCCESS;
	call->run_count = first_open_run(call);
	return STATUS_NO_MEMORY;
}

NTSTATUS client_call_add_run(struct client_file *file, uint64_t first_page, uint64_t page_count)
{
	assert(current && page_count > 0);
	return add_run(file, first_page, page_count);
}

NTSTATUS client_call_add_view(uint64_t address, uint64_t stamp, enum client_view_kind kind)
{
	struct client_call *call = current;
	struct client_view view = {
		.address = address,
		.stamp = stamp,
		.kind = kind,
		.first_run = first_open_run(call),
	};
	struct client_view *views =
		mem_grow_array(call->views, call->view_count, &call->view_capacity, sizeof(*views));

	assert(call->run_count > view.first_run);
	if (!views) {
		call->run_count = view.first_run;
		return STATUS_NO_MEMORY;
	}
	view.run_count = call->run_count - view.first_run;
	for (uint32_t i = view.first_run; i < call->run_count; i++)
		view.page_count += call->runs[i].page_count;
	call->views = views;
	views[call->view_count++] = view;
	return STATUS_SUCCESS;
}

NTSTATUS client_call_add_file(struct client_file *file)
{
	NTSTATUS status = add_run(file, 0, 0);

	return NT_SUCCESS(status)
		       ? client_call_add_view(0, client_call_stamp(), CLIENT_VIEW_WRITTEN)
		       : status;
}

bool client_call_can_settle(void)
{
	return current && current->settle;
}

void client_call_settle(void)
{
	void (*settle)(struct client_call * call) = current->settle;

	current->settle = NULL;
	settle(current);
}

uint64_t client_call_stamp(void)
{
	static _Atomic uint64_t last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}
