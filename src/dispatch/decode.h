/*
 * decode.h - from a client's struct to arguments that can be trusted.
 *
 * The struct is copied once, its buffers are copied once, every handle is resolved with a reference
 * and every reserved bit is checked, all from calls.def. Nothing behind this line reads client
 * memory again. What the table cannot say, the call's own handler checks before it changes
 * anything.
 */
#ifndef DISPATCH_DECODE_H
#define DISPATCH_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "object/context.h"
#include "object/device.h"
#include "object/kernel.h"
#include "object/keyed_mutex.h"
#include "wire/call.h"

struct call_buffer {
	void *client;      /* where it came from and goes back to */
	void *copy;        /* ours; NULL when the client gave none */
	uint32_t elements; /* how many the copy has room for */
};

/* One call under way, on the stack of the thread that makes it. */
struct call {
	struct dxg_kernel *kernel;
	struct dxg_process *process;
	const struct call_description *description;

	void *client_args;
	union {
		max_align_t alignment;
		unsigned char bytes[CALL_MAX_ARGS_BYTES];
	} args; /* the copy that handlers see */

	/* In the order of the table; NULL for a zero handle. */
	uint32_t object_count;
	struct object *objects[CALL_MAX_HANDLES];
	uint32_t buffer_count;
	struct call_buffer buffers[CALL_MAX_BUFFERS];
};

/* Copies and checks. On failure nothing but `call` was touched; finish it all the same. */
MUST_CHECK NTSTATUS call_capture(struct call *call, void *client_args);

/* Writes the results into the client's struct and buffers. */
void call_hand_back(struct call *call);

/* Lets go of handles and copies. */
void call_finish(struct call *call);

/* The adapter a LUID names. */
MUST_CHECK NTSTATUS call_find_adapter(const struct call *call, LUID luid,
				      struct dxg_adapter **adapter_out);

/* The handle fields by position. */
struct adapter_open *call_adapter(const struct call *call, uint32_t position);
struct dxg_device *call_device(const struct call *call, uint32_t position);
struct dxg_context *call_context(const struct call *call, uint32_t position);
struct dxg_keyed_mutex *call_keyed_mutex(const struct call *call, uint32_t position);

#endif
