/* SPDX-License-Identifier: MIT */
/*
 * query.h - a question of D3DKMTQueryAdapterInfo, and the answers that are not in query_calls.c.
 */
#ifndef DISPATCH_QUERY_H
#define DISPATCH_QUERY_H

#include <stdint.h>

#include "base/attributes.h"
#include "dispatch/dispatch.h"

struct query {
	struct call *call;
	struct dxg_adapter *adapter;
	const struct miniport_info *info;
	void *data; /* our copy, with at least as many bytes as the question needs */
	uint32_t size_bytes;
};

/* Adapters are not linked: any index but 0 is refused. */
MUST_CHECK NTSTATUS query_check_single_adapter(uint32_t index);

/* query_registry.c */
NTSTATUS query_answer_registry(const struct query *query);
NTSTATUS query_answer_registry_info(const struct query *query);
NTSTATUS query_answer_umd_name(const struct query *query);
NTSTATUS query_answer_opengl(const struct query *query);

#endif
