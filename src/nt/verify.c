/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/log.h"
#include "nt/verify.h"

static const struct {
	const char *word;
	unsigned checks;
} words[] = {
	{ "irql", NT_VERIFY_IRQL },
	{ "stacks", NT_VERIFY_STACKS },
	{ "answers", NT_VERIFY_ANSWERS },
	{ "rules", NT_VERIFY_RULES },
	{ "refill", NT_VERIFY_REFILL },
	{ "all", NT_VERIFY_IRQL | NT_VERIFY_STACKS | NT_VERIFY_ANSWERS | NT_VERIFY_RULES },
};

static unsigned checks_of(const char *word, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) == length && !strncmp(words[i].word, word, length))
			return words[i].checks;
	}
	if (length != 0)
		log_warn("DXGK_VERIFY: \"%.*s\" is not a check (irql, stacks, answers, rules, "
			 "refill, all)",
			 (int)length, word);
	return 0;
}

bool nt_verify_wants(enum nt_verify check)
{
	enum { IS_READ = 0x80 };
	static _Atomic unsigned wanted;
	unsigned checks = atomic_load_explicit(&wanted, memory_order_relaxed);

	if (UNLIKELY(checks == 0)) {
		const char *at = getenv("DXGK_VERIFY");

		checks = IS_READ;
		while (at && *at) {
			size_t length = strcspn(at, ",");

			checks |= checks_of(at, length);
			at += length + (at[length] == ',');
		}
		/* Faults are injected where calls are looked at, and fail allocations that keep their stack. */
		if (getenv("DXGK_FAULT"))
			checks |= NT_VERIFY_STACKS | NT_VERIFY_RULES;
		atomic_store_explicit(&wanted, checks, memory_order_relaxed);
	}
	return checks & (unsigned)check;
}
