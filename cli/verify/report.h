/* SPDX-License-Identifier: MIT */
/*
 * report.h - a campaign (record.h) for people and for programs.
 */
#ifndef CLI_VERIFY_REPORT_H
#define CLI_VERIFY_REPORT_H

#include "cli/verify/record.h"

struct report {
	const struct record *record;
	const char *directory; /* NULL: nothing is kept */
	const char *driver;    /* the file name of its image */
	bool is_strict;
	int exit_status;
};

/* What the program ends with, VERIFY_EXIT_…; what a baseline knows does not count. */
int report_exit_status(const struct record *record, bool is_strict);

/* Worst first: crashes, hangs, errors, warnings, notes; known ones last. To be freed. */
const struct finding **report_order(const struct record *record);

/* "failing/DDI-CRASH-0123456789abcdef" */
char *report_folder_of(const struct finding *finding);

/* Without "." and "..", and relative where it is below the current folder. To be freed. */
char *report_source_path(const char *path);

/* The list at the end, and the line that says how much was done. */
void report_print(FILE *out, const struct report *report);

/* TAP 14. */
void report_print_tap(FILE *out, const struct report *report);

void report_write_junit(FILE *out, const struct report *report);
void report_write_sarif(FILE *out, const struct report *report);

/* All files in the folder but results.jsonl and failing/. False after saying why. */
MUST_CHECK bool report_write_files(const struct report *report);

/* 2026-11-17T06:02:05Z */
void report_time(uint64_t seconds, char text[32]);

#endif
