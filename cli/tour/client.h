/* SPDX-License-Identifier: MIT */
/*
 * client.h - one client of the tour: a device, a context, buffers with a known content.
 *
 * Every function that can fail has complained (tour_complain()) when it returns false.
 */
#ifndef CLI_TOUR_CLIENT_H
#define CLI_TOUR_CLIENT_H

#include "cli/tour/tour.h"

struct buffer {
	D3DKMT_HANDLE handle;
	uint64_t size_bytes;
	uint64_t address; /* 0 with allocation lists */
	uint64_t seed;    /* of its content */
};

struct copy {
	const struct buffer *to;
	uint64_t to_at;
	const struct buffer *from;
	uint64_t from_at;
	uint64_t size_bytes;
};

enum { CLIENT_COPIES_MAX = 16 };

struct client {
	struct tour *tour;
	enum tour_client_id id;
	uint64_t random;
	D3DKMT_HANDLE device;
	D3DKMT_HANDLE paging_queue;
	D3DKMT_HANDLE paging_fence;
	UINT64 paging_value; /* when everything asked for has happened */
	D3DKMT_HANDLE context;
	D3DKMT_HANDLE fence; /* reaches n when the n-th submission is over */
	uint64_t submitted;

	/* Commands: with virtual addresses in a buffer of our own, else in the kernel's. */
	struct buffer commands;
	unsigned char *command_bytes;
	D3DDDI_ALLOCATIONLIST *list;
};

const char *client_name(enum tour_client_id id);

MUST_CHECK bool client_open(struct client *client, struct tour *tour, enum tour_client_id id,
			    uint32_t node);
/* Of a client that did not open, too. What it had goes with it. */
void client_close(struct client *client);

/* Half a unit to one and a half, so that gaps do not always fit; of many, one each. */
uint64_t client_some_bytes(const struct client *client, uint32_t index);

/* Local memory, or system memory when that is full. */
MUST_CHECK bool client_create(struct client *client, uint64_t size_bytes, uint32_t flags,
			      struct buffer *buffer);
MUST_CHECK bool client_destroy(struct client *client, struct buffer *buffer);

/* What others have for a moment is waited for. */
MUST_CHECK bool client_make_resident(struct client *client, struct buffer *const *buffers,
				     uint32_t count);
/* It may stay where it is until the room is needed. */
MUST_CHECK bool client_let_go(struct client *client, struct buffer *const *buffers, uint32_t count);
MUST_CHECK bool client_is_local(struct client *client, const struct buffer *buffer, bool *answer);

/* By the GPU; returns when it is done. Everything has to be resident. */
MUST_CHECK bool client_copy(struct client *client, const struct copy *copies, uint32_t count);

/* A new content, by the CPU. */
MUST_CHECK bool client_write(struct client *client, struct buffer *buffer);
/* After a copy: is what it wrote what `from` has there? */
MUST_CHECK bool client_verify_part(struct client *client, const struct copy *part);
MUST_CHECK bool client_verify(struct client *client, const struct buffer *buffer);

MUST_CHECK bool client_offer(struct client *client, const struct buffer *buffer,
			     D3DKMT_OFFER_PRIORITY priority);
MUST_CHECK bool client_reclaim(struct client *client, const struct buffer *buffer, bool *is_kept);

#endif
