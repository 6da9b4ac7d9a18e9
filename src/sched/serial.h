/* SPDX-License-Identifier: MIT */
/*
 * serial.h - fence ids: 32 bits that only grow, and begin again behind the last.
 *
 * Of two ids of a node the newer one is less than half the circle ahead; far fewer are ever
 * outstanding. 0 is nobody's id: a driver that has completed nothing says 0.
 */
#ifndef SCHED_SERIAL_H
#define SCHED_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t serial_next(uint32_t id)
{
	return id == UINT32_MAX ? 1 : id + 1;
}

static inline uint32_t serial_before(uint32_t id)
{
	return id <= 1 ? UINT32_MAX : id - 1;
}

static inline bool serial_is_after(uint32_t id, uint32_t other)
{
	return id != other && id - other <= (uint32_t)INT32_MAX;
}

/* first ≤ id ≤ last */
static inline bool serial_is_within(uint32_t id, uint32_t first, uint32_t last)
{
	return id - first <= last - first;
}

#endif
