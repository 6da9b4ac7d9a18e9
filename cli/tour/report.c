/* SPDX-License-Identifier: MIT */
/*
 * report.c - what came of a tour, as text; see report.h.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "cli/tour/report.h"

static double mib(uint64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

static uint64_t percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (100 * part + whole / 2) / whole;
}

/* Page tables are in segments, too, and no allocations. */
static bool segment_adds_up(const struct tour_counts *counts, const struct tour_segment *facts,
			    const struct segment_history *segment)
{
	uint64_t rest = segment->in_bytes - segment->out_bytes;

	return segment->now_bytes == rest &&
	       facts->resident_count == segment->in_count - segment->out_count &&
	       (counts->is_virtual ? facts->resident_bytes >= rest : facts->resident_bytes == rest);
}

bool report_adds_up(const struct tour_counts *counts, const struct history *history)
{
	uint64_t in_bytes = 0;
	uint64_t out_bytes = 0;

	if (counts->is_shared)
		return true;
	for (uint32_t id = 1; id <= TOUR_SEGMENTS_MAX; id++) {
		in_bytes += history->segments[id].in_bytes;
		out_bytes += history->segments[id].out_bytes;
		if (id <= counts->segment_count &&
		    !segment_adds_up(counts, &counts->segments[id - 1], &history->segments[id]))
			return false;
	}
	return in_bytes == counts->in_bytes && out_bytes == counts->out_bytes;
}

static void print_clients(FILE *out, const struct tour_counts *counts)
{
	fprintf(out,
		"  frames    %" PRIu64 " with %" PRIu64 " uses of %d textures, %" PRIu64
		" %% found in local memory; %" PRIu64 " repainted\n",
		counts->frames, counts->uses, TOUR_TEXTURES, percent(counts->hits, counts->uses),
		counts->repaints);
	fprintf(out, "  stream    %" PRIu64 " chunks, %.1f MiB, used once each\n", counts->chunks,
		mib(counts->chunk_bytes));
	fprintf(out,
		"  idle      %" PRIu64 " offers: %" PRIu64 " kept, %" PRIu64
		" discarded, which said so\n",
		counts->offers, counts->kept, counts->discarded);
}

static const char *agreement(const struct tour_counts *counts, const struct history *history)
{
	if (counts->is_shared)
		return "are not compared: others use the server, too";
	return report_adds_up(counts, history) ? "agree" : "DO NOT AGREE";
}

static void print_segment(FILE *out, uint32_t id, const struct tour_segment *facts,
			  const struct segment_history *segment)
{
	uint64_t rest = segment->in_bytes - segment->out_bytes;

	fprintf(out,
		"  segment %u %s of %.0f MiB: in %.1f MiB (%" PRIu64 "), out %.1f MiB (%" PRIu64
		"), stayed %.1f MiB; at most %.1f MiB, page tables %.1f MiB\n",
		id, facts->is_aperture ? "aperture" : "local", mib(facts->limit_bytes),
		mib(segment->in_bytes), segment->in_count, mib(segment->out_bytes),
		segment->out_count, mib(rest), mib(segment->most_bytes),
		mib(facts->resident_bytes - rest));
}

void report_text(FILE *out, const struct tour_counts *counts, const struct history *history)
{
	fprintf(out, "tour: %.0f MiB wanted of %.0f MiB local memory, by %s, in %.1f s\n",
		mib(counts->wanted_bytes), mib(counts->local_bytes),
		counts->is_virtual ? "GPU virtual addresses" : "allocation lists",
		(double)counts->duration_ns / NS_PER_S);
	print_clients(out, counts);
	for (uint32_t i = 0; i < counts->segment_count; i++)
		print_segment(out, i + 1, &counts->segments[i], &history->segments[i + 1]);
	fprintf(out, "  books     %" PRIu64 " events of %u allocations; trace and statistics %s\n",
		history->events, history->allocations, agreement(counts, history));
	fprintf(out,
		"  contents  %.1f MiB written, %.1f MiB copied by the GPU, %.1f MiB read back: "
		"%" PRIu64 " wrong bytes\n",
		mib(counts->written_bytes), mib(counts->copied_bytes), mib(counts->verified_bytes),
		counts->wrong_bytes);
}
