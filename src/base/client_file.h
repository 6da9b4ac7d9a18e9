/* SPDX-License-Identifier: MIT */
/*
 * client_file.h - files of the kernel that clients in other processes map.
 *
 * The number of one is never given to another, so whoever has a descriptor of it needs no second
 * one. Who may have which is said by the views of his calls (client_call.h), and by nothing else: a
 * descriptor is sent to whoever was shown pages of the file, and to nobody else.
 *
 * Whoever has a descriptor has all of the file, and can write to it as long as anybody can: `/proc` opens
 * it again for writing. What the host does have is a seal: nobody who has not mapped it for writing before
 * ever will (F_SEAL_FUTURE_WRITE).
 *
 *	who may write      is let in, and maps it            ──┐
 *	who may not        is shown it; the file is sealed   ──┴▶ who is let in from now on may not write
 *
 * Locks: one, LOCK_RANK_LEAF, for which there are.
 */
#ifndef BASE_CLIENT_FILE_H
#define BASE_CLIENT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct client_file;

enum client_file_origin {
	CLIENT_FILE_OF_OURS,
	CLIENT_FILE_OF_A_CLIENT, /* is not sealed by us: its maker may want to map it again */
};

/* Takes the descriptor over, in any case. NULL with errno. */
MUST_CHECK struct client_file *client_file_create(int descriptor, enum client_file_origin origin);

/* Its descriptor is closed with the last one. `put` accepts NULL. */
void client_file_get(struct client_file *file);
void client_file_put(struct client_file *file);

uint32_t client_file_id(const struct client_file *file);

/*
 * Its descriptor, which stays the kernel's (to be sent with SCM_RIGHTS). It is good for as long as
 * somebody has the file: a call that was shown pages of it has, until client_call_finish(). -1: there
 * is no such file any more.
 */
int client_file_descriptor(uint32_t id);

/*
 * Client `client` (a number that no other ever has) may write to it: it was let in before, or is now, and
 * maps it before its call returns. Not refused: STATUS_ACCESS_DENIED, it was sealed before that;
 * STATUS_NO_MEMORY.
 */
MUST_CHECK NTSTATUS client_file_let_write(struct client_file *file, uint64_t client);

/* It may be shown to this one for reading, and for nothing else. False: that cannot be had. */
MUST_CHECK bool client_file_let_read(struct client_file *file, uint64_t client);

/* How many there are, and how many there were. */
uint64_t client_file_count(void);
uint64_t client_file_ended_count(void);

#endif
