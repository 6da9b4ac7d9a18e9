/* SPDX-License-Identifier: MIT */
/* What the software GPU accepts as a command. */
#include "support/test.h"

#include "command.h"

static NTSTATUS decode(const void *bytes, size_t available, struct gpu_command *out)
{
	return gpu_command_decode(bytes, available, FALSE, out);
}

static struct softgpu_command header(ULONG opcode, size_t size_bytes)
{
	return (struct softgpu_command){
		.magic = SOFTGPU_COMMAND_MAGIC,
		.opcode = (uint16_t)opcode,
		.size_bytes = (uint32_t)size_bytes,
	};
}

TEST(command, padding_may_have_any_length_up_to_the_limit)
{
	static uint64_t buffer[2 * SOFTGPU_MAX_COMMAND_BYTES / 8];
	struct softgpu_command nop = header(SOFTGPU_NOP, 8);
	struct gpu_command out;

	memcpy(buffer, &nop, sizeof(nop));
	EXPECT_EQ(decode(buffer, 8, &out), STATUS_SUCCESS);
	EXPECT_EQ(out.size_bytes, 8);
	EXPECT_EQ(out.operand_count, 0);
	nop.size_bytes = SOFTGPU_MAX_COMMAND_BYTES;
	memcpy(buffer, &nop, sizeof(nop));
	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_SUCCESS);
	EXPECT_EQ(out.size_bytes, SOFTGPU_MAX_COMMAND_BYTES);
	nop.size_bytes = SOFTGPU_MAX_COMMAND_BYTES + 8;
	memcpy(buffer, &nop, sizeof(nop));
	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_ILLEGAL_INSTRUCTION);
}

TEST(command, a_header_that_does_not_hold_is_illegal)
{
	uint64_t buffer[4] = { 0 };
	struct gpu_command out;
	struct softgpu_command good = header(SOFTGPU_NOP, 16);
	struct softgpu_command bad;

	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_ILLEGAL_INSTRUCTION);

	memcpy(buffer, &good, sizeof(good));
	EXPECT_EQ(decode(buffer, 16, &out), STATUS_SUCCESS);
	EXPECT_EQ(decode(buffer, 15, &out), STATUS_ILLEGAL_INSTRUCTION);
	EXPECT_EQ(decode(buffer, 7, &out), STATUS_ILLEGAL_INSTRUCTION);
	EXPECT_EQ(decode(buffer, 0, &out), STATUS_ILLEGAL_INSTRUCTION);

	bad = good;
	bad.magic ^= 1;
	memcpy(buffer, &bad, sizeof(bad));
	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_ILLEGAL_INSTRUCTION);
	bad = good;
	bad.size_bytes = 12;
	memcpy(buffer, &bad, sizeof(bad));
	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_ILLEGAL_INSTRUCTION);
	bad = good;
	bad.size_bytes = 0;
	memcpy(buffer, &bad, sizeof(bad));
	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_ILLEGAL_INSTRUCTION);
	bad = good;
	bad.size_bytes = 0xfffffff8u;
	memcpy(buffer, &bad, sizeof(bad));
	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_ILLEGAL_INSTRUCTION);
	bad = header(0, 8);
	memcpy(buffer, &bad, sizeof(bad));
	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_ILLEGAL_INSTRUCTION);
	bad = header(SOFTGPU_DISPATCH + 1, 8);
	memcpy(buffer, &bad, sizeof(bad));
	EXPECT_EQ(decode(buffer, sizeof(buffer), &out), STATUS_ILLEGAL_INSTRUCTION);
}

TEST(command, a_fill_writes_whole_words)
{
	struct softgpu_fill fill = { .header = header(SOFTGPU_FILL, sizeof(fill)),
				     .size_bytes = 4096 };
	struct gpu_command out;

	EXPECT_EQ(decode(&fill, sizeof(fill), &out), STATUS_SUCCESS);
	EXPECT_EQ(out.operand_count, 1);
	EXPECT(out.operands[0].is_write);
	EXPECT_EQ(out.operands[0].alignment, 4);
	EXPECT_EQ(out.operands[0].size_bytes, 4096);
	EXPECT_EQ(out.operands[0].field_offset, offsetof(struct softgpu_fill, destination));

	fill.size_bytes = 6;
	EXPECT_EQ(decode(&fill, sizeof(fill), &out), STATUS_ILLEGAL_INSTRUCTION);
	fill.size_bytes = 0;
	EXPECT_EQ(decode(&fill, sizeof(fill), &out), STATUS_ILLEGAL_INSTRUCTION);
	fill.size_bytes = 4;
	fill.reserved = 1;
	EXPECT_EQ(decode(&fill, sizeof(fill), &out), STATUS_ILLEGAL_INSTRUCTION);
	fill.reserved = 0;
	fill.header.size_bytes = 24;
	EXPECT_EQ(decode(&fill, sizeof(fill), &out), STATUS_ILLEGAL_INSTRUCTION);
}

TEST(command, a_copy_has_a_destination_and_then_a_source)
{
	struct softgpu_copy copy = { .header = header(SOFTGPU_COPY, sizeof(copy)),
				     .size_bytes = 3 };
	struct gpu_command out;

	EXPECT_EQ(decode(&copy, sizeof(copy), &out), STATUS_SUCCESS);
	EXPECT_EQ(out.operand_count, 2);
	EXPECT(out.operands[0].is_write);
	EXPECT(!out.operands[1].is_write);
	EXPECT_EQ(out.operands[0].field_offset, offsetof(struct softgpu_copy, destination));
	EXPECT_EQ(out.operands[1].field_offset, offsetof(struct softgpu_copy, source));
	EXPECT_EQ(out.operands[1].size_bytes, 3);
	copy.size_bytes = 0;
	EXPECT_EQ(decode(&copy, sizeof(copy), &out), STATUS_ILLEGAL_INSTRUCTION);
}

TEST(command, a_64_bit_write_is_eight_aligned_bytes)
{
	struct softgpu_write64 write = { .header = header(SOFTGPU_WRITE64, sizeof(write)) };
	struct gpu_command out;

	EXPECT_EQ(decode(&write, sizeof(write), &out), STATUS_SUCCESS);
	EXPECT_EQ(out.operand_count, 1);
	EXPECT_EQ(out.operands[0].alignment, 8);
	EXPECT_EQ(out.operands[0].size_bytes, 8);
	EXPECT_EQ(decode(&write, sizeof(write) - 8, &out), STATUS_ILLEGAL_INSTRUCTION);
}

TEST(command, busy_hang_and_fault_touch_no_memory)
{
	struct softgpu_busy busy = { .header = header(SOFTGPU_BUSY, sizeof(busy)),
				     .microseconds = SOFTGPU_MAX_BUSY_MICROSECONDS };
	struct softgpu_command hang = header(SOFTGPU_HANG, sizeof(hang));
	struct softgpu_fault fault = { .header = header(SOFTGPU_FAULT, sizeof(fault)),
				       .is_write = 1 };
	struct gpu_command out;

	EXPECT_EQ(decode(&busy, sizeof(busy), &out), STATUS_SUCCESS);
	EXPECT_EQ(out.operand_count, 0);
	EXPECT_EQ(decode(&hang, sizeof(hang), &out), STATUS_SUCCESS);
	hang.opcode = SOFTGPU_LOOP;
	EXPECT_EQ(decode(&hang, sizeof(hang), &out), STATUS_SUCCESS);
	EXPECT_EQ(out.operand_count, 0);
	EXPECT_EQ(decode(&fault, sizeof(fault), &out), STATUS_SUCCESS);
	EXPECT_EQ(out.operand_count, 0);

	busy.microseconds++;
	EXPECT_EQ(decode(&busy, sizeof(busy), &out), STATUS_ILLEGAL_INSTRUCTION);
	fault.is_write = 2;
	EXPECT_EQ(decode(&fault, sizeof(fault), &out), STATUS_ILLEGAL_INSTRUCTION);
}

TEST(command, a_kernel_has_a_grid_and_arguments_that_are_not_too_long)
{
	const struct softgpu_dispatch good = {
		.header = header(SOFTGPU_DISPATCH, sizeof(good)),
		.groups = { 0xffffffff, 1, 1 },
		.threads = { 32, 4, 8 },
		.arguments = 0x200000000008,
		.range_count = SOFTGPU_MAX_RANGES,
		.parameter_bytes = SOFTGPU_MAX_PARAMETER_BYTES,
	};
	struct softgpu_dispatch bad[8];
	struct gpu_command out;

	EXPECT_EQ(decode(&good, sizeof(good), &out), STATUS_SUCCESS);
	EXPECT_EQ(out.operand_count, 0);
	for (unsigned i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].groups[2] = 0;
	bad[1].threads[1] = 0;
	bad[2].threads[2] = 9;
	bad[3].threads[0] = 0x80000000;
	bad[4].arguments += 4;
	bad[5].range_count++;
	bad[6].parameter_bytes -= 2;
	bad[7].parameter_bytes += 4;
	for (unsigned i = 0; i < 8; i++)
		EXPECT_EQ(decode(&bad[i], sizeof(bad[i]), &out), STATUS_ILLEGAL_INSTRUCTION);
}

TEST(command, what_pages_memory_is_for_paging_buffers_only)
{
	static const struct {
		ULONG opcode;
		size_t size_bytes;
	} rows[] = {
		{ GPU_PAGING_FILL, sizeof(struct gpu_paging_fill) },
		{ GPU_PAGING_COPY, sizeof(struct gpu_paging_copy) },
		{ GPU_PAGING_MDL_COPY, sizeof(struct gpu_paging_mdl_copy) },
		{ GPU_PAGING_ENTRIES, sizeof(struct gpu_paging_entries) },
	};

	for (size_t i = 0; i < RTL_NUMBER_OF(rows); i++) {
		uint64_t buffer[8] = { 0 };
		struct softgpu_command head = header(rows[i].opcode, rows[i].size_bytes);
		struct gpu_command out;

		memcpy(buffer, &head, sizeof(head));
		EXPECT_EQ(gpu_command_decode(buffer, sizeof(buffer), FALSE, &out),
			  STATUS_PRIVILEGED_INSTRUCTION);
		EXPECT_EQ(gpu_command_decode(buffer, sizeof(buffer), TRUE, &out), STATUS_SUCCESS);
		EXPECT_EQ(out.opcode, rows[i].opcode);
		head.size_bytes -= 8;
		memcpy(buffer, &head, sizeof(head));
		EXPECT_EQ(gpu_command_decode(buffer, sizeof(buffer), TRUE, &out),
			  STATUS_ILLEGAL_INSTRUCTION);
	}
}

TEST(command, no_bytes_at_all_make_it_read_past_the_end)
{
	uint32_t random = 12345;

	/* Every length is a block of its own, so that a sanitizer sees one byte too far. */
	for (unsigned round = 0; round < 20000; round++) {
		size_t size_bytes = round % 80;
		uint8_t *bytes = malloc(size_bytes ? size_bytes : 1);
		struct gpu_command out;

		for (size_t i = 0; i < size_bytes; i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = (uint8_t)(random >> 24);
		}
		if (size_bytes >= 8) {
			struct softgpu_command head = header(round % 10, bytes[4] & 0x78u);

			memcpy(bytes, &head, sizeof(head));
		}
		NTSTATUS status = gpu_command_decode(bytes, size_bytes, round & 1, &out);
		if (NT_SUCCESS(status)) {
			EXPECT(out.size_bytes <= size_bytes);
			for (ULONG i = 0; i < out.operand_count; i++)
				EXPECT(out.operands[i].field_offset + 8 <= out.size_bytes);
		}
		free(bytes);
	}
}

TEST_MAIN("soft/command")
