/* SPDX-License-Identifier: MIT */
/*
 * control_text.h - long texts of a running kernel, put together of their parts.
 */
#ifndef CLI_CONTROL_TEXT_H
#define CLI_CONTROL_TEXT_H

#include "cli/control_client.h"

/*
 * Ended by a zero; mem_free() gives it back. NULL when the kernel did not answer or refused it, or there is no memory,
 * which was said (`what`: as in control_print_refusal()).
 */
char *control_text_take(const struct control_client *client, const char *what,
			enum control_text_kind kind, uint32_t number);

#endif
