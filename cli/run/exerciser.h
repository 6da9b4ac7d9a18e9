/* SPDX-License-Identifier: MIT */
/*
 * exerciser.h - who speaks the driver's private language for a script (<opendxgk/exerciser.h>).
 *
 *	script ──▶ "fill that with 7" ──▶ exerciser ──▶ bytes that this driver understands
 *
 * It is a library that the script or the command line names; for the software GPU it is built in; for other drivers
 * there is none, and what needs one is left out. Members that an exerciser does not have are hidden here.
 */
#ifndef CLI_RUN_EXERCISER_H
#define CLI_RUN_EXERCISER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opendxgk/exerciser.h>

#include "base/attributes.h"
#include "cli/run/script.h"

enum { EXERCISER_DATA_MAX = 4096 }; /* of any private data */

struct exerciser {
	bool is_there;
	struct dxgk_exerciser language; /* what it does not have is NULL */
	void *library;                  /* NULL: built in */
};

/* False, with what is wrong with the library in a sentence. */
MUST_CHECK bool exerciser_load(struct exerciser *exerciser, const char *path, char *why,
			       size_t why_bytes);
void exerciser_use_soft(struct exerciser *exerciser);
/* Accepts one that is not there. */
void exerciser_unload(struct exerciser *exerciser);

/* ---- private data: how many bytes; 0: the driver has none, or nobody knows ---- */

/* Of an allocation that the driver cannot do there is none; of one whose driver wants none, too. */
uint32_t exerciser_allocation(const struct exerciser *exerciser, uint64_t size_bytes,
			      uint32_t wishes, void *data);
bool exerciser_can_allocate(const struct exerciser *exerciser, uint64_t size_bytes,
			    uint32_t wishes);
uint32_t exerciser_context(const struct exerciser *exerciser, uint32_t node, uint32_t wishes,
			   void *data);
uint32_t exerciser_hw_context(const struct exerciser *exerciser, uint32_t node, void *data);
uint32_t exerciser_hw_queue(const struct exerciser *exerciser, uint32_t node, void *data);
uint32_t exerciser_submission(const struct exerciser *exerciser, bool is_hw, uint64_t address,
			      uint32_t length, void *data);
uint32_t exerciser_escape(const struct exerciser *exerciser, void *data);

/* ---- commands ---- */

/* A command, with addresses instead of names. */
struct exercise {
	enum script_opcode opcode;
	uint64_t to;
	uint64_t from;
	uint64_t size_bytes;
	uint64_t value;
	bool is_write;
	/* Of a context with an allocation list: its entries, `to` and `from` are offsets in them. */
	uint32_t to_index;
	uint32_t from_index;
};

/* Can be done without: nobody sees in memory whether it was there. */
bool exercise_is_idle(enum script_opcode opcode);

/*
 * How many bytes it took; 0: the driver has no such command, or it does not fit. With `patches` it is for a context with
 * an allocation list, `at_offset` bytes behind the first.
 */
uint32_t exerciser_command(const struct exerciser *exerciser, const struct exercise *exercise,
			   void *commands, uint32_t room, uint32_t at_offset,
			   struct dxgk_exerciser_patches *patches);

/* Bytes of commands in one submission. */
uint32_t exerciser_most_bytes(const struct exerciser *exerciser);

#endif
