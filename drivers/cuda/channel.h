/* SPDX-License-Identifier: MIT */
/*
 * channel.h - another process of the host, and a socket to it that carries bytes and descriptors.
 */
#ifndef CUDA_CHANNEL_H
#define CUDA_CHANNEL_H

#include "ntdef.h"

enum { CHANNEL_MOST_DESCRIPTORS = 64, CHANNEL_THERE = 3 /* the other one's end */ };

/* Starts a program whose end of the socket is CHANNEL_THERE; 0: errno is why not. */
int channel_start(const char *program, int *socket_out);
/* It is gone when this returns, whatever it was doing. */
void channel_end(int process, int socket);

/* All of them, or FALSE: the other one is gone. Descriptors go with the first byte. */
BOOLEAN channel_send(int socket, const void *bytes, size_t size_bytes, const int *descriptors,
		     unsigned count);
BOOLEAN channel_receive(int socket, void *bytes, size_t size_bytes, int *descriptors,
			unsigned capacity, unsigned *count_out);
/* Something to receive, the end among it. */
BOOLEAN channel_has_news(int socket);

void channel_close(int descriptor);
/* The folder of the file that `symbol` was loaded from, and behind it `name`; FALSE: too long. */
BOOLEAN channel_find_beside(const void *symbol, const char *name, char *path, size_t size_bytes);

#endif
