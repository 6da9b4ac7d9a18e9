/* SPDX-License-Identifier: MIT */
/*
 * ending.c - see ending.h.
 */
#include "object/ending.h"

void ending_init(struct ending *ending, const struct ending_kind *kind, void *subject)
{
	*ending = (struct ending){ .kind = kind, .subject = subject };
}

/* ---- what a stage waits for ---- */

static void some_are_over(struct ending *ending, uint32_t count)
{
	if (atomic_fetch_sub(&ending->pending, count) == count)
		ending->patience.wait.over(&ending->patience.wait);
}

static void first_is_over(struct sched_wait *wait)
{
	some_are_over(container_of(wait, struct ending, waits[0]), 1);
}

static void second_is_over(struct sched_wait *wait)
{
	some_are_over(container_of(wait, struct ending, waits[1]), 1);
}

static void ask_for_waits(struct ending *ending, const struct ending_stage *stage)
{
	ending->waits[0] = (struct sched_wait){ .over = first_is_over };
	ending->waits[1] = (struct sched_wait){ .over = second_is_over };
	/* One more than there can be: nothing is over before all are asked for. */
	atomic_store(&ending->pending, ENDING_WAITS + 1);
	some_are_over(ending, ENDING_WAITS + 1 - stage->await(ending->subject, ending->waits));
}

/* ---- the stages ---- */

static bool stage_wait(struct ending *ending, struct sched_owner *owner, bool gives_up)
{
	const struct ending_stage *stage = &ending->kind->stages[ending->stage];

	if (!stage->await)
		return true;
	if (!ending->is_waiting) {
		ending->is_waiting = true;
		sched_patience_begin(&ending->patience, owner);
		ask_for_waits(ending, stage);
	}
	if (!sched_patience_wait(&ending->patience, gives_up))
		return false;
	ending->is_waiting = false;
	return true;
}

/* Says whether that was the last one, after which there may be no ending any more. */
static bool stage_run(struct ending *ending)
{
	const struct ending_stage *stage = &ending->kind->stages[ending->stage++];
	bool is_last = ending->stage == ending->kind->count;

	if (stage->run)
		stage->run(ending->subject);
	return is_last;
}

bool ending_run(struct ending *ending, struct sched_owner *owner, bool gives_up)
{
	do {
		if (!stage_wait(ending, owner, gives_up))
			return false;
	} while (!stage_run(ending));
	return true;
}
