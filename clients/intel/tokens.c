/* SPDX-License-Identifier: MIT */
/*
 * tokens.c - see tokens.h.
 */
#include "tokens.h"

enum { FLAG_VALUE = 1, FLAG_GROUP = 0x10, GROUP_DWORDS = 4 };

static uint32_t header(unsigned id, unsigned value_dwords, unsigned flags)
{
	return id | value_dwords << 16 | flags << 24;
}

static unsigned id_of(uint32_t token)
{
	return token & 0xffff;
}

static unsigned value_dwords_of(uint32_t token)
{
	return token >> 16 & 0xff;
}

static bool is_group(uint32_t token)
{
	return (token >> 24 & FLAG_GROUP) != 0;
}

/* ---- reading ---- */

/* How many dwords the token at `at` has; 0: more than there are. */
static size_t length_at(const uint32_t *at, const uint32_t *end)
{
	size_t left = (size_t)(end - at);
	size_t length;

	if (!is_group(*at))
		length = 1 + (size_t)value_dwords_of(*at);
	else if (left < GROUP_DWORDS)
		return 0;
	else
		length = GROUP_DWORDS + (size_t)at[3];
	return length <= left ? length : 0;
}

/* NULL: it is not there. */
static const uint32_t *find(struct tokens tokens, unsigned id, bool wants_group, uint32_t element)
{
	size_t length;

	for (const uint32_t *at = tokens.begin; at < tokens.end; at += length) {
		length = length_at(at, tokens.end);
		if (length == 0)
			return NULL;
		if (id_of(*at) == id && is_group(*at) == wants_group &&
		    (!wants_group || at[1] == element))
			return at;
	}
	return NULL;
}

struct tokens tokens_group(struct tokens tokens, enum token_id id, uint32_t element)
{
	const uint32_t *at = find(tokens, id, true, element);

	if (!at || at[2] / sizeof(*at) > at[3])
		return (struct tokens){ NULL, NULL };
	return (struct tokens){ at + GROUP_DWORDS, at + GROUP_DWORDS + at[2] / sizeof(*at) };
}

bool tokens_number(struct tokens tokens, enum token_id id, uint64_t *value_out)
{
	const uint32_t *at = find(tokens, id, false, 0);

	if (!at || value_dwords_of(*at) > 2)
		return false;
	switch (value_dwords_of(*at)) {
	case 0:
		*value_out = *at >> 24 & FLAG_VALUE;
		break;
	case 1:
		*value_out = at[1];
		break;
	default:
		*value_out = (uint64_t)at[2] << 32 | at[1];
		break;
	}
	return true;
}

/* ---- writing ---- */

static void put(struct token_writer *writer, uint32_t dword)
{
	if (writer->count < writer->capacity)
		writer->dwords[writer->count] = dword;
	writer->count++;
}

void tokens_put_bool(struct token_writer *writer, enum token_id id, bool value)
{
	put(writer, header(id, 0, value ? FLAG_VALUE : 0));
}

void tokens_put_dword(struct token_writer *writer, enum token_id id, uint32_t value)
{
	put(writer, header(id, 1, 0));
	put(writer, value);
}

void tokens_put_qword(struct token_writer *writer, enum token_id id, uint64_t value)
{
	put(writer, header(id, 2, 0));
	put(writer, (uint32_t)value);
	put(writer, (uint32_t)(value >> 32));
}

size_t tokens_open(struct token_writer *writer, unsigned id, uint32_t element)
{
	put(writer, header(id, 0, FLAG_GROUP));
	put(writer, element);
	put(writer, 0);
	put(writer, 0);
	return writer->count;
}

void tokens_close(struct token_writer *writer, size_t opened)
{
	uint32_t length = (uint32_t)(writer->count - opened);

	if (opened > writer->capacity)
		return;
	writer->dwords[opened - 2] = length * (uint32_t)sizeof(uint32_t);
	writer->dwords[opened - 1] = length;
}
