/* SPDX-License-Identifier: MIT */
/*
 * fence_address.h - where a GPU finds the value of a monitored fence.
 *
 *	fences of one process   pages of many values (sched/fence_page.h), mapped together: the
 *	                        address is there with the first fence that needs it and stays as
 *	                        long as one does, and the last one a little longer, so that fences
 *	                        that come and go cost no paging
 *	a fence that others     a page of its own, mapped for each opening and gone with its handle
 *	can open
 *
 * Who may signal can write there, the others read. No client can free the addresses or map anything
 * over them.
 *
 * Locks: process_adapter.fence_lock guards the list and the counts. It is not held while the pager
 * is waited for.
 */
#ifndef OBJECT_FENCE_FENCE_ADDRESS_H
#define OBJECT_FENCE_FENCE_ADDRESS_H

#include "base/attributes.h"
#include "object/owner/device.h"
#include "sched/fence_page.h"

struct fence_address;

/* Can be used when it returns. The device's adapter has GPU addresses. No lock is held. */
MUST_CHECK NTSTATUS fence_address_get(struct dxg_device *device, const struct fence_slot *slot,
				      bool is_writable, struct fence_address **address_out);

/* One user fewer. Accepts NULL. */
void fence_address_put(struct fence_address *address);

/* The GPU address of the value in this slot. */
uint64_t fence_address_of(const struct fence_address *address, const struct fence_slot *slot);

/* What is kept for the next fence goes. No fence of the process is left on the adapter. */
void fence_addresses_end(struct process_adapter *process_adapter);

#endif
