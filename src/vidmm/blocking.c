/* SPDX-License-Identifier: MIT */
#include "vidmm/blocking.h"

void blocking_wait_until(struct vidmm *manager, _Atomic bool *is_over)
{
	notice_wait_until(&manager->changed, is_over);
}

static void request_over(struct vidmm_request *request, NTSTATUS status)
{
	struct blocking_request *blocking = container_of(request, struct blocking_request, request);
	struct vidmm *manager = blocking->manager;

	blocking->status = status;
	atomic_store(&blocking->is_over, true);
	notice_give(&manager->changed);
}

void blocking_request_init(struct blocking_request *blocking, struct vidmm *manager)
{
	*blocking = (struct blocking_request){ .request.done = request_over, .manager = manager };
}

NTSTATUS blocking_request_wait(struct blocking_request *blocking)
{
	blocking_wait_until(blocking->manager, &blocking->is_over);
	return blocking->status;
}
