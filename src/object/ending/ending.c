/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/thread.h"
#include "object/owner/device.h"
#include "object/ending/ending.h"

void ending_init(struct ending *ending, const struct ending_kind *kind, void *subject)
{
	*ending = (struct ending){ .kind = kind, .subject = subject };
}

/* ---- what a stage waits for ---- */

static void some_are_over(struct ending *ending, uint32_t count)
{
	if (atomic_fetch_sub(&ending->pending, count) == count)
		ending->thread.wait.over(&ending->thread.wait);
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
	uint32_t count = stage->await ? stage->await(ending->subject, ending->waits) : 0;
	some_are_over(ending, ENDING_WAITS + 1 - count);
}

/* ---- the stages ---- */

static bool stage_wait(struct ending *ending, struct sched_owner *owner, bool gives_up)
{
	const struct ending_stage *stage = &ending->kind->stages[ending->stage];

	if (!stage->await || ending->state == ENDING_MAY_RUN)
		return true;
	if (ending->state == ENDING_NOT_ASKED) {
		ending->state = ENDING_WAITS_FOR_IT;
		sched_thread_wait_begin(&ending->thread, owner);
		ask_for_waits(ending, stage);
	}
	return sched_thread_wait_until_over(&ending->thread, gives_up);
}

/* Says whether that was the last one, after which there may be no ending any more. */
static bool stage_run(struct ending *ending)
{
	const struct ending_stage *stage = &ending->kind->stages[ending->stage++];
	bool is_last = ending->stage == ending->kind->count;

	ending->state = ENDING_NOT_ASKED;
	if (is_last && ending->device) { /* it is in the line no more */
		lock_acquire(&ending->device->lock);
		list_remove(&ending->link);
		lock_release(&ending->device->lock);
	}
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

void ending_run_now(const struct ending_kind *kind, void *subject)
{
	for (uint32_t i = 0; i < kind->count; i++)
		kind->stages[i].run(subject);
}

/* ---- a device's line: the reaper's turn ---- */

/* True when an ending of the same group was started earlier and has not run. */
static bool is_behind_another_locked(const struct dxg_device *device, const struct ending *ending)
{
	lock_assert_held(&device->lock);
	if (!ending->group)
		return false;
	for (const struct list *link = device->endings.next; link != &ending->link;
	     link = link->next) {
		if (container_of(link, struct ending, link)->group == ending->group)
			return true;
	}
	return false;
}

bool ending_is_due_locked(const struct dxg_device *device, const struct ending *ending)
{
	lock_assert_held(&device->lock);
	return atomic_load(&ending->pending) == 0 && !is_behind_another_locked(device, ending);
}

/* Takes an ending whose waits are over, of the group or (NULL) of any. It stays in the device's line until its last stage. */
static struct ending *take_ready_locked(struct dxg_device *device, const void *group)
{
	struct list *link;

	lock_assert_held(&device->lock);
	list_for_each (link, &device->ready_endings) {
		struct ending *ending = container_of(link, struct ending, ready_link);

		if ((group && ending->group != group) ||
		    (device->line_holders > 0 && !ending->holds_line) ||
		    is_behind_another_locked(device, ending))
			continue;
		list_remove(link);
		return ending;
	}
	return NULL;
}

/* Under the lock: who finds nothing in the line any more can count on every turn's being posted. */
static void post_turn_locked(struct dxg_device *device)
{
	lock_assert_held(&device->lock);
	device->has_reap_work = true;
	object_get(&device->object);
	if (!worker_post(&device->adapter->reaper, &device->reap_work))
		object_put(&device->object);
}

/* Runs one to its end. The device counts it meanwhile, because who ends the device waits for that. */
static void reap(struct dxg_device *device, struct ending *ending)
{
	_Atomic uint32_t *over_word = ending->over_word;
	bool has_group = ending->group != NULL;
	bool held_line = ending->holds_line;

	ending->state = ENDING_MAY_RUN;
	(void)!ending_run(ending, &device->work, false);
	lock_acquire(&device->lock);
	device->ending_count--;
	device->line_holders -= held_line;
	atomic_fetch_sub(&device->ordered_endings, has_group);
	if (held_line && !list_is_empty(&device->ready_endings))
		post_turn_locked(device);
	lock_release(&device->lock);
	notice_give(&device->reaped);
	if (over_word) {
		atomic_store(over_word, 1);
		thread_wake_all(over_word); /* it may be gone: only its address is of use */
	}
	object_put(&device->object);
}

static bool reap_next(struct dxg_device *device, const void *group)
{
	lock_acquire(&device->lock);
	struct ending *ending = take_ready_locked(device, group);
	lock_release(&device->lock);
	if (ending)
		reap(device, ending);
	return ending != NULL;
}

void endings_run(struct work *work)
{
	struct dxg_device *device = container_of(work, struct dxg_device, reap_work);

	while (reap_next(device, NULL))
		;
	object_put(&device->object); /* whoever posted this turn took it */
}

void endings_help_relock(struct dxg_device *device, const void *group)
{
	uint32_t seen = notice_read(&device->reaped);

	lock_assert_held(&device->lock);
	lock_release(&device->lock);
	if (!reap_next(device, group))
		notice_wait(&device->reaped, seen, CLOCK_FOREVER);
	lock_acquire(&device->lock);
}

/* ---- a device's line: who stands in it ---- */

static void become_ready(struct sched_wait *wait)
{
	struct ending *ending = container_of(wait, struct ending, thread.wait);
	struct dxg_device *device = ending->device;

	lock_acquire(&device->lock);
	list_push_back(&device->ready_endings, &ending->ready_link);
	post_turn_locked(device);
	notice_give(&device->reaped); /* for who helps; under the lock, or the device may be gone */
	lock_release(&device->lock);
}

void ending_start(struct ending *ending, struct dxg_device *device, const void *group,
		  _Atomic uint32_t *over_word)
{
	ending->device = device;
	ending->group = group;
	ending->over_word = over_word;
	ending->thread.wait.over = become_ready;
	object_get(&device->object);
	lock_acquire(&device->lock);
	list_push_back(&device->endings, &ending->link);
	device->ending_count++;
	device->line_holders += ending->holds_line;
	atomic_fetch_add(&device->ordered_endings, group != NULL);
	lock_release(&device->lock);
	ask_for_waits(ending, &ending->kind->stages[0]);
}

void ending_await(_Atomic uint32_t *over_word)
{
	while (!atomic_load(over_word))
		thread_wait(over_word, 0, CLOCK_FOREVER);
}

void endings_wait(struct dxg_device *device)
{
	lock_acquire(&device->lock);
	while (device->ending_count > 0)
		notice_wait_relock(&device->reaped, &device->lock);
	lock_release(&device->lock);
}
