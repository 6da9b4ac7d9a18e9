/* SPDX-License-Identifier: MIT */
/*
 * config_limits.c - "limits" of the profile: what a process, and all of a user's, may have at once.
 */
#include <string.h>

#include "base/quota.h"
#include "embed/config_parts.h"

/* The member says which by its name, which is one of them. */
static NTSTATUS read_limit(struct json_document *document, const struct json *value, void *into)
{
	struct quota_limits *limits = into;
	enum quota_kind kind = 0;
	uint32_t number;

	while (strcmp(quota_name(kind), value->name) != 0)
		kind++;
	NTSTATUS status = config_read_number(document, value, "a limit", 1, UINT32_MAX, &number);
	if (NT_SUCCESS(status))
		limits->most[kind] = number * quota_unit(kind);
	return status;
}

static NTSTATUS read_owner(struct json_document *document, const struct json *value,
			   struct quota_limits *limits)
{
	static const struct config_member members[] = {
		{ "handles", read_limit },     { "allocations", read_limit },
		{ "systemMiB", read_limit },   { "ntHandles", read_limit },
		{ "names", read_limit },       { "events", read_limit },
		{ "privateKiB", read_limit },  { "registrations", read_limit },
		{ "queuedKiB", read_limit },   { "gpuRanges", read_limit },
		{ "sessions", read_limit },    { "threads", read_limit },
		{ "descriptors", read_limit }, { "bankMiB", read_limit },
		{ "mappings", read_limit },    { "requestKiB", read_limit },
	};

	_Static_assert(ARRAY_SIZE(members) == QUOTA_KINDS, "every kind has a name: quota_name()");
	return config_read_members(document, value, "limits of one", members, QUOTA_KINDS, limits);
}

static NTSTATUS read_process(struct json_document *document, const struct json *value, void *into)
{
	return read_owner(document, value, &((struct config *)into)->process_limits);
}

static NTSTATUS read_user(struct json_document *document, const struct json *value, void *into)
{
	return read_owner(document, value, &((struct config *)into)->user_limits);
}

NTSTATUS config_read_limits(struct json_document *document, const struct json *value, void *into)
{
	static const struct config_member members[] = { { "process", read_process },
							{ "user", read_user } };

	return config_read_members(document, value, "\"limits\"", members, 2, into);
}
