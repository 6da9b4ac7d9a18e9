/* SPDX-License-Identifier: MIT */
/*
 * control_request.c - see control_request.h.
 *
 * Goes through dispatch_call() like every other call, so that it is checked, traced and refused in
 * the same way.
 */
#include <stdio.h>
#include <string.h>

#include "base/refusal.h"
#include "dispatch/control_request.h"
#include "dispatch/dispatch.h"

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

static LUID luid_of(const struct dxg_kernel *kernel, uint64_t number)
{
	if (number == 0 && kernel->adapter_count > 0)
		number = kernel->adapters[0]->luid;
	return (LUID){ .LowPart = (ULONG)number, .HighPart = (LONG)(number >> 32) };
}

static NTSTATUS run_escape(struct dxg_kernel *kernel, struct dxg_process *process,
			   const struct control_request *request, void *body)
{
	D3DKMT_OPENADAPTERFROMLUID open = { .AdapterLuid = luid_of(kernel, request->luid) };
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
	NTSTATUS status;

	memcpy(&query, body, sizeof(query));
	query.AdapterLuid = luid_of(kernel, request->luid);
	status = dispatch_call(kernel, process, CALL_query_statistics, &query);
	memcpy(body, &query, sizeof(query));
	return status;
}

void control_request_run(struct dxg_kernel *kernel, struct dxg_process *process,
			 const struct control_request *request, void *body,
			 struct control_reply *reply)
{
	bool is_escape = request->kind == CONTROL_ESCAPE;
	NTSTATUS status;

	if (!process) {
		control_reply_refuse(reply, STATUS_NOT_FOUND,
				     "The program has no process in the kernel now");
		return;
	}
	if (!is_escape && request->kind != CONTROL_STATISTICS) {
		control_reply_refuse(reply, STATUS_INVALID_PARAMETER,
				     "The request is neither an escape nor a statistics query");
		return;
	}
	if (request->reserved != 0 || (!is_escape && request->type != 0)) {
		control_reply_refuse(reply, STATUS_INVALID_PARAMETER,
				     "The request has something in a reserved field");
		return;
	}
	if (!is_escape && request->size_bytes != sizeof(D3DKMT_QUERYSTATISTICS)) {
		control_reply_refuse(reply, STATUS_INVALID_PARAMETER,
				     "The request is not as long as a D3DKMT_QUERYSTATISTICS");
		return;
	}
	status = is_escape ? run_escape(kernel, process, request, body)
			   : run_statistics(kernel, process, request, body);
	reply_after(reply, status, request->size_bytes);
}
