/* SPDX-License-Identifier: MIT */
/*
 * rules.c - see rules.h.
 */
#include <string.h>

#include "base/attributes.h"
#include "cli/verify/rules.h"

const struct verify_rule verify_rules[] = {
#include "rules_table.inc"
};
const size_t verify_rule_count = ARRAY_SIZE(verify_rules);

static const char *const level_names[] = {
	[LEVEL_NOTE] = "note",
	[LEVEL_WARNING] = "warning",
	[LEVEL_ERROR] = "error",
};

const struct verify_rule *verify_rule_find(const char *id)
{
	for (size_t i = 0; i < verify_rule_count; i++) {
		if (strcmp(verify_rules[i].id, id) == 0)
			return &verify_rules[i];
	}
	return NULL;
}

bool verify_rule_is_driver(const struct verify_rule *rule)
{
	return strncmp(rule->id, "DDI-", 4) == 0 || strncmp(rule->id, "NT-", 3) == 0;
}

const char *verify_level_name(enum verify_level level)
{
	return level_names[level];
}

enum verify_level verify_rule_level(const char *id)
{
	const struct verify_rule *rule = verify_rule_find(id);

	for (size_t level = 0; rule && level < ARRAY_SIZE(level_names); level++) {
		if (strcmp(rule->level, level_names[level]) == 0)
			return (enum verify_level)level;
	}
	return LEVEL_ERROR;
}

void verify_rules_print(FILE *out)
{
	size_t checked = 0;
	size_t unchecked = 0;

	for (size_t i = 0; i < verify_rule_count; i++) {
		const struct verify_rule *rule = &verify_rules[i];

		if (!verify_rule_is_driver(rule) || rule->reason)
			continue;
		checked++;
		fprintf(out, "%s\n  level   %s\n  rule    %s\n  source  %s\n", rule->id,
			rule->level, rule->sentence, rule->source);
	}
	for (size_t i = 0; i < verify_rule_count; i++) {
		const struct verify_rule *rule = &verify_rules[i];

		if (!rule->reason)
			continue;
		unchecked++;
		fprintf(out, "%s\n  level   %s\n  rule    %s\n  source  %s\n  not checked: %s\n",
			rule->id, rule->level, rule->sentence, rule->source, rule->reason);
	}
	fprintf(out, "%zu rules are checked, %zu are not\n", checked, unchecked);
}
