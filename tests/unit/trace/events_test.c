/* SPDX-License-Identifier: MIT */
/*
 * events_test.c - the list of events makes sense as a whole.
 */
#include "support/test.h"
#include "trace/events.h"

static const struct trace_event_info *info_of(unsigned event)
{
	return &trace_event_infos[event];
}

static unsigned count_type(const struct trace_event_info *info, enum trace_field_type type)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < info->field_count; i++)
		count += info->fields[i].type == type;
	return count;
}

static unsigned count_keys(const struct trace_event_info *info)
{
	return count_type(info, TRACE_FIELD_KEY) + count_type(info, TRACE_FIELD_ID);
}

TEST(events, every_one_is_described)
{
	for (unsigned event = TRACE_thread; event < TRACE_EVENT_COUNT; event++) {
		const struct trace_event_info *info = info_of(event);
		EXPECT(info->title && *info->title);
		EXPECT(info->field_count >= 1 && info->field_count <= TRACE_FIELDS_MAX);
		for (uint32_t i = 0; i < info->field_count; i++)
			EXPECT(info->fields[i].name && *info->fields[i].name);
		EXPECT(count_type(info, TRACE_FIELD_NAME) <= 1);
	}
	for (unsigned category = 0; category < TRACE_CATEGORY_COUNT; category++)
		EXPECT(trace_category_titles[category] && *trace_category_titles[category]);
}

static bool same_category(const struct trace_event_info *a, const struct trace_event_info *b)
{
	return a->category && b->category && !strcmp(a->category, b->category);
}

/* How many events of the kind have this one's category, title and keys. */
static unsigned count_partners(const struct trace_event_info *info, enum trace_kind kind)
{
	unsigned count = 0;

	for (unsigned event = TRACE_thread; event < TRACE_EVENT_COUNT; event++) {
		const struct trace_event_info *other = info_of(event);
		bool has_same_keys = count_keys(other) == count_keys(info);
		for (uint32_t i = 0; i < info->field_count; i++) {
			if (trace_field_is_key(info->fields[i].type))
				has_same_keys &=
					other->fields[i].type == info->fields[i].type &&
					!strcmp(info->fields[i].name, other->fields[i].name);
		}
		count += other->kind == kind && same_category(other, info) &&
			 !strcmp(other->title, info->title) && has_same_keys;
	}
	return count;
}

TEST(events, what_begins_has_one_way_to_end)
{
	for (unsigned event = TRACE_thread; event < TRACE_EVENT_COUNT; event++) {
		const struct trace_event_info *info = info_of(event);
		if (info->kind == TRACE_KIND_BEGIN || info->kind == TRACE_KIND_END) {
			EXPECT_EQ(count_partners(info, TRACE_KIND_BEGIN), 1);
			EXPECT_EQ(count_partners(info, TRACE_KIND_END), 1);
		}
		if (info->kind == TRACE_KIND_ASYNC_BEGIN || info->kind == TRACE_KIND_ASYNC_END) {
			EXPECT(count_keys(info) >= 1);
			EXPECT_EQ(count_partners(info, TRACE_KIND_ASYNC_BEGIN), 1);
			EXPECT_EQ(count_partners(info, TRACE_KIND_ASYNC_END), 1);
		}
	}
}

TEST_MAIN("trace/events")
