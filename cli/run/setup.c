/* SPDX-License-Identifier: MIT */
/*
 * setup.c - see setup.h.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/run/setup.h"

/* ---- files ---- */

static void beside_script(const char *script_path, const char *file, char *path, size_t path_bytes)
{
	const char *slash = strrchr(script_path, '/');
	bool is_beside = slash && file[0] != '/';

	snprintf(path, path_bytes, "%.*s%s", is_beside ? (int)(slash + 1 - script_path) : 0,
		 script_path, file);
}

/* A name, as "soft", is looked for where the drivers are. */
static bool is_file(const char *driver)
{
	size_t length = strlen(driver);

	return strchr(driver, '/') || (length > 3 && strcmp(driver + length - 3, ".so") == 0);
}

/* The kernel wants files by their whole paths. */
static void find_driver(const struct script *script, const struct setup *setup, char *path,
			size_t path_bytes)
{
	const char *named = setup->driver ? setup->driver : script->driver;
	char whole[PATH_MAX];

	snprintf(path, path_bytes, "%s", named ? named : "soft");
	if (!named || !is_file(named))
		return;
	if (!setup->driver)
		beside_script(setup->script_path, named, path, path_bytes);
	if (realpath(path, whole))
		snprintf(path, path_bytes, "%s", whole);
}

bool setup_exerciser(const struct script *script, const struct setup *setup, char *path,
		     size_t path_bytes)
{
	const char *named = setup->exerciser ? setup->exerciser : script->exerciser;

	if (setup->exerciser || (named && strcmp(named, "none") == 0))
		snprintf(path, path_bytes, "%s", named);
	else if (named)
		beside_script(setup->script_path, script->exerciser, path, path_bytes);
	return named != NULL;
}

/* ---- the profile ---- */

static void write_text(int descriptor, const char *text)
{
	dprintf(descriptor, "\"");
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			dprintf(descriptor, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			dprintf(descriptor, "\\u%04x", (unsigned)*text);
		else
			dprintf(descriptor, "%c", *text);
	}
	dprintf(descriptor, "\"");
}

/* As docs/profile.md has it, in memory; the kernel opens it at the first call. */
static bool write_profile(const struct script *script, const char *driver, bool is_soft, char *path,
			  size_t path_bytes)
{
	int descriptor = memfd_create("dxgk-profile", MFD_CLOEXEC);

	if (descriptor < 0)
		return false;
	dprintf(descriptor, "{\"adapters\": [{\"driver\": ");
	write_text(descriptor, driver);
	if (is_soft)
		dprintf(descriptor, ", \"name\": \"opendxgk Soft GPU\"");
	dprintf(descriptor, ", \"registry\": {");
	for (uint32_t i = 0; i < script->setting_count; i++) {
		const struct script_setting *setting = &script->settings[i];
		dprintf(descriptor, "%s\"%s\": ", i ? ", " : "", setting->key);
		if (setting->is_word)
			dprintf(descriptor, "\"%s\"", setting->word);
		else
			dprintf(descriptor, "%u", setting->number);
	}
	dprintf(descriptor, "}}]}\n");
	snprintf(path, path_bytes, "/proc/self/fd/%d", descriptor);
	return true;
}

bool setup_profile(const struct script *script, const struct setup *setup)
{
	char driver[PATH_MAX];
	char path[PATH_MAX] = "";

	if (setup->driver || script->driver || script->setting_count > 0) {
		find_driver(script, setup, driver, sizeof(driver));
		if (!write_profile(script, driver, !setup->driver && !script->driver, path,
				   sizeof(path)))
			return false;
	} else if (script->profile) {
		beside_script(setup->script_path, script->profile, path, sizeof(path));
	}
	return path[0] == '\0' || setenv("DXGK_PROFILE", path, 1) == 0;
}
