/* SPDX-License-Identifier: MIT */
/*
 * reader.h - what the files that read a script share.
 */
#ifndef CLI_RUN_READER_H
#define CLI_RUN_READER_H

#include "cli/run/script.h"
#include "cli/run/words.h"

struct reader {
	struct script *script;
	struct words words;
	struct word verb;      /* of the statement that is being read */
	bool is_out_of_memory; /* why something returned false without a problem */

	/* Statements whose blocks are open, outermost first. */
	uint32_t blocks[SCRIPT_DEPTH_MAX];
	uint32_t depth;

	uint32_t branch; /* of the parallel block that is open, from 1; 0 when none is */
};

/* ---- names (reader_names.c) ---- */

/* A new name for what the statement makes. */
MUST_CHECK bool reader_declare(struct reader *reader, enum script_kind kind, uint32_t *name_out);

/* A name that stands for one of these kinds. */
MUST_CHECK bool reader_name(struct reader *reader, uint32_t kinds, uint32_t *name_out);

/* The same for contexts and hardware queues; submissions to one come from one branch of a parallel block only. */
MUST_CHECK bool reader_context(struct reader *reader, uint32_t *name_out);

/* A name that ends here: no other branch may have it, or what it has, at the same time. */
MUST_CHECK bool reader_ending(struct reader *reader, uint32_t *name_out);

/* What one has the other can use: they are in one process. */
bool reader_are_together(const struct reader *reader, uint32_t one, uint32_t other);

/* A parallel block begins: nobody has used anything yet. */
void reader_forget_branches(struct reader *reader);

/* NAME, NAME+OFFSET or an address. */
MUST_CHECK bool reader_address(struct reader *reader, struct script_address *address_out);

/* ---- options (reader_names.c) ---- */

/* All words that follow are options out of `allowed`, each once, of a group one. */
MUST_CHECK bool reader_options(struct reader *reader, uint32_t allowed, uint32_t *options_out);
bool reader_at_option(const struct reader *reader, uint32_t allowed);

/* ---- settings and the commands of a submission ---- */

MUST_CHECK bool reader_adapter(struct reader *reader);
MUST_CHECK bool reader_commands(struct reader *reader, struct script_statement *statement);

/* ---- statements about the adapter (reader_controls.c) ---- */

typedef bool reader_statement(struct reader *reader, struct script_statement *statement);
reader_statement reader_power;
reader_statement reader_remove;
reader_statement reader_reset;
reader_statement reader_alone;
reader_statement reader_no_word;
reader_statement reader_sleep;
reader_statement reader_budget;
reader_statement reader_verifier;
reader_statement reader_fuzz;

/* ---- memory ---- */

/* The array with capacity for one more behind `count`; NULL, and it stays, when there is no memory. */
MUST_CHECK void *reader_grow(struct reader *reader, void *array, uint32_t count, size_t *capacity,
			     size_t element_bytes);

#endif
