/* SPDX-License-Identifier: MIT */
/*
 * played_calls.h - calls to the server that a test plays, and what it makes of them.
 */
#ifndef TESTS_UNIT_THUNK_PLAYED_CALLS_H
#define TESTS_UNIT_THUNK_PLAYED_CALLS_H

#include "thunk/connection.h"
#include "thunk/remote.h"
#include "unit/thunk/played_server.h"

enum {
	DEVICE = 0x40000040,
	MEMORY = 0x40000080,
	LONG_BYTES = 100 << 10, /* more than the room of a channel */
};

/* ---- the kernel ---- */

static _Atomic NTSTATUS answer[CALL_COUNT]; /* what a call is answered, 0 for all that nobody set */

static inline NTSTATUS kernel(uint32_t id, void *arguments)
{
	if (id == CALL_create_device) {
		((D3DKMT_CREATEDEVICE *)arguments)->hDevice = DEVICE;
	} else if (id == CALL_lock2) {
		((D3DKMT_LOCK2 *)arguments)->pData = (void *)(uintptr_t)played.views[0].address;
	} else if (id == CALL_lock) {
		((D3DKMT_LOCK *)arguments)->pData = (void *)(uintptr_t)played.views[0].address;
	} else if (id == CALL_escape) {
		const D3DKMT_ESCAPE *args = arguments;
		unsigned char *bytes = args->pPrivateDriverData;

		for (uint32_t i = 0; i < args->PrivateDriverDataSize; i++)
			bytes[i] ^= 0xff;
	} else if (id == CALL_share_objects) {
		*((D3DKMT_SHAREOBJECTS *)arguments)->pSharedNtHandle =
			(HANDLE)(intptr_t)memfd_create("shared", MFD_CLOEXEC);
	}
	return answer[id];
}

static inline NTSTATUS escape(void *bytes, uint32_t size_bytes)
{
	D3DKMT_ESCAPE args = { .hAdapter = 1,
			       .pPrivateDriverData = bytes,
			       .PrivateDriverDataSize = size_bytes };

	return connection_call(CALL_escape, &args);
}

static inline NTSTATUS share(HANDLE *handle)
{
	static const D3DKMT_HANDLE object = MEMORY;
	D3DKMT_SHAREOBJECTS args = { .ObjectCount = 1,
				     .ObjectHandleArray = &object,
				     .pSharedNtHandle = handle };

	return connection_call(CALL_share_objects, &args);
}

static inline NTSTATUS close_adapter(void)
{
	D3DKMT_CLOSEADAPTER args = { .hAdapter = 1 };

	return connection_call(CALL_close_adapter, &args);
}

static inline void expect_refused(NTSTATUS status, NTSTATUS wanted, const char *rule,
				  const char *words)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	CHILD_EXPECT(status == wanted);
	CHILD_EXPECT(connection_last_refusal(&why));
	if (why.status != wanted || strcmp(why.rule, rule) != 0 || !strstr(why.reason, words))
		fprintf(stderr, "0x%08x %s: %s\n", (unsigned)why.status, why.rule, why.reason);
	CHILD_EXPECT(why.status == wanted && strcmp(why.rule, rule) == 0);
	CHILD_EXPECT(strstr(why.reason, words));
}

static inline void expect_lost(NTSTATUS status)
{
	expect_refused(status, STATUS_DEVICE_REMOVED, "SYS-SERVER", "the server has gone");
}

/* All that was said before has been heard when it returns: messages come in their order. */
static inline void settle(void)
{
	played_say_event(WIRE_EVENT, UINT32_MAX, 1);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
}

static inline unsigned count_asked(uint32_t call)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < atomic_load(&played.asked); i++)
		count += played.log[i].call == call;
	return count;
}

#endif
