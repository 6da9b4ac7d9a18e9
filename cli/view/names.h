/* SPDX-License-Identifier: MIT */
/*
 * names.h - what things of a trace are called, and numbers as people read them. The page says the same (page/model.js).
 */
#ifndef CLI_VIEW_NAMES_H
#define CLI_VIEW_NAMES_H

#include "cli/view/model.h"

enum { VIEW_NAME_BYTES = 160 };

/* Each writes into `name`, cut if it must be, and returns it. */
typedef char view_name[VIEW_NAME_BYTES];
const char *view_time_name(int64_t ns, view_name name);
const char *view_bytes_name(int64_t bytes, view_name name);
/* Row + 1; 0 is the kernel. */
const char *view_process_name(const struct view_model *model, int64_t process, view_name name);
const char *view_allocation_name(const struct view_model *model, int64_t allocation,
				 view_name name);
const char *view_packet_name(const struct view_model *model, int64_t packet, view_name name);
const char *view_node_name(const struct view_model *model, int64_t node, view_name name);
/* Row + 1; 0 is none. */
const char *view_segment_name(const struct view_model *model, int64_t segment, view_name name);

#endif
