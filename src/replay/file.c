/* SPDX-License-Identifier: MIT */
/*
 * file.c - workloads as trace files; see workload.h and docs/replay.md.
 *
 * Reads what src/trace/sink.c writes, one event in a line, not JSON in general. A quote inside of a
 * string is escaped there, so what is searched for here cannot be part of one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/mem.h"
#include "replay/workload.h"

/* Ids of allocations that are alive; open addressing, grows by doubling. */
struct id_slot {
	uint64_t id;
	uint32_t allocation; /* its number + 1; 0: empty */
	bool is_alive;
};

struct reader {
	struct workload *workload;
	struct id_slot *slots;
	size_t slot_count; /* a power of two */
	size_t ids;
	uint64_t alive_bytes;
	uint64_t peak_bytes;
	uint64_t reference_bytes; /* as the file says; 0: it does not */

	const char *path;
	unsigned line;
	char *problem;
	size_t problem_bytes;
};

PRINTF_LIKE(2, 3)
static NTSTATUS complain(struct reader *reader, const char *format, ...)
{
	va_list arguments;
	int used = snprintf(reader->problem, reader->problem_bytes, "%s:%u: ", reader->path,
			    reader->line);

	if (used < 0 || (size_t)used >= reader->problem_bytes)
		return STATUS_INVALID_PARAMETER;
	va_start(arguments, format);
	vsnprintf(reader->problem + used, reader->problem_bytes - (size_t)used, format, arguments);
	va_end(arguments);
	return STATUS_INVALID_PARAMETER;
}

/* Ids. */

static struct id_slot *slot_of(struct id_slot *slots, size_t slot_count, uint64_t id)
{
	size_t at = (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slot_count - 1);

	while (slots[at].allocation != 0 && slots[at].id != id)
		at = (at + 1) & (slot_count - 1);
	return &slots[at];
}

static NTSTATUS reserve_slot(struct reader *reader)
{
	size_t slot_count = reader->slot_count ? 2 * reader->slot_count : 1024;

	if (2 * reader->ids < reader->slot_count)
		return STATUS_SUCCESS;
	struct id_slot *slots = mem_zalloc_array(slot_count, sizeof(*slots));
	if (!slots)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < reader->slot_count; i++) {
		if (reader->slots[i].allocation != 0)
			*slot_of(slots, slot_count, reader->slots[i].id) = reader->slots[i];
	}
	mem_free(reader->slots);
	reader->slots = slots;
	reader->slot_count = slot_count;
	return STATUS_SUCCESS;
}

/* Lines. */

static bool has(const char *line, const char *part)
{
	return strstr(line, part) != NULL;
}

/* The number behind `before`, in a string or not. */
static bool number_behind(const char *line, const char *before, uint64_t *number_out)
{
	const char *at = strstr(line, before);
	char *end;

	if (!at)
		return false;
	at += strlen(before);
	if (*at < '0' || *at > '9')
		return false;
	errno = 0;
	*number_out = strtoull(at, &end, 0);
	return errno == 0 && (*end == '"' || *end == ',' || *end == '}');
}

static NTSTATUS add_created(struct reader *reader, uint64_t id, const char *line)
{
	uint64_t size_bytes;
	uint32_t allocation;

	if (!number_behind(line, "\"size_bytes\":", &size_bytes) || size_bytes == 0)
		return complain(reader, "an allocation is created without \"size_bytes\"");
	if (!checked_add(reader->alive_bytes, size_bytes, &reader->alive_bytes))
		return complain(reader, "allocations of more than 2^64 bytes");
	NTSTATUS status = reserve_slot(reader);
	if (!NT_SUCCESS(status))
		return status;
	struct id_slot *slot = slot_of(reader->slots, reader->slot_count, id);
	if (slot->is_alive)
		return complain(reader, "allocation 0x%" PRIx64 " is created a second time", id);
	status = workload_add_allocation(reader->workload, size_bytes, &allocation);
	if (!NT_SUCCESS(status))
		return status;
	reader->ids += slot->allocation == 0;
	*slot = (struct id_slot){ id, allocation + 1, true };
	if (reader->alive_bytes > reader->peak_bytes)
		reader->peak_bytes = reader->alive_bytes;
	return STATUS_SUCCESS;
}

static NTSTATUS add_event(struct reader *reader, uint64_t id, enum workload_event_kind kind)
{
	struct id_slot *slot =
		reader->slot_count ? slot_of(reader->slots, reader->slot_count, id) : NULL;

	if (!slot || !slot->is_alive)
		return complain(reader, "there is no allocation 0x%" PRIx64, id);
	if (kind == WORKLOAD_DESTROY) {
		slot->is_alive = false;
		reader->alive_bytes -= reader->workload->sizes[slot->allocation - 1];
	}
	return workload_add_event(reader->workload, kind, slot->allocation - 1);
}

static NTSTATUS read_line(struct reader *reader, const char *line)
{
	bool is_life = has(line, "\"name\":\"allocation\"");
	bool is_use = has(line, "\"name\":\"allocation use\"");
	uint64_t id;

	if (has(line, "\"name\":\"reference_bytes\"")) {
		if (!number_behind(line, "\"bytes\":", &reader->reference_bytes))
			return complain(reader, "\"reference_bytes\" has no \"bytes\"");
		return STATUS_SUCCESS;
	}
	if (!is_life && !is_use)
		return STATUS_SUCCESS;
	if (!number_behind(line, "\"id\":\"", &id))
		return complain(reader, "an allocation without \"id\"");
	if (is_use)
		return add_event(reader, id, WORKLOAD_USE);
	if (has(line, "\"ph\":\"b\""))
		return add_created(reader, id, line);
	if (has(line, "\"ph\":\"e\""))
		return add_event(reader, id, WORKLOAD_DESTROY);
	return complain(reader, "an allocation with neither \"ph\":\"b\" nor \"ph\":\"e\"");
}

static NTSTATUS read_lines(struct reader *reader, FILE *file)
{
	NTSTATUS status = STATUS_SUCCESS;
	char *line = NULL;
	size_t line_bytes = 0;

	while (NT_SUCCESS(status) && getline(&line, &line_bytes, file) >= 0) {
		reader->line++;
		if (reader->line == 1 && !has(line, "\"traceEvents\""))
			status = complain(reader, "this is no trace: \"traceEvents\" is missing");
		else
			status = read_line(reader, line);
	}
	free(line);
	if (NT_SUCCESS(status) && ferror(file))
		return STATUS_NOT_FOUND;
	if (NT_SUCCESS(status) && reader->line == 0)
		return complain(reader, "the file is empty");
	if (NT_SUCCESS(status) && reader->workload->event_count == 0)
		return complain(reader, "no allocation is used in it");
	return status;
}

NTSTATUS workload_read(const char *path, struct workload *workload_out, char *problem,
		       size_t problem_bytes)
{
	struct workload workload = { 0 };
	struct reader reader = { .workload = &workload,
				 .path = path,
				 .problem = problem,
				 .problem_bytes = problem_bytes };
	FILE *file = fopen(path, "re");

	if (!file)
		return STATUS_NOT_FOUND;
	NTSTATUS status = read_lines(&reader, file);
	int saved_errno = errno;
	mem_free(reader.slots);
	fclose(file);
	errno = saved_errno;
	if (!NT_SUCCESS(status)) {
		workload_finish(&workload);
		return status;
	}
	workload.reference_bytes =
		reader.reference_bytes ? reader.reference_bytes : reader.peak_bytes;
	*workload_out = workload;
	return STATUS_SUCCESS;
}

/* An allocation is created where it is used first. */
static void write_events(const struct workload *workload, bool *is_created, FILE *file)
{
	static const char head[] = "\"pid\":1,\"tid\":1,\"ts\":";

	for (size_t i = 0; i < workload->event_count; i++) {
		uint32_t allocation = workload->events[i].allocation;
		uint32_t id = allocation + 1;

		if (!is_created[allocation]) {
			fprintf(file,
				",\n{\"ph\":\"b\",\"cat\":\"allocation\",%s%zu,\"name\":"
				"\"allocation\",\"id\":\"0x%x\",\"args\":{\"size_bytes\":%" PRIu64
				"}}",
				head, i, id, workload->sizes[allocation]);
			is_created[allocation] = true;
		}
		if (workload->events[i].kind == WORKLOAD_USE)
			fprintf(file,
				",\n{\"ph\":\"i\",\"cat\":\"residency\",%s%zu,\"s\":\"t\",\"name\":"
				"\"allocation use\",\"id\":\"0x%x\"}",
				head, i, id);
		else
			fprintf(file,
				",\n{\"ph\":\"e\",\"cat\":\"allocation\",%s%zu,\"name\":"
				"\"allocation\",\"id\":\"0x%x\"}",
				head, i, id);
	}
}

bool workload_write(const struct workload *workload, FILE *file)
{
	bool *is_created = mem_zalloc_array((size_t)workload->allocation_count + 1, sizeof(bool));

	if (!is_created) {
		errno = ENOMEM;
		return false;
	}
	fprintf(file,
		"{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"reference_"
		"bytes\","
		"\"args\":{\"bytes\":%" PRIu64 "}}",
		workload->reference_bytes);
	write_events(workload, is_created, file);
	fputs("\n],\"displayTimeUnit\":\"ns\"}\n", file);
	mem_free(is_created);
	return fflush(file) == 0 && !ferror(file);
}
