/* SPDX-License-Identifier: MIT */
/*
 * What libwsl_compute_helper.so makes of tokens, and tokens of. The test reads and writes them by
 * itself, as the runtime does.
 */
#include "support/test.h"

#include <opendxgk/softgpu.h>
#include <stdbool.h>

size_t getSizeRequiredForStruct(uint32_t id);
size_t getSizeRequiredForTokens(uint32_t id);
bool tokensToStruct(uint32_t id, void *destination, size_t size_bytes, const uint32_t *begin,
		    const uint32_t *end);
bool structToTokens(uint32_t id, uint32_t *destination, size_t size_bytes, const void *source,
		    size_t source_bytes);
void destroyStructRepresentation(uint32_t id, void *source, size_t size_bytes);
uint64_t getVersion(void);

enum {
	ADAPTER = 1,
	RESOURCE = 7,
	CONTEXT = 33,
	COMMAND = 48,
	PARTITION = 135,
	GROUP = 0x10,
	MANY = 4096,
};

/* ---- tokens ---- */

static uint32_t stream[MANY];
static size_t used;

static void number32(unsigned id, uint32_t value)
{
	stream[used++] = id | 1u << 16;
	stream[used++] = value;
}

static void number64(unsigned id, uint64_t value)
{
	stream[used++] = id | 2u << 16;
	stream[used++] = (uint32_t)value;
	stream[used++] = (uint32_t)(value >> 32);
}

static size_t begin(unsigned id, uint32_t element)
{
	stream[used++] = id | (uint32_t)GROUP << 24;
	stream[used++] = element;
	used += 2;
	return used;
}

static void end(size_t begun)
{
	stream[begun - 2] = (uint32_t)(used - begun) * 4;
	stream[begun - 1] = (uint32_t)(used - begun);
}

/* One path of numbers, each in the group before it; the last is a value. Groups by element 0. */
static bool look(const uint32_t *at, size_t count, const unsigned *path, uint64_t *value)
{
	for (size_t i = 0; i < count;) {
		bool is_group = at[i] >> 24 & GROUP;
		size_t length = is_group ? 4 + at[i + 3] : 1 + (at[i] >> 16 & 0xff);

		EXPECT(i + length <= count);
		if ((at[i] & 0xffff) == path[0] && is_group == (path[1] != 0) &&
		    (!is_group || at[i + 1] == 0)) {
			if (is_group) {
				EXPECT_EQ(at[i + 2], at[i + 3] * 4);
				return look(&at[i + 4], at[i + 3], path + 1, value);
			}
			*value = length == 1 ? at[i] >> 24 & 1 : at[i + 1];
			if (length == 3)
				*value |= (uint64_t)at[i + 2] << 32;
			return true;
		}
		i += length;
	}
	return false;
}

#define LOOK(tokens, count, ...)                                                                   \
	({                                                                                         \
		const unsigned path[] = { __VA_ARGS__, 0 };                                        \
		uint64_t found = UINT64_MAX;                                                       \
		EXPECT(look(tokens, count, path, &found));                                         \
		found;                                                                             \
	})

/* ---- the adapter ---- */

static struct softgpu_device_info adapter_of(uint16_t device_id)
{
	return (struct softgpu_device_info){
		.adapter = { .version = SOFTGPU_ADAPTER_INFO_VERSION,
			     .address_model = SOFTGPU_MODEL_GPUMMU,
			     .local_bytes = 256u << 20,
			     .aperture_bytes = 1024u << 20,
			     .virtual_address_bits = 48 },
		.commands = SOFTGPU_COMMANDS_INTEL,
		.vendor_id = 0x8086,
		.device_id = device_id,
		.revision = 6,
	};
}

static size_t describe(uint16_t device_id)
{
	struct softgpu_device_info info = adapter_of(device_id);
	size_t bytes = getSizeRequiredForTokens(ADAPTER);

	EXPECT(bytes <= sizeof(stream));
	memset(stream, 0xee, sizeof(stream));
	EXPECT_EQ(getSizeRequiredForStruct(ADAPTER), sizeof(info));
	EXPECT(structToTokens(ADAPTER, stream, bytes, &info, sizeof(info)));
	return bytes / 4;
}

TEST(helper, an_adapter_is_described_as_the_device_with_its_ids)
{
	size_t count = describe(0x1912);

	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3551, 3475), 18); /* Skylake */
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3551, 3478), 12); /* Gen9 */
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3551, 3480), 0x1912);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3551, 3481), 6);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3585, 299), 24);  /* EUs */
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3585, 300), 168); /* threads */
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3585, 324, 200), 1);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3585, 324, 201, 196), 8);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3577), 256u << 20);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3578), 1280u << 20);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3552, 453), 0);
	/* Programs have the lower half, heaps the upper one. */
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3588, 3538, 3533), (UINT64_C(1) << 47) - 1);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3588, 3540, 3532), UINT64_C(1) << 47);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3588, 3535, 3533), (UINT64_C(1) << 48) - 1);
}

TEST(helper, a_device_without_an_upper_half_leaves_the_heaps_to_the_runtime)
{
	size_t count = describe(0x9a49);

	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3551, 3475), 33); /* Tiger Lake */
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3585, 303), 6);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3585, 324, 202, 199, 196), 8);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3552, 453), 1);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3588, 3535, 3533), 0);
	EXPECT_EQ(LOOK(stream, count, ADAPTER, 3588, 3538, 3533), (UINT64_C(1) << 47) - 1);
}

TEST(helper, what_cannot_be_such_a_device_is_refused)
{
	size_t bytes = getSizeRequiredForTokens(ADAPTER);
	struct softgpu_device_info good = adapter_of(0x1912);
	struct softgpu_device_info info = good;

	info.commands = SOFTGPU_COMMANDS_OWN;
	EXPECT(!structToTokens(ADAPTER, stream, bytes, &info, sizeof(info)));
	info = good;
	info.vendor_id = 0x10de;
	EXPECT(!structToTokens(ADAPTER, stream, bytes, &info, sizeof(info)));
	info = good;
	info.device_id = 0x1913;
	EXPECT(!structToTokens(ADAPTER, stream, bytes, &info, sizeof(info)));
	info = good;
	info.adapter.virtual_address_bits = 47;
	EXPECT(!structToTokens(ADAPTER, stream, bytes, &info, sizeof(info)));
	info = good;
	info.adapter.version++;
	EXPECT(!structToTokens(ADAPTER, stream, bytes, &info, sizeof(info)));
	EXPECT(!structToTokens(ADAPTER, stream, bytes, &good, sizeof(good) - 1));
	EXPECT(!structToTokens(ADAPTER, stream, 64, &good, sizeof(good)));
	EXPECT(!structToTokens(ADAPTER, NULL, bytes, &good, sizeof(good)));
}

/* ---- memory ---- */

/* A description: the sizes of its three surfaces, a flag, and what nobody here knows. */
static void resource(uint64_t main_bytes, uint64_t first, uint64_t second, unsigned flag)
{
	const uint64_t sizes[] = { main_bytes, first, second };

	used = 0;
	size_t all = begin(RESOURCE, 0);
	size_t common = begin(3962, 0);
	number32(3950, 3); /* who asks */
	for (unsigned i = 0; i < 3; i++) {
		size_t surface = begin(3951 + i, 0);
		size_t flags = begin(3905, 0);
		size_t info = begin(3850, 0);
		number32(3801, 1);
		if (flag && i == 0)
			number32(flag, 1);
		end(info);
		end(flags);
		number64(3906, 77);
		number64(3919, sizes[i]);
		end(surface);
	}
	number64(3956, 0x123456789000);
	end(common);
	end(all);
}

static unsigned char memory[8192];

static const struct softgpu_allocation *translated(void)
{
	EXPECT(getSizeRequiredForStruct(RESOURCE) <= sizeof(memory));
	EXPECT(tokensToStruct(RESOURCE, memory, sizeof(memory), stream, stream + used));
	return (const struct softgpu_allocation *)memory;
}

TEST(helper, memory_becomes_what_the_driver_needs_and_all_of_it_comes_back)
{
	static uint32_t back[MANY];
	size_t bytes = getSizeRequiredForTokens(RESOURCE);

	resource(0x10000, 0x2000, 0x1000, 0);
	const struct softgpu_allocation *allocation = translated();
	EXPECT_EQ(allocation->version, SOFTGPU_DESCRIBED_VERSION);
	EXPECT_EQ(allocation->size_bytes, 0x13000);
	EXPECT_EQ(allocation->flags, SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED);
	EXPECT_EQ(allocation->alignment, 0);

	EXPECT(bytes <= sizeof(back));
	memset(back, 0xee, sizeof(back));
	EXPECT(structToTokens(RESOURCE, back, bytes, memory, sizeof(memory)));
	EXPECT_EQ(memcmp(back, stream, used * 4), 0);
	for (size_t i = used; i < bytes / 4; i++)
		EXPECT_EQ(back[i], 0); /* tokens that nobody knows */
	destroyStructRepresentation(RESOURCE, memory, sizeof(memory));
}

TEST(helper, the_description_may_be_as_long_as_the_runtimes_and_no_longer)
{
	size_t buffer = getSizeRequiredForTokens(RESOURCE);

	EXPECT(buffer >= 6692);
	resource(0x1000, 0, 0, 0);
	while (used * 4 + 12 <= buffer)
		number64(4095, 0);
	EXPECT_EQ(translated()->size_bytes, 0x1000);
	number64(4095, 0);
	EXPECT(!tokensToStruct(RESOURCE, memory, sizeof(memory), stream, stream + used));
}

TEST(helper, where_memory_may_be_is_as_its_flags_say)
{
	resource(0x1000, 0, 0, 3791); /* was there before */
	EXPECT(translated()->flags & SOFTGPU_SYSTEM_ONLY);
	resource(0x1000, 0, 0, 3807);
	EXPECT(translated()->flags & SOFTGPU_SYSTEM_ONLY);
	resource(0x1000, 0, 0, 3800);
	EXPECT(translated()->flags & SOFTGPU_LOCAL_ONLY);
}

TEST(helper, tokens_that_end_early_are_no_memory_and_nothing_is_read_behind_them)
{
	resource(0x1000, 0, 0, 0);
	size_t all = used;
	for (size_t count = 0; count < all; count++) {
		uint32_t *exact = malloc(count * 4 + 1);

		memcpy(exact, stream, count * 4);
		EXPECT(!tokensToStruct(RESOURCE, memory, sizeof(memory), exact, exact + count));
		free(exact);
	}
	resource(0, 0, 0, 0);
	EXPECT(!tokensToStruct(RESOURCE, memory, sizeof(memory), stream, stream + used));
	resource(0x1000, 0, 0, 0);
	EXPECT(!tokensToStruct(RESOURCE, memory, getSizeRequiredForStruct(RESOURCE) - 1, stream,
			       stream + used));
	stream[3] = UINT32_MAX; /* a group that is longer than everything */
	EXPECT(!tokensToStruct(RESOURCE, memory, sizeof(memory), stream, stream + used));
}

TEST(helper, what_was_not_made_here_does_not_become_tokens)
{
	struct softgpu_allocation plain = { .version = SOFTGPU_ALLOCATION_VERSION };

	memset(memory, 0, sizeof(memory));
	memcpy(memory, &plain, sizeof(plain));
	EXPECT(!structToTokens(RESOURCE, stream, getSizeRequiredForTokens(RESOURCE), memory,
			       sizeof(memory)));
	memset(memory, 0xff, sizeof(memory));
	EXPECT(!structToTokens(RESOURCE, stream, getSizeRequiredForTokens(RESOURCE), memory,
			       sizeof(memory)));
}

/* ---- contexts, submissions, partitions ---- */

TEST(helper, a_context_is_a_plain_one)
{
	struct softgpu_context context = { 7, 7 };

	used = 0;
	number32(3635, 4711);
	EXPECT_EQ(getSizeRequiredForStruct(CONTEXT), sizeof(context));
	EXPECT(tokensToStruct(CONTEXT, &context, sizeof(context), stream, stream + used));
	EXPECT_EQ(context.version, SOFTGPU_CONTEXT_VERSION);
	EXPECT_EQ(context.flags, 0);
}

TEST(helper, a_submission_carries_the_fence_of_the_runtime)
{
	struct softgpu_fenced_submission submission;

	used = 0;
	size_t all = begin(COMMAND, 0);
	number32(3690, 1);
	number64(3730, 0x7f0000001000);
	number64(3731, 42);
	end(all);
	EXPECT_EQ(getSizeRequiredForStruct(COMMAND), sizeof(submission));
	EXPECT(tokensToStruct(COMMAND, &submission, sizeof(submission), stream, stream + used));
	EXPECT_EQ(submission.submission.version, SOFTGPU_FENCED_SUBMISSION_VERSION);
	EXPECT_EQ(submission.submission.flags, 0);
	EXPECT_EQ(submission.fence_address, 0x7f0000001000);
	EXPECT_EQ(submission.fence_value, 42);

	used = 0;
	number64(3730, 0x7f0000001000);
	EXPECT(!tokensToStruct(COMMAND, &submission, sizeof(submission), stream, stream + used));
}

TEST(helper, a_partition_goes_there_and_back)
{
	unsigned char kept[256] = { 0 };
	size_t kept_bytes = getSizeRequiredForStruct(PARTITION);
	size_t bytes = getSizeRequiredForTokens(PARTITION);

	EXPECT(kept_bytes > 0 && kept_bytes <= sizeof(kept));
	EXPECT(bytes <= sizeof(stream));
	EXPECT(structToTokens(PARTITION, stream, bytes, kept, kept_bytes));
	EXPECT_EQ(LOOK(stream, bytes / 4, PARTITION, 3535, 3533), 0); /* nobody has divided yet */

	used = 0;
	size_t all = begin(PARTITION, 0);
	for (unsigned i = 0; i < 4; i++) {
		size_t heap = begin(3540, i);
		number64(3532, (uint64_t)(i + 1) << 32);
		number64(3533, ((uint64_t)(i + 2) << 32) - 1);
		end(heap);
	}
	size_t standard = begin(3535, 0);
	number64(3532, 0x600000000000);
	number64(3533, 0x6fffffffffff);
	end(standard);
	end(all);
	EXPECT(tokensToStruct(PARTITION, kept, sizeof(kept), stream, stream + used));
	memset(stream, 0xee, sizeof(stream));
	EXPECT(structToTokens(PARTITION, stream, bytes, kept, kept_bytes));
	EXPECT_EQ(LOOK(stream, bytes / 4, PARTITION, 3540, 3532), UINT64_C(1) << 32);
	EXPECT_EQ(LOOK(stream, bytes / 4, PARTITION, 3535, 3533), 0x6fffffffffff);
}

TEST(helper, there_is_nothing_else)
{
	EXPECT_EQ(getVersion(), 1);
	EXPECT_EQ(getSizeRequiredForStruct(0), 0);
	EXPECT_EQ(getSizeRequiredForTokens(4313), 0);
	EXPECT(!tokensToStruct(4313, memory, sizeof(memory), stream, stream + 1));
	EXPECT(!tokensToStruct(ADAPTER, memory, sizeof(memory), stream, stream + 1));
	EXPECT(!structToTokens(CONTEXT, stream, sizeof(stream), memory, sizeof(memory)));
	EXPECT(!tokensToStruct(CONTEXT, memory, sizeof(memory), NULL, NULL));
}

TEST_MAIN("clients/helper")
