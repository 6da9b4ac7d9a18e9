/* SPDX-License-Identifier: MIT */
/*
 * control_text.c - see control_text.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"
#include "cli/control_text.h"

/* Another controller's question may end a text; then it is asked for anew, so often. */
enum { TRIES = 20, TEXT_MOST_BYTES = 1 << 30 };

/* One part, at its place in `*text`, which has room for all of it from the first part on. */
static bool take_part(const struct control_client *client, struct control_part *part, char **text,
		      struct control_reply *reply)
{
	uint64_t offset = part->offset_bytes;

	if (!control_ask(client, CONTROL_TEXT, 0, part, sizeof(*part), reply))
		return false;
	if (!NT_SUCCESS(reply->status))
		return false;
	if (!*text && part->size_bytes < TEXT_MOST_BYTES)
		*text = mem_zalloc((size_t)part->size_bytes + 1);
	if (!*text || offset > part->size_bytes) {
		fprintf(stderr, "dxgk: no memory for a text of the kernel\n");
		return false;
	}
	uint64_t left = part->size_bytes - offset;
	uint64_t bytes = left < CONTROL_PART_BYTES ? left : CONTROL_PART_BYTES;
	memcpy(*text + offset, part->text, (size_t)bytes);
	part->offset_bytes = offset + bytes;
	return true;
}

char *control_text_take(const struct control_client *client, const char *what,
			enum control_text_kind kind, uint32_t number)
{
	struct control_reply reply = { 0 };

	for (int i = 0; i < TRIES; i++) {
		struct control_part part = { .kind = kind, .number = number };
		char *text = NULL;
		bool is_good;

		do
			is_good = take_part(client, &part, &text, &reply);
		while (is_good && part.offset_bytes < part.size_bytes);
		if (is_good)
			return text;
		mem_free(text);
		/* Of a text that had begun: somebody else asked meanwhile. */
		if (NT_SUCCESS(reply.status) || part.ticket == 0)
			break;
	}
	if (!NT_SUCCESS(reply.status))
		control_print_refusal(client, what, &reply);
	return NULL;
}
