/* SPDX-License-Identifier: MIT */
/*
 * cmd_top.c - dxgk top: what a running kernel does, again every second.
 *
 * On a terminal a screen with keys; elsewhere, or with --batch, lines or JSON.
 */
#include <ctype.h>
#include <curses.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dxg/d3dkmthk.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ctl.h"
#include "cli/live/target.h"
#include "cli/live/terminal.h"
#include "cli/live/top.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, LINES_MAX = 512, BATCH_WIDTH = TOP_LINE_BYTES - 1 };

struct options {
	struct live_target target;
	bool is_batch;
	bool is_json;
	uint64_t count; /* 0: without end */
	double seconds;
};

static void print_usage(FILE *out)
{
	fprintf(out,
		"Usage: dxgk top [--batch] [--json] [-n COUNT] [-d SECONDS] " LIVE_TARGET_USAGE "\n"
		"Shows what the kernel of a server, or of a program with a control socket, does. "
		"Where there is no terminal,\n"
		"or with --batch, it prints lines; with --json a line of JSON each time.\n\n"
		"  m s p n    order: local memory (also M), system memory, pid, name\n"
		"  P I        order: busy time of nodes, bytes moved\n"
		"  / TEXT     only processes with that name, or pid\n"
		"  up down    choose a process; Enter tells more of it: devices, queues, "
		"allocations\n"
		"  space      freeze, and go on\n"
		"  e          evict everything; b  a budget for everybody: both ask first\n"
		"  q          the end\n");
}

static const char *read_count(const char *text, void *into)
{
	return text_is_number(text, 1, UINT64_MAX, into) ? NULL : "a number above 0";
}

static const char *read_seconds(const char *text, void *into)
{
	return text_is_decimal(text, 0.1, 3600, into) ? NULL : "seconds from 0.1 to 3600";
}

/* As options_take(). */
static int parse(int argc, char **argv, struct options *options)
{
	const struct command_option known[] = {
		LIVE_TARGET_OPTIONS(&options->target),
		{ "batch", 'b', .flag = &options->is_batch },
		{ "json", .flag = &options->is_json },
		{ .letter = 'n', .read = read_count, .into = &options->count },
		{ .letter = 'd', .read = read_seconds, .into = &options->seconds },
		{ 0 },
	};
	const struct command_options of = { "top", print_usage, known };

	*options = (struct options){ .seconds = 1 };
	int status = live_options_take(argc, argv, &of, &options->target);
	options->is_batch |= options->is_json;
	return status;
}

/* ---- without a screen ---- */

static void print_lines(struct live_snapshot *now, const struct live_snapshot *before)
{
	static struct top_line lines[LINES_MAX];
	struct top_view view = { .selected = TOP_NONE };
	uint32_t count = top_lines(now, before, &view, BATCH_WIDTH, LINES_MAX, lines);

	for (uint32_t i = 0; i < count; i++)
		printf("%s\n", lines[i].text);
	printf("\n");
}

static void pause_for(double seconds)
{
	clock_sleep_until(clock_now_ns() + (uint64_t)(seconds * (double)NS_PER_S));
}

static int run_batch(const struct options *options)
{
	struct live_snapshot before, now;
	bool is_first = true;

	if (!live_snapshot_take(&options->target.client, 0, &before))
		return EXIT_FAILED;
	for (uint64_t i = 0; options->count == 0 || i < options->count; i++) {
		if (!is_first || options->count != 1)
			pause_for(options->seconds);
		is_first = false;
		if (!live_snapshot_take(&options->target.client, 0, &now)) {
			live_snapshot_finish(&before);
			return EXIT_FAILED;
		}
		if (options->is_json)
			top_print_json(&now, &before, stdout);
		else
			print_lines(&now, &before);
		fflush(stdout);
		live_snapshot_finish(&before);
		before = now;
	}
	live_snapshot_finish(&before);
	return ferror(stdout) ? EXIT_FAILED : 0;
}

/* ---- the screen ---- */

struct top {
	const struct options *options;
	struct top_view view;
	struct live_snapshot before, now;
	bool is_frozen;
	bool has_ended; /* the kernel does not answer any more */
	bool must_look; /* at once */
	char message[128];
};

static void draw(struct top *top)
{
	static const int looks[] = { [TOP_PLAIN] = A_NORMAL,
				     [TOP_HEAD] = A_BOLD,
				     [TOP_SELECTED] = A_REVERSE,
				     [TOP_ALARM] = A_UNDERLINE };
	static struct top_line lines[LINES_MAX];
	int height, width;

	getmaxyx(stdscr, height, width);
	erase();
	if (height < 3 || width < 20) {
		mvaddnstr(0, 0, "too small", width);
		refresh();
		return;
	}

	unsigned capacity = (unsigned)height - 1 < LINES_MAX ? (unsigned)height - 1 : LINES_MAX;
	uint32_t count =
		top_lines(&top->now, &top->before, &top->view, (unsigned)width, capacity, lines);

	for (uint32_t i = 0; i < count; i++) {
		attrset(looks[lines[i].style]);
		mvaddnstr((int)i, 0, lines[i].text, width);
		attrset(A_NORMAL);
	}
	mvaddnstr(height - 1, 0,
		  top->message[0] ? top->message
		  : top->is_frozen
			  ? "frozen; space goes on, q ends"
			  : "m s p n P I order  / filter  Enter more  space freeze  e evict  "
			    "b budget  q end",
		  width - 1);
	refresh();
}

enum {
	KEY_ESCAPE = 27,
	KEY_DELETE = 127,
	ESCAPE_MS = 100 /* what may follow it, of another key */
};

/* One character fewer, however many bytes it has. */
static void take_back(char *text, size_t *length)
{
	while (*length > 0 && (text[--*length] & 0xc0) == 0x80)
		;
	text[*length] = '\0';
}

/* A line typed at the bottom; false: Escape, or nothing, or the terminal is gone. */
static bool ask_line(const char *question, char *text, size_t size)
{
	size_t length = 0;
	int key = 0;

	text[0] = '\0';
	timeout(-1);
	while (key != '\n' && key != KEY_ENTER) {
		move(getmaxy(stdscr) - 1, 0);
		clrtoeol();
		addstr(question);
		addstr(text);
		key = getch();
		if (key == ERR || key == KEY_ESCAPE)
			return false;
		if (key == KEY_BACKSPACE || key == KEY_DELETE || key == '\b') {
			take_back(text, &length);
		} else if (key >= ' ' && key <= UCHAR_MAX && length + 1 < size) {
			text[length++] = (char)key;
			text[length] = '\0';
		}
	}
	return length > 0;
}

static bool agrees(const char *question)
{
	char text[8];

	return ask_line(question, text, sizeof(text)) &&
	       (strcmp(text, "y") == 0 || strcmp(text, "yes") == 0);
}

static bool escape(struct top *top, D3DKMT_VIDMM_ESCAPE *wish)
{
	struct control_reply reply;

	if (!control_ask(&top->options->target.client, CONTROL_ESCAPE, D3DKMT_ESCAPE_VIDMM, wish,
			 sizeof(*wish), &reply))
		snprintf(top->message, sizeof(top->message), "the kernel does not answer");
	else if (!NT_SUCCESS(reply.status))
		snprintf(top->message, sizeof(top->message), "refused: %.100s", reply.reason);
	else
		return true;
	return false;
}

static void evict(struct top *top)
{
	D3DKMT_VIDMM_ESCAPE wish = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	if (agrees("evict everything of everybody? [y/N] ") && escape(top, &wish))
		snprintf(top->message, sizeof(top->message), "everything has left GPU memory");
}

static void set_budget(struct top *top)
{
	D3DKMT_VIDMM_ESCAPE wish = { .Type = D3DKMT_VIDMMESCAPETYPE_SET_BUDGET };
	char text[32];
	uint64_t limit;

	if (!ask_line("nobody is granted more local memory than (none: no limit): ", text,
		      sizeof(text)))
		return;
	if (!ctl_limit(text, &limit)) {
		snprintf(top->message, sizeof(top->message), "\"%s\" is no size", text);
		return;
	}
	wish.SetBudget.LocalMemoryBudget = limit;
	wish.SetBudget.SystemMemoryBudget = UINT64_MAX;
	if (agrees("is that meant? [y/N] ") && escape(top, &wish))
		snprintf(top->message, sizeof(top->message), "set");
}

/* False: the end. */
static bool on_key(struct top *top, int key)
{
	top->message[0] = '\0';
	switch (key) {
	case 'q':
		return false;
	case 'm':
		top->view.order = TOP_BY_LOCAL;
		break;
	case 's':
		top->view.order = TOP_BY_SYSTEM;
		break;
	case 'p':
		top->view.order = TOP_BY_PID;
		break;
	case 'n':
		top->view.order = TOP_BY_NAME;
		break;
	case '/':
		if (!ask_line("only (nothing: all): ", top->view.filter, sizeof(top->view.filter)))
			top->view.filter[0] = '\0';
		break;
	case KEY_UP:
		top->view.selected -= top->view.selected > 0;
		break;
	case KEY_DOWN:
		top->view.selected++;
		break;
	case 'M':
		top->view.order = TOP_BY_LOCAL;
		break;
	case 'P':
		top->view.order = TOP_BY_BUSY;
		break;
	case 'I':
		top->view.order = TOP_BY_MOVED;
		break;
	case '\n':
	case KEY_ENTER:
		top->view.is_expanded = !top->view.is_expanded;
		top->must_look = true; /* at what more there is of it */
		break;
	case ' ':
		top->is_frozen = !top->is_frozen;
		break;
	case 'e':
		evict(top);
		break;
	case 'b':
		set_budget(top);
		break;
	default:
		break;
	}
	return true;
}

static void look_again(struct top *top)
{
	struct live_snapshot next;

	if (!live_snapshot_take(&top->options->target.client, top->view.expanded, &next)) {
		top->has_ended = true;
		return;
	}
	live_snapshot_finish(&top->before);
	top->before = top->now;
	top->now = next;
}

static int run_screen(const struct options *options)
{
	struct top top = { .options = options };
	uint64_t shown = 0;
	int key;

	if (!live_snapshot_take(&options->target.client, 0, &top.before))
		return EXIT_FAILED;
	if (!live_snapshot_take(&options->target.client, 0, &top.now)) {
		live_snapshot_finish(&top.before);
		return EXIT_FAILED;
	}
	setlocale(LC_ALL, "");
	initscr();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	do {
		draw(&top);
		if (top.must_look && !top.is_frozen) {
			look_again(&top);
			draw(&top);
		}
		top.must_look = false;
		if (options->count && ++shown >= options->count)
			break;
		timeout((int)(options->seconds * 1000));
		key = getch();
		if (key == ERR && !top.is_frozen)
			look_again(&top);
	} while (!top.has_ended && (key == ERR || on_key(&top, key)));
	endwin();
	if (top.has_ended)
		fprintf(stderr, "dxgk top: the kernel does not answer any more\n");
	live_snapshot_finish(&top.before);
	live_snapshot_finish(&top.now);
	return top.has_ended ? EXIT_FAILED : 0;
}

int cmd_top(int argc, char **argv)
{
	struct options options;
	int exit_status = parse(argc, argv, &options);

	if (exit_status != OPTIONS_GO_ON)
		return exit_status;
	return options.is_batch || !terminal_has_screen() ? run_batch(&options)
							  : run_screen(&options);
}
