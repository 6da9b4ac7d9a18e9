/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "object/submit/dma_buffer.h"
#include "object/check/survey.h"

void survey_wrong(struct survey *survey, const char *format, ...)
{
	va_list arguments;

	bool is_first = !survey->is_wrong;

	survey->is_wrong = true;
	if ((!is_first && !survey->tells_all) || survey->told + 2 >= survey->wrong_size)
		return;
	va_start(arguments, format);
	char *at = survey->wrong + survey->told;
	vsnprintf(at, survey->wrong_size - survey->told - 1, format, arguments);
	va_end(arguments);
	survey->told += strlen(at);
	if (survey->tells_all) {
		memcpy(survey->wrong + survey->told, "\n", 2);
		survey->told++;
	}
}

void survey_hold_with(struct survey *survey, struct holders *holders, void *item, uint32_t locks)
{
	if (holders->count == holders->capacity) {
		size_t capacity = holders->capacity ? holders->capacity * 2 : 64;
		struct holder *all = mem_realloc(holders->all, capacity * sizeof(*all));
		if (!all) {
			survey_wrong(survey, "there is no memory to look");
			return;
		}
		holders->all = all;
		holders->capacity = capacity;
	}
	holders->all[holders->count++] = (struct holder){ item, locks };
}

void survey_hold(struct survey *survey, struct holders *holders, void *item)
{
	survey_hold_with(survey, holders, item, 0);
}

void survey_finish(struct survey *survey)
{
	for (size_t i = 0; i < survey->kept.count; i++)
		allocation_body_put(survey->kept.all[i].item);
	for (size_t i = 0; i < survey->kept_shares.count; i++)
		share_put(survey->kept_shares.all[i].item);
	for (size_t i = 0; i < survey->kept_buffers.count; i++)
		dma_buffer_release(survey->kept_buffers.all[i].item);
	mem_free(survey->kept_buffers.all);
	mem_free(survey->kept.all);
	mem_free(survey->kept_shares.all);
	mem_free(survey->devices.all);
	mem_free(survey->called.all);
	mem_free(survey->allocation_bodies.all);
	mem_free(survey->opened.all);
	mem_free(survey->bundled.all);
	mem_free(survey->awaited.all);
	mem_free(survey->drivers.all);
	mem_free(survey->shared_by_packets.all);
	mem_free(survey->leaving.all);
	mem_free(survey->named.all);
}

static int compare_holders(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t)((const struct holder *)left)->item;
	uintptr_t b = (uintptr_t)((const struct holder *)right)->item;

	return (a > b) - (a < b);
}

void holders_sort(struct holders *holders)
{
	if (holders->count > 1)
		qsort(holders->all, holders->count, sizeof(*holders->all), compare_holders);
}

uint32_t holders_count(const struct holders *holders, const void *item, uint64_t *locks_out)
{
	size_t low = 0;
	size_t high = holders->count;
	uint32_t count = 0;
	uint64_t locks = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if ((uintptr_t)holders->all[middle].item < (uintptr_t)item)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < holders->count && holders->all[low].item == item; low++) {
		locks += holders->all[low].locks;
		count++;
	}
	if (locks_out)
		*locks_out = locks;
	return count;
}

size_t holders_next(const struct holders *holders, size_t index)
{
	const void *item = holders->all[index].item;

	while (index < holders->count && holders->all[index].item == item)
		index++;
	return index;
}
