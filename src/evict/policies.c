/* SPDX-License-Identifier: MIT */
/*
 * policies.c - THE list of policies. A new one has a file of its own, a line in evict.h and one here.
 */
#include <string.h>

#include "evict/evict.h"

const struct evict_policy *const evict_policies[] = { &evict_lru, &evict_adaptive, NULL };

const struct evict_policy *evict_policy_find(const char *name)
{
	for (size_t i = 0; evict_policies[i]; i++) {
		if (strcmp(evict_policies[i]->name, name) == 0)
			return evict_policies[i];
	}
	return NULL;
}
