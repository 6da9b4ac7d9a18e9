/*
 * fence_address.h - where a GPU finds the value of a monitored fence.
 *
 * Each opening has an address of its own, for as long as its handle: the page with the value, to
 * be written by who may signal and read by the others. Who sees a page sees all of it, so what is
 * said of pages in sched/fence_page.h counts for a GPU, too. No client can free the address or map
 * anything over it.
 */
#ifndef OBJECT_FENCE_ADDRESS_H
#define OBJECT_FENCE_ADDRESS_H

#include "base/attributes.h"
#include "object/device.h"
#include "sched/fence_page.h"

struct fence_address;

/* Can be used when it returns. The device's adapter has GPU addresses. No lock is held. */
MUST_CHECK NTSTATUS fence_address_create(struct dxg_device *device, const struct fence_slot *slot,
					 bool is_writable, struct fence_address **address_out);

/* No TLB has it when it returns. Accepts NULL. */
void fence_address_destroy(struct fence_address *address);

uint64_t fence_address_value(const struct fence_address *address);

#endif
