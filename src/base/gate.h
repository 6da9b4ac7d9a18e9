/*
 * gate.h - many pass at once, now and then it is closed.
 *
 * A readers-writer lock for the hot path: those who pass count themselves on a cache line that
 * threads rarely share, so two threads that make calls do not meet. Closing is rare and pays for
 * that: it looks at all of them. Not recursive.
 */
#ifndef BASE_GATE_H
#define BASE_GATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/lock_ranks.h"
#include "base/notice.h"

enum { GATE_SHARDS = 8 };

struct gate {
	/* A cache line apart, wherever the gate itself lies. */
	struct {
		_Atomic uint32_t inside;
		char apart[60];
	} shards[GATE_SHARDS];
	_Atomic uint32_t is_closed;
	struct notice opened;
	struct notice drained;
	uint32_t rank;
	const char *name;
};

#define GATE_INITIALIZER(gate_rank, gate_name)                                                     \
	{                                                                                          \
		.rank = (gate_rank), .name = (gate_name)                                           \
	}

void gate_init(struct gate *gate, enum lock_rank rank, const char *name);

/* Waits while the gate is closed. Entered and left by the same thread. */
void gate_enter(struct gate *gate);
void gate_leave(struct gate *gate);

/* Nobody is inside, or comes in, until gate_open(). */
void gate_close(struct gate *gate);

/*
 * The same in two steps, for who has to wake those inside first, or finds that it need not wait for
 * them: after gate_shut() nobody comes in, after gate_drain() everybody is out.
 */
void gate_shut(struct gate *gate);
void gate_drain(struct gate *gate);
void gate_open(struct gate *gate);

#endif
