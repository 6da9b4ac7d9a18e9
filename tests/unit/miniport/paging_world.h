/* SPDX-License-Identifier: MIT */
/*
 * paging_world.h - a driver, one paging buffer, and what the driver was asked to put into it.
 */
#ifndef TESTS_UNIT_MINIPORT_PAGING_WORLD_H
#define TESTS_UNIT_MINIPORT_PAGING_WORLD_H

#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/machine.h"
#include "base/thread.h"
#include "miniport/work.h"

enum { BUFFER_BYTES = 4096, PRIVATE_BYTES = 64 };

#define BASE(segment) ((uint64_t)(segment) << 32) /* what the recorder says by default */

struct pager {
	struct host host;
	uint8_t *memory;
	uint8_t private_data[PRIVATE_BYTES];
	struct miniport_paging_buffer buffer;
	uint32_t multipass;
};

static inline void refresh(struct pager *pager)
{
	pager->buffer = (struct miniport_paging_buffer){
		.memory = pager->memory,
		.gpu_address = 0x40000,
		.size_bytes = BUFFER_BYTES,
		.private_data = pager->private_data,
		.private_bytes = PRIVATE_BYTES,
	};
	/* What a buffer that was used before looks like. */
	memset(pager->private_data, 0xee, sizeof(pager->private_data));
}

#define begin(pager, ...)                                                                          \
	begin_settings(pager, (const struct miniport_setting[]){ __VA_ARGS__ },                    \
		       sizeof((const struct miniport_setting[]){ __VA_ARGS__ }) /                  \
			       sizeof(struct miniport_setting))

static inline void begin_settings(struct pager *pager, const struct miniport_setting *settings,
				  size_t count)
{
	host_init(&pager->host);
	EXPECT_EQ(host_start_settings(&pager->host, settings, count), STATUS_SUCCESS);
	pager->memory = aligned_alloc(4096, BUFFER_BYTES);
	EXPECT(pager->memory);
	pager->multipass = 0;
	refresh(pager);
	host_forget_notes(&pager->host);
	host_listen();
}

static inline void end(struct pager *pager)
{
	free(pager->memory);
	host_finish_reported(&pager->host);
}

static inline NTSTATUS build(struct pager *pager, const struct miniport_paging_op *op)
{
	return miniport_build_paging(pager->host.miniport, op, &pager->buffer, &pager->multipass);
}

static inline DXGKARG_BUILDPAGINGBUFFER seen(struct pager *pager, void *list, size_t list_bytes)
{
	DXGKARG_BUILDPAGINGBUFFER args;

	EXPECT(host_fetch(&pager->host, RECORDER_BUILD_PAGING_BUFFER, &args, sizeof(args), list,
			  list_bytes) > 0);
	return args;
}

static const struct miniport_paging_op fill = {
	.kind = MINIPORT_PAGING_FILL,
	.target = { .segment = 1 },
	.size_bytes = 4096,
};

/* With these settings of the driver. */
#define PAGER_TEST(suite, claim, ...)                                                              \
	TEST_ON(pager, begin(&pager, __VA_ARGS__), end(&pager), suite, claim)

#endif
