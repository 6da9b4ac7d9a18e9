/* SPDX-License-Identifier: MIT */
/*
 * mdl.h - memory descriptor lists that the host makes for a driver.
 *
 * What drivers call is declared in <ddk/wdm.h>.
 */
#ifndef NT_MDL_H
#define NT_MDL_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct _MDL;

/*
 * Describes whole pages, in this order, as locked. Neither the MDL nor a mapping that the driver
 * makes of it ends before nt_mdl_destroy(), so a paging operation can keep both until its fence.
 */
MUST_CHECK NTSTATUS nt_mdl_create_for_pages(const uint64_t pfns[], uint64_t count,
					    struct _MDL **mdl_out);

/* Accepts NULL. A mapping the driver left goes with it. The pages stay with their owner. */
void nt_mdl_destroy(struct _MDL *mdl);

#endif
