/* SPDX-License-Identifier: MIT */
/*
 * subject.c - see subject.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/verify/escape.h"
#include "cli/verify/finding.h"
#include "cli/verify/plans.h"
#include "cli/verify/subject.h"

/* ---- files ---- */

char *file_read(const char *path, size_t *length_out)
{
	FILE *file = fopen(path, "re");
	size_t capacity = 65536;
	size_t length = 0;
	char *bytes = needed(malloc(capacity));

	if (!file) {
		free(bytes);
		return NULL;
	}
	for (size_t got; (got = fread(bytes + length, 1, capacity - length - 1, file)) > 0;) {
		length += got;
		if (length + 1 == capacity)
			bytes = needed(realloc(bytes, capacity *= 2));
	}
	bytes[length] = '\0';
	*length_out = length;
	int problem = ferror(file) ? errno : 0;
	fclose(file);
	if (problem == 0)
		return bytes;
	free(bytes);
	errno = problem;
	return NULL;
}

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
	return hash;
}

#define HASH_START UINT64_C(14695981039346656037)

/* Of an image. As 16 digits; to be freed. NULL with errno: also of a pipe or a device, which would not come to an end. */
static char *file_hash(const char *path)
{
	struct stat file;
	size_t length;

	if (stat(path, &file) != 0)
		return NULL;
	if (!S_ISREG(file.st_mode)) {
		errno = S_ISDIR(file.st_mode) ? EISDIR : ENOEXEC;
		return NULL;
	}
	char *bytes = file_read(path, &length);

	if (!bytes)
		return NULL;
	char *text = needed_text("%016" PRIx64, hash_bytes(HASH_START, bytes, length));
	free(bytes);
	return text;
}

static bool complain(const char *path)
{
	fprintf(stderr, "dxgk verify: %s: %s\n", path, strerror(errno));
	return false;
}

/* ---- the profile ---- */

static void write_value(FILE *out, const struct json *value);

static void write_inside(FILE *out, const struct json *value, bool has_names)
{
	for (const struct json *item = value->first; item; item = item->next) {
		if (has_names) {
			json_put(out, item->name);
			fputs(": ", out);
		}
		write_value(out, item);
		fputs(item->next ? ", " : "", out);
	}
}

static void write_value(FILE *out, const struct json *value)
{
	switch (value->type) {
	case JSON_NULL:
		fputs("null", out);
		break;
	case JSON_BOOL:
		fputs(value->boolean ? "true" : "false", out);
		break;
	case JSON_NUMBER:
		fprintf(out, "%.17g", value->number);
		break;
	case JSON_STRING:
		json_put(out, value->string);
		break;
	case JSON_ARRAY:
		fputs("[", out);
		write_inside(out, value, false);
		fputs("]", out);
		break;
	case JSON_OBJECT:
		fputs("{", out);
		write_inside(out, value, true);
		fputs("}", out);
		break;
	}
}

/* Behind the registry's last value. */
static const char profile_end[] = "}}]}\n";

/* `adapter` has what the driver is to find; its driver is this one. NULL: it finds nothing. */
static char *profile_with(const char *driver, const struct json *adapter)
{
	char *text = NULL;
	size_t length;
	FILE *out = needed(open_memstream(&text, &length));

	fputs("{\"adapters\": [{\"driver\": ", out);
	json_put(out, driver);
	for (const struct json *member = adapter ? adapter->first : NULL; member;
	     member = member->next) {
		if (strcmp(member->name, "driver") == 0 || strcmp(member->name, "registry") == 0)
			continue;
		fputs(", ", out);
		json_put(out, member->name);
		fputs(": ", out);
		write_value(out, member);
	}
	fputs(", \"registry\": {", out);
	const struct json *registry = json_member(adapter, "registry");
	if (registry && registry->type == JSON_OBJECT)
		write_inside(out, registry, true);
	fputs(profile_end, out);
	fclose(out);
	return needed(text);
}

/* NULL after saying why. */
static char *profile_from(const char *driver, const char *path)
{
	struct json_document document;
	char *text = NULL;

	if (!NT_SUCCESS(json_read(path, &document))) {
		fprintf(stderr, "dxgk verify: profile %s\n", document.problem);
	} else {
		const struct json *adapters = json_member(document.root, "adapters");

		if (adapters && adapters->type == JSON_ARRAY && adapters->first &&
		    adapters->first->type == JSON_OBJECT)
			text = profile_with(driver, adapters->first);
		else
			fprintf(stderr, "dxgk verify: profile %s: it has no adapter\n", path);
	}
	json_finish(&document);
	return text;
}

/* Into the registry of the adapter, which is the last of its members (profile_with()). */
char *subject_profile(const char *profile_text, const char *plan)
{
	char *settings = NULL;
	size_t length;
	FILE *out = needed(open_memstream(&settings, &length));
	uint32_t count = plan_write_settings(plan, out);

	fclose(out);
	const char *end = strstr(profile_text, profile_end);
	/* The registry may have been empty: a comma is written in front of each. */
	bool is_first = end && end > profile_text && end[-1] == '{';
	char *text =
		count == 0 || !end
			? needed_text("%s", profile_text)
			: needed_text("%.*s%s%s", (int)(end - profile_text), profile_text,
				      is_first ? settings + strlen(", ") : settings, profile_end);
	free(settings);
	return text;
}

/* ---- */

static bool take_driver(struct subject *subject, const char *driver)
{
	const char *slash = strrchr(driver, '/');

	*subject = (struct subject){ 0 };
	subject->driver_name = needed_text("%s", slash ? slash + 1 : driver);
	subject->build = file_hash(driver);
	return subject->build || complain(driver);
}

static bool take_hash(struct subject *subject, const char *exerciser)
{
	char *of_exerciser = exerciser ? file_hash(exerciser) : needed_text("none");

	if (!of_exerciser)
		return complain(exerciser);
	subject->hash = needed_text(
		"%016" PRIx64 "-%s",
		hash_bytes(HASH_START, subject->profile_text, strlen(subject->profile_text)),
		of_exerciser);
	free(of_exerciser);
	return true;
}

bool subject_init(struct subject *subject, const char *driver, const char *exerciser,
		  const char *profile)
{
	if (!take_driver(subject, driver))
		return false;
	subject->profile_text =
		profile ? profile_from(driver, profile) : profile_with(driver, NULL);
	return subject->profile_text && take_hash(subject, exerciser);
}

bool subject_init_again(struct subject *subject, const char *driver, const char *exerciser,
			const char *profile_text)
{
	if (!take_driver(subject, driver))
		return false;
	subject->profile_text = needed_text("%s", profile_text);
	return take_hash(subject, exerciser);
}

void subject_finish(struct subject *subject)
{
	free(subject->driver_name);
	free(subject->build);
	free(subject->hash);
	free(subject->profile_text);
	*subject = (struct subject){ 0 };
}
