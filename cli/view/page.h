/* SPDX-License-Identifier: MIT */
/*
 * page.h - a model as one HTML file that needs nothing else.
 */
#ifndef CLI_VIEW_PAGE_H
#define CLI_VIEW_PAGE_H

#include <stdio.h>

#include "cli/view/model.h"

/* False without memory. The stream's own error flag tells whether it could be written. */
MUST_CHECK bool view_page_write(const struct view_model *model, const char *title, FILE *out);

#endif
