/* SPDX-License-Identifier: MIT */
/*
 * ring.h - how cuda_run() comes to its packets, and leaves: part of kernels.c, which is one translation unit,
 * and whose memory of a block it uses.
 *
 *	look_ahead() ─▶ block.ring: those that are there ─▶ take_packet() ─▶ run
 */
#ifndef CUDA_RING_H
#define CUDA_RING_H

/* Who has looked around so lately need not before the next packet: some 8 us. */
enum { FRESH_CYCLES = 16384 };

#define MAIL_WORD(member) (__builtin_offsetof(struct cuda_mail, member) / sizeof(ULONG))

static INLINED ULONG half(const ULONGLONG *words, ULONG word)
{
	return (ULONG)words[word];
}

static INLINED ULONGLONG whole(const ULONGLONG *words, ULONG word)
{
	return (ULONG)words[word] | (ULONGLONG)(ULONG)words[word + 1] << 32;
}

static INLINED BOOLEAN is_there(const ULONGLONG *words, ULONGLONG sequence)
{
	ULONG others = 0;

	for (ULONG i = 0; i < CUDA_RING_WORDS; i++)
		others |= (ULONG)(words[i] >> 32) ^ (ULONG)sequence;
	return others == 0 && (ULONG)sequence != 0;
}

/* What of it the driver has brought. */
static SHARED void take_commands(struct run *run, const ULONGLONG *words)
{
	run->window_at = 0;
	run->window_bytes = half(words, MAIL_WORD(brought_bytes));
	for (ULONG i = 0; i < run->window_bytes / sizeof(ULONGLONG); i++)
		block.window[i] = whole(words, MAIL_WORD(brought) + 2 * i);
}

static INLINED void take_root(struct run *run, const ULONGLONG *words)
{
	run->root.segment = half(words, MAIL_WORD(root_segment));
	run->root.entry_count = half(words, MAIL_WORD(root_entries));
	run->root.offset = whole(words, MAIL_WORD(root_offset));
}

/* A packet, out of the ring. FALSE: it is none, and nothing comes. */
static SHARED BOOLEAN take_packet(struct run *run, const ULONGLONG *words)
{
	run->flags = half(words, MAIL_WORD(flags));
	if (run->flags & CUDA_LEAVE)
		return FALSE;
	take_root(run, words);
	run->buffer.segment = half(words, MAIL_WORD(buffer_segment));
	run->buffer.offset = whole(words, MAIL_WORD(buffer_offset));
	run->size_bytes = half(words, MAIL_WORD(size_bytes));
	run->offset = half(words, MAIL_WORD(offset));
	run->progress = whole(words, MAIL_WORD(progress));
	run->bytes_written = 0;
	run->entries_written = 0;
	run->is_moved = FALSE;
	take_commands(run, words);
	if (run->changes != half(words, MAIL_WORD(changes)))
		forget_pages(run);
	run->changes = half(words, MAIL_WORD(changes));
	if (run->flags & CUDA_GO_ON) {
		run->offset = run->state->offset;
		run->progress = run->state->progress;
		run->bytes_written = run->state->bytes_written;
		run->entries_written = run->state->entries_written;
		run->is_moved = run->state->is_moved != 0;
		run->state->is_moved = 0;
	}
	return TRUE;
}

/* Reads as many from `first` on as there are. */
static SHARED void look_ahead(struct run *run, ULONGLONG first)
{
	ULONGLONG start = now_cycles();

	look_around(run);
	share(ITEM_LOOK, first, (ULONGLONG)(ULONG_PTR)run->ring, 0, 0);
	run->ahead_from = first;
	run->ahead_count = 0;
	while (run->ahead_count < CUDA_RING_AHEAD &&
	       is_there((const ULONGLONG *)block.ring[run->ahead_count], first + run->ahead_count))
		run->ahead_count++;
	if (run->ahead_count == 0)
		return;
	run->sums.looks++;
	run->sums.look_cycles += now_cycles() - start;
}

#define BROUGHT_WORD(member)                                                                       \
	(MAIL_WORD(brought) + __builtin_offsetof(struct softgpu_write64, member) / sizeof(ULONG))

/* It is one word to be written, as the decoder would find, and all of it was brought. */
static INLINED BOOLEAN is_one_word(const ULONGLONG *words)
{
	const ULONG first = SOFTGPU_COMMAND_MAGIC | (ULONG)SOFTGPU_WRITE64 << 16;
	const ULONG size_bytes = sizeof(struct softgpu_write64);

	return ((half(words, MAIL_WORD(flags)) ^ CUDA_IS_VIRTUAL) |
		(half(words, MAIL_WORD(size_bytes)) ^ size_bytes) |
		(half(words, MAIL_WORD(brought_bytes)) ^ size_bytes) |
		half(words, MAIL_WORD(offset)) | (half(words, MAIL_WORD(brought)) ^ first) |
		(half(words, BROUGHT_WORD(header.size_bytes)) ^ size_bytes) |
		half(words, BROUGHT_WORD(destination)) % sizeof(ULONGLONG)) == 0;
}

/*
 * Of most packets the GPU is told nothing but a fence, in a page that it has met before: that needs no decoder. FALSE:
 * it is another one, or something was asked of it, and nothing has happened.
 */
static INLINED BOOLEAN do_one_word(struct run *run, const ULONGLONG *words, ULONGLONG sequence)
{
	const ULONGLONG address = whole(words, BROUGHT_WORD(destination));
	const ULONGLONG begun_cycles = now_cycles();

	if (!is_one_word(words) || run->changes != half(words, MAIL_WORD(changes)))
		return FALSE;
	take_root(run, words);
	if (begun_cycles - run->looked_cycles >= FRESH_CYCLES)
		look_around(run);
	const struct kept_page *kept =
		(const struct kept_page *)&block.kept[(address >> GPU_PAGE_BITS) % KEPT_PAGES];
	if (stop_in(run->stop, sequence, FALSE) != 0 || run->kept_at != run->tables ||
	    !is_page(run, kept, address, TRUE))
		return FALSE;
	const ULONGLONG to = kept->pointer + (address & ((1ULL << GPU_PAGE_BITS) - 1));
	write_word(run, to, whole(words, BROUGHT_WORD(value)));
	run->sequence = sequence;
	run->untold = sequence;
	run->sums.bytes_written += sizeof(ULONGLONG);
	run->sums.busy_cycles += now_cycles() - begun_cycles;
	return TRUE;
}

/* Reads the ring until there is one. FALSE: none comes. */
static SHARED BOOLEAN look_for(struct run *run, ULONGLONG next)
{
	const ULONGLONG start = now_100ns();

	tell_done(run);
	/* Others wait for the whole GPU at times, and who tells us to stop may be late for that. */
	if (start - run->born_100ns >= CUDA_LIFE_100NS)
		return FALSE;
	for (look_ahead(run, next); run->ahead_count == 0; look_ahead(run, next)) {
		if (now_100ns() - start >= CUDA_STAY_100NS)
			return FALSE;
		pause_between_looks();
	}
	return TRUE;
}

/* The next one that takes longer than a word. FALSE: none comes. */
static SHARED BOOLEAN wait_for_packet(struct run *run)
{
	for (;;) {
		const ULONGLONG next = cuda_next(run->sequence);

		if (next - run->ahead_from >= run->ahead_count && !look_for(run, next))
			return FALSE;
		const ULONGLONG *words = (const ULONGLONG *)block.ring[next - run->ahead_from];
		if (do_one_word(run, words, next))
			continue;
		if (now_100ns() - run->born_100ns >= CUDA_LIFE_100NS)
			return FALSE;
		run->begun_cycles = now_cycles();
		run->sequence = next;
		run->is_fresh = run->begun_cycles - run->looked_cycles < FRESH_CYCLES;
		return take_packet(run, words);
	}
}

static INLINED void settle(ULONGLONG world)
{
	ULONGLONG *words = (ULONGLONG *)&block.world;

	for (ULONG i = thread_in_block(); i < sizeof(block.world) / sizeof(*words);
	     i += threads_of_block())
		words[i] = load_word((const ULONGLONG *)(ULONG_PTR)world + i);
	block_barrier();
}

static SHARED void leave(struct run *run, ULONGLONG launch)
{
	share(ITEM_END, 0, 0, 0, 0);
	tell_done(run);
	run->sums.life_cycles += now_cycles() - run->born_cycles;
	run->sums.life_100ns += now_100ns() - run->born_100ns;
	store_word(&run->result->sums.life_cycles, run->sums.life_cycles);
	store_word(&run->result->sums.life_100ns, run->sums.life_100ns);
	run->state->sums = run->sums;
	fence_system();
	store_word(&run->result->left, launch);
}

#endif
