/* SPDX-License-Identifier: MIT */
/*
 * watch_queries.c - what a driver says about itself: the same whenever it is asked, and into the buffer it is given.
 *
 *	DxgkDdiQueryAdapterInfo, DxgkDdiGetNodeMetadata
 *	  answered     kept, and asked once more right away        DDI-QAI-STABLE, DDI-ORDER-RESTART
 *	               asked with buffers that are too small       DDI-QAI-SIZE
 *
 * Both are of level 0, so the watch may call the driver itself when the kernel's call is over. What a driver leaves in
 * the holes of a struct is no answer, and neither is where memory lies after it was started again.
 */
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "verify/holes.h"
#include "verify/verify.h"

enum { GUARD_BYTES = 256, GUARD_BYTE = 0xb7, INPUT_MAX = 16, NODE_METADATA = 0x10000 };

/* ---- the kinds of answers ---- */

#define DEFINE_CLEAN(name, type)                                                                   \
	static void clean_##name(void *answer)                                                     \
	{                                                                                          \
		CLEAR_HOLES((type *)answer);                                                       \
	}

DEFINE_CLEAN(caps, DXGK_DRIVERCAPS)
DEFINE_CLEAN(mmu, DXGK_GPUMMUCAPS)
DEFINE_CLEAN(level, DXGK_PAGE_TABLE_LEVEL_DESC)
DEFINE_CLEAN(physical, DXGK_PHYSICALADAPTERCAPS)
DEFINE_CLEAN(power, DXGK_POWER_RUNTIME_COMPONENT)
DEFINE_CLEAN(metadata, DXGKARG_GETNODEMETADATA)

/* Of the two ways to see a segment only one is meant. */
static void clean_view(DXGK_SEGMENTDESCRIPTOR4 *segment)
{
	PHYSICAL_ADDRESS address = segment->CpuTranslatedAddress;

	if (segment->Flags.SupportsCpuHostAperture)
		return;
	memset(&segment->CpuHostAperture, 0, sizeof(segment->CpuHostAperture));
	segment->CpuTranslatedAddress = address;
}

/* The list is compared by itself, and banks are behind a pointer of the driver's. */
#define DEFINE_CLEAN_SEGMENTS(version, bank)                                                       \
	static void clean_segments##version(void *answer)                                          \
	{                                                                                          \
		CLEAR_HOLES((DXGK_QUERYSEGMENTOUT##version *)answer);                              \
		((DXGK_QUERYSEGMENTOUT##version *)answer)->pSegmentDescriptor = NULL;              \
	}                                                                                          \
	static void clean_segment##version(void *answer)                                           \
	{                                                                                          \
		DXGK_SEGMENTDESCRIPTOR##version *segment = answer;                                 \
                                                                                                   \
		CLEAR_HOLES(segment);                                                              \
		bank;                                                                              \
	}                                                                                          \
	static void move_segment##version(void *answer)                                            \
	{                                                                                          \
		DXGK_SEGMENTDESCRIPTOR##version *segment = answer;                                 \
                                                                                                   \
		segment->CpuTranslatedAddress.QuadPart = 0;                                        \
	}

DEFINE_CLEAN_SEGMENTS(, segment->pBankRangeTable = NULL)
DEFINE_CLEAN_SEGMENTS(3, segment->pBankRangeTable = NULL)
DEFINE_CLEAN_SEGMENTS(4, clean_view(segment))

struct question {
	int type;
	const char *name;
	uint32_t bytes; /* of the answer; 0: as many as the kernel asked for */
	void (*clean)(void *answer);
	uint32_t element_bytes; /* of a list behind the answer; 0: there is none */
	void (*clean_element)(void *element);
	void (*move_element)(void *element); /* what another start may change is taken out */
};

#define QUESTION(query, type_of_answer, cleaner)                                                   \
	{                                                                                          \
		.type = DXGKQAITYPE_##query, .name = #query, .bytes = sizeof(type_of_answer),      \
		.clean = (cleaner)                                                                 \
	}
#define SEGMENTS(version)                                                                          \
	{                                                                                          \
		.type = DXGKQAITYPE_QUERYSEGMENT##version, .name = "QUERYSEGMENT" #version,        \
		.bytes = sizeof(DXGK_QUERYSEGMENTOUT##version), .clean = clean_segments##version,  \
		.element_bytes = sizeof(DXGK_SEGMENTDESCRIPTOR##version),                          \
		.clean_element = clean_segment##version, .move_element = move_segment##version     \
	}

static const struct question questions[] = {
	QUESTION(DRIVERCAPS, DXGK_DRIVERCAPS, clean_caps),
	QUESTION(GPUMMUCAPS, DXGK_GPUMMUCAPS, clean_mmu),
	QUESTION(PAGETABLELEVELDESC, DXGK_PAGE_TABLE_LEVEL_DESC, clean_level),
	QUESTION(PHYSICALADAPTERCAPS, DXGK_PHYSICALADAPTERCAPS, clean_physical),
	QUESTION(NUMPOWERCOMPONENTS, UINT, NULL),
	QUESTION(POWERCOMPONENTINFO, DXGK_POWER_RUNTIME_COMPONENT, clean_power),
	{ .type = DXGKQAITYPE_HISTORYBUFFERPRECISION, .name = "HISTORYBUFFERPRECISION" },
	SEGMENTS(),
	SEGMENTS(3),
	SEGMENTS(4),
};

static const struct question metadata_question = {
	.type = NODE_METADATA,
	.name = "node metadata",
	.bytes = sizeof(DXGKARG_GETNODEMETADATA),
	.clean = clean_metadata,
};

static const struct question *question_of(const DXGKARG_QUERYADAPTERINFO *args)
{
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		if (questions[i].type == (int)args->Type && args->pOutputData &&
		    args->pOutputData != args->pInputData &&
		    args->OutputDataSize >= questions[i].bytes && args->InputDataSize <= INPUT_MAX)
			return &questions[i];
	}
	return NULL;
}

/* ---- what is kept of them ---- */

struct answer {
	struct list link;
	int type;
	bool has_list;
	uint32_t input_bytes;
	uint8_t input[INPUT_MAX];
	uint32_t start; /* in which it was given */
	uint32_t bytes;
	_Alignas(8) uint8_t data[]; /* without holes and pointers: the answer, then the list */
};

struct queries {
	struct lock lock; /* LOCK_RANK_LEAF: guards the rest */
	struct list answers;
	uint32_t start; /* how many times it was started */
};

static void begin(struct verify_adapter *adapter, void *state)
{
	struct queries *queries = state;

	(void)adapter;
	lock_init(&queries->lock, LOCK_RANK_LEAF, "verified answers");
	list_init(&queries->answers);
}

/* The three kinds have this much in common. */
struct segment_list {
	uint32_t count;
	uint8_t *elements;
	size_t stride;
};

static struct segment_list list_of(const struct question *question, const void *output)
{
	if (question->type == DXGKQAITYPE_QUERYSEGMENT4) {
		const DXGK_QUERYSEGMENTOUT4 *out = output;

		return (struct segment_list){ out->NbSegment, out->pSegmentDescriptor,
					      out->SegmentDescriptorStride };
	}
	/* Those of before begin alike. */
	const DXGK_QUERYSEGMENTOUT *out = output;

	return (struct segment_list){ out->NbSegment, (uint8_t *)out->pSegmentDescriptor,
				      question->element_bytes };
}

static bool is_usable(const struct question *question, const struct segment_list *list)
{
	return list->elements && list->stride >= question->element_bytes &&
	       list->count <= MINIPORT_MAX_SEGMENTS;
}

/* NULL: no memory. */
static struct answer *answer_take(const struct question *question, const void *input,
				  uint32_t input_bytes, const void *output, uint32_t bytes)
{
	struct segment_list list = { 0 };
	uint32_t list_bytes = 0;

	if (question->bytes != 0)
		bytes = question->bytes;
	if (question->element_bytes != 0)
		list = list_of(question, output);
	if (is_usable(question, &list))
		list_bytes = list.count * question->element_bytes;
	struct answer *answer = mem_zalloc_aside(sizeof(*answer) + bytes + list_bytes);
	if (!answer)
		return NULL;
	answer->type = question->type;
	answer->has_list = list_bytes != 0;
	answer->input_bytes = input_bytes;
	if (input_bytes > 0)
		memcpy(answer->input, input, input_bytes);
	answer->bytes = bytes + list_bytes;
	memcpy(answer->data, output, bytes);
	if (question->clean)
		question->clean(answer->data);
	for (uint32_t i = 0; i * question->element_bytes < list_bytes; i++) {
		uint8_t *element = answer->data + bytes + i * question->element_bytes;

		memcpy(element, list.elements + i * list.stride, question->element_bytes);
		question->clean_element(element);
	}
	return answer;
}

/* What does not last from one start to the next is taken out. */
static void forget_places(const struct question *question, struct answer *answer)
{
	for (uint32_t at = question->bytes; question->move_element && at < answer->bytes;
	     at += question->element_bytes)
		question->move_element(answer->data + at);
}

/* Where they differ; -1: nowhere. */
static int difference(const struct answer *first, const struct answer *second)
{
	uint32_t bytes = first->bytes < second->bytes ? first->bytes : second->bytes;

	for (uint32_t i = 0; i < bytes; i++) {
		if (first->data[i] != second->data[i])
			return (int)i;
	}
	return first->bytes == second->bytes ? -1 : (int)bytes;
}

static bool is_same_question(const struct answer *first, const struct answer *second)
{
	return first->type == second->type && first->has_list == second->has_list &&
	       first->input_bytes == second->input_bytes &&
	       memcmp(first->input, second->input, first->input_bytes) == 0;
}

/* The new one is compared with those that follow, places and all. */
static int difference_of_starts(const struct question *question, struct answer *before,
				const struct answer *now)
{
	size_t bytes = sizeof(*now) + now->bytes;
	struct answer *copy = mem_zalloc_aside(bytes);

	if (!copy)
		return -1;
	memcpy(copy, now, bytes);
	forget_places(question, before);
	forget_places(question, copy);
	int at = difference(before, copy);
	mem_free_aside(copy);
	return at;
}

static void judge(const struct question *question, struct answer *before, const struct answer *now)
{
	bool is_restarted = before->start != now->start;

	if (question->clean && !CAN_CLEAR_HOLES)
		return;
	int at = is_restarted ? difference_of_starts(question, before, now)
			      : difference(before, now);
	if (at >= 0)
		nt_report_about(is_restarted ? RULE_DDI_ORDER_RESTART : RULE_DDI_QAI_STABLE,
				(uint64_t)question->type,
				"The driver's answer about %s is another than before%s, from byte "
				"%d on",
				question->name, is_restarted ? " it was started again" : "", at);
}

static struct answer *take_old(struct queries *queries, const struct answer *now)
{
	struct answer *found = NULL;

	lock_acquire(&queries->lock);
	list_each (struct answer, answer, &queries->answers, link) {
		if (is_same_question(answer, now)) {
			found = answer;
			break;
		}
	}
	if (found)
		list_remove(&found->link);
	lock_release(&queries->lock);
	return found;
}

/* Takes it over. True when nothing was known of this start. */
static bool keep(struct queries *queries, const struct question *question, struct answer *answer)
{
	struct answer *old = take_old(queries, answer);
	bool is_first = !old;

	answer->start = queries->start;
	if (old) {
		is_first = old->start != answer->start;
		judge(question, old, answer);
		mem_free_aside(old);
	}
	lock_acquire(&queries->lock);
	list_push_back(&queries->answers, &answer->link);
	lock_release(&queries->lock);
	return is_first;
}

/* ---- asking ---- */

/* What an answer is written into: as the kernel gives it, in memory of our own. */
struct reply {
	uint8_t *memory; /* the answer's bytes, then the guard */
	uint8_t *list;
	uint32_t bytes;
};

static void reply_reset(const struct question *question, const struct segment_list *list,
			const struct reply *reply)
{
	memset(reply->memory, 0, reply->bytes);
	memset(reply->memory + reply->bytes, GUARD_BYTE, GUARD_BYTES);
	if (!reply->list)
		return;
	memset(reply->list, 0, list->count * list->stride);
	memset(reply->list + list->count * list->stride, GUARD_BYTE, GUARD_BYTES);
	if (question->type == DXGKQAITYPE_QUERYSEGMENT4) {
		DXGK_QUERYSEGMENTOUT4 *out = (DXGK_QUERYSEGMENTOUT4 *)reply->memory;

		out->NbSegment = list->count;
		out->pSegmentDescriptor = reply->list;
		out->SegmentDescriptorStride = list->stride;
	} else {
		DXGK_QUERYSEGMENTOUT *out = (DXGK_QUERYSEGMENTOUT *)reply->memory;

		out->NbSegment = list->count;
		out->pSegmentDescriptor = (DXGK_SEGMENTDESCRIPTOR *)reply->list;
	}
}

static NTSTATUS ask(const struct verify_call *call, const struct reply *reply, uint32_t bytes)
{
	DXGKARG_QUERYADAPTERINFO args = *(const DXGKARG_QUERYADAPTERINFO *)call->arguments;

	args.pOutputData = reply->memory;
	args.OutputDataSize = bytes;
	return call->adapter->miniport->driver.DxgkDdiQueryAdapterInfo((HANDLE)call->handle, &args);
}

static void ask_again(struct queries *queries, const struct verify_call *call,
		      const struct question *question, const struct reply *reply)
{
	const DXGKARG_QUERYADAPTERINFO *args = call->arguments;
	NTSTATUS status = ask(call, reply, reply->bytes);

	if (!NT_SUCCESS(status)) {
		if (!verify_is_lack_of_memory(status))
			nt_report_about(RULE_DDI_QAI_STABLE, (uint64_t)question->type,
					"DxgkDdiQueryAdapterInfo(%s) returned %s when it was asked "
					"again",
					question->name, status_name(status));
		return;
	}
	struct answer *answer = answer_take(question, args->pInputData, args->InputDataSize,
					    reply->memory, reply->bytes);
	if (answer)
		keep(queries, question, answer);
}

/* Behind the descriptions that were asked for nothing is written. */
static void judge_list(const struct question *question, const struct segment_list *list,
		       const struct reply *reply)
{
	const uint8_t *behind = reply->list ? reply->list + list->count * list->stride : NULL;
	uint32_t same = 0;

	while (behind && same < GUARD_BYTES && behind[same] == GUARD_BYTE)
		same++;
	if (behind && same < GUARD_BYTES)
		nt_report_about(RULE_DDI_QAI_SIZE, (uint64_t)question->type,
				"DxgkDdiQueryAdapterInfo(%s) wrote behind the %u descriptions that "
				"there is room for",
				question->name, list->count);
}

/* Behind `bytes` everything has to be as it was. */
static bool is_untouched(const struct question *question, const struct segment_list *list,
			 const struct reply *reply, uint32_t bytes)
{
	uint32_t all = reply->bytes + GUARD_BYTES;
	uint8_t *written = mem_zalloc_aside(all);
	bool is_same = true;

	if (!written)
		return true;
	memcpy(written, reply->memory, all);
	reply_reset(question, list, reply);
	is_same = memcmp(written + bytes, reply->memory + bytes, all - bytes) == 0;
	mem_free_aside(written);
	return is_same;
}

/* A driver may know a shorter answer than ours, so only a buffer for nothing has to be refused. */
static void ask_for_less(const struct verify_call *call, const struct question *question,
			 const struct segment_list *list, const struct reply *reply)
{
	const uint32_t sizes[] = { 1, reply->bytes / 2, reply->bytes - 1 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		reply_reset(question, list, reply);
		NTSTATUS status = ask(call, reply, sizes[i]);

		if (sizes[i] == 1 && NT_SUCCESS(status))
			nt_report_about(RULE_DDI_QAI_SIZE, (uint64_t)question->type,
					"DxgkDdiQueryAdapterInfo(%s) returned STATUS_SUCCESS for a "
					"buffer of 1 byte",
					question->name);
		if (!is_untouched(question, list, reply, sizes[i]))
			nt_report_about(
				RULE_DDI_QAI_SIZE, (uint64_t)question->type,
				"DxgkDdiQueryAdapterInfo(%s) was given a buffer of %u bytes "
				"and wrote behind it",
				question->name, sizes[i]);
	}
}

static void ask_ourselves(struct queries *queries, const struct verify_call *call,
			  const struct question *question)
{
	const DXGKARG_QUERYADAPTERINFO *args = call->arguments;
	struct reply reply = { .bytes = args->OutputDataSize };
	struct segment_list list = { 0 };

	if (question->element_bytes != 0)
		list = list_of(question, args->pOutputData);
	reply.memory = mem_zalloc_aside(reply.bytes + GUARD_BYTES);
	if (is_usable(question, &list))
		reply.list = mem_zalloc_aside(list.count * list.stride + GUARD_BYTES);
	if (reply.memory && (reply.list || !is_usable(question, &list))) {
		reply_reset(question, &list, &reply);
		ask_again(queries, call, question, &reply);
		judge_list(question, &list, &reply);
		ask_for_less(call, question, &list, &reply);
	}
	mem_free_aside(reply.list);
	mem_free_aside(reply.memory);
}

/* ---- every call ---- */

static void after_query(struct queries *queries, const struct verify_call *call)
{
	const DXGKARG_QUERYADAPTERINFO *args = call->arguments;
	const struct question *question = question_of(args);
	struct answer *answer =
		question ? answer_take(question, args->pInputData, args->InputDataSize,
				       args->pOutputData, args->OutputDataSize)
			 : NULL;

	if (answer && keep(queries, question, answer))
		ask_ourselves(queries, call, question);
}

static struct answer *metadata_take(const struct verify_call *call, const void *metadata)
{
	uint32_t node = (uint32_t)call->numbers[0];

	return answer_take(&metadata_question, &node, sizeof(node), metadata, 0);
}

static void after_metadata(struct queries *queries, const struct verify_call *call)
{
	struct answer *answer = metadata_take(call, call->arguments);
	DXGKARG_GETNODEMETADATA again;

	if (!answer || !keep(queries, &metadata_question, answer))
		return;
	memset(&again, 0, sizeof(again));
	NTSTATUS status = call->adapter->miniport->driver.DxgkDdiGetNodeMetadata(
		(HANDLE)call->handle, (UINT)call->numbers[0], &again);
	answer = NT_SUCCESS(status) ? metadata_take(call, &again) : NULL;
	if (answer)
		keep(queries, &metadata_question, answer);
}

static void before(struct verify_call *call, void *state)
{
	struct queries *queries = state;

	if (call->ddi == DDI_START_DEVICE)
		queries->start++;
}

static void after(struct verify_call *call, void *state)
{
	if (!NT_SUCCESS(call->status))
		return;
	if (call->ddi == DDI_QUERY_ADAPTER_INFO)
		after_query(state, call);
	else if (call->ddi == DDI_GET_NODE_METADATA)
		after_metadata(state, call);
}

static void end(struct verify_adapter *adapter, void *state)
{
	struct queries *queries = state;

	(void)adapter;
	while (!list_is_empty(&queries->answers)) {
		struct answer *answer = container_of(queries->answers.next, struct answer, link);

		list_remove(&answer->link);
		mem_free_aside(answer);
	}
	lock_finish(&queries->lock);
}

const struct verify_watching verify_watch_queries = {
	.state_bytes = sizeof(struct queries),
	.begin = begin,
	.end = end,
	.before = before,
	.after = after,
};
