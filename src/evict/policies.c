/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "evict/evict.h"

#define ENTRY(name) &evict_##name,
const struct evict_policy *const evict_policies[] = { EVICT_POLICIES(ENTRY) NULL };

const struct evict_policy *evict_policy_find(const char *name)
{
	for (size_t i = 0; evict_policies[i]; i++) {
		if (strcmp(evict_policies[i]->name, name) == 0)
			return evict_policies[i];
	}
	return NULL;
}
