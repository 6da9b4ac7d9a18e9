/* SPDX-License-Identifier: MIT */
/*
 * cmd_replay.c - dxgk replay: how many bytes would a policy of eviction move?
 *
 * A recorded or made-up order of uses goes through the policies alone: no driver, no memory. Beside
 * each stands what is the least for anybody who knows the future.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/replay_explain.h"
#include "replay/replay.h"
#include "trace/convert.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, PAGE_BYTES = 4096 };

static const double default_times = 1.25;

struct options {
	const char *path;
	const char *kind; /* to generate, without ":times" */
	size_t kind_length;
	uint64_t seed;
	const struct evict_policy *policy; /* NULL: all */
	uint64_t segment_bytes;            /* 0: reference / times */
	double times;
	const char *write_path;
	bool is_json;
	bool is_explained;
};

static void print_usage(FILE *out)
{
	fprintf(out,
		"usage: dxgk replay FILE [--policy NAME] [--segment BYTES | --times X]\n"
		"                        [--explain] [--json]\n"
		"       dxgk replay --generate KIND[:X] [--seed N] [--write FILE] …\n\n"
		"Replays the uses of allocations that `dxgk trace` wrote to FILE, or made-up "
		"ones,\n"
		"through the policies of eviction (all of them unless one is named), and\n"
		"prints the bytes that had to move next to the least possible (Belady, by pages).\n"
		"The segment has BYTES, or so much that X times of it are used (%.2f).\n"
		"--explain tells what each took for those it let go, and after how many uses "
		"they came\nback.\n\n"
		"Kinds:\n",
		default_times);
	for (unsigned i = 0; workload_kind_at(i); i++)
		fprintf(out, "  %-10s %s\n", workload_kind_at(i)->name, workload_kind_at(i)->title);
	fprintf(out, "\nPolicies:\n");
	for (size_t i = 0; evict_policies[i]; i++)
		fprintf(out, "  %s\n", evict_policies[i]->name);
}

static const char *read_number(const char *text, void *into)
{
	return text_is_number(text, 0, UINT64_MAX, into) ? NULL : "a number";
}

static const char *read_bytes(const char *text, void *into)
{
	return text_is_number(text, 1, UINT64_MAX, into) ? NULL : "a number of bytes";
}

static const char *read_times(const char *text, void *into)
{
	return text_is_decimal(text, 0.01, 1e6, into) ? NULL : "a number from 0.01 to 1000000";
}

/* "cyclic:1.25" */
static const char *read_kind(const char *text, void *into)
{
	struct options *options = into;
	const char *colon = strchr(text, ':');

	options->kind = text;
	options->kind_length = colon ? (size_t)(colon - text) : strlen(text);
	return colon && read_times(colon + 1, &options->times)
		       ? "KIND:X, with X from 0.01 to 1000000"
		       : NULL;
}

static const char *read_policy(const char *text, void *into)
{
	const struct evict_policy **policy = into;

	*policy = evict_policy_find(text);
	return *policy ? NULL : "a policy; --help lists them";
}

/* As options_take(). */
static int parse(int argc, char **argv, struct options *options)
{
	const struct command_option known[] = {
		{ "generate", .read = read_kind, .into = options },
		{ "seed", .read = read_number, .into = &options->seed },
		{ "segment", .read = read_bytes, .into = &options->segment_bytes },
		{ "times", .read = read_times, .into = &options->times },
		{ "policy", .read = read_policy, .into = &options->policy },
		{ "write", .text = &options->write_path },
		{ "explain", .flag = &options->is_explained },
		{ "json", .flag = &options->is_json },
		{ 0 },
	};
	const struct command_options of = { "replay", print_usage, known };

	*options = (struct options){ .times = default_times, .seed = 1 };
	int status = options_take(argc, argv, &of);
	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc)
		options->path = argv[optind++];
	if (optind < argc || (options->path != NULL) == (options->kind != NULL)) {
		fprintf(stderr, "dxgk replay: either one FILE or --generate KIND\n");
		return EXIT_USAGE;
	}
	return OPTIONS_GO_ON;
}

static int load_generated(const struct options *options, struct workload *workload)
{
	char *name = strndup(options->kind, options->kind_length);
	NTSTATUS status =
		name ? workload_generate(name, options->seed, workload) : STATUS_NO_MEMORY;

	if (status == STATUS_NOT_FOUND)
		fprintf(stderr, "dxgk replay: there is no kind \"%s\"; --help lists them\n", name);
	else if (!NT_SUCCESS(status))
		fprintf(stderr, "dxgk replay: no memory\n");
	free(name);
	if (status == STATUS_NOT_FOUND)
		return EXIT_USAGE;
	return NT_SUCCESS(status) ? 0 : EXIT_FAILED;
}

/* A workload is read from JSON: a binary trace is put into that form, in a file without a name. -1: it is none, or cannot be. */
static int as_json(const char *path, char *copy, size_t copy_bytes)
{
	struct trace_file file;
	char problem[256];
	int descriptor = -1;

	if (!trace_file_open(path, &file))
		return -1;
	if (trace_is_binary(file.bytes, file.size_bytes))
		descriptor = memfd_create("dxgk-replay", MFD_CLOEXEC);
	trace_file_close(&file);
	if (descriptor < 0)
		return -1;
	snprintf(copy, copy_bytes, "/proc/self/fd/%d", descriptor);
	if (!trace_convert(path, copy, problem, sizeof(problem)) || problem[0] != '\0')
		fprintf(stderr, "dxgk replay: %s\n", problem);
	return descriptor;
}

static int load_file(const struct options *options, struct workload *workload)
{
	char problem[512] = "no memory";
	char copy[64];
	int descriptor = as_json(options->path, copy, sizeof(copy));
	NTSTATUS status = workload_read(descriptor < 0 ? options->path : copy, workload, problem,
					sizeof(problem));

	if (descriptor >= 0)
		close(descriptor);

	if (status == STATUS_NOT_FOUND)
		fprintf(stderr, "dxgk replay: %s: %s\n", options->path, strerror(errno));
	else if (!NT_SUCCESS(status))
		fprintf(stderr, "dxgk replay: %s\n", problem);
	return NT_SUCCESS(status) ? 0 : EXIT_FAILED;
}

static int write_file(const char *path, const struct workload *workload)
{
	FILE *file = fopen(path, "we");
	bool is_written = file && workload_write(workload, file);

	if (!is_written)
		fprintf(stderr, "dxgk replay: %s: %s\n", path, strerror(errno));
	if (file && fclose(file) != 0 && is_written) {
		fprintf(stderr, "dxgk replay: %s: %s\n", path, strerror(errno));
		is_written = false;
	}
	return is_written ? 0 : EXIT_FAILED;
}

static double ratio(const struct replay_result *result, const struct replay_result *least)
{
	return least->bytes_in ? (double)result->bytes_in / (double)least->bytes_in : 1;
}

static void print_result(const struct options *options, const char *name,
			 const struct replay_result *result, const struct replay_result *least)
{
	if (options->is_json)
		printf("%s\n    { \"policy\": \"%s\", \"bytesMoved\": %" PRIu64
		       ", \"misses\": %" PRIu64 ", \"timesBelady\": %.4f",
		       result == least ? "" : ",", name, result->bytes_in, result->misses,
		       ratio(result, least));
	else
		printf("  %-10s %16" PRIu64 " %10" PRIu64 " %8.2f\n", name, result->bytes_in,
		       result->misses, ratio(result, least));
}

static void print_head(const struct options *options, const struct workload *workload,
		       uint64_t segment_bytes, const struct replay_result *least)
{
	if (options->is_json) {
		printf("{\n  \"segmentBytes\": %" PRIu64 ",\n  \"referenceBytes\": %" PRIu64
		       ",\n  \"allocations\": %u,\n  \"uses\": %" PRIu64
		       ",\n  \"tooLarge\": %" PRIu64 ",\n  \"policies\": [",
		       segment_bytes, workload->reference_bytes, workload->allocation_count,
		       least->uses, least->too_large);
		return;
	}
	printf("%u allocations, %" PRIu64 " uses; %" PRIu64 " bytes in a segment of %" PRIu64 "\n",
	       workload->allocation_count, least->uses, workload->reference_bytes, segment_bytes);
	if (least->too_large > 0)
		printf("left out: %" PRIu64 " uses of what is larger than the segment\n",
		       least->too_large);
	printf("\n  %-10s %16s %10s %8s\n", "policy", "bytes moved", "misses", "x Belady");
}

static void end_result(const struct options *options)
{
	if (options->is_json)
		printf(" }");
}

static bool replay_one(const struct options *options, const struct workload *workload,
		       const struct evict_policy *policy, uint64_t segment_bytes,
		       const struct replay_result *least)
{
	struct explanation explanation = { 0 };
	struct replay_result result;
	bool is_done = (!options->is_explained || explain_begin(&explanation, workload)) &&
		       NT_SUCCESS(replay_run(workload, policy, segment_bytes,
					     options->is_explained ? &explanation.witness : NULL,
					     &result));

	if (is_done) {
		print_result(options, policy->name, &result, least);
		if (options->is_explained)
			explain_print(&explanation, options->is_json);
		end_result(options);
	}
	explain_end(&explanation);
	return is_done;
}

static int replay(const struct options *options, const struct workload *workload)
{
	uint64_t segment_bytes = options->segment_bytes;
	struct replay_result least;

	if (segment_bytes == 0)
		segment_bytes = align_down(
			(uint64_t)((double)workload->reference_bytes / options->times), PAGE_BYTES);
	if (!NT_SUCCESS(replay_belady(workload, segment_bytes, &least)))
		goto no_memory;
	print_head(options, workload, segment_bytes, &least);
	print_result(options, "belady", &least, &least);
	end_result(options);
	for (size_t i = 0; evict_policies[i]; i++) {
		const struct evict_policy *policy = evict_policies[i];

		/* LRU is always there: everybody knows what it means. */
		if (options->policy && policy != options->policy && policy != &evict_lru)
			continue;
		if (!replay_one(options, workload, policy, segment_bytes, &least))
			goto no_memory;
	}
	if (options->is_json)
		printf("\n  ]\n}\n");
	return 0;

no_memory:
	fprintf(stderr, "dxgk replay: no memory\n");
	return EXIT_FAILED;
}

int cmd_replay(int argc, char **argv)
{
	struct workload workload = { 0 };
	struct options options;
	int exit_status = parse(argc, argv, &options);

	if (exit_status != OPTIONS_GO_ON)
		return exit_status;
	exit_status =
		options.path ? load_file(&options, &workload) : load_generated(&options, &workload);
	if (exit_status == 0 && options.write_path)
		exit_status = write_file(options.write_path, &workload);
	if (exit_status == 0)
		exit_status = replay(&options, &workload);
	workload_finish(&workload);
	return exit_status;
}
