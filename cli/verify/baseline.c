/* SPDX-License-Identifier: MIT */
/*
 * baseline.c - see baseline.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/verify/baseline.h"

/* 2026-11-17 */
static bool is_day(const char *text)
{
	static const char shape[] = "dddd-dd-dd";
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	if (strlen(text) != strlen(shape))
		return false;
	for (size_t i = 0; shape[i]; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';
		if (shape[i] == 'd' ? !is_digit : text[i] != '-')
			return false;
	}
	int month = 10 * (text[5] - '0') + (text[6] - '0');
	int day = 10 * (text[8] - '0') + (text[9] - '0');

	return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

/* NULL after a complaint; "" for what may be left out and is. */
static char *member_text(struct json_document *document, const struct json *entry, const char *name,
			 bool is_needed)
{
	const struct json *member = json_member(entry, name);

	if (!member && !is_needed)
		return needed_text("%s", "");
	if (!member || member->type != JSON_STRING || member->string[0] == '\0') {
		(void)json_complain(document, member ? member : entry, "expected a text as \"%s\"",
				    name);
		return NULL;
	}
	return needed_text("%s", member->string);
}

static bool read_entry(struct json_document *document, const struct json *entry,
		       struct known *known)
{
	known->rule = member_text(document, entry, "rule", true);
	known->fingerprint = known->rule ? member_text(document, entry, "fingerprint", true) : NULL;
	known->reason = known->fingerprint ? member_text(document, entry, "reason", true) : NULL;
	known->until = known->reason ? member_text(document, entry, "until", false) : NULL;
	if (!known->until)
		return false;
	if (*known->until != '\0' && !is_day(known->until)) {
		(void)json_complain(document, json_member(entry, "until"),
				    "expected a day as \"2027-01-31\"");
		return false;
	}
	return true;
}

static bool read_all(struct json_document *document, struct baseline *baseline)
{
	const struct json *list = json_member(document->root, "known");

	if (!list || list->type != JSON_ARRAY) {
		(void)json_complain(document, document->root, "expected a list as \"known\"");
		return false;
	}
	baseline->known = needed(calloc(list->count + 1, sizeof(*baseline->known)));
	for (const struct json *entry = list->first; entry; entry = entry->next) {
		if (!read_entry(document, entry, &baseline->known[baseline->count++]))
			return false;
	}
	return true;
}

bool baseline_read(struct baseline *baseline, const char *path)
{
	struct json_document document;

	*baseline = (struct baseline){ 0 };
	bool is_good = NT_SUCCESS(json_read(path, &document)) && read_all(&document, baseline);
	if (!is_good)
		fprintf(stderr, "dxgk verify: baseline %s\n", document.problem);
	json_finish(&document);
	return is_good;
}

void baseline_finish(struct baseline *baseline)
{
	for (uint32_t i = 0; i < baseline->count; i++) {
		free(baseline->known[i].rule);
		free(baseline->known[i].fingerprint);
		free(baseline->known[i].reason);
		free(baseline->known[i].until);
	}
	free(baseline->known);
	*baseline = (struct baseline){ 0 };
}

void baseline_apply(struct baseline *baseline, struct findings *findings, const char *today)
{
	for (uint32_t i = 0; i < baseline->count; i++) {
		struct known *known = &baseline->known[i];
		struct finding *finding = findings_find(findings, known->rule, known->fingerprint);

		if (!finding)
			continue;
		known->is_seen = true;
		free(finding->known);
		finding->known = needed_text("%s", known->reason);
		/* Days in this form are in order as text. */
		finding->is_expired = *known->until != '\0' && strcmp(today, known->until) > 0;
	}
}

void baseline_print_unseen(FILE *out, const struct baseline *baseline)
{
	for (uint32_t i = 0; i < baseline->count; i++) {
		if (!baseline->known[i].is_seen)
			fprintf(out, "%s %s is in the baseline and was not seen\n",
				baseline->known[i].rule, baseline->known[i].fingerprint);
	}
}
