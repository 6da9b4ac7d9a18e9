/* SPDX-License-Identifier: MIT */
/*
 * private_server.h - a server for one run: started before its clients, ended after them.
 */
#ifndef CLI_PRIVATE_SERVER_H
#define CLI_PRIVATE_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct private_server {
	pid_t process;   /* 0: there is none */
	char folder[80]; /* where its socket is, of nobody else's reach */
	char path[104];  /* the socket: DXGK_SOCKET for clients */
};

/*
 * dxgkd with the environment as it is (profile, trace, log), from beside this program or from the search path.
 * Returns when it listens. False when it does not, which was said for `verb`. Before there is a second thread.
 */
bool private_server_start(struct private_server *server, const char *verb);

/*
 * What uses it, in a process that has ended when this returns: connections and all. A signal from the terminal
 * is for that one. Its exit status; 128 + n when signal n ended it.
 */
int private_server_use(int (*use)(void *context), void *context);

/* False when it did not end in order, which was said. Does nothing when there is none. */
bool private_server_end(struct private_server *server, const char *verb);

#endif
