/* SPDX-License-Identifier: MIT */
/*
 * trace_fuzz.c - bytes become a trace, as libFuzzer invents them.
 *
 *   in:   the first byte says how: the rest is the file; or it is the events of a block, in a file that is right but for
 *         that; or it says where a real trace is changed, with checksums that are right again
 *   out:  nothing, or the end of the program: a sanitizer's report, events that are not in order, or a string that is none
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/format.h"
#include "trace/reader.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUFFER_BYTES = 1 << 20 };

static uint8_t model[BUFFER_BYTES]; /* a real trace */
static size_t model_bytes;
static size_t schema_bytes; /* of it, with the header of the file */

static void expect(bool is_good)
{
	if (!is_good)
		abort();
}

static void record_model(void)
{
	int file = memfd_create("trace", 0);
	int copy = dup(file);

	expect(copy >= 0 && trace_start_to(file, "the model", 0));
	for (uint32_t i = 0; i < 50; i++) {
		trace_api_call_begin("D3DKMTMakeResident", 1);
		trace_allocation_live(0x40000000 + i, 65536, 3, 1, 0x40, 0, 1);
		trace_allocation_place(0x40000000 + i, i % 2 ? "in" : "out", 1, 65536);
		trace_refusal("a call", "A-RULE", "a reason", STATUS_NO_MEMORY);
		trace_api_call_end(STATUS_SUCCESS);
	}
	trace_finish();
	ssize_t length = pread(copy, model, sizeof(model), 0);
	expect(length > 0);
	model_bytes = (size_t)length;
	struct trace_block_header header;
	memcpy(&header, model + sizeof(struct trace_file_header), sizeof(header));
	schema_bytes = sizeof(struct trace_file_header) + sizeof(header) + header.size_bytes;
	close(copy);
}

static void read_all(const uint8_t *bytes, size_t size)
{
	char problem[256] = "";
	/* Of its own size, so that a sanitizer sees where it ends. */
	uint8_t *copy = malloc(size ? size : 1);
	struct trace_entry entry;
	uint64_t time_ns = 0;
	uint64_t count = 0;

	expect(copy != NULL);
	memcpy(copy, bytes, size);
	struct trace_reader *reader = trace_reader_open(copy, size, problem, sizeof(problem));
	expect(reader || problem[0] != '\0');
	while (reader && trace_reader_next(reader, &entry)) {
		expect(entry.time_ns >= time_ns && ++count <= size);
		time_ns = entry.time_ns;
		for (uint32_t i = 0; i < entry.info->field_count; i++) {
			if (trace_field_is_string(entry.info->fields[i].type))
				expect(strlen(entry.fields[i].text) <= size);
		}
	}
	if (reader)
		(void)trace_reader_complain(reader, problem, sizeof(problem));
	trace_reader_close(reader);
	free(copy);
}

static void seal(uint8_t *block, uint32_t size_bytes)
{
	struct trace_block_header header;

	memcpy(&header, block, sizeof(header));
	header.magic = TRACE_BLOCK_MAGIC;
	header.size_bytes = size_bytes;
	memcpy(block, &header, sizeof(header));
	header.checksum = trace_checksum(block + TRACE_CHECKED_FROM,
					 sizeof(header) - TRACE_CHECKED_FROM + size_bytes);
	memcpy(block, &header, sizeof(header));
}

/* The events of one or two blocks. */
static void read_events(const uint8_t *data, size_t size)
{
	static uint8_t bytes[BUFFER_BYTES];
	size_t half = size / 2;
	size_t at = schema_bytes;

	memcpy(bytes, model, schema_bytes);
	for (uint32_t part = 0; part < 2; part++) {
		struct trace_block_header header = { .thread = part,
						     .kind = TRACE_BLOCK_EVENTS,
						     .time = part * 100 };
		const uint8_t *from = part ? data + half : data;
		size_t length = part ? size - half : half;
		memcpy(bytes + at, &header, sizeof(header));
		memcpy(bytes + at + sizeof(header), from, length);
		seal(bytes + at, (uint32_t)length);
		at += sizeof(header) + length;
	}
	read_all(bytes, at);
}

/* Three bytes each: where, and what is there instead. The table of events is changed as well. */
static void read_changed(const uint8_t *data, size_t size)
{
	static uint8_t bytes[BUFFER_BYTES];
	size_t first = sizeof(struct trace_file_header);
	struct trace_block_header header;

	memcpy(bytes, model, model_bytes);
	for (; size >= 3; data += 3, size -= 3) {
		size_t at = first + sizeof(header) + (data[0] | (size_t)data[1] << 8);
		if (at < model_bytes)
			bytes[at] = data[2];
	}
	memcpy(&header, model + first, sizeof(header));
	seal(bytes + first, header.size_bytes);
	memcpy(&header, model + schema_bytes, sizeof(header));
	memcpy(bytes + schema_bytes, &header, sizeof(header));
	seal(bytes + schema_bytes, header.size_bytes);
	read_all(bytes, model_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (model_bytes == 0)
		record_model();
	if (size == 0)
		return 0;
	if (data[0] % 3 == 0)
		read_all(data + 1, size - 1);
	else if (data[0] % 3 == 1)
		read_events(data + 1, size - 1);
	else
		read_changed(data + 1, size - 1);
	return 0;
}
