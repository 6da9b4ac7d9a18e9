/* SPDX-License-Identifier: MIT */
/*
 * finding.c - see finding.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/verify/escape.h"
#include "cli/verify/finding.h"
#include "cli/verify/verify.h"

/* ---- memory ---- */

void *needed(void *memory)
{
	if (memory)
		return memory;
	fputs("dxgk verify: no memory\n", stderr);
	exit(VERIFY_EXIT_USAGE);
}

char *needed_text(const char *format, ...)
{
	char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	return needed(length < 0 ? NULL : text);
}

static char *text_copy(const char *text)
{
	return needed(strdup(text ? text : ""));
}

/* ---- one ---- */

struct finding *finding_create(const char *rule, enum finding_kind kind)
{
	struct finding *finding = needed(calloc(1, sizeof(*finding)));

	snprintf(finding->rule, sizeof(finding->rule), "%s", rule);
	finding->kind = kind;
	finding->sentence = text_copy("");
	finding->entry = text_copy("");
	finding->tail = text_copy("");
	finding->example.workload = text_copy("");
	finding->example.plan = text_copy("");
	finding->example.script = text_copy("");
	finding->count = 1;
	finding->run_count = 1;
	return finding;
}

static void example_finish(struct finding_example *example)
{
	free(example->workload);
	free(example->plan);
	free(example->script);
}

void finding_destroy(struct finding *finding)
{
	if (!finding)
		return;
	for (uint32_t i = 0; i < finding->frame_count; i++) {
		free(finding->frames[i].function);
		free(finding->frames[i].file);
		free(finding->frames[i].image);
	}
	for (uint32_t i = 0; i < finding->call_count; i++)
		free(finding->calls[i]);
	free(finding->frames);
	free(finding->calls);
	free(finding->sentence);
	free(finding->entry);
	free(finding->tail);
	free(finding->known);
	example_finish(&finding->example);
	free(finding);
}

static void replace(char **text, const char *by)
{
	free(*text);
	*text = text_copy(by);
}

void finding_set_example(struct finding *finding, const char *workload, uint64_t seed,
			 const char *plan, const char *script)
{
	replace(&finding->example.workload, workload);
	replace(&finding->example.plan, plan);
	replace(&finding->example.script, script);
	finding->example.seed = seed;
}

/* What a header of the driver kit has as a function is in the driver, and not the driver's. */
static bool is_of_the_kit(const struct finding_frame *frame)
{
	return strstr(frame->file, "/ddk/") || strncmp(frame->file, "ddk/", 4) == 0;
}

const struct finding_frame *finding_driver_frame(const struct finding *finding, const char *driver)
{
	const struct finding_frame *found = NULL;

	for (uint32_t i = 0; i < finding->frame_count; i++) {
		const struct finding_frame *frame = &finding->frames[i];

		if (strcmp(frame->image, driver) != 0)
			continue;
		if (!is_of_the_kit(frame))
			return frame;
		found = found ? found : frame;
	}
	return found;
}

enum verify_level finding_level(const struct finding *finding)
{
	return verify_rule_level(finding->rule);
}

/* FNV-1a, with the end of each text in it. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i <= length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
	return hash;
}

static void set_fingerprint(struct finding *finding, const char *place, const char *detail)
{
	uint64_t hash = hash_text(UINT64_C(14695981039346656037), finding->rule);

	hash = hash_text(hash, place);
	hash = hash_text(hash, finding->entry);
	hash = hash_text(hash, detail);
	snprintf(finding->fingerprint, sizeof(finding->fingerprint), "%016" PRIx64, hash);
}

static const char *driver_function(const struct finding *finding, const char *driver)
{
	const struct finding_frame *place = finding_driver_frame(finding, driver);

	return place ? place->function : "";
}

void finding_set_fingerprint(struct finding *finding, const char *driver, const char *detail)
{
	set_fingerprint(finding, driver_function(finding, driver), detail);
}

void finding_set_fingerprint_of_race(struct finding *finding, const char *driver, const char *other)
{
	const char *one = driver_function(finding, driver);
	bool is_in_order = strcmp(one, other) < 0;

	set_fingerprint(finding, is_in_order ? one : other, is_in_order ? other : one);
}

/* ---- all ---- */

void findings_finish(struct findings *findings)
{
	for (uint32_t i = 0; i < findings->count; i++)
		finding_destroy(findings->items[i]);
	free(findings->items);
	*findings = (struct findings){ 0 };
}

static int compare(const char *rule, const char *fingerprint, const struct finding *with)
{
	int order = strcmp(rule, with->rule);

	return order != 0 ? order : strcmp(fingerprint, with->fingerprint);
}

/* Where it is, or belongs. */
static uint32_t position(const struct findings *findings, const char *rule, const char *fingerprint,
			 bool *is_there_out)
{
	uint32_t low = 0;
	uint32_t high = findings->count;

	*is_there_out = false;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		int order = compare(rule, fingerprint, findings->items[middle]);

		if (order == 0) {
			*is_there_out = true;
			return middle;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct finding *findings_find(const struct findings *findings, const char *rule,
			      const char *fingerprint)
{
	bool is_there;
	uint32_t at = position(findings, rule, fingerprint, &is_there);

	return is_there ? findings->items[at] : NULL;
}

static void insert(struct findings *findings, uint32_t at, struct finding *finding)
{
	if (findings->count == findings->capacity) {
		findings->capacity = findings->capacity ? findings->capacity * 2 : 16;
		findings->items = needed(
			realloc(findings->items, findings->capacity * sizeof(*findings->items)));
	}
	memmove(&findings->items[at + 1], &findings->items[at],
		(findings->count - at) * sizeof(*findings->items));
	findings->items[at] = finding;
	findings->count++;
}

/*
 * A total order, so that it does not matter who comes first: without a fault before with one, then the shortest script, then
 * the plan and the seed.
 */
static bool is_smaller(const struct finding_example *example, const struct finding_example *than)
{
	size_t length = strlen(example->script);
	size_t than_length = strlen(than->script);

	if ((*example->plan == '\0') != (*than->plan == '\0'))
		return *example->plan == '\0';
	if (length != than_length)
		return length < than_length;
	if (example->seed != than->seed)
		return example->seed < than->seed;
	int order = strlen(example->plan) < strlen(than->plan) ? -1
		    : strlen(example->plan) > strlen(than->plan)
			    ? 1
			    : strcmp(example->plan, than->plan);
	return order < 0;
}

struct finding *findings_join(struct findings *findings, struct finding *finding, bool *is_news_out)
{
	bool is_there;
	uint32_t at = position(findings, finding->rule, finding->fingerprint, &is_there);

	if (!is_there) {
		insert(findings, at, finding);
		*is_news_out = true;
		return finding;
	}
	struct finding *known = findings->items[at];
	*is_news_out = is_smaller(&finding->example, &known->example);
	uint64_t count = known->count + finding->count;
	uint64_t run_count = known->run_count + finding->run_count;
	uint64_t first =
		finding->first_seed < known->first_seed ? finding->first_seed : known->first_seed;
	uint64_t last =
		finding->last_seed > known->last_seed ? finding->last_seed : known->last_seed;
	struct finding *kept = *is_news_out ? finding : known;
	struct finding *left = *is_news_out ? known : finding;

	if (!kept->known && left->known) {
		kept->known = left->known;
		kept->is_expired = left->is_expired;
		left->known = NULL;
	}
	kept->count = count;
	kept->run_count = run_count;
	kept->first_seed = first;
	kept->last_seed = last;
	findings->items[at] = kept;
	finding_destroy(left);
	return kept;
}

/* ---- as JSON and back ---- */

static const char *const kind_names[] = {
	[FINDING_RULE] = "rule",
	[FINDING_CRASH] = "crash",
	[FINDING_HANG] = "hang",
};

static void write_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	json_put(out, text);
}

void finding_write(FILE *out, const struct finding *finding)
{
	fputs("{\"rule\":", out);
	json_put(out, finding->rule);
	write_text(out, "fingerprint", finding->fingerprint);
	write_text(out, "level", verify_level_name(finding_level(finding)));
	write_text(out, "kind", kind_names[finding->kind]);
	write_text(out, "sentence", finding->sentence);
	write_text(out, "entry", finding->entry);
	fputs(",\"frames\":[", out);
	for (uint32_t i = 0; i < finding->frame_count; i++) {
		fputs(i ? ",{\"function\":" : "{\"function\":", out);
		json_put(out, finding->frames[i].function);
		write_text(out, "file", finding->frames[i].file);
		write_text(out, "image", finding->frames[i].image);
		fprintf(out, ",\"line\":%u}", finding->frames[i].line);
	}
	fputs("],\"calls\":[", out);
	for (uint32_t i = 0; i < finding->call_count; i++) {
		fputs(i ? "," : "", out);
		json_put(out, finding->calls[i]);
	}
	fputs("]", out);
	write_text(out, "tail", finding->tail);
	write_text(out, "workload", finding->example.workload);
	fprintf(out, ",\"seed\":%" PRIu64, finding->example.seed);
	write_text(out, "plan", finding->example.plan);
	write_text(out, "script", finding->example.script);
	fputs("}", out);
}

static void read_frames(const struct json *from, struct finding *finding)
{
	const struct json *frames = json_member(from, "frames");
	const struct json *calls = json_member(from, "calls");
	size_t frame_count = frames && frames->type == JSON_ARRAY ? frames->count : 0;
	size_t call_count = calls && calls->type == JSON_ARRAY ? calls->count : 0;

	finding->frames = needed(calloc(frame_count + 1, sizeof(*finding->frames)));
	finding->calls = needed(calloc(call_count + 1, sizeof(*finding->calls)));
	for (const struct json *frame = frame_count ? frames->first : NULL; frame;
	     frame = frame->next)
		finding->frames[finding->frame_count++] = (struct finding_frame){
			.function = text_copy(json_text_of(frame, "function")),
			.file = text_copy(json_text_of(frame, "file")),
			.image = text_copy(json_text_of(frame, "image")),
			.line = (uint32_t)json_number_of(frame, "line"),
		};
	for (const struct json *call = call_count ? calls->first : NULL; call; call = call->next)
		finding->calls[finding->call_count++] =
			text_copy(call->type == JSON_STRING ? call->string : "");
}

struct finding *finding_read(const struct json *from)
{
	const char *rule = json_text_of(from, "rule");
	const char *kind = json_text_of(from, "kind");

	if (*rule == '\0')
		return NULL;
	struct finding *finding = finding_create(rule, strcmp(kind, "crash") == 0  ? FINDING_CRASH
						       : strcmp(kind, "hang") == 0 ? FINDING_HANG
										   : FINDING_RULE);
	snprintf(finding->fingerprint, sizeof(finding->fingerprint), "%s",
		 json_text_of(from, "fingerprint"));
	replace(&finding->sentence, json_text_of(from, "sentence"));
	replace(&finding->entry, json_text_of(from, "entry"));
	replace(&finding->tail, json_text_of(from, "tail"));
	replace(&finding->example.workload, json_text_of(from, "workload"));
	replace(&finding->example.plan, json_text_of(from, "plan"));
	replace(&finding->example.script, json_text_of(from, "script"));
	finding->example.seed = json_number_of(from, "seed");
	finding->first_seed = finding->last_seed = finding->example.seed;
	read_frames(from, finding);
	return finding;
}
