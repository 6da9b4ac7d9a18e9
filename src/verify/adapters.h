/* SPDX-License-Identifier: MIT */
/*
 * adapters.h - which adapters are verified, for callbacks: they come with any handle, at any IRQL.
 */
#ifndef VERIFY_ADAPTERS_H
#define VERIFY_ADAPTERS_H

#include <stdbool.h>

struct verify_adapter;

enum { VERIFY_ADAPTERS_MAX = 16 };

/* False when there are as many as there can be. */
bool verify_adapter_list(struct verify_adapter *adapter);
void verify_adapter_unlist(struct verify_adapter *adapter);

/* By the DeviceHandle of its interface; NULL: it is none of them. Takes no lock. */
struct verify_adapter *verify_adapter_of(const void *handle);
/* Of VERIFY_ADAPTERS_MAX; NULL: there is none. For who knows that none goes meanwhile. */
struct verify_adapter *verify_adapter_at(unsigned index);

#endif
