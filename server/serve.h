/* SPDX-License-Identifier: MIT */
/*
 * serve.h - what the program dxgkd asks of libdxgk.so: the kernel as a server.
 *
 * The server is in the library because drivers link to it: a program that had a kernel of its own
 * inside would be met by a second one with the first driver it loads.
 */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include <stdint.h>

enum { DXGK_SERVE_VERSION = 1 };

struct dxgk_serve_options {
	uint32_t version;        /* DXGK_SERVE_VERSION, or the two files do not belong together */
	int64_t idle_exit_ns;    /* it ends when nobody was connected for so long; -1: never */
	const char *socket_path; /* NULL: what systemd handed over */
	const char *profile;     /* NULL: the default adapter */
	const char *group;       /* who may connect, and control; NULL: nobody but its user */
};

/* Serves until it is told to end (SIGTERM, SIGINT) or is idle. Returns the program's exit status. */
int dxgk_serve(const struct dxgk_serve_options *options);

#endif
