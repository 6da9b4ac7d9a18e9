/* SPDX-License-Identifier: MIT */
/*
 * shrink_lines.h - a script as lines of text, and how it becomes smaller. Pure: nothing is run here.
 */
#ifndef CLI_VERIFY_SHRINK_LINES_H
#define CLI_VERIFY_SHRINK_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_WORDS_MOST = 16 };

struct lines {
	char **items; /* without comments, blank lines and blanks at either end */
	size_t count;
};

void lines_read(struct lines *lines, const char *script);
void lines_finish(struct lines *lines);

/* The script, to be freed. */
char *lines_text(const struct lines *lines);

/* What is to become small: more lines weigh more than anything in them. */
uint64_t lines_weight(const struct lines *lines);

/*
 * Without `count` lines from `first` on: with a line that makes something go those that name it. Of a block the borders stay
 * as long as something is in it, and go together.
 */
void lines_without(const struct lines *from, size_t first, size_t count, struct lines *to);

/* The block that begins at this line, one branch after the other; false: none does. */
bool lines_unfold(const struct lines *from, size_t line, struct lines *to);

/* That word as simple as can be: a size of a page, one time, a value of 1. False: it is no number, or is that already. */
bool lines_simplify(const struct lines *from, size_t line, size_t word, struct lines *to);

/* A plan without its n-th fault, to be freed; NULL: it has no such. */
char *lines_plan_without(const char *plan, size_t fault);

#endif
