/* SPDX-License-Identifier: MIT */
/*
 * fake.c - see fake.h.
 */
#include <string.h>

#include "fake.h"
#include "support/dirty.h"

enum { COMMAND_MAGIC = 0x50A6E500, COMMAND_ENTRIES = 8 };

struct command {
	uint32_t magic;
	uint32_t entry_count;
	uint32_t first_entry;
	struct miniport_paging_op op;
	uint64_t entries[COMMAND_ENTRIES];
	uint64_t seconds[COMMAND_ENTRIES];
};

/* ---- the kernel's own addresses ---- */

/* A GPU that looks ahead: it has seen everything once, invalid entries too. */
static uint8_t *translate(struct fake *fake, uint64_t address)
{
	if (fake->is_tlb_cold) {
		fake_tlb_flush_all(&fake->tlb);
		fake_tlb_look_ahead(&fake->tlb, &fake->walker, &fake->root);
		fake->is_tlb_cold = false;
	}
	uint64_t entry = fake_tlb_seen(&fake->tlb, &fake->walker, &fake->root,
				       address >> MACHINE_PAGE_SHIFT);
	CHECK(entry & PACKED_VALID);
	return fake_pointer(&fake->memory, packed_segment(entry),
			    packed_offset(entry) | (address & (MACHINE_PAGE_BYTES - 1)));
}

/* ---- executing ---- */

/* A driver is told where something begins in a segment; runs are for MDLs. */
static void expect_address(const struct miniport_location *place)
{
	CHECK(place->segment != 0 ? place->run_count == 0 : place->mdl != NULL);
}

/* In words. */
static uint32_t entry_words(const struct fake *fake, const struct miniport_paging_op *op)
{
	bool is_dual = fake->config.has_dual_entries && op->update_table.driver_process;

	return is_dual && op->update_table.level == 1 ? 2 : 1;
}

static void execute_entries(struct fake *fake, const struct command *command)
{
	const struct miniport_paging_op *op = &command->op;
	uint32_t words = entry_words(fake, op);

	for (uint32_t i = 0; i < command->entry_count; i++) {
		uint32_t from = op->update_table.is_repeated ? 0 : i;
		uint64_t at =
			(op->update_table.first_index + command->first_entry + i) * words * 8ULL;
		uint8_t *to = op->update_table.mode == MINIPORT_TABLE_GPU_VIRTUAL
				      ? translate(fake, op->target.gpu_address + at)
				      : fake_pointer(&fake->memory, op->target.segment,
						     op->target.offset_bytes + at);

		memcpy(to, &command->entries[from], 8);
		if (words > 1)
			memcpy(to + 8, &command->seconds[from], 8);
	}
}

/* Entry by entry, from where the first one is. */
static void execute_copy_entries(struct fake *fake, const struct command *command)
{
	for (uint64_t i = 0; i < command->entry_count; i++) {
		uint64_t entry = __atomic_load_n(
			(uint64_t *)translate(fake, command->entries[0] + i * 8), __ATOMIC_ACQUIRE);

		__atomic_store_n((uint64_t *)translate(fake, command->entries[1] + i * 8), entry,
				 __ATOMIC_RELEASE);
	}
}

static void execute_flush(struct fake *fake, const struct miniport_paging_op *op)
{
	uint64_t first = op->flush_tlb.first_address >> MACHINE_PAGE_SHIFT;
	uint64_t end = op->flush_tlb.end_address >> MACHINE_PAGE_SHIFT;

	if (op->flush_tlb.driver_process != NULL) { /* somebody else's space */
		atomic_fetch_add(&fake->other_flushes, 1);
		return;
	}
	CHECK(op->target.segment == fake->root.segment &&
	      op->target.offset_bytes == fake->root.offset_bytes);
	fake_tlb_flush(&fake->tlb, first, op->flush_tlb.end_address == 0 ? UINT64_MAX : end);
}

static void execute(struct fake *fake, const struct command *command)
{
	const struct miniport_paging_op *op = &command->op;

	switch (op->kind) {
	case MINIPORT_PAGING_TRANSFER:
		expect_address(&op->target);
		expect_address(&op->source);
		fake_transfer(&fake->memory, op);
		break;
	case MINIPORT_PAGING_FILL:
		expect_address(&op->target);
		fake_fill(&fake->memory, op);
		break;
	case MINIPORT_PAGING_VIRTUAL_TRANSFER:
		for (uint64_t at = 0; at < op->size_bytes; at += MACHINE_PAGE_BYTES)
			memcpy(translate(fake, op->target.gpu_address + at),
			       translate(fake, op->source.gpu_address + at), MACHINE_PAGE_BYTES);
		break;
	case MINIPORT_PAGING_VIRTUAL_FILL:
		for (uint64_t at = 0; at < op->size_bytes; at += MACHINE_PAGE_BYTES)
			fake_fill_page(translate(fake, op->target.gpu_address + at),
				       op->fill.pattern);
		break;
	case MINIPORT_PAGING_UPDATE_PAGE_TABLE:
		execute_entries(fake, command);
		break;
	case MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES:
		execute_copy_entries(fake, command);
		break;
	case MINIPORT_PAGING_MAP_APERTURE_SEGMENT:
	case MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT:
		fake_map_aperture(&fake->memory, op);
		break;
	case MINIPORT_PAGING_FLUSH_TLB:
		execute_flush(fake, op);
		break;
	case MINIPORT_PAGING_INIT_CONTEXT_RESOURCE:
		memset(fake->config.has_mmu ? translate(fake, op->target.gpu_address)
					    : fake_byte(&fake->memory, &op->target, 0),
		       0x1C, 64);
		break;
	case MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION:
		memcpy(translate(fake, op->target.gpu_address), op->update_context.private_data,
		       op->update_context.private_bytes);
		break;
	case MINIPORT_PAGING_DISCARD_CONTENT:
	case MINIPORT_PAGING_NOTIFY_RESIDENCY:
		break;
	}
}

void fake_execute(struct fake *fake, const struct fake_submission *submission)
{
	const struct miniport_paging_buffer *buffer = submission->buffer;

	CHECK(submission->end_bytes > submission->start_bytes);
	CHECK(submission->end_bytes % sizeof(struct command) == 0);
	CHECK(submission->private_end_bytes == FAKE_PRIVATE_BYTES / 2);
	for (uint32_t at = submission->start_bytes; at < submission->end_bytes;
	     at += sizeof(struct command)) {
		struct command command;

		memcpy(&command, (uint8_t *)buffer->memory + at, sizeof(command));
		CHECK(command.magic == COMMAND_MAGIC);
		if (fake->config.has_mmu && !fake->config.hides_tables)
			CHECK(translate(fake, buffer->gpu_address + at) ==
			      fake_pointer(&fake->memory, 0, buffer->physical_address + at));
		execute(fake, &command);
	}
}

/* ---- building ---- */

bool fake_has_room(const struct miniport_paging_buffer *buffer)
{
	return buffer->size_bytes - buffer->used_bytes >= sizeof(struct command);
}

static bool emit(struct miniport_paging_buffer *buffer, const struct command *command)
{
	if (!fake_has_room(buffer))
		return false;
	memcpy((uint8_t *)buffer->memory + buffer->used_bytes, command, sizeof(*command));
	buffer->used_bytes += (uint32_t)sizeof(*command);
	return true;
}

static NTSTATUS build_entries(const struct miniport_paging_op *op,
			      struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	struct command command = { .magic = COMMAND_MAGIC, .op = *op };

	if (op->update_table.is_repeated) {
		command.entry_count = op->update_table.count;
		command.entries[0] = fake_entry(op, 0);
		command.seconds[0] = fake_second_entry(op, 0);
		return emit(buffer, &command) ? STATUS_SUCCESS
					      : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	}
	while (*multipass < op->update_table.count) {
		uint32_t count = op->update_table.count - *multipass;

		command.entry_count = count < COMMAND_ENTRIES ? count : COMMAND_ENTRIES;
		command.first_entry = *multipass;
		for (uint32_t i = 0; i < command.entry_count; i++) {
			command.entries[i] = fake_entry(op, *multipass + i);
			command.seconds[i] = fake_second_entry(op, *multipass + i);
		}
		if (!emit(buffer, &command))
			return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
		*multipass += command.entry_count;
	}
	return STATUS_SUCCESS;
}

/* One command for each range, so that an operation may end in the middle. */
static NTSTATUS build_copy_entries(const struct miniport_paging_op *op,
				   struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	for (; *multipass < op->copy_entries.count; ++*multipass) {
		const struct miniport_table_copy *copy = &op->copy_entries.copies[*multipass];
		struct command command = {
			.magic = COMMAND_MAGIC,
			.op = *op,
			.entry_count = copy->count,
			.entries = { op->source.gpu_address + copy->source_index * 8ULL,
				     op->target.gpu_address + copy->destination_index * 8ULL }
		};

		CHECK(op->source.gpu_address % 65536 == 0 && op->target.gpu_address % 65536 == 0);
		CHECK(copy->count > 0);
		if (!emit(buffer, &command))
			return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
	}
	return STATUS_SUCCESS;
}

static void update_now(const struct fake *fake, const struct miniport_paging_op *op)
{
	uint32_t words = entry_words(fake, op);
	uint64_t *word = (uint64_t *)op->target.pointer + op->update_table.first_index * words;

	for (uint32_t i = 0; i < op->update_table.count; i++, word += words) {
		__atomic_store_n(&word[0], fake_entry(op, i), __ATOMIC_RELEASE);
		if (words > 1)
			__atomic_store_n(&word[1], fake_second_entry(op, i), __ATOMIC_RELEASE);
	}
}

/* In several commands, so that a transfer may end in the middle of a buffer. */
static NTSTATUS build_transfer(struct fake *fake, const struct miniport_paging_op *op,
			       struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	uint32_t most = fake->config.transfer_bytes;
	uint64_t size_bytes = op->size_bytes;

	CHECK(op->kind != MINIPORT_PAGING_TRANSFER || op->offset_bytes == 0);
	for (;;) {
		uint64_t done = (uint64_t)*multipass * most;
		uint64_t left = size_bytes - done;
		struct command command = { .magic = COMMAND_MAGIC, .op = *op };

		if (left == 0)
			return STATUS_SUCCESS;
		if (most == 0 || left < most)
			left = most == 0 ? size_bytes : left;
		else
			left = most;
		if (op->kind == MINIPORT_PAGING_VIRTUAL_TRANSFER) {
			command.op.source.gpu_address += done;
			command.op.target.gpu_address += done;
			command.op.size_bytes = left;
		} else if (most != 0 && done != 0) {
			/* Only for places in segments: tests with MDLs transfer in one. */
			CHECK(op->source.segment != 0 && op->target.segment != 0);
			command.op.source.offset_bytes += done;
			command.op.target.offset_bytes += done;
			command.op.size_bytes = left;
		} else {
			command.op.size_bytes = left;
		}
		if (!emit(buffer, &command))
			return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
		if (most == 0)
			return STATUS_SUCCESS;
		++*multipass;
		if (done + left == size_bytes)
			return STATUS_SUCCESS;
	}
}

static void check_buffer(struct fake *fake, const struct miniport_paging_buffer *buffer)
{
	const uint8_t *private_data = buffer->private_data;

	CHECK(buffer->size_bytes == fake->config.buffer_bytes);
	CHECK((uintptr_t)buffer->memory % MACHINE_PAGE_BYTES == 0);
	CHECK(buffer->physical_address + buffer->size_bytes <= UINT64_C(1) << 32);
	CHECK(machine_to_pointer(buffer->physical_address) == buffer->memory);
	CHECK((buffer->gpu_address != 0) == fake->config.has_mmu);
	if (buffer->used_bytes != 0)
		return;
	CHECK(buffer->private_used_bytes == 0);
	for (uint32_t i = 0; i < buffer->private_bytes; i++)
		CHECK(private_data[i] == 0);
}

static void write_log(struct fake *fake, const struct miniport_paging_op *op,
		      const struct miniport_paging_buffer *buffer, uint32_t multipass)
{
	uint32_t at = atomic_load(&fake->log_count);

	fake->log[at % FAKE_LOG] = (struct fake_log_entry){
		.kind = op->kind,
		.op = *op,
		.multipass = multipass,
		.used_bytes = buffer->used_bytes,
		.buffer = buffer->memory ? buffer : NULL,
		.context = buffer->driver_context,
		.submissions = fake_submitted(fake),
		.had_memory = buffer->memory != NULL,
	};
	atomic_store(&fake->log_count, at + 1);
}

static NTSTATUS build_one(struct fake *fake, const struct miniport_paging_op *op,
			  struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	struct command command = { .magic = COMMAND_MAGIC, .op = *op };

	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE)
		return build_entries(op, buffer, multipass);
	if (op->kind == MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES)
		return build_copy_entries(op, buffer, multipass);
	if (op->kind == MINIPORT_PAGING_TRANSFER || op->kind == MINIPORT_PAGING_VIRTUAL_TRANSFER)
		return build_transfer(fake, op, buffer, multipass);
	if (op->kind == MINIPORT_PAGING_DISCARD_CONTENT)
		return STATUS_SUCCESS; /* nothing to execute */
	return emit(buffer, &command) ? STATUS_SUCCESS : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static NTSTATUS fake_build(void *driver, const struct miniport_paging_op *op,
			   struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	struct fake *fake = driver;
	bool is_now = op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE &&
		      op->update_table.mode == MINIPORT_TABLE_CPU_VIRTUAL;

	lock_assert_none_held("a driver");
	if (fake->door)
		fake->door(fake, op);
	if (buffer->generation.now &&
	    atomic_load(buffer->generation.now) != buffer->generation.mine)
		return STATUS_DEVICE_REMOVED;
	CHECK(is_now == (buffer->memory == NULL));
	if (buffer->memory)
		check_buffer(fake, buffer);
	write_log(fake, op, buffer, *multipass);
	if (fake->hook) {
		NTSTATUS status = fake->hook(fake, op, buffer, multipass);
		if (status != STATUS_PENDING)
			return status;
	}
	if (is_now) {
		update_now(fake, op);
		return STATUS_SUCCESS;
	}
	bool was_fresh = buffer->used_bytes == 0;
	NTSTATUS status = build_one(fake, op, buffer, multipass);
	if (was_fresh) { /* what is left of it must not be seen again */
		memset(buffer->private_data, 0xCD, buffer->private_bytes);
		if (buffer->used_bytes > 0)
			buffer->private_used_bytes = FAKE_PRIVATE_BYTES / 2;
	}
	return status;
}

/* Those that were parked are not the last. */
static struct fake_submission *submission_locked(struct fake_packets *packets, uint32_t fence)
{
	uint64_t at = packets->end;

	while (packets->queue[at % FAKE_SLOTS].fence != fence) {
		CHECK(at > packets->first);
		at--;
	}
	return &packets->queue[at % FAKE_SLOTS];
}

static NTSTATUS fake_submit(void *driver, const struct sched_submission *how,
			    const struct miniport_paging_buffer *buffer, uint32_t start_bytes,
			    uint32_t end_bytes, uint32_t private_start_bytes,
			    uint32_t private_end_bytes)
{
	struct fake *fake = driver;

	lock_acquire(&fake->sched.lock);
	struct fake_submission *submission = submission_locked(&fake->packets, how->fence);
	submission->buffer = buffer;
	submission->start_bytes = start_bytes;
	submission->end_bytes = end_bytes;
	submission->private_start_bytes = private_start_bytes;
	submission->private_end_bytes = private_end_bytes;
	lock_release(&fake->sched.lock);
	return STATUS_SUCCESS;
}

static NTSTATUS fake_create_mdl(void *driver, const struct miniport_page_run *runs,
				uint32_t run_count, struct miniport_mdl **mdl_out)
{
	struct fake *fake = driver;

	return fake_mdl_create(&fake->memory, runs, run_count, mdl_out);
}

static void fake_destroy_mdl(void *driver, struct miniport_mdl *mdl)
{
	struct fake *fake = driver;

	fake_mdl_destroy(&fake->memory, mdl);
}

static void fake_set_root(void *driver, void *driver_context, uint32_t segment,
			  uint64_t offset_bytes, uint32_t entry_count)
{
	struct fake *fake = driver;

	lock_assert_none_held("a driver");
	fake->root_context = driver_context;
	fake->root = (struct page_tables_root){ segment, offset_bytes, entry_count };
	fake->roots_set++;
	fake->is_tlb_cold = true;
}

static uint64_t fake_root_bytes(void *driver, uint32_t *entry_count)
{
	*entry_count = (*entry_count + 511) & ~511U;
	return *entry_count * 8ULL;
}

static const struct pager_driver_ops driver_ops = {
	.build = fake_build,
	.submit = fake_submit,
	.create_mdl = fake_create_mdl,
	.destroy_mdl = fake_destroy_mdl,
	.set_root = fake_set_root,
	.root_bytes = fake_root_bytes,
};

static NTSTATUS take_table(void *memory, uint32_t segment, uint64_t size_bytes,
			   uint64_t align_bytes, struct pager_table *table_out)
{
	struct fake *fake = memory;

	CHECK(segment == FAKE_LOCAL && align_bytes == MACHINE_PAGE_BYTES);
	fake->local_taken += size_bytes;
	fake->tables_taken++;
	uint64_t offset_bytes = FAKE_LOCAL_BYTES - fake->local_taken;
	*table_out = (struct pager_table){
		.segment = FAKE_LOCAL,
		.offset_bytes = offset_bytes,
		.pointer = fake->config.hides_tables ? NULL : fake->memory.local + offset_bytes,
	};
	return STATUS_SUCCESS;
}

static void give_table(void *memory, const struct pager_table *table, uint64_t size_bytes)
{
	struct fake *fake = memory;

	CHECK(table->segment == FAKE_LOCAL && size_bytes > 0);
	fake->tables_taken--;
}

NTSTATUS fake_count_early_tables(struct fake *fake, const struct miniport_paging_op *op,
				 struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)buffer;
	(void)multipass;
	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE && op->update_table.is_initial)
		fake->hook_count += fake_in_flight(fake) > 0;
	return STATUS_PENDING;
}

/* ---- life ---- */

static void make_mmu(struct fake *fake)
{
	uint32_t levels = fake->config.levels ? fake->config.levels : 3;

	fake->mmu = (struct miniport_gpu_mmu){
		.flags = fake->config.mmu_flags,
		.update_mode = fake->config.update_mode,
		.address_bits =
			fake->config.address_bits ? fake->config.address_bits : 12 + 9 * levels,
		.level_count = levels,
	};
	for (uint32_t i = 0; i < levels; i++)
		fake->mmu.levels[i] = (struct miniport_page_table_level){
			.index_bits = 9,
			.segment_id = fake->config.table_segment,
			.paging_process_segment_id = fake->config.table_segment,
			.table_size_bytes = 4096,
			.alignment_bytes = 4096,
		};
	uint64_t pages = UINT64_C(1) << (fake->mmu.address_bits - MACHINE_PAGE_SHIFT);
	fake->walker = (struct fake_mmu){ .memory = &fake->memory, .described = &fake->mmu };
	fake_tlb_init(&fake->tlb, 0, pages < FAKE_TLB_PAGES ? pages : FAKE_TLB_PAGES);
	fake->tlb.caches_no_invalid = fake->mmu.flags & FAKE_INVALID_NOT_CACHED;
}

void fake_free(struct fake *fake)
{
	fake_sched_finish(&fake->sched);
	fake_tlb_finish(&fake->tlb);
	dirty_free(fake->memory.local, FAKE_LOCAL_BYTES);
	free(fake);
}

NTSTATUS fake_try_create(const struct fake_config *config, struct fake **fake_out)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	CHECK(fake);
	fake->config = *config;
	if (fake->config.buffer_bytes == 0)
		fake->config.buffer_bytes = 4096;
	fake->memory = (struct fake_memory){ .local = dirty_memory(FAKE_LOCAL_BYTES),
					     .local_bytes = FAKE_LOCAL_BYTES };
	fake->packets.is_automatic = config->is_automatic;
	fake_sched_init(&fake->sched);
	fake->sched.is_by_hand = true;
	fake_owner_init(&fake->owner, &fake->sched);
	make_mmu(fake);
	NTSTATUS status = pager_create(
		&(struct pager_config){
			.buffer_bytes = fake->config.buffer_bytes,
			.buffer_private_bytes = FAKE_PRIVATE_BYTES,
			.buffer_count = config->buffer_count,
			.node = 3,
			.gpu_mmu = config->has_mmu ? &fake->mmu : NULL,
			.take_table = take_table,
			.give_table = give_table,
			.memory = fake,
			.forget = config->forget,
			.forget_context = config->forget_context,
		},
		&driver_ops, fake, &fake->owner, &fake->pager);
	if (!NT_SUCCESS(status)) {
		CHECK(fake->tables_taken == 0);
		fake_free(fake);
		return status;
	}
	*fake_out = fake;
	return STATUS_SUCCESS;
}

struct fake *fake_create(const struct fake_config *config)
{
	struct fake *fake = NULL;

	CHECK(NT_SUCCESS(fake_try_create(config, &fake)));
	return fake;
}

void fake_destroy(struct fake *fake)
{
	fake_set_automatic(fake, true);
	pager_flush(fake->pager);
	CHECK(!pager_validate(fake->pager));
	pager_destroy(fake->pager);
	CHECK(atomic_load(&fake->memory.live_mdls) == 0);
	CHECK(fake->tables_taken == 0);
	fake_free(fake);
}

uint32_t fake_count(struct fake *fake, uint32_t first, enum miniport_paging_kind kind)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < atomic_load(&fake->log_count); i++)
		count += fake->log[i % FAKE_LOG].kind == kind;
	return count;
}
