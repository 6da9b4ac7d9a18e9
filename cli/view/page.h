/* SPDX-License-Identifier: MIT */
/*
 * page.h - a model as one HTML file that needs nothing else.
 */
#ifndef CLI_VIEW_PAGE_H
#define CLI_VIEW_PAGE_H

#include "cli/view/model.h"

/* False, with a sentence. */
MUST_CHECK bool view_page_write(const struct view_model *model, const char *title, const char *path,
				char *problem, size_t problem_bytes);

/* Of a binary trace; "dxgk WHO" says on stderr why not, and when the trace was damaged or cut. */
MUST_CHECK bool view_page_of_trace(const char *trace, const char *title, const char *path,
				   const char *who);

/* Whether a page could be written there, with errno: to be asked before a long run. */
MUST_CHECK bool view_page_can_be(const char *path);

#endif
