/* SPDX-License-Identifier: MIT */
/*
 * page_table_store.c - entries as the kernel gives them, into tables: many at once.
 *
 *   in:   DXGK_PTEs, which mostly say the same of one page after another
 *   out:  rows of our entries, in a table that the processor sees or as value and stride
 *
 * A map of some size is nothing but this, so entries are looked at and stored eight at a time, with
 * the widest registers that the processor has. Whatever stores a row of aligned quadwords stores
 * each of them as a whole. Locks: none.
 */
#include "page_table.h"

/* How many from ptes[0] on say the same of pages in a row. */
static ULONGLONG count_pages_in_a_row(const DXGK_PTE *ptes, ULONGLONG count)
{
	/* Both halves, and four entries at once: there are many, and they nearly always go on. */
	typedef ULONGLONG halves __attribute__((vector_size(sizeof(DXGK_PTE)), aligned(8)));
	const halves *entries = (const halves *)ptes;
	const halves next = { 0, 4 };
	halves expected[4] = { entries[0] };
	ULONGLONG length = 0;

	for (ULONGLONG i = 1; i < 4; i++)
		expected[i] = entries[0] + (halves){ 0, i };
	while (length + 4 <= count) {
		halves difference =
			(entries[length] ^ expected[0]) | (entries[length + 1] ^ expected[1]) |
			(entries[length + 2] ^ expected[2]) | (entries[length + 3] ^ expected[3]);

		if ((difference[0] | difference[1]) != 0)
			break;
		expected[0] += next;
		expected[1] += next;
		expected[2] += next;
		expected[3] += next;
		length += 4;
	}
	if (length == 0)
		length = 1;
	while (length < count && ptes[length].Flags == ptes[0].Flags &&
	       ptes[length].PageAddress == ptes[0].PageAddress + length)
		length++;
	return length;
}

ULONGLONG gpu_pte_run(const DXGK_PTE *ptes, ULONGLONG count, ULONGLONG *value_out,
		      ULONGLONG *stride_out)
{
	ULONGLONG first = gpu_pte_encode(&ptes[0]);
	ULONGLONG length = count_pages_in_a_row(ptes, count);
	ULONGLONG stride = 0;

	if (length > 1 && ptes[0].Valid && !ptes[0].Zero) {
		stride = 1ULL << GPU_PAGE_BITS;
	} else if (count > 1) {
		stride = gpu_pte_encode(&ptes[1]) - first;
		length = 2;
		while (length < count && gpu_pte_encode(&ptes[length]) == first + length * stride)
			length++;
	}
	*value_out = first;
	*stride_out = stride;
	return length;
}

/* ---- into a table ---- */

/* A sanitizer that watches threads has to see that each entry is stored as a whole. */
#if defined(__SANITIZE_THREAD__)
#define STORES_ONE_BY_ONE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STORES_ONE_BY_ONE 1
#endif
#endif
#ifndef STORES_ONE_BY_ONE
#define STORES_ONE_BY_ONE 0
#endif

/* The same code twice, once for processors with registers of that width. */
#if defined(__x86_64__) && !defined(GPU_WITHOUT_WIDE)
#define WIDE       __attribute__((target("avx2")))
#define HAS_WIDE() __builtin_cpu_supports("avx2")
#else
#define WIDE
#define HAS_WIDE() 0
#endif
#define FOR_BOTH static inline __attribute__((always_inline))

typedef ULONGLONG four_words __attribute__((vector_size(4 * sizeof(ULONGLONG)), aligned(8)));

enum { ENTRIES_AT_ONCE = 8 };

/* How the entries of one kind differ: by what their pages put into these bits. */
struct alike {
	ULONGLONG flags;  /* of the DXGK_PTE */
	ULONGLONG common; /* of ours */
	ULONGLONG page_mask;
};

static struct alike alike_as(const DXGK_PTE *pte)
{
	const DXGK_PTE first_page = { .Flags = pte->Flags };

	return (struct alike){
		.flags = pte->Flags,
		.common = gpu_pte_encode(&first_page),
		.page_mask = pte->Valid && !pte->Zero ? ~0ULL : 0,
	};
}

/* How many were stored: whole groups, as long as all of a group are alike. */
FOR_BOTH ULONGLONG store_groups(ULONGLONG *table, const DXGK_PTE *ptes, ULONGLONG count,
				const struct alike *alike)
{
	const four_words flags = { alike->flags, 0, alike->flags, 0 };
	const four_words flags_mask = { ~0ULL, 0, ~0ULL, 0 };
	const four_words common = { alike->common, alike->common, alike->common, alike->common };
	const four_words page_mask = { alike->page_mask, alike->page_mask, alike->page_mask,
				       alike->page_mask };
	ULONGLONG done = 0;

	for (; done + ENTRIES_AT_ONCE <= count; done += ENTRIES_AT_ONCE) {
		const four_words *in = (const four_words *)&ptes[done];
		const four_words a = in[0], b = in[1], c = in[2], d = in[3];
		volatile four_words *out = (volatile four_words *)&table[done];
		four_words other =
			((a ^ flags) | (b ^ flags) | (c ^ flags) | (d ^ flags)) & flags_mask;

		if ((other[0] | other[2]) != 0)
			break;
		four_words low = __builtin_shufflevector(a, b, 1, 3, 5, 7);
		four_words high = __builtin_shufflevector(c, d, 1, 3, 5, 7);
		out[0] = (low << GPU_PAGE_BITS & page_mask) | common;
		out[1] = (high << GPU_PAGE_BITS & page_mask) | common;
	}
	return done;
}

WIDE static ULONGLONG store_groups_wide(ULONGLONG *table, const DXGK_PTE *ptes, ULONGLONG count,
					const struct alike *alike)
{
	return store_groups(table, ptes, count, alike);
}

static ULONGLONG store_groups_plain(ULONGLONG *table, const DXGK_PTE *ptes, ULONGLONG count,
				    const struct alike *alike)
{
	return store_groups(table, ptes, count, alike);
}

/* Those from ptes[0] on that are like it; how many. */
static ULONGLONG store_alike(ULONGLONG *table, const DXGK_PTE *ptes, ULONGLONG count)
{
	const struct alike alike = alike_as(ptes);
	ULONGLONG done = 0;

	if (!STORES_ONE_BY_ONE && count >= ENTRIES_AT_ONCE)
		done = HAS_WIDE() ? store_groups_wide(table, ptes, count, &alike)
				  : store_groups_plain(table, ptes, count, &alike);
	for (; done < count && ptes[done].Flags == alike.flags; done++)
		__atomic_store_n(&table[done],
				 (ptes[done].PageAddress << GPU_PAGE_BITS & alike.page_mask) |
					 alike.common,
				 __ATOMIC_RELAXED);
	return done;
}

static void store_repeated(ULONGLONG *table, ULONGLONG count, ULONGLONG value)
{
	const four_words four = { value, value, value, value };
	ULONGLONG done = 0;

	for (; !STORES_ONE_BY_ONE && done + 4 <= count; done += 4)
		*(volatile four_words *)&table[done] = four;
	for (; done < count; done++)
		__atomic_store_n(&table[done], value, __ATOMIC_RELAXED);
}

void gpu_pte_store(ULONGLONG *table, const DXGK_PTE *ptes, ULONGLONG count, BOOLEAN is_repeated)
{
	/* What was written before, tables below among it, is seen before what leads to it. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (is_repeated) {
		store_repeated(table, count, gpu_pte_encode(&ptes[0]));
		return;
	}
	for (ULONGLONG done = 0; done < count;)
		done += store_alike(&table[done], &ptes[done], count - done);
}
