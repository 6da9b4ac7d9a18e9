/* SPDX-License-Identifier: MIT */
/*
 * machine_bank.c - one bank: its memfd, and which addresses it can hand out. See machine_bank.h.
 *
 * A descriptor is a number that a client may close and open for itself; a mapping is not. The host
 * shows pages of a shared mapping a second time (mremap of nothing), so that a mapping of the whole
 * file is all we keep. Valgrind does not know that; there the file stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_size.h"
#include "base/machine.h"
#include "base/machine_parts.h"
#include "base/mem.h"
#include "base/page_bits.h"

/* ---- the memfd ---- */

/* False with errno. Whoever comes upon the file can neither cut pages off under us nor add any. */
static bool file_map(struct machine_bank *bank, int file, uint64_t size_bytes)
{
	/* What we mapped before stays writable, and so does every view of that. */
	int seals = F_SEAL_SHRINK | F_SEAL_GROW |
		    (bank->kind == BANK_SHARED_ELSEWHERE ? 0 : F_SEAL_SEAL) |
		    (bank->kind == BANK_READ_ELSEWHERE ? F_SEAL_FUTURE_WRITE : 0);
	void *source;

	if (!file_size_is_allowed(size_bytes) || ftruncate(file, (off_t)size_bytes) != 0)
		return false;
	source =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
	if (source == MAP_FAILED)
		return false;
	if (fcntl(file, F_ADD_SEALS, seals) != 0) {
		int saved_errno = errno;
		munmap(source, size_bytes);
		errno = saved_errno;
		return false;
	}
	bank->source = source;
	return true;
}

static bool shows_itself(const struct machine_bank *bank)
{
	void *view = mremap(bank->source, 0, MACHINE_PAGE_BYTES, MREMAP_MAYMOVE);

	return view != MAP_FAILED && munmap(view, MACHINE_PAGE_BYTES) == 0;
}

/* For clients elsewhere, and for us where the host shows no mapping twice. False: it is closed. */
static bool file_keep(struct machine_bank *bank, int file)
{
	if (bank->kind == BANK_OF_OURS)
		return own_fd_keep(file, &bank->file);
	if (!shows_itself(bank) && !own_fd_keep(own_fd_copy(file), &bank->file)) {
		close(file);
		return false;
	}
	bank->shown = client_file_create(file, CLIENT_FILE_OF_OURS);
	if (!bank->shown)
		own_fd_close(&bank->file);
	return bank->shown != NULL;
}

/* False with errno; nothing is open or mapped then. */
static bool file_open(struct machine_bank *bank, const char *name, uint64_t size_bytes)
{
	int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (file < 0)
		return false;
	if (!file_map(bank, file, size_bytes)) {
		int saved_errno = errno;
		close(file);
		errno = saved_errno;
		return false;
	}
	bank->file = (struct own_fd)OWN_FD_NONE;
	if (bank->kind == BANK_OF_OURS && shows_itself(bank)) {
		close(file);
		return true;
	}
	if (file_keep(bank, file))
		return true;
	int saved_errno = errno;
	munmap(bank->source, size_bytes);
	bank->source = NULL;
	errno = saved_errno;
	return false;
}

bool bank_open(struct machine_bank *bank, const char *name, uint64_t page_count)
{
	uint64_t words = (page_count + 63) / 64;
	uint64_t *maps = mem_zalloc_array(words + (words + 63) / 64, sizeof(*maps));

	errno = ENOMEM;
	if (!maps || !file_open(bank, name, page_count * MACHINE_PAGE_BYTES)) {
		mem_free(maps);
		return false;
	}
	bank->free = maps;
	bank->open = maps + words;
	bank->page_count = page_count;
	bank->cursor = page_count / 4;
	return true;
}

void bank_close(struct machine_bank *bank)
{
	if (!bank->source)
		return;
	munmap(bank->source, bank->page_count * MACHINE_PAGE_BYTES);
	own_fd_close(&bank->file);
	client_file_put(bank->shown);
	mem_free(bank->free);
	*bank = (struct machine_bank){ .id = 0 };
}

/* By the file, where there is one. MAP_FAILED when it is gone, too. */
static void *show_file(struct machine_bank *bank, void *at, uint64_t offset, uint64_t size_bytes)
{
	int file = own_fd_use(&bank->file, "no more memory can be shown to the processor");

	if (file < 0)
		return MAP_FAILED;
	return mmap(at, size_bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), file, (off_t)offset);
}

void *bank_show(struct machine_bank *bank, void *at, uint64_t first, uint64_t count)
{
	uint64_t offset = first * MACHINE_PAGE_BYTES;
	uint64_t size_bytes = count * MACHINE_PAGE_BYTES;
	void *view;

	if (bank->file.number >= 0)
		view = show_file(bank, at, offset, size_bytes);
	else if (at)
		view = mremap(bank->source + offset, 0, size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			      at);
	else
		view = mremap(bank->source + offset, 0, size_bytes, MREMAP_MAYMOVE);
	return view == MAP_FAILED ? NULL : view;
}

bool bank_punch(const struct machine_bank *bank, uint64_t first, uint64_t count)
{
	void *start = bank->source + first * MACHINE_PAGE_BYTES;
	uint64_t size_bytes = count * MACHINE_PAGE_BYTES;

	if (bank->kind != BANK_READ_ELSEWHERE && madvise(start, size_bytes, MADV_REMOVE) == 0)
		return true;
	/* What is sealed against writing has no pages taken out of it, by us neither. */
	if (bank->kind != BANK_READ_ELSEWHERE &&
	    (bank->kind != BANK_SHARED_ELSEWHERE || errno != EPERM))
		return false;
	memset(start, 0, size_bytes);
	return true;
}

/* ---- which are free ---- */

static void pages_close(struct machine_bank *bank, uint64_t first, uint64_t count)
{
	while (count > 0) {
		uint64_t bit = first % 64;
		uint64_t width = 64 - bit < count ? 64 - bit : count;

		bank->free[first / 64] &= ~word_mask(bit, width);
		if (bank->free[first / 64] == 0)
			bit_clear(bank->open, first / 64);
		first += width;
		count -= width;
	}
}

static void pages_open(struct machine_bank *bank, uint64_t first, uint64_t count)
{
	while (count > 0) {
		uint64_t bit = first % 64;
		uint64_t width = 64 - bit < count ? 64 - bit : count;

		bank->free[first / 64] |= word_mask(bit, width);
		bit_set(bank->open, first / 64);
		first += width;
		count -= width;
	}
}

void bank_gain(struct machine_bank *bank, uint64_t first, uint64_t count)
{
	bank->owned_pages += count;
	pages_open(bank, first, count);
}

void bank_lose(struct machine_bank *bank, uint64_t first, uint64_t count)
{
	bank->owned_pages -= count;
	pages_close(bank, first, count);
}

void bank_take(struct machine_bank *bank, uint64_t first, uint64_t count)
{
	bank->taken_pages += count;
	pages_close(bank, first, count);
}

void bank_release(struct machine_bank *bank, uint64_t first, uint64_t count)
{
	bank->taken_pages -= count;
	pages_open(bank, first, count);
}

uint64_t bank_find_free(const struct machine_bank *bank, uint64_t from, uint64_t end)
{
	while (from < end) {
		uint64_t free_bits = bank->free[from / 64] >> (from % 64);
		uint64_t word;
		uint64_t open_words;

		if (free_bits != 0) {
			from += (uint64_t)__builtin_ctzll(free_bits);
			break;
		}
		/* The next word with a free one, by the summary. */
		word = from / 64 + 1;
		while (word * 64 < end) {
			open_words = bank->open[word / 64] >> (word % 64);
			if (open_words != 0) {
				word += (uint64_t)__builtin_ctzll(open_words);
				break;
			}
			word = (word | 63) + 1;
		}
		from = word * 64;
	}
	return from < end ? from : end;
}

uint64_t bank_find_taken(const struct machine_bank *bank, uint64_t from, uint64_t end)
{
	while (from < end) {
		uint64_t taken_bits = ~bank->free[from / 64] >> (from % 64);

		if (taken_bits != 0) {
			from += (uint64_t)__builtin_ctzll(taken_bits);
			break;
		}
		from = (from | 63) + 1;
	}
	return from < end ? from : end;
}
