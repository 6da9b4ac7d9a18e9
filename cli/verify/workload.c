/* SPDX-License-Identifier: MIT */
/*
 * workload.c - see workload.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "cli/verify/workload.h"

const struct workload *const workloads[] = {
#define WORKLOAD(name) &workload_##name,
#include "cli/verify/workloads.def"
#undef WORKLOAD
};
const size_t workload_count = ARRAY_SIZE(workloads);

static bool is_word(const char *text, const char *word, size_t length)
{
	return strlen(text) == length && strncasecmp(text, word, length) == 0;
}

const struct workload *workload_find(const char *word, size_t length)
{
	for (size_t i = 0; i < workload_count; i++) {
		if (is_word(workloads[i]->id, word, length) ||
		    is_word(workloads[i]->name, word, length))
			return workloads[i];
	}
	return NULL;
}

void workload_print_all(FILE *out)
{
	for (size_t i = 0; i < workload_count; i++)
		fprintf(out, "  %s %-24s %s\n", workloads[i]->id, workloads[i]->name,
			workloads[i]->what);
}

/* A script depends on its workload and its seed alone: the plan of a run can be another one. */
char *workload_script(const struct workload *workload, uint64_t seed,
		      const struct verify_facts *facts)
{
	struct random random;
	char *text = NULL;
	size_t length;
	FILE *script = open_memstream(&text, &length);
	uint64_t mixed = seed;

	if (!script)
		return NULL;
	for (const char *letter = workload->id; *letter; letter++)
		mixed = mixed * 1099511628211u + (unsigned char)*letter;
	random_init(&random, mixed);
	workload->generate(script, &random, facts);
	if (fclose(script) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
