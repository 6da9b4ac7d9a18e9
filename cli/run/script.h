/* SPDX-License-Identifier: MIT */
/*
 * script.h - a scenario as `dxgk run` reads it: what there is, and what happens to it in order.
 *
 * dxgk-run(5) is the language. A script is read wholly before anything runs: what a word means,
 * whether a name stands for the right kind of thing and whether sizes fit is known when
 * script_read() has returned. What only the kernel can say is left to the run.
 */
#ifndef CLI_RUN_SCRIPT_H
#define CLI_RUN_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

enum {
	SCRIPT_NAME_MAX = 31,     /* characters */
	SCRIPT_RULE_MAX = 31,     /* as in struct dxgk_refusal */
	SCRIPT_KEY_MAX = 63,      /* of a setting */
	SCRIPT_COMMANDS_MAX = 64, /* in one submission */
	SCRIPT_NAMES_MAX = 4096,  /* in a script */
	SCRIPT_STATEMENTS_MAX = 65536,
	SCRIPT_DEPTH_MAX = 16,    /* of blocks in blocks */
	SCRIPT_BRANCHES_MAX = 32, /* of one parallel block */
	SCRIPT_SETTINGS_MAX = 32,
};
#define SCRIPT_BYTES_MAX (UINT64_C(1) << 24)
#define SCRIPT_NO_NAME   UINT32_MAX
#define SCRIPT_SEVERAL   UINT32_MAX

/* Bits, so that a place in a statement can take several. */
enum script_kind {
	SCRIPT_CLIENT = 1,
	SCRIPT_CONTEXT = 2,
	SCRIPT_ALLOCATION = 4,
	SCRIPT_FENCE = 8,
	SCRIPT_HW_QUEUE = 16,
};
#define SCRIPT_QUEUES (SCRIPT_CONTEXT | SCRIPT_HW_QUEUE)
#define SCRIPT_ANY    (SCRIPT_CLIENT | SCRIPT_QUEUES | SCRIPT_ALLOCATION | SCRIPT_FENCE)

struct script_name {
	char text[SCRIPT_NAME_MAX + 1];
	enum script_kind kind;
	uint32_t client;     /* whose it is; a client is its own */
	uint64_t size_bytes; /* of an allocation */
	bool is_shared;      /* of a fence or an allocation: others may open it */
	bool is_apart;       /* of a client: its process is its own */
	bool is_standard; /* of an allocation: memory of the client's own, which no command reaches */
	bool has_lists;   /* of a context: it has allocation lists, and no addresses */
	uint32_t line;    /* where it is made */
	/*
	 * For the reader: branches of the parallel block that is open, or 0. SCRIPT_SEVERAL is
	 * more than one.
	 */
	uint32_t made_in;
	uint32_t used_in;
	uint32_t submits_in;
	uint32_t ended_in;
};

enum script_verb {
	VERB_CLIENT,
	VERB_CONTEXT,
	VERB_HW_QUEUE,
	VERB_ALLOCATE,
	VERB_STANDARD,
	VERB_FENCE,
	VERB_OPEN,
	VERB_DESTROY,
	VERB_KILL,
	VERB_MAP,
	VERB_UNMAP,
	VERB_RESIDENT,
	VERB_EVICT,
	VERB_OFFER,
	VERB_RECLAIM,
	VERB_WHERE,
	VERB_WRITE,
	VERB_CHECK,
	VERB_LOCK,
	VERB_UNLOCK,
	VERB_SUBMIT,
	VERB_PRIORITY,
	VERB_SIGNAL,
	VERB_WAIT,
	VERB_STATE,
	VERB_ESCAPE,
	VERB_FUZZ,
	VERB_BUDGET,
	VERB_VERIFIER,
	VERB_EVICT_ALL,
	VERB_DEFRAGMENT,
	VERB_VALIDATE,
	VERB_POWER,
	VERB_REMOVE,
	VERB_RESET,
	VERB_RESET_DEVICE,
	VERB_COLLECT,
	VERB_SLEEP,
	VERB_ECHO,
	VERB_REPEAT,
	VERB_PARALLEL,
	VERB_AND,
	VERB_END,
};

/* The options of a statement; each is written as its word. */
enum script_option {
	OPTION_NO_TIMEOUT = 1 << 0,
	OPTION_STUBBORN = 1 << 1,
	OPTION_LOCAL = 1 << 2,
	OPTION_SYSTEM = 1 << 3,
	OPTION_HIDDEN = 1 << 4,
	OPTION_CACHED = 1 << 5,
	OPTION_CONTIGUOUS = 1 << 6,
	OPTION_READ_ONLY = 1 << 7,
	OPTION_CANT_TRIM = 1 << 8,
	OPTION_IF_NEEDED = 1 << 9,
	OPTION_DECOMMIT = 1 << 10,
	OPTION_LOW = 1 << 11,
	OPTION_NORMAL = 1 << 12,
	OPTION_HIGH = 1 << 13,
	OPTION_AUTO = 1 << 14,
	OPTION_KEPT = 1 << 15,
	OPTION_DISCARDED = 1 << 16,
	OPTION_SHARED = 1 << 17,
	OPTION_OUT = 1 << 18,
	OPTION_READ = 1 << 19,
	OPTION_WRITE = 1 << 20,
	OPTION_APART = 1 << 21,
	OPTION_LIST = 1 << 22,
	OPTION_SURPRISE = 1 << 23,
	OPTION_ON = 1 << 24,
	OPTION_OFF = 1 << 25,
	OPTION_TRIPLE = 1 << 26,
	OPTION_RESOURCE = 1 << 27,
};

/* What of it `fuzz` changes. */
enum script_fuzz {
	FUZZ_ALLOCATION,
	FUZZ_CONTEXT,
	FUZZ_SUBMIT,
	FUZZ_ESCAPE,
	FUZZ_QUERY,
};

enum script_opcode {
	OPCODE_NOP,
	OPCODE_FILL,
	OPCODE_COPY,
	OPCODE_WRITE64,
	OPCODE_BUSY,
	OPCODE_HANG,
	OPCODE_FAULT,
};

/* A GPU address: so far behind where an allocation is mapped, or as it stands. */
struct script_address {
	uint32_t name; /* SCRIPT_NO_NAME: `offset` is the address */
	uint64_t offset;
};

struct script_command {
	enum script_opcode opcode;
	struct script_address to;
	struct script_address from;
	uint64_t size_bytes;
	uint64_t value; /* a pattern, a number, microseconds */
	bool is_write;  /* of a fault */
};

/* What bytes are written or expected: one 32-bit word over and over, or a row that a seed makes. */
struct script_pattern {
	bool is_random;
	uint64_t number;
};

struct script_statement {
	enum script_verb verb;
	uint32_t line;
	char *text; /* as it was written, without blanks and comment */

	bool is_tried; /* whatever comes of it is fine */
	bool has_expectation;
	NTSTATUS expected;
	char rule[SCRIPT_RULE_MAX + 1]; /* empty: whichever */

	uint32_t name;
	uint32_t by;      /* SCRIPT_NO_NAME: the CPU */
	uint32_t options; /* enum script_option */
	uint64_t number;  /* a fence's value, an address, a node, how often, a seed, microseconds */
	uint32_t
		choice; /* enum script_fuzz; of an engine's reset 1; the D of a power state; a verifier option */
	int32_t priority;
	uint64_t at;
	uint64_t size_bytes;
	struct script_pattern pattern;
	struct script_address address;
	uint32_t state; /* D3DKMT_DEVICEEXECUTION_STATE; 0: only shown */

	uint32_t *list; /* allocations */
	uint32_t list_count;
	struct script_command *commands;
	uint32_t command_count;

	/* Of repeat, parallel and and: the statement at which the block or branch ends. */
	uint32_t next;
};

/* "LocalMemoryMiB" = 8, or "AddressModel" = "physical". */
struct script_setting {
	char key[SCRIPT_KEY_MAX + 1];
	bool is_word;
	uint32_t number;
	char word[16];
};

struct script {
	char *profile;   /* NULL: none named */
	char *driver;    /* likewise … */
	char *exerciser; /* … as it is written */
	bool has_seed;
	uint64_t seed;
	struct script_setting settings[SCRIPT_SETTINGS_MAX];
	uint32_t setting_count;

	struct script_name *names;
	uint32_t name_count;
	size_t name_capacity;
	struct script_statement *statements;
	uint32_t statement_count;
	size_t statement_capacity;
};

struct script_problem {
	uint32_t line; /* 0: about no line in particular */
	uint32_t column;
	char text[256];
};

/*
 * Reads `size_bytes` bytes, which need no zero at their end. STATUS_INVALID_PARAMETER, with the
 * first thing that was not understood in `problem_out`; or STATUS_NO_MEMORY. script_finish() in any
 * case.
 */
MUST_CHECK NTSTATUS script_read(const char *bytes, size_t size_bytes, struct script *script,
				struct script_problem *problem_out);
void script_finish(struct script *script);

#endif
