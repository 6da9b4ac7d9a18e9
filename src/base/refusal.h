/* SPDX-License-Identifier: MIT */
/*
 * refusal.h - every refusal has a reason (the kernel's side of <opendxgk/refusal.h>).
 *
 *	return refuse(STATUS_INVALID_PARAMETER, RULE_API_RESERVED, "Flags",
 *		      "has reserved bits 0x%x set", flags & ~known);
 *
 * The first refusal of a call stands: whoever noticed it knows most. Outer layers pass the status
 * on. A call that succeeds all the same, by another way, was refused nothing: no record is left, and
 * nobody is told.
 */
#ifndef BASE_REFUSAL_H
#define BASE_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include <opendxgk/refusal.h>

#include "base/attributes.h"
#include "base/status.h"

enum rule {
#define RULE(name, id) RULE_##name,
#include "base/rules.def"
#undef RULE
	RULE_COUNT
};

/* "API-NULL-ARGUMENT" */
const char *rule_id(enum rule rule);

/*
 * `argument` opens the sentence, `format` finishes it; without an argument (NULL) the format is
 * the whole sentence. Returns `status`, which is not a success.
 */
#define refuse(status, rule, ...)                                                                  \
	({                                                                                         \
		const NTSTATUS refused_status = (status);                                          \
		refusal_say(refused_status, rule, __VA_ARGS__);                                    \
		refused_status;                                                                    \
	})

/* The same for element `index` of a list: "phAllocationList[3] is …". */
#define refuse_item(status, rule, ...)                                                             \
	({                                                                                         \
		const NTSTATUS refused_status = (status);                                          \
		refusal_say_item(refused_status, rule, __VA_ARGS__);                               \
		refused_status;                                                                    \
	})

/* What most refusals say: an argument is wrong, or there is no memory for something. */
#define invalid(rule, ...)      refuse(STATUS_INVALID_PARAMETER, rule, __VA_ARGS__)
#define invalid_item(rule, ...) refuse_item(STATUS_INVALID_PARAMETER, rule, __VA_ARGS__)
#define refuse_no_memory(...)   refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, NULL, __VA_ARGS__)

/* Behind all of them, which are macros so that the compiler sees the status that comes back. */
void refusal_say(NTSTATUS status, enum rule rule, const char *argument, const char *format, ...)
	PRINTF_LIKE(4, 5);
void refusal_say_item(NTSTATUS status, enum rule rule, const char *argument, uint64_t index,
		      const char *format, ...) PRINTF_LIKE(5, 6);

/* What a function that refuses, and is not to be seen here, has returned: no success. */
static inline NTSTATUS refused(NTSTATUS status)
{
	if (NT_SUCCESS(status))
		__builtin_unreachable();
	return status;
}

/*
 * Between begin and end, refusals of this thread belong to `call`, and are told to the log and to the
 * listener at the end: of a call, when `status` is no success. Nests: a driver that is started inside
 * D3DKMTEnumAdapters2 has its own refusals, named after the start. end() tells whether one was
 * recorded since begin().
 */
struct refusal_scope {
	const char *call;
	bool has_refused;
	bool is_untold; /* … and the record waits for the end */
	bool is_aside;  /* in a call that was refused before: its record stays */
	struct refusal_scope *outer;
};

/* Behind the functions below. */
extern _Thread_local struct refusal_scope *refusal_innermost __attribute__((visibility("hidden")));
RARE void refusal_tell_pending(void);

static inline void refusal_begin(struct refusal_scope *scope, const char *call)
{
	struct refusal_scope *outer = refusal_innermost;

	*scope = (struct refusal_scope){ .call = call, .outer = outer };
	if (UNLIKELY(outer))
		scope->is_aside = outer->has_refused || outer->is_aside;
	refusal_innermost = scope;
}

static inline bool refusal_end_call(struct refusal_scope *scope, NTSTATUS status)
{
	refusal_innermost = scope->outer;
	if (UNLIKELY(scope->is_untold) && !NT_SUCCESS(status))
		refusal_tell_pending();
	return scope->has_refused;
}

static inline bool refusal_end(struct refusal_scope *scope)
{
	return refusal_end_call(scope, STATUS_UNSUCCESSFUL);
}

/* The call that this thread is in; NULL: none, it is one of the kernel's own. */
const char *refusal_call(void);

/* Told of every refusal, on the refusing thread, when its call is over. Set once, at start. */
void refusal_listen(void (*listener)(const struct dxgk_refusal *refusal));

/*
 * Who knows more about what drivers answer: `explain` may add to a reason that is about to be
 * recorded, `whose` says where the answer came from, "" when it is nobody's, which is printed behind
 * the reason (DXGK_LOG=refusals); the driver may be gone by then. Set once, at start.
 */
struct refusal_comments {
	void (*explain)(enum rule rule, char *reason, size_t size_bytes);
	void (*whose)(enum rule rule, char *text, size_t size_bytes);
};
void refusal_comment(const struct refusal_comments *comments);

/* How often this process has told of a refusal by that rule. */
uint64_t refusal_told(enum rule rule);

/* See <opendxgk/refusal.h>. */
bool refusal_last(struct dxgk_refusal *refusal);

/* The same for one that another process refused: this one counts and logs it, too. */
void refusal_repeat(const struct dxgk_refusal *refusal);

/* From here on it is the last one of the calling thread, for which another was refused: it was told
 * and logged already. */
void refusal_carry(const struct dxgk_refusal *refusal);

#endif
