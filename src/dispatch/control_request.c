/* SPDX-License-Identifier: MIT */
/*
 * control_request.c - see control_request.h.
 *
 * Goes through dispatch_call() like every other call, so that it is checked, traced and refused in
 * the same way.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/refusal.h"
#include "base/text.h"
#include "base/thread.h"
#include "dispatch/control_request.h"
#include "dispatch/dispatch.h"
#include "object/check/validate.h"
#include "object/owner/control.h"
#include "object/owner/control_text.h"

_Static_assert(sizeof(struct control_part) == CONTROL_MOST_BYTES, "a part is an answer");

enum { CHECK_TRIES = 125 };
#define CHECK_AGAIN_NS (20 * NS_PER_MS)

static void reply_init(struct control_reply *reply, NTSTATUS status)
{
	*reply = (struct control_reply){
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.status = status,
	};
}

void control_reply_refuse(struct control_reply *reply, NTSTATUS status, const char *reason)
{
	reply_init(reply, status);
	snprintf(reply->reason, sizeof(reply->reason), "%s", reason);
}

void control_reply_accept(struct control_reply *reply, uint32_t size_bytes)
{
	reply_init(reply, STATUS_SUCCESS);
	reply->size_bytes = size_bytes;
}

static void reply_after(struct control_reply *reply, NTSTATUS status, uint32_t size_bytes)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	reply_init(reply, status);
	if (NT_SUCCESS(status)) {
		reply->size_bytes = size_bytes;
	} else if (refusal_last(&why)) {
		snprintf(reply->rule, sizeof(reply->rule), "%s", why.rule);
		snprintf(reply->reason, sizeof(reply->reason), "%s", why.reason);
	}
}

/* None is the first adapter's. */
static uint64_t luid_of(const struct dxg_kernel *kernel, const struct control_request *request)
{
	return request->luid == 0 && kernel->adapter_count > 0 ? kernel->adapters[0]->luid
							       : request->luid;
}

static LUID as_luid(uint64_t number)
{
	return (LUID){ .LowPart = (ULONG)number, .HighPart = (LONG)(number >> 32) };
}

static NTSTATUS run_escape(struct dxg_kernel *kernel, struct dxg_process *process,
			   const struct control_request *request, void *body)
{
	D3DKMT_OPENADAPTERFROMLUID open = { .AdapterLuid = as_luid(luid_of(kernel, request)) };
	NTSTATUS status = dispatch_call(kernel, process, CALL_open_adapter_from_luid, &open);

	if (!NT_SUCCESS(status))
		return status;
	D3DKMT_ESCAPE escape = {
		.hAdapter = open.hAdapter,
		.Type = (D3DKMT_ESCAPETYPE)request->type,
		.pPrivateDriverData = body,
		.PrivateDriverDataSize = request->size_bytes,
	};
	status = dispatch_call(kernel, process, CALL_escape, &escape);
	D3DKMT_CLOSEADAPTER close = { open.hAdapter };
	(void)dispatch_call(kernel, process, CALL_close_adapter, &close);
	return status;
}

static NTSTATUS run_statistics(struct dxg_kernel *kernel, struct dxg_process *process,
			       const struct control_request *request, void *body)
{
	D3DKMT_QUERYSTATISTICS query;

	memcpy(&query, body, sizeof(query));
	query.AdapterLuid = as_luid(luid_of(kernel, request));
	NTSTATUS status = dispatch_call(kernel, process, CALL_query_statistics, &query);
	memcpy(body, &query, sizeof(query));
	return status;
}

static NTSTATUS print_about(struct dxg_kernel *kernel, const struct control_request *request,
			    char *body)
{
	struct dxg_adapter *adapter = kernel_find_adapter(kernel, luid_of(kernel, request));

	if (!adapter)
		return invalid(RULE_API_VALUE, "luid", "is of no adapter");
	if (request->kind == CONTROL_STATES)
		return control_print_states(adapter, body, request->size_bytes);
	control_print_processes(kernel, adapter, request->type, body, request->size_bytes);
	return STATUS_SUCCESS;
}

/* A line that does not fit is not begun. */
static NTSTATUS print_refusals(const struct control_request *request, char *body)
{
	struct text text = text_begin(body, request->size_bytes);

	for (uint32_t rule = request->type; rule < RULE_COUNT; rule++) {
		uint64_t times = refusal_told((enum rule)rule);
		size_t before = text.used;

		if (times == 0)
			continue;
		text_add(&text, "%u %s %" PRIu64 "\n", rule + 1, rule_id((enum rule)rule), times);
		if (text.used >= text.size) {
			body[before] = '\0';
			break;
		}
	}
	return STATUS_SUCCESS;
}

/* A part of a text; the first one of it has it made. */
static NTSTATUS read_text(struct dxg_kernel *kernel, const struct control_request *request,
			  void *body)
{
	struct dxg_adapter *adapter = kernel_find_adapter(kernel, luid_of(kernel, request));
	struct control_part *part = body;
	NTSTATUS status = STATUS_SUCCESS;

	if (!adapter)
		return invalid(RULE_API_VALUE, "luid", "is of no adapter");
	if (part->ticket == 0 && part->kind == CONTROL_TEXT_MAP)
		status = control_text_map(kernel, adapter, part->number, &part->ticket);
	else if (part->ticket == 0 && part->kind == CONTROL_TEXT_DETAILS)
		status = control_text_details(kernel, adapter, part->number, &part->ticket);
	else if (part->ticket == 0 && part->kind == CONTROL_TEXT_COUNTS)
		status = control_text_counts(kernel, adapter, &part->ticket);
	else if (part->ticket == 0)
		status = invalid(RULE_API_VALUE, "kind", "%u is no text that there is", part->kind);
	memset(part->text, 0, sizeof(part->text));
	if (NT_SUCCESS(status))
		status = control_text_read(kernel, part->ticket, part->offset_bytes, part->text,
					   sizeof(part->text), &part->size_bytes);
	return status;
}

/* NULL, or what is wrong with it. */
static const char *complaint_of(const struct control_request *request)
{
	bool is_in_parts = request->kind == CONTROL_PROCESSES || request->kind == CONTROL_REFUSALS;

	if (request->kind < CONTROL_ESCAPE ||
	    (request->kind > CONTROL_PROCESSES && !is_in_parts && request->kind != CONTROL_TEXT))
		return "The request is neither an escape nor a query";
	if (request->reserved != 0 ||
	    (request->kind != CONTROL_ESCAPE && !is_in_parts && request->type != 0))
		return "The request has something in a reserved field";
	if (request->kind == CONTROL_STATISTICS &&
	    request->size_bytes != sizeof(D3DKMT_QUERYSTATISTICS))
		return "The request is not as long as a D3DKMT_QUERYSTATISTICS";
	if (request->kind >= CONTROL_STATES && request->size_bytes != CONTROL_MOST_BYTES)
		return "The request has no room for the text";
	return NULL;
}

void control_request_run(struct dxg_kernel *kernel, struct dxg_process *process,
			 const struct control_request *request, void *body,
			 struct control_reply *reply)
{
	const char *complaint = complaint_of(request);
	NTSTATUS status;

	if (!process) {
		control_reply_refuse(reply, STATUS_NOT_FOUND,
				     "The program has no process in the kernel now");
		return;
	}
	if (complaint) {
		control_reply_refuse(reply, STATUS_INVALID_PARAMETER, complaint);
		return;
	}
	if (request->kind == CONTROL_ESCAPE)
		status = run_escape(kernel, process, request, body);
	else if (request->kind == CONTROL_STATISTICS)
		status = run_statistics(kernel, process, request, body);
	else if (request->kind == CONTROL_REFUSALS)
		status = print_refusals(request, body);
	else if (request->kind == CONTROL_TEXT)
		status = read_text(kernel, request, body);
	else
		status = print_about(kernel, request, body);
	reply_after(reply, status, request->size_bytes);
}

/* The parts of adapters recount themselves under their own locks, whoever calls meanwhile. */
static void check_partly(struct dxg_kernel *kernel, const struct control_doors *doors, char *body,
			 uint32_t size_bytes)
{
	char names[160] = "";
	size_t used;

	doors->name_busy(names, sizeof(names));
	used = (size_t)snprintf(body, size_bytes,
				"a call of %s goes on and does not end: only the books of the "
				"adapters were looked at\n",
				names[0] ? names : "a client that comes and goes");
	doors->go_in();
	(void)!kernel_validate_adapters(kernel, body + used, size_bytes - used);
	doors->come_out();
}

/* What moves is between two books for a moment: it is looked at until it is right, or stays wrong. */
void control_check(struct dxg_kernel *kernel, const struct control_doors *doors,
		   const struct control_request *request, char *body, struct control_reply *reply)
{
	_Atomic uint32_t nothing = 0;
	bool is_right = false;
	bool was_still = false;

	if (request->size_bytes != CONTROL_MOST_BYTES) {
		control_reply_refuse(reply, STATUS_INVALID_PARAMETER,
				     "The request has no room for the text");
		return;
	}
	for (int i = 0; i < CHECK_TRIES && !is_right; i++) {
		if (i > 0)
			thread_wait(&nothing, 0, clock_deadline(CHECK_AGAIN_NS));
		if (!doors->close())
			continue;
		memset(body, 0, request->size_bytes);
		is_right = kernel_validate_all(kernel, body, request->size_bytes);
		doors->open();
		was_still = true;
	}
	if (!was_still) {
		memset(body, 0, request->size_bytes);
		check_partly(kernel, doors, body, request->size_bytes);
	}
	control_reply_accept(reply, request->size_bytes);
}
