/* SPDX-License-Identifier: MIT */
/*
 * control.h - what goes over the control socket of a kernel: one request and one reply, of a server any number in one
 * connection.
 *
 *	client ──▶ control_request, then size_bytes of the question: what an escape carries, a
 *	           D3DKMT_QUERYSTATISTICS, or CONTROL_MOST_BYTES for a text
 *	       ◀── control_reply, then size_bytes of the same, as it came back
 *
 * Both ends are programs of one build on one machine, so numbers are as the machine has them.
 */
#ifndef WIRE_CONTROL_H
#define WIRE_CONTROL_H

#include <stdint.h>

enum {
	CONTROL_MAGIC = 0x4c544344, /* "DCTL" */
	CONTROL_VERSION = 1,
	CONTROL_MOST_BYTES = 4096, /* behind the request, or the reply */
};

enum control_kind {
	CONTROL_ESCAPE = 1,
	CONTROL_STATISTICS = 2,
	CONTROL_STATES = 3, /* a text about the adapter */
	CONTROL_PROCESSES =
		4,         /* likewise: those behind number `type`, as many as it has room for */
	CONTROL_CHECK = 5, /* a text with what is wrong, a line each; empty: all books are right */
	/*
	 * Of a server: from now on a trace of it goes to the file that comes along, until it is told to stop or this
	 * connection ends. `type` says how it is to be (enum trace_wishes). The file is complete when the reply to the
	 * second is there.
	 */
	CONTROL_TRACE_START = 6,
	CONTROL_TRACE_STOP = 7,
	CONTROL_REFUSALS =
		8, /* a text: rules behind number `type` by which something was refused, "number rule times" */

	/* A text that may be longer than an answer, in parts: a struct control_part each way. */
	CONTROL_TEXT = 9,

	/* For tests (server/testing_service.h), with a struct control_test. */
	CONTROL_TEST_VALIDATE = 0x1000,
	CONTROL_TEST_MEMORY,
	CONTROL_TEST_FAIL_NTH,
	CONTROL_TEST_FAIL_STOP,
	CONTROL_TEST_REPORTS, /* text: the rule */
	CONTROL_TEST_REMOVE,  /* number: by surprise? */
	CONTROL_TEST_BANKS,   /* numbers: as in struct dxgk_test_banks */
	CONTROL_TEST_LOCKS,   /* number: how often a lock was waited for */
};

struct control_test {
	uint64_t number;
	uint64_t bytes;
	uint64_t numbers[4];
	char text[1024];
};

enum control_text_kind {
	/*
	 * A segment of the adapter, `number`, at one moment: "segment SIZE RESIDENT LARGEST-GAP KIND", then a line for
	 * each run of addresses that somebody has, by address: "OFFSET SIZE PROCESS ALLOCATION STATE". Process 0 is
	 * the kernel itself, allocation 0 page tables.
	 */
	CONTROL_TEXT_MAP = 1,
	/*
	 * What the adapter and its processes do; with `number`, more about that process:
	 *	segment NUMBER LARGEST-GAP OFFERED DISCARDS
	 *	node NUMBER QUEUED HARDWARE-QUEUES
	 *	leaves REASON TIMES
	 *	resets WHAT TIMES
	 *	paging SUM-NS TIMES…      how long paging jobs took, by the steps of base/tally.h
	 *	process NUMBER MOVED-IN MOVED-OUT BUSY-NS QUEUED OFFERED RESIDENT-ALLOCATIONS STATE
	 *	device PROCESS HANDLE STATE
	 *	queue PROCESS HANDLE NODE LENGTH KIND
	 *	allocation PROCESS ID SIZE SEGMENT STATE
	 */
	CONTROL_TEXT_DETAILS = 2,
	/*
	 * Which adapter it is, and what was counted since the kernel began; of times (a server's), how many took up to
	 * each of the steps of base/tally.h, and how many longer. A label of "-" is none.
	 *	adapter NUMBER WDDM DRIVER
	 *	report RULE TIMES
	 *	count NAME LABEL TIMES
	 *	call NAME FAILED SUM-NS TIMES…
	 */
	CONTROL_TEXT_COUNTS = 3,
};

enum { CONTROL_PART_BYTES = CONTROL_MOST_BYTES - 32 };

/* The first question has ticket 0: the text is made then, and each part is of that one. Another's question may end it. */
struct control_part {
	uint32_t kind; /* enum control_text_kind */
	uint32_t number;
	uint64_t ticket;
	uint64_t offset_bytes;
	uint64_t size_bytes;           /* out: of the whole text */
	char text[CONTROL_PART_BYTES]; /* out: from the offset on, not ended by a zero */
};

struct control_request {
	uint32_t magic;
	uint32_t version;
	uint32_t kind; /* enum control_kind */
	uint32_t size_bytes;
	uint64_t luid; /* of the adapter; 0: the first one */
	uint32_t
		type; /* CONTROL_ESCAPE: a D3DKMT_ESCAPETYPE; CONTROL_PROCESSES: a process; CONTROL_REFUSALS: a rule; a trace: see there; else 0 */
	uint32_t reserved;
};

struct control_reply {
	uint32_t magic;
	uint32_t version;
	int32_t status;      /* NTSTATUS */
	uint32_t size_bytes; /* 0 when it was refused */

	/* The refusal, as in <opendxgk/refusal.h>; empty after a success. */
	char rule[32];
	char reason[256];
};

#endif
