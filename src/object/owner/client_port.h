/* SPDX-License-Identifier: MIT */
/*
 * client_port.h - how the kernel reaches a client that is in another process: its events and its
 * callbacks are there.
 *
 * A process of the program that embeds the kernel has none (NULL); there an event is a descriptor and a
 * callback is called.
 */
#ifndef OBJECT_OWNER_CLIENT_PORT_H
#define OBJECT_OWNER_CLIENT_PORT_H

#include <stdbool.h>
#include <stdint.h>

struct client_port;

/* What a callback is told. */
struct client_news {
	uint32_t kind; /* the client's word for it */
	uint32_t flags;
	uint64_t callback; /* addresses of the client's, which mean nothing here */
	uint64_t context;
	uint64_t bytes;
};

struct client_port_services {
	void (*get)(struct client_port *port);
	void (*put)(struct client_port *port);

	/*
	 * Returns when the client's callback is over, or will never be: the client is gone, or
	 * stopped. No lock is held; on a thread that is this process's.
	 */
	void (*tell)(struct client_port *port, const struct client_news *news);

	/*
	 * An event that came with the call under way, by the number it came with: it is kept until
	 * close_event(), and the port with it. False: there is no such event.
	 */
	bool (*take_event)(struct client_port *port, uint32_t event);
	/* Never waits. */
	void (*set_event)(struct client_port *port, uint32_t event);
	void (*close_event)(struct client_port *port, uint32_t event);
};

struct client_port {
	const struct client_port_services *services;
};

/* Whose call this thread carries out; NULL: the embedding program's, or none. Set by the server. */
extern _Thread_local struct client_port *client_port_current;

/* The call comes from a callback of the client's, which does not wait for itself. */
extern _Thread_local bool client_port_is_in_callback;

/* Where an event of such a client should be and none is: no number of a descriptor. */
#define CLIENT_PORT_NO_EVENT (UINT64_C(1) << 62)

#endif
