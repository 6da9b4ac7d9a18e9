/* SPDX-License-Identifier: MIT */
/*
 * facts_text.c - facts (facts.h) as text, between processes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/verify/escape.h"
#include "cli/verify/facts.h"

/* ---- as JSON and back ---- */

void facts_write(FILE *out, const struct verify_facts *facts)
{
	fprintf(out, "{\"model\":");
	json_put(out, facts->model);
	fprintf(out,
		",\"wddm\":%u,\"abilities\":%u,\"commandNodes\":\"%#" PRIx64 "\","
		"\"localBytes\":%" PRIu64 ",\"nonLocalBytes\":%" PRIu64 ",\"nodes\":[",
		facts->wddm, facts->abilities, facts->command_nodes, facts->local_bytes,
		facts->non_local_bytes);
	for (uint32_t i = 0; i < facts->node_count && i < VERIFY_NODES_MAX; i++) {
		fputs(i ? "," : "", out);
		json_put(out, facts->nodes[i].engine);
	}
	fprintf(out, "],\"segments\":[");
	for (uint32_t i = 0; i < facts->segment_count && i < VERIFY_SEGMENTS_MAX; i++)
		fprintf(out, "%s{\"aperture\":%s,\"bytes\":%" PRIu64 "}", i ? "," : "",
			facts->segments[i].is_aperture ? "true" : "false",
			facts->segments[i].size_bytes);
	fprintf(out, "]}");
}

bool facts_read(const struct json *from, struct verify_facts *facts)
{
	const struct json *model = json_member(from, "model");
	const struct json *nodes = json_member(from, "nodes");
	const struct json *segments = json_member(from, "segments");

	*facts = (struct verify_facts){ 0 };
	if (!model || model->type != JSON_STRING || !nodes || nodes->type != JSON_ARRAY ||
	    !segments || segments->type != JSON_ARRAY)
		return false;
	snprintf(facts->model, sizeof(facts->model), "%s", model->string);
	facts->wddm = (uint32_t)json_number_of(from, "wddm");
	facts->abilities = (uint32_t)json_number_of(from, "abilities");
	/* A text: a mask of 64 bits is more than a number of JSON has for sure. */
	if (!text_is_number(json_text_of(from, "commandNodes"), 0, UINT64_MAX,
			    &facts->command_nodes))
		facts->command_nodes = 0;
	facts->local_bytes = json_number_of(from, "localBytes");
	facts->non_local_bytes = json_number_of(from, "nonLocalBytes");
	for (const struct json *node = nodes->first;
	     node && node->type == JSON_STRING && facts->node_count < VERIFY_NODES_MAX;
	     node = node->next)
		snprintf(facts->nodes[facts->node_count++].engine, sizeof(facts->nodes[0].engine),
			 "%s", node->string);
	for (const struct json *segment = segments->first;
	     segment && facts->segment_count < VERIFY_SEGMENTS_MAX; segment = segment->next) {
		const struct json *aperture = json_member(segment, "aperture");
		uint32_t at = facts->segment_count++;

		facts->segments[at].is_aperture = aperture && aperture->boolean;
		facts->segments[at].size_bytes = json_number_of(segment, "bytes");
	}
	return true;
}
