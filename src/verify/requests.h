/* SPDX-License-Identifier: MIT */
/*
 * requests.h - what a fault plan has the kernel do to an adapter while its driver is at work: on a thread of its own, because
 * the one that asks is in the driver.
 */
#ifndef VERIFY_REQUESTS_H
#define VERIFY_REQUESTS_H

#include <stdint.h>

enum verify_request {
	VERIFY_REQUEST_RESET,
	VERIFY_REQUEST_RESET_ENGINE,
	VERIFY_REQUEST_REMOVE,
	VERIFY_REQUEST_EVICT,
	VERIFY_REQUEST_MOVE,
	VERIFY_REQUEST_COUNT
};

/* One that was posted and has not begun is not posted again. From any IRQL. */
void verify_request_post(uint32_t adapter_id, enum verify_request request);

/* Who carries them out; may be called several times, before the first driver is loaded. */
void verify_requests_serve(void (*carry_out)(uint32_t adapter_id, enum verify_request request));

/* Ends the thread, after what it is doing. What is posted later does not happen. */
void verify_requests_stop(void);

#endif
