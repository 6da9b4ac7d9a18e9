/* SPDX-License-Identifier: MIT */
/*
 * rules.h - what docs/rules.md says about a rule, as tools/rules_table.py read it at build time.
 */
#ifndef CLI_VERIFY_RULES_H
#define CLI_VERIFY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum verify_level { LEVEL_NOTE, LEVEL_WARNING, LEVEL_ERROR };

struct verify_rule {
	const char *id;
	const char *level;
	const char *sentence;
	const char *source;
	const char *reason; /* why nobody checks it; NULL: it is checked */
};
extern const struct verify_rule verify_rules[];
extern const size_t verify_rule_count;

/* NULL: there is none. */
const struct verify_rule *verify_rule_find(const char *id);

/* Is it about drivers (DDI-…, NT-…)? */
bool verify_rule_is_driver(const struct verify_rule *rule);

/* LEVEL_ERROR for a rule that there is not. */
enum verify_level verify_rule_level(const char *id);
const char *verify_level_name(enum verify_level level);

/* What --rules prints: rules of drivers, and those that are not checked. */
void verify_rules_print(FILE *out);

#endif
