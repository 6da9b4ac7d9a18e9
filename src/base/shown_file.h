/* SPDX-License-Identifier: MIT */
/*
 * shown_file.h - files of the kernel that clients in other processes map.
 *
 * The number of one is never given to another, so whoever has a descriptor of it needs no second
 * one. Who may have which is said by the views of his calls (client_call.h), and by nothing else: a
 * descriptor is sent to whoever was shown pages of the file, and to nobody else.
 *
 * Locks: one, LOCK_RANK_LEAF, for which there are.
 */
#ifndef BASE_SHOWN_FILE_H
#define BASE_SHOWN_FILE_H

#include <stdint.h>

#include "base/attributes.h"

struct shown_file;

/* Takes the descriptor over, in any case. NULL with errno. */
MUST_CHECK struct shown_file *shown_file_create(int descriptor);

/* Its descriptor is closed with the last one. `put` accepts NULL. */
void shown_file_get(struct shown_file *file);
void shown_file_put(struct shown_file *file);

uint32_t shown_file_id(const struct shown_file *file);

/*
 * Its descriptor, which stays the kernel's (to be sent with SCM_RIGHTS). It is good for as long as
 * somebody has the file: a call that was shown pages of it has, until client_call_finish(). -1: there
 * is no such file any more.
 */
int shown_file_descriptor(uint32_t id);

/* How many there are, and how many there were. */
uint64_t shown_file_count(void);
uint64_t shown_file_ended_count(void);

#endif
