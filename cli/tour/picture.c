/* SPDX-License-Identifier: MIT */
/*
 * picture.c - the page as HTML: the text, the segments over time, and a row for each allocation,
 * in the colour of its place or state. It needs nothing but the file.
 *
 * Time runs from left to right in WIDTH dots, in both pictures the same. What is shorter than a dot
 * is drawn a dot long where it is the only thing that can be seen there.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/tour/client.h"
#include "cli/tour/report.h"

enum { LEFT = 90, WIDTH = 1000, CHART_HEIGHT = 120, CHART_GAP = 34, ROW_HEIGHT = 5, ROW_STEP = 6 };

/* A picture stands for itself outside of the page as well. */
#define SVG(id)                                                                                    \
	"<svg id=\"" #id "\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" "          \
	"font-family=\"sans-serif\" font-size=\"11\""

static const struct {
	const char *name;
	const char *colour;
} looks[PLACE_COUNT] = {
	[PLACE_OUT] = { "in system memory", "#c9d3dc" },
	[PLACE_MOVING] = { "moving", "#f0a020" },
	[PLACE_LOCAL] = { "in local memory", "#2e9e6b" },
	[PLACE_APERTURE] = { "in system memory, seen by the GPU", "#4a86c8" },
	[PLACE_OFFERED] = { "offered", "#a884d0" },
	[PLACE_DISCARDED] = { "discarded", "#d04040" },
};

static const char *owner_name(uint32_t owner)
{
	return owner < TOUR_CLIENTS ? client_name((enum tour_client_id)owner) : "kernel";
}

/* Tenths of a dot from the left. */
static uint64_t x_of(const struct history *history, uint64_t at_ns)
{
	uint64_t whole_ns = history->to_ns - history->from_ns;

	return whole_ns == 0 ? 0 : (at_ns - history->from_ns) * WIDTH * 10 / whole_ns;
}

/* ---- segments over time ---- */

/* One column for each dot: the most that was there, so that nothing full looks empty. */
static void put_curve(FILE *out, const struct history *history,
		      const struct segment_history *segment, uint64_t limit_bytes, uint32_t top)
{
	uint64_t bytes = 0;
	uint32_t next = 0;

	fprintf(out, "<path fill=\"#2e9e6b\" d=\"M%d %u", LEFT, top + CHART_HEIGHT);
	for (uint32_t dot = 0; dot < WIDTH; dot++) {
		uint64_t most = bytes;

		while (next < segment->level_count &&
		       x_of(history, segment->levels[next].at_ns) < 10 * ((uint64_t)dot + 1)) {
			bytes = segment->levels[next++].bytes;
			most = bytes > most ? bytes : most;
		}
		fprintf(out, "V%.1fh1",
			(double)(top + CHART_HEIGHT) -
				(double)most * CHART_HEIGHT / (double)limit_bytes);
	}
	fprintf(out, "V%uz\"/>\n", top + CHART_HEIGHT);
}

static void put_chart(FILE *out, uint32_t id, const struct tour_segment *facts,
		      const struct history *history, uint32_t top)
{
	const struct segment_history *segment = &history->segments[id];
	double mib = 1024 * 1024;
	uint64_t limit_bytes = facts->limit_bytes;

	/* An aperture may be much larger than what is in it. */
	if (facts->is_aperture && segment->most_bytes * 4 < limit_bytes && segment->most_bytes > 0)
		limit_bytes = segment->most_bytes * 4;
	fprintf(out,
		"<text x=\"%d\" y=\"%u\">segment %u, %s: %.0f MiB, at most %.1f in use</text>\n",
		LEFT, top - 6, id, facts->is_aperture ? "aperture" : "local memory",
		(double)facts->limit_bytes / mib, (double)segment->most_bytes / mib);
	fprintf(out, "<rect x=\"%d\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"#eef2f5\"/>\n",
		LEFT, top, WIDTH, CHART_HEIGHT);
	if (limit_bytes > 0)
		put_curve(out, history, segment, limit_bytes, top);
	fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%.0f MiB</text>\n", LEFT - 6,
		top + 10, (double)limit_bytes / mib);
}

static void put_segments(FILE *out, const struct tour_counts *counts, const struct history *history)
{
	const uint32_t step = CHART_HEIGHT + CHART_GAP;
	double seconds = (double)(history->to_ns - history->from_ns) / NS_PER_S;

	fprintf(out,
		"<svg id=\"segments\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d "
		"%u\">\n",
		LEFT + WIDTH + 10, counts->segment_count * step + 20);
	for (uint32_t i = 0; i < counts->segment_count; i++)
		put_chart(out, i + 1, &counts->segments[i], history, i * step + 20);
	fprintf(out,
		"<text x=\"%d\" y=\"%u\">0 s</text><text x=\"%d\" y=\"%u\" "
		"text-anchor=\"end\">%.2f s</text>\n</svg>\n",
		LEFT, counts->segment_count * step + 12, LEFT + WIDTH,
		counts->segment_count * step + 12, seconds);
}

/* ---- allocations ---- */

static void put_legend(FILE *out)
{
	uint32_t x = LEFT;

	for (int i = 0; i < PLACE_COUNT; i++) {
		fprintf(out,
			"<rect x=\"%u\" y=\"3\" width=\"12\" height=\"12\" fill=\"%s\"/>"
			"<text x=\"%u\" y=\"13\">%s</text>\n",
			x, looks[i].colour, x + 16, looks[i].name);
		x += 40 + 7 * (uint32_t)strlen(looks[i].name);
	}
}

/* Lives that do not overlap share a row; `rows[i]` is that of lives[i]. */
static uint32_t arrange(const struct history *history, uint32_t owner, uint32_t *rows,
			uint64_t *busy_until)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < history->life_count; i++) {
		const struct life *life = &history->lives[i];
		uint32_t row = 0;

		if (life->owner != owner)
			continue;
		while (row < count && busy_until[row] > life->from_ns)
			row++;
		count += row == count;
		busy_until[row] = life->to_ns;
		rows[i] = row;
	}
	return count;
}

static uint64_t span_end(const struct life *life, uint32_t index)
{
	return index + 1 < life->span_count ? life->spans[index + 1].from_ns : life->to_ns;
}

/* All spans of one colour in one path; of several within a dot, the first is seen. */
static void put_colour(FILE *out, const struct history *history, const struct life *life,
		       enum place place, uint32_t y)
{
	uint64_t drawn = 0; /* up to here, in tenths of a dot */
	bool is_open = false;

	for (uint32_t i = 0; i < life->span_count; i++) {
		uint64_t from = x_of(history, life->spans[i].from_ns);
		uint64_t to = x_of(history, span_end(life, i));

		to = to < from + 5 ? from + 5 : to;
		if (life->spans[i].place != place || to <= drawn)
			continue;
		from = from < drawn ? drawn : from;
		if (!is_open)
			fprintf(out, "<path stroke=\"%s\" d=\"", looks[place].colour);
		is_open = true;
		fprintf(out, "M%" PRIu64 ".%" PRIu64 " %u.5h%" PRIu64 ".%" PRIu64, LEFT + from / 10,
			from % 10, y + ROW_HEIGHT / 2, (to - from) / 10, (to - from) % 10);
		drawn = to;
	}
	if (is_open)
		fprintf(out, "\"/>");
}

static void put_life(FILE *out, const struct history *history, const struct life *life, uint32_t y)
{
	fprintf(out, "<g><title>%s, allocation 0x%" PRIx64 ", %" PRIu64 " KiB, %u states</title>",
		owner_name(life->owner), life->id, life->size_bytes / 1024, life->span_count);
	for (int place = 0; place < PLACE_COUNT; place++)
		put_colour(out, history, life, (enum place)place, y);
	fprintf(out, "</g>\n");
}

static void put_owner(FILE *out, const struct history *history, uint32_t owner,
		      const uint32_t *rows, uint32_t top)
{
	fprintf(out, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%s</text>\n", LEFT - 6, top + 10,
		owner_name(owner));
	for (uint32_t i = 0; i < history->life_count; i++) {
		if (history->lives[i].owner == owner)
			put_life(out, history, &history->lives[i], top + rows[i] * ROW_STEP);
	}
}

static void put_allocations(FILE *out, const struct history *history)
{
	uint32_t *rows = mem_zalloc_array(history->life_count + 1, sizeof(*rows));
	uint64_t *busy_until = mem_zalloc_array(history->life_count + 1, sizeof(*busy_until));
	uint32_t tops[TOUR_CLIENTS + 2] = { 26 };

	if (rows && busy_until) {
		for (uint32_t owner = 0; owner <= TOUR_CLIENTS; owner++) {
			uint32_t count = arrange(history, owner, rows, busy_until);
			tops[owner + 1] = tops[owner] + (count ? count * ROW_STEP + 16 : 0);
		}
		fprintf(out, SVG(allocations) " stroke-width=\"%d\">\n", LEFT + WIDTH + 10,
			tops[TOUR_CLIENTS + 1], ROW_HEIGHT);
		put_legend(out);
		for (uint32_t owner = 0; owner <= TOUR_CLIENTS; owner++) {
			if (tops[owner + 1] > tops[owner])
				put_owner(out, history, owner, rows, tops[owner]);
		}
		fprintf(out, "</svg>\n");
	} else {
		fprintf(out, "<p>There was no memory to draw them.</p>\n");
	}
	mem_free(busy_until);
	mem_free(rows);
}

/* ---- the page ---- */

void report_html(FILE *out, const struct tour_counts *counts, const struct history *history)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
		"<title>opendxgk: a tour</title>\n<style>\n"
		"body { font: 14px sans-serif; margin: 2em; max-width: 1200px }\n"
		"svg { width: 100%% }\n"
		"</style>\n</head>\n<body>\n<h1>Three clients, three times the local memory</h1>\n"
		"<pre>");
	report_text(out, counts, history);
	fprintf(out, "</pre>\n<h2>Segments over time</h2>\n");
	put_segments(out, counts, history);
	fprintf(out, "<h2>Every allocation, place and state</h2>\n");
	put_allocations(out, history);
	fprintf(out, "<p>Drawn from the trace, in which every change is one event. An allocation "
		     "ends where its row does; rows are used again.</p>\n</body>\n</html>\n");
}
