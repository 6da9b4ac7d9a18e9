/* SPDX-License-Identifier: MIT */
#include "cli/replay_explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static struct explain_kind *kind_of(struct explanation *explanation, const char *name)
{
	struct explain_kind *kind = explanation->kinds;

	while (kind->name && strcmp(kind->name, name) != 0 &&
	       kind < &explanation->kinds[EXPLAIN_KINDS_MAX - 1])
		kind++;
	if (!kind->name)
		kind->name = name;
	return kind;
}

static void leaves(void *context, uint32_t allocation, const struct evict_belief *belief,
		   uint64_t now)
{
	struct explanation *explanation = context;
	struct explain_kind *kind = kind_of(explanation, belief->kind);

	kind->left++;
	kind->bytes += explanation->workload->sizes[allocation];
	explanation->departures[allocation] = (struct explain_departure){
		.kind = (uint8_t)(kind - explanation->kinds + 1),
		.expected = belief->wait,
		.at = now,
	};
}

static void returns(void *context, uint32_t allocation, uint64_t now)
{
	struct explanation *explanation = context;
	struct explain_departure *departure = &explanation->departures[allocation];

	if (departure->kind == 0)
		return;

	struct explain_kind *kind = &explanation->kinds[departure->kind - 1];

	kind->returned++;
	kind->expected += departure->expected;
	kind->passed += (double)(now - departure->at);
	departure->kind = 0;
}

bool explain_begin(struct explanation *explanation, const struct workload *workload)
{
	*explanation = (struct explanation){
		.workload = workload,
		.departures = mem_zalloc_array((size_t)workload->allocation_count + 1,
					       sizeof(*explanation->departures)),
		.witness = { leaves, returns, explanation },
	};
	return explanation->departures != NULL;
}

void explain_end(struct explanation *explanation)
{
	mem_free(explanation->departures);
}

static double mean(double sum, uint64_t count)
{
	return count > 0 ? sum / (double)count : 0;
}

static void print_json(const struct explain_kind *kind, bool is_first)
{
	printf("%s{ \"takenFor\": \"%s\", \"left\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"cameBack\": %" PRIu64 ", \"expectedAfter\": %.0f, \"cameAfter\": %.0f }",
	       is_first ? "" : ", ", kind->name, kind->left, kind->bytes, kind->returned,
	       mean(kind->expected, kind->returned), mean(kind->passed, kind->returned));
}

static void print_line(const struct explain_kind *kind)
{
	printf("    %-10s %10" PRIu64 " %16" PRIu64 " %10" PRIu64 " %15.0f %11.0f\n", kind->name,
	       kind->left, kind->bytes, kind->returned, mean(kind->expected, kind->returned),
	       mean(kind->passed, kind->returned));
}

void explain_print(const struct explanation *explanation, bool is_json)
{
	if (is_json)
		printf(", \"beliefs\": [ ");
	else
		printf("    %-10s %10s %16s %10s %15s %11s\n", "taken for", "left", "bytes",
		       "came back", "expected after", "came after");
	for (int i = 0; i < EXPLAIN_KINDS_MAX && explanation->kinds[i].name; i++) {
		if (is_json)
			print_json(&explanation->kinds[i], i == 0);
		else
			print_line(&explanation->kinds[i]);
	}
	if (is_json)
		printf(" ]");
}
