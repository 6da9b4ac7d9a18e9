/*
 * hold.c - see hold.h.
 */
#include "base/clock.h"
#include "miniport/handle_services.h"
#include "object/hold.h"

/* As long as a thread may be in the driver before a timeout is called one (TdrDdiDelay). */
#define HOLD_PATIENCE_NS (5 * NS_PER_S)

void hold_end(struct hold_count *holds, const char *what, const void *driver_handle)
{
	uint32_t count = atomic_fetch_or(&holds->count, HOLD_AWAITED) | HOLD_AWAITED;
	uint64_t deadline_ns = count == HOLD_AWAITED ? 0 : clock_deadline(HOLD_PATIENCE_NS);

	while (count != HOLD_AWAITED) {
		if (thread_wait(&holds->count, count, deadline_ns) == THREAD_TIMED_OUT) {
			miniport_report_held(what, driver_handle, count & ~HOLD_AWAITED);
			break;
		}
		count = atomic_load(&holds->count);
	}
	atomic_store(&holds->count, HOLD_ENDED);
}
