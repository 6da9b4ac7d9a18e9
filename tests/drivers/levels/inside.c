/* SPDX-License-Identifier: MIT */
/*
 * inside.c - see inside.h.
 *
 * The list of visits has a lock of its own that works at every IRQL and calls nobody.
 */
#include "inside.h"
#include "tables.h"
#include "where.h"

enum { NODES = 64, QUEUES = 64, BELIEF_BYTES = 64 };

static struct promise promises[LEVELS_ENTRY_COUNT] = {
#define ENTRY(member, irql_name, level_name, class_name)                                           \
	[LEVELS_##member] = { "DxgkDdi" #member, IRQL_##irql_name, level_name, CLASS_##class_name },
#include "levels.def"
#undef ENTRY
	[LEVELS_SynchronizeExecution] = { "the routine given to DxgkCbSynchronizeExecution",
					  IRQL_DIRQL, ALWAYS, CLASS_INTERRUPT },
};

static volatile LONG is_locked;

/* Guarded by is_locked. */
static struct visit *inside;
static struct levels_seen seen;
static struct {
	const char *name;
	const char *during; /* another entry point; NULL when it needs none */
	const char *why;
} first; /* violation */
static struct {
	ULONG submitted;
	ULONG completed;
} work[NODES];
static struct {
	const void *queue; /* NULL: nobody's */
	ULONGLONG progress;
	const volatile LONG64 *fence;
} queued[QUEUES];
static bool is_gone;

static bool is_one_process; /* believes that all threads are of the same one */
static bool is_many_processes;
static bool is_never_idle;
#ifdef LEVELS_FATAL
static bool is_fatal = true;
#else
static bool is_fatal;
#endif

static void lock(void)
{
	while (InterlockedExchange(&is_locked, 1) != 0)
		;
}

static void unlock(void)
{
	InterlockedExchange(&is_locked, 0);
}

/* ---- what to believe ---- */

static bool belief_is(const KEY_VALUE_PARTIAL_INFORMATION *value, PCWSTR wanted)
{
	UNICODE_STRING text;

	RtlInitUnicodeString(&text, wanted);
	return value->Type == REG_SZ && value->DataLength >= text.Length &&
	       value->DataLength <= text.Length + sizeof(WCHAR) &&
	       RtlCompareMemory(value->Data, text.Buffer, text.Length) == text.Length;
}

static void believe(const KEY_VALUE_PARTIAL_INFORMATION *value)
{
	struct promise *dpc = &promises[LEVELS_DpcRoutine];

	is_never_idle = belief_is(value, L"wrong idle");
	if (belief_is(value, L"wrong memory"))
		where_forget_nothing();
	if (belief_is(value, L"wrong root"))
		tables_believe_no_root();
	if (belief_is(value, L"wrong irql"))
		dpc->irql = IRQL_PASSIVE;
	if (belief_is(value, L"wrong level"))
		dpc->level = LEVEL_3;
	if (belief_is(value, L"wrong class")) {
		dpc->class = CLASS_POINTER;
		promises[LEVELS_Escape].class = CLASS_POINTER;
	}
	is_many_processes = belief_is(value, L"many processes");
	if (belief_is(value, L"wrong process")) {
		dpc->level = LEVEL_0;
		is_one_process = true;
	}
}

void inside_init(PUNICODE_STRING registry_path)
{
	union {
		KEY_VALUE_PARTIAL_INFORMATION info;
		UCHAR bytes[sizeof(KEY_VALUE_PARTIAL_INFORMATION) + BELIEF_BYTES];
	} value;
	OBJECT_ATTRIBUTES attributes;
	UNICODE_STRING name;
	HANDLE key;
	ULONG size_bytes;

	InitializeObjectAttributes(&attributes, registry_path, OBJ_KERNEL_HANDLE, NULL, NULL);
	if (!NT_SUCCESS(ZwOpenKey(&key, KEY_READ, &attributes)))
		return;
	RtlInitUnicodeString(&name, L"Levels");
	if (NT_SUCCESS(ZwQueryValueKey(key, &name, KeyValuePartialInformation, &value,
				       sizeof(value), &size_bytes)))
		believe(&value.info);
	ZwClose(key);
}

/* ---- judging ---- */

static bool is_irql_kept(enum promised_irql promised, KIRQL irql)
{
	switch (promised) {
	case IRQL_PASSIVE:
		return irql == PASSIVE_LEVEL;
	case IRQL_UP_TO_APC:
		return irql <= APC_LEVEL;
	case IRQL_UP_TO_DISPATCH:
		return irql <= DISPATCH_LEVEL;
	case IRQL_DISPATCH:
		return irql == DISPATCH_LEVEL;
	case IRQL_DIRQL:
		return irql > DISPATCH_LEVEL && irql < PROFILE_LEVEL;
	case IRQL_ANY:
		break;
	}
	return true;
}

static bool wants_to_be_alone(const struct visit *visit)
{
	return visit->level == LEVEL_2 || visit->level == LEVEL_3;
}

static bool is_pair(const struct visit *one, const struct visit *two, enum levels_entry this,
		    enum levels_entry that)
{
	return (one->entry == this && two->entry == that) ||
	       (one->entry == that && two->entry == this);
}

/* The pairs that the rule of being alone leaves out. */
static bool is_excepted(const struct visit *one, const struct visit *two)
{
	return is_pair(one, two, LEVELS_QueryAdapterInfo, LEVELS_SetPowerState) ||
	       is_pair(one, two, LEVELS_QueryAdapterInfo, LEVELS_QueryChildRelations) ||
	       is_pair(one, two, LEVELS_ResetFromTimeout, LEVELS_SetPowerComponentFState) ||
	       is_pair(one, two, LEVELS_ResetFromTimeout, LEVELS_PowerRuntimeControlRequest);
}

/* What is called on behalf of nobody runs in the system's process, which has many threads. */
static bool is_same_process(const struct visit *one, const struct visit *two)
{
	if (is_one_process || is_many_processes)
		return is_one_process;
	return one->process == two->process && one->process != PsInitialSystemProcess;
}

/* Why these two may not be inside together; NULL when they may. */
static const char *conflict(const struct visit *one, const struct visit *two)
{
	enum promised_class class = promises[one->entry].class;

	if (class != CLASS_NONE && class == promises[two->entry].class)
		return "which are of one class";
	if (one->queue && one->queue == two->queue)
		return "which are of one hardware queue";
	if (one->level == ALWAYS || two->level == ALWAYS)
		return NULL;
	if ((wants_to_be_alone(one) || wants_to_be_alone(two)) && !is_excepted(one, two))
		return "one of which is alone in the driver";
	if (one->level <= LEVEL_1 && two->level <= LEVEL_1 && one->thread != two->thread &&
	    is_same_process(one, two))
		return "by two threads of one process";
	return NULL;
}

static bool is_idle(void)
{
	for (ULONG i = 0; i < NODES && !is_gone; i++) {
		if (work[i].submitted != work[i].completed)
			return false;
	}
	for (ULONG i = 0; i < QUEUES && !is_gone; i++) {
		if (queued[i].queue && (ULONGLONG)*queued[i].fence < queued[i].progress)
			return false;
	}
	return !is_never_idle;
}

/* One that comes because of a hang finds what it finds. */
static bool wants_idle_gpu(const struct visit *visit)
{
	return wants_to_be_alone(visit) && visit->entry != LEVELS_ResetFromTimeout;
}

/* What was in memory is told between the reset and the restart. */
static bool wants_empty_memory(const struct visit *visit)
{
	return visit->level == LEVEL_3 && visit->entry != LEVELS_ResetFromTimeout &&
	       visit->entry != LEVELS_DpcRoutine;
}

/* The caller has the lock. */
static void violation(const char *name, const char *during, const char *why)
{
	if (seen.violations++ > 0)
		return;
	first.name = name;
	first.during = during;
	first.why = why;
}

static void judge(const struct visit *visit)
{
	const struct promise *promise = &promises[visit->entry];

	if (!is_irql_kept(promise->irql, visit->irql))
		violation(promise->name, NULL, "at another IRQL");
	if (wants_idle_gpu(visit) && !is_idle())
		violation(promise->name, NULL, "while the GPU works");
	if (wants_empty_memory(visit) && !where_all_is_evicted())
		violation(promise->name, NULL, "before all memory was evicted");
	for (struct visit *other = inside; other; other = other->next) {
		const char *why = conflict(visit, other);

		if (why)
			violation(promise->name, promises[other->entry].name, why);
	}
}

static void count_inside(void)
{
	uint64_t count = 0;

	for (struct visit *other = inside; other; other = other->next)
		count++;
	if (count > seen.most_inside)
		seen.most_inside = count;
}

static void begin(struct visit *visit)
{
	visit->thread = KeGetCurrentThread();
	visit->process = PsGetCurrentProcess();
	visit->irql = KeGetCurrentIrql();
	lock();
	judge(visit);
	visit->next = inside;
	inside = visit;
	seen.calls[visit->entry]++;
	count_inside();
	bool is_over = is_fatal && seen.violations > 0;
	unlock();
	if (is_over) {
		DbgPrint("levels: %s%s%s, %s\n", first.name, first.during ? " during " : "",
			 first.during ? first.during : "", first.why);
		KeBugCheck(DRIVER_VERIFIER_DETECTED_VIOLATION);
	}
}

void visit_begin(struct visit *visit, enum levels_entry entry, const void *queue)
{
	*visit = (struct visit){ .entry = entry, .level = promises[entry].level, .queue = queue };
	begin(visit);
}

void visit_begin_at(struct visit *visit, enum levels_entry entry, enum promised_level level)
{
	*visit = (struct visit){ .entry = entry, .level = level };
	begin(visit);
}

void visit_end(struct visit *visit)
{
	struct visit **link = &inside;

	lock();
	while (*link != visit)
		link = &(*link)->next;
	*link = visit->next;
	unlock();
}

/* ---- the GPU's work ---- */

/* What was preempted may come again with the fence that it had. */
void work_submitted(ULONG node, ULONG fence)
{
	lock();
	work[node % NODES].submitted = fence;
	if ((LONG)(fence - work[node % NODES].completed) <= 0)
		work[node % NODES].completed = fence - 1;
	unlock();
}

/* Said late, after a reset, it is about something that is gone. */
void work_completed(ULONG node, ULONG fence)
{
	lock();
	if ((LONG)(fence - work[node % NODES].completed) > 0)
		work[node % NODES].completed = fence;
	unlock();
}

void work_is_gone(ULONG node)
{
	lock();
	work[node % NODES].completed = work[node % NODES].submitted;
	unlock();
}

void work_is_all_gone(void)
{
	for (ULONG i = 0; i < NODES; i++)
		work_is_gone(i);
	work_of_queues_is_gone();
}

/* One that has work already, or the first that is nobody's; without room nothing is known. */
void work_queued(const void *queue, ULONGLONG progress, const void *fence)
{
	ULONG at = QUEUES;

	lock();
	for (ULONG i = 0; i < QUEUES; i++) {
		if (queued[i].queue == queue || (!queued[i].queue && at == QUEUES))
			at = i;
		if (queued[i].queue == queue)
			break;
	}
	if (at < QUEUES) {
		queued[at].queue = queue;
		queued[at].progress = progress;
		queued[at].fence = fence;
	}
	unlock();
}

void work_of_queue_ends(const void *queue)
{
	lock();
	for (ULONG i = 0; i < QUEUES; i++) {
		if (queued[i].queue == queue)
			queued[i].queue = NULL;
	}
	unlock();
}

void work_of_queues_is_gone(void)
{
	lock();
	for (ULONG i = 0; i < QUEUES; i++)
		queued[i].queue = NULL;
	unlock();
}

void hardware_is_gone(void)
{
	lock();
	is_gone = true;
	unlock();
}

/* ---- counting ---- */

void inside_count_probe(void)
{
	lock();
	seen.probes++;
	unlock();
}

void inside_count_meeting(void)
{
	lock();
	seen.meetings++;
	unlock();
}

void inside_complain(const char *what, const char *why)
{
	lock();
	violation(what, NULL, why);
	unlock();
}

static ULONG append(char *text, ULONG length, const char *more)
{
	while (more && *more && length + 1 < LEVELS_SENTENCE_BYTES)
		text[length++] = *more++;
	text[length] = '\0';
	return length;
}

void inside_report(struct levels_seen *seen_out)
{
	ULONG length = 0;

	lock();
	*seen_out = seen;
	unlock();
	seen_out->entered = where_entered();
	tables_report(seen_out);
	length = append(seen_out->first, length, first.name);
	length = append(seen_out->first, length, first.during ? " during " : "");
	length = append(seen_out->first, length, first.during);
	length = append(seen_out->first, length, first.why ? ", " : "");
	append(seen_out->first, length, first.why);
}
