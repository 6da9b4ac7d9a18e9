/* SPDX-License-Identifier: MIT */
/*
 * guarded_calls.h - entry points that are called often, as they are called with DXGK_VERIFY=answers.
 * In the driver, entered by the caller as ever.
 */
#ifndef MINIPORT_GUARDED_CALLS_H
#define MINIPORT_GUARDED_CALLS_H

#include "miniport/internal.h"

RARE NTSTATUS guarded_create_allocation(struct miniport *miniport, DXGKARG_CREATEALLOCATION *args);
RARE NTSTATUS guarded_open_allocation(struct miniport *miniport, void *driver_device,
				      DXGKARG_OPENALLOCATION *args);
RARE NTSTATUS guarded_render(struct miniport *miniport, void *handle, DXGKARG_RENDER *args);
RARE NTSTATUS guarded_build_paging_buffer(const struct miniport *miniport,
					  DXGKARG_BUILDPAGINGBUFFER *args);

#endif
