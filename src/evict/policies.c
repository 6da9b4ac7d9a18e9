/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "evict/evict.h"

const struct evict_policy *const evict_policies[] = {
#define POLICY(name) &evict_##name,
#include "evict/policies.def"
#undef POLICY
	NULL
};

const struct evict_policy *evict_policy_find(const char *name)
{
	for (size_t i = 0; evict_policies[i]; i++) {
		if (strcmp(evict_policies[i]->name, name) == 0)
			return evict_policies[i];
	}
	return NULL;
}
