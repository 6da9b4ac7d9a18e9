/* SPDX-License-Identifier: MIT */
/*
 * live.c - see live.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cli/tour/live.h"

enum { BAR_CELLS = 40, LINES = 8 };

static bool ask(struct tour *tour, D3DKMT_QUERYSTATISTICS_TYPE type, uint32_t segment,
		D3DKMT_QUERYSTATISTICS *query)
{
	*query = (D3DKMT_QUERYSTATISTICS){ .Type = type, .AdapterLuid = tour->luid };
	query->QuerySegment.SegmentId = segment;
	NTSTATUS status = D3DKMTQueryStatistics(query);
	if (!NT_SUCCESS(status))
		tour_complain(tour, "D3DKMTQueryStatistics: 0x%08x", (unsigned)status);
	return NT_SUCCESS(status);
}

bool live_ask(struct tour *tour)
{
	struct tour_counts *counts = tour->counts;
	D3DKMT_QUERYSTATISTICS query;

	if (!ask(tour, D3DKMT_QUERYSTATISTICS_ADAPTER, 0, &query))
		return false;
	const D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION *adapter =
		&query.QueryResult.AdapterInformation;
	counts->in_bytes = adapter->PagingFault.Faults.Bytes;
	counts->out_bytes = adapter->PagingFault.Evictions.Bytes;
	counts->segment_count =
		adapter->NbSegments < TOUR_SEGMENTS_MAX ? adapter->NbSegments : TOUR_SEGMENTS_MAX;
	for (uint32_t i = 0; i < counts->segment_count; i++) {
		if (!ask(tour, D3DKMT_QUERYSTATISTICS_SEGMENT, i, &query))
			return false;
		const D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION *segment =
			&query.QueryResult.SegmentInformation;
		counts->segments[i] = (struct tour_segment){
			.is_aperture = segment->Aperture,
			.limit_bytes = segment->CommitLimit,
			.resident_bytes = segment->BytesResident,
			.resident_count = segment->Memory.AllocsResident,
		};
	}
	return true;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

static const char *kind_of(const struct tour_segment *segment)
{
	return segment->is_aperture ? "aperture" : "local";
}

static void print_bar(uint32_t id, const struct tour_segment *segment)
{
	char bar[BAR_CELLS + 1];
	uint64_t limit = segment->limit_bytes ? segment->limit_bytes : 1;
	uint64_t full = (segment->resident_bytes * BAR_CELLS + limit - 1) / limit;

	for (uint64_t i = 0; i < BAR_CELLS; i++)
		bar[i] = i < full ? '#' : '.';
	bar[BAR_CELLS] = '\0';
	printf("\033[K  %u %-8s [%s] %6.1f of %.0f MiB\n", id, kind_of(segment), bar,
	       mib(segment->resident_bytes), mib(segment->limit_bytes));
}

/* Over what it drew last. */
static uint32_t draw(const struct tour *tour, uint32_t lines_before)
{
	const struct tour_counts *counts = tour->counts;

	if (lines_before > 0)
		printf("\033[%uA", lines_before);
	for (uint32_t i = 0; i < counts->segment_count; i++)
		print_bar(i + 1, &counts->segments[i]);
	printf("\033[K  frame %" PRIu64 " of %u   hits %" PRIu64 " of %" PRIu64 "   chunks %" PRIu64
	       "   kept %" PRIu64 ", discarded %" PRIu64 "\n",
	       counts->frames, tour->settings->frames, counts->hits, counts->uses, counts->chunks,
	       counts->kept, counts->discarded);
	printf("\033[K  in %.0f MiB   out %.0f MiB   read back %.0f MiB, wrong bytes %" PRIu64 "\n",
	       mib(counts->in_bytes), mib(counts->out_bytes), mib(counts->verified_bytes),
	       counts->wrong_bytes);
	fflush(stdout);
	return counts->segment_count + 2;
}

static void print_line(const struct tour *tour)
{
	const struct tour_counts *counts = tour->counts;

	printf("frame %4" PRIu64 " of %u:", counts->frames, tour->settings->frames);
	for (uint32_t i = 0; i < counts->segment_count; i++)
		printf(" %s %.1f of %.0f MiB,", kind_of(&counts->segments[i]),
		       mib(counts->segments[i].resident_bytes),
		       mib(counts->segments[i].limit_bytes));
	printf(" in %.0f, out %.0f MiB, discarded %" PRIu64 ", wrong bytes %" PRIu64 "\n",
	       mib(counts->in_bytes), mib(counts->out_bytes), counts->discarded,
	       counts->wrong_bytes);
	fflush(stdout);
}

static void sleep_a_moment(struct tour *tour)
{
	uint32_t running = tour->counts->running;

	tour_look_after(tour);
	if (running > 0)
		(void)thread_wait_shared(&tour->counts->running, running,
					 clock_deadline(NS_PER_S / 10));
}

static void watch_terminal(struct tour *tour)
{
	uint32_t lines = 0;

	while (tour->counts->running > 0 && live_ask(tour)) {
		lines = draw(tour, lines);
		sleep_a_moment(tour);
	}
	if (live_ask(tour))
		draw(tour, lines);
}

static void watch_lines(struct tour *tour)
{
	const uint64_t step = tour->settings->frames / LINES + 1;
	uint64_t next = step;

	while (tour->counts->running > 0) {
		if (tour->counts->frames >= next && live_ask(tour)) {
			print_line(tour);
			next = tour->counts->frames / step * step + step;
		}
		sleep_a_moment(tour);
	}
}

void live_watch(struct tour *tour)
{
	if (!tour->settings->is_quiet && isatty(STDOUT_FILENO))
		watch_terminal(tour);
	else if (!tour->settings->is_quiet)
		watch_lines(tour);
	while (tour->counts->running > 0)
		sleep_a_moment(tour);
}
