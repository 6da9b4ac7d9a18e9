/* SPDX-License-Identifier: MIT */
/*
 * ctl.h - the verbs of dxgk ctl, one function each. `arguments` has as many as the verb takes.
 */
#ifndef CLI_CTL_H
#define CLI_CTL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/control_client.h"

enum { CTL_FAILED = 1, CTL_USAGE = 2 };

int ctl_map(const struct control_client *client, char **arguments);
int ctl_stats(const struct control_client *client, char **arguments);
int ctl_intervals(const struct control_client *client, char **arguments);
int ctl_restrict(const struct control_client *client, char **arguments);
int ctl_offers(const struct control_client *client, char **arguments);
int ctl_sync_evict(const struct control_client *client, char **arguments);
int ctl_fail_reclaim(const struct control_client *client, char **arguments);
int ctl_option(const struct control_client *client, char **arguments);
int ctl_walk(const struct control_client *client, char **arguments);

/* An escape; false when it was not answered or refused, which was said. `what` is the verb. */
bool ctl_escape(const struct control_client *client, const char *what, uint32_t type, void *data,
		uint32_t size_bytes);

/* Decimal, or hexadecimal with 0x; K, M and G behind it count in powers of 1024. */
bool ctl_number(const char *text, uint64_t *number_out);

/* The same, or "none" for all ones. */
bool ctl_limit(const char *text, uint64_t *limit_out);

/* Is it a server's, and so of many programs? Then that is said, and what is about one of them fails. */
bool ctl_is_of_many(const struct control_client *client, const char *what);

/* "… is not one"; CTL_USAGE. */
int ctl_complain(const char *what, const char *text);

#endif
