/* SPDX-License-Identifier: MIT */
/*
 * user_memory.c - a client's command buffer, which DxgkDdiRender reads in place, as a hostile client could have it:
 *
 *	changes    what an instruction has read is another value for the next one, or for the one after that: a driver
 *	           that copies, checks and reads again is to be caught behind its check
 *	vanishes   the second half cannot be read:   |…first half|second half…|
 *	                                              within reach|out of reach
 *
 * The driver is given a copy; the client keeps its own, which the kernel may still look at.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "nt/user_watch.h"
#include "verify/faults.h"

struct user_memory {
	struct nt_user_watch watch; /* first: what is told of is found by it */
	const void *clients;
	unsigned char *pages;
	size_t page_bytes;
	bool is_watched;
	uint32_t number; /* of the buffer */
	unsigned char
		*is_touched; /* for each word that changes with its second access: it had one */
};

static _Atomic uint32_t buffers_lent;

/* Half of the words, others in each buffer: which of them a driver reads in one instruction is its compiler's choice. */
static bool is_patient(const struct user_memory *memory, size_t word)
{
	uint32_t mixed = (memory->number + 1) * UINT32_C(0x9e3779b1) ^
			 (uint32_t)(word + 1) * UINT32_C(0x85ebca6b);

	return memory->is_touched && (mixed >> 20 & 1);
}

/* Any other value will do, as long as it is repeated by the seed: all bits but the highest of each byte. */
static void change_read(struct nt_user_watch *watch, void *address)
{
	const struct user_memory *memory = (const struct user_memory *)watch;
	size_t offset = (size_t)((unsigned char *)address - memory->pages) & ~(size_t)3;
	uint32_t word;

	if (is_patient(memory, offset / sizeof(word))) {
		unsigned char *is_touched = &memory->is_touched[offset / sizeof(word)];

		*is_touched ^= 1;
		if (*is_touched)
			return;
	}
	memcpy(&word, memory->pages + offset, sizeof(word));
	word ^= UINT32_C(0x7f7f7f7f);
	memcpy(memory->pages + offset, &word, sizeof(word));
	fault_note();
}

static bool pages_take(struct user_memory *memory, size_t size_bytes)
{
	memory->page_bytes = size_bytes;
	memory->pages =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory->pages != MAP_FAILED;
}

struct user_memory *user_memory_lend(DXGKARG_RENDER *render, bool vanishes)
{
	struct user_memory *memory = mem_zalloc(sizeof(*memory));
	size_t capacity = ROUND_TO_PAGES(render->CommandLength);

	if (!memory || render->CommandLength == 0 || !pages_take(memory, 2 * capacity)) {
		mem_free(memory);
		return NULL;
	}
	/* Out of reach begins at the middle of the pages. */
	unsigned char *copy = vanishes
				      ? memory->pages + capacity - (render->CommandLength / 2 & ~7u)
				      : memory->pages;
	memcpy(copy, render->pCommand, render->CommandLength);
	memory->clients = render->pCommand;
	render->pCommand = copy;
	if (vanishes) {
		(void)mprotect(memory->pages + capacity, capacity, PROT_NONE);
		fault_note();
		return memory;
	}
	memory->is_watched = true;
	memory->is_touched = mem_zalloc(memory->page_bytes / sizeof(uint32_t));
	memory->number = atomic_fetch_add_explicit(&buffers_lent, 1, memory_order_relaxed);
	memory->watch = (struct nt_user_watch){ .begin = memory->pages,
						.size_bytes = memory->page_bytes,
						.touched = change_read };
	nt_user_watch_begin(&memory->watch);
	return memory;
}

/* The driver may have moved on in it. */
void user_memory_take_back(struct user_memory *memory, DXGKARG_RENDER *render)
{
	if (memory->is_watched)
		nt_user_watch_end();
	render->pCommand = memory->clients;
	(void)munmap(memory->pages, memory->page_bytes);
	mem_free(memory->is_touched);
	mem_free(memory);
}
