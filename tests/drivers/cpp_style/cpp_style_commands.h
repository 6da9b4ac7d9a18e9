/* SPDX-License-Identifier: MIT */
/*
 * cpp_style_commands.h - what a client of the test driver sends. Plain C, for clients and the
 * driver.
 *
 * Include a header that has UINT and UINT64 first. Commands go to D3DKMTRender one after the other;
 * an allocation's private data is a cpp_style_allocation.
 */
#ifndef TESTS_DRIVERS_CPP_STYLE_COMMANDS_H
#define TESTS_DRIVERS_CPP_STYLE_COMMANDS_H

enum { CPP_STYLE_NOP = 0, CPP_STYLE_FILL = 1 };
enum { CPP_STYLE_ALLOCATION_MAGIC = 0x53505043 };

struct cpp_style_command {
	UINT opcode;
	UINT allocation_index; /* in the allocation list of the call */
	UINT64 offset_bytes;   /* in that allocation; offset and size are multiples of 4 */
	UINT64 size_bytes;
	UINT value;
	UINT reserved;
};

struct cpp_style_allocation {
	UINT magic; /* CPP_STYLE_ALLOCATION_MAGIC */
	UINT reserved;
	UINT64 size_bytes;
};

#endif
